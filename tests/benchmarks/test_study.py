"""The study of suppress-optimal: every variant changes what it says, and nothing afterwards."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from cases import study
from cases.parts import PARTS
from runner import Row, sample
from tablecloak import Problem, Result, protect
from tablecloak.attacker import is_network, null_space
from tablecloak.methods.branch_and_cut import ExactSettings, decomposition, gap_limit, tree
from tablecloak.methods.branch_and_cut.improvement import guided_construction, iterated_greedy
from tablecloak.methods.branch_and_cut.separation import ShiftedCapacity
from tablecloak.methods.branch_and_cut.settings import NO_SHIFT, Shift
from tablecloak.methods.cuts import Aggregation
from tablecloak.methods.heuristics import NullSpaceWitnesses
from tablecloak.solvers import scip
from tablecloak.testing import instances

WATCHED: tuple[tuple[Any, str], ...] = (
    (gap_limit, "branch_below"),
    (gap_limit, "construct_near"),
    (gap_limit, "repair"),
    (guided_construction, "construct_near"),
    (ShiftedCapacity, "separate"),
    (ShiftedCapacity, "_shifted"),
    (tree, "_separate"),
    (NullSpaceWitnesses, "find"),
    (null_space.NullSpaceProgram, "set_bounds"),
    (null_space.WarmDeviationProgram, "set_bounds"),
    (decomposition, "_components"),
    (Aggregation, "of"),
    (iterated_greedy.IteratedGreedy, "_merge"),
)
OPTIMUM = 13922.0
"""Of the small problem; suppress-compact finds the same."""
needs_scip = pytest.mark.skipif(not scip.is_there(), reason="SCIP is not installed")


class Spy:
    """What is called during a run and how often, and where cuts are separated."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: dict[str, int] = {}
        self.shifts: set[Shift] = set()
        for owner, name in WATCHED:
            told = f"{owner.__name__.rpartition('.')[2]}.{name}"
            monkeypatch.setattr(owner, name, self._watching(told, getattr(owner, name)))

    def _watching(self, told: str, real: Any) -> Any:
        def watching(*arguments: Any, **options: Any) -> Any:
            self.calls[told] = self.calls.get(told, 0) + 1
            if told == "ShiftedCapacity._shifted":
                self.shifts.add(arguments[2])
            return real(*arguments, **options)

        return watching

    def __getitem__(self, told: str) -> int:
        return self.calls.get(told, 0)


@cache
def small() -> Problem:
    """A three-way table whose optimum takes every step of the method."""
    return instances.three_way_generator_one(4, 4, 4, 4, 2)


