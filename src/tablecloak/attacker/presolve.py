"""Presolve: small independent systems of deviations from a view and an attacker's box.

The attacker knows M y = b and low <= y <= high. In deviations d = y - a from the true table:
M d = 0 and low - a <= d <= high - a, so that the right-hand side is exactly zero. Then, in this order:

1. *unpick*: an equation with a single unknown determines it (d = 0); repeat;
2. split into connected components of the cell-equation incidence;
3. components that are networks (every cell in at most two equations, signs consistent) go to the flow kernels;
   in the others, equations with two unknowns *merge* them: d_i = ratio * d_j.

The work is done by the compiled kernels of `presolve`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.attacker.structure import Orientation, Structure, recognise
from tablecloak.model import Table
from tablecloak.solvers import Columns, kernels


@dataclass(frozen=True, eq=False)
class _Known:
    """The structure of a table and its equations without redundant ones, computed once for each table."""

    structure: Structure
    rows: csr_array
    columns: csc_array


@dataclass(frozen=True)
class StructureSettings:
    """What is remembered beyond the life of a table: parts of large tables often have the same equations."""

    remembered: int = 64
    """Number of structures, the last ones. Benchmark part: small."""
    most_coefficients: int = 20_000
    """Maximum number of coefficients of their equations: memory. Untested default."""


SETTINGS = StructureSettings()
_ALIKE: dict[Hashable, _Known] = {}
"""The structure of the last small equations, by their coefficients."""
_KNOWN: WeakKeyDictionary[Table, _Known] = WeakKeyDictionary()


def _known(table: Table) -> _Known:
    known = _KNOWN.get(table)
    if known is None:
        name = _name_of(table.equations)
        known = _ALIKE.get(name)
        if known is None:
            known = _recognised(table.equations)
            if table.equations.nnz <= SETTINGS.most_coefficients:
                _ALIKE[name] = known
                if len(_ALIKE) > SETTINGS.remembered:
                    _ALIKE.pop(next(iter(_ALIKE)), None)
        _KNOWN[table] = known
    return known


def _name_of(equations: csr_array) -> Hashable:
    """Equal for equations with the same coefficients at the same places."""
    parts = (equations.indptr, equations.indices, equations.data)
    return equations.shape, *((part.dtype.str, part.tobytes()) for part in parts)


def _recognised(equations: csr_array) -> _Known:
    """The structure of equations."""
    structure = recognise(equations)
    kept = [np.zeros(0, dtype=np.int64), *(block.kept_rows for block in structure.blocks)]
    rows = csr_array(equations[np.sort(np.concatenate(kept))])
    start, row, data = _arrays(csc_array(rows))
    return _Known(structure, rows, csc_array((data, row, start), shape=rows.shape))


def same_structure(table: Table, other: Table) -> None:
    """Reuse the structure of a table for another one with the same equations."""
    _KNOWN[other] = _known(table)


def structure_of(table: Table) -> Structure:
    """The recognised structure of a table's equations, computed once for each table."""
    return _known(table).structure


def working_equations(table: Table) -> csr_array:
    """The equations without those that are redundant for the network form of their block."""
    return _known(table).rows


def working_columns(table: Table) -> csc_array:
    """The working equations by column."""
    return _known(table).columns


@dataclass(frozen=True, eq=False)
class Component:
    """Cells that can deviate together: equations[:, cells] @ d = 0, low <= d <= high (low <= 0 <= high).

    `orientation` is their network form, or None. `unit` is the data unit.
    """

    cells: Ints
    equations: csc_array
    low: Floats
    high: Floats
    unit: float
    orientation: Orientation | None

    @cached_property
    def columns(self) -> Columns:
        """The equations restricted to these cells, without empty ones."""
        rows = self.equations.shape[0]
        start, row, data, used = kernels.take_columns(*_arrays(self.equations), rows, self.cells)
        return Columns(data, row, start, (used, self.cells.size))

    @cached_property
    def matrix(self) -> csc_array:
        """The equations restricted to these cells, as a scipy matrix."""
        return csc_array(self.columns[:3], shape=self.columns.shape)

    def with_bounds(self, low: Floats, high: Floats) -> Component:
        """The component with other deviation bounds."""
        return replace(self, low=low, high=high)


