"""Hypercubes as witnesses: in large grids most requirements are proven met without a linear program.

A hypercube through a cell (`hypercube`) is a deviation that satisfies all equations; moved by t, with

    t = the least deviation bound of its cells, above those that rise and below those that fall,

it stays in the attacker's box. So the cell can rise by t, and fall by the same rule the other way round, and so can all
other cells of it. That proves a level met; where there is no hypercube nothing is proven.

Where every hypercube through a cell is too narrow for its level (roundings leave tight bounds everywhere), several are
added up: each is a part of the deviation within the bounds that those before it have left. Their sum satisfies all
equations too.

Cells are taken by decreasing level, in waves of a few chunks; what the chunks of a wave find counts for all later ones.
"""

from __future__ import annotations

from concurrent.futures import Executor
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker.presolve import structure_of, working_columns
from tablecloak.model import RequiredLevels, Table
from tablecloak.solvers import Tick, mapped

if TYPE_CHECKING:
    from tablecloak.attacker.hypercube import Cubes


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


SETTINGS = HypercubeSettings()


def cubes_of(table: Table, requirements: int, settings: HypercubeSettings = SETTINGS) -> Cubes | None:
    """Hypercubes of a large non-network table that is one grid; None for other tables.

    `requirements` is the number of cells with requirements.
    """
    if len(table) <= settings.min_cells or requirements <= settings.min_requirements:
        return None
    blocks = [block for block in structure_of(table).blocks if block.kind != "free"]
    if len(blocks) != 1 or blocks[0].grid is None or blocks[0].orientation is not None:
        return None
    from tablecloak.attacker.hypercube import Cubes

    grid = blocks[0].grid
    return Cubes(grid, blocks[0].cells, working_columns(table)) if Cubes.fits(grid) else None


class HypercubeWitnesses:
    """Deviations by hypercubes within the bounds low <= 0 <= high of every cell of a table, in integral data units."""

    def __init__(
        self, cubes: Cubes, low: Floats, high: Floats, settings: HypercubeSettings = SETTINGS
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
        other.cubes, other.reached = self.cubes.alone(), self.reached.copy()
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
