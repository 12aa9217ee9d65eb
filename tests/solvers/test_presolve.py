"""The kernels about systems of equations against scipy, linear algebra and plain loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.sparse import csc_array
from scipy.sparse.csgraph import connected_components

from tablecloak.attacker import orient
from tablecloak.solvers import kernels

Matrix = NDArray[np.float64]
Ints = NDArray[np.int64]
SEEDS = range(60)


def matrices(seed: int, entries: tuple[float, ...] = (1.0, -1.0), most: int = 9) -> Iterator[Matrix]:
    """Sparse matrices of a few rows and columns, some without any."""
    rng = np.random.default_rng(seed)
    for density in (0.15, 0.3, 0.5):
        shape = int(rng.integers(0, most)), int(rng.integers(0, most + 3))
        yield np.where(rng.random(shape) < density, rng.choice(entries, shape), 0.0)


def arrays(matrix: Matrix) -> tuple[Any, Any, Any]:
    """The matrix by columns, as the kernels take it."""
    columns = csc_array(matrix)
    return columns.indptr.astype(np.int32), columns.indices.astype(np.int32), columns.data


def dense(start: Any, row: Any, data: Any, rows: int) -> Matrix:
    return np.asarray(csc_array((data, row, start), shape=(rows, start.size - 1)).todense())


def some(matrix: Matrix, seed: int) -> Ints:
    """Some of the columns."""
    return np.flatnonzero(np.random.default_rng(seed).random(matrix.shape[1]) < 0.8)


@pytest.mark.parametrize("seed", SEEDS)
def test_unpick_removes_what_is_alone_in_a_row(seed: int) -> None:
    for matrix in matrices(seed):
        columns = some(matrix, seed)
        alive = np.ones(columns.size, dtype=bool)
        while True:
            part = matrix[:, columns] * alive
            single = (part != 0).sum(axis=1) == 1
            gone = (part[single] != 0).any(axis=0)
            if not gone.any():
                break
            alive &= ~gone
        start, row, _ = arrays(matrix)
        np.testing.assert_array_equal(kernels.unpick(start, row, matrix.shape[0], columns), alive)


@pytest.mark.parametrize("seed", SEEDS)
def test_take_keeps_columns_and_drops_empty_rows(seed: int) -> None:
    for matrix in matrices(seed, (1.0, -1.0, 2.5)):
        columns = some(matrix, seed)
        expected = matrix[:, columns]
        expected = expected[(expected != 0).any(axis=1)]
        found = kernels.take_columns(*arrays(matrix), matrix.shape[0], columns)
        np.testing.assert_array_equal(dense(*found), expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("entries", [(1.0, -1.0), (1.0, -1.0, 2.0)])
def test_split_finds_the_parts_and_the_networks_among_them(seed: int, entries: tuple[float, ...]) -> None:
    for matrix in matrices(seed, entries):
        columns = some(matrix, seed)
        part, network, nodes, tail, head, sign = kernels.split_components(
            *arrays(matrix), matrix.shape[0], columns
        )
        own = matrix[:, columns]
        tied = ((own != 0).T.astype(int) @ (own != 0).astype(int)) > 0
        expected = connected_components(tied, directed=False)[1] if columns.size else part
        assert len(set(zip(part.tolist(), expected.tolist(), strict=True))) == network.size
        assert np.unique(expected).size == network.size
        for number in range(network.size):
            assert network[number] == (orient(csc_array(own[:, part == number])) is not None)
        arcs = own[:, network[part]]
        arcs = arcs[(arcs != 0).any(axis=1)]
        incidence = np.zeros((arcs.shape[0] + 1, arcs.shape[1]))
        np.add.at(incidence, (tail, np.arange(tail.size)), 1.0)
        np.add.at(incidence, (head, np.arange(head.size)), -1.0)
        np.testing.assert_array_equal(sign[:, None] * arcs, incidence[:-1])
        assert nodes == arcs.shape[0] + ((arcs != 0).sum(axis=0) < 2).any()


def test_split_of_a_long_path_is_one_network() -> None:
    size = 5_000
    ends = np.random.default_rng(0).permutation(size + 1)
    matrix = csc_array(
        (
            np.tile([1.0, -1.0], size),
            np.stack([ends[:-1], ends[1:]]).T.ravel(),
            np.arange(0, 2 * size + 1, 2),
        ),
        shape=(size + 1, size),
    )
    start, row = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    part, network, nodes, *_ = kernels.split_components(start, row, matrix.data, size + 1, np.arange(size))
    assert network.tolist() == [True] and not part.any() and nodes == size + 1


@pytest.mark.parametrize("seed", SEEDS)
def test_ties_say_all_that_rows_with_two_entries_say(seed: int) -> None:
    for matrix in matrices(seed, (1.0, -1.0, 2.0, -2.0)):
        rows, columns = matrix.shape
        group, ratio = kernels.tie_columns(*arrays(matrix), rows)
        groups = int(group.max(initial=-1)) + 1
        spread = np.zeros((columns, groups))
        spread[np.arange(columns), group] = ratio
        sizes = np.where(matrix == 0, np.nan, np.abs(matrix))
        alike = np.array([np.unique(row[~np.isnan(row)]).size == 1 for row in sizes], dtype=bool)
        pairs = matrix[((matrix != 0).sum(axis=1) == 2) & alike]
        np.testing.assert_allclose(pairs @ spread, 0.0, atol=1e-9)
        freedom = null_space(pairs).shape[1] if pairs.size else columns
        assert np.linalg.matrix_rank(spread) == freedom if columns else groups == 0
        merged = matrix @ spread
        merged = merged[(np.abs(merged) > 1e-9).any(axis=1)]
        found = dense(*kernels.merge_columns(*arrays(matrix), rows, group, ratio, groups))
        np.testing.assert_allclose(
            sorted(found.round(9).tolist()), sorted((merged.round(9) + 0.0).tolist()), atol=1e-9
        )


def test_contradictory_ties_hold_the_whole_group() -> None:
    matrix = np.array([[1.0, -1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0]])
    group, ratio = kernels.tie_columns(*arrays(matrix), 3)
    assert group.tolist() == [0, 0, 0, 1] and ratio.tolist() == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_are_confined_to_what_all_their_columns_allow(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for matrix in matrices(seed, (1.0, -1.0, 2.0)):
        rows, columns = matrix.shape
        group, ratio = kernels.tie_columns(*arrays(matrix), rows)
        groups = int(group.max(initial=-1)) + 1
        low, high = -rng.choice([0.0, 1.0, 4.0, np.inf], columns), rng.choice([0.0, 2.0, np.inf], columns)
        lowest, highest = kernels.group_bounds(group, ratio, groups, low, high)
        for number in range(groups):
            own, share = group == number, ratio[group == number]
            if (share == 0).any():
                assert lowest[number] == highest[number] == 0.0
                continue
            ends = np.stack([low[own] / share, high[own] / share])
            assert (lowest[number], highest[number]) == (ends.min(axis=0).max(), ends.max(axis=0).min())


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_of_whole_numbers_are_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for matrix in matrices(seed, (1.0, -1.0, 2.0)):
        rows, columns = matrix.shape
        start, row, data = arrays(matrix)
        whole = data.astype(np.int64)
        amount = rng.integers(-(2**55), 2**55, columns) * rng.integers(0, 2, columns)
        sums = [sum(int(x) * int(y) for x, y in zip(line, amount, strict=True)) for line in matrix]
        assert kernels.is_balanced(start, row, whole, rows, amount) is (not any(sums))
        assert kernels.is_balanced(start, row, whole, rows, np.zeros(columns, dtype=np.int64))
        factor = rng.integers(-(2**55), 2**55, rows)
        found = kernels.combined_rows(start, row, whole, factor)
        assert found.tolist() == [
            sum(int(x) * int(y) for x, y in zip(column, factor, strict=True)) for column in matrix.T
        ]


@pytest.mark.parametrize("seed", SEEDS)
def test_unfold_writes_columns_and_their_negatives(seed: int) -> None:
    for matrix in matrices(seed, (1.0, -3.0)):
        asked = some(matrix, seed)
        *found, count = kernels.unfold(*arrays(matrix), asked)
        expected = np.hstack([matrix, -matrix, matrix[:, asked], -matrix[:, asked]])
        assert count == expected.shape[1]
        np.testing.assert_array_equal(dense(*found, matrix.shape[0]), expected)
