"""Products of bundles: the tables without hierarchies that a hierarchical table consists of.

A product takes in each dimension a bundle (a code and its parts) or a fixed code; its equations are those of the
bundles at the codes of the others. HiTaS orders them by the depth of their bundles.

Reference: de Wolf (2002), HiTaS: a heuristic approach to cell suppression in hierarchical tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array, csr_array

from tablecloak.arrays import Bools, Ints, frozen, ranges
from tablecloak.attacker.directions import Directions, by_cell
from tablecloak.attacker.grid import LineEquations, read_lines, row_of_entry, usual_total_sign
from tablecloak.attacker.subsystem import Subsystem
from tablecloak.model import Table


@dataclass(frozen=True, eq=False)
class HierarchicalSubtable:
    """A table without hierarchies, of codes and their parts: one of HiTaS."""

    system: Subsystem
    level: tuple[int, ...]
    """By dimension the depth of the code whose parts vary, the top's being 1; 0 where the code stays at the top."""
    sizes: tuple[int, ...]
    """By dimension the number of parts, 0 where the code stays at the top."""
    total: Bools
    """(cells, dimensions): whether the cell is a total in that dimension; virtual cells are none."""
    code: Ints
    """(cells, dimensions): a number for each code: cells of a line of another dimension have the same. 0 where the code
    stays at the top."""

    @property
    def group(self) -> int:
        """The sum of the levels: tables of lower groups come first."""
        return sum(self.level)


