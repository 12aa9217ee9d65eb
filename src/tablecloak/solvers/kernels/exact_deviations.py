"""Compiled kernels about exact deviations: rounding, mirror images, credit, bounds by multipliers, corrections.

Matrices are given by columns as in `tablecloak.solvers.kernels.presolve`, with whole coefficients. Whole numbers below
2^53 are exact in floats, sums below 2^62 in int64; what does not fit is left to the caller, which computes with longer
numbers.

Importing this module imports numba and compiles the kernels (seconds, once) or loads them from numba's cache,
so nothing imports it at the top of a file. Compiled code checks no index: callers do.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, float64, int64, types, void

from tablecloak.arrays import Codes, Floats, Ints
from tablecloak.solvers.kernels.compiling import compiled, floats_type, ints_type, longs_type

EXACT, SUMMABLE = 2.0**53, 2.0**62
NEARLY_WHOLE = 0.01
"""Amounts this near to whole numbers are tried as these."""
PARTS = 1e7
"""Fractional parts are distinguished up to one in this."""
SAMPLES = 24
"""Fractional parts, of all that occur, whose common denominator is sought (about)."""


@compiled(floats_type(floats_type, int64, longs_type, float64))
def folded(values: Floats, count: int, asked: Ints, scale: float) -> Floats:
    """The amounts of columns that are split into [up, down, further up, further down]; see `presolve.unfold`."""
    amount = np.empty(count)
    for column in range(count):
        amount[column] = values[column] - values[count + column]
    for place in range(asked.size):
        amount[asked[place]] += values[2 * count + place] - values[2 * count + asked.size + place]
    for column in range(count):
        amount[column] *= scale
    return amount


_rounded = types.Tuple((boolean, longs_type))


@compiled(
    _rounded(ints_type, ints_type, longs_type, int64, float64, floats_type, floats_type, floats_type),
)
def rounded(
    start: Codes, row: Codes, data: Ints, rows: int, most: float, amount: Floats, low: Floats, high: Floats
) -> tuple[bool, Ints]:
    """Whether the whole numbers next to the amounts keep all rows and low..high, and these numbers.

    `most` is the largest sum of a row for amounts of at most 1.
    """
    whole, largest = np.zeros(amount.size, np.int64), 0.0
    for column in range(amount.size):
        near = min(max(amount[column], low[column]), high[column])
        number = np.rint(near)
        if not (abs(near - number) < NEARLY_WHOLE and low[column] <= number <= high[column]):
            return False, whole
        largest = max(largest, abs(number))
        if largest >= EXACT:
            return False, whole
        whole[column] = np.int64(number)
    if most * largest >= SUMMABLE:
        return False, whole
    total = np.zeros(rows, np.int64)
    for column in range(whole.size):
        if whole[column] != 0:
            for entry in range(start[column], start[column + 1]):
                total[row[entry]] += data[entry] * whole[column]
    return not total.any(), whole


_mirror = types.Tuple((longs_type, int64))


@compiled(_mirror(longs_type, int64, floats_type, floats_type))
def mirrored(numerator: Ints, denominator: int, low: Floats, high: Floats) -> tuple[Ints, int]:
    """The mirror image of a deviation within low..high, as long as numbers allow, and its denominator.

    It is multiplied by times / parts, the least of bound / amount; a denominator of zero where it cannot move.
    """
    mirror, least, largest, wall, parts = np.zeros(numerator.size, np.int64), np.inf, 0.0, 0.0, 1.0
    for column in range(numerator.size):
        if numerator[column] != 0:
            amount = float(abs(numerator[column]))
            bound = -low[column] if numerator[column] > 0 else high[column]
            largest = max(largest, amount)
            if bound / amount < least:
                least, wall, parts = bound / amount, bound, amount
    if not 0.0 < least < np.inf:
        return mirror, 0
    if least >= 1.0 or wall * largest >= EXACT or denominator * parts >= EXACT:
        wall, parts = np.floor(min(least, (EXACT - 1.0) / largest)), 1.0
    if wall < 1.0:
        return mirror, 0
    times, common = int(wall), denominator * int(parts)
    divisor = common
    for column in range(numerator.size):
        if numerator[column] != 0:
            bound = -low[column] if numerator[column] > 0 else high[column]
            mirror[column] = -numerator[column] * times
            if abs(mirror[column]) > bound * parts:  # exact: a product from 2^53 on is larger in any case
                return mirror, 0
            one, other = divisor, abs(mirror[column])
            while other != 0 and one != 1:
                one, other = other, one % other
            divisor = one
    if divisor > 1:
        for column in range(mirror.size):
            mirror[column] //= divisor
    return mirror, common // divisor


@compiled(void(longs_type, floats_type, longs_type, int64, floats_type, floats_type))
def credit(group: Ints, ratio: Floats, numerator: Ints, denominator: int, down: Floats, up: Floats) -> None:
    """Cells have gone down and up at least as far, in whole units, as a deviation of their columns takes them."""
    for cell in range(group.size):
        moved = np.int64(ratio[cell]) * numerator[group[cell]]
        up[cell] = max(up[cell], float(moved // denominator))
        down[cell] = max(down[cell], float(-moved // denominator))


_multipliers = types.Tuple((boolean, float64))


@compiled(
    _multipliers(
        ints_type, ints_type, longs_type, float64, floats_type, int64, int64, floats_type, floats_type
    )
)
def whole_bound(
    start: Codes,
    row: Codes,
    data: Ints,
    most: float,
    duals: Floats,
    column: int,
    sign: int,
    low: Floats,
    high: Floats,
) -> tuple[bool, float]:
    """The most that sign * d[column] can be by multipliers that are nearly whole; false where they are too large.

    It is infinite where a column of weight has no bound. `most` is the largest weight for multipliers of at most 1.
    """
    factor, largest = np.empty(duals.size, np.int64), 0.0
    for equation in range(duals.size):
        number = np.rint(duals[equation])
        largest = max(largest, abs(number))
        if not largest < EXACT:
            return False, 0.0
        factor[equation] = np.int64(number)
    if most * (largest + 1.0) >= SUMMABLE:
        return False, 0.0
    total = 0.0
    for other in range(low.size):
        weight = sign if other == column else 0
        for entry in range(start[other], start[other + 1]):
            weight += data[entry] * factor[row[entry]]
        if weight != 0:
            total += abs(weight) * (high[other] if weight > 0 else -low[other])
    return total < EXACT or total == np.inf, total


@compiled(int64(int64, int64, int64))
def _denominator(numerator: int, denominator: int, largest: int) -> int:
    """The denominator, at most `largest`, of the fraction next to numerator / denominator (continued fractions)."""
    above, below, above_before, below_before = 1, 0, 0, 1
    top, bottom = numerator, denominator
    while bottom != 0:
        step = top // bottom
        if below_before + step * below > largest:
            times = (largest - below_before) // below
            other, under = above_before + times * above, below_before + times * below
            near = abs(above * denominator - numerator * below) * under
            return below if near <= abs(other * denominator - numerator * under) * below else under
        above, above_before = above_before + step * above, above
        below, below_before = below_before + step * below, below
        top, bottom = bottom, top - step * bottom
    return below


_common = types.Tuple((boolean, int64))


@compiled(_common(floats_type, float64, float64, int64, int64))
def common_denominator(
    amount: Floats, noise: float, relative: float, largest: int, most: int
) -> tuple[bool, int]:
    """Whether all amounts are nearly whole, and a denominator with which they are; 0 if there is no small one.

    `noise`, `relative`: what is this near to a whole number, also relative to itself, is that number. `largest`: the
    largest denominator of an amount. `most`: the largest common one.
    """
    whole, parts, count = True, np.empty(amount.size, np.int64), 0
    for place in range(amount.size):
        off = abs(amount[place] - np.rint(amount[place]))
        whole &= off < NEARLY_WHOLE
        if off > max(noise, relative * abs(amount[place])):
            parts[count] = np.int64(np.rint(off * PARTS))
            count += 1
    if count == 0:
        return whole, 1
    different = np.unique(parts[:count])
    common = 1
    for place in range(0, different.size, max(1, different.size // SAMPLES)):
        own = _denominator(different[place], int(PARTS), largest)
        one, other = common, own
        while other != 0:
            one, other = other, one % other
        common *= own // one
        if common > most:
            return whole, 0
    return whole, common


@compiled(void(ints_type, ints_type, floats_type, longs_type, floats_type, floats_type))
def _add(start: Codes, row: Codes, data: Floats, columns: Ints, amount: Floats, total: Floats) -> None:
    """Add the sums of the amounts of some columns to the totals of the rows."""
    for place in range(columns.size):
        for entry in range(start[columns[place]], start[columns[place] + 1]):
            total[row[entry]] += data[entry] * amount[place]


@compiled(void(ints_type, ints_type, floats_type, longs_type, floats_type, floats_type))
def _across(start: Codes, row: Codes, data: Floats, columns: Ints, factor: Floats, total: Floats) -> None:
    """Add factor times row, by column, to the totals of some columns."""
    for place in range(columns.size):
        for entry in range(start[columns[place]], start[columns[place] + 1]):
            total[place] += data[entry] * factor[row[entry]]


@compiled(float64(floats_type))
def _length(vector: Floats) -> float:
    """The Euclidean length."""
    total = 0.0
    for one in vector:
        total += one * one
    return float(np.sqrt(total))


@compiled(
    types.Tuple((float64, floats_type))(
        ints_type, ints_type, floats_type, int64, longs_type, floats_type, int64, float64
    )
)
def correction(
    start: Codes,
    row: Codes,
    data: Floats,
    rows: int,
    moved: Ints,
    amount: Floats,
    steps: int,
    precision: float,
) -> tuple[float, Floats]:
    """The least correction of some columns that undoes the sums of their amounts; before it what is left of these.

    Reference: Paige & Saunders (1982), LSQR: an algorithm for sparse linear equations and sparse least squares.
    """
    fixed = np.zeros(moved.size)
    residual = np.zeros(rows)
    _add(start, row, data, moved, amount, residual)
    left = -residual
    beta = size = _length(left)
    norm = 0.0
    along, step = np.zeros(moved.size), np.zeros(moved.size)
    if beta > 0.0:
        left /= beta
        _across(start, row, data, moved, left, along)
    alpha = _length(along)
    if alpha > 0.0:
        along /= alpha
        step[:] = along
        rho, phi = alpha, beta
        for _ in range(steps):
            left *= -alpha
            _add(start, row, data, moved, along, left)
            beta = _length(left)
            if beta > 0.0:
                left /= beta
            norm = np.sqrt(norm**2 + alpha**2 + beta**2)
            along *= -beta
            _across(start, row, data, moved, left, along)
            alpha = _length(along)
            if alpha > 0.0:
                along /= alpha
            length = np.sqrt(rho**2 + beta**2)
            cosine, sine = rho / length, beta / length
            fixed += (cosine * phi / length) * step
            step *= -sine * alpha / length
            step += along
            slope = alpha * abs(cosine * sine * phi)
            rho, phi = -cosine * alpha, sine * phi
            near = phi <= precision * (size + norm * _length(fixed))
            if near or slope <= precision * norm * phi or alpha == 0.0:
                break
    _add(start, row, data, moved, fixed, residual)
    worst = 0.0
    for one in residual:
        worst = max(worst, abs(one))
    return worst, fixed
