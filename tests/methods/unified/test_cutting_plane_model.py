"""The second model: rows of one size of the levels start another, guesses find the optimum, time is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tablecloak.methods.unified import CuttingPlaneModel, combined_formulation, interval_formulation
from tablecloak.model import Problem, all_requirements
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


def partial(problem: Problem, first: CuttingPlaneModel | None = None) -> CuttingPlaneModel:
    none = np.zeros(len(problem.table), dtype=bool)
    formulation = interval_formulation(problem, ~problem.forced, none, problem.weights, problem.weights)
    known = () if first is None else first.tight_cuts()
    return CuttingPlaneModel(problem, formulation, all_requirements(problem), [], NEVER, silent, known)


def test_proofs_of_other_levels_save_rounds_and_change_no_optimum() -> None:
    saved = 0
    for seed in range(5):
        problem = table(seed)
        first = partial(problem)
        assert first.solve().outcome is Outcome.OPTIMAL
        assert first.tight_cuts()
        cold, warm = partial(larger(problem)).solve(), partial(larger(problem), first).solve()
        assert cold.outcome is warm.outcome is Outcome.OPTIMAL
        assert warm.objective == pytest.approx(cold.objective, rel=1e-6)
        saved += cold.rounds - warm.rounds
    assert saved > 0


@pytest.mark.parametrize("guess", [1e-6, 0.02, 100.0])
def test_whatever_gap_is_guessed_the_optimum_is_the_same(
    guess: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = table()
    none = np.zeros(len(problem.table), dtype=bool)
    formulation = combined_formulation(
        problem, ~problem.forced, none, problem.weights, problem.weights, 30 * problem.weights, 25.0
    )
    whole = replace(formulation, switches=None)
    expected = CuttingPlaneModel(
        problem, whole, all_requirements(problem), [], Deadline.after(60.0), silent
    ).solve()
    monkeypatch.setattr("tablecloak.methods.unified.cutting_plane_model.FIRST_GUESS", guess)
    answer = CuttingPlaneModel(
        problem, formulation, all_requirements(problem), [], Deadline.after(60.0), silent
    ).solve()
    assert expected.outcome is answer.outcome is Outcome.OPTIMAL
    assert answer.safe
    assert answer.objective == pytest.approx(expected.objective, rel=1e-6)
    assert answer.bound == pytest.approx(expected.objective, rel=1e-6)


def test_no_time_proves_nothing() -> None:
    problem = table()
    none = np.zeros(len(problem.table), dtype=bool)
    formulation = interval_formulation(problem, ~problem.forced, none, problem.weights, problem.weights)
    answer = CuttingPlaneModel(
        problem, formulation, all_requirements(problem), [], Deadline.after(0.0), silent
    ).solve()
    assert answer.outcome is Outcome.TIME_LIMIT and not answer.safe
