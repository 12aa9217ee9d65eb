"""Numerical tolerances of the rules, each named for what it guards."""

from __future__ import annotations

from tablecloak.model import tolerances

COMPARISON_NOISE = 32 * tolerances.FLOAT_EPSILON
"""Differences below this share of the compared numbers are rounding noise: 0.1 + 0.2 is no more than 0.3."""
ZERO_UNITS = 1e-6
"""A value below this number of data units is zero."""
