"""Hypercubes in the audit: the same verdicts as without them, and never more than linear programs find."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.attacker import HypercubeSettings, HypercubeWitnesses, cubes_of
from tablecloak.auditing import AuditSettings, audit
from tablecloak.model import Problem, RequiredLevels, Rounding, Suppression
from tablecloak.protection import protect
from tests.methods.heuristics.test_hypercubes import problem_of

ALWAYS = HypercubeSettings(min_cells=0, min_requirements=0)
"""Also on small tables."""


def patterns_of(problem: Problem):
    """Hidden cells of several kinds, and a rounding."""
    rng = np.random.default_rng(0)
    yield Suppression.copy_of(problem.must_hide)
    for share in (0.2, 0.5, 0.9):
        yield Suppression.copy_of(
            problem.must_hide | ((rng.random(len(problem.table)) < share) & ~problem.forced)
        )
    yield Suppression.copy_of(protect(problem, "suppress-greedy").pattern.hidden)
    table = problem.table
    shown = np.where(problem.forced, table.values, 20 * np.rint(table.values / 20))
    yield Rounding.of(shown, np.where(problem.forced, 0.0, 20.0))


@pytest.mark.parametrize(
    "options", [{}, {"sliding": True}, {"insider": True}], ids=["levels", "sliding", "insider"]
)
@pytest.mark.parametrize("seed", range(4))
def test_the_same_verdicts_with_and_without(options, seed: int) -> None:
    problem = problem_of(seed, **options)
    used = 0
    for pattern in patterns_of(problem):
        without = audit(problem, pattern)
        assert "hypercubes" not in without.engine
        found = audit(problem, pattern, settings=AuditSettings(hypercubes=ALWAYS))
        assert np.array_equal(found.safe_rows, without.safe_rows)
        assert np.array_equal(found.open_cells, without.open_cells)
        used += "hypercubes" in found.engine
    assert used


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_reached_that_is_out_of_reach(seed: int) -> None:
    problem = problem_of(seed)
    values = problem.table.values
    for pattern in patterns_of(problem):
        exact = audit(problem, pattern, intervals=True)
        view = pattern.view(problem)
        low = np.maximum(view.low, problem.outsider_low) - values
        high = np.minimum(view.high, problem.outsider_high) - values
        cubes = cubes_of(problem.table, 1000, ALWAYS)
        assert cubes is not None
        cells = np.flatnonzero(problem.sensitive)
        level = problem.levels.upper[cells]
        required = RequiredLevels(level, level, 3 * level)
        ticks: list[int] = []
        down, up = HypercubeWitnesses(cubes, low, high).reach(cells, required, ticks.append)
        assert ticks == [0] * cells.size, "an audit can be ended before each cell"
        rows = np.searchsorted(exact.cells, cells)
        assert (down <= values[cells] - exact.low[rows] + 1e-6).all()
        assert (up <= exact.high[rows] - values[cells] + 1e-6).all()


def test_small_tables_networks_and_few_requirements_go_without() -> None:
    problem = problem_of(0)
    assert cubes_of(problem.table, 10_000) is None


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_hypercubes_reach_no_further_than_the_exact_interval_and_meet_more(seed: int) -> None:
    problem, before, after = problem_of(seed), 0, 0
    table = problem.table
    values, cells = table.values, np.flatnonzero(problem.sensitive)
    shown = np.where(problem.forced, values, 20 * np.rint(values / 20))
    pattern = Rounding.of(shown, np.where(problem.forced, 0.0, 20.0))
    exact = audit(problem, pattern, intervals=True)
    view = pattern.view(problem)
    low = np.maximum(view.low, problem.outsider_low) - values
    high = np.minimum(view.high, problem.outsider_high) - values
    cubes, rows = cubes_of(table, 1000, ALWAYS), np.searchsorted(exact.cells, cells)
    assert cubes is not None
    for cell, row in zip(cells.tolist(), rows.tolist(), strict=True):
        for way, most in ((0, values[cell] - exact.low[row]), (1, exact.high[row] - values[cell])):
            need = float(np.floor(most))
            if need >= 1:
                witnesses = HypercubeWitnesses(cubes, low, high)
                one, moved = witnesses.single(cell, need, way), witnesses.summed(cell, need, way)
                assert 0 <= moved <= need
                before, after = before + one, after + (moved == need)
    assert after > before


@pytest.mark.parametrize("options", [{}, {"sliding": True}, {"insider": True}])
def test_cells_that_their_own_bounds_prove_open_are_judged_without_a_program(options) -> None:
    fewer = 0
    for problem in (problem_of(seed, **options) for seed in range(3)):
        for pattern in patterns_of(problem):
            pushed = audit(problem, pattern)
            found = audit(problem, pattern, settings=AuditSettings(exact_shortfall_cells=0))
            assert np.array_equal(found.safe_rows, pushed.safe_rows)
            assert np.array_equal(found.undecided, pushed.undecided)
            assert found.counters["solves"] <= pushed.counters["solves"]
            fewer += found.counters["solves"] < pushed.counters["solves"]
    assert fewer