@cache
def run(variant: str) -> tuple[Result, Row, Spy]:
    """A variant on the small problem, watched."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        spy = Spy(monkeypatch)
        result, watch = study.solve(small(), variant, 60.0)
    return result, watch.row(result), spy


def kinds(result: Result) -> set[str]:
    return {name.removesuffix(" cuts") for name in result.report.counters if name.endswith(" cuts")}


@needs_scip
@pytest.mark.parametrize("variant", study.VARIANTS)
def test_every_variant_finds_the_optimum(variant: str) -> None:
    result, row, _ = run(variant)
    assert (result.status.value, result.cost, result.bound) == ("optimal", OPTIMUM, OPTIMUM)
    assert 0 < row["root_bound"] <= OPTIMUM and row["root_done"] and row["root_rounds"] > 0
    assert 0 < row["root_s"] <= result.report.seconds + 1e-3


@needs_scip
def test_the_method_as_it_is_takes_every_step_that_a_variant_leaves_out() -> None:
    result, row, spy = run(study.ALL)
    assert "SCIP" in result.report.engine
    assert {"capacity", "cover", "rounding", "pattern"} <= kinds(result)
    assert result.report.counters["neighbourhoods"] > 0
    assert result.report.counters["gap limits"] > 1
    assert spy["gap_limit.construct_near"] + spy["gap_limit.repair"] > 0 and spy["tree._separate"] > 0
    assert (
        spy["NullSpaceWitnesses.find"] > 0
        and spy["NullSpaceProgram.set_bounds"] > 0 == spy["WarmDeviationProgram.set_bounds"]
    )
    assert spy.shifts >= {ExactSettings().root.shifts[0], NO_SHIFT}
    assert spy["decomposition._components"] > 0
    assert spy["Aggregation.of"] == 1
    assert spy["IteratedGreedy._merge"] > 0
    assert row["root_bound"] < OPTIMUM


@needs_scip
def test_every_variant_changes_what_it_says() -> None:
    found = {name: run(name) for name in study.VARIANTS}
    spies = {name: spy for name, (_, _, spy) in found.items()}
    assert "HiGHS" in found["HiGHS instead of SCIP"][0].report.engine
    assert spies["no shifted separation points"].shifts == {NO_SHIFT}
    assert not {"cover", "rounding"} & kinds(found["no covers and roundings"][0])
    assert "pattern" not in kinds(found["no bridgeless inequalities"][0])
    assert found["no neighbourhoods"][0].report.counters["neighbourhoods"] == 0
    assert (
        spies["no decomposition"]["decomposition._components"]
        == spies["no aggregated variables"]["Aggregation.of"]
        == 0
    )
    calm = spies["no heuristics in the tree"]
    assert calm["gap_limit.construct_near"] + calm["gap_limit.repair"] == 0
    assert calm["guided_construction.construct_near"] > 0
    programs = spies["linear programs instead of elimination"]
    assert programs["NullSpaceProgram.set_bounds"] == 0 < programs["WarmDeviationProgram.set_bounds"]
    assert programs["NullSpaceWitnesses.find"] > 0
    assert spies["no elimination by null spaces"]["NullSpaceWitnesses.find"] == 0
    assert spies["no elimination by null spaces"]["NullSpaceProgram.set_bounds"] > 0
    limits = {name: result.report.counters["gap limits"] for name, (result, _, _) in found.items()}
    assert limits["no gap limits"] == 1
    assert spies["no CMSA"]["IteratedGreedy._merge"] == 0
    assert limits["doubling gap limits"] <= limits[study.ALL]
    integral = "cuts only at integral points"
    assert found[integral][0].report.counters["nodes"] > 0
    assert spies[integral]["ShiftedCapacity.separate"] == found[integral][0].report.counters["rounds"]
    others = set(found) - {"no shifted separation points"}
    assert all(len(spies[name].shifts) > 1 for name in others)


def test_without_inside_points_no_effort_has_a_shift() -> None:
    settings = study.VARIANTS["no shifted separation points"].settings
    efforts = (settings.tree.thorough, settings.tree.plain, settings.tree.light)
    assert settings.root.shifts == (NO_SHIFT,)
    assert all(effort.shifts == (NO_SHIFT,) for effort in efforts)


def test_a_run_that_ends_at_the_root_has_its_bound_there() -> None:
    problem = instances.three_way_class_one(5, 5, 5, seed=1)
    watch = study.RootWatch()
    result = protect(problem, "suppress-optimal", progress=watch)
    row = watch.row(result)
    assert result.report.counters["gap limits"] == 0
    assert (row["root_bound"], row["root_done"], row["nodes"]) == (result.cost, True, 0)
    stopped = study.RootWatch()
    short = protect(problem, "suppress-optimal", params={"seconds": 0}, progress=stopped)
    row = stopped.row(short)
    assert (row["root_bound"], row["root_done"]) == (short.bound, False)


def test_variants_that_change_nothing_on_networks_are_not_measured_there() -> None:
    cases = list(PARTS["study"].cases(None))
    names = [(case.facts["name"], case.facts["variant"]) for case in cases]
    assert len(set(names)) == len(names) == 7 * 16 - 4 * 5 - 3
    made = {name: make() for name, (_, make) in study.INSTANCES.items() if "x" in name and "hier" not in name}
    assert all(is_network(problem) is study.INSTANCES[name][0] for name, problem in made.items())
    assert len(made) == 5
    assert {case.group for case in sample(cases, 0.5)} < set(study.INSTANCES)


def test_the_page_of_the_study_has_a_line_for_each_variant(page_of: Callable[..., str]) -> None:
    other, rows = "no neighbourhoods", dict[str, Row]()
    rows["0"] = {"name": "hier13x7x7d", "variant": other, "limit_s": 120, "status": "crashed: signal 11"}
    done = {"name": "table7", "limit_s": 120, "root_done": True, "root_bound": 2680551.0, "root_s": 1.25}
    rows["1"] = {**done, "variant": other, "status": "time-limit", "gap_percent": 3.199, "seconds": 120.04}
    rows["2"] = {**done, "variant": study.ALL, "status": "optimal", "gap_percent": 0.0, "seconds": 7.26}
    late = {"root_done": False, "root_bound": 0.0, "name": "hier13x7x7d", "root_s": 120.0}
    rows["3"] = {**done, **late, "variant": study.ALL, "status": "time-limit", "gap_percent": 100.0}
    assert [line for line in page_of("study", rows).splitlines() if line.startswith("| ")] == [
        "| variant | table7 | hier13x7x7d |",
        "| all of it | optimal, 7.3 s | 100.00% (120.0 s) |",
        "| no neighbourhoods | 3.20% (120.0 s) | crashed: signal 11 |",
        "| variant | table7 | hier13x7x7d |",
        "| all of it | 2680551 (1.2 s) | 0 (120.0 s) * |",
        "| no neighbourhoods | 2680551 (1.2 s) | – |",
    ]
