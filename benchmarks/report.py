"""Writes the stored rows as tables into docs/measuring.md: ``python benchmarks/report.py``."""

from __future__ import annotations

import csv
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "measuring.md"
START, END = "<!-- results: written by benchmarks/report.py -->", "<!-- end of results -->"
COLUMNS = {
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
}  # fmt: skip


def tables() -> str:
    """One Markdown table a part, in the order above."""
    parts = []
    for part, columns in COLUMNS.items():
        path = RESULTS / f"{part}.csv"
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            lines = [
                f"### {part}",
                "",
                "| instance | " + " | ".join(columns) + " |",
                "|---" * (len(columns) + 1) + "|",
            ]
            lines += [
                "| " + " | ".join([row["instance"], *(row.get(c) or "" for c in columns)]) + " |"
                for row in rows
            ]
            parts.append("\n".join(lines))
    return "\n\n".join(parts)


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(START)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{START}\n\n{tables()}\n\n{END}{after}", encoding="utf-8")
