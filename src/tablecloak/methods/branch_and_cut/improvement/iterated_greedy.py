"""A walk from pattern to pattern on general tables, and what the patterns seen on it have together.

*Step*: part of a safe pattern is published, and what that leaves open protected anew. The cells to publish lie around
one of them, those that share most rows with it; new ones are chosen at prices that follow the relaxation, with some
noise; the outcome is cleaned up at the true weights. The next step starts from it if it is not much dearer than the
best pattern, so the walk may leave a valley.

*Merging*: the cells of the patterns seen lately are few, but their cheapest safe combination is often much cheaper than
each pattern: branch and cut over these cells alone, the others published.

References: Ruiz & Stuetzle (2007) for iterated greedy search; Blum, Pinacho, Lopez-Ibanez & Lozano (2016), Construct,
merge, solve & adapt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.methods.branch_and_cut.state import Exact
from tablecloak.methods.branch_and_cut.tree import Columns, Watcher, decide
from tablecloak.methods.heuristics import Search, Thinner
from tablecloak.solvers import Outcome

REBUILT, NOISE = (0.1, 0.5), 0.4
"""What share of a pattern is built anew, at prices with so much noise."""
ASTRAY = 0.03
"""The walk may go to a pattern dearer than the best one by at most this share, or no dearer than the one before it."""
LEAST_PRICE = 0.05
"""What a cell that the relaxation hides costs when a pattern is built anew, as a share of its weight."""
REMEMBERED = 100
"""So many of the patterns seen last are merged."""
MERGED, EARLY = 20, 5
"""One step in so many is a merge, for the first time after few."""
FIRST, LEAST, NODES = 100, 20, 150
"""How many cells are merged beside those of the best pattern, at first and at least: fewer when the tree of a merge has
more nodes than this, more when it has not. With a time limit a merge takes no longer than the steps before it."""
GROWS, SHRINKS = 1.1, 0.8


class Walk:
    """Where the walk is, and the patterns seen on it."""

    def __init__(self, rng: np.random.Generator, merges: bool) -> None:
        self.rng, self._merges, self._steps = rng, merges, 0
        self._here: Bools | None = None
        self._lowest = np.inf
        self._seen: list[Bools] = []
        self._many = FIRST
        self._spent = 0.0
        """Seconds of the steps since the last merge."""

    def remember(self, patterns: Sequence[Bools]) -> None:
        """Patterns that were found before: they can be merged."""
        self._seen = [*self._seen, *patterns]

    def step(self, state: Exact) -> None:
        """One step, or a merge instead. A best pattern found elsewhere since the last one is where it goes on from."""
        assert state.hidden is not None
        self._steps += 1
        if self._merges and self._steps % MERGED == EARLY:
            self._merge(state)
            self._spent = 0.0
            return
        left = state.deadline.left
        self._move(state)
        if state.deadline.moment is not None:
            self._spent += left - state.deadline.left

    def _move(self, state: Exact) -> None:
        """From the pattern here, or from a better one, to another."""
        assert state.hidden is not None
        here = state.hidden if self._here is None or state.cost < self._lowest else self._here
        rows = state.relaxation.live()
        released = np.flatnonzero(here & state.leads)
        kept = here.copy()
        matrix = state.relaxation.matrix(rows)
        kept[around(matrix, released, self.rng.uniform(*REBUILT), self.rng)] = False
        noise = self.rng.uniform(1.0 - NOISE, 1.0 + NOISE, kept.size)
        price = state.problem.weights * np.maximum(1.0 - state.point, LEAST_PRICE) * noise
        there = self._rebuilt(state, state.aggregation.without_partial(kept), price)
        if there is not None:
            state.adopt(there)
            self._seen = [*self._seen[1 - REMEMBERED :], there]
            dearest = max(state.cost_of(here), state.cost * (1.0 + ASTRAY * self.rng.random()))
            here = there if state.cost_of(there) <= dearest else here
        self._here, self._lowest = here, state.cost

    def _rebuilt(self, state: Exact, kept: Bools, price: Floats) -> Bools | None:
        """Protect what these cells leave open at these prices, then thin at the true weights. None: not in time."""
        search = Search(
            state.problem, state.allowed, state.quietly, state.deadline, weights=price, start=kept
        )
        search.construct()
        if not search.complete or not state.thins(search.hidden):
            return None
        thinner = Thinner(
            state.problem, state.requirements, search.hidden, state.deadline, state.relaxation.live()
        )
        return state.aggregation.without_partial(thinner.hidden) if thinner.run(state.quietly) else None

    def _merge(self, state: Exact) -> None:
        """The cheapest pattern over cells of the patterns seen: those of the best one, and some of the others."""
        assert state.hidden is not None
        mine = state.hidden & state.leads
        often = np.sum([mine, *self._seen], axis=0)
        others = np.flatnonzero((often > 0) & state.leads & ~mine)
        chance = often[others] * self.rng.random(others.size)
        chosen = others[np.argsort(-chance, kind="stable")[: self._many]]
        columns = Columns(state, np.union1d(np.flatnonzero(mine), chosen))
        watcher = Watcher(lambda x: None, lambda x: None, lambda nodes, bound: state.deadline.passed())
        seconds = math.inf if state.deadline.moment is None else self._spent
        solution = decide(state, columns, watcher, state.cost - state.unit, NODES, seconds)
        factor = SHRINKS if solution.outcome is Outcome.TIME_LIMIT else GROWS
        self._many = max(int(factor * self._many), LEAST)


def around(matrix: csr_array, cells: Ints, share: float, rng: np.random.Generator) -> Ints:
    """A share of the cells, around a random one: those that have most rows in common with it, and some at random."""
    incidence = matrix[:, cells]
    incidence.data = np.ones(incidence.data.size)
    centre = int(rng.integers(cells.size))
    shared: Floats = incidence.T @ (incidence[:, [centre]].toarray().ravel())
    count = max(int(np.ceil(share * cells.size)), min(cells.size, 5))
    order = np.argsort(-shared - 1e-3 * rng.random(cells.size), kind="stable")
    return np.sort(cells[order[:count]])
