"""The grid behind a table's equations: dimensions, codes and coordinates read from lines (a total and its parts).

A cell is a part in as many lines as it has coordinates away from the root. The *apex* is never a part; cells that are
a part once are the codes of one dimension; any other cell has in each dimension the deepest coordinate of the totals
above it. What was read this way is checked against every equation.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy import sparse

from tablecloak.arrays import Bools, Codes, Ints, frozen, ranges
from tablecloak.errors import counted

if TYPE_CHECKING:
    Matrix = sparse.csr_array[Any, tuple[int, int]]

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True)
class GridLimits:
    """Limits of what is recognised as a grid."""

    max_dimensions: int = 32
    """Maximum number of dimensions: a cell that is the total of more lines is no apex. Untested default."""
    max_levels: int = 1000
    """Maximum depth of a cell below the apex: bounds the passes over the levels. Untested default."""


LIMITS = GridLimits()


@dataclass(frozen=True, eq=False)
class CodeGrid:
    """Codes and coordinates of a table, complete or with cells left out.

    `parents[d][c]` is the parent of code c in dimension d and `depth[d][c]` its distance from the root, which
    is code 0, has parent -1 and depth 0; codes are in order of depth. Row i of `coordinates` belongs to
    cell i of the block. `open_lines` counts the lines (a total and its children in one dimension, both in
    the table) that no equation ties.
    """

    parents: tuple[Codes, ...]
    depth: tuple[Codes, ...]
    coordinates: Codes
    open_lines: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of codes of each dimension, totals included."""
        return tuple(parents.size for parents in self.parents)

    @property
    def levels(self) -> tuple[int, ...]:
        """Number of levels below the root of each dimension: 1 for a flat list of codes."""
        return tuple(int(depth[-1]) for depth in self.depth)

    @property
    def complete(self) -> bool:
        """Every combination of codes is a cell and every line has its equation."""
        return self.open_lines == 0 and self.coordinates.shape[0] == prod(self.shape)


@dataclass(frozen=True, eq=False)
class LineEquations:
    """Equations read as one total and its parts: ``part[i]`` is a part in line ``of[i]``, `of` ascending."""

    total: Ints
    total_sign: Ints
    part: Ints
    of: Ints


def usual_total_sign(matrix: Matrix, default: int) -> int:
    """The sign of the total in most equations of three or more cells."""
    size = np.diff(matrix.indptr)
    positive = np.bincount(row_of_entry(matrix), weights=matrix.data > 0, minlength=matrix.shape[0])
    lean = int((positive == 1)[size > 2].sum()) - int((positive == size - 1)[size > 2].sum())
    return default if lean == 0 else (1 if lean > 0 else -1)


def read_lines(matrix: Matrix, two_cell_total_sign: int) -> LineEquations | None:
    """The total of an equation is the only entry of its sign; None if some equation is not a line."""
    if (np.abs(matrix.data) != 1).any():
        return None
    row = row_of_entry(matrix)
    size = np.diff(matrix.indptr)
    positive = np.bincount(row, weights=matrix.data > 0, minlength=matrix.shape[0])
    total_sign = np.select(
        [(positive == 1) & (size == 2), (positive == 1) & (size > 2), (positive == size - 1) & (size > 2)],
        [two_cell_total_sign, 1, -1],
        default=0,
    )
    if (total_sign == 0).any():
        return None
    is_total = matrix.data == total_sign[row]
    cell = matrix.indices.astype(np.int64)
    return LineEquations(cell[is_total], total_sign, cell[~is_total], row[~is_total])


