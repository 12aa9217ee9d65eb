"""Gaussian elimination in the integers modulo a prime: which cells published ones determine, and what may still move.

Equations tie cells; published cells are known. Modulo both, every cell is a sum over *independent* ones, so that

    published cells determine p                      <=>  nothing is left of p
    publishing c determines p as well                <=>  what is left of p is a multiple of what is left of c

Moving one independent cell by a unit, and all others with it, is a deviation that satisfies all equations: the
deviations of all independent cells are a *basis*. Its numbers are residues; those that are small in every cell are
exact, for then every equation is a sum below the prime.

Reference: Langsrud (2024), Secondary cell suppression by Gaussian elimination, in Privacy in Statistical Databases.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import read_lines, usual_total_sign
from tablecloak.model import Table
from tablecloak.solvers import kernels


class GaussianEquations:
    """The equations of a table in the order of their elimination."""

    def __init__(self, table: Table) -> None:
        self._matrix = csr_array(table.equations)
        self._height = _heights(self._matrix)
        highest = np.zeros(0)
        if self._matrix.nnz:
            highest = np.maximum.reduceat(self._height[self._matrix.indices], self._matrix.indptr[:-1])
        self._rows = np.argsort(highest, kind="stable").astype(np.int64)

    @staticmethod
    def fits(table: Table) -> bool:
        """Whether all coefficients are whole numbers."""
        return bool((table.equations.data == np.rint(table.equations.data)).all())

    @property
    def largest_exact(self) -> int:
        """Residues up to this are exact where all cells of a deviation have such ones: sums stay below 2^31 - 1."""
        row = np.repeat(np.arange(self._matrix.shape[0]), np.diff(self._matrix.indptr))
        sums = np.bincount(row, weights=np.abs(self._matrix.data))
        return int((2**31 - 2) // max(float(sums.max(initial=1.0)), 1.0))

    @property
    def _arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32], Ints, Ints, Floats]:
        matrix = self._matrix
        whole = np.rint(matrix.data).astype(np.int64)
        return (
            matrix.indptr.astype(np.int32),
            matrix.indices.astype(np.int32),
            whole,
            self._rows,
            self._height,
        )

    def publishable(
        self, candidates: Ints, forced: Bools, sensitive: Ints, stop: Callable[[], bool] | None
    ) -> NDArray[np.uint8]:
        """By cell: a candidate that is published (1) or known anyway (2); else 0. Forced ones are always published."""
        return kernels.publishable(
            *self._arrays, candidates, forced.astype(np.uint8), sensitive.astype(np.int64), stop
        )

    def elimination(
        self, fixed: Bools, sensitive: Ints, stop: Callable[[], bool] | None
    ) -> kernels.Elimination:
        """The elimination with these cells known, that looks at these sensitive ones."""
        return kernels.elimination_of(*self._arrays, fixed.astype(np.uint8), sensitive.astype(np.int64), stop)

    def basis(self, state: kernels.Elimination, hidden: Bools, largest: int) -> csc_array:
        """Deviations of hidden cells (cells x deviations), those without residues above `largest`."""
        cells = np.flatnonzero(hidden).astype(np.int64)
        ends, independent, value = kernels.remainders(state, cells)
        _, column = np.unique(independent, return_inverse=True)
        large = np.zeros(column.max(initial=-1) + 1, dtype=bool)
        large[column[np.abs(value) > min(largest, self.largest_exact)]] = True
        cell = np.repeat(cells, np.diff(ends))
        matrix = csc_array((value.astype(np.float64), (cell, column)), shape=(hidden.size, large.size))
        return csc_array(matrix[:, np.flatnonzero(~large)])


def reach_of(basis: csc_array, down: Floats, up: Floats) -> tuple[Floats, Floats]:
    """How far each cell falls and rises by the largest multiple of one deviation of a basis within these bounds."""
    fall, rise = np.zeros((2, down.size))
    sizes = np.diff(basis.indptr)
    moving = sizes > 0
    if not moving.any():
        return fall, rise
    cell, move, starts = basis.indices, basis.data, basis.indptr[:-1][moving]
    size, ups = np.abs(move), move > 0
    along = np.minimum.reduceat(np.where(ups, up[cell], down[cell]) / size, starts)
    against = np.minimum.reduceat(np.where(ups, down[cell], up[cell]) / size, starts)
    along, against = (np.repeat(most, sizes[moving]) * size for most in (along, against))
    np.maximum.at(rise, cell, np.where(ups, along, against))
    np.maximum.at(fall, cell, np.where(ups, against, along))
    return fall, rise


def _heights(matrix: csr_array) -> Floats:
    """How many equations lie between a cell and the deepest of its parts; 0 where equations are no lines.

    Equations from the bottom up, each solved for its total, keep expressions short.
    """
    height = np.zeros(matrix.shape[1])
    lines = read_lines(matrix, usual_total_sign(matrix, -1)) if matrix.nnz else None
    if lines is None:
        return height
    for _ in range(matrix.shape[1]):
        before = height.copy()
        np.maximum.at(height, lines.total[lines.of], height[lines.part] + 1.0)
        if np.array_equal(before, height) or height.max() > matrix.shape[0]:
            break
    return height
