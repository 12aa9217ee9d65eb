"""Sessions: the time limit is that of one solve, however many solves came before; runs that cycle are ended."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.sparse import csc_array

from tablecloak.solvers import Outcome, Session, highs, linear_program


def test_many_solves_do_not_use_up_the_time_of_the_next_one():
    rng = np.random.default_rng(0)
    matrix = csc_array(rng.integers(-1, 2, size=(30, 120)).astype(float))
    session = Session(matrix, -np.ones(120), np.ones(120))
    spent, limit = 0.0, 0.05
    for solve in range(2_000):
        session.set_costs(np.arange(120), rng.random(120) - 0.5)
        session.forget_basis()
        start = time.perf_counter()
        assert session.solve(limit).outcome is Outcome.OPTIMAL
        spent += time.perf_counter() - start
        if spent > 4 * limit and solve > 20:
            return
    raise AssertionError("the programs are too small for this test")


@pytest.mark.parametrize("work", [linear_program.SIMPLEX_WORK, 0])
def test_a_simplex_run_that_does_not_end_gives_way_to_others(
    work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warm runs on mixed scales were seen to cycle for ever."""
    rng = np.random.default_rng(1)
    matrix, cost = csc_array(rng.integers(-1, 2, size=(30, 120)).astype(float)), rng.random(120) - 0.5
    wanted = Session(matrix, -np.ones(120), np.ones(120), cost=cost).solve().objective
    monkeypatch.setattr(highs, "ITERATIONS", 0)
    monkeypatch.setattr(highs, "LEAST_ITERATIONS", 1)
    monkeypatch.setattr(linear_program, "LEAST_ITERATIONS", 1)
    monkeypatch.setattr(linear_program, "SIMPLEX_WORK", work)
    found = Session(matrix, -np.ones(120), np.ones(120), cost=cost).solve()
    assert found.outcome is Outcome.OPTIMAL and found.objective == pytest.approx(wanted)
