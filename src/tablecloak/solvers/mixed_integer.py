"""Mixed-integer programs (HiGHS).

Presolve of programs with continuous columns is off: HiGHS 1.15.1 with presolve was seen to call
patterns optimal that are not (our tests compare methods with each other; a cost of 29 was claimed where 25
is feasible). Binary programs keep it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats
from tablecloak.errors import SolverError
from tablecloak.solvers.highs import Abandoned, LeftAlone, quiet_highs, run, run_presolved
from tablecloak.solvers.linear_program import model
from tablecloak.solvers.outcome import MixedSolution, Outcome


@dataclass(frozen=True)
class MixedSettings:
    """Tuning of integer programs."""

    root_share: float = 0.2
    """With a time limit: share of the time that the linear program at the root may take for the integer program to
    follow, whose own root takes some times as long. Set on suppress-compact on tables of 500 cells (part `limits`)."""


SETTINGS = MixedSettings()


def solve_mixed(
    matrix: Any,
    bounds: tuple[Floats, Floats],
    rows: tuple[Floats, Floats],
    cost: Floats,
    integral: Bools,
    seconds: float = math.inf,
    presolve: bool = False,
    stop: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> MixedSolution:
    """min cost x over row_low <= matrix x <= row_high, low <= x <= high, x integral where marked.

    `stop`: makes the context in which the program is solved. If it takes an interrupt, the best point found by then is
    returned.
    """
    highs = quiet_highs(
        presolve="on" if presolve else "off",
        mip_rel_gap=0.0,
        mip_abs_gap=1e-9,
        mip_feasibility_tolerance=1e-9,
    )
    lp = model(matrix, bounds[0], bounds[1], rows[0], rows[1], cost)
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[int(flag)] for flag in integral]
    highs.passModel(lp)
    if math.isfinite(seconds):
        late, seconds = _root_first(highs, seconds, stop)
        if late is not None:
            return late
    left = False
    with stop():
        try:
            run(highs, seconds, integer=True, may_leave=True)
        except LeftAlone:
            left = True
        except Abandoned:
            left = True
            raise
    if left:  # the solver still works: there is nothing to be read
        return MixedSolution(Outcome.TIME_LIMIT, math.inf, -math.inf, np.zeros(0))
    status, info = highs.getModelStatus(), highs.getInfo()
    has_point = info.primal_solution_status == 2
    values = np.asarray(highs.getSolution().col_value, dtype=np.float64) if has_point else np.zeros(0)
    statuses = highspy.HighsModelStatus
    if status == statuses.kOptimal:
        return MixedSolution(Outcome.OPTIMAL, info.objective_function_value, info.mip_dual_bound, values)
    if status == statuses.kInfeasible:
        return MixedSolution(Outcome.INFEASIBLE, math.inf, math.inf, values)
    if status in (statuses.kUnbounded, statuses.kUnboundedOrInfeasible):
        return MixedSolution(Outcome.UNBOUNDED, -math.inf, -math.inf, values)
    if status in (statuses.kTimeLimit, statuses.kInterrupt, statuses.kObjectiveTarget):
        return MixedSolution(Outcome.TIME_LIMIT, info.objective_function_value, info.mip_dual_bound, values)
    raise SolverError(f"HiGHS ended with status {status} on a mixed-integer program of {cost.size} columns")


def _root_first(
    highs: Any, seconds: float, stop: Callable[[], AbstractContextManager[None]]
) -> tuple[MixedSolution | None, float]:
    """The linear program at the root, to see whether there is time for more; then the seconds left.

    HiGHS 1.15.1 does not look at the clock for the first 10,000 iterations at the root of an integer program. Where
    these could go beyond the limit, the bound of the linear program is all there is.
    """
    optimal, infeasible = highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible
    root, status = quiet_highs(), None
    program = highs.getLp()
    program.integrality_ = []
    root.passModel(program)
    with stop():
        status = run(root, seconds)
        if status not in (optimal, infeasible, highspy.HighsModelStatus.kTimeLimit):
            status = run_presolved(root, max(seconds - root.getRunTime(), 0.0))
    left = seconds - root.getRunTime()
    if status == infeasible:
        return MixedSolution(Outcome.INFEASIBLE, math.inf, math.inf, np.zeros(0)), left
    if status == optimal and root.getRunTime() < SETTINGS.root_share * left:
        return None, left
    bound = float(root.getInfo().objective_function_value) if status == optimal else -math.inf
    return MixedSolution(Outcome.TIME_LIMIT, math.inf, bound, np.zeros(0)), left


class IntegerProgram:
    """Whole deviations d with matrix d = 0, low <= d <= high: how far can one of them go?"""

    def __init__(self, matrix: Any, low: Floats, high: Floats) -> None:
        self.matrix, self.low, self.high = matrix, np.ceil(low - 1e-6), np.floor(high + 1e-6)
        self.solves = 0

    def extreme(self, column: int, *, upward: bool, enough: float = math.inf) -> tuple[float, Floats]:
        """The largest |d_column| in the direction, at most `enough` rounded up, and the deviations behind it."""
        low, high, cost = self.low.copy(), self.high.copy(), np.zeros(self.low.size)
        cap = math.ceil(enough - 1e-9) if math.isfinite(enough) else math.inf
        if upward:
            high[column], cost[column] = min(high[column], cap), -1.0
        else:
            low[column], cost[column] = max(low[column], -cap), 1.0
        self.solves += 1
        zero = np.zeros(self.matrix.shape[0])
        solution = solve_mixed(self.matrix, (low, high), (zero, zero), cost, np.ones(low.size, dtype=bool))
        far = -solution.objective if math.isinf(solution.objective) else round(-solution.objective)
        return float(far), np.rint(solution.values)


class GrowingProgram:
    """min cost x over rows A x >= low and binary x; rows are added between solves.

    A row that limits the cost would be welcome, but it makes HiGHS five times slower (measured): the caller compares.
    """

    def __init__(self, cost: Floats) -> None:
        count = cost.size
        self._count = count
        self._highs = quiet_highs(mip_rel_gap=0.0, mip_feasibility_tolerance=1e-9)
        none = np.zeros(0, dtype=np.int32)
        columns = np.arange(count, dtype=np.int32)
        self._highs.addCols(
            count,
            cost,
            np.zeros(count),
            np.ones(count),
            0,
            np.zeros(count, dtype=np.int32),
            none,
            np.zeros(0),
        )
        if count:
            kinds = np.full(count, highspy.HighsVarType.kInteger)
            self._highs.changeColsIntegrality(count, columns, kinds)

    def add_rows(self, low: Floats, matrix: Any) -> None:
        """More rows."""
        rows = csr_array(matrix)
        self._highs.addRows(
            low.size,
            low,
            np.full(low.size, highspy.kHighsInf),
            rows.nnz,
            rows.indptr[:-1].astype(np.int32),
            rows.indices.astype(np.int32),
            rows.data,
        )

    def solve(
        self, seconds: float = math.inf, *, gap: float = 0.0, step: float = 0.0, nodes: int | None = None
    ) -> MixedSolution:
        """The best binary point, up to a relative gap; costs are known to be multiples of `step`."""
        if self._count == 0:
            return self._without_columns()
        self._highs.setOptionValue("mip_rel_gap", gap)
        self._highs.setOptionValue("mip_max_nodes", 2**31 - 1 if nodes is None else nodes)
        self._highs.setOptionValue("mip_abs_gap", 0.999 * step if step > 0 else 1e-9)
        status, info = run(self._highs, seconds, integer=True), self._highs.getInfo()
        statuses = highspy.HighsModelStatus
        if status == statuses.kInfeasible:
            return MixedSolution(Outcome.INFEASIBLE, math.inf, math.inf, np.zeros(0))
        has_point = info.primal_solution_status == 2
        values = (
            np.asarray(self._highs.getSolution().col_value, dtype=np.float64) if has_point else np.zeros(0)
        )
        if status == statuses.kOptimal:
            return MixedSolution(Outcome.OPTIMAL, info.objective_function_value, info.mip_dual_bound, values)
        if status in (statuses.kTimeLimit, statuses.kInterrupt, statuses.kSolutionLimit):
            return MixedSolution(
                Outcome.TIME_LIMIT, info.objective_function_value, info.mip_dual_bound, values
            )
        raise SolverError(f"HiGHS ended with status {status} on a program of {self._count} binary columns")

    def _without_columns(self) -> MixedSolution:
        low = np.asarray(self._highs.getLp().row_lower_)
        fine = bool((low <= 1e-9).all())
        return MixedSolution(Outcome.OPTIMAL if fine else Outcome.INFEASIBLE, 0.0, 0.0, np.zeros(0))
