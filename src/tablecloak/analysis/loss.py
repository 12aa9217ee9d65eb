"""What a pattern costs the reader: how many cells are touched, how much of the values, and where.

*Touched* is a cell that is published otherwise than by its exact value. Shares of values are by absolute value,
sum |a_i| over touched cells / sum |a_i|; they are taken over leaves, because totals would count everything again.
Virtual cells, which no publication shows, do not count. All of it is confidential.

`measures` is the same yardstick for all patterns. With a the true value, s what is shown (if a number is), [l, u] what
the view states and [b, t] what the outsider knows beforehand:

- *vagueness* of a touched cell: max(min(u, t) - max(l, b), 0), what the view and that knowledge leave open;
- *change* of a cell that shows a number: |s - a|;
- both also *relative*: divided by max(|a|, unit), unit = one data unit;
- distances of the shown numbers from the true ones: L1 = sum |s - a|, L2 = sqrt(sum (s - a)^2), the largest |s - a|,
  and Hellinger's, relative: sqrt(sum (sqrt s - sqrt a)^2 / sum (s + a)), 0 for equal numbers and 1 for numbers that
  have nothing in common. Negative numbers are amounts of another kind: positive and negative parts are taken apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.errors import InputError
from tablecloak.model import Audit, Dimension, Intervals, Mark, Mixed, Pattern, Problem, Suppression


@dataclass(frozen=True, eq=False)
class CellCounts:
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
    leaves: CellCounts
    """Cells that are no total in any dimension."""
    totals: CellCounts

    def __repr__(self) -> str:
        return f"<confidential CodeLosses: {self.dimension.name}, {len(self.dimension.codes)} codes>"


@dataclass(frozen=True, eq=False)
class Losses:
    """The loss of a whole table; every array has one entry. Confidential."""

    every: CellCounts
    leaves: CellCounts
    totals: CellCounts
    change: float
    """sum |shown - a| / sum |a| over all cells that show a number; 0 where shown values are exact."""

    def __repr__(self) -> str:
        return (
            f"<confidential Losses: {int(self.every.touched[0])} of {int(self.every.cells[0])} cells touched>"
        )


@dataclass(frozen=True)
class Quantiles:
    """How large some amounts are, one a cell; None where there is no amount. Confidential.

    A quantile is the smallest amount that so many of the cells do not exceed. Infinite amounts are in none of them.
    """

    cells: int
    """Cells with a finite amount."""
    unbounded: int
    """Cells with an infinite amount, counted here and nowhere else."""
    mean: float | None
    median: float | None
    ninety: float | None
    """Of nine cells in ten the amount is not larger."""
    largest: float | None

    @classmethod
    def of(cls, amounts: Floats) -> Quantiles:
        finite = amounts[np.isfinite(amounts)]
        apart = int(amounts.size - finite.size)
        if finite.size == 0:
            return cls(0, apart, None, None, None, None)
        half, ninety, largest = np.quantile(finite, (0.5, 0.9, 1.0), method="inverted_cdf").tolist()
        return cls(int(finite.size), apart, float(finite.mean()), half, ninety, largest)

    def __repr__(self) -> str:
        return f"<confidential Quantiles: {self.cells} cells, {self.unbounded} unbounded>"


@dataclass(frozen=True)
class Distances:
    """How far the shown numbers are from the true ones, all cells together. Confidential."""

    sum: float
    """L1: the sum of the absolute changes."""
    euclidean: float
    """L2: the root of the sum of the squared changes."""
    largest: float
    hellinger: float
    """Relative: 0 for equal numbers, 1 for numbers that have nothing in common."""

    def __repr__(self) -> str:
        return "<confidential Distances of shown numbers from true ones>"


@dataclass(frozen=True, eq=False)
class Measures:
    """What a pattern costs the reader, measured in the same way for all kinds of patterns. Confidential."""

    losses: Losses
    vague: int
    """Cells of which more than one value is stated to be possible; in a rounded table also those shown unchanged."""
    vagueness: Quantiles
    """Of the touched cells: the width of what is stated, within what the outsider knows beforehand."""
    relative_vagueness: Quantiles
    change: Quantiles
    """Of the cells that show a number: how far it is from the true one."""
    relative_change: Quantiles
    distances: Distances | None
    """Of the cells that show a number; None where none does."""
    width: Quantiles | None = None
    """Of the touched cells: the width of the outsider's exact feasibility interval, where that was worked out."""
    relative_width: Quantiles | None = None

    @property
    def cells(self) -> int:
        """Cells of the table, without virtual ones."""
        return int(self.losses.every.cells[0])

    @property
    def touched(self) -> int:
        """Cells that are published otherwise than by their exact value."""
        return int(self.losses.every.touched[0])

    @property
    def unbounded(self) -> int:
        """Touched cells about which neither the view nor what is known beforehand states both ends."""
        return self.vagueness.unbounded

    def __repr__(self) -> str:
        return f"<confidential Measures: {self.touched} of {self.cells} cells touched>"


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


