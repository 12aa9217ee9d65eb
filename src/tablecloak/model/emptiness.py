"""Public knowledge about empty combinations, which belongs to the box of every attacker.

A table of counts prints a combination without a unit as empty. So a cell that is there, hidden or not, has at least
one unit: with 11 = x + x + 9 both hidden counts are 1. In the words of the audit, for every attacker:

- *present* cells, unweighted counts that are positive: low >= 1;
- other *counted* cells: low >= 0, for no count is negative;
- *absent* cells, which one of several linked tables prints as empty: low = high = 0.

Sampling weights are not bounded by one. A table with ``empty="cells"`` (`tablecloak.model.emptiness`) has a cell
for each possible combination, zeros included, any of which may be hidden: then nothing follows from a cell being
there.

Empty combinations as cells of value zero, which weigh one unit and may be hidden (``empty="cells"``).

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
from tablecloak.model.equations import Packing, aggregated, ancestors, summation_equations
from tablecloak.model.settings import MOST_CELLS
from tablecloak.model.tolerances import SMALLEST_COUNT

if TYPE_CHECKING:
    from tablecloak.model.problem import Attacker, Problem
    from tablecloak.model.table import Table


KNOWN, CELLS = "known", "cells"
EMPTY = (KNOWN, CELLS)
"""Meanings of an empty combination: printed as empty, or a cell of value zero that may be hidden."""


@dataclass(frozen=True, eq=False)
class Emptiness:
    """Public knowledge about each cell, because empty combinations are printed as such."""

    counted: Bools
    """Cells whose value is an unweighted number of units."""
    present: Bools
    """Cells that are known to have at least one unit."""
    absent: Bools
    """Cells that are known to be zero, because a linked table prints them as empty."""
    complete: tuple[tuple[str, ...], ...] = ()
    """The dimensions of each of the linked tables that prints empty combinations, names in order."""

    @classmethod
    def of(cls, table: Table) -> Emptiness:
        """The public knowledge of a table: found by linking, or by the kind of the table."""
        if table.emptiness is not None:
            return table.emptiness
        counted = np.full(len(table), table.counts and not table.weighted) & ~table.is_virtual
        present = counted & (table.values > 0) & (table.empty == KNOWN)
        return cls(frozen(counted), frozen(present), frozen(np.zeros(len(table), dtype=bool)))

    def extended(self, count: int) -> Emptiness:
        """The knowledge with further cells at the end about which nothing is known."""
        nothing = np.zeros(count, dtype=bool)
        masks = (self.counted, self.present, self.absent)
        counted, present, absent = (frozen(np.concatenate([mask, nothing])) for mask in masks)
        return Emptiness(counted, present, absent, self.complete)


def known_bounds(table: Table, hide_zeros: bool = True) -> tuple[Floats, Floats]:
    """low, high of each cell by the page; infinite where nothing follows from it.

    A total is at least the sum of what its parts are at least. Where zeros are never hidden, all counts that are
    hidden are at least one.
    """
    known = Emptiness.of(table)
    present = known.present if hide_zeros else known.counted & (table.values > 0)
    counts = np.where(known.counted & (table.values >= 0), 0.0, -np.inf)
    low = np.where(known.absent, 0.0, np.where(present, SMALLEST_COUNT, counts))
    if present.any():
        least = 0.0 if (table.values >= 0).all() else -np.inf
        implied = _implied(table, np.maximum(low, least))
        low = np.where(implied > np.maximum(low, least), implied, low)
    return floats(low), floats(np.where(known.absent, 0.0, np.inf))


def _implied(table: Table, low: Floats) -> Floats:
    """The lower bounds with those of totals raised to the sums over their parts, from the leaves up."""
    sums = table.equations
    row = np.repeat(np.arange(sums.shape[0]), np.diff(sums.indptr))
    totals = np.bincount(row[sums.data < 0], minlength=sums.shape[0])
    odd = np.bincount(row[np.abs(sums.data) != 1], minlength=sums.shape[0])
    plain = (totals == 1) & (odd == 0) & (table.rhs == 0)
    part, total = plain[row] & (sums.data > 0), plain[row] & (sums.data < 0)
    above = np.zeros(sums.shape[0], dtype=np.int64)
    above[row[total]] = sums.indices[total]
    while True:
        least = np.bincount(row[part], weights=low[sums.indices[part]], minlength=sums.shape[0])
        raised = low.copy()
        np.maximum.at(raised, above[plain], least[plain])
        if (raised == low).all():
            return low
        low = raised


def knowing_the_page(problem: Problem, attacker: Attacker) -> Attacker:
    """The attacker with the bounds of totals that follow from own and public knowledge together."""
    table, cells = problem.table, attacker.cells
    if not (Emptiness.of(table).counted & (problem.outsider_low >= SMALLEST_COUNT)).any():
        return attacker
    low, high = problem.outsider_low.copy(), np.full(len(table), np.inf)
    low[cells], high[cells] = np.maximum(low[cells], attacker.low), attacker.high
    low = _implied(table, low)
    more = np.union1d(cells, np.flatnonzero(low > problem.outsider_low))
    return replace(attacker, cells=frozen(more), low=floats(low[more]), high=floats(high[more]))


def with_public_knowledge(problem: Problem, hide_zeros: bool) -> Problem:
    """The problem with public knowledge in the box, and levels that end there."""
    low, high = known_bounds(problem.table, hide_zeros)
    value, levels = problem.table.values, problem.levels
    below, above = np.maximum(value - low, 0.0), np.maximum(high - value, 0.0)
    room = {"lower": below, "upper": above, "conditional_lower": below, "conditional_upper": above}
    lower, upper, *others = (frozen(np.minimum(getattr(levels, name), end)) for name, end in room.items())
    return replace(
        knowing_of_all(problem, low, high),
        levels=replace(levels, **dict(zip(room, (lower, upper, *others), strict=True))),
        cut=frozen(np.flatnonzero((lower < levels.lower) | (upper < levels.upper))),
    )


def knowing_of_all(problem: Problem, low: Floats, high: Floats) -> Problem:
    """The problem with these bounds of every cell in the box of everybody."""
    return replace(
        problem,
        outsider_low=frozen(np.maximum(problem.outsider_low, low)),
        outsider_high=frozen(np.minimum(problem.outsider_high, high)),
    )


def linked(tables: Sequence[Table], places: Sequence[Ints], absent: Bools) -> Emptiness:
    """The public knowledge of several tables in one, where cell i of table t is places[t][i]: that of any of them."""
    masks = np.zeros((2, absent.size), dtype=bool)
    for table, at in zip(tables, places, strict=True):
        own = Emptiness.of(table)
        absent[at] |= own.absent
        for mask, part in zip(masks, (own.counted, own.present), strict=True):
            mask[at] |= part
    whole, other = set[tuple[str, ...]](), set[tuple[str, ...]]()
    for table in tables:
        own_names = tuple(sorted(dimension.name for dimension in table.dimensions))
        (whole if table.complete else other).add(own_names)
        whole |= set(table.emptiness.complete if table.emptiness is not None else ())
    return Emptiness(
        frozen(masks[0].copy()), frozen(masks[1].copy()), frozen(absent), tuple(sorted(whole - other))
    )


def check_counts(table: Table) -> None:
    """Raise where counts are negative, or unweighted ones no whole numbers."""
    if not table.counts:
        return
    values = table.values
    wrong = values < 0 if table.weighted else (values < 0) | (values != np.rint(values))
    what = "is negative" if table.weighted else "is no whole number from 0"
    faults = [f"cell {label}: the count {what}" for label in table.labels(np.flatnonzero(wrong))]
    if faults:
        raise InputError(
            "Counts", faults, advice="Leave counts off where the values are no numbers of units."
        )


def gap_meaning(table: Table) -> str:
    """The meaning of an absent combination of codes, for the legend of a publication."""
    if table.weighted:
        return "no respondent there: the true value need not be zero"
    return _zero(table) if table.complete else "no such cell"


def part_gap_meanings(table: Table) -> dict[tuple[str, ...], str]:
    """Meanings of absent combinations in single tables of a linked one, by their dimensions, names in order."""
    parts = () if table.emptiness is None else table.emptiness.complete
    return {names: gap_meaning(table) if table.weighted else _zero(table) for names in parts}


def _zero(table: Table) -> str:
    return "cannot occur: exactly zero" if table.empty == CELLS else "nothing there: exactly zero"


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
