"""Two-way problems in the notation of the literature: internal cells, positions (row, column), T for totals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tablecloak import Dimension, Levels, Problem, Suppression, Table

T = -1
Position = tuple[int, int]


class TwoWay:
    """A two-way table with totals; positions are 1-based, T is the total."""

    def __init__(self, internal: list[list[float]], decimals: int | None = None) -> None:
        inner = np.array(internal, dtype=float)
        self.rows, self.columns = inner.shape
        full = np.zeros((self.rows + 1, self.columns + 1))
        full[:-1, :-1] = inner
        full[-1, :-1], full[:-1, -1], full[-1, -1] = inner.sum(axis=0), inner.sum(axis=1), inner.sum()
        row_codes = [str(i + 1) for i in range(self.rows)]
        column_codes = [str(j + 1) for j in range(self.columns)]
        cells = {
            "row": np.repeat([*row_codes, "T"], self.columns + 1),
            "column": np.tile([*column_codes, "T"], self.rows + 1),
            "value": full.ravel(),
        }
        dimensions = [Dimension.flat("row", row_codes, "T"), Dimension.flat("column", column_codes, "T")]
        self.table = Table.from_cells(dimensions, cells, decimals=decimals)

    def cell(self, position: Position) -> int:
        row, column = position
        i = self.rows if row == T else row - 1
        j = self.columns if column == T else column - 1
        return i * (self.columns + 1) + j

    def cells(self, positions: Iterable[Position]) -> list[int]:
        return [self.cell(position) for position in positions]

    def suppression(self, positions: Iterable[Position]) -> Suppression:
        return Suppression.of(self.table, self.cells(positions))

    def positions(self, hidden: Any) -> set[Position]:
        """The positions of a mask."""
        found = set()
        for cell in np.flatnonzero(hidden):
            i, j = divmod(int(cell), self.columns + 1)
            found.add((T if i == self.rows else i + 1, T if j == self.columns else j + 1))
        return found

    def problem(self, sensitive: list[Position], lower: Any, upper: Any, **options: Any) -> Problem:
        """Levels by position: numbers for all, or lists along the sensitive cells."""
        size, where = len(self.table), self.cells(sensitive)
        levels = np.zeros((2, size))
        levels[0, where], levels[1, where] = lower, upper
        return Problem.of(self.table, where, Levels.of(size, levels[0], levels[1]), **options)

    def percent(self, sensitive: list[Position], share: float, least: float = 0.0, **options: Any) -> Problem:
        """Both levels a share of the value, at least `least`."""
        level = np.maximum(share * self.table.values[self.cells(sensitive)], least)
        return self.problem(sensitive, level, level, **options)


FIGURE_004 = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]
FIGURE_000 = [[100, 20, 35, 3], [15, 10, 40, 10], [10, 15, 30, 5]]
FIGURE_001 = [
    [9, 51, 41, 47, 3, 48],
    [8, 1, 54, 44, 45, 12],
    [8, 70, 6, 76, 64, 21],
    [33, 46, 45, 27, 37, 60],
    [87, 51, 18, 35, 49, 72],
    [48, 59, 39, 65, 35, 58],
]
SENSITIVE_001 = [(1, 1), (1, 5), (2, 1), (2, 2), (2, 5), (2, 6), (3, 3), (3, 6)]
FIGURE_001_3 = [[100, 100, 100, 100]] * 4
SENSITIVE_001_3 = [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 1), (3, 4), (4, 1), (4, 4)]
COUNTEREXAMPLE_K5 = [[5, 45, 47, 0], [17, 59, 27, 44], [9, 14, 52, 38], [53, 56, 23, 52]]
SENSITIVE_K5 = [(1, 1), (1, 3), (2, 4), (3, 1), (3, 2), (3, 4), (4, 1), (T, 3)]
