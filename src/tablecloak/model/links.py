"""Linked tables as one system: common cells are identified, not copied.

Two tables of the same response are linked through the dimensions they share: a table without a dimension
shows its total. All cells live in the *cover* over all dimensions; a cell that two tables show is one cell.
Tables of different responses are linked by equations between the responses (profit = turnover - costs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack

from tablecloak.arrays import Bools, Codes, Floats, Ints, floats, frozen, frozen_matrix
from tablecloak.errors import InputError, check_kind
from tablecloak.model.contributions import Contributions, placed
from tablecloak.model.dimension import Dimension, label_of
from tablecloak.model.emptiness import CELLS, KNOWN, linked
from tablecloak.model.equations import Packing, additive, distinct_rows
from tablecloak.model.table import Table
from tablecloak.model.tolerances import LARGEST_UNITS
from tablecloak.model.units import finest_decimals

RESPONSE = "response"
"""The dimension that distinguishes linked responses."""


def link(tables: Sequence[Table]) -> Table:
    """One table from several that share dimensions (by name) and cells (by codes).

    Common cells whose values differ are an `InputError` that lists them all; so are cells that are zero in
    one table (absent from a complete one) and not in another. The data unit is the finest of the tables;
    `cell_decimals` keeps the decimals of each cell's own table.
    """
    if not tables:
        raise InputError("Linked tables", ["no table given"])
    for i, table in enumerate(tables, 1):
        check_kind("Linked tables", f"table number {i}", table, Table)
    dimensions = _cover(tables)
    packing = Packing.of(dimensions)
    keys = [packing.keys(_cover_codes(table, dimensions)) for table in tables]
    common: Ints = np.unique(np.concatenate(keys))
    places = [np.searchsorted(common, own) for own in keys]
    codes = packing.codes(common)
    whole = _in_common_units(tables)
    units = _agreed(tables, whole, places, codes, dimensions)
    absent = np.logical_or.reduce(
        [_absent(table, at, codes, dimensions) for table, at in zip(tables, places, strict=True)]
    )
    moved = [_moved(table.equations, at, common.size) for table, at in zip(tables, places, strict=True)]
    rhs = csr_array(np.concatenate([table.rhs for table in tables])[:, None])
    system = distinct_rows(csr_array(hstack([vstack(moved), rhs], format="csr")))
    return Table(
        dimensions,
        frozen(codes),
        frozen(units),
        frozen_matrix(system[:, : common.size]),
        floats(system[:, [common.size]].toarray().ravel()),
        max(table.decimals for table in tables),
        _merged_columns(tables, places, common.size),
        complete=len(tables) == 1 and tables[0].complete,
        cell_decimals=_cell_decimals(tables, places, common.size),
        rounding=max(table.rounding for table in tables),
        emptiness=linked(tables, places, absent),
        **_carried(tables, places, common.size),
    )


def link_responses(tables: Mapping[str, Table], sums: Mapping[str, Mapping[str, float]]) -> Table:
    """One table from the tables of several responses tied by linear relations.

    ``link_responses({"turnover": t, "costs": c, "profit": p}, {"profit": {"turnover": 1, "costs": -1}})``
    says profit = turnover - costs in every cell that all three tables have. A cell that is absent from a
    complete table is zero there. An `InputError` lists the cells in which a relation does not hold.
    """
    _check_responses(tables, sums)
    dimensions = _cover(list(tables.values()))
    stacked = _stacked(tables, dimensions)
    relations, faults = [stacked.equations], list[str]()
    for left, right in sums.items():
        shared, relation = _relation(stacked, tables, {left: -1.0, **right}, dimensions)
        holds = additive(relation, np.zeros(shared.size), stacked.units, stacked.decimals)
        words, codes = _words(left, right), Packing.of(dimensions).codes(shared[~holds])
        faults += [f"{words} does not hold in cell {label_of(dimensions, row)}" for row in codes]
        faults += [] if shared.size else [f"{words}: there is no cell that all of these tables have"]
        relations.append(relation)
    if faults:
        raise InputError(
            "Linked responses", faults, advice="Correct the values, or leave out the relation or a table."
        )
    equations = frozen_matrix(vstack(relations))
    zeros = np.zeros(equations.shape[0] - stacked.rhs.size)
    return replace(stacked, equations=equations, rhs=floats(np.concatenate([stacked.rhs, zeros])))


# ---------------------------------------------------------------------- the cover


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


def _spanned(table: Table, dimensions: Sequence[Dimension], codes: Codes) -> Bools:
    """Cells of the cover whose codes the table has, whether it has the cell or not."""
    spanned = np.ones(codes.shape[0], dtype=bool)
    own = {dimension.name: dimension.codes for dimension in table.dimensions}
    for d, dimension in enumerate(dimensions):
        known = np.zeros(len(dimension.codes), dtype=bool)
        known[[dimension.index[code] for code in own.get(dimension.name, (str(dimension.total),))]] = True
        spanned &= known[codes[:, d]]
    return spanned


def _absent(table: Table, at: Ints, codes: Codes, dimensions: Sequence[Dimension]) -> Bools:
    """Cells of the cover that the table prints as empty: it is complete and does not have them."""
    absent = _spanned(table, dimensions, codes) & table.complete
    absent[at] = False
    return absent


# ---------------------------------------------------------------------- common cells


def _moved(matrix: csr_array, at: Ints, size: int) -> csr_array:
    """The same equations over `size` cells, where old cell i is now cell at[i]."""
    return csr_array(
        (matrix.data, np.asarray(at)[matrix.indices], matrix.indptr), shape=(matrix.shape[0], size)
    )


def _in_common_units(tables: Sequence[Table]) -> list[Ints]:
    """The values of each table in the finest data unit of all of them."""
    decimals = max(table.decimals for table in tables)
    large = [np.abs(table.units) >= LARGEST_UNITS / 10.0 ** (decimals - table.decimals) for table in tables]
    if not any(cells.any() for cells in large):
        return [table.units * 10 ** (decimals - table.decimals) for table in tables]
    faults = [
        f"cell {label}: too many digits for {decimals} decimals, the most that a table has"
        for table, cells in zip(tables, large, strict=True)
        for label in table.labels(np.flatnonzero(cells))
    ]
    finest = finest_decimals(max(float(np.abs(table.values).max()) for table in tables))
    raise InputError("Linked tables", faults, advice=f"Make all of them with decimals={finest} or fewer.")


def _cell_decimals(tables: Sequence[Table], places: Sequence[Ints], size: int) -> NDArray[np.int8] | None:
    """The decimals of each cell's own table, the coarsest where several show it; None where all are the same."""
    if len({table.decimals for table in tables}) == 1 and all(
        table.cell_decimals is None for table in tables
    ):
        return None
    found = np.full(size, np.iinfo(np.int8).max, dtype=np.int8)
    for table, at in zip(tables, places, strict=True):
        own = table.decimals if table.cell_decimals is None else table.cell_decimals
        found[at] = np.minimum(found[at], own)
    return frozen(found)


