"""All capacity rows of a small two-way problem, by going through all cuts. Shares no code with the package's engines.

The cells of a two-way table are arcs between its rows and columns; for every set of lines that cuts cell p from the
rest, the hidden cells across the cut must carry the level of p. By the theorem of maximum flow and minimum cut a
pattern is safe if and only if it meets all these rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tablecloak.model import Problem
from two_way import TwoWay

Floats = NDArray[np.float64]


def incidence(grid: TwoWay) -> Floats:
    """Lines by cells: +1 where the cell leaves its line, -1 where it enters it."""
    rows, columns = grid.rows + 1, grid.columns + 1
    matrix = np.zeros((rows + columns, rows * columns))
    for i, j in product(range(rows), range(columns)):
        turned = (i == grid.rows) != (j == grid.columns)
        matrix[i, i * columns + j] = -1.0 if turned else 1.0
        matrix[rows + j, i * columns + j] = 1.0 if turned else -1.0
    return matrix


def capacity_rows(grid: TwoWay, problem: Problem) -> Iterator[tuple[float, Floats]]:
    """For each lower and upper level of the outsider: the level, and what each cell carries across each cut."""
    value, matrix = problem.table.values, incidence(grid)
    up, down = problem.outsider_high - value, value - problem.outsider_low
    sides = np.array(list(product([0.0, 1.0], repeat=matrix.shape[0])))
    for cell in np.flatnonzero(problem.sensitive):
        for level, sign in ((problem.levels.upper[cell], 1.0), (problem.levels.lower[cell], -1.0)):
            if level > 0:
                across = -(sides @ matrix)
                across[:, cell] += sign
                across = across[across[:, cell] == 0]
                with np.errstate(invalid="ignore"):
                    carried = np.where(across > 0, up * across, np.where(across < 0, -down * across, 0.0))
                yield float(level), carried


def cheapest_by_cuts(grid: TwoWay, problem: Problem) -> float | None:
    """The cost of the cheapest safe suppression over all patterns; None: there is none."""
    free = np.flatnonzero(~problem.forced & ~problem.must_hide)
    chosen = (np.arange(2**free.size)[:, None] >> np.arange(free.size)) & 1
    patterns = np.tile(problem.must_hide.astype(float), (chosen.shape[0], 1))
    patterns[:, free] = chosen
    safe = np.ones(chosen.shape[0], dtype=bool)
    for level, carried in capacity_rows(grid, problem):
        safe &= (patterns @ np.minimum(carried, level).T >= level * (1 - 1e-9)).all(axis=1)
    costs = chosen @ problem.weights[free]
    return float(costs[safe].min()) if safe.any() else None
