"""Numbers up to which the arithmetic of roundings is exact."""

from __future__ import annotations

from tablecloak.model import LARGEST_UNITS

LARGEST_INTEGER = 2 * LARGEST_UNITS
"""All integers up to this size are exact in float64."""
