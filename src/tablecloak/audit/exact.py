"""Exact rational arithmetic: what floats stand for, a problem in fractions, sparse elimination.

Nothing here rounds or tolerates: a number is a `Fraction`, and the only floats are the two infinities.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.audit.judge import checked_view
from tablecloak.pattern import Mixed, Pattern, Perturbation, Rounding
from tablecloak.problem import Problem

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
        self._outside: dict[int, Room] = {}
        self._inside: dict[int, dict[int, Room]] = {0: {}}
        self._known: dict[int, dict[int, int]] = {}

    # ------------------------------------------------------------------ numbers

    def value(self, cell: int) -> Fraction:
        return Fraction(exact_number(self.problem.table.values[cell]))

    def level(self, name: str, cell: int) -> Fraction:
        return Fraction(exact_number(getattr(self.problem.levels, name)[cell]))

    def stated(self, cell: int) -> tuple[Extended, Extended]:
        """What the publication says about a cell; shown value plus and minus base without float noise."""
        pattern = self._speaker(cell)
        if pattern is None:
            return self.value(cell), self.value(cell)
        if isinstance(pattern, Rounding | Perturbation):
            centre = exact_number(pattern.shown[cell])
            reach = exact_number(pattern.base[cell] if isinstance(pattern, Rounding) else pattern.reach[cell])
            return centre - reach, centre + reach
        return exact_number(self.view.low[cell]), exact_number(self.view.high[cell])

    def _speaker(self, cell: int) -> Pattern | None:
        """The pattern that speaks for a cell; None where no part of a mixed one does (it is published)."""
        pattern: Pattern | None = self.pattern
        while isinstance(pattern, Mixed):
            pattern = next((part for where, part in pattern.parts if where[cell]), None)
        return pattern

    def box(self, attacker: int, cell: int) -> tuple[Extended, Extended]:
        """What attacker k (0 is the outsider) knows about a cell beforehand."""
        low = exact_number(self.problem.outsider_low[cell])
        high = exact_number(self.problem.outsider_high[cell])
        place = self._places(attacker).get(cell) if attacker else None
        if place is not None:
            who = self.problem.attackers[attacker - 1]
            low, high = max(low, exact_number(who.low[place])), min(high, exact_number(who.high[place]))
        return low, high

    def _places(self, attacker: int) -> dict[int, int]:
        """Where an insider's knowledge of a cell stands in his arrays."""
        if attacker not in self._known:
            cells = self.problem.attackers[attacker - 1].cells.tolist()
            self._known[attacker] = {cell: place for place, cell in enumerate(cells)}
        return self._known[attacker]

    def room(self, attacker: int, cell: int) -> Room:
        """low <= 0 <= high: how far a cell may deviate by statement and box alone."""
        inside = self.inside(attacker)
        if cell in inside:
            return inside[cell]
        if cell not in self._outside:
            self._outside[cell] = self._room(0, cell)
        return self._outside[cell]

    def inside(self, attacker: int) -> Mapping[int, Room]:
        """The room of the cells about which an insider knows something of his own."""
        if attacker not in self._inside:
            cells = self._places(attacker)
            self._inside[attacker] = {cell: self._room(attacker, cell) for cell in cells}
        return self._inside[attacker]

    def _room(self, attacker: int, cell: int) -> Room:
        value, stated, box = self.value(cell), self.stated(cell), self.box(attacker, cell)
        return min(max(stated[0], box[0]) - value, ZERO), max(min(stated[1], box[1]) - value, ZERO)

    # ------------------------------------------------------------------ what is asked

    def questions(self) -> list[int]:
        """Cells with a requirement: the sensitive ones and touched ones with a conditional level."""
        asked = self.problem.sensitive | ((self.problem.levels.conditional > 0) & self.touched)
        return [int(cell) for cell in np.flatnonzero(asked)]

    def required(self, attacker: int, cell: int) -> tuple[Extended, Extended, Extended]:
        """lower, upper and sliding, up to what the attacker's own box allows."""
        low, high = self.box(attacker, cell)
        down, up = self.value(cell) - low, high - self.value(cell)
        sliding = self.level("sliding", cell) + self.level("conditional", cell)
        return (
            min(self.level("lower", cell), down),
            min(self.level("upper", cell), up),
            min(sliding, down + up),
        )

    def too_close(self) -> list[int]:
        """Sensitive cells of a perturbation that are shown nearer to the truth than a level on that side."""
        return [cell for cell in self.questions() if self._is_too_close(cell)]

    def _is_too_close(self, cell: int) -> bool:
        pattern = self._speaker(cell)
        if not isinstance(pattern, Perturbation) or not self.problem.sensitive[cell]:
            return False
        off = exact_number(pattern.shown[cell]) - self.value(cell)
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
        numbers = [matrix.data, problem.table.values, problem.outsider_low, problem.outsider_high]
        numbers += [level for _, level in problem.levels.named()]
        numbers += [np.where(np.isnan(view.shown), np.inf, view.shown), view.low, view.high]
        most = -1 if problem.most_touched is None else problem.most_touched
        counts: list[Any] = [matrix.shape, matrix.indptr, matrix.indices, problem.marks, self.touched]
        counts.append([problem.table.decimals, most])
        for attacker in problem.attackers:
            counts.append(attacker.cells)
            numbers += [attacker.low, attacker.high]
        for array in numbers:
            sha.update(b"%d;" % array.size + (np.asarray(array, dtype="<f8") + 0.0).tobytes())
        for whole in counts:
            sha.update(b"%d;" % len(whole) + np.asarray(whole, dtype="<i8").tobytes())
        return sha.hexdigest()


