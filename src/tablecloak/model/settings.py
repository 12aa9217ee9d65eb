"""Conventions and default limits of tables."""

from __future__ import annotations

NO_UNIT = -1
"""The number that stands for a unit where there is none, or none that is known."""
MOST_CELLS = 5_000_000
"""Maximum number of cells, unless the caller allows more: empty combinations as cells may be more than fit in memory.
Untested default."""
