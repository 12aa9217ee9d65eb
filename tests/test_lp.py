"""Sessions: the time limit is that of one solve, however many solves came before."""

from __future__ import annotations

import time

import numpy as np
from scipy.sparse import csc_array

from tablecloak.engines.lp import Outcome, Session


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
