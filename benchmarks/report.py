"""Writes tables and plots of the stored rows into the pages of docs: ``python benchmarks/report.py``.

A page has blocks ``<!-- results: NAME -->`` ... ``<!-- end of results -->``; what is between them is rewritten by the
section of that name (`reports`). Rows that are not there yet leave a sentence that says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from reports import castro, exact, methods, modular, readings, strata, ways
from reports.layout import NOTHING, table
from reports.limits import interrupts_section, limits_section
from reports.reliability import reliability_section
from reports.three_phase import phase_3, three_phase
from runner import RESULTS, Row, Store

SECTIONS = {
    "phase-3": phase_3,
    **ways.SECTIONS,
    **methods.SECTIONS,
    **modular.SECTIONS,
    **exact.SECTIONS,
    **readings.SECTIONS,
    **strata.SECTIONS,
}
PLOTTED = {**castro.PLOTTED, **methods.PLOTTED, **exact.PLOTTED}
DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"(<!-- results: ([\w-]+) -->\n).*?(<!-- end of results -->)", re.DOTALL)
CORE = {
    "audit_network": (
        "cells", "sensitive", "first_audit_s", "verdict_us_a_cell", "interval_us_a_cell", "warm_primal_us_a_cell",
        "times_faster", "times_faster_intervals",
    ),
    "csplib": (
        "cells", "sensitive", "cost", "complementary", "status", "protect_s", "safe", "audit_ms", "warm_primal_ms",
        "times_faster",
    ),
    "insee": ("cells", "equations", "sensitive", "cost", "complementary", "status", "protect_s", "safe", "outcome"),
    "exposure": ("sensitive", "E", "E_f", "E_u", "E_n", "I", "kept_E", "kept_K1", "kept_K3", "kept_K5", "seconds"),
    "exact": ("cells", "sensitive", "levels", "cost", "bound", "gap_percent", "status", "seconds"),
    "tabulate": ("records", "cells", "seconds", "peak_mb", "pandas_s", "times_pandas"),
    "small": (
        "tables", "proven", "internal_ms", "internal_p90_ms", "protect_ms", "protect_p90_ms", "largest_ms",
    ),
    "kernels": ("numba_us", "compiled_us", "ratio", "same_bytes"),
    "start": ("seconds", "cpu_s", "numpy_scipy_cpu_s", "ratio", "second_s", "megabytes"),
    "rebuild": (
        "status", "cost_before", "cost_now", "bound_before", "bound_now", "nodes_before", "nodes_now", "cpu_s_before",
        "cpu_s_now", "ratio",
    ),
}  # fmt: skip


class Report:
    """The sections, over one folder of rows; plots go beside the pages."""

    def __init__(self, results: Path, docs: Path) -> None:
        self.results, self.docs = results, docs

    def rows(self, part: str) -> list[Row]:
        """The stored rows of a part."""
        return list(Store(self.results / f"{part}.csv").rows.values())

    def picture(self, name: str, alt: str) -> tuple[Path, str]:
        """Where a plot goes, and how a page in docs/benchmarks shows it."""
        return self.docs / "benchmarks" / f"{name}.svg", f"![{alt}]({name}.svg)"

    def write(self) -> None:
        """Rewrite the blocks of all pages."""
        sections: dict[str, Callable[[], str]] = {
            "core": self.core,
            "fronts": self.fronts,
            "three-phase": self.three_phase,
            "reliability": partial(reliability_section, self.results),
            "limits": partial(limits_section, self.results),
            "interrupts": partial(interrupts_section, self.results),
            **{name: partial(self._section, name) for name in SECTIONS},
            **{name: partial(self._plotted, name) for name in PLOTTED},
        }
        for page in sorted(self.docs.rglob("*.md")):
            text = page.read_text(encoding="utf-8")
            fresh = BLOCK.sub(lambda found: f"{found[1]}\n{sections[found[2]]()}\n\n{found[3]}", text)
            if fresh != text:
                page.write_text(fresh, encoding="utf-8")

    def _section(self, part: str) -> str:
        """A section that is made of the rows of the part of its name alone."""
        rows = self.rows(part)
        return SECTIONS[part](rows) if rows else NOTHING

    def _plotted(self, part: str) -> str:
        """The same, with plots."""
        rows = self.rows(part)
        return PLOTTED[part](rows, self.picture) if rows else NOTHING

    def core(self) -> str:
        """One table a part, as the rows are."""
        texts = []
        for part, columns in CORE.items():
            rows = self.rows(part)
            if rows:
                lines = [[row["instance"], *(row.get(column) or "" for column in columns)] for row in rows]
                texts.append(f"### {part}\n\n{table(('instance', *columns), lines)}")
        return "\n\n".join(texts) or NOTHING

    def three_phase(self) -> str:
        """suppress-three-phase beside suppress-optimal on the same instances."""
        optimal = [row for row in self.rows("classes") if row["weights"] == "value"]
        return three_phase(self.rows("three-phase"), optimal)

    def fronts(self) -> str:
        """The hard fronts of both programs."""
        return exact.fronts(self.rows("fronts"), self.rows("peer-fronts"), self.picture)


if __name__ == "__main__":
    Report(RESULTS, DOCS).write()
