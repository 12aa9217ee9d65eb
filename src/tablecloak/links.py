"""Linked tables as one system: common cells are identified, not copied.

Two tables of the same response are linked through the dimensions they share: a table without a dimension
shows its total. All cells live in the *cover* over all dimensions; a cell that two tables show is one cell.
Tables of different responses are linked by equations between the responses (profit = turnover - costs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

from tablecloak.arrays import Bools, Codes, Floats, Ints, floats, frozen, frozen_matrix
from tablecloak.dimension import Dimension, label_of
from tablecloak.equations import Packing, additive, distinct_rows, noise
from tablecloak.errors import InputError
from tablecloak.table import Table

RESPONSE = "response"
"""The dimension that tells linked responses apart."""


def link(tables: Sequence[Table]) -> Table:
    """One table from several that share dimensions (by name) and cells (by codes).

    Common cells whose values differ are an `InputError` that lists them all; so are cells that are zero in one
    table (absent from a complete one) and not in another.
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
        complete=len(tables) == 1 and tables[0].complete,
    )


def link_responses(tables: Mapping[str, Table], sums: Mapping[str, Mapping[str, float]]) -> Table:
    """One table from the tables of several responses tied by linear relations.

    ``link_responses({"turnover": t, "costs": c, "profit": p}, {"profit": {"turnover": 1, "costs": -1}})``
    says profit = turnover - costs in every cell that all three tables have. A cell that is absent from a complete
    table is zero there. A relation that does not hold somewhere is an `InputError` that lists the cells.
    """
    _check_responses(tables, sums)
    names, parts = list(tables), list(tables.values())
    dimensions = _cover(parts)
    packing = Packing.of(dimensions)
    starts = np.cumsum([0, *(len(table) for table in parts)])
    size = int(starts[-1])
    places = [start + np.arange(len(table)) for start, table in zip(starts, parts, strict=False)]
    keys = [packing.keys(_cover_codes(table, dimensions)) for table in parts]
    codes = np.concatenate([packing.codes(own) for own in keys])
    values = np.concatenate([table.values for table in parts])
    decimals = max(table.decimals for table in parts)
    found, faults = [], list[str]()
    for left, right in sums.items():
        terms = [(names.index(name), factor) for name, factor in ((left, -1.0), *right.items())]
        shared = _shared(terms, parts, keys, dimensions)
        relation = _relation(terms, keys, places, shared, size)
        words = _words(left, right)
        holds = additive(relation, np.zeros(shared.size), values, unit=10.0**-decimals)
        broken = packing.codes(shared[~holds])
        faults += [f"{words} does not hold in cell {label_of(dimensions, row)}" for row in broken]
        faults += [] if shared.size else [f"{words}: there is no cell that all of these tables have"]
        found.append(relation)
    if faults:
        advice = "Correct the values, or leave the relation out."
        raise InputError("Linked responses", faults, advice=advice)
    moved = [_moved(table.equations, at, size) for table, at in zip(parts, places, strict=True)]
    equations = frozen_matrix(vstack([*moved, *found]))
    rhs = np.zeros(equations.shape[0])
    rhs[: sum(table.rhs.size for table in parts)] = np.concatenate([table.rhs for table in parts])
    response = np.repeat(np.arange(len(parts), dtype=np.int32), [len(table) for table in parts])
    return Table(
        (Dimension.names(RESPONSE, names), *dimensions),
        frozen(np.concatenate([response[:, None], codes], axis=1)),
        floats(values),
        equations,
        floats(rhs),
        decimals,
        _merged_columns(parts, places, size),
    )
