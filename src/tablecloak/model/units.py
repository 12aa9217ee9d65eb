"""Data units: every value of a table is a whole number of them, so that sums are exact.

With t decimals the data unit is 10^-t, and a cell of value a holds the whole number a 10^t. Below 2^52 units two
different whole numbers are two different floats, so that an amount determines its units and vice versa.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import isfinite, isinf, log10

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import InputError
from tablecloak.model.tolerances import (
    DIGITS,
    EXACT_POWER,
    FLOAT_NOISE,
    LARGEST_RESIDUAL,
    LARGEST_SUM,
    LARGEST_UNITS,
    NEAR_INTEGER,
    OTHER_NOISE_UNITS,
    OWN_NOISE_UNITS,
    ROW_FACTORS,
)


def exact_number(value: float) -> Fraction | float:
    """The decimal that a float stands for: 0.1 is 1/10, and so is 0.1 with rounding noise in the last bits.

    It is the decimal of 15 digits next to the float: every decimal of up to 15 digits is recovered from its
    float. Beyond 10^15 it is the shortest decimal that gives the float. The order of numbers is kept.
    """
    if isinf(value):
        return float(value)
    return Fraction(f"{value:.{DIGITS}g}" if abs(value) < 10.0**DIGITS else repr(float(value)))


def unit_of(decimals: int) -> float:
    """The data unit, 10^-decimals."""
    return float(f"1e-{decimals}")


def amounts(units: Floats | Ints, decimals: int) -> Floats:
    """The floats next to whole numbers of units; infinite ones stay so."""
    if decimals <= EXACT_POWER:
        return np.asarray(units, dtype=np.float64) / 10.0**decimals
    whole = np.asarray(units, dtype=np.float64)
    written = [float(f"{int(x)}e-{decimals}") if isfinite(x) else x for x in whole.ravel().tolist()]
    return np.array(written, dtype=np.float64).reshape(whole.shape)


def nearest_units(values: Floats, decimals: int) -> Floats:
    """The whole number of units next to each value, as floats: the very one that it stands for, if there is one."""
    values = np.asarray(values, dtype=np.float64)
    if decimals > EXACT_POWER:
        scale = 10**decimals
        exact = [float(round(Fraction(x) * scale)) if isfinite(x) else x for x in values.ravel().tolist()]
        return np.array(exact, dtype=np.float64).reshape(values.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        whole = np.rint(values * 10.0**decimals)
        close = decimals and (np.abs(whole) >= LARGEST_UNITS / 4).any()
        for step in (-1.0, 1.0) if close else ():  # the product may be off by one from 2^51 on
            better = (amounts(whole, decimals) != values) & (amounts(whole + step, decimals) == values)
            whole = np.where(better, whole + step, whole)
    return whole


def is_whole(values: Floats, whole: Floats, decimals: int, others: Floats | float = 0.0) -> Bools:
    """Whether values are these whole numbers of units, up to float noise.

    `others` is the size of larger numbers that the values were computed from.
    """
    near, unit = amounts(whole, decimals), unit_of(decimals)
    with np.errstate(invalid="ignore"):
        own = np.minimum(FLOAT_NOISE * np.abs(values), OWN_NOISE_UNITS * unit)
        further = np.minimum(FLOAT_NOISE * np.abs(others), OTHER_NOISE_UNITS * unit)
        slack = np.maximum(np.maximum(own, further), NEAR_INTEGER * unit)
        return np.asarray((near == values) | (np.abs(near - values) <= slack))


def rounded(
    values: Floats, decimals: int, *, up: bool, step: Ints | int = 1, others: Floats | float = 0.0
) -> Floats:
    """Values as whole multiples of `step` units, up or down; float noise moves none of them by a unit.

    What has no units (infinite, not a number, beyond 2^53 units) stays as it is.
    """
    whole, sign = _toward(values, decimals, up, others), 1.0 if up else -1.0
    with np.errstate(invalid="ignore"):
        finite = np.abs(whole) < 2 * LARGEST_UNITS
        kept = np.where(finite, whole, 0.0)
        whole = kept + sign * np.mod(-sign * kept, step)
    return np.where(finite, amounts(whole, decimals), values)


def whole_units(values: Floats, unit: float) -> Floats:
    """The nearest whole numbers of units; infinite amounts stay."""
    return nearest_units(values, _decimals_of(unit))


def units_above(values: Floats, unit: float) -> Floats:
    """The least whole numbers of units that are not below the amounts; infinite ones stay."""
    return _toward(values, _decimals_of(unit), True)


def units_below(values: Floats, unit: float) -> Floats:
    """The largest whole numbers of units that are not above the amounts; infinite ones stay."""
    return _toward(values, _decimals_of(unit), False)


def _toward(values: Floats, decimals: int, up: bool, others: Floats | float = 0.0) -> Floats:
    """The next whole numbers of units above or below the values, those that they are up to noise themselves."""
    values, sign = np.asarray(values, dtype=np.float64), 1.0 if up else -1.0
    whole = nearest_units(values, decimals)
    if (amounts(whole, decimals) == values).all():
        return whole
    with np.errstate(invalid="ignore"):
        short = ~is_whole(values, whole, decimals, others) & (sign * amounts(whole, decimals) < sign * values)
        return np.where(short, whole + sign, whole)


def _decimals_of(unit: float) -> int:
    return round(-log10(unit))


# ---------------------------------------------------------------------- what does not fit


def finest_decimals(largest: float) -> int | None:
    """The most decimals with which a cell of this size is below 2^52 units; None if it is not without any."""
    fitting = [d for d in range(EXACT_POWER + 1) if largest * 10.0**d < LARGEST_UNITS]
    return fitting[-1] if fitting else None


def checked_units(
    values: Floats, decimals: int, label: Callable[[int], str], *, exact: bool = True, advice: str = ""
) -> Ints:
    """The values in whole units; an `InputError` lists the cells that have too many digits or (`exact`) decimals."""
    whole = nearest_units(values, decimals)
    large = ~(np.abs(whole) < LARGEST_UNITS)
    unit = f"the data unit, {unit_of(decimals):g}"
    faults = [f"cell {label(cell)}: too many digits from its first one down to {unit}" for cell in _at(large)]
    if faults:
        finest = finest_decimals(float(np.abs(values).max()))
        words = (
            "Use a larger unit of measurement (thousands, millions)."
            if finest is None
            else f"All cells fit with decimals={finest} (a data unit of {unit_of(finest):g}) or fewer."
        )
        raise InputError("Cells", faults, advice=words)
    if exact and not (fits := is_whole(values, whole, decimals)).all():
        faults = [f"cell {label(cell)}: it is no whole multiple of {unit}" for cell in _at(~fits)]
        raise InputError("Cells", faults, advice=advice)
    return np.asarray(whole, dtype=np.int64)


def _at(cells: Bools) -> Iterable[int]:
    return np.flatnonzero(cells).tolist()


# ---------------------------------------------------------------------- equations


def residuals(matrix: csr_array, rhs: Floats, units: Ints, decimals: int) -> Floats:
    """matrix @ units - rhs in data units: zero exactly where an equation holds.

    Whole coefficients and short decimals (0.5, 1.19, 1/3) are added up in 64 bits, all others as fractions of the
    decimals that they stand for. A right-hand side may have the float noise of the sum it was computed as.
    """
    with np.errstate(invalid="ignore", over="ignore"):  # coefficients may be as large as floats are
        rows, factor = _whole_rows(matrix)
    size = abs(rows) @ np.abs(units).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        right = nearest_units(rhs * factor, decimals)
        noise = amounts(np.maximum(size, np.abs(right)), decimals)
        fits = is_whole(rhs * factor, right, decimals, noise) & (np.abs(right) < LARGEST_SUM)
    good = (factor > 0) & fits & (size < LARGEST_SUM)
    data = np.where(np.abs(rows.data) < LARGEST_SUM, rows.data, 0.0).astype(np.int64)
    sums = csr_array((data, rows.indices, rows.indptr), shape=rows.shape) @ units
    found = (sums - np.where(good, right, 0.0).astype(np.int64)) / np.maximum(factor, 1.0)
    for row in _at(~good):
        exact = _exact_residual(matrix, float(rhs[row]), units, decimals, row)
        found[row] = float(max(Fraction(-LARGEST_RESIDUAL), min(exact, Fraction(LARGEST_RESIDUAL))))
    return np.asarray(found, dtype=np.float64)


def _whole_rows(matrix: csr_array) -> tuple[csr_array, Floats]:
    """The matrix with each row times the smallest factor that makes it whole; factor 0 (and row 0) where none does."""
    factor = np.ones(matrix.shape[0])
    of = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    data, open_ = matrix.data, _rows_with(_fractional(matrix.data), of, matrix.shape[0])
    for multiplier in ROW_FACTORS if open_.any() else ():
        still = open_[of] & _fractional(matrix.data * multiplier)
        done = open_ & ~_rows_with(still, of, matrix.shape[0])
        factor[done], open_ = multiplier, open_ & ~done
    factor[open_] = 0.0
    data = np.rint(data * factor[of])
    return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape), factor


def _fractional(numbers: Floats) -> Bools:
    return np.asarray(np.abs(numbers - np.rint(numbers)) > FLOAT_NOISE * np.abs(numbers))


def _rows_with(entries: Bools, of: Ints, count: int) -> Bools:
    return np.bincount(of[entries], minlength=count) > 0


def _exact_residual(matrix: csr_array, rhs: float, units: Ints, decimals: int, row: int) -> Fraction:
    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    total = Fraction(-_decimal(rhs) * 10**decimals)
    for coefficient, whole in zip(matrix.data[part], units[matrix.indices[part]], strict=True):
        total = total + _decimal(float(coefficient)) * int(whole)
    return Fraction(total)


def _decimal(number: float) -> Fraction:
    """`exact_number` of a finite float; an integer itself, of any size."""
    return Fraction(number) if number.is_integer() else Fraction(exact_number(number))
