"""interval-partial: every cell is published as "from a - z- to a + z+", as narrow as safety allows.

    min  sum_i w_i (u z_i+ + d z_i-)     subject to every level of every attacker (`rooms`),   z+, z- >= 0

A linear program, so the optimum is proven fast even where suppression is hopeless; it touches many cells a little. With
positive weights both ends of every interval of the optimum are attainable (else it could be narrowed); cells without
weight are tightened afterwards. The optimum sits on the levels, so its midpoints would betray the values: what is
printed is the optimum for levels that chance made larger (`lengths.skewed`), rounded outward to a grid.

References: Fischetti & Salazar (2003), Partial cell suppression; Salazar-Gonzalez (2002), second model of Figure 6.
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.audit.reduce import structure_of
from tablecloak.engines.lp import Outcome
from tablecloak.errors import InfeasibleProblem, NotApplicable
from tablecloak.methods.base import Proposal
from tablecloak.methods.feasibility import largest_pattern
from tablecloak.methods.first_model import solve_first
from tablecloak.methods.forms import Form, interval_form
from tablecloak.methods.lengths import (
    HAIR,
    LEAST_ASYMMETRY,
    check_blur,
    columns_of,
    hidden_by_mark,
    on_grid,
    settled,
    skewed,
    start_room,
    stated,
    tightened,
)
from tablecloak.methods.rooms import all_levels
from tablecloak.methods.second_model import Answer, SecondModel
from tablecloak.pattern import Intervals
from tablecloak.problem import Problem
from tablecloak.progress import Deadline, Progress
from tablecloak.result import Status


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
    deadline = Deadline.after(params.seconds)
    progress("is it feasible at all", 0, 1)
    largest_pattern(problem, progress)
    half = None if params.seconds is None or params.asymmetry == 0 else params.seconds / 2
    exact, answer = _narrowest(problem, params, deadline if half is None else Deadline.after(half), progress)
    printed, asymmetry = exact, params.asymmetry
    share = rng.bit_generator.random_raw()
    while asymmetry > 0:
        larger = skewed(problem, asymmetry, np.random.default_rng(share))
        try:
            largest_pattern(larger, progress)
        except InfeasibleProblem:
            asymmetry = asymmetry / 2 if asymmetry > LEAST_ASYMMETRY else 0.0
            continue
        printed, _ = _narrowest(larger, params, deadline, progress)
        break
    return _proposal(problem, params, on_grid(problem, printed, params.grid), exact, answer, asymmetry)


def _narrowest(
    problem: Problem, params: PartialParams, deadline: Deadline, progress: Progress
) -> tuple[Intervals, Answer]:
    """The narrowest intervals for the levels of a problem."""
    weights = problem.weights
    form = interval_form(
        problem, ~problem.forced, hidden_by_mark(problem), params.up * weights, params.down * weights
    )
    start = start_room(problem, deadline, progress)
    answer = _answer(problem, params, form, start, deadline, progress)
    if not answer.safe:
        return stated(problem, *start), answer
    below, above = settled(problem, form.below.at(answer.values), form.above.at(answer.values), progress)
    optimal = answer.outcome is Outcome.OPTIMAL
    loose = ~problem.forced & (weights == 0.0) if optimal else ~problem.forced
    if (loose & ((below > 0) | (above > 0))).any():
        below, above = tightened(problem, below, above, loose, progress)
    return stated(problem, below, above), answer


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
    form: Form,
    start: tuple[Floats, Floats],
    deadline: Deadline,
    progress: Progress,
) -> Answer:
    """The optimum, or what there is when the time is up."""
    tasks = all_levels(problem)
    if params.model == "first":
        found = solve_first(problem, form, tasks, [], deadline.left)
        safe = found.values.size == form.size
        return Answer(found.outcome, found.values, safe, found.objective, found.bound, 1, 0)
    model = SecondModel(problem, form, tasks, [], deadline, progress)
    if np.isfinite(start[0]).all():
        model.offer(columns_of(form, *start))
    try:
        return model.solve()
    except KeyboardInterrupt:
        return model.best_so_far(Outcome.TIME_LIMIT)


def _proposal(
    problem: Problem,
    params: PartialParams,
    pattern: Intervals,
    exact: Intervals,
    answer: Answer,
    asymmetry: float,
) -> Proposal:
    plain = params.up == params.down == 1.0
    before, bound = exact.loss(problem), max(0.0, answer.bound)
    same = bool((pattern.low == exact.low).all() and (pattern.high == exact.high).all())
    optimal = answer.outcome is Outcome.OPTIMAL
    proven = optimal and plain and before <= bound * (1 + 10 * HAIR) + 1e-12
    notes = []
    if optimal and not same:
        notes.append("the optimum is proven for the levels as they are; what is printed is blurred")
    if asymmetry < params.asymmetry:
        notes.append(f"the levels could be made larger by an asymmetry of {asymmetry:g} only")
    return Proposal(
        pattern,
        Status.TIME_LIMIT if not optimal else Status.OPTIMAL if same and proven else Status.FEASIBLE,
        f"{params.model} model (HiGHS) on {structure_of(problem.table).description}",
        bound=min(bound, before, pattern.loss(problem)) if plain else None,
        counters={
            "cost before blurring": before,
            "touched cells": int(exact.touched(problem).sum()),
            "rounds": answer.rounds,
            "rows": answer.rows,
        },
        notes=tuple(notes),
    )
