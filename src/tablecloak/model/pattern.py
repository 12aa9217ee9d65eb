"""Patterns: the five ways to publish a table (suppression, intervals, rounding, perturbation, a mix), and their views.

Every pattern states an interval for every cell, its `View`. The audit judges the view and nothing else.
A pattern is checked when it is made; applied to a table of another size it raises an `InputError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from tablecloak.arrays import Bools, Floats, Ints, floats, frozen, mask
from tablecloak.errors import InputError
from tablecloak.model.problem import Problem
from tablecloak.model.table import Table
from tablecloak.model.units import amounts, exact_number, is_whole, nearest_units


@dataclass(frozen=True, eq=False)
class View:
    """The statement of a publication: each cell lies in low..high; `shown` is printed for it (NaN: nothing)."""

    shown: Floats
    low: Floats
    high: Floats

    @property
    def centred(self) -> Bools:
        """Cells whose number is in the middle of low..high, where it adds nothing to these two."""
        with np.errstate(invalid="ignore"):
            off = np.abs((self.low + self.high) / 2 - self.shown)
            return np.isfinite(off) & (off <= 1e-9 * np.maximum(np.abs(self.low), np.abs(self.high)))


class Pattern(Protocol):
    """The interface of all patterns."""

    def view(self, problem: Problem) -> View:
        """The statement of this pattern about the problem's table."""

    def touched(self, problem: Problem) -> Bools:
        """Cells that are published otherwise than by their exact value."""

    def loss(self, problem: Problem) -> float:
        """The information lost, in weights or prices of the problem. Of hidden cells only complementary ones count."""


@dataclass(frozen=True, eq=False)
class Suppression:
    """A pattern that hides some cells: nothing is stated about them."""

    hidden: Bools

    def __post_init__(self) -> None:
        if not isinstance(self.hidden, np.ndarray) or self.hidden.ndim != 1 or self.hidden.dtype != bool:
            fault = "hidden must be a mask with one entry a cell"
            raise InputError("Suppression", [fault], advice="Suppression.of takes a list of cells too.")

    @classmethod
    def of(cls, table: Table, cells: ArrayLike) -> Suppression:
        """The pattern of a mask or a list of hidden cells."""
        return cls(mask(cells, len(table)))

    @classmethod
    def copy_of(cls, hidden: Bools) -> Suppression:
        """A pattern of its own, read-only copy of a mask."""
        own = hidden.copy()
        own.flags.writeable = False
        return cls(own)

    def view(self, problem: Problem) -> View:
        hidden, value = self.touched(problem), problem.table.values
        return View(
            np.where(hidden, np.nan, value),
            np.where(hidden, -np.inf, value),
            np.where(hidden, np.inf, value),
        )

    def touched(self, problem: Problem) -> Bools:
        _check_size("Suppression", problem, self.hidden)
        return self.hidden

    def complementary(self, problem: Problem) -> Bools:
        """Hidden cells that are neither sensitive nor forced to be hidden."""
        return frozen(self.touched(problem) & ~problem.must_hide)

    def loss(self, problem: Problem) -> float:
        return float(problem.weights[self.complementary(problem)].sum())


@dataclass(frozen=True, eq=False)
class Intervals:
    """Every cell is published as "from low to high"; low = high is the exact value, infinite ends hide it."""

    low: Floats
    high: Floats
    touch: float = 0.0
    """The cost of touching a cell at all, in units of its weight, beside the width; and beside prices of touching."""

    def __post_init__(self) -> None:
        _check_shapes("Intervals", self.low, self.high)
        valid = (self.low <= self.high) & (self.low < np.inf) & (self.high > -np.inf)
        _check_cells("Intervals", valid, "low and high must be numbers, low not above high")

    @classmethod
    def of(cls, low: ArrayLike, high: ArrayLike) -> Intervals:
        return cls(floats(low), floats(high))

    def view(self, problem: Problem) -> View:
        exact = ~self.touched(problem)
        return View(np.where(exact, self.low, np.nan), self.low, self.high)

    def touched(self, problem: Problem) -> Bools:
        _check_size("Intervals", problem, self.low)
        return frozen(self.low < self.high)

    def loss(self, problem: Problem) -> float:
        """Weight (or prices) times width, sensitive cells included: how wide they are is a choice, unlike their hiding.

        An unbounded end counts as the width of what the outsider knows anyhow. Cells that must be hidden and are hidden
        altogether cost nothing, as in a suppression.
        """
        touched = self.touched(problem)
        hidden = problem.must_hide & np.isneginf(self.low) & np.isposinf(self.high)
        counted = touched & ~hidden
        low, high = np.maximum(self.low, problem.outsider_low), np.minimum(self.high, problem.outsider_high)
        if problem.prices is not None:
            width = _price_of_change(
                problem, problem.table.values - low, high - problem.table.values, counted
            )
        else:
            counted &= problem.weights > 0
            width = float((problem.weights[counted] * (high[counted] - low[counted])).sum())
        return width + self.touch * float(problem.weights[counted & ~problem.must_hide].sum())


