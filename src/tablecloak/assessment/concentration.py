"""Figures about the largest contributors of each cell, as rules need them.

x_1 >= x_2 >= ... are the contributions to a cell by absolute value, X their total with signs. With sampling
weights a contribution x_i counts as w_i copies of itself; top_m adds up the m largest copies, the last block in
part: sum of x_i * min(w_i, m - w_1 - ... - w_{i-1}).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Floats, floats, frozen
from tablecloak.errors import InputError, counted
from tablecloak.model import NO_UNIT, Contributions, Emptiness, Table

RESPONDENTS, HOLDINGS = "respondents", "holdings"
NOISE = 32 * float(np.finfo(np.float64).eps)
"""Differences below this share of what is compared are rounding noise: 0.1 + 0.2 is no more than 0.3."""
ZERO_SHARE = 1e-6
"""A value below this share of the data unit is zero."""


@dataclass(frozen=True, eq=False)
class Caught:
    """What a rule found in a table. Confidential.

    `relative` is the level each caught cell needs as a share of its value, zero elsewhere; NaN where the rule
    cannot tell (X = 0). `distance` is the upper level of cells of value zero. `above` is an upper level that is
    asked instead of the relative one; NaN where there is none.
    """

    mask: Bools
    relative: Floats
    distance: float = 0.0
    above: Floats | float = np.nan

    @classmethod
    def of(
        cls,
        where: Bools,
        relative: Floats | float,
        distance: float = 0.0,
        above: Floats | float = np.nan,
    ) -> Caught:
        """What was caught, with a relative level for each cell or one for all."""
        return cls(frozen(where), floats(np.where(where, relative, 0.0)), distance, above)


def one_of(level: str) -> str:
    """What a unit of a level is called."""
    return "contributor" if level == RESPONDENTS else "holding"


def several_of(level: str) -> str:
    """What units of a level are called."""
    return f"{one_of(level)}s"


def contributions_at(table: Table, level: str, what: str) -> Contributions:
    """The contributions of a table at a level; a clear error where it has none."""
    found = table.respondents if level == RESPONDENTS else table.holdings
    if found is None:
        advice = (
            "Tabulate microdata, or cells with counts and their largest contributions."
            if level == RESPONDENTS
            else "Name the column of holdings when you tabulate."
        )
        raise InputError("Rules", [f"{what}: the table knows no contributions of {level}"], advice=advice)
    return found


def is_zero(table: Table) -> Bools:
    """Cells of value zero, up to rounding noise."""
    return np.asarray(np.abs(table.values) <= ZERO_SHARE * table.unit)


def check_depth(table: Table, who: Contributions, needed: int, what: str) -> None:
    """Raise if some cell has more units than are known by size, and too few of them are."""
    short = (who.count > who.depth) & (who.top_weight.sum(axis=1) < needed * (1 - NOISE))
    short &= (who.top != 0).all(axis=1)  # after a zero there are only zeros
    if not short.any():
        return
    cells = np.flatnonzero(short)
    some = "; ".join(table.labels(cells[:3])) + ("; ..." if cells.size > 3 else "")
    fault = f"{what}: needs the {needed} largest {several_of(who.level)}, but only {who.depth} are known"
    raise InputError(
        "Rules",
        [f"{fault} in {counted(cells.size, 'cell')} with more ({some})"],
        advice=f"Tabulate with top={max(needed, who.depth + 1)} or more.",
    )


def copies(who: Contributions, n: int) -> Floats:
    """(cells, depth): how many copies of each of the largest contributions are among the n largest."""
    before = np.cumsum(who.top_weight, axis=1) - who.top_weight
    return np.asarray(np.clip(n - before, 0.0, who.top_weight))


def top(who: Contributions, n: int) -> Floats:
    """top_n: the sum of the n largest contributions."""
    return np.asarray((np.abs(who.top) * copies(who, n)).sum(axis=1))


def first(who: Contributions) -> Floats:
    """x_1."""
    return np.abs(who.top[:, 0]) if who.depth else np.zeros(len(who))


def waived(who: Contributions) -> Bools:
    """(cells, depth): whether each of the largest units has waived its protection."""
    return np.asarray(np.append(who.unit_waived, False)[who.top_unit] & (who.top_unit != NO_UNIT))


def exceeds(one: Floats, other: Floats) -> Bools:
    """one > other, beyond rounding noise."""
    return np.asarray(one - other > NOISE * np.maximum(np.abs(one), np.abs(other)))


def missing_units(table: Table, minimum: float) -> Floats:
    """By how many units each count falls short of the minimum; NaN where it does not, or the value is no count."""
    short = np.ceil(minimum) - table.values
    return np.where(Emptiness.of(table).counted & (short > 0), short, np.nan)


def share(excess: Floats, total: Floats, where: Bools) -> Floats:
    """|excess / total|, NaN where the total is zero, up to rounding noise."""
    usable = where & (np.abs(total) > NOISE * np.abs(excess))
    with np.errstate(over="ignore"):
        quotient = np.divide(excess, total, out=np.full(total.shape, np.nan), where=usable)
    return np.asarray(np.abs(quotient))
