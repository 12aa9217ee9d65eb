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
from tablecloak.attacker.structure import Block, orient
from tablecloak.attacker.system import Boxes, CellNetwork, is_network
from tablecloak.attacker.tolerances import LP_MOVE, NULL_SPACE_MOVE, REQUIREMENT_MET
from tablecloak.attacker.witness import WitnessFinder

__all__ = [
    "DECADES",
    "LP_MOVE",
    "MOST_ENTRIES",
    "NULL_SPACE_MOVE",
    "REQUIREMENT_MET",
    "Attack",
    "Block",
    "Boxes",
    "CellNetwork",
    "Component",
    "Cubes",
    "Inference",
    "IntegerAttack",
    "LinearAttack",
    "NetworkAttack",
    "Reduction",
    "Side",
    "Tick",
    "TooMuchWork",
    "WholeSystem",
    "WitnessFinder",
    "attack_on",
    "cubes_of",
    "is_network",
    "is_ready",
    "orient",
    "reach_by_cubes",
    "reduce",
    "residual",
    "same_structure",
    "simplified",
    "solve",
    "structure_of",
    "unpicked",
    "without_empty_rows",
    "working_columns",
    "working_equations",
]
