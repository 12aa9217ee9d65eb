"""Patterns: the four ways to publish a table, and what each lets an outsider know.

Every pattern states an interval for every cell, its `View`. The audit judges the view and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from tablecloak.arrays import Bools, Floats, floats, frozen, mask
from tablecloak.errors import InputError
from tablecloak.problem import Problem
from tablecloak.table import Table


@dataclass(frozen=True, eq=False)
class View:
    """What the publication states: each cell lies in low..high, and `shown` is printed for it (NaN: nothing)."""

    shown: Floats
    low: Floats
    high: Floats


class Pattern(Protocol):
    """What every pattern can do."""

    def view(self, problem: Problem) -> View:
        """The statement of this pattern about the problem's table."""

    def touched(self, problem: Problem) -> Bools:
        """Cells that are published otherwise than by their exact value."""

    def loss(self, problem: Problem) -> float:
        """The information lost, in the problem's weights (complementary cells only)."""


@dataclass(frozen=True, eq=False)
class Suppression:
    """Some cells are hidden: nothing is stated about them."""

    hidden: Bools

    @classmethod
    def of(cls, table: Table, cells: ArrayLike) -> Suppression:
        """From a mask or a list of hidden cells."""
        return cls(mask(cells, len(table)))

    def view(self, problem: Problem) -> View:
        value = problem.table.values
        return View(
            np.where(self.hidden, np.nan, value),
            np.where(self.hidden, -np.inf, value),
            np.where(self.hidden, np.inf, value),
        )

    def touched(self, problem: Problem) -> Bools:
        return self.hidden

    def complementary(self, problem: Problem) -> Bools:
        """Hidden cells that are neither sensitive nor forced to be hidden."""
        return frozen(self.hidden & ~problem.must_hide)

    def loss(self, problem: Problem) -> float:
        return float(problem.weights[self.complementary(problem)].sum())


@dataclass(frozen=True, eq=False)
class Intervals:
    """Every cell is published as "from low to high"; low = high is the exact value, infinite ends hide it."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, low: ArrayLike, high: ArrayLike) -> Intervals:
        return cls(floats(low), floats(high))

    def view(self, problem: Problem) -> View:
        exact = self.low == self.high
        return View(np.where(exact, self.low, np.nan), self.low, self.high)

    def touched(self, problem: Problem) -> Bools:
        return frozen(self.low < self.high)

    def loss(self, problem: Problem) -> float:
        """Weight times width; an unbounded end counts as the width of what the outsider knows anyhow."""
        low = np.maximum(self.low, problem.outsider_low)
        high = np.minimum(self.high, problem.outsider_high)
        free = self.touched(problem) & ~problem.must_hide
        return float((problem.weights * np.where(free, high - low, 0.0))[free].sum())


@dataclass(frozen=True, eq=False)
class Rounding:
    """Every cell is published as a value known to be within one `base` of the truth (base 0: exact)."""

    shown: Floats
    base: Floats

    @classmethod
    def of(cls, shown: ArrayLike, base: ArrayLike) -> Rounding:
        values = floats(shown)
        return cls(values, floats(base, values.size))

    def view(self, problem: Problem) -> View:
        return View(self.shown, self.shown - self.base, self.shown + self.base)

    def touched(self, problem: Problem) -> Bools:
        return frozen(self.shown != problem.table.values)

    def loss(self, problem: Problem) -> float:
        return _weighted_change(problem, self.shown)


@dataclass(frozen=True, eq=False)
class Perturbation:
    """Every cell is published as a value known to be within `reach` of the truth."""

    shown: Floats
    reach: Floats

    @classmethod
    def of(cls, shown: ArrayLike, reach: ArrayLike) -> Perturbation:
        values = floats(shown)
        return cls(values, floats(reach, values.size))

    def view(self, problem: Problem) -> View:
        if not np.isfinite(self.reach).all():
            raise InputError(
                "Perturbation", ["an infinite reach asserts nothing: state how far values may be off"]
            )
        return View(self.shown, self.shown - self.reach, self.shown + self.reach)

    def touched(self, problem: Problem) -> Bools:
        return frozen(self.shown != problem.table.values)

    def loss(self, problem: Problem) -> float:
        return _weighted_change(problem, self.shown)

    def too_close(self, problem: Problem) -> Bools:
        """Sensitive cells whose shown value is nearer to the truth than a level on that side."""
        a, levels = problem.table.values, problem.levels
        need_up = np.maximum(levels.upper, levels.sliding / 2)
        need_down = np.maximum(levels.lower, levels.sliding / 2)
        slack = 1e-9 * np.maximum(np.abs(a), 1.0)
        far = (self.shown - a >= need_up - slack) | (a - self.shown >= need_down - slack)
        return frozen(problem.sensitive & ~far)


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
            part = pattern.view(problem)
            shown[where], low[where], high[where] = part.shown[where], part.low[where], part.high[where]
        return View(shown, low, high)

    def touched(self, problem: Problem) -> Bools:
        touched = np.zeros(len(problem.table), dtype=bool)
        for where, pattern in self.parts:
            touched[where] = pattern.touched(problem)[where]
        return frozen(touched)

    def loss(self, problem: Problem) -> float:
        total = 0.0
        for where, pattern in self.parts:
            own = Problem(
                problem.table,
                problem.marks,
                problem.levels,
                np.where(where, problem.weights, 0.0),
                problem.outsider_low,
                problem.outsider_high,
            )
            total += pattern.loss(own)
        return total


def _weighted_change(problem: Problem, shown: Floats) -> float:
    free = ~problem.must_hide
    return float((problem.weights * np.abs(shown - problem.table.values))[free].sum())
