"""suppress-network-flow beyond conformance: both heuristics, what they book, and their steps against other solvers."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import FIXTURES, flat, from_leaves, leaf_values, smallest_leaves, with_levels
from tablecloak.attacker import is_network
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable
from tablecloak.methods import largest_pattern
from tablecloak.methods.heuristics import FlowSteps, ProgramSteps, Requests, Terrain
from tablecloak.methods.suppress_network_flow import NetworkFlowParams, _Cycles, _Flows
from tablecloak.model import Levels, Problem, Suppression, Table
from tablecloak.progress import NEVER, silent
from tablecloak.protection import protect
from tablecloak.testing import assert_protected, random_problem
from two_way import FIGURE_001, FIGURE_004, TwoWay

METHOD = "suppress-network-flow"
EVERY_WAY = pytest.mark.parametrize(
    "way", [{"heuristic": 1}, {"heuristic": 2}, {"heuristic": 2, "flows": "combined"}], ids=str
)
SENSITIVE_001 = [(1, 1), (1, 5), (2, 1), (2, 2), (2, 5), (2, 6), (3, 3), (3, 6)]


def requests_of(problem):
    """What the frame asks at first."""
    cells = np.flatnonzero(problem.sensitive)
    levels = problem.required(0, cells)
    allowed, rng = largest_pattern(problem), np.random.default_rng(1)
    return Requests(problem, allowed, problem.must_hide, cells, *levels, NEVER, silent, rng)


def counters_of(problem, **params):
    return protect(problem, METHOD, params=params).report.counters


def only_sixes():
    """One cell of 20 among sixes, its totals published: a cycle through it gives 6, and two are needed for 10."""
    grid = TwoWay([[20, 6, 6], [6, 6, 6], [6, 6, 6]])
    totals = grid.cells([(i, j) for i in (1, 2, 3, -1) for j in (1, 2, 3, -1) if -1 in (i, j)])
    return grid, grid.problem([(1, 1)], 10, 10, forced=totals)


def triangle():
    """p + a = A, p + b = B, a + b + c = C: when p moves by 1, c moves by 2. p needs 5 upward, a 8."""
    matrix = np.array([[1, 1, 0, 0, -1, 0, 0], [1, 0, 1, 0, 0, -1, 0], [0, 1, 1, 1, 0, 0, -1]])
    values = np.array([10.0, 10, 10, 10, 20, 20, 30])
    table = Table.from_equations(values, matrix, np.zeros(3))
    upper = np.array([5.0, 8, 0, 0, 0, 0, 0])
    return Problem.of(table, [0, 1], Levels.of(7, np.zeros(7), upper), forced=[4, 5])


# ---------------------------------------------------------------------- tables of the literature


def test_salazar_s_table():
    """Heuristic 1 finds the optimum, 63; the flows of heuristic 2 take cheap cells that carry little first."""
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 10, 12)
    first = protect(problem, METHOD, params={"heuristic": 1, "clean_up": False})
    assert grid.positions(first.pattern.touched(problem)) == {(2, 3), (2, 2), (3, 2), (3, 3)}
    assert first.cost == 63
    second = protect(problem, METHOD, params={"clean_up": False})
    assert second.cost == 88
    assert second.report.counters["flows"] == 2
    assert protect(problem, METHOD).cost == 63
    once = counters_of(problem, flows="combined", clean_up=False)
    assert (once["flows"], once["own open cells"]) == (1, 0)


@EVERY_WAY
def test_serpell_s_table(way):
    problem = TwoWay(FIGURE_001).percent(SENSITIVE_001, 0.1)
    result = protect(problem, METHOD, params=way)
    assert 118 <= result.cost <= 156
    counters = result.report.counters
    assert (counters["levels"], counters["own open cells"]) == (16, 0)
    assert counters["levels met on the way"] >= 10
    assert (
        counters["own cost with sensitive"] == counters["own cost"] + problem.weights[problem.sensitive].sum()
    )


# ---------------------------------------------------------------------- what is booked


def test_cycles_that_share_cells_do_not_add_up():
    """Castro's first heuristic finds the same cycle of 6 twice and takes it for 12."""
    grid, problem = only_sixes()
    paper = counters_of(problem, heuristic=1, booking="paper", clean_up=False)
    assert (paper["flows"], paper["own cells"], paper["own open cells"]) == (2, 4, 1)
    assert paper["added by repair"] > 0
    proven = counters_of(problem, heuristic=1, clean_up=False)
    assert (proven["flows"], proven["own open cells"], proven["added by repair"]) == (2, 0, 0)
    assert proven["own cells"] == 7, "two cycles that share only the sensitive cell"
    assert grid.table is problem.table


