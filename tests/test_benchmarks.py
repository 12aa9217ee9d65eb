"""The benchmarks: the runner survives what cases do, samples cover every size, generators follow the papers."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tablecloak import Problem, Result, protect
from tablecloak.engines import branching, freedom
from tablecloak.engines.flow import load_kernels
from tablecloak.methods import integer_phase, run_state, separation, thinning, tree
from tablecloak.methods.network_search import is_network
from tablecloak.methods.run_state import LAST, Exact
from tablecloak.methods.thinning import Thinner
from tablecloak.methods.twins import Twins
from tablecloak.methods.walk import Walk

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import instances
import peers
import runner
from parts import PARTS, study
from parts.base import OURS, PEER, WARMING, trace_points, trace_text
from report import Report, gap_points
from runner import Case, Row, Store, measure, sample, share_of, to_do

# ---------------------------------------------------------------------- cases of a made-up part


def fine(number: int) -> Row:
    return {"status": "optimal", "cost": number, "seconds": 0.0, "process": os.getpid()}


def die() -> Row:
    os.kill(os.getpid(), signal.SIGSEGV)
    return {}


def hang() -> Row:
    time.sleep(600)
    return {}


def fail() -> Row:
    raise ValueError("this went wrong\nand more")


def made_up(name: str) -> Case:
    """A case by what it does; its name may carry a number, ``fine 3``."""
    what, _, number = name.partition(" ")
    measures = {"fine": partial(fine, int(number or 0)), "die": die, "hang": hang, "fail": fail}
    return Case(name, measures[what], 1.0, facts={"kind": what})


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Case, "kill_after", 0.5)


# ---------------------------------------------------------------------- the runner


@pytest.mark.usefixtures("impatient")
def test_whatever_happens_to_a_case_is_a_row_and_the_next_one_is_measured() -> None:
    names = ["fine 1", "fine 2", "die", "fine 3", "hang", "fail", "fine 4"]
    found = {case.name: row for case, row in measure([made_up(name) for name in names])}
    assert list(found) == names
    assert {name: row["status"] for name, row in found.items() if "fine" not in name} == {
        "die": "crashed: signal 11",
        "hang": "killed after 0 s",
        "fail": "error: ValueError: this went wrong",
    }
    assert [found[f"fine {i}"]["cost"] for i in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert found["fine 1"]["process"] == found["fine 2"]["process"] != os.getpid()
    assert len({found[f"fine {i}"]["process"] for i in (2, 3, 4)}) == 3
    assert {row["kind"] for row in found.values()} == {"fine", "die", "hang", "fail"}
    assert {row["workers"] for row in found.values()} == {1}


def test_several_workers_measure_every_case_once() -> None:
    found = [case.name for case, row in measure([made_up(f"fine {i}") for i in range(6)], workers=2)]
    assert sorted(found) == [f"fine {i}" for i in range(6)]


def test_a_run_that_is_stopped_goes_on_where_it_stopped(tmp_path: Path) -> None:
    cases, path = [made_up(f"fine {i}") for i in range(5)], tmp_path / "part.csv"
    store, stream = Store(path), measure(cases)
    for case, row in stream:
        store.put(case.name, row)
        if case.name == "fine 1":
            break
    stream.close()
    with path.open("a", encoding="utf-8") as file:
        file.write("fine 2,opt")  # the process died while it wrote
    again = Store(path)
    assert [case.name for case in to_do(cases, again)] == ["fine 2", "fine 3", "fine 4"]
    again.put("fine 2", fine(2))
    assert Store(path).rows["fine 2"]["cost"] == "2"
    assert path.read_text(encoding="utf-8").count("\n") == 4


def test_rows_are_appended_and_new_columns_and_repeated_rows_rewrite_the_file(tmp_path: Path) -> None:
    path = tmp_path / "part.csv"
    path.write_text("instance,cost\nold,5\n", encoding="utf-8")
    store = Store(path)
    store.put("same columns", {"cost": 6.0})
    assert path.read_text(encoding="utf-8") == "instance,cost\nold,5\nsame columns,6.0\n"
    store.put("more", {"cost": None, "status": "crashed: signal 9"})
    store.put("old", {"cost": 4})
    assert path.read_text(encoding="utf-8").splitlines() == [
        "instance,cost,status",
        "old,4,",
        "same columns,6.0,",
        "more,,crashed: signal 9",
    ]
    cases = [Case(name, die, 1.0) for name in ("old", "more", "new")]
    assert [case.name for case in to_do(cases, store, repeat="crashed*")] == ["more", "new"]
    assert [case.name for case in to_do(cases, store, only="*e*", repeat="*")] == ["more", "new"]


# ---------------------------------------------------------------------- parts and samples


def test_the_classes_have_as_many_instances_as_in_the_paper() -> None:
    cases = list(PARTS["classes"].cases(None))
    count = {kind: sum(case.stratum[::2] == (kind, "value") for case in cases) for kind in ("I", "II")}
    assert count == {"I": 580, "II": 830}
    assert len(cases) == 2 * 1410
    assert len({case.name for case in cases}) == len(cases)
    made = [case.measure.args[:4] for case in cases if case.stratum[2] == "value"]  # type: ignore[attr-defined]
    assert len({instances.class_seed(*made_of) for made_of in made}) == 1410


def test_a_sample_covers_every_class_and_size_and_all_seeds_and_is_always_the_same() -> None:
    cases = list(PARTS["classes"].cases(None))
    chosen = sample(cases, share_of("10%"))
    assert [case.name for case in chosen] == [case.name for case in sample(PARTS["classes"].cases(None), 0.1)]
    assert {case.stratum for case in chosen} == {case.stratum for case in cases}
    assert len({case.name for case in chosen}) == len(chosen) == 282
    seeds = [case.facts["number"] for case in chosen]
    assert min(seeds.count(number) for number in range(10)) >= 10
    sizes = {(case.facts["class"], case.facts["m"], case.facts["n"]) for case in cases}
    assert len({(case.facts["class"], case.facts["m"], case.facts["n"]) for case in chosen}) == len(sizes)


def test_a_sample_takes_both_programs_on_an_instance() -> None:
    chosen = sample(PARTS["peer-classes"].cases(None), 0.2)
    by_name: dict[str, list[str]] = {}
    for case in chosen:
        by_name.setdefault(case.facts["name"], []).append(case.facts["program"])
    assert len(by_name) == 12
    assert set(map(tuple, by_name.values())) == {(OURS, PEER)}


@pytest.mark.parametrize("text", ["0", "-5%", "101%", "2"])
def test_a_share_is_above_nothing_and_up_to_all(text: str) -> None:
    with pytest.raises(ValueError, match="share"):
        share_of(text)


@pytest.mark.parametrize("name", PARTS)
def test_every_stored_row_is_one_of_its_part(name: str) -> None:
    rows = Store(runner.RESULTS / f"{name}.csv").rows
    assert set(rows) <= {case.name for case in PARTS[name].cases(None)}


def test_what_workers_warm_up_with_needs_protection() -> None:
    assert all(protect(make()).cost > 0 for make in WARMING)


# ---------------------------------------------------------------------- generators


def test_class_one_is_as_in_the_paper() -> None:
    problem = instances.class_problem("I", 60, 40, 3)
    table = problem.table
    inner = table.values[table.is_leaf]
    assert (len(table), inner.size) == (61 * 41, 60 * 40)
    assert inner.min() == 0 and inner.max() <= 499
    small = table.is_leaf & (table.values >= 1) & (table.values <= 4)
    assert (problem.sensitive == small).all() and small.any()
    assert (problem.levels.upper[small] == table.values[small]).all()
    assert (problem.levels.lower[small] == table.values[small] - 1).all()
    assert (problem.forced == (table.values == 0)).all()
    assert (problem.weights == table.values).all()
    assert (instances.class_problem("I", 60, 40, 3, unit_weights=True).weights == 1).all()


@pytest.mark.parametrize("kind", ["II", "II+"])
def test_class_two_is_as_in_the_paper(kind: str) -> None:
    problems = [instances.class_problem(kind, 50, 50, number) for number in range(30)]
    table = problems[0].table
    total, leaf = table.find(), table.is_leaf
    inner = np.concatenate([problem.table.values[leaf] for problem in problems])
    assert inner.min() == 0 and inner.max() == 1000
    assert all((problem.forced == (problem.table.values == 0)).all() for problem in problems)
    assert np.mean([problem.sensitive[leaf].mean() for problem in problems]) == pytest.approx(0.2, abs=0.01)
    assert np.mean([problem.sensitive[~leaf].mean() for problem in problems]) == pytest.approx(0.1, abs=0.03)
    assert any(problem.sensitive[total] for problem in problems) is (kind == "II+")
    for problem in problems:
        asked = np.where(problem.sensitive, np.ceil(0.15 * problem.table.values), 0.0)
        assert (problem.levels.upper == asked).all() and (problem.levels.lower == asked).all()


def test_generator_one_has_so_many_sensitive_cells_in_two_and_three_ways() -> None:
    for problem in (
        instances.generator_one(30, 20, 25, 0),
        instances.three_way_generator_one(8, 7, 6, 25, 0),
    ):
        inner = problem.table.values[problem.table.is_leaf]
        assert int(problem.sensitive.sum()) == 25
        assert (problem.sensitive <= problem.table.is_leaf).all()
        assert np.mean(inner == 0) == pytest.approx(0.2, abs=0.08)
        assert inner.max() <= 1000
        assert (problem.forced == (problem.table.values == 0)).all()


def test_three_way_tables_have_all_their_totals() -> None:
    inner = np.arange(24).reshape(2, 3, 4)
    table = instances.three_way(inner)
    assert len(table) == 3 * 4 * 5
    assert table.values[table.find()] == inner.sum()
    assert table.values[table.find(c="c1")] == inner[:, 1].sum()
    assert table.values[table.find(r="r1", l="l2")] == inner[1, :, 2].sum()
    assert table.equations.shape[0] == 4 * 5 + 3 * 5 + 3 * 4
    assert protect(instances.three_way_class_one(6, 6, 6, seed=3)).audit.safe


# ---------------------------------------------------------------------- peers


def test_an_answer_of_the_peer_is_priced_and_audited_by_us() -> None:
    problem = instances.class_one(20, 20, seed=0)
    best = protect(problem, "suppress-optimal")
    text, ids = peers.peer_text(problem, 1.0)
    assert text.splitlines()[1] == str(len(problem.table)) == str(len(ids))
    extra = np.flatnonzero(best.pattern.touched(problem) & ~problem.must_hide)
    sensitive = float(problem.weights[problem.must_hide].sum())
    answer = {"code": 0, "seconds": 0.5, "solve_seconds": 0.4, "bound": best.cost + sensitive, "message": ""}
    run = peers.judged(problem, ids, {**answer, "hidden": [ids[cell] for cell in extra]}, 1.0)
    assert (run.status, run.cost, run.bound, run.open_cells) == ("optimal", best.cost, best.cost, 0)
    bare = peers.judged(problem, ids, {**answer, "code": 1, "hidden": [], "bound": None}, 1.0)
    assert (bare.status, bare.cost, bare.bound) == ("time-limit", 0.0, None)
    assert bare.open_cells is not None and bare.open_cells > 0
    assert peers.judged(problem, ids, {**answer, "code": 7, "hidden": []}, 1.0).status == "error: code 7"


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (
            "answer = dict(code=1, seconds=2.5, solve_seconds=-60.0, bound=9.0, hidden=[], message='')",
            "time-limit",
        ),
        ("os.kill(os.getpid(), 11)", "crashed: signal 11"),
        ("raise ValueError('no such thing')", "error: ValueError: no such thing"),
    ],
)
def test_however_the_peer_ends_there_is_a_run(
    lines: str, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "peer.py"
    script.write_text(
        "import json, os, sys\norder = json.load(sys.stdin)\nassert order['minutes'] == 2\n"
        f"assert open(order['folder'] + '/problem.jj').read(1) == '0'\n{lines}\nprint(json.dumps(answer))\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(peers, "environment", lambda name: Path(sys.executable))
    monkeypatch.setattr(peers, "SCRIPT", script)
    monkeypatch.setattr(peers, "LEAST_LARGEST", 5000.0)
    run = peers.pytauargus(instances.class_one(20, 20, seed=0), seconds=61)
    assert run.status == status
    crashed = status.startswith("crashed")
    assert run.scale == (10.0 if crashed else 1.0)
    assert run.crashes == ("crashed: signal 11 at scale 1" if crashed else "")
    if status == "time-limit":
        assert (run.seconds, run.solve_seconds, run.cost, run.bound) == (2.5, 60.0, 0.0, 0.0)


def test_what_is_too_large_for_the_peer_is_scaled_down() -> None:
    problem = instances.class_one(20, 20, seed=0)
    assert peers.first_scale(problem) == 1.0
    cells = peers.peer_text(problem, 1.0)[0].splitlines()[2 : 2 + len(problem.table)]
    scaled = peers.peer_text(problem, 10.0)[0].splitlines()[2 : 2 + len(problem.table)]
    for line, other in zip(cells, scaled, strict=True):
        name, value, weight, status, low, high, *levels = line.split()
        expected = [name, float(value) / 10, float(weight) // 10, status, float(low) / 10, float(high)]
        found = other.split()
        assert [
            found[0],
            float(found[1]),
            float(found[2]),
            found[3],
            float(found[4]),
            float(found[5]),
        ] == expected
        assert [float(text) for text in found[6:]] == [float(level) / 10 for level in levels]


# ---------------------------------------------------------------------- the study

WATCHED: tuple[tuple[Any, str], ...] = (
    (Exact, "search_near"),
    (Exact, "repair"),
    (Exact, "missed"),
    (Exact, "_inside"),
    (Thinner, "run"),
    (freedom.Freedom, "set_bounds"),
    (freedom.Programs, "set_bounds"),
    (integer_phase, "Guess"),
    (study.exact_run, "in_parts"),
    (Twins, "of"),
    (Walk, "_merge"),
)
OPTIMUM = 13922.0
"""Of the small problem; suppress-compact finds the same."""
needs_scip = pytest.mark.skipif(not branching.is_there(), reason="SCIP is not installed")


class Spy:
    """What is called during a run: how often, how often once the integer phase has begun, and where rows are sought."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: dict[str, int] = {}
        self.stages: set[run_state.Stage] = set()
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
    assert spy["integer_phase.Guess"] > 1
    assert spy["Exact.search_near late"] + spy["Exact.repair late"] > 0 and spy["Exact.missed late"] > 0
    assert spy["Thinner.run"] > 0 and spy["Freedom.set_bounds"] > 0 == spy["Programs.set_bounds"]
    assert spy.stages >= {run_state.ROOT_STAGES[0], LAST}
    assert spy["exact_run.in_parts"] == spy["Twins.of"] == 1
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
    assert spies["not in parts"]["exact_run.in_parts"] == spies["no twins"]["Twins.of"] == 0
    calm = spies["no searches in the tree"]
    assert calm["Exact.search_near"] > 0 == calm["Exact.search_near late"] + calm["Exact.repair late"]
    programs = spies["linear programs instead of elimination"]
    assert programs["Freedom.set_bounds"] == 0 < programs["Programs.set_bounds"]
    assert programs["Thinner.run"] > 0
    assert spies["no clean-up by elimination"]["Thinner.run"] == 0
    assert spies["no clean-up by elimination"]["Freedom.set_bounds"] > 0
    assert spies["guess everything at once"]["integer_phase.Guess"] == 1
    assert spies["no merging of patterns"]["Walk._merge"] == 0
    assert spies["guesses that double"]["integer_phase.Guess"] <= spies[study.ALL]["integer_phase.Guess"]
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
        assert run_state.ROOT_STAGES == study.exact_run.ROOT_STAGES == (LAST,)
        assert tree.HARD.stages == tree.LITTLE.stages == (LAST,)
    with study.replaced(*study.VARIANTS["linear programs instead of elimination"].changes):
        assert separation.attack_on is thinning.attack_on is freedom.Programs


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


