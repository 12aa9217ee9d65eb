"""Hypercubes as witnesses: in large grids most levels are proven met without a linear program.

A hypercube through a cell (`hypercube`) is a deviation that keeps all equations; moved by t, with

    t = least room of its cells, above those that rise and below those that fall,

it stays in the attacker's box. So the cell can rise by t, and fall by the same rule the other way round, and so can all
other cells of it. That is a proof that a level is met; where there is no hypercube nothing is said.

Where every hypercube through a cell is too narrow for its level (roundings leave little room everywhere), several are
added up: each takes part of the way within the room that those before it have left. Their sum keeps all equations too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker.inference import Tick
from tablecloak.attacker.presolve import structure_of, working_columns
from tablecloak.model import Table

if TYPE_CHECKING:
    from tablecloak.attacker.hypercube import Cubes

MANY_CELLS, MANY_QUESTIONS = 5_000, 50
"""Smaller tables, and fewer questions, are answered by linear programs quickly enough. On 10,571 cells with 270 cells
asked about, everything hidden, hypercubes take 0.05 s and linear programs 0.6 s."""
STARTS = 12
"""From so many orders of the dimensions a hypercube is sought; each that is missed costs a linear program."""


@dataclass(frozen=True)
class CubeSettings:
    """How sums of hypercubes are sought; benchmark part `limits`, roundings of 30x30x10."""

    max_summed: int = 24
    """Maximum number of hypercubes in one sum; more of them meet levels nearer to the last unit of room."""
    starts: int = 3
    """Orders of the dimensions from which each of them is sought: fewer than for a single one, for there are many."""


SETTINGS = CubeSettings()


def cubes_of(table: Table, questions: int) -> Cubes | None:
    """Hypercubes of a large table that is one grid and no network; None for other tables."""
    if len(table) <= MANY_CELLS or questions <= MANY_QUESTIONS:
        return None
    blocks = [block for block in structure_of(table).blocks if block.kind != "free"]
    if len(blocks) != 1 or blocks[0].grid is None or blocks[0].orientation is not None:
        return None
    from tablecloak.attacker.hypercube import Cubes

    grid = blocks[0].grid
    return Cubes(grid, blocks[0].cells, working_columns(table)) if Cubes.fits(grid) else None


def reach_by_cubes(
    cubes: Cubes,
    cells: Ints,
    levels: tuple[Floats, Floats, Floats],
    low: Floats,
    high: Floats,
    tick: Tick = lambda done: None,
) -> tuple[Floats, Floats]:
    """How far down and up hypercubes take the cells, as far as they were asked; zero where none was found.

    `levels`: lower, upper, sliding. What a cell cannot rise of a sliding level, by its own room, it is asked to fall.
    `low`, `high`: how far every cell of the table may deviate. `tick` is called before each cell, so that an audit in
    which hypercubes take seconds can be ended.
    """
    lower, upper, sliding = levels
    rooms = np.ascontiguousarray(-low), np.ascontiguousarray(high)
    got = np.zeros((2, low.size))
    rise = np.minimum(np.maximum(upper, sliding), rooms[1][cells])
    order = np.argsort(-np.maximum(lower, rise), kind="stable")
    free = np.zeros(low.size)
    for question in order.tolist():
        tick(0)
        cell = int(cells[question])
        for way in (1, 0):
            need = float(rise[question] if way else max(lower[question], sliding[question] - got[1, cell]))
            if 0 < need <= rooms[way][cell] and got[way, cell] < need:
                cube = cubes.cheapest(cell, need, free, rooms[way], rooms[1 - way], STARTS, cell)
                if cube is not None:
                    _credit(got, rooms, cube.cells, cube.signs > 0 if way else cube.signs < 0)
                else:
                    got[way, cell] = max(got[way, cell], _by_sum(cubes, cell, need, rooms, way, free))
    return got[0][cells], got[1][cells]


def _credit(got: Floats, rooms: tuple[Floats, Floats], cells: Ints, rises: Bools) -> None:
    """All cells of a hypercube have moved as far as it can, and as far as it can the other way."""
    down, up = (room[cells] for room in rooms)
    forward, backward = np.where(rises, up, down).min(), np.where(rises, down, up).min()
    got[1, cells] = np.maximum(got[1, cells], np.where(rises, forward, backward))
    got[0, cells] = np.maximum(got[0, cells], np.where(rises, backward, forward))


def _by_sum(
    cubes: Cubes, cell: int, need: float, rooms: tuple[Floats, Floats], way: int, free: Floats
) -> float:
    """How far a sum of hypercubes takes a cell up (`way` 1) or down (0), at most its need, in whole data units."""
    left, step, moved = [room.copy() for room in rooms], need, 0.0
    for _ in range(SETTINGS.max_summed):
        step = min(step, need - moved)
        if step < 1.0:
            break
        cube = cubes.cheapest(cell, step, free, left[way], left[1 - way], SETTINGS.starts, cell)
        if cube is None:
            step = np.floor(step / 2)
            continue
        rises = cube.signs > 0 if way else cube.signs < 0
        down, up = (room[cube.cells] for room in left)
        amount = min(float(np.where(rises, up, down).min()), need - moved)
        change = np.where(rises, amount, -amount)
        left[1][cube.cells] -= change
        left[0][cube.cells] += change
        moved += amount
    return moved
