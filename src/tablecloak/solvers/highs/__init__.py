"""The boundary to HiGHS: warm linear programs, growing programs, mixed-integer programs."""

from tablecloak.solvers.highs.integer_programs import GrowingProgram, MipOptions, solve_mip
from tablecloak.solvers.highs.linear_programs import (
    Columns,
    HighsProgram,
    LinearProgram,
    RestrictedMaster,
    SimplexOptions,
    read_solution,
)
from tablecloak.solvers.highs.running import (
    DUAL,
    PRIMAL,
    WARM_SIMPLEX,
    HighsSettings,
    check_watch,
    run_linear,
    watched,
)
