"""Controlled tabular adjustment with the least sum of squares, sum_i w_i (v_i - a_i)^2.

With given senses it is a quadratic program (`solvers.quadratic`), solved on its dual at any size. Senses start from
those of the least absolute distance. With duals y of the equations, the reduced cost of cell p is

    h(y) = min over its sense of  w d^2 - (M'y)_p d.

The cells whose other sense has the smallest reduced cost are flipped together; if the sum of squares falls, they stay,
else half of them are tried. For any y, the sum over all cells of h, over both senses, is a lower bound for all senses
(Lagrange); y is improved by a quasi-Newton method. The bound is valid but, like that of any relaxation here, not always
tight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Ints
from tablecloak.methods.adjustment.integer_units import IntegerUnits
from tablecloak.methods.adjustment.programs import Adjustment
from tablecloak.methods.adjustment.reach import pattern_of
from tablecloak.methods.timed_audit import audit_within
from tablecloak.model import Problem
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import Quadratic, least_squares


@dataclass(frozen=True, eq=False)
class LeastSquaresMove:
    """A move (units, fractions), the sum of squares, its bound, and whether the search came to its end."""

    moved: Floats
    total: float
    bound: float
    programs: int
    finished: bool


def least_squares_move(
    adjustment: Adjustment, moved: Floats, deadline: Deadline, progress: Progress
) -> LeastSquaresMove:
    """The best senses found from those of a given move.

    When the time is up before the first quadratic program is solved, the given move itself is returned.
    """
    search, most = _SenseSearch(adjustment, deadline), adjustment.settings.least_squares.max_programs
    senses = adjustment.senses(moved)
    best = search.program(senses, None)
    count, programs, finished = int(adjustment.choice.size), 1, True
    if best.residual > search.tolerance and deadline.passed():
        total = float(search.true_weights @ (moved / search.length) ** 2) * search.factor
        bound = min(search.bound(best.multipliers) * search.factor, total)
        return LeastSquaresMove(moved, total, bound, programs, False)
    while count > 0 and programs < most:
        if deadline.passed():
            finished = False
            break
        gain = search.gains(best, senses)
        eager = np.flatnonzero(gain > 1e-12 * max(search.total(best), 1e-300))
        if eager.size == 0:
            break
        count = min(count, eager.size)
        flipped = senses.copy()
        flipped[eager[np.argsort(-gain[eager], kind="stable")[:count]]] ^= 1
        found = search.program(flipped, best.multipliers)
        programs += 1
        if found.residual <= search.tolerance and search.total(found) < search.total(best) * (1 - 1e-10):
            best, senses = found, flipped
        else:
            count //= 2
        progress("turning senses", programs, most, search.total(best) * search.factor)
    total = search.total(best)
    bound = min(search.bound(best.multipliers), total)
    return LeastSquaresMove(
        best.values * search.length, total * search.factor, bound * search.factor, programs, finished
    )


class _SenseSearch:
    """Quadratic programs and bounds in lengths of the adjustment's scale and weights around one."""

    def __init__(self, adjustment: Adjustment, deadline: Deadline) -> None:
        self.deadline = deadline
        problem, ranges = adjustment.problem, adjustment.ranges
        self.adjustment, self.length = adjustment, adjustment.scale
        self.matrix = csr_array(adjustment.basis)
        self.across = csr_array(adjustment.basis.T)
        weights = problem.applied_prices.mean
        positive = weights[weights > 0]
        mean = float(positive.mean()) if positive.size else 1.0
        self.true_weights = weights / mean
        self.weights = np.maximum(self.true_weights, adjustment.settings.least_squares.least_weight)
        self.factor = mean * (self.length * problem.table.unit) ** 2
        choice, scale = adjustment.choice, self.length
        self.up = ranges.up_low[choice] / scale, ranges.up_high[choice] / scale
        self.down = -ranges.down_high[choice] / scale, -ranges.down_low[choice] / scale
        largest = max(float(np.abs(side).max(initial=1.0)) for side in (*self.up, *self.down))
        self.tolerance = 1e-7 * largest
        self.right = np.zeros(self.matrix.shape[0])

    def program(self, senses: Ints, start: Floats | None) -> Quadratic:
        low, high = self.adjustment.ends(senses)
        return least_squares(
            self.matrix,
            self.right,
            self.weights,
            (low / self.length, high / self.length),
            start,
            stop=self.deadline.passed,
            settings=self.adjustment.settings.newton,
        )

    def total(self, found: Quadratic) -> float:
        return float(self.true_weights @ found.values**2)

    def gains(self, found: Quadratic, senses: Ints) -> Floats:
        """By how much the reduced cost of each cell is smaller in its other sense."""
        choice = self.adjustment.choice
        price, weight = (self.across @ found.multipliers)[choice], self.weights[choice]
        up, down = _least(weight, price, *self.up)[0], _least(weight, price, *self.down)[0]
        return np.asarray(np.where(senses == 1, up - down, down - up))

    def bound(self, start: Floats) -> float:
        """The best Lagrangian bound found from these duals."""
        from scipy.optimize import minimize

        best = self._lagrangian(start)[0]

        def negative(y: Floats) -> tuple[float, Floats]:
            value, slope = self._lagrangian(y)
            values.append(value)
            return -value, -slope

        def no_time_left(x: Any) -> None:
            if self.deadline.passed():
                raise StopIteration

        values = [best]
        if start.size and not self.deadline.passed():
            stop: Any = no_time_left
            options: Any = {"maxiter": self.adjustment.settings.least_squares.bound_steps}
            minimize(negative, start, jac=True, method="L-BFGS-B", options=options, callback=stop)
        return max(*values, 0.0)

    def _lagrangian(self, y: Floats) -> tuple[float, Floats]:
        """The sum of the reduced costs at duals y, each cell in its best sense, and the gradient."""
        choice, price = self.adjustment.choice, self.across @ y
        low, high = self.adjustment.ends(np.zeros(choice.size, dtype=np.int64))
        reduced, d = _least(self.true_weights, price, low / self.length, high / self.length)
        up, rise = _least(self.true_weights[choice], price[choice], *self.up)
        better = up < reduced[choice]
        reduced[choice], d[choice] = np.where(better, up, reduced[choice]), np.where(better, rise, d[choice])
        return float(reduced.sum()), -(self.matrix @ d)


