"""Problem: what must be protected, against whom, and what protection may cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tablecloak import weights as weighing
from tablecloak.arrays import Bools, Floats, Ints, both_bounds, floats, frozen, mask, masks_of, positions
from tablecloak.errors import InputError, check_kind, counted
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

    For every attacker, cell p must have a_p - min >= lower_p, max - a_p >= upper_p, max - min >= sliding_p.
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

    @classmethod
    def at(
        cls,
        size: int,
        cells: ArrayLike,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = 0.0,
        sliding: ArrayLike = 0.0,
    ) -> Levels:
        """Levels of some cells only (a mask or a list): a number for all of them, or one each."""
        mask(cells, size)  # refuses cells that there are not
        where = positions(cells)
        spread = np.zeros((3, size))
        for row, level in zip(spread, (lower, upper, sliding), strict=True):
            if (given := floats(level, where.size)).shape != where.shape:
                raise InputError("Levels", [f"expected {where.size} numbers, got shape {given.shape}"])
            row[where] = given
        return cls.of(size, *spread)

    def named(self) -> Iterator[tuple[str, Floats]]:
        """Each kind of level with its name."""
        yield from (
            ("lower", self.lower),
            ("upper", self.upper),
            ("sliding", self.sliding),
            ("conditional", self.conditional),
        )


@dataclass(frozen=True, eq=False)
class Attacker:
    """Somebody who knows more than an outsider: on `cells` the true value lies in low..high for him.

    A respondent knows that a cell is at least his own contribution (where the others cannot be negative) and
    knows it exactly where he is the only contributor. Holdings and coalitions add up their contributions.
    """

    name: str
    cells: Ints
    low: Floats
    high: Floats

    @classmethod
    def knowing(cls, name: str, cells: ArrayLike, low: ArrayLike, high: ArrayLike = np.inf) -> Attacker:
        """An attacker who knows bounds on some cells (a mask or a list of cells)."""
        where = frozen(positions(cells))
        return cls(name, where, floats(low, where.size), floats(high, where.size))

    @classmethod
    def contributing(cls, name: str, table: Table, cells: ArrayLike, contributions: ArrayLike) -> Attacker:
        """A respondent (or holding, or coalition) with his contributions; a cell listed twice adds them up.

        Where they make up the whole cell, to within half a data unit, he knows it exactly. Elsewhere he knows
        that it is at least his own contribution, but only if the others cannot be negative: no value of the
        table is negative and no contribution is more than its cell. Otherwise he knows no bound.
        """
        where = positions(cells)
        given = floats(contributions, where.size)
        own = np.flatnonzero(mask(where, len(table)))
        if given.shape != where.shape or not np.isfinite(given).all():
            expected = f"expected {where.size} finite contributions, one for each of his cells"
            raise InputError(f"Attacker {name!r}", [expected])
        total = np.bincount(np.searchsorted(own, where), weights=given, minlength=own.size)
        true, half = table.values[own], table.unit / 2
        alone = np.abs(total - true) <= half
        bounded = bool((table.values >= 0).all() and (total <= true + half).all())
        return cls.knowing(
            name,
            own,
            np.where(alone, true, total if bounded else -np.inf),
            np.where(alone, true, np.inf),
        )


@dataclass(frozen=True)
class Reason:
    """Why a cell is sensitive or marked: the rule that caught it, in words, and what kind of rule it is."""

    rule: str
    """The rule with its parameters, ``p% rule (p=10)``."""
    kind: str
    """``frequency``, ``dominance``, ``p-percent``, ``request``, ``zero``, ``manual``, ``union``."""
    why: str
    """What was found, in words without figures of the cell."""


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
    reasons: Mapping[int, tuple[Reason, ...]] = field(default_factory=dict)
    """Why cells are sensitive or marked, by cell, where that is known; the first one decided."""

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
        `known` = (low, high) is the outsider's box; by default [0, inf) when no value is negative, else none.
        `hide_zeros=False` forces cells of value zero to be published, unless they are marked otherwise.
        `widen=True` widens an outsider's box that is narrower than a level instead of refusing it.
        `weights` is an array or a name of `tablecloak.weights`.
        """
        check_kind("Problem", "table", table, Table, "Make one with tabulate.")
        check_kind("Problem", "attackers", attackers, Sequence, "Give a list of them.")
        for who in attackers:
            check_kind("Problem", "an attacker", who, Attacker)
        if levels is not None:
            check_kind("Problem", "levels", levels, Levels, "Make them with Levels.at or Levels.of.")
        size = len(table)
        masks, unread = masks_of(size, {"sensitive": sensitive, "forced": forced, "hidden": hidden})
        marks, faults = _marks(table, masks, hide_zeros)
        wanted = levels if levels is not None else Levels.of(size)
        least = 0.0 if (table.values >= 0).all() else -np.inf
        low, high = both_bounds((least, np.inf) if known is None else known)
        try:
            costs = weighing.named(table, weights) if isinstance(weights, str) else weights
        except InputError as error:
            costs, faults = 0.0, [*faults, *error.faults]
        problem = cls(
            table,
            marks,
            wanted,
            floats(costs, size),
            floats(low, size),
            floats(high, size),
            tuple(attackers),
            most_touched,
        )
        unread += problem._shape_faults()
        if not unread:
            problem = problem._with_data_unit()
            problem = problem._widened() if widen else problem
            faults += [*problem._number_faults(), *problem._bound_faults()]
        if faults := [*unread, *faults, *problem._attacker_faults()]:
            raise InputError("Problem", faults, advice="See docs/glossary.md for levels and boxes.")
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

        What he knows himself is not ours to protect: a sole contributor's own cell asks nothing. Cells that
        are not sensitive ask their conditional width (when `touched`).
        """
        low, high = self.box(attacker)
        down = np.maximum(self.table.values[cells] - low[cells], 0.0)
        up = np.maximum(high[cells] - self.table.values[cells], 0.0)
        sliding = self.levels.sliding[cells] + (self.levels.conditional[cells] if touched else 0.0)
        return (
            np.minimum(self.levels.lower[cells], down),
            np.minimum(self.levels.upper[cells], up),
            np.minimum(sliding, down + up),
        )

    def against_marks(self, touched: Bools) -> Ints:
        """Cells that a pattern treats against their mark: forced but touched, or to be hidden but published."""
        return np.flatnonzero((self.forced & touched) | ((self.marks == Mark.HIDDEN) & ~touched))

    def __repr__(self) -> str:
        who = f", {counted(len(self.attackers), 'insider')}" if self.attackers else ""
        return (
            f"<confidential Problem: {len(self.table)} cells, {int(self.sensitive.sum())} sensitive, "
            f"{int(self.forced.sum())} forced{who}>"
        )

    # ------------------------------------------------------------------ validation

    def _with_data_unit(self) -> Problem:
        """A sensitive cell without a level must not be determined: a sliding level of one data unit.

        No level is one that the audit takes for rounding noise; where that is more than a unit, twice as much.
        """
        levels, unit = self.levels, self.table.unit
        noise = 1e-6 * unit + 4 * np.spacing(np.abs(self.table.values))
        most = np.maximum(np.maximum(levels.lower, levels.upper), levels.sliding)
        bare = self.sensitive & (most <= noise) & (levels.sliding >= 0)
        sliding = frozen(np.where(bare, np.where(noise < unit, unit, 2 * noise), levels.sliding))
        return replace(self, levels=replace(levels, sliding=sliding))

    def _widened(self) -> Problem:
        """With a-priori bounds as wide as the levels, wherever they contain the true value."""
        a, levels = self.table.values, self.levels
        low = np.minimum(self.outsider_low, a - levels.lower)
        high = np.maximum(self.outsider_high, a + levels.upper)
        with np.errstate(invalid="ignore"):
            high = high + np.maximum(np.maximum(levels.sliding, levels.conditional) - (high - low), 0.0)
        inside = (self.outsider_low <= a) & (a <= self.outsider_high)
        return replace(
            self,
            outsider_low=floats(np.where(inside, low, self.outsider_low)),
            outsider_high=floats(np.where(inside, high, self.outsider_high)),
        )

    def _shape_faults(self) -> Iterator[str]:
        boxes = (("known low", self.outsider_low), ("known high", self.outsider_high))
        for name, array in (*self.levels.named(), ("weights", self.weights), *boxes):
            if array.shape != (len(self.table),):
                yield f"{name}: expected {len(self.table)} numbers, got an array of shape {array.shape}"

    def _number_faults(self) -> Iterator[str]:
        table = self.table
        for name, array in (*self.levels.named(), ("weights", self.weights)):
            for label in table.labels(np.flatnonzero(~(np.isfinite(array) & (array >= 0)))):
                yield f"cell {label}: {name} must be a finite number that is not negative"
        for name, array in self.levels.named():
            allowed = ~self.sensitive if name == "conditional" else self.sensitive
            which = "a sensitive cell" if name == "conditional" else "a cell that is not sensitive"
            for label in table.labels(np.flatnonzero((array > 0) & ~allowed)):
                yield f"cell {label}: a {name} level on {which}"
        outside = self._outside(self.outsider_low, self.outsider_high, np.arange(len(table)))
        for label in table.labels(np.flatnonzero(outside)):
            yield f"cell {label}: the true value lies outside the a-priori bounds"
        for label in table.labels(np.flatnonzero(self._narrow() & ~outside)):
            yield (
                f"cell {label}: the a-priori bounds are narrower than its protection level "
                "(correct one of them, or pass widen=True)"
            )

    def _outside(self, low: Floats, high: Floats, cells: Ints) -> Bools:
        """Where the true value is not in low..high."""
        a = self.table.values[cells]
        slack = 1e-12 * np.abs(a)
        return np.asarray(~((low <= a + slack) & (a - slack <= high)))

    def _narrow(self) -> Bools:
        """Where the outsider's box is narrower than a level."""
        a, levels = self.table.values, self.levels
        with np.errstate(invalid="ignore"):
            width = self.outsider_high - self.outsider_low

        def short(got: Floats, need: Floats) -> Bools:
            return np.asarray(got < need * (1 - 1e-9) - 1e-12 * np.abs(a))

        return np.asarray(
            short(a - self.outsider_low, levels.lower)
            | short(self.outsider_high - a, levels.upper)
            | short(width, levels.sliding)
            | (short(width, levels.conditional) & ~self.forced)
        )

    def _attacker_faults(self) -> Iterator[str]:
        size = len(self.table)
        for who in self.attackers:
            shape, inside = who.cells.shape, (who.cells >= 0) & (who.cells < size)
            if not inside.all():
                yield f"attacker {who.name!r}: knows cells that the table does not have"
                continue
            if who.low.shape != shape or who.high.shape != shape:
                yield f"attacker {who.name!r}: needs one low and one high for each of his cells"
                continue
            for cell in np.flatnonzero(np.bincount(who.cells, minlength=size) > 1):
                yield f"attacker {who.name!r}: knows cell {self.table.label(cell)} more than once"
            for cell in who.cells[self._outside(who.low, who.high, who.cells)]:
                where = f"outside what attacker {who.name!r} knows"
                yield f"cell {self.table.label(cell)}: the true value lies {where}"

    def _bound_faults(self) -> Iterator[str]:
        hidden = int(self.must_hide.sum())
        if self.most_touched is None:
            return
        if not isinstance(self.most_touched, int | np.integer) or self.most_touched < 0:
            yield "most_touched: expected a whole number of cells that is not negative"
        elif self.most_touched < hidden:
            yield f"at most {self.most_touched} cells may be touched, but {hidden} must be hidden"


def _marks(table: Table, masks: Mapping[str, Bools], hide_zeros: bool) -> tuple[NDArray[np.int8], list[str]]:
    """One mark a cell, and the cells that were given two that contradict each other."""
    faults = [
        f"cell {label}: cannot be both forced to be published and {name}"
        for name in ("sensitive", "hidden")
        for label in table.labels(np.flatnonzero(masks["forced"] & masks[name]))
    ]
    marks = np.zeros(len(table), dtype=np.int8)
    if not hide_zeros:
        marks[table.values == 0] = Mark.FORCED
    marks[masks["forced"]] = Mark.FORCED
    marks[masks["hidden"]] = Mark.HIDDEN
    marks[masks["sensitive"]] = Mark.SENSITIVE
    return frozen(marks), faults
