"""The four ways to publish side by side on the public library of JJ instances."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from cases.base import Make, Part, result_row, sizes
from cases.real_data import CSPLIB, csplib_problem
from runner import Case, Row
from tablecloak import (
    InfeasibleProblem,
    InputError,
    NotApplicable,
    Problem,
    Result,
    Suppression,
    audit,
    protect,
)
from tablecloak.analysis import measures
from tablecloak.methods.adjustment import ReachRule, ranges_of
from tablecloak.model import Audit, Intervals, Pattern

SECONDS = 60.0
SLACK = 300.0
"""Seconds that a row may take beside the method: the audit of every hidden cell."""
MOST_HIDDEN = 1500
"""Where more cells are hidden their intervals, a program each, would take longer than everything else: left out."""
SHARE = 0.5
"""The stated reach of a perturbation, as a share of what is shown; see `fitting_reach`."""
LEADING = (1.0, 2.0, 5.0)

PROTECTING, SMALL = "round-controlled", "round-controlled, small base"
WAYS = ("suppress-optimal", "interval-partial", PROTECTING, SMALL, "perturb-cell", "perturb-cta")
"""The methods; rounding twice, with a base that can protect and with a smaller one that leaves cells open."""


def side_by_side(seconds: float | None) -> Iterator[Case]:
    """Every way on every instance, with the same limit."""
    limit = seconds or SECONDS
    for name in CSPLIB:
        for way in WAYS:
            measure = partial(way_row, partial(csplib_problem, name), way, limit)
            facts = {"name": name, "way": way, "limit_s": f"{limit:g}"}
            yield Case(f"{name}, {way}", measure, limit + SLACK, (), facts, group=name)


def way_row(make: Make, way: str, seconds: float) -> Row:
    """One way on a problem: cost in its own terms, and the measures that all patterns share."""
    problem = make()
    method, params = call_of(problem, way, seconds)
    told = {**sizes(problem), "base": params.get("base"), "least": params.get("least")}
    try:
        result = protect(problem, method, params=params)
    except (InfeasibleProblem, NotApplicable) as error:
        return {**told, "status": refusal(error)}
    hides = isinstance(result.pattern, Suppression)
    few = int(result.pattern.touched(problem).sum()) <= MOST_HIDDEN
    found = _intervals(problem, result) if hides and few else None
    return {**told, **printed_row(result), **loss_columns(problem, result, found)}


def refusal(error: Exception) -> str:
    """Why there is no pattern, in a word."""
    return "infeasible" if isinstance(error, InfeasibleProblem) else "not applicable"


def call_of(problem: Problem, way: str, seconds: float) -> tuple[str, Mapping[str, Any]]:
    """The method of a way and its parameters."""
    if way in ("perturb-cell", "perturb-cta"):
        return way, {"seconds": seconds, "share": SHARE, "least": fitting_reach(way, problem)}
    if way not in (PROTECTING, SMALL):
        return way, {"seconds": seconds}
    base = protecting_base(problem) if way == PROTECTING else small_base(problem)
    return PROTECTING, {"seconds": seconds, "base": base}


def protecting_base(problem: Problem) -> float:
    """The smallest of 1, 2, 5, 10, ... that leaves every level room on both sides of a nearest multiple.

    What is shown is within base / 2 of the truth and stated to be within the base: base / 2 is left on either side, so
    the base is at least twice the largest level. At least two data units: with one, values would be shown as they are.
    """
    levels, asked = problem.levels, problem.sensitive
    largest = np.maximum(2 * np.maximum(levels.upper, levels.lower), levels.sliding)[asked].max(initial=0.0)
    return nice_above(max(float(largest), 2 * problem.table.unit))


def small_base(problem: Problem) -> float:
    """A tenth of the other: too small for the largest levels. At least two data units, as there."""
    return max(nice_above(protecting_base(problem) / 10), 2 * problem.table.unit)


def fitting_reach(method: str, problem: Problem) -> float:
    """`least` of a perturbation: 0, or the smallest of 1, 2, 5, 10, ... units with which every level finds room."""
    least, unit = 0.0, problem.table.unit
    while True:
        try:
            ranges_of(method, problem, ReachRule.checked(method, SHARE, least))
        except InputError:
            least = nice_above(1.5 * least) if least else unit
        else:
            return least


def nice_above(number: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten at or above a positive number."""
    ten = 10.0 ** math.floor(math.log10(number))
    return next(lead * ten for lead in (*LEADING, 10.0) if lead * ten >= number * (1 - 1e-12))


# ---------------------------------------------------------------------- columns


def printed_row(result: Result) -> Row:
    """How a method ended, and the cost of what is printed."""
    return {**result_row(result), "printed_cost": result.cost}


def loss_columns(problem: Problem, result: Result, found: Audit | None) -> Row:
    """What the reader loses. Where cells are hidden, `found` tells how wide the outsider's intervals are."""
    loss = measures(problem, result.pattern, found)
    width = loss.relative_width if found is not None else loss.relative_vagueness
    return {
        "cells_percent": _percent(float(loss.losses.every.share[0])),
        "value_percent": _percent(float(loss.losses.leaves.value_share[0])),
        "median_width": None if width is None else width.median,
        "median_change": loss.relative_change.median,
        "width_loss": None if found is None else width_loss(problem, found),
        "adds_up": adds_up(problem, result.pattern),
    }


def adds_up(problem: Problem, pattern: Pattern) -> bool | None:
    """Whether what is shown keeps all sums of the table; None where not every cell shows a number.

    The audit judges what attackers can work out, not this.
    """
    table, shown = problem.table, pattern.view(problem).shown
    if np.isnan(shown).any():
        return None
    off = np.abs(table.equations @ (shown - table.values))
    noise = 1e-6 * table.unit + 1e-12 * (abs(table.equations) @ np.abs(table.values))
    return bool((off <= noise).all())


def _intervals(problem: Problem, result: Result) -> Audit:
    return audit(problem, result.pattern, intervals=True, every_hidden=True)


def width_loss(problem: Problem, found: Audit) -> float:
    """Weight times width of what the outsider can work out about every hidden cell: its pattern as intervals."""
    low, high = problem.table.values.copy(), problem.table.values.copy()
    outsider = found.attackers == 0
    cells = found.cells[outsider]
    low[cells], high[cells] = found.low[outsider], found.high[outsider]
    return Intervals.of(low, high).loss(problem)


def _percent(share: float) -> float:
    return round(100.0 * share, 3)


PARTS = (Part("ways", "the four ways to publish on the 13 instances of the library", side_by_side, True),)
