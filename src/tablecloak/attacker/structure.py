"""The structure of a table, read from its equations: a network, a grid of hierarchies, or neither.

A file of cells and equations has no dimensions. `recognise` recovers them, so that kernels and methods
can use the structure wherever the table came from:

- an equation is a *line*: one total and its parts;
- in a grid (a k-way table with hierarchies) a cell is a part in as many lines as it has coordinates away
  from the root. The *apex* is never a part; cells that are a part once are the codes of one dimension; any
  other cell has in each dimension the deepest coordinate of the totals above it;
- the result is checked against every equation: a wrong assumption costs time, never correctness;
- a block is a *network* if its equations, redundant ones dropped, are the node balances of a graph whose
  arcs are the cells (`orient`). Two-way tables with at most one hierarchy are: Castro (2007), "A
  shortest-paths heuristic for statistical data protection in positive tables".

Everything is a handful of passes over the nonzeros; loops run over dimensions, levels and blocks only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tablecloak.arrays import Bools, Codes, Ints, frozen, ranges
from tablecloak.attacker.grid import (
    CodeGrid,
    describe_grid,
    find_grid,
    read_lines,
    row_of_entry,
    usual_total_sign,
)
from tablecloak.errors import counted

if TYPE_CHECKING:
    Matrix = sparse.csr_array[Any, tuple[int, int]]

Kind = Literal["free", "network", "grid", "general"]
Scalar = TypeVar("Scalar", bound=np.generic)


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
class EquationBlock:
    """Cells tied to each other by equations, and their structure.

    `kept_rows` are equations that imply all `rows`: repeated ones are left out, and in a network also those
    that follow from the others and would spoil the graph. In a network node i of `orientation` is equation
    ``kept_rows[i]`` and arc j is cell ``cells[j]``.
    """

    kind: Kind
    cells: Ints
    rows: Ints
    kept_rows: Ints
    grid: CodeGrid | None = None
    orientation: Orientation | None = None

    @property
    def description(self) -> str:
        """A few words such as ``two-way 18 x 9, one hierarchy of 2 levels``."""
        if self.kind == "free":
            return f"free: {counted(self.cells.size, 'cell')} in no equation"
        if self.grid is None:
            return f"{self.kind}: {counted(self.cells.size, 'cell')}, {counted(self.rows.size, 'equation')}"
        return describe_grid(self.grid)


@dataclass(frozen=True, eq=False)
class Structure:
    """The blocks of a table, in the order of their first equations; last the cells that are in none.

    Every cell is in one block. Equations without cells are in no block.
    """

    blocks: tuple[EquationBlock, ...]

    @property
    def description(self) -> str:
        """The descriptions of the blocks, the most frequent first, at most five different ones."""
        return self.described(5)

    def described(self, most: int) -> str:
        """The descriptions of the blocks, the most frequent first, at most this number of different ones."""
        if not self.blocks:
            return "no cells"
        ranked = Counter(block.description for block in self.blocks).most_common()
        shown = [text if times == 1 else f"{times} times {text}" for text, times in ranked[:most]]
        hidden = sum(times for _, times in ranked[most:])
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
    return Orientation(nodes, frozen(tail), frozen(head), frozen(sign))


def recognise(equations: Matrix) -> Structure:
    """Split the table into blocks and classify each as a network, a grid or neither.

    Accepts any matrix: irregularities (coefficients, cycles, several grand totals) only make blocks
    general. Signs may be reversed in any equation of three cells or more. Which cell of a two-cell
    equation is the total follows from the signs of the longer equations, by default it is the -1.
    """
    matrix = equations.astype(np.float64, copy=True)
    _tidy(matrix)
    usual = usual_total_sign(matrix, -1)
    place = np.empty(matrix.shape[1], dtype=np.int64)
    blocks = []
    for rows, cells in _connected(matrix):
        place[cells] = np.arange(cells.size)
        own = matrix[rows]
        own = sparse.csr_array((own.data, place[own.indices], own.indptr), shape=(rows.size, cells.size))
        blocks.append(_recognise_block(own, rows, cells, usual))
    alone = np.flatnonzero(np.bincount(matrix.indices, minlength=matrix.shape[1]) == 0)
    if alone.size:
        none = frozen(alone[:0])
        blocks.append(EquationBlock("free", frozen(alone), none, none))
    return Structure(tuple(blocks))


def _recognise_block(matrix: Matrix, rows: Ints, cells: Ints, usual: int) -> EquationBlock:
    """The structure of one connected component; `usual` is the sign of totals elsewhere in the table."""
    distinct = _distinct_rows(matrix)
    matrix = matrix[distinct]
    usual = usual_total_sign(matrix, usual)
    found = None
    for two_cell_total_sign in (usual, -usual) if (np.diff(matrix.indptr) == 2).any() else (usual,):
        lines = read_lines(matrix, two_cell_total_sign)
        found = None if lines is None else find_grid(matrix, lines)
        if found is not None:
            break
    grid, implied = found if found is not None else (None, np.zeros(distinct.size, dtype=np.bool_))
    orientation = orient(matrix[~implied])
    if orientation is None:
        kind: Kind = "general" if grid is None else "grid"
    else:
        kind, distinct = "network", distinct[~implied]
    return EquationBlock(kind, frozen(cells), frozen(rows), frozen(rows[distinct]), grid, orientation)


def _distinct_rows(matrix: Matrix) -> Ints:
    """Rows of the matrix (none of them empty) without those that repeat an earlier one, signs apart.

    Rows are grouped by a hash; a row is dropped only if it really equals the first row of its group.
    """
    start, size, row = matrix.indptr[:-1], np.diff(matrix.indptr), row_of_entry(matrix)
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
    mine, its = (ranges(start[of], start[of] + size[of]) for of in (suspect, model))
    differs = (matrix.indices[mine] != matrix.indices[its]) | (data[mine] != data[its])
    odd = np.bincount(np.repeat(np.arange(suspect.size), size[suspect])[differs], minlength=suspect.size)
    return np.setdiff1d(np.arange(matrix.shape[0]), suspect[odd == 0])


def _tidy(matrix: Matrix | sparse.csc_array[Any]) -> None:
    """Add up repeated entries, drop zeros and sort indices, in place."""
    matrix.sum_duplicates()
    matrix.eliminate_zeros()


def _connected(matrix: Matrix) -> list[tuple[Ints, Ints]]:
    """Rows and columns of every connected component that has entries, in the order of their first rows."""
    from scipy.sparse import csgraph

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


def _two_colouring(rows: int, one: Ints, other: Ints, unequal: Bools) -> npt.NDArray[np.int8] | None:
    """Signs of rows: rows one[i] and other[i] have unequal signs where `unequal[i]`, else equal ones.

    Row r becomes two nodes, "r is positive" (r) and "r is negative" (r + rows), joined to what they imply;
    signs exist unless a row is in one component with its own contrary.
    """
    from scipy.sparse import csgraph

    ends = np.concatenate([other + rows * unequal, other + rows * ~unequal])
    edges = (np.concatenate([one, one + rows]), ends)
    graph = sparse.csr_array((np.ones(ends.size), edges), shape=(2 * rows, 2 * rows))
    label = csgraph.connected_components(graph, directed=False)[1]
    positive, negative = label[:rows], label[rows:]
    if (positive == negative).any():
        return None
    return np.where(positive < negative, 1, -1).astype(np.int8)
