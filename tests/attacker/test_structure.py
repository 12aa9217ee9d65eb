"""The structure of tables is found again from their equations alone."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tablecloak.attacker import EquationBlock, orient
from tablecloak.attacker.grid import CodeGrid
from tablecloak.attacker.structure import Orientation, recognise

DATA = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
Cell = tuple[int, ...]
Line = tuple[Cell, tuple[Cell, ...]]


def flat(codes: int) -> list[int]:
    """A root and its children, as a list of parents; `codes` counts the root."""
    return [-1] + [0] * (codes - 1)


def tree(*fans: int) -> list[int]:
    """Every code of level i has fans[i] children."""
    parents, level = [-1], [0]
    for fan in fans:
        below = range(len(parents), len(parents) + fan * len(level))
        parents += [parent for parent in level for _ in range(fan)]
        level = list(below)
    return parents


def upwards(parents: list[int], code: int) -> list[int]:
    """The code, its parent and so on up to the root."""
    return [code] if code == 0 else [code, *upwards(parents, parents[code])]


def present_cells(dimensions: list[list[int]], leaves: list[Cell] | None = None) -> list[Cell]:
    """All cells, or those that lie above one of the given leaves."""
    if leaves is None:
        return list(product(*(range(len(parents)) for parents in dimensions)))
    above = (product(*map(upwards, dimensions, leaf)) for leaf in leaves)
    return sorted({cell for cells in above for cell in cells})


def lines_of(dimensions: list[list[int]], cells: list[Cell]) -> list[Line]:
    """A total and its present children, dimension by dimension."""
    children: dict[tuple[int, Cell], list[Cell]] = {}
    for cell in cells:
        for d, parents in enumerate(dimensions):
            if cell[d]:
                children.setdefault((d, (*cell[:d], parents[cell[d]], *cell[d + 1 :])), []).append(cell)
    known = set(cells)
    return [(total, tuple(parts)) for (_, total), parts in children.items() if total in known]


def matrix_of(lines: list[Line], cells: list[Cell], total_sign: int = -1) -> sparse.csr_array[Any, Any]:
    """The equations of the lines, columns in the order of the cells."""
    place = {cell: j for j, cell in enumerate(cells)}
    matrix = np.zeros((len(lines), len(cells)))
    for i, (total, parts) in enumerate(lines):
        matrix[i, place[total]] = total_sign
        matrix[i, [place[part] for part in parts]] = -total_sign
    return sparse.csr_array(matrix)


def table(*dimensions: list[int], total_sign: int = -1) -> sparse.csr_array[Any, Any]:
    cells = present_cells(list(dimensions))
    return matrix_of(lines_of(list(dimensions), cells), cells, total_sign)


def only_block(matrix: sparse.csr_array[Any, Any]) -> EquationBlock:
    (block,) = recognise(matrix).blocks
    return block


def incidence(orientation: Orientation) -> np.ndarray[Any, Any]:
    """Out of a node +1, into it -1, a loop 0."""
    arcs = np.arange(orientation.tail.size)
    matrix = np.zeros((orientation.nodes, arcs.size))
    np.add.at(matrix, (orientation.tail, arcs), 1)
    np.add.at(matrix, (orientation.head, arcs), -1)
    return matrix


def rank(matrix: Any) -> int:
    dense = matrix.toarray() if sparse.issparse(matrix) else matrix
    return int(np.linalg.matrix_rank(dense)) if dense.size else 0


def assert_grid_explains(matrix: sparse.csr_array[Any, Any], block: EquationBlock) -> None:
    """The lines of the recognised grid are the equations of the block, neither more nor fewer."""
    assert block.grid is not None
    cells = [tuple(map(int, row)) for row in block.grid.coordinates]
    place = dict(zip(cells, block.cells.tolist(), strict=True))
    assert len(place) == len(cells)
    expected = {
        (place[total], frozenset(place[part] for part in parts))
        for total, parts in lines_of([parents.tolist() for parents in block.grid.parents], cells)
    }
    found = set()
    for row in matrix.toarray()[block.rows]:
        plus, minus = np.flatnonzero(row > 0).tolist(), np.flatnonzero(row < 0).tolist()
        candidates = {(t[0], frozenset(p)) for t, p in ((plus, minus), (minus, plus)) if len(t) == 1}
        assert len(candidates & expected) == 1
        found |= candidates & expected
    assert len(expected - found) == block.grid.open_lines
    for parents, depth in zip(block.grid.parents, block.grid.depth, strict=True):
        assert (parents[0], depth[0]) == (-1, 0)
        assert (depth[1:] == depth[parents[1:]] + 1).all()


def assert_block_sound(matrix: sparse.csr_array[Any, Any], block: EquationBlock) -> None:
    """Kept rows imply all rows; arcs are the cells and nodes the kept rows."""
    kept = matrix[block.kept_rows].toarray()[:, block.cells]
    assert set(block.kept_rows.tolist()) <= set(block.rows.tolist())
    assert rank(kept) == rank(matrix[block.rows])
    assert (block.kind == "network") == (block.orientation is not None)
    if block.orientation is not None:
        rows = kept.shape[0]
        graph = incidence(block.orientation)
        assert block.orientation.nodes - rows == int((np.abs(kept).sum(axis=0) < 2).any())
        np.testing.assert_array_equal(graph[:rows], block.orientation.sign[:, None] * kept)
        assert (graph.sum(axis=0) == 0).all()


@st.composite
def trees(draw: st.DrawFn) -> list[int]:
    size = draw(st.integers(2, 6))
    return [-1] + [draw(st.integers(0, code - 1)) for code in range(1, size)]


@st.composite
def shuffled_tables(draw: st.DrawFn) -> tuple[sparse.csr_array[Any, Any], list[list[int]], list[Cell]]:
    """Equations with rows, cells and signs shuffled, some cells absent or none; the dimensions; the cells."""
    dimensions = draw(st.lists(trees(), min_size=1, max_size=3))
    ends = [[c for c in range(len(parents)) if c not in parents] for parents in dimensions]
    leaves = list(product(*ends))
    if draw(st.booleans()):
        leaves = draw(st.lists(st.sampled_from(leaves), min_size=1, unique=True))
    cells = draw(st.permutations(present_cells(dimensions, leaves)))
    lines = draw(st.permutations(lines_of(dimensions, cells)))
    long = np.array([len(parts) > 1 for _, parts in lines])
    some = draw(st.lists(st.integers(0, len(lines) - 1), max_size=max(0, int(long.sum() - 1) // 2)))
    sign = np.where(
        long & np.isin(np.arange(len(lines)), some), -1.0, 1.0
    )  # fewer than half of the long ones
    everywhere = draw(st.sampled_from([-1, 1])) if long.any() else -1
    matrix = sparse.csr_array(sparse.diags_array(sign) @ matrix_of(lines, cells, everywhere))
    return matrix, dimensions, cells


def reduced_shape(dimensions: list[list[int]], cells: list[Cell]) -> list[tuple[int, int]]:
    """Number of codes in use and levels, a dimension."""
    used = [{cell[d] for cell in cells} for d in range(len(dimensions))]
    return [(len(u), max(len(upwards(p, c)) - 1 for c in u)) for p, u in zip(dimensions, used, strict=True)]


@settings(max_examples=80, deadline=None)
@given(shuffled_tables())
def test_any_table_is_found_again(
    drawn: tuple[sparse.csr_array[Any, Any], list[list[int]], list[Cell]],
) -> None:
    matrix, dimensions, cells = drawn
    block = only_block(matrix)
    assert block.grid is not None
    expected = reduced_shape(dimensions, cells)
    assert sorted(zip(block.grid.shape, block.grid.levels, strict=True)) == sorted(expected)
    assert block.grid.open_lines == 0
    assert_grid_explains(matrix, block)
    assert_block_sound(matrix, block)
    levels = sorted(block.grid.levels)
    assert block.kind == ("network" if len(levels) == 1 or (len(levels) == 2 and levels[0] == 1) else "grid")


@settings(max_examples=80, deadline=None)
@given(
    shuffled_tables(),
    st.lists(
        st.tuples(st.integers(0, 999), st.integers(0, 999), st.sampled_from([-1, 0, 1])),
        min_size=1,
        max_size=4,
    ),
)
def test_a_damaged_table_is_never_misread(
    drawn: tuple[sparse.csr_array[Any, Any], list[list[int]], list[Cell]], damage: list[tuple[int, int, int]]
) -> None:
    dense = drawn[0].toarray()
    for row, cell, coefficient in damage:
        dense[row % dense.shape[0], cell % dense.shape[1]] = coefficient
    matrix = sparse.csr_array(dense)
    for block in recognise(matrix).blocks:
        assert_block_sound(matrix, block)
        if block.grid is not None:
            assert_grid_explains(sparse.csr_array(dense), block)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 5).flatmap(
        lambda rows: st.integers(0, 6).flatmap(
            lambda columns: st.lists(
                st.sampled_from([0, 0, 0, 1, 1, -1, 2, 0.5]), min_size=rows * columns, max_size=rows * columns
            ).map(lambda entries: np.array(entries, dtype=float).reshape(rows, columns))
        )
    )
)
def test_odd_input_is_described_and_never_wrong(dense: np.ndarray[Any, Any]) -> None:
    matrix = sparse.csr_array(dense)
    structure = recognise(matrix)
    assert structure.description
    cells = [cell for block in structure.blocks for cell in block.cells.tolist()]
    assert sorted(cells) == list(range(dense.shape[1]))
    rows = [row for block in structure.blocks for row in block.rows.tolist()]
    assert sorted(rows) == np.flatnonzero(np.abs(dense).sum(axis=1)).tolist()
    for block in structure.blocks:
        if block.kind != "free":
            assert_block_sound(matrix, block)
        if block.grid is not None:
            assert_grid_explains(matrix, block)


@pytest.mark.parametrize(
    ("dimensions", "kind", "description"),
    [
        ([flat(5)], "network", "one-way 5"),
        ([tree(2, 3)], "network", "one-way 9, one hierarchy of 2 levels"),
        ([flat(2), flat(2)], "network", "two-way 2 x 2"),
        ([flat(4), flat(6)], "network", "two-way 4 x 6"),
        ([tree(2, 2, 2), flat(4)], "network", "two-way 15 x 4, one hierarchy of 3 levels"),
        ([flat(4), tree(3, 1)], "network", "two-way 4 x 7, one hierarchy of 2 levels"),
        ([tree(2, 2), tree(3, 2)], "grid", "two-way 7 x 10, hierarchies of 2 and 2 levels"),
        ([flat(3), flat(3), flat(4)], "grid", "three-way 3 x 3 x 4"),
        ([tree(2, 2, 2), flat(3), flat(2)], "grid", "three-way 15 x 3 x 2, one hierarchy of 3 levels"),
        ([tree(2, 2), tree(2, 2), flat(3)], "grid", "three-way 7 x 7 x 3, hierarchies of 2, 2 and 1 levels"),
    ],
)
def test_kind_and_description(dimensions: list[list[int]], kind: str, description: str) -> None:
    matrix = table(*dimensions)
    block = only_block(matrix)
    assert (block.kind, block.description) == (kind, description)
    assert block.grid is not None
    assert block.grid.complete
    assert_block_sound(matrix, block)


def test_larger_tables_with_shuffled_cells() -> None:
    rng = np.random.default_rng(3)
    for dimensions in ([tree(3, 4, 4), flat(40)], [flat(14), flat(14), flat(14)], [flat(50), flat(50)]):
        matrix = table(*dimensions)
        matrix = matrix[rng.permutation(matrix.shape[0])][:, rng.permutation(matrix.shape[1])]
        grid = only_block(sparse.csr_array(matrix)).grid
        assert grid is not None
        assert sorted(grid.shape) == sorted(map(len, dimensions))


def test_two_cell_equations_follow_the_signs_of_the_longer_ones() -> None:
    for total_sign in (-1, 1):
        matrix = table(tree(3, 1), flat(2), total_sign=total_sign)
        block = only_block(matrix)
        assert block.grid is not None
        assert block.grid.coordinates[0].tolist() == [0, 0]
        assert block.grid.shape == (7, 2)
    alone = only_block(sparse.csr_array([[1.0, -1.0]]))
    assert alone.grid is not None
    assert alone.grid.coordinates.tolist() == [[1], [0]]
    beside = recognise(sparse.csr_array([[1.0, -1.0, 0, 0, 0], [0, 0, 1, -1, -1]])).blocks[0]
    assert beside.grid is not None
    assert beside.grid.coordinates.tolist() == [[0], [1]]


def test_hierarchy_of_castro_2007_figure_3() -> None:
    """Vector V-003-1: 21 cells, 16 equations of rank 13, a network of 14 nodes."""
    inner = {
        "R1": (5, 6),
        "R2": (10, 15),
        "R3": (15, 21),
        "R21": (8, 10),
        "R22": (2, 5),
        "R211": (6, 6),
        "R212": (2, 4),
    }
    order = ["R3", "R1", "R2", "R21", "R22", "R211", "R212"]
    matrix = table([-1, 0, 0, 2, 2, 3, 3], flat(3))
    values = np.array([(sum(inner[row]), *inner[row]) for row in order]).ravel()
    assert (matrix @ values == 0).all()
    block = only_block(matrix)
    assert matrix.shape == (16, 21)
    assert block.description == "two-way 7 x 3, one hierarchy of 3 levels"
    assert block.orientation is not None
    assert (block.orientation.tail.size, block.orientation.nodes, block.kept_rows.size) == (21, 14, 14)
    assert rank(matrix) == rank(incidence(block.orientation)) == 13
    assert (incidence(block.orientation) @ values == 0).all()
    assert_block_sound(matrix, block)


def test_a_line_that_does_not_follow_from_the_others_is_kept() -> None:
    """Column 1 is not split below code 1: the row sum of code 1 is no longer implied by its children's."""
    dimensions = [tree(2, 2), flat(4)]
    parents = dimensions[0]
    cells = [c for c in present_cells(dimensions) if not (parents[c[0]] == 1 and c[1] == 1)]
    matrix = matrix_of(lines_of(dimensions, cells), cells)
    block = only_block(matrix)
    assert block.grid is not None
    assert (block.grid.shape, block.kind) == ((7, 4), "grid")
    assert block.description.endswith("26 of 28 cells")
    assert_block_sound(matrix, block)


