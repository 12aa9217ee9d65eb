"""suppress-shortest-path: which path is shortest, what paths carry, recovery by flows, what is left to the frame."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import FIXTURES, fifty_attackers, flat, from_leaves, only_sliding, with_levels
from tablecloak.attacker import CellNetwork, DeviationBounds
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable
from tablecloak.methods import largest_pattern
from tablecloak.methods.heuristics import Requests
from tablecloak.methods.suppress_shortest_path import ShortestPathParams, _Heuristic
from tablecloak.model import Attacker, Dimension, Hierarchy, Levels, Problem, Status, Suppression, Table
from tablecloak.progress import NEVER, Deadline, silent
from tablecloak.protection import protect
from tablecloak.solvers.graphs import StratifiedNetwork
from tablecloak.testing import assert_protected, random_problem
from tablecloak.testing.instances import class_one, class_two, generator_one
from two_way import FIGURE_001, FIGURE_004, SENSITIVE_001, T, TwoWay

BOTH_COSTS = pytest.mark.parametrize("costs", ["strata", "weight"])


def shortest_path(problem, seed=0, **params):
    result = protect(problem, "suppress-shortest-path", seed=seed, params=params)
    assert_protected(problem, result.pattern)
    return result


def heuristic(problem, deadline=NEVER, **params):
    """The paper's algorithm alone, in the order of the table."""
    cells = np.flatnonzero(problem.sensitive)
    lower, upper, sliding = problem.required(0, cells)
    requests = Requests(
        problem, largest_pattern(problem), problem.must_hide, cells, lower, upper, sliding, deadline, silent,
        np.random.default_rng(0),
    )  # fmt: skip
    return _Heuristic(requests, ShortestPathParams(**params))


def own_positions(grid, problem, **params):
    """What the paper's algorithm hides beside what must be hidden."""
    return grid.positions(heuristic(problem, **params).run().hidden & ~problem.must_hide)


def totals_published(grid, **options):
    return {"forced": ~grid.table.is_leaf, **options}


# ---------------------------------------------------------------------- which path is shortest


def test_strata_take_cells_with_room_before_cheap_ones():
    grid = TwoWay([[20, 3, 50], [30, 3, 60], [4, 3, 5]])
    problem = grid.problem([(1, 1)], 10, 10, **totals_published(grid))
    assert own_positions(grid, problem) == {(1, 3), (2, 3), (2, 1)}


def test_strata_take_free_cells_with_room_before_hidden_ones_without():
    grid = TwoWay([[20, 3, 50], [30, 3, 60], [4, 3, 5]])
    narrow = grid.cells([(1, 2), (3, 2), (3, 1)])
    problem = grid.problem([(1, 1)], 10, 10, **totals_published(grid, hidden=narrow))
    assert own_positions(grid, problem) == {(1, 3), (2, 3), (2, 1)}


def test_strata_take_fewer_new_cells_before_less_weight():
    """A new cell costs C = 4 and its weight: 3 x (4 + 1) by row 3, 2 x (4 + 4) and a hidden cell by row 2."""
    inner = [[20, 20, 20], [20, 20, 20], [20, 20, 20]]
    grid = TwoWay(inner)
    weights = np.full(16, 100.0)
    weights[grid.cells([(1, 3), (3, 3), (3, 1)])] = 1.0
    weights[grid.cells([(1, 2), (2, 1)])] = 4.0
    hidden = grid.cells([(2, 2), (2, T), (T, 2)])
    problem = grid.problem([(1, 1)], 2, 2, weights=weights, hidden=hidden)
    assert own_positions(grid, problem, costs="weight") == {(1, 3), (3, 3), (3, 1)}
    weights[grid.cells([(1, 2), (2, 1)])] = 3.0
    problem = grid.problem([(1, 1)], 2, 2, weights=weights, hidden=hidden)
    assert own_positions(grid, problem, costs="strata") == {(1, 2), (2, 1)}
    assert own_positions(grid, problem, costs="weight") == {(1, 3), (3, 3), (3, 1)}


def test_weights_see_room_in_the_direction_that_is_walked():
    """When (1, 1) falls, (1, 2) and (2, 1) rise: for that they need no room downward."""
    grid = TwoWay([[20, 3, 50], [3, 12, 60], [50, 60, 70]])
    problem = grid.problem([(1, 1)], 10, 0, **totals_published(grid))
    assert own_positions(grid, problem, costs="weight") == {(1, 2), (2, 1), (2, 2)}
    assert own_positions(grid, problem, costs="strata") == {(1, 3), (3, 1), (3, 3)}


