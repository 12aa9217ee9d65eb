"""Iterated greedy search on non-network tables, and CMSA: what the patterns seen lately have together.

*Step*: part of a safe pattern is published, and the requirements that are then unmet are protected anew. The cells to
publish are those that share most cuts with one of them; new ones are chosen at prices that follow the relaxation, with
some noise; redundant suppressions are eliminated at the true weights. The next step starts from the outcome if it is
not much more expensive than the incumbent, so the search may leave a local optimum.

*Merging*: the cells of the patterns seen lately are few, but their cheapest safe combination is often much cheaper than
each pattern: branch and cut over these cells alone, the others published.

References: Ruiz & Stuetzle (2007) for iterated greedy search; Blum, Pinacho, Lopez-Ibanez & Lozano (2016), Construct,
merge, solve & adapt (CMSA).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.methods.branch_and_cut.improvement.guided_construction import eliminates, without_redundant
from tablecloak.methods.branch_and_cut.search import SearchContext
from tablecloak.methods.branch_and_cut.settings import IteratedGreedySettings
from tablecloak.methods.branch_and_cut.tree import solve_over
from tablecloak.methods.heuristics import LpConstruction
from tablecloak.solvers import Outcome


class IteratedGreedy:
    """The current pattern, and the patterns seen lately."""

    def __init__(self, settings: IteratedGreedySettings, others: Sequence[Bools] = ()) -> None:
        """`others`: safe patterns found before, which can be merged."""
        self._settings = settings
        self._seen = list(others)
        self._current: Bools | None = None
        self._best_cost = np.inf
        """The incumbent's cost after the last step."""
        self._steps, self._merged_cells = 0, settings.first_cells
        self._seconds = 0.0
        """Seconds of the steps since the last merge."""

    def run(self, search: SearchContext) -> None:
        """One step, or a merge instead; an incumbent found elsewhere since the last one is where it starts."""
        self._steps += 1
        period = self._settings.merge_period
        if search.uses_scip and period and self._steps % period == self._settings.first_merge:
            self._merge(search)
            self._seconds = 0.0
            return
        left = search.deadline.left
        self._step(search)
        if search.deadline.moment is not None:
            self._seconds += left - search.deadline.left

    def _step(self, search: SearchContext) -> None:
        """From the current pattern, or from a better one, to another."""
        model, incumbent, settings, rng = search.model, search.incumbent, self._settings, search.rng
        assert incumbent.pattern is not None
        behind = self._current is None or incumbent.cost < self._best_cost
        current = incumbent.pattern if behind or self._current is None else self._current
        matrix = search.relaxation.matrix(search.relaxation.active_cuts())
        released = np.flatnonzero(current & model.representatives)
        kept = current.copy()
        kept[cells_around(matrix, released, rng.uniform(*settings.rebuilt), rng)] = False
        noise = rng.uniform(1.0 - settings.noise, 1.0 + settings.noise, kept.size)
        prices = model.problem.weights * np.maximum(1.0 - search.point, settings.least_price) * noise
        found = self._rebuilt(search, model.without_partial(kept), prices)
        if found is not None:
            incumbent.offer(found)
            self._seen = [*self._seen[1 - settings.remembered :], found]
            accepted = incumbent.cost * (1.0 + settings.acceptance * rng.random())
            if model.cost(found) <= max(model.cost(current), accepted):
                current = found
        self._current, self._best_cost = current, incumbent.cost

    def _rebuilt(self, search: SearchContext, kept: Bools, prices: Floats) -> Bools | None:
        """Protect what these cells leave unmet at these prices, then eliminate at the weights. None: not in time."""
        model = search.model
        construction = LpConstruction(
            model.problem,
            model.allowed,
            search.report,
            search.deadline,
            weights=prices,
            start=kept,
            settings=search.settings.first.construction,
        )
        construction.construct()
        if not construction.complete or not eliminates(search, construction.hidden):
            return None
        pattern = without_redundant(search, construction.hidden)
        return None if pattern is None else model.without_partial(pattern)

    def _merge(self, search: SearchContext) -> None:
        """The cheapest pattern over cells of the patterns seen: those of the incumbent, and some of the others."""
        model, settings = search.model, self._settings
        assert search.incumbent.pattern is not None
        own = search.incumbent.pattern & model.representatives
        frequency = np.sum([own, *self._seen], axis=0)
        others = np.flatnonzero((frequency > 0) & model.representatives & ~own)
        score = frequency[others] * search.rng.random(others.size)
        chosen = others[np.argsort(-score, kind="stable")[: self._merged_cells]]
        cells = np.union1d(np.flatnonzero(own), chosen)
        seconds = math.inf if search.deadline.moment is None else self._seconds
        solution = solve_over(search, cells, nodes=settings.nodes, seconds=seconds)
        factor = settings.shrinks if solution.outcome is Outcome.TIME_LIMIT else settings.grows
        self._merged_cells = max(int(factor * self._merged_cells), settings.least_cells)


def cells_around(matrix: csr_array, cells: Ints, share: float, rng: np.random.Generator) -> Ints:
    """A share of the cells around a random one: those that have most cuts in common with it, and some at random."""
    incidence = matrix[:, cells]
    incidence.data = np.ones(incidence.data.size)
    centre = int(rng.integers(cells.size))
    shared: Floats = incidence.T @ (incidence[:, [centre]].toarray().ravel())
    count = max(int(np.ceil(share * cells.size)), min(cells.size, 5))
    order = np.argsort(-shared - 1e-3 * rng.random(cells.size), kind="stable")
    return np.sort(cells[order[:count]])