def _least(weight: Floats, price: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """min of w d^2 - price d over low..high, and where."""
    with np.errstate(divide="ignore", invalid="ignore"):
        free = np.where(weight > 0, price / (2 * weight), np.where(price > 0, np.inf, -np.inf))
    d = np.clip(free, low, high)
    return weight * d * d - price * d, d


def towards_least_squares(
    adjustment: Adjustment, safe: Floats, deadline: Deadline, progress: Progress
) -> Floats:
    """From a safe move towards the least sum of squares with its senses, as far as the audit accepts in time.

    With given senses safe moves are a convex set: deviation bounds are affine in what is shown.
    """
    problem, ranges, settings = adjustment.problem, adjustment.ranges, adjustment.settings
    same = Adjustment(problem, ranges.with_senses(safe > 0), adjustment.deadline, settings=settings)
    least = least_squares_move(same, safe, deadline, progress).moved
    ends = adjustment.ends(adjustment.senses(safe))
    units = IntegerUnits(problem, settings.integer_units, squares=True)
    for share in settings.least_squares.towards:
        if deadline.passed():
            break
        moved = units.near(share * least + (1 - share) * safe, ends, deadline.left)
        if moved is None or square_sum(problem, moved) >= square_sum(problem, safe):
            continue
        verdict = audit_within(problem, pattern_of(problem, ranges, moved), deadline, progress)
        if verdict is not None and verdict.safe:
            return moved
    return safe


def square_sum(problem: Problem, moved: Floats) -> float:
    """sum_i w_i (v_i - a_i)^2 of a move in data units."""
    return float(problem.applied_prices.mean @ moved**2) * problem.table.unit**2
