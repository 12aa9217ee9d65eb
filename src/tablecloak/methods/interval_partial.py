"""interval-partial: every cell is published as "from a - z- to a + z+", as narrow as safety allows.

    min  sum_i w_i (u z_i+ + d z_i-)     subject to every level of every attacker,   z+, z- >= 0
    (`unified.protection_cuts`)

A linear program, so the optimum is proven fast even where suppression is hopeless; it touches many cells a little. With
positive weights both ends of every interval of the optimum are attainable (else it could be narrowed); cells without
weight are tightened afterwards. The optimum sits on the levels, so its midpoints would betray the values: what is
printed is the optimum for levels that chance made larger (`intervals.attainable.skewed`), rounded outward to a grid.

References: Fischetti & Salazar (2003), Partial cell suppression; Salazar-Gonzalez (2002), second model of Figure 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import NotApplicable
from tablecloak.methods.base import Proposal, Run
from tablecloak.methods.feasibility import largest_pattern
from tablecloak.methods.intervals import (
    HAIR,
    Room,
    blurred,
    check_blur,
    first_intervals,
    hidden_by_mark,
    may_be_touched,
    proposal_of,
    repaired_in_time,
    stated,
    tightened,
)
from tablecloak.methods.unified import (
    CuttingPlaneModel,
    Formulation,
    ModelSolution,
    ProtectionCut,
    initial_protection_cuts,
    interval_formulation,
    solve_compact_model,
)
from tablecloak.model import Intervals, Problem, all_requirements
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import Outcome

RESERVED = 0.25
"""So much of the time is kept for making safe what the model has when its time is up."""


@dataclass(frozen=True)
class PartialParams:
    """Parameters of interval-partial."""

    seconds: float | None = None
    """Stop after so long with the best intervals so far and their proven bound."""
    up: float = 1.0
    """What a unit of width above the true value costs, in units of the cell's weight."""
    down: float = 1.0
    """What a unit of width below it costs."""
    grid: float | None = None
    """Printed ends are multiples of this; None: nice numbers that follow the width; 0: no grid."""
    asymmetry: float = 1.0
    """How much larger chance makes the levels of what is printed, against the midpoint attack; 0: not at all."""
    model: Literal["second", "first"] = "second"
    """Cutting planes, or the compact program with a deviation for every level (small tables)."""


def interval_partial(
    problem: Problem,
    *,
    params: PartialParams,
    rng: np.random.Generator,
    progress: Progress,
    executor: Executor | None,
) -> Proposal:
    """The narrowest safe intervals, proven; what is printed is made for levels that chance made larger."""
    _check(problem, params)
    run = Run(params.seconds)
    deadline = run.deadline
    progress("is it feasible at all", 0, 1)
    start = first_intervals(problem, may_be_touched(problem, progress), deadline, progress)
    half = deadline.share(0.5) if params.asymmetry else deadline
    exact, answer, known = _narrowest(problem, params, half, progress, start)

    def narrowest(larger: Problem) -> Intervals:
        first = first_intervals(larger, may_be_touched(larger, progress), deadline, progress)
        return _narrowest(larger, params, deadline, progress, first, known)[0]

    found = blurred(problem, exact, params.asymmetry, params.grid, rng, narrowest, deadline)
    plain, bound = params.up == params.down == 1.0, max(0.0, answer.bound)
    return proposal_of(
        problem,
        found,
        answer,
        params.model,
        run,
        bound=bound if plain else None,
        proven=plain and exact.loss(problem) <= bound * (1 + 10 * HAIR) + 1e-12,
    )


def _narrowest(
    problem: Problem,
    params: PartialParams,
    deadline: Deadline,
    progress: Progress,
    start: Room | None,
    known: Sequence[ProtectionCut] = (),
) -> tuple[Intervals, ModelSolution, list[ProtectionCut]]:
    """The narrowest intervals for the levels of a problem, and the cuts that held them up; or those of the start."""
    weights = problem.weights
    allowed = may_be_touched(problem, progress)
    formulation = interval_formulation(
        problem, allowed, hidden_by_mark(problem), params.up * weights, params.down * weights
    )
    answer, cuts = ModelSolution.nothing(), list[ProtectionCut]()
    with deadline.stoppable():
        answer, cuts = _answer(problem, params, formulation, deadline, progress, known)
    if answer.outcome is Outcome.INFEASIBLE:
        largest_pattern(problem, progress)  # tells which cells cannot be protected
    at = answer.values if answer.values.size == formulation.size else np.zeros(formulation.size)
    room = repaired_in_time(
        problem, formulation.below.at(at), formulation.above.at(at), progress, deadline, answer.safe
    )
    optimal = answer.outcome is Outcome.OPTIMAL
    if start is not None and (
        room is None or (not optimal and _length(problem, start) < _length(problem, room))
    ):
        room = start
    if room is None:
        endless = np.where(problem.forced, 0.0, np.inf)
        return stated(problem, endless, endless), answer, cuts
    below, above = room
    loose = ~problem.forced & (weights == 0.0) if optimal else ~problem.forced
    if (optimal or not deadline.passed()) and (loose & ((below > 0) | (above > 0))).any():
        with deadline.stoppable():
            below, above = tightened(
                problem, below, above, loose, progress if optimal else deadline.watched(progress)
            )
    return stated(problem, below, above), answer, cuts


def _length(problem: Problem, room: tuple[Floats, Floats]) -> float:
    """What intervals with this room cost; less than endless ones, which say nothing about some cells."""
    return float(problem.weights[problem.weights > 0] @ (room[0] + room[1])[problem.weights > 0])


def _check(problem: Problem, params: PartialParams) -> None:
    if not problem.is_monotone:
        raise NotApplicable(
            "interval-partial knows no bound on touched cells and no conditional levels.",
            needs="a problem without them",
            instead=["interval-combined"],
        )
    check_blur(
        "interval-partial",
        params.grid,
        params.asymmetry,
        {
            "up and down must be positive numbers": not (
                0 < params.up < math.inf and 0 < params.down < math.inf
            ),
            f"model {params.model!r} is not second or first": params.model not in ("second", "first"),
        },
    )


def _answer(
    problem: Problem,
    params: PartialParams,
    formulation: Formulation,
    deadline: Deadline,
    progress: Progress,
    known: Sequence[ProtectionCut],
) -> tuple[ModelSolution, list[ProtectionCut]]:
    """The optimum, or what there is when most of the time is up: the rest is for making it safe."""
    requirements, limit = all_requirements(problem), deadline.share(1 - RESERVED)
    if params.model == "first":
        found = solve_compact_model(problem, formulation, requirements, [], limit.left)
        safe = found.values.size == formulation.size
        return ModelSolution(found.outcome, found.values, safe, found.objective, found.bound, 1, 0), []
    weights = np.where(hidden_by_mark(problem), 0.0, problem.weights)
    first = initial_protection_cuts(problem, params.up * weights, params.down * weights, requirements, limit)
    model = CuttingPlaneModel(problem, formulation, requirements, [], limit, progress, [*known, *first])
    answer = model.solve()
    return answer, model.tight_cuts()
