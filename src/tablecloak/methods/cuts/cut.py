"""Valid inequalities of cell suppression, sum_i c_i x_i >= 1 over cells that may be hidden, and their strengthening.

An attacker's bound on a level L of cell p is a sum over the cells that may deviate (capacity cut, `capacity`):

    sum_i c_i x_i >= L,   c_i >= 0: the capacity of cell i for p when it is hidden.

Strengthened with integer x (Fischetti & Salazar 2001):

- *residual*: with the capacities of cells F that are hidden in every pattern, r = L - c(F) remains;
- *truncation*: min(c_i, r), then everything divided by r;
- *cover*: any further set U may be moved to F, as if hidden: r' = r - c(U) > 0, min(c_i, r') / r' over the rest;
- *rounding* (Chvatal-Gomory): for any d > 0, sum ceil(c_i / d) x_i >= ceil(r / d).

All of it is valid for what is computed in floats: residuals are rounded down by the error of their sum and quotients
up. On tables in integral data units the sums themselves are exact (`data_units`, `attacker.oracle`).

References: Fischetti & Salazar (2001); Carr, Fleischer, Leung & Phillips (2000) for covers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import MACHINE_EPSILON, RESIDUAL_MET, STRENGTHENED


@dataclass(frozen=True)
class StrengtheningSettings:
    """How many covers and roundings of a cut are tried."""

    min_rest: float = 1e-6
    """Residual of a cover, as a fraction of the cut, below which it is not used: its coefficients would be noise.
    Untested default."""
    max_covered: int = 40
    """Maximum number of cells in a cover. Untested default."""
    max_divisors: int = 12
    """Maximum number of divisors of a rounding. Untested default."""


@dataclass(frozen=True, eq=False)
class Cut:
    """sum of coefficients[i] * x[cells[i]] >= rhs."""

    cells: Ints
    coefficients: Floats
    rhs: float
    kind: str

    def violation(self, x: Floats) -> float:
        """By how much the point x violates the cut; negative where it satisfies it with slack."""
        return self.rhs - float(self.coefficients @ x[self.cells])

    @property
    def key(self) -> tuple[bytes, bytes, float]:
        """Equal for cuts with the same cells and coefficients."""
        return self.cells.tobytes(), np.round(self.coefficients, 9).tobytes(), self.rhs


def matrix_of(cuts: Sequence[Cut], size: int) -> csr_array:
    """The coefficients of cuts, a row each, over this number of cells."""
    ends = np.cumsum([0, *(cut.cells.size for cut in cuts)])
    empty = np.zeros(0)
    cells = np.concatenate([empty.astype(np.int64), *(cut.cells for cut in cuts)])
    data = np.concatenate([empty, *(cut.coefficients for cut in cuts)])
    return csr_array((data, cells, ends), shape=(len(cuts), size))


def capacity_cut(
    capacities: Floats, level: float, hidden: Bools, allowed: Bools, only_if: int | None = None
) -> Cut | None:
    """The cut sum capacities_i x_i >= level, by residual and truncation; None if the hidden cells satisfy it.

    `capacities` has an entry for each cell (infinite: any amount). `hidden` are hidden in every pattern, `allowed` may
    be. With `only_if` the level is required only if that cell is hidden: sum capacities_i x_i >= level x_s.
    A cut without cells cannot be satisfied: the requirement is infeasible.
    """
    own = 0.0 if only_if is None else float(capacities[only_if])
    rest = _rest(level, capacities[hidden], own)
    used = (capacities > RESIDUAL_MET * rest) & allowed & ~hidden
    rest = _rest(level, capacities[hidden | (allowed & ~used)], own)
    if not rest > RESIDUAL_MET * level:
        return None
    if only_if is None:
        cells = np.flatnonzero(used)
        return Cut(cells, _truncated(capacities[cells], rest), 1.0, "capacity")
    used[only_if] = True
    cells = np.flatnonzero(used)
    coefficients = _truncated(capacities[cells], rest)
    coefficients[np.searchsorted(cells, only_if)] = -1.0
    return Cut(cells, coefficients, 0.0, "conditional")


def _rest(level: float, capacities: Floats, more: float = 0.0) -> float:
    """The residual of a level beyond these capacities, rounded down by the error of the sum."""
    total = float(capacities.sum()) + more
    return level - total - (capacities.size + 2) * MACHINE_EPSILON * min(total, level)


def _truncated(capacities: Floats, rest: float) -> Floats:
    """Each capacity as a fraction of the rest, at most 1, rounded up."""
    return np.minimum(capacities / rest * (1 + 2 * MACHINE_EPSILON), 1.0)


def strengthened(
    cut: Cut, x: Floats, least: float, settings: StrengtheningSettings = StrengtheningSettings()
) -> list[Cut]:
    """Covers and roundings of a capacity cut or a cover that the point x violates by more than `least`."""
    if cut.kind not in ("capacity", "cover"):
        return []
    cover = _cover(cut, x, settings)
    found = [_rounded(cut, x, settings)]
    if cover is not None:
        found += [cover, _rounded(cover, x, settings)]
    return [other for other in found if other is not None and other.violation(x) > least]


def covered(cut: Cut, taken: Bools, settings: StrengtheningSettings = StrengtheningSettings()) -> Cut | None:
    """The cover of a capacity cut with these of its cells as if hidden; None if they satisfy it."""
    rest = _rest(cut.rhs, cut.coefficients[taken])
    if cut.kind != "capacity" or rest < settings.min_rest:
        return None
    return Cut(cut.cells[~taken], _truncated(cut.coefficients[~taken], rest), 1.0, "cover")


def no_good_cut(
    capacities: Floats, level: float, hidden: Bools, allowed: Bools, only_if: int | None = None
) -> Cut | None:
    """For hidden cells whose capacities do not meet a level: one more cell with any capacity must be hidden.

    The cover with all cells that are hidden now; unlike the capacity cut it is violated by 1. None if their capacities
    meet the level, or do so within the rounding error of the sum. `only_if` as in `capacity_cut`.
    """
    if not _rest(level, capacities[hidden]) > 0.0:
        return None
    cells = np.flatnonzero((capacities > 0.0) & allowed & ~hidden)
    if only_if is None:
        return Cut(cells, np.ones(cells.size), 1.0, "no good")
    both = np.sort(np.append(cells, only_if))
    return Cut(both, np.where(both == only_if, -1.0, 1.0), 0.0, "no good")


def _cover(cut: Cut, x: Floats, settings: StrengtheningSettings) -> Cut | None:
    """The most violated cover with cells of large x."""
    at = x[cut.cells]
    order = np.argsort(-at, kind="stable")[: settings.max_covered]
    order = order[at[order] > 0.5]
    rest = 1.0 - np.cumsum(cut.coefficients[order]) - 2 * (order.size + 1) * MACHINE_EPSILON
    best, violation = None, max(cut.violation(x), 0.0) + STRENGTHENED
    for count in np.flatnonzero(rest > settings.min_rest):
        moved = order[: count + 1]
        kept = np.ones(cut.cells.size, dtype=bool)
        kept[moved] = False
        coefficients = _truncated(cut.coefficients[kept], float(rest[count]))
        missing = 1.0 - float(coefficients @ at[kept])
        if missing > violation:
            best, violation = Cut(cut.cells[kept], coefficients, 1.0, "cover"), missing
    return best


def _rounded(cut: Cut, x: Floats, settings: StrengtheningSettings) -> Cut | None:
    """The most violated Chvatal-Gomory rounding over a few divisors.

    Divisors are a little larger than a coefficient, so that its multiples are not rounded up for noise.
    """
    at = x[cut.cells]
    inside = cut.coefficients[(at > STRENGTHENED) & (cut.coefficients < 1.0 - RESIDUAL_MET)]
    divisors = np.unique(np.round(inside, 12))[::-1][: settings.max_divisors]
    best, violation = None, max(cut.violation(x), 0.0) + STRENGTHENED
    for divisor in divisors * (1.0 + RESIDUAL_MET):
        right = float(np.ceil(1.0 / divisor * (1 - 2 * MACHINE_EPSILON)))
        raised = np.ceil(cut.coefficients / divisor * (1 + 2 * MACHINE_EPSILON))
        coefficients = np.minimum(raised, right) / right
        missing = 1.0 - float(coefficients @ at)
        if missing > violation:
            best, violation = Cut(cut.cells, coefficients, 1.0, "rounding"), missing
    return best
