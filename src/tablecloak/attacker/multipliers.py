"""Multipliers of the equations as fractions of small numbers, and what they prove, without rounding errors.

Any multipliers y prove  d_p = sum_i rho_i d_i  with  rho_i = [i = p] - (M'y)_i  (`unified.protection_cuts`,
`cuts.capacity`), so those of a solver are first replaced by simple ones nearby:  y = k / q  with whole numbers k and
one denominator q. Where the coefficients of the equations are whole numbers, q rho = q [i = p] - M'k is a sum of whole
numbers and exact in floats; what cancels is zero, and nothing has to be taken for noise. Elsewhere the rounding error
of the sum is added to |rho|.

Reference: Neumaier & Shcherbina (2004), Safe bounds in linear and mixed-integer linear programming.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Any, NamedTuple

import numpy as np

from tablecloak.arrays import Floats

COMMON = 840
"""The denominator that is tried first: the least common multiple of the numbers up to 8."""
NEAR = 1e-5
"""Multipliers are replaced by fractions that are this near."""
MOST_DENOMINATOR, MOST_COMMON = 1000, 10**7
"""The largest denominators of one multiplier and of all of them together."""
GRID = 2.0**30
"""Where there are no simple fractions, the denominator: sums of some thousand multipliers stay exact."""
EPSILON = 2.0**-52


class Fractions(NamedTuple):
    """numerators / denominator, both whole numbers in floats."""

    numerators: Floats
    denominator: float


def simplified(multipliers: Floats) -> Fractions:
    """Fractions of small numbers near these multipliers, with one denominator."""
    scaled = multipliers * COMMON
    whole = np.rint(scaled)
    far = np.abs(scaled - whole) >= NEAR * COMMON
    if not far.any():
        return Fractions(whole, float(COMMON))
    near = [Fraction(value).limit_denominator(MOST_DENOMINATOR) for value in multipliers[far].tolist()]
    common = lcm(COMMON, *(value.denominator for value in near))
    if common > MOST_COMMON:
        return Fractions(np.rint(multipliers * GRID), GRID)
    numerators = whole * (common // COMMON)
    numerators[far] = [float(value * common) for value in near]
    return Fractions(numerators, float(common))


def residual(transposed: Any, y: Fractions, cell: int, upward: bool) -> Floats:
    """rho = +-[i = p] - M'y by cell, safe to use: exact where coefficients are whole, else not smaller in size."""
    rho = -(transposed @ y.numerators)
    rho[cell] += y.denominator if upward else -y.denominator
    if not (transposed.data == np.rint(transposed.data)).all():
        most = abs(transposed) @ np.abs(y.numerators)
        most[cell] += y.denominator
        error = np.diff(transposed.indptr) * EPSILON * most
        rho = np.where(rho < 0, rho - error, rho + error)
    return np.asarray(rho / y.denominator)
