"""A program inside HiGHS: how it is passed, changed and read."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Codes, Floats
from tablecloak.errors import SolverError
from tablecloak.solvers.highs.running import HighsSettings, new_highs, outcome_of
from tablecloak.solvers.outcome import Outcome, Solution


class Columns(NamedTuple):
    """A matrix by columns with the names of scipy, for many small programs: making one costs nothing."""

    data: Floats
    indices: Codes
    indptr: Codes
    shape: tuple[int, int]


def by_columns(matrix: Any) -> Any:
    """Any matrix by columns: unchanged, if it is by columns already."""
    return matrix if isinstance(matrix, Columns | csc_array) else csc_array(matrix)


def highs_model(
    matrix: Any,
    bounds: tuple[Floats, Floats],
    rows: tuple[Floats, Floats],
    cost: Floats,
    integral: Bools | None = None,
) -> Any:
    """The HiGHS model min cost x, row_low <= matrix x <= row_high, low <= x <= high, x integral where marked."""
    import highspy

    columns = by_columns(matrix)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns.shape[1], columns.shape[0]
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, *bounds
    lp.row_lower_, lp.row_upper_ = rows
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = columns.indptr.astype(np.int32)
    lp.a_matrix_.index_ = columns.indices.astype(np.int32)
    lp.a_matrix_.value_ = columns.data.astype(np.float64)
    if integral is not None and integral.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(flag)] for flag in integral]
    return lp


def read_solution(
    highs: Any,
    status: Any,
    *,
    integer: bool,
    scale: float = 1.0,
    wrong: frozenset[Outcome] = frozenset(),
) -> Solution:
    """The solution after a run that ended with a status; `scale` is the unit of the costs.

    Numerical failures are also `wrong` outcomes and an integer optimum without a point. The point of a failed run is
    kept, for it can be checked; its bound is not.
    """
    import highspy

    outcome, info = outcome_of(status), highs.getInfo()
    linear_optimum = outcome is Outcome.OPTIMAL and not integer
    has_point = linear_optimum or info.primal_solution_status == int(
        highspy.SolutionStatus.kSolutionStatusFeasible
    )
    if outcome in wrong or (outcome is Outcome.OPTIMAL and not has_point):
        outcome = Outcome.FAILED
    objective, bound = float(info.objective_function_value) * scale, -math.inf
    if linear_optimum:
        bound = objective
    elif integer and outcome in (Outcome.OPTIMAL, Outcome.TIME_LIMIT):
        bound = float(info.mip_dual_bound) * scale
    if not has_point or outcome in (Outcome.INFEASIBLE, Outcome.UNBOUNDED):
        return Solution.without_point(outcome, bound)
    solution = highs.getSolution()
    duals = np.zeros(0) if integer else np.asarray(solution.row_dual, dtype=np.float64) * scale
    return Solution(outcome, objective, bound, np.asarray(solution.col_value, dtype=np.float64), duals)


class HighsProgram:
    """A program that is changed between solves. Costs are passed to HiGHS in units of `scale`."""

    def __init__(self, scale: float, settings: HighsSettings, **options: Any) -> None:
        self._highs = new_highs(**options)
        self._scale, self._settings = scale, settings

    def add_rows(self, low: Floats, matrix: Any, high: Floats | None = None) -> None:
        """Add the rows low <= matrix x <= high over the present columns; `high` is infinite by default."""
        rows = csr_array(matrix)
        self._check(
            self._highs.addRows(
                low.size,
                np.asarray(low, dtype=np.float64),
                np.full(low.size, math.inf) if high is None else np.asarray(high, dtype=np.float64),
                rows.nnz,
                rows.indptr[:-1].astype(np.int32),
                rows.indices.astype(np.int32),
                rows.data.astype(np.float64),
            )
        )

    def add_columns(self, cost: Floats, matrix: Any, high: Floats | None = None) -> None:
        """Add columns 0 <= x <= high with their coefficients in the present rows; `high` is 1 by default."""
        columns = csc_array(matrix)
        self._check(
            self._highs.addCols(
                cost.size,
                np.asarray(cost, dtype=np.float64) / self._scale,
                np.zeros(cost.size),
                np.ones(cost.size) if high is None else high,
                columns.nnz,
                columns.indptr[:-1].astype(np.int32),
                columns.indices.astype(np.int32),
                columns.data.astype(np.float64),
            )
        )

    def _without_columns(self) -> Solution:
        """The solution while there are no columns."""
        lp = self._highs.getLp()
        return Solution.without_columns(np.asarray(lp.row_lower_), np.asarray(lp.row_upper_))

    @staticmethod
    def _check(status: Any) -> None:
        import highspy

        if status == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused a change of a program")
