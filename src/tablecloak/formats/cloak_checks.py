"""What a cloak file says must make sense: types, shapes, ranges and numbers are checked before anything is believed.

Types are those that the classes declare. A problem is made again with `Problem.of`, which checks all that it asks of
a new one; the messages name cells by code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tablecloak.errors import InputError
from tablecloak.frames import KINDS
from tablecloak.model import (
    EMPTY,
    LARGEST_UNITS,
    MOST_DECIMALS,
    NO_UNIT,
    Contributions,
    Mark,
    Packing,
    Problem,
    Table,
)

ROUNDED_BY = 2.5
"""Data units: a level is rounded up by less than one, a bound inward by less than one."""
_UNITS = ("units", "unit_weight", "unit_waived")
_LARGEST = ("top", "top_weight", "top_unit")


def type_faults(kind: type, parts: Mapping[str, Any]) -> list[str]:
    """Fields of a class that are unknown, or not of the type that it declares."""
    declared = get_type_hints(kind)
    known = {field.name: declared[field.name] for field in fields(kind) if field.init}
    faults = [f"{kind.__name__} has no {name}" for name in parts if name not in known]
    wrong = [name for name in parts if name in known and not _is_of(parts[name], known[name])]
    return faults + [f"{kind.__name__}: {name} is of another kind" for name in wrong]


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (UnionType, Union):
        return any(_is_of(value, each) for each in inner)
    if origin is tuple:
        return isinstance(value, tuple) and all(_is_of(each, inner[0]) for each in value)
    if isinstance(origin, type) and issubclass(origin, np.ndarray):
        (item,) = get_args(inner[1])
        return isinstance(value, np.ndarray) and (
            value.dtype.kind == "U" if item is np.str_ else value.dtype == np.dtype(item)
        )
    if origin is not None:
        return isinstance(value, Mapping) and all(
            _is_of(key, inner[0]) and _is_of(each, inner[1]) for key, each in value.items()
        )
    return value is None if hint is NoneType else type(value) is hint


# ---------------------------------------------------------------------- tables


def table_faults(table: Table, additive: bool = True) -> list[str]:
    """What is wrong with the arrays of a table; where these are right, whether it adds up (unless not `additive`)."""
    faults = list(_array_faults(table))
    if not faults and additive:
        try:
            table.check_additive()
        except InputError as error:
            faults += error.faults
    return faults


def _array_faults(table: Table) -> Iterator[str]:
    cells = table.units.size
    if table.units.shape != (cells,) or not cells or not table.dimensions:
        yield "the table has no cells"
        return
    if table.codes.shape != (cells, len(table.dimensions)):
        yield "the codes are not those of the cells"
        return
    columns = {name: array for name, array in _arrays(table) if name not in ("codes", "rhs")}
    for name, array in (columns | dict(table.columns)).items():
        if array.shape != (cells,):
            yield f"{name}: expected {cells} numbers"
    if (np.abs(table.units) >= LARGEST_UNITS).any() or (table.units == np.iinfo(np.int64).min).any():
        yield "units: some are too large"
    if not 0 <= table.rounding < np.inf:
        yield "the largest change by rounding is no such number"
    if table.cell_decimals is not None and not _are_decimals(table.cell_decimals):
        yield "cell_decimals: some are out of range"
    yield from _code_faults(table)
    yield from _matrix_faults("equations", table.equations, (table.equations.shape[0], cells))
    if table.rhs.shape != (table.equations.shape[0],) or not _finite(table.rhs):
        yield "equations: expected a finite right-hand side for each"
    if not _are_decimals(np.array([table.decimals], dtype=object)) or not 0 <= table.virtual <= cells:
        yield "the number of decimals or of virtual cells is out of range"
    if table.frame_kind is not None and table.frame_kind not in KINDS:
        yield "there is no such kind of dataframe"
    if table.empty not in EMPTY:
        yield "there is no such kind of empty combinations"
    if table.emptiness is not None and any(mask.shape != (cells,) for _, mask in _arrays(table.emptiness)):
        yield f"emptiness: expected {cells} entries in each mask"
    for known in (table.respondents, table.holdings):
        if known is not None:
            yield from _contribution_faults(known, cells)


def _code_faults(table: Table) -> Iterator[str]:
    names = [dimension.name for dimension in table.dimensions]
    if len(set(names)) < len(names):
        yield "two dimensions have the same name"
    sizes = np.array([len(dimension.codes) for dimension in table.dimensions])
    if not ((table.codes >= 0) & (table.codes < sizes)).all():
        yield "cells have codes that their dimensions do not have"
        return
    keys = Packing.of(table.dimensions).keys(table.codes)
    if np.unique(keys).size < keys.size:
        yield "a cell is there twice"


def _contribution_faults(known: Contributions, cells: int) -> Iterator[str]:
    units = known.units.size
    depth = known.top.shape[1:]
    for name, array in _arrays(known):
        shape: tuple[int, ...] = (cells,)
        if name in _UNITS:
            shape = (units,)
        elif name in _LARGEST:
            shape = (cells, *depth[:1])
        elif name == "requested":
            shape = (cells, 2)
        if array.shape != shape:
            yield f"contributions of {known.level}: {name} has another shape than the table"
        elif not _finite(array):
            yield f"contributions of {known.level}: {name} has numbers that are not finite"
        elif name.endswith("_unit") and array.size and not (array.min() >= NO_UNIT and array.max() < units):
            yield f"contributions of {known.level}: {name} names units that there are not"
        elif name in ("count", "unwaived", "requesters", "unit_weight") and (array < 0).any():
            yield f"contributions of {known.level}: {name} is negative"
    for name in ("shares", "shadow_shares"):
        matrix = getattr(known, name)
        expected = (units, cells) if units or matrix.shape[0] else matrix.shape
        yield from _matrix_faults(f"contributions of {known.level}: {name}", matrix, expected)


def _matrix_faults(name: str, matrix: csr_array, shape: tuple[int, ...]) -> Iterator[str]:
    if matrix.shape != shape:
        yield f"{name}: the matrix has another shape than the table"
    if matrix.data.dtype != np.float64 or not _finite(matrix.data):
        yield f"{name}: coefficients are no finite numbers"
    if not matrix.has_canonical_format:
        yield f"{name}: coefficients are listed twice or out of order"


def _are_decimals(numbers: NDArray[Any]) -> bool:
    return bool(((numbers >= 0) & (numbers <= MOST_DECIMALS)).all())


def _arrays(thing: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    for field in fields(thing):
        value = getattr(thing, field.name)
        if isinstance(value, np.ndarray):
            yield field.name, value


def _finite(array: NDArray[Any]) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


# ---------------------------------------------------------------------- problems


def problem_faults(problem: Problem) -> Iterator[str]:
    """What is wrong with a problem whose table is right."""
    size, marks = len(problem.table), problem.marks
    if marks.shape != (size,) or not np.isin(marks, list(Mark)).all():
        yield "marks: expected one mark of each cell"
        return
    if problem.cut.ndim != 1 or not ((problem.cut >= 0) & (problem.cut < size)).all():
        yield "cut: some of these cells there are not"
    outside = [cell for cell in problem.reasons if not 0 <= cell < size]
    if outside:
        yield f"reasons: {len(outside)} of them are about cells that there are not"
    strange = [fault for who in problem.attackers for fault in type_faults(type(who), vars(who))]
    yield from strange
    if strange:
        return
    try:
        Problem.of(
            problem.table,
            marks == Mark.SENSITIVE,
            problem.levels,
            weights=problem.weights,
            prices=problem.prices,
            forced=marks == Mark.FORCED,
            hidden=marks == Mark.HIDDEN,
            known=(problem.outsider_low, problem.outsider_high),
            attackers=problem.attackers,
            most_touched=problem.most_touched,
            widen=True,  # boxes were rounded inward and levels up: see below
        )
    except InputError as error:
        yield from error.faults
        return
    for label in problem.table.labels(np.flatnonzero(_narrow(problem))):
        yield f"cell {label}: the a-priori bounds are narrower than its protection level"


def _narrow(problem: Problem) -> NDArray[np.bool_]:
    """Where the outsider's box is narrower than a level by more than rounding to data units explains."""
    table, levels = problem.table, problem.levels
    decimals = table.decimals if table.cell_decimals is None else table.cell_decimals.astype(np.float64)
    unit, a = 10.0**-decimals, table.values
    with np.errstate(invalid="ignore"):
        down, up = a - problem.outsider_low, problem.outsider_high - a
        width, lower, upper = (
            np.maximum(level, np.where(problem.forced, 0.0, conditional))
            for level, conditional in (
                (levels.sliding, levels.conditional),
                (levels.lower, levels.conditional_lower),
                (levels.upper, levels.conditional_upper),
            )
        )
        return np.asarray(
            (down < lower - ROUNDED_BY * unit)
            | (up < upper - ROUNDED_BY * unit)
            | (down + up < width - 2 * ROUNDED_BY * unit)
        )
