"""From a view and an attacker's box to small independent systems of deviations.

The attacker knows M y = b and low <= y <= high. We look at deviations d = y - a from the true table:
M d = 0 and low - a <= d <= high - a, so that the right-hand side is exactly zero. Then, in this order:

1. *unpick*: an equation with a single unknown determines it (d = 0); repeat;
2. split into connected components of the cell-equation incidence;
3. components that are networks (every cell in at most two equations, signs consistent) go to the flow kernels;
   in the others, equations with two unknowns *merge* them: d_i = ratio * d_j.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array
from scipy.sparse.csgraph import connected_components

from tablecloak.arrays import Bools, Floats, Ints, ranges
from tablecloak.engines.structure import Orientation, Structure, orient, recognise
from tablecloak.table import Table


@dataclass(frozen=True, eq=False)
class _Known:
    """What is worked out once a table: its structure and the equations without redundant ones."""

    structure: Structure
    rows: csr_array
    columns: csc_array


_KNOWN: WeakKeyDictionary[Table, _Known] = WeakKeyDictionary()


def _known(table: Table) -> _Known:
    if table not in _KNOWN:
        structure = recognise(table.equations)
        kept = [np.zeros(0, dtype=np.int64), *(block.kept_rows for block in structure.blocks)]
        rows = csr_array(table.equations[np.sort(np.concatenate(kept))])
        _KNOWN[table] = _Known(structure, rows, csc_array(rows))
    return _KNOWN[table]


def structure_of(table: Table) -> Structure:
    """The recognised structure of a table's equations, worked out once a table."""
    return _known(table).structure


def working_equations(table: Table) -> csr_array:
    """The equations without those that are redundant for the network form of their block."""
    return _known(table).rows


def working_columns(table: Table) -> csc_array:
    """The working equations by column."""
    return _known(table).columns


@dataclass(frozen=True, eq=False)
class Component:
    """Cells that can deviate together: matrix @ d = 0, low <= d <= high (low <= 0 <= high).

    `orientation` is their network form, or None. `unit` is the data unit.
    """

    cells: Ints
    matrix: csc_array
    low: Floats
    high: Floats
    unit: float
    orientation: Orientation | None

    def with_bounds(self, low: Floats, high: Floats) -> Component:
        """The same cells in a tighter (or wider) box."""
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


def reduce(equations: csc_array | csr_array, low: Floats, high: Floats, unit: float) -> Reduction:
    """Unpick and split the system equations @ d = 0, low <= d <= high."""
    size = low.size
    free = np.flatnonzero(low < high)
    columns = csc_array(equations)[:, free]
    alive = unpicked(columns)
    cells, columns = free[alive], columns[:, alive]
    label, count = _components(columns)
    is_network, orientation = _network_blocks(columns, label, count)
    groups = [np.flatnonzero(is_network[label])] if is_network.any() else []
    groups += _grouped(label, np.flatnonzero(~is_network))
    component, position, block = (np.full(size, -1, dtype=np.int64) for _ in range(3))
    block[cells] = label
    found = []
    for number, group in enumerate(groups):
        here = cells[group]
        matrix = without_empty_rows(columns[:, group])
        network = orientation if number == 0 and is_network.any() else None
        component[here], position[here] = number, np.arange(here.size)
        found.append(Component(here, matrix, low[here], high[here], unit, network))
    return Reduction(tuple(found), component, position, block)


def unpicked(columns: csc_array) -> Bools:
    """Which cells remain after removing, again and again, those alone in an equation.

    Each row keeps the number of its unknowns and the sum of their positions: a row with one unknown names it.
    """
    alive = np.ones(columns.shape[1], dtype=bool)
    if columns.nnz == 0:
        return alive
    position = np.repeat(np.arange(columns.shape[1], dtype=np.int64), np.diff(columns.indptr))
    count = np.bincount(columns.indices, minlength=columns.shape[0])
    sums = np.bincount(columns.indices, weights=position, minlength=columns.shape[0]).astype(np.int64)
    single = np.flatnonzero(count == 1)
    while single.size:
        gone = np.unique(sums[single])
        alive[gone] = False
        entries = ranges(columns.indptr[gone], columns.indptr[gone + 1])
        rows = columns.indices[entries]
        np.subtract.at(count, rows, 1)
        np.subtract.at(sums, rows, position[entries])
        touched = np.unique(rows)
        single = touched[count[touched] == 1]
    return alive


