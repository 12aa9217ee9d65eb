"""suppress-three-phase: the same optimum as the other exact methods, its phases, its limits, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from cuts import cheapest_by_cuts
from fixtures import FIXTURES, flat, from_leaves, leaf_values
from tablecloak.analysis import bounds
from tablecloak.analysis.lower_bounds import relaxation_p
from tablecloak.attacker import CellNetwork
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable
from tablecloak.methods.cuts import FlowProgram, Relaxation
from tablecloak.model import Levels, Problem, Requirement, Side, Status
from tablecloak.protection import protect
from tablecloak.solvers import Outcome
from tablecloak.solvers.graphs import Network
from tablecloak.testing import assert_protected, cheapest_by_enumeration, random_problem
from tablecloak.testing.instances import class_one, class_two
from two_way import (
    COUNTEREXAMPLE_K5,
    FIGURE_000,
    FIGURE_001,
    FIGURE_001_3,
    FIGURE_004,
    SENSITIVE_001,
    SENSITIVE_001_3,
    SENSITIVE_K5,
    T,
    TwoWay,
)


def three_phase(problem, **params):
    result = protect(problem, "suppress-three-phase", params=params)
    assert_protected(problem, result.pattern)
    assert result.bound <= result.cost + 1e-9
    return result


def agree(problem, other="suppress-optimal"):
    """The optimum of both methods."""
    expected, result = protect(problem, other), three_phase(problem)
    assert expected.status is result.status is Status.OPTIMAL
    assert result.cost == pytest.approx(expected.cost, abs=1e-6)
    return result


# ---------------------------------------------------------------------- the optimum


def small_problem(seed):
    """A table of at most 16 cells, any of them sensitive, forced or hidden; levels up to 2.5 times the cell."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 4, 2))
    grid = TwoWay((rng.integers(1, 16, shape) * (rng.random(shape) < 0.75)).tolist())
    value = grid.table.values
    sensitive = (value > 0) & (rng.random(value.size) < rng.choice([0.1, 0.25]))
    lower = np.where(sensitive, np.ceil(value * rng.choice([0.0, 0.1, 0.5, 1.0], value.size)), 0.0)
    upper = np.where(sensitive, np.ceil(value * rng.choice([0.1, 0.5, 1.0, 2.5], value.size)), 0.0)
    weights = ("value", "unit", rng.integers(0, 10, value.size).astype(float))[seed % 3]
    lot = np.where(sensitive, 1.0, rng.random(value.size))
    problem = Problem.of(
        grid.table,
        sensitive,
        Levels.of(value.size, lower, upper),
        hide_zeros=bool(seed % 2),
        forced=lot < 0.05,
        hidden=(lot > 0.95) & (lot < 1.0) & (value > 0),
        weights=weights,
    )
    return grid, problem


@pytest.mark.parametrize("start", range(0, 200, 40))
def test_four_ways_to_the_same_optimum(start):
    """Three phases, branch and cut, the compact model, and all patterns against all cuts; no bound above it."""
    solved = worked = 0
    for seed in range(start, start + 40):
        grid, problem = small_problem(seed)
        cost = cheapest_by_cuts(grid, problem)
        flows = {"phase3": "flows"}
        methods = {"suppress-three-phase": {}, "suppress-optimal": {}, "suppress-compact": {}}
        for method, params in (*methods.items(), ("suppress-three-phase", flows)):
            if cost is None:
                with pytest.raises(InfeasibleProblem):
                    protect(problem, method, params=params)
            else:
                result = protect(problem, method, params=params)
                assert result.status is Status.OPTIMAL
                assert result.cost == pytest.approx(cost, abs=1e-6)
                assert result.bound == pytest.approx(cost, abs=1e-6)
        if cost is not None and seed % 8 == 0:
            assert all(bound.value <= cost + 1e-6 for bound in bounds(problem, integer=True))
        solved += cost is not None
        worked += bool(cost)
    assert solved > 25
    assert worked > 12


@pytest.mark.parametrize("seed", range(6))
def test_cuts_and_the_audit_agree_on_the_optimum(seed):
    """The oracle of the test above against the enumeration with the audit."""
    grid, problem = next(
        (grid, problem)
        for grid, problem in (small_problem(1000 + 50 * seed + k) for k in range(50))
        if len(problem.table) == 9 and problem.sensitive.any()
    )
    by_audit = cheapest_by_enumeration(problem, lambda each, pattern: audit(each, pattern).safe)
    assert by_audit == cheapest_by_cuts(grid, problem)


@pytest.mark.parametrize("start", range(0, 40, 20))
def test_larger_tables_with_zeros_and_forced_cells(start):
    done = 0
    for seed in range(start, start + 20):
        problem = random_problem("two-way", np.random.default_rng(seed + 300))
        try:
            protect(problem, "suppress-greedy")
        except InfeasibleProblem:
            continue
        agree(problem)
        done += 1
    assert done > 10


