"""What interval methods do with their optimum: a second one for larger levels is printed, on a grid.

See `attainable.skewed` for how much larger levels become, and why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tablecloak.attacker import structure_of
from tablecloak.errors import InfeasibleProblem
from tablecloak.methods.base import Proposal, Run
from tablecloak.methods.intervals.attainable import LEAST_ASYMMETRY, lengthened, on_grid, skewed
from tablecloak.methods.unified import ModelSolution
from tablecloak.model import EVERYTHING, Intervals, Problem, Status
from tablecloak.progress import NEVER, Deadline
from tablecloak.solvers import Outcome


@dataclass(frozen=True, eq=False)
class Blurred:
    """The intervals for the levels as they are, those that are printed, and how large the asymmetry could be."""

    exact: Intervals
    printed: Intervals
    asked: float
    asymmetry: float
    by_chance: bool = False
    """Whether intervals were lengthened by chance, because the run was stopped before larger levels were solved for."""

    @property
    def same(self) -> bool:
        """Whether blurring changed nothing."""
        one, other = self.exact, self.printed
        return bool((one.low == other.low).all() and (one.high == other.high).all())


def blurred(
    problem: Problem,
    exact: Intervals,
    asymmetry: float,
    grid: float | None,
    rng: np.random.Generator,
    solve: Callable[[Problem], Intervals],
    deadline: Deadline = NEVER,
) -> Blurred:
    """Intervals for print: `solve` makes them for larger levels; the asymmetry is halved until these can be met.

    Intervals without ends, all that there is when the time is up early, have no midpoint to hide.
    """
    touched = exact.low < exact.high
    if deadline.passed() and not (np.isfinite(exact.low) | np.isfinite(exact.high))[touched].any():
        return Blurred(exact, exact, asymmetry, asymmetry)
    printed, asked, share = exact, asymmetry, rng.bit_generator.random_raw()
    if asymmetry > 0 and deadline.passed():
        return _by_chance(problem, exact, asymmetry, grid, share)
    while asymmetry > 0:
        solved: list[Intervals] = []
        try:
            with deadline.stoppable():
                solved.append(solve(skewed(problem, asymmetry, np.random.default_rng(share))))
        except InfeasibleProblem:
            asymmetry = asymmetry / 2 if asymmetry > LEAST_ASYMMETRY else 0.0
            continue
        if not solved:  # interrupted
            return _by_chance(problem, exact, asked, grid, share)
        printed = solved[0]
        break
    found = Blurred(exact, on_grid(problem, printed, grid), asked, asymmetry)
    if asymmetry > 0 and deadline.passed():
        other = _by_chance(problem, exact, asked, grid, share)
        return other if other.printed.loss(problem) < found.printed.loss(problem) else found
    return found


def _by_chance(
    problem: Problem, exact: Intervals, asymmetry: float, grid: float | None, seed: int
) -> Blurred:
    longer = lengthened(problem, exact, asymmetry, np.random.default_rng(seed))
    return Blurred(exact, on_grid(problem, longer, grid), asymmetry, asymmetry, by_chance=True)


def proposal_of(
    problem: Problem,
    found: Blurred,
    answer: ModelSolution,
    model: str,
    run: Run,
    *,
    bound: float | None,
    proven: bool,
    more: tuple[str, ...] = (),
) -> Proposal:
    """What is printed, with what was proven of the optimum. `proven`: if the cost before blurring is the bound."""
    optimal, before = answer.outcome is Outcome.OPTIMAL, found.exact.loss(problem)
    notes = []
    if optimal and not found.same:
        notes.append("the optimum is proven for the levels as they are; what is printed is blurred")
    if found.asymmetry < found.asked:
        notes.append(f"the levels could be made larger by an asymmetry of {found.asymmetry:g} only")
    if found.by_chance:
        notes.append(
            "stopped before larger levels were solved for: intervals are lengthened by chance instead"
        )
    endless = ~np.isfinite(found.printed.low) & ~np.isfinite(found.printed.high)
    if not optimal and (endless | problem.forced).all():
        notes.append(f"stopped before intervals with ends were found: {EVERYTHING}")
    finished = Status.OPTIMAL if found.same and proven else Status.FEASIBLE
    return Proposal(
        found.printed,
        run.status(finished, complete=answer.outcome is not Outcome.TIME_LIMIT),
        f"{model} model (HiGHS) on {structure_of(problem.table).description}",
        bound=None if bound is None else min(bound, before, found.printed.loss(problem)),
        counters={
            "cost before blurring": before,
            "touched cells": int(found.exact.touched(problem).sum()),
            "rounds": answer.rounds,
            "rows": answer.rows,
        },
        notes=(*notes, *more),
    )
