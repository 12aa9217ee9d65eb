"""interval-combined: intervals with a price for touching a cell at all, so that few cells are touched.

    min  sum_i w_i x_i + w_i+ z_i+ + w_i- z_i-    z_i+ <= UB_i x_i,  z_i- <= LB_i x_i,  x binary,  sum_i x_i <= q,
    every level of every attacker, and for cells with a conditional width: at least that wide if touched at all

w+, w- and w are the problem's prices of each side and of touching; by default the weight of the cell on both sides, and
t times it.

t = 0 is `interval-partial`; with a large t as few cells as in a suppression are touched, but published as intervals.
The bound q on touched cells and conditional widths are those of the problem. Printed intervals are blurred as there.

Reference: Salazar-Gonzalez (2002), section on combining methodologies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import is_network
from tablecloak.errors import InfeasibleProblem, SolverError
from tablecloak.methods.base import Proposal, Run
from tablecloak.methods.intervals import (
    IntervalOptimiser,
    IntervalSettings,
    IntervalStrategy,
    OptimalIntervals,
    SideBounds,
    SlopeScaling,
    check_blur,
    hidden_by_mark,
    is_feasibility_checked,
    optimised_and_blurred,
    proposal_of,
    stated,
)
from tablecloak.methods.parameters import wrong_words
from tablecloak.methods.unified import (
    CuttingPlaneModel,
    Formulation,
    ModelSolution,
    ProtectionCut,
    combined_formulation,
    largest_deviation,
    solve_compact_model,
    without_ties,
)
from tablecloak.model import Prices, Problem, all_requirements, conditional_requirements
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import LP_PRECISION, Outcome


@dataclass(frozen=True)
class CombinedParams:
    """Parameters of interval-combined."""

    seconds: float | None = None
    """Time limit in seconds: the best intervals so far are returned, with their proven bound; None: no limit."""
    touch: float = 10.0
    """What it costs to touch a cell at all, in units of its weight, where the problem has no prices of touching."""
    reach: float = 4.0
    """Largest length of a side of an interval, in units of the largest level (on networks 1 is enough and used)."""
    grid: float | None = None
    """Printed ends are multiples of this; None: nice numbers that follow the width; 0: no grid."""
    asymmetry: float = 1.0
    """How much larger chance makes the levels of what is printed, against the midpoint attack; 0: not at all."""
    model: Literal["second", "first"] = "second"
    """Cutting planes, or the compact program with a deviation for every level (small tables)."""


def choose_strategy(problem: Problem, settings: IntervalSettings = IntervalSettings()) -> IntervalStrategy:
    """What is done on a table of this size and structure."""
    return IntervalStrategy(
        settings,
        check_feasibility=is_feasibility_checked(problem, settings),
        slope_scaling=problem.is_monotone,
        scale_all_cells=len(problem.table) <= settings.slope_scaling.max_cells,
    )


def interval_combined(
    problem: Problem,
    *,
    params: CombinedParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: IntervalSettings = IntervalSettings(),
) -> Proposal:
    """The cheapest safe intervals under both prices, proven before they are blurred."""
    check_blur(
        "interval-combined",
        params.grid,
        params.asymmetry,
        {
            "touch must be a number that is not negative": not 0 <= params.touch < math.inf,
            "reach must be a number from 1 on": not 1 <= params.reach < math.inf,
            **dict.fromkeys(wrong_words(params), True),
        },
    )
    run, strategy = Run(params.seconds), choose_strategy(problem, settings)
    found = optimised_and_blurred(problem, CheapestIntervals(params, strategy, progress), params, rng, run)
    paid = _touch(problem, params) * float(problem.weights[problem.sensitive].sum())
    paid += problem.applied_prices.touching(problem.sensitive)
    proven_bound = found.optimum.solution.bound
    bound, cost = max(0.0, proven_bound - paid), found.optimum.intervals.loss(problem)
    limit = f"proven for intervals of at most {params.reach:g} times the largest level on a side"
    return proposal_of(
        problem,
        found,
        run,
        model=params.model,
        bound=bound,
        proven=cost <= bound + 20 * LP_PRECISION * proven_bound + 1e-12,
        notes=() if is_network(problem) else (limit,),
    )


class CheapestIntervals(IntervalOptimiser):
    """Finds the cheapest intervals for the levels of a problem, with a price for touching a cell at all."""

    def __init__(self, params: CombinedParams, strategy: IntervalStrategy, progress: Progress) -> None:
        super().__init__(strategy, progress)
        self.params = params

    def optimise(
        self,
        problem: Problem,
        deadline: Deadline,
        start: SideBounds | None,
        known: Sequence[ProtectionCut],
    ) -> OptimalIntervals:
        """Optimal intervals; the best ones known, or none with ends, when the time is up first."""
        touch, allowed = _touch(problem, self.params), self.allowed(problem, deadline)
        formulation = self._formulation(problem, allowed)
        solution, cuts = ModelSolution.none(), list[ProtectionCut]()
        with deadline.stoppable():
            solution, cuts = self._solve(problem, formulation, allowed, deadline, known)
        if not solution.safe and problem.most_touched is not None:
            if deadline.interrupted:
                raise KeyboardInterrupt
            raise SolverError("the time was up before safe intervals were found; give it more seconds")
        bounds = self.repaired(problem, allowed, formulation, solution, deadline)
        found = [stated(problem, *each, touch) for each in (bounds, start) if each is not None]
        if solution.safe and solution.outcome is Outcome.OPTIMAL:
            found = found[:1]
        if not found:
            endless = np.where(allowed, np.inf, 0.0)
            found = [stated(problem, endless, endless, touch)]
        cheapest = min(found, key=lambda pattern: pattern.loss(problem))
        return OptimalIntervals(cheapest, solution, cuts)

    def _formulation(self, problem: Problem, allowed: Bools) -> Formulation:
        prices, longest = _prices(problem, self.params), largest_deviation(problem, self.params.reach)
        formulation = combined_formulation(problem, allowed, hidden_by_mark(problem), prices, longest)
        return formulation.at_most_touched(problem.most_touched)

    def _solve(
        self,
        problem: Problem,
        formulation: Formulation,
        allowed: Bools,
        deadline: Deadline,
        known: Sequence[ProtectionCut],
    ) -> tuple[ModelSolution, list[ProtectionCut]]:
        """The optimum, or the state of the model when the time is up: no worse than a safe start, if there is one."""
        conditional = conditional_requirements(problem, allowed & ~problem.must_hide)
        required = all_requirements(problem), conditional
        cuts: list[ProtectionCut] = []
        compact, settings = self.params.model == "first", self.strategy.settings
        if compact:
            solution = solve_compact_model(problem, formulation, *required, deadline.left, settings.compact)
        else:
            given = problem, formulation, *required, deadline, self.progress
            model = CuttingPlaneModel(*given, settings.cutting_plane)
            with deadline.stoppable():
                if self.strategy.slope_scaling:
                    self._prepare(problem, model, allowed)
            solution = model.solve(known)
            cuts = model.tight_cuts()
        if solution.outcome is Outcome.INFEASIBLE and not solution.safe:
            most = problem.most_touched
            within = "" if most is None else f" with at most {most} cells touched"
            raise InfeasibleProblem(
                f"No intervals{within} meet all levels.\n"
                "Allow more cells to be touched, lower levels, or raise `reach`."
            )
        solution = without_ties(
            problem,
            formulation,
            solution,
            required,
            deadline,
            known=None if compact else cuts,
            settings=(settings.cutting_plane, settings.compact),
        )
        return solution, cuts

    def _prepare(self, problem: Problem, model: CuttingPlaneModel, allowed: Bools) -> None:
        """Give the model safe points: starts, and repairs of integral points that violate cuts."""
        formulation, settings = model.formulation, self.strategy.settings
        scaling = SlopeScaling(
            problem,
            formulation,
            (_prices(problem, self.params), largest_deviation(problem, self.params.reach)),
            model.requirements,
            model.deadline,
            settings.slope_scaling,
            settings.cutting_plane,
        )
        for point in scaling.start(allowed, all_cells=self.strategy.scale_all_cells):
            model.offer(point)

        def repair(x: Floats) -> list[Floats]:
            cells = formulation.touched.at(x) > 0.5
            if model.best.size:
                cells |= formulation.touched.at(model.best) > 0.5
            return scaling.points(cells, formulation.above.at(x) + formulation.below.at(x))

        model.repair = repair


def _touch(problem: Problem, params: CombinedParams) -> float:
    """The price of touching in units of the weights: that of the parameters, unless the problem has its own."""
    return params.touch if problem.applied_prices.touch is None else 0.0


def _prices(problem: Problem, params: CombinedParams) -> Prices:
    """The prices of the problem, with touching at the price of the parameters where it has none."""
    return problem.applied_prices.with_touch(params.touch * problem.weights)
