"""interval-partial: the optimum, attainable ends, the midpoint attack, limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable
from tablecloak.methods.intervals import hidden_by_mark
from tablecloak.model import Intervals, Levels, Problem, Status
from tablecloak.protection import protect
from tablecloak.testing import KINDS, assert_protected, feasible_intervals, random_problem
from two_way import FIGURE_004, TwoWay

EXACT = {"grid": 0.0, "asymmetry": 0.0}


def figure(**options: object) -> tuple[TwoWay, Problem]:
    grid = TwoWay(FIGURE_004)
    return grid, grid.problem([(2, 3)], 10, 12, weights=np.ones(16), **options)


@pytest.mark.parametrize("model", ["second", "first"])
def test_the_optimum_of_the_figure(model: str) -> None:
    """22 for the cell itself; three more cells of a cycle must move by 10 and 12 too: 4 * 22."""
    _, problem = figure()
    result = protect(problem, "interval-partial", params={**EXACT, "model": model})
    assert (result.status, result.cost, result.bound) == (Status.OPTIMAL, 88.0, 88.0)
    assert_protected(problem, result.pattern)


@pytest.mark.parametrize("kind", KINDS)
def test_every_end_is_attainable_before_the_grid(kind: str) -> None:
    for seed in range(3):
        problem = random_problem(kind, np.random.default_rng([seed, 21]))
        if not problem.sensitive.any():
            continue
        try:
            result = protect(problem, "interval-partial", params=EXACT)
        except InfeasibleProblem:
            continue
        found = audit(problem, result.pattern, intervals=True, every_hidden=True)
        outsider = found.attackers == 0
        cells = found.cells[outsider]
        pattern = result.pattern
        assert isinstance(pattern, Intervals)
        shown = ~hidden_by_mark(problem)[cells]
        low, high = (
            np.maximum(pattern.low, problem.outsider_low)[cells],
            np.minimum(pattern.high, problem.outsider_high)[cells],
        )
        scale = 1e-5 * np.maximum(1.0, np.abs(problem.table.values[cells]))
        assert (np.abs(found.low[outsider] - low) <= scale)[shown].all()
        assert (np.abs(found.high[outsider] - high) <= scale)[shown].all()


@pytest.mark.parametrize("kind", KINDS)
def test_never_dearer_than_the_tightened_intervals_of_the_best_suppression(kind: str) -> None:
    compared = 0
    for seed in range(4):
        problem = random_problem(kind, np.random.default_rng([seed, 22]))
        problem = replace(problem, weights=problem.weights + 1.0)
        try:
            hidden = protect(problem, "suppress-compact").pattern
            result = protect(problem, "interval-partial", params=EXACT)
        except InfeasibleProblem:
            continue
        found = audit(problem, hidden, intervals=True, every_hidden=True)
        low, high = problem.table.values.copy(), problem.table.values.copy()
        outsider = found.attackers == 0
        low[found.cells[outsider]], high[found.cells[outsider]] = found.low[outsider], found.high[outsider]
        kept = hidden_by_mark(problem)
        low[kept], high[kept] = -np.inf, np.inf
        assert result.cost <= Intervals.of(low, high).loss(problem) * (1 + 1e-5) + 1e-6
        compared += 1
    assert compared


def midpoints(problem: Problem, cell: int, params: dict[str, float], seeds: int) -> list[float]:
    """How far the middle of what the outsider can work out is from the truth, as a share of the level."""
    found = []
    for seed in range(seeds):
        pattern = protect(problem, "interval-partial", params=params, seed=seed).pattern
        low, high = feasible_intervals(problem, pattern)
        found.append(
            abs((low[cell] + high[cell]) / 2 - problem.table.values[cell]) / problem.levels.upper[cell]
        )
    return found


def test_the_midpoint_attack_works_without_asymmetry_and_fails_with_the_default() -> None:
    grid = TwoWay([[200, 500, 100], [80, 190, 220], [170, 320, 120]])
    problem, cell = grid.problem([(2, 3)], 60, 60, weights=np.ones(16)), grid.cell((2, 3))
    assert max(midpoints(problem, cell, EXACT, 3)) < 1e-6
    off = midpoints(problem, cell, {}, 40)
    assert sum(share < 0.05 for share in off) <= 6, (
        "a level apart at most, and spread evenly: 2 of 40 are that near"
    )
    assert np.median(off) > 0.25


@pytest.mark.parametrize(("lower", "upper", "sliding"), [(0, 60, 0), (0, 0, 90)])
def test_no_end_betrays_a_cell_that_has_a_level_on_one_side_or_only_a_width(
    lower: float, upper: float, sliding: float
) -> None:
    grid = TwoWay([[200, 500, 100], [80, 190, 220], [170, 320, 120]])
    cell = grid.cell((2, 3))
    levels = Levels.at(16, [cell], lower=lower, upper=upper, sliding=sliding)
    problem = Problem.of(grid.table, [cell], levels, weights=np.ones(16))
    near = 0
    for seed in range(20):
        low, high = feasible_intervals(problem, protect(problem, "interval-partial", seed=seed).pattern)
        near += min(abs(low[cell] - 220), abs(high[cell] - 220)) < 3
    assert near <= 3


def test_prices_by_side() -> None:
    _, problem = figure()
    result = protect(problem, "interval-partial", params={**EXACT, "up": 1.0, "down": 5.0})
    assert result.bound is None and result.status is Status.FEASIBLE
    assert_protected(problem, result.pattern)


def test_a_time_limit_of_nothing_hides_everything() -> None:
    _, problem = figure()
    result = protect(problem, "interval-partial", params={"seconds": 0.0})
    assert result.status is Status.TIME_LIMIT
    assert_protected(problem, result.pattern)


def test_what_it_cannot_take() -> None:
    _, problem = figure(most_touched=7)
    with pytest.raises(NotApplicable, match="interval-combined"):
        protect(problem, "interval-partial")
    with pytest.raises(InputError) as caught:
        protect(
            figure()[1],
            "interval-partial",
            params={"up": 0.0, "grid": -1.0, "asymmetry": -2.0, "model": "third"},
        )
    assert len(caught.value.faults) == 4
