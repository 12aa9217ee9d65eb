"""Numerical tolerances of the solvers, each named for what it guards."""

from __future__ import annotations

LEVEL_NOISE = 1e-9
"""Amounts below this share of a protection level are rounding noise, if they are also below `UNIT_NOISE`."""
UNIT_NOISE = 0.5
"""Amounts below this number of data units are rounding noise, if they are also below `LEVEL_NOISE`."""
CUT_RESIDUAL = 1e-9
"""Residual capacities below this share of the required flow are zero in minimum cuts."""
EMPTY_ROW = 1e-9
"""A row without columns holds if 0 lies within its bounds up to this."""
MIP_FEASIBILITY = 1e-9
"""Integrality and rows of mixed-integer programs hold up to this."""
MIP_ABSOLUTE_GAP = 1e-9
"""Mixed-integer programs are optimal if cost and bound differ by at most this, in units of the scaled costs."""
CUTOFF = 1e-9
"""Points above a cutoff by at most this share of it still count, where costs are no multiples of a step."""
REDUCED_COST = 1e-7
"""In sifting a column can improve the program if its reduced cost is below zero by this share of the largest cost."""
ARTIFICIAL_AMOUNT = 1e-7
"""A larger amount of an artificial column means that the point is not feasible."""
EQUATION_RESIDUAL = 1e-10
"""Equations of quadratic programs hold up to this share of the largest |M| |d|."""
