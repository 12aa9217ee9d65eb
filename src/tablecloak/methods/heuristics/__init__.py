"""Heuristics of cell suppression: construction by cheapest deviations, and elimination of redundant suppressions."""

from tablecloak.methods.heuristics.construction import (
    ConstructionSettings,
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
    by_decreasing_weight,
    floored_weights,
    met_by,
    positive_weights,
)
from tablecloak.methods.heuristics.elimination import Elimination
from tablecloak.methods.heuristics.equal_flow import (
    Circulation,
    EqualFlowPaths,
    EqualFlowSettings,
    PathPrices,
    amounts_tried,
)
from tablecloak.methods.heuristics.gaussian import GaussianEquations
from tablecloak.methods.heuristics.hypercubes import CubeSearch
from tablecloak.methods.heuristics.initial_pattern import (
    FIRST_KEPT,
    FirstPatternSettings,
    QuickPattern,
    SuppressionRun,
    first_pattern,
)
from tablecloak.methods.heuristics.min_cost_deviation import FlowSteps, Programs, ProgramSteps, Steps, Terrain
from tablecloak.methods.heuristics.repair import RoundSettings, lengthened, missing_deviations, repair
from tablecloak.methods.heuristics.reversible_deviations import QuickDeviations
from tablecloak.methods.heuristics.sequential import (
    OneByOneParams,
    Own,
    Requests,
    SafeAttempt,
    SequentialSettings,
    one_by_one,
)
from tablecloak.methods.heuristics.strata import StrataSearch, StrataSettings
from tablecloak.methods.heuristics.witnesses import (
    FlowWitnesses,
    NullSpaceWitnesses,
    WitnessEngine,
    engine_of,
)
