"""Evidence in exact arithmetic: deviations that satisfy every equation exactly, and valid bounds on all deviations.

The system is M d = 0, low <= d <= high, in integral data units, with integral coefficients (rows of decimals are
multiplied by a common denominator). Cells tied by equations with two unknowns, d_i = +-d_j, are one column.

- *Met*: a deviation d = n / q (integers n, one denominator q) with M n = 0 and q low <= n <= q high. It is found by
  rounding a solver's solution and accepted only if the check in integers passes.
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
from dataclasses import dataclass
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
    EXACT_FLOAT,
    EXACT_SUM,
    LARGEST_COMMON_DENOMINATOR,
    LARGEST_DENOMINATOR,
    NEAR_RATIONAL,
    RELATIVE_NOISE,
)
from tablecloak.model import exact_number
from tablecloak.solvers import Columns, kernels

Amount = Fraction | float
"""A fraction, or infinity."""


@dataclass(frozen=True)
class EvidenceSettings:
    """Effort for a deviation next to a solver's."""

    correction_steps: int = 300
    """Maximum number of steps of the least-squares method for the correction of a residual. Untested default."""


class Deviation(NamedTuple):
    """numerator / denominator of every column, a deviation that satisfies all equations and bounds exactly."""

    numerator: Ints
    denominator: int

    def of(self, column: int) -> Fraction:
        """The movement of a column."""
        return Fraction(int(self.numerator[column]), self.denominator)


class IntegralSystem:
    """The equations of one component with integral coefficients, tied cells merged into columns."""

    def __init__(self, equations: Columns, settings: EvidenceSettings = EvidenceSettings()) -> None:
        self.settings = settings
        self.ties = merged(_integral_rows(equations))
        self.group, self.ratio, self.columns = self.ties
        self.rows, self.count = self.columns.shape
        self._data = np.rint(self.columns.data)
        self._start = np.require(self.columns.indptr, np.int32, "W")
        self._row = np.require(self.columns.indices, np.int32, "W")
        lengths = np.bincount(self._row, minlength=1), np.diff(self._start)
        self._widest = [int(length.max(initial=1)) for length in lengths]
        self._largest = float(np.abs(self._data).max(initial=1.0))
        self._integers = (
            np.ascontiguousarray(self._data.astype(np.int64)) if self._largest < EXACT_FLOAT else None
        )
        self._sum, self._weight = (length * self._largest for length in self._widest)

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Deviation bounds of the columns: all their cells stay within low..high."""
        return group_bounds(self.ties, low, high)

    # ------------------------------------------------------------------ deviations

    def deviation(
        self, amount: Floats, low: Floats, high: Floats, base: Floats | float = 0.0
    ) -> Deviation | None:
        """The exact deviation next to a solver's, base + amount; None if rounding finds none.

        `base`: integers that were subtracted before the program was solved.
        """
        if self._integers is not None and isinstance(base, float) and not base:
            found, integral = kernels.rounded_deviation(
                self._start, self._row, self._integers, self.rows, self._sum, amount, low, high
            )
            if found:
                return Deviation(integral, 1)
        near = np.minimum(np.maximum(amount, low - base), high - base)
        for denominator in _denominators(near):
            numerator = np.rint(near * denominator) + base * denominator
            if np.abs(numerator).max(initial=0.0) >= EXACT_FLOAT:
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
        matrix, steps = (self._start, self._row, self._data, self.rows), self.settings.correction_steps
        left, correction = kernels.least_correction(
            *matrix, moved, amount[moved], steps, CORRECTION_PRECISION
        )
        size = np.abs(correction)
        small = max(left, float(size.max(initial=0.0))) <= CORRECTED * margin
        return bool(small and (size <= CORRECTED * slack).all())

    def keeps(self, numerator: Ints) -> bool:
        """Whether integral amounts of the columns satisfy every equation."""
        most = self._widest[0] * self._largest * float(np.abs(numerator).max(initial=0))
        if self._integers is not None and most < EXACT_SUM:
            matrix = self._start, self._row, self._integers, self.rows
            return bool(kernels.is_balanced(*matrix, np.ascontiguousarray(numerator)))
        return not any(self.residual(numerator))

    def keeps_cells(self, amount: Ints, low: Floats, high: Floats) -> bool:
        """Whether integral amounts of the cells satisfy every equation and low..high."""
        columns = np.zeros(self.count, dtype=np.int64)
        columns[self.group] = self.ratio.astype(np.int64) * amount
        tied = bool((self.ratio.astype(np.int64) * columns[self.group] == amount).all())
        return tied and bool(np.all((amount >= low) & (amount <= high))) and self.keeps(columns)

    def residual(self, numerator: Ints) -> NDArray[np.object_]:
        """The sums of all equations in integers of any size."""
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
        """The equations of a column and its integral coefficients there."""
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
        """Upper bound of sign * d_column by the row duals of a program that minimises -sign * d_column."""
        best: Amount = math.inf
        for denominator in _denominators(duals):
            if denominator == 1 and self._integers is not None:
                small, most = kernels.whole_bound(
                    self._start, self._row, self._integers, self._weight, duals, column, sign, low, high
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
        """Upper bound of sign * d_column by multipliers rounded to a power of two, the finest whose sums stay in int64.

        Any multipliers prove a bound: these miss the best one by as much as rounding moves them, wherever the columns
        whose weights are not quite zero have finite bounds.
        """
        most = 2.0 * self._weight * (float(np.abs(duals).max(initial=0.0)) + 1.0)
        if not most < EXACT_SUM:
            return math.inf
        denominator = 1 << int(math.log2(EXACT_SUM / most))
        weights = self._weights(np.rint(duals * denominator), column, sign * denominator)
        wall = None if weights is None else widest(weights, low, high)
        return math.inf if wall is None else Fraction(wall, denominator)

    def _weights(self, factors: Floats, column: int, own: int) -> Ints | None:
        """w = own e_column + M'factors; None where the sums may leave int64."""
        most = self._widest[1] * self._largest * (float(np.abs(factors).max(initial=0.0)) + abs(own))
        if self._integers is None or most >= EXACT_SUM:
            return None
        weights = kernels.combined_rows(self._start, self._row, self._integers, factors.astype(np.int64))
        weights[column] += own
        return np.asarray(weights)


