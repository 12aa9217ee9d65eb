"""Repair of patterns that the audit rejects: open requirements get the deviation that they miss.

For every open requirement an exact deviation of the table with everything hidden that may be is found
(`attacker.exact_oracle`), and the pattern is widened by what it moves: a suppression hides these cells, intervals are
extended to hold the deviation. Without conditional levels and without a bound on the number of touched cells every
requirement that can be met at all is met then; where no deviation is found all the same, a suppression hides everything
that may be hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Floats, floats
from tablecloak.attacker import WitnessFinder
from tablecloak.model import Audit, Intervals, Pattern, Problem, Suppression, whole_units


@dataclass(frozen=True)
class RoundSettings:
    """Rounds of audit and repair."""

    repairs: int = 10
    """Maximum number of audit-and-repair rounds. Untested default."""


Judge = Callable[[Pattern], Audit]


def repair(problem: Problem, pattern: Pattern, verdict: Audit, judge: Judge) -> tuple[Pattern, Audit]:
    """The pattern widened until the audit passes, with its audit; as it is where that does not help."""
    if not isinstance(pattern, Suppression | Intervals):
        return pattern, verdict
    finder = WitnessFinder(problem, ~problem.forced)
    for _ in range(RoundSettings.repairs):
        if verdict.safe:
            break
        deviations = missing_deviations(problem, finder, verdict)
        if not deviations:
            break
        pattern = _widened(problem, pattern, deviations)
        verdict = judge(pattern)
    if not verdict.safe and isinstance(pattern, Suppression) and problem.is_monotone:
        pattern = Suppression.of(problem.table, ~problem.forced)
        verdict = judge(pattern)
    return pattern, verdict


def missing_deviations(problem: Problem, finder: WitnessFinder, verdict: Audit) -> list[Floats]:
    """Deviations for all open requirements, in data units."""
    unit, found = problem.table.unit, list[Floats | None]()
    for row in np.flatnonzero(~verdict.safe_rows).tolist():
        cell, attacker = int(verdict.cells[row]), int(verdict.attackers[row])
        lower, upper, sliding = (
            float(whole_units(level[row], unit))
            for level in (verdict.required_lower, verdict.required_upper, verdict.required_sliding)
        )
        rise = finder.find(cell, attacker, True, max(upper, sliding)) if max(upper, sliding) > 0 else None
        rest = sliding - (0.0 if rise is None else min(float(np.floor(rise[cell])), sliding))
        fall = finder.find(cell, attacker, False, max(lower, rest)) if max(lower, rest) > 0 else None
        found += [rise, fall]
    return [deviation for deviation in found if deviation is not None]


def _widened(
    problem: Problem, pattern: Suppression | Intervals, deviations: list[Floats]
) -> Suppression | Intervals:
    if isinstance(pattern, Suppression):
        moved: Bools = np.any([deviation != 0 for deviation in deviations], axis=0)
        return Suppression.of(problem.table, pattern.hidden | moved)
    return lengthened(problem, pattern, deviations)


def lengthened(problem: Problem, intervals: Intervals, deviations: list[Floats]) -> Intervals:
    """Intervals that hold these deviations, in data units, as well."""
    table = problem.table
    value = whole_units(table.values, table.unit)
    low, high = intervals.low, intervals.high
    for deviation in deviations:
        low = np.minimum(low, table.amounts(np.floor(value + np.minimum(deviation, 0.0))))
        high = np.maximum(high, table.amounts(np.ceil(value + np.maximum(deviation, 0.0))))
    return Intervals(floats(low), floats(high), intervals.touch)
