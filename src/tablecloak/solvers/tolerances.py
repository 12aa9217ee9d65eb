"""Numerical tolerances of the solvers, each named for what it guards."""

from __future__ import annotations

LEVEL_NOISE = 1e-9
"""Amounts below this share of a protection level are rounding noise, if they are also below `HALF_UNIT`."""
HALF_UNIT = 0.5
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
ACTIVE_DUAL = 1e-6
"""A cut whose dual is larger is active in a solution of the relaxation."""
CUT_VIOLATION = 1e-6
"""A cut is violated if its left side falls short of the right side by more than this."""
FRACTIONAL_SUPPORT = 1e-6
"""A variable of a fractional point is positive above this."""
OPTIMALITY = 1e-9
"""Cost and bound are equal up to this share of the cost."""
ROUNDING = 1e-13
"""Costs of some hundred cells, summed in different orders, differ by no more than this share."""
GAP_CLOSED = 1e-7
"""A gap between cost and bound below this share of the cost counts as closed."""
ADDITIVE_ABSOLUTE, ADDITIVE_RELATIVE = 1e-6, 1e-9
"""What may be left of an equation of shown values: this many data units, and this share of the sum of its terms."""
DECIMAL_NOISE = 8 * 2.0**-52
"""By how much a float may differ, relative to itself, from the decimal number that it stands for."""
MOVE_FEASIBILITY = 1e-6
"""What a solver may leave of an equation or a range, as a share of the changes in it."""
STATED_NOISE = 1e-9
"""A statement contains the true value up to this share of it, as in the audit."""
INTEGER_QUOTIENT = 1e-9
"""A quotient this near to an integer is one: of a value and its base, of an end and its grid."""
LP_PRECISION = 1e-6
"""Objectives and lengths of linear programs are trusted up to this share."""
NEGLIGIBLE_LENGTH = 1e-7
"""Lengths below this share of the largest level are noise of linear programs."""
REDUCED_COST_MARGIN = 1e-6
"""Variables are fixed if their reduced cost exceeds the gap by more than this share of the limit."""
UNIT_NOISE = 1e-6
"""Less than this share of a data unit is rounding noise."""
