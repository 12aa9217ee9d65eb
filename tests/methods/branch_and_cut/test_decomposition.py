"""Decomposition: rows that share no cell are problems of their own."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak import Problem, Result, protect
from tablecloak.methods import largest_pattern
from tablecloak.methods.branch_and_cut import decomposition, solver
from tablecloak.methods.branch_and_cut.decomposition import in_parts
from tablecloak.methods.branch_and_cut.state import Exact
from tablecloak.methods.cuts import Cut
from tablecloak.progress import Deadline, silent
from tablecloak.testing.instances import class_two

SEEDS = range(6)


def with_large_levels(seed: int) -> Problem:
    """Levels of totals that single cells cannot carry: a knapsack in every line."""
    return class_two(100, 20, seed)


def solved(problem: Problem) -> Result:
    return protect(problem, "suppress-optimal")


def state_of(problem: Problem) -> Exact:
    state = Exact(problem, largest_pattern(problem), Deadline.after(None), silent)
    state.prepare()
    return state


def test_parts_find_the_optimum_that_others_find_often_before_any_guess(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [solved(with_large_levels(seed)) for seed in SEEDS]
    assert sum(result.report.counters["guesses"] == 0 for result in found) > len(found) // 2
    monkeypatch.setattr(solver, "in_parts", lambda state: None)
    others = [solved(with_large_levels(seed)) for seed in SEEDS]
    assert sum(result.report.counters["guesses"] == 0 for result in others) < len(found) // 2
    for result, other in zip(found, others, strict=True):
        assert result.cost == other.cost == result.bound


@pytest.mark.parametrize("seed", SEEDS)
def test_from_the_first_rows_on_they_never_claim_too_much(seed: int) -> None:
    problem = with_large_levels(seed)
    state = state_of(problem)
    first, _ = state.missed(np.zeros(len(problem.table)))
    state.relaxation.add(first)
    in_parts(state)
    assert 0 < state.bound <= solved(problem).cost <= state.cost


def two_rows(state: Exact) -> list[Cut]:
    """Rows over cells that may be hidden, three each, that share none."""
    cells = np.flatnonzero(state.leads)[:6]
    return [Cut(part, np.full(3, 0.5), 1.0, "capacity") for part in (cells[:3], cells[3:])]


def test_every_part_is_solved_by_itself_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    state = state_of(with_large_levels(0))
    state.relaxation.collect(two_rows(state))
    asked: list[frozenset[int]] = []
    real = decomposition._optimum

    def watching(state: Exact, rows: list[Cut], cells: np.ndarray) -> object:
        asked.append(frozenset(id(row) for row in rows))
        return real(state, rows, cells)

    monkeypatch.setattr(decomposition, "_optimum", watching)
    in_parts(state)
    assert [len(rows) for rows in asked[:2]] == [1, 1] and len(set(asked)) == len(asked)


@pytest.mark.parametrize(("name", "other"), [("MOST_SHARE", 0.1), ("_optimum", lambda *_: None)])
def test_a_part_that_is_too_large_or_too_hard_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, name: str, other: object
) -> None:
    state = state_of(with_large_levels(0))
    state.relaxation.collect(two_rows(state))
    monkeypatch.setattr(decomposition, name, other)
    cost = state.cost
    in_parts(state)
    assert (state.bound, state.cost) == (0.0, cost)


def test_the_time_is_minded() -> None:
    state = state_of(with_large_levels(0))
    state.deadline = Deadline.after(0)
    in_parts(state)
    assert state.bound == 0.0