def fits(deviation: Deviation, low: Floats, high: Floats) -> bool:
    """Whether a deviation lies within integral bounds (infinite ones included)."""
    numerator, denominator = deviation
    if denominator == 1:
        return bool(np.all((numerator >= low) & (numerator <= high)))
    lowest, highest = low * denominator, high * denominator
    finite = np.isfinite(lowest) & (np.abs(lowest) >= EXACT_FLOAT) | np.isfinite(highest) & (
        highest >= EXACT_FLOAT
    )
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
    if float(size.sum()) < EXACT_FLOAT:
        return int(size.sum())
    return sum(int(one) * int(far) for one, far in zip(np.abs(factor).tolist(), wall.tolist(), strict=True))


def stretched(deviation: Deviation, low: Floats, high: Floats) -> Deviation | None:
    """The mirror image of a deviation, as long as it fits within low..high; None where it cannot move."""
    mirror, denominator = kernels.mirrored(*deviation, low, high)
    return Deviation(mirror, denominator) if denominator else None


# ---------------------------------------------------------------------- rounding


def _denominators(amount: Floats) -> Iterator[int]:
    """Small denominators for which the amounts are nearly integral."""
    integral, common = kernels.common_denominator(
        amount, NEAR_RATIONAL, RELATIVE_NOISE, LARGEST_DENOMINATOR, LARGEST_COMMON_DENOMINATOR
    )
    if integral:
        yield 1
    if common > 1:
        yield common


def _integral_rows(equations: Columns) -> Columns:
    """Every row times the least factor that makes its coefficients, read as decimals, integral."""
    data = equations.data
    if _is_integral(data).all():
        return equations
    factor = [1] * equations.shape[0]
    decimals = [Fraction(exact_number(value)) for value in data.tolist()]
    for row, value in zip(equations.indices.tolist(), decimals, strict=True):
        factor[row] = math.lcm(factor[row], value.denominator)
    scaled = [
        float(value * factor[row]) for row, value in zip(equations.indices.tolist(), decimals, strict=True)
    ]
    return equations._replace(data=np.array(scaled))


def _is_integral(data: Floats) -> Bools:
    return np.asarray(data == np.rint(data))
