"""Cells as they are given: decimals, and what is kept of them when totals are rebuilt (see also test_table)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.errors import InputError
from tablecloak.model import Dimension, infer_decimals
from tablecloak.model.cells import leaf_cells, read_cells, recomputed

SEX = Dimension.flat("sex", ["f", "m"])


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([], 0),
        ([0.0], 0),
        ([3, -4], 0),
        ([0.5, 7], 1),
        ([0.1 + 0.2, 1], 1),
        ([-12.25, 1e6], 2),
        ([1e15, 3], 0),
        ([1e12 + 0.5], 1),
        ([182780310.0761, 63.1685], 4),
        ([1e-12, 2e-12], 12),
        ([4e12 + 0.01, 63.17, 63.1], 2),
        ([1 / 3, 2 / 3], 9),
        ([1e7 / 3, 0.1 / 3], 2),
        ([1e15 / 7], 0),
        ([1e-40], 30),
        ([1e300, 1 / 3], 0),
    ],
)
def test_decimals(values: list[float], decimals: int) -> None:
    assert infer_decimals(np.array(values)) == decimals


@given(st.integers(0, 6), st.lists(st.integers(-(10**9), 10**9), min_size=1))
def test_decimals_of_decimals(decimals: int, numbers: list[int]) -> None:
    values = np.array(numbers) / 10**decimals
    found = infer_decimals(values)
    assert found <= decimals
    assert all(number % 10 ** (decimals - found) == 0 for number in numbers)


@given(st.lists(st.integers(1, 10**6), min_size=5, max_size=50))
def test_numbers_without_a_last_decimal_get_nine_digits(numbers: list[int]) -> None:
    values = np.sqrt(np.array(numbers) + 0.1)
    assert 1e-9 <= 10.0 ** -infer_decimals(values) / values.max() <= 1e-7


def test_read_cells() -> None:
    cells = read_cells(
        [SEX], {"sex": ["m", "Total"], "value": [5, 5], "n": [1, 1], "text": ["a", "b"]}, "value"
    )
    assert cells.codes.tolist() == [[2], [0]]
    assert cells.values.tolist() == [5, 5]
    assert list(cells.columns) == ["n"]
    assert leaf_cells([SEX], cells.codes).tolist() == [True, False]


def test_values_of_totals_may_be_left_out_when_they_are_rebuilt() -> None:
    given = {"sex": ["m", "f", "Total"], "value": ["1", "2", "?"]}
    cells = recomputed([SEX], read_cells([SEX], given, "value", leaves_only=True))
    assert cells.values.tolist() == [3, 2, 1]
    with pytest.raises(InputError, match="row 3"):
        read_cells([SEX], given, "value")


def test_full_floats_have_no_last_decimal() -> None:
    """Noise writes the large ones with any number of decimals: only values that need the last one count."""
    full = np.random.default_rng(0).lognormal(6, 1, 1000) + 20
    assert infer_decimals(np.append(full, [0.5, 0.001])) == 8 - int(np.log10(full.max()))
    assert infer_decimals(np.array([1e12, 0.01])) == 2
    assert infer_decimals(np.array([1234567890123.45, 0.01])) == 2
    assert infer_decimals(np.array([0.1234567890123, 0.5])) == 13
