"""Lower bounds on the cost of every safe suppression, from the literature, each on its own.

    min sum_i w_i x_i   over the complementary cells x and rows that every safe pattern (or some optimal one) meets

| bound              | rows                                                                     |
|--------------------|--------------------------------------------------------------------------|
| `kelly`            | pattern: no hidden cell is alone in a line                               |
| `carvalho_almeida` | pattern and volume, coefficients as they are                             |
| `relaxation_p`     | pattern and volume, coefficients cut to the right-hand side; zeros       |
| `castro`           | pattern and Castro's rows, where they hold                               |
| `capacity`         | capacity rows of all attackers, sharpened                                |
| `combined`         | all of these, with covers and roundings                                  |

A *line* is any equation. Every bound is valid for any attackers, boxes, forced and forced-hidden cells and weights;
the conditions of a paper are checked, and `NotApplicable` says which one fails. Where weights are multiples of a unit
the value is rounded up to one. A bound that the clock stops is smaller, and valid.

References: Kelly, Golden & Assad (1992); Carvalho & Almeida (2000, 2008); Castro (2007), corrected; Fischetti & Salazar
(2001). See docs/bounds.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.auditing import audit
from tablecloak.errors import NotApplicable, check_kind, counted
from tablecloak.methods import largest_pattern
from tablecloak.methods.cuts import (
    BridgelessCuts,
    CoverSeparator,
    Cut,
    EquationCuts,
    Finder,
    NetworkSeparator,
    OneWayCuts,
    RowProgram,
    capacity_separator_of,
    fixing_cuts,
)
from tablecloak.model import Problem, Requirement, Side, Suppression, unmet_requirements
from tablecloak.progress import Deadline, Progress, silent

LEVELS_A_ROUND = 200
"""At most so many levels get new capacity rows in one round."""
FIRST_COLUMNS = 8
"""So many of the cheapest cells of each line are columns from the start."""


@dataclass(frozen=True)
class Bound:
    """A proven lower bound on the cost of the complementary cells. Confidential, like every cost."""

    name: str
    value: float
    """No safe suppression costs less: what was proven, rounded up where weights are multiples of a unit."""
    linear: float
    """The optimum of the linear program, or as much of it as was proven in time."""
    integer: float | None
    """The optimum of the integer program; None if it was not asked for or not reached in time."""
    rows: int
    """How many rows were needed."""
    seconds: float
    notes: tuple[str, ...] = ()
    """What was left out, and whether the clock stopped it."""

    def __repr__(self) -> str:
        kind = "a linear" if self.integer is None else "an integer"
        return f"<confidential Bound: {self.name}, {self.value:.6g} by {kind} program of {self.rows} rows>"


class _Case:
    """A problem with its lines, and the rows of a bound as they are collected."""

    def __init__(self, problem: Problem, seconds: float | None, progress: Progress) -> None:
        check_kind("Bound", "problem", problem, Problem, "Make one with assess(table, rules).")
        self.start = time.perf_counter()
        self.deadline, self.progress = Deadline.after(seconds), progress
        self.problem = replace(problem, most_touched=None)
        self.allowed: Bools = largest_pattern(self.problem, progress)
        self.lines = EquationCuts(self.problem, self.allowed)
        self.patterns = BridgelessCuts(self.problem, self.allowed)
        self.rows: list[Cut] = []
        self.finders: list[Finder] = []
        self.notes: list[str] = []
        if problem.most_touched is not None:
            self.notes.append("the bound on touched cells is not used")

    def add_kelly(self) -> None:
        """A sensitive cell is not the only hidden one of a line, nor is any other cell: (1) and (4)."""
        self.rows += self.lines.isolated_cuts()
        self.finders.append(self.patterns.separate)

    def note_unused(self, *, insiders: bool) -> None:
        """Say so where there are conditional levels or, with `insiders`, attackers beside the outsider."""
        if self.problem.levels.conditional.any():
            self.notes.append("conditional levels are not used")
        if insiders and self.problem.attackers:
            self.notes.append("for the outsider only")

    def add_p(self) -> None:
        """Kelly's rows, (5) and (6) with the cells they fix, and (8) to (10)."""
        self.add_kelly()
        volume = self.lines.volume_cuts()
        self.rows += [*volume, *fixing_cuts(volume)]
        self.finders.append(OneWayCuts(self.lines).separate)

    def requirements(self) -> list[Requirement]:
        """The levels that the cells hidden anyway do not meet, and conditional ones."""
        found = unmet_requirements(
            self.problem, audit(self.problem, Suppression.copy_of(self.problem.must_hide))
        )
        widths = self.problem.levels.conditional > 0
        cells = np.flatnonzero(self.allowed & ~self.problem.must_hide & widths)
        for attacker in range(len(self.problem.attacker_names) if cells.size else 0):
            _, _, sliding = self.problem.required(attacker, cells)
            found += [
                Requirement(cell, attacker, Side.SLIDE, width)
                for cell, width in zip(cells.tolist(), sliding.tolist(), strict=True)
                if width > 0
            ]
        return sorted(
            found,
            key=lambda requirement: (
                -requirement.level,
                requirement.attacker,
                requirement.cell,
                requirement.side.value,
            ),
        )

    def add_capacity(self, sharp: bool) -> None:
        """Capacity rows by separation; `sharp` with covers and roundings."""
        requirements = self.requirements()
        if not requirements:
            return
        separator = capacity_separator_of(self.problem, self.allowed)

        def missed(x: Floats) -> list[Cut]:
            rows = separator.separate(x, requirements, most=LEVELS_A_ROUND, deadline=self.deadline)
            return [row for row in rows if sharp or row.kind in ("capacity", "conditional")]

        self.finders.append(missed)
        if sharp and isinstance(separator, NetworkSeparator):
            covers = CoverSeparator(separator, requirements)
            self.finders.append(lambda x: covers.separate(x, most=LEVELS_A_ROUND, deadline=self.deadline))

    def solve(self, name: str, integer: bool) -> Bound:
        """The bound by these rows."""
        program = RowProgram(
            self.problem.weights,
            self.allowed & ~self.problem.must_hide,
            self.patterns.cheapest(FIRST_COLUMNS),
            self.finders,
            self.deadline,
            self.progress,
        )
        program.relaxation.add(self.rows)
        finished = program.linear()
        linear, whole = program.bound, None
        if integer and finished:
            finished = program.integral() is not None
            whole = program.bound if finished else None
        notes = self.notes if finished else [*self.notes, "stopped by the clock"]
        count, seconds = len(program.relaxation.pool), time.perf_counter() - self.start
        return Bound(name, program.rounded, linear, whole, count, seconds, tuple(notes))


