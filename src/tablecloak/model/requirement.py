"""Requirements of a publication and the bounds of deviations: computed here and nowhere else.

For cell p with value a_p and attacker k with the box low_k <= y <= high_k, in integral data units:

    lower = min(ceil LPL_p, a_p - ceil low_k),   upper = min(ceil UPL_p, floor high_k - a_p),
    sliding = min(ceil SPL_p, floor high_k - ceil low_k).

LPL_p, UPL_p and SPL_p are the levels against k where he has his own (`AttackerLevels`), else the common ones. Levels
end at the attacker's box: own knowledge is not protected. The audit, certificates and methods compare with these
numbers, so that they cannot disagree about what is required.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.model.units import units_above, units_below

if TYPE_CHECKING:
    from tablecloak.model.pattern import View
    from tablecloak.model.problem import Problem
    from tablecloak.model.result import Audit


class RequiredLevels(NamedTuple):
    """Required levels of some cells against one attacker; zero where nothing is required."""

    lower: Floats
    upper: Floats
    sliding: Floats


def cells_with_requirements(problem: Problem, touched: Bools) -> Bools:
    """Cells that have a requirement in a pattern: the sensitive ones, and touched ones with a conditional level."""
    if not problem.has_conditional:
        return problem.sensitive
    return problem.sensitive | (problem.levels.is_conditional & touched)


def required_units(problem: Problem, attacker: int, cells: Ints, touched: bool = True) -> RequiredLevels:
    """Required levels in integral data units; conditional ones count if `touched`."""
    levels, value = problem.level_units, problem.table.units[cells].astype(np.float64)
    low, high = (end[cells] for end in problem.box_units(attacker))
    down, up = np.maximum(value - low, 0.0), np.maximum(high - value, 0.0)
    lower, upper, sliding = levels.lower[cells], levels.upper[cells], levels.sliding[cells]
    if attacker and (own := problem.attackers[attacker - 1].levels).cells.size:
        lower, upper, sliding = own.instead_of(levels, cells, problem.table.unit)
    if touched and problem.has_conditional:
        lower, upper = lower + levels.conditional_lower[cells], upper + levels.conditional_upper[cells]
        sliding = sliding + levels.conditional[cells]
    return RequiredLevels(np.minimum(lower, down), np.minimum(upper, up), np.minimum(sliding, down + up))


def required_amounts(problem: Problem, attacker: int, cells: Ints, touched: bool = True) -> RequiredLevels:
    """Required levels as amounts: `required_units` in the units of the table's values."""
    levels = required_units(problem, attacker, cells, touched)
    return RequiredLevels(*(problem.table.amounts(level) for level in levels))


def box_deviation_bounds(problem: Problem, attacker: int = 0) -> tuple[Floats, Floats]:
    """Deviation bounds by an attacker's box alone (0: the outsider): below and above the true values, as amounts.

    Computed in data units: the difference of two large floats would be off by more than a small level.
    """
    value, (low, high) = problem.table.units.astype(np.float64), problem.box_units(attacker)
    below, above = np.maximum(value - low, 0.0), np.maximum(high - value, 0.0)
    return problem.table.amounts(below), problem.table.amounts(above)


def deviation_bounds(problem: Problem, view: View, attacker: int) -> tuple[Floats, Floats]:
    """Deviation bounds by view and box, low <= 0 <= high, in integral data units."""
    table = problem.table
    low, high = np.zeros((2, len(table)))
    vague = np.flatnonzero((view.low != table.values) | (view.high != table.values))
    value, (box_low, box_high) = table.units[vague].astype(np.float64), problem.box_units(attacker)
    down = np.maximum(units_above(view.low[vague], table.unit), box_low[vague]) - value
    up = np.minimum(units_below(view.high[vague], table.unit), box_high[vague]) - value
    low[vague], high[vague] = np.minimum(down, 0.0), np.maximum(up, 0.0)
    return low, high


class Side(Enum):
    """The level that a requirement is about."""

    DOWN = "lower"
    UP = "upper"
    SLIDE = "sliding"

    @property
    def directions(self) -> tuple[bool, ...]:
        """The directions of the deviations that meet the level: upward (True), downward (False)."""
        return {Side.UP: (True,), Side.DOWN: (False,), Side.SLIDE: (True, False)}[self]


@dataclass(frozen=True)
class Requirement:
    """A level to be met: cell, attacker, side and amount."""

    cell: int
    attacker: int
    side: Side
    level: float

    @property
    def directions(self) -> tuple[bool, ...]:
        """The directions of the deviations that meet it: upward (True), downward (False)."""
        return self.side.directions

    def extent(self, down: float, up: float) -> float:
        """The deviation that counts toward the level of a cell that deviates by `down` and by `up`."""
        return {Side.UP: up, Side.DOWN: down, Side.SLIDE: up + down}[self.side]


