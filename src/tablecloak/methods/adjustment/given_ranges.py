"""Perturbation as printed: given floors and ceilings, a known reach, sensitive cells at one of the ends.

    floor_i <= v_i <= ceiling_i,   v_p = ceiling_p or v_p = floor_p of a sensitive cell p,   |y_i - v_i| <= r_i stated

with r_i = ceiling_i - floor_i unless it is given. Nothing here follows from what is shown, unlike `reach`: it is for
the statistician to see that floors, ceilings and r_i do not betray the values. An end counts only if it lies a level
away from the truth (the first verdict on perturbations) and leaves the cell room for its levels within its own reach.

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework, cell perturbation (13), Figures 11 to
13.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Floats, floats, frozen
from tablecloak.errors import InputError
from tablecloak.methods.adjustment.reach import Ranges, refuse_hopeless
from tablecloak.model import OWN_NOISE_UNITS, Problem, Table
from tablecloak.solvers import INTEGER_QUOTIENT

CellNumbers = Sequence[float] | str | float
"""A number for each cell: a list or an array, the name of a column of the table, or one number for all."""


@dataclass(frozen=True, eq=False)
class KnownReach:
    """A reach that is stated whatever is shown."""

    reach: Floats

    def stated(self, shown: Floats, unit: float) -> Floats:
        """r_i, for every cell."""
        return self.reach

    def __repr__(self) -> str:
        return f"<confidential KnownReach: {self.reach.size} cells>"


def given_ranges(
    method: str, problem: Problem, floor: CellNumbers, ceiling: CellNumbers, known: CellNumbers | None = None
) -> Ranges:
    """The ranges of all cells; an `InputError` lists all faults, with the cells."""
    table, unit = problem.table, problem.table.unit
    low, high = (_numbers(table, name, given) for name, given in (("floor", floor), ("ceiling", ceiling)))
    reach = high - low if known is None else _numbers(table, "known", known)
    faults = list(_faults(problem, low, high, reach))
    if faults:
        raise InputError(
            method, faults, advice="Give numbers with floor <= value <= ceiling, in whole data units."
        )
    fixed = problem.forced
    deep, rise = (
        np.where(fixed, 0.0, np.maximum(np.rint(side / unit), 0.0))
        for side in (table.values - low, high - table.values)
    )
    rises, falls = _ends(problem, deep * unit, rise * unit, reach)
    refuse_hopeless(
        method,
        problem,
        (rises, falls),
        "neither end is as far from its value as its levels",
        "Lower the floor or raise the ceiling of these cells (and `known`), or lower their levels.",
    )
    zero = np.zeros(len(table))
    return Ranges(
        KnownReach(frozen(np.where(fixed, 0.0, reach))),
        frozen(-deep),
        frozen(rise),
        frozen(np.where(rises, rise, 0.0)),
        frozen(np.where(rises, rise, 0.0)),
        frozen(np.where(falls, deep, 0.0)),
        frozen(np.where(falls, deep, 0.0)),
        frozen(rises),
        frozen(falls),
        frozen(np.where(fixed, 0.0, reach)),
        frozen(zero),
    )


def _ends(problem: Problem, deep: Floats, rise: Floats, reach: Floats) -> tuple[Bools, Bools]:
    """Sensitive cells that may be shown at the ceiling, and at the floor."""
    levels, unit = problem.levels, problem.table.unit
    slack = np.minimum(INTEGER_QUOTIENT * np.maximum(unit, reach), OWN_NOISE_UNITS * unit)
    half = np.maximum(levels.sliding, unit) / 2
    wide = problem.sensitive & (2 * reach >= levels.sliding - slack)
    above = (rise >= np.maximum(levels.upper, half) - slack) & (reach - rise >= levels.lower - slack)
    below = (deep >= np.maximum(levels.lower, half) - slack) & (reach - deep >= levels.upper - slack)
    return np.asarray(wide & above), np.asarray(wide & below)


def _numbers(table: Table, name: str, given: CellNumbers) -> Floats:
    """A number for each cell."""
    numbers = floats(table.column(given) if isinstance(given, str) else given, len(table))
    if numbers.shape != (len(table),):
        raise InputError(
            "Parameters", [f"{name}: expected {len(table)} numbers, one a cell, got {numbers.size}"]
        )
    return numbers


def _faults(problem: Problem, low: Floats, high: Floats, reach: Floats) -> Iterator[str]:
    """Floors, ceilings and reaches that are missing or contradict the values or each other."""
    table, unit, value = problem.table, problem.table.unit, problem.table.values
    mine = ~problem.forced
    finite = np.isfinite(low) & np.isfinite(high) & np.isfinite(reach)
    slack = INTEGER_QUOTIENT * np.maximum(unit, np.abs(value))
    with np.errstate(invalid="ignore"):
        outside = finite & ((low > value + slack) | (high < value - slack))
        far = np.maximum(high - value, value - low)
        off = np.maximum(
            *(np.abs((side - value) / unit - np.rint((side - value) / unit)) for side in (low, high))
        )
        least = np.where(problem.outsider_low >= 0, 0.0, -np.inf)
    for fault, cells in (
        ("floor, ceiling and known reach must be finite numbers", ~finite),
        ("its true value lies outside floor..ceiling", outside),
        ("floor and ceiling must be whole data units", finite & ~outside & (off > 1e3 * INTEGER_QUOTIENT)),
        (
            "the known reach does not contain floor and ceiling around the true value",
            finite & (reach < far - slack),
        ),
        ("the floor is below zero, though the value is known not to be", finite & (low < least - slack)),
    ):
        for label in table.labels(np.flatnonzero(mine & cells)):
            yield f"cell {label}: {fault}"
