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

The work is done by the compiled kernels of `hypercubes`.

Reference: Giessing & Repsilber (2002), Tools and strategies to protect multiple tables with the GHQUAR cell suppression
engine, for hypercubes; walks under hierarchies and the search by dimensions are extensions.

*Witnesses*: in large grids hypercubes prove most requirements met without a linear program. Moved by t, with

    t = the least deviation bound of its cells, above those that rise and below those that fall,

it stays in the attacker's box. So the cell can rise by t, and fall by the same rule the other way round, and so can all
other cells of it. That proves a level met; where there is no hypercube nothing is proven.

Where every hypercube through a cell is too narrow for its level (roundings leave tight bounds everywhere), several are
added up: each is a part of the deviation within the bounds that those before it have left. Their sum satisfies all
equations too.
"""

from __future__ import annotations

from concurrent.futures import Executor
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.attacker.grid import CodeGrid
from tablecloak.attacker.presolve import structure_of, working_columns
from tablecloak.model import RequiredLevels, Table
from tablecloak.solvers import Tick, kernels, mapped

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
        stride, kind_stride = _strides(shape), _strides(np.array(grid.levels, dtype=np.int64) + 1)
        deep = [depth[np.argsort(tree.number)] for depth, tree in zip(grid.depth, trees, strict=True)]
        coordinates = np.stack([tree.number[grid.coordinates[:, d]] for d, tree in enumerate(trees)], axis=1)
        kinds = sum(deep[d][coordinates[:, d]] * kind_stride[d] for d in range(shape.size))
        self._key = np.full(columns.shape[1], -1, dtype=np.int64)
        self._key[cells] = coordinates @ stride
        place = np.full(int(shape.prod()), -1, dtype=np.int32)
        place[self._key[cells]] = cells
        there = np.zeros(int(np.prod(np.array(grid.levels) + 1)), dtype=np.bool_)
        there[kinds] = True
        codes = (
            np.concatenate([[0], np.cumsum(shape)]).astype(np.int32),
            np.concatenate([tree.parent for tree in trees]).astype(np.int32),
            np.concatenate([tree.end for tree in trees]).astype(np.int32),
            np.concatenate(deep).astype(np.int32),
        )
        equations = (
            columns.indptr.astype(np.int32),
            columns.indices.astype(np.int32),
            columns.data.astype(np.float64),
        )
        self._grid = stride, kind_stride, codes, place, there, equations, columns.shape[0]
        self._arrays = kernels.HypercubeArrays(*self._grid)

    @staticmethod
    def fits(grid: CodeGrid, limits: CubeLimits = LIMITS) -> bool:
        """Whether the grid is within the limits of memory and of the kernels."""
        places = 1
        for size in grid.shape:
            places *= size
        return places <= limits.max_places and 2 * max(grid.levels) + 2 <= kernels.LONGEST

    def __getstate__(self) -> tuple[Any, ...]:
        return self._key, self._grid

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """A copy, here or in another process, has scratch memory of its own."""
        self._key, self._grid = state
        self._arrays = kernels.HypercubeArrays(*self._grid)

    def cheapest(
        self, cell: int, level: float, price: Floats, up: Floats, down: Floats, starts: int, seed: int
    ) -> Cube | None:
        """A cheap hypercube in which `cell` can rise by `level`; None if none was found.

        `price` of hiding each cell, `FORBIDDEN` where that must not be; `up`, `down`: the deviation bounds of every
        cell. For a level below the cell exchange `up` and `down`.
        """
        if self._key[cell] < 0:
            return None
        corners, signs = kernels.cheapest_hypercube(
            self._arrays, int(self._key[cell]), level, price, up, down, starts, seed
        )
        if corners.size == 0:
            return None
        order = np.argsort(corners)
        return Cube(corners[order].astype(np.int64), signs[order])


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


@dataclass(frozen=True)
class HypercubeSettings:
    """Size of tables for which hypercubes are sought before linear programs, and effort."""

    min_cells: int = 5_000
    """Tables of up to this number of cells go to linear programs at once. With 10,571 cells, 270 of them with
    requirements, everything hidden, hypercubes took 0.05 s and linear programs 0.6 s; the limit itself is an untested
    default."""
    min_requirements: int = 50
    """Up to this number of cells with requirements go to linear programs at once. Untested default."""
    starts: int = 12
    """Number of orders of the dimensions from which a single hypercube is sought; each one that is missed costs a
    linear program. Untested default."""
    max_summed: int = 24
    """Maximum number of hypercubes in one sum; more of them meet levels nearer to the last unit of the bounds.
    Benchmark part `limits`, roundings of 30x30x10."""
    summed_starts: int = 3
    """Number of orders of the dimensions for each hypercube of a sum: fewer than for a single one, for there are many.
    Benchmark part `limits`, roundings of 30x30x10."""
    chunk_size: int = 64
    """Number of cells of a chunk: cells of nearly the same level often share a hypercube."""
    chunks: int = 4
    """Number of chunks of a wave, which know nothing of each other: more keep more workers busy, and find more
    hypercubes twice."""


def cubes_of(
    table: Table, requirements: int, settings: HypercubeSettings = HypercubeSettings()
) -> Cubes | None:
    """Hypercubes of a large non-network table that is one grid; None for other tables.

    `requirements` is the number of cells with requirements.
    """
    if len(table) <= settings.min_cells or requirements <= settings.min_requirements:
        return None
    blocks = [block for block in structure_of(table).blocks if block.kind != "free"]
    if len(blocks) != 1 or blocks[0].grid is None or blocks[0].orientation is not None:
        return None
    grid = blocks[0].grid
    return Cubes(grid, blocks[0].cells, working_columns(table)) if Cubes.fits(grid) else None


class HypercubeWitnesses:
    """Deviations by hypercubes within the bounds low <= 0 <= high of every cell of a table, in integral data units."""

    def __init__(
        self, cubes: Cubes, low: Floats, high: Floats, settings: HypercubeSettings = HypercubeSettings()
    ) -> None:
        self.cubes, self.settings = cubes, settings
        self.bounds = np.ascontiguousarray(-low), np.ascontiguousarray(high)
        self.free = np.zeros(low.size)
        self.reached = np.zeros((2, low.size))
        """The largest deviation found, by direction (0: down, 1: up) and cell."""

    def reach(
        self,
        cells: Ints,
        levels: RequiredLevels,
        tick: Tick = lambda done: None,
        executor: Executor | None = None,
    ) -> tuple[Floats, Floats]:
        """Reach of the cells down and up, as far as their levels require; zero where no hypercube was found.

        The part of a sliding level that exceeds the cell's own upper bound is required below it. `tick` is called
        before each cell, so that an audit in which hypercubes take seconds can be ended.
        """
        lower, upper, sliding = levels
        rise = np.minimum(np.maximum(upper, sliding), self.bounds[1][cells])
        size, chunks = self.settings.chunk_size, self.settings.chunks
        left = np.argsort(-np.maximum(lower, rise), kind="stable")
        while (left := left[self._is_short(cells[left], rise[left], lower[left], sliding[left])]).size:
            parts = [left[start : start + size] for start in range(0, min(left.size, size * chunks), size)]
            tasks = [_Chunk(self, cells[rows], rise[rows], lower[rows], sliding[rows]) for rows in parts]
            found = mapped(executor, _reached, tasks, tick)
            for one in found:
                np.maximum(self.reached, one, out=self.reached)
            left = left[size * chunks :]
        return self.reached[0][cells], self.reached[1][cells]

    def _is_short(self, cells: Ints, rise: Floats, lower: Floats, sliding: Floats) -> Bools:
        """The cells that are not known to move as far as required, and that their own bounds let move so far."""
        (below, above), (down, up) = (bound[cells] for bound in self.bounds), self.reached[:, cells]
        fall = np.maximum(lower, sliding - up)
        return np.asarray((up < rise) & (rise <= above) | (down < fall) & (fall <= below))

    def alone(self) -> HypercubeWitnesses:
        """What is known by now, with memory of its own."""
        other = copy(self)
        other.cubes, other.reached = copy(self.cubes), self.reached.copy()
        return other

    def push(self, cell: int, rise: float, lower: float, sliding: float) -> None:
        """Seek hypercubes that move a cell up by `rise`, and down as far as is required then."""
        self._push(cell, 1, rise)
        self._push(cell, 0, max(lower, sliding - float(self.reached[1, cell])))

    def single(self, cell: int, need: float, way: int) -> bool:
        """Whether one hypercube moves a cell up (`way` 1) or down (0) by its need; it counts for all its cells."""
        bounds = self.bounds
        cube = self.cubes.cheapest(
            cell, need, self.free, bounds[way], bounds[1 - way], self.settings.starts, cell
        )
        if cube is not None:
            self._credit(cube.cells, cube.signs > 0 if way else cube.signs < 0)
        return cube is not None

    def summed(self, cell: int, need: float, way: int) -> float:
        """The movement of a cell up (`way` 1) or down (0) by a sum of hypercubes, at most its need."""
        left, step, moved = [bound.copy() for bound in self.bounds], need, 0.0
        for _ in range(self.settings.max_summed):
            step = min(step, need - moved)
            if step < 1.0:
                break
            cube = self.cubes.cheapest(
                cell, step, self.free, left[way], left[1 - way], self.settings.summed_starts, cell
            )
            if cube is None:
                step = np.floor(step / 2)
                continue
            rises = cube.signs > 0 if way else cube.signs < 0
            down, up = (bound[cube.cells] for bound in left)
            amount = min(float(np.where(rises, up, down).min()), need - moved)
            change = np.where(rises, amount, -amount)
            left[1][cube.cells] -= change
            left[0][cube.cells] += change
            moved += amount
        return moved

    def _push(self, cell: int, way: int, need: float) -> None:
        reached = self.reached[way]
        if 0 < need <= self.bounds[way][cell] and reached[cell] < need and not self.single(cell, need, way):
            reached[cell] = max(reached[cell], self.summed(cell, need, way))

    def _credit(self, cells: Ints, rises: Bools) -> None:
        """Raise the reach of all cells of a hypercube: it moves within the bounds, forward and backward."""
        down, up = (bound[cells] for bound in self.bounds)
        forward, backward = np.where(rises, up, down).min(), np.where(rises, down, up).min()
        reached = self.reached
        reached[1, cells] = np.maximum(reached[1, cells], np.where(rises, forward, backward))
        reached[0, cells] = np.maximum(reached[0, cells], np.where(rises, backward, forward))


class _Chunk(NamedTuple):
    """Some cells of a wave, and what is required of them."""

    witnesses: HypercubeWitnesses
    cells: Ints
    rise: Floats
    lower: Floats
    sliding: Floats


def _reached(chunk: _Chunk, tick: Tick) -> Floats:
    """The largest deviations known after a chunk."""
    witnesses, *columns = chunk
    own = witnesses.alone()
    for cell, rise, lower, sliding in zip(*(column.tolist() for column in columns), strict=True):
        tick(0)
        own.push(cell, rise, lower, sliding)
    return own.reached
