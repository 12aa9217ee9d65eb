"""Perturbations without a program: whole, additive, within ranges, every sensitive cell a level away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from fixtures import FIXTURES
from tablecloak.methods.adjustment import IntegerUnits, ReachRule, ranges_of
from tablecloak.methods.adjustment.leaf_perturbation import (
    LeafShifts,
    leaf_move,
    round_free_cells,
    round_leaves,
)
from tablecloak.methods.rounding import IntegralBasis, leaf_basis, true_leaves
from tablecloak.model import Levels, Mark, Problem
from tablecloak.progress import Deadline
from tests.methods.heuristics.test_hypercubes import problem_of


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
    basis, leaf = leaf_basis(table), true_leaves(table)
    assert basis is not None
    moved = basis.matrix @ rng.integers(-30, 30, leaf.size)[leaf] / 7
    wide = np.full(leaf.size, 1e6)
    whole = round_leaves(table, moved, -wide, wide)
    assert whole is not None and not (table.equations @ whole).any()
    assert (whole[leaf] == np.rint(moved[leaf])).all()
    assert round_leaves(table, moved, -wide, np.where(leaf, wide, np.minimum(whole, 0) - 1)) is None


# ---------------------------------------------------------------------- free cells


@pytest.mark.parametrize("fixture", ["linked", "responses", "any equations"])
def test_a_first_move_where_totals_do_not_follow_from_leaves(fixture: str) -> None:
    problem = FIXTURES[fixture]()
    assert leaf_basis(problem.table) is None
    moved = checked(problem)
    assert moved is not None and moved[problem.sensitive].all()


@pytest.mark.parametrize("seed", range(4))
def test_forced_totals_are_kept_by_free_cells(seed: int) -> None:
    """As in table1: leaves alone move totals of zero that must be shown as they are."""
    problem = problem_of(seed)
    table = problem.table
    totals = np.flatnonzero(~table.is_leaf)
    marks = problem.marks.copy()
    marks[totals[:: max(1, totals.size // 3)]] = Mark.FORCED
    kept = replace(problem, marks=marks)
    assert kept.forced.any() and not (kept.forced & kept.sensitive).any()
    moved = checked(kept)
    assert moved is not None and not moved[kept.forced].any()


def test_corrections_that_undo_each_other_are_made_in_another_order() -> None:
    """Two sums of the same cell, each a level away: what is enough for one takes the other back."""
    sums = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]])
    low, high = np.array([-5.0, -5, -5, 3, -9]), np.array([5.0, 5, 5, 9, -3])
    basis = IntegralBasis(np.arange(3), csr_array(sums))
    shifts = LeafShifts(basis, (low, high), (low, high), np.zeros(5, dtype=bool))
    assert shifts.corrected()
    assert (sums @ shifts.cells[:3] == shifts.cells).all()
    assert ((shifts.cells >= low) & (shifts.cells <= high)).all()


@pytest.mark.parametrize("fixture", ["linked", "responses"])
def test_fractions_become_whole_by_free_cells_after_an_interrupt(fixture: str) -> None:
    """As on linked JJ tables: after an interrupt no program is solved, and clipped fractions need not add up."""
    problem = FIXTURES[fixture]()
    ranges = ranges_of("test", problem, ReachRule(0.9, 30.0))
    first = leaf_move(problem, ranges)
    assert first is not None
    low, high = ranges.with_senses(first > 0).ends()
    deadline = Deadline.after(None)
    assert deadline.interrupt is not None
    deadline.interrupt.raised = True
    noise = np.random.default_rng(0).uniform(-0.4, 0.4, first.size)
    found, whole = IntegerUnits(problem).fewest_digits_until(first + noise, (low, high), deadline)
    assert whole and (found == np.rint(found)).all() and not (problem.table.equations @ found).any()
    assert ((found >= low) & (found <= high)).all()
    nowhere = np.full(first.size, 1e6)
    assert round_free_cells(problem, first, nowhere, nowhere + 0.5) is None
