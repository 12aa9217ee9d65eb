"""What a publication must leave open: one number for each cell, attacker and side, made here and nowhere else.

For cell p with value a_p and attacker k with the box low_k <= y <= high_k, in whole data units:

    lower = min(ceil LPL_p, a_p - ceil low_k),   upper = min(ceil UPL_p, floor high_k - a_p),
    sliding = min(ceil SPL_p, floor high_k - ceil low_k).

What an attacker knows of himself is not protected: levels end at his box. The audit, certificates and methods compare
with these numbers, so that they cannot disagree about what is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.model.pattern import View
from tablecloak.model.problem import Problem
from tablecloak.model.result import Audit
from tablecloak.model.units import units_above, units_below


class RequiredLevels(NamedTuple):
    """What is required of some cells against one attacker, in whole data units; zero where nothing is."""

    lower: Floats
    upper: Floats
    sliding: Floats


def required_units(problem: Problem, attacker: int, cells: Ints, touched: bool = True) -> RequiredLevels:
    """The requirements of the cells against an attacker; conditional widths count as sliding ones if `touched`."""
    levels, value = problem.level_units, problem.table.units[cells].astype(np.float64)
    low, high = (end[cells] for end in problem.box_units(attacker))
    down, up = np.maximum(value - low, 0.0), np.maximum(high - value, 0.0)
    width = levels.sliding[cells] + (levels.conditional[cells] if touched else 0.0)
    return RequiredLevels(
        np.minimum(levels.lower[cells], down),
        np.minimum(levels.upper[cells], up),
        np.minimum(width, down + up),
    )


def required_amounts(problem: Problem, attacker: int, cells: Ints) -> RequiredLevels:
    """The requirements in the units of the table's values instead of data units."""
    return RequiredLevels(*(problem.table.amounts(each) for each in required_units(problem, attacker, cells)))


def room_by_box(problem: Problem, attacker: int = 0) -> tuple[Floats, Floats]:
    """How far below and above its true value an attacker (0: the outsider) knows each cell to be, as amounts.

    Whole data units: the difference of two large floats would be off by more than a small level.
    """
    value, (low, high) = problem.table.units.astype(np.float64), problem.box_units(attacker)
    below, above = np.maximum(value - low, 0.0), np.maximum(high - value, 0.0)
    return problem.table.amounts(below), problem.table.amounts(above)


def deviation_bounds(problem: Problem, view: View, attacker: int) -> tuple[Floats, Floats]:
    """low <= 0 <= high: how far each cell may deviate by view and box alone, in whole data units."""
    table = problem.table
    low, high = np.zeros((2, len(table)))
    vague = np.flatnonzero((view.low != table.values) | (view.high != table.values))
    value, (box_low, box_high) = table.units[vague].astype(np.float64), problem.box_units(attacker)
    down = np.maximum(units_above(view.low[vague], table.unit), box_low[vague]) - value
    up = np.minimum(units_below(view.high[vague], table.unit), box_high[vague]) - value
    low[vague], high[vague] = np.minimum(down, 0.0), np.maximum(up, 0.0)
    return low, high


class Side(Enum):
    """Which requirement a requirement is about."""

    DOWN = "lower"
    UP = "upper"
    SLIDE = "sliding"


DIRECTIONS = {Side.UP: (True,), Side.DOWN: (False,), Side.SLIDE: (True, False)}
"""The directions (upward?) that a side is about."""


@dataclass(frozen=True)
class Requirement:
    """A level that the cells hidden so far do not give: cell, attacker, side and size."""

    cell: int
    attacker: int
    side: Side
    level: float


def sides(requirement: Requirement) -> tuple[bool, ...]:
    """The directions (upward?) that a level is about."""
    return DIRECTIONS[requirement.side]


def unmet_requirements(problem: Problem, found: Audit) -> list[Requirement]:
    """The levels an audit found unmet."""
    assert found.unmet is not None
    needs = (found.required_lower, found.required_upper, found.required_sliding)
    requirements = [
        Requirement(int(found.cells[row]), int(found.attackers[row]), side, float(need[row]))
        for row in np.flatnonzero(~found.safe_rows).tolist()
        for side, need, unmet in zip((Side.DOWN, Side.UP, Side.SLIDE), needs, found.unmet, strict=True)
        if unmet[row]
    ]
    return undominated(problem, requirements)


def undominated(problem: Problem, requirements: list[Requirement]) -> list[Requirement]:
    """Without the requirements that another one implies: the same cell and side, as large a level, a tighter box.

    A deviation in the tighter box is one in the wider box too. The audit asks all attackers all the same.
    """
    names = sorted({requirement.attacker for requirement in requirements})
    inside = _box_inside(problem, names)
    by_question: dict[tuple[int, Side], list[Requirement]] = {}
    for requirement in requirements:
        by_question.setdefault((requirement.cell, requirement.side), []).append(requirement)
    kept = []
    for rivals in by_question.values():
        for requirement in rivals:
            stronger = (
                other
                for other in rivals
                if other.level >= requirement.level
                and inside[names.index(other.attacker), names.index(requirement.attacker)]
                and not (  # of two alike the first one stays
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
    who = [problem.attackers[attacker - 1] for attacker in attackers if attacker > 0]
    cells = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(attacker.cells for attacker in who)]))
    boxes = [problem.box(attacker) for attacker in attackers]
    low = np.array([box[0][cells] for box in boxes]).reshape(len(boxes), cells.size)
    high = np.array([box[1][cells] for box in boxes]).reshape(len(boxes), cells.size)
    inside = np.ones((len(boxes), len(boxes)), dtype=bool)
    for j in range(len(boxes)):
        inside[j] = ((low[j] >= low) & (high[j] <= high)).all(axis=1)
    return inside


def all_levels(problem: Problem) -> list[Requirement]:
    """The levels of sensitive cells against every attacker, the largest first; those that others imply are left out."""
    cells = np.flatnonzero(problem.sensitive)
    requirements = []
    for attacker in range(len(problem.attacker_names)):
        lower, upper, sliding = required_amounts(problem, attacker, cells)
        for side, need in ((Side.UP, upper), (Side.DOWN, lower), (Side.SLIDE, sliding)):
            wanted = need > 0 if side is not Side.SLIDE else need > np.maximum(lower + upper, 0.0)
            requirements += [
                Requirement(cell, attacker, side, level)
                for cell, level in zip(cells[wanted].tolist(), need[wanted].tolist(), strict=True)
            ]
    return largest_first(undominated(problem, requirements))


def conditional_widths(problem: Problem, cells: Bools) -> list[Requirement]:
    """What is asked of these cells only if they are touched, against every attacker."""
    which = np.flatnonzero(cells & (problem.levels.conditional > 0))
    requirements = []
    for attacker in range(len(problem.attacker_names) if which.size else 0):
        widths = required_amounts(problem, attacker, which).sliding
        requirements += [
            Requirement(cell, attacker, Side.SLIDE, width)
            for cell, width in zip(which.tolist(), widths.tolist(), strict=True)
            if width > 0
        ]
    return largest_first(requirements)


def largest_first(requirements: list[Requirement]) -> list[Requirement]:
    """Requirements by decreasing level, then by attacker, cell and side."""
    return sorted(
        requirements,
        key=lambda requirement: (
            -requirement.level,
            requirement.attacker,
            requirement.cell,
            requirement.side.value,
        ),
    )
