"""Heuristics of cell suppression: construction by cheapest deviations, and elimination of redundant suppressions."""

from tablecloak.methods.heuristics.construction import (
    LpConstruction,
    NetworkConstruction,
    by_decreasing_level,
    construct_pattern,
    construction_of,
)
from tablecloak.methods.heuristics.deviation import (
    CheapestDeviationProgram,
    DeviationFinder,
    DeviationSettings,
    RequirementQueue,
    Witness,
    floored_weights,
    met_by,
    positive_weights,
)
from tablecloak.methods.heuristics.elimination import Elimination, by_decreasing_weight
from tablecloak.methods.heuristics.hypercubes import CubeSearch
from tablecloak.methods.heuristics.initial_pattern import (
    FIRST_KEPT,
    SuppressionRun,
    by_deviations,
    eliminated,
    first_pattern,
)
from tablecloak.methods.heuristics.min_cost_deviation import FlowSteps, ProgramSteps, Steps, Terrain
from tablecloak.methods.heuristics.repair import RoundSettings, lengthened, missing_deviations, repair
from tablecloak.methods.heuristics.reversible_deviations import QuickDeviations
from tablecloak.methods.heuristics.sequential import OneByOneParams, Own, Requests, SafeAttempt, one_by_one
from tablecloak.methods.heuristics.witnesses import (
    WITNESS_SETTINGS,
    FlowWitnesses,
    NullSpaceWitnesses,
    WitnessSettings,
    engine_of,
)

__all__ = [
    "FIRST_KEPT",
    "WITNESS_SETTINGS",
    "CheapestDeviationProgram",
    "CubeSearch",
    "DeviationFinder",
    "DeviationSettings",
    "Elimination",
    "FlowSteps",
    "FlowWitnesses",
    "LpConstruction",
    "NetworkConstruction",
    "NullSpaceWitnesses",
    "OneByOneParams",
    "Own",
    "ProgramSteps",
    "QuickDeviations",
    "Requests",
    "RequirementQueue",
    "RoundSettings",
    "SafeAttempt",
    "Steps",
    "SuppressionRun",
    "Terrain",
    "Witness",
    "WitnessSettings",
    "by_decreasing_level",
    "by_decreasing_weight",
    "by_deviations",
    "construct_pattern",
    "construction_of",
    "eliminated",
    "engine_of",
    "first_pattern",
    "floored_weights",
    "lengthened",
    "met_by",
    "missing_deviations",
    "one_by_one",
    "positive_weights",
    "repair",
]
