"""The relaxation: what duals prove about the cells of cheap patterns."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tablecloak.methods.branch_and_cut import ExactParams, ExactRun
from tablecloak.methods.cuts import Cut, Relaxation
from tablecloak.progress import silent
from tablecloak.testing.instances import class_problem


def covering(seed: int, equal: bool) -> tuple[Relaxation, list[Cut]]:
    """A solved relaxation of a small random covering program."""
    rng = np.random.default_rng(seed)
    weights = np.ones(10) if equal else rng.integers(1, 9, 10).astype(float)
    rows = []
    for _ in range(6):
        cells = np.sort(rng.choice(10, int(rng.integers(2, 6)), replace=False))
        rows.append(Cut(cells, np.ones(cells.size), float(rng.integers(1, 3)), "capacity"))
    relaxation = Relaxation(weights, np.ones(10, dtype=bool), np.zeros(10, dtype=bool))
    relaxation.add(rows)
    relaxation.solve()
    while relaxation.price():
        relaxation.solve()
    return relaxation, rows


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_no_cheap_pattern_hides_a_cell_that_is_out(seed: int, equal: bool) -> None:
    relaxation, rows = covering(seed, equal)
    before = relaxation.within(relaxation.bound + 1)
    relaxation.centre()
    matrix, right = relaxation.matrix(rows), np.array([row.rhs for row in rows])
    points = np.array(list(product((0.0, 1.0), repeat=10)))
    costs = points @ relaxation.weights
    covers = (matrix @ points.T >= right[:, None]).all(axis=0)
    assert costs[covers].min() >= relaxation.bound - 1e-6
    for cost in np.unique(costs[covers])[:4]:
        used = (points[covers & (costs <= cost)] > 0).any(axis=0)
        assert not (used & ~relaxation.within(cost)).any()
    assert not (relaxation.within(relaxation.bound + 1) & ~before).any()


def test_central_duals_tell_what_a_vertex_does_not_where_patterns_tie() -> None:
    problem = class_problem("I", 80, 70, 9, unit_weights=True)
    run = ExactRun(problem, ExactParams(), np.random.default_rng(0), silent)
    run.state.search(problem.weights)
    run.state.prepare()
    assert run._root()
    relaxation = run.state.relaxation
    by_vertex = int(relaxation.within(20.0).sum())
    relaxation.centre()
    assert int(relaxation.within(20.0).sum()) < 0.2 * by_vertex


def test_when_the_time_is_up_nothing_is_told() -> None:
    relaxation, _ = covering(0, True)
    before = relaxation.within(relaxation.bound)
    relaxation.centre(seconds=0.0)
    assert (relaxation.within(relaxation.bound) == before).all()
