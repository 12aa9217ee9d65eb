"""Large-neighbourhood search: part of the best pattern stays, the rest is decided anew over the rows found so far.

A neighbourhood frees the hidden cells around one of them, those that share most rows with it, and offers the published
cells of smallest reduced cost. An integer program over the rows, which describe the safe patterns from outside,
proposes; what it misses becomes a row, and it proposes again, until its proposal is safe or no cheaper than the best.
Every failure leaves the rows stronger. On general tables every other neighbourhood is built anew instead: some hidden
cells are published, and what that leaves open is protected again at prices that follow the relaxation, with some noise.
These walk from pattern to pattern, which may be a little dearer than the one before.

References: Danna, Rothberg & Le Pape (2005) for RINS; our notes, 4.11.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.engines.lp import Outcome
from tablecloak.engines.mip import GrowingProgram
from tablecloak.methods.run_state import Exact

OFFERED = 100
"""So many published cells may be hidden instead."""
PROPOSALS = 6
"""A neighbourhood is left after so many proposals."""
SMALLEST, LARGEST = 0.1, 0.8
NODES = 1
"""A neighbourhood is too large if a proposal takes more nodes than this."""
REBUILT, NOISE = (0.1, 0.5), 0.4
"""What share of a pattern is built anew, at prices with so much noise."""
ASTRAY = 0.03
"""A pattern built anew may be dearer than the best one by at most this share, or no dearer than the one before it."""
PROGRAMS = 4
"""On general tables one neighbourhood in so many is an integer program, the others are built anew."""
ON_NETWORKS, ON_GENERAL_TABLES = (8, 16), (2, 16)
"""The first and the longest wait for a neighbourhood, in nodes: they take longer on general tables."""


class Occasions:
    """When to look for better patterns: often while that succeeds, ever more seldom while it does not.

    By counting, not by the clock: the same seed gives the same pattern.
    """

    def __init__(self, state: Exact, wait: int = 1, seldom: int = 64) -> None:
        self._state, self._wait, self._seldom, self._passed = state, wait, seldom, 0

    def take(self, work: Callable[[], None]) -> None:
        """Do it, if this is an occasion."""
        self._passed += 1
        if self._passed < self._wait:
            return
        before = self._state.changed
        work()
        self._passed = 0
        self._wait = (
            max(self._wait // 2, 1) if self._state.changed > before else min(2 * self._wait, self._seldom)
        )


class Neighbourhoods:
    """The size of neighbourhoods, which follows success."""

    def __init__(self, state: Exact, rng: np.random.Generator) -> None:
        self.state, self.rng = state, rng
        self.share = 0.2
        self._walk: Bools | None = None
        """Where the walk of patterns built anew is, and what the best pattern cost at its last step."""
        self._lowest = math.inf
        first, seldom = ON_NETWORKS if state.is_network else ON_GENERAL_TABLES
        self.occasions = Occasions(state, first, seldom)

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
        """One neighbourhood; False if it was too large. On general tables every other one is built anew."""
        state, hidden = self.state, self.state.hidden
        assert hidden is not None
        mine = np.flatnonzero(hidden & state.leads)
        if mine.size == 0:
            return True
        pool = state.relaxation.live()
        matrix = state.relaxation.matrix(pool)
        if state.thins(hidden) and state.counters["neighbourhoods"] % PROGRAMS != 0:
            self._step(matrix, hidden)
            return True
        return self._solve(matrix, np.array([row.rhs for row in pool]), hidden, mine)

    def _step(self, matrix: csr_array, best: Bools) -> None:
        """One step of the walk: part of its pattern is built anew, and kept if it is not much dearer."""
        state, here = self.state, self._walk
        if here is None or state.cost < self._lowest:
            here = best
        self._lowest = state.cost
        kept, released = here.copy(), np.flatnonzero(here & state.leads)
        kept[self._around(matrix, released, self.rng.uniform(*REBUILT))] = False
        noise = self.rng.uniform(1.0 - NOISE, 1.0 + NOISE, best.size)
        there = state.rebuild(state.twins.complete(kept), noise)
        dearest = max(state.cost_of(here), state.cost * (1.0 + ASTRAY * self.rng.random()))
        self._walk = there if there is not None and state.cost_of(there) <= dearest else here

    def _solve(self, matrix: csr_array, right: Floats, hidden: Bools, mine: Ints) -> bool:
        """The integer program over some hidden and some published cells; False if it was too large."""
        state = self.state
        released = self._around(matrix, mine, self.share)
        cells = np.union1d(released, self._offered(hidden))
        kept = hidden & state.leads
        kept[released] = False
        program = GrowingProgram(state.prices[cells])
        best = float(state.prices[released].sum())
        for _ in range(PROPOSALS):
            program.add_rows(right - matrix @ kept.astype(float), matrix[:, cells])
            solution = program.solve(state.deadline.left, step=state.unit, nodes=NODES)
            if solution.outcome is not Outcome.OPTIMAL:
                return solution.outcome is Outcome.INFEASIBLE
            if solution.objective >= best - 0.5 * state.unit - 1e-9 * max(1.0, best):
                return True
            x = kept.astype(float)
            x[cells[solution.values > 0.5]] = 1.0
            x = state.twins.spread(x)
            missed = state.check(x)
            if not missed:
                return True
            state.relaxation.collect(missed)
            matrix = state.relaxation.matrix(missed)
            right = np.array([row.rhs for row in missed])
        state.repair(x)
        return False

    def _around(self, matrix: csr_array, mine: Ints, share: float) -> Ints:
        """Hidden cells around a random one: those that share most rows with it, and some at random."""
        incidence = matrix[:, mine]
        incidence.data = np.ones(incidence.data.size)
        centre = int(self.rng.integers(mine.size))
        shared: Floats = incidence.T @ (incidence[:, [centre]].toarray().ravel())
        count = max(int(np.ceil(share * mine.size)), min(mine.size, 5))
        order = np.argsort(-shared - 1e-3 * self.rng.random(mine.size), kind="stable")
        return np.sort(mine[order[:count]])

    def _offered(self, hidden: Bools) -> Ints:
        """Published cells that may be hidden instead: small reduced costs have better chances."""
        state = self.state
        cells = np.flatnonzero(state.leads & ~hidden)
        reduced, room = state.relaxation.reduced[cells], state.cost - state.relaxation.bound
        promising = cells[reduced <= room]
        chance = reduced[reduced <= room] + room * self.rng.random(promising.size)
        return np.sort(promising[np.argsort(chance, kind="stable")[:OFFERED]])
