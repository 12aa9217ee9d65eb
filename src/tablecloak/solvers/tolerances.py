"""Numerical tolerances of the solvers, each named for what it guards."""

from __future__ import annotations

NOISE, HALF = 1e-9, 0.5
"""Less than this share of a level, and less than half a data unit, is rounding noise."""
EMPTY_ROW = 1e-9
"""A row without columns holds if 0 lies within its bounds up to this."""
MIP_FEASIBILITY = 1e-9
"""Integrality and rows of mixed-integer programs hold up to this."""
MIP_ABSOLUTE_GAP = 1e-9
"""Mixed-integer programs are optimal if cost and bound differ by at most this, in units of the scaled costs."""
REDUCED_COST = 1e-7
"""In sifting a column can improve the program if its reduced cost is below zero by this share of the largest cost."""
ARTIFICIAL_AMOUNT = 1e-7
"""A larger amount of an artificial column means that the point is not feasible."""
