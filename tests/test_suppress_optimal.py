"""suppress-optimal beyond conformance: the same optimum as the compact model, proofs, limits, rows that hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures import FIXTURES, flat, from_leaves, leaf_values, smallest_leaves, with_levels
from tablecloak.audit import audit
from tablecloak.errors import InfeasibleProblem
from tablecloak.methods.base import suppression
from tablecloak.methods.deviations import Side, open_tasks
from tablecloak.methods.feasibility import largest_pattern
from tablecloak.methods.patterns import PatternRows
from tablecloak.methods.programs import next_multiple, weight_unit
from tablecloak.methods.rows import Row, capacity_row, no_good, sharper
from tablecloak.methods.separation import separator_of
from tablecloak.problem import Levels, Problem
from tablecloak.protect import protect
from tablecloak.result import Status
from tablecloak.table import Table
from tablecloak.testing import KINDS, random_problem
from two_way import FIGURE_001, SENSITIVE_001, TwoWay

OPTIONS = {
    "plain": {},
    "insiders": {"insiders": 2},
    "sliding": {"sliding": True},
    "conditional": {"conditional": True},
    "negative": {"negative": True},
    "all of it": {"insiders": 1, "sliding": True, "conditional": True},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", list(OPTIONS))
def test_the_same_optimum_as_the_compact_model(kind, option):
    compared = 0
    for seed in range(3):
        problem = random_problem(kind, np.random.default_rng(seed + 7000), **OPTIONS[option])
        try:
            compact = protect(problem, "suppress-compact", params={"seconds": 10})
        except InfeasibleProblem:
            with pytest.raises(InfeasibleProblem):
                protect(problem, "suppress-optimal")
            continue
        result = protect(problem, "suppress-optimal")
        assert result.status is Status.OPTIMAL
        if compact.status is Status.OPTIMAL:
            assert result.cost == pytest.approx(compact.cost, rel=1e-6, abs=1e-6)
        else:  # the clock decides how far the compact model gets, not whether this test passes
            assert compact.bound - 1e-6 <= result.cost <= compact.cost + 1e-6
        compared += 1
    assert compared or option != "plain"


def test_equations_that_amplify_need_no_reach():
    """d_0 = 64 d_1 = 4096 d_2: out of reach for the compact model by default, but not for the rows."""
    matrix = np.array([[1.0, -64.0, 0.0], [0.0, 1.0, -64.0]])
    table = Table.from_equations(np.array([40960.0, 640.0, 10.0]), matrix)
    level = np.array([0.0, 0.0, 5.0])
    problem = Problem.of(table, [2], Levels.of(3, level, level))
    assert protect(problem, "suppress-optimal").cost == pytest.approx(41600)
    with pytest.raises(InfeasibleProblem, match="reach"):
        protect(problem, "suppress-compact")


def test_the_bound_on_touched_cells_changes_the_optimum_or_forbids_everything():
    problem = TwoWay(FIGURE_001).percent(SENSITIVE_001, 0.1)
    free = protect(problem, "suppress-optimal")
    used = int(free.pattern.hidden.sum())
    assert protect(replace(problem, most_touched=used), "suppress-optimal").cost == pytest.approx(free.cost)
    with pytest.raises(InfeasibleProblem, match="at most"):
        protect(replace(problem, most_touched=used - 1), "suppress-optimal")


def test_out_of_time_it_is_safe_with_a_valid_bound():
    table = from_leaves([flat("r", 9), flat("c", 9), flat("s", 6)], leaf_values(9, 9, 6, low=1))
    problem = with_levels(table, smallest_leaves(table, 20), 0.5)
    result = protect(problem, "suppress-optimal", params={"seconds": 2.0})
    assert result.audit.safe
    assert 0 <= result.bound <= result.cost
    assert (result.status is Status.OPTIMAL) == (result.gap == 0)


def test_a_gap_that_is_good_enough_ends_the_run_with_an_honest_bound():
    problem = FIXTURES["two way several"]()
    exact = protect(problem, "suppress-optimal")
    rough = protect(problem, "suppress-optimal", params={"gap": 0.5})
    assert rough.bound <= exact.cost <= rough.cost
    assert rough.gap <= 0.5


def test_an_interrupt_returns_the_best_pattern_so_far():
    problem = FIXTURES["three way"]()
    seen = []

    def stop(phase, done, total, incumbent=None, bound=None):
        seen.append(phase)
        if phase == "root":
            raise KeyboardInterrupt

    result = protect(problem, "suppress-optimal", progress=stop)
    assert "root" in seen
    assert result.status is Status.TIME_LIMIT
    assert result.audit.safe
    assert result.bound <= result.cost


# ---------------------------------------------------------------------- the rows


@pytest.mark.parametrize(
    "fixture", ["two way several", "three way", "fifty attackers", "only sliding", "conditional"]
)
def test_every_row_holds_for_every_safe_pattern(fixture):
    """Rows found at random points never cut off the patterns of other methods, nor the pattern that hides all."""
    problem = FIXTURES[fixture]()
    allowed = largest_pattern(problem)
    safe = [
        allowed,
        *(protect(problem, name).pattern.hidden for name in ("suppress-greedy", "suppress-compact")),
    ]
    tasks = open_tasks(problem, audit(problem, suppression(problem.must_hide)))
    separator, patterns = separator_of(problem, allowed), PatternRows(problem, allowed)
    rng, found = np.random.default_rng(1), 0
    for sparse in (0.0, 0.2, 0.5, 0.8):
        x = rng.random(allowed.size) * (rng.random(allowed.size) < sparse) * allowed
        for point in (x, np.rint(x)):
            for row in separator.rows(point, tasks, most=50):
                found += 1
                assert row.shortfall(point) > 0
                assert all(row.shortfall(hidden.astype(float)) <= 1e-7 for hidden in safe)
            assert all(row.shortfall(point) > 0 for row in patterns.rows(point))
    assert found or not tasks


def test_no_row_is_missed_by_a_safe_pattern_and_some_by_an_unsafe_one():
    problem = FIXTURES["two way several"]()
    allowed = largest_pattern(problem)
    tasks = open_tasks(problem, audit(problem, suppression(problem.must_hide)))
    separator = separator_of(problem, allowed)
    optimum = protect(problem, "suppress-optimal").pattern.hidden
    assert separator.rows(optimum.astype(float), tasks, most=100) == []
    assert separator.rows(problem.must_hide.astype(float), tasks, most=100)


def test_residual_truncation_and_infinite_capacities():
    carried = np.array([5.0, 3.0, 100.0, np.inf, 0.0, 9.0])
    hidden = np.array([True, False, False, False, False, False])
    allowed = np.array([True, True, True, True, True, False])
    row = capacity_row(carried, 15.0, hidden, allowed)
    assert row.cells.tolist() == [1, 2, 3]
    assert row.coefficients.tolist() == pytest.approx([0.3, 1.0, 1.0])
    assert capacity_row(carried, 5.0, hidden, allowed) is None
    assert capacity_row(carried, 15.0, np.array([False] * 3 + [True] + [False] * 2), allowed) is None


def test_a_conditional_row_asks_only_if_the_cell_is_hidden():
    row = capacity_row(np.array([4.0, 2.0, 6.0]), 10.0, np.zeros(3, dtype=bool), np.ones(3, dtype=bool), 0)
    assert row.rhs == 0.0
    assert row.coefficients.tolist() == pytest.approx([-1.0, 2 / 6, 1.0])


@pytest.mark.parametrize("seed", range(30))
def test_sharper_rows_hold_for_all_binary_points_of_the_row(seed):
    rng = np.random.default_rng(seed)
    size = 8
    row = Row(np.arange(size), np.minimum(rng.integers(1, 12, size) / 10.0, 1.0), 1.0, "capacity")
    points = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
    fine = points[points @ row.coefficients >= 1.0 - 1e-12].astype(float)
    for _ in range(10):
        x = rng.random(size) * (rng.random(size) < 0.7)
        for other in sharper(row, x, 0.0):
            assert other.shortfall(x) > max(row.shortfall(x), 0.0)
            assert all(other.shortfall(point) <= 1e-9 for point in fine)
        whole = np.rint(x)
        if row.shortfall(whole) > 1e-9:
            other = no_good(row, whole)
            assert other.shortfall(whole) == 1.0
            assert all(other.shortfall(point) <= 1e-9 for point in fine)


def test_levels_larger_than_the_box_of_a_sliding_cell_use_its_own_room():
    """The room of the cell itself counts too: 17 down is all that a cell of 17 can give."""
    problem = random_problem(
        "two-way", np.random.default_rng(100), insiders=1, sliding=True, conditional=True
    )
    assert any(
        task.side is Side.SLIDE
        for task in open_tasks(problem, audit(problem, suppression(problem.must_hide)))
    )
    assert protect(problem, "suppress-optimal").cost == pytest.approx(
        protect(problem, "suppress-compact").cost
    )


def test_a_sliding_level_may_go_up_a_little_and_down_the_rest():
    """The box would allow the whole level upward, the network does not."""
    problem = random_problem("hierarchical", np.random.default_rng(9), sliding=True)
    assert protect(problem, "suppress-optimal").cost == pytest.approx(28)
    assert protect(problem, "suppress-compact").cost == pytest.approx(28)


def test_the_unit_of_weights_and_the_next_cost():
    assert weight_unit(np.array([20.0, 30.0, 0.0])) == 10
    assert weight_unit(np.array([0.25, 1.5])) == 0.25
    assert weight_unit(np.array([1000.0, 0.0005])) == pytest.approx(0.0005)
    assert weight_unit(np.array([1.0, np.sqrt(2)])) == 0
    assert weight_unit(np.zeros(2)) == 0
    assert [next_multiple(cost, 1.0) for cost in (103.2, 104.0)] == [104, 105]
    assert next_multiple(103.2, 0.0) == 103.2
