"""Controlled tabular adjustment on the public library, beside a plain integer program of the same model.

The plain program is what a textbook has: how far each cell rises and falls, a binary sense for each sensitive cell, and

    up_p y_p <= rise_p <= U_p y_p,     down_p (1 - y_p) <= fall_p <= L_p (1 - y_p),     M (rise - fall) = 0

with the same ranges as perturb-cta, handed to HiGHS as it comes (presolve, cuts, heuristics).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import highspy
import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array, hstack, vstack

from cases.base import Make, Part, gap_percent, sizes
from cases.real_data import CSPLIB, csplib_problem
from cases.ways import SHARE, fitting_reach, printed_row, refusal
from runner import Case, Row
from tablecloak import InfeasibleProblem, NotApplicable, Problem, protect
from tablecloak.arrays import Floats
from tablecloak.attacker import working_equations
from tablecloak.methods.adjustment import Ranges, ReachRule, cost_of, ranges_of
from tablecloak.solvers.highs.linear_programs import highs_model
from tablecloak.solvers.highs.running import new_highs

SECONDS = 60.0
METHOD, PLAIN = "perturb-cta", "plain"
GAP = 1e-7


def beside_a_plain_program(seconds: float | None) -> Iterator[Case]:
    """Both on every instance, with the same limit."""
    limit = seconds or SECONDS
    for name in CSPLIB:
        for program, row in ((METHOD, adjusted_row), (PLAIN, plain_row)):
            facts = {"name": name, "program": program, "limit_s": f"{limit:g}"}
            measure = partial(row, partial(csplib_problem, name), limit)
            yield Case(f"{name}, {program}", measure, limit + 30.0, (), facts, group=name)


def adjusted_row(make: Make, seconds: float) -> Row:
    """perturb-cta, absolute distances; attackers are in neither model."""
    problem = make()
    params = {"share": SHARE, "least": fitting_reach(METHOD, problem), "seconds": seconds}
    told = {**sizes(problem), "least": params["least"]}
    try:
        result = protect(problem, METHOD, params={**params, "protect_attackers": False})
    except (InfeasibleProblem, NotApplicable) as error:
        return {**told, "status": refusal(error)}
    return {**told, **printed_row(result)}


def plain_row(make: Make, seconds: float) -> Row:
    """The plain program."""
    problem = make()
    rule = ReachRule.checked(METHOD, SHARE, fitting_reach(METHOD, problem))
    start = time.perf_counter()
    status, moved, bound = plain(problem, ranges_of(METHOD, problem, rule), seconds)
    spent = time.perf_counter() - start
    cost = None if moved is None else cost_of(problem, moved)
    if cost is not None and bound is not None:
        bound = min(bound, cost)
    return {
        **sizes(problem),
        "least": rule.least,
        "cost": cost,
        "bound": bound,
        "gap_percent": gap_percent(cost, bound),
        "status": status,
        "seconds": round(spent, 3),
        "broken": None if moved is None else broken(problem, moved),
    }


def plain(problem: Problem, ranges: Ranges, seconds: float) -> tuple[str, Floats | None, float | None]:
    """How it ended, how far cells move (in units), and the bound."""
    least = np.concatenate([ranges.up_low[ranges.rises], ranges.down_low[ranges.falls]])
    scale = max(1.0, float(np.median(least))) if least.size else 1.0
    highs = new_highs(time_limit=seconds, mip_rel_gap=GAP)
    weights = problem.weights / max(1.0, float(problem.weights.max(initial=0.0)) / 1e6)
    ratio = float(problem.weights.max(initial=0.0)) / max(float(weights.max(initial=0.0)), 1e-300)
    highs.passModel(_program(problem, ranges, scale, weights))
    highs.run()
    info, statuses = highs.getInfo(), highspy.HighsModelStatus
    status = highs.getModelStatus()
    told = {
        statuses.kOptimal: "optimal",
        statuses.kTimeLimit: "time-limit",
        statuses.kInfeasible: "infeasible",
    }
    bound = float(info.mip_dual_bound) * scale * ratio * problem.table.unit
    moved = None
    if info.primal_solution_status == 2:
        x, size = np.asarray(highs.getSolution().col_value), len(problem.table)
        moved = scale * (x[:size] - x[size : 2 * size])
    return told.get(status, f"error: {status}"), moved, max(bound, 0.0) if math.isfinite(bound) else None


def _program(problem: Problem, ranges: Ranges, scale: float, weights: Floats) -> Any:
    """Columns: rise and fall of every cell in units of `scale`, then the senses."""
    size, p = len(problem.table), np.flatnonzero(ranges.rises | ranges.falls)
    count, eye = p.size, np.arange(p.size)
    equations = csr_array(working_equations(problem.table))
    pick = csr_array((np.ones(count), (eye, p)), shape=(count, size))
    none = csr_array((count, size))
    up, highest, down, deepest = (
        part[p] / scale for part in (ranges.up_low, ranges.up_high, ranges.down_low, ranges.down_high)
    )
    still = csr_array((equations.shape[0], count))
    blocks = [
        hstack([equations, -equations, still]),
        hstack([pick, none, diags_array(-up)]),
        hstack([pick, none, diags_array(-highest)]),
        hstack([none, pick, diags_array(down)]),
        hstack([none, pick, diags_array(deepest)]),
    ]
    far, zero = np.full(count, np.inf), np.zeros(count)
    right = np.zeros(equations.shape[0])
    sensitive = ranges.rises | ranges.falls
    rise = np.where(sensitive, ranges.up_high, ranges.high) / scale
    fall = np.where(sensitive, ranges.down_high, -ranges.low) / scale
    low = np.concatenate([np.zeros(2 * size), np.where(ranges.falls[p], 0.0, 1.0)])
    high = np.concatenate([rise, fall, np.where(ranges.rises[p], 1.0, 0.0)])
    row_low = np.concatenate([right, zero, -far, down, -far])
    row_high = np.concatenate([right, far, zero, far, deepest])
    cost, integral = np.concatenate([weights, weights, zero]), np.arange(2 * size + count) >= 2 * size
    return highs_model(csc_array(vstack(blocks)), (low, high), (row_low, row_high), cost, integral)


def broken(problem: Problem, moved: Floats) -> float:
    """By how much the worst equation fails, in data units."""
    return float(np.abs(working_equations(problem.table) @ moved).max(initial=0.0))


PARTS = (
    Part(
        "adjustment",
        "perturb-cta on the 13 instances of the library, beside a plain integer program",
        beside_a_plain_program,
        True,
    ),
)
