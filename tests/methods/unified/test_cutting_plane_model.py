"""The cutting-plane model: cuts for one size of the levels start another, gap limits find the optimum, time is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tablecloak.methods.cuts import GapLimitSettings
from tablecloak.methods.unified import (
    CuttingPlaneModel,
    CuttingPlaneSettings,
    combined_formulation,
    interval_formulation,
)
from tablecloak.methods.unified.cutting_plane_model import ReducedCostFixing, SeparationSettings, ShiftStage
from tablecloak.model import Prices, Problem, all_requirements
from tablecloak.progress import NEVER, Deadline, silent
from tablecloak.solvers import Outcome
from two_way import TwoWay


def table(seed: int = 1) -> Problem:
    """An 8 by 8 table with five sensitive cells."""
    rng = np.random.default_rng(seed)
    grid = TwoWay(rng.integers(40, 240, (8, 8)).tolist())
    return grid.problem([(1, 2), (3, 3), (5, 6), (7, 1), (4, 8)], 20, 25)


def larger(problem: Problem) -> Problem:
    levels = problem.levels
    return replace(problem, levels=replace(levels, lower=1.3 * levels.lower, upper=1.7 * levels.upper))


def partial(problem: Problem) -> CuttingPlaneModel:
    none = np.zeros(len(problem.table), dtype=bool)
    formulation = interval_formulation(problem, ~problem.forced, none, Prices.even(problem.weights))
    return CuttingPlaneModel(problem, formulation, all_requirements(problem), [], NEVER, silent)


def test_cuts_for_other_levels_save_rounds_and_change_no_optimum() -> None:
    saved = 0
    for seed in range(5):
        problem = table(seed)
        first = partial(problem)
        assert first.solve().outcome is Outcome.OPTIMAL
        assert first.tight_cuts()
        cold, warm = partial(larger(problem)).solve(), partial(larger(problem)).solve(first.tight_cuts())
        assert cold.outcome is warm.outcome is Outcome.OPTIMAL
        assert warm.objective == pytest.approx(cold.objective, rel=1e-6)
        saved += cold.rounds - warm.rounds
    assert saved > 0


@pytest.mark.parametrize("gap", [1e-6, 0.02, 100.0])
def test_whatever_the_first_gap_limit_the_optimum_is_the_same(gap: float) -> None:
    problem = table()
    none = np.zeros(len(problem.table), dtype=bool)
    formulation = combined_formulation(
        problem, ~problem.forced, none, Prices.even(problem.weights, 30 * problem.weights), 25.0
    )
    whole = replace(formulation, switches=None)
    expected = CuttingPlaneModel(
        problem, whole, all_requirements(problem), [], Deadline.after(60.0), silent
    ).solve()
    settings = CuttingPlaneSettings(gap_limits=GapLimitSettings(first=gap, largest=4.0))
    answer = CuttingPlaneModel(
        problem, formulation, all_requirements(problem), [], Deadline.after(60.0), silent, settings
    ).solve()
    assert expected.outcome is answer.outcome is Outcome.OPTIMAL
    assert answer.safe
    assert answer.objective == pytest.approx(expected.objective, rel=1e-6)
    assert answer.bound == pytest.approx(expected.objective, rel=1e-6)


def test_no_time_proves_nothing() -> None:
    problem = table()
    none = np.zeros(len(problem.table), dtype=bool)
    formulation = interval_formulation(problem, ~problem.forced, none, Prices.even(problem.weights))
    answer = CuttingPlaneModel(
        problem, formulation, all_requirements(problem), [], Deadline.after(0.0), silent
    ).solve()
    assert answer.outcome is Outcome.TIME_LIMIT and not answer.safe


def test_separation_at_the_point_itself_finds_the_same_optimum() -> None:
    problem = table()
    none = np.zeros(len(problem.table), dtype=bool)
    formulation = interval_formulation(problem, ~problem.forced, none, Prices.even(problem.weights))
    plain = CuttingPlaneSettings(separation=SeparationSettings(stages=(ShiftStage(0.0, 0.0),), depth=1))
    shifted, unshifted = (
        CuttingPlaneModel(
            problem, formulation, all_requirements(problem), [], NEVER, silent, settings
        ).solve()
        for settings in (CuttingPlaneSettings(), plain)
    )
    assert shifted.outcome is unshifted.outcome is Outcome.OPTIMAL
    assert shifted.objective == pytest.approx(unshifted.objective, rel=1e-6)


def test_reduced_costs_fix_switches_and_what_they_switch() -> None:
    problem = table()
    none = np.zeros(len(problem.table), dtype=bool)
    formulation = combined_formulation(
        problem, ~problem.forced, none, Prices.even(problem.weights, 30 * problem.weights), 25.0
    )
    reduced = np.where(formulation.integral, np.arange(formulation.size, dtype=float), 0.0)
    fixing = ReducedCostFixing(formulation, 100.0, reduced)
    kept = fixing.kept(110.5)
    binary = np.flatnonzero(formulation.integral)
    assert np.array_equal(kept[binary], reduced[binary] <= 10.5)
    linked = formulation.switch >= 0
    assert np.array_equal(kept[linked], kept[formulation.switch[linked]])
    assert 110.5 < fixing.extended(110.5) < 111.0
    assert np.array_equal(fixing.kept(fixing.extended(110.5)), kept)
    assert fixing.kept(np.inf).all() and fixing.extended(1e6) == np.inf