def find_grid(
    matrix: Matrix, lines: LineEquations, limits: GridLimits = LIMITS
) -> tuple[CodeGrid, Bools] | None:
    """The grid, and which of its lines a network can do without; None if these are not lines of a grid."""
    cells = matrix.shape[1]
    times_part = np.bincount(lines.part, minlength=cells)
    apex = np.flatnonzero(times_part == 0)
    if apex.size != 1:
        return None
    starts = np.flatnonzero(lines.total == apex)  # one line for each dimension
    reach = np.bincount(lines.of, weights=np.abs(lines.part - apex)) / np.bincount(lines.of)
    rank = np.argsort(np.argsort(-reach[starts], kind="stable"))  # where cells are in odometer order: theirs
    above = np.full(cells, apex[0])  # any one of the totals of a cell: in a grid all ways up are equally long
    above[lines.part] = lines.total[lines.of]
    climbed = _climb(above, int(apex[0]))
    axis = np.flatnonzero(times_part == 1)
    if starts.size > limits.max_dimensions or climbed is None or (times_part[above[axis]] > 1).any():
        return None

    top, level = climbed
    start_of = np.zeros(cells, dtype=np.int64)  # only looked up for parts of these lines
    start_of[lines.part] = np.searchsorted(starts, lines.of)
    dimension = rank[start_of[top[axis]]]
    code = np.zeros(cells, dtype=np.int32)
    coordinates = np.zeros((cells, starts.size), dtype=np.int32, order="F")
    parents, depth = [], []
    for d in range(starts.size):
        codes = axis[dimension == d]
        codes = codes[np.argsort(level[codes], kind="stable")]
        code[codes] = coordinates[codes, d] = np.arange(1, codes.size + 1)
        parents.append(frozen(np.concatenate([[-1], code[above[codes]]]).astype(np.int32)))
        depth.append(frozen(np.concatenate([[0], level[codes]]).astype(np.int32)))
    if level.max() > min(limits.max_levels, sum(int(depths[-1]) for depths in depth)):
        return None
    _fill_inner_cells(coordinates, lines, level, times_part)
    checked = _check_lines(lines, coordinates, parents)
    if checked is None:
        return None
    line_dimension, open_lines = checked
    grid = CodeGrid(tuple(parents), tuple(depth), frozen(coordinates), open_lines)
    return grid, implied_lines(matrix, lines, grid, line_dimension)


def _climb(above: Ints, apex: int) -> tuple[Ints, Ints] | None:
    """For every cell the last cell before the apex on its way up, and its distance from the apex.

    By pointer doubling: the number of rounds is the logarithm of the depth. None if some way is a cycle.
    """
    arrived = above == apex
    top = np.where(arrived, np.arange(above.size), above)
    level = np.where(arrived, 0, 1)
    for _ in range(above.size.bit_length() + 1):
        further = top[top]
        if np.array_equal(further, top):
            break
        level += level[top]
        top = further
    if not arrived[top].all():
        return None
    level += 1
    level[apex] = 0
    return top, level


def _fill_inner_cells(coordinates: Codes, lines: LineEquations, level: Ints, times_part: Ints) -> None:
    """Coordinates of the cells that are parts in several lines, level by level from the apex.

    Each total above a cell has the cell's coordinates but one, which is moved to the parent. Codes are
    numbered by depth, so the deepest coordinate is the largest.
    """
    by_part = np.argsort(lines.part, kind="stable")
    totals = lines.total[lines.of[by_part]]
    start = np.cumsum(times_part) - times_part
    inner = np.flatnonzero(times_part > 1)
    inner = inner[np.argsort(level[inner], kind="stable")]
    for cells in np.split(inner, np.flatnonzero(np.diff(level[inner])) + 1):
        if cells.size:
            size = times_part[cells]
            above = totals[ranges(start[cells], start[cells] + size)]
            for d in range(coordinates.shape[1]):
                coordinates[cells, d] = np.maximum.reduceat(coordinates[above, d], np.cumsum(size) - size)


