"""interval-combined: intervals with a price for touching a cell at all, so that few cells are touched.

    min  sum_i w_i (t x_i + z_i+ + z_i-)    z_i+ <= UB_i x_i,  z_i- <= LB_i x_i,  x binary,  sum_i x_i <= q,
    every level of every attacker, and for cells with a conditional width: at least so wide if touched at all

t = 0 is `interval-partial`; with a large t as few cells as in a suppression are touched, but published as intervals.
The bound q on touched cells and conditional widths are those of the problem. Printed intervals are blurred as there.

Reference: Salazar-Gonzalez (2002), section on combining methodologies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import is_network
from tablecloak.errors import InfeasibleProblem, SolverError
from tablecloak.methods.base import Proposal, Run
from tablecloak.methods.intervals import (
    HAIR,
    Room,
    Touching,
    blurred,
    check_blur,
    first_intervals,
    hidden_by_mark,
    may_be_touched,
    proposal_of,
    repaired_in_time,
    stated,
)
from tablecloak.methods.unified import (
    CuttingPlaneModel,
    Formulation,
    ModelSolution,
    ProtectionCut,
    combined_formulation,
    largest_deviation,
    solve_compact_model,
)
from tablecloak.model import Intervals, Problem, all_requirements, conditional_widths
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import Outcome


@dataclass(frozen=True)
class CombinedParams:
    """Parameters of interval-combined."""

    seconds: float | None = None
    """Stop after so long with the best intervals so far and their proven bound."""
    touch: float = 10.0
    """What it costs to touch a cell at all, in units of its weight."""
    reach: float = 4.0
    """No interval is longer on a side than so many times the largest level (1 is enough on networks and used there)."""
    grid: float | None = None
    """Printed ends are multiples of this; None: nice numbers that follow the width; 0: no grid."""
    asymmetry: float = 1.0
    """How much larger chance makes the levels of what is printed, against the midpoint attack; 0: not at all."""
    model: Literal["second", "first"] = "second"
    """Cutting planes, or the compact program with a deviation for every level (small tables)."""


def interval_combined(
    problem: Problem,
    *,
    params: CombinedParams,
    rng: np.random.Generator,
    progress: Progress,
    executor: Executor | None,
) -> Proposal:
    """The cheapest safe intervals under both prices, proven before they are blurred."""
    check_blur(
        "interval-combined",
        params.grid,
        params.asymmetry,
        {
            "touch must be a number that is not negative": not 0 <= params.touch < math.inf,
            "reach must be a number from 1 on": not 1 <= params.reach < math.inf,
            f"model {params.model!r} is not second or first": params.model not in ("second", "first"),
        },
    )
    run = Run(params.seconds)
    deadline = run.deadline
    progress("is it feasible at all", 0, 1)
    start = first_intervals(problem, may_be_touched(problem, progress), deadline, progress)
    half = deadline.share(0.5) if params.asymmetry else deadline
    exact, answer, known = _cheapest(problem, params, half, progress, start)

    def cheapest(larger: Problem) -> Intervals:
        first = first_intervals(larger, may_be_touched(larger, progress), deadline, progress)
        return _cheapest(larger, params, deadline, progress, first, known)[0]

    found = blurred(problem, exact, params.asymmetry, params.grid, rng, cheapest, deadline)
    sensitive = params.touch * float(problem.weights[problem.sensitive].sum())
    bound = max(0.0, answer.bound - sensitive)
    limit = f"proven for intervals of at most {params.reach:g} times the largest level on a side"
    return proposal_of(
        problem,
        found,
        answer,
        params.model,
        run,
        bound=bound,
        proven=exact.loss(problem) <= bound + 20 * HAIR * max(1.0, answer.bound),
        more=() if is_network(problem) else (limit,),
    )


def _cheapest(
    problem: Problem,
    params: CombinedParams,
    deadline: Deadline,
    progress: Progress,
    start: Room | None,
    known: Sequence[ProtectionCut] = (),
) -> tuple[Intervals, ModelSolution, list[ProtectionCut]]:
    """The cheapest intervals for the levels of a problem, and the cuts that held them up."""
    allowed = may_be_touched(problem, progress)
    formulation, far = _form(problem, params, allowed)
    answer, cuts = replace(ModelSolution.nothing(), values=np.zeros(formulation.size)), list[ProtectionCut]()
    with deadline.stoppable():
        answer, cuts = _answer(problem, params, formulation, far, allowed, deadline, progress, known)
    if not answer.safe and problem.most_touched is not None:
        if deadline.interrupted:
            raise KeyboardInterrupt
        raise SolverError("the time was up before safe intervals were found; give it more seconds")
    below, above = formulation.below.at(answer.values), formulation.above.at(answer.values)
    room = repaired_in_time(problem, below, above, progress, deadline, answer.safe)
    endless = np.where(allowed, np.inf, 0.0)
    found = [stated(problem, *one, params.touch) for one in (room, start) if one is not None]
    if answer.safe and answer.outcome is Outcome.OPTIMAL:
        found = found[:1]
    found = found or [stated(problem, endless, endless, params.touch)]
    return min(found, key=lambda pattern: pattern.loss(problem)), answer, cuts


def _form(problem: Problem, params: CombinedParams, allowed: Bools) -> tuple[Formulation, float]:
    """The form, and how long its intervals may be."""
    far = largest_deviation(problem, params.reach)
    hidden, weights = hidden_by_mark(problem), problem.weights
    fixed = params.touch * weights
    formulation = combined_formulation(problem, allowed, hidden, weights, weights, fixed, far)
    return formulation.at_most_touched(problem.most_touched), far


def _answer(
    problem: Problem,
    params: CombinedParams,
    formulation: Formulation,
    far: float,
    allowed: Bools,
    deadline: Deadline,
    progress: Progress,
    known: Sequence[ProtectionCut],
) -> tuple[ModelSolution, list[ProtectionCut]]:
    """The optimum, or what there is when the time is up: never less than a safe start, if there is one."""
    levels, widths = all_requirements(problem), conditional_widths(problem, allowed & ~problem.must_hide)
    if params.model == "first":
        found = solve_compact_model(problem, formulation, levels, widths, deadline.left)
        there = bool(found.values.size)
        answer = ModelSolution(found.outcome, found.values, there, found.objective, found.bound, 1, 0)
        cuts: list[ProtectionCut] = []
    else:
        model = CuttingPlaneModel(problem, formulation, levels, widths, deadline, progress, known)
        with deadline.stoppable():
            if problem.is_monotone:
                _prepare(model, Touching(problem, formulation, params.touch, far, levels, deadline), allowed)
        answer = model.solve()
        cuts = model.tight_cuts()
    if answer.outcome is Outcome.INFEASIBLE and not answer.safe:
        within = "" if problem.most_touched is None else f" with at most {problem.most_touched} cells touched"
        raise InfeasibleProblem(
            f"No intervals{within} meet all levels.\nAllow more cells to be touched, lower levels, or raise `reach`."
        )
    if answer.values.size < formulation.size:
        answer = replace(answer, values=np.zeros(formulation.size))
    return answer, cuts


def _prepare(model: CuttingPlaneModel, touching: Touching, allowed: Bools) -> None:
    """Safe points to begin with, and from whole points of the model that miss something."""
    for point in touching.start(allowed):
        model.offer(point)

    def near(x: Floats) -> list[Floats]:
        formulation = model.formulation
        cells = (formulation.touched.at(x) > 0.5) | (
            formulation.touched.at(model.best) > 0.5 if model.best.size else False
        )
        return touching.points(cells, formulation.above.at(x) + formulation.below.at(x))

    model.repair = near
