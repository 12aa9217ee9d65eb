"""Blur of optimal intervals: printed is a second optimum for levels that chance made larger, on a grid.

The optimum sits on the levels: the middle of an interval, or an end where a level is zero, would betray the value. With
W = max(lower + upper, sliding), s uniform in 0..1 and t uniform in 0.5..1.5 times the asymmetry, the levels become

    lower + s (W - lower - upper + t W),    upper + (1 - s) (W - lower - upper + t W)

for each cell; what the outsider's box does not allow on one side goes to the other, as far as it allows that. Longer
intervals are as safe as before: ends are rounded outward to a grid, and runs that are stopped before the second optimum
lengthen the first one by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import InfeasibleProblem, InputError
from tablecloak.methods.intervals.attainable import snapped, stated
from tablecloak.model import Intervals, Problem, box_deviation_bounds
from tablecloak.progress import NEVER, Deadline
from tablecloak.solvers import INTEGER_QUOTIENT, LP_PRECISION, UNIT_NOISE


@dataclass(frozen=True)
class BlurSettings:
    """How much chance does, and what grids look like."""

    min_asymmetry: float = 0.05
    """Asymmetries that cannot be met are halved down to this; below it levels stay as they are. Untested default."""
    draw: tuple[float, float] = (0.5, 1.5)
    """Range of the random factor of the asymmetry. Wider: midpoints say less, against longer intervals. Untested
    default."""
    grid_steps: tuple[float, ...] = (1.0, 2.0, 5.0)
    """Ends of intervals are multiples of one of these times a power of ten. Untested default."""
    grid_fineness: float = 10.0
    """Grid steps are at most the width over this. More: narrower printed intervals, against less readable ends.
    Untested default."""


class BlurParams(Protocol):
    """The public parameters of what is printed."""

    @property
    def asymmetry(self) -> float:
        """How much larger chance makes the levels; 0: not at all."""

    @property
    def grid(self) -> float | None:
        """Ends are multiples of this; None: nice numbers; 0: no grid."""


def check_blur(method: str, grid: float | None, asymmetry: float, others: dict[str, bool]) -> None:
    """Raise for parameters that make no sense; `others`: faults that hold or not."""
    faults = {
        "grid must be a number that is not negative, or none": grid is not None and not 0 <= grid < math.inf,
        "asymmetry must be a number from 0 on": not 0 <= asymmetry < math.inf,
        **others,
    }
    if any(faults.values()):
        raise InputError(method, [fault for fault, holds in faults.items() if holds])


@dataclass(frozen=True, eq=False)
class Blurred:
    """The intervals for the levels as they are, those that are printed, and the asymmetry requested and reached."""

    exact: Intervals
    printed: Intervals
    requested: float
    asymmetry: float
    by_chance: bool = False
    """Whether intervals were lengthened by chance, because the run was stopped before the second optimum."""

    @property
    def same(self) -> bool:
        """Whether blurring changed nothing."""
        one, other = self.exact, self.printed
        return bool((one.low == other.low).all() and (one.high == other.high).all())


def blurred(
    problem: Problem,
    exact: Intervals,
    params: BlurParams,
    rng: np.random.Generator,
    solve: Callable[[Problem], Intervals],
    deadline: Deadline = NEVER,
    settings: BlurSettings = BlurSettings(),
) -> Blurred:
    """Intervals for print: `solve` makes them for larger levels; the asymmetry is halved until these can be met.

    Intervals without ends, all that there is when the time is up early, have no midpoint to hide.
    """
    asymmetry, grid, touched = params.asymmetry, params.grid, exact.low < exact.high
    if deadline.passed() and not (np.isfinite(exact.low) | np.isfinite(exact.high))[touched].any():
        return Blurred(exact, exact, asymmetry, asymmetry)
    printed, requested, seed = exact, asymmetry, rng.bit_generator.random_raw()

    def by_chance() -> Blurred:
        longer = lengthened(problem, exact, requested, np.random.default_rng(seed), settings)
        on = on_grid(problem, longer, grid, settings)
        return Blurred(exact, on, requested, requested, by_chance=True)

    if asymmetry > 0 and deadline.passed():
        return by_chance()
    while asymmetry > 0:
        solved: list[Intervals] = []
        try:
            with deadline.stoppable():
                solved.append(solve(skewed(problem, asymmetry, np.random.default_rng(seed), settings)))
        except InfeasibleProblem:
            asymmetry = asymmetry / 2 if asymmetry > settings.min_asymmetry else 0.0
            continue
        if not solved:  # interrupted
            return by_chance()
        printed = solved[0]
        break
    found = Blurred(exact, on_grid(problem, printed, grid, settings), requested, asymmetry)
    if asymmetry > 0 and deadline.passed():
        other = by_chance()
        return other if other.printed.loss(problem) < found.printed.loss(problem) else found
    return found


def skewed(
    problem: Problem, asymmetry: float, rng: np.random.Generator, settings: BlurSettings = BlurSettings()
) -> Problem:
    """The problem with larger levels on both sides of each sensitive cell, how much on which is left to chance."""
    levels, where = problem.levels, problem.sensitive
    below, above = box_deviation_bounds(problem)
    share = rng.random(where.size)
    scale = asymmetry * rng.uniform(*settings.draw, where.size)
    width = np.maximum(levels.lower + levels.upper, levels.sliding)
    more = (
        np.where(where, (1 + scale) * width - levels.lower - levels.upper, 0.0)
        if asymmetry > 0
        else 0.0 * width
    )
    lower, upper = levels.lower + share * more, levels.upper + (1 - share) * more
    most_below, most_above = np.maximum(below, levels.lower), np.maximum(above, levels.upper)
    down, up = np.maximum(lower - most_below, 0.0), np.maximum(upper - most_above, 0.0)
    unit = problem.table.unit
    lower, upper = (
        np.minimum(np.ceil(level / unit - UNIT_NOISE) * unit, most)
        for level, most in ((lower + up, most_below), (upper + down, most_above))
    )
    return replace(problem, levels=replace(levels, lower=lower, upper=upper))


def lengthened(
    problem: Problem,
    pattern: Intervals,
    asymmetry: float,
    rng: np.random.Generator,
    settings: BlurSettings = BlurSettings(),
) -> Intervals:
    """Intervals lengthened by chance, by up to the largest draw on each side, as far as the outsider's box goes."""
    value = problem.table.values
    with np.errstate(invalid="ignore"):
        bounds = np.stack([value - pattern.low, pattern.high - value])
        longer = bounds * (1 + settings.draw[1] * asymmetry * rng.random(bounds.shape))
    most = np.maximum(bounds, np.stack(box_deviation_bounds(problem)))
    below, above = (snapped(problem, *pair, LP_PRECISION) for pair in zip(longer, most, strict=True))
    touched = pattern.low < pattern.high
    return stated(problem, np.where(touched, below, 0.0), np.where(touched, above, 0.0), pattern.touch)


