"""Linear programs: the time limit is that of one solve, however many solves came before; runs that cycle are ended."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.sparse import csc_array

from tablecloak.solvers import LinearProgram, Outcome
from tablecloak.solvers.highs import HighsSettings


def test_many_solves_do_not_use_up_the_time_of_the_next_one():
    rng = np.random.default_rng(0)
    matrix = csc_array(rng.integers(-1, 2, size=(30, 120)).astype(float))
    program = LinearProgram(matrix, -np.ones(120), np.ones(120))
    spent, limit = 0.0, 0.05
    for solve in range(2_000):
        program.set_costs(np.arange(120), rng.random(120) - 0.5)
        program.forget_basis()
        start = time.perf_counter()
        assert program.solve(limit).outcome is Outcome.OPTIMAL
        spent += time.perf_counter() - start
        if spent > 4 * limit and solve > 20:
            return
    raise AssertionError("the programs are too small for this test")


@pytest.mark.parametrize("work", [HighsSettings.simplex_work, 0])
def test_a_simplex_run_that_does_not_end_gives_way_to_others(work: int) -> None:
    """Warm runs on mixed scales were seen to cycle for ever."""
    rng = np.random.default_rng(1)
    matrix, cost = csc_array(rng.integers(-1, 2, size=(30, 120)).astype(float)), rng.random(120) - 0.5
    wanted = LinearProgram(matrix, -np.ones(120), np.ones(120), cost=cost).solve().objective
    few = HighsSettings(
        iterations_per_line=0, least_iterations=1, least_simplex_iterations=1, simplex_work=work
    )
    found = LinearProgram(matrix, -np.ones(120), np.ones(120), cost=cost, settings=few).solve()
    assert found.outcome is Outcome.OPTIMAL and found.objective == pytest.approx(wanted)
