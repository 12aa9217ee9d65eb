"""Separable quadratic programs: against a dense solution of the optimality conditions, and honest duals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tablecloak.solvers import least_squares


def random_program(seed):
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 6)), int(rng.integers(6, 20))
    matrix = rng.integers(-1, 2, size=(rows, columns)).astype(float)
    low, high = -rng.uniform(0, 3, columns), rng.uniform(0, 3, columns)
    inside = low + rng.random(columns) * (high - low)
    moved = rng.random(columns) < 0.3
    low[moved] = inside[moved]  # must move, as sensitive cells must
    return matrix, matrix @ inside, rng.uniform(0.05, 5, columns), low, high


@pytest.mark.parametrize("seed", range(25))
def test_it_solves_the_optimality_conditions(seed):
    matrix, right, weights, low, high = random_program(seed)
    found = least_squares(csr_array(matrix), right, weights, (low, high))
    d = found.values
    assert np.abs(matrix @ d - right).max() < 1e-7
    assert ((low - 1e-12 <= d) & (d <= high + 1e-12)).all()
    free = (d > low + 1e-8) & (d < high - 1e-8)
    count, rows = int(free.sum()), right.size
    system = np.block(
        [[2 * np.diag(weights[free]), -matrix[:, free].T], [matrix[:, free], np.zeros((rows, rows))]]
    )
    known = np.concatenate([np.zeros(count), right - matrix[:, ~free] @ d[~free]])
    dense = np.linalg.lstsq(system, known, rcond=None)[0]
    assert dense[:count] == pytest.approx(d[free], abs=1e-6)
    gradient = 2 * weights * d - matrix.T @ found.multipliers
    assert (gradient[d <= low + 1e-8] >= -1e-6).all()
    assert (gradient[(d >= high - 1e-8) & (d > low + 1e-8)] <= 1e-6).all()
    assert found.dual == pytest.approx(weights @ d**2, rel=1e-6, abs=1e-8)


def test_any_multipliers_give_a_bound():
    matrix, right, weights, low, high = random_program(3)
    best = weights @ least_squares(csr_array(matrix), right, weights, (low, high)).values ** 2
    rng = np.random.default_rng(0)
    for _ in range(20):
        y = rng.normal(size=right.size)
        d = np.clip(matrix.T @ y / (2 * weights), low, high)
        assert right @ y + weights @ d**2 - (matrix.T @ y) @ d <= best + 1e-7


def test_a_start_does_not_change_the_optimum():
    matrix, right, weights, low, high = random_program(5)
    first = least_squares(csr_array(matrix), right, weights, (low, high))
    again = least_squares(csr_array(matrix), right, weights, (low, high), np.full(right.size, 7.0))
    assert again.values == pytest.approx(first.values, abs=1e-6)


def test_no_equations():
    found = least_squares(
        csr_array((0, 2)), np.zeros(0), np.ones(2), (np.array([-1.0, 2.0]), np.array([1.0, 3.0]))
    )
    assert found.values.tolist() == [0.0, 2.0]
