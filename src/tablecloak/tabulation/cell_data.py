"""Tables from ready cells: what `tabulate` does with `CellData`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Floats, Ints
from tablecloak.errors import InputError, public_names
from tablecloak.frames import columns_of, frame_kind
from tablecloak.model import Contributions, Dimension, Table, noise, of_kind, tolerances
from tablecloak.tabulation.duckdb import Part, file_parts, read_columns, session
from tablecloak.tabulation.sources import CellData, Layout, is_path, naming

VALUE = "value"
"""The column of values, where no response is named."""


def table_of_cells(source: CellData, layout: Layout) -> Table:
    """The table, with its contributions where counts and the largest contributions are given.

    With `recompute` the counts and contributions of totals cannot be rebuilt: totals that are not listed with them
    are a fault.
    """
    with naming(source.data):
        return _table(source, layout)


def _table(source: CellData, layout: Layout) -> Table:
    value, other = layout.response or VALUE, layout.shadow or source.shadow
    columns, parts = _columns(source)
    numeric = [value, *_extra(source, other)]
    _check_names(columns, layout.dimensions, numeric)
    given = {each.name: _codes(columns[each.name]) for each in layout.dimensions}
    given |= {name: _numbers(columns[name]) for name in numeric}
    further = {name: _maybe_numbers(column) for name, column in columns.items() if name not in given}
    try:
        table = Table.from_cells(
            layout.dimensions,
            given | further,
            value=value,
            decimals=layout.decimals,
            recompute=source.recompute,
            tolerance=source.tolerance,
            round=layout.round,
        )
    except InputError as error:
        raise _by_line(error, parts) from None
    totals = table.values if other is None else table.column(other)
    faults = [] if other is None else list(_total_faults(table, totals, other))
    levels = dict[str, Contributions]()
    for level, count, top in (
        ("respondents", source.count, source.top),
        ("holdings", source.holding_count, source.holding_top),
    ):
        if count is None:
            continue
        wrong = list(_faults(table, totals, count, top))
        faults += wrong
        if not wrong:
            levels[level] = _contributions(table, totals, level, count, top)
    if faults:
        raise InputError(
            "Cells", faults, advice="Give whole counts and the largest contributions of every cell."
        )
    table = replace(
        table,
        response=value,
        respondents=levels.get("respondents"),
        holdings=levels.get("holdings"),
        frame_kind=_kind(source),
    )
    return of_kind(table, layout.empty_cells, counts=bool(layout.counts), weighted=source.weighted)


def _extra(source: CellData, shadow: str | None) -> list[str]:
    names = [source.count, *source.top, shadow, source.holding_count, *source.holding_top]
    return [name for name in names if name is not None]


def _kind(source: CellData) -> str | None:
    return None if is_path(source.data) else frame_kind(source.data)


def _columns(source: CellData) -> tuple[dict[str, NDArray[Any]], list[Part]]:
    """The columns, and the files that they are from."""
    if not is_path(source.data):
        return columns_of(source.data), []
    with session() as connection:
        parts = file_parts(connection, source.data)
        return read_columns(connection, parts), parts


def _by_line(error: InputError, parts: Sequence[Part]) -> InputError:
    """An error with the lines of a text file instead of the rows of its cells."""
    if len(parts) != 1 or parts[0].lines is None:
        return error
    found = [re.match(r"(rows?) ([\d, ]+)", fault) for fault in error.faults]
    numbers = [[int(number) for number in match[2].split(",")] if match else [] for match in found]
    line = parts[0].lines(sorted({row for rows in numbers for row in rows}))
    faults = [
        fault.replace(match[0], f"line{match[1][3:]} {', '.join(str(line[row]) for row in rows)}", 1)
        if match and all(row in line for row in rows)
        else fault
        for fault, match, rows in zip(error.faults, found, numbers, strict=True)
    ]
    return InputError(error.what, faults, advice=error.advice, confidential=error.confidential)


def _check_names(
    columns: dict[str, NDArray[Any]], dimensions: Sequence[Dimension], numeric: Sequence[str]
) -> None:
    wanted = dict.fromkeys([*(each.name for each in dimensions), *numeric])
    if faults := [f"there is no column {name!r}" for name in wanted if name not in columns]:
        raise InputError("Cells", faults, advice=f"Columns found: {public_names(list(columns))}.")


def _codes(column: NDArray[Any]) -> NDArray[Any]:
    """Codes, with nothing for gaps."""
    if column.dtype.kind != "O":
        return column
    return np.array(["" if entry is None else entry for entry in column.tolist()], dtype=object)


def _maybe_numbers(column: NDArray[Any]) -> NDArray[Any]:
    """A further column, as numbers where all of it is (text of a CSV file)."""
    if column.dtype.kind in "mMc":
        return column
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return column


def _numbers(column: NDArray[Any]) -> NDArray[Any]:
    """The column as floats, NaN where there is no number; dates and complex numbers are none."""
    if column.dtype.kind in "mMc":
        return np.full(column.shape, np.nan)
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return np.array([_number(entry) for entry in column.tolist()], dtype=np.float64)


def _number(entry: Any) -> float:
    try:
        return float(entry)
    except (TypeError, ValueError):
        return np.nan


# ---------------------------------------------------------------------- contributions


def _contributions(table: Table, totals: Floats, level: str, count: str, top: Sequence[str]) -> Contributions:
    sizes = _stacked(table, top)
    number: Ints = table.column(count).astype(np.int64)
    return Contributions.of_cells(number, sizes, totals, level=level)


def _stacked(table: Table, top: Sequence[str]) -> Floats:
    """(cells, n): the largest contributions; those that are missing are zero."""
    if not top:
        return np.zeros((len(table), 0))
    return np.nan_to_num(np.stack([table.column(name) for name in top], axis=1), nan=0.0)


def _total_faults(table: Table, totals: Floats, name: str) -> Iterator[str]:
    for cell in np.flatnonzero(~np.isfinite(totals)):
        yield f"cell {table.label(cell)}: the shadow total in column {name!r} is missing or not finite"


def _faults(table: Table, totals: Floats, count: str, top: Sequence[str]) -> Iterator[str]:
    """Invalid counts, and contributions that cannot be the largest of their cells."""
    number = table.column(count)
    integral = (number >= 0) & (number < tolerances.EXACT_INTEGER) & (number == np.floor(number))
    for cell in np.flatnonzero(~integral):
        yield f"cell {table.label(cell)}: the count in column {count!r} is no whole number from 0"
    if not top:
        return
    raw = np.stack([table.column(name) for name in top], axis=1)
    known = np.arange(len(top)) < np.where(integral, number, 0)[:, None]
    for cell, k in np.argwhere(known & ~np.isfinite(raw)):
        yield f"cell {table.label(cell)}: the contribution in column {top[k]!r} is missing or not finite"
    sizes = np.abs(np.where(np.isfinite(raw), raw, 0.0))
    for cell, k in np.argwhere(np.diff(sizes, axis=1) > 0):
        fault = f"the contribution in column {top[k + 1]!r} is larger than that in {top[k]!r}"
        yield f"cell {table.label(cell)}: {fault}"
    if (totals >= 0).all() and (table.values >= 0).all() and not (raw < 0).any():
        largest = sizes.sum(axis=1)
        slack = noise(largest + np.abs(np.nan_to_num(totals)), table.unit) + table.rounding
        over = largest > totals + slack
        for cell in np.flatnonzero(over & np.isfinite(totals)):
            yield f"cell {table.label(cell)}: the largest contributions sum up to more than the total"
