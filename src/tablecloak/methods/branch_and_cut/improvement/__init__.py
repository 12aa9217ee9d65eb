"""Primal heuristics of branch and cut. A new one is a class like `Improvement` in the list `IMPROVEMENTS`."""

from tablecloak.methods.branch_and_cut.improvement.backoff import Backoff
from tablecloak.methods.branch_and_cut.improvement.base import Improvement
from tablecloak.methods.branch_and_cut.improvement.edge_exchange import EdgeExchange
from tablecloak.methods.branch_and_cut.improvement.guided_construction import (
    GuidedConstruction,
    build_near,
    construct,
    construct_near,
    repair,
)
from tablecloak.methods.branch_and_cut.improvement.improvements import IMPROVEMENTS, Improvements
from tablecloak.methods.branch_and_cut.improvement.neighbourhood_search import NeighbourhoodSearch
from tablecloak.methods.branch_and_cut.improvement.restricted import RestrictedPrograms

__all__ = [
    "IMPROVEMENTS",
    "Backoff",
    "EdgeExchange",
    "GuidedConstruction",
    "Improvement",
    "Improvements",
    "NeighbourhoodSearch",
    "RestrictedPrograms",
    "build_near",
    "construct",
    "construct_near",
    "repair",
]
