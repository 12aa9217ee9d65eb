"""Feasible senses for controlled tabular adjustment by a feasibility pump (see `model`).

The linear program gives the nearest move to infeasible senses, cells that are left between their levels take the sense
that they are nearer to, and so on. At first the distance counts too, which gives better moves.

References: Fischetti, Glover & Lodi (2005), The feasibility pump; Achterberg & Berthold (2007), Improving the
feasibility pump.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.methods.adjustment.model import Move
from tablecloak.methods.adjustment.programs import Adjustment
from tablecloak.methods.adjustment.reach import cost_of
from tablecloak.methods.adjustment.settings import PumpSettings
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import PRIMAL, Outcome


def pump_senses(
    adjustment: Adjustment,
    senses: Ints,
    rng: np.random.Generator,
    progress: Progress,
    within: Deadline | None = None,
    settings: PumpSettings | None = None,
) -> Move | None:
    """A move from infeasible senses; None if none was found (in time).

    The nearest move to these senses leaves some cells between their levels. Each cell takes the sense that it is
    nearer to, the penalties of cells that stay between their levels grow, and after a cycle some of the worst senses
    are flipped at random. Fading near one: better moves, in more rounds; zero: any move will do.
    """
    deadline, settings = within or adjustment.deadline, settings or adjustment.settings.pump
    pump, seen, soon = _Pump(adjustment, settings), set[bytes](), deadline.share(settings.faded_share)
    for number in range(settings.rounds):
        progress("mending senses", number, settings.rounds)
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
            score = short + settings.randomness * rng.random(short.size)
            worst = np.argsort(-score, kind="stable")[: rng.integers(max(1, count // 4), count + 1)]
            senses[worst] ^= 1
        seen.add(senses.tobytes())
    return None


class _Pump:
    """The linear program of the adjustment at other prices: the violation of given senses and, fading, the distance.

    Up:  (u - d)+ = (l + u) - m + f,  down:  (d + l)+ = m + r,  in shares of l + u (see `model`).
    """

    def __init__(self, adjustment: Adjustment, settings: PumpSettings) -> None:
        self.settings = settings
        self.adjustment, ranges, choice = adjustment, adjustment.ranges, adjustment.choice
        self.up, self.down = ranges.up_low[choice], ranges.down_low[choice]
        self.weights = np.ones(choice.size)
        self.price = np.clip(adjustment.scale / adjustment.middle, *settings.prices)
        self.distance = 1.0 / max(float(np.linalg.norm(adjustment.cost)), 1e-300) if settings.fading else 0.0
        self.session = adjustment.program(PRIMAL)

    def nearest(self, senses: Ints, seconds: float) -> Floats | None:
        """The nearest move to these senses; None if there is no time for it."""
        adjustment, up = self.adjustment, senses == 1
        size, price = adjustment.size, self.weights * self.price
        cost = np.zeros(adjustment.cost.size)
        cost[2 * size :] = np.where(up, -price, price)
        cost[adjustment.choice[~up]] = price[~up]
        cost[size + adjustment.choice[up]] = price[up]
        cost += self.distance * float(np.linalg.norm(cost)) * adjustment.cost
        self.distance *= self.settings.fading
        self.session.set_costs(np.arange(cost.size), cost)
        solution = self.session.solve(seconds)
        return adjustment.moved(solution.values) if solution.outcome is Outcome.OPTIMAL else None

    def short(self, moved: Floats, senses: Ints) -> tuple[Floats, Bools]:
        """The share of l + u by which each cell violates its sense, and which cells violate both."""
        d, middle = moved[self.adjustment.choice], self.adjustment.middle
        above, below = np.maximum(self.up - d, 0.0) / middle, np.maximum(d + self.down, 0.0) / middle
        return np.where(senses == 1, above, below), np.minimum(above, below) > self.settings.violated

    def weigh(self, short: Floats) -> None:
        """Raise the penalties of cells that violate their senses."""
        self.weights[short > self.settings.violated] *= self.settings.penalty_growth
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
