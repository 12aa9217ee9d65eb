"""Small covering programs whose rows come as dense matrices: many of them are solved for one table."""

from __future__ import annotations

import math

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.solvers.highs import running
from tablecloak.solvers.highs.linear_programs import RestrictedMaster, read_solution
from tablecloak.solvers.highs.running import DEFAULTS, HighsSettings, outcome_of
from tablecloak.solvers.outcome import Outcome, Solution


class DenseProgram(RestrictedMaster):
    """min cost x over rows A x >= low and bounds within 0 <= x <= 1, warm by the dual simplex method."""

    def __init__(self, cost: Floats, scale: float = 1.0, settings: HighsSettings = DEFAULTS) -> None:
        super().__init__(scale, settings)
        none, size = np.zeros(0, dtype=np.int32), cost.size
        self._columns = np.arange(size, dtype=np.int32)
        self._check(
            self._highs.addCols(
                size,
                cost / scale,
                np.zeros(size),
                np.ones(size),
                0,
                np.zeros(size, np.int32),
                none,
                np.zeros(0),
            )
        )

    def add_dense_rows(self, low: Floats, rows: Floats) -> None:
        """Add the rows low <= rows x."""
        row, column = np.nonzero(rows)
        start = np.searchsorted(row, np.arange(low.size)).astype(np.int32)
        high = np.full(low.size, math.inf)
        index = column.astype(np.int32)
        self._check(self._highs.addRows(low.size, low, high, index.size, start, index, rows[row, column]))

    def solve(self, seconds: float = math.inf) -> Solution:
        """Solve from the last basis, as `RestrictedMaster.solve`; an optimum is read in fewer steps."""
        if self._columns.size == 0:
            return self._without_columns()
        wrong = frozenset({Outcome.UNBOUNDED})
        status = running.run_linear(self._highs, seconds, wrong=wrong, settings=self._settings)
        if outcome_of(status) is not Outcome.OPTIMAL:
            return read_solution(self._highs, status, integer=False, scale=self._scale, wrong=wrong)
        solution, objective = self._highs.getSolution(), self._highs.getObjectiveValue() * self._scale
        duals = np.array(solution.row_dual) * self._scale
        return Solution(Outcome.OPTIMAL, objective, objective, np.array(solution.col_value), duals)

    def set_bounds(self, low: Floats, high: Floats) -> None:
        """The bounds of all columns from now on."""
        self._check(self._highs.changeColsBounds(low.size, self._columns, low, high))
