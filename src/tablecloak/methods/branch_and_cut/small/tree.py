"""Branch and cut on small networks: dense cuts, warm linear programs, and a tree of our own.

1. *Root*: cuts of the empty pattern first, then of the points of the relaxation; a point that is integral and safe is
   the optimum, and most tables end here.
2. *Polishing*: the cells of the last point are a safe pattern; redundant ones are published again, dear ones first.
3. *Fixing*: cells whose reduced cost exceeds the gap are published in every better pattern.
4. *Tree*: the node of the least bound next, then dives to the child that the point is nearest to. Cuts hold everywhere,
   so all nodes share them.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.methods.branch_and_cut.incumbent import Gap, Incumbent
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.search import SolveStatistics
from tablecloak.methods.branch_and_cut.settings import SmallSettings
from tablecloak.methods.branch_and_cut.small.relaxation import SmallRelaxation
from tablecloak.methods.branch_and_cut.small.separation import SmallSeparation
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import FRACTIONAL_SUPPORT, OPTIMALITY, Outcome


class Node(NamedTuple):
    """Branching decisions: bounds of the variables, and a bound of the cost below them."""

    bound: float
    number: int
    low: Floats
    high: Floats


class SmallTree:
    """One search, from the cuts of the empty pattern to the proof."""

    def __init__(
        self,
        model: SuppressionModel,
        incumbent: Incumbent,
        gap: Gap,
        deadline: Deadline,
        settings: SmallSettings,
        statistics: SolveStatistics,
        report: Progress,
    ) -> None:
        self._model, self._incumbent, self._gap = model, incumbent, gap
        self._deadline, self._settings, self._statistics, self._report = (
            deadline,
            settings,
            statistics,
            report,
        )
        self._separation = SmallSeparation(model, settings)
        self._prices = model.prices[self._separation.variables]
        self._relaxation = SmallRelaxation(self._prices, settings)
        self._shifts = list(settings.shifts)
        self._open: list[Node] = []
        self._is_solved = False
        """Whether the last integral point was safe."""

    def run(self) -> bool:
        """True: the optimum is proven; False if the tree grows too large or a linear program failed.

        A limit raises `TimeUp`. In any case the incumbent and the bound are those of the search.
        """
        size = self._prices.size
        root = Node(0.0, 0, np.zeros(size), np.ones(size))
        if not self._solve_root(root):
            return False
        if self._gap.is_closed:
            return True
        self._polish(self._relaxation.x)
        bound, high = self._relaxation.bound, self._fixed(root.low, root.high)
        self._open = [Node(bound, 0, root.low, high)]
        while self._open and not self._gap.is_closed:
            node = heapq.heappop(self._open)
            self._gap.raise_bound(node.bound)
            if self._statistics.nodes >= self._settings.max_nodes or not self._dive(node):
                return False
        if not self._open:
            self._gap.raise_bound(self._incumbent.cost)
        return True

    @property
    def cuts(self) -> int:
        """Number of cuts found."""
        return self._relaxation.added

    # ------------------------------------------------------------------ root

    def _solve_root(self, root: Node) -> bool:
        """Rounds until no cut is violated, the bound tails off or the gap is closed; False if a program failed."""
        relaxation, settings = self._relaxation, self._settings
        relaxation.add(self._separation.separate_shifted(relaxation.x, self._shifts[0]), 1.0)
        stalled, before = 0, 0.0
        while stalled < settings.stalled_rounds:
            self._deadline.check()
            if self._solve(root) is not Outcome.OPTIMAL:
                return False
            self._statistics.rounds += 1
            self._gap.raise_bound(relaxation.bound)
            self._report("root", self._statistics.rounds, self._statistics.rounds)
            if self._gap.is_closed or not self._separate_at_root():
                break
            stalled = stalled + 1 if relaxation.bound < before * (1 + settings.tailing_off) else 0
            before = relaxation.bound
        return True

    def _separate_at_root(self) -> int:
        """Add cuts that the point violates; cuts of shifted points first. The number of new ones."""
        relaxation, separation = self._relaxation, self._separation
        x = relaxation.x
        if self._is_integral(x):
            return self._separate_integral(x)
        while self._shifts:
            added = relaxation.add(separation.separate_shifted(x, self._shifts[0]), 1.0)
            if added:
                return added
            self._shifts.pop(0)
        added = self._separate(x)
        for above, rest in () if added else self._settings.covers:
            added = relaxation.add(separation.separate_covers(x, above, rest), 1.0)
            if added:
                break
        return added

    def _separate(self, x: Floats) -> int:
        """Add cuts that a fractional point itself violates."""
        return self._relaxation.add(self._valid(self._separation.separate(x, False)), 1.0)

    def _separate_integral(self, x: Floats) -> int:
        """Add cuts that an integral point violates; a safe one is offered. The number of new cuts."""
        point = np.rint(x)
        rows = self._separation.separate(point, True)
        self._is_solved = len(rows) == 0 and not self._separation.unsafe(point).any()
        if self._is_solved:
            self._offer(point)
            return 0
        rows = np.concatenate([self._valid(rows), (point < 0.5).astype(np.float64)[None, :]])
        return self._relaxation.add(rows, 1.0)

    def _valid(self, rows: Floats) -> Floats:
        """The rows without those that a safe pattern violates, which are counted."""
        return self._incumbent.safe_patterns.valid_rows(rows, self._separation.variables)

    # ------------------------------------------------------------------ tree

    def _dive(self, node: Node) -> bool:
        """Solve a node and its nearer children down to one that is closed; the others stay open."""
        while True:
            self._deadline.check()
            outcome = self._solve_node(node)
            if outcome is Outcome.INFEASIBLE:
                return True
            if outcome is not Outcome.OPTIMAL:
                return False
            bound = max(node.bound, self._relaxation.bound)
            if bound > self._cutoff():
                return True
            x = self._relaxation.x
            variable = self._branching_variable(x)
            if variable is None:
                return True
            low, high = node.low.copy(), self._fixed(node.low, node.high)
            nearer, farther = (low.copy(), high.copy()), (low, high)
            up, down = (nearer, farther) if x[variable] >= 0.5 else (farther, nearer)
            up[0][variable], down[1][variable] = 1.0, 0.0
            number = self._statistics.nodes
            heapq.heappush(self._open, Node(bound, -number, *farther))
            node = Node(bound, number, *nearer)

    def _solve_node(self, node: Node) -> Outcome:
        """The relaxation at a node, with cuts in a few rounds, and until an integral point is safe."""
        relaxation, rounds = self._relaxation, 0
        self._statistics.nodes += 1
        self._report("branch and cut", self._statistics.nodes, self._statistics.nodes)
        while True:
            outcome = self._solve(node)
            if outcome is not Outcome.OPTIMAL or relaxation.bound > self._cutoff():
                return outcome
            if self._is_integral(relaxation.x):
                if self._separate_integral(relaxation.x) == 0:
                    return outcome if self._is_solved else Outcome.FAILED
            elif rounds == self._settings.node_rounds or self._separate(relaxation.x) == 0:
                return outcome
            rounds += 1
            self._deadline.check()

    def _solve(self, node: Node) -> Outcome:
        """Solve the relaxation at a node; failures are counted."""
        outcome = self._relaxation.solve(node.low, node.high, self._deadline.left)
        self._statistics.numerical_failures += outcome is Outcome.FAILED
        return outcome

    def _branching_variable(self, x: Floats) -> int | None:
        """The variable on which most cost depends; None if the node is solved by an integral point that is safe."""
        distance = np.minimum(x, 1.0 - x)
        distance[distance <= FRACTIONAL_SUPPORT] = 0.0
        if distance.any():
            return int(np.argmax(distance * np.sqrt(self._prices + 1e-9)))
        return None

    def _fixed(self, low: Floats, high: Floats) -> Floats:
        """Upper bounds below a node that was just solved: zero for the variables whose reduced cost exceeds the gap."""
        hopeless = (self._relaxation.bound + self._relaxation.reduced > self._cutoff()) & (low == 0.0)
        return np.where(hopeless, 0.0, high)

    def _cutoff(self) -> float:
        """A bound above this closes a node: nothing cheaper than the incumbent is below it."""
        cost, unit = self._incumbent.cost, self._model.unit
        if unit > 0.0:
            return cost - unit + 1e-6 * unit + 1e-12 * cost
        return cost - OPTIMALITY * max(1.0, abs(cost))

    # ------------------------------------------------------------------ patterns

    def _polish(self, x: Floats) -> None:
        """Offer the cells of a point without redundant ones, if they are a safe pattern."""
        hidden = x > FRACTIONAL_SUPPORT
        if self._separation.unsafe(hidden.astype(np.float64)).any():
            return
        partly = np.flatnonzero(hidden & (x < 1.0 - FRACTIONAL_SUPPORT))
        price = self._prices[partly] * (1.0 - x[partly])
        for variable in partly[np.argsort(-price, kind="stable")].tolist():
            hidden[variable] = False
            if self._separation.unsafe(hidden.astype(np.float64)).any():
                hidden[variable] = True
        self._offer(hidden.astype(np.float64))

    def _offer(self, point: Floats) -> None:
        """Offer a safe pattern as incumbent."""
        model = self._model
        hidden = model.point(self._separation.variables, point) > 0.5
        self._incumbent.offer((hidden & model.free) | model.problem.must_hide)

    @staticmethod
    def _is_integral(x: Floats) -> bool:
        return bool((np.minimum(x, 1.0 - x) <= FRACTIONAL_SUPPORT).all())
