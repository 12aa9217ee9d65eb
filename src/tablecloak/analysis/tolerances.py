"""Numerical tolerances of explanations, each named for what it guards."""

from __future__ import annotations

DEVIATION_NOISE = 1e-9
"""Moves and excesses of a deviation below this share of its amount are rounding noise."""
EQUATION_RESIDUAL = 1e-6
"""What a deviation may leave of an equation, as a share of its amount; deviations that leave more are dropped."""
REQUIREMENT_SLACK = 1e-7
"""A requirement is explained by a deviation that misses no more than this share of it."""
