"""Multipliers of the equations as fractions of small numbers, and what they prove, without rounding errors.

Any multipliers y of the equations M d = 0 prove  +-d_p = sum_i rho_i d_i,  rho_i = +-[i = p] - (M'y)_i  (`oracle`), so
those of a solver are first replaced by simple ones nearby:  y = k / q  with integers k and one denominator q. Where
the coefficients of the equations are integers, q rho = +-q [i = p] - M'k is a sum of integers and exact in floats; what
cancels is zero. Elsewhere the rounding error of the sum is added to |rho|.

Reference: Neumaier & Shcherbina (2004), Safe bounds in linear and mixed-integer linear programming.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker.system import entry_ranges
from tablecloak.attacker.tolerances import MACHINE_EPSILON, MULTIPLIER_NEAR_FRACTION


@dataclass(frozen=True)
class MultiplierSettings:
    """Denominators of multipliers: small ones make short and exact coefficients."""

    common: int = 840
    """The denominator that is tried first: the least common multiple of the numbers up to 8. Untested default."""
    max_denominator: int = 1000
    """Maximum denominator of one multiplier. Untested default."""
    max_common: int = 10**7
    """Maximum common denominator of all multipliers. Untested default."""
    grid: float = 2.0**30
    """The denominator where there are no simple fractions: sums of some thousand multipliers stay exact."""


class Fractions(NamedTuple):
    """numerators / denominator, both integers in floats."""

    numerators: Floats
    denominator: float


def simplified(multipliers: Floats, settings: MultiplierSettings = MultiplierSettings()) -> Fractions:
    """Fractions of small numbers near these multipliers, with one denominator."""
    common = settings.common
    scaled = multipliers * common
    whole = np.rint(scaled)
    far = np.abs(scaled - whole) >= MULTIPLIER_NEAR_FRACTION * common
    if not far.any():
        return Fractions(whole, float(common))
    near = [
        Fraction(value).limit_denominator(settings.max_denominator) for value in multipliers[far].tolist()
    ]
    larger = lcm(common, *(value.denominator for value in near))
    if larger > settings.max_common:
        return Fractions(np.rint(multipliers * settings.grid), settings.grid)
    numerators = whole * (larger // common)
    numerators[far] = [float(value * larger) for value in near]
    return Fractions(numerators, float(larger))


class Combination(NamedTuple):
    """A deviation as a combination of others: +-d_p = sum of rho[i] * d[cells[i]], cells sorted, rho not zero."""

    cells: Ints
    rho: Floats


def combination(equations: csr_array, which: Ints, y: Fractions, cell: int, upward: bool) -> Combination:
    """rho = +-[i = p] - M'y for multipliers of some equations, safe to use.

    Exact where the coefficients are integers; elsewhere not smaller in size than it is without rounding errors.
    """
    used = y.numerators != 0.0
    start = equations.indptr[which[used]]
    count = equations.indptr[which[used] + 1] - start
    place = entry_ranges(start, count)
    coefficients = equations.data[place]
    cells = np.append(equations.indices[place].astype(np.int64), cell)
    terms = np.append(
        -coefficients * np.repeat(y.numerators[used], count), y.denominator if upward else -y.denominator
    )
    every, at = np.unique(cells, return_inverse=True)
    rho = np.bincount(at, weights=terms, minlength=every.size)
    if not (coefficients == np.rint(coefficients)).all():
        size = np.bincount(at, weights=np.abs(terms), minlength=every.size)
        error = np.bincount(at, minlength=every.size) * MACHINE_EPSILON * size
        rho = np.where(rho < 0, rho - error, rho + error)
    kept = rho != 0.0
    return Combination(every[kept], rho[kept] / y.denominator)