@pytest.mark.parametrize("unit_weights", [False, True])
@pytest.mark.parametrize("size", [6, 8, 10, 12])
def test_the_classes_of_the_paper(size, unit_weights):
    for seed in (0, 1, 2):
        for problem in (class_one(size, size, seed, unit_weights), class_two(size, size, seed, unit_weights)):
            assert three_phase(problem, phase3="flows").cost == pytest.approx(agree(problem).cost)


def test_levels_with_decimals_and_boxes():
    for fixture in ("known within half", "decimals", "tiny decimals", "huge values", "negative values"):
        agree(FIXTURES[fixture](), "suppress-compact")


@pytest.mark.parametrize(
    ("problem", "cost"),
    [
        (TwoWay(FIGURE_000).problem([(1, 1)], 15, 15), 58),
        (TwoWay(FIGURE_004).problem([(2, 3)], 10, 12), 63),
        (TwoWay(FIGURE_004).problem([(2, 3)], 10, 12, weights="unit"), 3),
        (TwoWay(FIGURE_001).percent(SENSITIVE_001, 0.1), 118),
        (TwoWay(FIGURE_001_3).percent(SENSITIVE_001_3, 0.1), 100),
        (TwoWay(COUNTEREXAMPLE_K5).percent(SENSITIVE_K5, 0.1, hide_zeros=False), 167),
        (TwoWay([[1, 2, 2], [50, 50, 50], [60, 60, 60]]).problem([(1, 1)], 1, 30, weights="unit"), 3),
        (TwoWay([[10, 1, 10], [8, 20, 2], [30, 30, 30]]).problem([(1, T)], 0.5, 15), 51),
    ],
    ids=["000", "004", "004 unit", "001", "001-3", "001-K5", "000-B", "003-B"],
)
def test_optima_of_the_literature(problem, cost):
    assert three_phase(problem).cost == pytest.approx(cost)


# ---------------------------------------------------------------------- the phases


def test_a_table_on_which_p_is_tight_takes_one_iteration():
    problem = TwoWay(FIGURE_001).percent(SENSITIVE_001, 0.1)
    result = three_phase(problem)
    counters = result.report.counters
    assert counters["levels"] == 16
    assert 0 < counters["levels left after preprocessing"] < 16
    assert counters["iterations"] == counters["proven at iteration 1"] == 1
    assert counters["value of (P)"] == relaxation_p(problem, integer=True).value == result.cost == 118
    assert counters["gap at iteration 1 (%)"] == counters["listed levels"] == 0


def test_a_table_on_which_p_is_not_tight_needs_flows():
    problem = TwoWay(FIGURE_000).problem([(1, 1)], 15, 15)
    counters = three_phase(problem).report.counters
    assert counters["levels"] == counters["levels left after preprocessing"] == 2
    assert counters["value of (P)"] == relaxation_p(problem, integer=True).value == 45
    assert counters["proven at iteration 1"] == 0
    assert counters["gap at iteration 1 (%)"] == pytest.approx(100 * (58 - 45) / 45)
    assert counters["iterations"] >= 2
    assert counters["listed levels"] >= 1
    assert not any(name.startswith("seconds of") for name in counters)  # no clock without a limit
    counters = protect(problem, "suppress-three-phase", params={"seconds": 600}).report.counters
    phases = ("preprocessing", "first pattern", "phase 1", "phase 2", "phase 3")
    assert all(counters[f"seconds of {phase}"] > 0 for phase in phases)


def test_levels_that_need_nothing_end_in_the_preprocessing():
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(1, 1), (1, 2), (2, 1), (2, 2)], 1, 1)
    result = three_phase(problem)
    assert result.cost == 0
    assert result.status is Status.OPTIMAL
    counters = result.report.counters
    assert counters["levels"] == 8
    assert counters["levels left after preprocessing"] == counters["iterations"] == 0


def test_a_total_that_a_line_cannot_do_without_is_fixed():
    problem = TwoWay([[1, 2, 2], [50, 50, 50], [60, 60, 60]]).problem([(1, 1)], 1, 30, weights="unit")
    assert three_phase(problem).report.counters["cells fixed"] >= 1


def test_a_level_that_slips_through_the_solver_does_not_stop_the_loop(monkeypatch):
    """Without flows, or without their cuts, the pattern itself is forbidden, and the optimum found."""

    class Careless(FlowProgram):
        def solve(self, weights, rows, requirements, seconds):
            return super().solve(weights, rows, [], seconds)

    module = import_module("tablecloak.methods.suppress_three_phase")
    monkeypatch.setattr(module, "FlowProgram", Careless)
    monkeypatch.setattr(module._Solver, "_minimum_cuts", lambda solver, x: [])
    for phase3 in ("flows", "cuts"):
        result = three_phase(TwoWay(FIGURE_000).problem([(1, 1)], 15, 15), phase3=phase3)
        assert result.cost == pytest.approx(58)
        assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("seed", range(20))