class TooMuchWork(Exception):
    """Exact elimination was given up at its work limit."""


def solve(
    rows: Sequence[Mapping[int, Rational]], rhs: Sequence[Fraction], most_work: int = 2_000_000
) -> dict[int, Fraction] | None:
    """One exact solution of sparse linear equations (unknowns not listed are zero); None if there is none.

    Gaussian elimination. Pivots are columns with a single entry where there are any, else the shortest row
    and in it the shortest column. `most_work` bounds the multiplications; beyond it `TooMuchWork` is raised.
    """
    system = _Elimination(rows, rhs, most_work)
    while (pivot := system.next_pivot()) is not None:
        system.eliminate(*pivot)
    return system.solution() if system.consistent else None


class _Elimination:
    def __init__(
        self, rows: Sequence[Mapping[int, Rational]], rhs: Sequence[Fraction], most_work: int
    ) -> None:
        self.rows = [{column: Fraction(value) for column, value in row.items() if value} for row in rows]
        self.rhs, self.work_left = list(rhs), most_work
        self.holders: dict[int, set[int]] = {}
        for number, row in enumerate(self.rows):
            for column in row:
                self.holders.setdefault(column, set()).add(number)
        self.single = [column for column, holders in self.holders.items() if len(holders) == 1]
        self.shortest = [(len(row), number) for number, row in enumerate(self.rows)]
        heapq.heapify(self.shortest)
        self.active = [True] * len(self.rows)
        self.pivots: list[tuple[int, int]] = []
        self.consistent = True

    def next_pivot(self) -> tuple[int, int] | None:
        while self.single:
            column = self.single.pop()
            holders = self.holders.get(column, set())
            if len(holders) == 1:
                return next(iter(holders)), column
        while self.shortest:
            length, number = heapq.heappop(self.shortest)
            if not self.active[number] or length != len(self.rows[number]):
                continue
            if length:
                return number, min(self.rows[number], key=lambda column: (len(self.holders[column]), column))
            self.consistent &= self.rhs[number] == 0
        return None

    def eliminate(self, number: int, column: int) -> None:
        """Solve row `number` for the column and put it into the other rows."""
        pivot = self.rows[number]
        self.active[number] = False
        self.pivots.append((number, column))
        for other in self.holders[column] - {number}:
            self._subtract(other, pivot, self.rows[other][column] / pivot[column], number)
        del self.holders[column]
        for entry in pivot:
            if entry != column:
                self._release(entry, number)

    def _subtract(self, other: int, pivot: Mapping[int, Fraction], factor: Fraction, number: int) -> None:
        target = self.rows[other]
        self.work_left -= len(pivot)
        if self.work_left < 0:
            raise TooMuchWork
        for column, value in pivot.items():
            changed = target.get(column, ZERO) - factor * value
            if changed:
                if column not in target:
                    self.holders[column].add(other)
                target[column] = changed
            else:
                del target[column]
                self._release(column, other)
        self.rhs[other] -= factor * self.rhs[number]
        heapq.heappush(self.shortest, (len(target), other))

    def _release(self, column: int, number: int) -> None:
        holders = self.holders[column]
        holders.discard(number)
        if len(holders) == 1:
            self.single.append(column)

    def solution(self) -> dict[int, Fraction]:
        """Back substitution, last pivot first."""
        found: dict[int, Fraction] = {}
        for number, column in reversed(self.pivots):
            row = self.rows[number]
            rest = self.rhs[number] - sum(
                (value * found[other] for other, value in row.items() if found.get(other)), ZERO
            )
            if rest:
                found[column] = rest / row[column]
        return found