def on_grid(
    problem: Problem, pattern: Intervals, grid: float | None, settings: BlurSettings = BlurSettings()
) -> Intervals:
    """Intervals rounded outward to multiples of a grid (None: nice numbers; 0: none), not below zero if nothing is."""
    if grid == 0.0:
        return pattern
    low, high = pattern.low.copy(), pattern.high.copy()
    ends = np.flatnonzero((low < high) & np.isfinite(low) & np.isfinite(high))
    width, unit = high[ends] - low[ends], problem.table.unit
    step = _grid_steps(width, unit, settings) if grid is None else np.full(ends.size, grid)
    down = np.floor(low[ends] / step + INTEGER_QUOTIENT) * step
    up = np.ceil(high[ends] / step - INTEGER_QUOTIENT) * step
    if (problem.outsider_low >= 0).all():
        down = np.maximum(down, 0.0)
    low[ends], high[ends] = np.minimum(down, low[ends]), np.maximum(up, high[ends])
    return Intervals(_plain(low, problem), _plain(high, problem), pattern.touch)


def _grid_steps(width: Floats, unit: float, settings: BlurSettings) -> Floats:
    """The largest nice number that is at most a part of the width, and at least a data unit."""
    wanted = np.maximum(width / settings.grid_fineness, unit)
    power = 10.0 ** np.floor(np.log10(wanted))
    nice = np.array(
        [
            np.where(step * power <= wanted * (1 + INTEGER_QUOTIENT), step * power, 0.0)
            for step in settings.grid_steps
        ]
    )
    return np.asarray(np.maximum(nice.max(axis=0), unit))


def _plain(ends: Floats, problem: Problem) -> Floats:
    """Ends without the noise of floating point beyond the digits of the data."""
    digits = max(0, round(-math.log10(problem.table.unit))) + 3
    return np.asarray(np.where(np.isfinite(ends), np.round(ends, digits) + 0.0, ends), dtype=np.float64)
