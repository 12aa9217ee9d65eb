"""A problem in whole data units: what methods compute with whole numbers, they compute exactly.

With values, levels and boxes as whole multiples of the data unit u = 10^-decimals, a problem and the one with all of
them divided by u have the same safe suppressions. Whole numbers below 2^53 are exact as floats, and so are their sums
and differences: flows and cuts of networks have no rounding errors at all then, whatever the scale of the table.
Levels are rounded up and boxes inward, so nothing that is safe for the rounded problem is unsafe for the given one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from tablecloak.arrays import Floats, floats, frozen
from tablecloak.attacker import same_structure
from tablecloak.errors import InfeasibleProblem
from tablecloak.methods.base import MethodFunction, Proposal
from tablecloak.methods.feasibility import interrupted_early, largest_pattern
from tablecloak.model import Attacker, AttackerLevels, Levels, Problem, units_above, units_below, whole_units


def exactly(method: MethodFunction) -> MethodFunction:
    """A method that hides cells, working in whole data units: its pattern does not depend on the unit."""

    @wraps(method)
    def in_units(problem: Problem, **arguments: Any) -> Proposal:
        whole = in_data_units(problem)
        try:
            return method(whole, **arguments)
        except InfeasibleProblem:
            if whole is not problem:
                largest_pattern(problem)  # the same refusal, its numbers in the units of the table
            raise
        except KeyboardInterrupt:
            found = interrupted_early(whole)
            if found is None:
                raise
            return found

    return in_units


def in_data_units(problem: Problem) -> Problem:
    """A problem with the data unit as 1; as it is where all numbers are whole already."""
    table, unit = problem.table, problem.table.unit
    levels = Levels(*(frozen(units_above(level, unit)) for _, level in problem.levels.named()))
    units = table.units.astype(np.float64)
    low, high = _inward(problem.outsider_low, problem.outsider_high, units, unit)
    attackers = tuple(_attacker(attacker, units, unit) for attacker in problem.attackers)
    if table.decimals == 0 and _is_same(problem, levels, low, high, attackers):
        return problem
    if table.decimals:
        steps = None if table.cell_decimals is None else table.cell_decimals - np.int8(table.decimals)
        table = replace(
            table, rhs=floats(whole_units(table.rhs, unit), table.rhs.size), decimals=0, cell_decimals=steps
        )
        same_structure(problem.table, table)
    return replace(
        problem, table=table, levels=levels, outsider_low=low, outsider_high=high, attackers=attackers
    )


def _attacker(attacker: Attacker, units: Floats, unit: float) -> Attacker:
    low, high = _inward(attacker.low, attacker.high, units[attacker.cells], unit)
    own = attacker.levels
    levels = (frozen(units_above(level, unit)) for _, level in own.named())
    return replace(attacker, low=low, high=high, levels=AttackerLevels(own.cells, *levels))


def _inward(low: Floats, high: Floats, units: Floats, unit: float) -> tuple[Floats, Floats]:
    """The whole numbers of units in a box; the true value stays inside."""
    return (
        frozen(np.minimum(units_above(low, unit), units)),
        frozen(np.maximum(units_below(high, unit), units)),
    )


def _is_same(
    problem: Problem, levels: Levels, low: Floats, high: Floats, attackers: tuple[Attacker, ...]
) -> bool:
    """Whether all numbers are whole as they are."""
    pairs = [
        *((one, other) for (_, one), (_, other) in zip(problem.levels.named(), levels.named(), strict=True)),
        (problem.outsider_low, low),
        (problem.outsider_high, high),
        *((one.low, other.low) for one, other in zip(problem.attackers, attackers, strict=True)),
        *((one.high, other.high) for one, other in zip(problem.attackers, attackers, strict=True)),
        *(
            (one_level, other_level)
            for one, other in zip(problem.attackers, attackers, strict=True)
            for (_, one_level), (_, other_level) in zip(one.levels.named(), other.levels.named(), strict=True)
        ),
    ]
    return all(np.array_equal(one, other, equal_nan=True) for one, other in pairs)
