"""What a pattern costs the reader: how many cells are touched, how much of the values, and where.

*Touched* is a cell that is published otherwise than by its exact value. Shares of values are by absolute value,
sum |a_i| over touched cells / sum |a_i|; they are taken over leaves, because totals would count everything again.
Virtual cells, which no publication shows, do not count. All of it is confidential.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.dimension import Dimension
from tablecloak.pattern import Intervals, Mixed, Pattern, Suppression
from tablecloak.problem import Mark, Problem


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of some cells, one entry a code: all, touched, of these sensitive, marked and complementary."""

    cells: Ints
    touched: Ints
    sensitive: Ints
    marked: Ints
    complementary: Ints
    value_share: Floats
    """The share of the absolute values that is touched; NaN where all values are zero or there is no cell."""

    @property
    def share(self) -> Floats:
        """The share of the cells that is touched; NaN where there is no cell."""
        return _ratio(self.touched, self.cells)


@dataclass(frozen=True, eq=False)
class CodeLosses:
    """The loss by code of one dimension, leaves and totals apart. Confidential."""

    dimension: Dimension
    leaves: Tally
    """Cells that are no total in any dimension."""
    totals: Tally

    def __repr__(self) -> str:
        return f"<confidential CodeLosses: {self.dimension.name}, {len(self.dimension.codes)} codes>"


@dataclass(frozen=True, eq=False)
class Losses:
    """The loss of a whole table; every array has one entry. Confidential."""

    every: Tally
    leaves: Tally
    totals: Tally
    change: float
    """sum |shown - a| / sum |a| over all cells that show a number; 0 where shown values are exact."""

    def __repr__(self) -> str:
        return (
            f"<confidential Losses: {int(self.every.touched[0])} of {int(self.every.cells[0])} cells touched>"
        )


def losses(problem: Problem, pattern: Pattern) -> Losses:
    """The loss of the table as a whole."""
    real, leaf = ~problem.table.is_virtual, problem.table.is_leaf
    group = np.zeros(len(problem.table), dtype=np.int64)
    touched = pattern.touched(problem)
    shown, value = pattern.view(problem).shown, np.abs(problem.table.values)
    number = real & ~np.isnan(shown)
    moved = np.abs(shown[number] - problem.table.values[number]).sum()
    change = float(moved / value[number].sum()) if value[number].any() else 0.0
    every, leaves, totals = (
        _tally(problem, touched, where, group, 1) for where in (real, real & leaf, real & ~leaf)
    )
    return Losses(every, leaves, totals, change)


def losses_by_code(problem: Problem, pattern: Pattern, dimension: int) -> CodeLosses:
    """The loss of the cells with each code of a dimension (its number in `Table.dimensions`)."""
    table, touched = problem.table, pattern.touched(problem)
    group, count = table.codes[:, dimension], len(table.dimensions[dimension].codes)
    real = ~table.is_virtual
    leaves, totals = (
        _tally(problem, touched, real & where, group, count) for where in (table.is_leaf, ~table.is_leaf)
    )
    return CodeLosses(table.dimensions[dimension], leaves, totals)


def loss_grid(problem: Problem, pattern: Pattern, first: int, second: int) -> Floats:
    """The loss by code of two dimensions: one row a code of the first, one column a code of the second.

    The share of touched cells; where numbers are shown that are not exact, the mean of |shown - a| / max(|a|, unit).
    NaN where there is no cell.
    """
    table = problem.table
    shape = len(table.dimensions[first].codes), len(table.dimensions[second].codes)
    real = np.flatnonzero(~table.is_virtual)
    group = np.ravel_multi_index((table.codes[real, first], table.codes[real, second]), shape)
    size = shape[0] * shape[1]
    amount = np.bincount(group, weights=loss_of_cells(problem, pattern)[real], minlength=size)
    return _ratio(amount, np.bincount(group, minlength=size)).reshape(shape)


def loss_of_cells(problem: Problem, pattern: Pattern) -> Floats:
    """1 for a cell that is touched and 0 for others; the relative change where numbers are shown that are not exact."""
    if isinstance(pattern, Suppression | Intervals | Mixed):
        return pattern.touched(problem).astype(np.float64)
    value = problem.table.values
    return np.asarray(
        np.abs(pattern.view(problem).shown - value) / np.maximum(np.abs(value), problem.table.unit)
    )


def _tally(problem: Problem, touched: Bools, where: Bools, group: Ints | Codes, count: int) -> Tally:
    """Counts by group of the cells in `where`."""

    def counted(cells: Bools) -> Ints:
        return np.bincount(group[cells & where], minlength=count).astype(np.int64)

    value = np.abs(problem.table.values)
    lost, whole = (
        np.bincount(group[cells & where], weights=value[cells & where], minlength=count)
        for cells in (touched, where)
    )
    return Tally(
        counted(where),
        counted(touched),
        counted(touched & problem.sensitive),
        counted(touched & (problem.marks == Mark.HIDDEN)),
        counted(touched & ~problem.must_hide),
        _ratio(lost, whole),
    )


def _ratio(part: Floats | Ints, whole: Floats | Ints) -> Floats:
    """part / whole, NaN where the whole is zero."""
    return np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=np.asarray(whole) > 0)
