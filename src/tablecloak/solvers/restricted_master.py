"""A linear program that grows: rows and columns are added and dropped between warm solves (HiGHS, dual simplex)."""

from __future__ import annotations

from typing import Any

import highspy
import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Floats, Ints
from tablecloak.errors import SolverError
from tablecloak.solvers.highs import quiet_highs, run, run_presolved
from tablecloak.solvers.outcome import MasterSolution, Outcome


class Master:
    """min cost x over rows A x >= low and 0 <= x <= 1; HiGHS gets the costs in units of `scale`."""

    def __init__(self, scale: float = 1.0) -> None:
        self._scale = scale
        self._highs = quiet_highs(presolve="off", solver="simplex", simplex_strategy=1)
        self.rows = self.columns = 0

    def add_columns(self, costs: Floats, matrix: csc_array) -> None:
        """More columns, with their coefficients in the rows there are."""
        count = costs.size
        self._check(
            self._highs.addCols(
                count,
                np.asarray(costs, dtype=np.float64) / self._scale,
                np.zeros(count),
                np.ones(count),
                matrix.nnz,
                matrix.indptr[:-1].astype(np.int32),
                matrix.indices.astype(np.int32),
                matrix.data.astype(np.float64),
            )
        )
        self.columns += count

    def add_rows(self, low: Floats, matrix: csr_array) -> None:
        """More rows over the columns there are."""
        count = low.size
        self._check(
            self._highs.addRows(
                count,
                np.asarray(low, dtype=np.float64),
                np.full(count, highspy.kHighsInf),
                matrix.nnz,
                matrix.indptr[:-1].astype(np.int32),
                matrix.indices.astype(np.int32),
                matrix.data.astype(np.float64),
            )
        )
        self.rows += count

    def drop_rows(self, rows: Ints) -> None:
        """Forget some rows; those after them move up."""
        if rows.size:
            self._check(self._highs.deleteRows(rows.size, np.sort(rows).astype(np.int32)))
            self.rows -= rows.size

    def fix(self, columns: Ints, value: float) -> None:
        """Fix columns at 0 or 1."""
        order = np.sort(columns).astype(np.int32)
        values = np.full(order.size, value)
        self._check(self._highs.changeColsBounds(order.size, order, values, values))

    def solve(self, seconds: float = float("inf")) -> MasterSolution:
        """Solve from the last basis."""
        if self.columns == 0:
            return self._without_columns()
        highs = self._highs
        for attempt in (run, _run_afresh, run_presolved):
            status = attempt(highs, seconds)
            if status == highspy.HighsModelStatus.kOptimal:
                solution = highs.getSolution()
                return MasterSolution(
                    Outcome.OPTIMAL,
                    float(highs.getInfo().objective_function_value) * self._scale,
                    np.asarray(solution.col_value, dtype=np.float64),
                    np.asarray(solution.row_dual, dtype=np.float64) * self._scale,
                )
            if status == highspy.HighsModelStatus.kInfeasible:
                return MasterSolution(Outcome.INFEASIBLE, np.inf, np.zeros(0), np.zeros(0))
            if status == highspy.HighsModelStatus.kTimeLimit:
                return MasterSolution(Outcome.TIME_LIMIT, -np.inf, np.zeros(0), np.zeros(0))
        return MasterSolution(Outcome.FAILED, -np.inf, np.zeros(0), np.zeros(0))

    def central_duals(self, seconds: float = float("inf")) -> Floats | None:
        """Duals amid all optimal ones (interior point, no crossover), up to tolerances; None when the time is up.

        There a column has a positive reduced cost whenever it has one at any optimal duals.
        """
        if self.columns == 0:
            return None
        highs = quiet_highs(presolve="off", solver="ipm", run_crossover="off")
        highs.passModel(self._highs.getLp())
        if run(highs, seconds) != highspy.HighsModelStatus.kOptimal:
            return None
        return np.asarray(highs.getSolution().row_dual, dtype=np.float64) * self._scale

    def _without_columns(self) -> MasterSolution:
        low = np.asarray(self._highs.getLp().row_lower_)
        outcome = Outcome.OPTIMAL if (low <= 1e-9).all() else Outcome.INFEASIBLE
        return MasterSolution(outcome, 0.0, np.zeros(0), np.zeros(low.size))

    @staticmethod
    def _check(status: highspy.HighsStatus) -> None:
        if status == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused a change of the relaxation")


def _run_afresh(highs: Any, seconds: float) -> Any:
    highs.clearSolver()
    return run(highs, seconds)
