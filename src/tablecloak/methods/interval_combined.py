"""interval-combined: intervals with a price for touching a cell at all, so that few cells are touched.

    min  sum_i w_i (t x_i + z_i+ + z_i-)    z_i+ <= UB_i x_i,  z_i- <= LB_i x_i,  x binary,  sum_i x_i <= q,
    every level of every attacker, and for cells with a conditional width: at least so wide if touched at all

t = 0 is `interval-partial`; with a large t as few cells as in a suppression are touched, but published as intervals.
The bound q on touched cells and conditional widths are those of the problem. Printed intervals are blurred as there.

Reference: Salazar-Gonzalez (2002), section on combining methodologies.
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.audit.reduce import structure_of
from tablecloak.engines.lp import Outcome
from tablecloak.errors import InfeasibleProblem, SolverError
from tablecloak.methods.base import Proposal
from tablecloak.methods.feasibility import largest_pattern
from tablecloak.methods.first_model import solve_first
from tablecloak.methods.forms import Form, combined_form, room_by_box
from tablecloak.methods.lengths import (
    HAIR,
    LEAST_ASYMMETRY,
    check_blur,
    columns_of,
    hidden_by_mark,
    on_grid,
    settled,
    skewed,
    snapped,
    start_room,
    stated,
)
from tablecloak.methods.network_search import is_network
from tablecloak.methods.rooms import all_levels, conditional_widths
from tablecloak.methods.second_model import Answer, SecondModel
from tablecloak.pattern import Intervals
from tablecloak.problem import Problem
from tablecloak.progress import Deadline, Progress
from tablecloak.result import Status


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
    half = None if params.seconds is None or params.asymmetry == 0 else params.seconds / 2
    deadline = Deadline.after(params.seconds)
    progress("is it feasible at all", 0, 1)
    exact, answer = _cheapest(
        problem, params, Deadline.after(half if half is not None else params.seconds), progress
    )
    printed, asymmetry = exact, params.asymmetry
    share = rng.bit_generator.random_raw()
    while asymmetry > 0:
        larger = skewed(problem, asymmetry, np.random.default_rng(share))
        try:
            printed, _ = _cheapest(larger, params, deadline, progress)
            break
        except InfeasibleProblem:
            asymmetry = asymmetry / 2 if asymmetry > LEAST_ASYMMETRY else 0.0
    return _proposal(problem, params, on_grid(problem, printed, params.grid), exact, answer, asymmetry)


def _cheapest(
    problem: Problem, params: CombinedParams, deadline: Deadline, progress: Progress
) -> tuple[Intervals, Answer]:
    """The cheapest intervals for the levels of a problem."""
    allowed = largest_pattern(replace(problem, most_touched=None), progress)
    form = _form(problem, params, allowed)
    answer = _answer(problem, params, form, allowed, deadline, progress)
    if not answer.safe:
        endless = np.where(allowed, np.inf, 0.0)
        return stated(problem, endless, endless, params.touch), answer
    below, above = form.below.at(answer.values), form.above.at(answer.values)
    if problem.is_monotone:
        below, above = settled(problem, below, above, progress)
    else:
        most_below, most_above = room_by_box(problem)
        below, above = snapped(problem, below, most_below, HAIR), snapped(problem, above, most_above, HAIR)
    return stated(problem, np.maximum(below, 0.0), np.maximum(above, 0.0), params.touch), answer


def _proposal(
    problem: Problem,
    params: CombinedParams,
    pattern: Intervals,
    exact: Intervals,
    answer: Answer,
    asymmetry: float,
) -> Proposal:
    same = bool((pattern.low == exact.low).all() and (pattern.high == exact.high).all())
    optimal, before = answer.outcome is Outcome.OPTIMAL, exact.loss(problem)
    sensitive = params.touch * float(problem.weights[problem.sensitive].sum())
    bound = max(0.0, answer.bound - sensitive)
    proven = optimal and before <= bound + 20 * HAIR * max(1.0, answer.bound)
    notes = []
    if optimal and not same:
        notes.append("the optimum is proven for the levels as they are; what is printed is blurred")
    if asymmetry < params.asymmetry:
        notes.append(f"the levels could be made larger by an asymmetry of {asymmetry:g} only")
    if not is_network(problem):
        notes.append(f"proven for intervals of at most {params.reach:g} times the largest level on a side")
    return Proposal(
        pattern,
        Status.TIME_LIMIT if not optimal else Status.OPTIMAL if same and proven else Status.FEASIBLE,
        f"{params.model} model (HiGHS) on {structure_of(problem.table).description}",
        bound=min(bound, before, pattern.loss(problem)),
        counters={
            "cost before blurring": before,
            "touched cells": int(exact.touched(problem).sum()),
            "rounds": answer.rounds,
            "rows": answer.rows,
        },
        notes=tuple(notes),
    )


def _form(problem: Problem, params: CombinedParams, allowed: Bools) -> Form:
    levels = max((float(level.max(initial=0.0)) for _, level in problem.levels.named()), default=0.0)
    far = (1.0 if is_network(problem) else params.reach) * max(levels, problem.table.unit)
    hidden, weights = hidden_by_mark(problem), problem.weights
    fixed = params.touch * weights
    form = combined_form(problem, allowed, hidden, weights, weights, fixed, far)
    return form.at_most_touched(problem.most_touched)


def _answer(
    problem: Problem,
    params: CombinedParams,
    form: Form,
    allowed: Bools,
    deadline: Deadline,
    progress: Progress,
) -> Answer:
    """The optimum, or what there is when the time is up: never less than a safe start, if there is one."""
    levels, widths = all_levels(problem), conditional_widths(problem, allowed & ~problem.must_hide)
    if params.model == "first":
        found = solve_first(problem, form, levels, widths, deadline.left)
        answer = Answer(
            found.outcome, found.values, bool(found.values.size), found.objective, found.bound, 1, 0
        )
    else:
        model = SecondModel(problem, form, levels, widths, deadline, progress)
        if problem.is_monotone:
            start = _start(problem, form, deadline, progress)
            if start is not None:
                model.offer(start)
        try:
            answer = model.solve()
        except KeyboardInterrupt:
            answer = model.best_so_far(Outcome.TIME_LIMIT)
    if answer.outcome is Outcome.INFEASIBLE and not answer.safe:
        within = "" if problem.most_touched is None else f" with at most {problem.most_touched} cells touched"
        raise InfeasibleProblem(
            f"No intervals{within} meet all levels.\nAllow more cells to be touched, lower levels, or raise `reach`."
        )
    if not answer.safe and not problem.is_monotone:
        raise SolverError("the time was up before safe intervals were found; give it more seconds")
    return answer


def _start(problem: Problem, form: Form, deadline: Deadline, progress: Progress) -> Floats | None:
    """Every level gets its cheapest deviation by itself, if these are not too long for the form."""
    below, above = start_room(problem, deadline, progress)
    if not np.isfinite(below).all():
        return None
    lengths = columns_of(form, below, above)
    linked = form.switch >= 0
    x = np.where(linked, np.minimum(lengths, form.high), 0.0)
    if (x[linked] < lengths[linked] * (1 - 1e-9)).any():
        return None
    np.maximum.at(x, form.switch[linked], (x[linked] > 0).astype(float))
    return x