def linked_tables(repeat_margin: bool) -> sparse.csr_array[Any, Any]:
    """Tables A x B and A x C that share the margin A."""
    dimensions = [flat(4), flat(3), flat(5)]
    cells = [cell for cell in present_cells(dimensions) if 0 in cell[1:]]
    lines = lines_of(dimensions, cells)
    margin = [line for line in lines if line[0] == (0, 0, 0) and line[1][0][0]]
    return matrix_of(lines + margin * repeat_margin, cells)


def test_linked_tables_are_part_of_a_cover_grid_and_repeated_equations_are_dropped() -> None:
    once, twice = only_block(linked_tables(False)), only_block(linked_tables(True))
    for block in (once, twice):
        assert block.description == "three-way 4 x 3 x 5, 28 of 60 cells"
        assert block.kind == "grid"
    assert once.kept_rows.tolist() == once.rows.tolist() == twice.kept_rows.tolist()
    assert twice.rows.size == once.rows.size + 1
    reversed_copy = sparse.csr_array(sparse.vstack([table(flat(3), flat(3)), -table(flat(3), flat(3))]))
    block = only_block(reversed_copy)
    assert (block.kind, block.kept_rows.tolist(), block.rows.size) == ("network", list(range(6)), 12)


def test_many_linked_lists_need_more_than_a_machine_word() -> None:
    dimensions = [flat(20)] * 20
    cells = [(0,) * 20, *((0,) * d + (c,) + (0,) * (19 - d) for d in range(20) for c in range(1, 20))]
    matrix = matrix_of(lines_of(dimensions, cells), cells)
    block = only_block(matrix)
    assert block.description.startswith("20-way 20 x 20")
    assert_grid_explains(matrix, block)


