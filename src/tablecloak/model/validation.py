"""Validation of a problem: levels and boxes in integral data units, and all faults at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints, floats
from tablecloak.model.levels import Levels
from tablecloak.model.tolerances import BOX_NOISE, FLOAT_NOISE
from tablecloak.model.units import amounts, nearest_units, rounded

if TYPE_CHECKING:
    from tablecloak.model.problem import Problem


def with_integral_levels(problem: Problem) -> Problem:
    """The problem with levels rounded up to data units; sensitive cells without any get a sliding level of one unit."""
    table, size = problem.table, np.abs(problem.table.values)
    lower, upper, sliding, conditional = (
        np.where(
            level > 0,
            rounded(level, table.decimals, up=True, step=table.cell_steps, others=size),
            level,
        )
        for _, level in problem.levels.named()
    )
    bare = problem.sensitive & (np.maximum(lower, upper) <= 0) & (sliding == 0)
    unit = amounts(table.cell_steps, table.decimals)
    return replace(
        problem, levels=Levels.of(size.size, lower, upper, np.where(bare, unit, sliding), conditional)
    )


def _inward(problem: Problem, low: Floats, high: Floats, cells: Ints | slice) -> tuple[Floats, Floats]:
    """Bounds on cells rounded inward to the data unit, which is known."""
    table = problem.table
    step, size = table.cell_steps[cells], np.abs(table.values[cells])
    return (
        rounded(low, table.decimals, up=True, step=step, others=size),
        rounded(high, table.decimals, up=False, step=step, others=size),
    )


def with_integral_boxes(problem: Problem) -> Problem:
    """The problem with all boxes rounded inward to data units."""
    low, high = _inward(problem, problem.outsider_low, problem.outsider_high, slice(None))
    inside = [_inward(problem, insider.low, insider.high, insider.cells) for insider in problem.attackers]
    attackers = tuple(
        replace(insider, low=floats(least), high=floats(most))
        if (least != insider.low).any() or (most != insider.high).any()
        else insider
        for insider, (least, most) in zip(problem.attackers, inside, strict=True)
    )
    return replace(problem, outsider_low=floats(low), outsider_high=floats(high), attackers=attackers)


def widened(problem: Problem) -> Problem:
    """The problem with a-priori bounds as wide as the levels, wherever they contain the true value."""
    decimals, a = problem.table.decimals, problem.table.units.astype(np.float64)
    lower, upper, sliding, conditional = (
        nearest_units(level, decimals) for _, level in problem.levels.named()
    )
    known = _inward(problem, problem.outsider_low, problem.outsider_high, slice(None))
    least, most = (nearest_units(end, decimals) for end in known)
    low, high = np.minimum(least, a - lower), np.maximum(most, a + upper)
    with np.errstate(invalid="ignore"):
        high = high + np.maximum(np.maximum(sliding, conditional) - (high - low), 0.0)
    inside = (least <= a) & (a <= most)
    return replace(
        problem,
        outsider_low=floats(np.where(inside, amounts(low, decimals), problem.outsider_low)),
        outsider_high=floats(np.where(inside, amounts(high, decimals), problem.outsider_high)),
    )


def shape_faults(problem: Problem) -> Iterator[str]:
    """Arrays without one entry for each cell."""
    boxes = (("known low", problem.outsider_low), ("known high", problem.outsider_high))
    for name, array in (*problem.levels.named(), ("weights", problem.weights), *boxes):
        if array.shape != (len(problem.table),):
            yield f"{name}: expected {len(problem.table)} numbers, got an array of shape {array.shape}"


def number_faults(problem: Problem, wanted: Levels) -> Iterator[str]:
    """Levels, weights and boxes that are invalid or contradict each other; `wanted`: levels before rounding."""
    table = problem.table
    for name, array in (*problem.levels.named(), ("weights", problem.weights)):
        for label in table.labels(np.flatnonzero(~(np.isfinite(array) & (array >= 0)))):
            yield f"cell {label}: {name} must be a finite number that is not negative"
    for name, array in problem.levels.named():
        allowed = ~problem.sensitive if name == "conditional" else problem.sensitive
        which = "a sensitive cell" if name == "conditional" else "a cell that is not sensitive"
        for label in table.labels(np.flatnonzero((array > 0) & ~allowed)):
            yield f"cell {label}: a {name} level on {which}"
    outside = _outside(problem, problem.outsider_low, problem.outsider_high, np.arange(len(table)))
    for label in table.labels(np.flatnonzero(outside)):
        yield f"cell {label}: the true value lies outside the a-priori bounds"
    for label in table.labels(np.flatnonzero(_narrow(problem, wanted) & ~outside)):
        yield (
            f"cell {label}: the a-priori bounds are narrower than its protection level "
            "(correct one of them, or pass widen=True)"
        )


def _outside(problem: Problem, low: Floats, high: Floats, cells: Ints) -> Bools:
    """Cells whose true value is not in low..high."""
    least, most = _inward(problem, low, high, cells)
    a = problem.table.values[cells]
    return np.asarray(~((least <= a) & (a <= most)))


def _narrow(problem: Problem, wanted: Levels) -> Bools:
    """Cells whose outsider's box is narrower than a level, both before they are rounded."""
    a, levels = problem.table.values, wanted
    with np.errstate(invalid="ignore"):
        width = problem.outsider_high - problem.outsider_low

    def short(got: Floats, need: Floats) -> Bools:
        return np.asarray(got < need * (1 - BOX_NOISE) - FLOAT_NOISE * np.abs(a))

    return np.asarray(
        short(a - problem.outsider_low, levels.lower)
        | short(problem.outsider_high - a, levels.upper)
        | short(width, np.where(levels.sliding > 0, levels.sliding, problem.levels.sliding))
        | (short(width, levels.conditional) & ~problem.forced)
    )


def attacker_faults(problem: Problem) -> Iterator[str]:
    """DeviationBounds of insiders that do not fit the table."""
    size = len(problem.table)
    for insider in problem.attackers:
        shape, inside = insider.cells.shape, (insider.cells >= 0) & (insider.cells < size)
        if not inside.all():
            yield f"attacker {insider.name!r}: knows cells that the table does not have"
            continue
        if insider.low.shape != shape or insider.high.shape != shape:
            yield f"attacker {insider.name!r}: needs one low and one high for each of his cells"
            continue
        for cell in np.flatnonzero(np.bincount(insider.cells, minlength=size) > 1):
            yield f"attacker {insider.name!r}: knows cell {problem.table.label(cell)} more than once"
        for cell in insider.cells[_outside(problem, insider.low, insider.high, insider.cells)]:
            yield f"cell {problem.table.label(cell)}: the true value lies outside what attacker {insider.name!r} knows"


def bound_faults(problem: Problem) -> Iterator[str]:
    """Faults of the bound on the number of touched cells."""
    hidden = int(problem.must_hide.sum())
    if problem.most_touched is None:
        return
    if not isinstance(problem.most_touched, int | np.integer) or problem.most_touched < 0:
        yield "most_touched: expected a whole number of cells that is not negative"
    elif problem.most_touched < hidden:
        yield f"at most {problem.most_touched} cells may be touched, but {hidden} must be hidden"