class Small:
    """The network of a small problem, and all paths of one of its arcs."""

    def __init__(self, problem):
        allowed = largest_pattern(problem)
        self.cells = np.flatnonzero(allowed)
        graph = CellNetwork(problem)
        self.tail, self.head, self.nodes = graph.tail[self.cells], graph.head[self.cells], graph.nodes
        self.down, self.up = (side[self.cells] for side in DeviationBounds(problem)[0])
        self.weight, self.hidden = problem.weights[self.cells], problem.must_hide[self.cells]
        self.alone = np.zeros(self.cells.size, dtype=bool)

    def stratified(self, *, by_weight):
        ends = (self.nodes, self.tail, self.head)
        return StratifiedNetwork(
            ends, self.weight, (self.down, self.up), self.hidden, self.alone, by_weight=by_weight
        )

    def paths(self, own, node=None, walked=(), seen=()):
        """All simple paths from the head of an arc to its tail without it: (arc, forward) one after the other."""
        node = self.head[own] if node is None else node
        if node == self.tail[own]:
            yield walked
            return
        for arc in np.flatnonzero((self.tail == node) | (self.head == node)).tolist():
            forward = bool(self.tail[arc] == node)
            other = self.head[arc] if forward else self.tail[arc]
            if arc != own and other not in seen and other != node:
                yield from self.paths(own, other, (*walked, (arc, forward)), (*seen, node))

    def key(self, path, rising, level, *, by_weight):
        """The key of the method's docstring; None if the path gives nothing."""
        free_narrow = open_narrow = 0
        cost = 0.0
        for arc, forward in path:
            room = self.up[arc] if forward == rising else self.down[arc]
            if room <= 0:
                return None
            wide = (room if by_weight else min(self.up[arc], self.down[arc])) >= level
            hidden = self.hidden[arc]
            free_narrow += not wide and not hidden
            open_narrow += not wide and hidden
            cost += 0.0 if hidden else self.weight[arc]
            if not by_weight and wide:
                cost += 1 if hidden else self.hidden.sum()
        return free_narrow, open_narrow, cost


@BOTH_COSTS
@pytest.mark.parametrize("seed", range(12))
def test_first_path_has_the_least_key_of_all(costs, seed):
    rng = np.random.default_rng(seed)
    table = from_leaves([flat("r", 3), flat("c", 3)], rng.integers(0, 30, size=(3, 3)))
    sensitive = np.flatnonzero(table.values > 0)[[0, 3]]
    hidden = np.flatnonzero(rng.random(16) < 0.3)
    weights = rng.integers(0, 20, 16) * (1e14 if seed % 3 == 0 else 1.0)
    problem = Problem.of(
        table,
        sensitive,
        Levels.at(16, sensitive, 1, 1),
        hidden=np.setdiff1d(hidden, sensitive),
        weights=weights,
    )
    small, by_weight = Small(problem), costs == "weight"
    for cell in sensitive:
        own = int(np.searchsorted(small.cells, cell))
        for rising in (False, True):
            level = float(rng.integers(1, 25))
            keys = {path: small.key(path, rising, level, by_weight=by_weight) for path in small.paths(own)}
            best = min(key for key in keys.values() if key is not None)
            stratified = small.stratified(by_weight=by_weight)
            if not stratified.protect(own, rising, level):
                continue
            taken = set(stratified.paths[0][1:].tolist())
            key = next(key for path, key in keys.items() if {arc for arc, _ in path} == taken)
            assert key[:2] == best[:2]
            assert key[2] == pytest.approx(best[2], rel=1e-12)


# ---------------------------------------------------------------------- what paths carry


@BOTH_COSTS
@pytest.mark.parametrize("kind", ["two way", "one hierarchy"])
@pytest.mark.parametrize("seed", range(8))
def test_bookkeeping_never_says_more_than_the_audit(costs, kind, seed):
    problem = (
        class_two(8, 7, seed)
        if kind == "two way"
        else with_levels(FIXTURES["one hierarchy"]().table, [1, 4, 5, 9, 13, 17], (0.1, 0.5, 1.0)[seed % 3])
    )
    run = heuristic(problem, costs=costs)
    hidden = run.run().hidden
    found = audit(problem, Suppression.copy_of(hidden), intervals=True)
    value = problem.table.values[found.cells]
    for cell, fall, rise in zip(found.cells, value - found.low, found.high - value, strict=True):
        arc = int(run.place[cell])
        assert run.stratified.reached(arc, False) <= fall + 1e-6
        assert run.stratified.reached(arc, True) <= rise + 1e-6
    assert found.safe


