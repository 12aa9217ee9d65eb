"""The frame of interval methods: an optimum, a blurred second one for print, audit and repair, and what is proven.

What the audit finds open gets the bounds of a deviation of its own: a deviation d with M d = 0 that moves cell p by its
level stays possible if every interval contains a_i + d_i, so the bounds max(below, -d), max(above, d) meet that
requirement, whatever the others do.

Reference: Fischetti & Salazar (2003), Partial cell suppression, for what makes intervals safe.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import is_network, structure_of, working_equations
from tablecloak.auditing import audit
from tablecloak.methods.base import Proposal, Run
from tablecloak.methods.heuristics import DeviationFinder, DeviationSettings, Witness
from tablecloak.methods.intervals.attainable import (
    BlurParams,
    Blurred,
    BlurSettings,
    SideBounds,
    blurred,
    hidden_by_mark,
    may_be_touched,
    rounded_up,
    snapped,
    stated,
)
from tablecloak.methods.intervals.initial_intervals import InitialIntervalSettings, initial_intervals
from tablecloak.methods.intervals.slope_scaling import SlopeScalingSettings
from tablecloak.methods.unified import (
    CompactModelSettings,
    CuttingPlaneSettings,
    Formulation,
    ModelSolution,
    ProtectionCut,
)
from tablecloak.model import (
    EVERYTHING,
    Intervals,
    Problem,
    Requirement,
    Status,
    box_deviation_bounds,
    unmet_requirements,
)
from tablecloak.progress import NEVER, Deadline, Progress
from tablecloak.solvers import LP_PRECISION, Outcome


@dataclass(frozen=True)
class RepairSettings:
    """Rounds of audit and repair."""

    margins: tuple[float, ...] = (0.0, LP_PRECISION, 10 * LP_PRECISION)
    """Shares by which intervals that the audit rejects are lengthened, round by round, before single requirements are
    repaired. Larger: fewer rounds, against longer intervals. Untested default."""
    max_rounds: int = 20
    """Maximum number of audit-and-repair rounds. Untested default."""
    many_unmet: int = 100
    """Number of unmet requirements above which, with a time limit, all intervals are lengthened instead. More: shorter
    intervals, against the time for a deviation each. Untested default."""
    growth: float = 1.3
    """Factor by which all intervals are lengthened then. Untested default."""
    max_growths: int = 8
    """Maximum number of rounds in which they are. Untested default."""
    deviation: DeviationSettings = DeviationSettings()


class Widener:
    """Widens intervals requirement by requirement, by cheapest deviations."""

    def __init__(
        self,
        problem: Problem,
        price: Floats,
        deadline: Deadline,
        settings: DeviationSettings = DeviationSettings(),
    ) -> None:
        self.problem, self.price = problem, np.where(hidden_by_mark(problem), 0.0, price)
        equations = working_equations(problem.table)
        self.finder = DeviationFinder(problem, equations, ~problem.forced, deadline, settings)
        self._widened: set[Requirement] = set()

    def widen(self, below: Floats, above: Floats, requirements: list[Requirement]) -> SideBounds | None:
        """Deviation bounds that also meet these requirements; None if the time was up first.

        Deviations are rounded up to integral data units. Where the number of touched cells or conditional widths
        matter they stay on cells that are touched, if possible. A requirement that is unmet again gets a deviation
        from the attacker's own program, which is nearly exact.
        """
        below, above = below.copy(), above.copy()
        for requirement in requirements:
            witness = self._witness(requirement, (below > 0) | (above > 0) | self.problem.must_hide)
            if witness is None:
                return None
            for moved in (witness.forward, witness.backward):
                if moved is not None:
                    np.maximum.at(above, witness.cells, rounded_up(self.problem, moved))
                    np.maximum.at(below, witness.cells, rounded_up(self.problem, -moved))
        return below, above

    def _witness(self, requirement: Requirement, touched: Bools) -> Witness | None:
        again, everything = requirement in self._widened, ~self.problem.forced
        self._widened.add(requirement)
        # the finder divides the prices of cells by their capacity; lengths cost by the unit
        prices = self.price * requirement.level
        for cells in [everything] if self.problem.is_monotone else [touched & everything, everything]:
            self.finder.allowed[:] = cells
            found = None if again else self.finder.cheapest(requirement, prices)
            if found is None and self.finder.is_late():
                return None
            found = found or self.finder.any_deviation(requirement)
            if found is not None:
                return found
        return None


def repaired(
    problem: Problem,
    allowed: Bools,
    bounds: SideBounds,
    progress: Progress,
    deadline: Deadline = NEVER,
    settings: RepairSettings = RepairSettings(),
) -> SideBounds | None:
    """Deviation bounds that the audit accepts; None if the time is up first.

    What a linear program leaves open is within its tolerance: intervals are lengthened by a margin, to integral data
    units. What one leaves that was stopped can be much: then all intervals are made longer first, and cheapest
    deviations are for the few requirements that this does not help. In the end nothing is stated about `allowed` cells.
    """
    most, margins = box_deviation_bounds(problem), settings.margins
    widener = Widener(problem, problem.applied_prices.mean, deadline, settings.deviation)
    bounds = np.maximum(bounds[0], 0.0), np.maximum(bounds[1], 0.0)
    for number in range(settings.max_rounds):
        margin = margins[min(number, len(margins) - 1)]
        below, above = (snapped(problem, *pair, margin) for pair in zip(bounds, most, strict=True))
        verdict = audit(problem, stated(problem, below, above), progress=progress)
        unmet = unmet_requirements(problem, verdict)
        if not unmet:
            return below, above
        if deadline.passed():
            return None
        many = len(unmet) > settings.many_unmet and number < settings.max_growths
        if deadline.moment is not None and many and below.any():
            bounds = settings.growth * below, settings.growth * above
        elif number < len(margins) - 1 and (below.any() or above.any()):
            bounds = below, above
        else:
            wider = widener.widen(below, above, unmet)
            if wider is None:
                break
            bounds = wider
    if deadline.passed():
        return None
    endless = np.where(allowed, np.inf, 0.0)
    return endless, endless


def repaired_in_time(
    problem: Problem,
    allowed: Bools,
    bounds: SideBounds,
    progress: Progress,
    deadline: Deadline,
    *,
    safe: bool,
    settings: RepairSettings = RepairSettings(),
) -> SideBounds | None:
    """Deviation bounds that the audit accepts; None if they are not known to be `safe` and the time is up first.

    What is not known to be safe is audited only while there is time: an audit of many open cells can take long.
    """
    found: SideBounds | None = None
    with deadline.stoppable():
        if safe:
            found = repaired(problem, allowed, bounds, progress, settings=settings)
        elif not deadline.passed():
            found = repaired(problem, allowed, bounds, deadline.watched(progress), deadline, settings)
    return found


@dataclass(frozen=True)
class IntervalSettings:
    """How interval methods spend their time. Benchmark parts `intervals` and `ways` run with the defaults; none of them
    has been varied there."""

    cutting_plane: CuttingPlaneSettings = field(default_factory=CuttingPlaneSettings)
    """The cutting-plane model."""
    compact: CompactModelSettings = field(default_factory=CompactModelSettings)
    """The compact model."""
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
