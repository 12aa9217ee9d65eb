"""The exact simplex: optimal by linear programming duality in rationals, and where linprog can tell, the same."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from scipy.optimize import linprog

from tablecloak.testing.simplex import MACHINE_LIMIT, ExactSimplex


def random_polytope(rng, largest=20):
    rows, columns = int(rng.integers(1, 6)), int(rng.integers(3, 11))
    matrix = rng.integers(-2, 3, size=(rows, columns))
    low, high = (rng.integers(0, largest, columns).astype(object) for _ in range(2))
    low, high = [-int(end) for end in low], [int(end) for end in high]
    for j in np.flatnonzero(rng.random(columns) < 0.3):
        low[j] = -inf
    for j in np.flatnonzero(rng.random(columns) < 0.3):
        high[j] = inf
    return matrix, low, high


@pytest.mark.parametrize("seed", range(150))
def test_extremes_are_those_of_linprog(seed):
    matrix, low, high = random_polytope(np.random.default_rng(seed))
    solver = ExactSimplex(matrix, low, high)
    for variable in range(matrix.shape[1]):
        for sign, got in ((1, solver.minimum(variable)), (-1, solver.maximum(variable))):
            cost = np.zeros(matrix.shape[1])
            cost[variable] = sign
            bounds = [
                (None if l == -inf else l, None if h == inf else h) for l, h in zip(low, high, strict=True)
            ]
            found = linprog(cost, A_eq=matrix, b_eq=np.zeros(matrix.shape[0]), bounds=bounds)
            if found.status == 0:
                assert float(got) == pytest.approx(sign * found.fun, abs=1e-7)
            else:
                assert got == -sign * inf


def check_optimal(solver, matrix, low, high, variable, value):
    """The point is feasible and attains the value, and no feasible point can exceed it: exact weak duality."""
    point = [Fraction(x, solver.denominator if j in solver.basis else 1) for j, x in enumerate(solver.scaled)]
    assert all(sum(int(c) * x for c, x in zip(row, point, strict=True)) == 0 for row in matrix)
    assert all(l <= x <= h for l, x, h in zip(low, point, high, strict=True))
    assert point[variable] == value
    if variable not in solver.basis:
        assert value == high[variable]
        return
    gain = -solver.tableau[
        solver.basis.index(variable)
    ]  # d[variable] = sum of gain_j d_j / q outside the basis
    best = Fraction(0)
    for j, entry in enumerate(gain.tolist()):
        if j not in solver.basis and entry:
            best += Fraction(int(entry) * (high[j] if entry > 0 else low[j]), solver.denominator)
    assert best == value
    # and that equation is a combination of the rows of the matrix
    row = solver.tableau[solver.basis.index(variable)].astype(float)
    assert np.linalg.matrix_rank(np.vstack([matrix.astype(float), row])) == np.linalg.matrix_rank(
        matrix.astype(float)
    )


@pytest.mark.parametrize("seed", range(100))
def test_maxima_are_proven_at_any_scale(seed):
    rng = np.random.default_rng(seed)
    matrix, low, high = random_polytope(rng, largest=int(10 ** rng.integers(1, 16)))
    solver = ExactSimplex(matrix, low, high)
    for variable in range(matrix.shape[1]):
        value = solver.maximum(variable)
        if value != inf:
            check_optimal(solver, matrix, low, high, variable, value)


def test_entries_beyond_machine_integers():
    large = MACHINE_LIMIT * 5 + 1
    matrix = np.array([[large, -1, 0], [0, large, -1]], dtype=object)
    solver = ExactSimplex(matrix, [-(10**40)] * 3, [10**40] * 3)
    assert solver.maximum(2) == 10**40
    assert solver.maximum(0) == Fraction(10**40, large**2)


def test_zero_must_be_inside():
    with pytest.raises(ValueError, match="zero"):
        ExactSimplex(np.array([[1, -1]]), [1, 0], [2, 2])
