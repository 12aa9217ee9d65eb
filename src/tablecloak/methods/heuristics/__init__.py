"""Heuristics of cell suppression: construction by cheapest deviations, and elimination of redundant suppressions."""

from tablecloak.methods.heuristics.deviation import NEAR, SUPPORT, WIDER, Router, Witness, met_by
from tablecloak.methods.heuristics.elimination import Elimination
from tablecloak.methods.heuristics.hypercubes import CubeSearch
from tablecloak.methods.heuristics.initial_pattern import FIRST_KEPT, by_deviations, eliminated, first_pattern
from tablecloak.methods.heuristics.lp_construction import Search
from tablecloak.methods.heuristics.min_cost_deviation import FlowSteps, ProgramSteps, Steps, Terrain
from tablecloak.methods.heuristics.network_construction import NetworkSearch
from tablecloak.methods.heuristics.redundancy import Thinner
from tablecloak.methods.heuristics.repair import ROUNDS, lengthened, missing_deviations, repair
from tablecloak.methods.heuristics.reversible_deviations import QuickDeviations
from tablecloak.methods.heuristics.sequential import OneByOneParams, Own, Requests, one_by_one
from tablecloak.methods.heuristics.witnesses import FlowFinder

__all__ = [
    "FIRST_KEPT",
    "NEAR",
    "ROUNDS",
    "SUPPORT",
    "WIDER",
    "CubeSearch",
    "Elimination",
    "FlowFinder",
    "FlowSteps",
    "NetworkSearch",
    "OneByOneParams",
    "Own",
    "ProgramSteps",
    "QuickDeviations",
    "Requests",
    "Router",
    "Search",
    "Steps",
    "Terrain",
    "Thinner",
    "Witness",
    "by_deviations",
    "eliminated",
    "first_pattern",
    "lengthened",
    "met_by",
    "missing_deviations",
    "one_by_one",
    "repair",
]
