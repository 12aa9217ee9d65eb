"""Numerical tolerances of the solvers, each named for what it guards."""

from __future__ import annotations

NOISE, HALF = 1e-9, 0.5
"""Less than this share of a level, and less than half a data unit, is rounding noise."""
