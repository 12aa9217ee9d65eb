"""The helpers for read-only arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tablecloak.arrays import floats, frozen, frozen_matrix, mask, positions, ranges
from tablecloak.errors import InputError


def test_frozen_arrays_cannot_be_written_and_leave_views_alone() -> None:
    base = np.arange(6.0)
    part = frozen(base[::2])
    with pytest.raises(ValueError, match="read-only"):
        part[0] = 1
    base[0] = 7
    assert part[0] == 0


def test_floats() -> None:
    given = np.arange(3.0)
    own = floats(given)
    given[0] = 9
    assert own.tolist() == [0, 1, 2]
    assert floats(2, 3).tolist() == [2, 2, 2]
    assert floats([1, 2], 3).tolist() == [1, 2], "sizes are for the caller to judge"
    with pytest.raises(InputError, match="expected numbers"):
        floats("many")


@pytest.mark.parametrize("where", [[True, False], [[0, 1]], [0.5], ["a"], [5], [-1], True])
def test_masks_that_are_none(where: Any) -> None:
    with pytest.raises(InputError):
        mask(where, 5)


def test_masks() -> None:
    for where in ([1, 3], np.array([1, 3, 3]), [False, True, False, True, False], (1, 3)):
        assert mask(where, 5).tolist() == [False, True, False, True, False]
    assert not mask(None, 5).any()
    assert not mask([], 5).any()
    assert mask(2, 5).sum() == 1


def test_positions() -> None:
    assert positions([False, True, True]).tolist() == [1, 2]
    assert positions(3).tolist() == [3]
    assert positions([]).tolist() == []
    with pytest.raises(InputError, match="a list of cell numbers"):
        positions([0.0])


def test_frozen_matrices_are_canonical() -> None:
    entries = (np.array([1.0, 2.0, 0.0, 3.0]), (np.array([0, 0, 0, 0]), np.array([2, 0, 1, 2])))
    matrix = frozen_matrix(csr_array(entries, shape=(1, 3)))
    assert matrix.indices.tolist() == [0, 2]
    assert matrix.data.tolist() == [2, 4]
    with pytest.raises(ValueError, match="read-only"):
        matrix.data[0] = 1


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5))))
def test_ranges(pairs: list[tuple[int, int]]) -> None:
    starts = np.array([start for start, _ in pairs], dtype=np.int64)
    stops = starts + np.array([length for _, length in pairs], dtype=np.int64)
    expected = [i for start, length in pairs for i in range(start, start + length)]
    assert ranges(starts, stops).tolist() == expected
