"""Primal heuristics of branch and cut: a new one is a class like `base.Improvement` in `improvements.IMPROVEMENTS`."""

from tablecloak.methods.branch_and_cut.improvement.backoff import Backoff
from tablecloak.methods.branch_and_cut.improvement.guided_construction import (
    build_near,
    construct,
    construct_near,
    repair,
)
from tablecloak.methods.branch_and_cut.improvement.improvements import Improvements
from tablecloak.methods.branch_and_cut.improvement.neighbourhood_search import NeighbourhoodSearch

__all__ = [
    "Backoff",
    "Improvements",
    "NeighbourhoodSearch",
    "build_near",
    "construct",
    "construct_near",
    "repair",
]