@BOTH_COSTS
@pytest.mark.parametrize("trim", [False, True])
def test_own_pattern_meets_all_levels_of_the_outsider(costs, trim):
    for seed in range(5):
        problem = generator_one(12, 9, 15, seed)
        result = shortest_path(problem, costs=costs, trim=trim, clean_up=False)
        counters = result.report.counters
        assert counters["own open cells"] == counters["added by repair"] == 0
        assert counters["own cost"] == result.cost


def test_a_path_protects_the_other_sensitive_cells_on_it():
    grid = TwoWay(FIGURE_004)
    square = [(1, 1), (1, 2), (2, 1), (2, 2)]
    run = heuristic(grid.percent(square, 0.1))
    assert run.run().counters["paths"] == 1
    arcs = run.place[grid.cells(square)]
    # values 20, 50, 8, 19: all four move by the smaller of two opposite corners
    assert [run.stratified.reached(int(arc), True) for arc in arcs] == [8, 19, 19, 8]
    assert [run.stratified.reached(int(arc), False) for arc in arcs] == [19, 8, 8, 19]


def test_upper_level_beyond_the_value_by_a_path_of_totals():
    """Along totals only cells rise with the cell: the path gives it infinite upper protection."""
    grid = TwoWay(FIGURE_004)
    others = grid.table.is_leaf.copy()
    others[grid.cell((2, 1))] = False
    run = heuristic(grid.problem([(2, 1)], 0, 500, forced=others))
    assert grid.positions(run.run().hidden) == {(2, 1), (2, T), (T, 1), (T, T)}
    assert run.stratified.reached(int(run.place[grid.cell((2, 1))]), True) == np.inf


def test_paths_of_one_level_share_no_cell_and_add_up():
    grid = TwoWay([[9, 6, 4], [6, 20, 20], [4, 20, 20]])
    problem = grid.problem([(1, 1)], 0, 10, **totals_published(grid))
    run = heuristic(problem)
    counters = run.run().counters
    one, two = (set(path[1:].tolist()) for path in run.stratified.paths)
    assert counters["paths"] == 2
    assert not one & two
    assert run.stratified.reached(int(run.place[grid.cell((1, 1))]), True) == 10
    assert counters["cells recovered by flows"] == 0


# ---------------------------------------------------------------------- recovery by flows


def not_by_disjoint_paths():
    """Row 1 can give 6 + 4 and column 1 5 + 5: 10 in all, but two paths without a common cell give 5 + 4 only."""
    grid = TwoWay([[9, 6, 4], [5, 20, 20], [5, 20, 20]])
    return grid, grid.problem([(1, 1)], 2, 10, **totals_published(grid))


@BOTH_COSTS
def test_where_paths_end_two_flows_protect(costs):
    grid, problem = not_by_disjoint_paths()
    result = shortest_path(problem, costs=costs)
    counters = result.report.counters
    assert counters["cells recovered by flows"] == 1
    assert counters["own open cells"] == 0
    assert {(1, 2), (1, 3), (2, 1), (3, 1)} <= grid.positions(result.pattern.hidden)
    assert result.cost >= protect(problem, "suppress-optimal").cost


def test_what_failed_is_taken_back_for_all_cells():
    _, problem = not_by_disjoint_paths()
    small = Small(problem)
    stratified = small.stratified(by_weight=False)
    assert stratified.protect(0, False, 2.0)
    before = stratified.is_open, [stratified.reached(arc, side) for arc in range(9) for side in (False, True)]
    assert not stratified.protect(0, True, 10.0)
    after = stratified.is_open, [stratified.reached(arc, side) for arc in range(9) for side in (False, True)]
    assert before[0].tolist() == after[0].tolist()
    assert before[1] == after[1]
    assert stratified.protect(0, True, 9.0)  # all lists are as they were


@BOTH_COSTS
def test_very_large_upper_levels_are_recovered(costs):
    """The experiment of the paper, section 4.5: tables of 10 x 10 with very large upper levels."""
    recovered = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        table = from_leaves([flat("r", 10), flat("c", 10)], rng.integers(1, 50, size=(10, 10)))
        cells = np.flatnonzero(table.is_leaf)[[0, 37]]
        value = table.values
        lines = np.array([value[table.is_leaf].reshape(10, 10).sum(axis=axis) for axis in (0, 1)])
        upper = 0.95 * (lines.min() - value[cells])
        levels = Levels.at(len(table), cells, 0.15 * value[cells], upper)
        problem = Problem.of(table, cells, levels, forced=~table.is_leaf)
        result = shortest_path(problem, costs=costs)
        recovered += result.report.counters["cells recovered by flows"]
        assert result.report.counters["own open cells"] == 0
    assert recovered > 0


