"""Methods on tables with small cells beside huge ones, decimals and values from 1e9 on: no errors, right optima."""

from __future__ import annotations

from typing import Any

import numpy as np

from tablecloak import Attacker, Dimension, Levels, Problem, Table, protect
from tablecloak.methods.rooms import all_levels
from tablecloak.methods.separation import separator_of

ROWS, COLUMNS = ["r0", "r1", "r2"], ["c0", "c1"]


def three_by_two(values: Any, decimals: int | None = None) -> Table:
    cells = {"r": np.repeat(ROWS, 2), "c": np.tile(COLUMNS, 3), "value": values}
    dimensions = [Dimension.flat("r", ROWS), Dimension.flat("c", COLUMNS)]
    return Table.from_cells(dimensions, cells, recompute=True, decimals=decimals)


def cube(values: Any) -> Table:
    """A table of 2 x 2 x 2 leaves."""
    names = [[f"{d}0", f"{d}1"] for d in "rcs"]
    grid = np.meshgrid(*names, indexing="ij")
    cells = {d: part.ravel() for d, part in zip("rcs", grid, strict=True)}
    dimensions = [Dimension.flat(d, codes) for d, codes in zip("rcs", names, strict=True)]
    return Table.from_cells(dimensions, {**cells, "value": np.asarray(values).ravel()}, recompute=True)


def small_beside_huge() -> Problem:
    """The optimum of 49 was cut off by a row that a point 7e-8 beside a pattern seemed to miss."""
    table = three_by_two([27, 1273253058, 40, 7, 1487473103, 58])
    sensitive, value = [0, 3, 6], table.values
    levels = Levels.at(
        len(table),
        sensitive,
        lower=[207054472, 95493982, 4],
        upper=[207054472, 95493982, 4],
        sliding=[621163416, 286481945, 11],
    )
    insider = Attacker.knowing("i1", [3, 5], [value[3], 891277141], [value[3], np.inf])
    weights = [6, 0, 5, 5, 9, 7, 8, 3, 0, 18, 19, 14]
    return Problem.of(table, sensitive, levels, attackers=[insider], weights=weights)


def test_the_optimum_of_small_cells_beside_huge_ones():
    problem = small_beside_huge()
    best = protect(problem, "suppress-optimal")
    assert (best.cost, best.bound) == (49.0, 49.0)
    assert protect(problem, "suppress-compact").cost == 49.0
    assert best.report.counters["rows against safe patterns"] == 0


def test_a_point_beside_a_safe_pattern_misses_nothing():
    """What solvers call whole is asked at the whole point: beside it every level is missed a little."""
    problem = small_beside_huge()
    safe = protect(problem, "suppress-compact").pattern.hidden
    separator, tasks = separator_of(problem, ~problem.forced), all_levels(problem)
    beside = np.where(safe, 1.0 - 7e-8, 3e-8)
    assert separator.rows(beside, tasks, most=100) == []
