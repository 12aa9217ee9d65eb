"""Linear, mixed-integer and quadratic programs: HiGHS, SCIP, sifting. They know arrays, not tables.

Networks are in `solvers.graphs`. Compiled code is in `solvers.kernels`, which is entered by its files, inside
functions: importing one compiles it.
"""

from tablecloak.solvers import scip
from tablecloak.solvers.highs import (
    DUAL,
    PRIMAL,
    Columns,
    DenseProgram,
    GrowingProgram,
    LinearProgram,
    MipOptions,
    RestrictedMaster,
    SimplexOptions,
    solve_mip,
    watched,
)
from tablecloak.solvers.outcome import Outcome, Solution
from tablecloak.solvers.quadratic import Quadratic, least_squares
from tablecloak.solvers.scip import Callbacks, SolverCut, TreeOptions, branch_and_cut
from tablecloak.solvers.sifting import independent, sift
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
    MOVE_FEASIBILITY,
    NEGLIGIBLE_LENGTH,
    OPTIMALITY,
    REDUCED_COST_MARGIN,
    STATED_NOISE,
    UNIT_NOISE,
)

__all__ = [
    "ACTIVE_DUAL",
    "ADDITIVE_ABSOLUTE",
    "ADDITIVE_RELATIVE",
    "CUT_VIOLATION",
    "DECIMAL_NOISE",
    "DUAL",
    "FRACTIONAL_SUPPORT",
    "GAP_CLOSED",
    "HALF_UNIT",
    "INTEGER_QUOTIENT",
    "LEVEL_NOISE",
    "LP_PRECISION",
    "MOVE_FEASIBILITY",
    "NEGLIGIBLE_LENGTH",
    "OPTIMALITY",
    "PRIMAL",
    "REDUCED_COST_MARGIN",
    "STATED_NOISE",
    "UNIT_NOISE",
    "Callbacks",
    "Columns",
    "DenseProgram",
    "GrowingProgram",
    "LinearProgram",
    "MipOptions",
    "Outcome",
    "Quadratic",
    "RestrictedMaster",
    "SimplexOptions",
    "Solution",
    "SolverCut",
    "TreeOptions",
    "branch_and_cut",
    "independent",
    "least_squares",
    "scip",
    "sift",
    "solve_mip",
    "watched",
]
