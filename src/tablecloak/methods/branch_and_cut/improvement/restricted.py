"""Restricted programs on large networks: branch and cut over few cells of least reduced cost, then over more.

Reference: Fischetti & Lodi (2003) for programs restricted to a neighbourhood; here it is that of the relaxation.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.methods.branch_and_cut.improvement.base import Stage
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.search import SearchContext
from tablecloak.methods.branch_and_cut.tree import solve_over
from tablecloak.solvers import Outcome


class RestrictedPrograms:
    """The cheapest pattern over few cells, then over more: those of the incumbent, and those of least reduced cost."""

    stage: ClassVar[Stage] = "tree"

    def __init__(self, search: SearchContext) -> None:
        self._cells = search.settings.restricted.first_cells

    @staticmethod
    def supports(model: SuppressionModel) -> bool:
        """Networks: elsewhere iterated greedy merges patterns."""
        return model.is_network and bool(model.requirements)

    def is_due(self, search: SearchContext) -> bool:
        """On large networks, where nodes over all cells take long."""
        return search.uses_scip and is_large_network(search)

    def run(self, search: SearchContext) -> None:
        """Enlarge the program until one is not solved within its limits."""
        model, incumbent, settings = search.model, search.incumbent, search.settings.restricted
        while not search.is_over:
            assert incumbent.pattern is not None
            within = search.cells_within(incumbent.cost)
            least = within[np.argsort(search.relaxation.reduced[within], kind="stable")[: self._cells]]
            cells = np.union1d(np.flatnonzero(incumbent.pattern & model.representatives), least)
            seconds = settings.seconds_share * search.deadline.left
            solution = solve_over(search, cells, nodes=settings.nodes, seconds=seconds)
            search.report("restricted programs", self._cells, within.size)
            if solution.outcome is Outcome.TIME_LIMIT or self._cells >= within.size:
                return
            self._cells *= settings.growth


def is_large_network(search: SearchContext) -> bool:
    """Whether a network has many cells below the incumbent's cost, so that nodes take long."""
    if search.incumbent.pattern is None or not search.model.is_network:
        return False
    most = search.settings.neighbourhoods.large_network_cells
    return search.cells_within(search.incumbent.cost).size > most
