"""What lies near a cell: the equations it is in, those of the cells in them, and so on.

Multipliers of a few equations near a cell, zero elsewhere, are multipliers of all equations: what they prove holds for
the table (`protection_cuts`). And a deviation of a few cells that satisfies the equations they are in satisfies all. So
most questions about a cell are answered by the equations around it, however large the table is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csc_array

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.attacker import simplified, working_columns, working_equations
from tablecloak.methods.unified.protection_cuts import ProtectionCut
from tablecloak.model import Requirement, Table


class Neighbourhood:
    """The equations of a table, to look at a few of them at a time."""

    def __init__(self, table: Table) -> None:
        self.rows, self.columns = working_equations(table), working_columns(table)
        self._place: Ints = np.full(self.columns.shape[1], -1, dtype=np.int64)
        self._sums: Floats = np.zeros(self.columns.shape[0])

    def equations_of(self, cells: Ints) -> Ints:
        """The equations that these cells are in, sorted."""
        return np.unique(_gathered(self.columns.indptr, self.columns.indices, cells))

    def cells_in(self, equations: Ints) -> Ints:
        """The cells in these equations, sorted."""
        return np.unique(_gathered(self.rows.indptr, self.rows.indices, equations))

    def around(self, cells: Ints, usable: Bools, most: int) -> Ints:
        """The equations of these cells, and those of usable cells in them if these are in no more than `most` cells."""
        own = self.equations_of(cells)
        near = self.cells_in(own)
        wider = np.union1d(own, self.equations_of(near[usable[near]]))
        return wider if usable[self.cells_in(wider)].sum() <= most else own

    def matrix(self, equations: Ints, cells: Ints) -> csc_array:
        """These equations over these cells."""
        start = self.rows.indptr[equations]
        count = self.rows.indptr[equations + 1] - start
        place = _ranges(start, count)
        self._place[cells] = np.arange(cells.size)
        column = self._place[self.rows.indices[place]]
        self._place[cells] = -1
        row, kept = np.repeat(np.arange(equations.size), count), column >= 0
        shape = (equations.size, cells.size)
        return csc_array((self.rows.data[place[kept]], (row[kept], column[kept])), shape=shape)

    def violated(self, cells: Ints, moved: Floats, tolerance: float) -> Ints:
        """The equations that a deviation of these cells violates, sorted."""
        start = self.columns.indptr[cells]
        count = self.columns.indptr[cells + 1] - start
        place = _ranges(start, count)
        rows = self.columns.indices[place].astype(np.int64)
        np.add.at(self._sums, rows, self.columns.data[place] * np.repeat(moved, count))
        touched = np.unique(rows)
        found = touched[np.abs(self._sums[touched]) > tolerance]
        self._sums[touched] = 0.0
        return found

    def cut(self, requirement: Requirement, sides: Sequence[tuple[bool, Ints, Floats]]) -> ProtectionCut:
        """From multipliers of some equations for each direction: rho = +-[i = p] - M'y.

        Any multipliers are valid, so simple ones nearby are taken (`attacker.multipliers`).
        """
        parts = []
        for upward, equations, multipliers in sides:
            numerators, denominator = simplified(multipliers)
            used = numerators != 0.0
            start = self.rows.indptr[equations[used]]
            count = self.rows.indptr[equations[used] + 1] - start
            place = _ranges(start, count)
            cells = np.append(self.rows.indices[place].astype(np.int64), requirement.cell)
            own = denominator if upward else -denominator
            entries = np.append(-self.rows.data[place] * np.repeat(numerators[used], count), own)
            every, sums = _summed(cells, entries)
            parts.append((every, sums / denominator))
        every = np.unique(np.concatenate([cells for cells, _ in parts]))
        above, below = np.zeros((2, every.size))
        for cells, rho in parts:
            at = np.searchsorted(every, cells)
            above[at] += np.maximum(rho, 0.0)
            below[at] += np.maximum(-rho, 0.0)
        kept = (above > 0) | (below > 0)
        return ProtectionCut(requirement, every[kept], above[kept], below[kept])


def _summed(cells: Ints, entries: Floats) -> tuple[Ints, Floats]:
    """Entries of the same cell together: whole numbers, so what cancels is zero."""
    every, inverse = np.unique(cells, return_inverse=True)
    rho = np.zeros(every.size)
    np.add.at(rho, inverse, entries)
    kept = rho != 0.0
    return every[kept], rho[kept]


def _ranges(start: Codes | Ints, count: Codes | Ints) -> Ints:
    """start, start + 1, ... of each range, one after the other."""
    total = int(count.sum())
    shift = np.repeat(start - np.concatenate([[0], np.cumsum(count)[:-1]]), count) if count.size else start
    return np.arange(total, dtype=np.int64) + shift.astype(np.int64)


def _gathered(indptr: Codes, indices: Codes, which: Ints) -> Ints:
    """The indices of some rows (or columns), one after the other."""
    start = indptr[which]
    return indices[_ranges(start, indptr[which + 1] - start)].astype(np.int64)
