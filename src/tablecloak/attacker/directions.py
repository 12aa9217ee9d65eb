"""Directions: along which dimension each equation of a table sums, read from the equations.

In a product of dimensions, flat, with hierarchies or with aggregates that do not nest, an equation ("line") adds up
codes of one dimension while those of the others stay as they are. The lines of one parent code at different places are
*parallel*; a *bundle* is such a class: one equation among the codes of one dimension.

- Where the equations are recognised as a grid (`grid.CodeGrid`), the dimension and the code of the total say it all.
- Elsewhere two lines are parallel if every cell of the one is joined to a cell of its own and of the same role
  in the other by a third line, whose part it is and whose total that is; bundles are the classes of the
  transitive closure. Two bundles that meet in a cell belong to different dimensions if their lines form a grid there
  (every cell of a line of the one is in a line of the other), otherwise to one and the same (a code and its parts).

What is read here is an estimate of the structure: subsystems made from it are valid whatever it says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array, csr_array

from tablecloak.arrays import Bools, Ints, frozen, ranges
from tablecloak.attacker.grid import LineEquations, read_lines, row_of_entry, usual_total_sign
from tablecloak.attacker.presolve import structure_of
from tablecloak.attacker.structure import EquationBlock
from tablecloak.model import Table


@dataclass(frozen=True)
class DirectionSettings:
    """What is compared line by line."""

    max_pairs: int = 20_000_000
    """Maximum number of pairs of lines with cells joined by a third line: memory of about a gigabyte; beyond it tables
    without grids have no directions. Untested default."""
    grid_share: float = 0.5
    """Bundles form a grid where more than this share of the further cells of their lines are in lines of both. Untested
    default."""


SETTINGS = DirectionSettings()


@dataclass(frozen=True, eq=False)
class Directions:
    """The dimension and the bundle of each equation, -1 where none was found; those of different blocks differ."""

    dimension: Ints
    bundle: Ints

    @property
    def count(self) -> int:
        """Number of dimensions, of all blocks together."""
        return int(self.dimension.max(initial=-1)) + 1


def directions_of(table: Table, settings: DirectionSettings = SETTINGS) -> Directions:
    """The directions of a table's equations; equations of virtual cells have none."""
    plain = _without_virtual(table)
    dimension, bundle = np.full((2, table.equations.shape[0]), -1, dtype=np.int64)
    rows = np.flatnonzero(plain)
    if rows.size == 0:
        return Directions(frozen(dimension), frozen(bundle))
    printed = table if rows.size == plain.size else _printed(table, rows)
    matrix = csr_array(printed.equations)
    usual = usual_total_sign(matrix, -1)
    for block in structure_of(printed).blocks:
        if block.rows.size == 0:
            continue
        own = csr_array(matrix[block.rows])
        found = _of_grid(own, block, usual) if block.grid is not None else _of_lines(own, usual, settings)
        for target, labels in zip((dimension, bundle), found, strict=True):
            known = labels >= 0
            target[rows[block.rows[known]]] = labels[known] + int(target.max()) + 1
    return Directions(frozen(dimension), frozen(bundle))


def _without_virtual(table: Table) -> Bools:
    """Equations of printed cells only."""
    of = row_of_entry(table.equations)
    hits = np.bincount(
        of, weights=table.is_virtual[table.equations.indices], minlength=table.equations.shape[0]
    )
    return np.asarray(hits == 0)


def _printed(table: Table, rows: Ints) -> Table:
    """The table with some of its equations only: only its structure is read."""
    return replace(table, equations=csr_array(table.equations[rows]), rhs=table.rhs[rows])


# ---------------------------------------------------------------------- grids


def _of_grid(matrix: csr_array, block: EquationBlock, usual: int) -> tuple[Ints, Ints]:
    """Dimension and bundle of each equation of a grid: where the coordinates of its cells differ, and of its total."""
    assert block.grid is not None
    coordinates = block.grid.coordinates
    place = np.zeros(matrix.shape[1], dtype=np.int64)
    place[block.cells] = np.arange(block.cells.size)
    cell, of, start = place[matrix.indices], row_of_entry(matrix), matrix.indptr[:-1]
    dimension = np.full(matrix.shape[0], -1, dtype=np.int64)
    code = np.zeros(matrix.shape[0], dtype=np.int64)
    offset = 0
    for d, parents in enumerate(block.grid.parents):
        least = np.minimum.reduceat(coordinates[cell, d], start)
        moves = np.bincount(of, weights=coordinates[cell, d] != least[of], minlength=matrix.shape[0]) > 0
        dimension[moves] = d
        code[moves] = offset + least[moves]  # codes are numbered by depth: the total has the least
        offset += parents.size
    return dimension, np.where(dimension >= 0, code, -1)


# ---------------------------------------------------------------------- any lines


