"""Covering programs with cuts on demand: the cut loop of the relaxation, and integer optima by gap limits.

    min sum_i w_i x_i    over cuts that separation routines find violated,   0 <= x <= 1 or x binary

*Relaxation*: solve, add violated cuts, price columns in, until no routine finds any cut.

*Gap limits*: suppose that the optimum is at most a little above the bound. Then variables whose reduced cost exceeds
the gap are fixed to 0. An integer program over the few others either finds the optimum or proves that it is above the
limit, which is a bound; then the limit is enlarged:

    limit_k = max(bound_0 (1 + g_k), bound + (units + k) step),    g_1 = first,   g_{k+1} = factor g_k + increment

where the weights are multiples of `step`.

References: Dantzig, Fulkerson & Johnson (1954) for reduced-cost fixing; Salazar-Gonzalez (2010) for integer programs
that are solved again while their optimum violates cuts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import SolverError
from tablecloak.methods.cuts.cut import Cut
from tablecloak.methods.cuts.relaxation import Relaxation, RelaxationSettings
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import OPTIMALITY, GrowingProgram, Outcome, Solution

SeparationRoutine = Callable[[Floats], list[Cut]]
"""From a point to cuts that it violates."""
UNSATISFIABLE = "the cuts of a feasible problem contradict each other"


# ---------------------------------------------------------------------- gap limits


@dataclass(frozen=True)
class GapLimitSettings:
    """The sequence of gap limits: small limits fix more variables, large ones are fewer."""

    first: float = 0.02
    """The first gap, as a share of the bound. Supported by benchmark part study."""
    factor: float = 2.5
    """By which a gap is multiplied for the next one. Supported by benchmark part study."""
    increment: float = 0.0
    """What is added to the gap for the next one, as a share of the bound. Supported by benchmark part study."""
    units: int | None = 2
    """The k-th limit is at least this number plus k steps above the bound; None: it is the bound. Untested default."""
    largest: float = math.inf
    """Gaps above this share are infinite. Untested default."""
    largest_first: float = 10.0
    """The first gap is not enlarged beyond this share (`GapLimits.enlarge_first`). Untested default."""


class GapLimits:
    """Increasing limits on the objective, for searches below each of them; the first starts from a lower bound.

    `step`: a number of which all objectives are multiples, 0 if there is none.
    """

    def __init__(
        self, bound: float, step: float = 0.0, settings: GapLimitSettings = GapLimitSettings()
    ) -> None:
        self._start, self._step, self._settings = bound, step, settings
        self._gap = settings.first
        self.count = 0
        """Number of limits so far."""

    def next(self, bound: float) -> float:
        """The next limit, at least a few steps above the bound that is proven by now."""
        self.count += 1
        limit, units = self._limit(self._gap), self._settings.units
        if units is None:
            return bound
        step = self._step if self._step > 0 else 1e-9 * max(1.0, abs(bound))
        self._enlarge()
        return max(limit, bound + (units + self.count) * step)

    def enlarge_first(self, is_small: Callable[[float], bool]) -> None:
        """Enlarge the limit that comes next as long as the program below it stays small."""
        while self._gap < self._settings.largest_first:
            larger = self._gap * self._settings.factor
            if not is_small(self._limit(larger)):
                return
            self._gap = larger

    def skip(self, bound: float) -> None:
        """Pass over limits that do not exceed the bound that is proven by now."""
        while self._start > 0 and self._limit(self._gap) <= bound:
            self._enlarge()

    def _limit(self, gap: float) -> float:
        return math.inf if gap > self._settings.largest else self._start * (1 + gap)

    def _enlarge(self) -> None:
        self._gap = self._settings.factor * self._gap + self._settings.increment


class PoolProgram:
    """The integer program over all cuts of a pool and some of the variables, the others fixed to 0.

    It is solved to a rough gap until its solution violates no cut (`require_optimum`), then to the end.
    """

    def __init__(self, relaxation: Relaxation, cells: Ints, step: float, rough_gap: float) -> None:
        self.cells, self._relaxation, self._step = cells, relaxation, step
        self._program = GrowingProgram(relaxation.weights[cells], settings=relaxation.settings.highs)
        self._sent, self._gap = 0, rough_gap

    @property
    def is_exact(self) -> bool:
        """Whether solutions are optimal."""
        return self._gap == 0.0

    def require_optimum(self) -> None:
        """Solve to the end from now on."""
        self._gap = 0.0

    def solve(self, seconds: float) -> Solution:
        """A solution of all cuts in the pool by now."""
        new = self._relaxation.pool[self._sent :]
        self._program.add_rows(*self._relaxation.system(new, self.cells))
        self._sent += len(new)
        return self._program.solve(seconds, gap=self._gap, step=self._step).checked()


# ---------------------------------------------------------------------- the program


@dataclass(frozen=True)
class CutLoopSettings:
    """When the cut loop ends, and how its integer programs are solved."""

    tailing_off: float = 1e-5
    """A round that raises the value by less than this share has stalled. Untested default."""
    stalled_rounds: int = 30
    """Maximum number of stalled rounds in a row: more would hardly raise the bound. Untested default."""
    pricing_rounds: int = 5
    """Columns are priced in when no cut is violated, and every this number of rounds. Untested default."""
    rough_gap: float = 0.01
    """Integer programs are solved to this gap until no cut is violated, then to the end. Untested default."""
    gap_limits: GapLimitSettings = GapLimitSettings()
    relaxation: RelaxationSettings = RelaxationSettings()


class CutProgram:
    """The cuts found so far, and what they prove."""

    def __init__(
        self,
        weights: Floats,
        free: Bools,
        start: Bools,
        separators: Sequence[SeparationRoutine],
        deadline: Deadline,
        report: Progress,
        settings: CutLoopSettings = CutLoopSettings(),
    ) -> None:
        self.weights, self.free, self.separators = weights, free, separators
        self.deadline, self.report, self.settings = deadline, report, settings
        self.relaxation = Relaxation(weights, free, start, settings.relaxation)
        self.unit = weight_unit(weights[free])
        self.bound = 0.0
        """Proven: no binary point that satisfies all cuts costs less. Not rounded."""
        self.rounds = self.programs = 0
        self._active = 1
        """Number of separators in use."""

    @property
    def rounded(self) -> float:
        """The bound, rounded up where all weights are multiples of a unit."""
        return rounded_up(self.bound, self.unit)

    def separate(self, x: Floats) -> int:
        """Add the violated cuts that the separators in use find at x; return the number of new ones."""
        return self.relaxation.add([cut for find in self.separators[: self._active] for cut in find(x)])

    def cells_within(self, limit: float) -> Ints:
        """The cells that a pattern of at most this cost can hide, by their reduced costs."""
        return np.flatnonzero(self.relaxation.within(limit))

    def solve_relaxation(self) -> bool:
        """Solve the linear relaxation; False when the time is up (the bound is valid all the same).

        A separator comes into use once the cuts of those before it are all satisfied, so there is a bound before the
        most expensive one begins.
        """
        if not self.free.any():
            return True
        relaxation, settings = self.relaxation, self.settings
        stalled, before = 0, 0.0
        while True:
            if self.deadline.passed():
                return False
            outcome = relaxation.solve(self.deadline.left)
            if outcome is Outcome.INFEASIBLE:
                raise SolverError(UNSATISFIABLE)
            if outcome is not Outcome.OPTIMAL:
                return False
            self.rounds += 1
            new = len(relaxation.violated_in_pool(relaxation.x))
            if stalled < settings.stalled_rounds:
                new += self.separate(relaxation.x)
            priced = (new == 0 or self.rounds % settings.pricing_rounds == 0) and relaxation.price()
            self.bound = max(self.bound, relaxation.bound)
            self.report("linear program", self.rounds, self.rounds, None, self.bound)
            if new == 0 and not priced:
                if self._active >= len(self.separators):
                    return True
                self._active, stalled = self._active + 1, 0
                continue
            rising = relaxation.value > before + settings.tailing_off * abs(before)
            stalled = 0 if rising or priced else stalled + 1
            before = relaxation.value

    def solve_integer(self, incumbent: float = math.inf) -> Floats | None:
        """After `solve_relaxation`, the optimal binary point.

        None when the time is up, or when no point costs less than an incumbent: then the bound is its cost.
        """
        if not self.free.any():
            return np.zeros(self.free.size)
        limits = GapLimits(self.relaxation.bound, self.unit, self.settings.gap_limits)
        most = incumbent - self.unit
        while True:
            limit = min(limits.next(self.relaxation.bound), most)
            x, done = self._solve_below(limit)
            if done:
                return x
            if limit == most:
                self.bound = max(self.bound, incumbent)
                return None

    def _solve_below(self, limit: float) -> tuple[Floats | None, bool]:
        """The optimum if it is below a limit. Then whether this is the end: optimal, or out of time."""
        cells = self.cells_within(limit)
        if cells.size == int(self.free.sum()):
            limit = math.inf
        program = PoolProgram(self.relaxation, cells, self.unit, self.settings.rough_gap)
        while True:
            solution = program.solve(self.deadline.left)
            self.programs += 1
            self.bound = max(self.bound, min(solution.bound, limit))
            self.report("integer program", self.programs, self.programs, None, self.rounded)
            if solution.outcome is Outcome.TIME_LIMIT:
                return None, True
            if solution.outcome is Outcome.INFEASIBLE and limit == math.inf:
                raise SolverError(UNSATISFIABLE)
            if solution.outcome is Outcome.INFEASIBLE or rounded_up(solution.bound, self.unit) > limit:
                return None, False
            x = np.zeros(self.free.size)
            x[cells[solution.values > 0.5]] = 1.0
            if self.separate(x):
                continue
            cost = float(self.weights @ x)
            if self.rounded >= cost - OPTIMALITY * max(1.0, cost):
                self.bound = max(self.bound, cost)
                return x, True
            if program.is_exact:
                self.bound = max(self.bound, min(cost, limit))
                return (x, True) if cost <= limit else (None, False)
            program.require_optimum()


# ---------------------------------------------------------------------- units of the objective


def weight_unit(weights: Floats) -> float:
    """A number of which all weights are multiples (1, 10, 0.01, ...), or 0 if none is found."""
    positive = weights[weights > 0]
    for decimals in range(-3, 7):
        scaled = positive * 10.0**decimals
        if not positive.size or scaled.max() >= 2**40:
            break
        whole = np.rint(scaled)
        if (whole >= 1).all() and (np.abs(scaled - whole) <= 1e-12 * whole).all():
            return float(np.gcd.reduce(whole.astype(np.int64))) / 10.0**decimals
    return 0.0


def rounded_up(bound: float, unit: float) -> float:
    """The least multiple of the unit that is not below the bound, up to noise; the bound itself without a unit."""
    if unit <= 0 or not math.isfinite(bound):
        return bound
    return unit * math.ceil(bound / unit * (1 - 1e-12) - 1e-6)


def next_multiple(cost: float, unit: float) -> float:
    """The least cost above this one, if costs are multiples of the unit; the cost itself without a unit."""
    return cost if unit == 0 or not math.isfinite(cost) else unit * (math.floor(cost / unit + 1e-9) + 1)
