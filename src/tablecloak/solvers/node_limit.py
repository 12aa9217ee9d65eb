"""Mixed-integer programs that stop after so many nodes: the same answer on every machine, as a clock cannot give."""

from __future__ import annotations

import math
from typing import Any

import highspy
import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.solvers.highs import LeftAlone, quiet_highs, run
from tablecloak.solvers.linear_program import model
from tablecloak.solvers.outcome import MixedSolution, Outcome

LARGEST_COST = 1e6
"""Costs above this are scaled down."""


def solve_limited(
    matrix: Any,
    bounds: tuple[Floats, Floats],
    rows: tuple[Floats, Floats],
    cost: Floats,
    integral: Bools,
    *,
    seconds: float = math.inf,
    nodes: int | None = None,
    gap: float = 0.0,
    presolve: bool = False,
    start: Floats | None = None,
) -> MixedSolution:
    """min cost x over row_low <= matrix x <= row_high, low <= x <= high, x integral where marked, within limits.

    With presolve it is faster, but claims of optimality cannot be relied on (see `mixed_integer`): for heuristics.
    `start`: a feasible point; nothing worse is looked for.
    """
    scale = max(float(np.abs(cost).max(initial=0.0)) / LARGEST_COST, 1.0)
    highs = quiet_highs(
        presolve="on" if presolve else "off",
        mip_rel_gap=gap,
        mip_abs_gap=1e-9,
        mip_feasibility_tolerance=1e-9,
        mip_max_nodes=2**31 - 1 if nodes is None else nodes,
    )
    lp = model(matrix, bounds[0], bounds[1], rows[0], rows[1], cost / scale)
    if integral.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(flag)] for flag in integral]
    highs.passModel(lp)
    if start is not None:
        point = highspy.HighsSolution()
        point.col_value = start.tolist()
        highs.setSolution(point)
    try:
        status = run(highs, seconds, integer=bool(integral.any()), may_leave=True)
    except LeftAlone:
        return MixedSolution(Outcome.TIME_LIMIT, math.inf, -math.inf, np.zeros(0))
    info, statuses = highs.getInfo(), highspy.HighsModelStatus
    if status == statuses.kInfeasible:
        return MixedSolution(Outcome.INFEASIBLE, math.inf, math.inf, np.zeros(0))
    if status == statuses.kOptimal:
        outcome = Outcome.OPTIMAL
    elif status in (statuses.kTimeLimit, statuses.kSolutionLimit, statuses.kInterrupt):
        outcome = Outcome.TIME_LIMIT
    else:  # numbers too far apart for it
        return MixedSolution(Outcome.FAILED, math.inf, -math.inf, np.zeros(0))
    has_point = info.primal_solution_status == 2
    values = np.asarray(highs.getSolution().col_value, dtype=np.float64) if has_point else np.zeros(0)
    objective = float(info.objective_function_value) * scale
    bound = float(info.mip_dual_bound) * scale if integral.any() else objective
    return MixedSolution(outcome, objective, bound, values)