def without(matrix: sparse.csr_array[Any, Any], row: int) -> sparse.csr_array[Any, Any]:
    return sparse.csr_array(matrix[np.delete(np.arange(matrix.shape[0]), row)])


def test_a_two_way_table_without_one_equation_is_a_network() -> None:
    matrix = table(flat(4), flat(4))
    for row in range(matrix.shape[0]):
        assert only_block(without(matrix, row)).kind == "network"


def test_a_missing_equation_is_counted() -> None:
    dimensions = [flat(3), flat(3), flat(3)]
    cells = present_cells(dimensions)
    lines = lines_of(dimensions, cells)
    inner = next(i for i, (total, _) in enumerate(lines) if total == (1, 1, 0))
    block = only_block(without(matrix_of(lines, cells), inner))
    assert block.grid is not None
    assert (block.grid.open_lines, block.grid.complete) == (1, False)
    assert block.description == "three-way 3 x 3 x 3, 1 line without equation"


def test_tables_that_are_no_grids() -> None:
    three_way = table(flat(3), flat(3), flat(3))
    cells = [cell for cell in present_cells([flat(4), flat(4)]) if cell != (1, 0)]
    no_margin = matrix_of(lines_of([flat(4), flat(4)], cells), cells)  # row 1 has lost its total
    overlapping = np.zeros(
        (4, 6)
    )  # two groupings of the same leaves: 0 = 1 + 2 = 3 + 4, 1 = 4 + 5, 3 = 2 + 5
    for row, line in enumerate(([0, 1, 2], [0, 3, 4], [1, 4, 5], [3, 2, 5])):
        overlapping[row, line] = -1, 1, 1
    cycle = np.array([[-1.0, 1, 0, 1, 0], [0, -1, 1, 1, 1], [1, 0, -1, 1, 1]])
    weighted = three_way.toarray() * 2
    for dense in (no_margin.toarray(), overlapping, cycle, weighted):
        block = only_block(sparse.csr_array(dense))
        assert block.grid is None
        assert_block_sound(sparse.csr_array(dense), block)
    assert only_block(sparse.csr_array(weighted)).description == "general: 27 cells, 27 equations"
    assert [only_block(sparse.csr_array(dense)).kind for dense in (cycle, no_margin)] == [
        "general",
        "network",
    ]


