"""Exact rational arithmetic: what floats stand for, a problem in fractions.

Nothing here rounds or tolerates: a number is a `Fraction`, and the only floats are the two infinities.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Floats
from tablecloak.auditing.audit import checked_view
from tablecloak.model import (
    Mixed,
    Pattern,
    Perturbation,
    Printed,
    Problem,
    RequiredLevels,
    cells_with_requirements,
    deviation_bounds,
    required_units,
)

Extended = Fraction | float
"""A fraction, or one of the two infinities."""
Room = tuple[Extended, Extended]
"""low <= 0 <= high: how far a cell may deviate."""
Rational = int | Fraction
"""Whole numbers as `int` where speed matters."""
Vector = Mapping[int, Fraction]
"""Sparse: by number of cell or equation; what is not listed is zero."""

ZERO, ONE = Fraction(0), Fraction(1)
LAST_DIGITS = 15
"""Decimals of up to this many digits survive the way into a float and back."""


def exact_number(value: float) -> Extended:
    """The decimal that a float stands for: 0.1 is 1/10, and so is 0.1 with rounding noise in the last bits.

    It is the decimal of 15 digits next to the float: every decimal of up to 15 digits is recovered from its
    float. Beyond 10^15 it is the shortest decimal that gives the float. The order of numbers is kept.
    """
    if math.isinf(value):
        return float(value)
    return Fraction(f"{value:.{LAST_DIGITS}g}" if abs(value) < 10.0**LAST_DIGITS else repr(float(value)))


def plain(number: Fraction) -> Rational:
    """A whole number as an `int`."""
    return number.numerator if number.denominator == 1 else number


def in_whole_numbers(vector: Vector) -> tuple[dict[int, int], int]:
    """The vector times the common denominator of its numbers, and that denominator."""
    common = math.lcm(*(number.denominator for number in vector.values()))
    return {place: x.numerator * (common // x.denominator) for place, x in vector.items()}, common


class ExactProblem:
    """A problem and a pattern in fractions, read cell by cell when asked for. Confidential.

    Deviations d are distances from the true table: they keep all equations (equations @ d = 0) and the `room`
    that the statement of the pattern and the attacker's box leave.
    """

    def __init__(self, problem: Problem, pattern: Pattern) -> None:
        self.problem, self.pattern = problem, pattern
        self.view = checked_view(problem, pattern)
        self.touched = pattern.touched(problem)
        self.unit = Fraction(1, 10**problem.table.decimals)
        self._rows = problem.table.equations
        self._columns = csc_array(self._rows)
        self._coefficients: dict[float, Rational] = {}
        self._outside = deviation_bounds(problem, self.view, 0)
        self._inside: dict[int, dict[int, Room]] = {0: {}}
        self._required: dict[int, RequiredLevels] = {}

    # ------------------------------------------------------------------ numbers

    def value(self, cell: int) -> Fraction:
        return int(self.problem.table.units[cell]) * self.unit

    def level(self, name: str, cell: int) -> Fraction:
        return Fraction(exact_number(getattr(self.problem.levels, name)[cell]))

    def _amount(self, units: float | Floats) -> Fraction:
        return int(units) * self.unit

    def _end(self, units: float) -> Extended:
        return float(units) if math.isinf(units) else self._amount(units)

    def _speaker(self, cell: int) -> Pattern | None:
        """The pattern that speaks for a cell; None where no part of a mixed one does (it is published)."""
        pattern: Pattern | None = self.pattern
        if isinstance(pattern, Printed):
            pattern = pattern.pattern
        while isinstance(pattern, Mixed):
            pattern = next((part for where, part in pattern.parts if where[cell]), None)
        return pattern

    def room(self, attacker: int, cell: int) -> Room:
        """low <= 0 <= high: how far a cell may deviate by statement and box alone."""
        inside = self.inside(attacker)
        if cell in inside:
            return inside[cell]
        low, high = self._outside
        return self._end(low[cell]), self._end(high[cell])

    def inside(self, attacker: int) -> Mapping[int, Room]:
        """The room of the cells about which an insider knows something of his own."""
        if attacker not in self._inside:
            low, high = deviation_bounds(self.problem, self.view, attacker)
            cells = self.problem.attackers[attacker - 1].cells.tolist()
            self._inside[attacker] = {cell: (self._end(low[cell]), self._end(high[cell])) for cell in cells}
        return self._inside[attacker]

    # ------------------------------------------------------------------ what is asked

    def questions(self) -> list[int]:
        """Cells with a requirement: the sensitive ones and touched ones with a conditional level."""
        return [int(cell) for cell in np.flatnonzero(cells_with_requirements(self.problem, self.touched))]

    def required(self, attacker: int, cell: int) -> tuple[Fraction, Fraction, Fraction]:
        """lower, upper and sliding, up to what the attacker's own box allows."""
        if attacker not in self._required:
            self._required[attacker] = required_units(
                self.problem, attacker, np.arange(len(self.problem.table))
            )
        lower, upper, sliding = (self._amount(level[cell]) for level in self._required[attacker])
        return lower, upper, sliding

    def too_close(self) -> list[int]:
        """Sensitive cells of a perturbation that are shown nearer to the truth than a level on that side."""
        return [cell for cell in self.questions() if self._is_too_close(cell)]

    def _is_too_close(self, cell: int) -> bool:
        pattern = self._speaker(cell)
        if not isinstance(pattern, Perturbation) or not self.problem.sensitive[cell]:
            return False
        off = exact_number(self.view.shown[cell]) - self.value(cell)
        half = max(self.level("sliding", cell), Fraction(exact_number(self.problem.table.unit))) / 2
        return off < max(self.level("upper", cell), half) and -off < max(self.level("lower", cell), half)

    def against_marks(self) -> bool:
        """Whether a forced cell is not published, or a cell that must be hidden is."""
        return self.problem.against_marks(self.touched).size > 0

    def too_many_touched(self) -> bool:
        most = self.problem.most_touched
        return most is not None and int(self.touched.sum()) > most

    # ------------------------------------------------------------------ equations

    def row(self, equation: int) -> Iterator[tuple[int, Rational]]:
        """The cells of an equation and their coefficients."""
        return self._entries(self._rows, equation)

    def column(self, cell: int) -> Iterator[tuple[int, Rational]]:
        """The equations of a cell and its coefficients there."""
        return self._entries(self._columns, cell)

    def _entries(self, matrix: csr_array | csc_array, line: int) -> Iterator[tuple[int, Rational]]:
        part = slice(int(matrix.indptr[line]), int(matrix.indptr[line + 1]))
        for number, value in zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True):
            yield number, self.coefficient(value)

    def coefficient(self, value: float) -> Rational:
        if value not in self._coefficients:
            self._coefficients[value] = plain(Fraction(exact_number(value)))
        return self._coefficients[value]

    def balanced(self, deviation: Vector) -> bool:
        """Whether the deviation keeps every equation of the table."""
        sums: dict[int, Rational] = {}
        for cell, amount in in_whole_numbers(deviation)[0].items():
            for equation, coefficient in self.column(cell):
                sums[equation] = sums.get(equation, 0) + coefficient * amount
        return not any(sums.values())

    def stretch(self, attacker: int, deviation: Vector, sign: int = 1) -> Extended:
        """The largest t for which t * sign * deviation fits in the attacker's room; infinite for a ray."""
        amounts, common = in_whole_numbers(deviation)
        above, below = 1, 0  # the smallest of the fractions wall / amount so far
        for cell, amount in amounts.items():
            wall = self.room(attacker, cell)[1 if sign * amount > 0 else 0]
            if amount and isinstance(wall, Fraction):
                over, under = abs(wall.numerator), wall.denominator * abs(amount)
                if over * below < above * under:
                    above, below = over, under
        return Fraction(above * common, below) if below else math.inf

    def residual(self, cell: int, upward: bool, multipliers: Vector) -> dict[int, Rational]:
        """r = +-e_p - M^T pi: every deviation has +-d_p = r d."""
        rest: dict[int, Rational] = {cell: 1 if upward else -1}
        for equation, multiplier in multipliers.items():
            self.subtract_row(rest, equation, plain(multiplier))
        return rest

    def subtract_row(self, rest: dict[int, Rational], equation: int, multiplier: Rational) -> None:
        for cell, coefficient in self.row(equation):
            rest[cell] = rest.get(cell, 0) - multiplier * coefficient

    def bound(self, attacker: int, cell: int, upward: bool, multipliers: Vector) -> Extended:
        """How far the multipliers let the cell go at most: the sum of r_i times the room on its side."""
        return self.widest(attacker, self.residual(cell, upward, multipliers))

    def widest(self, attacker: int, weights: Mapping[int, Rational]) -> Extended:
        """The largest value of weights d in the attacker's room, equations apart."""
        total: Rational = 0
        for cell, weight in weights.items():
            if weight:
                wall = self.room(attacker, cell)[1 if weight > 0 else 0]
                if not isinstance(wall, Fraction):
                    return math.inf
                if wall:
                    total += weight * plain(wall)
        return Fraction(total)

    def is_whole(self, deviation: Vector) -> bool:
        """Whether the deviation is a whole number of data units in every cell."""
        return all((amount / self.unit).denominator == 1 for amount in deviation.values())

    # ------------------------------------------------------------------ identity

    def digest(self) -> str:
        """A hash of everything a certificate speaks about."""
        problem, view = self.problem, self.view
        matrix, sha = problem.table.equations, hashlib.sha256()
        numbers = [matrix.data, problem.outsider_low, problem.outsider_high]
        numbers += [level for _, level in problem.levels.named()]
        numbers += [np.where(np.isnan(view.shown), np.inf, view.shown), view.low, view.high]
        most = -1 if problem.most_touched is None else problem.most_touched
        counts: list[Any] = [matrix.shape, matrix.indptr, matrix.indices, problem.marks, self.touched]
        counts += [problem.table.units, [problem.table.decimals, most]]
        for attacker in problem.attackers:
            counts.append(attacker.cells)
            numbers += [attacker.low, attacker.high]
        for array in numbers:
            sha.update(b"%d;" % array.size + (np.asarray(array, dtype="<f8") + 0.0).tobytes())
        for whole in counts:
            sha.update(b"%d;" % len(whole) + np.asarray(whole, dtype="<i8").tobytes())
        return sha.hexdigest()
