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
from tablecloak.attacker.presolve import same_structure
from tablecloak.errors import InfeasibleProblem
from tablecloak.methods.base import MethodFunction, Proposal
from tablecloak.methods.feasibility import largest_pattern
from tablecloak.problem import Attacker, Levels, Problem

NOISE = 1e-6
"""What is no further from a whole number of units is that number: the rounding noise of decimal fractions."""


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

    return in_units


def in_data_units(problem: Problem) -> Problem:
    """The same problem with the data unit as 1; as it is where it is so already or values are no whole units."""
    table, unit = problem.table, problem.table.unit
    units: Floats = np.rint(table.values / unit)
    if (np.abs(table.values / unit - units) > NOISE + 4 * np.spacing(np.abs(units))).any():
        return problem
    levels = Levels(*(frozen(_up(level / unit)) for _, level in problem.levels.named()))
    low, high = _inward(problem.outsider_low / unit, problem.outsider_high / unit, units)
    attackers = tuple(_attacker(attacker, unit, units) for attacker in problem.attackers)
    if unit == 1.0 and _is_same(problem, levels, low, high, attackers):
        return problem
    if unit != 1.0:
        table = replace(
            table, values=frozen(units), rhs=floats(np.rint(table.rhs / unit), table.rhs.size), decimals=0
        )
        same_structure(problem.table, table)
    return replace(
        problem, table=table, levels=levels, outsider_low=low, outsider_high=high, attackers=attackers
    )


def _attacker(attacker: Attacker, unit: float, units: Floats) -> Attacker:
    low, high = _inward(attacker.low / unit, attacker.high / unit, units[attacker.cells])
    return replace(attacker, low=low, high=high)


def _up(numbers: Floats) -> Floats:
    """The least whole numbers that are not below these, noise apart."""
    return np.asarray(np.ceil(numbers - NOISE * np.minimum(numbers, 1.0)))


def _inward(low: Floats, high: Floats, units: Floats) -> tuple[Floats, Floats]:
    """The whole numbers of a box; the true value stays inside."""
    return (
        frozen(np.minimum(np.ceil(low - NOISE), units)),
        frozen(np.maximum(np.floor(high + NOISE), units)),
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
    ]
    return all(bool((one == other).all()) for one, other in pairs)
