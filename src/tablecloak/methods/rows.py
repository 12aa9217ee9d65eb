"""Rows that every safe pattern satisfies, sum_i c_i x_i >= 1 over cells that may be hidden, and how to sharpen them.

An attacker's bound on a level L of cell p is a sum over the cells that may deviate (capacity row, `separation`):

    sum_i c_i x_i >= L,   c_i >= 0: how much cell i can carry for p when it is hidden.

Sharpened with integer x (algorithms 3.2 and 3.4 of our notes; Fischetti & Salazar 2001):

- *residual*: cells F that are hidden anyway carry their share, r = L - c(F) remains;
- *truncation*: min(c_i, r), then everything divided by r;
- *cover*: any further set U may be moved to F, as if hidden: r' = r - c(U) > 0, min(c_i, r') / r' over the rest;
- *rounding* (Chvatal-Gomory): for any d > 0, sum ceil(c_i / d) x_i >= ceil(r / d).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints

TINY = 1e-9
"""A residual below this share of a level asks nothing more."""
MOST_COVERED = 40
"""How many cells a cover is tried with."""
MOST_DIVISORS = 12


@dataclass(frozen=True, eq=False)
class Row:
    """sum of coefficients[i] * x[cells[i]] >= rhs."""

    cells: Ints
    coefficients: Floats
    rhs: float
    kind: str

    def shortfall(self, x: Floats) -> float:
        """By how much the point x misses the row."""
        return self.rhs - float(self.coefficients @ x[self.cells])

    @property
    def key(self) -> tuple[bytes, bytes, float]:
        """The same for rows that say the same."""
        return self.cells.tobytes(), np.round(self.coefficients, 9).tobytes(), self.rhs


def matrix_of(rows: Sequence[Row], size: int) -> csr_array:
    """Rows over so many cells."""
    ends = np.cumsum([0, *(row.cells.size for row in rows)])
    empty = np.zeros(0)
    cells = np.concatenate([empty.astype(np.int64), *(row.cells for row in rows)])
    data = np.concatenate([empty, *(row.coefficients for row in rows)])
    return csr_array((data, cells, ends), shape=(len(rows), size))


def capacity_row(
    carried: Floats, level: float, hidden: Bools, allowed: Bools, only_if: int | None = None
) -> Row | None:
    """The row sum carried_i x_i >= level, by residual and truncation; None if the hidden cells meet it anyway.

    `carried` has an entry a cell (infinite: any amount). `hidden` are hidden in every pattern, `allowed` may be.
    With `only_if` the level is asked only if that cell is hidden: sum carried_i x_i >= level x_s.
    A row without cells cannot be met: the level is infeasible.
    """
    rest = level - float(carried[hidden].sum()) - (0.0 if only_if is None else float(carried[only_if]))
    if not rest > TINY * level:
        return None
    used = (carried > TINY * rest) & allowed & ~hidden
    if only_if is None:
        cells = np.flatnonzero(used)
        return Row(cells, np.minimum(carried[cells] / rest, 1.0), 1.0, "capacity")
    used[only_if] = True
    cells = np.flatnonzero(used)
    coefficients = np.minimum(carried[cells] / rest, 1.0)
    coefficients[np.searchsorted(cells, only_if)] = -1.0
    return Row(cells, coefficients, 0.0, "conditional")


def sharper(row: Row, x: Floats, least: float) -> list[Row]:
    """Covers and roundings of a capacity row or a cover that the point x misses by at least `least`."""
    if row.kind not in ("capacity", "cover"):
        return []
    found = []
    cover = _cover(row, x)
    for base in (row, cover):
        if base is not None:
            found += [base, _rounded(base, x)] if base is cover else [_rounded(base, x)]
    return [other for other in found if other is not None and other.shortfall(x) > least]


def covered(row: Row, taken: Bools) -> Row | None:
    """The cover of a capacity row with these of its cells moved to those that are hidden anyway; None: they suffice."""
    rest = row.rhs - float(row.coefficients[taken].sum())
    if row.kind != "capacity" or rest < 1e-6:
        return None
    return Row(row.cells[~taken], np.minimum(row.coefficients[~taken] / rest, 1.0), 1.0, "cover")


def no_good(row: Row, x: Floats) -> Row:
    """At a whole point that misses a capacity row: one cell of the row that is published now must be hidden.

    The cover with all cells that are hidden now; unlike the row itself it is missed by a whole unit.
    """
    taken = (x[row.cells] < 0.5) | (row.coefficients < 0)
    return Row(row.cells[taken], np.sign(row.coefficients[taken]), row.rhs, row.kind)


def _cover(row: Row, x: Floats) -> Row | None:
    """The most violated row that comes of moving cells with large x to those that are hidden anyway."""
    at = x[row.cells]
    order = np.argsort(-at, kind="stable")[:MOST_COVERED]
    order = order[at[order] > 0.5]
    rest = 1.0 - np.cumsum(row.coefficients[order])
    best, misses = None, max(row.shortfall(x), 0.0) + 1e-6
    for count in np.flatnonzero(rest > 1e-6):
        moved = order[: count + 1]
        kept = np.ones(row.cells.size, dtype=bool)
        kept[moved] = False
        coefficients = np.minimum(row.coefficients[kept] / rest[count], 1.0)
        missing = 1.0 - float(coefficients @ at[kept])
        if missing > misses:
            best, misses = Row(row.cells[kept], coefficients, 1.0, "cover"), missing
    return best


def _rounded(row: Row, x: Floats) -> Row | None:
    """The most violated Chvatal-Gomory rounding over a few divisors."""
    at = x[row.cells]
    inside = row.coefficients[(at > 1e-6) & (row.coefficients < 1.0 - 1e-9)]
    divisors = np.unique(np.round(inside, 12))[::-1][:MOST_DIVISORS]
    best, misses = None, max(row.shortfall(x), 0.0) + 1e-6
    for divisor in divisors:
        right = float(np.ceil(1.0 / divisor - 1e-9))
        coefficients = np.minimum(np.ceil(row.coefficients / divisor - 1e-9), right) / right
        missing = 1.0 - float(coefficients @ at)
        if missing > misses:
            best, misses = Row(row.cells, coefficients, 1.0, "rounding"), missing
    return best
