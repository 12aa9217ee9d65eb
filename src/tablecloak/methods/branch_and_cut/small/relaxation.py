"""The linear relaxation of a small problem: all variables are columns, and its cuts are the rows of a dense matrix.

For duals u >= 0 of the rows A x >= b the bound is b'u + sum_i min((w - A'u)_i x_i over the bounds of x_i): valid
whatever the tolerances of the solver are, at the root and below any branching decisions.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.methods.branch_and_cut.settings import SmallSettings
from tablecloak.solvers import ACTIVE_DUAL, DenseProgram, Outcome


class SmallRelaxation:
    """The rows, the last solution and what its duals prove."""

    def __init__(self, prices: Floats, settings: SmallSettings) -> None:
        self._prices, self._settings = prices, settings
        scale = max(float(prices.max(initial=0.0)) / settings.largest_cost, 1.0)
        self._program = DenseProgram(prices, scale)
        self._rows, self._right = np.zeros((0, prices.size)), np.zeros(0)
        self._seen: set[bytes] = set()
        self.added = 0
        """Number of cuts so far."""
        self.x: Floats = np.zeros(prices.size)
        self.bound = 0.0
        self.reduced: Floats = prices

    def add(self, rows: Floats, right: float) -> int:
        """Add those of the rows that are new and violated most at the last point; return their number."""
        if len(rows) > 1:
            rows = rows[np.argsort(rows @ self.x, kind="stable")]
        fresh = []
        for number, name in enumerate(np.round(rows, 9)):
            key = name.tobytes()
            if key not in self._seen:
                self._seen.add(key)
                fresh.append(number)
                if len(fresh) == self._settings.max_rows:
                    break
        if not fresh:
            return 0
        new = rows[fresh]
        below = np.full(len(fresh), right)
        self._program.add_dense_rows(below, new)
        self._rows, self._right = np.concatenate([self._rows, new]), np.concatenate([self._right, below])
        self.added += len(fresh)
        return len(fresh)

    def solve(self, low: Floats, high: Floats, seconds: float) -> Outcome:
        """Solve within these bounds of the variables."""
        self._program.set_bounds(low, high)
        solution = self._program.solve(seconds)
        if solution.outcome is Outcome.OPTIMAL:
            self.x = np.clip(solution.values, 0.0, 1.0)
            duals = np.maximum(solution.duals, 0.0)
            self.reduced = self._prices - duals @ self._rows
            self.bound = float(
                duals @ self._right + np.minimum(self.reduced * low, self.reduced * high).sum()
            )
            self._drop_slack_rows(duals)
        return solution.outcome

    def _drop_slack_rows(self, duals: Floats) -> None:
        """Drop the slack rows if there are many; what is violated again is found again."""
        slack = duals <= ACTIVE_DUAL
        if int(slack.sum()) <= self._settings.slack_rows:
            return
        self._program.drop_rows(np.flatnonzero(slack))
        self._rows, self._right = self._rows[~slack], self._right[~slack]
        self._seen = {np.round(row, 9).tobytes() for row in self._rows}
