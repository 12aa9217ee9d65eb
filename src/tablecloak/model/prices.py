"""Prices: the cost of publishing a cell otherwise than exactly, apart for each side and for touching it at all.

A cell with true value a that is published as the interval [a - z-, a + z+], or as a number that is z+ above or z- below
it, costs

    up z+ + down z-,    and  touch  once if it is touched at all and need not be (neither sensitive nor marked hidden).

Without prices both sides cost the weight of the cell, and methods have a price of touching of their own or none.

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework: w+, w- and w of its sections on
intervals, their combination with suppression, and perturbation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tablecloak.arrays import Bools, Floats, floats, frozen
from tablecloak.errors import InputError, check_kind, near
from tablecloak.model.table import Table
from tablecloak.model.weights import NAMED, named


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of each cell: of a unit above its true value, of a unit below it, and of touching it at all."""

    up: Floats
    down: Floats
    touch: Floats | None = None
    """None: methods that have a price of touching take their own, others none."""

    @classmethod
    def even(cls, weights: Floats, touch: Floats | None = None) -> Prices:
        """Prices that are the same on both sides."""
        return cls(weights, weights, touch)

    @classmethod
    def of(
        cls,
        table: Table,
        up: ArrayLike | str | None = None,
        down: ArrayLike | str | None = None,
        touch: ArrayLike | str | None = None,
        *,
        weights: ArrayLike | str = "value",
    ) -> Prices:
        """Prices from numbers, arrays over all cells, or names: a column of the table, value, unit, log.

        A side without a price costs the `weights`. `Problem.of` checks the numbers.
        """
        given = {"up": up, "down": down, "touch": touch}
        return resolved_prices(
            table, {name: price for name, price in given.items() if price is not None}, weights
        )

    def named(self) -> Iterator[tuple[str, Floats]]:
        """Each price with its name in messages."""
        yield "the price upward", self.up
        yield "the price downward", self.down
        if self.touch is not None:
            yield "the price of touching", self.touch

    @cached_property
    def touched(self) -> Floats:
        """The price of touching; 0 where there is none."""
        return np.zeros(self.up.size) if self.touch is None else self.touch

    @cached_property
    def mean(self) -> Floats:
        """The mean price of both sides, for heuristics that know one weight a cell."""
        return self.up if self.up is self.down else frozen((self.up + self.down) / 2)

    @cached_property
    def least(self) -> Floats:
        """The price of the cheaper side."""
        return self.up if self.up is self.down else frozen(np.minimum(self.up, self.down))

    @cached_property
    def free_sides(self) -> Bools:
        """Cells with a side that costs nothing: their ties are decided by width."""
        return frozen(self.least == 0.0)

    def per(self, unit: float) -> Prices:
        """All prices in another unit."""
        return self._each(lambda price: price / unit)

    def extended(self, count: int) -> Prices:
        """The prices with further cells that cost nothing."""
        return self._each(lambda price: np.append(price, np.zeros(count)))

    def only(self, cells: Bools) -> Prices:
        """The prices of some cells; the others cost nothing."""
        return self._each(lambda price: np.where(cells, price, 0.0))

    def _each(self, change: Callable[[Floats], Floats]) -> Prices:
        touch = None if self.touch is None else change(self.touch)
        return Prices(change(self.up), change(self.down), touch)

    def with_touch(self, touch: Floats) -> Prices:
        """The prices, with these of touching where none are given."""
        return self if self.touch is not None else replace(self, touch=touch)

    def cost(self, below: Floats, above: Floats) -> float:
        """The cost of lengths below and above true values, without touching; unbounded ones at no price are free."""
        with np.errstate(invalid="ignore"):
            sides = ((self.up, above), (self.down, below))
            return float(sum(np.where(price > 0, price * length, 0.0).sum() for price, length in sides))

    def touching(self, cells: Bools) -> float:
        """The cost of touching these cells."""
        return 0.0 if self.touch is None else float(self.touch[cells].sum())

    def __repr__(self) -> str:
        return f"<confidential Prices: {self.up.size} cells>"


PricesLike = Prices | Mapping[str, Any]
"""Prices, or a mapping of up, down and touch to numbers, arrays or names."""


def resolved_prices(table: Table, given: PricesLike, weights: ArrayLike | str) -> Prices:
    """Prices as arrays, from what `Prices.of` takes; all names that there are not are one error."""
    if isinstance(given, Prices):
        return given._each(lambda price: floats(price, len(table)))
    check_kind("Prices", "prices", given, Mapping, 'Write them like {"up": 2, "touch": "a column"}.')
    kinds = [field.name for field in fields(Prices)]
    faults = [f"there is no price {name!r}{near(str(name), kinds)}" for name in given if name not in kinds]
    found = dict[str, Floats]()
    for name, price in ({"up": weights, "down": weights} | dict(given)).items():
        if name not in kinds:
            continue
        try:
            found[name] = _numbers(table, price, "weights" if name not in given else name)
        except InputError as error:
            faults += [f"{name}: {fault}" for fault in error.faults]
    if faults:
        raise InputError("Prices", faults, advice=f"Prices are {', '.join(kinds)}.")
    return Prices(**found)


def _numbers(table: Table, price: ArrayLike | str, what: str) -> Floats:
    """An array over all cells from a number, an array, a name, or a number as text."""
    if not isinstance(price, str):
        return floats(price, len(table))
    if price in NAMED or (price in table.columns and what == "weights"):
        return floats(named(table, price))
    if price in table.columns:
        return floats(table.column(price))
    try:
        return floats(float(price), len(table))
    except ValueError:
        choices = list(dict.fromkeys([*NAMED, *table.columns]))
        fault = f"there are no prices {price!r}{near(price, choices)}; there are: {', '.join(choices)}, and numbers"
        raise InputError("Prices", [fault]) from None


def price_shape_faults(prices: Prices, size: int) -> Iterator[str]:
    """Prices without one entry for each cell."""
    for name, array in prices.named():
        if array.shape != (size,):
            yield f"{name}: expected {size} numbers, got an array of shape {array.shape}"


def price_faults(prices: Prices, table: Table) -> Iterator[str]:
    """Cells with prices that are missing, infinite or negative."""
    for name, array in prices.named():
        for label in table.labels(np.flatnonzero(~(np.isfinite(array) & (array >= 0)))):
            yield f"cell {label}: {name} must be a finite number that is not negative"
