"""Printed: a pattern as it is printed when every number is a multiple of a printed unit.

What is printed is what is stated, and what the audit judges. With printed unit p:

=============  ==========================================  =======================================
cell           is printed as                               and states
=============  ==========================================  =======================================
published      the multiple of p next to it, v             the value lies within p / 2 of v
interval       its ends, outward to multiples of p         the value lies between them
rounded        as before: its base is a multiple of p      the value lies within one base of it
perturbed      the multiple of p next to what is shown     the value lies within a reach of it,
                                                           which is a multiple of p and wide enough
hidden         nothing                                     nothing
=============  ==========================================  =======================================

Half a unit goes to the even multiple, so that values are not pushed up on average. All this is computed in whole data
units, so that a half is a half and 2.675 is one.

The audit judges what the reader knows, who may know the data unit and where halves go: a published value is one of
those that are printed as v. Whole numbers in units of two: 4 is printed for 3, 4 and 5, but 6 for 6 alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints, frozen
from tablecloak.errors import InputError, counted
from tablecloak.model.pattern import Intervals, Mixed, Pattern, Perturbation, Rounding, Suppression, View
from tablecloak.model.problem import Problem
from tablecloak.model.table import Table
from tablecloak.model.tolerances import LARGEST_PRINTED_UNITS
from tablecloak.model.units import amounts, is_whole, nearest_units


@dataclass(frozen=True)
class PrintedUnit:
    """The unit of print, p = numerator / 10^decimals: every number that is printed is a multiple of it."""

    numerator: int
    decimals: int
    """How many decimals multiples of it are printed with."""
    data_decimals: int
    """Those of the table: its data unit is 10^-data_decimals."""

    @classmethod
    def of(cls, table: Table, decimals: int | None = None, unit: float | None = None) -> PrintedUnit:
        """From a number of decimals or from the unit itself; it must be a whole multiple of the data unit."""
        fault, own = "", Fraction(1, 10**table.decimals)
        requested = Fraction(0)
        if (decimals is None) == (unit is None):
            fault = "give decimals or a unit, one of them"
        elif unit is not None:
            if _is_number(unit) and 0 < unit < math.inf:
                requested = Fraction(str(unit))
            else:
                fault = "unit: expected a number above zero"
        elif isinstance(decimals, int | np.integer) and not isinstance(decimals, bool) and decimals >= 0:
            requested = Fraction(1, 10 ** int(decimals))
        else:
            fault = "decimals: expected a whole number, zero or more"
        if not fault:
            name = "unit" if decimals is None else "decimals"
            fault = _unit_fault(name, requested, own)
        if fault:
            advice = f"The data unit of this table is {plain_number(table.unit)}: print in multiples of it."
            raise InputError("Printed unit", [fault], advice=advice)
        places = int(decimals) if decimals is not None else _decimals(requested)
        return cls(int(requested * 10**places), places, table.decimals)

    @property
    def size(self) -> float:
        """The unit as a number."""
        return float(self.numbers(np.ones(1, dtype=np.int64))[0])

    @property
    def steps(self) -> int:
        """How many data units it has."""
        return self.numerator * int(10 ** (self.data_decimals - self.decimals))

    @property
    def is_coarser(self) -> bool:
        """Whether it is more than the data unit."""
        return self.steps > 1

    def data_units(self, numbers: Floats) -> Floats:
        """Numbers in data units, whole where they are up to the noise of floats."""
        near = nearest_units(numbers, self.data_decimals)
        whole = is_whole(numbers, near, self.data_decimals)
        return np.where(whole, near, numbers * 10.0**self.data_decimals)

    def nearest(self, units: Floats) -> Ints:
        """The multiple of the printed unit next to a number of data units; from the middle to the even one."""
        below, rest = self._divided(units)
        twice = 2 * rest
        up = (twice > self.steps) | ((twice == self.steps) & (below % 2 == 1))
        return np.asarray(below + up)

    def below(self, units: Floats) -> Ints:
        """The largest multiple that is not above."""
        return self._divided(units)[0]

    def above(self, units: Floats) -> Ints:
        """The smallest multiple that is not below."""
        below, rest = self._divided(units)
        return np.asarray(below + (rest > 0))

    def _divided(self, units: Floats) -> tuple[Ints, Floats]:
        """Whole multiples and the data units left over, from zero to one multiple: exact for whole data units."""
        floor = np.floor(units)
        whole = floor.astype(np.int64)
        multiples, rest = np.divmod(whole, self.steps)
        return multiples, rest + (units - floor)

    def printed_alike(self, multiples: Ints, steps: Ints | int = 1) -> tuple[Floats, Floats]:
        """The least and the largest value whose nearest multiple is this one; values are multiples of `steps` units."""
        odd = multiples % 2 == 1
        most = np.where(odd, (self.steps - 1) // 2, self.steps // 2)
        low, high = multiples * self.steps - most, multiples * self.steps + most
        whole = -(-low // steps) * steps, high // steps * steps
        return amounts(whole[0], self.data_decimals), amounts(whole[1], self.data_decimals)

    def numbers(self, multiples: Ints, halves: int = 0) -> Floats:
        """The floats next to (multiples + halves / 2) printed units."""
        if halves:
            return amounts((2 * multiples + halves) * (5 * self.numerator), self.decimals + 1)
        return amounts(multiples * self.numerator, self.decimals)


@dataclass(frozen=True, eq=False)
class Printed:
    """Another pattern, printed in multiples of a unit. Printing coarser touches no cell and costs nothing."""

    pattern: Pattern
    unit: PrintedUnit

    @classmethod
    def of(
        cls,
        problem: Problem,
        pattern: Pattern,
        *,
        decimals: int | None = None,
        unit: float | None = None,
    ) -> Printed:
        """The pattern rounded to decimals or to multiples of a unit; checked on the problem's table."""
        if isinstance(pattern, Printed):
            raise InputError("Printed pattern", ["the pattern has a printed unit already"])
        made = cls(pattern, PrintedUnit.of(problem.table, decimals, unit))
        made.view(problem)
        return made

    def view(self, problem: Problem) -> View:
        """What the reader knows: what is printed, and for published cells which values are printed like that.

        It contains what the pattern states, and so the true table.
        """
        stated, finer, unit = self.statement(problem), self.pattern.view(problem), self.unit
        exact = np.flatnonzero((finer.low == finer.high) & (stated.low < stated.high))
        multiples = unit.nearest(unit.data_units(finer.low[exact]))
        low, high = stated.low.copy(), stated.high.copy()
        low[exact], high[exact] = unit.printed_alike(multiples, problem.table.cell_steps[exact])
        return View(stated.shown, frozen(low), frozen(high))

    def statement(self, problem: Problem) -> View:
        """What is printed, in multiples of the unit; published values within half a unit of what is shown."""
        return self._stated(problem)[0]

    def reach(self, problem: Problem) -> Floats:
        """How far the number printed may be from the truth; zero where it is exact or there is none."""
        return self._stated(problem)[1]

    def touched(self, problem: Problem) -> Bools:
        return self.pattern.touched(problem)

    def loss(self, problem: Problem) -> float:
        return self.pattern.loss(problem)

    def too_close(self, problem: Problem) -> Bools:
        """Sensitive cells whose perturbed number, as printed, is too near to the truth."""
        return frozen(_too_close(problem, self.pattern, self.view(problem).shown))

    @property
    def only_widens(self) -> bool:
        """Whether what is printed is safe wherever the pattern is: true unless numbers are perturbed.

        The printed view contains the view of the pattern cell by cell. So every deviation that an attacker cannot
        exclude by the one he cannot exclude by the other: intervals only get wider, and so do conditional widths.
        Touched cells are the same. Only the distance of a perturbed number from the truth can become smaller.
        """
        return _only_widens(self.pattern)

    def _stated(self, problem: Problem) -> tuple[View, Floats]:
        """The view, and the reach of the numbers in it."""
        unit, view, size = self.unit, self.pattern.view(problem), len(problem.table)
        exact, centred = view.low == view.high, view.centred
        self._check_numbers(problem, view)
        shown, low, high, reach = np.full(size, np.nan), view.low.copy(), view.high.copy(), np.zeros(size)
        near, half = unit.nearest(unit.data_units(view.low[exact])), int(unit.is_coarser)
        shown[exact], reach[exact] = unit.numbers(near), half * unit.size / 2
        low[exact], high[exact] = unit.numbers(near, -half), unit.numbers(near, half)
        for ends, outward in ((low, unit.below), (high, unit.above)):
            some = ~exact & ~centred & np.isfinite(ends)
            ends[some] = unit.numbers(outward(unit.data_units(ends[some])))
        around, rounded = centred & ~exact, rounded_cells(self.pattern, size)
        within = np.zeros(size)
        within[around] = unit.data_units(stated_reach(self.pattern, view)[around])
        self._check_bases(problem, within, np.flatnonzero(around & rounded))
        for some in (around & rounded, around & ~rounded):
            units = unit.data_units(view.shown[some])
            near = unit.nearest(units)
            moved = bool((units != near * unit.steps).any())
            most = unit.above(within[some] + (unit.steps / 2 if moved else 0.0))
            shown[some], reach[some] = unit.numbers(near), unit.numbers(most)
            low[some], high[some] = unit.numbers(near - most), unit.numbers(near + most)
        return View(frozen(shown), frozen(low), frozen(high)), frozen(reach)

    def _check_numbers(self, problem: Problem, view: View) -> None:
        """Raise unless all numbers, and the printed unit, are few enough data units."""
        with np.errstate(invalid="ignore", over="ignore"):
            most = np.nanmax(
                np.abs([np.where(np.isfinite(each), each, 0) for each in _numbers(view)]), axis=0
            )
            large = most * 10.0**self.unit.data_decimals >= LARGEST_PRINTED_UNITS
        faults = [
            f"cell {label} has too many data units" for label in problem.table.labels(np.flatnonzero(large))
        ]
        if self.unit.steps >= LARGEST_PRINTED_UNITS:
            faults.append("the printed unit has too many data units")
        if faults:
            raise InputError("Printed pattern", faults, advice="Give the table fewer decimals.")

    def _check_bases(self, problem: Problem, within: Floats, cells: Ints) -> None:
        """Raise unless bases (in data units) are multiples of the printed unit, and say which unit would do."""
        bases = within[cells]
        wrong = np.flatnonzero(bases % self.unit.steps != 0)
        if not wrong.size:
            return
        faults = []
        for base in np.unique(bases[wrong]).tolist():
            own = cells[wrong[bases[wrong] == base]]
            which = f"{problem.table.label(int(own[0]))}{', ...' if own.size > 1 else ''}"
            faults.append(
                f"the base {plain_number(float(problem.table.amounts(base)))} of {counted(own.size, 'cell')} "
                f"({which}) is no multiple of the printed unit {plain_number(self.unit.size)}"
            )
        advice = "Print in the data unit: not all bases are multiples of it."
        if (bases == np.floor(bases)).all():
            works = float(problem.table.amounts(np.gcd.reduce(bases.astype(np.int64))))
            advice = f"Every base is a multiple of {plain_number(works)}: print in that, or in a unit that divides it."
        raise InputError("Printed pattern", faults, advice=advice)