# ---------------------------------------------------------------------- single contributors, trimming


def single_contributors():
    """(1, 1) and (2, 2) have one contributor each, who knows his cell; (2, 2) is on the cheapest path of (1, 1)."""
    grid = TwoWay([[20, 20, 21], [20, 20, 21], [21, 21, 30]])
    attackers = [
        Attacker.contributing(f"sole in {position}", grid.table, [grid.cell(position)], 20.0)
        for position in ((1, 1), (2, 2))
    ]
    return grid, grid.problem([(1, 1)], 5, 5, **totals_published(grid, attackers=attackers))


def test_single_contributors_do_not_protect_each_other():
    grid, problem = single_contributors()
    with_control = shortest_path(problem, clean_up=False)
    without = shortest_path(problem, singletons=False, clean_up=False)
    assert with_control.report.counters["own open cells"] == 0
    assert with_control.report.counters["levels through single contributors"] == 0
    assert without.report.counters["own open cells"] == 1  # and the repair closes it
    assert without.report.counters["added by repair"] > 0
    assert not with_control.pattern.hidden[grid.cell((2, 2))]
    assert without.pattern.hidden[grid.cell((2, 2))]


def test_single_contributors_protect_each_other_where_nothing_else_can():
    grid = TwoWay([[20, 20], [20, 20]])
    small = Small(grid.problem([(1, 1)], 5, 5, **totals_published(grid)))
    small.alone[[0, 3]] = True
    stratified = small.stratified(by_weight=False)
    assert not stratified.protect(0, True, 5.0, avoid=True)
    assert stratified.is_open.sum() == 1
    assert stratified.protect(0, True, 5.0)
    assert stratified.is_open.all()
    assert stratified.prove(0, True, 5.0, avoid=True) is None
    assert set(stratified.prove(0, True, 5.0).tolist()) == {0, 1, 2, 3}


def test_trimming_publishes_only_what_paths_can_replace():
    trimmed = 0
    for seed in range(6):
        problem = class_two(15, 15, seed)
        run = heuristic(problem, trim=True)
        own = run.run()
        assert audit(problem, Suppression.copy_of(own.hidden)).safe
        assert own.hidden.sum() <= own.counters["cells before trimming"]
        trimmed += own.counters["cells before trimming"] - int(own.hidden.sum())
        plain = heuristic(problem).run()
        assert plain.hidden.sum() == own.counters["cells before trimming"]
        assert not (own.hidden & ~plain.hidden).any()
    assert trimmed > 0


def test_trimming_keeps_what_flows_hid():
    _, problem = not_by_disjoint_paths()
    own = heuristic(problem, trim=True).run()
    assert audit(problem, Suppression.copy_of(own.hidden)).safe


# ---------------------------------------------------------------------- the whole method


def figure_003():
    """Vector V-003-1: 21 cells, a network of 14 nodes."""
    values = {
        "R1": (5, 6, 11), "R2": (10, 15, 25), "R3": (15, 21, 36), "R21": (8, 10, 18), "R22": (2, 5, 7),
        "R211": (6, 6, 12), "R212": (2, 4, 6),
    }  # fmt: skip
    rows = Hierarchy.from_dict({"R1": [], "R2": {"R21": ["R211", "R212"], "R22": []}}, "R3")
    return Table.from_cells(
        [Dimension.of("row", rows), Dimension.flat("column", ["C1", "C2"], "C")],
        {
            "row": np.repeat(list(values), 3),
            "column": ["C1", "C2", "C"] * 7,
            "value": [number for triple in values.values() for number in triple],
        },
    )


@BOTH_COSTS
def test_figure_three_of_the_paper(costs):
    table = figure_003()
    for cell in range(21):
        problem = with_levels(table, [cell], 0.5)
        graph = CellNetwork(problem)
        assert graph.tail.size == 21
        assert graph.nodes == 14
        result = shortest_path(problem, costs=costs)
        assert result.cost >= protect(problem, "suppress-optimal").cost
        assert result.report.counters["own open cells"] == 0


