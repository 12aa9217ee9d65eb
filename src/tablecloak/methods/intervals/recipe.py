"""The frame of interval methods: an optimum, a blurred second one for print, and what is proven of the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.attacker import structure_of
from tablecloak.methods.base import Proposal, Run
from tablecloak.methods.intervals.attainable import SideBounds, may_be_touched
from tablecloak.methods.intervals.blur import BlurParams, Blurred, blurred
from tablecloak.methods.intervals.initial_intervals import initial_intervals
from tablecloak.methods.intervals.settings import IntervalStrategy
from tablecloak.methods.unified import ModelSolution, ProtectionCut
from tablecloak.model import EVERYTHING, Intervals, Problem, Status
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import Outcome


@dataclass(frozen=True, eq=False)
class OptimalIntervals:
    """Intervals for the levels of a problem, the solution of their model, and the cuts without slack at it."""

    intervals: Intervals
    solution: ModelSolution
    cuts: Sequence[ProtectionCut]


Optimise = Callable[[Problem, Deadline, SideBounds | None, Sequence[ProtectionCut]], OptimalIntervals]
"""From a problem, a deadline, initial intervals and known cuts to the cheapest intervals."""


@dataclass(frozen=True, eq=False)
class BlurredOptimum:
    """The optimum for the levels as they are, and what is printed."""

    optimum: OptimalIntervals
    blurred: Blurred


def optimised_and_blurred(
    problem: Problem,
    optimise: Optimise,
    params: BlurParams,
    rng: np.random.Generator,
    run: Run,
    progress: Progress,
    strategy: IntervalStrategy,
) -> BlurredOptimum:
    """The optimum for the levels as they are, and its blurred version: an optimum for larger levels, on a grid."""
    settings, deadline = strategy.settings, run.deadline
    progress("is it feasible at all", 0, 1)

    def initial(given: Problem) -> SideBounds | None:
        allowed = may_be_touched(given, progress, check_feasibility=strategy.check_feasibility)
        return initial_intervals(given, allowed, deadline, progress, settings.initial)

    start = initial(problem)
    within = deadline.share(settings.optimum_share) if params.asymmetry else deadline
    optimum = optimise(problem, within, start, ())

    def again(larger: Problem) -> Intervals:
        return optimise(larger, deadline, initial(larger), optimum.cuts).intervals

    printed = blurred(problem, optimum.intervals, params, rng, again, deadline, settings.blur)
    return BlurredOptimum(optimum, printed)


def proposal_of(
    problem: Problem,
    result: BlurredOptimum,
    run: Run,
    *,
    model: str,
    bound: float | None,
    proven: bool,
    notes: tuple[str, ...] = (),
) -> Proposal:
    """What is printed, with what was proven of the optimum. `proven`: whether the cost before blurring is the bound."""
    found, solution = result.blurred, result.optimum.solution
    optimal, before = solution.outcome is Outcome.OPTIMAL, found.exact.loss(problem)
    own = []
    if optimal and not found.same:
        own.append("the optimum is proven for the levels as they are; what is printed is blurred")
    if found.asymmetry < found.requested:
        own.append(f"the levels could be made larger by an asymmetry of {found.asymmetry:g} only")
    if found.by_chance:
        own.append("stopped before larger levels were solved for: intervals are lengthened by chance instead")
    endless = ~np.isfinite(found.printed.low) & ~np.isfinite(found.printed.high)
    if not optimal and (endless | problem.forced).all():
        own.append(f"stopped before intervals with ends were found: {EVERYTHING}")
    finished = Status.OPTIMAL if found.same and proven else Status.FEASIBLE
    return Proposal(
        found.printed,
        run.status(finished, complete=solution.outcome is not Outcome.TIME_LIMIT),
        f"{model} model (HiGHS) on {structure_of(problem.table).description}",
        bound=None if bound is None else min(bound, before, found.printed.loss(problem)),
        counters={
            "cost before blurring": before,
            "touched cells": int(found.exact.touched(problem).sum()),
            "rounds": solution.rounds,
            "rows": solution.cuts,
        },
        notes=(*own, *notes),
    )
