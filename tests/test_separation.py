"""Rows of networks: the cuts around single equations."""

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
from tablecloak.methods.base import suppression
from tablecloak.methods.deviations import Side, open_tasks
from tablecloak.methods.feasibility import largest_pattern
from tablecloak.methods.rows import capacity_row
from tablecloak.methods.separation import NetworkSeparator
from tablecloak.progress import silent


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
    tasks = open_tasks(problem, audit(problem, suppression(problem.must_hide)))
    separator = NetworkSeparator(problem, allowed)
    rows = separator.stars(tasks)
    assert rows
    safe = protect(problem, "suppress-optimal", params={"seconds": 20.0}).pattern.touched(problem)
    rng = np.random.default_rng(1)
    for _ in range(20):
        more = safe | (allowed & (rng.random(safe.size) < 0.3))
        assert max(row.shortfall(more.astype(float)) for row in rows) <= 1e-9
    known = {row.key for row in rows}
    for task in tasks:
        for node in (separator.tail[task.cell], separator.head[task.cell]):
            is_source = (node == separator.head[task.cell]) == (task.side is Side.UP)
            side = np.arange(separator.nodes) == node
            carried = separator._carried(task, side if is_source else ~side, task.side is Side.UP)
            row = capacity_row(carried, task.level, problem.must_hide, allowed)
            assert row is None or row.key in known


def test_stars_are_missed_where_nothing_is_hidden() -> None:
    problem = small(0)
    tasks = open_tasks(problem, audit(problem, suppression(problem.must_hide)))
    rows = NetworkSeparator(problem, largest_pattern(problem, silent)).stars(tasks)
    assert max(row.shortfall(problem.must_hide.astype(float)) for row in rows) > 0


def test_portions_find_what_the_whole_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = small(1)
    tasks = open_tasks(problem, audit(problem, suppression(problem.must_hide)))
    allowed = largest_pattern(problem, silent)
    at_once = NetworkSeparator(problem, allowed)
    for seed in range(5):
        x = np.where(allowed, np.random.default_rng(seed).random(allowed.size), 0.0)
        whole = at_once.rows(x, tasks, most=1000)
        with monkeypatch.context() as patched:
            patched.setattr("tablecloak.methods.separation.CUT_ENTRIES", 3 * at_once.nodes)
            separator = NetworkSeparator(problem, allowed)
            parts = separator.rows(x, tasks, most=1000)
            assert {row.key for row in parts} == {row.key for row in whole}
            assert (separator.worst is None) == (not whole)
            few = separator.rows(x, tasks, most=1)
            assert bool(few) == bool(whole)
            assert len(few) <= len(whole)
            assert separator.rows(allowed.astype(float), tasks, most=1) == []
