"""Exact cell suppression by branch and cut.

Reference: Fischetti & Salazar-Gonzalez (2001), Solving the cell suppression problem on tabular data with linear
constraints.
"""

from tablecloak.methods.branch_and_cut.improvement import IMPROVEMENTS
from tablecloak.methods.branch_and_cut.separation import SEPARATORS, PointSeparator
from tablecloak.methods.branch_and_cut.settings import ExactSettings
from tablecloak.methods.branch_and_cut.solver import (
    BranchAndCut,
    ExactParams,
    Plugins,
    Start,
    check_parameters,
)
