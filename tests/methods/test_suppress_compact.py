"""suppress-compact beyond conformance: proofs, limits of size and time, the bound on touched cells."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from fixtures import FIXTURES, flat, from_leaves, leaf_values, smallest_leaves, with_levels
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, NotApplicable
from tablecloak.methods import METHODS
from tablecloak.methods.heuristics import FIRST_KEPT
from tablecloak.methods.suppress_compact import TOO_LARGE, CompactSettings, suppress_compact
from tablecloak.model import Levels, Problem, Status, Table
from tablecloak.progress import silent
from tablecloak.protection import protect
from tablecloak.solvers.highs import integer_programs, running
from tablecloak.testing import assert_protected, cheapest_by_enumeration
from two_way import FIGURE_001, FIGURE_004, SENSITIVE_001, TwoWay


def test_networks_are_proven_as_they_stand_other_tables_within_reach():
    assert protect(FIXTURES["two way"](), "suppress-compact").report.notes == ()
    (note,) = protect(FIXTURES["three way"](), "suppress-compact").report.notes
    assert "1024 levels" in note, "looked further"
    once = partial(suppress_compact, settings=CompactSettings(wider_columns=0))
    method = replace(METHODS["suppress-compact"], function=once)
    problem = FIXTURES["three way"]()
    (note,) = method.function(
        problem, params=method.params(), rng=np.random.default_rng(0), progress=silent
    ).notes
    assert "32 levels" in note


def test_weights_far_apart_do_not_hide_a_cheaper_pattern():
    """The gap of the solver is a share of the largest weight: 297 was called optimal beside a weight of 1.7e11."""
    exact, compact = (
        protect(FIXTURES["mixed sizes"](), f"suppress-{name}") for name in ("optimal", "compact")
    )
    assert (exact.status, compact.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert exact.cost == compact.cost == compact.bound == 192


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_at_any_scale_of_the_weights(seed):
    rng = np.random.default_rng(seed)
    table = from_leaves([flat("a", 3), flat("b", 3)], leaf_values(3, 3, seed=seed, low=1))
    weights = np.floor(10 ** rng.uniform(0, (3, 7, 12, 15)[seed % 4], len(table)))
    problem = with_levels(table, smallest_leaves(table, 2), weights=weights)
    result = protect(problem, "suppress-compact")
    cheapest = cheapest_by_enumeration(problem, lambda *chosen: audit(*chosen).safe)
    assert result.status is Status.OPTIMAL and result.cost == pytest.approx(cheapest, rel=1e-9)


def test_equations_that_amplify_need_a_larger_reach():
    """d_0 = 4 d_1 = 16 d_2: protecting the last cell moves the first sixteen times as far."""
    matrix = np.array([[1.0, -4.0, 0.0], [0.0, 1.0, -4.0]])
    values = np.array([320.0, 80.0, 20.0])
    table = Table.from_equations(values, matrix)
    level = np.array([0.0, 0.0, 5.0])
    problem = Problem.of(table, [2], Levels.of(3, level, level))
    assert protect(problem, "suppress-compact").cost == pytest.approx(400)
    result = protect(problem, "suppress-compact", params={"reach": 2.0})
    assert (result.status, result.bound, result.audit.safe) == (Status.FEASIBLE, 0.0, True)
    (note,) = result.report.notes
    assert "`reach` is too small" in note


def test_numbers_too_far_apart_for_the_solver_are_not_called_infeasible():
    """A level of a billion that needs a cell of one: found by the fuzzer (methods, seed 1261)."""
    table = Table.from_equations([2_000_000_001, 1_000_000_000, 1, 1_000_000_000], [[-1, 1, 1, 1]])
    level = Levels.at(4, [3], lower=1_000_000_000, upper=1_000_000_001)
    problem = Problem.of(table, [3], level, forced=[True, False, False, False])
    result = protect(problem, "suppress-compact")
    assert result.audit.safe
    assert result.cost == protect(problem, "suppress-optimal").cost


def test_a_limit_that_the_root_would_break_leaves_the_bound_of_the_linear_program(monkeypatch):
    """HiGHS does not look at the clock at the root of an integer program."""
    problem = FIXTURES["three way"]()

    def noted(highs, seconds, **options):
        asked.append((True, seconds))
        return running.run(highs, seconds, **options)

    def noted_relaxation(highs, seconds, **options):
        asked.append((False, seconds))
        return running.run_linear(highs, seconds, **options)

    asked = []
    monkeypatch.setattr(integer_programs, "running", SimpleNamespace(run=noted, run_linear=noted_relaxation))
    result = protect(problem, _with_root_share(0.0), params={"seconds": 100.0})
    assert result.audit.safe and result.status is Status.TIME_LIMIT
    assert 0 < result.bound <= protect(problem, "suppress-optimal").cost
    assert [integer for integer, _ in asked] == [False]
    assert protect(problem, _with_root_share(1.0), params={"seconds": 100.0}).status is Status.OPTIMAL
    both = [False, True, False, True]  # and once more with a larger reach
    assert [integer for integer, _ in asked] == [False, *both] and asked[2][1] < 100.0


def _with_root_share(share):
    function = partial(suppress_compact, settings=CompactSettings(root_share=share))
    return replace(METHODS["suppress-compact"], function=function)


def test_too_large_a_table_is_refused_with_a_way_out():
    table = from_leaves([flat("r", 25), flat("c", 25), flat("s", 20)], leaf_values(25, 25, 20, low=1))
    problem = with_levels(table, smallest_leaves(table, 30))
    with pytest.raises(NotApplicable) as caught:
        protect(problem, "suppress-compact")
    assert caught.value.instead == ("suppress-greedy",)


def test_out_of_time_it_is_safe_with_a_valid_bound():
    table = from_leaves([flat("r", 7), flat("c", 7), flat("s", 4)], leaf_values(7, 7, 4, low=1))
    problem = with_levels(table, smallest_leaves(table, 12), 0.5)
    result = protect(problem, "suppress-compact", params={"seconds": 1.0})
    assert result.audit.safe
    assert result.status in (Status.TIME_LIMIT, Status.OPTIMAL)
    assert 0 <= result.bound <= result.cost


def test_the_bound_on_touched_cells_changes_the_optimum_or_forbids_everything():
    grid = TwoWay(FIGURE_001)
    problem = grid.percent(SENSITIVE_001, 0.1)
    free = protect(problem, "suppress-compact")
    used = int(free.pattern.hidden.sum())
    assert protect(replace(problem, most_touched=used), "suppress-compact").cost == pytest.approx(free.cost)
    with pytest.raises(InfeasibleProblem):
        protect(replace(problem, most_touched=used - 1), "suppress-compact")


@pytest.mark.parametrize("width", [5.0, 20.0, 45.0])
def test_conditional_widths_agree_with_brute_force(width):
    grid = TwoWay(FIGURE_004)
    size, (cell,) = len(grid.table), grid.cells([(2, 3)])
    level, widths = np.zeros(size), np.full(size, width)
    level[cell], widths[cell] = 8.0, 0.0
    keep = grid.cells([(2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (1, 3), (1, 1), (2, -1), (3, -1)])
    forced = np.ones(size, dtype=bool)
    forced[[cell, *keep]] = False
    problem = Problem.of(grid.table, [cell], Levels.of(size, level, level, conditional=widths), forced=forced)
    cost = cheapest_by_enumeration(problem, lambda p, pattern: audit(p, pattern).safe)
    if cost is None:
        with pytest.raises(InfeasibleProblem):
            protect(problem, "suppress-compact")
    else:
        assert protect(problem, "suppress-compact").cost == pytest.approx(cost)


def test_a_program_too_large_for_the_limit_is_not_begun(monkeypatch):
    """HiGHS does not look at the clock while it sets up a program: the quick pattern and a note are what remains."""
    problem = FIXTURES["three way"]()
    module = import_module("tablecloak.methods.suppress_compact")
    monkeypatch.setattr(module, "solve_mip", None)
    slow = partial(suppress_compact, settings=CompactSettings(nonzeros_a_second=1e-3))
    result = protect(problem, replace(METHODS["suppress-compact"], function=slow), params={"seconds": 60.0})
    assert result.status is Status.TIME_LIMIT
    assert result.report.notes[0] == FIRST_KEPT and result.report.notes[-1] == TOO_LARGE
    assert_protected(problem, result.pattern)
    monkeypatch.undo()
    without = protect(problem, replace(METHODS["suppress-compact"], function=slow))
    assert without.status is Status.OPTIMAL and TOO_LARGE not in without.report.notes
