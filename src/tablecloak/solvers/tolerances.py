"""Numerical tolerances of the solvers, each named for what it guards."""

from __future__ import annotations

NOISE, HALF = 1e-9, 0.5
"""Less than this share of a level, and less than half a data unit, is rounding noise."""

ACTIVE_DUAL = 1e-6
"""A cut whose dual is larger is active in a solution of the relaxation."""
CUT_VIOLATION = 1e-6
"""A cut is violated if its left side falls short of the right side by more than this."""
FRACTIONAL_SUPPORT = 1e-6
"""A variable of a fractional point is positive above this."""
OPTIMALITY = 1e-9
"""Cost and bound are equal up to this share of the cost."""