def _agreed(
    tables: Sequence[Table],
    whole: Sequence[Ints],
    places: Sequence[Ints],
    codes: Codes,
    dimensions: Sequence[Dimension],
) -> Ints:
    """The units of each common cell; an error lists the cells on which the tables differ."""
    units = np.zeros(codes.shape[0], dtype=np.int64)
    seen, differ = np.zeros(units.size, dtype=bool), np.zeros(units.size, dtype=bool)
    for own, at in zip(whole, places, strict=True):
        differ[at] |= seen[at] & (units[at] != own)
        units[at], seen[at] = np.where(seen[at], units[at], own), True
    zeros = np.zeros_like(differ)
    for table, at in zip(tables, places, strict=True):
        zeros |= _absent(table, at, codes, dimensions) & (units != 0)
    faults = [
        f"common cell {label_of(dimensions, codes[cell])} "
        + ("has different values" if differ[cell] else "is absent from one table and not zero in another")
        for cell in np.flatnonzero(differ | zeros)
    ]
    if faults:
        raise InputError(
            "Linked tables",
            faults,
            advice="Linked tables must agree on common cells: correct them or leave a table out.",
            confidential=_differences(tables, places, codes, dimensions, np.flatnonzero(differ | zeros)),
        )
    return units


def _differences(
    tables: Sequence[Table],
    places: Sequence[Ints],
    codes: Codes,
    dimensions: Sequence[Dimension],
    cells: Ints,
) -> dict[str, list[object]]:
    """Labels of the cells and the values that each table has for them."""
    found: dict[int, list[float]] = {int(cell): [] for cell in cells}
    for table, at in zip(tables, places, strict=True):
        for own in np.flatnonzero(np.isin(at, cells)):
            found[int(at[own])].append(float(table.values[own]))
    return {"cells": [label_of(dimensions, codes[cell]) for cell in cells], "values": list(found.values())}


def _merged_columns(tables: Sequence[Table], places: Sequence[Ints], size: int) -> dict[str, Floats]:
    merged: dict[str, Floats] = {}
    for table, at in zip(tables, places, strict=True):
        for name, column in table.columns.items():
            target = merged.setdefault(name, np.full(size, np.nan))
            target[at] = np.where(np.isnan(target[at]), column, target[at])
    return {name: floats(column) for name, column in merged.items()}


class _Carried(TypedDict):
    response: str
    respondents: Contributions | None
    holdings: Contributions | None
    frame_kind: str | None
    counts: bool
    weighted: bool
    empty: str


