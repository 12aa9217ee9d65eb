"""Primal heuristics of branch and cut: classes like `base.Improvement`, by default those of `IMPROVEMENTS`."""

from __future__ import annotations

from collections.abc import Sequence

from tablecloak.methods.branch_and_cut.improvement.base import Backoff, Improvement, Stage
from tablecloak.methods.branch_and_cut.improvement.edge_exchange import EdgeExchange
from tablecloak.methods.branch_and_cut.improvement.guided_construction import (
    GuidedConstruction,
    build_near,
    construct,
    construct_near,
    repair,
)
from tablecloak.methods.branch_and_cut.improvement.neighbourhood_search import NeighbourhoodSearch
from tablecloak.methods.branch_and_cut.improvement.restricted import RestrictedPrograms
from tablecloak.methods.branch_and_cut.search import SearchContext

__all__ = [
    "IMPROVEMENTS",
    "Backoff",
    "Improvement",
    "Improvements",
    "NeighbourhoodSearch",
    "build_near",
    "construct",
    "construct_near",
    "repair",
]

IMPROVEMENTS: tuple[type[Improvement], ...] = (GuidedConstruction, EdgeExchange, RestrictedPrograms)
"""Primal heuristics that run at a stage of their own. `NeighbourhoodSearch`, with iterated greedy search and CMSA,
follows them, and also runs during the root and the tree."""


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
