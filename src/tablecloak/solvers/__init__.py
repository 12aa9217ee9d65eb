"""Linear, mixed-integer and quadratic programs: HiGHS, SCIP, sifting. They know arrays, not tables.

Networks are in `solvers.graphs`. Compiled code is in `solvers.kernels`, which is entered by its files, inside
functions: importing one compiles it.
"""

from tablecloak.solvers import scip
from tablecloak.solvers.highs import watched
from tablecloak.solvers.linear_program import DUAL, PRIMAL, Columns, Session
from tablecloak.solvers.mixed_integer import GrowingProgram, IntegerProgram, solve_mixed
from tablecloak.solvers.node_limit import solve_limited
from tablecloak.solvers.outcome import MixedSolution, Outcome, Solution
from tablecloak.solvers.quadratic import Quadratic, least_squares
from tablecloak.solvers.restricted_master import Master
from tablecloak.solvers.row_generation import Program, cost_scale
from tablecloak.solvers.scip import Callbacks, SolverCut, branch_and_cut
from tablecloak.solvers.sifting import Sifted, independent, sift
from tablecloak.solvers.tolerances import HALF, NOISE

__all__ = [
    "DUAL",
    "HALF",
    "NOISE",
    "PRIMAL",
    "Callbacks",
    "Columns",
    "GrowingProgram",
    "IntegerProgram",
    "Master",
    "MixedSolution",
    "Outcome",
    "Program",
    "Quadratic",
    "Session",
    "Sifted",
    "Solution",
    "SolverCut",
    "branch_and_cut",
    "cost_scale",
    "independent",
    "least_squares",
    "scip",
    "sift",
    "solve_limited",
    "solve_mixed",
    "watched",
]
