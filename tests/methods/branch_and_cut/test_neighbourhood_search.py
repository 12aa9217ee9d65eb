"""Restricted programs on large networks, and neighbourhoods while the root is solved."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from fixtures import flat, from_leaves, leaf_values, smallest_leaves, with_levels
from searches import after_the_root
from tablecloak import METHODS, Problem, protect
from tablecloak.methods.branch_and_cut import ExactParams, ExactSettings
from tablecloak.methods.branch_and_cut.settings import (
    NeighbourhoodSettings,
    RestrictedSettings,
    RootSettings,
    SmallSettings,
)
from tablecloak.methods.suppress_optimal import suppress_optimal
from tablecloak.solvers import scip


def two_way(seed: int) -> Problem:
    table = from_leaves([flat("row", 12), flat("column", 12)], leaf_values(12, 12, seed=seed, low=1))
    return with_levels(table, smallest_leaves(table, 9), share=0.8)


@pytest.mark.skipif(not scip.is_there(), reason="restricted programs need SCIP")
def test_restricted_programs_lose_no_optimum() -> None:
    problems = [two_way(seed) for seed in range(6)]
    usual = [protect(problem, "suppress-optimal") for problem in problems]
    told: list[str] = []

    def note(phase: str, *rest: object) -> None:
        told.append(phase)

    settings = ExactSettings(
        neighbourhoods=NeighbourhoodSettings(large_network_cells=0),
        restricted=RestrictedSettings(first_cells=20),
        small=SmallSettings(max_cells=0, max_general_cells=0),
        root=RootSettings(star_cut_work=0),
        max_restart_cells=0,
    )
    function = partial(suppress_optimal, settings=settings)
    method = replace(METHODS["suppress-optimal"], function=function)
    for problem, before in zip(problems, usual, strict=True):
        found = protect(problem, method, progress=note)
        assert found.status.value == before.status.value == "optimal"
        assert found.cost == before.cost == found.bound
    assert "restricted programs" in told


@pytest.mark.parametrize(("grace", "share"), [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
def test_neighbourhoods_begin_when_the_root_takes_long(grace: float, share: float) -> None:
    settings = ExactSettings(root=RootSettings(grace=grace))
    table = from_leaves([flat(name, 6) for name in "abc"], leaf_values(6, 6, 6, seed=3, low=1))
    problem = with_levels(table, smallest_leaves(table, 12), share=0.5)
    params = ExactParams(seconds=30.0, nodes=0, neighbourhoods=share)
    statistics = after_the_root(problem, params, settings=settings).statistics
    assert (statistics.neighbourhoods > 0) == (grace == 0.0 and share > 0.0)


def test_without_a_limit_the_clock_decides_nothing() -> None:
    table = from_leaves([flat(name, 5) for name in "abc"], leaf_values(5, 5, 5, seed=4, low=1))
    problem = with_levels(table, smallest_leaves(table, 8), share=0.5)
    assert after_the_root(problem, ExactParams(neighbourhoods=1.0)).statistics.neighbourhoods == 0
