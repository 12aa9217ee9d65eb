"""Losses against plain counting, measures against figures by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import FIXTURES, flat, from_leaves
from publications import with_unions
from tablecloak.analysis import loss_grid, loss_of_cells, losses, losses_by_code, measures
from tablecloak.analysis.loss import Distances, Quantiles
from tablecloak.auditing import audit
from tablecloak.errors import InputError
from tablecloak.model import Intervals, Mark, Mixed, Perturbation, Problem, Rounding, Suppression
from tablecloak.protection import protect


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


# ---------------------------------------------------------------------- measures, against figures by hand


def row_of_four(**options: object) -> Problem:
    """Total 15 = 4 + 0 + 10 + 1; the outsider knows that every cell is in 0..20."""
    table = from_leaves([flat("r", 4)], np.array([4, 0, 10, 1]))
    assert table.values.tolist() == [15, 4, 0, 10, 1]
    return Problem.of(table, [], **{"known": (0, 20), **options})


def figures(found: Quantiles | None) -> tuple[object, ...]:
    assert found is not None
    return found.cells, found.unbounded, found.mean, found.median, found.ninety, found.largest


NOTHING = (0, 0, None, None, None, None)


def test_measures_of_a_suppression() -> None:
    problem = row_of_four()
    found = measures(problem, Suppression.of(problem.table, [1, 2, 3]))
    assert (found.cells, found.touched, found.vague, found.unbounded) == (5, 3, 3, 0)
    assert found.losses.every.share[0] == pytest.approx(3 / 5)
    assert found.losses.leaves.value_share[0] == pytest.approx(14 / 15)
    assert figures(found.vagueness) == (3, 0, 20.0, 20.0, 20.0, 20.0)
    # 20 / 4, 20 / 1 (the unit stands in for a value of zero), 20 / 10
    assert figures(found.relative_vagueness) == pytest.approx((3, 0, 9.0, 5.0, 20.0, 20.0))
    assert figures(found.change) == figures(found.relative_change) == (2, 0, 0.0, 0.0, 0.0, 0.0)
    assert found.distances == Distances(0.0, 0.0, 0.0, 0.0)
    assert found.width is None and found.relative_width is None


def test_hidden_cells_without_limit_are_counted_apart() -> None:
    high = [np.inf, np.inf, 20, 20, np.inf]
    problem = row_of_four(known=(0, high))
    found = measures(problem, Suppression.of(problem.table, [1, 2, 3]))
    assert found.unbounded == 1
    assert figures(found.vagueness) == (2, 1, 20.0, 20.0, 20.0, 20.0)
    assert figures(found.relative_vagueness) == (2, 1, 11.0, 2.0, 20.0, 20.0)
    everything = measures(row_of_four(known=(0, np.inf)), Suppression.of(problem.table, [0, 1, 2, 3, 4]))
    assert figures(everything.vagueness) == (0, 5, None, None, None, None)
    assert figures(everything.change) == NOTHING
    assert everything.distances is None, "no number is shown, which is not the same as no distance"


def test_measures_of_intervals() -> None:
    problem = row_of_four()
    # 15; 2..8; -5..3, of which the outsider knows that it is not below 0; 10..inf, not above 20; 1
    found = measures(problem, Intervals.of([15, 2, -5, 10, 1], [15, 8, 3, np.inf, 1]))
    assert (found.touched, found.vague, found.unbounded) == (3, 3, 0)
    assert figures(found.vagueness) == (3, 0, pytest.approx(19 / 3), 6.0, 10.0, 10.0)
    assert figures(found.relative_vagueness) == (3, 0, pytest.approx(5.5 / 3), 1.5, 3.0, 3.0)
    assert figures(found.change) == (2, 0, 0.0, 0.0, 0.0, 0.0)


def test_measures_of_a_rounding() -> None:
    problem = row_of_four()
    found = measures(problem, Rounding.of([15, 5, 0, 10, 0], 5.0))
    assert (found.touched, found.vague) == (2, 5)
    assert found.losses.leaves.value_share[0] == pytest.approx(5 / 15)
    # the touched ones: 5 shown for 4 states 0..10; 0 shown for 1 states -5..5, known not to be below 0
    assert figures(found.vagueness) == (2, 0, 7.5, 5.0, 10.0, 10.0)
    assert figures(found.relative_vagueness) == (2, 0, 3.75, 2.5, 5.0, 5.0)
    assert figures(found.change) == (5, 0, pytest.approx(0.4), 0.0, 1.0, 1.0)
    assert figures(found.relative_change) == (5, 0, pytest.approx(0.25), 0.0, 1.0, 1.0)
    assert found.distances is not None
    assert found.distances.sum == 2.0 and found.distances.largest == 1.0
    assert found.distances.euclidean == pytest.approx(2**0.5)
    apart = (5**0.5 - 2) ** 2 + 1
    assert found.distances.hellinger == pytest.approx((apart / (30 + 30)) ** 0.5)


def test_measures_of_a_perturbation() -> None:
    problem = row_of_four()
    found = measures(problem, Perturbation.of([15, 1, 0, 13, 1], [2, 3, 1, 4, 0]))
    assert (found.touched, found.vague) == (2, 4)
    assert figures(found.vagueness) == (2, 0, 6.0, 4.0, 8.0, 8.0)  # -2..4 above 0, 9..17
    assert figures(found.relative_vagueness) == (2, 0, pytest.approx(0.9), 0.8, 1.0, 1.0)
    assert figures(found.change) == (5, 0, pytest.approx(1.2), 0.0, 3.0, 3.0)
    assert figures(found.relative_change) == (5, 0, pytest.approx(1.05 / 5), 0.0, 0.75, 0.75)
    assert found.distances is not None
    assert found.distances.euclidean == pytest.approx(18**0.5)


def test_measures_of_a_mixed_pattern() -> None:
    problem = row_of_four()
    parts = [
        ([0], Rounding.of([16, np.nan, np.nan, np.nan, np.nan], 4.0)),
        ([1], Suppression.of(problem.table, [1])),
        ([3], Intervals.of([0] * 5, [12] * 5)),
    ]
    found = measures(problem, Mixed.of(problem.table, parts))
    assert (found.touched, found.vague) == (3, 3)
    assert figures(found.vagueness) == (3, 0, 40 / 3, 12.0, 20.0, 20.0)  # 12..20, 0..20, 0..12
    assert figures(found.change) == (3, 0, pytest.approx(1 / 3), 0.0, 1.0, 1.0)


def test_distances_of_numbers_with_signs() -> None:
    table = from_leaves([flat("r", 3)], np.array([-4, 0, 9]))
    problem = Problem.of(table, [])
    found = measures(problem, Perturbation.of([5, -9, 5, 9], 20.0)).distances
    assert found is not None
    # 5, -4, 0, 9 in truth: the second and the third move, by (3 - 2)^2 and 5
    assert found.sum == 10.0
    assert found.hellinger == pytest.approx((6 / (18 + 28)) ** 0.5)
    opposite = measures(problem, Perturbation.of(-table.values, 20.0)).distances
    assert opposite is not None and opposite.hellinger == 1.0
    nothing = Problem.of(from_leaves([flat("r", 2)], np.zeros(2)), [])
    zero = measures(nothing, Rounding.of(np.zeros(3), 3.0))
    assert zero.distances == Distances(0.0, 0.0, 0.0, 0.0)
    assert figures(zero.relative_change) == (3, 0, 0.0, 0.0, 0.0, 0.0)
    assert np.isnan(zero.losses.leaves.value_share[0])


def test_a_view_outside_of_what_is_known_has_no_width() -> None:
    problem = row_of_four()
    found = measures(problem, Intervals.of([15, 4, -9, 10, 1], [15, 4, -3, 10, 1]))
    assert figures(found.vagueness) == (1, 0, 0.0, 0.0, 0.0, 0.0)


def test_nothing_is_touched() -> None:
    problem = row_of_four()
    found = measures(problem, Suppression.of(problem.table, []))
    assert figures(found.vagueness) == figures(found.relative_vagueness) == NOTHING
    assert (found.touched, found.vague) == (0, 0)


def test_quantiles_are_amounts_that_occur() -> None:
    amounts = np.array([7.0, 1, 2, 3, 4, 5, 6, 8, 9, 1000, np.inf])
    assert figures(Quantiles.of(amounts)) == (10, 1, 104.5, 5.0, 9.0, 1000.0)
    assert figures(Quantiles.of(amounts[:0])) == NOTHING


def test_virtual_cells_do_not_count() -> None:
    united = with_unions()[0]
    table = united.table
    assert table.virtual == 1
    found = measures(united, Suppression.of(table, np.ones(len(table), dtype=bool)))
    assert found.cells == found.touched == found.vague == found.unbounded == len(table) - 1
    moved = measures(united, Rounding.of(np.where(table.is_virtual, 0.0, table.values), 1e9))
    assert moved.touched == 0
    assert moved.change.cells == len(table) - 1
    assert moved.distances is not None and moved.distances.sum == 0.0


def test_exact_widths_make_use_of_the_equations() -> None:
    problem = row_of_four()
    pattern = Suppression.of(problem.table, [1, 4])
    exact = audit(problem, pattern, intervals=True, every_hidden=True)
    found = measures(problem, pattern, exact)
    assert figures(found.vagueness) == (2, 0, 20.0, 20.0, 20.0, 20.0)
    assert figures(found.width) == pytest.approx((2, 0, 5.0, 5.0, 5.0, 5.0))  # the two add up to 5
    assert figures(found.relative_width) == pytest.approx((2, 0, 3.125, 1.25, 5.0, 5.0))


def test_an_audit_that_does_not_fit_is_refused() -> None:
    problem = FIXTURES["two way"]()
    pattern = protect(problem).pattern
    other = Suppression(pattern.touched(problem))
    wrong = (
        audit(problem, pattern, intervals=True),
        audit(problem, pattern, every_hidden=True),
        audit(problem, other, intervals=True, every_hidden=True),
    )
    for each in wrong:
        with pytest.raises(InputError, match="about all touched cells"):
            measures(problem, pattern, each)


@pytest.mark.parametrize("fixture", [*FIXTURES])
def test_measures_of_every_kind_of_table(fixture: str) -> None:
    problem = FIXTURES[fixture]()
    pattern = protect(problem).pattern
    found = measures(problem, pattern, audit(problem, pattern, intervals=True, every_hidden=True))
    assert found.touched == found.vague == pattern.touched(problem).sum()
    assert found.width is not None
    for wide, exact in ((found.vagueness, found.width), (found.relative_vagueness, found.relative_width)):
        assert exact.cells >= wide.cells
        if wide.unbounded == 0:
            assert exact.largest <= wide.largest * (1 + 1e-9)
    for thing in (found, found.vagueness, found.distances):
        assert thing is None or repr(thing).startswith("<confidential ")