def test_outside_networks_the_least_value_of_a_flow_is_not_what_its_cells_have():
    """Everything is 10, so Castro books 10 for a; but a can rise by 5 only, for then c has fallen by 10."""
    problem = triangle()
    assert not is_network(problem)
    paper = counters_of(problem, booking="paper", order="given", clean_up=False)
    assert (paper["linear programs"], paper["levels met on the way"], paper["own open cells"]) == (1, 1, 1)
    found = audit(problem, Suppression.copy_of(np.arange(7) < 4))
    assert found.high[found.cells == 1] == pytest.approx(15)
    proven = counters_of(problem, order="given", clean_up=False)
    assert (proven["linear programs"], proven["levels met on the way"], proven["own open cells"]) == (2, 0, 0)


@pytest.mark.parametrize("booking", ["proven", "paper"])
@pytest.mark.parametrize("kind", ["two-way", "hierarchical"])
def test_on_networks_what_flows_book_is_there(kind, booking):
    """Also in the paper's way: a flow is a sum of cycles of its cells."""
    _booked_is_there(kind, NetworkFlowParams(booking=booking))


@pytest.mark.parametrize("kind", ["three-way", "linked", "general"])
def test_elsewhere_what_is_proven_is_there(kind):
    _booked_is_there(kind, NetworkFlowParams())


def test_what_cycles_book_is_there():
    _booked_is_there("two-way", NetworkFlowParams(heuristic=1))


def _booked_is_there(kind, params):
    """After each cell, the audit of the hidden cells gives every sensitive cell what is booked for it."""
    asked = 0
    for seed in range(6):
        problem = random_problem(kind, np.random.default_rng(seed))
        try:
            requests = requests_of(problem)
        except InfeasibleProblem:
            continue
        terrain = Terrain(requests)
        steps = (FlowSteps if is_network(problem) else ProgramSteps)(terrain, requests)
        books = (_Cycles if params.heuristic == 1 else _Flows)(terrain, steps, params)
        for p, upper, lower in zip(terrain.protected, requests.upper, requests.lower, strict=True):
            books.protect(int(p), upper, lower)
            found = audit(problem, Suppression.copy_of(terrain.whole(requests)))
            place = np.searchsorted(terrain.cells, found.cells)
            value = problem.table.values[found.cells]
            assert (value - found.low >= np.minimum(books.down[place], found.required_lower) - 1e-6).all()
            assert (found.high - value >= np.minimum(books.up[place], found.required_upper) - 1e-6).all()
            asked += 1
    assert asked > 5


# ---------------------------------------------------------------------- the steps


def test_a_flow_is_the_sum_of_its_cycles():
    problem = FIXTURES["one hierarchy"]()
    requests = requests_of(problem)
    terrain = Terrain(requests)
    steps = FlowSteps(terrain, requests)
    several = 0
    for p in range(terrain.cells.size):
        need = 0.9 * float(terrain.down[p])
        deviation = steps.cheapest(p, False, need, terrain.up, terrain.down) if need else None
        if deviation is None:
            continue
        total = np.zeros(terrain.cells.size)
        cycles = steps.cycles(deviation)
        for arcs, moves in cycles:
            total[arcs] += moves
            balance = np.zeros(steps.nodes)
            np.add.at(balance, steps.tail[arcs], moves)
            np.subtract.at(balance, steps.head[arcs], moves)
            assert np.allclose(balance, 0)
            ends = np.concatenate([steps.tail[arcs], steps.head[arcs]])
            assert (np.unique(ends, return_counts=True)[1] == 2).all(), "each node is passed once"
            assert np.allclose(np.abs(moves), np.abs(moves[0]))
            assert (np.sign(moves) == np.sign(deviation[arcs])).all()
        assert np.allclose(total, deviation)
        several += len(cycles) > 1
    assert several > 5


