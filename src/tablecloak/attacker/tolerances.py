"""Numerical tolerances of the attacker's problem, each named for what it guards.

None of them decides a verdict: what a solver says in floats is rounded within these and then checked exactly, or
exceeds what is required by far more than what separates it from an exact deviation.
"""

from __future__ import annotations

NEAR_RATIONAL = 1e-6
"""An amount of a solver, in data units, this near to a fraction with a small denominator is tried as that fraction."""
RELATIVE_NOISE = 1e-12
"""The same, relative to the amount: digits that a float of that size does not have."""
LARGEST_DENOMINATOR = 1_000
"""Denominators of single amounts that are tried."""
LARGEST_COMMON_DENOMINATOR = 1_000_000
"""Denominators of whole deviations that are tried."""
SOLVER_FEASIBILITY = 1e-9
"""Feasibility tolerance of programs that are solved on their own, in units of their scale."""
NEGLIGIBLE = 1e-6
"""Deviation bounds below this, in units of the scale of a shared program, are zero there."""
MARGIN = 1e-6
"""By how much deviations that are exact only next to a float exceed a need, in units of the scale of their program."""
CORRECTION_PRECISION = 1e-5
"""The relative precision of the correction that makes such a deviation exact."""
CORRECTED = 0.01
"""The correction that makes such a deviation exact is at most this share of the margin, and of every slack."""
REQUIREMENT_MET = 1e-9
"""A requirement is met by a deviation in floats if no more than this share of its level is missing."""
NULL_SPACE_MOVE = 1e-11
"""A cell takes part in a deviation found in the null space if it moves by more than this share of the level."""
LP_MOVE = 1e-7
"""A cell takes part in a deviation of a linear program if it moves by more than this share of the level."""
