"""Problem: what must be protected (`Levels`, `Mark`), against whom (`Attacker`), and what protection may cost.

A problem is valid once made: levels and boxes are checked in integral data units, and all faults are reported at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tablecloak.arrays import Bools, Floats, Ints, both_bounds, floats, frozen, mask, masks_of, positions
from tablecloak.errors import InputError, check_kind, counted
from tablecloak.model import weights as weighing
from tablecloak.model.attacker_levels import (
    AttackerLevels,
    largest_levels,
    own_level_faults,
    with_integral_own_levels,
)
from tablecloak.model.emptiness import (
    knowing_of_all,
    knowing_the_page,
    known_bounds,
    with_public_knowledge,
)
from tablecloak.model.prices import Prices, PricesLike, price_faults, price_shape_faults, resolved_prices
from tablecloak.model.requirement import required_amounts
from tablecloak.model.table import Table
from tablecloak.model.tolerances import BOX_NOISE, FLOAT_NOISE
from tablecloak.model.units import amounts, nearest_units, rounded, units_above, units_below


@dataclass(frozen=True, eq=False)
class Levels:
    """Protection levels as distances from the true value; zero where nothing is required.

    For every attacker, cell p must have a_p - min >= lower_p, max - a_p >= upper_p, max - min >= sliding_p.
    Of a cell that is not sensitive, *if* it is touched, `conditional` requires max - min >= conditional_i,
    `conditional_lower` a_i - min and `conditional_upper` max - a_i in the same way.
    """

    lower: Floats
    upper: Floats
    sliding: Floats
    conditional: Floats
    conditional_lower: Floats
    conditional_upper: Floats

    @classmethod
    def of(
        cls,
        size: int,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = 0.0,
        sliding: ArrayLike = 0.0,
        conditional: ArrayLike = 0.0,
        conditional_lower: ArrayLike = 0.0,
        conditional_upper: ArrayLike = 0.0,
    ) -> Levels:
        """Levels from arrays over all cells, or scalars for all of them."""
        given = (lower, upper, sliding, conditional, conditional_lower, conditional_upper)
        return cls(*(floats(level, size) for level in given))

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
            ("conditional lower", self.conditional_lower),
            ("conditional upper", self.conditional_upper),
        )

    def conditional_at(self, cells: Bools) -> Levels:
        """The levels with the conditional ones of these cells only."""
        levels = (
            np.where(cells, level, 0.0) if "conditional" in name else level for name, level in self.named()
        )
        return Levels(*levels)

    @property
    def is_conditional(self) -> Bools:
        """Cells with a conditional level of any kind."""
        levels = (self.conditional, self.conditional_lower, self.conditional_upper)
        return np.asarray(np.any([level > 0 for level in levels], axis=0))


class Mark(IntEnum):
    """The mark of a cell: what may and must be done with it."""

    FREE = 0
    SENSITIVE = 1
    FORCED = 2
    """Must be published."""
    HIDDEN = 3
    """Must be hidden, though not sensitive."""


@dataclass(frozen=True)
class Reason:
    """Why a cell is sensitive or marked: the rule that caught it, in words, and what kind of rule it is."""

    rule: str
    """The rule with its parameters, ``p% rule (p=10)``."""
    kind: str
    """``frequency``, ``dominance``, ``p-percent``, ``request``, ``zero``, ``manual``, ``union``."""
    why: str
    """The finding, in words without figures of the cell."""


def with_integral_levels(problem: Problem) -> Problem:
    """The problem with levels rounded up to data units; sensitive cells without any get a sliding level of one unit."""
    table, size = problem.table, np.abs(problem.table.values)
    lower, upper, sliding, *conditional = (
        np.where(
            level > 0,
            rounded(level, table.decimals, up=True, step=table.cell_steps, others=size),
            level,
        )
        for _, level in problem.levels.named()
    )
    bare = problem.sensitive & (np.maximum(lower, upper) <= 0) & (sliding == 0)
    unit = amounts(table.cell_steps, table.decimals)
    return replace(
        problem, levels=Levels.of(size.size, lower, upper, np.where(bare, unit, sliding), *conditional)
    )


def _inward(problem: Problem, low: Floats, high: Floats, cells: Ints | slice) -> tuple[Floats, Floats]:
    """Bounds on cells rounded inward to the data unit, which is known."""
    table = problem.table
    step, size = table.cell_steps[cells], np.abs(table.values[cells])
    return (
        rounded(low, table.decimals, up=True, step=step, others=size),
        rounded(high, table.decimals, up=False, step=step, others=size),
    )


def with_integral_boxes(problem: Problem) -> Problem:
    """The problem with all boxes rounded inward to data units."""
    low, high = _inward(problem, problem.outsider_low, problem.outsider_high, slice(None))
    inside = [_inward(problem, insider.low, insider.high, insider.cells) for insider in problem.attackers]
    attackers = tuple(
        replace(insider, low=floats(least), high=floats(most))
        if (least != insider.low).any() or (most != insider.high).any()
        else insider
        for insider, (least, most) in zip(problem.attackers, inside, strict=True)
    )
    return replace(problem, outsider_low=floats(low), outsider_high=floats(high), attackers=attackers)


def widened(problem: Problem) -> Problem:
    """The problem with a-priori bounds as wide as the levels, wherever they contain the true value."""
    decimals, a = problem.table.decimals, problem.table.units.astype(np.float64)
    lower, upper, sliding, conditional, if_lower, if_upper = (
        nearest_units(level, decimals) for _, level in problem.levels.named()
    )
    known = _inward(problem, problem.outsider_low, problem.outsider_high, slice(None))
    least, most = (nearest_units(end, decimals) for end in known)
    low = np.minimum(least, a - np.maximum(lower, if_lower))
    high = np.maximum(most, a + np.maximum(upper, if_upper))
    with np.errstate(invalid="ignore"):
        high = high + np.maximum(np.maximum(sliding, conditional) - (high - low), 0.0)
    inside = (least <= a) & (a <= most)
    return replace(
        problem,
        outsider_low=floats(np.where(inside, amounts(low, decimals), problem.outsider_low)),
        outsider_high=floats(np.where(inside, amounts(high, decimals), problem.outsider_high)),
    )


def shape_faults(problem: Problem) -> Iterator[str]:
    """Arrays without one entry for each cell."""
    boxes = (("known low", problem.outsider_low), ("known high", problem.outsider_high))
    for name, array in (*problem.levels.named(), ("weights", problem.weights), *boxes):
        if array.shape != (len(problem.table),):
            yield f"{name}: expected {len(problem.table)} numbers, got an array of shape {array.shape}"
    if problem.prices is not None:
        yield from price_shape_faults(problem.prices, len(problem.table))


def number_faults(problem: Problem, wanted: Levels) -> Iterator[str]:
    """Levels, weights and boxes that are invalid or contradict each other; `wanted`: levels before rounding."""
    table = problem.table
    for name, array in (*problem.levels.named(), ("weights", problem.weights)):
        for label in table.labels(np.flatnonzero(~(np.isfinite(array) & (array >= 0)))):
            yield f"cell {label}: {name} must be a finite number that is not negative"
    if problem.prices is not None:
        yield from price_faults(problem.prices, table)
    for name, array in problem.levels.named():
        conditional = name.startswith("conditional")
        allowed = ~problem.sensitive if conditional else problem.sensitive
        which = "a sensitive cell" if conditional else "a cell that is not sensitive"
        for label in table.labels(np.flatnonzero((array > 0) & ~allowed)):
            yield f"cell {label}: a {name} level on {which}"
    outside = _outside(problem, problem.outsider_low, problem.outsider_high, np.arange(len(table)))
    for label in table.labels(np.flatnonzero(outside)):
        yield f"cell {label}: the true value lies outside the a-priori bounds"
    for label in table.labels(np.flatnonzero(_narrow(problem, wanted) & ~outside)):
        yield (
            f"cell {label}: the a-priori bounds are narrower than its protection level "
            "(correct one of them, or pass widen=True)"
        )


def _outside(problem: Problem, low: Floats, high: Floats, cells: Ints) -> Bools:
    """Cells whose true value is not in low..high."""
    least, most = _inward(problem, low, high, cells)
    a = problem.table.values[cells]
    return np.asarray(~((least <= a) & (a <= most)))


def _narrow(problem: Problem, wanted: Levels) -> Bools:
    """Cells whose outsider's box is narrower than a level, both before they are rounded."""
    a, levels = problem.table.values, wanted
    with np.errstate(invalid="ignore"):
        width = problem.outsider_high - problem.outsider_low

    def short(got: Floats, need: Floats) -> Bools:
        return np.asarray(got < need * (1 - BOX_NOISE) - FLOAT_NOISE * np.abs(a))

    below, above = a - problem.outsider_low, problem.outsider_high - a
    if_touched = short(width, levels.conditional) | short(below, levels.conditional_lower)
    if_touched |= short(above, levels.conditional_upper)
    return np.asarray(
        short(below, levels.lower)
        | short(above, levels.upper)
        | short(width, np.where(levels.sliding > 0, levels.sliding, problem.levels.sliding))
        | (if_touched & ~problem.forced)
    )


