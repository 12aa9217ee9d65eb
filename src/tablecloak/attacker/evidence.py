"""Evidence in whole numbers: deviations that keep every equation exactly, and bounds that no deviation passes.

The system is M d = 0, low <= d <= high, in whole data units, with whole coefficients (rows of decimals are multiplied
by a common denominator). Cells tied by equations with two unknowns, d_i = +-d_j, are one column.

- *Met*: a deviation d = n / q (whole numbers n, one denominator q) with M n = 0 and q low <= n <= q high. It is
  found by rounding what a solver says and taken only if the check in whole numbers passes.
  Large programs end at points with long denominators. For these a float d counts if an exact deviation is next to it:
  all columns that move have slack, the residual r = M d is then in the range of these columns F, and the least
  correction, M_F e = -r, is small beside the slack of every one of them.
- *Open*: for any multipliers y, every deviation has  +-d_p = (+-e_p + M'y) d <= sum_i w_i^+ high_i + w_i^- (-low_i),
  w = +-e_p + M'y. The multipliers of a solver, rounded to fractions, give a bound that is computed exactly.

Reference: Neumaier & Shcherbina (2004), Safe bounds in linear and mixed-integer linear programming.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker.presolve import group_bounds, merged
from tablecloak.attacker.tolerances import (
    CORRECTED,
    CORRECTION_PRECISION,
    LARGEST_COMMON_DENOMINATOR,
    LARGEST_DENOMINATOR,
    NEAR_RATIONAL,
    RELATIVE_NOISE,
)
from tablecloak.solvers import Columns

Amount = Fraction | float
"""A fraction, or infinity."""
EXACT = 2.0**53
"""Whole numbers below this are exact in floats."""
CORRECTION_STEPS = 300
"""Steps of the least-squares method for the correction of a residual."""
SUMMABLE = 2.0**62
"""Sums of whole numbers below this stay in int64."""


class Deviation(NamedTuple):
    """numerator / denominator of every column, a deviation that keeps all equations and bounds exactly."""

    numerator: Ints
    denominator: int

    def of(self, column: int) -> Fraction:
        """How far a column moves."""
        return Fraction(int(self.numerator[column]), self.denominator)


class WholeSystem:
    """The equations of one component with whole coefficients, tied cells merged into columns."""

    def __init__(self, equations: Columns) -> None:
        self.ties = merged(_whole_rows(equations))
        self.group, self.ratio, self.columns = self.ties
        self.rows, self.count = self.columns.shape
        self._data = np.rint(self.columns.data)
        self._start = np.require(self.columns.indptr, np.int32, "W")
        self._row = np.require(self.columns.indices, np.int32, "W")
        lengths = np.bincount(self._row, minlength=1), np.diff(self._start)
        self._widest = [int(length.max(initial=1)) for length in lengths]
        self._largest = float(np.abs(self._data).max(initial=1.0))
        self._whole = np.ascontiguousarray(self._data.astype(np.int64)) if self._largest < EXACT else None
        self._sum, self._weight = (length * self._largest for length in self._widest)

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """How far each column may go, so that all its cells stay within low..high."""
        return group_bounds(self.ties, low, high)

    # ------------------------------------------------------------------ deviations

    def deviation(
        self, amount: Floats, low: Floats, high: Floats, base: Floats | float = 0.0
    ) -> Deviation | None:
        """The exact deviation next to what a solver says, base + amount; None if rounding finds none.

        `base`: whole numbers that were subtracted before the solver was asked.
        """
        from tablecloak.solvers.kernels import exact_deviations

        if self._whole is not None and isinstance(base, float) and not base:
            found, whole = exact_deviations.rounded(
                self._start, self._row, self._whole, self.rows, self._sum, amount, low, high
            )
            if found:
                return Deviation(whole, 1)
        near = np.minimum(np.maximum(amount, low - base), high - base)
        for denominator in _denominators(near):
            numerator = np.rint(near * denominator) + base * denominator
            if np.abs(numerator).max(initial=0.0) >= EXACT:
                return None
            deviation = Deviation(numerator.astype(np.int64), denominator)
            if fits(deviation, low, high) and self.keeps(deviation.numerator):
                return deviation
        return None

    def has_deviation_near(self, amount: Floats, low: Floats, high: Floats, margin: float) -> bool:
        """Whether an exact deviation within low..high differs from these amounts by less than the margin everywhere.

        Columns at rest stay at rest; all others must have slack on both sides for the correction of the residual.
        """
        moved = np.flatnonzero(amount)
        slack = np.minimum(amount - low, high - amount)[moved]
        if (slack <= 0.0).any():
            return False
        from tablecloak.solvers.kernels import exact_deviations

        left, correction = exact_deviations.correction(
            self._start,
            self._row,
            self._data,
            self.rows,
            moved,
            amount[moved],
            CORRECTION_STEPS,
            CORRECTION_PRECISION,
        )
        size = np.abs(correction)
        return bool(
            left <= CORRECTED * margin
            and size.max(initial=0.0) <= CORRECTED * margin
            and (size <= CORRECTED * slack).all()
        )

    def keeps(self, numerator: Ints) -> bool:
        """Whether whole amounts of the columns keep every equation."""
        from tablecloak.solvers.kernels import presolve

        most = self._widest[0] * self._largest * float(np.abs(numerator).max(initial=0))
        if self._whole is not None and most < SUMMABLE:
            return bool(
                presolve.balanced(
                    self._start, self._row, self._whole, self.rows, np.ascontiguousarray(numerator)
                )
            )
        return not any(self.residual(numerator))

    def keeps_cells(self, amount: Ints, low: Floats, high: Floats) -> bool:
        """Whether whole amounts of the cells keep every equation and low..high."""
        columns = np.zeros(self.count, dtype=np.int64)
        columns[self.group] = self.ratio.astype(np.int64) * amount
        tied = bool((self.ratio.astype(np.int64) * columns[self.group] == amount).all())
        return tied and bool(np.all((amount >= low) & (amount <= high))) and self.keeps(columns)

    def residual(self, numerator: Ints) -> NDArray[np.object_]:
        """The sums of all equations in whole numbers of any size."""
        total = np.zeros(self.rows, dtype=object)
        column = np.repeat(np.arange(self.count), np.diff(self._start))
        moved = np.flatnonzero(numerator[column])
        products = [
            int(coefficient) * int(amount)
            for coefficient, amount in zip(self._data[moved], numerator[column[moved]], strict=True)
        ]
        np.add.at(total, self._row[moved], np.array(products, dtype=object))
        return total

    def entries(self, column: int) -> list[tuple[int, int]]:
        """The equations of a column and its whole coefficients there."""
        start = self._start_list
        return self._entries[start[column] : start[column + 1]]

    @cached_property
    def _start_list(self) -> list[int]:
        return list(self._start.tolist())

    @cached_property
    def _entries(self) -> list[tuple[int, int]]:
        return list(zip(self._row.tolist(), map(int, self._data.tolist()), strict=True))

    # ------------------------------------------------------------------ bounds

    def bound(self, column: int, sign: int, duals: Floats, low: Floats, high: Floats) -> Amount:
        """The most that sign * d_column can be, by the row duals of a program that minimises -sign * d_column."""
        from tablecloak.solvers.kernels import exact_deviations

        best: Amount = math.inf
        for denominator in _denominators(duals):
            if denominator == 1 and self._whole is not None:
                small, most = exact_deviations.whole_bound(
                    self._start, self._row, self._whole, self._weight, duals, column, sign, low, high
                )
                if small:
                    best = Fraction(int(most)) if most < math.inf else best
                    continue
            weights = self._weights(np.rint(duals * denominator), column, sign * denominator)
            if weights is None:
                continue
            wall = widest(weights, low, high)
            if wall is not None:
                best = min(best, Fraction(wall, denominator))
        return best if best < math.inf else self._rounded_bound(column, sign, duals, low, high)

    def _rounded_bound(self, column: int, sign: int, duals: Floats, low: Floats, high: Floats) -> Amount:
        """The same by multipliers rounded to a power of two, the finest whose sums stay in int64.

        Any multipliers prove a bound: these miss the best one by as much as rounding moves them, wherever the columns
        whose weights are not quite zero have finite bounds.
        """
        most = 2.0 * self._weight * (float(np.abs(duals).max(initial=0.0)) + 1.0)
        if not most < SUMMABLE:
            return math.inf
        denominator = 1 << int(math.log2(SUMMABLE / most))
        weights = self._weights(np.rint(duals * denominator), column, sign * denominator)
        wall = None if weights is None else widest(weights, low, high)
        return math.inf if wall is None else Fraction(wall, denominator)

    def _weights(self, factors: Floats, column: int, own: int) -> Ints | None:
        """w = own e_column + M'factors; None where the sums may leave int64."""
        from tablecloak.solvers.kernels import presolve

        most = self._widest[1] * self._largest * (float(np.abs(factors).max(initial=0.0)) + abs(own))
        if self._whole is None or most >= SUMMABLE:
            return None
        weights = presolve.combined(self._start, self._row, self._whole, factors.astype(np.int64))
        weights[column] += own
        return np.asarray(weights)