def unmet_requirements(problem: Problem, found: Audit) -> list[Requirement]:
    """Requirements that an audit found unmet, without dominated ones."""
    assert found.unmet is not None
    needs = (found.required_lower, found.required_upper, found.required_sliding)
    requirements = [
        Requirement(int(found.cells[row]), int(found.attackers[row]), side, float(need[row]))
        for row in np.flatnonzero(~found.safe_rows).tolist()
        for side, need, unmet in zip((Side.DOWN, Side.UP, Side.SLIDE), needs, found.unmet, strict=True)
        if unmet[row]
    ]
    return undominated(problem, requirements)


def open_requirements(problem: Problem, found: Audit, candidates: Bools) -> list[Requirement]:
    """Requirements that an audit found unmet and conditional ones of candidate cells, by decreasing level."""
    return by_decreasing_level(
        [*unmet_requirements(problem, found), *conditional_requirements(problem, candidates)]
    )


def undominated(problem: Problem, requirements: list[Requirement]) -> list[Requirement]:
    """Requirements without dominated ones: same cell and side, a level at least as large, a tighter box.

    A deviation in the tighter box is one in the wider box too. The audit checks all of them nevertheless.
    """
    names = sorted({requirement.attacker for requirement in requirements})
    inside = _box_inside(problem, names)
    rivals_of: dict[tuple[int, Side], list[Requirement]] = {}
    for requirement in requirements:
        rivals_of.setdefault((requirement.cell, requirement.side), []).append(requirement)
    kept = []
    for rivals in rivals_of.values():
        for requirement in rivals:
            stronger = (
                other
                for other in rivals
                if other.level >= requirement.level
                and inside[names.index(other.attacker), names.index(requirement.attacker)]
                and not (  # of two equal ones the first one stays
                    other.level == requirement.level
                    and inside[names.index(requirement.attacker), names.index(other.attacker)]
                    and other.attacker >= requirement.attacker
                )
            )
            if next(stronger, None) is None:
                kept.append(requirement)
    return kept


def _box_inside(problem: Problem, attackers: list[int]) -> Bools:
    """inside[j, k]: the box of the j-th attacker lies in that of the k-th."""
    known = [problem.attackers[attacker - 1].cells for attacker in attackers if attacker > 0]
    cells = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *known]))
    boxes = [problem.box(attacker) for attacker in attackers]
    low = np.array([box[0][cells] for box in boxes]).reshape(len(boxes), cells.size)
    high = np.array([box[1][cells] for box in boxes]).reshape(len(boxes), cells.size)
    inside = np.ones((len(boxes), len(boxes)), dtype=bool)
    for j in range(len(boxes)):
        inside[j] = ((low[j] >= low) & (high[j] <= high)).all(axis=1)
    return inside


def all_requirements(problem: Problem) -> list[Requirement]:
    """Requirements of all sensitive cells against all attackers, by decreasing level, without dominated ones."""
    return by_decreasing_level(
        undominated(problem, _requirements_of(problem, np.flatnonzero(problem.sensitive)))
    )


def conditional_requirements(problem: Problem, cells: Bools) -> list[Requirement]:
    """Conditional levels of the cells against all attackers, as requirements by decreasing level."""
    return by_decreasing_level(
        _requirements_of(problem, np.flatnonzero(cells & problem.levels.is_conditional))
    )


def _requirements_of(problem: Problem, cells: Ints) -> list[Requirement]:
    """Requirements of some cells against all attackers; no width that lower and upper levels imply."""
    requirements = []
    for attacker in range(len(problem.attacker_names) if cells.size else 0):
        lower, upper, sliding = required_amounts(problem, attacker, cells)
        for side, need in ((Side.UP, upper), (Side.DOWN, lower), (Side.SLIDE, sliding)):
            wanted = need > 0 if side is not Side.SLIDE else need > np.maximum(lower + upper, 0.0)
            requirements += [
                Requirement(cell, attacker, side, level)
                for cell, level in zip(cells[wanted].tolist(), need[wanted].tolist(), strict=True)
            ]
    return requirements


def by_decreasing_level(requirements: Iterable[Requirement]) -> list[Requirement]:
    """Requirements by decreasing level; ties by attacker, cell and side."""
    return sorted(
        requirements,
        key=lambda requirement: (
            -requirement.level,
            requirement.attacker,
            requirement.cell,
            requirement.side.value,
        ),
    )
