"""Multipliers as simple fractions: what they prove is exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array

from tablecloak.attacker.oracle import combination, simplified


def test_noise_of_a_solver_is_replaced_by_simple_fractions():
    found = simplified(np.array([0.3333333331, -1.0000000002, 1e-9, 0.125]))
    assert (found.numerators / found.denominator).tolist() == [1 / 3, -1.0, 0.0, 0.125]


def test_fractions_with_larger_denominators_share_one():
    found = simplified(np.array([5 / 11, -7 / 13, 0.5]))
    wanted = [Fraction(5, 11), Fraction(-7, 13), Fraction(1, 2)]
    assert [Fraction(int(k), int(found.denominator)) for k in found.numerators] == wanted


def test_where_there_are_no_simple_ones_they_lie_on_a_grid():
    given = np.array([np.pi, np.e, np.sqrt(2), 1 / 997, 2 / 991, 3 / 983])
    found = simplified(given)
    assert (found.numerators == np.rint(found.numerators)).all()
    assert np.abs(found.numerators / found.denominator - given).max() < 1e-8


def test_what_cancels_is_zero_however_large_the_capacities():
    """rho of 1e-17 times a capacity of 1e15 would be a coefficient out of nothing."""
    matrix = csr_array(np.array([[1.0, 1.0, -1.0, 0.0], [0.0, 1.0, 0.0, -1.0], [0.0, 1.0, 1.0, -1.0]]))
    y = simplified(np.array([0.1, 0.2, 0.3]) + 1e-9)
    cells, rho = combination(matrix, np.arange(3), y, 0, True)
    assert cells.tolist() == [0, 1, 2, 3]
    assert rho.tolist() == [0.9, -0.6, -0.2, 0.5]


def test_coefficients_that_are_no_whole_numbers_are_rounded_to_the_safe_side():
    matrix = csr_array(np.array([[0.1, 0.2, -0.3], [0.1, -0.3, 0.2]]))
    y = simplified(np.array([1.0, 2.0]))
    exact = [
        Fraction(int(i == 0)) - sum(Fraction(float(matrix[r, i])) * (r + 1) for r in range(2))
        for i in range(3)
    ]
    cells, rho = combination(matrix, np.arange(2), y, 0, True)
    assert cells.tolist() == [0, 1, 2]
    assert all(abs(Fraction(float(got))) >= abs(true) for got, true in zip(rho, exact, strict=True))
