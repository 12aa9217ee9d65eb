"""Problem: what must be protected, against whom, and what protection may cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tablecloak.arrays import Bools, Floats, Ints, both_bounds, floats, frozen, mask, masks_of, positions
from tablecloak.errors import InputError, check_kind, counted
from tablecloak.model import weights as weighing
from tablecloak.model.emptiness import knowing_the_page, with_public_knowledge
from tablecloak.model.levels import Levels
from tablecloak.model.marks import Mark, Reason
from tablecloak.model.requirement import required_amounts
from tablecloak.model.table import Table
from tablecloak.model.units import (
    FLOAT_NOISE,
    amounts,
    nearest_units,
    rounded,
    units_above,
    units_below,
)

OUTSIDER = "outsider"


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
        table is negative and no contribution is more than its cell (rounding apart). Otherwise he knows no bound.
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
        bounded = bool((table.values >= 0).all() and (total <= true + half + table.rounding).all())
        return cls.knowing(
            name,
            own,
            np.where(alone, true, np.minimum(total, true) if bounded else -np.inf),
            np.where(alone, true, np.inf),
        )


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
    cut: Ints = field(default_factory=lambda: frozen(np.zeros(0, dtype=np.int64)))
    """Cells whose levels were cut because the page itself tells more (`tablecloak.model.emptiness`)."""

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
        `known` = (low, high): the outsider's box beside public knowledge (`emptiness`); else [0, inf) or none.
        `hide_zeros=False` forces cells of value zero to be published, unless they are marked otherwise.
        `widen=True` widens an outsider's box that is narrower than a level instead of refusing it.
        `weights` is an array or a name of `tablecloak.weights`. Levels are rounded up to whole data units, boxes
        inward: values are whole units, and everybody knows.
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
            problem = with_public_knowledge(problem, hide_zeros)
            wanted, problem = problem.levels, problem._with_whole_levels()
            problem = problem._widened() if widen else problem
            faults += [*problem._number_faults(wanted), *problem._bound_faults()]
        if faults := [*unread, *faults, *problem._attacker_faults()]:
            raise InputError("Problem", faults, advice="See docs/glossary.md for levels and boxes.")
        attackers = tuple(knowing_the_page(problem, who) for who in problem.attackers)
        return replace(problem, attackers=attackers)._with_whole_boxes()

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

    @cached_property
    def _marked_hidden(self) -> Bools:
        return frozen(self.marks == Mark.HIDDEN)

    @property
    def attacker_names(self) -> tuple[str, ...]:
        return (OUTSIDER, *(attacker.name for attacker in self.attackers))

    @property
    def is_monotone(self) -> bool:
        """Whether hiding more can never break a requirement."""
        return self.most_touched is None and not self.has_conditional

    @cached_property
    def has_conditional(self) -> bool:
        """Whether any cell has a conditional level."""
        return bool(self.levels.conditional.any())

    def box(self, attacker: int) -> tuple[Floats, Floats]:
        """low, high of all cells for attacker number k (0 is the outsider)."""
        if attacker == 0:
            return self.outsider_low, self.outsider_high
        who = self.attackers[attacker - 1]
        low, high = self.outsider_low.copy(), self.outsider_high.copy()
        low[who.cells] = np.maximum(low[who.cells], who.low)
        high[who.cells] = np.minimum(high[who.cells], who.high)
        return low, high

    @cached_property
    def level_units(self) -> Levels:
        """The levels in data units: whole numbers, rounded up."""
        unit = self.table.unit
        return Levels(*(frozen(units_above(each, unit)) for _, each in self.levels.named()))

    @cached_property
    def _outsider_units(self) -> tuple[Floats, Floats]:
        unit = self.table.unit
        return frozen(units_above(self.outsider_low, unit)), frozen(units_below(self.outsider_high, unit))

    def box_units(self, attacker: int) -> tuple[Floats, Floats]:
        """`box` in data units: whole numbers, rounded inward, or infinite."""
        if attacker == 0:
            return self._outsider_units
        who, unit = self.attackers[attacker - 1], self.table.unit
        low, high = (end.copy() for end in self._outsider_units)
        low[who.cells] = np.maximum(low[who.cells], units_above(who.low, unit))
        high[who.cells] = np.minimum(high[who.cells], units_below(who.high, unit))
        return low, high

    def required(self, attacker: int, cells: Ints, touched: bool = True) -> tuple[Floats, Floats, Floats]:
        """lower, upper and sliding levels of the cells against an attacker, up to what his own box allows.

        What he knows himself is not ours to protect: a sole contributor's own cell asks nothing. Cells that
        are not sensitive ask their conditional width (when `touched`).
        """
        return required_amounts(self, attacker, cells, touched)

    def against_marks(self, touched: Bools) -> Ints:
        """Cells that a pattern treats against their mark: forced but touched, or to be hidden but published."""
        return np.flatnonzero((self.forced & touched) | (self._marked_hidden & ~touched))

    def __repr__(self) -> str:
        who = f", {counted(len(self.attackers), 'insider')}" if self.attackers else ""
        return (
            f"<confidential Problem: {len(self.table)} cells, {int(self.sensitive.sum())} sensitive, "
            f"{int(self.forced.sum())} forced{who}>"
        )

    # ------------------------------------------------------------------ validation

    def _with_whole_levels(self) -> Problem:
        """Levels rounded up to each cell's data unit; a sensitive cell without any gets one unit of sliding level."""
        table, size = self.table, np.abs(self.table.values)
        lower, upper, sliding, conditional = (
            np.where(
                level > 0,
                rounded(level, table.decimals, up=True, step=table.cell_steps, others=size),
                level,
            )
            for _, level in self.levels.named()
        )
        bare = self.sensitive & (np.maximum(lower, upper) <= 0) & (sliding == 0)
        unit = amounts(table.cell_steps, table.decimals)
        return replace(
            self, levels=Levels.of(size.size, lower, upper, np.where(bare, unit, sliding), conditional)
        )

    def _inward(self, low: Floats, high: Floats, cells: Ints | slice) -> tuple[Floats, Floats]:
        """Bounds on cells rounded inward to the data unit: who knows it knows that much."""
        table = self.table
        step, size = table.cell_steps[cells], np.abs(table.values[cells])
        return (
            rounded(low, table.decimals, up=True, step=step, others=size),
            rounded(high, table.decimals, up=False, step=step, others=size),
        )

    def _with_whole_boxes(self) -> Problem:
        """All that is known beforehand, rounded inward."""
        low, high = self._inward(self.outsider_low, self.outsider_high, slice(None))
        inside = [self._inward(who.low, who.high, who.cells) for who in self.attackers]
        attackers = tuple(
            replace(who, low=floats(least), high=floats(most))
            if (least != who.low).any() or (most != who.high).any()
            else who
            for who, (least, most) in zip(self.attackers, inside, strict=True)
        )
        return replace(self, outsider_low=floats(low), outsider_high=floats(high), attackers=attackers)

    def _widened(self) -> Problem:
        """With a-priori bounds as wide as the levels, wherever they contain the true value."""
        decimals, a = self.table.decimals, self.table.units.astype(np.float64)
        lower, upper, sliding, conditional = (
            nearest_units(level, decimals) for _, level in self.levels.named()
        )
        known = self._inward(self.outsider_low, self.outsider_high, slice(None))
        least, most = (nearest_units(end, decimals) for end in known)
        low, high = np.minimum(least, a - lower), np.maximum(most, a + upper)
        with np.errstate(invalid="ignore"):
            high = high + np.maximum(np.maximum(sliding, conditional) - (high - low), 0.0)
        inside = (least <= a) & (a <= most)
        return replace(
            self,
            outsider_low=floats(np.where(inside, amounts(low, decimals), self.outsider_low)),
            outsider_high=floats(np.where(inside, amounts(high, decimals), self.outsider_high)),
        )

    def _shape_faults(self) -> Iterator[str]:
        boxes = (("known low", self.outsider_low), ("known high", self.outsider_high))
        for name, array in (*self.levels.named(), ("weights", self.weights), *boxes):
            if array.shape != (len(self.table),):
                yield f"{name}: expected {len(self.table)} numbers, got an array of shape {array.shape}"

    def _number_faults(self, wanted: Levels) -> Iterator[str]:
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
        for label in table.labels(np.flatnonzero(self._narrow(wanted) & ~outside)):
            yield (
                f"cell {label}: the a-priori bounds are narrower than its protection level "
                "(correct one of them, or pass widen=True)"
            )

    def _outside(self, low: Floats, high: Floats, cells: Ints) -> Bools:
        """Where the true value is not in low..high."""
        least, most = self._inward(low, high, cells)
        a = self.table.values[cells]
        return np.asarray(~((least <= a) & (a <= most)))

    def _narrow(self, wanted: Levels) -> Bools:
        """Where the outsider's box is narrower than a level, both before they are rounded."""
        a, levels = self.table.values, wanted
        with np.errstate(invalid="ignore"):
            width = self.outsider_high - self.outsider_low

        def short(got: Floats, need: Floats) -> Bools:
            return np.asarray(got < need * (1 - 1e-9) - FLOAT_NOISE * np.abs(a))

        return np.asarray(
            short(a - self.outsider_low, levels.lower)
            | short(self.outsider_high - a, levels.upper)
            | short(width, np.where(levels.sliding > 0, levels.sliding, self.levels.sliding))
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
                yield f"cell {self.table.label(cell)}: the true value lies outside what attacker {who.name!r} knows"

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
