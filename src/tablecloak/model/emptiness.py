"""Public knowledge about empty combinations, which belongs to the box of every attacker.

A table of counts prints a combination without a unit as empty. So a cell that is there, hidden or not, has at least
one unit: with 11 = x + x + 9 both hidden counts are 1. In the words of the audit, for every attacker:

- *present* cells, unweighted counts that are positive: low >= 1;
- *absent* cells, which one of several linked tables prints as empty: low = high = 0.

Sampling weights are not bounded by one. A table with ``empty="cells"`` (`tablecloak.model.empty_cells`) has a cell
for each possible combination, zeros included, any of which may be hidden: then nothing follows from a cell being
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints, floats, frozen
from tablecloak.errors import InputError
from tablecloak.model.tolerances import SMALLEST_COUNT

if TYPE_CHECKING:
    from tablecloak.model.problem import Attacker, Problem
    from tablecloak.model.table import Table

KNOWN, CELLS = "known", "cells"
EMPTY = (KNOWN, CELLS)
"""What an empty combination is: printed as empty, or a cell of value zero that may be hidden."""


@dataclass(frozen=True, eq=False)
class Emptiness:
    """What is known about each cell because empty combinations are printed as such."""

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
        """That of a table: what linking has found, or what follows from the kind of the table."""
        if table.emptiness is not None:
            return table.emptiness
        counted = np.full(len(table), table.counts and not table.weighted) & ~table.is_virtual
        present = counted & (table.values > 0) & (table.empty == KNOWN)
        return cls(frozen(counted), frozen(present), frozen(np.zeros(len(table), dtype=bool)))

    def extended(self, count: int) -> Emptiness:
        """The same with further cells at the end about which nothing is known."""
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
    low = np.where(known.absent, 0.0, np.where(present, SMALLEST_COUNT, -np.inf))
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
    lower = np.minimum(levels.lower, np.maximum(value - low, 0.0))
    upper = np.minimum(levels.upper, np.maximum(high - value, 0.0))
    return replace(
        problem,
        levels=replace(levels, lower=frozen(lower), upper=frozen(upper)),
        outsider_low=frozen(np.maximum(problem.outsider_low, low)),
        outsider_high=frozen(np.minimum(problem.outsider_high, high)),
        cut=frozen(np.flatnonzero((lower < levels.lower) | (upper < levels.upper))),
    )


def linked(tables: Sequence[Table], places: Sequence[Ints], absent: Bools) -> Emptiness:
    """That of several tables in one, where cell i of table t is places[t][i]: the knowledge of any of them."""
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
    """What an absent combination of codes means, for the legend of a publication."""
    if table.weighted:
        return "no respondent there: the true value need not be zero"
    return _zero(table) if table.complete else "no such cell"


def part_gap_meanings(table: Table) -> dict[tuple[str, ...], str]:
    """The same for single tables of a linked one, by their dimensions, names in order."""
    parts = () if table.emptiness is None else table.emptiness.complete
    return {names: gap_meaning(table) if table.weighted else _zero(table) for names in parts}


def _zero(table: Table) -> str:
    return "cannot occur: exactly zero" if table.empty == CELLS else "nothing there: exactly zero"