@dataclass(frozen=True, eq=False)
class Reduction:
    """The components of one attacker's system; `block[i]` is the true component of cell i, -1 where d_i = 0."""

    components: tuple[Component, ...]
    component: Ints
    """For each cell the component that holds it (all networks share one), -1 when it cannot deviate."""
    position: Ints
    """The place of each cell in its component."""
    block: Ints


def reduce(equations: csc_array, low: Floats, high: Floats, unit: float) -> Reduction:
    """Unpick and split the system equations @ d = 0, low <= d <= high."""
    start, row, data = _arrays(equations)
    free = np.flatnonzero(low < high)
    cells = free[kernels.unpick(start, row, equations.shape[0], free)]
    label, is_network, *_ = parts = kernels.split_components(start, row, data, equations.shape[0], cells)
    orientation = Orientation(*parts[2:]) if is_network.any() else None
    groups = [] if orientation is None else [np.flatnonzero(is_network[label])]
    groups += _grouped(label, np.flatnonzero(~is_network))
    component, position, block = np.full((3, low.size), -1, dtype=np.int64)
    block[cells] = label
    found = []
    for number, group in enumerate(groups):
        here = cells[group]
        component[here], position[here] = number, np.arange(here.size)
        network = orientation if number == 0 else None
        found.append(Component(here, equations, low[here], high[here], unit, network))
    return Reduction(tuple(found), component, position, block)


def unpicked(columns: csc_array) -> Bools:
    """Which cells remain after removing, again and again, those alone in an equation."""
    start, row, _ = _arrays(columns)
    return kernels.unpick(start, row, columns.shape[0], np.arange(columns.shape[1]))


class Merged(NamedTuple):
    """Cells tied together: d_cell = ratio * d_group; a ratio of zero if contradictory ties force it to stay put."""

    group: Ints
    ratio: Floats
    columns: Columns
    """The equations over groups."""


def merged(columns: Columns) -> Merged:
    """Merge cells that are tied by equations with two unknowns."""
    arrays = columns.indptr, columns.indices, columns.data, columns.shape[0]
    group, ratio = kernels.tie_columns(*arrays)
    groups = int(group.max(initial=-1)) + 1
    start, row, data, rows = kernels.merge_columns(*arrays, group, ratio, groups)
    return Merged(group, ratio, Columns(data, row, start, (rows, groups)))


def group_bounds(ties: Merged, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Deviation bounds of each group: all its cells stay within low..high."""
    return kernels.group_bounds(ties.group, ties.ratio, ties.columns.shape[1], low, high)


def unfolded(columns: Columns, targets: Ints) -> Columns:
    """The matrix [A, -A, B, -B], B being the target columns of A."""
    start, row, data, count = kernels.unfold(columns.indptr, columns.indices, columns.data, targets)
    return Columns(data, row, start, (columns.shape[0], count))


def _arrays(columns: csc_array) -> tuple[Codes, Codes, Floats]:
    """A matrix by columns as the kernels take it: starts of columns, rows, coefficients; writeable arrays."""
    return (
        np.require(columns.indptr, np.int32, "W"),
        np.require(columns.indices, np.int32, "W"),
        np.require(columns.data, np.float64, "W"),
    )


def _grouped(label: Ints, wanted: Ints) -> list[Ints]:
    """The positions of each wanted label, in one sort."""
    if wanted.size == 0:
        return []
    order, sizes = np.argsort(label, kind="stable"), np.bincount(label)
    stops = np.cumsum(sizes)
    return [order[stops[one] - sizes[one] : stops[one]] for one in wanted]


def without_empty_rows(matrix: csc_array) -> csc_array:
    """The matrix over the rows that have entries."""
    used, compact = np.unique(matrix.indices, return_inverse=True)
    return csc_array(
        (matrix.data, compact.astype(np.int32), matrix.indptr), shape=(used.size, matrix.shape[1])
    )
