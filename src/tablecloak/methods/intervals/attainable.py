"""Attainable intervals, as tight as they can be stated without numerical noise, and the blur of optimal ones.

An end of an interval is *attainable* if the outsider cannot exclude it. Narrowing all intervals to what is attainable
takes nothing from the attacker's region, so it costs no protection.

*Blur*: printed is a second optimum for levels that chance made larger, on a grid. The optimum sits on the levels: the
middle of an interval, or an end where a level is zero, would betray the value. With W = max(lower + upper, sliding),
s uniform in 0..1 and t uniform in 0.5..1.5 times the asymmetry, the levels become

    lower + s (W - lower - upper + t W),    upper + (1 - s) (W - lower - upper + t W)

for each cell; what the outsider's box does not allow on one side goes to the other, as far as it allows that. Longer
intervals are as safe as before: ends are rounded outward to a grid, and runs that are stopped before the second optimum
lengthen the first one by chance.

Reference: Fischetti & Salazar (2003), Partial cell suppression.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from tablecloak.arrays import Bools, Floats, frozen
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, InputError
from tablecloak.methods.feasibility import finished_largest_pattern
from tablecloak.model import Attacker, Intervals, Mark, Problem, box_deviation_bounds
from tablecloak.progress import NEVER, Deadline, Progress
from tablecloak.solvers import INTEGER_QUOTIENT, LP_PRECISION, UNIT_NOISE

SideBounds = tuple[Floats, Floats]
"""Deviation bounds that intervals leave: how far below and above its value each cell may lie."""


def hidden_by_mark(problem: Problem) -> Bools:
    """Cells that must not be shown even as an interval."""
    return np.asarray(problem.marks == Mark.HIDDEN)


def stated(problem: Problem, below: Floats, above: Floats, touch: float = 0.0) -> Intervals:
    """Intervals that leave these deviation bounds (infinite: nothing is stated)."""
    table, value, hidden = problem.table, problem.table.values, hidden_by_mark(problem)
    down, up = (np.where(bound > UNIT_NOISE * table.unit, bound, 0.0) for bound in (below, above))
    low = np.where(down > 0, np.minimum(_decimal(value - down, problem), value), value)
    high = np.where(up > 0, np.maximum(_decimal(value + up, problem), value), value)
    return Intervals(np.where(hidden, -np.inf, low), np.where(hidden, np.inf, high), touch)


def _decimal(ends: Floats, problem: Problem) -> Floats:
    """Ends that are integral in data units, up to the noise of floats, as the floats nearest to these decimals."""
    unit = problem.table.unit
    with np.errstate(invalid="ignore"):
        near = np.abs(ends / unit - np.rint(ends / unit)) <= UNIT_NOISE
    return np.asarray(np.where(near, np.round(ends, problem.table.decimals), ends))


def tightened(problem: Problem, below: Floats, above: Floats, cells: Bools, progress: Progress) -> SideBounds:
    """The deviation bounds of some cells narrowed to what is attainable for the outsider."""
    found = audit(
        problem, stated(problem, below, above), intervals=True, every_hidden=True, progress=progress
    )
    outsider = (found.attackers == 0) & cells[found.cells]
    which, value = found.cells[outsider], problem.table.values[found.cells[outsider]]
    tight_below, tight_above = below.copy(), above.copy()
    tight_below[which] = np.minimum(below[which], value - found.low[outsider])
    tight_above[which] = np.minimum(above[which], found.high[outsider] - value)
    return tight_below, tight_above


def snapped(problem: Problem, bounds: Floats, most: Floats, margin: float) -> Floats:
    """Bounds without the noise of linear programs, at most `most`: snapped to data units where they are near one.

    Others stay as they are without a `margin`; with one they grow by this share, and up to integral data units.
    """
    unit, finite = problem.table.unit, np.where(np.isfinite(bounds), bounds, 0.0)
    nearest = np.rint(finite / unit) * unit
    noise = np.minimum(LP_PRECISION * np.maximum(unit, finite), UNIT_NOISE * unit)
    near = np.abs(finite - nearest) <= noise
    if margin:
        finite = np.ceil(finite * (1 + margin) / unit - UNIT_NOISE) * unit
    return np.minimum(np.where(np.isfinite(bounds), np.where(near, nearest, finite), bounds), most)


def rounded_up(problem: Problem, amounts: Floats) -> Floats:
    """Amounts rounded up to integral data units, up to noise; negative ones are 0."""
    unit = problem.table.unit
    return np.asarray(np.ceil(np.maximum(amounts, 0.0) / unit - UNIT_NOISE) * unit)


def may_be_touched(problem: Problem, progress: Progress, *, check_feasibility: bool) -> Bools:
    """The cells that may be touched; with a check it raises if even all of them do not meet the requirements."""
    if not check_feasibility:
        return np.asarray(~problem.forced)
    unbounded = problem if problem.most_touched is None else replace(problem, most_touched=None)
    return finished_largest_pattern(unbounded, progress)


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
    problem: Problem,
    asymmetry: float,
    rng: np.random.Generator,
    settings: BlurSettings = BlurSettings(),
    among: Bools | None = None,
) -> Problem:
    """The problem with larger levels on both sides of each sensitive cell, how much on which is left to chance.

    Levels against single attackers become larger in the same way. `among`: only those of these cells.
    """
    levels, where = problem.levels, problem.sensitive if among is None else problem.sensitive & among
    share = rng.random(where.size)
    scale = asymmetry * rng.uniform(*settings.draw, where.size)
    skew = _Skew(share, scale if asymmetry > 0 else None, problem.table.unit)
    lower, upper = skew.of((levels.lower, levels.upper, levels.sliding), box_deviation_bounds(problem))
    attackers = problem.attackers
    if problem.has_own_levels:
        attackers = tuple(_skewed_own(problem, skew, where, number + 1) for number in range(len(attackers)))
    lower, upper = np.where(where, lower, levels.lower), np.where(where, upper, levels.upper)
    return replace(problem, levels=replace(levels, lower=lower, upper=upper), attackers=attackers)


class _Skew(NamedTuple):
    """The share of what is added that goes down, and how much is added, relative to the width; None: nothing."""

    share: Floats
    scale: Floats | None
    unit: float

    def of(
        self, levels: tuple[Floats, Floats, Floats], bounds: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """Lower and upper levels with what is added; what the box does not allow on one side goes to the other."""
        (lower, upper, sliding), (below, above) = levels, bounds
        width = np.maximum(lower + upper, sliding)
        more = 0.0 * width if self.scale is None else (1 + self.scale) * width - lower - upper
        most_below, most_above = np.maximum(below, lower), np.maximum(above, upper)
        lower, upper = lower + self.share * more, upper + (1 - self.share) * more
        down, up = np.maximum(lower - most_below, 0.0), np.maximum(upper - most_above, 0.0)
        lower, upper = (
            np.minimum(np.ceil(level / self.unit - UNIT_NOISE) * self.unit, most)
            for level, most in ((lower + up, most_below), (upper + down, most_above))
        )
        return lower, upper


def _skewed_own(problem: Problem, skew: _Skew, where: Bools, number: int) -> Attacker:
    """An attacker with larger levels of his own; those that he shares with all others he still does."""
    who = problem.attackers[number - 1]
    own, cells = who.levels, who.levels.cells
    here = _Skew(skew.share[cells], None if skew.scale is None else skew.scale[cells], skew.unit)
    below, above = box_deviation_bounds(problem, number)
    lower, upper = here.of(problem.required(number, cells), (below[cells], above[cells]))
    lower, upper = (
        frozen(np.where(np.isnan(given) | ~where[cells], given, larger))
        for given, larger in ((own.lower, lower), (own.upper, upper))
    )
    return replace(who, levels=replace(own, lower=lower, upper=upper))


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
