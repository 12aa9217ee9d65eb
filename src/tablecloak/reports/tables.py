"""The tables of the confidential report: what each rule caught, intervals, losses, explanations; rows of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tablecloak.analysis import CellCounts, Losses, losses, losses_by_code
from tablecloak.arrays import Floats, Ints
from tablecloak.model import Audit, Dimension, Pattern, Problem, Reason
from tablecloak.reports.plots import tightest
from tablecloak.reports.settings import SETTINGS

if TYPE_CHECKING:
    from tablecloak.analysis import Explanation


@dataclass(frozen=True)
class Entry:
    """A text in a table and what it is sorted by."""

    text: str
    key: float


class Tables:
    """The rows of all tables about one pattern and its audit; at most `most_rows` in a table."""

    def __init__(self, problem: Problem, pattern: Pattern, verdict: Audit, most_rows: int) -> None:
        self.problem, self.pattern, self.verdict, self.most_rows = problem, pattern, verdict, most_rows
        self.total: Losses = losses(problem, pattern)
        self.codes = [np.array(dimension.codes, dtype=object) for dimension in problem.table.dimensions]

    def number(self, value: float) -> str:
        """A value or an end of an interval; more decimals than the data have only where they matter."""
        if np.isinf(value):
            return "∞" if value > 0 else "−∞"
        unit, decimals = self.problem.table.unit, self.problem.table.decimals
        whole = abs(value / unit - round(value / unit)) <= 1e-6 * max(1.0, abs(value / unit) * 1e-6)
        text = f"{value:,.{decimals if whole else decimals + 2}f}".replace("-", "−")
        return text.removeprefix("−") if not text.strip("−0.,") else text

    def interval(self, row: int) -> str:
        return f"{self.number(float(self.verdict.low[row]))} to {self.number(float(self.verdict.high[row]))}"

    def names(self, cells: Ints | Sequence[int]) -> list[str]:
        """Cells by their codes."""
        rows = self.problem.table.codes[np.asarray(cells, dtype=np.int64)]
        parts = [codes[rows[:, d]] for d, codes in enumerate(self.codes)]
        return [" · ".join(map(str, part)) for part in zip(*parts, strict=True)]

    # ------------------------------------------------------------------ rules

    def rules(self) -> dict[str, Any]:
        """What each rule caught, in the order of the rules' first cells, and cells without a reason."""
        problem = self.problem
        first: dict[Reason, list[int]] = {}
        also: dict[Reason, list[int]] = {}
        for cell, reasons in sorted(problem.reasons.items()):
            for place, reason in enumerate(reasons):
                rule = Reason(reason.rule, reason.kind, "")
                first.setdefault(rule, [])
                (also.setdefault(rule, []) if place else first[rule]).append(cell)
        rows = [self._rule(rule, cells, also.get(rule, [])) for rule, cells in first.items()]
        known = np.zeros(len(problem.table), dtype=bool)
        known[list(problem.reasons)] = True
        return {"rows": rows, "without": int((problem.sensitive & ~known).sum())}

    def _rule(self, rule: Reason, decided: list[int], also: list[int]) -> dict[str, Any]:
        cells, reasons = (decided + also)[: SETTINGS.cells], self.problem.reasons
        same = (rule.rule, rule.kind)
        why = [next(one.why for one in reasons[cell] if (one.rule, one.kind) == same) for cell in cells]
        return {
            "rule": rule.rule,
            "kind": rule.kind,
            "decided": len(decided),
            "also": len(also),
            "cells": list(zip(self.names(cells), why, strict=True)),
            "more": len(decided) + len(also) - len(cells),
        }

    # ------------------------------------------------------------------ sensitive cells

    def sensitive(self) -> dict[str, Any]:
        """The cells asked about, the one that comes nearest to its requirement first."""
        verdict = self.verdict
        rows, required, reached = tightest(verdict, self.problem.table.values)
        ratio = np.full(verdict.cells.size, np.inf)
        ratio[rows] = reached / required
        order = np.lexsort((verdict.attackers, ratio, verdict.cells))
        cells, starts = np.unique(verdict.cells[order], return_index=True)
        groups = np.split(order, starts[1:])
        worst = np.argsort([ratio[group[0]] for group in groups], kind="stable")
        shown = worst[: self.most_rows]
        codes = [codes[self.problem.table.codes[cells, d]] for d, codes in enumerate(self.codes)]
        listed = [
            self._sensitive(int(cells[i]), groups[i], ratio, [part[i] for part in codes]) for i in shown
        ]
        return {"rows": listed, "all": cells.size, "more": cells.size - len(listed)}

    def _sensitive(self, cell: int, rows: Ints, ratio: Floats, codes: list[str]) -> dict[str, Any]:
        verdict, problem, names = self.verdict, self.problem, self.problem.attacker_names
        outside = rows[verdict.attackers[rows] == 0]
        asked = rows[np.isfinite(ratio[rows])]
        inside = asked[verdict.attackers[asked] > 0]
        return {
            "codes": codes,
            "value": Entry(self.number(float(problem.table.values[cell])), float(problem.table.values[cell])),
            "required": self._required(cell),
            "outsider": self._left(int(outside[0]), ratio),
            "insider": self._left(int(inside[0]), ratio) if inside.size else Entry("–", 1e300),
            "insider_name": names[verdict.attackers[inside[0]]] if inside.size else "",
            "ratio": Entry(_times(ratio[rows[0]]), min(float(ratio[rows[0]]), 1e300)),
            "safe": bool(verdict.safe_rows[rows].all()),
            "attackers": [
                (names[verdict.attackers[row]], self.interval(row), bool(verdict.safe_rows[row]))
                for row in asked[: SETTINGS.attackers].tolist()
            ],
            "more": max(0, asked.size - SETTINGS.attackers),
        }

    def _left(self, row: int, ratio: Floats) -> Entry:
        """An interval, sorted by its width."""
        width = float(self.verdict.high[row] - self.verdict.low[row])
        return Entry(self.interval(row), min(width, 1e300))

    def _required(self, cell: int) -> Entry:
        levels, texts = self.problem.levels, []
        lower = float(levels.lower[cell] + levels.conditional_lower[cell])
        upper = float(levels.upper[cell] + levels.conditional_upper[cell])
        width = float(levels.sliding[cell] + levels.conditional[cell])
        if lower and lower == upper:
            texts.append(f"± {self.number(lower)}")
        else:
            texts += [f"{sign} {self.number(level)}" for sign, level in (("−", lower), ("+", upper)) if level]
        texts += [f"width {self.number(width)}"] if width else []
        return Entry(", ".join(texts) or "nothing", max(lower + upper, width))

    # ------------------------------------------------------------------ losses

    def losses(self) -> dict[str, Any]:
        """Overall, then by code of each dimension."""
        total = self.total
        overall = [
            (name, f"{int(tally.cells[0]):,}", f"{int(tally.touched[0]):,}", percent(tally.share[0]),
             percent(tally.value_share[0]))
            for name, tally in (("all", total.every), ("no totals", total.leaves), ("totals", total.totals))
        ]  # fmt: skip
        dimensions = self.problem.table.dimensions
        names_only = len(dimensions) == 1 and not dimensions[0].hierarchies
        tables = [] if names_only else [self._by_code(d, one) for d, one in enumerate(dimensions)]
        return {"overall": overall, "tables": tables}

    def _by_code(self, number: int, dimension: Dimension) -> dict[str, Any]:
        found = losses_by_code(self.problem, self.pattern, number)
        depth: dict[str, int] = {}
        for hierarchy in dimension.hierarchies[:1]:
            depth = dict(zip(hierarchy.codes, hierarchy.depth.tolist(), strict=True))
        used = np.flatnonzero(found.leaves.cells + found.totals.cells).tolist()
        rows = [
            {
                "code": dimension.codes[code],
                "depth": depth.get(dimension.codes[code], 0),
                "tallies": [_tally(tally, code) for tally in (found.leaves, found.totals)],
            }
            for code in used[: self.most_rows]
        ]
        return {"name": dimension.name, "rows": rows, "more": len(used) - len(rows)}

    # ------------------------------------------------------------------ explanations

    def explained(self, explanation: Explanation) -> dict[str, Any]:
        """Why cells are hidden, and what protects the sensitive ones."""
        names = self.problem.attacker_names
        cells = sorted({*explanation.protects, *explanation.determined.tolist()})
        hidden = [
            {
                "cell": name,
                "weight": Entry(f"{self.problem.weights[cell]:,.6g}", float(self.problem.weights[cell])),
                "protects": self._openings(explanation, cell),
                "why": explanation.why(cell),
            }
            for cell, name in zip(cells[: self.most_rows], self.names(cells[: self.most_rows]), strict=True)
        ]
        protected = list(explanation.protectors)[: self.most_rows]
        routes = [
            {
                "cell": name,
                "routes": [
                    (names[route.attacker], self.names(route.cells[: SETTINGS.cells]), len(route.cells))
                    for route in explanation.protectors[cell][: SETTINGS.attackers]
                ],
                "more": max(0, len(explanation.protectors[cell]) - SETTINGS.attackers),
            }
            for cell, name in zip(protected, self.names(protected), strict=True)
        ]
        return {
            "hidden": hidden,
            "more": len(cells) - len(hidden),
            "routes": routes,
            "more_routes": len(explanation.protectors) - len(routes),
            "redundant": explanation.redundant.size,
            "unexplained": self.names(explanation.unexplained[: SETTINGS.cells]),
            "late": explanation.unexplained.size,
            "seconds": explanation.seconds,
        }

    def _openings(self, explanation: Explanation, cell: int) -> list[tuple[str, str]]:
        found = explanation.protects.get(cell, ())[: SETTINGS.cells]
        attackers = self.problem.attacker_names
        whom = [
            "everybody"
            if opening.is_shared(self.problem)
            else ", ".join(attackers[k] for k in opening.attackers[: SETTINGS.attackers])
            for opening in found
        ]
        return list(zip(self.names([opening.cell for opening in found]), whom, strict=True)) if found else []


def _tally(tally: CellCounts, code: int) -> dict[str, Any]:
    share, value = float(tally.share[code]), float(tally.value_share[code])
    return {
        "cells": int(tally.cells[code]),
        "touched": int(tally.touched[code]),
        "share": 0.0 if np.isnan(share) else share,
        "value": Entry(percent(value), -1.0 if np.isnan(value) else value),
    }


def many(number: int, noun: str) -> str:
    """A number and its noun: 1 cell, 2,000 cells."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def percent(share: float) -> str:
    """A share in percent; a dash where there is none."""
    return "–" if np.isnan(share) else f"{100 * share:.1f} %"


def _times(ratio: float) -> str:
    return "∞" if ratio > 1e9 else f"{ratio:,.2f}"
