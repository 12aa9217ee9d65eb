"""Exact sparse elimination: linear equations solved in fractions."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

Rational = int | Fraction
"""Integers as `int` where speed matters."""
ZERO = Fraction(0)


class TooMuchWork(Exception):
    """Exact elimination was given up at its work limit."""


def solve(
    rows: Sequence[Mapping[int, Rational]], rhs: Sequence[Rational], most_work: int = 2_000_000
) -> dict[int, Fraction] | None:
    """One exact solution of sparse linear equations (unknowns not listed are zero); None if there is none.

    Gaussian elimination. Pivots are columns with a single entry where there are any, else the shortest row
    and in it the shortest column. `most_work` bounds the multiplications; beyond it `TooMuchWork` is raised.
    """
    system = _Elimination(rows, rhs, most_work)
    while (pivot := system.next_pivot()) is not None:
        system.eliminate(*pivot)
    return system.solution() if system.consistent else None


def in_integers(vector: Mapping[int, Rational]) -> tuple[dict[int, int], int]:
    """The vector times the common denominator of its numbers, and that denominator."""
    common = math.lcm(*(number.denominator for number in vector.values()))
    return {place: x.numerator * (common // x.denominator) for place, x in vector.items()}, common


def plain(number: Rational) -> Rational:
    """An integral fraction as an `int`."""
    return number.numerator if number.denominator == 1 else number


def _quotient(number: Rational, divisor: Rational) -> Rational:
    if divisor == 1 or divisor == -1:
        return number if divisor == 1 else -number
    return plain(Fraction(number, divisor))


class _Elimination:
    def __init__(
        self, rows: Sequence[Mapping[int, Rational]], rhs: Sequence[Rational], most_work: int
    ) -> None:
        self.rows = [{column: plain(value) for column, value in row.items() if value} for row in rows]
        self.rhs, self.work_left = [plain(value) for value in rhs], most_work
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
            self._subtract(other, pivot, _quotient(self.rows[other][column], pivot[column]), number)
        del self.holders[column]
        for entry in pivot:
            if entry != column:
                self._release(entry, number)

    def _subtract(self, other: int, pivot: Mapping[int, Rational], factor: Rational, number: int) -> None:
        target = self.rows[other]
        self.work_left -= len(pivot)
        if self.work_left < 0:
            raise TooMuchWork("solving the basis exactly took too much work")
        for column, value in pivot.items():
            changed = target.get(column, 0) - factor * value
            if changed:
                if column not in target:
                    self.holders[column].add(other)
                target[column] = changed if isinstance(changed, int) else plain(changed)
            else:
                del target[column]
                self._release(column, other)
        self.rhs[other] = plain(self.rhs[other] - factor * self.rhs[number])
        heapq.heappush(self.shortest, (len(target), other))

    def _release(self, column: int, number: int) -> None:
        holders = self.holders[column]
        holders.discard(number)
        if len(holders) == 1:
            self.single.append(column)

    def solution(self) -> dict[int, Fraction]:
        """Back substitution, last pivot first."""
        found: dict[int, Rational] = {}
        for number, column in reversed(self.pivots):
            row = self.rows[number]
            rest = self.rhs[number] - sum(
                value * found[other] for other, value in row.items() if other in found
            )
            if rest:
                found[column] = _quotient(rest, row[column])
        return {column: Fraction(amount) for column, amount in found.items()}
