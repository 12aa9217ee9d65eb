"""The benchmarks after Castro (2002) and (2007): instances as in the papers, rows of tiny cases, the peer, sections."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from cases import castro, castro_2002, paper_castro
from cases.castro import Instance
from peers import process
from peers.process import Said
from reports.castro import best_bound, gap_text, paper_gap
from runner import Row
from tablecloak import Problem, Suppression, audit
from tablecloak.attacker import is_network
from tablecloak.testing import instances

SECONDS = 20.0


def tiny() -> Problem:
    """A two-way table with eight sensitive cells."""
    return instances.generator_one(8, 8, 8, 1)


# ---------------------------------------------------------------------- cases and instances


def test_there_are_as_many_instances_as_in_the_papers() -> None:
    paths = [case.facts for case in castro.cases(None) if case.facts["what"] == castro.STRATA]
    kinds = [fact["kind"] for fact in paths]
    assert (kinds.count("two-way"), kinds.count("hierarchical")) == (54, 72)
    assert sum(fact["weights"] == "w = 1" for fact in paths) == 36
    what = [case.facts["what"] for case in castro_2002.cases(None)]
    assert what.count("heuristic 1, paper") == what.count("heuristic 1, proven") == 2 * 48
    assert what.count("heuristic 2, paper") == 2 * 48 + 16 and what.count(castro_2002.AUTO) == 16
    keys = {(one.generator, "x".join(map(str, one.shape)), one.sensitive) for one in castro_2002.three_way()}
    assert keys == set(paper_castro.DUAL) == set(paper_castro.NETWORK_AND_DUAL)
    first = castro_2002.two_way()[::2][:5]
    assert [(one.number, one.shape, one.sensitive) for one in first] == [
        (1, (50, 50), 50),
        (2, (50, 50), 100),
        (3, (50, 50), 150),
        (4, (50, 50), 200),
        (5, (50, 100), 50),
    ]


def test_the_goal_and_something_of_everything_come_before_the_other_seeds() -> None:
    order = list(castro.order())
    whats = [what for what, one in order if one.seed == 0]
    assert set(whats) == set(castro.WORKS)
    assert [one.seed > 0 for _, one in order] == sorted(one.seed > 0 for _, one in order)
    goal = next(one for what, one in order if what == castro.AUTO)
    assert (goal.shape, goal.sensitive) == ((750, 750), 3000)


def test_hierarchical_tables_have_so_many_cells_and_subtables() -> None:
    cells = [(columns + 1) * (rows + 1) for columns, rows, _ in castro.HIERARCHICAL]
    assert (cells[0], cells[-1]) == (1716, 246942) and cells == sorted(cells)
    assert (castro.HIERARCHICAL[0][2], castro.HIERARCHICAL[-1][2]) == (4, 185)
    problem = Instance("hierarchical", (6, 23, 5), 20, 3).problem()
    rows = problem.table.dimensions[0]
    assert len(problem.table) == 7 * 24 and int((~rows.is_leaf).sum()) == 5
    assert is_network(problem) and int(problem.sensitive.sum()) == 20
    assert (problem.sensitive <= problem.table.is_leaf).all()


def test_another_share_changes_the_levels_only() -> None:
    for one in (
        Instance("two-way", (9, 7), 10, 2),
        Instance("hierarchical", (6, 23, 5), 20, 3, unit_weights=True),
    ):
        small, large = one.problem(), one.problem(castro.LARGER)
        assert (small.table.values == large.table.values).all() and (small.sensitive == large.sensitive).all()
        p = small.sensitive
        assert (large.levels.upper[p] == np.ceil(0.3 * small.table.values[p])).all()
        assert (small.levels.upper[p] == np.ceil(0.15 * small.table.values[p])).all()
        assert (small.weights == 1).all() == one.unit_weights


def test_generator_two_has_small_sensitive_cells_and_no_other_small_ones() -> None:
    for one in (castro_2002.Instance(2, (20, 15), 25, 1), castro_2002.Instance(2, (6, 5, 7), 25, 1)):
        problem = one.problem()
        inner = problem.table.values[problem.table.is_leaf]
        assert int(problem.sensitive.sum()) == int(((inner >= 1) & (inner <= 4)).sum()) == 25
        assert inner.max() <= 500


# ---------------------------------------------------------------------- rows


def test_rows_of_paths_and_of_bounds_belong_together() -> None:
    rows = {costs: castro.paths_row(tiny, costs, SECONDS) for costs in ("strata", "weight")}
    bounds = castro.bounds_row(tiny, castro.SHARE, SECONDS)
    for row in rows.values():
        assert row["status"] == "feasible" and row["open"] == 0 and row["paths"] > 0 and row["own_s"] > 0
        assert row["own_cells"] >= row["hidden"] + 8 and row["cost"] <= row["own_cost"]
        assert row["cost"] >= bounds["castro"] >= bounds["castro_printed"] >= bounds["kelly"]
    assert bounds["given"] == row["given"] and bounds["status"] == "solved" and bounds["stopped"] == ""
    larger = castro.bounds_row(partial(instances.generator_one, 8, 8, 8, 1, 0.3), castro.LARGER, SECONDS)
    assert "kelly" not in larger and larger["castro"] >= bounds["castro"]
    whole = castro.combined_row(tiny, SECONDS)
    best = castro.auto_row(tiny, SECONDS)
    assert bounds["castro"] <= whole["bound"] <= best["cost"] <= rows["weight"]["cost"]
    assert best["status"] == "optimal" and best["trace"]


def test_flows_are_timed_by_themselves() -> None:
    row = castro.flows_row(tiny, SECONDS)
    assert row["done"] == 8 and row["flows"] > 0 and 0 < row["own_s"] <= row["seconds"]
    watch = castro.Watch("loop")
    assert watch.seconds is None
    watch("before", 0, 1)
    watch("loop", 3, 9)
    assert watch.seconds is None and watch.done == 3
    watch("after", 0, 1)
    spent = watch.seconds
    watch("loop", 4, 9)
    assert spent is not None and watch.seconds == spent and watch.done == 3


def test_flows_that_do_not_finish_have_no_cost() -> None:
    row = castro.flows_row(partial(instances.generator_one, 60, 60, 300, 1), 1e-6)
    assert (
        row["status"] == "time-limit" and row["cost"] is None and row["flows"] is None and row["done"] < 300
    )


@pytest.mark.parametrize("heuristic", [1, 2])
def test_rows_of_both_heuristics(heuristic: int) -> None:
    for booking in (castro_2002.PAPER, castro_2002.PROVEN):
        row = castro_2002.heuristic_row(tiny, heuristic, booking, SECONDS)
        assert row["open"] == 0 and row["problems"] > 0 and row["own_s"] > 0
        assert row["own_value"] == row["own_cost"] + row["given"] and row["cost"] <= row["own_cost"]
        assert (row["bound"] is not None) is (heuristic == 2)


def test_a_row_of_a_three_way_table_counts_linear_programs() -> None:
    make = castro_2002.Instance(2, (4, 4, 4), 5, 1).problem
    row = castro_2002.heuristic_row(make, 2, castro_2002.PAPER, SECONDS)
    best = castro_2002.improved_row(make, SECONDS)
    assert (
        row["problems"] > 0 and row["cost"] >= best["cost"] >= row["bound"] and best["given"] == row["given"]
    )


# ---------------------------------------------------------------------- the peer


class LinearFlow:
    """What the peer's script uses of OR-tools, by a linear program."""

    OPTIMAL = 1

    def __init__(self) -> None:
        self.supply: dict[int, int] = {}

    def add_arcs_with_capacity_and_unit_cost(self, tail: Any, head: Any, room: Any, cost: Any) -> None:
        self.tail, self.head, self.room, self.cost = tail, head, room, cost

    def set_node_supply(self, node: int, amount: int) -> None:
        self.supply[node] = amount

    def solve(self) -> int:
        nodes = int(max(self.tail.max(), self.head.max())) + 1
        balance = np.zeros((nodes, self.tail.size))
        np.add.at(balance, (self.tail, np.arange(self.tail.size)), 1.0)
        np.add.at(balance, (self.head, np.arange(self.tail.size)), -1.0)
        right = [self.supply.get(node, 0) for node in range(nodes)]
        found = linprog(
            self.cost, A_eq=balance, b_eq=right, bounds=np.column_stack([0 * self.room, self.room])
        )
        self.found = found.x
        return self.OPTIMAL if found.status == 0 else 2

    def flows(self, arcs: Any) -> Any:
        return np.rint(self.found[arcs]).astype(np.int64)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The peer's script, with a solver of our own."""
    for name in ("ortools", "ortools.graph", "ortools.graph.python"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    solver = ModuleType("ortools.graph.python.min_cost_flow")
    solver.SimpleMinCostFlow = LinearFlow  # type: ignore[attr-defined]
    monkeypatch.setattr(sys.modules["ortools.graph.python"], "min_cost_flow", solver, raising=False)
    monkeypatch.delitem(sys.modules, "peers.ortools", raising=False)
    module = importlib.import_module("peers.ortools")
    monkeypatch.delitem(sys.modules, "peers.ortools")
    return module


@pytest.mark.parametrize("unit_weights", [False, True])
def test_the_loop_of_the_peer_protects_the_table(script: ModuleType, unit_weights: bool) -> None:
    problem = instances.subtables_generator_one((5, 11, 3), 8, 2, unit_weights=unit_weights)
    given = castro.network(problem)
    balance = np.zeros(given["nodes"])
    np.add.at(balance, given["tail"], given["value"])
    np.subtract.at(balance, given["head"], given["value"])
    assert (balance == 0).all()
    heuristic = script.Heuristic(given)
    assert heuristic.run(SECONDS) < SECONDS
    assert heuristic.done == 8 and heuristic.failed == 0 and heuristic.flows > 0
    hidden = np.zeros(len(problem.table), dtype=bool)
    hidden[np.flatnonzero(~problem.forced)[heuristic.hidden]] = True
    assert (hidden >= problem.sensitive).all()
    assert audit(problem, Suppression.of(problem.table, hidden)).safe
    stopped = script.Heuristic(given)
    stopped.run(-1.0)
    assert stopped.flows == 0 and stopped.done == 0


def test_answers_of_the_peer_become_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = tiny()
    given = castro.given_weight(problem)
    answer = {
        "flows": 9,
        "failed": 0,
        "solve_seconds": 0.5,
        "seconds": 0.75,
        "hidden": 20,
        "cost": given + 70,
    }
    asked = []

    def ask(name: str, path: Path, order: dict[str, Any], end: float) -> Said:
        with np.load(Path(order["folder"]) / "network.npz") as arrays:
            asked.append((name, path.exists(), arrays["cells"].size, order["seconds"] < end))
        return said

    monkeypatch.setattr(process, "ask", ask)
    said = Said("", 1.0, {**answer, "done": 8})
    row = castro.peer_row(tiny, SECONDS)
    assert asked == [("ortools", True, 8, True)]
    assert (row["status"], row["own_cost"], row["own_s"], row["flows"]) == ("feasible", 70.0, 0.5, 9)
    said = Said("", 1.0, {**answer, "done": 3})
    row = castro.peer_row(tiny, SECONDS)
    assert row["status"] == "time-limit" and row["own_cost"] is None and row["done"] == 3
    said = Said("crashed: signal 11", 1.0)
    assert castro.peer_row(tiny, SECONDS)["status"] == "crashed: signal 11"
    half = Problem.of(problem.table, problem.sensitive, problem.levels, weights=problem.weights / 2 + 0.25)
    with pytest.raises(ValueError, match="whole numbers"):
        castro.network(half)


# ---------------------------------------------------------------------- the pages


def numbered(rows: list[Row]) -> dict[str, Row]:
    return {str(number): row for number, row in enumerate(rows)}


def rows_of_2007() -> list[Row]:
    one = Instance("two-way", (750, 750), 3000, 0)
    base = {what: castro.case(what, one, None).facts | {"cells": 564001} for what in castro.WORKS}
    done = {"given": 900.0, "status": "feasible", "own_open": 0, "own_cells": 3010, "recovered": 0}
    paths = {**done, "own_s": 0.5, "seconds": 1.5, "paths": 100, "paths_a_cell": 0.1, "own_cost": 120.0}
    return [
        {**base[castro.STRATA], **paths, "cost": 100.0},
        {**base[castro.WEIGHT], **paths, "cost": 80.0},
        {**base[castro.AUTO], "cost": 50.0, "bound": 48.0, "status": "time-limit", "seconds": 60.5},
        {**base[castro.BOUNDS], "given": 900.0, "kelly": 10.0, "castro_printed": 20.0, "castro": 40.0, "share": 0.15},
        {**base[castro.LARGER_BOUNDS], "given": 900.0, "castro_printed": 25.0, "castro": 45.0, "share": 0.3},
        {**base[castro.COMBINED], "bound": 0.0, "status": "time-limit"},
        {**base[castro.FLOWS], "own_s": 5.0, "flows": 50, "done": 3000, "status": "feasible"},
        {**base[castro.ORTOOLS], "own_s": 20.0, "flows": 10, "done": 30, "status": "time-limit"},
    ]  # fmt: skip


def test_the_page_of_2007(page_of: Callable[..., str]) -> None:
    text = page_of("castro-2007", numbered(rows_of_2007()))
    paths = "| 750x750 | 564001 | 3000 | w = a | 1 | 0.50 | 1.50 | 0.100 | 120 | 0 | 100 |"
    assert f"{paths} 0.50 | 1.50 | 0.100 | 120 | 0 | 80 |" in text
    name = "750x750, 3000 sensitive, w = a"
    costs = f"| {name} | 100 | 80 | 50 | time-limit | 60.5 | 20 | 40 | 0* | 48* | 48 |"
    assert f"{costs} 9.804 | 52.00 | 40.00 | 4.00 |" in text
    assert f"| {name} | 10 | 20 | 1.099 | 100.0 | 25 | 1.648 | 150.0 |" in text
    flows = f"| {name} | 0.50 | 5.000 | 5.00 | 3000 of 3000 | 100.00 | 10 | 20 |"
    assert f"{flows} 20.00 | 30 of 3000 | 2000.00 | over 40 | 400 |" in text
    assert "(60 s) 4.00%. Goal: under 10%, met." in text


def test_a_page_of_2007_with_little_on_it(page_of: Callable[..., str], tmp_path: Path) -> None:
    one = rows_of_2007()[0]
    killed = {**castro.case(castro.STRATA, Instance("two-way", (250, 250), 1000, 0), None).facts}
    text = page_of("castro-2007", numbered([one, {**killed, "status": "killed after 120 s"}]))
    assert "| 750x750 | 564001 |" in text and "No bound was measured." in text and "No flow was" in text
    nothing = numbered([{**killed, "status": "crashed: signal 9"}])
    assert "No table was measured." in page_of("castro-2007", nothing, tmp_path / "other")


def test_gaps_and_bounds_of_an_instance() -> None:
    works = {row["what"]: {key: str(value) for key, value in row.items()} for row in rows_of_2007()}
    assert best_bound(works) == 48.0 and best_bound({}) is None
    assert paper_gap(works[castro.STRATA], works[castro.BOUNDS]) == pytest.approx(100 * 100 / 1020)
    assert paper_gap(works[castro.STRATA], {}) is None
    assert (gap_text("0.0", 0.0), gap_text("", 3.0), gap_text("10", 12.0)) == ("0.00", "", "0.00")


def test_the_page_of_2002(page_of: Callable[..., str]) -> None:
    plain = castro_2002.Instance(1, (50, 50), 50, 1)
    cube = castro_2002.Instance(2, (10, 10, 10), 100, 2)
    rows = []
    for heuristic, cells in ((1, 90), (2, 100)):
        facts = castro_2002.case(plain, heuristic, castro_2002.PAPER, 5.0).facts
        own = {"own_cells": cells, "own_value": 500.0, "problems": 40, "own_s": 0.25, "own_open": 1}
        rows.append({**facts, **own, "cost": 100.0, "given": 400.0, "seconds": 0.5, "status": "feasible"})
    facts = castro_2002.case(cube, 2, castro_2002.PAPER, 5.0).facts
    rows.append({**rows[0], **facts, "own_s": 2.0})
    improved = {"name": cube.name, "what": castro_2002.AUTO, "cost": 60.0, "gap_percent": 12.5}
    rows.append({**{key: facts[key] for key in ("generator", "shape", "asked")}, **improved, "given": 400.0})
    text = page_of("castro-2002", numbered(rows))
    assert "| 1 | paper | 1 | 90.0 | 500 | 40.0 | 0.250 | 1 | 100 | 0.50 |" in text
    assert "suppressed cells 1 to 0; suppressed value 0 to 0;" in text and "castro-2002-cells-1.svg" in text
    printed = "| 2 | 10x10x10 | 100 | 191 | 6194 | 38 | 9.1 | 190 | 6115 | 31 | 4 |"
    assert f"{printed} 90 | 500 | 40 | 2.0 | 1 | 500 | 460 | 12.5 |" in text
    assert "generator 2\n\n| heuristic" not in text
