"""The attacker's problem: systems of deviations, their structure, and feasibility intervals with exact evidence.

Shared by the audit and the methods; it imports neither.
"""

from tablecloak.attacker import tolerances
from tablecloak.attacker.exact_oracle import RationalBasis, RationalBasisSettings, WitnessFinder
from tablecloak.attacker.gaussian_elimination import ZERO, Rational, TooMuchWork, in_integers, plain, solve
from tablecloak.attacker.grid import read_lines, usual_total_sign
from tablecloak.attacker.hypercube import Cubes, HypercubeSettings, HypercubeWitnesses, cubes_of
from tablecloak.attacker.inference import Extents, Inference
from tablecloak.attacker.integer import IntegerAttack, IntegerAttackSettings
from tablecloak.attacker.linear import LinearAttack, LinearAttackSettings
from tablecloak.attacker.network import NetworkAttack
from tablecloak.attacker.null_space import NullSpaceSettings
from tablecloak.attacker.oracle import (
    LinearOracle,
    MultiplierSettings,
    NetworkBounds,
    NetworkOracle,
    OracleSettings,
    ProtectionCut,
    WitnessDeviation,
    cut_of_multipliers,
)
from tablecloak.attacker.presolve import (
    Component,
    Reduction,
    reduce,
    same_structure,
    structure_of,
    unpicked,
    without_empty_rows,
    working_columns,
    working_equations,
)
from tablecloak.attacker.products import HierarchicalSubtable
from tablecloak.attacker.structure import EquationBlock, orient
from tablecloak.attacker.subsystem import Subsystem
from tablecloak.attacker.subtables import Subtables
from tablecloak.attacker.system import CellNetwork, DeviationBounds, is_network
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