def fits(deviation: Deviation, low: Floats, high: Floats) -> bool:
    """Whether a deviation lies within whole bounds (infinite ones included)."""
    numerator, denominator = deviation
    if denominator == 1:
        return bool(np.all((numerator >= low) & (numerator <= high)))
    lowest, highest = low * denominator, high * denominator
    finite = np.isfinite(lowest) & (np.abs(lowest) >= EXACT) | np.isfinite(highest) & (highest >= EXACT)
    close = np.flatnonzero(finite)
    fine = (numerator >= lowest) & (numerator <= highest)
    fine[close] = [
        _inside(int(numerator[i]), denominator, float(low[i]), float(high[i])) for i in close.tolist()
    ]
    return bool(fine.all())


def _inside(numerator: int, denominator: int, low: float, high: float) -> bool:
    above = math.isinf(low) or numerator >= int(low) * denominator
    return above and (math.isinf(high) or numerator <= int(high) * denominator)


def widest(weights: Ints, low: Floats, high: Floats) -> int | None:
    """The largest value of weights d within low <= d <= high, exactly; None if there is none."""
    some = np.flatnonzero(weights)
    factor = weights[some]
    wall = np.where(factor > 0, high[some], -low[some])
    if np.isinf(wall).any():
        return None
    size = np.abs(factor).astype(np.float64) * wall
    if float(size.sum()) < EXACT:
        return int(size.sum())
    return sum(int(one) * int(far) for one, far in zip(np.abs(factor).tolist(), wall.tolist(), strict=True))


