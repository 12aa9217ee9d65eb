"""Aggregation: cells that are one decision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak import Dimension, Levels, Problem, Table, protect
from tablecloak.methods.cuts import Aggregation, BridgelessCuts, capacity_separator_of
from tablecloak.model import Requirement, Side

VALUES = [[20, 5, 7, 0], [4, 6, 9, 0], [8, 3, 2, 30]]


def problem(sensitive: tuple[str, str] = ("r0", "c0"), level: float = 3.0) -> Problem:
    """Three rows, four columns; only the last row has anything in the last column, and zeros are published."""
    rows, columns = [f"r{i}" for i in range(3)], [f"c{j}" for j in range(4)]
    cells = {
        "row": [row for row in rows for _ in columns],
        "column": columns * 3,
        "value": [value for line in VALUES for value in line],
    }
    table = Table.from_cells(
        [Dimension.flat("row", rows), Dimension.flat("column", columns)], cells, recompute=True
    )
    at = table.find(row=sensitive[0], column=sensitive[1])
    return Problem.of(table, [at], Levels.at(len(table), [at], level, level), hide_zeros=False)


def both(given: Problem) -> list[int]:
    """The only cell of the last column, and its total."""
    return sorted([given.table.find(row="r2", column="c3"), given.table.find(column="c3")])


def twins_of(given: Problem) -> Aggregation:
    return Aggregation.of(given, ~given.forced)


def test_an_equation_with_two_cells_makes_twins() -> None:
    given = problem()
    first, second = both(given)
    found = twins_of(given)
    assert found.representative[second] == found.representative[first] == first
    alone = np.delete(np.arange(len(given.table)), second)
    assert (found.representative[alone] == alone).all() and found.represents.sum() == len(given.table) - 1
    assert found.sizes[first] == 2 and found.sizes[second] == 0


def test_cells_that_must_be_hidden_are_nobodys_twins() -> None:
    given = problem(("r2", "c3"))
    assert twins_of(given).represents.all()


def test_what_twins_have_together_and_what_a_leader_says_for_both() -> None:
    given = problem()
    first, second = both(given)
    found, size = twins_of(given), len(given.table)
    together = found.summed(np.ones(size))
    assert together[first] == 2.0 and together[second] == 0.0 and together.sum() == size
    x = np.zeros(size)
    x[first] = 0.5
    assert np.flatnonzero(found.expanded(x)).tolist() == [first, second]
    half = np.zeros(size, dtype=bool)
    half[second] = half[0] = True
    assert np.flatnonzero(found.representatives_of(half)).tolist() == sorted({0, first})
    assert np.flatnonzero(found.without_partial(half)).tolist() == [0]
    half[first] = True
    assert (found.without_partial(half) == half).all()


def test_without_twins_nothing_changes() -> None:
    x = np.arange(4.0)
    alone = Aggregation.identity(4)
    assert alone.summed(x) is x and alone.expanded(x) is x
    hidden = x > 1
    assert alone.without_partial(hidden) is hidden


def test_rows_are_over_leaders_and_hold_for_every_safe_pattern_without_half_hidden_twins() -> None:
    """All patterns of the smallest kind of table that has aggregated variables, judged one by one."""
    given = problem()
    found, allowed = twins_of(given), ~given.forced
    requirements = [
        Requirement(int(cell), 0, side, 3.0)
        for cell in np.flatnonzero(given.sensitive)
        for side in (Side.UP, Side.DOWN)
    ]
    separator, patterns = capacity_separator_of(given, allowed, found), BridgelessCuts(given, allowed, found)
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(200):
        x = found.expanded(
            np.where(allowed, rng.random(allowed.size) * (rng.random(allowed.size) < 0.4), 0.0)
        )
        rows += [*separator.separate(x, requirements, most=10), *patterns.separate(x)]
    assert len(rows) > 50 and all(found.represents[row.cells].all() for row in rows)
    optimum = protect(given, "suppress-compact")
    hidden = found.without_partial(optimum.pattern.hidden).astype(float)
    assert all(row.violation(hidden) <= 1e-9 for row in rows)


def test_the_optimum_is_the_same_with_twins_and_counts_both_of_them() -> None:
    for cell in (("r0", "c0"), ("r2", "c0"), ("r1", "c2")):
        given = problem(cell, 7.0)
        exact, compact = protect(given, "suppress-optimal"), protect(given, "suppress-compact")
        assert exact.cost == compact.cost == exact.bound
        touched = int(exact.pattern.hidden.sum())
        limited = replace(given, most_touched=touched)
        assert protect(limited, "suppress-optimal").cost == exact.cost
