"""Whole numbers of data units: every value, level and bound is counted in them, so that nothing is lost in sums.

A float stands for the decimal next to it: 0.3 / 0.1 is three units, although the quotient of the floats is a little
less. Beyond that noise a level is rounded up, and a bound inward: who knows that values are whole units knows that
much.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Bools, Floats

NEAR_WHOLE = 1e-9
"""A number of units this near to a whole number is that number: what is left of a decimal in a float."""
NOISE_SPACINGS = 2
"""The same in spacings of floats of that size: a decimal rounded to a float, then multiplied."""
LARGEST_NOISE = 0.25
"""Beyond this share of a unit nothing is noise, however large the number."""


def whole_units(amounts: Floats, unit: float) -> Floats:
    """The nearest whole numbers of units; infinite amounts stay."""
    return np.asarray(np.rint(_numbers(amounts, unit)))


def units_above(amounts: Floats, unit: float) -> Floats:
    """The least whole numbers of units that are not below the amounts; infinite ones stay."""
    number, whole, noise = _near(amounts, unit)
    return np.asarray(np.where(noise, whole, np.ceil(number)))


def units_below(amounts: Floats, unit: float) -> Floats:
    """The largest whole numbers of units that are not above the amounts; infinite ones stay."""
    number, whole, noise = _near(amounts, unit)
    return np.asarray(np.where(noise, whole, np.floor(number)))


def _near(amounts: Floats, unit: float) -> tuple[Floats, Floats, Bools]:
    """The amounts in units, rounded, and where the two differ by noise only."""
    number = _numbers(amounts, unit)
    whole = np.rint(number)
    with np.errstate(invalid="ignore"):
        noise = np.minimum(np.maximum(NEAR_WHOLE, NOISE_SPACINGS * np.spacing(np.abs(number))), LARGEST_NOISE)
        return number, whole, np.asarray(np.abs(number - whole) <= noise)


def _numbers(amounts: Floats, unit: float) -> Floats:
    """Amounts in units: times a power of ten, which is exact where the unit itself is not."""
    given = np.asarray(amounts, dtype=np.float64)
    return given * float(np.rint(1.0 / unit)) if unit < 1.0 else given / unit