@BOTH_COSTS
@pytest.mark.parametrize("seed", range(25))
def test_random_networks_are_safe_and_not_below_the_optimum(costs, seed):
    rng = np.random.default_rng(seed)
    kind = ("two-way", "hierarchical")[seed % 2]
    problem = random_problem(kind, rng, insiders=seed % 3, sliding=seed % 5 == 0)
    try:
        largest_pattern(problem)
    except InfeasibleProblem:
        with pytest.raises(InfeasibleProblem):
            shortest_path(problem, costs=costs)
        return
    result = shortest_path(problem, costs=costs)
    assert result.cost >= protect(problem, "suppress-optimal").bound - 1e-6


def test_same_seed_same_pattern_and_more_starts_are_never_worse():
    problem = generator_one(15, 12, 12, 3)
    one = shortest_path(problem, seed=4)
    again, many = shortest_path(problem, seed=4, starts=5), shortest_path(problem, seed=4, starts=5)
    assert again.pattern.hidden.tobytes() == many.pattern.hidden.tobytes()
    assert many.cost <= one.cost


def test_orders_change_the_pattern():
    problem = generator_one(15, 12, 12, 3)
    costs = {
        order: shortest_path(problem, order=order).cost for order in ("level", "value", "small", "given")
    }
    assert len(set(costs.values())) > 1


@pytest.mark.parametrize("levels", ["E", "D", "K1", "K3", "K5"])
def test_fewer_levels_are_asked_for_and_all_are_met(levels):
    problem = TwoWay(FIGURE_001).percent(SENSITIVE_001, 0.1)
    everything, some = shortest_path(problem), shortest_path(problem, levels=levels)
    assert some.report.counters["paths"] <= everything.report.counters["paths"]
    assert some.cost >= 118  # the optimum


def test_from_the_cells_of_a_bound():
    problem = generator_one(15, 12, 12, 3)
    plain, result = shortest_path(problem), shortest_path(problem, initial="bound")
    assert plain.bound is None
    assert 0 < result.bound <= result.cost


def test_weights_hide_less_weight_and_strata_fewer_cells():
    by = {
        costs: [shortest_path(class_one(50, 50, seed), costs=costs) for seed in range(3)]
        for costs in ("strata", "weight")
    }
    assert sum(result.cost for result in by["weight"]) < sum(result.cost for result in by["strata"])
    cells = {costs: sum(r.report.counters["own cells"] for r in some) for costs, some in by.items()}
    assert cells["strata"] < cells["weight"]


@BOTH_COSTS
def test_a_large_table(costs):
    problem = generator_one(150, 150, 600, 1)
    counters = shortest_path(problem, costs=costs).report.counters
    assert counters["own open cells"] == counters["cells recovered by flows"] == 0
    assert 0 < counters["paths a sensitive cell"] < 4
    assert counters["own value"] == counters["own cost"]  # weights are values here


def test_huge_weights_do_not_spoil_the_strata():
    """With the costs as printed, C (2n - C + 1) + M, one more cell would vanish beside weights of 1e17."""
    grid = TwoWay([[20, 3, 50], [30, 3, 60], [4, 3, 5]])
    weights = np.full(16, 1e17)
    weights[grid.cells([(1, 2), (3, 2), (3, 1)])] = 1.0
    problem = grid.problem([(1, 1)], 10, 10, **totals_published(grid, weights=weights))
    assert own_positions(grid, problem) == {(1, 3), (2, 3), (2, 1)}


def test_sliding_levels_are_left_to_the_repair():
    result = shortest_path(only_sliding())
    assert any("sliding" in note for note in result.report.notes)
    assert result.report.counters["paths"] == 0


def test_many_attackers():
    result = shortest_path(fifty_attackers())
    assert result.report.counters["own open cells"] > 0  # the paper knows the outsider only
    assert result.cost >= protect(fifty_attackers(), "suppress-optimal").bound - 1e-6


def test_it_stops_in_time():
    result = protect(class_one(20, 20, 1), "suppress-shortest-path", params={"seconds": 0})
    assert result.status is Status.TIME_LIMIT
    assert result.audit.safe
    assert heuristic(class_one(20, 20, 1), Deadline.after(0)).run().counters["paths"] == 0


def test_what_it_cannot_take():
    for fixture, words in (("three way", "network"), ("negative values", "positive")):
        with pytest.raises(NotApplicable, match=words) as caught:
            protect(FIXTURES[fixture](), "suppress-shortest-path")
        assert caught.value.instead == ("suppress-greedy", "suppress-optimal")
    with pytest.raises(InputError, match="costs 'money'"):
        protect(FIXTURES["two way"](), "suppress-shortest-path", params={"costs": "money"})
