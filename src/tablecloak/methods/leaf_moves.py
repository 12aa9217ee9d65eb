"""Perturbations in whole data units without a program: leaves move by whole units, totals are added up.

Where all cells of a table follow from its leaves (`ladder`), whole moves of leaves make a whole additive move of the
table, whatever they are. What remains to be seen is whether totals stay within their ranges.

Each sensitive leaf moves by just its level, in the sense in which the totals above it are moved least,
leaves by decreasing level. A sensitive total that is left between its levels, or a total beyond its range, is corrected
by leaves below it, first by those that are not sensitive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Floats, Ints
from tablecloak.methods.leaf_sums import ladder_of
from tablecloak.methods.reaches import Ranges
from tablecloak.problem import Problem


@dataclass(frozen=True)
class LeafMoveSettings:
    """How totals are corrected; untested default."""

    passes: int = 4
    """Maximum number of times that all totals are looked at: a correction of one may take another out of its range."""


SETTINGS = LeafMoveSettings()


def leaf_move(problem: Problem, ranges: Ranges) -> Floats | None:
    """A move in whole units with every sensitive cell at least a level away; None if none was found this way."""
    found = ladder_of(problem.table)
    if found is None:
        return None
    leaf, ladder = found
    sums = ladder.matrix(leaf)
    move = _LeafMove(ranges, np.flatnonzero(leaf), csr_array(sums), csc_array(sums))
    move.start()
    for _ in range(SETTINGS.passes):
        wrong = move.wrong()
        if wrong.size == 0:
            return move.cells.astype(np.float64)
        for cell in wrong[np.argsort(ladder.leaves[wrong], kind="stable")].tolist():
            move.correct(cell)
    return None if move.wrong().size else move.cells.astype(np.float64)


class _LeafMove:
    """How far leaves move, and all cells with them, in whole units."""

    def __init__(self, ranges: Ranges, leaves: Ints, sums: csr_array, columns: csc_array) -> None:
        self.ranges, self.leaves, self.sums, self.columns = ranges, leaves, sums, columns
        self.cells: Ints = np.zeros(ranges.low.size, dtype=np.int64)
        self.sensitive = ranges.rises | ranges.falls
        self.up = ranges.rises & ~ranges.falls
        """The sense of every sensitive cell with a single one, then of every leaf."""

    def _shift(self, place: int, amount: int) -> None:
        """Move the leaf at a place, and all totals above it."""
        part = slice(int(self.columns.indptr[place]), int(self.columns.indptr[place + 1]))
        self.cells[self.columns.indices[part]] += amount * self.columns.data[part]

    def start(self) -> None:
        """Sensitive leaves by just their levels; senses with a choice where totals above are moved least."""
        ranges = self.ranges
        up, down = ranges.up_low.astype(np.int64), ranges.down_low.astype(np.int64)
        mine = np.flatnonzero(self.sensitive[self.leaves])
        level = np.where(ranges.rises, up, down)[self.leaves[mine]]
        for place in mine[np.argsort(-level, kind="stable")].tolist():
            cell = int(self.leaves[place])
            if ranges.both[cell]:
                part = slice(int(self.columns.indptr[place]), int(self.columns.indptr[place + 1]))
                above, share = self.cells[self.columns.indices[part]], self.columns.data[part]
                risen, fallen = (np.abs(above + amount * share).sum() for amount in (up[cell], -down[cell]))
                self.up[cell] = bool(risen <= fallen)
            self._shift(place, int(up[cell]) if self.up[cell] else -int(down[cell]))

    def _ends(self, cell: int) -> tuple[float, float]:
        """The range that a cell is in, or the nearer one if it is sensitive and between both."""
        ranges, at = self.ranges, float(self.cells[cell])
        if not self.sensitive[cell]:
            return float(ranges.low[cell]), float(ranges.high[cell])
        rises = bool(ranges.rises[cell])
        if rises and ranges.falls[cell]:
            rises = at - ranges.up_low[cell] >= -ranges.down_low[cell] - at
        if rises:
            return float(ranges.up_low[cell]), float(ranges.up_high[cell])
        return -float(ranges.down_high[cell]), -float(ranges.down_low[cell])

    def wrong(self) -> Ints:
        """Cells outside their ranges."""
        ranges, at = self.ranges, self.cells
        above = ranges.rises & (at >= ranges.up_low) & (at <= ranges.up_high)
        below = ranges.falls & (at >= -ranges.down_high) & (at <= -ranges.down_low)
        plain = ~self.sensitive & (at >= ranges.low) & (at <= ranges.high)
        return np.flatnonzero(~(above | below | plain))

    def correct(self, cell: int) -> None:
        """Bring a total into its range by leaves below it."""
        low, high = self._ends(cell)
        part = slice(int(self.sums.indptr[cell]), int(self.sums.indptr[cell + 1]))
        places, share = self.sums.indices[part], self.sums.data[part]
        order = np.argsort(self.sensitive[self.leaves[places]], kind="stable")
        for k in order.tolist():
            missing = max(low - self.cells[cell], 0.0) + min(high - self.cells[cell], 0.0)
            if missing == 0:
                return
            if abs(share[k]) != 1:
                continue
            place = int(places[k])
            leaf = int(self.leaves[place])
            lowest, highest = self._ends(leaf)
            wanted = missing * share[k]
            amount = min(max(wanted, lowest - self.cells[leaf]), highest - self.cells[leaf])
            if amount * wanted > 0:
                self._shift(place, int(amount))
