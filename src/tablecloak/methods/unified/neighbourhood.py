"""The neighbourhood of a cell: the equations it is in, those of the cells in them, and so on.

Multipliers of a few equations near a cell, zero elsewhere, are multipliers of all equations: what they prove holds for
the table (`attacker.oracle`). And a deviation of a few cells that satisfies the equations they are in satisfies all. So
most requirements of a cell are settled by the equations around it, however large the table is.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.attacker import (
    entry_ranges,
    working_columns,
    working_equations,
)
from tablecloak.model import Table


class Neighbourhood:
    """The equations of a table by rows and by columns: access to a few of them at a time."""

    def __init__(self, table: Table) -> None:
        self.rows, self.columns = csr_array(working_equations(table)), working_columns(table)
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
        place = entry_ranges(start, count)
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
        place = entry_ranges(start, count)
        rows = self.columns.indices[place].astype(np.int64)
        np.add.at(self._sums, rows, self.columns.data[place] * np.repeat(moved, count))
        touched = np.unique(rows)
        found = touched[np.abs(self._sums[touched]) > tolerance]
        self._sums[touched] = 0.0
        return found


def _gathered(indptr: Codes, indices: Codes, which: Ints) -> Ints:
    """The indices of some rows (or columns), one after the other."""
    start = indptr[which]
    return indices[entry_ranges(start, indptr[which + 1] - start)].astype(np.int64)
