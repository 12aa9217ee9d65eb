"""Capacity cuts of many requirements at once: rows of a dense matrix over the variables, with right-hand side 1.

The inequalities are those of `cuts.cut`, with the same directed rounding: residual and truncation, covers, roundings.
On tables of some hundred cells a row has hardly more entries than a sparse one, and all rows take one pass.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import MACHINE_EPSILON, RESIDUAL_MET, STRENGTHENED
from tablecloak.methods.branch_and_cut.settings import SmallSettings


def capacity_rows(capacities: Floats, fixed: Floats, terms: int, level: Floats) -> tuple[Floats, Bools]:
    """The cuts sum capacities_i x_i >= level - fixed by residual and truncation, and which of them say anything.

    By row: `capacities` of the variables (at most the level) and `fixed`, those of the cells that are hidden in every
    pattern, a sum of at most `terms`.
    """
    rest = _residual(level, fixed, terms)
    small = capacities <= (RESIDUAL_MET * rest)[:, None]
    rest = _residual(level, fixed + np.where(small, capacities, 0.0).sum(axis=1), terms + capacities.shape[1])
    valid: Bools = rest > RESIDUAL_MET * level
    divisor = np.where(valid, rest, 1.0)[:, None]
    return np.where(small, 0.0, np.minimum(capacities / divisor * (1 + 2 * MACHINE_EPSILON), 1.0)), valid


def _residual(level: Floats, total: Floats, terms: int) -> Floats:
    """What is left of the levels, rounded down by the error of the sums."""
    return level - total - (terms + 2) * MACHINE_EPSILON * np.minimum(total, level)


def strengthened_rows(rows: Floats, x: Floats, least: float, settings: SmallSettings) -> Floats:
    """Capacity cuts with their covers and roundings, as far as x violates them by more than `least`."""
    at = rows @ x
    violated = at < 1.0 - least
    rows, at = rows[violated], at[violated]
    if len(rows) == 0:
        return rows
    covers = _covers(rows, x, at, settings)
    if len(covers):
        rows, at = np.concatenate([rows, covers]), np.concatenate([at, covers @ x])
    roundings = _roundings(rows, x, at, settings)
    return np.concatenate([rows, roundings]) if len(roundings) else rows


def covers_of(rows: Floats, taken: Bools, settings: SmallSettings) -> Floats:
    """The covers of capacity cuts with these variables as if hidden; none where they satisfy the cut."""
    rest = _residual(np.ones(len(rows)), rows[:, taken].sum(axis=1), int(taken.sum()))
    left = rest >= settings.min_rest
    covers = np.minimum(rows[left] / rest[left][:, None] * (1 + 2 * MACHINE_EPSILON), 1.0)
    covers[:, taken] = 0.0
    return covers


def no_good_rows(rows: Floats, taken: Bools) -> Floats:
    """For cuts that these variables alone do not satisfy: one more with any coefficient must be hidden."""
    rest = _residual(np.ones(len(rows)), rows[:, taken].sum(axis=1), int(taken.sum()))
    return ((rows[rest > 0.0] > 0.0) & ~taken).astype(np.float64)


def _covers(rows: Floats, x: Floats, at: Floats, settings: SmallSettings) -> Floats:
    """The most violated cover of each cut with cells of large x, where it is violated more than the cut (`at`)."""
    order = np.flatnonzero(x > 0.5)
    if order.size == 0:
        return rows[:0]
    order = order[np.argsort(-x[order], kind="stable")][: settings.max_covered]
    taken = rows[:, order]
    rest = 1.0 - np.cumsum(taken, axis=1) - 2 * (order.size + 1) * MACHINE_EPSILON
    useful = (rest > settings.min_rest) & (taken > 0.0)
    row, count = np.nonzero(useful)
    if row.size == 0:
        return rows[:0]
    every = np.minimum(rows[row] / rest[row, count][:, None] * (1 + 2 * MACHINE_EPSILON), 1.0)
    place = np.full(x.size, order.size)
    place[order] = np.arange(order.size)
    every[place <= count[:, None]] = 0.0
    return _most_violated(every, every @ x, row, at)


def _roundings(rows: Floats, x: Floats, at: Floats, settings: SmallSettings) -> Floats:
    """The most violated Chvatal-Gomory rounding of each cut over a few divisors, where it is violated more than that.

    Divisors are a little larger than a coefficient, so that its multiples are not rounded up for noise.
    """
    inside = np.where((x > STRENGTHENED) & (rows < 1.0 - RESIDUAL_MET), rows, 0.0)
    divisors = -np.sort(-inside, axis=1)[:, : settings.max_divisors]
    row, place = np.nonzero(divisors)
    if row.size == 0:
        return rows[:0]
    divisor = (divisors[row, place] * (1.0 + RESIDUAL_MET))[:, None]
    right = np.ceil(1.0 / divisor * (1 - 2 * MACHINE_EPSILON))
    every = np.minimum(np.ceil(rows[row] / divisor * (1 + 2 * MACHINE_EPSILON)), right) / right
    return _most_violated(every, every @ x, row, at)


def _most_violated(every: Floats, values: Floats, row: Ints, at: Floats) -> Floats:
    """Of the variants of each row (sorted) the one of least value, where that is less than the row's own (`at`)."""
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    least = np.minimum.reduceat(values, starts)
    best = np.flatnonzero(values == np.repeat(least, np.diff(starts, append=row.size)))
    chosen = best[values[best] < at[row[best]] - STRENGTHENED]
    return every[chosen[np.flatnonzero(np.diff(row[chosen], prepend=-1))]]
