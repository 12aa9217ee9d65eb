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
FLOAT_NOISE = 4 * float(np.finfo(np.float64).eps)
"""The same, relative to the number itself."""


def whole_units(amounts: Floats, unit: float) -> Floats:
    """The nearest whole numbers of units; infinite amounts stay."""
    return np.asarray(np.rint(np.asarray(amounts) / unit))


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
    number = np.asarray(amounts, dtype=np.float64) / unit
    whole = np.rint(number)
    with np.errstate(invalid="ignore"):
        noise = np.abs(number - whole) <= np.maximum(NEAR_WHOLE, FLOAT_NOISE * np.abs(number))
    return number, whole, noise