def _of_lines(matrix: csr_array, usual: int, settings: DirectionSettings) -> tuple[Ints, Ints]:
    """Dimension and bundle of each equation that is a line, by parallel lines."""
    none = np.full((2, matrix.shape[0]), -1, dtype=np.int64)
    are_lines = np.flatnonzero(_line_like(matrix))
    lines = read_lines(csr_array(matrix[are_lines]), usual) if are_lines.size else None
    if lines is None:
        return none[0], none[1]
    parallel = _parallel(lines, matrix.shape[1], settings)
    if parallel is None:
        return none[0], none[1]
    bundle = _classes(lines.total.size, *parallel)
    dimension = _dimensions(lines, bundle, matrix.shape[1], settings)
    none[0, are_lines], none[1, are_lines] = dimension[bundle], bundle
    return none[0], none[1]


def _line_like(matrix: csr_array) -> Bools:
    """Equations with coefficients 1 and -1, all of one sign but one."""
    of, rows = row_of_entry(matrix), matrix.shape[0]
    size = np.diff(matrix.indptr)
    odd = np.bincount(of, weights=np.abs(matrix.data) != 1, minlength=rows)
    positive = np.bincount(of, weights=matrix.data > 0, minlength=rows)
    return np.asarray((odd == 0) & (size >= 2) & ((positive == 1) | (positive == size - 1)))


def _parallel(lines: LineEquations, cells: int, settings: DirectionSettings) -> tuple[Ints, Ints] | None:
    """Pairs of lines each cell of the first of which is a part of a line whose total is in the second, in its role."""
    part_start, part_line = by_cell(lines.part, lines.of, cells)
    total_start, total_line = by_cell(lines.total, np.arange(lines.total.size), cells)
    above = lines.total[lines.of]
    joined = []
    budget = settings.max_pairs
    for start, line in ((part_start, part_line), (total_start, total_line)):
        below_count, above_count = np.diff(start)[lines.part], np.diff(start)[above]
        pairs = below_count * above_count
        budget -= int(pairs.sum())
        if budget < 0:
            return None
        entry = np.repeat(np.arange(pairs.size), pairs)
        number = ranges(np.zeros(pairs.size, dtype=np.int64), pairs)
        first = line[start[lines.part[entry]] + number // np.maximum(above_count[entry], 1)]
        second = line[start[above[entry]] + number % np.maximum(above_count[entry], 1)]
        other = (first != second) & (first != lines.of[entry]) & (second != lines.of[entry])
        ends = (first[other], second[other], lines.part[entry][other], above[entry][other])
        joined.append(np.stack(ends))
    first, second, cell, image = np.concatenate(joined, axis=1)
    pair, times = _counted(first, second, cell)
    _, images = _counted(first, second, image)
    size = np.bincount(lines.of, minlength=lines.total.size) + 1
    whole = (times == size[pair[0]]) & (images == times)
    return pair[0][whole], pair[1][whole]


def _counted(first: Ints, second: Ints, cell: Ints) -> tuple[Ints, Ints]:
    """Pairs, and the number of different cells that each comes with."""
    wide, deep = int(second.max(initial=0)) + 1, int(cell.max(initial=0)) + 1
    pair, number = np.unique(first * wide + second, return_inverse=True)
    times = np.bincount(np.unique(number * deep + cell) // deep, minlength=pair.size)
    return np.stack([pair // wide, pair % wide]), times


def by_cell(cell: Ints, line: Ints, cells: int) -> tuple[Ints, Ints]:
    """The lines of each cell: where they start, and the lines."""
    order = np.argsort(cell, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=cells))])
    return start, line[order]


def _classes(size: int, first: Ints, second: Ints) -> Ints:
    """The connected component of each of `size` things."""
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(first.size), (first, second)), shape=(size, size))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def _dimensions(lines: LineEquations, bundle: Ints, cells: int, settings: DirectionSettings) -> Ints:
    """The dimension of each bundle: those that meet without a grid are of the same one, single lines apart."""
    cell = np.concatenate([lines.part, lines.total])
    of = np.concatenate([lines.of, np.arange(lines.total.size)])
    start, line = by_cell(cell, of, cells)
    count = np.diff(start)[cell]
    entry = np.repeat(np.arange(cell.size), count)
    other = bundle[line[start[cell[entry]] + ranges(np.zeros(cell.size, dtype=np.int64), count)]]
    mine = of[entry]
    different = other != bundle[mine]
    pair, shared = _counted(mine[different], other[different], cell[entry][different])
    size = np.bincount(of, minlength=lines.total.size)
    bundles = np.stack([bundle[pair[0]], pair[1]])
    kinds, kind = np.unique(bundles, axis=1, return_inverse=True)
    kind = kind.ravel()
    further = np.bincount(kind, weights=shared - 1.0)
    possible = np.bincount(kind, weights=size[pair[0]] - 1.0)
    lines_of = np.bincount(bundle)
    same = (further <= settings.grid_share * possible) & (lines_of[kinds] > 1).all(axis=0)
    return _classes(int(bundle.max()) + 1, *kinds[:, same])
