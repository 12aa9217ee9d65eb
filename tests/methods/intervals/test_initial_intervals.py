"""Initial intervals: safe, with ends, and what stopped interval methods fall back on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.methods import largest_pattern
from tablecloak.methods.intervals import stated
from tablecloak.methods.intervals.attainable import lengthened
from tablecloak.methods.intervals.initial_intervals import initial_intervals
from tablecloak.model import EVERYTHING, Status
from tablecloak.progress import NEVER, Deadline, silent
from tablecloak.protection import protect
from tablecloak.testing import assert_protected

MONOTONE = [name for name, make in FIXTURES.items() if make().is_monotone]
METHODS = ["interval-partial", "interval-combined"]


@pytest.mark.parametrize("fixture", MONOTONE)
def test_they_are_safe_and_have_ends(fixture):
    problem, told = FIXTURES[fixture](), []
    bounds = initial_intervals(
        problem, largest_pattern(problem), NEVER, lambda *step: told.append((step[0], *step[3:]))
    )
    assert bounds is not None
    assert all(np.isfinite(side).all() and (side >= 0).all() for side in bounds)
    assert not any(side[problem.forced].any() for side in bounds)
    pattern = stated(problem, *bounds)
    assert told[-1] == ("first intervals", pattern.loss(problem))
    assert_protected(problem, pattern)


def test_where_there_are_none():
    problem = FIXTURES["three way"]()
    allowed = largest_pattern(problem)
    assert initial_intervals(problem, allowed, Deadline.after(0.0), silent) is None
    bounded = replace(problem, most_touched=len(problem.table))
    assert initial_intervals(bounded, allowed, NEVER, silent) is None


@pytest.mark.parametrize("fixture", ["two way several", "three way", "any equations"])
@pytest.mark.parametrize("method", METHODS)
def test_a_run_interrupted_after_them_keeps_them_and_lengthens_them_by_chance(method, fixture):
    problem, first = FIXTURES[fixture](), []

    def once(phase, done, total, incumbent=None, bound=None):
        if phase == "first intervals":
            first.append(incumbent)
        elif len(first) == 1:
            first.append(None)
            raise KeyboardInterrupt

    result = protect(problem, method, progress=once)
    assert result.status is Status.INTERRUPTED
    assert any("lengthened by chance" in note for note in result.report.notes)
    assert not any(EVERYTHING in note for note in result.report.notes)
    touched = result.pattern.touched(problem) & ~(problem.marks == 2)
    assert np.isfinite(result.pattern.low[touched]).all() and np.isfinite(result.pattern.high[touched]).all()
    assert_protected(problem, result.pattern)


@pytest.mark.parametrize("count", [3, 6, 12, 24, 48, 96])
@pytest.mark.parametrize("fixture", ["two way several", "any equations", "two hierarchies"])
@pytest.mark.parametrize("method", METHODS)
def test_an_interrupt_at_any_report_after_the_feasibility_check_does_not_escape(method, fixture, count):
    problem, reports = FIXTURES[fixture](), []
    largest_pattern(problem)  # before that nothing is known that could be returned

    def once(phase, done, total, incumbent=None, bound=None):
        reports.append(phase)
        if len(reports) == count and phase != "audit":
            raise KeyboardInterrupt

    result = protect(problem, method, progress=once)
    assert_protected(problem, result.pattern)


def test_longer_intervals_contain_the_shorter_ones_within_the_box():
    problem = FIXTURES["two way several"]()
    bounds = initial_intervals(problem, largest_pattern(problem), NEVER, silent)
    pattern = stated(problem, *bounds)
    longer = lengthened(problem, pattern, 1.0, np.random.default_rng(1))
    assert (longer.low <= pattern.low).all() and (longer.high >= pattern.high).all()
    assert ((longer.low < longer.high) == (pattern.low < pattern.high)).all()
    assert (longer.high - longer.low).sum() > (pattern.high - pattern.low).sum()
    assert (longer.low >= np.minimum(problem.outsider_low, pattern.low)).all()
    assert_protected(problem, longer)
