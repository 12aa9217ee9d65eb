"""Numerical tolerances and number formats of tables and levels, each named for what it guards."""

from __future__ import annotations

import numpy as np

FLOAT_EPSILON = float(np.finfo(np.float64).eps)
"""The relative distance of neighbouring floats."""
FLOAT_NOISE = 8 * FLOAT_EPSILON
"""Maximum relative distance of a float from the decimal that it stands for."""
SUM_NOISE = 1e-12
"""Rounding noise of a sum, relative to the sum of the absolute values in it."""
SUM_NOISE_UNITS = 1e-6
"""Rounding noise of a sum that is never exceeded by less than this, in data units."""
BOX_NOISE = 1e-9
"""A box may be narrower than a level by this share of the level, for rounding."""
NEAR_INTEGER = 1e-9
"""A number of units this near to an integer is that integer: the rest of a decimal in a float."""
OWN_NOISE_UNITS, OTHER_NOISE_UNITS = 0.25, 1e-3
"""Maximum noise in units: of a number itself, and of larger ones that it was computed from."""
CLEAR_SHARE, NEEDED_SHARE = 0.05, 0.25
"""A last decimal exists if noise is below this share of it: in some value, and in some value that needs it."""

EXACT_INTEGER = 2**53
"""Integers below this are exact in floats; from it on neighbours are not distinguished."""
LARGEST_UNITS = 2**52
"""Numbers of data units of a cell are below this."""
LARGEST_SUM = 2.0**62
"""Sums of products are added up in 64 bits if they stay below this in size."""
LARGEST_PRINTED_UNITS = 2.0**58
"""Numbers of data units below this can be multiplied by ten in 64 bits."""
LARGEST_VALUE = 1e18
"""Values are below this: solvers cannot distinguish larger ones."""
LARGEST_RESIDUAL = 10**300
"""Residuals are reported up to this size."""
EXACT_POWER = 22
"""The highest power of ten that a float holds exactly."""
DIGITS = 15
"""Decimals of up to this number of digits are recovered from their floats."""
ENOUGH_DIGITS = 9
"""Digits of the largest value down to the data unit, where values have no last decimal."""
MOST_DECIMALS = 30
"""Maximum number of decimals of a table."""
ROW_FACTORS = (*range(2, 13), *(10**power for power in range(2, 13)))
"""Factors that make the coefficients of an equation integral, in the order they are tried."""
SMALLEST_COUNT = 1.0
"""The smallest count of a nonempty cell: one unit."""
