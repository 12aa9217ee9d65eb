"""A program over rows that are found on demand, as a linear and as an integer program.

    min sum_i w_i x_i    over rows of which finders name those that a point misses,   0 <= x <= 1 or x binary

*Linear*: `Relaxation` until no finder finds anything. *Integer*: suppose that the optimum is at most a little above the
bound; then cells whose reduced cost exceeds the gap are published. An integer program over the few others either
finds the optimum or proves that the guess was too low; then it is enlarged. The bound is valid at any moment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import SolverError
from tablecloak.methods.cuts.cut import Cut
from tablecloak.methods.cuts.relaxation import Relaxation
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import GrowingProgram, Outcome

FIRST_GUESS, LARGER = 0.02, 2.5
"""The first guess of the gap, as a share of the bound, and by how much the next one is larger."""
TAILING, STALLED = 1e-5, 30
"""The linear program ends after so many rounds that raise its value by less than this share."""
NEAR = 0.01
"""Integer programs are solved up to this gap until no row is missed, then to the end."""

Finder = Callable[[Floats], list[Cut]]


class RowProgram:
    """The rows found so far, and what they prove."""

    def __init__(
        self,
        weights: Floats,
        free: Bools,
        start: Bools,
        finders: Sequence[Finder],
        deadline: Deadline,
        report: Progress,
    ) -> None:
        self.weights, self.free, self.finders = weights, free, finders
        self.deadline, self.report = deadline, report
        self.relaxation = Relaxation(weights, free, start)
        self.unit = weight_unit(weights[free])
        self.bound = 0.0
        """Proven: no binary point that meets all rows costs less. Not rounded."""
        self.rounds = self.programs = self.guesses = 0
        self.asked = 1
        """How many of the finders are asked."""

    @property
    def rounded(self) -> float:
        """The bound, rounded up where all weights are multiples of a unit."""
        return rounded_up(self.bound, self.unit)

    def find(self, x: Floats) -> int:
        """Add what the finders asked so far find at x; gives how many rows are new."""
        return self.relaxation.add([row for finder in self.finders[: self.asked] for row in finder(x)])

    # ------------------------------------------------------------------ linear

    def linear(self) -> bool:
        """Solve the linear program; False when the time is up (the bound holds all the same).

        A finder is asked once the rows of those before it are all met, so there is a bound before the dearest begins.
        """
        if not self.free.any():
            return True
        relaxation = self.relaxation
        stalled, before = 0, 0.0
        while True:
            if self.deadline.passed():
                return False
            outcome = relaxation.solve(self.deadline.left)
            if outcome is Outcome.INFEASIBLE:
                raise SolverError("the rows of a feasible problem contradict each other")
            if outcome is not Outcome.OPTIMAL:
                return False
            self.rounds += 1
            new = len(relaxation.violated_in_pool(relaxation.x))
            if stalled < STALLED:
                new += self.find(relaxation.x)
            priced = (new == 0 or self.rounds % 5 == 0) and relaxation.price()
            self.bound = max(self.bound, relaxation.bound)
            self.report("linear program", self.rounds, self.rounds, None, self.bound)
            if new == 0 and not priced:
                if self.asked >= len(self.finders):
                    return True
                self.asked, stalled = self.asked + 1, 0
                continue
            rising = relaxation.value > before + TAILING * abs(before)
            stalled = 0 if rising or priced else stalled + 1
            before = relaxation.value

    # ------------------------------------------------------------------ integer

    def integral(self) -> Floats | None:
        """After `linear`, the optimal binary point; None when the time is up."""
        if not self.free.any():
            return np.zeros(self.free.size)
        share = FIRST_GUESS
        while True:
            x, done = self._within(share)
            if done:
                return x
            share *= LARGER

    def cells_within(self, highest: float) -> Ints:
        """The cells that a pattern of at most this cost can hide, by their reduced costs."""
        return np.flatnonzero(self.relaxation.within(highest))

    def _within(self, share: float) -> tuple[Floats | None, bool]:
        """The optimum if it is within a share of the bound. Then whether this is the end: found, or out of time."""
        self.guesses += 1
        least = self.relaxation.bound
        step = self.unit if self.unit > 0 else 1e-9 * max(1.0, abs(least))
        highest = max(least * (1 + share), least + (2 + self.guesses) * step)
        cells = self.cells_within(highest)
        if cells.size == int(self.free.sum()):
            highest = math.inf
        program = GrowingProgram(self.weights[cells])
        sent, near = 0, NEAR
        while True:
            pool = self.relaxation.pool[sent:]
            program.add_rows(np.array([row.rhs for row in pool]), self.relaxation.matrix(pool)[:, cells])
            sent += len(pool)
            solution = program.solve(self.deadline.left, gap=near, step=self.unit)
            self.programs += 1
            self.bound = max(self.bound, min(solution.bound, highest))
            self.report("integer program", self.programs, self.programs, None, self.rounded)
            if solution.outcome is Outcome.TIME_LIMIT:
                return None, True
            if solution.outcome is Outcome.INFEASIBLE and highest == math.inf:
                raise SolverError("the rows of a feasible problem contradict each other")
            if solution.outcome is Outcome.INFEASIBLE or rounded_up(solution.bound, self.unit) > highest:
                return None, False
            x = np.zeros(self.free.size)
            x[cells[solution.values > 0.5]] = 1.0
            if self.find(x):
                continue
            cost = float(self.weights @ x)
            if rounded_up(self.bound, self.unit) >= cost - 1e-9 * max(1.0, cost):
                self.bound = max(self.bound, cost)
                return x, True
            if near == 0.0:
                self.bound = max(self.bound, min(cost, highest))
                return (x, True) if cost <= highest else (None, False)
            near = 0.0


def weight_unit(weights: Floats) -> float:
    """A number of which all weights are multiples (1, 10, 0.01, ...), or 0 if there is none to be seen."""
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
    """The least cost above this one, if costs are multiples of the unit; without a unit no more is known than this."""
    return cost if unit == 0 or not math.isfinite(cost) else unit * (math.floor(cost / unit + 1e-9) + 1)