def test_widest_paths_agree_with_maximum_flows(seed):
    """On random networks with finite, infinite and zero capacities, levels around what can be reached."""
    rng = np.random.default_rng(seed)
    nodes, arcs = int(rng.integers(2, 8)), int(rng.integers(1, 25))
    tail, head = rng.integers(0, nodes, (2, arcs)).astype(np.int32)
    up, down = np.where(rng.random((2, arcs)) < 0.2, np.inf, rng.integers(0, 9, (2, arcs)))
    most_up, most_down = Network(nodes, tail, head, up, down).reach(np.arange(arcs))
    asked = np.tile(np.arange(arcs, dtype=np.int32), 2)
    upward = np.arange(2 * arcs) < arcs
    reach = np.concatenate([most_up, most_down])
    for step in (-0.5, 0.0, 0.5, 3.0):
        need = np.where(np.isinf(reach), 100.0, reach) + step
        keep = need > 0
        network = Network(nodes, tail, head, up, down)
        fine = network.meets(asked[keep], upward[keep], need[keep].astype(float))
        assert (fine == (need <= reach)[keep]).all()


def test_the_flows_of_a_level_describe_it_exactly():
    """With all levels in the program and no other rows it is the compact model of a network."""
    problem = TwoWay(FIGURE_000).problem([(1, 1)], 15, 15)
    low, high = problem.box(0)
    value = problem.table.values
    cells = np.flatnonzero(~problem.must_hide)
    program = FlowProgram(CellNetwork(problem), (value - low, high - value), problem.must_hide, cells)
    none = Relaxation(problem.weights, ~problem.must_hide, problem.must_hide).matrix([])
    both = [Requirement(0, 0, side, 15.0) for side in (Side.UP, Side.DOWN)]
    costs = [
        program.solve(problem.weights, (none, np.zeros(0)), requirements, 60.0).objective
        for requirements in (both, both[:1], both[1:])
    ]
    assert costs[0] == pytest.approx(58)
    assert max(costs[1:]) <= 58 + 1e-6
    stopped = program.solve(problem.weights, (none, np.zeros(0)), both, 0.0)
    assert stopped.outcome is Outcome.TIME_LIMIT


# ---------------------------------------------------------------------- limits and refusals


def test_out_of_time_it_is_safe_with_a_valid_bound():
    problem = class_one(100, 100, 1)
    result = three_phase(problem, seconds=2.0)
    assert 0 < result.bound <= 833 <= result.cost
    at_once = three_phase(problem, seconds=0.0)
    assert at_once.status is Status.TIME_LIMIT
    assert at_once.bound <= 833 <= at_once.cost


@pytest.mark.parametrize("phase", ["linear program", "integer program", "phase 3"])
def test_an_interrupt_returns_the_best_pattern_so_far(phase):
    seen = []

    def stop(name, done, total, incumbent=None, bound=None):
        seen.append(name)
        if name == phase:
            raise KeyboardInterrupt

    problem = TwoWay(FIGURE_000).problem([(1, 1)], 15, 15)
    result = protect(problem, "suppress-three-phase", progress=stop)
    assert phase in seen
    assert result.status is Status.INTERRUPTED
    assert result.audit.safe
    assert result.bound <= 58 <= result.cost


def test_incumbent_and_bound_are_reported_and_meet():
    problem = class_one(12, 12, 3)
    result = three_phase(problem)
    _, cost, bound = result.report.trace[-1]
    assert cost == bound == result.cost
    bounds = [row[2] for row in result.report.trace if row[2] is not None]
    assert bounds == sorted(bounds)


@pytest.mark.parametrize(
    ("fixture", "needs"),
    [
        ("three way", "two-way table"),
        ("one hierarchy", "two-way table"),
        ("one dimension", "two-way table"),
        ("linked", "two-way table"),
        ("any equations", "two-way table"),
        ("fifty attackers", "outsider"),
        ("only sliding", "lower and upper levels"),
        ("conditional", "conditional"),
    ],
)
def test_other_problems_are_refused_with_a_way_out(fixture, needs):
    with pytest.raises(NotApplicable, match=needs) as caught:
        three_phase(FIXTURES[fixture]())
    assert "suppress-optimal" in caught.value.instead


def test_a_bound_on_touched_cells_is_refused():
    with pytest.raises(NotApplicable, match="touched") as caught:
        three_phase(replace(FIXTURES["two way"](), most_touched=4))
    assert "suppress-compact" in caught.value.instead


def test_infeasible_levels_and_wrong_parameters():
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 10, 12, forced=grid.cells([(2, 1), (2, 2), (2, T)]))
    with pytest.raises(InfeasibleProblem) as caught:
        three_phase(problem)
    assert caught.value.cells == ("row=2, column=3",)
    with pytest.raises(InputError, match="secnds"):
        three_phase(problem, secnds=3)
    with pytest.raises(InputError) as wrong:
        three_phase(grid.problem([(2, 3)], 10, 12), phase3="cut", iterations=0)
    assert len(wrong.value.faults) == 2


def test_the_same_pattern_every_time_also_from_equations():
    table = from_leaves([flat("r", 6), flat("c", 6)], leaf_values(6, 6, low=1))
    level = np.where(table.is_leaf & (table.values < 12), np.ceil(0.5 * table.values), 0.0)
    problem = Problem.of(table, level > 0, Levels.of(len(table), level, level))
    first, second = three_phase(problem), three_phase(problem)
    assert (first.pattern.hidden == second.pattern.hidden).all()