def test_linear_programs_and_flows_cost_the_same_on_a_network():
    problem = FIXTURES["two way several"]()
    requests = requests_of(problem)
    terrain = Terrain(requests)
    flows, programs = FlowSteps(terrain, requests), ProgramSteps(terrain, requests)
    compared = 0
    for p in terrain.protected.tolist():
        for upward in (True, False):
            need = 0.5 * float(terrain.down[p])
            found = [steps.cheapest(p, upward, need, terrain.up, terrain.down) for steps in (flows, programs)]
            costs = [float(np.abs(deviation) @ terrain.price) for deviation in found]
            assert costs[0] == pytest.approx(costs[1], rel=1e-6)
            compared += 1
    assert compared >= 4
    assert programs.counters["linear programs"] == flows.counters["flows"] == compared


def test_what_is_impossible_has_no_flow_and_no_program():
    problem = FIXTURES["two way several"]()
    requests = requests_of(problem)
    terrain = Terrain(requests)
    for steps in (FlowSteps(terrain, requests), ProgramSteps(terrain, requests)):
        p = int(terrain.protected[0])
        assert steps.cheapest(p, False, 2 * float(terrain.down[p]), terrain.up, terrain.down) is None


# ---------------------------------------------------------------------- the method


@EVERY_WAY
@pytest.mark.parametrize("kind", ["two-way", "hierarchical", "three-way", "linked", "general"])
@pytest.mark.parametrize("options", [{}, {"insiders": 2}, {"sliding": True}, {"negative": True}], ids=str)
def test_it_is_safe_and_never_beats_the_optimum(way, kind, options):
    protected = 0
    for seed in range(6 if "insiders" in options else 3):
        problem = random_problem(kind, np.random.default_rng(seed), **options)
        if way["heuristic"] == 1 and not is_network(problem):
            with pytest.raises(NotApplicable, match="Heuristic 1"):
                protect(problem, METHOD, params=way)
            protected += 1
            continue
        try:
            optimum = protect(problem, "suppress-optimal")
        except InfeasibleProblem:
            with pytest.raises(InfeasibleProblem):
                protect(problem, METHOD, params=way)
            continue
        result = protect(problem, METHOD, params=way)
        assert_protected(problem, result.pattern)
        assert result.cost >= optimum.cost * (1 - 1e-6) - 1e-9
        counters = result.report.counters
        outsider_alone = not problem.attackers and not problem.levels.sliding.any()
        if outsider_alone and not counters["levels without a flow"]:
            assert counters["own open cells"] == 0
        protected += 1
    assert protected


@EVERY_WAY
@pytest.mark.parametrize("booking", ["proven", "paper"])
def test_the_same_pattern_every_time(way, booking):
    problem = FIXTURES["two way several"]()
    params = {**way, "booking": booking, "order": "random", "starts": 2}
    patterns = [protect(problem, METHOD, seed=5, params=params).pattern for _ in range(2)]
    assert patterns[0].touched(problem).tolist() == patterns[1].touched(problem).tolist()


def test_three_way_tables_go_by_linear_programs():
    table = from_leaves([flat("r", 5), flat("c", 4), flat("s", 3)], leaf_values(5, 4, 3, low=1))
    problem = with_levels(table, smallest_leaves(table, 8))
    result = protect(problem, METHOD)
    counters = result.report.counters
    assert result.report.engine.startswith("linear programs")
    assert counters["linear programs"] + counters["levels met on the way"] == counters["levels"] == 16
    assert counters["own open cells"] == 0


def test_wrong_options_are_listed_together():
    with pytest.raises(InputError) as caught:
        protect(FIXTURES["two way"](), METHOD, params={"heuristic": 3, "flows": "both", "booking": "hope"})
    assert len(caught.value.faults) == 3
