"""Linked tables as one system: common cells are identified, not copied.

Two tables of the same response are linked through the dimensions they share: a table without a dimension
shows its total. All cells live in the *cover* over all dimensions; a cell that two tables show is one cell.
Tables of different responses are linked by equations between the responses (profit = turnover - costs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from tablecloak.arrays import Codes, Floats, Ints, floats, frozen, frozen_matrix
from tablecloak.dimension import Dimension
from tablecloak.equations import RELATIVE_TOLERANCE, Packing, distinct_rows
from tablecloak.errors import InputError
from tablecloak.table import Table, label_of


def link(tables: Sequence[Table]) -> Table:
    """One table from several that share dimensions (by name) and cells (by codes).

    Common cells whose values differ are an `InputError` that lists them all.
    """
    if not tables:
        raise InputError("Linked tables", ["no table given"])
    dimensions = _cover(tables)
    packing = Packing.of(dimensions)
    keys = [packing.keys(_cover_codes(table, dimensions)) for table in tables]
    common: Ints = np.unique(np.concatenate(keys))
    places = [np.searchsorted(common, own) for own in keys]
    codes = packing.codes(common)
    values = _agreed(tables, places, codes, dimensions)
    moved = [_moved(table.equations, at, common.size) for table, at in zip(tables, places, strict=True)]
    rhs = csr_array(np.concatenate([table.rhs for table in tables])[:, None])
    system = distinct_rows(csr_array(hstack([vstack(moved), rhs], format="csr")))
    return Table(
        dimensions,
        frozen(codes),
        floats(values),
        frozen_matrix(system[:, : common.size]),
        floats(system[:, [common.size]].toarray().ravel()),
        max(table.decimals for table in tables),
        _merged_columns(tables, places, common.size),
    )


def link_responses(tables: Mapping[str, Table], sums: Mapping[str, Mapping[str, float]]) -> Table:
    """One table from the tables of several responses tied by linear relations.

    ``link_responses({"turnover": t, "costs": c, "profit": p}, {"profit": {"turnover": 1, "costs": -1}})``
    says profit = turnover - costs in every cell that all three tables have.
    """
    unknown = sorted({name for left, right in sums.items() for name in (left, *right)} - set(tables))
    if unknown:
        raise InputError(
            "Linked responses", [f"relation with an unknown response {name!r}" for name in unknown]
        )
    names, parts = list(tables), list(tables.values())
    dimensions = _cover(parts)
    packing = Packing.of(dimensions)
    keys = {name: packing.keys(_cover_codes(table, dimensions)) for name, table in tables.items()}
    starts = dict(zip(names, np.cumsum([0, *(len(table) for table in parts[:-1])]), strict=True))
    size = sum(len(table) for table in parts)
    blocks = [
        _moved(table.equations, starts[name] + np.arange(len(table)), size) for name, table in tables.items()
    ]
    blocks += [_relation(left, right, keys, starts, size) for left, right in sums.items()]
    equations = frozen_matrix(vstack(blocks))
    responses = Dimension.names("response", names)
    label = np.repeat(np.arange(len(names), dtype=np.int32), [len(table) for table in parts])
    cover = np.concatenate([packing.codes(keys[name]) for name in names])
    table = Table(
        (responses, *dimensions),
        frozen(np.concatenate([label[:, None], cover], axis=1)),
        floats(np.concatenate([table.values for table in parts])),
        equations,
        floats(
            np.concatenate([*(table.rhs for table in parts), np.zeros(equations.shape[0])])[
                : equations.shape[0]
            ]
        ),
        max(table.decimals for table in parts),
        _merged_columns(parts, [starts[name] + np.arange(len(tables[name])) for name in names], size),
    )
    table.check_additive()
    return table


def _relation(
    left: str, right: Mapping[str, float], keys: Mapping[str, Ints], starts: Mapping[str, int], size: int
) -> csr_array:
    """Rows: sum of coefficient * response - left = 0 for each cell that all of them have."""
    shared = keys[left]
    for name in right:
        shared = np.intersect1d(shared, keys[name])
    blocks = csr_array((shared.size, size), dtype=np.float64)
    for name, coefficient in [(left, -1.0), *right.items()]:
        order = np.argsort(keys[name])
        at = starts[name] + order[np.searchsorted(keys[name][order], shared)]
        entries = (np.full(shared.size, float(coefficient)), (np.arange(shared.size), at))
        blocks = blocks + csr_array(entries, shape=(shared.size, size))
    return csr_array(blocks)


def _cover(tables: Sequence[Table]) -> tuple[Dimension, ...]:
    found: dict[str, Dimension] = {}
    for table in tables:
        for dimension in table.dimensions:
            known = found.get(dimension.name)
            found[dimension.name] = dimension if known is None else known.united(dimension)
    missing = [
        f"dimension {dimension.name!r} is not in every table and has no one total over all its codes"
        for dimension in found.values()
        if dimension.total is None and any(dimension.name not in _names(table) for table in tables)
    ]
    if missing:
        raise InputError(
            "Linked tables", missing, advice="Give these dimensions one hierarchy that covers all codes."
        )
    return tuple(found.values())


def _names(table: Table) -> list[str]:
    return [dimension.name for dimension in table.dimensions]


def _cover_codes(table: Table, dimensions: Sequence[Dimension]) -> Codes:
    columns = []
    for dimension in dimensions:
        if dimension.name in _names(table):
            d = _names(table).index(dimension.name)
            renumber = np.array([dimension.index[code] for code in table.dimensions[d].codes], dtype=np.int32)
            columns.append(renumber[table.codes[:, d]])
        else:
            total = dimension.index[str(dimension.total)]
            columns.append(np.full(len(table), total, dtype=np.int32))
    return np.stack(columns, axis=1)


def _moved(matrix: csr_array, at: Ints, size: int) -> csr_array:
    """The same equations over `size` cells, where old cell i is now cell at[i]."""
    return csr_array(
        (matrix.data, np.asarray(at)[matrix.indices], matrix.indptr), shape=(matrix.shape[0], size)
    )


def _agreed(
    tables: Sequence[Table], places: Sequence[Ints], codes: Codes, dimensions: Sequence[Dimension]
) -> Floats:
    """The value of each common cell; an error lists the cells on which the tables differ."""
    values = np.full(codes.shape[0], np.nan)
    differ = np.zeros(codes.shape[0], dtype=bool)
    for table, at in zip(tables, places, strict=True):
        known = values[at]
        gap = np.abs(known - table.values)
        differ[at] |= gap > RELATIVE_TOLERANCE * np.maximum(np.abs(known), np.abs(table.values))
        values[at] = np.where(np.isnan(known), table.values, known)
    if differ.any():
        where = np.flatnonzero(differ)
        raise InputError(
            "Linked tables",
            [f"common cell {label_of(dimensions, codes[i])} has different values" for i in where],
            advice="Linked tables must agree on common cells: correct them or leave a table out.",
            confidential={
                "cells": [label_of(dimensions, codes[i]) for i in where],
                "values": [
                    [
                        float(t.values[at == i][0])
                        for t, at in zip(tables, places, strict=True)
                        if (at == i).any()
                    ]
                    for i in where
                ],
            },
        )
    return values


def _merged_columns(tables: Sequence[Table], places: Sequence[Ints], size: int) -> dict[str, Floats]:
    merged: dict[str, Floats] = {}
    for table, at in zip(tables, places, strict=True):
        for name, column in table.columns.items():
            target = merged.setdefault(name, np.full(size, np.nan))
            target[at] = np.where(np.isnan(target[at]), column, target[at])
    return {name: floats(column) for name, column in merged.items()}
