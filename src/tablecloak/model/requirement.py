"""What a publication must leave open: one number for each cell, attacker and side, made here and nowhere else.

For cell p with value a_p and attacker k with the box low_k <= y <= high_k, in whole data units:

    lower = min(ceil LPL_p, a_p - ceil low_k),   upper = min(ceil UPL_p, floor high_k - a_p),
    sliding = min(ceil SPL_p, floor high_k - ceil low_k).

What an attacker knows of himself is not protected: levels end at his box. The audit, certificates and methods compare
with these numbers, so that they cannot disagree about what is asked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.model.pattern import View
from tablecloak.model.problem import Problem
from tablecloak.model.units import units_above, units_below


class Requirements(NamedTuple):
    """What is required of some cells against one attacker, in whole data units; zero where nothing is."""

    lower: Floats
    upper: Floats
    sliding: Floats


def requirements(problem: Problem, attacker: int, cells: Ints, touched: bool = True) -> Requirements:
    """The requirements of the cells against an attacker; conditional widths count as sliding ones if `touched`."""
    levels, value = problem.level_units, problem.table.units[cells].astype(np.float64)
    low, high = (end[cells] for end in problem.box_units(attacker))
    down, up = np.maximum(value - low, 0.0), np.maximum(high - value, 0.0)
    width = levels.sliding[cells] + (levels.conditional[cells] if touched else 0.0)
    return Requirements(
        np.minimum(levels.lower[cells], down),
        np.minimum(levels.upper[cells], up),
        np.minimum(width, down + up),
    )


def required_amounts(problem: Problem, attacker: int, cells: Ints) -> Requirements:
    """The requirements in the units of the table's values instead of data units."""
    return Requirements(*(problem.table.amounts(each) for each in requirements(problem, attacker, cells)))


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
