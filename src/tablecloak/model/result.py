"""What methods and audits return: Status, Report, Result, Audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import counted
from tablecloak.model.pattern import Pattern, Suppression
from tablecloak.model.problem import Problem

EVERYTHING = "everything that may be hidden is hidden"
"""In the note of a pattern that is safe and no more; the summary repeats it."""


class Status(StrEnum):
    """How a method ended. *Cannot* is an exception instead."""

    OPTIMAL = "optimal"
    """Proven: no safe pattern costs less."""
    FEASIBLE = "feasible"
    """Safe; the method ran to its end and proves nothing about the cost unless a bound is given."""
    TIME_LIMIT = "time-limit"
    """Safe; stopped by a limit, the best audited pattern so far."""
    INTERRUPTED = "interrupted"
    """Safe; stopped by the user (Ctrl-C, SIGTERM), the best audited pattern so far."""


@dataclass(frozen=True)
class Report:
    """How a result came about. Confidential, like the result."""

    method: str
    params: Mapping[str, Any]
    seed: int
    seconds: float
    engine: str
    counters: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    trace: tuple[tuple[float, float | None, float | None], ...] = ()
    """How cost and bound went: (seconds, cost so far, bound so far), a row where one of them changed."""
    stopped_by: str = ""
    """What ended the run: proven, finished, gap, work limit, time limit or interrupt."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What each attacker can infer about each cell, beside what was required. Confidential.

    One row for each cell and attacker. With `exact`, `low..high` is the exact feasibility interval; without,
    it is an inner estimate that was pushed just far enough to decide `safe`.
    """

    cells: Ints
    attackers: Ints
    low: Floats
    high: Floats
    required_lower: Floats
    required_upper: Floats
    required_sliding: Floats
    safe_rows: Bools
    exact: bool
    engine: str
    seconds: float
    too_close: Ints
    """Cells of a perturbation whose shown value is nearer to the truth than their level."""
    too_many_touched: bool
    against_marks: Ints
    """Cells treated against their mark: forced but not published, or to be hidden but published."""
    counters: Mapping[str, float] = field(default_factory=dict)
    subject: tuple[Problem, Pattern] | None = None
    """What was judged: this verdict is about no other problem and pattern."""
    unmet: Bools | None = None
    """By kind (lower, upper, sliding) and row: whether this requirement is not shown to be met."""
    undecided: Bools | None = None
    """Rows for which neither a deviation nor a bound was found: they count as open."""
    low_proven: Bools | None = None
    """Rows whose lower end is proven: a deviation reaches it and multipliers bound it, in exact arithmetic."""
    high_proven: Bools | None = None
    """The same for the upper end."""

    @property
    def safe(self) -> bool:
        """The verdict: every requirement is met."""
        broken = self.too_close.size or self.too_many_touched or self.against_marks.size
        return bool(self.safe_rows.all()) and not broken

    @property
    def open_cells(self) -> Ints:
        """Cells that are not protected against some attacker."""
        return np.unique(np.concatenate([self.cells[~self.safe_rows], self.too_close]))

    @property
    def determined(self) -> Bools:
        """Rows whose interval is a single point: the cell is disclosed exactly (needs exact intervals)."""
        return np.asarray(self.low == self.high)

    def shortfalls(self, problem: Problem) -> dict[str, float]:
        """By how much each open cell misses its worst requirement, by label (at most, in large components)."""
        a = problem.table.values[self.cells]
        short = np.maximum.reduce(
            [
                self.required_lower - (a - self.low),
                self.required_upper - (self.high - a),
                self.required_sliding - (self.high - self.low),
            ]
        )
        rows = np.flatnonzero(~self.safe_rows)
        worst: dict[str, float] = {}
        for row in rows:
            label = problem.table.label(int(self.cells[row]))
            worst[label] = max(worst.get(label, 0.0), float(short[row]))
        return worst

    def summary(self, problem: Problem) -> str:
        """The verdict in a few lines, cells by label."""
        verdict = "SAFE" if self.safe else "NOT SAFE"
        audited = f"{counted(self.cells.size, 'question')} on {counted(np.unique(self.cells).size, 'cell')}"
        lines = [
            f"{verdict}: {audited}, {counted(len(problem.attacker_names), 'attacker')}, engine {self.engine}"
        ]
        for cell in self.open_cells[:20]:
            attackers = {
                problem.attacker_names[k] for k in self.attackers[(self.cells == cell) & ~self.safe_rows]
            }
            lines.append(
                f"  open: {problem.table.label(int(cell))} ({', '.join(sorted(attackers)) or 'shown too close'})"
            )
        if self.open_cells.size > 20:
            lines.append(f"  ... and {self.open_cells.size - 20} more")
        if self.undecided is not None and self.undecided.any():
            labels = problem.table.labels(np.unique(self.cells[self.undecided])[:20])
            lines.append(f"  undecided, so counted as open: {'; '.join(labels)}")
        for cell in self.against_marks[:20]:
            must = "be published" if problem.forced[cell] else "be hidden"
            lines.append(f"  against its mark: {problem.table.label(int(cell))} must {must}")
        if self.too_many_touched:
            lines.append(f"  more than {problem.most_touched} cells are touched")
        return "\n".join(lines)

    def __repr__(self) -> str:
        state = "safe" if self.safe else f"{counted(self.open_cells.size, 'cell')} open"
        return f"<confidential Audit: {state}, {self.cells.size} questions, engine {self.engine}>"


def _counts(pattern: Pattern, touched: Bools, problem: Problem) -> str:
    """How many cells are touched: of hidden ones those that need not be apart from those that must."""
    if not isinstance(pattern, Suppression):
        return f"{counted(int(touched.sum()), 'cell')} touched"
    complementary = counted(int((touched & ~problem.must_hide).sum()), "complementary cell")
    return f"{complementary} beside {int(problem.must_hide.sum())} that must be hidden"


@dataclass(frozen=True, eq=False)
class Result:
    """An audited pattern, what it costs, and how good it is proven to be. Confidential."""

    pattern: Pattern
    status: Status
    cost: float
    """Weights of the complementary cells."""
    cost_all: float
    """Weights of all cells that are touched, as some papers count."""
    bound: float | None
    """Proven lower bound on `cost`; None when nothing is proven."""
    audit: Audit
    report: Report

    @property
    def gap(self) -> float | None:
        """(cost - bound) / cost, 0 when both are zero, 1 for an infinite cost; None when nothing is proven."""
        if self.bound is None:
            return None
        if not np.isfinite(self.cost):
            return 1.0
        return 0.0 if self.cost <= self.bound else (self.cost - self.bound) / self.cost

    def summary(self, problem: Problem) -> str:
        """Method, cost, proof, notes of the method and verdict in a few lines."""
        proof = "nothing proven" if self.gap is None else f"bound {self.bound:.6g}, gap {self.gap:.2%}"
        touched = self.pattern.touched(problem)
        return (
            f"{self.report.method}: {self.status.value}, cost {self.cost:.6g} ({proof}), "
            f"{_counts(self.pattern, touched, problem)}, {self.report.seconds:.2f} s\n"
            + "".join(f"note: {note}\n" for note in self.report.notes)
            + self.audit.summary(problem)
        )

    def __repr__(self) -> str:
        return f"<confidential Result: {self.report.method}, {self.status.value}, cost {self.cost:.6g}>"
