"""Kernels about exact deviations: nothing is taken that whole numbers do not confirm."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csc_array
from scipy.sparse.linalg import lsqr

from tablecloak.solvers import kernels
from tablecloak.solvers.kernels.compiled import denominator_near

START, ROW = np.array([0, 1, 2, 3], np.int32), np.zeros(3, np.int32)
DATA = np.array([1, 1, -1])


def _rounded(amount: list[float], low: float, high: float) -> tuple[bool, list[int]]:
    walls = (np.full(3, float(low)), np.full(3, float(high)))
    found, whole = kernels.rounded_deviation(START, ROW, DATA, 1, 3.0, np.array(amount), *walls)
    return found, whole.tolist()


def test_rounded_amounts_keep_rows_and_bounds() -> None:
    assert _rounded([1.001, 2.0, 3.0], -5, 5) == (True, [1, 2, 3])
    assert not _rounded([1.0, 2.0, 4.0], -5, 5)[0]
    assert not _rounded([1.5, 1.5, 3.0], -5, 5)[0]
    assert not _rounded([2.0**53, 0.0, 2.0**53], -np.inf, np.inf)[0]
    assert not _rounded([2.0**61, 2.0**61, 0.0], -np.inf, np.inf)[0]
    assert not _rounded([np.nan, 0.0, 0.0], -1, 1)[0]


@pytest.mark.parametrize("seed", range(200))
def test_mirror_images_fit_and_are_parallel(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.integers(0, 15)
    numerator = rng.integers(-size, size, 5, endpoint=True)
    denominator = int(rng.integers(1, 20))
    low, high = -np.floor(size * rng.random(5)), np.floor(size * rng.random(5))
    high[rng.random(5) < 0.3] = np.inf
    mirror, divisor = kernels.mirrored(numerator, denominator, low, high)
    if divisor == 0:
        return
    assert np.abs(mirror).max() < 2**53
    ratios = {Fraction(int(new), int(old)) for new, old in zip(mirror, numerator, strict=True) if old}
    assert len(ratios) == 1 and ratios.pop() < 0
    for new, least, most in zip(mirror.tolist(), low.tolist(), high.tolist(), strict=True):
        assert new >= int(least) * divisor
        assert most == np.inf or new <= int(most) * divisor


def test_long_mirror_images_stay_exact() -> None:
    low, high = np.array([-1e12, -1.0]), np.array([1.0, np.inf])
    mirror, divisor = kernels.mirrored(np.array([1, -(10**8)]), 1, low, high)
    assert divisor == 1
    assert mirror.tolist() == [-(mirror[1] // 10**8), mirror[1]]
    assert 0 < mirror[1] < 2**53


def test_credit_is_rounded_down() -> None:
    down, up = np.zeros(2), np.array([0.0, 9.0])
    kernels.credit(np.array([0, 0]), np.array([1.0, -1.0]), np.array([7]), 2, down, up)
    assert down.tolist() == [0.0, 3.0]
    assert up.tolist() == [3.0, 9.0]


def test_bounds_by_multipliers() -> None:
    low, high = np.array([-1.0, -2.0, -9.0]), np.array([4.0, 5.0, np.inf])
    assert kernels.whole_bound(START, ROW, DATA, 3.0, np.array([1.0]), 2, 1, low, high) == (
        True,
        9.0,
    )
    assert kernels.whole_bound(START, ROW, DATA, 3.0, np.array([0.0]), 2, 1, low, high) == (
        True,
        np.inf,
    )
    assert not kernels.whole_bound(START, ROW, DATA, 3.0, np.array([1e17]), 2, 1, low, high)[0]
    assert not kernels.whole_bound(START, ROW, DATA, 3.0, np.array([2.0]), 2, 1, low, 2.0**52 * high)[0]


def test_common_denominators() -> None:
    def common(*amounts: float) -> tuple[bool, int]:
        return kernels.common_denominator(np.array(amounts), 1e-6, 1e-12, 1000, 10**6)

    assert common(1.0, 5.0) == (True, 1)
    assert common(1 / 3, 2.25) == (False, 12)
    assert common(0.001, 7.0) == (True, 1000)
    assert common(*(1 / prime for prime in (991, 983, 977, 971))) == (True, 0)
    for part in range(0, 10**7, 9973):
        nearest = Fraction(part, 10**7).limit_denominator(1000).denominator
        assert denominator_near(part, 10**7, 1000) == nearest


@pytest.mark.parametrize("seed", range(20))
def test_corrections_are_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = csc_array(rng.integers(-1, 2, (6, 14)).astype(float))
    moved = np.sort(rng.choice(14, 10, replace=False))
    amount = rng.random(10)
    left, fixed = kernels.least_correction(
        matrix.indptr, matrix.indices, matrix.data, 6, moved, amount, 300, 1e-12
    )
    part = matrix[:, moved]
    expected = lsqr(part, -(part @ amount), atol=1e-12, btol=1e-12)[0]
    assert fixed == pytest.approx(expected, abs=1e-7)
    assert left == pytest.approx(np.abs(part @ (amount + fixed)).max(), abs=1e-12)
