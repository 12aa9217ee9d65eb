"""Whole moves of leaves, totals added up, and corrections that bring all cells into their ranges.

Leaves are cells that all others follow from: those of a hierarchy (`rounding.totals`), or free cells
(`rounding.integral_basis`). A cell outside its range is corrected by leaves below it, first by those that are not
sensitive, and first as far as all other cells keep to their ranges; then beyond, which takes others out of theirs, to
be corrected next.

A move in fractions is brought to whole units in the same way: leaves are rounded, totals corrected.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.methods.rounding import LARGEST_WHOLE, free_cells
from tablecloak.model import Problem


@dataclass(frozen=True)
class ShiftSettings:
    """Set on the JJ library: first moves of table1 take five passes, those of others four at most."""

    passes: int = 4
    """Maximum number of times that all totals are looked at: a correction of one may take another out of its range."""
    shuffled: int = 20
    """The same once more, with leaves in an order by chance (a fixed one)."""


SETTINGS = ShiftSettings()
Range = tuple[Floats, Floats]


def whole_by_free_cells(problem: Problem, moved: Floats, low: Floats, high: Floats) -> Floats | None:
    """A move in whole units near this one within low..high, from its free cells; None if none was found this way."""
    free = free_cells(problem)
    if free is None:
        return None
    whole = np.rint(np.clip(moved, low, high))[free.cells]
    largest = float(np.abs(free.matrix.data).max(initial=1))
    if (np.abs(whole) >= LARGEST_WHOLE / (low.size * largest)).any():  # sums are exact in 64 bits
        return None
    move = LeafShifts(free.cells, free.matrix, (low, high), (low, high), problem.sensitive)
    move.cells = np.asarray(free.matrix @ whole.astype(np.int64))
    return move.cells.astype(np.float64) if move.corrected() else None


class LeafShifts:
    """How far leaves move, and all cells with them, in whole units.

    Each cell has two ranges, of falling and of rising; they are the same where it has no choice.
    """

    def __init__(self, leaves: Ints, sums: csr_array, falls: Range, rises: Range, sensitive: Bools) -> None:
        self.leaves, self.sums, self.columns = leaves, sums, csc_array(sums)
        self.falls, self.rises, self.sensitive = falls, rises, sensitive
        self.cells: Ints = np.zeros(sensitive.size, dtype=np.int64)

    def _above(self, place: int) -> tuple[Ints, Ints]:
        """The cells that a leaf is part of, itself too, and its coefficients there."""
        part = slice(int(self.columns.indptr[place]), int(self.columns.indptr[place + 1]))
        return self.columns.indices[part].astype(np.int64), self.columns.data[part]

    def _shift(self, place: int, amount: int) -> None:
        """Move the leaf at a place, and all totals above it."""
        above, share = self._above(place)
        self.cells[above] += amount * share

    def start(self) -> None:
        """Sensitive leaves by just their levels; senses with a choice where totals above are moved least."""
        up, down = (np.clip(0.0, *ends).astype(np.int64) for ends in (self.rises, self.falls))
        mine = np.flatnonzero(self.sensitive[self.leaves])
        level = np.abs(up[self.leaves[mine]])
        for place in mine[np.argsort(-level, kind="stable")].tolist():
            cell = int(self.leaves[place])
            above, share = self._above(place)
            now = self.cells[above]
            risen, fallen = (np.abs(now + amount * share).sum() for amount in (up[cell], down[cell]))
            self._shift(place, int(up[cell] if risen <= fallen else down[cell]))

    def corrected(self) -> bool:
        """Bring all cells into their ranges; whether that was done."""
        count, chance = abs(self.sums).sum(axis=1), np.random.default_rng(0)
        for number in range(SETTINGS.passes + SETTINGS.shuffled):
            wrong = self.wrong()
            if wrong.size == 0:
                return True
            shuffled = chance if number >= SETTINGS.passes else None
            for cell in wrong[np.argsort(count[wrong], kind="stable")].tolist():
                self._correct(cell, shuffled)
        return self.wrong().size == 0

    def _ends(self, cells: Ints) -> Range:
        """The range that each cell is in, or the nearer one of both."""
        at = self.cells[cells]
        rises = at - self.rises[0][cells] >= self.falls[1][cells] - at
        low, high = (np.where(rises, self.rises[k][cells], self.falls[k][cells]) for k in (0, 1))
        return low, high

    def wrong(self) -> Ints:
        """Cells outside their ranges."""
        inside = [(self.cells >= low) & (self.cells <= high) for low, high in (self.falls, self.rises)]
        return np.flatnonzero(~(inside[0] | inside[1]))

    def _correct(self, cell: int, chance: np.random.Generator | None) -> None:
        """Bring a cell into its range by leaves below it."""
        one = np.array([cell])
        low, high = (float(end[0]) for end in self._ends(one))
        part = slice(int(self.sums.indptr[cell]), int(self.sums.indptr[cell + 1]))
        places, share = self.sums.indices[part], self.sums.data[part]
        if chance is not None:
            order = chance.permutation(places.size)
            places, share = places[order], share[order]
        order = np.argsort(self.sensitive[self.leaves[places]], kind="stable")
        for careful in (True, False):
            for k in order[np.abs(share[order]) == 1].tolist():
                missing = max(low - self.cells[cell], 0.0) + min(high - self.cells[cell], 0.0)
                if missing == 0:
                    return
                self._give(int(places[k]), missing * float(share[k]), cell if careful else -1)

    def _give(self, place: int, wanted: float, cell: int) -> None:
        """Move a leaf as far as wanted and its range allows, for the sake of a cell also those of all others above.

        Others that are outside their ranges already do not count.
        """
        sign = 1.0 if wanted > 0 else -1.0
        above, share = self._above(place)
        counts = above == self.leaves[place] if cell < 0 else above != cell
        above, share = above[counts], share[counts]
        low, high = self._ends(above)
        room = np.where(sign * share > 0, high - self.cells[above], self.cells[above] - low) // np.abs(share)
        room = room[(room >= 0) | (above == self.leaves[place])]
        amount = min(abs(wanted), float(room.min(initial=np.inf)))
        if amount >= 1:
            self._shift(place, int(sign * amount))
