"""Data units: amounts and whole numbers of units, rounding without noise, exact sums."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tablecloak.errors import InputError
from tablecloak.model import (
    LARGEST_UNITS,
    amounts,
    checked_units,
    finest_decimals,
    is_whole,
    nearest_units,
    units_above,
    units_below,
    whole_units,
)
from tablecloak.model.units import residuals, rounded, unit_of

ONE_SUM = csr_array(np.array([[1.0, 1.0, -1.0]]))
ZERO = np.zeros(1)
WHOLE = st.integers(-LARGEST_UNITS + 1, LARGEST_UNITS - 1)


@given(WHOLE, st.integers(0, 30))
def test_amounts_are_the_floats_next_to_the_units(whole: int, decimals: int) -> None:
    amount = amounts(np.array([whole]), decimals)
    assert amount[0] == float(Fraction(whole, 10**decimals))
    assert nearest_units(amount, decimals)[0] == whole
    assert is_whole(amount, np.array([float(whole)]), decimals).all()


@given(WHOLE, st.integers(0, 30), st.integers(1, 999))
def test_rounding_goes_one_way(whole: int, decimals: int, step: int) -> None:
    amount = amounts(np.array([whole]), decimals)
    up = nearest_units(rounded(amount, decimals, up=True, step=step), decimals)[0]
    down = nearest_units(rounded(amount, decimals, up=False, step=step), decimals)[0]
    if abs(whole) < LARGEST_UNITS - step:
        assert down <= whole <= up
        assert up % step == down % step == 0
        assert up - down in (0, step)


@pytest.mark.parametrize(
    ("value", "decimals", "down", "up"),
    [
        (0.1 + 0.2, 1, 0.3, 0.3),
        (0.15 * 20, 0, 3, 3),
        (2.0000001, 0, 2, 3),
        (1e-20, 0, 0, 0),
        (1e-8, 0, 0, 1),
        (-0.5, 0, -1, 0),
        (1.15 * 100, 0, 115, 115),
        (np.inf, 2, np.inf, np.inf),
        (-np.inf, 2, -np.inf, -np.inf),
        (1e300, 2, 1e300, 1e300),
        (2.5e-28, 27, 0, 1e-27),
    ],
)
def test_noise_is_no_unit(value: float, decimals: int, down: float, up: float) -> None:
    assert rounded(np.array([value]), decimals, up=False)[0] == down
    assert rounded(np.array([value]), decimals, up=True)[0] == up


def test_noise_of_larger_numbers() -> None:
    level = np.array([1e9 + 3.0 - 1e9 + 1e-7])
    assert rounded(level, 0, up=True)[0] == 4
    assert rounded(level, 0, up=True, others=1e9)[0] == 3
    assert rounded(np.array([3.2]), 0, up=True, others=1e15)[0] == 4, "a fifth of a unit is no noise"
    assert np.isnan(rounded(np.array([np.nan]), 0, up=True)[0])


def test_half_a_unit_of_a_huge_cell_is_no_noise() -> None:
    value = np.array([1e15 + 0.5])
    with pytest.raises(InputError, match="no whole multiple of the data unit, 1"):
        checked_units(value, 0, str)
    assert checked_units(np.array([4e14 + 0.1]), 1, str).tolist() == [4 * 10**15 + 1]


def test_cells_beyond_all_units() -> None:
    assert checked_units(np.array([2.0**52 - 1]), 0, str).tolist() == [2**52 - 1]
    with pytest.raises(InputError, match="cell 1: too many digits") as caught:
        checked_units(np.array([1.0, 1e12]), 13, str)
    assert caught.value.advice == "All cells fit with decimals=3 (a data unit of 0.001) or fewer."
    assert finest_decimals(1e12) == 3
    with pytest.raises(InputError) as caught:
        checked_units(np.array([2.0**52]), 0, str)
    assert "larger unit of measurement" in caught.value.advice
    assert finest_decimals(2.0**52) is None
    with pytest.raises(InputError, match="too many digits"):
        checked_units(np.array([np.nan]), 0, str)


def test_units() -> None:
    assert [unit_of(decimals) for decimals in (0, 3, 23)] == [1.0, 0.001, 1e-23]


# ---------------------------------------------------------------------- equations


@given(st.lists(WHOLE, min_size=2, max_size=2), st.integers(0, 30))
def test_sums_are_exact(parts: list[int], decimals: int) -> None:
    cells = np.array([*parts, sum(parts)])
    assert residuals(ONE_SUM, ZERO, cells, decimals).tolist() == [0]
    assert residuals(ONE_SUM, ZERO, cells + np.array([0, 1, 0]), decimals).tolist() == [1]


@pytest.mark.parametrize(
    ("row", "units", "rhs", "decimals", "residual"),
    [
        ([0.5, -1], [2, 1], 0, 0, 0),
        ([0.5, -1], [3, 1], 0, 0, 0.5),
        ([1 / 3, 2 / 3, -1], [1, 1, 1], 0, 0, 0),
        ([1.19, -1], [100, 119], 0, 2, 0),
        ([1.19, -1], [100, 118], 0, 2, 1),
        ([0.123456789012, -1], [10**12, 123456789012], 0, 0, 0),
        ([0.12345678901234, -1], [10**14, 12345678901234], 0, 0, 0),
        ([0.12345678901234, -1], [10**14, 12345678901233], 0, 0, 1),
        ([1, 1], [1, 2], 0.1 + 0.2, 1, 0),
        ([1, 1], [1, 2], 0.35, 1, -0.5),
        ([2.0**60, -(2.0**60)], [2**50, 2**50], 0, 0, 0),
        ([2.0**60, 2.0**60], [2**50, 2**50], 0, 0, 2.0**111),
        ([], [], 0, 0, 0),
    ],
)
def test_any_coefficients(
    row: list[float], units: list[int], rhs: float, decimals: int, residual: float
) -> None:
    matrix = csr_array(np.array([row], dtype=float).reshape(1, len(row)))
    found = residuals(matrix, np.array([rhs]), np.array(units, dtype=np.int64), decimals)
    assert found.tolist() == [residual]


def test_a_right_hand_side_with_the_noise_of_its_sum() -> None:
    values = np.array([0.1, 0.2, 0.3])
    matrix = csr_array(np.array([[1.0, 1.0, -1.0]]))
    rhs = matrix @ values
    assert rhs[0] != 0
    assert residuals(matrix, rhs, np.array([1, 2, 3]), 1).tolist() == [0]


# ---------------------------------------------------------------------- units above and below


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
