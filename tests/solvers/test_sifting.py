"""Sifting: the same optimum as the whole program, honest bounds and feasible points when the time is up."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_array

from fixtures import flat, from_leaves, leaf_values
from tablecloak.attacker import working_columns
from tablecloak.progress import Deadline
from tablecloak.solvers import Outcome, independent, sift, sifting, solve_mip
from tablecloak.solvers.sifting import SiftingSettings
from tablecloak.testing import KINDS, random_problem


def program(seed: int, rows: int = 12, columns: int = 900):
    """A random program that has a solution; some columns are fixed, some lie away from zero."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((rows, columns)) < 0.2, rng.choice([-1.0, 1.0], (rows, columns)), 0.0)
    low = np.where(rng.random(columns) < 0.1, 1.0, 0.0)
    high = low + np.where(rng.random(columns) < 0.1, 0.0, rng.integers(1, 9, columns))
    right = dense @ (low + rng.random(columns) * (high - low) * (rng.random(columns) < 0.05))
    return csc_array(dense), right, rng.random(columns) * 5 + 0.1, (low, high)


SMALL = SiftingSettings(join_per_row=1, least_join=20)


def whole(matrix, right, cost, bounds):
    return solve_mip(matrix, bounds, (right, right), cost, np.zeros(cost.size, dtype=bool))


@pytest.mark.parametrize("seed", range(20))
def test_the_optimum_of_the_whole_program(seed: int) -> None:
    given = program(seed)
    matrix, right, cost, (low, high) = given
    first = np.random.default_rng(seed).choice(cost.size, [0, 30][seed % 2], replace=False)
    found = sift(*given, first, settings=SMALL)
    assert found.outcome is Outcome.OPTIMAL and found.rounds > 2
    assert found.objective == pytest.approx(whole(*given).objective, rel=1e-7)
    assert found.bound == pytest.approx(found.objective)
    assert np.abs(matrix @ found.values - right).max() < 1e-6
    assert (found.values >= low - 1e-7).all() and (found.values <= high + 1e-7).all()


def test_what_cannot_be_is_said() -> None:
    matrix, right, cost, bounds = program(1)
    found = sift(matrix, right + 1e4, cost, bounds, np.zeros(0, dtype=np.int64))
    assert found.outcome is Outcome.INFEASIBLE


def test_when_the_time_is_up_bounds_are_bounds_and_points_are_feasible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = program(3)
    optimum = whole(*given).objective
    assert sift(*given, np.zeros(0, dtype=np.int64), seconds=0.0).outcome is Outcome.TIME_LIMIT
    partly = 0
    for most in range(2, 12):
        search = sifting._Sift(*given, Deadline.after(1e9), SMALL)
        clock = iter([0.0] * most + [2e9] * 99)
        monkeypatch.setattr(search, "_solve", _stopping(search, clock))
        found = search.run(np.zeros(0, dtype=np.int64))
        assert found.bound <= optimum * (1 + 1e-9) + 1e-9
        if found.values.size:
            assert np.abs(given[0] @ found.values - given[1]).max() < 1e-6
            assert found.objective >= optimum - 1e-7
            partly += found.outcome is Outcome.TIME_LIMIT and found.objective > optimum + 1e-6
    assert partly, "some run was stopped with a point that is feasible and not the best"


def _stopping(search, clock):
    """The solve of a search, after which its time is up when the clock says so."""
    plain = type(search)._solve

    def solve():
        found = plain(search)
        if next(clock) > 0:
            search.deadline = Deadline.after(0.0)
        return found

    return solve


@pytest.mark.parametrize("seed", range(2 * len(KINDS)))
def test_independent_equations_say_as_much_as_all(seed):
    problem = random_problem(KINDS[seed % len(KINDS)], np.random.default_rng(seed))
    every = working_columns(problem.table)
    few = independent(every)
    rank = np.linalg.matrix_rank
    assert rank(few.toarray()) == rank(every.toarray())
    assert few.shape[0] <= every.shape[0]


def test_equations_that_follow_from_others_are_dropped():
    """A table of three ways: a total of totals is made three times."""
    table = from_leaves([flat("a", 3), flat("b", 3), flat("c", 3)], leaf_values(3, 3, 3))
    few = independent(csc_array(table.equations))
    assert few.shape[0] == np.linalg.matrix_rank(table.equations.toarray()) < table.equations.shape[0]
    fractions = csc_array(np.array([[0.5, 0.5, -1.0], [1.0, 1.0, -2.0]]))
    assert independent(fractions).shape == (2, 3), (
        "only equations with a cell made of whole others are looked at"
    )
