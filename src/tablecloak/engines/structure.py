"""What the equations of a table say about its shape: a network, a grid of hierarchies, or neither.

A file of cells and equations has no dimensions. `recognise` finds them again, so that kernels and methods
can fire on structure wherever the table came from:

- an equation is a *line*: one total and its parts;
- in a grid (a k-way table with hierarchies) a cell is a part in as many lines as it has coordinates away
  from the root. The *apex* is never a part; cells that are a part once are the codes of one dimension; any
  other cell has in each dimension the deepest coordinate of the totals above it;
- what was read this way is checked against every equation: a wrong guess costs time, never truth;
- a block is a *network* if its equations, redundant ones dropped, are the node balances of a graph whose
  arcs are the cells (`orient`). Two-way tables with at most one hierarchy are: Castro (2007), "A
  shortest-paths heuristic for statistical data protection in positive tables".

Everything is a handful of passes over the nonzeros; loops run over dimensions, levels and blocks only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

if TYPE_CHECKING:
    Matrix = sparse.csr_array[Any, tuple[int, int]]

Kind = Literal["free", "network", "grid", "general"]
Codes = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)

MOST_DIMENSIONS = 32
"""A cell from which more lines than this start is not taken for the apex of a grid."""

MOST_LEVELS = 1000
"""A table in which a cell is further below the apex than this is not taken for a grid."""

SHOWN_BLOCKS = 5
"""How many different blocks the description of a structure spells out."""


@dataclass(frozen=True, eq=False)
class Orientation:
    """Cells as arcs: `M d = 0` if and only if d is a circulation.

    The arc of cell j leaves node `tail[j]` and enters node `head[j]`. Node i is row i of the matrix times
    `sign[i]`. A cell of one equation only is closed through the ground, the node after the last row, and
    a cell of none is a loop there; `nodes` counts the ground only where it is used.
    """

    nodes: int
    tail: Codes
    head: Codes
    sign: npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Grid:
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
        """Number of codes a dimension, totals included."""
        return tuple(parents.size for parents in self.parents)

    @property
    def levels(self) -> tuple[int, ...]:
        """Levels below the root a dimension: 1 for a flat list of codes."""
        return tuple(int(depth[-1]) for depth in self.depth)

    @property
    def complete(self) -> bool:
        """Every combination of codes is a cell and every line has its equation."""
        return self.open_lines == 0 and self.coordinates.shape[0] == prod(self.shape)


@dataclass(frozen=True, eq=False)
class Block:
    """Cells tied to each other by equations, and what they form.

    `kept_rows` are equations that imply all `rows`: repeated ones are left out, and in a network also those
    that follow from the others and would spoil the graph. In a network node i of `orientation` is equation
    ``kept_rows[i]`` and arc j is cell ``cells[j]``.
    """

    kind: Kind
    cells: Indices
    rows: Indices
    kept_rows: Indices
    grid: Grid | None = None
    orientation: Orientation | None = None

    @property
    def description(self) -> str:
        """A few words such as ``two-way 18 x 9, one hierarchy of 2 levels``."""
        if self.kind == "free":
            return f"free: {_count(self.cells.size, 'cell')} in no equation"
        if self.grid is None:
            return f"{self.kind}: {_count(self.cells.size, 'cell')}, {_count(self.rows.size, 'equation')}"
        return _describe_grid(self.grid)


@dataclass(frozen=True, eq=False)
class Structure:
    """The blocks of a table, in the order of their first equations; last the cells that are in none.

    Every cell is in one block. Equations without cells are in no block.
    """

    blocks: tuple[Block, ...]

    @property
    def description(self) -> str:
        """The descriptions of the blocks, the most frequent first."""
        if not self.blocks:
            return "no cells"
        ranked = Counter(block.description for block in self.blocks).most_common()
        shown = [text if times == 1 else f"{times} times {text}" for text, times in ranked[:SHOWN_BLOCKS]]
        hidden = sum(times for _, times in ranked[SHOWN_BLOCKS:])
        return "; ".join([*shown, f"{hidden} more"] if hidden else shown)


def orient(matrix: Matrix | sparse.csc_array[Any]) -> Orientation | None:
    """The graph of which the rows are node balances and the columns arcs; None if there is none.

    There is one if no column has more than two entries, all of them are +1 or -1, and rows can be negated
    so that the two entries of a column differ in sign: a 2-colouring of the rows.
    """
    columns = sparse.csc_array(matrix, dtype=np.float64, copy=True)
    _tidy(columns)
    rows, cells = columns.shape
    entries = np.diff(columns.indptr)
    if (entries > 2).any() or (np.abs(columns.data) != 1).any():
        return None
    first = columns.indptr[:-1][entries == 2]
    one, other = columns.indices[first], columns.indices[first + 1]
    sign = _two_colouring(rows, one, other, columns.data[first] == columns.data[first + 1])
    if sign is None:
        return None
    leaves = sign[columns.indices] * columns.data > 0
    arc = np.repeat(np.arange(cells), entries)
    tail, head = np.full((2, cells), rows, dtype=np.int32)
    tail[arc[leaves]] = columns.indices[leaves]
    head[arc[~leaves]] = columns.indices[~leaves]
    nodes = rows + int((entries < 2).any())
    return Orientation(nodes, _fixed(tail), _fixed(head), _fixed(sign))


def recognise(equations: Matrix) -> Structure:
    """Split the table into blocks and say of each whether it is a network, a grid or neither.

    Takes any matrix: what is odd about it (coefficients, cycles, several grand totals) only makes blocks
    general. Signs may be reversed in any equation of three cells or more. Which cell of a two-cell
    equation is the total follows from the signs of the longer equations, by default it is the -1.
    """
    matrix = equations.astype(np.float64, copy=True)
    _tidy(matrix)
    usual = _usual_total_sign(matrix, -1)
    place = np.empty(matrix.shape[1], dtype=np.int64)
    blocks = []
    for rows, cells in _connected(matrix):
        place[cells] = np.arange(cells.size)
        own = matrix[rows]
        own = sparse.csr_array((own.data, place[own.indices], own.indptr), shape=(rows.size, cells.size))
        blocks.append(_recognise_block(own, rows, cells, usual))
    alone = np.flatnonzero(np.bincount(matrix.indices, minlength=matrix.shape[1]) == 0)
    if alone.size:
        none = _fixed(alone[:0])
        blocks.append(Block("free", _fixed(alone), none, none))
    return Structure(tuple(blocks))


def _recognise_block(matrix: Matrix, rows: Indices, cells: Indices, usual: int) -> Block:
    """What one connected component is; `usual` is the sign of totals elsewhere in the table."""
    distinct = _distinct_rows(matrix)
    matrix = matrix[distinct]
    usual = _usual_total_sign(matrix, usual)
    found = None
    for two_cell_total_sign in (usual, -usual) if (np.diff(matrix.indptr) == 2).any() else (usual,):
        lines = _read_lines(matrix, two_cell_total_sign)
        found = None if lines is None else _find_grid(matrix, lines)
        if found is not None:
            break
    grid, implied = found if found is not None else (None, np.zeros(distinct.size, dtype=np.bool_))
    orientation = orient(matrix[~implied])
    if orientation is None:
        kind: Kind = "general" if grid is None else "grid"
    else:
        kind, distinct = "network", distinct[~implied]
    return Block(kind, _fixed(cells), _fixed(rows), _fixed(rows[distinct]), grid, orientation)


@dataclass(frozen=True, eq=False)
class _Lines:
    """Equations read as one total and its parts: ``part[i]`` is a part in line ``of[i]``, `of` ascending."""

    total: Indices
    total_sign: Indices
    part: Indices
    of: Indices


def _usual_total_sign(matrix: Matrix, default: int) -> int:
    """The sign of the total in most equations of three or more cells."""
    size = np.diff(matrix.indptr)
    positive = np.bincount(_row_of_entry(matrix), weights=matrix.data > 0, minlength=matrix.shape[0])
    lean = int((positive == 1)[size > 2].sum()) - int((positive == size - 1)[size > 2].sum())
    return default if lean == 0 else (1 if lean > 0 else -1)


def _read_lines(matrix: Matrix, two_cell_total_sign: int) -> _Lines | None:
    """The total of an equation is the only entry of its sign; None if some equation is not a line."""
    if (np.abs(matrix.data) != 1).any():
        return None
    row = _row_of_entry(matrix)
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
    return _Lines(cell[is_total], total_sign, cell[~is_total], row[~is_total])


def _distinct_rows(matrix: Matrix) -> Indices:
    """Rows of the matrix (none of them empty) without those that repeat an earlier one, signs apart.

    Rows are grouped by a hash; a row is dropped only if it really equals the first row of its group.
    """
    start, size, row = matrix.indptr[:-1], np.diff(matrix.indptr), _row_of_entry(matrix)
    data = matrix.data * np.sign(matrix.data[start])[row]
    bits = data.view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    weight = np.random.default_rng(0).integers(2**64, size=matrix.shape[1], dtype=np.uint64)
    hashed = np.add.reduceat(weight[matrix.indices] * bits, start)
    _, first, group = np.unique(hashed, return_index=True, return_inverse=True)
    suspect = np.flatnonzero(first[group] < np.arange(group.size))
    model = first[group[suspect]]
    alike = size[suspect] == size[model]
    suspect, model = suspect[alike], model[alike]
    mine, its = _spread(start[suspect], size[suspect]), _spread(start[model], size[model])
    differs = (matrix.indices[mine] != matrix.indices[its]) | (data[mine] != data[its])
    odd = np.bincount(np.repeat(np.arange(suspect.size), size[suspect])[differs], minlength=suspect.size)
    return np.setdiff1d(np.arange(matrix.shape[0]), suspect[odd == 0])


def _find_grid(matrix: Matrix, lines: _Lines) -> tuple[Grid, Mask] | None:
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
    if starts.size > MOST_DIMENSIONS or climbed is None or (times_part[above[axis]] > 1).any():
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
        parents.append(_fixed(np.concatenate([[-1], code[above[codes]]]).astype(np.int32)))
        depth.append(_fixed(np.concatenate([[0], level[codes]]).astype(np.int32)))
    if level.max() > min(MOST_LEVELS, sum(int(depths[-1]) for depths in depth)):
        return None
    _fill_inner_cells(coordinates, lines, level, times_part)
    checked = _check_lines(lines, coordinates, parents)
    if checked is None:
        return None
    line_dimension, open_lines = checked
    grid = Grid(tuple(parents), tuple(depth), _fixed(coordinates), open_lines)
    return grid, _implied_lines(matrix, lines, grid, line_dimension)


def _climb(above: Indices, apex: int) -> tuple[Indices, Indices] | None:
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


def _fill_inner_cells(coordinates: Codes, lines: _Lines, level: Indices, times_part: Indices) -> None:
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
            above = totals[_spread(start[cells], size)]
            for d in range(coordinates.shape[1]):
                coordinates[cells, d] = np.maximum.reduceat(coordinates[above, d], np.cumsum(size) - size)


def _check_lines(lines: _Lines, coordinates: Codes, parents: list[Codes]) -> tuple[Codes, int] | None:
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


def _implied_lines(matrix: Matrix, lines: _Lines, grid: Grid, line_dimension: Codes) -> Mask:
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


def _tidy(matrix: Matrix | sparse.csc_array[Any]) -> None:
    """Add up repeated entries, drop zeros and sort indices, in place."""
    matrix.sum_duplicates()
    matrix.eliminate_zeros()


def _connected(matrix: Matrix) -> list[tuple[Indices, Indices]]:
    """Rows and columns of every connected component that has entries, in the order of their first rows."""
    rows, columns = matrix.shape
    indptr = np.concatenate([matrix.indptr, np.full(columns, matrix.nnz)])
    entries = (np.ones(matrix.nnz), matrix.indices + rows, indptr)
    graph = sparse.csr_array(entries, shape=(rows + columns, rows + columns))
    label = csgraph.connected_components(graph, directed=False)[1]
    sets = []
    for offset, used in ((0, np.diff(matrix.indptr)), (rows, np.bincount(matrix.indices, minlength=columns))):
        items = np.flatnonzero(used)
        items = items[np.argsort(label[offset + items], kind="stable")]
        sets.append(np.split(items, np.flatnonzero(np.diff(label[offset + items])) + 1))
    return list(zip(*sets, strict=True)) if matrix.nnz else []


def _two_colouring(rows: int, one: Indices, other: Indices, unequal: Mask) -> npt.NDArray[np.int8] | None:
    """Signs of rows so that rows one[i] and other[i] have unequal signs where asked and else equal ones.

    Row r becomes two nodes, "r is positive" (r) and "r is negative" (r + rows), joined to what they imply;
    signs exist unless a row is in one component with its own contrary.
    """
    ends = np.concatenate([other + rows * unequal, other + rows * ~unequal])
    edges = (np.concatenate([one, one + rows]), ends)
    graph = sparse.csr_array((np.ones(ends.size), edges), shape=(2 * rows, 2 * rows))
    label = csgraph.connected_components(graph, directed=False)[1]
    positive, negative = label[:rows], label[rows:]
    if (positive == negative).any():
        return None
    return np.where(positive < negative, 1, -1).astype(np.int8)


def _row_of_entry(matrix: Matrix) -> Indices:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _spread(start: Indices, size: Indices) -> Indices:
    """The numbers start[i], ..., start[i] + size[i] - 1 of every i, one after the other."""
    return np.repeat(start - np.cumsum(size) + size, size) + np.arange(int(size.sum()))


def _fixed(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """The array, read-only from now on."""
    array.setflags(write=False)
    return array


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _describe_grid(grid: Grid) -> str:
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
    return text if grid.open_lines == 0 else f"{text}, {_count(grid.open_lines, 'line')} without equation"
