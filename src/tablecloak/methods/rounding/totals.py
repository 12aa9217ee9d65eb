"""All cells of a table as sums of its leaves.

Totals are found level by level: an equation in which one cell is not known yet gives that cell. Where several equations
do, the one over the fewest leaves counts. That all equations then hold for any leaves is tested with random integers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Ints
from tablecloak.methods.rounding.integer_units import adds_up
from tablecloak.methods.rounding.settings import IntegralBasisSettings


@dataclass(frozen=True, eq=False)
class _TotalsOfLevel:
    """Totals that the cells known so far give: value[cells] = rows @ value."""

    cells: Ints
    rows: csr_array


@dataclass(frozen=True, eq=False)
class Totals:
    """All cells of a table from its leaves, level by level."""

    levels: tuple[_TotalsOfLevel, ...]
    leaves: Ints
    """The number of leaves below each cell (coefficients counted by absolute value)."""

    @classmethod
    def of(
        cls, equations: csr_array, leaf: Bools, settings: IntegralBasisSettings = IntegralBasisSettings()
    ) -> Totals | None:
        """The totals; None where leaves do not determine all cells, or are linearly dependent."""
        totals, known = cls.partial(equations, leaf)
        if not known.all():
            return None
        probe = np.where(leaf, np.random.default_rng(0).integers(settings.largest_probe, size=leaf.size), 0)
        return totals if adds_up(equations, totals.add_up(probe)).all() else None

    @classmethod
    def partial(cls, equations: csr_array, leaf: Bools) -> tuple[Totals, Bools]:
        """The totals that leaves determine, and which cells are known then; leaves may be linearly dependent."""
        known, leaves, left = leaf.copy(), leaf.astype(np.int64), equations
        levels = []
        while not known.all():
            unknown = (~known).astype(np.int64)
            missing = _pattern(left) @ unknown
            ready = left[missing == 1]
            left = left[missing > 1]
            level = _next_level(ready, unknown, leaves)
            if not level.cells.size:
                break
            leaves[level.cells] = abs(level.rows) @ leaves
            known[level.cells] = True
            levels.append(level)
        return cls(tuple(levels), leaves), known

    def matrix(self, leaf: Bools) -> csr_array:
        """All cells as sums of leaves: a row for each cell, a column for each leaf."""
        count, places = leaf.size, np.flatnonzero(leaf)
        ones = np.ones(places.size, dtype=np.int64)
        whole = csr_array((ones, (places, np.arange(places.size))), shape=(count, places.size))
        for level in self.levels:
            ones, size = np.ones(level.cells.size, dtype=np.int64), level.cells.size
            put = csr_array((ones, (level.cells, np.arange(size))), shape=(count, size))
            whole = csr_array(whole + put @ (level.rows @ whole))
        return whole

    def add_up(self, leaves: Ints) -> Ints:
        """The values of all cells from those of the leaves."""
        values = leaves.copy()
        for level in self.levels:
            values[level.cells] = level.rows @ values
        return values


def _pattern(matrix: csr_array) -> csr_array:
    """Ones where the matrix has entries."""
    return csr_array((np.ones_like(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)


def _next_level(ready: csr_array, unknown: Ints, leaves: Ints) -> _TotalsOfLevel:
    """The totals that equations with one unknown each give; of several equations the one over the fewest leaves."""
    cells = _pattern(ready) @ (unknown * np.arange(unknown.size))
    own = ready @ unknown
    plain = np.flatnonzero(np.abs(own) == 1)
    counts = abs(ready) @ leaves
    order = plain[np.lexsort((counts[plain], cells[plain]))]
    found, first = np.unique(cells[order], return_index=True)
    chosen = order[first]
    rows = ready[chosen]
    signs = np.repeat(-own[chosen], np.diff(rows.indptr))
    data = rows.data * signs * (1 - unknown[rows.indices])
    return _TotalsOfLevel(found, csr_array((data, rows.indices, rows.indptr), shape=rows.shape))
