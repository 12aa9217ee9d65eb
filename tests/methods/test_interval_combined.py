"""interval-combined: both prices, few cells, conditional widths."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.errors import InfeasibleProblem, InputError
from tablecloak.methods.interval_combined import choose_strategy
from tablecloak.methods.interval_partial import choose_strategy as choose_partial_strategy
from tablecloak.methods.intervals import IntervalSettings
from tablecloak.model import Problem, Status
from tablecloak.protection import protect
from tablecloak.testing import assert_protected, random_problem
from two_way import FIGURE_004, TwoWay

EXACT = {"grid": 0.0, "asymmetry": 0.0}


def figure(**options: object) -> Problem:
    return TwoWay(FIGURE_004).problem([(2, 3)], 10, 12, weights=np.ones(16), **options)


@pytest.mark.parametrize("model", ["second", "first"])
@pytest.mark.parametrize(("touch", "cost"), [(0.0, 88.0), (10.0, 118.0), (1000.0, 3088.0)])
def test_the_price_of_touching_adds_to_the_width(model: str, touch: float, cost: float) -> None:
    """A cycle of four cells is both the narrowest and the smallest: 88 and three complementary cells."""
    problem = figure()
    result = protect(problem, "interval-combined", params={**EXACT, "touch": touch, "model": model})
    assert (result.status, result.cost) == (Status.OPTIMAL, pytest.approx(cost))
    assert result.bound == pytest.approx(cost)
    assert_protected(problem, result.pattern)


def test_the_bound_on_touched_cells() -> None:
    result = protect(figure(most_touched=4), "interval-combined", params={"touch": 0.0})
    assert int(result.pattern.touched(figure()).sum()) == 4
    with pytest.raises(InfeasibleProblem, match="at most 3 cells"):
        protect(figure(most_touched=3), "interval-combined")


def test_conditional_widths_are_met_by_what_is_touched() -> None:
    met = 0
    for seed in range(8):
        problem = random_problem("two-way", np.random.default_rng([seed, 31]), conditional=True)
        try:
            result = protect(problem, "interval-combined", params={"seconds": 20.0})
        except InfeasibleProblem:
            continue
        assert_protected(problem, result.pattern)
        met += bool((result.pattern.touched(problem) & (problem.levels.conditional > 0)).any())
    assert met


def test_no_dearer_with_a_smaller_price_and_never_below_the_bound() -> None:
    compared = 0
    for seed in range(6):
        problem = random_problem("two-way", np.random.default_rng([seed, 32]))
        try:
            results = [
                protect(problem, "interval-combined", params={**EXACT, "touch": touch})
                for touch in (0.0, 5.0, 50.0)
            ]
        except InfeasibleProblem:
            continue
        costs = [result.cost for result in results]
        assert costs == sorted(costs)
        assert all(r.bound is not None and r.bound <= r.cost * (1 + 1e-9) + 1e-9 for r in results)
        touched = [int(result.pattern.touched(problem).sum()) for result in results]
        assert touched[2] <= touched[0]
        compared += 1
    assert compared > 2


def test_faults_are_listed_together() -> None:
    with pytest.raises(InputError) as caught:
        protect(
            figure(), "interval-combined", params={"touch": -1.0, "reach": 0.5, "grid": -1.0, "model": "x"}
        )
    assert len(caught.value.faults) == 4


def test_strategies_follow_size_and_structure_and_can_be_printed() -> None:
    network = figure()
    general = random_problem("three-way", np.random.default_rng(3))
    tiny = IntervalSettings(max_checked_cells=0)
    for choose in (choose_partial_strategy, choose_strategy):
        assert choose(network, tiny).check_feasibility, "quick on networks"
        assert choose(general).check_feasibility
        assert not choose(general, tiny).check_feasibility
    printed = str(choose_strategy(general))
    assert printed == "IntervalStrategy(check_feasibility=True, slope_scaling=True, scale_all_cells=True)"
    bounded = figure(most_touched=4)
    assert not choose_strategy(bounded).slope_scaling
