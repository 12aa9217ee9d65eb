"""Linear, mixed-integer and quadratic programs: HiGHS, SCIP, sifting. They know arrays, not tables.

Networks are in `solvers.graphs`, compiled code is in `solvers.kernels`.
"""

from tablecloak.solvers import scip
from tablecloak.solvers.annealing import BalancingSettings, balanced_senses
from tablecloak.solvers.highs import (
    DUAL,
    PRIMAL,
    Columns,
    GrowingProgram,
    HighsSettings,
    LinearProgram,
    MipOptions,
    RestrictedMaster,
    SimplexOptions,
    solve_mip,
    watched,
)
from tablecloak.solvers.loading import load_libraries
from tablecloak.solvers.outcome import Outcome, Solution
from tablecloak.solvers.quadratic import NewtonSettings, Quadratic, least_squares
from tablecloak.solvers.scip import Callbacks, SolverCut, TreeOptions, branch_and_cut
from tablecloak.solvers.sifting import SiftingSettings, independent, sift
from tablecloak.solvers.tolerances import (
    ACTIVE_DUAL,
    ADDITIVE_ABSOLUTE,
    ADDITIVE_RELATIVE,
    CUT_VIOLATION,
    DECIMAL_NOISE,
    FRACTIONAL_SUPPORT,
    GAP_CLOSED,
    HALF_UNIT,
    INTEGER_QUOTIENT,
    LEVEL_NOISE,
    LP_PRECISION,
    MIP_ABSOLUTE_GAP,
    MOVE_FEASIBILITY,
    NEGLIGIBLE_LENGTH,
    OPTIMALITY,
    REDUCED_COST_MARGIN,
    ROUNDING,
    STATED_NOISE,
    UNIT_NOISE,
)
from tablecloak.solvers.workers import InterruptibleProcesses, Stop, Stopped, Tick, mapped
