"""Exact arithmetic: what floats stand for, and elimination over fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tablecloak.attacker import TooMuchWork, solve
from tablecloak.auditing.exact import exact_number


@pytest.mark.parametrize(
    ("number", "meaning"),
    [
        (0.1, Fraction(1, 10)),
        (0.1 + 0.2, Fraction(3, 10)),
        (1234.56, Fraction(123456, 100)),
        (-7.0, Fraction(-7)),
        (2.0**60, Fraction("1.152921504606847e18")),
        (math.inf, math.inf),
    ],
)
def test_a_float_stands_for_a_decimal(number: float, meaning: Fraction | float) -> None:
    assert exact_number(number) == meaning


def test_the_decimals_keep_the_order_of_floats() -> None:
    rng = np.random.default_rng(0)
    centres = 10.0 ** rng.uniform(-5, 17, 300)
    numbers = sorted(x for c in centres for x in (c, np.nextafter(c, np.inf), round(c), np.nextafter(c, 0)))
    meanings = [exact_number(float(number)) for number in numbers]
    assert meanings == sorted(meanings)


@pytest.mark.parametrize("seed", range(8))
def test_elimination_agrees_with_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 25))
    matrix = rng.integers(-3, 4, (size, size)) * (rng.random((size, size)) < 0.4) + 5 * np.eye(
        size, dtype=int
    )
    rhs = rng.integers(-9, 10, size)
    found = solve(sparse_rows(matrix), [Fraction(int(x)) for x in rhs])
    assert found is not None
    x = np.array([found.get(i, Fraction(0)) for i in range(size)])
    assert (matrix.astype(object) @ x == rhs).all()
    assert x.astype(float) == pytest.approx(np.linalg.solve(matrix.astype(float), rhs.astype(float)))


def test_elimination_of_singular_systems() -> None:
    rng = np.random.default_rng(5)
    left, right = rng.integers(-2, 3, (12, 5)), rng.integers(-2, 3, (5, 9))
    matrix = left @ right
    rhs = matrix @ rng.integers(-4, 5, 9)
    found = solve(sparse_rows(matrix), [Fraction(int(x)) for x in rhs])
    assert found is not None
    assert (matrix.astype(object) @ np.array([found.get(i, Fraction(0)) for i in range(9)]) == rhs).all()
    broken = [Fraction(int(x)) for x in rhs]
    broken[int(np.flatnonzero(matrix.any(axis=1))[0])] += 1
    independent = np.linalg.matrix_rank(np.column_stack([matrix, [float(x) for x in broken]]))
    assert independent > np.linalg.matrix_rank(matrix)
    assert solve(sparse_rows(matrix), broken) is None
    with pytest.raises(TooMuchWork):
        solve(sparse_rows(rng.integers(1, 9, (20, 20))), [Fraction(1)] * 20, most_work=100)


def sparse_rows(matrix: Any) -> list[dict[int, Fraction]]:
    return [{j: Fraction(int(x)) for j, x in enumerate(row) if x} for row in matrix]
