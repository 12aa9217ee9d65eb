"""The attacker's problem: systems of deviations, their structure, and feasibility intervals with exact evidence.

Shared by the audit and the methods; it imports neither.
"""

from tablecloak.attacker.evidence import WholeSystem
from tablecloak.attacker.gaussian_elimination import TooMuchWork, solve
from tablecloak.attacker.hypercube import Cubes
from tablecloak.attacker.hypercube_witnesses import cubes_of, reach_by_cubes
from tablecloak.attacker.inference import Inference, Side, Tick
from tablecloak.attacker.integer import IntegerAttack
from tablecloak.attacker.linear import DECADES, LinearAttack
from tablecloak.attacker.network import NetworkAttack
from tablecloak.attacker.null_space import (
    DeviationProgram,
    NullSpaceSettings,
    deviation_program,
)
from tablecloak.attacker.oracle import (
    LinearOracle,
    NetworkBounds,
    NetworkOracle,
    ProtectionCut,
    WitnessDeviation,
    cut_of_multipliers,
)
from tablecloak.attacker.presolve import (
    Component,
    Reduction,
    is_ready,
    reduce,
    same_structure,
    structure_of,
    unpicked,
    without_empty_rows,
    working_columns,
    working_equations,
)
from tablecloak.attacker.structure import Block, orient
from tablecloak.attacker.system import Boxes, CellNetwork, entry_ranges, is_network
from tablecloak.attacker.tolerances import (
    EQUATION_MET,
    FLOW_NOISE,
    INTEGRALITY,
    MACHINE_EPSILON,
    RELATIVE_NOISE,
    REQUIREMENT_MET,
    REQUIREMENT_MET_BY_PATTERN,
    RESIDUAL_MET,
    STRENGTHENED,
)
from tablecloak.attacker.witness import WitnessFinder

__all__ = [
    "DECADES",
    "EQUATION_MET",
    "FLOW_NOISE",
    "INTEGRALITY",
    "MACHINE_EPSILON",
    "RELATIVE_NOISE",
    "REQUIREMENT_MET",
    "REQUIREMENT_MET_BY_PATTERN",
    "RESIDUAL_MET",
    "STRENGTHENED",
    "Block",
    "Boxes",
    "CellNetwork",
    "Component",
    "Cubes",
    "DeviationProgram",
    "Inference",
    "IntegerAttack",
    "LinearAttack",
    "LinearOracle",
    "NetworkAttack",
    "NetworkBounds",
    "NetworkOracle",
    "NullSpaceSettings",
    "ProtectionCut",
    "Reduction",
    "Side",
    "Tick",
    "TooMuchWork",
    "WholeSystem",
    "WitnessDeviation",
    "WitnessFinder",
    "cubes_of",
    "cut_of_multipliers",
    "deviation_program",
    "entry_ranges",
    "is_network",
    "is_ready",
    "orient",
    "reach_by_cubes",
    "reduce",
    "same_structure",
    "solve",
    "structure_of",
    "unpicked",
    "without_empty_rows",
    "working_columns",
    "working_equations",
]
