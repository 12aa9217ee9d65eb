"""Can the levels be met at all? Hide everything that may be hidden and see."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from tablecloak.arrays import Bools, Ints, places_of
from tablecloak.attacker import working_equations
from tablecloak.auditing import audit, recent_audit
from tablecloak.errors import InfeasibleProblem, SolverError, counted, listed
from tablecloak.methods.base import HIDES_EVERYTHING, Proposal, complementary_cost
from tablecloak.model import Audit, Intervals, Pattern, Problem, Status, Suppression
from tablecloak.progress import Progress, done_again, silent, uninterrupted
from tablecloak.solvers import LinearProgram, Outcome

_LARGEST: WeakKeyDictionary[Problem, tuple[Bools, Audit]] = WeakKeyDictionary()


@dataclass(frozen=True)
class FeasibilitySettings:
    """How the audit of the largest pattern is finished after an interrupt."""

    short_cells: int = 1_000
    """On tables of at most this number of cells it takes milliseconds and is done again, without a thread. Benchmark
    part: small."""
    max_explained: int = 5
    """Maximum number of open cells whose obstacles are computed: two linear programs each. Untested default."""
    farthest_deviation: float = 1e9
    """How far other cells deviate in these programs, in multiples of the open cell's value: more than double precision
    tells from any distance. Untested default."""
    least_price: float = 1e-7
    """Prices of forced cells up to this share of the price of the open cell are noise of the solver."""


def largest_pattern(problem: Problem, progress: Progress = silent) -> Bools:
    """The largest set of cells that may be hidden together; it meets every level, or the problem is infeasible.

    What hiding cannot protect, no statement about the same cells can: intervals, roundings and perturbations state
    more than nothing. So the words of the refusal fit every way to publish.

    A hidden cell whose conditional levels are not met even now cannot be met by hiding less, so it must be published;
    the rest is judged again. What remains meets all conditional levels and contains every feasible pattern.

    It is worked out once a problem: a portfolio runs several methods, and on large tables this audit is a good part of
    a short limit.
    """
    known = _LARGEST.get(problem)
    if known is None:
        _LARGEST[problem] = known = _largest_pattern(problem, progress)
    return known[0].copy()


def finished_largest_pattern(
    problem: Problem, progress: Progress = silent, settings: FeasibilitySettings = FeasibilitySettings()
) -> Bools:
    """The largest pattern, whose audit is finished after an interrupt; that is raised then, and the audit is known."""
    finish = done_again if len(problem.table) <= settings.short_cells else uninterrupted
    allowed, interrupted = finish(partial(largest_pattern, problem, progress))
    if interrupted:
        raise KeyboardInterrupt
    return allowed


def hide_everything(problem: Problem, progress: Progress) -> Bools:
    """The largest pattern, reported as the first incumbent of a suppression: a run that is stopped early ends with it.

    With a bound on the number of touched cells it is none; then it is only what may be hidden at all.
    """
    phase = "is it feasible at all"
    progress(phase, 0, 1)
    if problem.most_touched is not None:
        return largest_pattern(replace(problem, most_touched=None), progress)
    allowed = finished_largest_pattern(problem, progress)
    progress(phase, 1, 1, complementary_cost(problem, allowed))
    return allowed


def interrupted_early(problem: Problem) -> Proposal | None:
    """Everything hidden, for a suppression that was interrupted before it had a pattern; None where it is not known."""
    known = _LARGEST.get(problem)
    if known is None or problem.most_touched is not None:
        return None
    hidden = Suppression.copy_of(known[0])
    return Proposal(hidden, Status.INTERRUPTED, "none", 0.0, notes=(HIDES_EVERYTHING,))


def known_audit(problem: Problem, pattern: Pattern) -> Audit | None:
    """The audit of a pattern, if the run has made it: on large tables it takes seconds.

    That is one of its last audits, or that of the largest pattern. Intervals without ends for all these cells state the
    same as hiding them.
    """
    known = _LARGEST.get(problem)
    if known is None or not isinstance(pattern, Suppression | Intervals):
        return recent_audit(problem, pattern)
    largest = Suppression(known[0])
    given, view = pattern.view(problem), largest.view(problem)
    same = np.array_equal(given.low, view.low) and np.array_equal(given.high, view.high)
    if not same or not np.array_equal(pattern.touched(problem), largest.hidden):
        return recent_audit(problem, pattern)
    return replace(known[1], subject=(problem, pattern))


def _largest_pattern(problem: Problem, progress: Progress) -> tuple[Bools, Audit]:
    allowed = ~problem.forced
    while True:
        found = audit(problem, Suppression.copy_of(allowed), progress=progress)
        failing = found.open_cells
        hopeless = failing[problem.levels.is_conditional[failing]]
        hopeless = hopeless[~problem.must_hide[hopeless]]
        if hopeless.size == 0:
            break
        allowed = allowed.copy()
        allowed[hopeless] = False
    if not found.safe_rows.all():
        raise _refusal(problem, allowed, found)
    return allowed, replace(
        found, subject=None
    )  # a reference to the problem would keep it in the cache for ever


def _refusal(problem: Problem, allowed: Bools, found: Audit) -> InfeasibleProblem:
    cells = found.open_cells
    blocking, unexplained = forced_in_the_way(problem, allowed, found)
    labels, forced = problem.table.labels(cells), problem.table.labels(blocking)
    message = (
        f"Nothing that hides or blurs cells can protect {counted(cells.size, 'cell')}, "
        f"even when everything that may be hidden is hidden:\n{listed(labels)}"
    )
    if forced:
        message += f"\nCells that must be published and stand in the way:\n{listed(forced)}"
    message += not_explained(problem, unexplained)
    message += (
        "\nLower the levels of these cells, let more cells be hidden or blurred, or let attackers know less."
    )
    return InfeasibleProblem(
        message, cells=labels, forced=forced, confidential={"shortfall": found.shortfalls(problem)}
    )


class Obstacles(NamedTuple):
    """Forced cells that keep open ones from being protected."""

    forced: Ints
    unexplained: Ints
    """Open cells whose program failed numerically: what stands in their way is not known."""


def not_explained(problem: Problem, unexplained: Ints) -> str:
    """The line of a message about open cells whose obstacles could not be computed; empty without such cells."""
    if not unexplained.size:
        return ""
    return (
        "\nWhat stands in the way could not be computed (numbers of too different size) for:\n"
        f"{listed(problem.table.labels(unexplained))}"
    )


def forced_in_the_way(
    problem: Problem,
    allowed: Bools,
    found: Audit,
    settings: FeasibilitySettings = FeasibilitySettings(),
) -> Obstacles:
    """Forced cells with a price in the attacker's program: freeing one of them would widen an open cell's interval.

    An explanation, not a verdict: the audit has proven that the cells are open. Each program is scaled by its cell, and
    other cells deviate by at most a multiple of it, so that numbers of any size fit into one program.
    """
    equations = working_equations(problem.table)
    cells = np.flatnonzero(allowed)
    place = places_of(cells, allowed.size)
    value = problem.table.values
    blocking = np.zeros(allowed.size, dtype=bool)
    unexplained = list[int]()
    for row in np.flatnonzero(~found.safe_rows)[: settings.max_explained]:
        cell = int(found.cells[row])
        low, high = problem.box(int(found.attackers[row]))
        scale = max(float(np.abs(value[cell])), problem.table.unit)
        farthest = settings.farthest_deviation
        bounds = (np.clip((end - value)[cells] / scale, -farthest, farthest) for end in (low, high))
        session = LinearProgram(equations[:, cells], *bounds)
        try:
            for sign in (1.0, -1.0):
                session.set_cost(int(place[cell]), sign)
                solution = session.solve()
                if solution.outcome is not Outcome.OPTIMAL:
                    raise SolverError(f"HiGHS ended with {solution.outcome.value} on an attacker's program")
                blocking |= np.abs(equations.T @ solution.duals) > settings.least_price
        except SolverError:
            unexplained.append(cell)
    return Obstacles(np.flatnonzero(blocking & problem.forced), np.unique(unexplained).astype(np.int64))
