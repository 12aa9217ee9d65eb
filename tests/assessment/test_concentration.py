"""Figures about the largest contributors: copies, sums of the largest, comparisons beyond noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from contributed import one_cell
from tablecloak.assessment.concentration import (
    HOLDINGS,
    check_depth,
    contributions_at,
    copies,
    exceeds,
    first,
    is_zero,
    share,
    top,
    waived,
)
from tablecloak.errors import InputError
from tablecloak.model import Contributions


def test_copies_and_sums_of_the_largest() -> None:
    who = one_cell([10, 8, 1], weights=[1.5, 2, 10]).respondents
    assert who is not None
    assert copies(who, 2)[0].tolist() == [1.5, 0.5, 0]
    assert copies(who, 5)[0].tolist() == [1.5, 2, 1.5]
    assert top(who, 2)[0] == 19
    assert top(who, 5)[0] == 15 + 16 + 1.5
    assert first(who)[0] == 10


def test_nothing_is_known_of_the_largest() -> None:
    who = Contributions.of_cells([3, 0], np.zeros((2, 0)), [9, 0])
    assert first(who).tolist() == [0, 0]
    assert top(who, 2).tolist() == [0, 0]
    with pytest.raises(InputError, match="only 0 are known in 1 cell"):
        check_depth(one_cell([1]), who, 1, "a rule")


def test_after_a_zero_there_are_only_zeros() -> None:
    table = one_cell([5, 0, 0, 0], top=3)
    assert table.respondents is not None
    few = replace(
        table.respondents, count=np.where(table.codes[:, 0] == table.dimensions[0].index["a"], 4, 3)
    )
    check_depth(table, few, 4, "a rule")


def test_exceeds_is_strict_up_to_noise() -> None:
    one, other = np.array([0.1 + 0.2, 0.3, 0.3 * (1 + 1e-12), 0.0]), np.array([0.3, 0.1 + 0.2, 0.3, 0.0])
    assert exceeds(one, other).tolist() == [False, False, True, False]


def test_shares_of_nothing_are_unknown() -> None:
    assert np.isnan(share(np.array([2.0]), np.array([1e-16]), np.array([True])))
    assert share(np.array([-2.0]), np.array([4.0]), np.array([True])) == 0.5


def test_units_that_have_waived() -> None:
    who = one_cell([3, 2], waived={1: True}).respondents
    assert who is not None
    assert waived(who)[0].tolist() == [False, True, False]
    assert not waived(Contributions.of_cells([2], [[3, 2]], [5])).any()


def test_zero_up_to_noise() -> None:
    assert is_zero(one_cell([0.1, 0.2, -0.3], decimals=1)).tolist() == [False, True, False]


def test_levels_that_a_table_does_not_have() -> None:
    with pytest.raises(InputError, match="a rule: the table knows no contributions of holdings"):
        contributions_at(one_cell([1]), HOLDINGS, "a rule")
