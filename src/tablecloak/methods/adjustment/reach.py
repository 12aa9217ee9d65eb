"""The ranges in which a perturbation shows each cell, and the reach that it states.

The *stated* reach is a function of what is shown, v, and of nothing else that is secret:

    F(v) = the next of 1, 2, 5, 10, 20, 50, ... at or above  max(share |v|, least, 2 data units).

A reach that depends on the true value a would betray it: with the rule, the reach gives back a range of a.
What methods count on is less, f_i(v) <= F(v), affine in v:  f_i = share |v|  where  share |a_i| >= c := max(least,
2 units),  else  f_i = c.  A cell is shown within f_i(v) of a_i, and not below zero where that is known to all, so

    a / (1 + share) <= v <= a / (1 - share)    for a > 0 (mirrored for a < 0),    or    a - c <= v <= a + c.

A sensitive cell is shown *up* or *down*, at least max(level, sliding / 2, unit / 2) away (verdict 1 of perturbations),
and its own reach must leave it room for its levels:  v + f(v) - a >= upper,  a - v + f(v) >= lower,  2 f(v) >= sliding.
Every condition is an interval of v; where neither sense leaves one, this reach is infeasible.

All distances here are integer numbers of data units from the true value, so that what is shown has no more decimals
than the data: a fraction would betray which cells were moved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tablecloak.arrays import Bools, Floats, frozen
from tablecloak.errors import InputError
from tablecloak.methods.adjustment.settings import IntegerUnitsSettings
from tablecloak.methods.rounding import check_none_hidden
from tablecloak.model import Perturbation, Problem, units_above, units_below
from tablecloak.solvers import INTEGER_QUOTIENT

Range = tuple[Floats, Floats]
"""low, high of every cell."""


@dataclass(frozen=True)
class ReachRule:
    """share and least of the stated reach."""

    share: float
    least: float

    @classmethod
    def checked(cls, method: str, share: float, least: float) -> ReachRule:
        """The rule; invalid parameters are one error."""
        faults = []
        if not 0 <= share < 1:
            faults.append("parameter 'share' must be at least 0 and below 1")
        if not (np.isfinite(least) and least >= 0):
            faults.append("parameter 'least' must be a finite number that is not negative")
        if faults:
            raise InputError(f"Parameters of {method}", faults)
        return cls(float(share), float(least))

    def stated(self, shown: Floats, unit: float) -> Floats:
        """F(v), for every cell."""
        return next_nice(np.maximum(self.share * np.abs(shown), self.floor(unit)))

    def floor(self, unit: float) -> float:
        """The least reach of all: two units, so that a cell moved by one has room on both sides."""
        return max(self.least, 2 * unit)


class StatedReach(Protocol):
    """What is stated of the distance between what is shown and the truth."""

    def stated(self, shown: Floats, unit: float) -> Floats:
        """The reach of every cell."""


def next_nice(numbers: Floats) -> Floats:
    """The next of 1, 2, 5 times a power of ten at or above positive numbers."""
    power = np.floor(np.log10(numbers))
    ten = 10.0**power
    ratio = numbers / ten * (1 - 1e-12)
    leading = np.select([ratio <= 1, ratio <= 2, ratio <= 5, ratio <= 10], [1.0, 2.0, 5.0, 10.0], 20.0)
    return np.asarray(np.where(power >= 0, leading * ten, leading / 10.0**-power))


@dataclass(frozen=True, eq=False)
class Ranges:
    """The ranges in which cells may be shown, in data units from their true values. Confidential.

    All cells lie in low..high. Sensitive ones besides in up_low..up_high if they rise, and in -down_high..-down_low if
    they fall. f(v) = constant + rate v (in the units of the table).
    """

    rule: StatedReach
    low: Floats
    high: Floats
    up_low: Floats
    up_high: Floats
    down_low: Floats
    down_high: Floats
    rises: Bools
    """Sensitive cells that can be shown above their true value."""
    falls: Bools
    constant: Floats
    rate: Floats

    @property
    def both(self) -> Bools:
        """Sensitive cells with a choice."""
        return self.rises & self.falls

    def with_senses(self, up: Bools) -> Ranges:
        """Every sensitive cell in one sense: up where marked and possible, else down where possible."""
        return replace(self, rises=self.rises & (up | ~self.falls), falls=self.falls & ~(up & self.rises))

    def ends(self) -> Range:
        """low, high of every cell, once each sensitive one has a single sense."""
        low = np.where(self.rises, self.up_low, np.where(self.falls, -self.down_high, self.low))
        high = np.where(self.rises, self.up_high, np.where(self.falls, -self.down_low, self.high))
        return low, high

    def __repr__(self) -> str:
        return f"<confidential Ranges: {self.low.size} cells>"


def check_shown(method: str, problem: Problem) -> None:
    """Raise `NotApplicable` where cells must be hidden: a perturbation shows a number for every cell."""
    check_none_hidden(method, problem, ["suppress-greedy", "suppress-optimal", "suppress-compact"])


def ranges_of(method: str, problem: Problem, rule: ReachRule) -> Ranges:
    """The ranges of all cells; an `InputError` lists all cells whose levels fit no value."""
    table = problem.table
    a, unit, fixed = table.values, table.unit, problem.forced
    floor = rule.floor(unit)
    by_share = rule.share * np.abs(a) >= floor
    rate = np.where(by_share & ~fixed, rule.share * np.sign(a), 0.0)
    constant = np.where(by_share | fixed, 0.0, floor)
    own = constant + rate * a
    low = np.maximum(-own / (1 + rate), np.where(problem.outsider_low >= 0, np.minimum(-a, 0.0), -np.inf))
    high = np.minimum(own / (1 - rate), np.where(problem.outsider_high <= 0, np.maximum(-a, 0.0), np.inf))
    inner_low, inner_high = _own_room(problem, own, rate, low, high)
    levels = problem.largest_levels
    half = np.maximum(levels.sliding, unit) / 2
    up = np.maximum(_up(np.maximum(levels.upper, half), unit), _up(inner_low, unit))
    down = np.maximum(_up(np.maximum(levels.lower, half), unit), _up(-inner_high, unit))
    highest, deepest = _down(inner_high, unit), _down(-inner_low, unit)
    rises, falls = problem.sensitive & (up <= highest), problem.sensitive & (down <= deepest)
    refuse_hopeless(
        method,
        problem,
        (rises, falls),
        "its levels, as whole data units, do not fit into the stated reach",
        "Raise `share` (a level of x times the value asks for 2x / (1 + x) at least) or `least`.",
    )
    return Ranges(
        rule,
        frozen(-_down(-low, unit)),
        frozen(_down(high, unit)),
        frozen(np.where(rises, up, 0.0)),
        frozen(np.where(rises, highest, 0.0)),
        frozen(np.where(falls, down, 0.0)),
        frozen(np.where(falls, deepest, 0.0)),
        frozen(rises),
        frozen(falls),
        frozen(constant),
        frozen(rate),
    )


def _own_room(problem: Problem, own: Floats, rate: Floats, low: Floats, high: Floats) -> Range:
    """low..high, narrowed for sensitive cells so that their own reach leaves room for their levels (d = v - a).

    d (1 + rate) >= upper - own,   d (1 - rate) <= own - lower,   d rate >= sliding / 2 - own.
    """
    levels = problem.largest_levels
    least = np.maximum(low, (levels.upper - own) / (1 + rate))
    most = np.minimum(high, (own - levels.lower) / (1 - rate))
    short = levels.sliding / 2 - own
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(rate > 0, np.maximum(least, short / rate), least)
        most = np.where(rate < 0, np.minimum(most, short / rate), most)
    most = np.where((rate == 0) & (short > INTEGER_QUOTIENT * np.maximum(1.0, own)), -np.inf, most)
    sensitive = problem.sensitive
    return np.where(sensitive, least, low), np.where(sensitive, most, high)


def refuse_hopeless(
    method: str, problem: Problem, senses: tuple[Bools, Bools], why: str, advice: str
) -> None:
    """Refuse sensitive cells that can move in neither sense, rising or falling."""
    hopeless = np.flatnonzero(problem.sensitive & ~senses[0] & ~senses[1])
    if hopeless.size:
        raise InputError(
            method, [f"cell {label}: {why}" for label in problem.table.labels(hopeless)], advice=advice
        )


def _up(distance: Floats, unit: float) -> Floats:
    """In data units, rounded up."""
    return units_above(distance, unit) + 0.0


def _down(distance: Floats, unit: float) -> Floats:
    """In data units, rounded down."""
    return units_below(distance, unit) + 0.0


def shown_values(
    problem: Problem, moved: Floats, settings: IntegerUnitsSettings = IntegerUnitsSettings()
) -> Floats:
    """a + moved units, without floating-point noise; untouched cells to the last bit."""
    table = problem.table
    sums = table.values + moved * table.unit
    for digits in range(settings.max_digits + 1):
        fine = moved * 10.0**digits
        if (np.abs(fine - np.rint(fine)) <= INTEGER_QUOTIENT * np.maximum(1.0, np.abs(fine))).all():
            sums = np.round(sums, table.decimals + digits) + 0.0
            break
    return np.where(moved == 0, table.values, sums)


def pattern_of(problem: Problem, ranges: Ranges, moved: Floats) -> Perturbation:
    """The perturbation that moves every cell by a number of units."""
    shown = shown_values(problem, moved)
    reach = np.where(problem.forced, 0.0, ranges.rule.stated(shown, problem.table.unit))
    return Perturbation.of(shown, reach)


def cost_of(problem: Problem, moved: Floats) -> float:
    """sum_i w_i |v_i - a_i|, over all cells, or the prices of both sides and of changing cells."""
    prices = problem.prices
    if prices is not None:
        below, above = (np.maximum(side, 0.0) * problem.table.unit for side in (-moved, moved))
        return prices.cost(below, above) + prices.touching((moved != 0) & ~problem.must_hide)
    return float(problem.weights @ np.abs(moved)) * problem.table.unit
