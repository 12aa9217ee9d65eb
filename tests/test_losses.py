"""Losses against plain counting."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.losses import loss_grid, loss_of_cells, losses, losses_by_code
from tablecloak.pattern import Rounding, Suppression
from tablecloak.problem import Mark, Problem
from tablecloak.protect import protect


def hidden_leaves(problem: Problem) -> Suppression:
    return Suppression.of(problem.table, (problem.table.is_leaf | problem.must_hide) & ~problem.forced)


@pytest.mark.parametrize("fixture", [*FIXTURES])
def test_every_cell_is_counted_once(fixture: str) -> None:
    problem = FIXTURES[fixture]()
    pattern = protect(problem).pattern
    found = losses(problem, pattern)
    touched = pattern.touched(problem)
    assert found.every.cells.tolist() == [len(problem.table)]
    assert found.every.touched.tolist() == [touched.sum()]
    parts = found.every.sensitive + found.every.marked + found.every.complementary
    assert parts.tolist() == found.every.touched.tolist()
    assert found.leaves.touched + found.totals.touched == found.every.touched
    assert found.change == 0.0
    for number in range(len(problem.table.dimensions)):
        by_code = losses_by_code(problem, pattern, number)
        assert by_code.leaves.touched.sum() == found.leaves.touched[0]
        assert by_code.totals.cells.sum() == found.totals.cells[0]
        assert "confidential" in repr(by_code)
    assert "confidential" in repr(found)


@pytest.mark.parametrize("fixture", ["one hierarchy", "three way", "forced hidden", "non nested"])
def test_by_code_is_plain_counting(fixture: str) -> None:
    problem = FIXTURES[fixture]()
    pattern = hidden_leaves(problem)
    table, touched = problem.table, pattern.touched(problem)
    for number, dimension in enumerate(table.dimensions):
        found = losses_by_code(problem, pattern, number)
        for code in range(len(dimension.codes)):
            for tally, kind in ((found.leaves, table.is_leaf), (found.totals, ~table.is_leaf)):
                cells = np.flatnonzero((table.codes[:, number] == code) & kind)
                assert tally.cells[code] == cells.size
                assert tally.touched[code] == touched[cells].sum()
                assert tally.marked[code] == (problem.marks[cells] == Mark.HIDDEN).sum()
                value = np.abs(table.values[cells])
                if value.sum():
                    assert tally.value_share[code] == pytest.approx(value[touched[cells]].sum() / value.sum())
                    assert tally.share[code] == pytest.approx(touched[cells].mean())
                elif not cells.size:
                    assert np.isnan(tally.share[code])
                    assert np.isnan(tally.value_share[code])


def test_the_grid_of_two_dimensions() -> None:
    problem = FIXTURES["three way"]()
    pattern = hidden_leaves(problem)
    grid = loss_grid(problem, pattern, 0, 1)
    table, touched = problem.table, pattern.touched(problem)
    for row, column in np.ndindex(grid.shape):
        cells = (table.codes[:, 0] == row) & (table.codes[:, 1] == column)
        assert grid[row, column] == pytest.approx(touched[cells].mean())


def test_shown_values_that_are_not_exact() -> None:
    problem = FIXTURES["two way"]()
    value = problem.table.values
    pattern = Rounding.of(10 * np.round(value / 10), 10.0)
    moved = np.abs(pattern.shown - value)
    assert losses(problem, pattern).change == pytest.approx(moved.sum() / value.sum())
    assert loss_of_cells(problem, pattern) == pytest.approx(moved / np.maximum(value, 1.0))
