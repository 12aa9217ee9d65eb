"""Lower bounds on the cost of every safe suppression, from the literature, each on its own.

    min sum_i w_i x_i   over the complementary cells x and cuts that every safe pattern (or some optimal one) satisfies

| bound              | cuts                                                                     |
|--------------------|--------------------------------------------------------------------------|
| `kelly`            | isolated and bridgeless: no hidden cell is alone in an equation          |
| `carvalho_almeida` | Kelly's and volume, coefficients as they are                             |
| `relaxation_p`     | Kelly's and volume, truncated to the right-hand side; one-way            |
| `castro`           | Kelly's and Castro's, where they are valid                               |
| `capacity`         | capacity cuts of all attackers, with residual and truncation             |
| `subtables`        | those that hold in slices, strips and other subsystems, solved exactly   |
| `combined`         | all of these, with covers and roundings                                  |

Every bound is valid for any attackers, boxes, forced and forced-hidden cells and weights; the conditions of a paper are
checked, and `NotApplicable` says which one fails. Where weights are multiples of a unit the value is rounded up to one.
A bound that the deadline stops is smaller, and valid.

References: Kelly, Golden & Assad (1992); Carvalho & Almeida (2000, 2008); Castro (2007), corrected; Fischetti & Salazar
(2001); Geoffrion (1974) for `subtables`. See docs/bounds.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import is_network
from tablecloak.auditing import audit
from tablecloak.errors import NotApplicable, check_kind, counted
from tablecloak.methods import largest_pattern
from tablecloak.methods.cuts import (
    BridgelessCuts,
    BridgelessSettings,
    CapacitySettings,
    CoverSeparator,
    Cut,
    CutLoopSettings,
    CutProgram,
    EquationCuts,
    NetworkSeparator,
    OneWayCuts,
    OneWaySettings,
    SeparationRoutine,
    capacity_separator_of,
    fixing_cuts,
    rounded_up,
)
from tablecloak.methods.subtables import AdditiveBound, SubtableSettings
from tablecloak.model import Problem, Requirement, Suppression, open_requirements
from tablecloak.progress import Deadline, Progress, silent

INTERRUPTED = "interrupted"
"""The note of a bound that the user stopped: it is smaller, and valid."""


@dataclass(frozen=True)
class LowerBoundSettings:
    """How the cuts of bounds are separated, and the programs over them."""

    requirements_per_round: int = 200
    """Maximum number of requirements that get new capacity cuts in one round: the number of rounds against the size of
    the relaxation. Untested default."""
    bridgeless: BridgelessSettings = BridgelessSettings()
    one_way: OneWaySettings = OneWaySettings()
    capacity: CapacitySettings = CapacitySettings()
    cut_loop: CutLoopSettings = CutLoopSettings()
    subtables: SubtableSettings = SubtableSettings()


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
    """A problem with its equations, and the cuts of a bound as they are collected."""

    def __init__(
        self,
        problem: Problem,
        seconds: float | None,
        progress: Progress,
        settings: LowerBoundSettings,
    ) -> None:
        check_kind("Bound", "problem", problem, Problem, "Make one with assess(table, rules).")
        self.start = time.perf_counter()
        self.deadline, self.progress, self.settings = Deadline.after(seconds), progress, settings
        self.problem = replace(problem, most_touched=None)
        self.allowed: Bools = largest_pattern(self.problem, progress)
        self.equations = EquationCuts(self.problem, self.allowed)
        self.bridgeless = BridgelessCuts(self.problem, self.allowed, settings=settings.bridgeless)
        self.cuts: list[Cut] = []
        self.finders: list[SeparationRoutine] = []
        self.members: AdditiveBound | None = None
        """The subsystems that are used too."""
        self.notes: list[str] = []
        if problem.most_touched is not None:
            self.notes.append("the bound on touched cells is not used")

    def add_kelly(self) -> None:
        """A sensitive cell is not the only hidden one of an equation, nor is any other cell: (1) and (4)."""
        self.cuts += self.equations.isolated_cuts()
        self.finders.append(self.bridgeless.separate)

    def note_unused(self, *, insiders: bool) -> None:
        """Note conditional levels and, with `insiders`, attackers beside the outsider: the bound does not use them."""
        if self.problem.has_conditional:
            self.notes.append("conditional levels are not used")
        if insiders and self.problem.attackers:
            self.notes.append("for the outsider only")

    def add_p(self) -> None:
        """Kelly's cuts, (5) and (6) with the cells they fix, and (8) to (10)."""
        self.add_kelly()
        volume = self.equations.volume_cuts()
        self.cuts += [*volume, *fixing_cuts(volume)]
        self.finders.append(OneWayCuts(self.equations, settings=self.settings.one_way).separate)

    def requirements(self) -> list[Requirement]:
        """The levels that the cells hidden anyway do not meet, and conditional ones."""
        found = audit(self.problem, Suppression.copy_of(self.problem.must_hide))
        return open_requirements(self.problem, found, self.allowed & ~self.problem.must_hide)

    def add_capacity(self, *, strengthened: bool) -> None:
        """Capacity cuts by separation; `strengthened` with covers and roundings."""
        requirements = self.requirements()
        if not requirements:
            return
        separator = capacity_separator_of(self.problem, self.allowed, settings=self.settings.capacity)
        most = self.settings.requirements_per_round

        def violated(x: Floats) -> list[Cut]:
            cuts = separator.separate(x, requirements, most=most, deadline=self.deadline)
            return [cut for cut in cuts if strengthened or cut.kind in ("capacity", "conditional")]

        self.finders.append(violated)
        if strengthened and isinstance(separator, NetworkSeparator):
            covers = CoverSeparator(separator, requirements)
            self.finders.append(lambda x: covers.separate(x, most=most, deadline=self.deadline))

    def add_subtables(self) -> None:
        """What subsystems prove, their exact solves included."""
        given = self.problem, self.allowed, self.deadline, self.progress
        self.members = AdditiveBound(*given, self.settings.subtables)

    def solve(self, name: str, integer: bool) -> Bound:
        """The bound by these cuts; with subsystems the cuts of the whole table are a stage of theirs."""
        program = CutProgram(
            self.problem.weights,
            self.allowed & ~self.problem.must_hide,
            self.bridgeless.cheapest(),
            self.finders,
            self.deadline,
            self.progress,
            self.settings.cut_loop,
        )
        program.relaxation.add(self.cuts)
        by_members, finished = 0.0, True
        if self.members is not None:
            finished = self.members.solve(self.finders)
            by_members = self.members.relaxation.bound
            program.relaxation.add_to_pool(self.members.relaxation.pool)
            self.finders.append(self.members.separate)
        finished = finished and program.solve_relaxation()
        linear, whole = max(program.bound, by_members), None
        if integer and finished:
            finished = program.solve_integer() is not None
            whole = max(program.bound, linear) if finished else None
        if not finished:
            self.notes.append(INTERRUPTED if self.deadline.interrupted else "stopped by the clock")
        value = rounded_up(max(program.bound, linear), program.unit)
        count, seconds = len(program.relaxation.pool), time.perf_counter() - self.start
        return Bound(name, value, linear, whole, count, seconds, tuple(self.notes))


