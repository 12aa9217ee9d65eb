"""Branch and cut on small tables: dense cuts, a dense dual simplex method, and a tree of our own.

1. *Root*: cuts of shifted points first, then of the points of the relaxation, then covers.
2. *Polishing*: the support of the last point is a safe pattern; redundant cells are published again, dear ones first.
3. *Tree*: the node of the least bound next, then dives to the child that the point is nearest to. Cuts hold everywhere,
   so that all nodes share them. Variables whose reduced cost exceeds the gap are fixed below a node.

What closes a node is a bound that is proven with directed rounding and exceeds the cutoff, or that nothing is left to
decide. A point that is integral and safe is a pattern, and no more: its node is closed by the bound, as any other.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.methods.branch_and_cut.incumbent import Gap, Incumbent
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.search import SolveStatistics
from tablecloak.methods.branch_and_cut.settings import SmallSettings
from tablecloak.methods.branch_and_cut.small.relaxation import SmallRelaxation
from tablecloak.methods.branch_and_cut.small.rows import rows_of
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import FRACTIONAL_SUPPORT, ROUNDING
from tablecloak.solvers.kernels import Covering


def is_small(model: SuppressionModel, settings: SmallSettings) -> bool:
    """Whether a model is solved with dense rows first: a small table with fixed requirements and a known pattern."""
    problem, cells = model.problem, model.free.size
    work = cells * sum(len(requirement.directions) for requirement in model.requirements)
    if not problem.is_monotone or problem.most_touched is not None or problem.has_conditional:
        return False
    if model.is_network:
        return cells <= settings.max_cells and work <= settings.max_work
    coefficients = problem.table.equations.data
    return (
        cells <= settings.max_general_cells
        and work <= settings.max_general_work
        and bool((coefficients == np.rint(coefficients)).all())
    )


class Undecided(Exception):
    """Neither proven to be safe nor to be unsafe: a pattern that floats cannot decide."""


class Node(NamedTuple):
    """Branching decisions: bounds of the variables, and a bound on the cost below them."""

    bound: float
    number: int
    low: Floats
    high: Floats


class SmallTree:
    """One search, from the first cuts to the proof."""

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
        self._deadline, self._settings = deadline, settings
        self._statistics, self._report = statistics, report
        self._rows = rows_of(model, settings)
        self._prices = model.prices[self._rows.variables]
        self._relaxation = SmallRelaxation(self._prices, settings)
        self._open: list[Node] = []

    @property
    def cuts(self) -> int:
        """Number of cuts found."""
        return self._relaxation.added

    def run(self) -> bool:
        """True: the optimum is proven, or the gap small enough; False if the tree grows too large or is stuck.

        A limit raises `TimeUp`. In any case incumbent and bound are those of the search.
        """
        try:
            return self._search()
        except Undecided:
            self._statistics.numerical_failures += 1
            return self._is_closed

    def _search(self) -> bool:
        """The root and the tree."""
        size = self._prices.size
        root = Node(0.0, 0, np.zeros(size), np.ones(size))
        if not self._solve_root(root):
            return self._is_closed
        self._open, relaxation = [root], self._relaxation
        at_root = relaxation.bound, relaxation.reduced
        high, cost = root.high, np.inf
        while self._open and not self._is_closed:
            node = heapq.heappop(self._open)
            self._gap.raise_bound(node.bound)
            if self._incumbent.cost < cost:
                cost = self._incumbent.cost
                high = np.where(at_root[1] > self._cutoff() - at_root[0] + ROUNDING * cost, 0.0, 1.0)
                relaxation.drop_columns(high)
            if (node.low > high).any():
                continue
            node = node._replace(high=np.minimum(node.high, high))
            if self._statistics.nodes >= self._settings.max_nodes or not self._dive(node):
                return self._is_closed
        if not self._open:
            self._gap.raise_bound(self._incumbent.cost)
        return True

    # ------------------------------------------------------------------ root

    def _solve_root(self, root: Node) -> bool:
        """Rounds until no cut is violated or the bound tails off; False if the gap is closed or a program failed."""
        relaxation, settings, stalled, before = self._relaxation, self._settings, 0, 0.0
        if not self._model.is_network:  # a pattern before everything else
            self._polish(np.zeros(self._prices.size))
        while stalled < settings.stalled_rounds:
            self._deadline.check()
            ending = self._solve(root)
            self._gap.raise_bound(relaxation.bound)
            self._statistics.rounds += 1
            self._report("root", self._statistics.rounds, self._statistics.rounds)
            if ending == Covering.ABOVE:
                self._gap.raise_bound(self._incumbent.cost)
            if ending != Covering.SOLVED or self._is_closed:
                return False
            x = relaxation.x
            added = self._add_at_pattern(x) if _is_integral(x) else relaxation.add(self._rows.at_root(x))
            if added == 0 or self._is_closed:
                break
            stalled = stalled + 1 if relaxation.bound < before * (1 + settings.tailing_off) else 0
            before = relaxation.bound
            if self._statistics.rounds % settings.polish_period == 0 and not _is_integral(x):
                self._polish(x)
        if not self._is_closed and not _is_integral(relaxation.x):
            self._polish(relaxation.x)
        return not self._is_closed

    def _polish(self, x: Floats) -> None:
        """Offer the support of a point without redundant cells, if it is a safe pattern."""
        hidden = (x > FRACTIONAL_SUPPORT).astype(np.float64)
        if not self._rows.is_safe(hidden):
            hidden = np.ones(x.size)
        partly = np.flatnonzero((hidden > 0.5) & (x < 1.0 - FRACTIONAL_SUPPORT))
        price = self._prices[partly] * (1.0 - x[partly])
        self._offer(self._rows.without_redundant(hidden, partly[np.argsort(-price, kind="stable")]))

    # ------------------------------------------------------------------ tree

    def _dive(self, node: Node) -> bool:
        """Solve a node and its nearer children down to one that is closed; the others stay open. False: it is stuck."""
        while True:
            self._deadline.check()
            ending = self._solve_node(node)
            if ending == Covering.ABOVE:
                return True
            x, bound = self._relaxation.x, max(node.bound, self._relaxation.bound)
            undecided = node.low < node.high
            if ending != Covering.SOLVED or not undecided.any():
                return ending == Covering.SOLVED
            low, high = self._fixed(node)
            variable = self._branching_variable(x, undecided)
            nearer, farther = (low.copy(), high.copy()), (low, high)
            up, down = (nearer, farther) if x[variable] >= 0.5 else (farther, nearer)
            up[0][variable] = up[1][variable] = 1.0
            down[0][variable] = down[1][variable] = 0.0
            number = self._statistics.nodes
            heapq.heappush(self._open, Node(bound, -number, *farther))
            node = Node(bound, number, *nearer)

    def _solve_node(self, node: Node) -> Covering:
        """The relaxation at a node, with cuts in a few rounds, and until an integral point is safe."""
        relaxation, rounds, before = self._relaxation, 0, -np.inf
        relaxation.drop_slack_rows()
        self._statistics.nodes += 1
        self._report("branch and cut", self._statistics.nodes, self._statistics.nodes)
        while True:
            ending = self._solve(node)
            if ending != Covering.SOLVED:
                return ending
            x = relaxation.x
            if _is_integral(x):
                cost = self._incumbent.cost
                if self._add_at_pattern(x) == 0 and self._incumbent.cost == cost:
                    return ending
            elif rounds >= self._most_rounds(before) or relaxation.add(self._rows.at_node(x)) == 0:
                return ending
            before = relaxation.bound
            rounds += 1
            self._deadline.check()

    def _most_rounds(self, before: float) -> int:
        """Maximum number of rounds at a node whose last one raised the bound from this one."""
        settings, bound = self._settings, self._relaxation.bound
        gains = bound - before > settings.node_gain * (self._cutoff() - bound)
        return settings.node_rounds if gains else 1

    def _solve(self, node: Node) -> Covering:
        """Solve the relaxation at a node; failures are counted."""
        ending = self._relaxation.solve(node.low, node.high, self._cutoff())
        self._statistics.numerical_failures += ending == Covering.UNSOLVED
        return ending

    def _branching_variable(self, x: Floats, undecided: Bools) -> int:
        """The variable on which most cost depends, fractional ones first."""
        distance = np.where(undecided, np.minimum(x, 1.0 - x), -1.0)
        return int(
            np.argmax(
                np.where(distance > FRACTIONAL_SUPPORT, distance * np.sqrt(self._prices + 1e-9), distance)
            )
        )

    def _fixed(self, node: Node) -> tuple[Floats, Floats]:
        """Bounds below a node that was just solved: without the values whose reduced cost exceeds the gap."""
        left, reduced = self._cutoff() - self._relaxation.bound, self._relaxation.reduced
        noise, undecided = ROUNDING * self._incumbent.cost, node.low < node.high
        low = np.where(undecided & (-reduced > left + noise), 1.0, node.low)
        return low, np.where(undecided & (reduced > left + noise), 0.0, node.high)

    def _cutoff(self) -> float:
        """A bound above this closes a node: nothing below it is cheaper than the incumbent."""
        cost, unit = self._incumbent.cost, self._model.unit
        noise = ROUNDING * cost
        return cost - unit + noise if unit > 2.0 * noise else cost - noise

    @property
    def _is_closed(self) -> bool:
        """Whether the bound has reached the cost, or the gap that is enough: to the last unit by default."""
        gap = self._gap
        return gap.bound >= self._incumbent.cost or (gap.enough > 0 and gap.is_closed)

    # ------------------------------------------------------------------ patterns

    def _add_at_pattern(self, x: Floats) -> int:
        """Add cuts that an integral point violates; a safe one is offered. The number of new cuts."""
        point = np.rint(x)
        is_safe, rows = self._rows.at_pattern(point)
        if is_safe:
            self._offer(point)
        elif not rows.violation.size:
            raise Undecided
        return self._relaxation.add(rows)

    def _offer(self, point: Floats) -> None:
        """Offer a safe pattern as incumbent; the audit may know better on tables that are not networks."""
        model = self._model
        hidden = model.point(self._rows.variables, point) > 0.5
        if self._incumbent.offer((hidden & model.free) | model.problem.must_hide):
            raise Undecided


def _is_integral(x: Floats) -> bool:
    return bool((np.minimum(x, 1.0 - x) <= FRACTIONAL_SUPPORT).all())
