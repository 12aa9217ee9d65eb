"""What the interval methods share: tightening, grids, larger levels by chance."""

from __future__ import annotations

import numpy as np

from fixtures import FIXTURES
from tablecloak.auditing import audit
from tablecloak.methods.heuristics import DeviationFinder
from tablecloak.methods.intervals import on_grid, skewed, snapped, stated, tightened
from tablecloak.methods.intervals.recipe import Widener, repaired
from tablecloak.model import Intervals, Levels, Problem, Suppression, unmet_requirements
from tablecloak.progress import Deadline, silent
from tablecloak.testing import assert_protected, feasible_intervals
from two_way import FIGURE_004, TwoWay


def test_what_is_open_is_repaired_and_nothing_is_given_when_there_is_no_time() -> None:
    problem = TwoWay(FIGURE_004).problem([(2, 3)], 10, 12)
    allowed, nothing = ~problem.forced, (np.zeros(16), np.zeros(16))
    bounds = repaired(problem, allowed, nothing, silent)
    assert bounds is not None
    assert_protected(problem, stated(problem, *bounds))
    assert repaired(problem, allowed, bounds, silent, Deadline.after(0.0)) is not None, "it is safe as it is"
    assert repaired(problem, allowed, nothing, silent, Deadline.after(0.0)) is None


def test_tightened_intervals_are_attainable_and_say_the_same() -> None:
    problem = TwoWay(FIGURE_004).problem([(2, 3)], 10, 12)
    wide = np.full(16, 30.0)
    below, above = tightened(problem, wide, wide, np.ones(16, dtype=bool), silent)
    tight = stated(problem, below, above)
    for one, other in zip(
        feasible_intervals(problem, stated(problem, wide, wide)),
        feasible_intervals(problem, tight),
        strict=True,
    ):
        assert np.allclose(one, other)
    low, high = feasible_intervals(problem, tight)
    assert np.allclose(low, np.maximum(tight.low, 0.0)) and np.allclose(high, tight.high)


def test_grids_round_outward_and_not_below_zero() -> None:
    problem = TwoWay(FIGURE_004).problem([(2, 3)], 10, 12)
    value = problem.table.values
    low, high = value - np.where(value < 30, 7, 0), value + np.where(value < 30, 6, 0)
    for grid in (None, 5.0, 4.0):
        found = on_grid(problem, Intervals.of(low, high), grid)
        assert (
            (found.low <= low).all()
            and (found.high >= high).all()
            and (found.low >= np.minimum(low, 0)).all()
        )
        exact = low == high
        assert (found.low[exact] == value[exact]).all() and (found.high[exact] == value[exact]).all()
        if grid is not None:
            assert (found.low[~exact] % grid == 0).all() and (found.high[~exact] % grid == 0).all()
    same = Intervals.of(low, high)
    assert on_grid(problem, same, 0.0) is same


def test_skewed_levels_are_larger_within_the_box_and_follow_the_seed() -> None:
    problem = TwoWay(FIGURE_004).problem([(2, 3), (1, 3)], [10, 9], [12, 5])
    where = problem.sensitive
    larger = skewed(problem, 1.0, np.random.default_rng(4))
    lower, upper = larger.levels.lower[where], larger.levels.upper[where]
    assert (lower >= problem.levels.lower[where]).all() and (upper >= problem.levels.upper[where]).all()
    assert (lower <= problem.table.values[where]).all(), "no further below than zero"
    asked = (problem.levels.lower + problem.levels.upper)[where]
    assert (lower + upper >= 1.5 * asked).all() and (lower + upper <= 2.5 * asked).all()
    assert np.array_equal(lower, skewed(problem, 1.0, np.random.default_rng(4)).levels.lower[where])
    assert not larger.levels.lower[~where].any() and not larger.levels.upper[~where].any()
    same = skewed(problem, 0.0, np.random.default_rng(4))
    assert np.array_equal(same.levels.upper, problem.levels.upper)


def test_skewed_levels_have_two_sides_also_where_only_one_was_asked_or_only_a_width() -> None:
    grid = TwoWay(FIGURE_004)
    cell = grid.cell((2, 3))
    upper_only = grid.problem([(2, 3)], 0, 12)
    sliding = Problem.of(grid.table, [cell], Levels.at(16, [cell], sliding=14))
    for problem, width in ((upper_only, 12), (sliding, 14)):
        draws = [skewed(problem, 1.0, np.random.default_rng(seed)).levels for seed in range(40)]
        lower, upper = np.array([(levels.lower[cell], levels.upper[cell]) for levels in draws]).T
        assert (lower + upper >= 1.5 * width - 1e-9).all()
        assert np.median(lower) > 0.25 * width and np.unique(lower).size > width
        assert (lower == np.rint(lower)).all() and (upper == np.rint(upper)).all(), "whole data units"
        assert (upper >= problem.levels.upper[cell]).all()


def test_noise_of_linear_programs_is_snapped() -> None:
    problem = TwoWay(FIGURE_004).problem([(2, 3)], 10, 12)
    room, most = np.zeros(16), np.full(16, 100.0)
    room[:4] = [11.9999999, 3.0000001, 2.5, np.inf]
    assert snapped(problem, room, most, 0.0)[:4].tolist() == [12.0, 3.0, 2.5, 100.0]
    assert snapped(problem, room, most, 1e-6)[:4].tolist() == [12.0, 3.0, 3.0, 100.0], "whole data units"


def test_a_widener_that_is_late_asks_for_no_exact_deviations(monkeypatch):
    """Exact deviations take seconds each on large tables, and no program looks at the clock in them."""
    problem = FIXTURES["three way"]()
    asked = []
    monkeypatch.setattr(DeviationFinder, "any_deviation", lambda self, requirement: asked.append(requirement))
    zero = np.zeros(len(problem.table))
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    assert Widener(problem, problem.weights, Deadline.after(0.0)).widen(zero, zero, requirements) is None
    assert not asked
