"""Gap limits: increasing limits on the objective."""

from __future__ import annotations

import math

import pytest

from tablecloak.methods.cuts import GapLimits, GapLimitSettings


def test_limits_are_shares_of_the_first_bound_and_grow() -> None:
    limits = GapLimits(1000.0, settings=GapLimitSettings(0.1, 2.0, 0.1))
    assert [limits.next(1000.0) for _ in range(3)] == pytest.approx([1100.0, 1300.0, 1700.0])
    assert limits.count == 3


def test_limits_lie_some_steps_above_the_bound_that_is_proven_by_then() -> None:
    limits = GapLimits(10.0, 5.0, GapLimitSettings(0.02, 2.5, units=2))
    assert limits.next(10.0) == 10.0 + 3 * 5.0
    assert limits.next(30.0) == 30.0 + 4 * 5.0


def test_with_tied_weights_the_limit_is_the_bound() -> None:
    limits = GapLimits(10.0, 1.0, GapLimitSettings(units=None))
    assert [limits.next(bound) for bound in (10.0, 11.0)] == [10.0, 11.0]


def test_the_first_limit_is_as_large_as_leaves_a_small_program() -> None:
    limits = GapLimits(100.0, settings=GapLimitSettings(0.01, 2.0))
    limits.enlarge_first(lambda limit: limit <= 105.0)
    assert limits.next(100.0) == pytest.approx(104.0)
    unbounded = GapLimits(100.0, settings=GapLimitSettings(0.01, 2.0, largest_first=10.0))
    unbounded.enlarge_first(lambda limit: True)
    assert 1000.0 < unbounded.next(100.0) < math.inf


def test_limits_that_are_proven_too_low_are_skipped_up_to_the_largest() -> None:
    limits = GapLimits(100.0, settings=GapLimitSettings(0.01, 2.0, largest=1.0))
    limits.skip(109.0)
    assert limits.next(109.0) == pytest.approx(116.0)
    limits.skip(1e9)
    assert limits.next(1e9) == math.inf
    nothing = GapLimits(0.0)
    nothing.skip(5.0)
    assert nothing.next(5.0) > 5.0