def kelly(
    problem: Problem, *, integer: bool = False, seconds: float | None = None, progress: Progress = silent
) -> Bound:
    """Kelly, Golden & Assad (1992): pattern rows only.

    sum_free x_i >= 1 in a line where one sensitive cell is all that must be hidden; sum_{i != s} x_i >= x_s elsewhere.
    """
    case = _Case(problem, seconds, progress)
    case.note_unused(insiders=True)
    case.add_kelly()
    return case.solve("kelly", integer)


def carvalho_almeida(
    problem: Problem, *, integer: bool = False, seconds: float | None = None, progress: Progress = silent
) -> Bound:
    """Carvalho & Almeida (2000): pattern rows and volumes, sum_free c_i x_i >= r with coefficients as they are.

    For the outsider; lines whose total is sensitive beside other sensitive cells have no volume row in that paper.
    """
    case = _Case(problem, seconds, progress)
    case.note_unused(insiders=True)
    case.add_kelly()
    case.rows += case.lines.volume_cuts(truncated=False, classic=True)
    case.finders.append(OneWayCuts(case.lines, truncated=False).separate)
    return case.solve("carvalho_almeida", integer)


def relaxation_p(
    problem: Problem, *, integer: bool = False, seconds: float | None = None, progress: Progress = silent
) -> Bound:
    """The relaxation (P) of Carvalho & Almeida (2008): their (5) to (10), for any equations and attackers.

    Volume rows are truncated, sum_free min(c_i, r) x_i >= r; a total, which may rise without limit, has coefficient r.
    """
    case = _Case(problem, seconds, progress)
    case.note_unused(insiders=False)
    case.add_p()
    return case.solve("relaxation_p", integer)


