"""The boundary to HiGHS: warm linear programs, growing programs, mixed-integer programs."""

from tablecloak.solvers.highs.dense_programs import DenseProgram
from tablecloak.solvers.highs.integer_programs import GrowingProgram, MipOptions, solve_mip
from tablecloak.solvers.highs.linear_programs import LinearProgram, RestrictedMaster, SimplexOptions
from tablecloak.solvers.highs.program import Columns, HighsProgram, read_solution
from tablecloak.solvers.highs.running import DUAL, PRIMAL, WARM_SIMPLEX, HighsSettings, run_linear, watched

__all__ = [
    "DUAL",
    "PRIMAL",
    "WARM_SIMPLEX",
    "Columns",
    "DenseProgram",
    "GrowingProgram",
    "HighsProgram",
    "HighsSettings",
    "LinearProgram",
    "MipOptions",
    "RestrictedMaster",
    "SimplexOptions",
    "read_solution",
    "run_linear",
    "solve_mip",
    "watched",
]