# ---------------------------------------------------------------------- the report


def test_traces_are_stored_short_and_read_back() -> None:
    trace = [(0.01 * i, None if i == 0 else 500.0 - i, None if i < 5 else float(i)) for i in range(200)]
    points = trace_points(trace_text(trace))
    assert len(points) <= 61
    assert points[0] == (0.0, None, None)
    assert points[-1] == (1.99, 301.0, 199.0)
    assert gap_points("0.10 80 -;0.20 20 10;1.00 60 30;2.00 50 50") == [
        (0.1, 100.0),
        (0.2, 87.5),
        (1.0, 50.0),
        (2.0, 0.0),
    ]


def test_pages_are_written_from_rows_and_come_out_the_same_each_time(tmp_path: Path) -> None:
    results, docs = tmp_path / "results", tmp_path / "docs"
    page = docs / "benchmarks" / "page.md"
    page.parent.mkdir(parents=True)
    names = ("classes", "peer-classes", "growth")
    page.write_text(
        "Before.\n" + "".join(f"<!-- results: {name} -->\n<!-- end of results -->\n" for name in names),
        encoding="utf-8",
    )
    classes = Store(results / "classes.csv")
    base = {"class": "I", "m": 20, "weights": "value", "limit_s": "60"}
    solved = {"status": "optimal", "seconds": 2.0, "levels": "4", "p_tight": True, "proven_1": True}
    classes.put("one", {**base, **solved})
    classes.put(
        "two", {**base, **solved, "seconds": 4.0, "p_tight": False, "proven_1": False, "gap_1_percent": 12.5}
    )
    classes.put("three", {**base, "status": "crashed: signal 11"})
    pairs = Store(results / "peer-classes.csv")
    both = {"class": "II", "m": 50, "name": "a", "cost": 7.0}
    pairs.put(
        "a, us", {**both, "program": OURS, "status": "optimal", "seconds": 0.5, "read_s": 0.5, "limit_s": 60}
    )
    pairs.put(
        "a, peer", {**both, "program": PEER, "status": "time-limit", "seconds": 90, "open": 3, "limit_s": 50}
    )
    Report(results, docs).write()
    text = page.read_text(encoding="utf-8")
    assert text.startswith("Before.\n")
    assert (
        "| 20 | 3 | 2 | 50.0 | 12.50 | 3.00 | 4.00 | 50.0 | 0.0 | 20 of 20 | 15.0 | 21.44 | 22.85 |" in text
    )
    assert "| II | 50 | 1 | 1 of 1 | 1 | 0 | 3 | 0.50 (0.50) | 50.0 (50.0) | 100.0 (100.0) | 50.0 |" in text
    assert "No rows are stored yet." in text.split("results: growth")[1]
    pictures = {path.name: path.read_bytes() for path in docs.rglob("*.svg")}
    assert set(pictures) == {"classes.svg", "peer.svg"}
    Report(results, docs).write()
    assert page.read_text(encoding="utf-8") == text
    assert {path.name: path.read_bytes() for path in docs.rglob("*.svg")} == pictures