def attacker_faults(problem: Problem) -> Iterator[str]:
    """DeviationBounds of insiders that do not fit the table."""
    size = len(problem.table)
    for insider in problem.attackers:
        shape, inside = insider.cells.shape, (insider.cells >= 0) & (insider.cells < size)
        if not inside.all():
            yield f"attacker {insider.name!r}: knows cells that the table does not have"
            continue
        if insider.low.shape != shape or insider.high.shape != shape:
            yield f"attacker {insider.name!r}: needs one low and one high for each of his cells"
            continue
        for cell in np.flatnonzero(np.bincount(insider.cells, minlength=size) > 1):
            yield f"attacker {insider.name!r}: knows cell {problem.table.label(cell)} more than once"
        for cell in insider.cells[_outside(problem, insider.low, insider.high, insider.cells)]:
            yield f"cell {problem.table.label(cell)}: the true value lies outside what attacker {insider.name!r} knows"
        yield from own_level_faults(problem, insider)


def bound_faults(problem: Problem) -> Iterator[str]:
    """Faults of the bound on the number of touched cells."""
    hidden = int(problem.must_hide.sum())
    if problem.most_touched is None:
        return
    if not isinstance(problem.most_touched, int | np.integer) or problem.most_touched < 0:
        yield "most_touched: expected a whole number of cells that is not negative"
    elif problem.most_touched < hidden:
        yield f"at most {problem.most_touched} cells may be touched, but {hidden} must be hidden"


