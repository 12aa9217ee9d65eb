"""Large-neighbourhood search: part of the incumbent stays, the rest is decided anew over the cuts found so far.

A neighbourhood frees the hidden cells around one of them, those that share most cuts with it, and offers the published
cells of small reduced cost. An integer program over the cuts, an outer approximation of the safe patterns, proposes;
the cuts that its solution violates are added, and it proposes again, until a proposal is safe or no cheaper than the
incumbent. Every failure leaves the cuts stronger. On non-network tables steps of iterated greedy search take the place
of these neighbourhoods (`iterated_greedy`).

References: Shaw (1998) for large-neighbourhood search; Danna, Rothberg & Le Pape (2005) for RINS.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tablecloak.arrays import Bools, Ints
from tablecloak.methods.branch_and_cut.improvement.base import Backoff, Stage
from tablecloak.methods.branch_and_cut.improvement.guided_construction import eliminates, repair
from tablecloak.methods.branch_and_cut.improvement.iterated_greedy import IteratedGreedy, cells_around
from tablecloak.methods.branch_and_cut.improvement.restricted import is_large_network
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.search import SearchContext
from tablecloak.solvers import OPTIMALITY, GrowingProgram, Outcome


class NeighbourhoodSearch:
    """Neighbourhoods of the incumbent, whose size follows success."""

    stage: ClassVar[Stage] = "tree"

    def __init__(self, search: SearchContext) -> None:
        settings, model = search.settings.neighbourhoods, search.model
        self._settings, self._share = settings, settings.first_share
        self._iterated_greedy = IteratedGreedy(search.settings.iterated_greedy, search.known_patterns)
        wait, longest = settings.network_wait if model.is_network else settings.general_wait
        if not model.is_network:
            longest = max(longest, len(model.requirements) // settings.levels_per_node)
        self.backoff = Backoff(search.incumbent, wait, longest)
        """When neighbourhoods are searched during the tree."""

    @staticmethod
    def supports(model: SuppressionModel) -> bool:
        """Every model: neighbourhood search fits all."""
        return True

    def is_due(self, search: SearchContext) -> bool:
        """Where nodes take long: on non-network tables and on large networks."""
        model = search.model
        if search.incumbent.pattern is None or not model.requirements:
            return False
        return not model.is_network or is_large_network(search)

    def run(self, search: SearchContext) -> None:
        """Search the more neighbourhoods the larger the gap is."""
        pattern, settings, percent = search.incumbent.pattern, self._settings, 100.0 * search.gap.relative
        assert pattern is not None
        if search.model.is_network:
            self.improve(search, math.ceil(settings.early_per_percent_on_networks * percent))
            return
        most = min(
            settings.early_share * int((pattern & search.model.free).sum()),
            settings.early_levels / len(search.model.requirements),
        )
        self.improve(search, math.ceil(min(settings.early_per_percent * percent, most)))

    def improve(self, search: SearchContext, failures: int) -> None:
        """Search neighbourhoods until this number of them in a row has no better pattern."""
        failed, statistics, settings = 0, search.statistics, self._settings
        while failed < failures and not search.deadline.passed():
            if search.incumbent.pattern is None or search.gap.is_closed:
                return
            before = search.incumbent.changes
            finished = self._search_one(search)
            better = search.incumbent.changes > before
            statistics.neighbourhoods += 1
            statistics.better_by_neighbourhoods += better
            failed = 0 if better else failed + 1
            share = self._share * (settings.grows if finished else settings.shrinks)
            self._share = min(max(share, settings.smallest_share), settings.largest_share)
            search.report("neighbourhoods", statistics.neighbourhoods, 0)

    def _search_one(self, search: SearchContext) -> bool:
        """Search one neighbourhood; False if it was too large."""
        pattern = search.incumbent.pattern
        assert pattern is not None
        own = np.flatnonzero(pattern & search.model.representatives)
        if own.size == 0:
            return True
        if eliminates(search, pattern):
            self._iterated_greedy.run(search)
            return True
        return self._solve(search, pattern, own)

    def _solve(self, search: SearchContext, pattern: Bools, own: Ints) -> bool:
        """Solve the integer program over some hidden and some published cells; False if it was too large."""
        model, relaxation, settings = search.model, search.relaxation, self._settings
        cuts = relaxation.active_cuts()
        released = cells_around(relaxation.matrix(cuts), own, self._share, search.rng)
        cells = np.union1d(released, self._offered(search, pattern))
        kept = pattern & model.representatives
        kept[released] = False
        best = float(model.prices[released].sum())
        program = GrowingProgram(model.prices[cells], settings=relaxation.settings.highs)
        for _ in range(settings.proposals):
            right, matrix = relaxation.system(cuts, cells)
            program.add_rows(right - relaxation.matrix(cuts) @ kept.astype(float), matrix)
            solution = program.solve(search.deadline.left, step=model.unit, nodes=settings.nodes)
            if solution.outcome is not Outcome.OPTIMAL:
                return solution.outcome is Outcome.INFEASIBLE
            if solution.objective >= best - 0.5 * model.unit - OPTIMALITY * max(1.0, best):
                return True
            x = kept.astype(float)
            x[cells[solution.values > 0.5]] = 1.0
            x = model.expanded(x)
            cuts = search.separation.violated(x)
            if not cuts:
                return True
            relaxation.add_to_pool(cuts)
        repair(search, x)
        return False

    def _offered(self, search: SearchContext, pattern: Bools) -> Ints:
        """Published cells that may be hidden instead, at random: small reduced costs have better chances."""
        cells = np.flatnonzero(search.model.representatives & ~pattern)
        reduced, gap = search.relaxation.reduced[cells], search.incumbent.cost - search.relaxation.bound
        promising = cells[reduced <= gap]
        score = reduced[reduced <= gap] + gap * search.rng.random(promising.size)
        return np.sort(promising[np.argsort(score, kind="stable")[: self._settings.offered]])
