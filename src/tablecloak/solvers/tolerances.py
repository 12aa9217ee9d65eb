"""Numerical tolerances of the solvers, each named for what it guards."""

from __future__ import annotations

NOISE, HALF = 1e-9, 0.5
"""Less than this share of a level, and less than half a data unit, is rounding noise."""

CUT_VIOLATION = 1e-6
"""A cut is violated if its left side falls short of the right side by more than this."""
OPTIMALITY = 1e-9
"""Cost and bound are equal up to this share of the cost."""
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