OUTSIDER = "outsider"


@dataclass(frozen=True, eq=False)
class Attacker:
    """An attacker with more knowledge than the outsider: on `cells` the true value is known to lie in low..high.

    A respondent's cell is at least the own contribution (where the others cannot be negative) and is known
    exactly to its only contributor. Holdings and coalitions add up their contributions.
    `levels` replace the common ones against this attacker. Common levels end at his box; his own must lie within it.
    """

    name: str
    cells: Ints
    low: Floats
    high: Floats
    levels: AttackerLevels = field(default_factory=AttackerLevels.none)

    @classmethod
    def knowing(
        cls,
        name: str,
        cells: ArrayLike,
        low: ArrayLike,
        high: ArrayLike = np.inf,
        levels: AttackerLevels | None = None,
    ) -> Attacker:
        """An attacker with bounds on some cells (a mask or a list of cells), and levels of his own."""
        where = frozen(positions(cells))
        own = AttackerLevels.none() if levels is None else levels
        return cls(name, where, floats(low, where.size), floats(high, where.size), own)

    @classmethod
    def contributing(cls, name: str, table: Table, cells: ArrayLike, contributions: ArrayLike) -> Attacker:
        """A respondent (or holding, or coalition) with its contributions; a cell listed twice adds them up.

        Where they make up the cell, to within half a data unit, it is known exactly. Elsewhere it is at least the
        own contribution, but only if the others cannot be negative: no value of the table is negative and no
        contribution is more than its cell (rounding apart). Otherwise there is no bound.
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

    def at_cells(self, cells: Ints) -> Attacker:
        """The attacker of a table of some cells only (sorted), which are numbered by their places."""
        here, levels = np.isin(self.cells, cells), self.levels.at_cells(cells)
        places = frozen(np.searchsorted(cells, self.cells[here]))
        return Attacker(self.name, places, frozen(self.low[here]), frozen(self.high[here]), levels)


@dataclass(frozen=True, eq=False)
class Problem:
    """A table with sensitive cells, protection levels, attackers and weights. Confidential.

    `outsider_low..outsider_high` are the a-priori bounds of each cell, known to all attackers;
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
    """Maximum number of cells that are published otherwise than exactly (None: no bound)."""
    reasons: Mapping[int, tuple[Reason, ...]] = field(default_factory=dict)
    """Why cells are sensitive or marked, by cell, where that is known; the first one decided."""
    cut: Ints = field(default_factory=lambda: frozen(np.zeros(0, dtype=np.int64)))
    """Cells whose levels were cut because public knowledge goes further (`tablecloak.model.emptiness`)."""
    prices: Prices | None = None
    """Prices of each side and of touching, of cells that are not hidden (None: the weights on both sides)."""

    @classmethod
    def of(
        cls,
        table: Table,
        sensitive: ArrayLike,
        levels: Levels | None = None,
        *,
        weights: ArrayLike | str = "value",
        prices: PricesLike | None = None,
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
        `weights` is an array or a name of `tablecloak.weights`; `prices` (`Prices`, or a mapping of up, down and touch)
        are what intervals, roundings and perturbations cost instead of it. Levels are rounded up to whole data units,
        boxes inward: values are whole units, which is public knowledge.
        """
        check_kind("Problem", "table", table, Table, "Make one with tabulate.")
        check_kind("Problem", "attackers", attackers, Sequence, "Give a list of them.")
        for insider in attackers:
            check_kind("Problem", "an attacker", insider, Attacker)
        if levels is not None:
            check_kind("Problem", "levels", levels, Levels, "Make them with Levels.at or Levels.of.")
        size = len(table)
        masks, unread = masks_of(size, {"sensitive": sensitive, "forced": forced, "hidden": hidden})
        marks, faults = _marks(table, masks, hide_zeros)
        wanted = levels if levels is not None else Levels.of(size)
        least = 0.0 if (table.values >= 0).all() else -np.inf
        low, high = both_bounds((least, np.inf) if known is None else known)
        costs, paid = _costs(table, weights, prices, faults)
        problem = cls(
            table,
            marks,
            wanted,
            floats(costs, size),
            floats(low, size),
            floats(high, size),
            tuple(attackers),
            most_touched,
            prices=paid,
        )
        unread += shape_faults(problem)
        if not unread:
            problem = with_public_knowledge(problem, hide_zeros)
            wanted, problem = problem.levels, with_integral_levels(problem)
            problem = knowing_of_all(widened(problem), *known_bounds(table, hide_zeros)) if widen else problem
            faults += [*number_faults(problem, wanted), *bound_faults(problem)]
        if faults := [*unread, *faults, *attacker_faults(problem)]:
            raise InputError("Problem", faults, advice="See docs/glossary.md for levels and boxes.")
        attackers = tuple(knowing_the_page(problem, insider) for insider in problem.attackers)
        return with_integral_own_levels(with_integral_boxes(replace(problem, attackers=attackers)))

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

    @cached_property
    def applied_prices(self) -> Prices:
        """The prices that apply: those that are given, else the weights on both sides."""
        return Prices.even(self.weights) if self.prices is None else self.prices

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
        return bool(self.levels.is_conditional.any())

    @property
    def has_own_levels(self) -> bool:
        """Whether there are levels against single attackers."""
        return any(attacker.levels.cells.size for attacker in self.attackers)

    @cached_property
    def largest_levels(self) -> Levels:
        """The common levels, or those against some attacker where these are larger."""
        return largest_levels(self) if self.has_own_levels else self.levels

    def box(self, attacker: int) -> tuple[Floats, Floats]:
        """low, high of all cells for attacker number k (0 is the outsider)."""
        if attacker == 0:
            return self.outsider_low, self.outsider_high
        return self.known_by(self.attackers[attacker - 1])

    def known_by(self, insider: Attacker) -> tuple[Floats, Floats]:
        """low, high of all cells for an attacker, of this problem or another one about the same table."""
        low, high = self.outsider_low.copy(), self.outsider_high.copy()
        low[insider.cells] = np.maximum(low[insider.cells], insider.low)
        high[insider.cells] = np.minimum(high[insider.cells], insider.high)
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
        insider, unit = self.attackers[attacker - 1], self.table.unit
        low, high = (end.copy() for end in self._outsider_units)
        low[insider.cells] = np.maximum(low[insider.cells], units_above(insider.low, unit))
        high[insider.cells] = np.minimum(high[insider.cells], units_below(insider.high, unit))
        return low, high

    def required(self, attacker: int, cells: Ints, touched: bool = True) -> tuple[Floats, Floats, Floats]:
        """Required lower, upper and sliding levels of the cells against an attacker, up to the attacker's own box.

        Own knowledge is not protected: a sole contributor's own cell requires nothing. Levels of his own replace the
        common ones. Cells that are not sensitive require their conditional levels (when `touched`).
        """
        return required_amounts(self, attacker, cells, touched)

    def against_marks(self, touched: Bools) -> Ints:
        """Cells that a pattern treats against their mark: forced but touched, or to be hidden but published."""
        return np.flatnonzero((self.forced & touched) | (self._marked_hidden & ~touched))

    def __repr__(self) -> str:
        insiders = f", {counted(len(self.attackers), 'insider')}" if self.attackers else ""
        return (
            f"<confidential Problem: {len(self.table)} cells, {int(self.sensitive.sum())} sensitive, "
            f"{int(self.forced.sum())} forced{insiders}>"
        )


def _costs(
    table: Table, weights: ArrayLike | str, prices: PricesLike | None, faults: list[str]
) -> tuple[ArrayLike, Prices | None]:
    """The weights and the prices of the cells; what is wrong with them is added to the faults."""
    costs: ArrayLike = 0.0
    try:
        costs = weighing.named(table, weights) if isinstance(weights, str) else weights
    except InputError as error:
        faults += error.faults
    try:
        return costs, None if prices is None else resolved_prices(table, prices, costs)
    except InputError as error:
        faults += [f"prices: {fault}" for fault in error.faults]
    return costs, None


def _marks(table: Table, masks: Mapping[str, Bools], hide_zeros: bool) -> tuple[NDArray[np.int8], list[str]]:
    """The mark of each cell, and the cells with two that contradict each other."""
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