def test_a_line_must_have_all_its_parts() -> None:
    complete = table(flat(4), flat(3), flat(3)).tocoo()
    for entry in np.flatnonzero(complete.data > 0):
        lacking = complete.tocsr()
        lacking[complete.row[entry], complete.col[entry]] = 0
        assert all(block.grid is None for block in recognise(lacking).blocks)


def test_two_cells_cannot_have_the_same_place() -> None:
    matrix = table(flat(4), flat(4))
    block = only_block(sparse.csr_array(sparse.hstack([matrix, matrix[:, [-1]]])))
    assert (block.kind, block.grid) == ("network", None)


def test_parts_must_be_children_in_one_dimension() -> None:
    """A part gives way to another cell below the total: coordinates and counts stay, the line is wrong."""
    dimensions = [tree(2, 2), flat(3), flat(3), flat(3)]
    cells = present_cells(dimensions)
    lines = lines_of(dimensions, cells)
    rng = np.random.default_rng(5)
    for i in rng.choice(len(lines), 80, replace=False):
        total, parts = lines[i]
        below = [
            cell
            for cell in cells
            if all(t in upwards(p, c) for p, t, c in zip(dimensions, total, cell, strict=True))
            and cell not in (total, *parts)
        ]
        for j in rng.permutation(len(below))[:3]:
            odd = [*lines[:i], (total, (*parts[1:], below[j])), *lines[i + 1 :]]
            assert all(block.grid is None for block in recognise(matrix_of(odd, cells)).blocks)


