"""interval-partial: every cell is published as "from a - z- to a + z+", as narrow as safety allows.

    min  sum_i w_i+ z_i+ + w_i- z_i-     subject to every level of every attacker,   z+, z- >= 0
    (`unified.protection_cuts`)

w+ and w- are the problem's prices of a unit on each side, by default both the weight of the cell.

A linear program, so the optimum is proven fast even where suppression is hopeless; it touches many cells a little. With
positive weights both ends of every interval of the optimum are attainable (else it could be narrowed); cells without
weight are tightened afterwards. Where a side has no price, the optimum of least total width is taken (`unified.ties`).
The optimum sits on the levels, so its midpoints would betray the values: what is printed is the optimum for levels that
chance made larger (`intervals.blur`), rounded outward to a grid.

References: Fischetti & Salazar (2003), Partial cell suppression; Salazar-Gonzalez (2002), the second model of Figure 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.errors import NotApplicable
from tablecloak.methods.base import Proposal, Run, refuse_touch_prices
from tablecloak.methods.feasibility import largest_pattern
from tablecloak.methods.intervals import (
    IntervalOptimiser,
    IntervalSettings,
    IntervalStrategy,
    OptimalIntervals,
    SideBounds,
    check_blur,
    hidden_by_mark,
    is_feasibility_checked,
    optimised_and_blurred,
    proposal_of,
    stated,
    tightened,
)
from tablecloak.methods.parameters import wrong_words
from tablecloak.methods.unified import (
    CuttingPlaneModel,
    Formulation,
    ModelSolution,
    ProtectionCut,
    initial_protection_cuts,
    interval_formulation,
    solve_compact_model,
    without_ties,
)
from tablecloak.model import Prices, Problem, Requirement, all_requirements
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import LP_PRECISION, Outcome


@dataclass(frozen=True)
class PartialParams:
    """Parameters of interval-partial."""

    seconds: float | None = None
    """Time limit in seconds: the best intervals so far are returned, with their proven bound; None: no limit."""
    up: float = 1.0
    """What a unit of width above the true value costs, in units of the cell's weight (or price upward)."""
    down: float = 1.0
    """What a unit of width below it costs, in units of the weight (or price downward)."""
    grid: float | None = None
    """Printed ends are multiples of this; None: nice numbers that follow the width; 0: no grid."""
    asymmetry: float = 1.0
    """How much larger chance makes the levels of what is printed, against the midpoint attack; 0: not at all."""
    model: Literal["second", "first"] = "second"
    """Cutting planes, or the compact program with a deviation for every level (small tables)."""


def choose_strategy(problem: Problem, settings: IntervalSettings = IntervalSettings()) -> IntervalStrategy:
    """What is done on a table of this size and structure."""
    return IntervalStrategy(settings, check_feasibility=is_feasibility_checked(problem, settings))


def interval_partial(
    problem: Problem,
    *,
    params: PartialParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: IntervalSettings = IntervalSettings(),
) -> Proposal:
    """The narrowest safe intervals, proven; what is printed is made for levels that chance made larger."""
    _check(problem, params)
    run, strategy = Run(params.seconds), choose_strategy(problem, settings)
    found = optimised_and_blurred(problem, NarrowestIntervals(params, strategy, progress), params, rng, run)
    plain, bound = params.up == params.down == 1.0, max(0.0, found.optimum.solution.bound)
    cost = found.optimum.intervals.loss(problem)
    return proposal_of(
        problem,
        found,
        run,
        model=params.model,
        bound=bound if plain else None,
        proven=plain and cost <= bound * (1 + 10 * LP_PRECISION) + 1e-12,
    )


