"""The attacker's problem: systems of deviations, their structure, and feasibility intervals with exact evidence.

Shared by the audit and the methods; it imports neither.
"""

from tablecloak.attacker import tolerances
from tablecloak.attacker.basis import BasisSettings, RationalBasis
from tablecloak.attacker.evidence import IntegralSystem
from tablecloak.attacker.gaussian_elimination import ZERO, Rational, TooMuchWork, in_integers, plain, solve
from tablecloak.attacker.hypercube import Cubes
from tablecloak.attacker.hypercube_witnesses import HypercubeSettings, HypercubeWitnesses, cubes_of
from tablecloak.attacker.inference import Extents, Inference, Tick
from tablecloak.attacker.integer import IntegerAttack, IntegerAttackSettings
from tablecloak.attacker.linear import LinearAttack, LinearAttackSettings
from tablecloak.attacker.multipliers import residual, simplified
from tablecloak.attacker.network import NetworkAttack
from tablecloak.attacker.null_space import MOST_ENTRIES, Attack, attack_on
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
from tablecloak.attacker.system import Boxes, CellNetwork, is_network
from tablecloak.attacker.witness import WitnessFinder

__all__ = [
    "MOST_ENTRIES",
    "ZERO",
    "Attack",
    "BasisSettings",
    "Boxes",
    "CellNetwork",
    "Component",
    "Cubes",
    "EquationBlock",
    "Extents",
    "HypercubeSettings",
    "HypercubeWitnesses",
    "Inference",
    "IntegerAttack",
    "IntegerAttackSettings",
    "IntegralSystem",
    "LinearAttack",
    "LinearAttackSettings",
    "NetworkAttack",
    "Rational",
    "RationalBasis",
    "Reduction",
    "Tick",
    "TooMuchWork",
    "WitnessFinder",
    "attack_on",
    "cubes_of",
    "in_integers",
    "is_network",
    "is_ready",
    "orient",
    "plain",
    "reduce",
    "residual",
    "same_structure",
    "simplified",
    "solve",
    "structure_of",
    "tolerances",
    "unpicked",
    "without_empty_rows",
    "working_columns",
    "working_equations",
]
