"""How all cells of a table follow from its leaves.

Totals are found level by level: an equation whose cells are all known but one gives that one. Where several do, the one
with the fewest leaves counts. Whether all equations then hold for any leaves is tried with random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Ints
from tablecloak.methods.rounding.integer_units import adds_up

PROBE = 2**31
"""Random numbers below this, put into the leaves, show whether totals agree however they are added up."""


@dataclass(frozen=True, eq=False)
class _Rung:
    """Totals that the cells known so far give: value[cells] = rows @ value."""

    cells: Ints
    rows: csr_array


@dataclass(frozen=True, eq=False)
class Ladder:
    """How all cells of a table follow from its leaves, level by level."""

    rungs: tuple[_Rung, ...]
    leaves: Ints
    """For each cell: over how many leaves it is added up (coefficients counted by size)."""

    @classmethod
    def of(cls, equations: csr_array, leaf: Bools) -> Ladder | None:
        """The ladder; None where leaves do not give all cells, or are tied to each other."""
        ladder, known = cls.as_far(equations, leaf)
        if not known.all():
            return None
        probe = np.where(leaf, np.random.default_rng(0).integers(PROBE, size=leaf.size), 0)
        return ladder if adds_up(equations, ladder.climbed(probe)).all() else None

    @classmethod
    def as_far(cls, equations: csr_array, leaf: Bools) -> tuple[Ladder, Bools]:
        """The ladder as far as leaves give cells, and which cells they give; they may be tied to each other."""
        known, leaves, left = leaf.copy(), leaf.astype(np.int64), equations
        rungs = []
        while not known.all():
            unknown = (~known).astype(np.int64)
            missing = _pattern(left) @ unknown
            ready = left[missing == 1]
            left = left[missing > 1]
            rung = _rung(ready, unknown, leaves)
            if not rung.cells.size:
                break
            leaves[rung.cells] = abs(rung.rows) @ leaves
            known[rung.cells] = True
            rungs.append(rung)
        return cls(tuple(rungs), leaves), known

    def matrix(self, leaf: Bools) -> csr_array:
        """All cells as sums of leaves: a row a cell, a column a leaf."""
        count, places = leaf.size, np.flatnonzero(leaf)
        ones = np.ones(places.size, dtype=np.int64)
        whole = csr_array((ones, (places, np.arange(places.size))), shape=(count, places.size))
        for rung in self.rungs:
            ones = np.ones(rung.cells.size, dtype=np.int64)
            put = csr_array((ones, (rung.cells, np.arange(rung.cells.size))), shape=(count, rung.cells.size))
            whole = csr_array(whole + put @ (rung.rows @ whole))
        return whole

    def climbed(self, leaves: Ints) -> Ints:
        """The values of all cells from those of the leaves."""
        values = leaves.copy()
        for rung in self.rungs:
            values[rung.cells] = rung.rows @ values
        return values


def _pattern(matrix: csr_array) -> csr_array:
    """Ones where the matrix has entries."""
    return csr_array((np.ones_like(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)


def _rung(ready: csr_array, unknown: Ints, leaves: Ints) -> _Rung:
    """What equations with one unknown each say about it; each cell once, by the equation with the fewest leaves."""
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
    return _Rung(found, csr_array((data, rows.indices, rows.indptr), shape=rows.shape))