class NarrowestIntervals(IntervalOptimiser):
    """Finds the narrowest intervals for the levels of a problem."""

    def __init__(self, params: PartialParams, strategy: IntervalStrategy, progress: Progress) -> None:
        super().__init__(strategy, progress)
        self.params = params

    def optimise(
        self,
        problem: Problem,
        deadline: Deadline,
        start: SideBounds | None,
        known: Sequence[ProtectionCut],
    ) -> OptimalIntervals:
        """Optimal intervals; those of the start, or none with ends, when the time is up first."""
        prices = self._prices(problem)
        allowed = self.allowed(problem, deadline)
        formulation = interval_formulation(problem, allowed, hidden_by_mark(problem), prices)
        solution, cuts = ModelSolution.none(), list[ProtectionCut]()
        with deadline.stoppable():
            solution, cuts = self._solve(problem, formulation, deadline, known)
        if solution.outcome is Outcome.INFEASIBLE:
            largest_pattern(problem, self.progress)  # raises with the cells that cannot be protected
        bounds = self.repaired(problem, allowed, formulation, solution, deadline)
        optimal = solution.outcome is Outcome.OPTIMAL
        if start is not None and (
            bounds is None or (not optimal and _length(problem, start) < _length(problem, bounds))
        ):
            bounds = start
        if bounds is None:
            endless = np.where(problem.forced, 0.0, np.inf)
            return OptimalIntervals(stated(problem, endless, endless), solution, cuts)
        bounds = self._tightened(problem, bounds, deadline, optimal=optimal)
        return OptimalIntervals(stated(problem, *bounds), solution, cuts)

    def _tightened(
        self, problem: Problem, bounds: SideBounds, deadline: Deadline, *, optimal: bool
    ) -> SideBounds:
        """Attainable bounds: of cells without weight after an optimum, else of all cells while there is time."""
        free = problem.applied_prices.free_sides
        loose: Bools = ~problem.forced & free if optimal else ~problem.forced
        if (optimal or not deadline.passed()) and (loose & ((bounds[0] > 0) | (bounds[1] > 0))).any():
            with deadline.stoppable():
                progress = self.progress if optimal else deadline.watched(self.progress)
                bounds = tightened(problem, *bounds, loose, progress)
        return bounds

    def _solve(
        self,
        problem: Problem,
        formulation: Formulation,
        deadline: Deadline,
        known: Sequence[ProtectionCut],
    ) -> tuple[ModelSolution, list[ProtectionCut]]:
        """The optimum, or the state of the model when most of the time is up: the rest is for repair."""
        settings = self.strategy.settings
        models = settings.cutting_plane, settings.compact
        required: tuple[list[Requirement], list[Requirement]] = all_requirements(problem), []
        within = deadline.share(1 - settings.repair_share)
        if self.params.model == "first":
            solution = solve_compact_model(problem, formulation, *required, within.left, settings.compact)
            return without_ties(
                problem, formulation, solution, required, within, known=None, settings=models
            ), []
        prices = self._prices(problem).only(~hidden_by_mark(problem))
        tuned = settings.cutting_plane.separation.engines.local_start
        initial = initial_protection_cuts(problem, prices.up, prices.down, required[0], within, tuned)
        model = CuttingPlaneModel(
            problem, formulation, *required, within, self.progress, settings.cutting_plane
        )
        solution, cuts = model.solve([*known, *initial]), model.tight_cuts()
        solution = without_ties(problem, formulation, solution, required, within, known=cuts, settings=models)
        return solution, cuts

    def _prices(self, problem: Problem) -> Prices:
        """The prices of both sides, times those of the parameters."""
        prices = problem.applied_prices
        return Prices(self.params.up * prices.up, self.params.down * prices.down)


def _length(problem: Problem, bounds: SideBounds) -> float:
    """The cost of intervals with these bounds; less than endless ones, which say nothing about some cells."""
    if problem.prices is not None:
        return problem.prices.cost(*bounds)
    weighted = problem.weights > 0
    return float(problem.weights[weighted] @ (bounds[0] + bounds[1])[weighted])


def _check(problem: Problem, params: PartialParams) -> None:
    if not problem.is_monotone:
        raise NotApplicable(
            "interval-partial knows no bound on touched cells and no conditional levels.",
            needs="a problem without them",
            instead=["interval-combined"],
        )
    refuse_touch_prices(problem, "interval-partial", ["interval-combined"])
    positive = all(0 < one < math.inf for one in (params.up, params.down))
    faults = {"up and down must be positive numbers": not positive} | dict.fromkeys(wrong_words(params), True)
    check_blur("interval-partial", params.grid, params.asymmetry, faults)
