"""Perturbations without a program: whole, additive, within ranges, every sensitive cell a level away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.methods.leaf_moves import leaf_move
from tablecloak.methods.leaf_sums import ladder_of, whole_by_leaves
from tablecloak.methods.reaches import ReachRule, ranges_of
from tablecloak.problem import Levels, Problem
from test_cube_search import problem_of


def checked(problem: Problem, share: float = 0.9, least: float = 30.0) -> np.ndarray | None:
    """A first move, with all that it promises."""
    ranges = ranges_of("test", problem, ReachRule(share, least))
    moved = leaf_move(problem, ranges)
    if moved is None:
        return None
    assert (moved == np.rint(moved)).all() and not (problem.table.equations @ moved).any()
    low, high = ranges.with_senses(moved > 0).ends()
    assert ((moved >= low) & (moved <= high)).all()
    return moved


@pytest.mark.parametrize("seed", range(4))
def test_a_first_move_is_whole_additive_and_a_level_away(seed: int) -> None:
    problem = problem_of(seed)
    moved = checked(problem)
    assert moved is not None and moved[problem.sensitive].all()


@pytest.mark.parametrize("fixture", ["two way several", "three way"])
def test_a_first_move_of_the_fixtures(fixture: str) -> None:
    assert checked(FIXTURES[fixture]()) is not None


@pytest.mark.parametrize("seed", range(4))
def test_sensitive_totals_are_corrected_by_leaves_below_them(seed: int) -> None:
    problem = problem_of(seed)
    table = problem.table
    totals = np.flatnonzero(~table.is_leaf & (table.values > 100))[:2]
    level = np.ceil(0.1 * table.values[totals])
    moved = checked(Problem.of(table, totals, Levels.at(len(table), totals, level, level)))
    assert moved is not None and (np.abs(moved[totals]) >= level).all()


def test_forced_totals_that_would_move_are_no_first_move() -> None:
    problem = FIXTURES["two way several"]()
    total = np.flatnonzero(~problem.table.is_leaf)
    ranges = ranges_of("test", problem, ReachRule(0.9, 30.0))
    low, high = ranges.low.copy(), ranges.high.copy()
    low[total] = high[total] = 0.0
    kept = leaf_move(problem, replace(ranges, low=low, high=high))
    assert kept is None or not kept[total].any()


def test_leaves_are_rounded_and_totals_added_up() -> None:
    problem = problem_of(0)
    table, rng = problem.table, np.random.default_rng(0)
    found = ladder_of(table)
    assert found is not None
    leaf, ladder = found
    moved = ladder.climbed(np.where(leaf, rng.integers(-30, 30, leaf.size), 0)) / 7
    wide = np.full(leaf.size, 1e6)
    whole = whole_by_leaves(table, moved, -wide, wide)
    assert whole is not None and not (table.equations @ whole).any()
    assert (whole[leaf] == np.rint(moved[leaf])).all()
    assert whole_by_leaves(table, moved, -wide, np.where(leaf, wide, np.minimum(whole, 0) - 1)) is None
