"""Cheap hypercubes through a cell of a grid: deviations that satisfy all equations, found without a program.

In one dimension a *walk* goes from a leaf up to some code and, from a sibling of it, down to another leaf; or up to the
root. The codes on the way up change by +1, those on the way down by -1, and every total still equals its parts. The
product of one walk a dimension is a *hypercube*: its cells change by +1 or -1, and all equations of a k-way table hold.
With flat dimensions it has 2^k corners; under hierarchies walks are longer.

Cells that rise need a deviation bound above them, the others below, of at least the required level. A cheap hypercube
through a cell is sought one dimension at a time: with the walks of the other dimensions given, every code has a price
(the cells it adds), and the cheapest walk through the cell's code is found exactly on the tree of codes. This is
repeated until nothing changes, from several starts. Cells with tighter bounds, and empty places of the grid, are
violations, which weigh more than any price; places of a kind of marginal that the table does not have count nothing.
The result is checked against the equations.

The work is done by the compiled kernels of `tablecloak.solvers.kernels.hypercubes`, which are imported by the first
call.

Reference: Giessing & Repsilber (2002), Tools and strategies to protect multiple tables with the GHQUAR cell suppression
engine, for hypercubes; walks under hierarchies and the search by dimensions are extensions.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from tablecloak.arrays import Codes, Floats, Ints
from tablecloak.attacker.grid import CodeGrid

Signs = NDArray[np.int8]


@dataclass(frozen=True)
class CubeLimits:
    """Limits of the grids that hypercubes are sought in."""

    max_places: int = 2**25
    """Maximum number of places of a grid, empty ones included: each takes four bytes. Untested default."""


LIMITS = CubeLimits()


@dataclass(frozen=True, eq=False)
class Cube:
    """The cells of a hypercube and the sign of each movement; that of the required cell is +1."""

    cells: Ints
    """Sorted."""
    signs: Signs


class Cubes:
    """Hypercubes of one grid. `cells` are the numbers of its cells in the table, `columns` the table's equations."""

    def __init__(self, grid: CodeGrid, cells: Ints, columns: csc_array) -> None:
        trees = [_Tree.of(parents) for parents in grid.parents]
        shape = np.array(grid.shape, dtype=np.int64)
        self._stride = _strides(shape)
        self._kind_stride = _strides(np.array(grid.levels, dtype=np.int64) + 1)
        deep = [depth[np.argsort(tree.number)] for depth, tree in zip(grid.depth, trees, strict=True)]
        coordinates = np.stack([tree.number[grid.coordinates[:, d]] for d, tree in enumerate(trees)], axis=1)
        kinds = sum(deep[d][coordinates[:, d]] * self._kind_stride[d] for d in range(shape.size))
        self._key = np.full(columns.shape[1], -1, dtype=np.int64)
        self._key[cells] = coordinates @ self._stride
        self._place = np.full(int(shape.prod()), -1, dtype=np.int32)
        self._place[self._key[cells]] = cells
        self._there = np.zeros(int(np.prod(np.array(grid.levels) + 1)), dtype=np.bool_)
        self._there[kinds] = True
        self._trees = (
            np.concatenate([[0], np.cumsum(shape)]).astype(np.int32),
            np.concatenate([tree.parent for tree in trees]).astype(np.int32),
            np.concatenate([tree.end for tree in trees]).astype(np.int32),
            np.concatenate(deep).astype(np.int32),
        )
        self._columns = (
            columns.indptr.astype(np.int32),
            columns.indices.astype(np.int32),
            columns.data.astype(np.float64),
            np.zeros(columns.shape[0]),
        )
        longest = int(shape.max())
        self._scratch = np.zeros(longest), np.zeros(longest, dtype=np.int32)

    @staticmethod
    def fits(grid: CodeGrid, limits: CubeLimits = LIMITS) -> bool:
        """Whether the grid is within the limits of memory and of the kernels."""
        from tablecloak.solvers.kernels.hypercubes import LONGEST

        places = 1
        for size in grid.shape:
            places *= size
        return places <= limits.max_places and 2 * max(grid.levels) + 2 <= LONGEST

    def alone(self) -> Cubes:
        """The same grid with scratch memory of its own, for another thread."""
        other, (start, row, data, sums) = copy(self), self._columns
        other._columns = start, row, data, np.zeros_like(sums)
        prices, codes = self._scratch
        other._scratch = np.zeros_like(prices), np.zeros_like(codes)
        return other

    def cheapest(
        self, cell: int, level: float, price: Floats, up: Floats, down: Floats, starts: int, seed: int
    ) -> Cube | None:
        """A cheap hypercube in which `cell` can rise by `level`; None if none was found.

        `price` of hiding each cell, `FORBIDDEN` where that must not be; `up`, `down`: the deviation bounds of every
        cell. For a level below the cell exchange `up` and `down`.
        """
        from tablecloak.solvers.kernels.hypercubes import MOST_CORNERS, search

        if self._key[cell] < 0:
            return None
        corners, signs = np.zeros(MOST_CORNERS, dtype=np.int32), np.zeros(MOST_CORNERS, dtype=np.int8)
        size = search(
            self._key[cell],
            level,
            self._stride,
            self._kind_stride,
            self._trees,
            (self._place, self._there),
            (price, up, down),
            self._columns,
            self._scratch,
            (starts, seed),
            (corners, signs),
        )
        if size == 0:
            return None
        order = np.argsort(corners[:size])
        return Cube(corners[:size][order].astype(np.int64), signs[:size][order])


def _strides(shape: Ints) -> Ints:
    """Strides of the dimensions in the number of a place; that of the last dimension is 1."""
    stride = np.ones(shape.size, dtype=np.int64)
    stride[:-1] = np.cumprod(shape[:0:-1])[::-1]
    return stride


@dataclass(frozen=True, eq=False)
class _Tree:
    """Codes renumbered so that every subtree is a range: `number` of an old code; of a new one its `parent` (-1 of the
    root) and where its subtree ends.
    """

    number: Ints
    parent: Ints
    end: Ints

    @classmethod
    def of(cls, parents: Codes) -> _Tree:
        """The tree with these parents of codes, which are in order of depth."""
        count = parents.size
        size = np.ones(count, dtype=np.int64)
        for code in range(count - 1, 0, -1):
            size[parents[code]] += size[code]
        number, taken = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)
        for code in range(1, count):
            above = parents[code]
            number[code] = number[above] + taken[above]
            taken[above] += size[code]
        parent, end = np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=np.int64)
        parent[number[1:]] = number[parents[1:]]
        end[number] = number + size
        return cls(number, parent, end)