def rounded_cells(pattern: Pattern, size: int) -> Bools:
    """Cells about which a rounding speaks."""
    if isinstance(pattern, Printed):
        return rounded_cells(pattern.pattern, size)
    rounded = np.full(size, isinstance(pattern, Rounding))
    if isinstance(pattern, Mixed):
        for where, part in pattern.parts:
            rounded[where] = rounded_cells(part, size)[where]
    return rounded


def stated_reach(pattern: Pattern, view: View) -> Floats:
    """How far a rounding or perturbation says that its numbers may be off; for others, half the width stated."""
    match pattern:
        case Rounding():
            return pattern.base
        case Perturbation():
            return pattern.reach
        case Mixed():
            reach = np.zeros(view.low.size)
            for where, part in pattern.parts:
                reach[where] = stated_reach(part, view)[where]
            return reach
        case _:
            with np.errstate(invalid="ignore"):
                return np.asarray((view.high - view.low) / 2)


def plain_number(number: float) -> str:
    """A number without exponent and without zeros at its end."""
    return str(np.format_float_positional(number, trim="-"))


# ---------------------------------------------------------------------- parts of a pattern


def _too_close(problem: Problem, pattern: Pattern, shown: Floats) -> Bools:
    """Sensitive cells of perturbed parts, judged by what is printed for them."""
    close = np.zeros(shown.size, dtype=bool)
    match pattern:
        case Perturbation():
            return replace(pattern, shown=shown).too_close(problem)
        case Mixed():
            for where, part in pattern.parts:
                close[where] = _too_close(problem, part, shown)[where]
    return close


def _only_widens(pattern: Pattern) -> bool:
    match pattern:
        case Suppression() | Intervals() | Rounding():
            return True
        case Mixed():
            return all(_only_widens(part) for _, part in pattern.parts)
        case _:
            return False


# ---------------------------------------------------------------------- small things


def _numbers(view: View) -> tuple[Floats, Floats, Floats]:
    return view.shown, view.low, view.high


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _decimals(number: Fraction) -> int:
    """The fewest decimals that write a number; it has some last decimal."""
    places = 0
    while (number * 10**places).denominator != 1:
        places += 1
    return places


def _unit_fault(name: str, requested: Fraction, own: Fraction) -> str:
    if requested < own:
        return f"{name}: finer than the data unit"
    return f"{name}: no whole multiple of the data unit" if (requested / own).denominator != 1 else ""
