"""Digits of numbers in DuckDB and in floats, each named for what it guards."""

from __future__ import annotations

HUGEINT_DIGITS = 38
"""Digits of a HUGEINT."""
BIGINT_DIGITS = 18
"""Digits of a BIGINT."""
FULL_DIGITS = 17
"""Digits that determine a float."""
WEIGHT_DIGITS = 15
"""Digits of a weight without a last decimal."""
FEWEST_WEIGHT_DIGITS = 9
"""Digits of a weight without a last decimal, where few are left."""
