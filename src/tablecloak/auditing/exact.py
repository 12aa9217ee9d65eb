"""Exact rational arithmetic: a problem and a pattern in fractions.

Nothing here is rounded and there are no tolerances: a number is a `Fraction`, the only floats are the two infinities.
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
from tablecloak.attacker import Rational, in_integers, plain
from tablecloak.auditing.audit import checked_view
from tablecloak.model import (
    Pattern,
    Problem,
    RequiredLevels,
    Table,
    cells_with_requirements,
    deviation_bounds,
    exact_number,
    required_units,
)

Extended = Fraction | float
"""A fraction, or one of the two infinities."""
CellBounds = tuple[Extended, Extended]
"""Deviation bounds of a cell, low <= 0 <= high."""
Vector = Mapping[int, Fraction]
"""Sparse: by number of cell or equation; what is not listed is zero."""

ONE = Fraction(1)


class ExactEquations:
    """The equations of a table with coefficients in fractions, read row by row and column by column."""

    def __init__(self, table: Table) -> None:
        self._rows = table.equations
        self._columns = csc_array(self._rows)
        self._coefficients: dict[float, Rational] = {}

    def row(self, equation: int) -> Iterator[tuple[int, Rational]]:
        """The cells of an equation and their coefficients."""
        return self._entries(self._rows, equation)

    def column(self, cell: int) -> Iterator[tuple[int, Rational]]:
        """The equations of a cell and its coefficients there."""
        return self._entries(self._columns, cell)

    def _entries(self, matrix: csr_array | csc_array, number: int) -> Iterator[tuple[int, Rational]]:
        part = slice(int(matrix.indptr[number]), int(matrix.indptr[number + 1]))
        for place, value in zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True):
            yield place, self.coefficient(value)

    def coefficient(self, value: float) -> Rational:
        """The exact number that a coefficient stands for."""
        if value not in self._coefficients:
            self._coefficients[value] = plain(Fraction(exact_number(value)))
        return self._coefficients[value]

    def balanced(self, deviation: Vector) -> bool:
        """Whether a deviation satisfies every equation."""
        sums: dict[int, Rational] = {}
        for cell, amount in in_integers(deviation)[0].items():
            for equation, coefficient in self.column(cell):
                sums[equation] = sums.get(equation, 0) + coefficient * amount
        return not any(sums.values())

    def residual(self, cell: int, upward: bool, multipliers: Vector) -> dict[int, Rational]:
        """r = +-e_p - M^T pi: every deviation has +-d_p = r d."""
        rest: dict[int, Rational] = {cell: 1 if upward else -1}
        for equation, multiplier in multipliers.items():
            self.subtract(rest, equation, plain(multiplier))
        return rest

    def subtract(self, rest: dict[int, Rational], equation: int, multiplier: Rational) -> None:
        """Subtract a multiple of an equation from a residual, in place."""
        for cell, coefficient in self.row(equation):
            rest[cell] = rest.get(cell, 0) - multiplier * coefficient


class ExactProblem:
    """A problem and a pattern in fractions, converted cell by cell on demand. Confidential.

    Deviations d are differences from the true table: they satisfy all equations (equations @ d = 0) and the bounds
    by the statement of the pattern and by the attacker's box.
    """

    def __init__(self, problem: Problem, pattern: Pattern) -> None:
        self.problem, self.pattern = problem, pattern
        self.view = checked_view(problem, pattern)
        self.touched = pattern.touched(problem)
        self.unit = Fraction(1, 10**problem.table.decimals)
        self.equations = ExactEquations(problem.table)
        self._outside = deviation_bounds(problem, self.view, 0)
        self._inside: dict[int, dict[int, CellBounds]] = {0: {}}
        self._required: dict[int, RequiredLevels] = {}

    # ------------------------------------------------------------------ numbers

    def value(self, cell: int) -> Fraction:
        return int(self.problem.table.units[cell]) * self.unit

    def _amount(self, units: float | Floats) -> Fraction:
        return int(units) * self.unit

    def _end(self, units: float) -> Extended:
        return float(units) if math.isinf(units) else self._amount(units)

    def cell_bounds(self, attacker: int, cell: int) -> CellBounds:
        """Deviation bounds of a cell by statement and box."""
        inside = self.insider_bounds(attacker)
        if cell in inside:
            return inside[cell]
        low, high = self._outside
        return self._end(low[cell]), self._end(high[cell])

    def insider_bounds(self, attacker: int) -> Mapping[int, CellBounds]:
        """Deviation bounds of the cells about which an insider has knowledge, by cell."""
        if attacker not in self._inside:
            low, high = deviation_bounds(self.problem, self.view, attacker)
            cells = self.problem.attackers[attacker - 1].cells.tolist()
            self._inside[attacker] = {cell: (self._end(low[cell]), self._end(high[cell])) for cell in cells}
        return self._inside[attacker]

    # ------------------------------------------------------------------ requirements

    def required_cells(self) -> list[int]:
        """Cells with a requirement: the sensitive ones and touched ones with a conditional level."""
        return [int(cell) for cell in np.flatnonzero(cells_with_requirements(self.problem, self.touched))]

    def required(self, attacker: int, cell: int) -> tuple[Fraction, Fraction, Fraction]:
        """Required levels of a cell (lower, upper, sliding), up to the attacker's own box."""
        if attacker not in self._required:
            self._required[attacker] = required_units(
                self.problem, attacker, np.arange(len(self.problem.table))
            )
        lower, upper, sliding = (self._amount(level[cell]) for level in self._required[attacker])
        return lower, upper, sliding

    def too_close(self) -> list[int]:
        """Sensitive cells of a perturbation that are shown nearer to the truth than a level on that side."""
        judge = getattr(self.pattern, "too_close", None)
        return [] if judge is None else [int(cell) for cell in np.flatnonzero(judge(self.problem))]

    def against_marks(self) -> bool:
        """Whether a forced cell is touched, or a cell that must be hidden is published."""
        return self.problem.against_marks(self.touched).size > 0

    def too_many_touched(self) -> bool:
        most = self.problem.most_touched
        return most is not None and int(self.touched.sum()) > most

    # ------------------------------------------------------------------ deviations

    def stretch(self, attacker: int, deviation: Vector, sign: int = 1) -> Extended:
        """The largest t for which t * sign * deviation is within the attacker's bounds; infinite for a ray."""
        amounts, common = in_integers(deviation)
        above, below = 1, 0  # the smallest of the fractions wall / amount so far
        for cell, amount in amounts.items():
            wall = self.cell_bounds(attacker, cell)[1 if sign * amount > 0 else 0]
            if amount and isinstance(wall, Fraction):
                over, under = abs(wall.numerator), wall.denominator * abs(amount)
                if over * below < above * under:
                    above, below = over, under
        return Fraction(above * common, below) if below else math.inf

    def dual_bound(self, attacker: int, cell: int, upward: bool, multipliers: Vector) -> Extended:
        """Upper bound of +-d_p by multipliers: the sum of r_i times the deviation bound on its side."""
        return self.largest(attacker, self.equations.residual(cell, upward, multipliers))

    def largest(self, attacker: int, weights: Mapping[int, Rational]) -> Extended:
        """The largest value of weights d within the attacker's bounds, without the equations."""
        total: Rational = 0
        for cell, weight in weights.items():
            if weight:
                wall = self.cell_bounds(attacker, cell)[1 if weight > 0 else 0]
                if not isinstance(wall, Fraction):
                    return math.inf
                if wall:
                    total += weight * plain(wall)
        return Fraction(total)

    def is_integral(self, deviation: Vector) -> bool:
        """Whether the deviation is an integral number of data units in every cell."""
        return all((amount / self.unit).denominator == 1 for amount in deviation.values())

    # ------------------------------------------------------------------ identity

    def digest(self) -> str:
        """A hash of everything that a certificate depends on."""
        problem, view = self.problem, self.view
        matrix, sha = problem.table.equations, hashlib.sha256()
        numbers = [matrix.data, problem.outsider_low, problem.outsider_high]
        common = problem.levels
        numbers += [common.lower, common.upper, common.sliding, common.conditional]
        numbers += [np.where(np.isnan(view.shown), np.inf, view.shown), view.low, view.high]
        most = -1 if problem.most_touched is None else problem.most_touched
        counts: list[Any] = [matrix.shape, matrix.indptr, matrix.indices, problem.marks, self.touched]
        counts += [problem.table.units, [problem.table.decimals, most]]
        for attacker in problem.attackers:
            counts.append(attacker.cells)
            numbers += [attacker.low, attacker.high]
        for array in numbers:
            sha.update(b"%d;" % array.size + (np.asarray(array, dtype="<f8") + 0.0).tobytes())
        for integers in counts:
            sha.update(b"%d;" % len(integers) + np.asarray(integers, dtype="<i8").tobytes())
        # the digest of a problem without what follows is what it was before there was any
        if common.conditional_lower.any() or common.conditional_upper.any():
            sha.update(b"conditional lower and upper levels;")
            for level in (common.conditional_lower, common.conditional_upper):
                sha.update((level + 0.0).astype("<f8").tobytes())
        for number, attacker in enumerate(problem.attackers, 1):
            if attacker.levels.cells.size:
                sha.update(b"levels against %d;" % number + attacker.levels.cells.astype("<i8").tobytes())
                for _, level in attacker.levels.named():
                    sha.update(np.where(np.isnan(level), np.inf, level + 0.0).astype("<f8").tobytes())
        return sha.hexdigest()
