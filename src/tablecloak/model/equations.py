"""The equations that tie the cells of a table, built without loops over cells.

A cell is a vector of codes, one for each dimension, packed into one integer key. For dimension d with parent map
p_d, every cell with a parent is a *part* (+1) of the equation whose *total* (-1) is the cell with code c_d
replaced by p_d(c_d). Cells that are not there count as structural zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Codes, Floats, Ints, ranges
from tablecloak.errors import InputError
from tablecloak.model.dimension import Dimension
from tablecloak.model.tolerances import FLOAT_EPSILON, SUM_NOISE, SUM_NOISE_UNITS
from tablecloak.model.units import residuals

Number = TypeVar("Number", np.float64, np.int64)


@dataclass(frozen=True)
class Packing:
    """Codes of all dimensions as one integer: key = sum of code_d * stride_d."""

    sizes: tuple[int, ...]

    @classmethod
    def of(cls, dimensions: Sequence[Dimension]) -> Packing:
        sizes = tuple(len(dimension.codes) for dimension in dimensions)
        if prod(sizes) >= 2**62:
            raise InputError("Table", [f"the dimensions span more than 2^62 cells: {sizes}"])
        return cls(sizes)

    @property
    def span(self) -> int:
        """How many cells there could be."""
        return prod(self.sizes)

    @property
    def strides(self) -> Ints:
        products = np.cumprod((1, *self.sizes[:0:-1]), dtype=np.int64)
        return products[::-1] if self.sizes else np.zeros(0, dtype=np.int64)

    def keys(self, codes: Codes) -> Ints:
        """One key a row of codes."""
        return np.asarray(codes.astype(np.int64) @ self.strides)

    def codes(self, keys: Ints) -> Codes:
        """The rows of codes behind the keys."""
        return np.asarray(
            (keys[:, None] // self.strides) % np.array(self.sizes, dtype=np.int64), dtype=np.int32
        )

    def numbered(self, keys: Ints) -> tuple[Ints, Ints]:
        """The distinct keys in order, and the place of each key among them."""
        if self.span > 8 * keys.size:  # else an array over all possible keys is faster than sorting
            distinct, places = np.unique(keys, return_inverse=True)
            return distinct, places
        place = np.zeros(self.span, dtype=np.int64)
        place[keys] = 1
        distinct = np.flatnonzero(place)
        place[distinct] = np.arange(distinct.size)
        return distinct, place[keys]


@dataclass(frozen=True)
class Sums:
    """The equations of one table: `matrix` @ values = 0, and what would make one but lacks its total."""

    matrix: csr_array
    orphans: Ints
    """Keys of totals that are absent although parts of theirs are present."""


def summation_equations(dimensions: Sequence[Dimension], codes: Codes) -> Sums:
    """All equations "parts - total = 0" among the cells with these codes (rows of `codes`), each once."""
    packing = Packing.of(dimensions)
    keys = packing.keys(codes)
    rows, columns, signs, orphans, whole, count = [], [], [], [], [], 0
    for d, dimension in enumerate(dimensions):
        stride = int(packing.strides[d])
        for parent in dimension.parents:
            above = parent[codes[:, d]].astype(np.int64)
            parts = np.flatnonzero(above >= 0)
            is_total = np.zeros(len(dimension.codes), dtype=bool)
            is_total[parent[parent >= 0]] = True
            totals = np.flatnonzero(is_total[codes[:, d]])
            total_keys = keys[parts] + (above[parts] - codes[parts, d]) * stride
            labels, places = packing.numbered(np.concatenate([total_keys, keys[totals]]))
            present = np.zeros(labels.size, dtype=bool)
            present[places[parts.size :]] = True
            orphans.append(labels[~present])
            whole.append(present)
            rows.append(count + places)
            columns += [parts, totals]
            signs += [np.ones(parts.size), -np.ones(totals.size)]
            count += labels.size
    shape = (count, codes.shape[0])
    if not rows:
        return Sums(csr_array(shape, dtype=np.float64), np.zeros(0, dtype=np.int64))
    entries = (np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns)))
    matrix, absent = csr_array(entries, shape=shape), np.unique(np.concatenate(orphans))
    if absent.size:
        matrix = matrix[np.concatenate(whole)]
    repeats = any(len(dimension.hierarchies) > 1 for dimension in dimensions)  # the same sum in two of them
    repeats |= bool((np.diff(matrix.indptr) == 1).any())  # a total without parts in two dimensions
    return Sums(distinct_rows(matrix) if repeats else matrix, absent)


def distinct_rows(matrix: csr_array) -> csr_array:
    """The matrix without empty rows and rows that repeat another or a multiple of it, order kept.

    Rows are compared by their products with two random vectors, scaled so that they start with 1.
    """
    rows = csr_array(matrix, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    lengths = np.diff(rows.indptr)
    filled = np.flatnonzero(lengths)
    rows.data /= np.repeat(rows.data[rows.indptr[filled]], lengths[filled])
    random = np.random.default_rng(0).integers(1, 2**31, size=(matrix.shape[1], 2)).astype(np.float64)
    probes = (rows @ random)[filled]
    _, first = np.unique(probes[:, 0] + 1j * probes[:, 1], return_index=True)
    return matrix[filled[np.sort(first)]]


def noise(size: Floats, unit: float | None = None) -> Floats:
    """Tolerance for a sum of floats; `size` is the sum of their absolute values.

    Rounding noise relative to the size. With a data unit: at most half a unit as long as floats distinguish units,
    and never less than a millionth of one.
    """
    if unit is None:
        return SUM_NOISE * size
    relative = np.minimum(SUM_NOISE * size, unit / 2)
    return np.maximum(np.maximum(relative, FLOAT_EPSILON * size), SUM_NOISE_UNITS * unit)


def additive(matrix: csr_array, rhs: Floats, units: Ints, decimals: int = 0) -> Bools:
    """Which equations hold, exactly, for cells in whole data units (and a right-hand side in amounts)."""
    return np.asarray(residuals(matrix, rhs, units, decimals) == 0)


def aggregated(
    dimensions: Sequence[Dimension], codes: Codes, values: NDArray[Number]
) -> tuple[Codes, NDArray[Number]]:
    """All totals of the leaf cells given: their codes and values (floats, or whole units), sorted by key."""
    packing = Packing.of(dimensions)
    keys = packing.keys(codes)
    for d, dimension in enumerate(dimensions):
        if not dimension.parents:
            continue
        stride = int(packing.strides[d])
        here = (keys // stride) % packing.sizes[d]
        below, above = ancestors(dimension)
        bounds = np.searchsorted(below, np.arange(packing.sizes[d] + 1))
        starts, stops = bounds[here], bounds[here + 1]
        picks = above[ranges(starts, stops)]
        keys, places = packing.numbered(np.repeat(keys - here * stride, stops - starts) + picks * stride)
        sums = np.zeros(keys.size, dtype=values.dtype)
        np.add.at(sums, places, np.repeat(values, stops - starts))
        values = sums
    order = np.argsort(keys, kind="stable")
    return packing.codes(keys[order]), values[order]


def ancestors(dimension: Dimension) -> tuple[Ints, Ints]:
    """Pairs (code, code itself or one of its ancestors in any hierarchy), each pair once, sorted."""
    size = len(dimension.codes)
    frontier = np.arange(size, dtype=np.int64) * (size + 1)  # pair (code, code), packed
    pairs = frontier
    while frontier.size:
        code, above = frontier // size, frontier % size
        climbs = [(code, parent[above].astype(np.int64)) for parent in dimension.parents]
        found = np.concatenate([(code * size + up)[up >= 0] for code, up in climbs])
        frontier = np.setdiff1d(found, pairs)
        pairs = np.union1d(pairs, frontier)
    return pairs // size, pairs % size
