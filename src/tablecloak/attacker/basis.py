"""A simplex basis in fractions: its exact point and its exact multipliers.

Columns that are not basic lie at a bound, the basic ones follow from the equations that are tight:
B d_B = -N d_N, and the multipliers from B'y = c_B.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from tablecloak.arrays import Floats
from tablecloak.attacker.evidence import Amount, IntegralSystem
from tablecloak.attacker.gaussian_elimination import ZERO, Rational, TooMuchWork, in_integers, plain, solve


@dataclass(frozen=True)
class BasisSettings:
    """Limits of exact bases."""

    max_columns: int = 3_000
    """Maximum number of basic columns: elimination in fractions takes seconds beyond it. Untested default."""


SETTINGS = BasisSettings()


class RationalBasis:
    """The basis of a linear program matrix d = 0, by the status names of its columns and rows.

    `entries`: the rows of a column and its coefficients there.
    """

    def __init__(
        self,
        entries: Callable[[int], Iterable[tuple[int, Rational]]],
        columns: list[str],
        rows: list[str],
        settings: BasisSettings = SETTINGS,
    ) -> None:
        self.entries, self.columns = entries, columns
        self.basic = [column for column, status in enumerate(columns) if status == "kBasic"]
        self.tight = dict.fromkeys(row for row, status in enumerate(rows) if status != "kBasic")
        if len(self.basic) > settings.max_columns:
            raise TooMuchWork(f"the exact basis would have more than {settings.max_columns} columns")

    def point(self, bound: Callable[[int, bool], Amount]) -> dict[int, Rational] | None:
        """The exact point; None if there is none. `bound(column, upper)`: the bounds of columns that are not basic."""
        found: dict[int, Rational] = {}
        for column, status in enumerate(self.columns):
            wall = bound(column, status == "kUpper") if status in ("kLower", "kUpper") else ZERO
            if isinstance(wall, float) and math.isinf(wall):
                return None
            if wall:
                found[column] = plain(Fraction(wall))
        rhs: dict[int, Rational] = dict.fromkeys(self.tight, 0)
        for column, amount in found.items():
            for row, coefficient in self.entries(column):
                if row in rhs:
                    rhs[row] -= coefficient * amount
        equations: dict[int, dict[int, Rational]] = {row: {} for row in rhs}
        for column in self.basic:
            for row, coefficient in self.entries(column):
                if row in equations:
                    equations[row][column] = coefficient
        solution = solve(list(equations.values()), list(rhs.values()))
        return None if solution is None else {**found, **solution}

    def multipliers(self, column: int, cost: Rational) -> dict[int, Fraction] | None:
        """The exact multipliers of an objective with this cost for one column, 0 for others; None if there are none."""
        equations: list[dict[int, Rational]] = [
            {row: value for row, value in self.entries(basic) if row in self.tight} for basic in self.basic
        ]
        return solve(equations, [cost if basic == column else 0 for basic in self.basic])


class ExactBasis(RationalBasis):
    """The basis of a program over the columns of an attacker's system: exact reach and exact bound of a column."""

    def __init__(
        self,
        system: IntegralSystem,
        columns: list[str],
        rows: list[str],
        settings: BasisSettings = SETTINGS,
    ) -> None:
        super().__init__(system.entries, columns, rows, settings)
        self.system = system

    def reach(self, column: int, sign: int, low: Floats, high: Floats) -> Fraction:
        """sign * d_column at the exact point, if that satisfies all equations and low <= d <= high; else zero."""
        point = self.point(lambda place, upper: float((high if upper else low)[place]))
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

    def bound(self, column: int, sign: int, low: Floats, high: Floats) -> Amount:
        """Upper bound of sign * d_column within low..high by the multipliers of the basis."""
        solution = self.multipliers(column, -sign)
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