def merged(matrix: csc_array) -> tuple[Ints, Floats]:
    """Cells tied by equations with two unknowns: (group, ratio) a cell, d_cell = ratio * d_group.

    A ratio of zero means that contradictory ties force the cell to stay put.
    """
    size = matrix.shape[1]
    rows = csr_array(matrix)
    pairs = np.flatnonzero(np.diff(rows.indptr) == 2)
    if pairs.size == 0:
        return np.arange(size, dtype=np.int64), np.ones(size)
    first = rows.indptr[pairs]
    left, right = rows.indices[first].astype(np.int64), rows.indices[first + 1].astype(np.int64)
    factor = -rows.data[first] / rows.data[first + 1]  # d_right = factor * d_left
    graph = coo_array((np.ones(pairs.size), (left, right)), shape=(size, size))
    group: Ints = connected_components(graph, directed=False)[1].astype(np.int64)
    ratio: Floats = np.full(size, np.nan)
    _, roots = np.unique(group, return_index=True)
    ratio[roots] = 1.0
    pending = np.ones(pairs.size, dtype=bool)
    while pending.any():
        forward = pending & ~np.isnan(ratio[left]) & np.isnan(ratio[right])
        ratio[right[forward]] = ratio[left[forward]] * factor[forward]
        backward = pending & np.isnan(ratio[left]) & ~np.isnan(ratio[right])
        ratio[left[backward]] = ratio[right[backward]] / factor[backward]
        pending = np.isnan(ratio[left]) | np.isnan(ratio[right])
    clash = np.abs(ratio[right] - factor * ratio[left]) > 1e-9 * np.abs(ratio[right])
    ratio[np.isin(group, group[left[clash]])] = 0.0
    return group, ratio


def _components(columns: csc_array) -> tuple[Ints, int]:
    """Component label of each column; columns without equations are alone."""
    rows, size = columns.shape
    position = np.repeat(np.arange(size), np.diff(columns.indptr))
    incidence = coo_array(
        (np.ones(position.size), (columns.indices, rows + position)), shape=(rows + size,) * 2
    )
    _, label = connected_components(incidence, directed=False)
    kept, compact = np.unique(label[rows:], return_inverse=True)
    return compact.astype(np.int64), kept.size


def _network_blocks(columns: csc_array, label: Ints, count: int) -> tuple[Bools, Orientation | None]:
    """Which components are networks, and the orientation of all of them together."""
    lengths = np.diff(columns.indptr)
    odd = np.bincount(
        np.repeat(np.arange(lengths.size), lengths),
        weights=np.abs(columns.data) != 1.0,
        minlength=lengths.size,
    )
    bad = np.bincount(label, weights=(lengths > 2) | (odd > 0), minlength=count)
    network: Bools = bad == 0
    if not network.any():
        return network, None
    together = orient(without_empty_rows(columns[:, network[label]]))
    if together is None:
        for group in _grouped(label, np.flatnonzero(network)):
            network[label[group[0]]] = orient(without_empty_rows(columns[:, group])) is not None
        together = orient(without_empty_rows(columns[:, network[label]]))
    return network, together


def _grouped(label: Ints, wanted: Ints) -> list[Ints]:
    """The positions of each wanted label, in one sort."""
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], wanted, side="left")
    stops = np.searchsorted(label[order], wanted, side="right")
    return [order[start:stop] for start, stop in zip(starts, stops, strict=True)]


def without_empty_rows(matrix: csc_array) -> csc_array:
    """The matrix over the rows that have entries."""
    used, compact = np.unique(matrix.indices, return_inverse=True)
    return csc_array(
        (matrix.data, compact.astype(np.int32), matrix.indptr), shape=(used.size, matrix.shape[1])
    )
