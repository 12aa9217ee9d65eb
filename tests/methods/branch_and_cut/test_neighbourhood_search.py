"""Restricted programs on large networks, and neighbourhoods while the root is solved."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import flat, from_leaves, leaf_values, smallest_leaves, with_levels
from tablecloak import Problem, protect
from tablecloak.methods.branch_and_cut import ExactParams, ExactRun
from tablecloak.progress import silent
from tablecloak.solvers import scip


def two_way(seed: int) -> Problem:
    table = from_leaves([flat("row", 12), flat("column", 12)], leaf_values(12, 12, seed=seed, low=1))
    return with_levels(table, smallest_leaves(table, 9), share=0.8)


def rooted(run: ExactRun) -> None:
    """Up to the end of the root."""
    run.state.search(run.problem.weights)
    run.state.prepare()
    assert run._root()


@pytest.mark.skipif(not scip.is_there(), reason="restricted programs need SCIP")
def test_restricted_programs_lose_no_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [two_way(seed) for seed in range(6)]
    usual = [protect(problem, "suppress-optimal") for problem in problems]
    told: list[str] = []

    def note(phase: str, *rest: object) -> None:
        told.append(phase)

    monkeypatch.setattr("tablecloak.methods.branch_and_cut.improvement.neighbourhood_search.MANY", 0)
    monkeypatch.setattr("tablecloak.methods.branch_and_cut.improvement.neighbourhood_search.NARROW", 20)
    monkeypatch.setattr("tablecloak.methods.branch_and_cut.solver.DENSE", 0)
    monkeypatch.setattr("tablecloak.methods.branch_and_cut.solver.MANY", 0)
    for problem, before in zip(problems, usual, strict=True):
        found = protect(problem, "suppress-optimal", progress=note)
        assert found.status.value == before.status.value == "optimal"
        assert found.cost == before.cost == found.bound
    assert "restricted programs" in told


@pytest.mark.parametrize(("grace", "share"), [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
def test_neighbourhoods_begin_when_the_root_takes_long(
    grace: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablecloak.methods.branch_and_cut.solver.GRACE", grace)
    table = from_leaves([flat(name, 6) for name in "abc"], leaf_values(6, 6, 6, seed=3, low=1))
    problem = with_levels(table, smallest_leaves(table, 12), share=0.5)
    params = ExactParams(seconds=30.0, nodes=0, neighbourhoods=share)
    run = ExactRun(problem, params, np.random.default_rng(1), silent)
    rooted(run)
    assert (run.state.counters["neighbourhoods"] > 0) == (grace == 0.0 and share > 0.0)


def test_without_a_limit_the_clock_decides_nothing() -> None:
    table = from_leaves([flat(name, 5) for name in "abc"], leaf_values(5, 5, 5, seed=4, low=1))
    problem = with_levels(table, smallest_leaves(table, 8), share=0.5)
    run = ExactRun(problem, ExactParams(neighbourhoods=1.0), np.random.default_rng(1), silent)
    rooted(run)
    assert run.state.counters["neighbourhoods"] == 0
