"""Problem: what must be protected, against whom, and what protection may cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from tablecloak.model.units import units_above, units_below
from tablecloak.model.validation import (
    attacker_faults,
    bound_faults,
    number_faults,
    shape_faults,
    widened,
    with_integral_boxes,
    with_integral_levels,
)

OUTSIDER = "outsider"


@dataclass(frozen=True, eq=False)
class Attacker:
    """An attacker with more knowledge than the outsider: on `cells` the true value is known to lie in low..high.

    A respondent's cell is at least the own contribution (where the others cannot be negative) and is known
    exactly to its only contributor. Holdings and coalitions add up their contributions.
    """

    name: str
    cells: Ints
    low: Floats
    high: Floats

    @classmethod
    def knowing(cls, name: str, cells: ArrayLike, low: ArrayLike, high: ArrayLike = np.inf) -> Attacker:
        """An attacker with bounds on some cells (a mask or a list of cells)."""
        where = frozen(positions(cells))
        return cls(name, where, floats(low, where.size), floats(high, where.size))

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
    """Maximum number of cells that are published otherwise than exactly (None: no bound)."""
    reasons: Mapping[int, tuple[Reason, ...]] = field(default_factory=dict)
    """Why cells are sensitive or marked, by cell, where that is known; the first one decided."""
    cut: Ints = field(default_factory=lambda: frozen(np.zeros(0, dtype=np.int64)))
    """Cells whose levels were cut because public knowledge goes further (`tablecloak.model.emptiness`)."""

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
        inward: values are whole units, which is public knowledge.
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
        unread += shape_faults(problem)
        if not unread:
            problem = with_public_knowledge(problem, hide_zeros)
            wanted, problem = problem.levels, with_integral_levels(problem)
            problem = widened(problem) if widen else problem
            faults += [*number_faults(problem, wanted), *bound_faults(problem)]
        if faults := [*unread, *faults, *attacker_faults(problem)]:
            raise InputError("Problem", faults, advice="See docs/glossary.md for levels and boxes.")
        attackers = tuple(knowing_the_page(problem, insider) for insider in problem.attackers)
        return with_integral_boxes(replace(problem, attackers=attackers))

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
        insider = self.attackers[attacker - 1]
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

        Own knowledge is not protected: a sole contributor's own cell requires nothing. Cells that are not sensitive
        require their conditional width (when `touched`).
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
