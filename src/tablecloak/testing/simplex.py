"""Exact extremes over a polytope  matrix @ d = 0, low <= d <= high  with d = 0 inside: primal simplex in whole numbers.

The tableau is kept as whole numbers T over one common denominator q (integer-preserving pivots, Edmonds 1967; Bareiss
1968): T / q is the reduced row echelon form of the matrix. Its entries are minors of the matrix and small for tables;
where they outgrow machine integers Python's take over. Bounds are whole numbers or infinite. A variable outside the
basis may stand between its bounds, so that d = 0 is a start without a first phase; every question after the first
starts where the last one ended. Largest coefficient first, after degenerate steps Bland's rule.

Variables outside the basis always have whole values, so those of the basis are whole multiples of 1 / q.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

Number = Fraction | float
"""A rational, or an infinity."""
Bound = int | float
"""A whole number, or an infinity."""

MACHINE_LIMIT = 2**30
"""Entries up to this size multiply within 64 bits; beyond it Python's integers are used."""
PATIENCE = 8
"""Degenerate steps in a row before Bland's rule, which cannot cycle."""


class ExactSimplex:
    """The polytope with a feasible point; `maximum` and `minimum` of single variables."""

    def __init__(self, matrix: NDArray[Any], low: Sequence[Bound], high: Sequence[Bound]) -> None:
        self.low, self.high = list(low), list(high)
        if any(not (below <= 0 <= above) for below, above in zip(self.low, self.high, strict=True)):
            raise ValueError("zero must lie within all bounds")
        self.tableau = _within_machine(np.array(matrix))
        self.denominator = 1
        self.basis: list[int] = []
        self.scaled: list[int] = [0] * len(self.low)
        """The point: values, those of the basis multiplied by the denominator."""
        self.pivots = 0
        self._eliminate()

    def maximum(self, variable: int) -> Number:
        """The largest value of a variable."""
        return self._climb(variable, 1)

    def minimum(self, variable: int) -> Number:
        """The smallest value of a variable."""
        return -self._climb(variable, -1)

    # ------------------------------------------------------------------ the tableau

    def _eliminate(self) -> None:
        """Gauss-Jordan elimination; rows that depend on others are dropped."""
        length = [above - below for below, above in zip(self.low, self.high, strict=True)]
        kept = []
        for row in range(self.tableau.shape[0]):
            columns = np.flatnonzero(self.tableau[row]).tolist()
            if columns:
                widest = max(columns, key=length.__getitem__)  # long first steps
                self._pivot(row, widest)
                kept.append(row)
                self.basis.append(widest)
        self.tableau = self.tableau[kept]

    def _pivot(self, row: int, column: int) -> None:
        """Make a column the unit vector of a row, times the new denominator."""
        table = self.tableau
        pivot = int(table[row, column])
        own = table[row].copy()
        table = (table * pivot - np.outer(table[:, column], own)) // self.denominator
        table[row] = own
        self.tableau = _within_machine(table if pivot > 0 else -table)
        self.denominator = abs(pivot)
        self.pivots += 1

    # ------------------------------------------------------------------ the steps

    def _climb(self, variable: int, sign: int) -> Number:
        """The maximum of sign * d[variable]."""
        degenerate = 0
        while True:
            entering, direction = self._entering(variable, sign, degenerate > PATIENCE)
            if entering < 0:
                under = self.denominator if variable in self.basis else 1
                return Fraction(sign * self.scaled[variable], under)
            column = self.tableau[:, entering].tolist()
            length, share, row = self._ratio_test(column, entering, direction)
            if length < 0:
                return inf
            degenerate = degenerate + 1 if length == 0 else 0
            self._step(column, entering, direction * length, share, row)

    def _entering(self, variable: int, sign: int, first: bool) -> tuple[int, int]:
        """A variable outside the basis that improves the objective, and its direction; -1 at the optimum."""
        if variable not in self.basis:
            free = self.scaled[variable] != (self.high if sign > 0 else self.low)[variable]
            return (variable, sign) if free else (-1, 0)
        gain = self.tableau[self.basis.index(variable)].tolist()
        best, found, direction = 0, -1, 0
        for j, entry in enumerate(gain):
            size = abs(entry)
            if size <= best or j in self.basis:
                continue
            up = entry * sign < 0
            if self.scaled[j] != (self.high if up else self.low)[j]:
                best, found, direction = size, j, 1 if up else -1
                if first:
                    break
        return found, direction

    def _ratio_test(self, column: list[int], entering: int, direction: int) -> tuple[int, int, int]:
        """The longest step as a fraction length / share (-1: unbounded), and the row that stops it (-1: none)."""
        own = (self.high if direction > 0 else self.low)[entering]
        length = -1 if own in (inf, -inf) else abs(int(own) - self.scaled[entering])
        share, stopping = 1, -1
        for row, entry in enumerate(column):
            if entry == 0:
                continue
            basic = self.basis[row]
            bound = self.low[basic] if entry * direction > 0 else self.high[basic]
            if bound in (inf, -inf):
                continue
            left, size = abs(int(bound) * self.denominator - self.scaled[basic]), abs(entry)
            first, second = left * share, length * size
            tie = first == second and stopping >= 0 and basic < self.basis[stopping]
            if length < 0 or first < second or tie:
                length, share, stopping = left, size, row
        return length, share, stopping

    def _step(self, column: list[int], entering: int, length: int, share: int, row: int) -> None:
        """Move the entering variable by length / share; it replaces the variable of the row that stops it."""
        scaled, basis = self.scaled, self.basis
        if row < 0:
            for at, entry in enumerate(column):
                scaled[basis[at]] -= entry * length
            scaled[entering] += length
            return
        leaving = basis[row]
        above = (
            column[row] * length < 0
            if length
            else self.scaled[leaving] == self.high[leaving] * self.denominator
        )
        bound = (self.high if above else self.low)[leaving]
        for at, entry in enumerate(column):
            scaled[basis[at]] = (scaled[basis[at]] * share - entry * length) // self.denominator
        scaled[entering] = scaled[entering] * share + length
        scaled[leaving] = int(bound)
        self._pivot(row, entering)
        basis[row] = entering


def _within_machine(table: NDArray[Any]) -> NDArray[Any]:
    """As machine integers where products of two entries fit, else as Python's."""
    if table.size == 0:
        return table.astype(np.int64)
    largest = max(int(table.max()), -int(table.min()))
    return table.astype(np.int64 if largest < MACHINE_LIMIT else object, copy=False)
