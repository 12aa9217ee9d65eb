"""Rows about cells: a code for each dimension (empty: its total) and numbers beside them, from a frame or a mapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.arrays import Codes, Floats, Ints, frozen
from tablecloak.errors import InputError, near
from tablecloak.files import parse_numbers
from tablecloak.frames import columns_of
from tablecloak.model import Dimension, Packing, Table


@dataclass(frozen=True, eq=False)
class CellRows:
    """The cell of each row, and the numbers beside them (NaN where there is none). Confidential."""

    cells: Ints
    numbers: Mapping[str, Floats]

    @classmethod
    def of(cls, table: Table, data: Any, numbers: Sequence[str], what: str) -> CellRows:
        """Rows with a column of codes for each dimension and any of these columns of numbers; each cell once.

        All faults are one `InputError` about `what`.
        """
        columns = columns_of(data)
        wanted = [dimension.name for dimension in table.dimensions]
        faults = [f"there is no column {name!r} of codes" for name in wanted if name not in columns]
        known = (*wanted, *numbers)
        faults += [f"unknown column {name!r}{near(name, known)}" for name in columns if name not in known]
        if len({len(column) for column in columns.values()}) > 1:
            faults.append("the columns have different numbers of rows")
        if faults:
            raise InputError(what, faults, advice=f"Columns: {', '.join(known)}.")
        texts = {name: [as_text(entry) for entry in column.tolist()] for name, column in columns.items()}
        places = [f"row {row}" for row in range(1, 1 + len(texts[wanted[0]] if wanted else []))]
        found = dict[str, Floats]()
        for name in numbers:
            written = texts.get(name, [""] * len(places))
            found[name] = frozen(parse_numbers([text or "nan" for text in written]))
            unread = np.isnan(found[name]) & np.array([bool(text) for text in written], dtype=bool)
            faults += [f"{places[row]}: {name} is not a number" for row in np.flatnonzero(unread).tolist()]
        codes = list(zip(*(texts[name] for name in wanted), strict=True))
        cells, strange = cells_of(table, codes, places)
        faults += strange
        first = dict[int, str]()
        for place, cell in zip(places, cells.tolist(), strict=True):
            if cell >= 0 and cell in first:
                faults.append(f"{place}: cell {table.label(cell)} is listed already in {first[cell]}")
            first.setdefault(cell, place)
        if faults:
            raise InputError(what, faults)
        return cls(frozen(cells), found)

    def __repr__(self) -> str:
        return f"<confidential CellRows: {self.cells.size} cells>"


def as_text(entry: Any) -> str:
    """A code, a word or a number as text; nothing and NaN are empty."""
    if entry is None or (isinstance(entry, float) and np.isnan(entry)):
        return ""
    if isinstance(entry, float) and entry.is_integer():
        return str(int(entry))
    return str(entry).strip()


def cells_of(table: Table, given: Sequence[Sequence[str]], places: Sequence[str]) -> tuple[Ints, list[str]]:
    """The cell with the codes of each row, -1 where there is none, and why; `places` name the rows."""
    count, faults = len(given), list[str]()
    codes = np.zeros((count, len(table.dimensions)), dtype=np.int32)
    for d, dimension in enumerate(table.dimensions):
        column = [row[d] for row in given]
        codes[:, d] = _positions(dimension, column)
        for row in np.flatnonzero(codes[:, d] < 0).tolist():
            what = f"unknown code {column[row]!r}" if column[row] else "an empty code, but there is no total"
            faults.append(f"{places[row]}: {what} in dimension {dimension.name!r}")
    packing = Packing.of(table.dimensions)
    keys = packing.keys(table.codes)
    order = np.argsort(keys, kind="stable")
    wanted = packing.keys(codes)
    at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), keys.size - 1)]
    known = (codes >= 0).all(axis=1)
    found = known & (keys[at] == wanted)
    faults += [
        f"{places[row]}: the table has no such cell" for row in np.flatnonzero(known & ~found).tolist()
    ]
    return np.where(found, at, -1), faults


def _positions(dimension: Dimension, codes: Sequence[str]) -> Codes:
    total = -1 if dimension.total is None else dimension.index[dimension.total]
    known = {code: dimension.index.get(code, -1) for code in set(codes)} | {
        "": dimension.index.get("", total)
    }
    return np.array([known[code] for code in codes], dtype=np.int32)
