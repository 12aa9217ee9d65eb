"""Levels an attacker: what is required of some cells against him alone, in place of the common levels.

LPL_p^k, UPL_p^k and SPL_p^k of Salazar (2002), "A unified mathematical programming framework for different statistical
disclosure limitation methods", section 1. They are sparse: nan stands for the common level of that kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tablecloak.arrays import Bools, Floats, Ints, floats, frozen, positions
from tablecloak.model.emptiness import knowing_the_page
from tablecloak.model.tolerances import BOX_NOISE, FLOAT_NOISE
from tablecloak.model.units import rounded, units_above

if TYPE_CHECKING:
    from tablecloak.model.problem import Attacker, Levels, Problem


@dataclass(frozen=True, eq=False)
class AttackerLevels:
    """Levels of some sensitive cells against one attacker: they replace the common ones. nan: the common one."""

    cells: Ints
    lower: Floats
    upper: Floats
    sliding: Floats

    @classmethod
    def at(
        cls,
        cells: ArrayLike,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        sliding: ArrayLike | None = None,
    ) -> AttackerLevels:
        """Levels of some cells (a mask or a list): a number for all of them, or one each; None: the common ones.

        Zero is a level too: nothing of that kind is required against this attacker.
        """
        where = frozen(positions(cells))
        given = (np.nan if level is None else level for level in (lower, upper, sliding))
        return cls(where, *(floats(level, where.size) for level in given))

    @classmethod
    def none(cls) -> AttackerLevels:
        """The common levels of all cells."""
        return cls.at(np.zeros(0, dtype=np.int64))

    def named(self) -> Iterator[tuple[str, Floats]]:
        """Each kind of level with its name."""
        yield from (("lower", self.lower), ("upper", self.upper), ("sliding", self.sliding))

    def instead_of(self, common: Levels, cells: Ints, unit: float) -> list[Floats]:
        """Lower, upper and sliding levels of `cells` in data units, rounded up; `common`: those of all cells."""
        place = np.full(common.lower.size, -1, dtype=np.int64)
        place[self.cells] = np.arange(self.cells.size)
        at, found = place[cells], list[Floats]()
        own = at >= 0
        for (_, level), general in zip(self.named(), common.named(), strict=False):
            levels = general[1][cells]
            given = units_above(level, unit)[at[own]]
            levels[own] = np.where(np.isnan(given), levels[own], given)
            found.append(levels)
        return found

    def at_cells(self, cells: Ints) -> AttackerLevels:
        """The levels of some cells, which are numbered by their places among these (sorted) cells."""
        here = np.isin(self.cells, cells)
        return AttackerLevels(
            frozen(np.searchsorted(cells, self.cells[here])),
            *(frozen(level[here]) for _, level in self.named()),
        )

    def without(self, cells: Ints) -> AttackerLevels:
        """The levels with none of these cells: they have the common ones."""
        kept = ~np.isin(self.cells, cells)
        return AttackerLevels(frozen(self.cells[kept]), *(frozen(level[kept]) for _, level in self.named()))


def largest_levels(problem: Problem) -> Levels:
    """The common levels, or those against some attacker where these are larger."""
    arrays = [level for _, level in problem.levels.named()]
    for who in problem.attackers if problem.has_own_levels else ():
        for kind, (_, given) in enumerate(who.levels.named()):
            level = arrays[kind].copy()
            level[who.levels.cells] = np.fmax(level[who.levels.cells], given)
            arrays[kind] = frozen(level)
    return type(problem.levels)(*arrays)


# ---------------------------------------------------------------------- faults and units


def own_level_faults(problem: Problem, who: Attacker) -> Iterator[str]:
    """Levels against an attacker that do not fit the table, its sensitive cells, or what he knows himself."""
    own, table, name = who.levels, problem.table, f"attacker {who.name!r}"
    given: object = own
    if not isinstance(given, AttackerLevels):
        yield f"{name}: levels against him are made with AttackerLevels.at"
        return
    if any(level.shape != own.cells.shape for _, level in own.named()):
        yield f"{name}: needs one level of each kind for each of the cells with levels against him"
        return
    if not ((own.cells >= 0) & (own.cells < len(table))).all():
        yield f"{name}: levels of cells that the table does not have"
        return
    for cell in np.flatnonzero(np.bincount(own.cells, minlength=len(table)) > 1):
        yield f"{name}: levels of cell {table.label(cell)} are given more than once"
    for label in table.labels(own.cells[~problem.sensitive[own.cells]]):
        yield f"cell {label}: a level against {name} on a cell that is not sensitive"
    for kind, level in own.named():
        for label in table.labels(own.cells[~np.isnan(level) & ~(np.isfinite(level) & (level >= 0))]):
            yield f"cell {label}: the {kind} level against {name} must be a finite number that is not negative"
    if not problem.outsider_low.shape == problem.outsider_high.shape == (len(table),):
        return
    for label in table.labels(own.cells[_above_box(problem, who)]):
        yield f"cell {label}: a level against {name} is more than what he knows himself leaves open"


def _above_box(problem: Problem, who: Attacker) -> Bools:
    """Which of the levels against an attacker are above his own box, before anything is rounded."""
    own, a = who.levels, problem.table.values[who.levels.cells]
    low, high = (end[own.cells] for end in problem.known_by(knowing_the_page(problem, who)))
    with np.errstate(invalid="ignore"):
        widths = ((a - low, own.lower), (high - a, own.upper), (high - low, own.sliding))
        short = [got < need * (1 - BOX_NOISE) - FLOAT_NOISE * np.abs(a) for got, need in widths]
    return np.asarray(np.any(short, axis=0))


def with_integral_own_levels(problem: Problem) -> Problem:
    """The problem with levels an attacker rounded up to data units, as far as his box (in data units) goes."""
    return replace(problem, attackers=tuple(_integral(problem, who) for who in problem.attackers))


def _integral(problem: Problem, who: Attacker) -> Attacker:
    own, table = who.levels, problem.table
    if own.cells.size == 0:
        return who
    a = table.values[own.cells]
    low, high = (end[own.cells] for end in problem.known_by(who))
    levels = [
        floats(
            np.where(
                level > 0,
                np.minimum(
                    rounded(
                        level, table.decimals, up=True, step=table.cell_steps[own.cells], others=np.abs(a)
                    ),
                    rounded(width, table.decimals, up=False, others=np.abs(a)),
                ),
                level,
            )
        )
        for (_, level), width in zip(own.named(), (a - low, high - a, high - low), strict=True)
    ]
    return replace(who, levels=AttackerLevels(own.cells, *levels))