def castro(
    problem: Problem,
    *,
    integer: bool = False,
    truncated: bool = True,
    seconds: float | None = None,
    progress: Progress = silent,
) -> Bound:
    """Castro (2007): pattern rows and, for each total with its parts, sum_i a_i x_i >= max_p (a_p + u_p).

    Corrected: the row of p is left out unless u_p <= a_p, and for a total u_p <= l_p as well. It needs a table without
    negative cells and lines that are totals of parts. `truncated=False` leaves the coefficients as printed.
    """
    case = _Case(problem, seconds, progress)
    case.note_unused(insiders=True)
    rows, used, left_out = case.lines.castro_cuts(truncated=truncated)
    _check_castro(case.problem, bool(used.size))
    if left_out.size:
        case.notes.append(f"a row that does not hold left out for {counted(left_out.size, 'sensitive cell')}")
    case.add_kelly()
    case.rows += rows
    return case.solve("castro", integer)


def _check_castro(problem: Problem, holds: bool) -> None:
    """The table must be Castro's, and some row must hold unless nothing is sensitive."""
    needs = {
        "a table without negative cells": bool((problem.table.values >= 0).all()),
        "an outsider who knows that no cell is negative": bool((problem.outsider_low >= 0).all()),
        "upper levels": bool(problem.levels.upper.any()) or not problem.sensitive.any(),
        "a sensitive cell among a total and its parts, with an upper level no larger than the cell and, if it is the "
        "total, no larger than its lower level": holds or not problem.sensitive.any(),
    }
    failing = [need for need, met in needs.items() if not met]
    if failing:
        raise NotApplicable(
            "Castro's bound does not apply.", needs=failing[0], instead=["relaxation_p", "combined"]
        )


def capacity(
    problem: Problem, *, integer: bool = False, seconds: float | None = None, progress: Progress = silent
) -> Bound:
    """Fischetti & Salazar (2001): capacity rows of all levels and attackers, found on demand, residual and truncated.

    As an integer program these rows describe the problem itself: its value is the optimum.
    """
    case = _Case(problem, seconds, progress)
    case.add_capacity(sharp=False)
    return case.solve("capacity", integer)


def combined(
    problem: Problem, *, integer: bool = False, seconds: float | None = None, progress: Progress = silent
) -> Bound:
    """Everything together: (P), capacity rows of all levels and attackers, covers and roundings."""
    case = _Case(problem, seconds, progress)
    case.add_p()
    case.add_capacity(sharp=True)
    return case.solve("combined", integer)


BOUNDS: dict[str, Callable[..., Bound]] = {
    "kelly": kelly,
    "carvalho_almeida": carvalho_almeida,
    "relaxation_p": relaxation_p,
    "castro": castro,
    "capacity": capacity,
    "combined": combined,
}
"""All bounds by name, roughly the weakest first."""


def bounds(
    problem: Problem, *, integer: bool = False, seconds: float | None = None, progress: Progress = silent
) -> list[Bound]:
    """All bounds that apply to the problem; with `integer` their integer programs are solved too.

    `seconds` is what each of them has. `tablecloak.bounds` has each as a function, which says why if it does not apply.
    """
    found = []
    for bound in BOUNDS.values():
        with suppress(NotApplicable):
            found.append(bound(problem, integer=integer, seconds=seconds, progress=progress))
    return found
