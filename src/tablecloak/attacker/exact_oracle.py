"""The attacker's oracle: how far can one column of a system go? Evidence for the answer, whatever the scale.

    max +-d_p   subject to   M d = 0,  low <= d <= high,  +-d_p <= need.

Each question is scaled by itself: amounts are divided by the need, and other columns may move no further than a
multiple of it, which is enlarged while that decides. A deviation that rounding does not make exact is refined: the
residual r = M n of the rounded one is solved for, M e = -r, at the scale of r, and so on. Bounds come from the
multipliers, which have no scale. What is left is settled by the basis in fractions (`basis`).

Reference: Gleixner, Steffy & Wolter (2016), Iterative refinement for linear programming.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Floats
from tablecloak.attacker.basis import ExactBasis
from tablecloak.attacker.evidence import Amount, Deviation, IntegralSystem
from tablecloak.attacker.gaussian_elimination import TooMuchWork
from tablecloak.attacker.tolerances import EXACT_FLOAT, SOLVER_FEASIBILITY
from tablecloak.errors import SolverError
from tablecloak.solvers import LinearProgram, Outcome, SimplexOptions, Solution


@dataclass(frozen=True)
class ExactOracleSettings:
    """Effort for one question; more of it settles more of them. Untested defaults."""

    caps: tuple[float, ...] = (1e4, 1e8, math.inf)
    """Other columns move at most this many times as far as the need, in one program after the other."""
    refinement_rounds: int = 5
    """Maximum number of rounds of refinement of one deviation."""


SETTINGS = ExactOracleSettings()


ZERO = Fraction(0)


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
        self, system: IntegralSystem, low: Floats, high: Floats, settings: ExactOracleSettings = SETTINGS
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
        rooms = self._finite()
        if math.isfinite(goal) and goal > 0:
            return [goal, *(scale for scale in (1.0, float(rooms.max(initial=1.0))) if scale != goal)]
        if rooms.size == 0:
            return [1.0]
        return sorted({float(rooms.min()), float(np.exp(np.log(rooms).mean())), float(rooms.max())})

    def _finite(self) -> Floats:
        rooms = np.concatenate([-self.low, self.high])
        return np.asarray(rooms[np.isfinite(rooms) & (rooms > 0)])

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
        if not found.settles(need):
            self._exact_basis(found, column, sign, low, high)
        return capped

    def _exact_basis(self, found: Evidence, column: int, sign: int, low: Floats, high: Floats) -> None:
        """What the basis of the last program says in fractions."""
        assert self._session is not None
        self.take_basis(found, self._session.basis(), column, sign, low, high)

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
            rest = self._solve(
                np.maximum(low, -most),
                np.minimum(high, most),
                residual.astype(np.float64),
                cost,
                missed,
            )
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
