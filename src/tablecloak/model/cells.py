"""Cells as they are given, in columns of codes and numbers: read into arrays, or every fault with its row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.errors import MESSAGES, InputError, near, public_names
from tablecloak.model.dimension import Dimension, label_of
from tablecloak.model.equations import Packing, aggregated
from tablecloak.model.tolerances import (
    CLEAR_SHARE,
    ENOUGH_DIGITS,
    FLOAT_NOISE,
    LARGEST_SUM,
    LARGEST_UNITS,
    LARGEST_VALUE,
    MOST_DECIMALS,
    NEEDED_SHARE,
)
from tablecloak.model.units import amounts, checked_units, is_whole


@dataclass(frozen=True, eq=False)
class Cells:
    """Codes, values and further columns, one row a cell."""

    codes: Codes
    values: Floats
    columns: dict[str, Floats]


def read_cells(
    dimensions: Sequence[Dimension], given: Any, value: str, *, leaves_only: bool = False
) -> Cells:
    """The cells in a dict of columns or a dataframe; one `InputError` lists everything that is wrong.

    With `leaves_only` the values of totals are not looked at.
    """
    columns = _columns(given)
    _check_columns(dimensions, columns, value)
    codes = np.stack([_positions(columns[each.name], each) for each in dimensions], axis=1)
    values = _numbers(columns[value])
    if not values.size:
        raise InputError("Table", ["the table has no cells"], advice="Give at least one row.")
    faults = _code_faults(dimensions, columns, codes)
    faults += value_faults(dimensions, codes, values, leaves_only)
    faults += _repeats(dimensions, codes)
    if faults:
        advice = (
            "Give every cell once, with codes of its dimensions (numbers count as text) and a finite value."
        )
        raise InputError("Cells", faults, advice=advice)
    taken = {value, *(each.name for each in dimensions)}
    further = {
        name: _numbers(column)
        for name, column in columns.items()
        if name not in taken and _is_numeric(column)
    }
    return Cells(codes, values, further)


def read_codes(dimensions: Sequence[Dimension], given: Any, what: str) -> Codes:
    """Combinations of codes in a dict of columns or a dataframe; a dimension without a column means its total."""
    columns = _columns(given)
    rows = max((len(column) for column in columns.values()), default=0)
    faults = [
        f"there is no dimension {name!r}" for name in columns if name not in {d.name for d in dimensions}
    ]
    for each in dimensions:
        if each.name not in columns and each.total is None:
            faults.append(f"there is no column {each.name!r}, and this dimension has no total")
        columns.setdefault(each.name, np.full(rows, each.total, dtype=object))
    if len({column.shape for column in columns.values()}) > 1:
        faults.append("the columns have different numbers of rows")
    if faults:
        raise InputError(what, faults, advice="Give a column of codes for each dimension.")
    codes = np.stack([_positions(columns[each.name], each) for each in dimensions], axis=1)
    if faults := _code_faults(dimensions, columns, codes):
        raise InputError(what, faults)
    return codes


def value_faults(
    dimensions: Sequence[Dimension], codes: Codes, values: Floats, leaves_only: bool = False
) -> Iterator[str]:
    """Rows without a finite value."""
    wrong = ~np.isfinite(values)
    if leaves_only:
        wrong &= leaf_cells(dimensions, codes) | (codes < 0).any(axis=1)
    with np.errstate(invalid="ignore"):
        large = ~wrong & (np.abs(values) >= LARGEST_VALUE)
    for row in np.flatnonzero(wrong | large):
        label = f" ({label_of(dimensions, codes[row])})" if (codes[row] >= 0).all() else ""
        what = (
            f"{LARGEST_VALUE:g} or more: use a larger unit"
            if large[row]
            else "missing or not a finite number"
        )
        yield f"row {row + 1}{label}: the value is {what}"


def leaf_cells(dimensions: Sequence[Dimension], codes: Codes) -> Bools:
    """Cells that are no total in any dimension."""
    leaf = np.ones(codes.shape[0], dtype=bool)
    for d, dimension in enumerate(dimensions):
        leaf &= dimension.is_leaf[codes[:, d]]
    return leaf


def recomputed(dimensions: Sequence[Dimension], cells: Cells) -> Cells:
    """Totals rebuilt from leaves, without noise below the last decimal of the leaves.

    Further columns stay with the cells they were given for and are NaN elsewhere.
    """
    leaf = leaf_cells(dimensions, cells.codes)
    codes, values = aggregated(dimensions, cells.codes[leaf], cells.values[leaf])
    values = _without_noise(cells.values[leaf], values)
    packing = Packing.of(dimensions)
    keys = packing.keys(codes)
    old = packing.keys(cells.codes)
    at = np.minimum(np.searchsorted(keys, old), max(keys.size - 1, 0))
    kept = keys[at] == old if keys.size else np.zeros(old.size, dtype=bool)
    lost = np.flatnonzero(~kept & (cells.values != 0))
    faults = [
        f"row {r + 1}: total {label_of(dimensions, cells.codes[r])} has no parts to be rebuilt from"
        for r in lost
    ]
    if faults or not keys.size:
        advice = "List the leaf cells below these totals, or leave recompute off."
        raise InputError("Cells", faults or ["there are no leaf cells to rebuild totals from"], advice=advice)
    columns = {name: np.full(keys.size, np.nan) for name in cells.columns}
    for name, column in cells.columns.items():
        columns[name][at[kept]] = column[kept]
    return Cells(codes, values, columns)


def rebuilt_units(
    dimensions: Sequence[Dimension], codes: Codes, values: Floats, decimals: int, *, exact: bool
) -> tuple[Ints, float]:
    """Leaves rounded to whole data units and totals added up from these; the largest change of a cell.

    `exact` refuses leaves with more decimals instead of rounding them. Totals without a leaf become zero.
    """

    def label(cell: int) -> str:
        return label_of(dimensions, codes[cell])

    leaf = leaf_cells(dimensions, codes)
    whole = checked_units(values, decimals, label, exact=False)
    fits = is_whole(values, whole.astype(np.float64), decimals) | ~leaf
    if exact and not fits.all():
        advice = "Give more decimals, or let leaves be rounded (round=True)."
        checked_units(np.where(leaf, values, 0.0), decimals, label, advice=advice)
    if np.abs(whole[leaf]).sum(dtype=np.float64) >= LARGEST_SUM:
        raise InputError("Cells", ["the leaves are too large to be added up"], advice="Use fewer decimals.")
    found, sums = aggregated(dimensions, codes[leaf], whole[leaf])
    packing = Packing.of(dimensions)
    keys, wanted = packing.keys(found), packing.keys(codes)
    at = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
    units = np.where(keys[at] == wanted, sums[at], 0) if keys.size else np.zeros(wanted.size, dtype=np.int64)
    checked_units(amounts(units, decimals), decimals, label)
    change = np.abs(amounts(units, decimals) - values)
    return units, 0.0 if fits.all() else float(change.max())


def infer_decimals(values: Floats) -> int:
    """The fewest decimals that write all values, up to rounding noise.

    Values that have no last decimal get as many as make up nine digits of the largest value.
    """
    size = np.abs(values[values != 0])
    if not size.size:
        return 0
    needing = size
    for decimals in range(MOST_DECIMALS + 1):
        written = _are_written(size, decimals)
        if written.all():
            least = max(FLOAT_NOISE * size.min() / CLEAR_SHARE, FLOAT_NOISE * needing.min() / NEEDED_SHARE)
            if decimals == 0 or least < 10.0**-decimals:
                return decimals
            break  # within noise of any decimal: no evidence
        needing = size[~written]
    return enough_decimals(values)


def enough_decimals(values: Floats) -> int:
    """Number of decimals for nine digits of the largest value, for values that have no last decimal."""
    size = np.abs(values[values != 0])
    if not size.size:
        return 0
    return min(max(ENOUGH_DIGITS - 1 - floor(log10(size.max())), 0), MOST_DECIMALS)


def _rounded(values: Floats, decimals: int) -> Floats:
    with np.errstate(over="ignore"):
        return np.asarray(np.rint(values * 10.0**decimals) / 10.0**decimals)


def _are_written(values: Floats, decimals: int) -> Bools:
    """Which values this number of decimals writes, up to rounding noise."""
    off = np.abs(_rounded(values, decimals) - values)
    return np.asarray(off <= FLOAT_NOISE * np.abs(values))


def _without_noise(leaves: Floats, totals: Floats) -> Floats:
    """Totals rounded to the last decimal of the leaves, where floats have it."""
    decimals = infer_decimals(leaves)
    if not _are_written(leaves, decimals).all():
        return totals
    return np.where(np.abs(totals) * 10.0**decimals < LARGEST_UNITS, _rounded(totals, decimals), totals)


# ---------------------------------------------------------------------- columns


def _names(given: Any) -> list[Any]:
    """The names of the columns of a mapping or a dataframe."""
    for names in ("keys", "column_names", "columns"):
        found = getattr(given, names, None)
        if found is not None and not isinstance(given, str | bytes):
            return list(found() if callable(found) else found)
    fault = f"an object of type {type(given).__name__!r} is no table"
    raise InputError("Cells", [fault], advice="Give a dict of columns or a dataframe.")


def _columns(given: Any) -> dict[str, NDArray[Any]]:
    """The columns of a mapping or a dataframe as arrays, by name."""
    names = _names(given)
    columns = {str(name): _column(given[name]) for name in names}
    if len(columns) < len(names):
        found = f"{_FOUND} {public_names([str(name) for name in names])}."
        raise InputError("Cells", ["two columns have the same name"], advice=found)
    return columns


def _column(given: Any) -> NDArray[Any]:
    """A column as an array, of objects where it is not one already."""
    return np.asarray(given) if hasattr(given, "__array__") else np.array(given, dtype=object)


def _check_columns(dimensions: Sequence[Dimension], columns: Mapping[str, NDArray[Any]], value: str) -> None:
    """Raise unless the columns are there and have one length."""
    wanted = {each.name: f"the codes of dimension {each.name!r}" for each in dimensions} | {
        value: "the values"
    }
    faults = [
        f"there is no column {name!r} with {what}" for name, what in wanted.items() if name not in columns
    ]
    if not dimensions:
        faults.append("a table needs at least one dimension")
    if len(wanted) <= len(dimensions):
        faults.append("two dimensions, or a dimension and the values, have the same name")
    faults += [f"column {name!r} is not a plain list" for name, column in columns.items() if column.ndim != 1]
    lengths = {name: len(column) for name, column in columns.items() if column.ndim == 1}
    if len(set(lengths.values())) > 1:
        rows = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        faults.append(f"the columns have different numbers of rows: {rows}")
    if faults:
        raise InputError("Cells", faults, advice=f"{_FOUND} {public_names(list(columns))}.")


_FOUND = "Columns found:"


def _code_fault(code: Any, dimension: Dimension, hinted: bool) -> str:
    """The fault of a code that the dimension does not have."""
    if code is None or code != code or not str(code).strip():
        return f"the code of dimension {dimension.name!r} is missing"
    hint = near(code, dimension.codes) if hinted else ""
    return f"unknown code {str(code)!r} in dimension {dimension.name!r}{hint}"


def _code_faults(
    dimensions: Sequence[Dimension], columns: Mapping[str, NDArray[Any]], codes: Codes
) -> list[str]:
    """Rows with codes that their dimensions do not have."""
    return [
        f"row {row + 1}: {_code_fault(columns[each.name][row], each, i < MESSAGES.faults)}"
        for d, each in enumerate(dimensions)
        for i, row in enumerate(np.flatnonzero(codes[:, d] < 0))
    ]


def _positions(column: NDArray[Any], dimension: Dimension) -> Codes:
    """The position of each code in its dimension, -1 where it is unknown."""
    codes = column.tolist()
    known = {code: dimension.index.get(_text(code), -1) for code in set(codes)}
    return np.fromiter(map(known.__getitem__, codes), dtype=np.int32, count=len(codes))


def _text(code: Any) -> str:
    """A code as text: numbers as they are written, whole numbers without a decimal point."""
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


def _numbers(column: NDArray[Any]) -> Floats:
    """The column as floats, NaN where there is no number; dates and complex numbers are none."""
    if column.dtype.kind in "mMc":
        return np.full(column.shape, np.nan)
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return np.array([_number(value) for value in column.tolist()], dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def _is_numeric(column: NDArray[Any]) -> bool:
    """Whether a column holds nothing but numbers and gaps."""
    if column.dtype.kind == "O":
        return not any(isinstance(entry, str) for entry in column.tolist())
    return column.dtype.kind in "iufb"


def _repeats(dimensions: Sequence[Dimension], codes: Codes) -> Iterator[str]:
    """Cells that are listed more than once, with their rows."""
    rows = np.flatnonzero((codes >= 0).all(axis=1))
    packing = Packing.of(dimensions)
    distinct, places = packing.numbered(packing.keys(codes[rows]))
    if distinct.size == rows.size:
        return
    counts = np.bincount(places)
    repeated = np.flatnonzero(counts[places] > 1)
    order = repeated[np.argsort(places[repeated], kind="stable")]
    for group in np.split(order, np.cumsum(counts[counts > 1])[:-1]):
        listing = ", ".join(str(row + 1) for row in rows[group])
        label = label_of(dimensions, codes[rows[group[0]]])
        yield f"rows {listing}: cell {label} is listed {group.size} times"
