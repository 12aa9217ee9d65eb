"""The attacker's problem: systems of deviations, their structure, and feasibility intervals with exact evidence.

Shared by the audit and the methods; it imports neither.
"""

from tablecloak.attacker import tolerances
from tablecloak.attacker.basis import RationalBasis, RationalBasisSettings
from tablecloak.attacker.gaussian_elimination import ZERO, Rational, TooMuchWork, in_integers, plain, solve
from tablecloak.attacker.hypercube import Cubes
from tablecloak.attacker.hypercube_witnesses import HypercubeSettings, HypercubeWitnesses, cubes_of
from tablecloak.attacker.inference import Extents, Inference
from tablecloak.attacker.integer import IntegerAttack, IntegerAttackSettings
from tablecloak.attacker.linear import LinearAttack, LinearAttackSettings
from tablecloak.attacker.network import NetworkAttack
from tablecloak.attacker.null_space import DeviationProgram, NullSpaceSettings, deviation_program
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
from tablecloak.attacker.structure import EquationBlock, orient
from tablecloak.attacker.system import CellNetwork, DeviationBounds, entry_ranges, is_network
from tablecloak.attacker.tolerances import (
    EQUATION_MET,
    FLOW_NOISE,
    INTEGRALITY,
    MACHINE_EPSILON,
    RELATIVE_NOISE,
    REQUIREMENT_MET_BY_PATTERN,
    REQUIREMENT_MET_BY_PUBLICATION,
    RESIDUAL_MET,
    STRENGTHENED,
)
from tablecloak.attacker.witness import WitnessFinder

__all__ = [
    "EQUATION_MET",
    "FLOW_NOISE",
    "INTEGRALITY",
    "MACHINE_EPSILON",
    "RELATIVE_NOISE",
    "REQUIREMENT_MET_BY_PATTERN",
    "REQUIREMENT_MET_BY_PUBLICATION",
    "RESIDUAL_MET",
    "STRENGTHENED",
    "ZERO",
    "CellNetwork",
    "Component",
    "Cubes",
    "DeviationBounds",
    "DeviationProgram",
    "EquationBlock",
    "Extents",
    "HypercubeSettings",
    "HypercubeWitnesses",
    "Inference",
    "IntegerAttack",
    "IntegerAttackSettings",
    "LinearAttack",
    "LinearAttackSettings",
    "LinearOracle",
    "NetworkAttack",
    "NetworkBounds",
    "NetworkOracle",
    "NullSpaceSettings",
    "ProtectionCut",
    "Rational",
    "RationalBasis",
    "RationalBasisSettings",
    "Reduction",
    "TooMuchWork",
    "WitnessDeviation",
    "WitnessFinder",
    "cubes_of",
    "cut_of_multipliers",
    "deviation_program",
    "entry_ranges",
    "in_integers",
    "is_network",
    "is_ready",
    "orient",
    "plain",
    "reduce",
    "same_structure",
    "solve",
    "structure_of",
    "tolerances",
    "unpicked",
    "without_empty_rows",
    "working_columns",
    "working_equations",
]