def kelly(
    problem: Problem,
    *,
    integer: bool = False,
    seconds: float | None = None,
    progress: Progress = silent,
    settings: LowerBoundSettings = LowerBoundSettings(),
) -> Bound:
    """Kelly, Golden & Assad (1992): isolated and bridgeless cuts only.

    sum_free x_i >= 1 in an equation where one sensitive cell is all that must be hidden, else sum_{i != s} x_i >= x_s.
    """
    case = _Case(problem, seconds, progress, settings)
    case.note_unused(insiders=True)
    case.add_kelly()
    return case.solve("kelly", integer)


def carvalho_almeida(
    problem: Problem,
    *,
    integer: bool = False,
    seconds: float | None = None,
    progress: Progress = silent,
    settings: LowerBoundSettings = LowerBoundSettings(),
) -> Bound:
    """Carvalho & Almeida (2000): Kelly's cuts and volumes, sum_free c_i x_i >= r with coefficients as they are.

    For the outsider; equations whose total is sensitive beside other sensitive cells have no volume cut in that paper.
    """
    case = _Case(problem, seconds, progress, settings)
    case.note_unused(insiders=True)
    case.add_kelly()
    case.cuts += case.equations.volume_cuts(truncated=False, classic=True)
    case.finders.append(OneWayCuts(case.equations, truncated=False, settings=settings.one_way).separate)
    return case.solve("carvalho_almeida", integer)