def test_an_absent_margin_of_a_three_way_table_does_not_hide_the_grid() -> None:
    dimensions = [flat(3), flat(3), flat(4)]
    cells = [cell for cell in present_cells(dimensions) if cell != (1, 1, 0)]
    matrix = matrix_of(lines_of(dimensions, cells), cells)
    assert only_block(matrix).description == "three-way 3 x 3 x 4, 35 of 36 cells"
    assert_grid_explains(matrix, only_block(matrix))


def test_a_very_deep_chain_is_a_network() -> None:
    cells = 3000
    steps = sparse.diags_array(
        [np.full(cells, -1.0), np.ones(cells)], offsets=[0, 1], shape=(cells, cells + 1)
    )
    block = only_block(sparse.csr_array(steps))
    assert (block.kind, block.grid) == ("network", None)


def test_blocks_and_free_cells() -> None:
    parts = [
        table(flat(3), flat(3)),
        table(flat(3), flat(3)),
        table(flat(3), flat(3), flat(3)),
        np.zeros((2, 4)),
    ]
    matrix = sparse.csr_array(sparse.block_diag(parts))
    structure = recognise(matrix)
    assert [block.kind for block in structure.blocks] == ["network", "network", "grid", "free"]
    assert structure.description == "2 times two-way 3 x 3; three-way 3 x 3 x 3; free: 4 cells in no equation"
    assert structure.blocks[1].cells.tolist() == list(range(9, 18))
    assert structure.blocks[1].rows.tolist() == list(range(6, 12))
    assert structure.blocks[3].rows.size == 0
    assert recognise(sparse.csr_array((0, 0))).description == "no cells"


