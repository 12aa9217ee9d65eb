"""What the interval methods share: the tightest intervals that say the same, and how they are blurred for print."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import is_network, working_equations
from tablecloak.auditing import audit
from tablecloak.errors import InputError
from tablecloak.methods.data_units import in_data_units
from tablecloak.methods.feasibility import largest_pattern
from tablecloak.methods.heuristics import NetworkSearch, Router, Search, Witness
from tablecloak.methods.unified import Formulation
from tablecloak.model import (
    Intervals,
    Mark,
    Problem,
    Requirement,
    Suppression,
    box_deviation_bounds,
    unmet_requirements,
)
from tablecloak.progress import NEVER, Deadline, Progress

HAIR = 1e-6
"""The bound of a linear program is trusted up to this share."""
HAIRS = (0.0, HAIR, 10 * HAIR)
"""By how much intervals that the audit rejects are made longer, one after the other, before single levels are."""
NOISE = 1e-6
"""A share of a data unit that is rounding noise."""
ROUNDS = 20
"""So often are levels that the audit still finds open given room by their own deviations."""
MANY, LONGER, GROWTHS = 100, 1.3, 8
"""While more levels than this are open and time is short, all intervals are made so much longer, so often at most."""
QUICKLY_ASKED = 10_000
"""Of tables that are no networks and larger than this it is not asked beforehand whether levels can be met."""
LEAST_ASYMMETRY = 0.05
"""Below this the levels are left as they are."""
GRIDS = (1.0, 2.0, 5.0)
"""Ends are multiples of one of these times a power of ten."""
FINENESS = 10.0
"""A grid step is at most this part of the width."""

Room = tuple[Floats, Floats]
"""How far below and above its value each cell may lie."""


def hidden_by_mark(problem: Problem) -> Bools:
    """Cells that must not be shown even as an interval."""
    return np.asarray(problem.marks == Mark.HIDDEN)


def stated(problem: Problem, below: Floats, above: Floats, touch: float = 0.0) -> Intervals:
    """Intervals that leave this room (infinite: nothing is stated)."""
    table, value, hidden = problem.table, problem.table.values, hidden_by_mark(problem)
    down, up = (np.where(room > NOISE * table.unit, room, 0.0) for room in (below, above))
    low = np.where(down > 0, np.minimum(_decimal(value - down, problem), value), value)
    high = np.where(up > 0, np.maximum(_decimal(value + up, problem), value), value)
    return Intervals(np.where(hidden, -np.inf, low), np.where(hidden, np.inf, high), touch)


def _decimal(ends: Floats, problem: Problem) -> Floats:
    """Ends that are whole data units, up to the noise of floats, as the floats nearest to these decimals."""
    unit = problem.table.unit
    with np.errstate(invalid="ignore"):
        near = np.abs(ends / unit - np.rint(ends / unit)) <= NOISE
    return np.asarray(np.where(near, np.round(ends, problem.table.decimals), ends))


def tightened(
    problem: Problem, below: Floats, above: Floats, cells: Bools, progress: Progress
) -> tuple[Floats, Floats]:
    """The room that the outsider cannot exclude: both ends of every interval are attainable.

    Narrowing all intervals to what is attainable takes nothing from the attacker's region, so nothing gets less safe.
    """
    found = audit(
        problem, stated(problem, below, above), intervals=True, every_hidden=True, progress=progress
    )
    outsider = (found.attackers == 0) & cells[found.cells]
    which, value = found.cells[outsider], problem.table.values[found.cells[outsider]]
    tight_below, tight_above = below.copy(), above.copy()
    tight_below[which] = np.minimum(below[which], value - found.low[outsider])
    tight_above[which] = np.minimum(above[which], found.high[outsider] - value)
    return tight_below, tight_above


def snapped(problem: Problem, room: Floats, most: Floats, hair: float) -> Floats:
    """Room without the noise of linear programs, at most `most`: to data units where it is near one.

    What is not near one stays as it is without a `hair`; with one it grows by this share, up to whole data units.
    """
    unit, finite = problem.table.unit, np.where(np.isfinite(room), room, 0.0)
    whole = np.rint(finite / unit) * unit
    near = np.abs(finite - whole) <= np.minimum(1e-6 * np.maximum(unit, finite), NOISE * unit)
    if hair:
        finite = np.ceil(finite * (1 + hair) / unit - NOISE) * unit
    return np.minimum(np.where(np.isfinite(room), np.where(near, whole, finite), room), most)


class Widener:
    """Makes room for levels one after the other by their cheapest deviations: a safe start."""

    def __init__(self, problem: Problem, price: Floats, deadline: Deadline) -> None:
        self.problem, self.price = problem, np.where(hidden_by_mark(problem), 0.0, price)
        self.router = Router(problem, working_equations(problem.table), ~problem.forced, deadline)
        self._asked: set[Requirement] = set()

    def widen(
        self, below: Floats, above: Floats, requirements: list[Requirement]
    ) -> tuple[Floats, Floats] | None:
        """Room that also meets these levels, whatever the others do; None if the time was up first.

        Deviations are rounded up to whole data units. Where the number of touched cells or what is asked of them
        matters they stay on cells that are touched, if possible. A level that is open again gets a deviation from the
        attacker's own program, which is nearly exact.
        """
        below, above = below.copy(), above.copy()
        for requirement in requirements:
            witness = self._witness(requirement, (below > 0) | (above > 0) | self.problem.must_hide)
            if witness is None:
                return None
            for moved in (witness.forward, witness.backward):
                if moved is not None:
                    np.maximum.at(above, witness.cells, self._whole(moved))
                    np.maximum.at(below, witness.cells, self._whole(-moved))
        return below, above

    def _witness(self, requirement: Requirement, touched: Bools) -> Witness | None:
        again, everything = requirement in self._asked, ~self.problem.forced
        self._asked.add(requirement)
        for cells in [everything] if self.problem.is_monotone else [touched & everything, everything]:
            self.router.allowed[:] = cells
            found = None if again else self.router.cheapest(requirement, self._slope(requirement))
            if found is None and self.router.is_late():
                return None
            found = found or self.router.any_deviation(requirement)
            if found is not None:
                return found
        return None

    def _whole(self, moved: Floats) -> Floats:
        unit = self.problem.table.unit
        return np.asarray(np.ceil(np.maximum(moved, 0.0) / unit - NOISE) * unit)

    def _slope(self, requirement: Requirement) -> Floats:
        """The router takes prices of whole cells and divides by what they can carry; lengths cost by the unit."""
        return self.price * requirement.level


def may_be_touched(problem: Problem, progress: Progress) -> Bools:
    """The cells that may be touched; raises if even all of them together do not meet the levels.

    Without conditional levels, and where asking takes long, that is left to who finds no intervals.
    """
    if problem.is_monotone and not is_network(problem) and len(problem.table) > QUICKLY_ASKED:
        return np.asarray(~problem.forced)
    unbounded = problem if problem.most_touched is None else replace(problem, most_touched=None)
    return largest_pattern(unbounded, progress)


def repaired(
    problem: Problem, below: Floats, above: Floats, progress: Progress, deadline: Deadline = NEVER
) -> tuple[Floats, Floats] | None:
    """Room that the audit accepts: levels that are open get their cheapest deviations. None if the time is up first.

    What a linear program leaves open is within its tolerance: intervals are lengthened by a hair, to whole data units.
    What one leaves that was stopped can be much: then all intervals are made longer first, and deviations are for the
    few levels that this does not help. In the end nothing is stated about any cell.
    """
    most_below, most_above = box_deviation_bounds(problem)
    widener = Widener(problem, problem.weights, deadline)
    below, above = np.maximum(below, 0.0), np.maximum(above, 0.0)
    for number in range(ROUNDS):
        hair = HAIRS[min(number, len(HAIRS) - 1)]
        below, above = (
            snapped(problem, room, most, hair) for room, most in ((below, most_below), (above, most_above))
        )
        requirements = unmet_requirements(
            problem, audit(problem, stated(problem, below, above), progress=progress)
        )
        if not requirements:
            return below, above
        if deadline.passed():
            return None
        if deadline.moment is not None and len(requirements) > MANY and number < GROWTHS and below.any():
            below, above = LONGER * below, LONGER * above
            continue
        if number < len(HAIRS) - 1 and (below.any() or above.any()):
            continue
        wider = widener.widen(below, above, requirements)
        if wider is None:
            break
        below, above = wider
    if deadline.passed():
        return None
    endless = np.where(may_be_touched(problem, progress), np.inf, 0.0)
    return endless, endless


def repaired_in_time(
    problem: Problem, below: Floats, above: Floats, progress: Progress, deadline: Deadline, safe: bool
) -> tuple[Floats, Floats] | None:
    """Room that the audit accepts; None if it is not known to be `safe` and the time is up first.

    What is not known to be safe is judged only while there is time: an audit of many open cells can take long.
    """
    room: tuple[Floats, Floats] | None = None
    with deadline.stoppable():
        if safe:
            room = repaired(problem, below, above, progress)
        elif not deadline.passed():
            room = repaired(problem, below, above, deadline.watched(progress), deadline)
    return room


def cheap_pattern(problem: Problem, allowed: Bools, progress: Progress, deadline: Deadline) -> Bools | None:
    """The cells of a cheap safe suppression, found in whole data units; None if the time is up first."""
    whole = in_data_units(problem)
    search: Search | NetworkSearch
    if is_network(whole):
        verdict = audit(whole, Suppression.copy_of(whole.must_hide), progress=progress)
        search = NetworkSearch(whole, allowed, unmet_requirements(whole, verdict), progress, deadline)
    else:
        search = Search(whole, allowed, progress, deadline)
    search.construct()
    if search.complete:
        search.clean_up()
    return search.hidden if search.complete else None


def columns_of(formulation: Formulation, below: Floats, above: Floats) -> Floats:
    """Columns of an interval form that leave this room."""
    both = formulation.above.matrix.T @ above + formulation.below.matrix.T @ below
    unit = np.asarray(
        abs(formulation.above.matrix).sum(axis=0) + abs(formulation.below.matrix).sum(axis=0)
    ).ravel()
    return np.asarray(both / np.where(unit > 0, unit, 1.0) ** 2)


def check_blur(method: str, grid: float | None, asymmetry: float, others: dict[str, bool]) -> None:
    """Raise for parameters that make no sense; `others`: faults that hold or not."""
    faults = {
        "grid must be a number that is not negative, or none": grid is not None and not 0 <= grid < math.inf,
        "asymmetry must be a number from 0 on": not 0 <= asymmetry < math.inf,
        **others,
    }
    if any(faults.values()):
        raise InputError(method, [fault for fault, holds in faults.items() if holds])


def skewed(problem: Problem, asymmetry: float, rng: np.random.Generator) -> Problem:
    """The problem with larger levels on both sides of each sensitive cell, how much on which is left to chance.

    The optimum sits on the levels: the middle of an interval, or an end where a level is zero, would betray the value.
    With W = max(lower + upper, sliding), s uniform in 0..1 and t uniform in 0.5..1.5 times the asymmetry,

        lower + s (W - lower - upper + t W),    upper + (1 - s) (W - lower - upper + t W)

    for each cell; what the outsider's box does not allow on one side goes to the other, as far as it allows that.
    """
    levels, where = problem.levels, problem.sensitive
    below, above = box_deviation_bounds(problem)
    share = rng.random(where.size)
    scale = asymmetry * rng.uniform(0.5, 1.5, where.size)
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
        np.minimum(np.ceil(level / unit - NOISE) * unit, most)
        for level, most in ((lower + up, most_below), (upper + down, most_above))
    )
    return replace(problem, levels=replace(levels, lower=lower, upper=upper))


def lengthened(problem: Problem, pattern: Intervals, asymmetry: float, rng: np.random.Generator) -> Intervals:
    """Intervals lengthened by chance, up to 1.5 times the asymmetry on each side, as far as the outsider's box goes.

    Longer intervals are as safe as before: for runs that are stopped before larger levels are solved for.
    """
    value, box = problem.table.values, box_deviation_bounds(problem)
    with np.errstate(invalid="ignore"):
        room = np.stack([value - pattern.low, pattern.high - value])
        longer = room * (1 + 1.5 * asymmetry * rng.random(room.shape))
    most = np.maximum(room, np.stack(box))
    below, above = (snapped(problem, *pair, HAIR) for pair in zip(longer, most, strict=True))
    touched = pattern.low < pattern.high
    return stated(problem, np.where(touched, below, 0.0), np.where(touched, above, 0.0), pattern.touch)


def on_grid(problem: Problem, pattern: Intervals, grid: float | None) -> Intervals:
    """Intervals rounded outward to multiples of a grid (None: nice numbers; 0: none), not below zero if nothing is."""
    if grid == 0.0:
        return pattern
    low, high = pattern.low.copy(), pattern.high.copy()
    ends = np.flatnonzero((low < high) & np.isfinite(low) & np.isfinite(high))
    step = _steps(high[ends] - low[ends], problem.table.unit) if grid is None else np.full(ends.size, grid)
    down, up = np.floor(low[ends] / step + 1e-9) * step, np.ceil(high[ends] / step - 1e-9) * step
    if (problem.outsider_low >= 0).all():
        down = np.maximum(down, 0.0)
    low[ends], high[ends] = np.minimum(down, low[ends]), np.maximum(up, high[ends])
    return Intervals(_plain(low, problem), _plain(high, problem), pattern.touch)


def _steps(width: Floats, unit: float) -> Floats:
    """The largest nice number that is at most a part of the width, and at least a data unit."""
    wanted = np.maximum(width / FINENESS, unit)
    power = 10.0 ** np.floor(np.log10(wanted))
    nice = np.array([np.where(g * power <= wanted * (1 + 1e-9), g * power, 0.0) for g in GRIDS])
    return np.asarray(np.maximum(nice.max(axis=0), unit))


def _plain(ends: Floats, problem: Problem) -> Floats:
    """Ends without the noise of floating point beyond the digits of the data."""
    digits = max(0, round(-math.log10(problem.table.unit))) + 3
    return np.asarray(np.where(np.isfinite(ends), np.round(ends, digits) + 0.0, ends), dtype=np.float64)
