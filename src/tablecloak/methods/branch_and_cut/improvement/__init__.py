"""Primal heuristics of branch and cut: classes like `base.Improvement`, by default those of `IMPROVEMENTS`."""

from tablecloak.methods.branch_and_cut.improvement.backoff import Backoff
from tablecloak.methods.branch_and_cut.improvement.base import Improvement
from tablecloak.methods.branch_and_cut.improvement.guided_construction import (
    build_near,
    construct,
    construct_near,
    repair,
)
from tablecloak.methods.branch_and_cut.improvement.improvements import IMPROVEMENTS, Improvements
from tablecloak.methods.branch_and_cut.improvement.neighbourhood_search import NeighbourhoodSearch

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