def _carried(tables: Sequence[Table], places: Sequence[Ints], size: int) -> _Carried:
    """What a linked table keeps of its parts; contributors only where all parts know them."""
    responses = list(dict.fromkeys(table.response for table in tables))
    kinds = {table.frame_kind for table in tables}
    respondents = [table.respondents for table in tables if table.respondents is not None]
    holdings = [table.holdings for table in tables if table.holdings is not None]
    return {
        "response": responses[0] if len(responses) == 1 else "value",
        "respondents": placed(respondents, places, size) if len(respondents) == len(tables) else None,
        "holdings": placed(holdings, places, size) if len(holdings) == len(tables) else None,
        "frame_kind": kinds.pop() if len(kinds) == 1 else None,
        "counts": all(table.counts for table in tables),
        "weighted": any(table.weighted for table in tables),
        "empty": CELLS if any(table.empty == CELLS for table in tables) else KNOWN,
    }


# ---------------------------------------------------------------------- responses


def _check_responses(tables: Mapping[str, Table], sums: Mapping[str, Mapping[str, float]]) -> None:
    known = sorted({name for left, right in sums.items() for name in (left, *right)} - set(tables))
    faults = [f"relation with an unknown response {name!r}" for name in known]
    for left, right in sums.items():
        if left in right or not right:
            faults.append(f"{_words(left, right)}: the right-hand side needs other responses, and only those")
        faults += [
            f"{_words(left, right)}: the factor of {name!r} is not a finite number"
            for name, factor in right.items()
            if not np.isfinite(factor)
        ]
    if any(RESPONSE in _names(table) for table in tables.values()):
        faults.append(f"a dimension is called {RESPONSE!r}, the name of the dimension of the responses")
    if faults or not tables:
        advice = f"Responses: {', '.join(map(repr, tables)) or 'none'}."
        raise InputError("Linked responses", faults or ["no table given"], advice=advice)


def _words(left: str, right: Mapping[str, float]) -> str:
    """The relation as text: ``profit = turnover - costs``."""
    terms = [
        f"{'-' if factor < 0 else '+'} {'' if abs(factor) == 1 else f'{abs(factor):g} '}{name}"
        for name, factor in right.items()
    ]
    return f"{left} = {' '.join(terms).removeprefix('+ ')}"


def _stacked(tables: Mapping[str, Table], dimensions: Sequence[Dimension]) -> Table:
    """The tables side by side, distinguished by the dimension of responses."""
    parts = list(tables.values())
    sizes = [len(table) for table in parts]
    places = [np.arange(size) + start for size, start in zip(sizes, np.cumsum([0, *sizes[:-1]]), strict=True)]
    response = np.repeat(np.arange(len(parts), dtype=np.int32), sizes)
    cover = np.concatenate([_cover_codes(table, dimensions) for table in parts])
    moved = [_moved(table.equations, at, response.size) for table, at in zip(parts, places, strict=True)]
    return Table(
        (Dimension.names(RESPONSE, tables), *dimensions),
        frozen(np.concatenate([response[:, None], cover], axis=1)),
        frozen(np.concatenate(_in_common_units(parts))),
        frozen_matrix(vstack(moved)),
        floats(np.concatenate([table.rhs for table in parts])),
        max(table.decimals for table in parts),
        _merged_columns(parts, places, response.size),
        cell_decimals=_cell_decimals(parts, places, response.size),
        rounding=max(table.rounding for table in parts),
        emptiness=linked(parts, places, np.zeros(response.size, dtype=bool)),
        **_carried(parts, places, response.size),
    )


def _relation(
    stacked: Table, tables: Mapping[str, Table], factors: Mapping[str, float], dimensions: Sequence[Dimension]
) -> tuple[Ints, csr_array]:
    """Keys of the cells in which a relation is to hold, and its rows: sum of factor * response = 0."""
    packing = Packing.of(dimensions)
    keys = packing.keys(stacked.codes[:, 1:])
    cells = {
        name: np.flatnonzero(stacked.codes[:, 0] == r) for r, name in enumerate(tables) if name in factors
    }
    shared: Ints = np.unique(np.concatenate([keys[own] for own in cells.values()]))
    for name, own in cells.items():
        if tables[name].complete:
            shared = shared[_spanned(tables[name], dimensions, packing.codes(shared))]
        else:
            shared = np.intersect1d(shared, keys[own])
    rows, columns, data = [], [], []
    for name, own in cells.items():
        own = own[np.isin(keys[own], shared)]
        rows.append(np.searchsorted(shared, keys[own]))
        columns.append(own)
        data.append(np.full(own.size, float(factors[name])))
    entries = (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns)))
    return shared, csr_array(entries, shape=(shared.size, len(stacked)))
