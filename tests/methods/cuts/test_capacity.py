"""Rows of networks: the cuts around single equations, and covers."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import (
    flat,
    from_leaves,
    leaf_values,
    one_hierarchy,
    smallest_leaves,
    two_way_several,
    with_levels,
)
from tablecloak import Problem, audit, protect
from tablecloak.methods import largest_pattern
from tablecloak.methods.branch_and_cut import ExactParams, ExactRun
from tablecloak.methods.branch_and_cut.state import Exact
from tablecloak.methods.cuts import CoverSeparator, NetworkSeparator
from tablecloak.methods.cuts.capacity import COVERS
from tablecloak.methods.cuts.cut import capacity_cut
from tablecloak.methods.cuts.minimum_cuts import across
from tablecloak.model import Side, Suppression, unmet_requirements
from tablecloak.progress import silent
from tablecloak.testing.instances import class_problem, generator_one


def small(seed: int) -> Problem:
    table = from_leaves([flat("row", 6), flat("column", 5)], leaf_values(6, 5, seed=seed, low=1))
    return with_levels(table, smallest_leaves(table, 6))


PROBLEMS = {
    "several": two_way_several,
    "one hierarchy": one_hierarchy,
    **{f"{k}": lambda k=k: small(k) for k in range(4)},
}


@pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS)
def test_stars_are_cuts_that_safe_patterns_satisfy(make) -> None:  # type: ignore[no-untyped-def]
    problem = make()
    allowed = largest_pattern(problem, silent)
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    separator = NetworkSeparator(problem, allowed)
    rows = separator.star_cuts(requirements)
    assert rows
    safe = protect(problem, "suppress-optimal", params={"seconds": 20.0}).pattern.touched(problem)
    rng = np.random.default_rng(1)
    for _ in range(20):
        more = safe | (allowed & (rng.random(safe.size) < 0.3))
        assert max(row.violation(more.astype(float)) for row in rows) <= 1e-9
    known = {row.key for row in rows}
    for requirement in requirements:
        for node in (separator.tail[requirement.cell], separator.head[requirement.cell]):
            is_source = (node == separator.head[requirement.cell]) == (requirement.side is Side.UP)
            side = np.arange(separator.nodes) == node
            box, sink_side = separator.boxes[requirement.attacker], ~side
            source_side = side if is_source else sink_side
            carried = across(separator.graph, box, requirement.cell, source_side, requirement.side is Side.UP)
            row = capacity_cut(carried, requirement.level, problem.must_hide, allowed)
            assert row is None or row.key in known


def test_stars_are_missed_where_nothing_is_hidden() -> None:
    problem = small(0)
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    rows = NetworkSeparator(problem, largest_pattern(problem, silent)).star_cuts(requirements)
    assert max(row.violation(problem.must_hide.astype(float)) for row in rows) > 0


def test_portions_find_what_the_whole_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = small(1)
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    allowed = largest_pattern(problem, silent)
    at_once = NetworkSeparator(problem, allowed)
    for seed in range(5):
        x = np.where(allowed, np.random.default_rng(seed).random(allowed.size), 0.0)
        whole = at_once.separate(x, requirements, most=1000)
        with monkeypatch.context() as patched:
            patched.setattr("tablecloak.methods.cuts.capacity.CUT_ENTRIES", 3 * at_once.nodes)
            separator = NetworkSeparator(problem, allowed)
            parts = separator.separate(x, requirements, most=1000)
            assert {row.key for row in parts} == {row.key for row in whole}
            assert (separator.worst is None) == (not whole)
            few = separator.separate(x, requirements, most=1)
            assert bool(few) == bool(whole)
            assert len(few) <= len(whole)
            assert separator.separate(allowed.astype(float), requirements, most=1) == []


SPARSE = [0.5, 0.2, 0.1, 0.1, 0.05, 0.05]


@pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS)
def test_covers_hold_for_safe_patterns(make) -> None:  # type: ignore[no-untyped-def]
    problem = make()
    allowed = largest_pattern(problem, silent)
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    separator = NetworkSeparator(problem, allowed)
    safe = protect(problem, "suppress-optimal", params={"seconds": 20.0}).pattern.touched(problem)
    rng, found = np.random.default_rng(2), 0
    for cover in COVERS * 4:
        x = np.where(allowed, rng.choice([0.0, 0.1, 0.4, 0.6, 0.8, 1.0], allowed.size, p=SPARSE), 0.0)
        rows = separator.covers(x, requirements, cover, most=100)
        found += len(rows)
        assert all(row.violation(x) > 0 for row in rows)
        for _ in range(5):
            more = safe | (allowed & (rng.random(safe.size) < 0.3))
            assert all(row.violation(more.astype(float)) <= 1e-7 for row in rows)
    assert found


def test_levels_that_any_cell_could_meet_have_no_covers() -> None:
    roomy, tight = class_problem("I", 20, 20, 1), generator_one(20, 20, 8, 0)
    for problem, some in ((roomy, False), (tight, True)):
        requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
        finder = CoverSeparator(NetworkSeparator(problem, largest_pattern(problem, silent)), requirements)
        assert requirements
        assert bool(finder.requirements) is some


def at_the_root(problem: Problem) -> float:
    run = ExactRun(problem, ExactParams(), np.random.default_rng(0), silent)
    run.state.search(problem.weights)
    run.state.prepare()
    assert run._root()
    return run.state.bound


def test_covers_close_a_good_part_of_the_gap_at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, optimum = generator_one(50, 50, 25, 0), 2637
    with_covers = at_the_root(problem)
    monkeypatch.setattr(Exact, "covers", lambda *_: [])
    without = at_the_root(problem)
    assert with_covers <= optimum
    assert optimum - with_covers < 0.6 * (optimum - without)


def test_covers_of_too_many_levels_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = small(1)
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    separator = NetworkSeparator(problem, largest_pattern(problem, silent))
    monkeypatch.setattr("tablecloak.methods.cuts.capacity.CUT_ENTRIES", 1)
    x = problem.must_hide.astype(float)
    assert not any(separator.covers(x, requirements, cover, most=10) for cover in COVERS)
