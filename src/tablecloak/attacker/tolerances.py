"""Numerical tolerances of the attacker's problem, each named for what it guards.

None of them decides a verdict: what a solver says in floats is rounded within these and then checked exactly, or
exceeds what is required by far more than what separates it from an exact deviation.
"""

from __future__ import annotations

EXACT_FLOAT = 2.0**53
"""Integers below this are exact in floats."""
EXACT_SUM = 2.0**62
"""Sums of integers below this stay in int64."""
NEAR_RATIONAL = 1e-6
"""An amount of a solver, in data units, this near to a fraction with a small denominator is tried as that fraction."""
RELATIVE_NOISE = 1e-12
"""Relative distance within which an amount is tried as such a fraction: digits beyond the precision of a float."""
LARGEST_DENOMINATOR = 1_000
"""Largest denominator tried for a single amount."""
LARGEST_COMMON_DENOMINATOR = 1_000_000
"""Largest common denominator tried for a deviation."""
NEAR_INTEGER = 1e-9
"""A candidate of a certificate, in data units, this near to an integer is that integer."""
INTEGER_CANDIDATE = 0.01
"""Candidates of a certificate, in data units, are tried as integers if all of them are this near to one."""
NEAR_ESTIMATE = 1e-9
"""A reach within this share of a solver's estimate is good enough for a bound to be sought."""
RAY = 1e-6
"""A direction with a larger movement than this, of at most 1, is a ray."""
SAME_INTERVAL = 1e-6
"""Intervals of audit and certificate agree up to this share, and up to this amount."""
SOLVER_FEASIBILITY = 1e-9
"""Feasibility tolerance of programs that are solved on their own, in units of their scale."""
NEGLIGIBLE = 1e-6
"""Deviation bounds below this, in units of the scale of a shared program, are zero there."""
MARGINS = (1e-6, 1e-5, 1e-4)
"""Excess over the need of deviations that are exact only next to a float, in units of the scale of their program: each
is tried where the one before leaves the solver's noise no room."""
CORRECTION_PRECISION = 1e-5
"""Relative precision of the correction that makes such a deviation exact."""
CORRECTED = 0.01
"""Maximum size of that correction, as a share of the margin and of every slack."""
POINT_WIDTH, POINT_SHARE = 1e-3, 1e-9
"""Intervals no wider than this number of data units, or than this share of the value, are points (`exposure`)."""
REQUIREMENT_MET = 1e-6
"""A level counts as met up to this share of itself where linear programs decide the set of a cell (`exposure`)."""
BOUND_MOVED = 1e-9
"""A bound that moved by less than this share of itself and of the data unit has not moved (`exposure`)."""
EQUATION_MET = 1e-8
"""A deviation in floats satisfies an equation if it misses it by no more than this fraction of what is required."""
PROPORTIONAL = 1e-9
"""Two rows of a table in the null space, scaled to 1, are equal within this: their cells move in proportion."""
REQUIREMENT_MET_BY_PUBLICATION = 1e-7
"""A requirement is met by a publication if no more than this fraction of it is missing."""
REQUIREMENT_MET_BY_PATTERN = 1e-8
"""Share of a level that may be missing where a suppression pattern, an integral point, meets it; half a data unit if
that is less."""
INTEGRALITY = 1e-7
"""Variables within this of an integer are integral; a cell above it is in the support of a point."""
FLOW_NOISE = 1e-9
"""Residual capacities and extents below this fraction of what is required are rounding noise."""
MACHINE_EPSILON = 2.0**-52
"""Twice the relative error of one operation in floats."""
MULTIPLIER_NEAR_FRACTION = 1e-5
"""Multipliers are replaced by fractions that are this near."""
RESIDUAL_MET = 1e-9
"""A residual below this fraction of a level counts as met; cells with a smaller capacity are left out of a cut."""
STRENGTHENED = 1e-6
"""A strengthened cut replaces another one only if it is violated by more than this beyond it."""
WITNESS_MET = 1e-9
"""A requirement has a witness in floats if no more than this share of its level is missing."""
NULL_SPACE_MOVE = 1e-11
"""A cell takes part in a deviation found in the null space if it moves by more than this share of the level."""
LP_MOVE = 1e-7
"""A cell takes part in a deviation of a linear program if it moves by more than this share of the level."""
CUBE_MET = 1e-12
"""A requirement is met by a hypercube up to this share of its level: rounding of one division only."""