@dataclass(frozen=True, eq=False)
class Rounding:
    """Every cell is published as a value known to be within one `base` of the truth (base 0: exact)."""

    shown: Floats
    base: Floats

    def __post_init__(self) -> None:
        _check_shapes("Rounding", self.shown, self.base)
        _check_cells(
            "Rounding", np.isfinite(self.base) & (self.base >= 0), "the base must be finite and not negative"
        )
        _check_cells("Rounding", ~np.isinf(self.shown), "what is shown must be finite")

    @classmethod
    def of(cls, shown: ArrayLike, base: ArrayLike) -> Rounding:
        values = floats(shown)
        return cls(values, floats(base, values.size))

    def view(self, problem: Problem) -> View:
        _check_cells("Rounding", ~np.isnan(self.shown), "nothing is shown")
        return _around("Rounding", problem, self.shown, self.base)

    def touched(self, problem: Problem) -> Bools:
        _check_size("Rounding", problem, self.shown)
        return frozen(self.shown != problem.table.values)

    def loss(self, problem: Problem) -> float:
        return _weighted_change(problem, self.shown, self.touched(problem))


@dataclass(frozen=True, eq=False)
class Perturbation:
    """Every cell is published as a value known to be within `reach` of the truth."""

    shown: Floats
    reach: Floats

    def __post_init__(self) -> None:
        _check_shapes("Perturbation", self.shown, self.reach)
        _check_cells("Perturbation", self.reach >= 0, "the reach must be a number that is not negative")
        _check_cells("Perturbation", ~np.isinf(self.shown), "what is shown must be finite")

    @classmethod
    def of(cls, shown: ArrayLike, reach: ArrayLike) -> Perturbation:
        values = floats(shown)
        return cls(values, floats(reach, values.size))

    def view(self, problem: Problem) -> View:
        _check_cells("Perturbation", ~np.isnan(self.shown), "nothing is shown")
        return _around("Perturbation", problem, self.shown, self.reach)

    def touched(self, problem: Problem) -> Bools:
        _check_size("Perturbation", problem, self.shown)
        return frozen(self.shown != problem.table.values)

    def loss(self, problem: Problem) -> float:
        return _weighted_change(problem, self.shown, self.touched(problem))

    def too_close(self, problem: Problem) -> Bools:
        """Sensitive cells shown nearer to the truth than a level on that side, or than half a data unit.

        All attackers read the same number: the largest level against any of them counts.
        """
        _check_size("Perturbation", problem, self.shown)
        cells = np.flatnonzero(problem.sensitive)
        close = np.zeros(len(problem.table), dtype=bool)
        close[cells] = _nearer(problem, cells, self.shown[cells])
        return frozen(close)


@dataclass(frozen=True, eq=False)
class Mixed:
    """Different ways for different cells: each part is (cells, pattern) and speaks for its cells only."""

    parts: tuple[tuple[Bools, Pattern], ...]

    @classmethod
    def of(cls, table: Table, parts: Sequence[tuple[ArrayLike, Pattern]]) -> Mixed:
        """The parts must not overlap; cells in no part are published exactly."""
        masks = [mask(where, len(table)) for where, _ in parts]
        twice = np.flatnonzero(np.sum(masks, axis=0) > 1) if masks else np.zeros(0, dtype=np.int64)
        if twice.size:
            raise InputError(
                "Mixed pattern", [f"cell {label} is in several parts" for label in table.labels(twice)]
            )
        return cls(tuple((where, pattern) for where, (_, pattern) in zip(masks, parts, strict=True)))

    def view(self, problem: Problem) -> View:
        shown, low, high = (problem.table.values.copy() for _ in range(3))
        for where, pattern in self.parts:
            _check_size("Mixed pattern", problem, where)
            part = _statement(pattern, problem)
            shown[where], low[where], high[where] = part.shown[where], part.low[where], part.high[where]
        _check_cells("Mixed pattern", ~(np.isnan(low) | np.isnan(high)), "nothing is shown")
        return View(shown, low, high)

    def touched(self, problem: Problem) -> Bools:
        touched = np.zeros(len(problem.table), dtype=bool)
        for where, pattern in self.parts:
            _check_size("Mixed pattern", problem, where)
            touched[where] = pattern.touched(problem)[where]
        return frozen(touched)

    def loss(self, problem: Problem) -> float:
        total = 0.0
        for where, pattern in self.parts:
            _check_size("Mixed pattern", problem, where)
            prices = None if problem.prices is None else problem.prices.only(where)
            own = replace(problem, weights=np.where(where, problem.weights, 0.0), prices=prices)
            total += pattern.loss(own)
        return total

    def too_close(self, problem: Problem) -> Bools:
        """Sensitive cells of perturbed parts that are shown too near to the truth."""
        close = np.zeros(len(problem.table), dtype=bool)
        for where, pattern in self.parts:
            if isinstance(pattern, Perturbation | Mixed):
                close[where] = pattern.too_close(problem)[where]
        return frozen(close)


