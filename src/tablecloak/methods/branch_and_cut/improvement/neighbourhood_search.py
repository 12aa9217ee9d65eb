"""Large-neighbourhood search: part of the best pattern stays, the rest is decided anew over the rows found so far.

A neighbourhood frees the hidden cells around one of them, those that share most rows with it, and offers the published
cells of small reduced cost. An integer program over the rows, which describe the safe patterns from outside,
proposes; what it misses becomes a row, and it proposes again, until its proposal is safe or no cheaper than the best.
Every failure leaves the rows stronger. On general tables a walk takes their place (`iterated_greedy`). On large
networks programs restricted to few cells, then to more, come before them: branch and cut over the cells of least
reduced cost.

References: Danna, Rothberg & Le Pape (2005) for RINS; our notes, 4.11.
"""

from __future__ import annotations

import math

import numpy as np

from tablecloak.arrays import Bools, Ints
from tablecloak.methods.branch_and_cut.improvement.backoff import Occasions
from tablecloak.methods.branch_and_cut.improvement.iterated_greedy import Walk, around
from tablecloak.methods.branch_and_cut.state import Exact
from tablecloak.methods.branch_and_cut.tree import Columns, Watcher, decide
from tablecloak.methods.cuts import Cut
from tablecloak.solvers import GrowingProgram, Outcome

OFFERED = 100
"""So many published cells may be hidden instead."""
PROPOSALS = 6
"""A neighbourhood is left after so many proposals."""
SMALLEST, LARGEST = 0.1, 0.8
NODES = 1
"""A neighbourhood is too large if a proposal takes more nodes than this."""
ON_NETWORKS, ON_GENERAL_TABLES = (8, 16), (2, 16)
"""The first and the longest wait for a neighbourhood, in nodes."""
LEVELS_A_NODE = 10
"""On general tables a neighbourhood takes longer the more levels there are: a node of waiting for so many of them."""
EARLY, SHARE, LEVELS = 4.0, 0.5, 5_000
"""So many neighbourhoods a percent of the gap are searched before the integer phase on general tables, where nodes take
long, but no more than this share of the complementary cells, nor than this many for a single level."""
MANY, EARLY_ON_NETWORKS = 100_000, 0.4
"""The same on networks, if there are more cells than this to decide on: then nodes take long there too."""
NARROW, WIDENED, WIDE_NODES, WIDE_SHARE = 500, 2, 150, 0.4
"""How many cells of least reduced cost the first restricted program has, and how many times more the next one; what its
tree may have in nodes, and in seconds as a share of the time that is left."""


class Neighbourhoods:
    """The size of neighbourhoods, which follows success."""

    def __init__(self, state: Exact, rng: np.random.Generator, merges: bool) -> None:
        self.state, self.rng = state, rng
        self.share = 0.2
        self.merges, self.walk = merges, Walk(rng, merges)
        first, seldom = ON_NETWORKS if state.is_network else ON_GENERAL_TABLES
        if not state.is_network:
            seldom = max(seldom, len(state.requirements) // LEVELS_A_NODE)
        self.occasions = Occasions(state, first, seldom)

    def early(self) -> None:
        """Before the integer phase, where nodes take long: more the larger the gap is."""
        state, hidden = self.state, self.state.hidden
        if hidden is None or not state.requirements:
            return
        if state.is_network:
            if state.cells_within(state.cost).size > MANY:
                if self.merges:
                    self.widen()
                self.improve(math.ceil(EARLY_ON_NETWORKS * 100.0 * state.gap()))
            return
        most = min(SHARE * int((hidden & state.free).sum()), LEVELS / len(state.requirements))
        self.improve(math.ceil(min(EARLY * 100.0 * state.gap(), most)))

    def widen(self) -> None:
        """The cheapest pattern over few cells, then over more: those of the best one, those of least reduced cost."""
        state, many = self.state, NARROW
        watcher = Watcher(lambda x: None, lambda x: None, lambda nodes, bound: state.deadline.passed())
        while not (state.proven() or state.deadline.passed()):
            assert state.hidden is not None
            within = state.cells_within(state.cost)
            least = within[np.argsort(state.relaxation.reduced[within], kind="stable")[:many]]
            cells = np.union1d(np.flatnonzero(state.hidden & state.leads), least)
            seconds = WIDE_SHARE * state.deadline.left
            solution = decide(
                state, Columns(state, cells), watcher, state.cost - state.unit, WIDE_NODES, seconds
            )
            state.tell("restricted programs", many, within.size)
            if solution.outcome is Outcome.TIME_LIMIT or many >= within.size:
                return
            many *= WIDENED

    def improve(self, count: int) -> None:
        """Try so many neighbourhoods in a row without success."""
        failed = 0
        while failed < count and not self.state.deadline.passed():
            if self.state.hidden is None or self.state.proven():
                return
            before = self.state.changed
            finished = self._try()
            self.state.counters["neighbourhoods"] += 1
            better = self.state.changed > before
            self.state.counters["better by neighbourhoods"] += better
            failed = 0 if better else failed + 1
            self.share = min(max(self.share * (1.1 if finished else 0.7), SMALLEST), LARGEST)
            self.state.tell("neighbourhoods", self.state.counters["neighbourhoods"], 0)

    def _try(self) -> bool:
        """One neighbourhood; False if it was too large. On general tables most are steps of the walk."""
        state, hidden = self.state, self.state.hidden
        assert hidden is not None
        mine = np.flatnonzero(hidden & state.leads)
        if mine.size == 0:
            return True
        if state.thins(hidden):
            self.walk.step(state)
            return True
        return self._solve(state.relaxation.live(), hidden, mine)

    def _solve(self, rows: list[Cut], hidden: Bools, mine: Ints) -> bool:
        """The integer program over some hidden and some published cells; False if it was too large."""
        state, matrix = self.state, self.state.relaxation.matrix(rows)
        released = around(matrix, mine, self.share, self.rng)
        cells = np.union1d(released, self._offered(hidden))
        kept = hidden & state.leads
        kept[released] = False
        program = GrowingProgram(state.prices[cells])
        best, right = float(state.prices[released].sum()), np.array([row.rhs for row in rows])
        for _ in range(PROPOSALS):
            program.add_rows(right - matrix @ kept.astype(float), matrix[:, cells])
            solution = program.solve(state.deadline.left, step=state.unit, nodes=NODES)
            if solution.outcome is not Outcome.OPTIMAL:
                return solution.outcome is Outcome.INFEASIBLE
            if solution.objective >= best - 0.5 * state.unit - 1e-9 * max(1.0, best):
                return True
            x = kept.astype(float)
            x[cells[solution.values > 0.5]] = 1.0
            x = state.aggregation.expanded(x)
            missed = state.check(x)
            if not missed:
                return True
            state.relaxation.collect(missed)
            matrix = state.relaxation.matrix(missed)
            right = np.array([row.rhs for row in missed])
        state.repair(x)
        return False

    def _offered(self, hidden: Bools) -> Ints:
        """Published cells that may be hidden instead: small reduced costs have better chances."""
        state = self.state
        cells = np.flatnonzero(state.leads & ~hidden)
        reduced, room = state.relaxation.reduced[cells], state.cost - state.relaxation.bound
        promising = cells[reduced <= room]
        chance = reduced[reduced <= room] + room * self.rng.random(promising.size)
        return np.sort(promising[np.argsort(chance, kind="stable")[:OFFERED]])
