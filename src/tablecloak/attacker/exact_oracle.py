"""The attacker's oracle: how far can one column of a system go? Evidence for the answer, whatever the scale.

    max +-d_p   subject to   M d = 0,  low <= d <= high,  +-d_p <= need.

Each question is scaled by itself: amounts are divided by the need, and other columns may move no further than a
multiple of it, which is enlarged while that decides. A deviation that rounding does not make exact is refined: the
residual r = M n of the rounded one is solved for, M e = -r, at the scale of r, and so on. Bounds come from the
multipliers, which have no scale. What is left is settled by the simplex basis in fractions: columns that are not basic
lie at a bound, the basic ones follow from the equations that are tight, B d_B = -N d_N, and the multipliers from
B'y = c_B. `WitnessFinder` finds such deviations among the cells of a table that may be hidden.

Reference: Gleixner, Steffy & Wolter (2016), Iterative refinement for linear programming.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker.evidence import Amount, Deviation, IntegralSystem
from tablecloak.attacker.gaussian_elimination import ZERO, Rational, TooMuchWork, in_integers, plain, solve
from tablecloak.attacker.presolve import Component, Reduction, reduce, working_columns
from tablecloak.attacker.tolerances import EXACT_FLOAT, SOLVER_FEASIBILITY
from tablecloak.errors import SolverError
from tablecloak.model import Problem, Suppression, View, deviation_bounds
from tablecloak.solvers import HighsSettings, LinearProgram, Outcome, SimplexOptions, Solution
from tablecloak.solvers.graphs import Network


@dataclass(frozen=True)
class RationalBasisSettings:
    """Limits of exact bases."""

    max_columns: int = 3_000
    """Maximum number of basic columns: larger bases are left undecided, smaller limits save time. Untested default."""


class RationalBasis:
    """The basis of a linear program matrix d = 0, by the status names of its columns and rows.

    `entries`: the rows of a column and its coefficients there.
    """

    def __init__(
        self,
        entries: Callable[[int], Iterable[tuple[int, Rational]]],
        columns: list[str],
        rows: list[str],
        settings: RationalBasisSettings = RationalBasisSettings(),
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
        settings: RationalBasisSettings = RationalBasisSettings(),
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


@dataclass(frozen=True)
class ExactOracleSettings:
    """Effort for one question; more of it settles more of them. Untested defaults."""

    caps: tuple[float, ...] = (1e4, 1e8, math.inf)
    """Other columns move at most this many times as far as the need, in one program after the other."""
    refinement_rounds: int = 5
    """Maximum number of rounds of refinement of one deviation."""
    highs: HighsSettings = HighsSettings()


@dataclass
class Evidence:
    """How far a column provably goes, by a deviation, and provably not beyond."""

    reach: Amount = ZERO
    bound: Amount = math.inf
    deviation: Deviation | None = None

    def settles(self, need: float) -> bool:
        """Whether the need is met, out of reach, or the farthest point is known."""
        out_of_reach = need < math.inf and self.bound < need
        return self.reach >= need or out_of_reach or self.reach == self.bound

    def take(self, deviation: Deviation | None, reach: Amount) -> None:
        """Keep what goes further; its deviation is None where its numbers are too long to be stored."""
        if reach > self.reach:
            self.reach, self.deviation = reach, deviation


class ExactOracle:
    """Settles single questions about the columns of a system within whole bounds low <= 0 <= high."""

    def __init__(
        self,
        system: IntegralSystem,
        low: Floats,
        high: Floats,
        settings: ExactOracleSettings = ExactOracleSettings(),
    ) -> None:
        self.system, self.low, self.high, self.settings = system, low, high, settings
        self.tick: Callable[[int], None] | None = None
        """Called with 0 before every program: who waits may raise."""
        self.solves = 0
        self._session: LinearProgram | None = None

    def settle(self, column: int, sign: int, need: float) -> Evidence:
        """Evidence about sign * d_column, pushed as far as `need` (infinite: as far as it goes)."""
        wall = float(self.high[column] if sign > 0 else -self.low[column])
        found = Evidence(bound=Fraction(int(wall)) if math.isfinite(wall) else math.inf)
        if need == math.inf == wall:
            self._ray(found, column, sign)
        for scale in self._scales(min(need, wall)):
            for cap in self.settings.caps:
                if found.settles(need):
                    return found
                if not self._push(found, column, sign, need, scale, cap):
                    break
        return found

    def _scales(self, goal: float) -> list[float]:
        """Scales to try: that of the need, and where there is none those of the finite bounds."""
        walls = np.concatenate([-self.low, self.high])
        walls = walls[np.isfinite(walls) & (walls > 0)]
        if math.isfinite(goal) and goal > 0:
            return [goal, *(scale for scale in (1.0, float(walls.max(initial=1.0))) if scale != goal)]
        if walls.size == 0:
            return [1.0]
        return sorted({float(walls.min()), float(np.exp(np.log(walls).mean())), float(walls.max())})

    # ------------------------------------------------------------------ programs

    def _push(self, found: Evidence, column: int, sign: int, need: float, scale: float, cap: float) -> bool:
        """One program at one scale; whether a larger cap may lead further."""
        limit = np.ceil(cap * scale) if math.isfinite(cap) else math.inf
        low, high = np.maximum(self.low, -limit), np.minimum(self.high, limit)
        if sign > 0:
            high[column] = min(self.high[column], need)
        else:
            low[column] = max(self.low[column], -need)
        cost = self._cost(column, sign)
        solution = self._solve(low, high, np.zeros(self.system.rows), cost, scale)
        capped = bool((low > self.low).any() or (high < self.high).any()) and math.isfinite(cap)
        if solution is None:
            return capped
        amount = solution.values * scale
        deviation = self.system.deviation(amount, low, high) or self.refined(amount, low, high, cost)
        if deviation is not None:
            found.take(deviation, sign * deviation.of(column))
        found.bound = min(found.bound, self.system.bound(column, sign, solution.duals, self.low, self.high))
        if not found.settles(need) and self._session is not None:
            self.take_basis(found, self._session.basis(), column, sign, low, high)
        return capped

    def take_basis(
        self,
        found: Evidence,
        status: tuple[list[str], list[str]],
        column: int,
        sign: int,
        low: Floats,
        high: Floats,
    ) -> None:
        """Keep what a basis says in fractions, by the status names of columns and rows; it lies within low..high."""
        try:
            basis = ExactBasis(self.system, *status)
            found.take(None, basis.reach(column, sign, low, high))
            found.bound = min(found.bound, basis.bound(column, sign, self.low, self.high))
        except TooMuchWork:
            return

    def _cost(self, column: int, sign: int) -> Floats:
        """Costs of a program that pushes one column."""
        cost = np.zeros(self.system.count)
        cost[column] = -sign
        return cost

    def _solve(
        self, low: Floats, high: Floats, residual: Floats, cost: Floats, scale: float
    ) -> Solution | None:
        """min cost d with M d = -residual; None if the solver does not end well."""
        if self.tick is not None:
            self.tick(0)
        self._session = session = LinearProgram(
            self.system.columns,
            low / scale,
            high / scale,
            cost=cost,
            rows=(-residual / scale, -residual / scale),
            options=SimplexOptions(tolerance=SOLVER_FEASIBILITY, feasible=not residual.any()),
            settings=self.settings.highs,
        )
        self.solves += 1
        try:
            solution = session.solve()
        except SolverError:
            return None
        return solution if solution.outcome is Outcome.OPTIMAL else None

    def refined(self, amount: Floats, low: Floats, high: Floats, cost: Floats) -> Deviation | None:
        """The exact deviation next to an approximate one, by correcting its residual at its own scale."""
        whole, before = np.rint(np.minimum(np.maximum(amount, low), high)), math.inf
        for _ in range(self.settings.refinement_rounds):
            if np.abs(whole).max(initial=0.0) >= EXACT_FLOAT:
                return None
            residual = self.system.residual(whole.astype(np.int64))
            missed = float(max((abs(one) for one in residual), default=0))
            if missed == 0:
                return Deviation(whole.astype(np.int64), 1)
            if missed > before / 2:
                return None
            before = missed
            correction = self._correction(low - whole, high - whole, residual, cost, missed)
            if correction is None:
                return None
            found = self.system.deviation(correction, low, high, whole)
            if found is not None:
                return found
            whole = np.minimum(np.maximum(whole + np.rint(correction), low), high)
        return None

    def _correction(
        self, low: Floats, high: Floats, residual: NDArray[np.object_], cost: Floats, missed: float
    ) -> Floats | None:
        """A correction e with M e = -residual, within low..high and a multiple of what is missed."""
        for cap in self.settings.caps:
            most = cap * missed
            near = np.maximum(low, -most), np.minimum(high, most)
            rest = self._solve(*near, residual.astype(np.float64), cost, missed)
            if rest is not None:
                return rest.values * missed
        return None

    def _ray(self, found: Evidence, column: int, sign: int) -> None:
        """Whether the column goes on for ever: columns move where their bounds are infinite, by at most 1."""
        low, high = np.where(np.isinf(self.low), -1.0, 0.0), np.where(np.isinf(self.high), 1.0, 0.0)
        solution = self._solve(low, high, np.zeros(self.system.rows), self._cost(column, sign), 1.0)
        deviation = None if solution is None else self.system.deviation(solution.values, low, high)
        if deviation is not None and sign * deviation.of(column) > 0:
            found.take(deviation, math.inf)


class WitnessFinder:
    """Finds deviations in which only some cells move; by attacker, since boxes differ.

    `allowed` cells move freely, the others as far as the `rest` of a publication lets them (without one: not at all).
    """

    def __init__(self, problem: Problem, allowed: Bools, rest: View | None = None) -> None:
        self.problem = problem
        view = Suppression.of(problem.table, allowed).view(problem)
        if rest is not None:
            view = replace(
                view, low=np.where(allowed, view.low, rest.low), high=np.where(allowed, view.high, rest.high)
            )
        self._view = view
        self._systems: dict[int, Reduction] = {}

    def find(self, cell: int, attacker: int, upward: bool, need: float) -> Floats | None:
        """A deviation of all cells, in data units, with the need of the cell, or else with its maximum.

        None where the cell is determined.
        """
        system = self._system(attacker)
        number = int(system.component[cell])
        if number < 0:
            return None
        component, place = system.components[number], int(system.position[cell])
        moved = _by_flow if component.orientation is not None else _by_program
        amounts = moved(component, place, upward, need)
        if amounts is None:
            return None
        deviation = np.zeros(len(self.problem.table))
        deviation[component.cells] = amounts
        return deviation

    def _system(self, attacker: int) -> Reduction:
        if attacker not in self._systems:
            low, high = deviation_bounds(self.problem, self._view, attacker)
            table = self.problem.table
            self._systems[attacker] = reduce(working_columns(table), low, high, table.unit)
        return self._systems[attacker]


def _by_flow(component: Component, place: int, upward: bool, need: float) -> Floats | None:
    orientation = component.orientation
    assert orientation is not None
    network = Network(orientation.nodes, orientation.tail, orientation.head, component.high, -component.low)
    route = network.max_deviation(place, upward, need)
    return route.deviation if route.value > 0 else None


def _by_program(component: Component, place: int, upward: bool, need: float) -> Floats | None:
    system = IntegralSystem(component.columns)
    ratio = float(system.ratio[place])
    if ratio == 0:
        return None
    sign = 1 if (ratio > 0) is upward else -1
    found = ExactOracle(system, *system.bounds(component.low, component.high)).settle(
        int(system.group[place]), sign, need
    )
    if found.deviation is None:
        return None
    columns = found.deviation.numerator / float(found.deviation.denominator)
    return np.asarray(system.ratio * columns[system.group]) if math.isfinite(need) else None
