"""Linear programs that stay warm between solves (HiGHS).

Traps this file takes care of: a change of model invalidates the solution in HiGHS, so everything is read right after
a solve; primal simplex is the right choice when only costs change, dual simplex when bounds change; an unbounded
problem is an answer here, not a failure.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import highspy
import numpy as np
from scipy.sparse import csc_array

from tablecloak.arrays import Codes, Floats, Ints
from tablecloak.errors import SolverError
from tablecloak.solvers import highs
from tablecloak.solvers.outcome import Outcome, Solution


class Columns(NamedTuple):
    """A matrix by columns with the names of scipy, for many small programs: making one costs nothing."""

    data: Floats
    indices: Codes
    indptr: Codes
    shape: tuple[int, int]


PRIMAL, DUAL = 4, 1
SIMPLEX_WORK, LEAST_ITERATIONS = 100_000_000, 1_000
"""Rows, columns and nonzeros times iterations that the simplex method may take for a program from scratch before the
interior point method takes over (about a second), and iterations that it may take in any case."""
UNLIMITED = 2**31 - 1
"""The iteration limit of HiGHS that is none."""
_OUTCOMES = {
    highspy.HighsModelStatus.kOptimal: Outcome.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: Outcome.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: Outcome.UNBOUNDED,
    highspy.HighsModelStatus.kTimeLimit: Outcome.TIME_LIMIT,
    highspy.HighsModelStatus.kIterationLimit: Outcome.FAILED,
}


def by_columns(matrix: Any) -> Any:
    """Any matrix by columns: as it is, if it is so already."""
    return matrix if isinstance(matrix, Columns | csc_array) else csc_array(matrix)


def model(matrix: Any, low: Floats, high: Floats, row_low: Floats, row_high: Floats, cost: Floats) -> Any:
    """The HiGHS model min cost x, row_low <= matrix x <= row_high, low <= x <= high."""
    columns = by_columns(matrix)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns.shape[1], columns.shape[0]
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, low, high
    lp.row_lower_, lp.row_upper_ = row_low, row_high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = columns.indptr.astype(np.int32)
    lp.a_matrix_.index_ = columns.indices.astype(np.int32)
    lp.a_matrix_.value_ = columns.data.astype(np.float64)
    return lp


class Session:
    """One linear program min cost x with equality rows `matrix` x = rhs, changed and re-solved many times."""

    def __init__(
        self,
        matrix: Any,
        low: Floats,
        high: Floats,
        *,
        cost: Floats | None = None,
        row_low: Floats | None = None,
        row_high: Floats | None = None,
        strategy: int = PRIMAL,
        presolve: bool = False,
        feasible: bool = False,
        tolerance: float | None = None,
    ) -> None:
        self._highs = highs.quiet_highs(presolve="off", solver="simplex", simplex_strategy=strategy)
        if tolerance is not None:
            self._set(primal_feasibility_tolerance=tolerance, dual_feasibility_tolerance=tolerance)
        self.solves = 0
        self._feasible = feasible  # known to be so: a solver that denies it has lost its way
        self.load(matrix, low, high, cost=cost, row_low=row_low, row_high=row_high, presolve=presolve)

    def load(
        self,
        matrix: Any,
        low: Floats,
        high: Floats,
        *,
        cost: Floats | None = None,
        row_low: Floats | None = None,
        row_high: Floats | None = None,
        presolve: bool = False,
    ) -> None:
        """Another program in the place of this one: making a solver takes longer than many a small program."""
        columns = by_columns(matrix)
        rows, self.columns = columns.shape
        self._every = np.arange(self.columns, dtype=np.int32)
        zero = np.zeros(rows)
        status = self._highs.passModel(
            self.columns,
            rows,
            columns.data.size,
            int(highspy.MatrixFormat.kColwise),
            int(highspy.ObjSense.kMinimize),
            0.0,
            np.zeros(self.columns) if cost is None else cost,
            low,
            high,
            zero if row_low is None else row_low,
            zero if row_high is None else row_high,
            columns.indptr,
            columns.indices,
            columns.data,
            np.zeros(self.columns, dtype=np.int32),  # no column is a whole number
        )
        self._check(status)
        self._from_scratch = presolve
        self._costs: Floats | None = np.zeros(self.columns) if cost is None else np.array(cost, dtype=float)

    def set_cost(self, column: int, cost: float) -> None:
        self._costs = None
        self._highs.changeColCost(int(column), float(cost))

    def set_costs(self, columns: Ints, costs: Floats) -> None:
        """New costs of distinct columns."""
        self._costs = None
        order = np.argsort(columns)  # HiGHS refuses a set that is not increasing
        self._check(
            self._highs.changeColsCost(
                len(order), np.asarray(columns, dtype=np.int32)[order], np.asarray(costs, dtype=float)[order]
            )
        )

    def set_objective(self, costs: Floats) -> None:
        """New costs of all columns; HiGHS is given those that change."""
        if self._costs is None:
            self._check(self._highs.changeColsCost(self.columns, self._every, costs))
        else:
            changed = (costs != self._costs).nonzero()[0]
            self._check(self._highs.changeColsCost(changed.size, changed.astype(np.int32), costs[changed]))
        self._costs = costs.copy()

    def set_bounds(self, column: int, low: float, high: float) -> None:
        """New bounds of one column."""
        self._check(self._highs.changeColBounds(int(column), float(low), float(high)))

    def set_many_bounds(self, columns: Ints, low: Floats, high: Floats) -> None:
        """New bounds of distinct columns."""
        order = np.argsort(columns)
        arrays = (np.asarray(array, dtype=float)[order] for array in (low, high))
        self._check(
            self._highs.changeColsBounds(len(order), np.asarray(columns, dtype=np.int32)[order], *arrays)
        )

    @staticmethod
    def _check(status: Any) -> None:
        if status == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused a change of a linear program")

    def add_row(self, low: float, high: float, columns: Ints, coefficients: Floats) -> None:
        """One more row, last."""
        indices = np.asarray(columns, dtype=np.int32)
        self._check(
            self._highs.addRow(low, high, len(indices), indices, np.asarray(coefficients, dtype=float))
        )

    def solve(self, seconds: float = float("inf")) -> Solution:
        """Solve from the present basis; a solver that loses its way is restarted once with presolve."""
        limit = self._highs.getRunTime() + seconds
        self.solves += 1
        status = self._run_presolved(limit) if self._from_scratch else self._run(limit)
        self._from_scratch = False
        if self._lost(status):
            self._highs.clearSolver()
            status = self._run(limit)
        if self._lost(status):
            status = self._run_presolved(limit)
        if status == highspy.HighsModelStatus.kUnboundedOrInfeasible:
            status = highspy.HighsModelStatus.kUnbounded
        if status not in _OUTCOMES:
            raise SolverError(
                f"HiGHS ended with status {status} on a linear program of {self.columns} columns"
            )
        solution = self._highs.getSolution()
        return Solution(
            _OUTCOMES[status],
            float(self._highs.getObjectiveValue()),
            np.asarray(solution.col_value, dtype=np.float64),
            np.asarray(solution.row_dual, dtype=np.float64),
        )

    def _lost(self, status: Any) -> bool:
        outcome = _OUTCOMES.get(status, Outcome.FAILED)
        return outcome is Outcome.FAILED or (self._feasible and outcome is Outcome.INFEASIBLE)

    def basis(self) -> tuple[list[str], list[str]]:
        """The status names of columns and rows after a solve: kBasic, kLower, kUpper, ..."""
        found = self._highs.getBasis()
        return [status.name for status in found.col_status], [status.name for status in found.row_status]

    def forget_basis(self) -> None:
        """Start the next solve from scratch (after many changes a warm start is a burden)."""
        self._highs.clearSolver()

    def _run_presolved(self, limit: float) -> Any:
        """Afresh with presolve: the simplex method for some iterations, else interior point with crossover."""
        self._highs.clearSolver()
        size = self._highs.getNumNz() + self._highs.getNumRow() + self.columns
        iterations = max(SIMPLEX_WORK // max(size, 1), LEAST_ITERATIONS)
        self._set(presolve="on", solver="choose")
        status = self._run(limit, min(iterations, UNLIMITED))
        if status == highspy.HighsModelStatus.kIterationLimit:
            self._highs.clearSolver()
            self._set(solver="ipm")
            status = self._run(limit)
        self._set(presolve="off", solver="simplex")
        return status

    def _set(self, **options: Any) -> None:
        for name, value in options.items():
            self._highs.setOptionValue(name, value)

    def _run(self, limit: float, iterations: int | None = None) -> Any:
        """Solve; the limit is a point in the running time of the solver."""
        return highs.run(self._highs, limit - self._highs.getRunTime(), iterations=iterations)
