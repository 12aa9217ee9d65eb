"""Whole numbers of data units: decimals in floats, rounding up, inward, and what is noise."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.model.units import units_above, units_below, whole_units


@pytest.mark.parametrize(("amount", "unit", "above", "below"), [
    (0.3, 0.1, 3, 3), (0.31, 0.1, 4, 3), (-0.31, 0.1, -3, -4), (2.3, 1.0, 3, 2), (0.0, 0.01, 0, 0),
    (1e-13, 1e-12, 1, 0), (1.1e15, 1.0, 1.1e15, 1.1e15), (123456789.01, 0.01, 12345678901, 12345678901),
    (951818253545239.5, 1.0, 951818253545240, 951818253545239),
    (1 / 3, 1.0, 1, 0), (10 * (1 + 1e-13), 1.0, 10, 10), (10 * (1 + 1e-9), 1.0, 11, 10),
])  # fmt: skip
def test_levels_go_up_and_bounds_inward(amount: float, unit: float, above: float, below: float) -> None:
    assert units_above(np.array([amount]), unit).tolist() == [above]
    assert units_below(np.array([amount]), unit).tolist() == [below]


def test_infinite_bounds_stay() -> None:
    ends = np.array([-np.inf, np.inf])
    for rounding in (whole_units, units_above, units_below):
        assert rounding(ends, 0.01).tolist() == [-np.inf, np.inf]


@given(st.integers(-(10**13), 10**13), st.integers(0, 6), st.integers(0, 3))
def test_decimals_are_the_decimals_they_are_written_as(number: int, decimals: int, finer: int) -> None:
    """A decimal with `finer` digits more than the unit is rounded as its digits say."""
    written = Decimal(number).scaleb(-decimals - finer)
    if abs(number) > 10**12 and finer:
        return  # beyond the digits of a float next to its unit
    unit = 10.0**-decimals
    up, down = (int(written.scaleb(decimals).to_integral_value(way)) for way in (ROUND_CEILING, ROUND_FLOOR))
    assert units_above(np.array([float(written)]), unit).tolist() == [up]
    assert units_below(np.array([float(written)]), unit).tolist() == [down]
