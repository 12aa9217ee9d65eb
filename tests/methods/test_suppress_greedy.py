"""suppress-greedy beyond conformance: limits, interruption, clean-up, conditional widths, infeasibility."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
import pytest

from fixtures import FIXTURES, flat, from_leaves, leaf_values, smallest_leaves, with_levels
from tablecloak.attacker import NullSpaceSettings
from tablecloak.errors import InfeasibleProblem, NotApplicable
from tablecloak.methods import METHODS, largest_pattern
from tablecloak.methods.base import HIDES_EVERYTHING
from tablecloak.methods.heuristics import (
    FIRST_KEPT,
    ConstructionSettings,
    FirstPatternSettings,
    LpConstruction,
)
from tablecloak.methods.heuristics.witnesses import WitnessSettings
from tablecloak.methods.suppress_greedy import GreedyParams, suppress_greedy
from tablecloak.model import Levels, Problem, Status, Suppression
from tablecloak.progress import Deadline, silent
from tablecloak.protection import protect
from tablecloak.testing import assert_protected
from two_way import FIGURE_001, FIGURE_004, SENSITIVE_001, TwoWay

lp_construction = import_module("tablecloak.methods.heuristics.construction")


def three_way(count=6):
    table = from_leaves([flat("r", 4), flat("c", 4), flat("s", 3)], leaf_values(4, 4, 3, low=1))
    return with_levels(table, smallest_leaves(table, count))


def with_witnesses(**settings):
    return ConstructionSettings(witnesses=WitnessSettings(**settings))


def test_the_clean_up_never_costs_and_leaves_nothing_to_remove():
    problem = three_way()
    rough = protect(problem, "suppress-greedy", params={"clean_up": False})
    tidy = protect(problem, "suppress-greedy")
    assert tidy.cost <= rough.cost
    for cell in np.flatnonzero(tidy.pattern.complementary(problem)):
        hidden = tidy.pattern.hidden.copy()
        hidden[cell] = False
        with pytest.raises(AssertionError):
            assert_protected(problem, Suppression.of(problem.table, hidden))


def test_nothing_to_do_when_the_sensitive_cells_protect_each_other():
    grid = TwoWay([[50, 50], [50, 50]])
    problem = grid.problem([(1, 1), (1, 2), (2, 1), (2, 2)], 10, 10)
    result = protect(problem, "suppress-greedy")
    assert result.cost == 0
    assert result.report.counters["deviations"] == 0


@pytest.mark.parametrize("fixture", ["any equations", "three way", "conditional"])
def test_ctrl_c_while_building_returns_the_first_pattern_or_everything_and_says_so(fixture):
    """Everything is hidden where there is no first pattern: with conditional levels, or interrupted before it."""
    problem, quick = FIXTURES[fixture](), fixture != "conditional"

    def interrupted(first_phase):
        def interrupt(phase, done, total, incumbent=None, bound=None):
            if phase == first_phase:
                raise KeyboardInterrupt

        return protect(problem, "suppress-greedy", progress=interrupt)

    result = interrupted("protecting levels")
    assert result.status is Status.INTERRUPTED
    assert result.report.notes == ((FIRST_KEPT if quick else HIDES_EVERYTHING),)
    assert (result.pattern.hidden == ~problem.forced).all() != quick
    assert_protected(problem, result.pattern)
    if fixture == "any equations":
        early = interrupted("deviations")
        assert early.report.notes == (HIDES_EVERYTHING,) and (early.pattern.hidden == ~problem.forced).all()


def test_ctrl_c_in_the_clean_up_returns_the_pattern_so_far():
    problem = three_way()

    def interrupt(phase, done, total, incumbent=None, bound=None):
        if phase == "eliminating redundant suppressions":
            raise KeyboardInterrupt

    result = protect(problem, "suppress-greedy", progress=interrupt)
    assert result.status is Status.INTERRUPTED
    assert not result.pattern.hidden.all()
    assert_protected(problem, result.pattern)
    assert result.report.notes == ()


@pytest.mark.parametrize("name", ["three way", "conditional", "two hierarchies"])
def test_only_costs_of_safe_patterns_are_told(monkeypatch, name):
    """Whenever a cost is told, the pattern that costs so much passes the audit; while one is built, none is told."""
    problem = three_way() if name == "three way" else FIXTURES[name]()
    told, searches = [], []
    programs = FirstPatternSettings(construction=with_witnesses(null_space=NullSpaceSettings(max_entries=0)))
    method = METHODS["suppress-greedy"]
    method = replace(
        method, function=partial(method.function, settings=programs)
    )  # they adopt known witnesses

    class Watched(LpConstruction):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            searches.append(self)

    monkeypatch.setattr(import_module("tablecloak.methods.suppress_greedy"), "LpConstruction", Watched)

    def listen(phase, done, total, incumbent=None, bound=None):
        told.append((phase, incumbent))
        if incumbent is not None and phase not in ("first pattern", "exchanges"):  # see test_first_pattern
            # Before the search begins, the largest pattern is the incumbent.
            hidden = searches[-1].hidden if searches else largest_pattern(problem)
            pattern = Suppression.of(problem.table, hidden.copy())
            assert pattern.loss(problem) == pytest.approx(incumbent)
            assert_protected(problem, pattern)

    result = protect(problem, method, progress=listen)
    phases = [phase for phase, _ in told]
    assert "protecting levels" in phases and "eliminating redundant suppressions" in phases
    assert all(cost is None for phase, cost in told if phase == "protecting levels")
    costs = [cost for _, cost in told if cost is not None]
    assert costs[-1] == pytest.approx(result.cost) and costs == sorted(costs, reverse=True)
    assert [cost for _, cost, _ in result.report.trace if cost is not None] == sorted(
        set(costs), reverse=True
    )


def test_the_quick_clean_up_tells_its_cost_too():
    told = []
    result = protect(three_way(), "suppress-greedy", progress=lambda *step: told.append(step))
    costs = [step[3] for step in told if len(step) > 3 and step[3] is not None]
    assert costs[-1] == pytest.approx(result.cost) and costs[0] >= costs[-1]


def test_cells_that_can_never_be_wide_enough_are_published():
    grid = TwoWay(FIGURE_004)
    size, (cell, narrow) = len(grid.table), grid.cells([(2, 3), (3, 3)])
    level, widths = np.zeros(size), np.zeros(size)
    level[cell], widths[narrow] = 8.0, 1e6
    problem = Problem.of(
        grid.table, [cell], Levels.of(size, level, level, conditional=widths), known=(0.0, 1e7)
    )
    bounded = Problem.of(
        grid.table, [cell], Levels.of(size, level, level, conditional=widths), known=(0.0, 500.0), widen=True
    )
    for case in (problem, bounded):
        result = protect(case, "suppress-greedy")
        assert_protected(case, result.pattern)
    assert not protect(bounded, "suppress-greedy").pattern.hidden[narrow]


def test_a_bound_on_touched_cells_is_refused_before_anything_is_done():
    grid = TwoWay(FIGURE_004)
    with pytest.raises(NotApplicable, match="touched"):
        protect(grid.problem([(2, 3)], 10, 12, most_touched=6), "suppress-greedy")


def test_infeasible_levels_of_several_cells_are_all_named():
    grid = TwoWay(FIGURE_001)
    forced = grid.cells([(i, -1) for i in range(1, 7)] + [(-1, j) for j in range(1, 7)] + [(-1, -1)])
    problem = grid.percent(SENSITIVE_001, 50.0, forced=forced, widen=True)
    with pytest.raises(InfeasibleProblem) as caught:
        protect(problem, "suppress-greedy")
    assert len(caught.value.cells) == 4
    assert set(caught.value.confidential["shortfall"]) == set(caught.value.cells)
    assert set(caught.value.forced) <= set(grid.table.labels(forced))


def test_far_cells_are_reached_when_the_neighbourhood_is_too_small():
    """A long one-dimensional chain of totals: the only help is at the other end."""
    count = 1200
    table = from_leaves([flat("r", count)], np.arange(1, count + 1))
    forced = np.ones(len(table), dtype=bool)
    forced[[table.find(r="r3"), table.find(r=f"r{count}")]] = False
    problem = with_levels(
        table, [table.find(r="r3")], forced=forced & ~np.isin(np.arange(len(table)), table.find(r="r3"))
    )
    result = protect(problem, "suppress-greedy")
    assert set(np.flatnonzero(result.pattern.hidden)) == {table.find(r="r3"), table.find(r=f"r{count}")}


def test_the_engine_names_the_recognised_structure():
    assert "two-way 4 x 4" in protect(FIXTURES["two way"](), "suppress-greedy").report.engine


def test_without_time_for_gaussian_elimination_witnesses_come_from_linear_programs(monkeypatch):
    """No deadline is checked while equations are eliminated; linear programs check it."""
    engines, real = [], lp_construction.engine_of

    def watched(*given):
        engines.append(real(*given))
        return engines[-1]

    monkeypatch.setattr(lp_construction, "engine_of", watched)
    problem, reported = three_way(), []
    found = suppress_greedy(
        problem,
        params=GreedyParams(seconds=60.0),
        rng=np.random.default_rng(0),
        progress=lambda *step: reported.append(step[0]),
        settings=FirstPatternSettings(construction=with_witnesses(entries_per_second=1e-3)),
    )
    assert "eliminating redundant suppressions" in reported
    assert [engine.name for engine in engines] == ["linear programs"]
    assert found.counters["published again"] > 0
    assert_protected(problem, found.pattern)


def test_the_construction_begins_no_audit_that_would_be_late():
    problem = FIXTURES["three way"]()
    late = LpConstruction(problem, ~problem.forced, silent, Deadline.after(0.0))
    late.construct()
    assert not late.complete and late.requirements_seen == 0
    in_time = LpConstruction(problem, ~problem.forced, silent, Deadline.after(None))
    in_time.construct()
    assert in_time.complete