def measures(problem: Problem, pattern: Pattern, intervals: Audit | None = None) -> Measures:
    """The loss by measures that all patterns share; the formulas are at the top of this file.

    `intervals` is an audit of the same pattern with ``intervals=True, every_hidden=True``. It adds `width`: what is
    left open when the outsider makes use of the equations too.
    """
    table, view, real = problem.table, pattern.view(problem), ~problem.table.is_virtual
    touched, value = real & pattern.touched(problem), table.values
    scale = np.maximum(np.abs(value), table.unit)
    low, high = np.maximum(view.low, problem.outsider_low), np.minimum(view.high, problem.outsider_high)
    vagueness = np.maximum(high - low, 0.0)
    number = real & ~np.isnan(view.shown)
    shown, true = view.shown[number], value[number]
    change = np.abs(shown - true)
    width = None if intervals is None else _outsider_width(problem, pattern, touched, intervals)
    return Measures(
        losses(problem, pattern),
        int((real & (view.low < view.high)).sum()),
        Quantiles.of(vagueness[touched]),
        Quantiles.of((vagueness / scale)[touched]),
        Quantiles.of(change),
        Quantiles.of(change / scale[number]),
        _distances(shown, true) if shown.size else None,
        None if width is None else Quantiles.of(width),
        None if width is None else Quantiles.of(width / scale[touched]),
    )


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


def _outsider_width(problem: Problem, pattern: Pattern, touched: Bools, intervals: Audit) -> Floats:
    """The widths of the outsider's feasibility intervals of the touched cells."""
    outsider = intervals.attackers == 0
    width = np.full(len(problem.table), np.nan)
    other = intervals.subject is not None and intervals.subject[1] is not pattern
    if not other:
        width[intervals.cells[outsider]] = (intervals.high - intervals.low)[outsider]
    if other or not intervals.exact or np.isnan(width[touched]).any():
        fault = "the audit must be of this pattern, exact, and about all touched cells"
        advice = "Pass audit(problem, pattern, intervals=True, every_hidden=True)."
        raise InputError("Measures", [fault], advice=advice)
    return width[touched]


def _distances(shown: Floats, true: Floats) -> Distances:
    """Distances of numbers that are shown from the true ones."""
    change = np.abs(shown - true)
    parts = ((np.maximum(sign * shown, 0.0), np.maximum(sign * true, 0.0)) for sign in (1.0, -1.0))
    apart = sum(float(((np.sqrt(one) - np.sqrt(two)) ** 2).sum()) for one, two in parts)
    whole = float((np.abs(shown) + np.abs(true)).sum())
    return Distances(
        float(change.sum()),
        float(np.sqrt((change**2).sum())),
        float(change.max()),
        float(np.sqrt(min(apart / whole, 1.0))) if whole > 0 else 0.0,
    )


def _tally(problem: Problem, touched: Bools, where: Bools, group: Ints | Codes, count: int) -> CellCounts:
    """Counts by group of the cells in `where`."""

    def counted(cells: Bools) -> Ints:
        return np.bincount(group[cells & where], minlength=count).astype(np.int64)

    value = np.abs(problem.table.values)
    lost, whole = (
        np.bincount(group[cells & where], weights=value[cells & where], minlength=count)
        for cells in (touched, where)
    )
    return CellCounts(
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
