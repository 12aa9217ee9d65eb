"""The linear relaxation of a small problem: all variables are columns, its cuts the rows of a dense program.

The bound is proven from the rows by directed rounding, whatever the simplex method does: see `covering_simplex`.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.methods.branch_and_cut.settings import SmallSettings
from tablecloak.methods.branch_and_cut.small.rows import Rows
from tablecloak.solvers.kernels import Covering, CoveringArrays


class SmallRelaxation:
    """The rows, the last solution and what it proves."""

    def __init__(self, prices: Floats, settings: SmallSettings) -> None:
        self._settings, self._program = settings, CoveringArrays(prices, settings.max_rows)
        self._keys: list[bytes] = []
        self._known: set[bytes] = set()
        self.added = 0
        """Number of cuts so far."""
        self.x: Floats = np.zeros(prices.size)
        self.bound = 0.0
        """Of the last solution, within its bounds of the variables."""
        self.reduced: Floats = prices
        """Reduced costs at that bound, rounded down."""

    def add(self, rows: Rows) -> int:
        """Add those of the rows that are new, the most violated ones; return their number."""
        chosen, most = [], self._settings.max_new_rows
        for number in np.argsort(-rows.violation, kind="stable").tolist():
            key = rows.left[number].tobytes()
            if key not in self._known:
                self._known.add(key)
                self._keys.append(key)
                chosen.append(number)
                if len(chosen) == most:
                    break
        if chosen:
            self._program.add(rows.left[chosen], rows.right[chosen])
            self.added += len(chosen)
        return len(chosen)

    def drop_slack_rows(self) -> None:
        """If there are many rows, drop those that bind nothing: between nodes, for at a node they could come and go."""
        if len(self._keys) > self._settings.max_rows:
            kept = self._program.drop_slack()
            self._keys = [self._keys[k] for k in kept.tolist()]
            self._known = set(self._keys)

    def solve(self, low: Floats, high: Floats, cutoff: float) -> Covering:
        """Solve within these bounds of the variables, or until the bound exceeds the cutoff."""
        program, most = self._program, self._settings.max_pivots
        ending = program.solve(low, high, cutoff, most)
        if ending == Covering.UNSOLVED:  # perhaps by rounding errors of the dictionary
            program.restart()
            ending = program.solve(low, high, cutoff, most)
        self.bound = program.bound
        if ending == Covering.SOLVED:
            self.x, self.reduced = np.clip(program.point(), low, high), program.reduced()
        return Covering(ending)
