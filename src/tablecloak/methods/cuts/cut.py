"""Rows that every safe pattern satisfies, sum_i c_i x_i >= 1 over cells that may be hidden, and how to sharpen them.

An attacker's bound on a level L of cell p is a sum over the cells that may deviate (capacity row, `capacity`):

    sum_i c_i x_i >= L,   c_i >= 0: how much cell i can carry for p when it is hidden.

Sharpened with integer x (algorithms 3.2 and 3.4 of our notes; Fischetti & Salazar 2001):

- *residual*: cells F that are hidden anyway carry their share, r = L - c(F) remains;
- *truncation*: min(c_i, r), then everything divided by r;
- *cover*: any further set U may be moved to F, as if hidden: r' = r - c(U) > 0, min(c_i, r') / r' over the rest;
- *rounding* (Chvatal-Gomory): for any d > 0, sum ceil(c_i / d) x_i >= ceil(r / d).

All of it holds for what is computed in floats: residuals are rounded down by the error of their sum and quotients up.
On tables in whole data units the sums themselves are exact (`data_units`, `attacker.multipliers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints

TINY = 1e-9
"""A residual below this share of a level asks nothing more; cells that carry less than this share of it are taken for
hidden."""
EPSILON = 2.0**-52
"""The relative error of one operation in floats, twice."""
LEAST_REST = 1e-6
"""Covers leave at least this share of a row."""
MOST_COVERED = 40
"""How many cells a cover is tried with."""
MOST_DIVISORS = 12


@dataclass(frozen=True, eq=False)
class Cut:
    """sum of coefficients[i] * x[cells[i]] >= rhs."""

    cells: Ints
    coefficients: Floats
    rhs: float
    kind: str

    def violation(self, x: Floats) -> float:
        """By how much the point x misses the row."""
        return self.rhs - float(self.coefficients @ x[self.cells])

    @property
    def key(self) -> tuple[bytes, bytes, float]:
        """The same for rows that say the same."""
        return self.cells.tobytes(), np.round(self.coefficients, 9).tobytes(), self.rhs


def matrix_of(rows: Sequence[Cut], size: int) -> csr_array:
    """Rows over so many cells."""
    ends = np.cumsum([0, *(row.cells.size for row in rows)])
    empty = np.zeros(0)
    cells = np.concatenate([empty.astype(np.int64), *(row.cells for row in rows)])
    data = np.concatenate([empty, *(row.coefficients for row in rows)])
    return csr_array((data, cells, ends), shape=(len(rows), size))


def capacity_cut(
    carried: Floats, level: float, hidden: Bools, allowed: Bools, only_if: int | None = None
) -> Cut | None:
    """The row sum carried_i x_i >= level, by residual and truncation; None if the hidden cells meet it anyway.

    `carried` has an entry a cell (infinite: any amount). `hidden` are hidden in every pattern, `allowed` may be.
    With `only_if` the level is asked only if that cell is hidden: sum carried_i x_i >= level x_s.
    A row without cells cannot be met: the level is infeasible.
    """
    own = 0.0 if only_if is None else float(carried[only_if])
    rest = _rest(level, carried[hidden], own)
    used = (carried > TINY * rest) & allowed & ~hidden
    rest = _rest(level, carried[hidden | (allowed & ~used)], own)
    if not rest > TINY * level:
        return None
    if only_if is None:
        cells = np.flatnonzero(used)
        return Cut(cells, _share(carried[cells], rest), 1.0, "capacity")
    used[only_if] = True
    cells = np.flatnonzero(used)
    coefficients = _share(carried[cells], rest)
    coefficients[np.searchsorted(cells, only_if)] = -1.0
    return Cut(cells, coefficients, 0.0, "conditional")


def _rest(level: float, carried: Floats, more: float = 0.0) -> float:
    """What a level asks beyond what is carried, rounded down by what the sum may be wrong."""
    total = float(carried.sum()) + more
    return level - total - (carried.size + 2) * EPSILON * min(total, level)


def _share(carried: Floats, rest: float) -> Floats:
    """What each cell carries as a share of the rest, at most 1, rounded up."""
    return np.minimum(carried / rest * (1 + 2 * EPSILON), 1.0)


def strengthened(row: Cut, x: Floats, least: float) -> list[Cut]:
    """Covers and roundings of a capacity row or a cover that the point x misses by at least `least`."""
    if row.kind not in ("capacity", "cover"):
        return []
    found = []
    cover = _cover(row, x)
    for base in (row, cover):
        if base is not None:
            found += [base, _rounded(base, x)] if base is cover else [_rounded(base, x)]
    return [other for other in found if other is not None and other.violation(x) > least]


def covered(row: Cut, taken: Bools) -> Cut | None:
    """The cover of a capacity row with these of its cells moved to those that are hidden anyway; None: they suffice."""
    rest = _rest(row.rhs, row.coefficients[taken])
    if row.kind != "capacity" or rest < LEAST_REST:
        return None
    return Cut(row.cells[~taken], _share(row.coefficients[~taken], rest), 1.0, "cover")


def no_good_cut(
    carried: Floats, level: float, hidden: Bools, allowed: Bools, only_if: int | None = None
) -> Cut | None:
    """For hidden cells that carry too little for a level: one more that carries anything must be hidden.

    The cover with all cells that are hidden now; unlike the row itself it is missed by a whole unit. None if what they
    carry meets the level, or does so up to the rounding error of the sum. `only_if` as in `capacity_cut`.
    """
    if not _rest(level, carried[hidden]) > 0.0:
        return None
    cells = np.flatnonzero((carried > 0.0) & allowed & ~hidden)
    if only_if is None:
        return Cut(cells, np.ones(cells.size), 1.0, "no good")
    both = np.sort(np.append(cells, only_if))
    return Cut(both, np.where(both == only_if, -1.0, 1.0), 0.0, "no good")


def _cover(row: Cut, x: Floats) -> Cut | None:
    """The most violated row that comes of moving cells with large x to those that are hidden anyway."""
    at = x[row.cells]
    order = np.argsort(-at, kind="stable")[:MOST_COVERED]
    order = order[at[order] > 0.5]
    rest = 1.0 - np.cumsum(row.coefficients[order]) - 2 * (order.size + 1) * EPSILON
    best, misses = None, max(row.violation(x), 0.0) + 1e-6
    for count in np.flatnonzero(rest > LEAST_REST):
        moved = order[: count + 1]
        kept = np.ones(row.cells.size, dtype=bool)
        kept[moved] = False
        coefficients = _share(row.coefficients[kept], float(rest[count]))
        missing = 1.0 - float(coefficients @ at[kept])
        if missing > misses:
            best, misses = Cut(row.cells[kept], coefficients, 1.0, "cover"), missing
    return best


def _rounded(row: Cut, x: Floats) -> Cut | None:
    """The most violated Chvatal-Gomory rounding over a few divisors.

    Divisors are a little larger than a coefficient, so that its multiples are not rounded up for noise.
    """
    at = x[row.cells]
    inside = row.coefficients[(at > 1e-6) & (row.coefficients < 1.0 - 1e-9)]
    divisors = np.unique(np.round(inside, 12))[::-1][:MOST_DIVISORS]
    best, misses = None, max(row.violation(x), 0.0) + 1e-6
    for divisor in divisors * (1.0 + TINY):
        right = float(np.ceil(1.0 / divisor * (1 - 2 * EPSILON)))
        coefficients = np.minimum(np.ceil(row.coefficients / divisor * (1 + 2 * EPSILON)), right) / right
        missing = 1.0 - float(coefficients @ at)
        if missing > misses:
            best, misses = Cut(row.cells, coefficients, 1.0, "rounding"), missing
    return best
