"""Problem: what must be protected, against whom, and what protection may cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tablecloak import weights as weighing
from tablecloak.arrays import Bools, Floats, Ints, floats, frozen, mask
from tablecloak.errors import InputError
from tablecloak.table import Table

OUTSIDER = "outsider"


class Mark(IntEnum):
    """What may and must be done with a cell."""

    FREE = 0
    SENSITIVE = 1
    FORCED = 2
    """Must be published."""
    HIDDEN = 3
    """Must be hidden, though not sensitive."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Protection levels as distances from the true value; zero where nothing is asked.

    For every attacker, cell p must have  a_p - min >= lower_p,  max - a_p >= upper_p  and  max - min >= sliding_p.
    `conditional` asks max - min >= conditional_i of a cell that is not sensitive *if* it is hidden.
    """

    lower: Floats
    upper: Floats
    sliding: Floats
    conditional: Floats

    @classmethod
    def of(
        cls,
        size: int,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = 0.0,
        sliding: ArrayLike = 0.0,
        conditional: ArrayLike = 0.0,
    ) -> Levels:
        """Levels from arrays over all cells, or scalars for all of them."""
        return cls(*(floats(level, size) for level in (lower, upper, sliding, conditional)))

    def named(self) -> Iterator[tuple[str, Floats]]:
        yield from (
            ("lower", self.lower),
            ("upper", self.upper),
            ("sliding", self.sliding),
            ("conditional", self.conditional),
        )


@dataclass(frozen=True, eq=False)
class Attacker:
    """Somebody who knows more than an outsider: on `cells` the true value lies in low..high for him.

    A respondent knows that a cell is at least his own contribution (where the others cannot be negative) and knows
    it exactly where he is the only contributor. Holdings and coalitions add up their contributions.
    """

    name: str
    cells: Ints
    low: Floats
    high: Floats

    @classmethod
    def knowing(cls, name: str, cells: ArrayLike, low: ArrayLike, high: ArrayLike = np.inf) -> Attacker:
        """An attacker who knows bounds on some cells."""
        where = frozen(np.atleast_1d(np.array(cells, dtype=np.int64)))
        return cls(name, where, floats(low, where.size), floats(high, where.size))

    @classmethod
    def contributing(cls, name: str, table: Table, cells: ArrayLike, contributions: ArrayLike) -> Attacker:
        """A respondent (or holding, or coalition) with his contributions; alone in a cell he knows it exactly."""
        where = np.atleast_1d(np.array(cells, dtype=np.int64))
        own = np.broadcast_to(np.asarray(contributions, dtype=np.float64), where.shape)
        true = table.values[where]
        alone = own >= true - table.unit / 2
        return cls.knowing(name, where, np.where(alone, true, own), np.where(alone, true, np.inf))


@dataclass(frozen=True, eq=False)
class Problem:
    """A table with sensitive cells, protection levels, attackers and weights. Confidential.

    `outsider_low..outsider_high` is what everybody knows beforehand about each cell (a-priori bounds);
    attackers tighten it. Attacker 0 is the outsider. Make one with `Problem.of`, which validates everything.
    """

    table: Table
    marks: NDArray[np.int8]
    levels: Levels
    weights: Floats
    outsider_low: Floats
    outsider_high: Floats
    attackers: tuple[Attacker, ...] = ()
    most_touched: int | None = None
    """At most so many cells may be published otherwise than exactly (None: no bound)."""

    @classmethod
    def of(
        cls,
        table: Table,
        sensitive: ArrayLike,
        levels: Levels | None = None,
        *,
        weights: ArrayLike | str = "value",
        forced: ArrayLike | None = None,
        hidden: ArrayLike | None = None,
        known: tuple[ArrayLike, ArrayLike] | None = None,
        attackers: Sequence[Attacker] = (),
        most_touched: int | None = None,
        hide_zeros: bool = True,
        widen: bool = False,
    ) -> Problem:
        """The validated problem.

        `sensitive`, `forced` (must be published) and `hidden` (must be hidden) are masks or lists of cells.
        `known` = (low, high) is the outsider's box; by default [0, inf) when no value is negative, else no bound.
        `hide_zeros=False` forces cells of value zero to be published. `widen=True` widens an outsider's box that is
        narrower than a level instead of refusing it. `weights` is an array or a name of `tablecloak.weights`.
        """
        size = len(table)
        marks, faults = _marks(table, sensitive, forced, hidden, hide_zeros)
        low, high = known if known is not None else (0.0 if (table.values >= 0).all() else -np.inf, np.inf)
        wanted = levels if levels is not None else Levels.of(size)
        problem = cls(
            table,
            marks,
            _with_data_unit(table, marks, wanted),
            floats(weighing.named(table, weights) if isinstance(weights, str) else weights, size),
            floats(low, size),
            floats(high, size),
            tuple(attackers),
            most_touched,
        )
        if widen:
            problem = problem._widened()
        found = faults + list(problem._faults())
        if found:
            raise InputError("Problem", found, advice="See docs/glossary.md for levels and boxes.")
        return problem

    # ------------------------------------------------------------------ looking at it

    @cached_property
    def sensitive(self) -> Bools:
        return frozen(self.marks == Mark.SENSITIVE)

    @cached_property
    def forced(self) -> Bools:
        """Cells that must be published."""
        return frozen(self.marks == Mark.FORCED)

    @cached_property
    def must_hide(self) -> Bools:
        """Cells hidden in every pattern: sensitive or marked so."""
        return frozen((self.marks == Mark.SENSITIVE) | (self.marks == Mark.HIDDEN))

    @property
    def attacker_names(self) -> tuple[str, ...]:
        return (OUTSIDER, *(attacker.name for attacker in self.attackers))

    @property
    def is_monotone(self) -> bool:
        """Whether hiding more can never break a requirement."""
        return self.most_touched is None and not self.levels.conditional.any()

    def box(self, attacker: int) -> tuple[Floats, Floats]:
        """low, high of all cells for attacker number k (0 is the outsider)."""
        if attacker == 0:
            return self.outsider_low, self.outsider_high
        who = self.attackers[attacker - 1]
        low, high = self.outsider_low.copy(), self.outsider_high.copy()
        low[who.cells] = np.maximum(low[who.cells], who.low)
        high[who.cells] = np.minimum(high[who.cells], who.high)
        return low, high

    def required(self, attacker: int, cells: Ints, touched: bool = True) -> tuple[Floats, Floats, Floats]:
        """lower, upper and sliding levels of the cells against an attacker, up to what his own box allows.

        What he knows himself is not ours to protect: a sole contributor's own cell asks nothing. Cells that are not
        sensitive ask their conditional width (when `touched`).
        """
        low, high = self.box(attacker)
        down, up = self.table.values[cells] - low[cells], high[cells] - self.table.values[cells]
        sliding = self.levels.sliding[cells] + (self.levels.conditional[cells] if touched else 0.0)
        return (
            np.minimum(self.levels.lower[cells], down),
            np.minimum(self.levels.upper[cells], up),
            np.minimum(sliding, down + up),
        )

    def __repr__(self) -> str:
        who = f", {len(self.attackers)} insiders" if self.attackers else ""
        return (
            f"<confidential Problem: {len(self.table)} cells, {int(self.sensitive.sum())} sensitive, "
            f"{int(self.forced.sum())} forced{who}>"
        )

    # ------------------------------------------------------------------ validation

    def _widened(self) -> Problem:
        a, levels = self.table.values, self.levels
        low = np.minimum(self.outsider_low, a - levels.lower)
        high = np.maximum(self.outsider_high, a + levels.upper)
        short = np.maximum(np.maximum(levels.sliding, levels.conditional) - (high - low), 0.0)
        return Problem(
            self.table,
            self.marks,
            levels,
            self.weights,
            floats(low),
            floats(np.where(short > 0, high + short, high)),
            self.attackers,
            self.most_touched,
        )

    def _faults(self) -> Iterator[str]:
        table, a = self.table, self.table.values
        arrays = [*self.levels.named(), ("weights", self.weights)]
        for name, array in [*arrays, ("low", self.outsider_low), ("high", self.outsider_high)]:
            if array.shape != (len(table),):
                yield f"{name}: expected {len(table)} numbers, got an array of shape {array.shape}"
                return
        for name, array in arrays:
            for cell in np.flatnonzero(~(np.isfinite(array) & (array >= 0))):
                yield f"cell {table.label(cell)}: {name} must be a finite number that is not negative"
        for name, array in self.levels.named():
            allowed = ~self.sensitive if name == "conditional" else self.sensitive
            for cell in np.flatnonzero((array > 0) & ~allowed):
                which = "a sensitive cell" if name == "conditional" else "a cell that is not sensitive"
                yield f"cell {table.label(cell)}: a {name} level on {which}"
        yield from self._box_faults("the a-priori bounds", self.outsider_low, self.outsider_high)
        for cell in np.flatnonzero(self._short_of_levels(self.outsider_low, self.outsider_high, a)):
            yield (
                f"cell {table.label(cell)}: the a-priori bounds are narrower than its protection level "
                "(correct one of them, or pass widen=True)"
            )
        for attacker in self.attackers:
            yield from self._attacker_faults(attacker)
        if self.most_touched is not None and self.most_touched < int(self.must_hide.sum()):
            yield f"at most {self.most_touched} cells may be touched, but {int(self.must_hide.sum())} must be hidden"

    def _short_of_levels(self, low: Floats, high: Floats, a: Floats) -> Bools:
        slack = 1e-12 * np.maximum(np.abs(a), 1.0)
        return np.asarray(
            (a - low < self.levels.lower - slack)
            | (high - a < self.levels.upper - slack)
            | (high - low < self.levels.sliding - slack)
        )

    def _box_faults(self, whose: str, low: Floats, high: Floats, cells: Ints | None = None) -> Iterator[str]:
        where = np.arange(len(self.table)) if cells is None else cells
        a = self.table.values[where]
        outside = np.isnan(low) | np.isnan(high) | (low > a) | (high < a)
        for cell in where[outside]:
            yield f"cell {self.table.label(cell)}: the true value lies outside {whose}"

    def _attacker_faults(self, attacker: Attacker) -> Iterator[str]:
        if ((attacker.cells < 0) | (attacker.cells >= len(self.table))).any():
            yield f"attacker {attacker.name!r}: knows cells that the table does not have"
        elif attacker.low.shape != attacker.cells.shape or attacker.high.shape != attacker.cells.shape:
            yield f"attacker {attacker.name!r}: needs one low and one high for each of his cells"
        else:
            yield from self._box_faults(
                f"what attacker {attacker.name!r} knows", attacker.low, attacker.high, attacker.cells
            )


def _marks(
    table: Table, sensitive: ArrayLike, forced: ArrayLike | None, hidden: ArrayLike | None, hide_zeros: bool
) -> tuple[NDArray[np.int8], list[str]]:
    """One mark a cell, and the cells that were given two that contradict each other."""
    size = len(table)
    is_sensitive, is_forced, is_hidden = mask(sensitive, size), mask(forced, size), mask(hidden, size)
    faults = [
        f"cell {table.label(cell)}: cannot be both forced to be published and {word}"
        for other, word in ((is_sensitive, "sensitive"), (is_hidden, "hidden"))
        for cell in np.flatnonzero(is_forced & other)
    ]
    marks = np.zeros(size, dtype=np.int8)
    if not hide_zeros:
        marks[table.values == 0] = Mark.FORCED
    marks[is_forced] = Mark.FORCED
    marks[is_hidden] = Mark.HIDDEN
    marks[is_sensitive] = Mark.SENSITIVE
    return frozen(marks), faults


def _with_data_unit(table: Table, marks: NDArray[np.int8], levels: Levels) -> Levels:
    """A sensitive cell without a positive level must not be determined exactly: sliding level of one data unit."""
    if levels.lower.shape != marks.shape:
        return levels
    bare = (marks == Mark.SENSITIVE) & (levels.lower == 0) & (levels.upper == 0) & (levels.sliding == 0)
    return Levels(
        levels.lower, levels.upper, frozen(np.where(bare, table.unit, levels.sliding)), levels.conditional
    )
