"""The frame of interval methods: an optimum, a blurred second one for print, and what is proven of the first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.attacker import is_network, structure_of
from tablecloak.methods.base import Proposal, Run
from tablecloak.methods.intervals.attainable import SideBounds, may_be_touched
from tablecloak.methods.intervals.blur import BlurParams, Blurred, BlurSettings, blurred
from tablecloak.methods.intervals.initial_intervals import InitialIntervalSettings, initial_intervals
from tablecloak.methods.intervals.repair import RepairSettings, repaired_in_time
from tablecloak.methods.intervals.slope_scaling import SlopeScalingSettings
from tablecloak.methods.unified import CuttingPlaneSettings, Formulation, ModelSolution, ProtectionCut
from tablecloak.model import EVERYTHING, Intervals, Problem, Status
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import Outcome


@dataclass(frozen=True)
class IntervalSettings:
    """How interval methods spend their time. Benchmark parts `intervals` and `ways` run with the defaults; none of them
    has been varied there."""

    cutting_plane: CuttingPlaneSettings = field(default_factory=CuttingPlaneSettings)
    """The cutting-plane model."""
    initial: InitialIntervalSettings = field(default_factory=InitialIntervalSettings)
    """Intervals to begin with."""
    slope_scaling: SlopeScalingSettings = field(default_factory=SlopeScalingSettings)
    """Starts of interval-combined."""
    repair: RepairSettings = field(default_factory=RepairSettings)
    """Audit and repair."""
    blur: BlurSettings = field(default_factory=BlurSettings)
    """What is printed."""
    optimum_share: float = 0.5
    """Share of the time for the optimum, if a second one for larger levels is printed. More: a better bound, against
    longer printed intervals. Untested default."""
    repair_share: float = 0.25
    """Share of the time of interval-partial for repair of what the model has when its time is up. More: finite
    intervals on large tables, against the bound. Untested default."""
    max_checked_cells: int = 10_000
    """Maximum number of cells of non-network tables for which it is checked beforehand whether the requirements can be
    met. More: infeasible problems are refused at once, against the time of the check. Untested default."""


@dataclass(frozen=True)
class IntervalStrategy:
    """What an interval method does on a table of this size and structure. Printed, it shows the choices."""

    settings: IntervalSettings = field(repr=False)
    check_feasibility: bool
    """Whether it is checked beforehand that the requirements can be met."""
    slope_scaling: bool = False
    """Whether slope scaling on the cells of a suppression pattern gives starts and repairs integral points."""
    scale_all_cells: bool = False
    """Whether slope scaling also begins from all cells."""


def is_feasibility_checked(problem: Problem, settings: IntervalSettings) -> bool:
    """Whether the check beforehand is worth its time: always with conditional levels, on networks and small tables."""
    small = len(problem.table) <= settings.max_checked_cells
    return small or not problem.is_monotone or is_network(problem)


@dataclass(frozen=True, eq=False)
class OptimalIntervals:
    """Intervals for the levels of a problem, the solution of their model, and the cuts without slack at it."""

    intervals: Intervals
    solution: ModelSolution
    cuts: Sequence[ProtectionCut]


class IntervalOptimiser(ABC):
    """Finds the cheapest intervals for the levels of a problem: of the problem itself, and with larger levels."""

    def __init__(self, strategy: IntervalStrategy, progress: Progress) -> None:
        self.strategy, self.progress = strategy, progress

    @abstractmethod
    def optimise(
        self,
        problem: Problem,
        deadline: Deadline,
        start: SideBounds | None,
        known: Sequence[ProtectionCut],
    ) -> OptimalIntervals:
        """Optimal intervals; the best ones known when the time is up first. `start`: initial intervals."""

    def allowed(self, problem: Problem, deadline: Deadline) -> Bools:
        """The cells that may be touched."""
        allowed = np.asarray(~problem.forced)
        with deadline.stoppable():
            checked = self.strategy.check_feasibility
            allowed = may_be_touched(problem, self.progress, check_feasibility=checked)
        return allowed

    def initial(self, problem: Problem, deadline: Deadline) -> SideBounds | None:
        """Initial intervals, if there are any in time."""
        allowed, settings = self.allowed(problem, deadline), self.strategy.settings.initial
        return initial_intervals(problem, allowed, deadline, self.progress, settings)

    def repaired(
        self,
        problem: Problem,
        allowed: Bools,
        formulation: Formulation,
        solution: ModelSolution,
        deadline: Deadline,
    ) -> SideBounds | None:
        """The bounds of a solution, repaired until the audit accepts them; None: not in time."""
        x = solution.values if solution.values.size == formulation.size else np.zeros(formulation.size)
        bounds, settings = (formulation.below.at(x), formulation.above.at(x)), self.strategy.settings.repair
        return repaired_in_time(
            problem, allowed, bounds, self.progress, deadline, safe=solution.safe, settings=settings
        )


@dataclass(frozen=True, eq=False)
class BlurredOptimum:
    """The optimum for the levels as they are, and what is printed."""

    optimum: OptimalIntervals
    blurred: Blurred


def optimised_and_blurred(
    problem: Problem, optimiser: IntervalOptimiser, params: BlurParams, rng: np.random.Generator, run: Run
) -> BlurredOptimum:
    """The optimum for the levels as they are, and its blurred version: an optimum for larger levels, on a grid."""
    settings, deadline = optimiser.strategy.settings, run.deadline
    optimiser.progress("is it feasible at all", 0, 1)
    start = optimiser.initial(problem, deadline)
    within = deadline.share(settings.optimum_share) if params.asymmetry else deadline
    optimum = optimiser.optimise(problem, within, start, ())

    def again(larger: Problem) -> Intervals:
        initial = optimiser.initial(larger, deadline)
        return optimiser.optimise(larger, deadline, initial, optimum.cuts).intervals

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