def relaxation_p(
    problem: Problem,
    *,
    integer: bool = False,
    seconds: float | None = None,
    progress: Progress = silent,
    settings: LowerBoundSettings = LowerBoundSettings(),
) -> Bound:
    """The relaxation (P) of Carvalho & Almeida (2008): their (5) to (10), for any equations and attackers.

    Volume cuts are truncated, sum_free min(c_i, r) x_i >= r; a total, which may rise without limit, has coefficient r.
    """
    case = _Case(problem, seconds, progress, settings)
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
    settings: LowerBoundSettings = LowerBoundSettings(),
) -> Bound:
    """Castro (2007): Kelly's cuts and, for each total with its parts, sum_i a_i x_i >= max_p (a_p + u_p).

    Corrected: the cut of p is left out unless u_p <= a_p, and for a total u_p <= l_p as well. It needs a table without
    negative cells and equations that are totals of parts. `truncated=False` leaves the coefficients as printed.
    """
    case = _Case(problem, seconds, progress, settings)
    case.note_unused(insiders=True)
    cuts, used, left_out = case.equations.castro_cuts(truncated=truncated)
    _check_castro(case.problem, bool(used.size))
    if left_out.size:
        case.notes.append(f"a row that does not hold left out for {counted(left_out.size, 'sensitive cell')}")
    case.add_kelly()
    case.cuts += cuts
    return case.solve("castro", integer)


def _check_castro(problem: Problem, holds: bool) -> None:
    """The table must be Castro's, and some cut must be valid unless nothing is sensitive."""
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
    problem: Problem,
    *,
    integer: bool = False,
    seconds: float | None = None,
    progress: Progress = silent,
    settings: LowerBoundSettings = LowerBoundSettings(),
) -> Bound:
    """Fischetti & Salazar (2001): capacity cuts of all levels and attackers, separated, residual and truncated.

    As an integer program these cuts describe the problem itself: its value is the optimum.
    """
    case = _Case(problem, seconds, progress, settings)
    case.add_capacity(strengthened=False)
    return case.solve("capacity", integer)


def subtables(
    problem: Problem,
    *,
    integer: bool = False,
    seconds: float | None = None,
    progress: Progress = silent,
    settings: LowerBoundSettings = LowerBoundSettings(),
) -> Bound:
    """The additive bound: the weights split over slices, strips and other subsystems, each of them solved exactly.

    sum_s opt_s(w_s) <= opt(w) where sum_s w_s <= w; the split is that of the duals of all inequalities found so far.
    Ctrl-C returns the bound that is proven by then.
    """
    case = _Case(problem, seconds, progress, settings)
    case.add_subtables()
    return case.solve("subtables", integer)


def combined(
    problem: Problem,
    *,
    integer: bool = False,
    seconds: float | None = None,
    progress: Progress = silent,
    settings: LowerBoundSettings = LowerBoundSettings(),
) -> Bound:
    """Everything together: (P), capacity cuts of all levels and attackers, covers and roundings.

    On non-network tables the cuts of subtables too; on networks they are those of the whole.
    """
    case = _Case(problem, seconds, progress, settings)
    if not is_network(problem):
        case.add_subtables()
    case.add_p()
    case.add_capacity(strengthened=True)
    return case.solve("combined", integer)


BOUNDS: dict[str, Callable[..., Bound]] = {
    "kelly": kelly,
    "carvalho_almeida": carvalho_almeida,
    "relaxation_p": relaxation_p,
    "castro": castro,
    "capacity": capacity,
    "subtables": subtables,
    "combined": combined,
}
"""All bounds by name, roughly the weakest first."""


def bounds(
    problem: Problem, *, integer: bool = False, seconds: float | None = None, progress: Progress = silent
) -> list[Bound]:
    """All bounds that apply to the problem; with `integer` their integer programs are solved too.

    `seconds` is what each of them has; after one that is interrupted there are no more.
    `tablecloak.bounds` has each as a function, which says why if it does not apply.
    """
    found = []
    for bound in BOUNDS.values():
        with suppress(NotApplicable):
            found.append(bound(problem, integer=integer, seconds=seconds, progress=progress))
            if INTERRUPTED in found[-1].notes:
                break
    return found