class BundleProducts:
    """How the equations that have directions split into products."""

    def __init__(self, table: Table, directions: Directions) -> None:
        self.directions = directions
        self._rows = csr_array(table.equations)
        self._is_virtual = table.is_virtual

    @cached_property
    def lines(self) -> LineEquations:
        """Totals and parts of the equations that have directions; the others have neither."""
        known = np.flatnonzero(self.directions.dimension >= 0)
        lines = read_lines(csr_array(self._rows[known]), usual_total_sign(self._rows, -1))
        assert lines is not None
        total = np.full(self._rows.shape[0], -1, dtype=np.int64)
        total[known] = lines.total
        return replace(lines, total=total, of=known[lines.of])

    def split(self, *, margins: bool) -> Iterator[tuple[tuple[int, ...], Ints]]:
        """Connected equations by the bundle in each dimension, -1 where the code is fixed: the products of bundles.

        Each equation is in those of its own bundle and the bundles through its cells. Codes are fixed where there is no
        bundle; with `margins` also where they are no part of another.
        """
        directions, dimensions = self.directions, self.directions.count
        rows = np.flatnonzero(directions.dimension >= 0)
        anchors = self._rows.indices[self._rows.indptr[rows]].astype(np.int64)
        keys = np.full((rows.size, dimensions), -1, dtype=np.int64)
        keys[np.arange(rows.size), directions.dimension[rows]] = directions.bundle[rows]
        lines = self.lines
        for dimension in range(dimensions):
            start, bundle = self._bundles_through(dimension)
            count = np.where(directions.dimension[rows] == dimension, 0, np.diff(start)[anchors])
            fixed = count == 0
            if margins:
                is_part = np.zeros(self._rows.shape[1], dtype=bool)
                is_part[lines.part[directions.dimension[lines.of] == dimension]] = True
                fixed |= ~is_part[anchors] & (directions.dimension[rows] != dimension)
            times = count + fixed
            entry = np.repeat(np.arange(rows.size), times)
            number = ranges(np.zeros(rows.size, dtype=np.int64), times)
            some = number < count[entry]
            place = np.minimum(start[anchors[entry]] + number, bundle.size - 1)
            rows, anchors, keys = rows[entry], anchors[entry], keys[entry]
            keys[some, dimension] = bundle[place[some]]
        group = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
        part = self._parts_within(group, rows)
        order = np.lexsort((rows, part))
        for chosen in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
            if chosen.size:
                yield tuple(keys[chosen[0]].tolist()), rows[chosen]

    def _parts_within(self, group: Ints, rows: Ints) -> Ints:
        """For equations in groups (one may be in several) the connected component that each has within its group."""
        from scipy.sparse.csgraph import connected_components

        chosen = csr_array(self._rows[rows])
        entry = row_of_entry(chosen)
        keys, node = np.unique(group[entry] * self._rows.shape[1] + chosen.indices, return_inverse=True)
        size = rows.size + keys.size
        graph = coo_array((np.ones(entry.size), (entry, rows.size + node.ravel())), shape=(size, size))
        return connected_components(graph, directed=False)[1][: rows.size].astype(np.int64)

    @cached_property
    def depths(self) -> Ints:
        """The depth of each bundle: 1 where its totals are no parts in their dimension, else one more than theirs."""
        directions, lines = self.directions, self.lines
        start, line = by_cell(lines.part, lines.of, self._rows.shape[1])
        below = np.flatnonzero(directions.dimension >= 0)
        above_count = np.diff(start)[lines.total[below]]
        pair = np.repeat(below, above_count)
        number = ranges(np.zeros(below.size, dtype=np.int64), above_count)
        above = line[start[lines.total[pair]] + number]
        own = directions.dimension[above] == directions.dimension[pair]
        lower, upper = np.unique(
            np.stack([directions.bundle[pair[own]], directions.bundle[above[own]]]), axis=1
        )
        depth = np.ones(int(directions.bundle.max(initial=-1)) + 1, dtype=np.int64)
        for _ in range(depth.size):
            before = depth.copy()
            np.maximum.at(depth, lower, depth[upper] + 1)
            if np.array_equal(before, depth):
                break
        return depth

    def is_product(self, rows: Ints, key: tuple[int, ...]) -> bool:
        """Whether some cell is a part in every dimension in which a bundle varies: margins that meet are no table."""
        ends = np.searchsorted(self.lines.of, np.stack([rows, rows + 1]))
        parts = np.unique(self.lines.part[ranges(*ends)], return_counts=True)[1]
        return int(parts.max(initial=0)) >= sum(bundle >= 0 for bundle in key)

    def described(self, system: Subsystem, rows: Ints, key: tuple[int, ...]) -> HierarchicalSubtable:
        """A product with its levels, sizes, totals and codes; `system` has its unions too."""
        lines, depths = self.lines, self.depths
        level = tuple(int(depths[bundle]) if bundle >= 0 else 0 for bundle in key)
        total = np.zeros((len(system), self.directions.count), dtype=bool)
        dimension = self.directions.dimension[rows]
        known = dimension >= 0
        total[np.searchsorted(system.cells, lines.total[rows[known]]), dimension[known]] = True
        size = np.zeros(self.directions.count, dtype=np.int64)
        np.maximum.at(size, dimension[known], np.diff(self._rows.indptr)[rows[known]] - 1)
        codes = self._codes(system, rows, size)
        return HierarchicalSubtable(system, level, tuple(size.tolist()), frozen(total), frozen(codes))

    def _codes(self, system: Subsystem, rows: Ints, size: Ints) -> Ints:
        """The code of each cell by dimension; by the lines of the subtable alone where two cells would have the same."""
        code = self._codes_of_all[system.cells].copy()
        code[:, size == 0] = 0
        printed = code[~self._is_virtual[system.cells]]
        if np.unique(printed, axis=0).shape[0] == printed.shape[0]:
            return code
        row, cell = self._entries(rows)
        ends = np.searchsorted(system.cells, cell)
        for d in np.flatnonzero(size):
            other = self.directions.dimension[rows][row] != d
            code[:, d] = _joined(row[other], ends[other], (rows.size, len(system)))
        return code

    @cached_property
    def _codes_of_all(self) -> Ints:
        """The code of each cell of the table by dimension: cells that lines of the other dimensions join have the same."""
        known = np.flatnonzero(self.directions.dimension >= 0)
        row, cell = self._entries(known)
        code = np.zeros((self._rows.shape[1], self.directions.count), dtype=np.int64)
        for d in range(self.directions.count):
            other = self.directions.dimension[known][row] != d
            code[:, d] = _joined(row[other], cell[other], (known.size, self._rows.shape[1]))
        return code

    def _entries(self, rows: Ints) -> tuple[Ints, Ints]:
        """The entries of some equations: the place of the equation, and the cell."""
        start, stop = self._rows.indptr[rows], self._rows.indptr[rows + 1]
        return np.repeat(np.arange(rows.size), stop - start), self._rows.indices[ranges(start, stop)]

    def _bundles_through(self, dimension: int) -> tuple[Ints, Ints]:
        """For each cell the bundles of a dimension that it is in: where they start, and the bundles."""
        chosen = np.flatnonzero(self.directions.dimension == dimension)
        inside = csr_array(self._rows[chosen])
        pairs = np.stack([inside.indices, self.directions.bundle[chosen][row_of_entry(inside)]])
        cell, bundle = np.unique(pairs, axis=1)
        start = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=self._rows.shape[1]))])
        return start, bundle


def _joined(row: Ints, cell: Ints, shape: tuple[int, int]) -> Ints:
    """A number for each cell: cells that equations join have the same."""
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(row.size), (row, shape[0] + cell)), shape=2 * (sum(shape),))
    return connected_components(graph, directed=False)[1][shape[0] :].astype(np.int64)
