"""Empty combinations as cells of value zero, which weigh one unit and may be hidden (``empty="cells"``).

All combinations of leaf codes but the impossible ones (structural zeros, such as married children) get a cell, and so
do the totals over them. Then a hidden cell may be zero, and hiding the zeros protects small counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tablecloak.arrays import Bools, Codes, Floats, Ints, floats, frozen, frozen_matrix
from tablecloak.errors import InputError
from tablecloak.model.cells import read_codes
from tablecloak.model.contributions import placed
from tablecloak.model.dimension import Dimension, label_of
from tablecloak.model.emptiness import CELLS, EMPTY, KNOWN, check_counts
from tablecloak.model.equations import Packing, aggregated, ancestors, summation_equations
from tablecloak.model.settings import MOST_CELLS

if TYPE_CHECKING:
    from tablecloak.model.table import Table

Impossible: TypeAlias = Callable[[Mapping[str, Any]], Any] | Mapping[str, Any] | Sequence[Any] | Any
"""Combinations that cannot occur: see `with_empty_cells`."""


@dataclass(frozen=True, eq=False)
class EmptyCells:
    """The treatment of empty combinations, as `Table.from_cells` and `tabulate` take it."""

    empty: str = KNOWN
    impossible: Impossible = None
    most: int = MOST_CELLS

    def __post_init__(self) -> None:
        faults = (
            [] if self.empty in EMPTY else [f"empty must be one of {', '.join(EMPTY)}, got {self.empty!r}"]
        )
        if not isinstance(self.most, int) or isinstance(self.most, bool) or self.most < 1:
            faults.append("most_cells must be a whole number, at least 1")
        if self.impossible is not None and self.empty == KNOWN:
            faults.append('impossible combinations go with empty="cells" only')
        if faults:
            raise InputError("Empty combinations", faults)


def of_kind(table: Table, empty: EmptyCells, *, counts: bool, weighted: bool) -> Table:
    """The table with what its values are (checked) and what its empty combinations are."""
    checked = replace(table, counts=bool(counts), weighted=bool(weighted))
    check_counts(checked)
    return checked if empty.empty == KNOWN else with_empty_cells(checked, empty.impossible, empty.most)


def with_empty_cells(table: Table, impossible: Impossible = None, most: int = MOST_CELLS) -> Table:
    """The table with a cell of value zero for each combination that has none and is not impossible.

    `impossible` is a list of combinations (a code for each dimension), a dataframe or mapping with a column of codes
    for each dimension, or a function that takes such columns (of all combinations of leaves) and returns a mask.
    A code that is a total stands for everything below it. More than `most` cells are an `InputError`.
    """
    dimensions, packing = table.dimensions, Packing.of(table.dimensions)
    leaves = [np.flatnonzero(dimension.is_leaf) for dimension in dimensions]
    _check_size(prod(each.size for each in leaves), packing.span, most)
    combinations = np.stack(np.meshgrid(*leaves, indexing="ij"), axis=-1).reshape(-1, len(leaves))
    codes = combinations.astype(np.int32)
    barred = _barred(dimensions, codes, impossible)
    own = packing.keys(table.codes)
    _check_possible(table, np.isin(own, packing.keys(codes[barred])))
    possible, _ = aggregated(dimensions, codes[~barred], np.zeros(int((~barred).sum())))
    keys: Ints = np.union1d(packing.keys(possible), own)
    _check_size(keys.size, keys.size, most)
    return _spread(table, packing.codes(keys), np.searchsorted(keys, own))


def _spread(table: Table, codes: Codes, at: Ints) -> Table:
    """The table over more cells, where its cell i is cell at[i] and the others are zero."""
    size = codes.shape[0]

    def zeros_and(column: Floats) -> Floats:
        spread = np.zeros(size)
        spread[at] = column
        return floats(spread)

    units = np.zeros(size, dtype=np.int64)
    units[at] = table.units
    equations = frozen_matrix(summation_equations(table.dimensions, codes).matrix)
    levels = (table.respondents, table.holdings)
    respondents, holdings = (None if each is None else placed([each], [at], size) for each in levels)
    return replace(
        table,
        codes=frozen(codes),
        units=frozen(units),
        equations=equations,
        rhs=floats(0.0, equations.shape[0]),
        columns={name: zeros_and(column) for name, column in table.columns.items()},
        respondents=respondents,
        holdings=holdings,
        empty=CELLS,
    )


# ---------------------------------------------------------------------- impossible combinations


def _barred(dimensions: Sequence[Dimension], codes: Codes, impossible: Impossible) -> Bools:
    """Which of the combinations of leaves cannot occur."""
    if impossible is None:
        return np.zeros(codes.shape[0], dtype=bool)
    if callable(impossible):
        columns = {
            dimension.name: np.array(dimension.codes, dtype=object)[codes[:, d]]
            for d, dimension in enumerate(dimensions)
        }
        answer = np.asarray(impossible(columns))
        if answer.dtype != bool or answer.shape != (codes.shape[0],):
            fault = "the function must return a mask with one entry for each combination"
            raise InputError("Impossible combinations", [fault])
        return answer
    named = _named(dimensions, impossible)
    inner = np.stack([dimension.is_leaf[named[:, d]] for d, dimension in enumerate(dimensions)], axis=1)
    packing, plain = Packing.of(dimensions), inner.all(axis=1)
    barred = np.isin(packing.keys(codes), packing.keys(named[plain]))
    below = [ancestors(dimension) for dimension in dimensions]
    for row in named[~plain]:
        covered = np.ones(codes.shape[0], dtype=bool)
        for d, code in enumerate(row):
            covered &= np.isin(codes[:, d], below[d][0][below[d][1] == code])
        barred |= covered
    return barred


def _named(dimensions: Sequence[Dimension], impossible: Any) -> Codes:
    """The combinations as rows of codes."""
    if isinstance(impossible, Sequence) and not isinstance(impossible, str | bytes):
        faults = list(_shape_faults(dimensions, impossible))
        if faults:
            advice = "Write them like [('North', 'large'), ...], a code for each dimension."
            raise InputError("Impossible combinations", faults, advice=advice)
        columns = [[row[d] for row in impossible] for d in range(len(dimensions))]
        impossible = {each.name: column for each, column in zip(dimensions, columns, strict=True)}
    return read_codes(dimensions, impossible, "Impossible combinations")


def _shape_faults(dimensions: Sequence[Dimension], given: Sequence[Any]) -> Iterator[str]:
    for number, row in enumerate(given, 1):
        if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != len(dimensions):
            yield f"combination {number}: expected {len(dimensions)} codes"


# ---------------------------------------------------------------------- faults


def _check_possible(table: Table, barred: Bools) -> None:
    faults = [
        f"cell {label_of(table.dimensions, table.codes[cell])} is named impossible, but the data have it"
        for cell in np.flatnonzero(barred)
    ]
    if faults:
        raise InputError("Impossible combinations", faults)


def _check_size(count: int, cells: int, most: int) -> None:
    if count > most:
        raise InputError(
            "Empty cells",
            [f"there would be {cells:,} cells, more than most_cells={most:,}"],
            advice='Name what is impossible, use fewer dimensions or codes, raise most_cells, or take empty="known".',
        )
