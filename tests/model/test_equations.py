"""Equations: packing, sums against brute force, repeated rows, tolerance."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tablecloak.arrays import Codes
from tablecloak.errors import InputError
from tablecloak.model import Dimension, Hierarchy, Packing, additive, noise, summation_equations
from tablecloak.model.equations import aggregated, distinct_rows
from tests.model.test_dimension import hierarchies

Row = frozenset[tuple[tuple[int, ...], float]]


@st.composite
def dimensions(draw: st.DrawFn, most: int = 3) -> list[Dimension]:
    """A few dimensions over random hierarchies, some with a second one over some leaves or inner codes."""
    found, count = [], draw(st.integers(1, most))
    for d in range(count):
        tree = draw(hierarchies(most=11 if count == 1 else 5))
        others = []
        if draw(st.booleans()):
            below = tree.leaves if draw(st.booleans()) else tree.children(tree.total)
            parts = draw(st.lists(st.sampled_from(below), unique=True, min_size=1))
            others = [Hierarchy.flat(parts, total="Other")]
        found.append(Dimension.of(f"d{d}", tree, *others))
    return found


def every_cell(dims: list[Dimension]) -> Codes:
    return np.array(list(product(*(range(len(dimension.codes)) for dimension in dims))), dtype=np.int32)


def brute_force(dims: list[Dimension], codes: Codes) -> list[Row]:
    """All equations one by one: for each dimension, hierarchy, total and code of the other dimensions."""
    cells = {tuple(row) for row in codes.tolist()}
    found: dict[Row, None] = {}
    for d, dimension in enumerate(dims):
        rest = [range(len(other.codes)) for other in (*dims[:d], *dims[d + 1 :])]
        for hierarchy in dimension.hierarchies:
            for code in hierarchy.codes:
                children = [dimension.index[child] for child in hierarchy.children(code)]
                for others in product(*rest) if children else ():
                    total = (*others[:d], dimension.index[code], *others[d:])
                    parts = [(*others[:d], child, *others[d:]) for child in children]
                    row = [(part, 1.0) for part in parts if part in cells]
                    if total in cells:
                        found[frozenset([*row, (total, -1.0)])] = None
    return list(found)


def rows_of(matrix: csr_array, codes: Codes) -> list[Row]:
    labels = [tuple(row) for row in codes.tolist()]
    dense = matrix.toarray()
    return [frozenset((labels[i], row[i]) for i in np.flatnonzero(row)) for row in dense]


@given(dimensions(), st.randoms(use_true_random=False))
def test_sums_match_brute_force(dims: list[Dimension], random: np.random.Generator) -> None:
    codes = every_cell(dims)
    keep = np.array([random.random() < 0.8 for _ in codes])
    for cells in (codes, codes[keep]):
        sums = summation_equations(dims, cells)
        rows = rows_of(sums.matrix, cells)
        assert len(rows) == len(set(rows)), "every equation once"
        assert set(rows) == set(brute_force(dims, cells))
        assert sums.orphans.size == 0 or len(cells) < len(codes)


def test_the_number_of_equations_of_a_three_way_hierarchical_table() -> None:
    rng = np.random.default_rng(1)
    trees = []
    for size in (9, 14, 7):
        codes = ["Total", *(f"c{i}" for i in range(size))]
        pairs = [(codes[i], codes[rng.integers(i)]) for i in range(1, size + 1)]
        trees.append(Hierarchy.from_pairs(pairs))
    dims = [Dimension.of(name, tree) for name, tree in zip("abc", trees, strict=True)]
    codes = every_cell(dims)
    sums = summation_equations(dims, codes)
    inner = [len(tree) - len(tree.leaves) for tree in trees]
    others = [prod(len(tree) for tree in trees) // len(tree) for tree in trees]
    assert sums.matrix.shape == (sum(map(prod, zip(inner, others, strict=True))), len(codes))
    assert set(rows_of(sums.matrix, codes)) == set(brute_force(dims, codes))
    assert sums.matrix.nnz == sum(
        (len(tree) - 1 + n) * o for tree, n, o in zip(trees, inner, others, strict=True)
    )


@given(dimensions(), st.randoms(use_true_random=False))
def test_permuted_rows_give_the_same_equations(dims: list[Dimension], random: np.random.Generator) -> None:
    codes = every_cell(dims)
    order = list(range(len(codes)))
    random.shuffle(order)  # type: ignore[arg-type]
    one, two = summation_equations(dims, codes), summation_equations(dims, codes[order])
    assert set(rows_of(one.matrix, codes)) == set(rows_of(two.matrix, codes[order]))


def test_absent_totals_are_reported_and_make_no_equation() -> None:
    dims = [Dimension.flat("x", ["a", "b"]), Dimension.flat("y", ["c", "d"])]
    codes = every_cell(dims)
    packing = Packing.of(dims)
    without = codes[1:]
    sums = summation_equations(dims, without)
    assert packing.codes(sums.orphans).tolist() == [[0, 0]]
    assert sums.matrix.shape[0] == 6 - 2, "the two sums to the grand total are gone"
    assert set(rows_of(sums.matrix, without)) == set(brute_force(dims, without))


def test_shared_parts_of_two_hierarchies_are_one_equation() -> None:
    main = Hierarchy.from_dict({"N": ["n1", "n2"], "S": ["s1"]})
    other = Hierarchy.from_dict({"N": ["n1", "n2"], "s1": None}, total="Z")
    dims = [Dimension.of("x", main, other)]
    codes = every_cell(dims)
    assert summation_equations(dims, codes).matrix.shape[0] == 4  # Total, N, S, Z


def test_no_hierarchies_no_equations() -> None:
    sums = summation_equations(
        [Dimension.names("cell", ["a", "b", "c"])], np.arange(3, dtype=np.int32)[:, None]
    )
    assert sums.matrix.shape == (0, 3)
    assert sums.orphans.size == 0


# ---------------------------------------------------------------------- packing


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.data())
def test_keys_there_and_back(sizes: list[int], data: st.DataObject) -> None:
    packing = Packing(tuple(sizes))
    rows = data.draw(st.lists(st.tuples(*(st.integers(0, size - 1) for size in sizes)), min_size=1))
    codes = np.array(rows, dtype=np.int32)
    keys = packing.keys(codes)
    assert (packing.codes(keys) == codes).all()
    assert ((keys >= 0) & (keys < packing.span)).all()
    distinct, places = packing.numbered(keys)
    assert (distinct == np.unique(keys)).all()
    assert (distinct[places] == keys).all()


def test_keys_of_a_small_part_of_a_huge_span() -> None:
    packing = Packing((10**6, 10**6, 10**6))
    keys = np.array([5, 10**17, 5, 7], dtype=np.int64)
    distinct, places = packing.numbered(keys)
    assert distinct.tolist() == [5, 7, 10**17]
    assert places.tolist() == [0, 2, 0, 1]


def test_too_many_dimensions() -> None:
    dims = [Dimension.flat(f"d{i}", [str(k) for k in range(9)]) for i in range(19)]
    with pytest.raises(InputError, match=r"more than 2\^62 cells"):
        Packing.of(dims)


# ---------------------------------------------------------------------- repeated rows


def test_repeated_and_multiplied_rows_are_dropped() -> None:
    rows = [[1, 1, -1, 0], [0, 0, 0, 0], [-1, -1, 1, 0], [0, 1, 0, 1], [0.5, 0.5, -0.5, 0], [0, 1, 0, 2]]
    kept = distinct_rows(csr_array(np.array(rows, dtype=float)))
    assert kept.toarray().tolist() == [rows[0], rows[3], rows[5]]


@given(st.lists(st.lists(st.integers(-2, 2), min_size=4, max_size=4), min_size=1, max_size=12))
def test_distinct_rows_against_brute_force(rows: list[list[int]]) -> None:
    seen, expected = set(), []
    for row in rows:
        lead = next((x for x in row if x), 0)
        key = tuple(x / lead for x in row) if lead else ()
        if key and key not in seen:
            seen.add(key)
            expected.append(row)
    kept = distinct_rows(csr_array(np.array(rows, dtype=float)))
    assert kept.toarray().tolist() == expected


def test_order_of_entries_does_not_hide_a_repeated_row() -> None:
    data, indptr = np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1]), np.array([0, 3, 6])
    matrix = csr_array((data, np.array([0, 1, 2, 2, 1, 0]), indptr), shape=(2, 3))
    assert distinct_rows(matrix).shape == (1, 3)


# ---------------------------------------------------------------------- tolerance

ONE_SUM = csr_array(np.array([[1.0, 1.0, -1.0]]))
ZERO = np.zeros(1)


@pytest.mark.parametrize("total", [1, 10**6, 10**12, 4 * 10**15])
def test_one_unit_is_an_error_whatever_the_size(total: int) -> None:
    parts = [total // 3, total - total // 3]
    assert additive(ONE_SUM, ZERO, np.array([*parts, total])).all()
    assert not additive(ONE_SUM, ZERO, np.array([*parts, total + 1])).any()


@given(st.floats(0, 1e15), st.sampled_from([1.0, 0.01, 1e-9]))
def test_noise_grows_with_the_size(size: float, unit: float) -> None:
    low, high = noise(np.array([size, 2 * size]), unit)
    assert 0 < low <= high <= max(unit / 2, 4e-15 * size)


# ---------------------------------------------------------------------- totals from leaves


@given(dimensions(), st.randoms(use_true_random=False))
def test_totals_count_every_leaf_once(dims: list[Dimension], random: np.random.Generator) -> None:
    codes = every_cell(dims)
    leaf = np.all([dimension.is_leaf[codes[:, d]] for d, dimension in enumerate(dims)], axis=0)
    values = np.array([float(random.randint(-50, 50)) for _ in range(leaf.sum())])  # type: ignore[attr-defined]
    totals, sums = aggregated(dims, codes[leaf], values)
    assert {tuple(row) for row in totals.tolist()} <= {tuple(row) for row in codes.tolist()}
    matrix = summation_equations(dims, totals).matrix
    assert np.abs(matrix @ sums).max(initial=0.0) == 0.0
    grand = [dimension.index[str(dimension.total)] for dimension in dims]
    assert sums[(totals == grand).all(axis=1)] == [values.sum()]
