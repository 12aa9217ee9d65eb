"""The study of suppress-optimal: every variant changes what it says, and nothing afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from cases import study
from cases.parts import PARTS
from runner import Row, sample
from tablecloak import Problem, Result, protect
from tablecloak.attacker import is_network, null_space
from tablecloak.methods.branch_and_cut import gap_limit, state, tree
from tablecloak.methods.branch_and_cut.improvement.iterated_greedy import Walk
from tablecloak.methods.branch_and_cut.state import LAST, Exact
from tablecloak.methods.cuts import Aggregation, capacity
from tablecloak.methods.heuristics import Thinner, redundancy
from tablecloak.solvers import scip
from tablecloak.solvers.graphs import load_kernels
from tablecloak.testing import instances

WATCHED: tuple[tuple[Any, str], ...] = (
    (Exact, "search_near"),
    (Exact, "repair"),
    (Exact, "missed"),
    (Exact, "_inside"),
    (Thinner, "run"),
    (null_space.Freedom, "set_bounds"),
    (null_space.Programs, "set_bounds"),
    (gap_limit, "Guess"),
    (study.solver, "in_parts"),
    (Aggregation, "of"),
    (Walk, "_merge"),
)
OPTIMUM = 13922.0
"""Of the small problem; suppress-compact finds the same."""
needs_scip = pytest.mark.skipif(not scip.is_there(), reason="SCIP is not installed")


class Spy:
    """What is called during a run: how often, how often once the integer phase has begun, and where rows are sought."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: dict[str, int] = {}
        self.stages: set[state.Stage] = set()
        for owner, name in WATCHED:
            told = f"{owner.__name__.rpartition('.')[2]}.{name}"
            monkeypatch.setattr(owner, name, self._watching(told, getattr(owner, name)))

    def _watching(self, told: str, real: Any) -> Any:
        def watching(*arguments: Any, **options: Any) -> Any:
            late = isinstance(arguments[0], Exact) and arguments[0].counters["guesses"] > 0
            for name in (told, f"{told} late") if late else (told,):
                self.calls[name] = self.calls.get(name, 0) + 1
            if told == "Exact._inside":
                self.stages.add(arguments[2])
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
    return {name.removesuffix(" rows") for name in result.report.counters if name.endswith(" rows")}


def pieces() -> Iterator[Any]:
    """Everything that variants replace, as it is now."""
    for variant in study.VARIANTS.values():
        for owner, name, _ in variant.changes:
            yield getattr(owner, name)
    yield from (vars(Thinner)["fits"], vars(Exact)["search_near"], vars(Exact)["repair"])


@needs_scip
@pytest.mark.parametrize("variant", study.VARIANTS)
def test_every_variant_finds_the_optimum_and_leaves_everything_as_it_was(variant: str) -> None:
    load_kernels()  # the clock of a report begins after that, that of the study before
    before = list(pieces())
    result, row, _ = run(variant)
    assert all(now is was for now, was in zip(pieces(), before, strict=True))
    assert (result.status.value, result.cost, result.bound) == ("optimal", OPTIMUM, OPTIMUM)
    assert 0 < row["root_bound"] <= OPTIMUM and row["root_done"] and row["root_rounds"] > 0
    assert 0 < row["root_s"] <= result.report.seconds + 1e-3


@needs_scip
def test_the_method_as_it_is_takes_every_step_that_a_variant_leaves_out() -> None:
    result, row, spy = run(study.ALL)
    assert "SCIP" in result.report.engine
    assert {"capacity", "cover", "rounding", "pattern"} <= kinds(result)
    assert result.report.counters["neighbourhoods"] > 0
    assert spy["gap_limit.Guess"] > 1
    assert spy["Exact.search_near late"] + spy["Exact.repair late"] > 0 and spy["Exact.missed late"] > 0
    assert spy["Thinner.run"] > 0 and spy["Freedom.set_bounds"] > 0 == spy["Programs.set_bounds"]
    assert spy.stages >= {state.ROOT_STAGES[0], LAST}
    assert spy["solver.in_parts"] == spy["Aggregation.of"] == 1
    assert spy["Walk._merge"] > 0
    assert row["root_bound"] < OPTIMUM


@needs_scip
def test_every_variant_changes_what_it_says() -> None:
    found = {name: run(name) for name in study.VARIANTS}
    spies = {name: spy for name, (_, _, spy) in found.items()}
    assert "HiGHS" in found["HiGHS instead of SCIP"][0].report.engine
    assert spies["no rows from inside points"].stages == {LAST}
    assert not {"cover", "rounding"} & kinds(found["no covers and roundings"][0])
    assert "pattern" not in kinds(found["no pattern rows"][0])
    assert found["no neighbourhoods"][0].report.counters["neighbourhoods"] == 0
    assert spies["not in parts"]["solver.in_parts"] == spies["no twins"]["Aggregation.of"] == 0
    calm = spies["no searches in the tree"]
    assert calm["Exact.search_near"] > 0 == calm["Exact.search_near late"] + calm["Exact.repair late"]
    programs = spies["linear programs instead of elimination"]
    assert programs["Freedom.set_bounds"] == 0 < programs["Programs.set_bounds"]
    assert programs["Thinner.run"] > 0
    assert spies["no clean-up by elimination"]["Thinner.run"] == 0
    assert spies["no clean-up by elimination"]["Freedom.set_bounds"] > 0
    assert spies["guess everything at once"]["gap_limit.Guess"] == 1
    assert spies["no merging of patterns"]["Walk._merge"] == 0
    assert spies["guesses that double"]["gap_limit.Guess"] <= spies[study.ALL]["gap_limit.Guess"]
    whole = spies["rows only at whole points"]
    assert whole["Exact.missed"] > 0 == whole["Exact.missed late"]
    others = set(found) - {"no rows from inside points"}
    assert all(len(spies[name].stages) > 1 for name in others)


def test_what_a_variant_replaces_comes_back_after_an_error_too() -> None:
    for name, variant in study.VARIANTS.items():
        before = list(pieces())
        with pytest.raises(ZeroDivisionError), study.replaced(*variant.changes):
            for owner, attribute, other in variant.changes:
                assert getattr(owner, attribute) is (study.never if attribute == "fits" else other), name
            raise ZeroDivisionError
        assert all(now is was for now, was in zip(pieces(), before, strict=True)), name


def test_stages_and_engines_are_replaced_wherever_the_package_looks_them_up() -> None:
    stages = study.VARIANTS["no rows from inside points"].changes
    with study.replaced(*stages):
        assert state.ROOT_STAGES == study.solver.ROOT_STAGES == (LAST,)
        assert tree.HARD.stages == tree.LITTLE.stages == (LAST,)
    with study.replaced(*study.VARIANTS["linear programs instead of elimination"].changes):
        assert capacity.attack_on is redundancy.attack_on is null_space.Programs


def test_a_run_that_ends_at_the_root_has_its_bound_there() -> None:
    problem = instances.three_way_class_one(5, 5, 5, seed=1)
    watch = study.RootWatch()
    result = protect(problem, "suppress-optimal", progress=watch)
    row = watch.row(result)
    assert result.report.counters["guesses"] == 0
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
