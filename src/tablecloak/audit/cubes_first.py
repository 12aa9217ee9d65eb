"""Hypercubes as witnesses: in large grids most levels are proven met without a linear program.

A hypercube through a cell (`engines.cubes`) is a deviation that keeps all equations; moved by t, with

    t = least room of its cells, above those that rise and below those that fall,

it stays in the attacker's box. So the cell can rise by t, and fall by the same rule the other way round, and so can all
other cells of it. That is a proof that a level is met; where there is no hypercube nothing is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.audit.reduce import structure_of, working_columns
from tablecloak.table import Table

if TYPE_CHECKING:
    from tablecloak.engines.cubes import Cubes

MANY_CELLS, MANY_QUESTIONS = 5_000, 500
"""Smaller tables, and fewer questions, are answered by linear programs quickly enough."""
STARTS = 3
"""From so many orders of the dimensions a hypercube is sought."""


def cubes_of(table: Table, questions: int) -> Cubes | None:
    """Hypercubes of a large table that is one grid and no network; None for other tables."""
    if len(table) <= MANY_CELLS or questions <= MANY_QUESTIONS:
        return None
    blocks = [block for block in structure_of(table).blocks if block.kind != "free"]
    if len(blocks) != 1 or blocks[0].grid is None or blocks[0].orientation is not None:
        return None
    from tablecloak.engines.cubes import Cubes

    grid = blocks[0].grid
    return Cubes(grid, blocks[0].cells, working_columns(table)) if Cubes.fits(grid) else None


def reach_by_cubes(
    cubes: Cubes, cells: Ints, need_down: Floats, need_up: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """How far down and up hypercubes take the cells, as far as they were asked; zero where none was found.

    `low`, `high`: how far every cell of the table may deviate.
    """
    down, up = np.ascontiguousarray(-low), np.ascontiguousarray(high)
    free = np.zeros(low.size)
    got_down, got_up = np.zeros(low.size), np.zeros(low.size)
    order = np.argsort(-np.maximum(need_down, need_up), kind="stable")
    for question in order.tolist():
        cell = int(cells[question])
        for need, got, rooms in (
            (float(need_up[question]), got_up, (up, down)),
            (float(need_down[question]), got_down, (down, up)),
        ):
            if need <= 0 or got[cell] >= need or rooms[0][cell] < need:
                continue
            cube = cubes.cheapest(cell, need, free, *rooms, STARTS, cell)
            if cube is None:
                continue
            rises = cube.signs > 0 if got is got_up else cube.signs < 0
            with_it = np.where(rises, up[cube.cells], down[cube.cells]).min()
            against = np.where(rises, down[cube.cells], up[cube.cells]).min()
            for gained, ways in ((got_up, (with_it, against)), (got_down, (against, with_it))):
                gained[cube.cells] = np.maximum(gained[cube.cells], np.where(rises, *ways))
    return got_down[cells], got_up[cells]
