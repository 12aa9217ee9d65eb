"""Contributions: figures by cell, and those of several tables placed in one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from tablecloak.arrays import frozen_matrix
from tablecloak.errors import InputError
from tablecloak.model import NO_UNIT, Contributions
from tablecloak.model.contributions import placed


def known(names: list[str], shares: list[list[float]], depth: int = 2) -> Contributions:
    """Units with names and their contributions to each cell, largest first by brute force."""
    matrix = np.array(shares, dtype=float)
    count = (matrix != 0).sum(axis=0)
    order = np.argsort(-np.abs(matrix), axis=0, kind="stable")[:depth].T
    top = np.take_along_axis(matrix.T, order, axis=1)
    bare = Contributions.of_cells(count, top, matrix.sum(axis=0))
    sparse = frozen_matrix(csr_array(matrix))
    return replace(
        bare,
        top_unit=np.where(top != 0, order, NO_UNIT),
        units=np.array(names),
        unit_weight=np.ones(len(names)),
        unit_waived=np.zeros(len(names), dtype=bool),
        largest_unwaived_unit=order[:, 0],
        shares=sparse,
        shadow_shares=sparse,
    )


def test_figures_by_cell_without_units() -> None:
    bare = Contributions.of_cells([2, 1, 0], [[5, 3], [4, 9], [1, 1]], [8, 4, 0])
    assert len(bare) == 3
    assert bare.depth == 2
    assert not bare.knows_units
    assert bare.top.tolist() == [[5, 3], [4, 0], [0, 0]]  # only as many as there are contributors
    assert bare.top_weight.tolist() == [[1, 1], [1, 0], [0, 0]]
    assert (bare.top_unit == NO_UNIT).all()


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="one count, n largest contributions and one total"):
        Contributions.of_cells([1, 2], [[1], [2], [3]], [1, 2])


def test_contributions_of_units_add_up_with_weights() -> None:
    two = known(["a", "b"], [[3, 0, 3], [1, 2, 3]])
    cells, sums = two.contributions_of(np.array([0]))
    assert (cells.tolist(), sums.tolist()) == ([0, 2], [3, 3])
    weighted = replace(two, unit_weight=np.array([2.0, 1.0]))
    cells, sums = weighted.contributions_of(np.array([0, 1]))
    assert (cells.tolist(), sums.tolist()) == ([0, 1, 2], [7, 2, 9])


def test_several_tables_in_one_know_units_by_name() -> None:
    first, second = known(["a", "b"], [[3, 0], [1, 2]]), known(["c", "b"], [[4.0], [1.0]], depth=1)
    both = placed([first, second], [np.array([0, 2]), np.array([1])], 3)
    assert both is not None
    assert both.units.tolist() == ["a", "b", "c"]
    assert both.top.tolist() == [[3, 1], [4, 0], [2, 0]]
    assert both.top_unit.tolist() == [[0, 1], [2, NO_UNIT], [1, NO_UNIT]]
    assert both.shares.toarray().tolist() == [[3, 0, 0], [1, 1, 2], [0, 4, 0]]
    assert placed([], [], 3) is None


def test_a_common_cell_is_counted_once() -> None:
    first, second = known(["a", "b"], [[3, 0], [1, 2]]), known(["a", "b"], [[3, 7], [1, 0]])
    both = placed([first, second], [np.array([0, 1]), np.array([0, 2])], 3)
    assert both is not None
    assert both.shares.toarray().tolist() == [[3, 0, 7], [1, 2, 0]]
    assert both.count.tolist() == [2, 1, 1]


def test_a_repr_that_says_confidential_and_no_figure() -> None:
    assert "confidential" in repr(known(["a"], [[31.0]]))
    assert "31" not in repr(known(["a"], [[31.0]]))