def stretched(deviation: Deviation, low: Floats, high: Floats) -> Deviation | None:
    """The mirror image of a deviation, as long as it fits within low..high; None where it cannot move."""
    from tablecloak.solvers.kernels import exact_deviations

    mirror, denominator = exact_deviations.mirrored(*deviation, low, high)
    return Deviation(mirror, denominator) if denominator else None


# ---------------------------------------------------------------------- rounding


def _denominators(amount: Floats) -> Iterator[int]:
    """Denominators with which the amounts are nearly whole; none if there is no small one."""
    from tablecloak.solvers.kernels import exact_deviations

    whole, common = exact_deviations.common_denominator(
        amount, NEAR_RATIONAL, RELATIVE_NOISE, LARGEST_DENOMINATOR, LARGEST_COMMON_DENOMINATOR
    )
    if whole:
        yield 1
    if common > 1:
        yield common


def _whole_rows(equations: Columns) -> Columns:
    """Every row times the least number that makes its coefficients whole: the decimals that floats stand for."""
    data = equations.data
    if _is_whole(data).all():
        return equations
    factor = [1] * equations.shape[0]
    for row, value in zip(equations.indices.tolist(), data.tolist(), strict=True):
        factor[row] = math.lcm(factor[row], Fraction(f"{value:.15g}").denominator)
    scaled = [
        float(Fraction(f"{value:.15g}") * factor[row])
        for row, value in zip(equations.indices.tolist(), data.tolist(), strict=True)
    ]
    return equations._replace(data=np.array(scaled))


def _is_whole(data: Floats) -> Bools:
    return np.asarray(data == np.rint(data))