def _check_lines(lines: LineEquations, coordinates: Codes, parents: list[Codes]) -> tuple[Codes, int] | None:
    """The dimension of every line and the number of open lines; None if coordinates and equations disagree.

    They agree if cells have different coordinates and each line consists of a total and all the cells of
    the table that are its children in one dimension and agree with it in the others.
    """
    above = lines.total[lines.of]
    moves = np.zeros(lines.part.size, dtype=np.int32)
    moved = np.zeros(lines.part.size, dtype=np.int32)
    for d, parent in enumerate(parents):
        here, there = coordinates[lines.part, d], coordinates[above, d]
        differs = here != there
        if (parent[here[differs]] != there[differs]).any():
            return None
        moves += differs
        moved[differs] = d
    line_dimension = np.zeros(lines.total.size, dtype=np.int32)
    line_dimension[lines.of] = moved
    if (moves != 1).any() or (line_dimension[lines.of] != moved).any():
        return None

    # Keys are mixed radix numbers, or a hash where those would overflow. The hash is sound: different keys
    # are different coordinates, and a family as large as its line holds nothing but the line.
    shape = [parent.size for parent in parents]
    strides = np.random.default_rng(0).integers(2**64, size=len(shape), dtype=np.uint64)
    if prod(shape) < 2**63:
        strides = np.array([prod(shape[d + 1 :]) for d in range(len(shape))], dtype=np.uint64)
    key = (coordinates.astype(np.uint64) * strides).sum(axis=1, dtype=np.uint64)
    known = np.sort(key)
    if (known[1:] == known[:-1]).any():
        return None
    size = np.bincount(lines.of)
    open_lines = 0
    for d, parent in enumerate(parents):
        code = coordinates[:, d]
        child = code > 0
        up = (code[child] - parent[code[child]]).astype(np.uint64)
        families, members = np.unique(key[child] - up * strides[d], return_counts=True)
        along = np.flatnonzero(line_dimension == d)
        if (members[np.searchsorted(families, key[lines.total[along]])] != size[along]).any():
            return None
        nearest = np.minimum(np.searchsorted(known, families), known.size - 1)
        open_lines += int((known[nearest] == families).sum()) - along.size
    return line_dimension, open_lines


def implied_lines(matrix: Matrix, lines: LineEquations, grid: CodeGrid, line_dimension: Codes) -> Bools:
    """Lines of a two-way table with one hierarchy that follow from the others and spoil the network.

    Let F(r) sum row r over the flat dimension, H(r, c) sum the children of code r in column c, H(r, 0) those
    in the total column, each with its total moved to the left with a minus. For a code r with children

        F(r) = sum of F(q) over the children q of r  -  sum of H(r, c) over the columns c  +  H(r, 0),

    so F(r) follows from lines deeper down and, by induction, from lines at the leaves: dropping all of them
    keeps the row space. Where cells are absent this may fail; the identity is tested for each r, exactly.
    """
    implied = np.zeros(lines.total.size, dtype=np.bool_)
    if len(grid.levels) != 2 or min(grid.levels) > 1 or max(grid.levels) == 1:
        return implied
    deep = int(np.argmax(grid.levels))
    parent = grid.parents[deep]
    inner = np.zeros(parent.size, dtype=np.bool_)
    inner[parent[1:]] = True
    inner[0] = False
    row_code = grid.coordinates[lines.total, deep]
    flat = np.flatnonzero(line_dimension != deep)
    hierarchical = np.flatnonzero(line_dimension == deep)
    in_margin = grid.coordinates[lines.total[hierarchical], 1 - deep] == 0
    below_root = flat[row_code[flat] > 0]
    line = np.concatenate([below_root, flat, hierarchical])
    code = np.concatenate([parent[row_code[below_root]], row_code[flat], row_code[hierarchical]])
    factor = np.concatenate([np.ones(below_root.size), -np.ones(flat.size), np.where(in_margin, 1.0, -1.0)])
    factor *= -lines.total_sign[line]
    combination = sparse.csr_array((factor, (code, line)), shape=(parent.size, line_dimension.size))
    rest = sparse.csr_array(combination @ matrix)
    rest.eliminate_zeros()
    inner &= np.diff(rest.indptr) == 0
    implied[flat] = inner[row_code[flat]]
    return implied


def row_of_entry(matrix: Matrix) -> Ints:
    """The row of each stored entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def describe_grid(grid: CodeGrid) -> str:
    """The shape of a grid in words."""
    ways, cells = len(grid.shape), grid.coordinates.shape[0]
    words = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    text = f"{words[ways - 1] if ways <= len(words) else ways}-way {' x '.join(map(str, grid.shape))}"
    hierarchies = [levels for levels in grid.levels if levels > 1]
    if len(hierarchies) == 1:
        text += f", one hierarchy of {hierarchies[0]} levels"
    elif hierarchies:
        *most, last = map(str, grid.levels)
        text += f", hierarchies of {', '.join(most)} and {last} levels"
    if cells < prod(grid.shape):
        text += f", {cells} of {prod(grid.shape)} cells"
    return text if grid.open_lines == 0 else f"{text}, {counted(grid.open_lines, 'line')} without equation"
