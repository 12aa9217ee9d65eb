"""Block coordinate descent on the senses of a controlled tabular adjustment.

Take a block of sensitive cells that share equations, free their senses, keep those of the others, let cells take part
that lie in two equations of the block at least (in a two-way table: where its rows and columns meet), that move
already, or that are cheap by the reduced costs of the last linear program, leave all others where they are, and solve
that integer program up to a few nodes. A better move replaces the incumbent; after some improvements the linear program
with all senses given lets every cell take part. Blocks grow when none improves; in the end, with a time limit, all
cells take part in every block.

Reference: Gonzalez & Castro (2011), A heuristic block coordinate descent approach for controlled tabular adjustment.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Ints
from tablecloak.methods.adjustment.model import Move, is_closed
from tablecloak.methods.adjustment.programs import Adjustment, ProgramLimits
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import Outcome


class Descent:
    """The incumbent move and its improvement."""

    def __init__(
        self,
        adjustment: Adjustment,
        best: Move,
        bound: float,
        rng: np.random.Generator,
        deadline: Deadline,
        progress: Progress,
    ) -> None:
        self.adjustment, self.best, self.bound = adjustment, best, bound
        self.rng, self.deadline, self.progress = rng, deadline, progress
        self.settings = adjustment.settings.descent
        self.prices = best.prices if best.prices.size else np.zeros(adjustment.right.size)
        self._priced = best.prices.size > 0  # moves of integer programs come without prices
        self.blocks = self.improved = 0
        self.wide = False
        self._rows = csr_array(adjustment.columns)
        self._across = abs(adjustment.columns).T.tocsr()
        self._choice_rows = adjustment.columns[:, adjustment.choice]

    @property
    def closed(self) -> bool:
        """Whether the bound is reached."""
        return is_closed(self.best.cost, self.bound)

    def run(self) -> bool:
        """Until nothing improves (True) or the time is up (False)."""
        settings = self.settings
        size, fails, since = settings.block, 0, 0
        count = int(self.adjustment.choice.size)
        largest = min(settings.largest_block, count)
        patient = self.deadline.moment is not None and self._rows.shape[1] <= settings.wide_cells
        if count == 0:
            return True
        if not self._priced:
            self._polish()
        while not self.closed:
            if self.deadline.passed():
                return False
            self.progress("block descent", self.blocks, self.blocks, self.best.cost, self.bound)
            self.blocks += 1
            if self._improve(min(size, self.adjustment.choice.size)):
                self.improved, fails, since = self.improved + 1, 0, since + 1
                if since >= settings.polish:
                    self._polish()
                    since = 0
                continue
            fails += 1
            if fails >= settings.fails:
                if since:
                    self._polish()
                    since = 0
                if size < largest:
                    size, fails = min(2 * size, largest), 0
                elif patient and not self.wide:
                    self.wide, size, fails = True, min(settings.block, count), 0
                    largest = max(largest, int(settings.wide_share * count))
                else:
                    return True
        return True

    def _improve(self, size: int) -> bool:
        """Solve one block; whether it improves the incumbent."""
        adjustment, best, settings = self.adjustment, self.best, self.settings
        chosen = self._block(size)
        given = np.where(chosen, -1, adjustment.senses(best.moved))
        cells = self._moving() if self.wide else self._company(adjustment.choice[chosen])
        nodes = settings.wide_nodes if self.wide else settings.nodes
        limits = ProgramLimits(self.deadline.left, nodes, settings.gap, presolve=True)
        start = best.moved if self.wide else None
        found, _, _ = adjustment.block(cells, given, best.moved, limits, start=start)
        if found is None or found.cost >= best.cost * (1 - 1e-10):
            return False
        self.best = found
        return True

    def _polish(self) -> None:
        """The linear program over all cells, with the senses of the incumbent."""
        senses = self.adjustment.senses(self.best.moved)
        outcome, move, _ = self.adjustment.solve(senses, self.deadline.left, near=self.best.moved)
        if outcome is Outcome.OPTIMAL:
            self.prices = move.prices
        if move.moved.size and move.cost < self.best.cost:
            self.best = move

    def _block(self, size: int) -> Bools:
        """A random cell where others pay for sensitive ones, and cells that share equations with it."""
        adjustment, uniform = self.adjustment, self.settings.uniform_odds
        moved, prices = self.best.moved, adjustment.problem.applied_prices
        price = np.where(moved > 0, prices.up, prices.down)
        paid = np.where(adjustment.problem.sensitive, 0.0, price * np.abs(moved))
        heat = self._across[adjustment.choice] @ (abs(self._rows) @ paid)
        total = float(heat.sum())
        odds = heat / total if total > 0 else np.full(heat.size, 1 / heat.size)
        odds = (1 - uniform) * odds + uniform / heat.size
        first = int(self.rng.choice(heat.size, p=odds / odds.sum()))
        start, stop = self._choice_rows.indptr[first : first + 2]
        touched = np.zeros(self._rows.shape[0])
        touched[self._choice_rows.indices[start:stop]] = 1.0
        near = self._across[adjustment.choice] @ touched
        rank = near * (1 + odds / odds.max()) + self.rng.random(heat.size)
        rank[first] = np.inf
        chosen = np.zeros(heat.size, dtype=bool)
        chosen[np.argpartition(-rank, size - 1)[:size]] = True
        return chosen

    def _moving(self) -> Ints:
        """All cells that can move."""
        moves = self.adjustment.movable
        moves[self.adjustment.choice] = True
        return np.flatnonzero(moves)

    def _company(self, block: Ints) -> Ints:
        """The block and the cells that may move with it."""
        adjustment = self.adjustment
        largest = adjustment.settings.program.largest_cost
        rows = np.zeros(self._rows.shape[0])
        rows[np.unique(adjustment.columns[:, block].indices)] = 1.0
        met = self._across @ rows
        own = np.minimum(*adjustment.cost[: 2 * adjustment.size].reshape(2, -1))
        price = np.maximum(own - np.abs(adjustment.basis.T @ self.prices), 0.0)
        between = met >= np.minimum(np.diff(adjustment.columns.indptr), 2)
        rank = np.where(between | (self.best.moved != 0), price, price + 2 * largest)
        near: Ints = np.flatnonzero(adjustment.movable & (met > 0))
        wanted = int(np.count_nonzero(rank[near] < 2 * largest))
        wanted = min(max(wanted, self.settings.company * block.size), self.settings.most_company)
        if near.size > wanted:
            near = near[np.argpartition(rank[near], wanted)[:wanted]]
        return np.union1d(near, block)