# ---------------------------------------------------------------------- statements and losses


def _around(pattern: str, problem: Problem, shown: Floats, reach: Floats) -> View:
    """ "Within this reach of what is shown", for every cell."""
    _check_size(pattern, problem, shown)
    asserted = "an infinite reach asserts nothing: state how far values may be off"
    _check_cells(pattern, np.isfinite(reach), asserted)
    size = np.maximum(np.abs(shown), reach)
    return View(
        shown,
        _without_noise(problem.table, shown - reach, size),
        _without_noise(problem.table, shown + reach, size),
    )


def _without_noise(table: Table, ends: Floats, size: Floats) -> Floats:
    """Ends that are whole data units but for the noise of the numbers they were computed from, of this size."""
    near = nearest_units(ends, table.decimals)
    return np.where(is_whole(ends, near, table.decimals, size), amounts(near, table.decimals), ends)


def _statement(pattern: Pattern, problem: Problem) -> View:
    """The view of a part of a mixed pattern, which may show nothing (NaN) for cells of other parts."""
    match pattern:
        case Rounding():
            return _around("Rounding", problem, pattern.shown, pattern.base)
        case Perturbation():
            return _around("Perturbation", problem, pattern.shown, pattern.reach)
        case _:
            return pattern.view(problem)


def _weighted_change(problem: Problem, shown: Floats, touched: Bools) -> float:
    """Weight (or prices) times change, sensitive cells included: how far they are changed is a choice."""
    if problem.prices is not None:
        change = shown - problem.table.values
        return _price_of_change(problem, -change, change, touched)
    counted = touched & (problem.weights > 0)
    return float((problem.weights[counted] * np.abs(shown - problem.table.values)[counted]).sum())


def _price_of_change(problem: Problem, below: Floats, above: Floats, touched: Bools) -> float:
    """The price of what touched cells leave open, or are changed by, below and above, and of touching them."""
    prices = problem.applied_prices
    below, above = (np.where(touched, np.maximum(side, 0.0), 0.0) for side in (below, above))
    return prices.cost(below, above) + prices.touching(touched & ~problem.must_hide)


def _nearer(problem: Problem, cells: Ints, shown: Floats) -> Bools:
    """Whether numbers are shown nearer to the truth of cells than a level or half a width on that side.

    In whole data units, twice as many of them for the halves: exact where what is shown is a whole number of units. Of
    other numbers the exact distance is compared.
    """
    table, levels = problem.table, problem.largest_levels
    lower, upper, sliding = (
        nearest_units(level[cells], table.decimals) for level in (levels.lower, levels.upper, levels.sliding)
    )
    width = np.maximum(sliding, 1.0)
    up, down = np.maximum(2.0 * upper, width), np.maximum(2.0 * lower, width)
    near = nearest_units(shown, table.decimals)
    off = 2.0 * (near - table.units[cells])
    close = (off < up) & (-off < down)
    for place in np.flatnonzero(np.isfinite(shown) & ~is_whole(shown, near, table.decimals)).tolist():
        exact = exact_number(float(shown[place])) * 10**table.decimals - int(table.units[cells[place]])
        close[place] = 2 * exact < up[place] and -2 * exact < down[place]
    return np.asarray(close)


# ---------------------------------------------------------------------- faults


def _check_size(pattern: str, problem: Problem, array: Floats | Bools) -> None:
    if array.shape != (len(problem.table),):
        fault = f"it speaks about {array.size} cells, the table has {len(problem.table)}"
        raise InputError(pattern, [fault])


def _check_shapes(pattern: str, one: Floats, other: Floats) -> None:
    if one.ndim != 1 or one.shape != other.shape:
        raise InputError(pattern, [f"needs two numbers a cell, got shapes {one.shape} and {other.shape}"])


def _check_cells(pattern: str, fine: Bools, expected: str) -> None:
    if not fine.all():
        raise InputError(pattern, [f"cell number {cell}: {expected}" for cell in np.flatnonzero(~fine)])
