"""A quick bound and a quick start for controlled tabular adjustment, at any size (see `model`).

*Bound.* Cell i moves by |d_i| = l_i + x_i, l_i the least that it must move (0 where it is not sensitive), x_i >= 0.
In an equation  sum_i m_i d_i = 0  no cell can move more than all others together make up for. So where one cell p must:

    sum_(i != p) |m_i| x_i - |m_p| x_p  >=  |m_p| l_p - sum_(i != p) |m_i| l_i  >  0,

and  sum_i w_i l_i  plus the least  sum_i w_i x_i  over these rows bounds the distance from below, for all senses. The
relaxation of the senses does not see this: it lets a sensitive cell stand still at the price of its level.

*Start.* Sensitive cells move by just their levels, in senses for which the equations come near to holding
(`solvers.kernels.sign_annealing`); a row that is out of balance is priced at what cells in it cost. Then, with these
senses, what is left is spread over all cells by least squares, again and again with weights 1 / |d|, which gathers it
in few cells (iteratively reweighted least squares), and a linear program over these cells, and others worth having,
ends it.

*Mending.* Senses that cannot be together are mended as in the feasibility pump: the linear program gives the nearest
move to them, cells that are left between their levels take the sense that they are nearer to, and so on. At first the
distance counts too, which gives better moves.

References: Fischetti, Glover & Lodi (2005), The feasibility pump; Achterberg & Berthold (2007), Improving the
feasibility pump.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.methods.adjustment.integer_units import whole_units
from tablecloak.methods.adjustment.model import Adjustment, Move
from tablecloak.methods.adjustment.reach import cost_of
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import PRIMAL, MipOptions, Outcome, least_squares, solve_mip

STEPS_A_CELL, MOST_STEPS = 4000, 10_000_000
"""Steps of the annealing."""
HOT, COLD = 30.0, 0.1
"""Its temperatures, in units of what a typical level costs when a row is out of balance by it."""
REWEIGHTED = 8
"""Rounds of least squares."""
MOST_EQUATIONS = 5000
"""With more equations least squares take long: the linear program starts without them."""
MENDED = 300
"""So many linear programs mend senses that cannot be."""
MISSED, HEAVIER, CHANCE = 1e-6, 1.2, 0.3
"""A share of l + u that counts as missed; by how much a cell then counts for more; the part of chance."""
FADING, FADED = 0.97, 0.8
"""The distance counts as much as senses at first, each time by this factor less, after this share of the time not."""
PUMP_PRICES = 1e-4, 1e4
"""Prices of linear programs that mend senses are kept between these."""
PRICED = 0.25
"""Rows are priced at this quantile of the weights of cells that can move."""


def distance_bound(adjustment: Adjustment, seconds: float = math.inf) -> float:
    """A lower bound of the weighted distance for all senses, from cells that others must make up for."""
    problem, ranges = adjustment.problem, adjustment.ranges
    either = np.minimum(ranges.up_low, ranges.down_low)
    least = np.where(
        ranges.both, either, np.where(ranges.rises, ranges.up_low, np.where(ranges.falls, ranges.down_low, 0))
    )
    highest = np.maximum.reduce([ranges.high, -ranges.low, ranges.up_high, ranges.down_high, least])
    weights, unit = problem.weights, problem.table.unit
    base = float(weights @ least) * unit
    matrix = csr_array(abs(adjustment.columns))
    of = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    amount = matrix.data * least[matrix.indices]
    order = np.lexsort((-amount, of))  # the first entry of each equation is that of its largest cell
    heads = order[np.searchsorted(of[order], np.arange(matrix.shape[0]))] if amount.size else order
    missing = np.zeros(matrix.shape[0])
    missing[of[heads]] = 2 * amount[heads]
    missing -= matrix @ least
    rows = np.flatnonzero(missing > 1e-9 * adjustment.scale)
    if rows.size == 0:
        return base
    signed = matrix.copy()
    signed.data[heads] *= -1.0
    part = csr_array(signed[rows])
    cells = np.unique(part.indices)
    scale = max(float(missing[rows].max()), 1.0)
    solution = solve_mip(
        part[:, cells],
        (np.zeros(cells.size), (highest - least)[cells] / scale),
        (missing[rows] / scale, np.full(rows.size, np.inf)),
        weights[cells],
        np.zeros(cells.size, dtype=bool),
        MipOptions(seconds=seconds),
    )
    if solution.outcome is not Outcome.OPTIMAL:
        return base
    return base + solution.objective * scale * unit * (1 - 1e-9)


def quick_move(adjustment: Adjustment, rng: np.random.Generator, progress: Progress) -> Move | None:
    """A move with senses that nearly balance every equation; None if none was found (in time)."""
    progress("balancing senses", 0, 1)
    senses = balanced(adjustment, rng)
    progress("balancing senses", 1, 1)
    if adjustment.gives_up():
        return None
    gathers = adjustment.sifts and adjustment.right.size <= MOST_EQUATIONS
    near = _gathered(adjustment, senses) if gathers else None
    outcome, move, _ = adjustment.solve(senses, adjustment.least_seconds, near=near)
    if move.moved.size:
        return move
    if outcome is Outcome.INFEASIBLE:
        return mended(adjustment, senses, rng, progress, fading=0.0)
    return None if near is None or adjustment.gives_up() else _rounded(adjustment, senses, near)


def _rounded(adjustment: Adjustment, senses: Ints, near: Floats) -> Move | None:
    """What least squares left, in whole units: an additive move also when there was no time for a linear program."""
    low, high = adjustment.ends(senses)
    moved = whole_units(adjustment.problem, near, low, high, seconds=adjustment.least_seconds)
    if moved is None:
        return None
    return Move(moved, cost_of(adjustment.problem, moved), np.zeros(0))


def mended(
    adjustment: Adjustment,
    senses: Ints,
    rng: np.random.Generator,
    progress: Progress,
    within: Deadline | None = None,
    *,
    fading: float = FADING,
    rounds: int = MENDED,
) -> Move | None:
    """A move from senses that cannot be together; None if none was found (in time).

    The nearest move to these senses leaves some cells between their levels. Each cell takes the sense that it is
    nearer to, cells that are left between time and again count for more, and where nothing changes some of the worst
    are turned by chance. `fading` near one: better moves, in more rounds; zero: any move will do.
    """
    deadline = within or adjustment.deadline
    pump, seen, soon = _Pump(adjustment, fading), set[bytes](), deadline.share(FADED)
    for number in range(rounds):
        progress("mending senses", number, rounds)
        if adjustment.gives_up(deadline):
            return None
        if soon.passed():
            pump.distance = 0.0
        moved = pump.nearest(senses, adjustment.seconds_until(deadline))
        if moved is None:
            return None
        short, between = pump.short(moved, senses)
        if not between.any():
            return pump.finished(moved)
        if deadline.passed():
            return None
        pump.weigh(short)
        senses = pump.nearer(moved)
        if senses.tobytes() in seen:
            count = int(between.sum())
            score = short + CHANCE * rng.random(short.size)
            worst = np.argsort(-score, kind="stable")[: rng.integers(max(1, count // 4), count + 1)]
            senses[worst] ^= 1
        seen.add(senses.tobytes())
    return None


class _Pump:
    """The linear program of the adjustment at other prices: how far cells are from the senses that they should have,
    and, less and less, the distance.

    Up:  (u - d)+ = (l + u) - m + f,  down:  (d + l)+ = m + r,  in shares of l + u (see `model`).
    """

    def __init__(self, adjustment: Adjustment, fading: float) -> None:
        self.fading = fading
        self.adjustment, ranges, choice = adjustment, adjustment.ranges, adjustment.choice
        self.up, self.down = ranges.up_low[choice], ranges.down_low[choice]
        self.weights = np.ones(choice.size)
        self.price = np.clip(adjustment.scale / adjustment.middle, *PUMP_PRICES)
        self.distance = 1.0 / max(float(np.linalg.norm(adjustment.cost)), 1e-300) if fading else 0.0
        self.session = adjustment.program(PRIMAL)

    def nearest(self, senses: Ints, seconds: float) -> Floats | None:
        """The move that is nearest to these senses; None if there is no time for it."""
        adjustment, up = self.adjustment, senses == 1
        size, price = adjustment.size, self.weights * self.price
        cost = np.zeros(adjustment.cost.size)
        cost[2 * size :] = np.where(up, -price, price)
        cost[adjustment.choice[~up]] = price[~up]
        cost[size + adjustment.choice[up]] = price[up]
        cost += self.distance * float(np.linalg.norm(cost)) * adjustment.cost
        self.distance *= self.fading
        self.session.set_costs(np.arange(cost.size), cost)
        solution = self.session.solve(seconds)
        return adjustment.moved(solution.values) if solution.outcome is Outcome.OPTIMAL else None

    def short(self, moved: Floats, senses: Ints) -> tuple[Floats, Bools]:
        """By what share of l + u each cell misses its sense, and which cells miss both."""
        d, middle = moved[self.adjustment.choice], self.adjustment.middle
        above, below = np.maximum(self.up - d, 0.0) / middle, np.maximum(d + self.down, 0.0) / middle
        return np.where(senses == 1, above, below), np.minimum(above, below) > MISSED

    def weigh(self, short: Floats) -> None:
        """Cells that miss their senses count for more."""
        self.weights[short > MISSED] *= HEAVIER
        self.weights /= self.weights.mean()

    def nearer(self, moved: Floats) -> Ints:
        """The senses that cells are nearer to."""
        return np.asarray(moved[self.adjustment.choice] > (self.up - self.down) / 2, dtype=np.int64)

    def finished(self, moved: Floats) -> Move | None:
        """The best move with the senses of this one, or this one if there is no time for that."""
        adjustment = self.adjustment
        _, move, _ = adjustment.solve(adjustment.senses(moved), adjustment.least_seconds)
        if move.moved.size:
            return move
        if not adjustment.holds(moved):
            return None
        return Move(moved, cost_of(adjustment.problem, moved), np.zeros(0))


def balanced(adjustment: Adjustment, rng: np.random.Generator) -> Ints:
    """Senses of the cells with a choice for which moves by just the levels nearly add up."""
    from tablecloak.solvers.kernels.sign_annealing import balanced_senses

    ranges, choice, columns = adjustment.ranges, adjustment.choice, adjustment.columns
    senses: Ints = rng.integers(0, 2, choice.size)
    if choice.size == 0:
        return senses
    up, down = ranges.up_low[choice], ranges.down_low[choice]
    if columns.shape[0] == 0:  # nothing to balance: the shorter way
        return (up <= down).astype(np.int64)
    fixed = np.where(ranges.rises, ranges.up_low, np.where(ranges.falls, -ranges.down_low, 0.0))
    fixed[choice] = np.where(senses == 1, up, -down)
    weights = adjustment.problem.weights
    price = _row_prices(adjustment)
    mine = columns[:, choice]
    typical = float(np.median(np.minimum(up, down)) * price.mean()) or 1.0
    return balanced_senses(
        mine,
        up + down,
        weights[choice] * (up - down),
        price,
        columns @ fixed,
        senses,
        heat=(HOT * typical, COLD * typical),
        steps=min(STEPS_A_CELL * choice.size, MOST_STEPS),
        seed=int(rng.integers(2**62)),
        stop=adjustment.deadline.passed,
    )


def _row_prices(adjustment: Adjustment) -> Floats:
    """What it costs to make up for a unit in an equation: a cell of a low weight, shared by all its equations."""
    columns = adjustment.columns
    moves = (adjustment.rise > 0) | (adjustment.fall > 0)
    matrix = csr_array(columns[:, np.flatnonzero(moves)])
    weights = adjustment.problem.weights[moves][matrix.indices]
    of = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((weights, of))
    count = np.diff(matrix.indptr)
    place = np.minimum(matrix.indptr[:-1] + (PRICED * count).astype(np.int64), max(matrix.nnz - 1, 0))
    shared = max(matrix.nnz / max(int(moves.sum()), 1), 1.0)
    found = weights[order][place] if matrix.nnz else np.zeros(matrix.shape[0])
    return np.asarray(np.maximum(np.where(count > 0, found, found.max(initial=1.0)), 1e-9) / shared)


def _gathered(adjustment: Adjustment, senses: Ints) -> Floats:
    """With these senses, a move (nearly additive) that changes few cells by more than they must.

    The first round is always made: it is the way to a result when the time is up.
    """
    low, high = (end / adjustment.scale for end in adjustment.ends(senses))
    rest = np.clip(0.0, low, high)
    matrix, right = csr_array(adjustment.basis), -(adjustment.basis @ rest)
    weights = np.maximum(
        adjustment.problem.weights, 1e-9 * float(adjustment.problem.weights.max(initial=1.0))
    )
    weights = weights / float(weights.mean())
    bend, extra = 1.0, np.zeros(rest.size)
    for number in range(REWEIGHTED):
        if number and adjustment.deadline.passed():
            break
        stop = adjustment.deadline.passed if number or adjustment.fallback else (lambda: False)
        prices = weights / (np.abs(extra) + bend)
        found = least_squares(matrix, right, prices, (low - rest, high - rest), stop=stop)
        if number and found.residual > 1.0:  # stopped on the way
            break
        extra, bend = found.values, 0.6 * bend
    return np.asarray((rest + extra) * adjustment.scale)
