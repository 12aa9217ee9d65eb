"""The primal heuristics of a search, in the order in which they run."""

from __future__ import annotations

from collections.abc import Sequence

from tablecloak.methods.branch_and_cut.improvement.base import Improvement, Stage
from tablecloak.methods.branch_and_cut.improvement.edge_exchange import EdgeExchange
from tablecloak.methods.branch_and_cut.improvement.guided_construction import GuidedConstruction
from tablecloak.methods.branch_and_cut.improvement.neighbourhood_search import NeighbourhoodSearch
from tablecloak.methods.branch_and_cut.improvement.restricted import RestrictedPrograms
from tablecloak.methods.branch_and_cut.search import SearchContext

IMPROVEMENTS: tuple[type[Improvement], ...] = (GuidedConstruction, EdgeExchange, RestrictedPrograms)
"""Those that run at a stage of their own. `NeighbourhoodSearch`, with iterated greedy search and CMSA, follows them,
and also runs during the root and the tree."""


class Improvements:
    """The heuristics that support the model of a search."""

    def __init__(self, search: SearchContext, chosen: Sequence[type[Improvement]] = IMPROVEMENTS) -> None:
        self._search, self.neighbourhoods = search, NeighbourhoodSearch(search)
        self._heuristics: list[Improvement] = [
            *(heuristic(search) for heuristic in chosen if heuristic.supports(search.model)),
            self.neighbourhoods,
        ]

    def run(self, stage: Stage) -> None:
        """Run those that are due at a stage; none of them makes another one due."""
        due = [each for each in self._heuristics if each.stage == stage and each.is_due(self._search)]
        for heuristic in due:
            heuristic.run(self._search)
