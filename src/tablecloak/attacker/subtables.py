"""Families of subsystems of a table, by the directions of its equations: slices, strips, subtables, neighbourhoods.

| family          | equations                                                                             |
|-----------------|---------------------------------------------------------------------------------------|
| slices          | those of some dimensions, connected: the codes of the other dimensions stay fixed     |
| strips          | one bundle of a dimension (a code and its parts), all codes of the other dimensions   |
| subtables       | a bundle or a fixed code in each dimension: tables without hierarchies                 |
| hierarchical    | the same with the margins as tables of their own, by levels: the tables of HiTaS       |
| neighbourhoods  | those within a ball of cells around a cell, for equations without directions          |

Slices of one family share no cell, strips and subtables share their margins. Equations of virtual cells (unions) belong
to every subsystem that has all their other cells. Two-way slices and strips with at most one hierarchy are networks.

Reference: de Wolf (2002), HiTaS: a heuristic approach to cell suppression in hierarchical tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array

from tablecloak.arrays import Bools, Ints, frozen, ranges
from tablecloak.attacker.directions import Directions, directions_of
from tablecloak.attacker.grid import row_of_entry
from tablecloak.attacker.products import BundleProducts, HierarchicalSubtable
from tablecloak.attacker.subsystem import Subsystem
from tablecloak.model import Table


class Subtables:
    """How a table splits into subsystems."""

    def __init__(self, table: Table, directions: Directions | None = None) -> None:
        self.table = table
        self.directions = directions_of(table) if directions is None else directions
        self._rows = csr_array(table.equations)
        self._columns = csc_array(self._rows)
        self._unions = self._virtual_rows()

    # ------------------------------------------------------------------ families

    def whole(self) -> list[Subsystem]:
        """All equations, each connected component a subsystem."""
        return self._connected(np.arange(self._rows.shape[0]))

    def of_rows(self, rows: Ints) -> list[Subsystem]:
        """Some equations, each connected component a subsystem."""
        return self._connected(rows)

    def components(self) -> list[Ints]:
        """The dimensions of each connected component of the equations that have directions."""
        known = np.flatnonzero(self.directions.dimension >= 0)
        return [np.unique(self.directions.dimension[rows]) for rows in self._parts(known)]

    def slices(self, dimensions: Iterable[int]) -> list[Subsystem]:
        """The slices in which only these dimensions vary."""
        return self._connected(np.flatnonzero(np.isin(self.directions.dimension, list(dimensions))))

    def slice_families(self, dimensions: Sequence[int], varying: int) -> Iterator[list[Subsystem]]:
        """The slices of every choice of this number of the dimensions."""
        for chosen in combinations(dimensions, varying):
            yield self.slices(chosen)

    def strips(self, dimension: int, others: Sequence[int]) -> list[Subsystem]:
        """For each bundle of a dimension its equations, and those of the others that lie within its cells."""
        directions = self.directions
        other_rows = np.flatnonzero(np.isin(directions.dimension, list(others)))
        found = []
        for bundle in np.unique(directions.bundle[directions.dimension == dimension]):
            own = np.flatnonzero(directions.bundle == bundle)
            cells = np.zeros(len(self.table), dtype=bool)
            cells[self._rows[own].indices] = True
            inside = other_rows[self._inside(other_rows, cells)]
            found.append(self._with_unions(np.concatenate([own, inside])))
        return found

    def subtables(self) -> list[Subsystem]:
        """The tables without hierarchies: in each dimension a bundle, or a fixed code where there is none."""
        return [self._with_unions(rows) for _, rows in self._products.split(margins=False)]

    def hierarchical(self) -> list[HierarchicalSubtable]:
        """The tables of HiTaS by group and level: in each dimension a bundle, or a code that is no part of another.

        Equations without a direction, and those that are in no product of bundles, make tables of group 0 of their own.
        """
        products, found = self._products, list[HierarchicalSubtable]()
        covered = np.zeros(self._rows.shape[0], dtype=bool)
        covered[self._unions] = True
        for key, rows in products.split(margins=True):
            if products.is_product(rows, key):
                found.append(products.described(self._with_unions(rows), rows, key))
                covered[rows] = True
        nowhere = (-1,) * self.directions.count
        rest = self._parts(np.flatnonzero(~covered))
        found += [products.described(self._with_unions(rows), rows, nowhere) for rows in rest]
        return sorted(found, key=lambda each: (each.group, each.level, each.system.cells.tolist()))

    @cached_property
    def _products(self) -> BundleProducts:
        return BundleProducts(self.table, self.directions)

    def neighbourhoods(self, seeds: Iterable[int], max_cells: int) -> list[Subsystem]:
        """A ball of at most about this number of cells around each seed that lies within none before."""
        covered, found = np.zeros(len(self.table), dtype=bool), []
        for seed in seeds:
            if covered[seed]:
                continue
            rows = self._ball(seed, max_cells)
            if rows.size:
                found.append(self._with_unions(rows))
                covered[found[-1].cells] = True
        return found

    # ------------------------------------------------------------------ how they are found

    def _ball(self, seed: int, max_cells: int) -> Ints:
        """Equations by their distance from a cell, as long as their cells are no more than this number."""
        cells = np.zeros(len(self.table), dtype=bool)
        cells[seed] = True
        taken = np.zeros(self._rows.shape[0], dtype=bool)
        front = np.array([seed])
        while front.size:
            new = np.unique(self._columns[:, front].indices)
            new = new[~taken[new]]
            before = cells.copy()
            for row in new.tolist():
                inside = self._rows.indices[self._rows.indptr[row] : self._rows.indptr[row + 1]]
                if int(cells.sum()) + int((~cells[inside]).sum()) > max_cells:
                    continue
                cells[inside] = taken[row] = True
            front = np.flatnonzero(cells & ~before)
        return np.flatnonzero(taken)

    def _inside(self, rows: Ints, cells: Bools) -> Bools:
        """Which equations have all their cells among these."""
        chosen = csr_array(self._rows[rows])
        outside = np.bincount(row_of_entry(chosen), weights=~cells[chosen.indices], minlength=rows.size)
        return np.asarray(outside == 0)

    def largest_slice(self, dimensions: Iterable[int]) -> int:
        """Number of cells of the largest slice in which only these dimensions vary."""
        rows = np.flatnonzero(np.isin(self.directions.dimension, list(dimensions)))
        key, _ = self._cells_of(rows, self._labels(rows))
        return int(np.bincount(key // len(self.table)).max(initial=0))

    def _connected(self, rows: Ints) -> list[Subsystem]:
        """Equations by connected components, as subsystems."""
        parts, label = self._parts(rows), self._labels(rows)
        if self._unions.size:
            return [self._with_unions(part) for part in parts]
        key, ends = self._cells_of(rows, label)
        cells = np.split(key % len(self.table), ends)
        return [Subsystem(frozen(part), frozen(own)) for part, own in zip(parts, cells, strict=False)]

    def _cells_of(self, rows: Ints, label: Ints) -> tuple[Ints, Ints]:
        """Component times cells plus cell of each cell in the equations, ascending; and where components end."""
        chosen = csr_array(self._rows[rows])
        key = np.unique(label[row_of_entry(chosen)] * len(self.table) + chosen.indices)
        return key, np.flatnonzero(np.diff(key // len(self.table))) + 1

    def _labels(self, rows: Ints) -> Ints:
        """The connected component of each of some equations."""
        from scipy.sparse.csgraph import connected_components

        chosen = csr_array(self._rows[rows])
        size = rows.size + len(self.table)
        ends = (row_of_entry(chosen), rows.size + chosen.indices)
        graph = coo_array((np.ones(chosen.nnz), ends), shape=(size, size))
        return connected_components(graph, directed=False)[1][: rows.size].astype(np.int64)

    def _parts(self, rows: Ints) -> list[Ints]:
        """Equations by the connected components that they make among themselves."""
        label = self._labels(rows)
        order = np.argsort(label, kind="stable")
        return np.split(rows[order], np.flatnonzero(np.diff(label[order])) + 1) if rows.size else []

    def _virtual_rows(self) -> Ints:
        """Equations with virtual cells."""
        table = self.table
        hits = np.bincount(
            row_of_entry(self._rows),
            weights=table.is_virtual[self._rows.indices],
            minlength=self._rows.shape[0],
        )
        return np.flatnonzero(hits > 0)

    @cached_property
    def _union_entries(self) -> tuple[Ints, Ints]:
        """The entries of the equations of unions: the place of the equation, and the cell."""
        chosen = csr_array(self._rows[self._unions])
        return row_of_entry(chosen), chosen.indices.astype(np.int64)

    def _with_unions(self, rows: Ints) -> Subsystem:
        """The subsystem of some equations, and of the unions of its cells."""
        if self._unions.size:
            cells = self.table.is_virtual.copy()
            cells[self._rows.indices[ranges(self._rows.indptr[rows], self._rows.indptr[rows + 1])]] = True
            row, inside = self._union_entries
            outside = np.bincount(row, weights=~cells[inside], minlength=self._unions.size)
            rows = np.concatenate([rows, self._unions[outside == 0]])
        return Subsystem.of(self.table, rows)