def test_the_page_of_the_study_has_a_line_for_each_variant(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "study.md"
    page.parent.mkdir()
    page.write_text("<!-- results: study -->\n<!-- end of results -->\n", encoding="utf-8")
    rows, other = Store(tmp_path / "study.csv"), "no neighbourhoods"
    rows.put("0", {"name": "hier13x7x7d", "variant": other, "limit_s": 120, "status": "crashed: signal 11"})
    done = {"name": "table7", "limit_s": 120, "root_done": True, "root_bound": 2680551.0, "root_s": 1.25}
    rows.put("1", {**done, "variant": other, "status": "time-limit", "gap_percent": 3.199, "seconds": 120.04})
    rows.put("2", {**done, "variant": study.ALL, "status": "optimal", "gap_percent": 0.0, "seconds": 7.26})
    late = {"root_done": False, "root_bound": 0.0, "name": "hier13x7x7d", "root_s": 120.0}
    rows.put("3", {**done, **late, "variant": study.ALL, "status": "time-limit", "gap_percent": 100.0})
    Report(tmp_path, tmp_path / "docs").write()
    assert [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")] == [
        "| variant | table7 | hier13x7x7d |",
        "| all of it | optimal, 7.3 s | 100.00% (120.0 s) |",
        "| no neighbourhoods | 3.20% (120.0 s) | crashed: signal 11 |",
        "| variant | table7 | hier13x7x7d |",
        "| all of it | 2680551 (1.2 s) | 0 (120.0 s) * |",
        "| no neighbourhoods | 2680551 (1.2 s) | – |",
    ]
