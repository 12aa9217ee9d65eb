"""Covering programs: the optimum of HiGHS, bounds that hold in exact arithmetic, rows that come and go."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from tablecloak.arrays import Floats
from tablecloak.solvers.kernels import Covering, CoveringArrays


def random_rows(rng: np.random.Generator, size: int, count: int) -> Floats:
    """Rows of cuts: many coefficients of 1 and of simple fractions."""
    rows = np.where(rng.random((count, size)) < 0.4, rng.choice([1.0, 0.5, 1 / 3, 0.25], (count, size)), 0.0)
    return np.where(rng.random((count, size)) < 0.1, rng.random((count, size)), rows)


def reference(cost: Floats, rows: Floats, low: Floats, high: Floats) -> float | None:
    """The optimum by HiGHS; None: infeasible."""
    found = linprog(
        cost, A_ub=-rows, b_ub=-np.ones(len(rows)), bounds=list(zip(low.tolist(), high.tolist(), strict=True))
    )
    return None if found.fun is None or found.status != 0 else float(found.fun)


@pytest.mark.parametrize("seed", range(30))
def test_optima_and_infeasible_bounds_are_those_of_highs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 25))
    scale = 10.0 ** rng.uniform(0, 9, size) if seed % 3 == 0 else rng.integers(0, 20, size).astype(float)
    cost, rows = np.asarray(scale, dtype=np.float64), np.zeros((0, size))
    program = CoveringArrays(cost, 4)
    cutoff = 10.0 * cost.sum() + 1.0
    for _ in range(12):
        more = random_rows(rng, size, int(rng.integers(1, 5)))
        program.add(more, np.ones(len(more)))
        rows = np.concatenate([rows, more])
        fixed, value = rng.random(size) < 0.2, (rng.random(size) < 0.5).astype(float)
        low, high = np.where(fixed, value, 0.0), np.where(fixed, value, 1.0)
        wanted = reference(cost, rows, low, high)
        ending = program.solve(low, high, cutoff, 10_000)
        if wanted is None:
            assert ending == Covering.ABOVE
            assert program.bound > cutoff
        else:
            assert ending == Covering.SOLVED
            assert program.bound <= wanted + 1e-9 * max(1.0, wanted)
            assert program.bound == pytest.approx(wanted, rel=1e-7, abs=1e-7)
            x = program.point()
            assert (rows @ x >= 1 - 1e-7).all()
            assert ((x >= low - 1e-7) & (x <= high + 1e-7)).all()
        if rng.random() < 0.3 and ending == Covering.SOLVED:
            rows = rows[program.drop_slack()]
        if rng.random() < 0.2:
            program.restart()


@pytest.mark.parametrize("seed", range(60))
def test_no_bound_exceeds_the_cost_of_any_integral_point(seed: int) -> None:
    """In exact arithmetic, also for costs from 1e-9 to 1e12 and after few steps."""
    rng = np.random.default_rng([1, seed])
    size = int(rng.integers(2, 9))
    cost, rows = 10.0 ** rng.uniform(-9, 12, size), random_rows(rng, size, int(rng.integers(1, 12)))
    program = CoveringArrays(cost, 4)
    program.add(rows, np.ones(len(rows)))
    program.solve(np.zeros(size), np.ones(size), np.inf, int(rng.integers(0, 30)))
    bound, reduced = program.bound, program.reduced()
    exact_rows = [[Fraction(entry) for entry in row] for row in rows.tolist()]
    for number in range(2**size):
        x = [number >> j & 1 for j in range(size)]
        if all(sum(a * y for a, y in zip(row, x, strict=True)) >= 1 for row in exact_rows):
            price = sum((Fraction(w) * y for w, y in zip(cost.tolist(), x, strict=True)), Fraction(0))
            assert price >= Fraction(bound)
            if np.isfinite(bound):
                every = (
                    Fraction(bound) + Fraction(r)
                    for r, y in zip(reduced.tolist(), x, strict=True)
                    if y and r > 0
                )
                assert all(price >= least * (1 - Fraction(1, 10**12)) for least in every)


def test_a_cutoff_ends_the_solution_early() -> None:
    rows = np.eye(6)
    program = CoveringArrays(np.ones(6), 6)
    program.add(rows, np.ones(6))
    assert program.solve(np.zeros(6), np.ones(6), 2.5, 100) == Covering.ABOVE
    assert 2.5 < program.bound <= 6.0
    assert program.pivots < 6


def test_too_few_steps_leave_a_bound() -> None:
    program = CoveringArrays(np.ones(6), 6)
    program.add(np.eye(6), np.ones(6))
    assert program.solve(np.zeros(6), np.ones(6), np.inf, 2) == Covering.UNSOLVED
    assert program.bound == pytest.approx(2.0)
