"""The equations that tie the cells of a table, built without loops over cells.

A cell is a vector of codes, one a dimension, packed into one integer key. For dimension d with parent map
p_d, every cell with a parent is a *part* (+1) of the equation whose *total* (-1) is the cell with code c_d
replaced by p_d(c_d). Cells that are not there count as structural zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.dimension import Dimension
from tablecloak.errors import InputError

RELATIVE_TOLERANCE = 1e-9
"""Rounding noise allowed in an equation, relative to the sum of the absolute values in it."""


@dataclass(frozen=True)
class Packing:
    """Codes of all dimensions as one integer: key = sum of code_d * stride_d."""

    sizes: tuple[int, ...]

    @classmethod
    def of(cls, dimensions: Sequence[Dimension]) -> Packing:
        sizes = tuple(len(dimension.codes) for dimension in dimensions)
        if float(np.prod([float(size) for size in sizes])) >= 2.0**62:
            raise InputError("Table", [f"the dimensions span more than 2^62 cells: {sizes}"])
        return cls(sizes)

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


@dataclass(frozen=True)
class Sums:
    """The equations of one table: `matrix` @ values = 0, and what would make one but lacks its total."""

    matrix: csr_array
    orphans: Ints
    """Keys of totals that are absent although parts of theirs are present."""


def summation_equations(dimensions: Sequence[Dimension], codes: Codes) -> Sums:
    """All equations "parts - total = 0" among the cells with these codes (rows of `codes`)."""
    packing = Packing.of(dimensions)
    keys = packing.keys(codes)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    rows, columns, signs, orphans, count = [], [], [], [], 0
    for d, dimension in enumerate(dimensions):
        stride = int(packing.strides[d])
        for parent in dimension.parents:
            above = parent[codes[:, d]].astype(np.int64)
            parts = np.flatnonzero(above >= 0)
            total_keys = keys[parts] + (above[parts] - codes[parts, d]) * stride
            is_total = np.zeros(len(dimension.codes), dtype=bool)
            is_total[parent[parent >= 0]] = True
            totals = np.flatnonzero(is_total[codes[:, d]])
            labels = np.unique(np.concatenate([total_keys, keys[totals]]))
            at = np.searchsorted(ordered, labels)
            present = ordered[np.minimum(at, ordered.size - 1)] == labels if ordered.size else labels < 0
            orphans.append(labels[~present])
            rows += [
                count + np.searchsorted(labels, total_keys),
                count + np.searchsorted(labels, keys[totals]),
            ]
            columns += [parts, totals]
            signs += [np.ones(parts.size), -np.ones(totals.size)]
            count += labels.size
    shape = (count, codes.shape[0])
    if not rows:
        return Sums(csr_array(shape, dtype=np.float64), np.zeros(0, dtype=np.int64))
    entries = (np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns)))
    return Sums(csr_array(entries, shape=shape), np.unique(np.concatenate(orphans)))


def distinct_rows(matrix: csr_array) -> csr_array:
    """The matrix without repeated rows (equations that several linked tables share), order kept."""
    rng = np.random.default_rng(0)
    probes = matrix @ rng.integers(1, 2**31, size=(matrix.shape[1], 2)).astype(np.float64)
    _, first = np.unique(probes, axis=0, return_index=True)
    lengths = np.diff(matrix.indptr)
    keep = np.sort(first)
    return matrix[keep[lengths[keep] > 0]]


def additive(matrix: csr_array, rhs: Floats, values: Floats, tolerance: float | None = None) -> Bools:
    """Which equations hold, up to `tolerance` or to rounding noise relative to their own size."""
    residual = np.abs(matrix @ values - rhs)
    size = abs(matrix) @ np.abs(values) + np.abs(rhs)
    allowed = (
        RELATIVE_TOLERANCE * size if tolerance is None else np.maximum(tolerance, RELATIVE_TOLERANCE * size)
    )
    return np.asarray(residual <= allowed)


def aggregated(dimensions: Sequence[Dimension], codes: Codes, values: Floats) -> tuple[Codes, Floats]:
    """All totals of the leaf cells given: their codes and values, sorted by key."""
    packing = Packing.of(dimensions)
    keys = packing.keys(codes)
    for d, dimension in enumerate(dimensions):
        if not dimension.parents:
            continue
        stride = int(packing.strides[d])
        here = (keys // stride) % packing.sizes[d]
        below, above = _ancestors(dimension)
        order = np.argsort(below, kind="stable")
        starts = np.searchsorted(below[order], here, side="left")
        stops = np.searchsorted(below[order], here, side="right")
        repeats = stops - starts
        picks = np.repeat(starts - np.cumsum(repeats) + repeats, repeats) + np.arange(repeats.sum())
        keys = np.repeat(keys - here * stride, repeats) + above[order][picks] * stride
        values = np.repeat(values, repeats)
        keys, inverse = np.unique(keys, return_inverse=True)
        values = np.bincount(inverse, weights=values, minlength=keys.size)
    return packing.codes(keys), values


def _ancestors(dimension: Dimension) -> tuple[Ints, Ints]:
    """Pairs (code, code itself or one of its ancestors in any hierarchy), each pair once."""
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
