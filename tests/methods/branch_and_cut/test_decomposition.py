"""Decomposition: cuts that share no cell are problems of their own."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from searches import run_of
from tablecloak import METHODS, Problem, Result, protect
from tablecloak.methods.branch_and_cut import ExactSettings, decomposition
from tablecloak.methods.branch_and_cut.decomposition import solve_components
from tablecloak.methods.branch_and_cut.search import SearchContext
from tablecloak.methods.branch_and_cut.settings import DecompositionSettings
from tablecloak.methods.cuts import Cut
from tablecloak.methods.suppress_optimal import suppress_optimal
from tablecloak.progress import Deadline
from tablecloak.testing.instances import class_two

SEEDS = range(6)


def with_large_levels(seed: int) -> Problem:
    """Levels of totals that exceed the capacity of single cells: a knapsack in every equation."""
    return class_two(100, 20, seed)


def solved(problem: Problem, **settings: float) -> Result:
    chosen = ExactSettings(decomposition=DecompositionSettings(**settings))  # type: ignore[arg-type]
    function = partial(suppress_optimal, settings=chosen)
    return protect(problem, replace(METHODS["suppress-optimal"], function=function))


def search_of(problem: Problem, **settings: float) -> SearchContext:
    """A search without any cut."""
    chosen = DecompositionSettings(**settings)  # type: ignore[arg-type]
    return run_of(problem, settings=ExactSettings(decomposition=chosen)).begin_search()


def test_components_give_the_optimum_often_before_any_gap_limit() -> None:
    found = [solved(with_large_levels(seed)) for seed in SEEDS]
    assert sum(result.report.counters["gap limits"] == 0 for result in found) > len(found) // 2
    others = [solved(with_large_levels(seed), max_rounds=0) for seed in SEEDS]
    assert sum(result.report.counters["gap limits"] == 0 for result in others) < len(found) // 2
    for result, other in zip(found, others, strict=True):
        assert result.cost == other.cost == result.bound


@pytest.mark.parametrize("seed", SEEDS)
def test_from_the_first_cuts_on_the_bound_is_valid(seed: int) -> None:
    problem = with_large_levels(seed)
    search = search_of(problem)
    separation, x = search.separation, np.zeros(len(problem.table))
    for separator in separation.at_root(search.settings.root.shifts, 0).first:
        search.relaxation.add(separator.separate(x, separation.limit))
    solve_components(search)
    assert 0 < search.gap.bound <= solved(problem).cost <= search.incumbent.cost


def two_cuts(search: SearchContext) -> list[Cut]:
    """Cuts over cells that may be hidden, three each, that share none."""
    cells = np.flatnonzero(search.model.representatives)[:6]
    return [Cut(part, np.full(3, 0.5), 1.0, "capacity") for part in (cells[:3], cells[3:])]


def test_every_component_is_solved_by_itself_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    search = search_of(with_large_levels(0))
    search.relaxation.add_to_pool(two_cuts(search))
    solved_ones: list[frozenset[int]] = []
    real = decomposition._optimum

    def watching(search: SearchContext, cuts: list[Cut], cells: np.ndarray) -> object:
        solved_ones.append(frozenset(id(cut) for cut in cuts))
        return real(search, cuts, cells)

    monkeypatch.setattr(decomposition, "_optimum", watching)
    solve_components(search)
    assert [len(cuts) for cuts in solved_ones[:2]] == [1, 1] and len(set(solved_ones)) == len(solved_ones)


def test_a_component_that_is_too_large_is_left_to_branch_and_cut() -> None:
    search = search_of(with_large_levels(0), max_share=0.1)
    search.relaxation.add_to_pool(two_cuts(search))
    cost = search.incumbent.cost
    solve_components(search)
    assert (search.gap.bound, search.incumbent.cost) == (0.0, cost)


def test_a_component_that_is_too_hard_is_left_to_branch_and_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    search = search_of(with_large_levels(0))
    search.relaxation.add_to_pool(two_cuts(search))
    monkeypatch.setattr(decomposition, "_optimum", lambda *_: None)
    cost = search.incumbent.cost
    solve_components(search)
    assert (search.gap.bound, search.incumbent.cost) == (0.0, cost)


def test_the_deadline_is_kept() -> None:
    search = replace(search_of(with_large_levels(0)), deadline=Deadline.after(0))
    solve_components(search)
    assert search.gap.bound == 0.0
