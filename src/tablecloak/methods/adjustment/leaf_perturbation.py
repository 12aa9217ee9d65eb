"""Perturbations in integer data units without a program: leaves move by integers, totals are added up.

Where all cells follow from the leaves, or from other free cells, in integers (`rounding.integral_basis`), any integer
moves of these make an integer additive move of the table. What remains is to keep all cells within their ranges.

*A first move.* Each sensitive leaf moves by exactly its level, in the sense that moves the totals above it least,
leaves by decreasing level.

*Rounding.* A move in fractions becomes one in integers: the cells of the basis are rounded, all others added up.

*Correction.* A cell outside its range is corrected by leaves below it, first by those that are not sensitive, and first
as far as all other cells keep to their ranges; then beyond, which takes others out of theirs, to be corrected next.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csc_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.methods.adjustment.reach import Range, Ranges
from tablecloak.methods.adjustment.settings import LeafSettings
from tablecloak.methods.rounding import IntegralBasis, eliminated_basis, leaf_basis
from tablecloak.model import Problem, Table


def leaf_move(problem: Problem, ranges: Ranges, settings: LeafSettings = LeafSettings()) -> Floats | None:
    """A move in integer units with every sensitive cell at least a level away; None if none was found this way."""
    every = np.ones(ranges.low.size, dtype=bool)
    falls, rises = ranges.with_senses(~every).ends(), ranges.with_senses(every).ends()
    for basis in _bases(problem):
        move = LeafShifts(basis, falls, rises, ranges.rises | ranges.falls, settings)
        move.start()
        if move.corrected():
            return move.cells.astype(np.float64)
    return None


def _bases(problem: Problem) -> Iterator[IntegralBasis]:
    """The leaves, then other free cells, where they are a basis."""
    if (leaves := leaf_basis(problem.table)) is not None:
        yield leaves
    if (free := eliminated_basis(problem)) is not None:
        yield free


def round_leaves(table: Table, moved: Floats, low: Floats, high: Floats) -> Floats | None:
    """A move with leaves rounded and totals added up; None where a cell leaves its range low..high."""
    basis = leaf_basis(table)
    move = None if basis is None else basis.rounded(np.clip(moved, low, high))
    if move is None or not ((move >= low) & (move <= high)).all():
        return None
    return move.astype(np.float64)


def round_free_cells(
    problem: Problem, moved: Floats, low: Floats, high: Floats, settings: LeafSettings = LeafSettings()
) -> Floats | None:
    """A move with free cells rounded, all others added up, and cells outside low..high corrected; None: not found."""
    basis = eliminated_basis(problem)
    rounded = None if basis is None else basis.rounded(np.clip(moved, low, high))
    if basis is None or rounded is None:
        return None
    move = LeafShifts(basis, (low, high), (low, high), problem.sensitive, settings)
    move.cells = rounded
    return move.cells.astype(np.float64) if move.corrected() else None


def round_without_program(
    problem: Problem, moved: Floats, low: Floats, high: Floats, settings: LeafSettings
) -> Floats | None:
    """A move in integer units near a given one, by leaves or else by free cells; None where both fail."""
    added = round_leaves(problem.table, moved, low, high)
    return round_free_cells(problem, moved, low, high, settings) if added is None else added


class LeafShifts:
    """Moves of the cells of an integral basis, and of all cells with them, in data units.

    Each cell has two ranges, of falling and of rising; they are the same where it has no choice.
    """

    def __init__(
        self,
        basis: IntegralBasis,
        falls: Range,
        rises: Range,
        sensitive: Bools,
        settings: LeafSettings = LeafSettings(),
    ) -> None:
        self.leaves, self.sums, self.columns = basis.cells, basis.matrix, csc_array(basis.matrix)
        self.falls, self.rises, self.sensitive, self.settings = falls, rises, sensitive, settings
        self.cells: Ints = np.zeros(sensitive.size, dtype=np.int64)

    def _above(self, place: int) -> tuple[Ints, Ints]:
        """The cells that a leaf is added to, itself included, and its coefficients there."""
        part = slice(int(self.columns.indptr[place]), int(self.columns.indptr[place + 1]))
        return self.columns.indices[part].astype(np.int64), self.columns.data[part]

    def _shift(self, place: int, amount: int) -> None:
        """Move a leaf, and all totals above it."""
        above, share = self._above(place)
        self.cells[above] += amount * share

    def start(self) -> None:
        """Move sensitive leaves by exactly their levels, in the sense that moves the totals above least."""
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
        """Bring all cells into their ranges; whether that succeeded."""
        count, chance = abs(self.sums).sum(axis=1), np.random.default_rng(0)
        for number in range(self.settings.passes + self.settings.shuffled):
            wrong = self.wrong()
            if wrong.size == 0:
                return True
            shuffled = chance if number >= self.settings.passes else None
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
        """Move a leaf as far as wanted and its range allows; for a cell (not -1) also the ranges of all others above.

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
