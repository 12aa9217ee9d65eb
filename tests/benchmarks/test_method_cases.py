"""The benchmarks of exposure sets and of suppression methods: instances, rows of tiny cases, sections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cases import methods, real_data, serpell, synthetic
from cases.parts import PARTS
from reports.methods import beside_others, gaps_over_time, ratio
from runner import Row
from tablecloak import Problem, audit, exposure, protect
from tablecloak.attacker import is_network
from tablecloak.methods import METHODS
from tablecloak.testing import assert_additive, instances

SECONDS = 20.0


def tiny() -> Problem:
    """A two-way table with two sensitive cells."""
    return instances.generator_one(5, 5, 2, 0)


def of_contributors(values: list[list[float]], counts: list[list[int]]) -> Problem:
    dimensions = [instances.nested(name, (size,)) for name, size in zip("rc", np.shape(values), strict=True)]
    return synthetic.few_contributors(dimensions, np.array(values, dtype=float), np.array(counts))


# ---------------------------------------------------------------------- instances


def test_the_mix_is_that_of_the_paper() -> None:
    cases = list(PARTS["serpell"].cases(None))
    shapes = Counter(case.facts["shape"] for case in cases)
    assert len({case.name for case in cases}) == len(cases) == 313
    assert [shapes[shape] for shape in synthetic.MIX] == [155, 137, 1, 20]
    assert len(list(PARTS["serpell-resampled"].cases(None))) == 200


@pytest.mark.parametrize("shape", synthetic.MIX)
def test_synthetic_tables_have_the_shape_they_say_and_come_out_the_same_each_time(shape: str) -> None:
    problem, again = (synthetic.synthetic(shape, 0) for _ in range(2))
    table = problem.table
    assert np.array_equal(table.values, again.table.values)
    assert np.array_equal(problem.sensitive, again.sensitive) and problem.sensitive.any()
    depths = [int(dimension.hierarchies[0].depth.max()) for dimension in table.dimensions]
    assert len(depths) == (3 if shape == "three-way" else 2)
    nested = {"two-way, one hierarchy": 1, "two-way, both nested": 2}.get(shape, 0)
    assert sum(depth > 1 for depth in depths) == nested
    assert_additive(table)
    assert (problem.forced == (table.values == 0)).all()


def test_few_contributors_make_a_cell_sensitive_totals_too() -> None:
    problem = of_contributors([[30, 0, 100], [40, 0, 90], [5, 80, 70]], [[1, 0, 5], [1, 0, 5], [2, 2, 5]])
    table = problem.table
    found = {table.label(cell): problem.levels.upper[cell] for cell in np.flatnonzero(problem.sensitive)}
    assert sorted(found.values()) == [1.0, 3.0, 4.0, 8.0, 8.0], (
        "10%, at least 1; a column total with 2 of them"
    )
    assert problem.sensitive[table.find(c="c.2")] and not problem.sensitive[table.find(c="c.1")]


def test_resampled_tables_are_as_large_as_in_the_paper(data: Path) -> None:
    problems = [synthetic.resampled(number) for number in (0, 3)]
    for problem in problems:
        assert 6_100 <= len(problem.table) <= 26_775 and len(problem.table) % (9 * 13) == 0
        assert problem.sensitive.mean() > 0.03
        assert_additive(problem.table)
    assert len(problems[0].table) != len(problems[1].table)


def test_the_demonstration_file_is_the_one_of_the_rules(data: Path) -> None:
    problem = synthetic.tau_problem()
    assert (len(problem.table), int(problem.sensitive.sum())) == (30_886, 9_187)


# ---------------------------------------------------------------------- exposure sets


def test_only_the_levels_of_a_set_are_asked_for() -> None:
    problem = synthetic.synthetic("two-way", 3)
    found = exposure(problem)
    kept = found.algorithms["K5"]
    asked = serpell.keeping(problem, kept)
    assert np.array_equal(np.flatnonzero(asked.sensitive), kept)
    assert np.array_equal(asked.must_hide, problem.must_hide)
    assert np.array_equal(asked.levels.upper[kept], problem.levels.upper[kept])
    assert asked.levels.upper.sum() == problem.levels.upper[kept].sum()
    assert np.array_equal(asked.forced, problem.forced) and np.array_equal(asked.weights, problem.weights)


def test_a_row_has_every_set_and_every_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serpell, "REPEATS", 1)
    row = serpell.table_row(tiny, SECONDS)
    assert (row["cells"], row["sensitive"], row["status"]) == (36, 2, "measured")
    best = protect(tiny(), "suppress-optimal").cost
    for name in (serpell.ALL, *serpell.SETS):
        assert (row[f"ilp_status_{name}"], row[f"ilp_cost_{name}"], row[f"ilp_open_{name}"]) == (
            "optimal",
            best,
            0,
        )
    for program in serpell.PROGRAMS:
        for name in (serpell.ALL, "K5"):
            assert row[f"{program}_cost_{name}"] >= best and row[f"{program}_s_{name}"] > 0
    assert row["kept_E"] == row["E"] >= row["I"] > 0
    assert set(serpell.sets_row(tiny)) < set(row)


def test_a_pattern_is_judged_by_all_levels() -> None:
    problem = tiny()
    nothing = serpell.keeping(problem, np.zeros(0, dtype=np.int64))
    told = dict(serpell._run(problem, nothing, "ilp", SECONDS))
    assert told["cost"] == 0
    assert told["open"] == audit(problem, protect(nothing).pattern).open_cells.size > 0


# ---------------------------------------------------------------------- all methods


def test_every_suppression_method_is_measured_where_it_applies() -> None:
    cases = list(PARTS["methods"].cases(7.0))
    assert len({case.name for case in cases}) == len(cases)
    found = {(case.facts["name"], case.facts["method"]) for case in cases}
    assert {method for _, method in found} == {name for name in METHODS if name.startswith("suppress-")}
    assert {name for name, _ in found} == {*real_data.CSPLIB, "insee", "tau_testW"}
    assert ("cbs", "suppress-cox") in found and ("hier16", "suppress-cox") not in found
    assert ("targus", "suppress-three-phase") not in found
    assert all(case.facts["limit_s"] == "7" and case.seconds >= 7.0 for case in cases)
    usual = list(PARTS["methods"].cases(None))
    assert {case.kill_after for case in usual} == {210.0}


def test_the_networks_are_networks(data: Path) -> None:
    found = {name for name in real_data.CSPLIB if is_network(real_data.csplib_problem(name))}
    assert found == methods.NETWORKS


@pytest.mark.parametrize("method", ["suppress-auto", "suppress-cox", "suppress-kelly-lp"])
def test_a_row_of_a_method(method: str) -> None:
    row = methods.method_row(tiny, method, SECONDS)
    assert row["open"] == 0 and row["complementary"] > 0 and row["seconds"] > 0 and row["trace"]
    assert row["cost"] >= protect(tiny(), "suppress-optimal").cost
    assert (row["own_cost"] is None) == (method == "suppress-auto")
    assert (row["gap_percent"] == 0) == (method == "suppress-auto")


def test_a_method_that_refuses_says_so() -> None:
    def cube() -> Problem:
        return instances.three_way_generator_one(3, 3, 3, 2, 0)

    assert methods.method_row(cube, "suppress-cox", SECONDS)["status"] == "refused: NotApplicable"


# ---------------------------------------------------------------------- sections


def exposed_row(
    shape: str, kept: int, *, open_k5: int = 0, seconds: float = 0.1, status: str = "optimal"
) -> Row:
    row: Row = {"shape": shape, "cells": 100, "sensitive": 10, "exposure_s": 0.5, "status": "measured"}
    row |= {"kept_E": 10, "kept_K1": kept - 1, "kept_K3": kept - 2, "kept_K5": kept}
    for name in (serpell.ALL, *serpell.SETS):
        row |= {
            f"ilp_status_{name}": status,
            f"ilp_cost_{name}": 7.0,
            f"ilp_s_{name}": 0.2,
            f"ilp_open_{name}": 0,
        }
    for program in serpell.PROGRAMS:
        for name, spent in ((serpell.ALL, 0.2), ("K5", seconds)):
            row[f"{program}_status_{name}"] = "feasible" if program != "ilp" else status
            row |= {f"{program}_cost_{name}": 7.0, f"{program}_s_{name}": spent, f"{program}_open_{name}": 0}
    return {**row, "ilp_open_K5": open_k5, "kelly_cost_K5": 6.0}


def test_the_page_of_the_exposure_sets(page_of: Callable[..., str]) -> None:
    rows = {
        "1": exposed_row("two-way", 5),
        "2": exposed_row("two-way", 6, open_k5=2),
        "3": exposed_row("two-way", 10, seconds=0.2005),
        "4": exposed_row("three-way", 9, seconds=0.3, status="time-limit"),
        "5": {"shape": "three-way", "status": "crashed: signal 11"},
    }
    text = page_of("serpell", rows)
    assert "| two-way | 3 | 100 to 100 | 10.0 to 10.0 | 0.00 | 40.00 | 50.00 | 30.00 |" in text
    assert "| K5 | 4 | 3 | 1 | 25.00 | -8.33 | 313 | 0 | 11.75 | 11.75 |" in text
    assert "| E | 4 | 3 | 0 | 0.00 | 0.00 |" in text
    assert "K5 saves 30.00% on two-way and 10.00% on three-way tables (Kruskal-Wallis" in text
    assert "| integer program | 3 | 66.7 | 0.0 | 33.3 | 2.00 | p = " in text
    assert "| integer program and finding K5 | 3 | 0.0 | 100.0 | 0.0 | 0.33 |" in text
    assert "| elimination | 4 | 50.0 | 25.0 | 25.0 | 1.50 |" in text
    assert "| Kelly's linear programs | 4 | 0 | 100.0 | 0.0 | 0.0 | p = " in text
    assert "| integer program | 2 | 1 | 0.0 | 0.0 | 100.0 | no pair differs |" in text


def test_the_page_of_the_resampled_tables(page_of: Callable[..., str]) -> None:
    rows = {str(number): exposed_row("-", 8 + number) for number in range(2)}
    text = page_of("serpell-resampled", rows)
    assert "| K5 | 15.00 (7.07) | 22.98 (4.87) |" in text
    assert "2 tables of 100 to 100 cells, 10.0 to 10.0% of them sensitive" in text


def method_line(name: str, method: str, cost: float | None, open_cells: int = 0) -> Row:
    told: Row = {"name": name, "method": method, "cells": 36, "sensitive": 2, "status": "feasible"}
    return told if cost is None else {**told, "cost": cost, "seconds": 0.5, "open": open_cells}


def test_the_page_of_the_methods(page_of: Callable[..., str]) -> None:
    rows = [
        method_line("a", "suppress-auto", 99.0),
        method_line("a", "suppress-greedy", 110.0),
        method_line("a", "suppress-cox", 50.0, open_cells=1),
        method_line("b", "suppress-auto", 102.0),
        method_line("b", "suppress-greedy", 100.0),
        method_line("b", "suppress-kelly", None),
        method_line("c", "suppress-auto", 0.0),
        method_line("c", "suppress-greedy", 0.0),
        method_line("d", "suppress-greedy", 5.0),
    ]
    text = page_of("methods", {str(number): row for number, row in enumerate(rows)})
    assert "| a | 99 |  | 0.5 | suppress-greedy | 110 |  | 0.5 | -10.000 |" in text
    assert "| b | 102 |  | 0.5 | suppress-greedy | 100 |  | 0.5 | +2.000 |" in text
    assert "At most 1% above the best other method: 2 of 3. Largest +2.000%, geometric mean -2.812%." in text
    assert "### a: 36 cells, 2 sensitive" in text
    assert "| suppress-greedy | 110 | 11.11 |" in text
    assert "| suppress-cox | 50 |  |" in text, "a pattern that leaves cells open is above or below nothing"
    assert "| suppress-kelly |  |  |  |  |  | feasible |" in text


def test_the_way_of_suppress_auto_is_drawn(page_of: Callable[..., str], tmp_path: Path) -> None:
    trace = "0.00 - 10;0.50 40 20;1.00 100 20;2.00 80 50"
    assert gaps_over_time(trace, 80.0, 60.0) == [(1.0, 40.0), (2.0, 25.0)]
    assert gaps_over_time("0.00 0 0", 0.0, 0.0) == [(0.01, 0.0)]
    slow = {**method_line("a", "suppress-auto", 80.0), "bound": 50.0, "seconds": 2.0, "trace": trace}
    rows = {"1": slow, "2": {**method_line("a", "suppress-optimal", 80.0), "bound": 60.0}}
    text = page_of("methods", rows)
    assert "](methods.svg)" in text
    assert (tmp_path / "docs" / "benchmarks" / "methods.svg").read_text(encoding="utf-8").count(">a<") == 1


def test_a_cost_above_nothing_is_endless() -> None:
    assert ratio(3.0, 0.0) == np.inf and ratio(0.0, 0.0) == 1.0
    rows = [method_line("a", "suppress-auto", 3.0), method_line("a", "suppress-greedy", 0.0)]
    texts = [{key: str(value) for key, value in row.items()} for row in rows]
    assert "geometric mean +inf%" in beside_others(texts)
