"""A simplex basis in fractions: its exact point and its exact multipliers.

Columns that are not basic lie at a bound, the basic ones follow from the equations that are tight:
B d_B = -N d_N, and the multipliers from B'y = c_B.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tablecloak.arrays import Floats
from tablecloak.attacker.evidence import Amount, IntegralSystem
from tablecloak.attacker.gaussian_elimination import ZERO, Rational, TooMuchWork, in_integers, solve

MOST_COLUMNS = 3_000
"""The largest basis, in columns, that is solved exactly."""


class ExactBasis:
    """The basis of a program over the columns of a system, by the status names of its columns and rows."""

    def __init__(self, system: IntegralSystem, columns: list[str], rows: list[str]) -> None:
        self.system, self.columns = system, columns
        self.basic = [column for column, status in enumerate(columns) if status == "kBasic"]
        self.tight = {row for row, status in enumerate(rows) if status != "kBasic"}
        if len(self.basic) > MOST_COLUMNS:
            raise TooMuchWork

    def reach(self, column: int, sign: int, low: Floats, high: Floats) -> Fraction:
        """sign * d_column at the exact point, if that keeps all equations and low <= d <= high; else zero."""
        point = self._point(low, high)
        if point is None:
            return ZERO
        amounts, common = in_integers(point)
        sums: dict[int, int] = {}
        for moved, amount in amounts.items():
            wall = float(high[moved] if amount > 0 else -low[moved])
            if wall < math.inf and abs(amount) > int(wall) * common:
                return ZERO
            for row, coefficient in self.system.entries(moved):
                sums[row] = sums.get(row, 0) + coefficient * amount
        return ZERO if any(sums.values()) else Fraction(sign * amounts.get(column, 0), common)

    def _point(self, low: Floats, high: Floats) -> dict[int, Rational] | None:
        found: dict[int, Rational] = {}
        for column, status in enumerate(self.columns):
            wall = {"kLower": low, "kUpper": high}.get(status)
            if wall is not None and wall[column]:
                if math.isinf(wall[column]):
                    return None
                found[column] = int(wall[column])
        rhs: dict[int, Rational] = dict.fromkeys(sorted(self.tight), 0)
        for column, amount in found.items():
            for row, coefficient in self.system.entries(column):
                if row in rhs:
                    rhs[row] -= coefficient * amount
        equations: dict[int, dict[int, Rational]] = {row: {} for row in rhs}
        for column in self.basic:
            for row, coefficient in self.system.entries(column):
                if row in equations:
                    equations[row][column] = coefficient
        solution = solve(list(equations.values()), list(rhs.values()))
        return None if solution is None else {**found, **solution}

    def bound(self, column: int, sign: int, low: Floats, high: Floats) -> Amount:
        """The most that sign * d_column can be within low..high, by the multipliers of the basis."""
        equations: list[dict[int, Rational]] = [
            {row: value for row, value in self.system.entries(basic) if row in self.tight}
            for basic in self.basic
        ]
        solution = solve(equations, [-sign if basic == column else 0 for basic in self.basic])
        if solution is None:
            return math.inf
        multipliers, common = in_integers(solution)
        total = 0
        for other in range(self.system.count):
            weight = sign * common if other == column else 0
            weight += sum(multipliers.get(row, 0) * value for row, value in self.system.entries(other))
            if weight:
                wall = float(high[other] if weight > 0 else -low[other])
                if math.isinf(wall):
                    return math.inf
                total += abs(weight) * int(wall)
        return Fraction(total, common)
