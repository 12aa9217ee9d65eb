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
        self._prices, self._columns = prices, np.arange(prices.size)
        self._rows: list[tuple[Floats, float]] = []
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
                self._rows.append((rows.left[number], float(rows.right[number])))
                chosen.append(number)
                if len(chosen) == most:
                    break
        if chosen:
            self._program.add(np.ascontiguousarray(rows.left[chosen][:, self._columns]), rows.right[chosen])
            self.added += len(chosen)
        return len(chosen)

    def drop_slack_rows(self) -> None:
        """If there are many rows, drop those that bind nothing: between nodes, for at a node they could come and go."""
        if len(self._keys) > self._settings.max_rows:
            kept = self._program.drop_slack()
            self._keys = [self._keys[k] for k in kept.tolist()]
            self._rows = [self._rows[k] for k in kept.tolist()]
            self._known = set(self._keys)

    def drop_columns(self, high: Floats) -> None:
        """If many variables are 0 from now on, the others make a smaller program, which begins anew."""
        kept = np.flatnonzero(high > 0.0)
        if kept.size > self._settings.kept_columns * self._columns.size:
            return
        self._columns, settings = kept, self._settings
        self._program = CoveringArrays(self._prices[kept], settings.max_rows)
        if self._rows:
            left, right = (np.array(part) for part in zip(*self._rows, strict=True))
            self._program.add(np.ascontiguousarray(left[:, kept]), right)

    def solve(self, low: Floats, high: Floats, cutoff: float) -> Covering:
        """Solve within these bounds of the variables, or until the bound exceeds the cutoff."""
        program, most, columns = self._program, self._settings.max_pivots, self._columns
        inside = low[columns], high[columns]
        ending = program.solve(*inside, cutoff, most)
        if ending == Covering.UNSOLVED:  # perhaps by rounding errors of the dictionary
            program.restart()
            ending = program.solve(*inside, cutoff, most)
        self.bound = program.bound
        if ending == Covering.SOLVED:
            self.x, self.reduced = np.zeros((2, low.size))
            self.x[columns] = np.clip(program.point(), *inside)
            self.reduced[columns] = program.reduced()
        return Covering(ending)