def test_input_is_left_alone_and_output_is_read_only() -> None:
    matrix = table(flat(3), flat(3)).astype(np.int64)
    matrix.data[0] = 0
    before = (matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy())
    block = only_block(matrix)
    for was, now in zip(before, (matrix.data, matrix.indices, matrix.indptr), strict=True):
        np.testing.assert_array_equal(was, now)
    with pytest.raises(ValueError, match="read-only"):
        block.cells[0] = 1


def test_orient_closes_the_rest_through_the_ground() -> None:
    matrix = np.array([[1.0, 1, 0, 0, 0], [0, 1, -1, 0, 0], [0, 0, 0, 0, 0]])
    for form in (sparse.csr_array(matrix), sparse.csc_array(matrix)):
        found = orient(form)
        assert found is not None
        assert found.nodes == 4
        np.testing.assert_array_equal(incidence(found)[:3], found.sign[:, None] * matrix)
        assert (found.tail[3:] == 3).all() and (found.head[3:] == 3).all()


@pytest.mark.parametrize(
    "matrix",
    [
        table(flat(3), flat(3), flat(3)),
        sparse.csr_array([[1.0, 0, 1], [1, 1, 0], [0, 1, 1]]),  # an odd cycle of equal signs
        sparse.csr_array([[2.0, 1], [-2, 1]]),
        sparse.csr_array([[1.0, 1], [1, -1]]),
    ],
)
def test_orient_refuses_what_is_no_network(matrix: sparse.csr_array[Any, Any]) -> None:
    assert orient(matrix) is None


def read_equations(path: Path) -> sparse.csr_array[Any, Any]:
    """The equations of a JJ file."""
    words = path.read_text().translate(str.maketrans("():", "   ")).split()
    cells = int(words[1])
    at = 3 + 9 * cells
    rows, columns, data = [], [], []
    for row in range(int(words[at - 1])):
        end = at + 2 + 2 * int(words[at + 1])
        columns += [int(word) for word in words[at + 2 : end : 2]]
        data += [float(word) for word in words[at + 3 : end : 2]]
        rows += [row] * (len(columns) - len(rows))
        at = end
    assert at == len(words)
    return sparse.csr_array((data, (rows, columns)), shape=(row + 1, cells))


# The hier* tables group the same leaves in several ways and have several tops: no tree, so no grid.
LIBRARY = {
    "cbs": ("network", "two-way 183 x 61"),
    "hier13x13x13a": ("general", "general: 2197 cells, 3549 equations"),
    "hier13x13x7d": ("general", "general: 1183 cells, 1443 equations"),
    "hier13x7x7d": ("general", "general: 637 cells, 525 equations"),
    "hier16": ("general", "general: 3564 cells, 5484 equations"),
    "jjtabel3": ("grid", "two-way 55 x 55, hierarchies of 5 and 3 levels"),
    "ninenew": ("grid", "nine-way 6 x 6 x 6 x 6 x 6 x 6 x 6 x 6 x 10, 6546 of 16796160 cells"),
    "osorio": ("network", "two-way 101 x 101"),
    "table1": ("grid", "three-way 6 x 33 x 8"),
    "table7": ("grid", "three-way 6 x 8 x 13"),
    "table8": ("network", "two-way 41 x 31"),
    "targus": ("network", "two-way 9 x 18, one hierarchy of 2 levels"),
    "toy3dsarah": ("grid", "three-way 17 x 17 x 10, one hierarchy of 4 levels"),
}


@pytest.mark.parametrize("name", LIBRARY)
def test_instances_of_the_library(name: str) -> None:
    path = DATA / "csplib" / f"{name}.jj"
    if not path.exists():
        pytest.skip(f"{path} is absent: set TABLECLOAK_DATA to the folder with the real data")
    matrix = read_equations(path)
    block = only_block(matrix)
    print(f"{name}: {block.kind}, {block.description}")
    assert (block.kind, block.description) == LIBRARY[name]
    if matrix.shape[1] < 500:
        assert_block_sound(matrix, block)
    grid: CodeGrid | None = block.grid
    assert grid is None or grid.open_lines == 0
