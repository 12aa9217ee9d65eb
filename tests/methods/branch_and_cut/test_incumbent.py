"""The incumbent, the gap, and how often heuristics run."""

from __future__ import annotations

from functools import partial

import numpy as np

from fixtures import FIXTURES
from searches import run_of
from tablecloak import protect
from tablecloak.methods.branch_and_cut.improvement import Backoff


def test_only_safe_and_cheaper_patterns_become_the_incumbent() -> None:
    for fixture in ("two way several", "three way"):
        problem = FIXTURES[fixture]()
        run, best = run_of(problem), protect(problem, "suppress-optimal")
        before = run.incumbent.cost
        if not run.model.is_network:  # there what flows say is not audited
            assert run.incumbent.offer(problem.must_hide.copy())
        assert (run.incumbent.cost, run.incumbent.changes) == (before, 0)
        assert run.incumbent.offer(best.pattern.hidden) == []
        assert (run.incumbent.cost, run.incumbent.changes) == (best.cost, 1)
        assert run.incumbent.offer(run.model.allowed.copy()) == []
        assert (run.incumbent.cost, run.incumbent.changes) == (best.cost, 1)


def test_the_bound_is_rounded_up_and_not_above_the_cost() -> None:
    problem = FIXTURES["two way"]()
    run = run_of(problem)
    run.gap.raise_bound(0.2)
    assert run.gap.bound == run.model.unit
    run.gap.raise_bound(0.1)
    assert run.gap.bound == run.model.unit and not run.gap.is_closed
    run.gap.raise_bound(np.inf)
    assert run.gap.bound == run.incumbent.cost and run.gap.is_closed and run.gap.relative == 0.0


def test_the_wait_is_doubled_by_failure_and_halved_by_success() -> None:
    incumbent, calls = run_of(FIXTURES["two way"]()).incumbent, []
    backoff = Backoff(incumbent, wait=1, longest=4)

    def succeed_late(occasion: int) -> None:
        calls.append(occasion)
        incumbent.changes += occasion >= 7

    for occasion in range(1, 14):
        backoff.maybe_run(partial(succeed_late, occasion))
    assert calls == [1, 3, 7, 9, 10, 11, 12, 13]
