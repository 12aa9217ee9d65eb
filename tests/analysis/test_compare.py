"""Several methods side by side: the outcomes are those of `protect`, refusals are outcomes, faults come first."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from fixtures import FIXTURES
from tablecloak.analysis import Comparison, MethodOutcome, compare, measures
from tablecloak.auditing import audit
from tablecloak.errors import InputError
from tablecloak.methods import METHODS, Proposal
from tablecloak.model import Problem, Status, Suppression
from tablecloak.protection import protect
from tablecloak.publication import publish
from tablecloak.reports import to_json
from tablecloak.solvers import InterruptibleProcesses
from ways import FAILURES, WAYS, failing

REAL = ["suppress-greedy", "suppress-compact"]


@pytest.fixture
def more_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, method in (WAYS | FAILURES).items():
        monkeypatch.setitem(METHODS, name, method)


def two_way() -> Problem:
    return FIXTURES["two way"]()


def test_it_is_what_protect_gives() -> None:
    problem = two_way()
    found = compare(problem, REAL, seed=3)
    assert [outcome.name for outcome in found.outcomes] == REAL
    for outcome in found.outcomes:
        alone = protect(problem, outcome.method, seed=3)
        assert outcome.result is not None
        assert outcome.result.pattern.hidden.tolist() == alone.pattern.hidden.tolist()
        assert (outcome.status, outcome.cost, outcome.bound, outcome.gap) == (
            alone.status.value,
            alone.cost,
            alone.bound,
            alone.gap,
        )
        assert outcome.open_cells == 0
        assert outcome.touched == alone.pattern.hidden.sum()
        assert outcome.seconds == outcome.result.report.seconds > 0
        assert outcome.trace == outcome.result.report.trace
        assert outcome.measures.vagueness == measures(problem, alone.pattern).vagueness
        assert outcome.kind == "suppression" and outcome.message == ""


def test_rows_of_plain_values(more_ways: None) -> None:
    problem = two_way()
    rows = compare(problem, [*REAL, *WAYS, *FAILURES]).table()
    assert [row["name"] for row in rows] == [*REAL, *WAYS, *FAILURES]
    assert len({tuple(row) for row in rows}) == 1, "the same columns in the same order"
    for row in rows:
        assert all(value is None or type(value) in (str, int, float, bool) for value in row.values())
    by_name = {row["name"]: row for row in rows}
    rounding, greedy = by_name["round-test"], by_name["suppress-greedy"]
    assert (rounding["kind"], greedy["kind"]) == ("rounding", "suppression")
    assert rounding["cells"] == rounding["vague"] == len(problem.table)
    found = measures(problem, protect(problem, "round-test").pattern)
    assert rounding["relative_change_90"] == found.relative_change.ninety
    assert rounding["vagueness_mean"] == found.vagueness.mean
    assert rounding["vagueness_100"] == found.vagueness.largest <= 20.0
    assert rounding["distance_hellinger"] == found.distances.hellinger > 0
    assert rounding["touched_share"] == found.losses.every.share[0]
    assert rounding["value_share"] == found.losses.leaves.value_share[0]
    assert (greedy["unbounded"], greedy["vagueness_50"], greedy["change_100"]) == (
        greedy["touched"],
        None,
        0.0,
    )
    assert by_name["interval-test"]["distance_sum"] is None, "no number is shown"
    assert by_name["no-luck"]["touched"] is None and by_name["no-luck"]["seconds"] >= 0


def test_cells_left_open_are_counted(more_ways: None) -> None:
    problem = two_way()
    found = compare(problem, {"fine": ("round-test", {"step": 1}), "coarse": ("round-test", {"step": 50})})
    assert [outcome.open_cells for outcome in found.outcomes] == [1, 0]
    assert [row["safe"] for row in found.table()] == [False, True]
    assert found["coarse"].params == {"step": 50}
    assert found["coarse"].method == "round-test"


def test_a_refusal_is_an_outcome_in_one_line(more_ways: None) -> None:
    found = compare(two_way(), [*FAILURES, "suppress-greedy"])
    told = {outcome.name: (outcome.status, outcome.message) for outcome in found.outcomes}
    assert told == {
        "no-place": ("not-applicable", "Not this table. It needs another one. Use instead: something."),
        "no-way": ("infeasible", "Nothing protects it."),
        "no-sense": ("wrong-input", "Steps: too small; too odd"),
        "no-luck": ("failed", "The engine broke."),
        "suppress-greedy": ("feasible", ""),
    }
    rows = [{**row, "seconds": None} for row in found.table()]  # the digits of a clock may be any
    assert "4077" not in found.summary() + str(rows) + repr(found)


def test_a_real_refusal() -> None:
    found = compare(FIXTURES["three way"](), ["suppress-three-phase", "suppress-compact"])
    assert [outcome.status for outcome in found.outcomes] == ["not-applicable", "optimal"]
    assert "two-way" in found["suppress-three-phase"].message
    assert found["suppress-three-phase"].measures is None
    assert found["suppress-three-phase"].trace == ()


def test_unexpected_errors_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "broken", failing(ZeroDivisionError("oops")))
    with pytest.raises(ZeroDivisionError):
        compare(two_way(), ["broken"])


@pytest.mark.parametrize(
    ("methods", "faults"),
    [
        (["magic", "suppress-greedy", "supress-compact"], ["'magic'", "did you mean 'suppress-compact'"]),
        (["suppress-greedy", "suppress-greedy"], ["suppress-greedy is asked for twice"]),
        ([], ["no method is named"]),
        ("suppress-greedy", ["methods: got str"]),
        (7, ["methods: got int"]),
        ({"a": "suppress-greedy", "b": ("x", 1)}, ["a: expected (method, parameters)", "b: expected"]),
        (
            {"a": ("suppress-greedy", {"depth": 3, "reweight": "x"}), "b": ("magic", {})},
            ["a: unknown parameter 'depth'", "a: parameter 'reweight'", "there is no method 'magic'"],
        ),
    ],
)
def test_all_faults_are_reported_before_anything_runs(
    methods: Any, faults: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        import_module("tablecloak.analysis.compare"), "protect", lambda *_, **__: pytest.fail("something ran")
    )
    with pytest.raises(InputError) as caught:
        compare(two_way(), methods)
    assert len(caught.value.faults) == len(faults)
    for fault, expected in zip(caught.value.faults, faults, strict=True):
        assert expected in fault
    if isinstance(methods, list):
        assert all(name in caught.value.advice for name in METHODS), "what exists is listed"


def test_a_wrong_problem_or_seed() -> None:
    with pytest.raises(InputError, match="problem must be a Problem"):
        compare(two_way().table, REAL)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="seed"):
        compare(two_way(), REAL, seed=-1)


def test_seconds_are_for_methods_that_take_them(more_ways: None) -> None:
    given = {
        "own": ("suppress-greedy", {"seconds": 7}),
        "shared": ("suppress-greedy", {}),
        "none": ("round-test", {}),
    }
    found = compare(two_way(), given, seconds=60)
    used = [outcome.result.report.params.get("seconds") for outcome in found.outcomes]
    assert used == [7.0, 60.0, None]
    assert found.seconds == 60


def test_exact_widths(more_ways: None) -> None:
    problem = FIXTURES["fifty attackers"]()
    found = compare(problem, ["suppress-greedy", "round-test"], intervals=True)
    for outcome in found.outcomes:
        pattern = outcome.result.pattern
        exact = audit(problem, pattern, intervals=True, every_hidden=True)
        assert outcome.measures.width == measures(problem, pattern, exact).width
    assert "width 50, 90, 100%" in found.summary()
    assert "width 50, 90, 100%" not in compare(problem, ["round-test"]).summary()


def test_progress_says_which_method(more_ways: None) -> None:
    told: list[tuple[Any, ...]] = []
    compare(two_way(), ["round-test"], progress=lambda *row: told.append(row))
    assert ("round-test: making", 1, 2, 3.0, None) in told


def test_the_summary(more_ways: None) -> None:
    found = compare(two_way(), ["suppress-compact", "round-test", "no-place"], seed=5)
    lines = found.summary().splitlines()
    assert lines[0] == "Confidential: 3 methods compared, seed 5"
    assert lines[2].split()[:6] == [
        "suppress-compact",
        "optimal",
        "suppression",
        *[f"{found['suppress-compact'].cost:.6g}"] * 2,
        "0%",
    ]
    assert lines[4].split() == ["no-place", "not-applicable", "-", "-", "-", "-", *lines[4].split()[6:8], "-"]
    assert lines[5].startswith("lost to readers")
    assert lines[6].split()[0] == "suppress-compact" and lines[6].endswith("0%  0%  0%")
    assert lines[8] == f"no-place: {found['no-place'].message}"
    assert len(lines) == 9
    alone = compare(two_way(), ["no-place"]).summary().splitlines()
    assert alone[0] == "Confidential: 1 method compared, seed 0"
    assert len(alone) == 4


# ---------------------------------------------------------------------- suppressions: bounds and cost over time


def with_trace(
    outcome: MethodOutcome, trace: Any, *, name: str, cost: float, bound: float | None
) -> MethodOutcome:
    """The outcome as if its run had gone like this."""
    assert outcome.result is not None
    report = replace(outcome.result.report, trace=tuple(trace), seconds=trace[-1][0])
    result = replace(outcome.result, report=report, cost=cost, bound=bound)
    return replace(outcome, name=name, seconds=trace[-1][0], result=result)


def slow_and_fast() -> Comparison:
    found = compare(two_way(), ["suppress-greedy"])
    slow = [(0.05, None, 10.0), (0.5, 40.0, 30.0), (2.0, 90.0, 20.0), (5.0, 70.0, None), (20.0, 60.0, 48.0)]
    fast = [(0.02, 90.0, None), (0.04, 80.0, None)]
    outcomes = (
        with_trace(found.outcomes[0], slow, name="slow", cost=60.0, bound=48.0),
        with_trace(found.outcomes[0], fast, name="fast", cost=80.0, bound=None),
    )
    return replace(found, outcomes=outcomes)


def test_unfinished_patterns_are_no_costs_and_bounds_never_get_worse() -> None:
    found = slow_and_fast()
    assert found["slow"].history == (
        (0.05, None, 10.0),
        (0.5, None, 30.0),
        (2.0, 90.0, 30.0),
        (5.0, 70.0, 30.0),
        (20.0, 60.0, 48.0),
    )
    assert (
        compare(two_way(), ["suppress-three-phase", "suppress-greedy"])["suppress-greedy"].history[-1][1] > 0
    )


def test_what_was_there_after_so_many_seconds() -> None:
    rows = slow_and_fast().over_time()
    told = {(row["name"], row["seconds"]): (row["cost"], row["bound"]) for row in rows}
    assert told == {
        ("slow", 0.1): (None, 10.0),
        ("slow", 1.0): (None, 30.0),
        ("slow", 10.0): (70.0, 30.0),
        ("slow", 20.0): (60.0, 48.0),
        **{("fast", when): (80.0, None) for when in (0.1, 1.0, 10.0, 20.0)},
    }
    assert [row["cost"] for row in slow_and_fast().over_time([0.01, 0.03])] == [None, None, None, 90.0]


def test_a_bound_that_one_method_proves_holds_for_all_that_hide_cells(more_ways: None) -> None:
    found = slow_and_fast()
    assert found.best_bound == 48.0
    assert [row["best_gap"] for row in found.table()] == pytest.approx([12 / 60, 32 / 80])
    assert "Gaps to that: slow 20%, fast 40%" in found.summary()
    assert [row["gap"] for row in found.table()] == [pytest.approx(12 / 60), None]
    assert found.record()["outcomes"][1]["best_bound"] == 48.0
    mixed = compare(two_way(), ["suppress-compact", "round-test"])
    rounding = mixed.table()[1]
    assert (rounding["best_bound"], rounding["best_gap"], rounding["complementary"]) == (None, None, None)
    assert "costs less" not in mixed.summary(), "one suppression: its own gap says it"
    assert compare(two_way(), ["suppress-greedy", "round-test"]).best_bound is None


def test_cells_hidden_for_the_sake_of_others_are_counted() -> None:
    problem = two_way()
    (row,) = compare(problem, ["suppress-compact"]).table()
    hidden = protect(problem, "suppress-compact").pattern.touched(problem)
    assert row["complementary"] == int((hidden & ~problem.must_hide).sum()) > 0


def test_everything_says_confidential(more_ways: None) -> None:
    found = compare(two_way(), ["round-test", "no-luck"])
    for thing in (found, *found.outcomes, found["round-test"].measures):
        assert repr(thing).startswith("<confidential ")
    assert found.record()["confidential"] is True
    assert found.summary().startswith("Confidential")


def test_the_record_is_strict_json(more_ways: None) -> None:
    found: Comparison = compare(two_way(), ["suppress-greedy", "round-test", "no-luck"], seconds=9)
    read = json.loads(to_json(found.record()))
    assert (read["confidential"], read["seed"], read["seconds"]) == (True, 0, 9)
    first, second, third = read["outcomes"]
    assert first["params"] == {"seconds": 9}
    assert len(first["trace"]) == len(found["suppress-greedy"].trace) > 0
    assert second["cost"] == found["round-test"].cost
    assert (third["cost"], third["trace"], third["message"]) == (None, [], "The engine broke.")


def test_an_outcome_that_there_is_not() -> None:
    with pytest.raises(InputError, match="did you mean 'suppress-greedy'"):
        compare(two_way(), ["suppress-greedy"])["supress-greedy"]


# ---------------------------------------------------------------------- workers


@pytest.fixture(scope="module")
def processes() -> Iterator[InterruptibleProcesses]:
    with InterruptibleProcesses(2) as executor:
        yield executor


def told(found: Comparison) -> list[dict[str, Any]]:
    """The rows and the patterns, without what the clock says."""
    patterns = [outcome.result and outcome.result.pattern.view(found.problem) for outcome in found.outcomes]
    return [
        {
            **row,
            "seconds": None,
            "view": view and [part.tobytes() for part in (view.shown, view.low, view.high)],
        }
        for row, view in zip(found.table(), patterns, strict=True)
    ]


@pytest.mark.parametrize("name", ["two way", "three way"])
def test_workers_give_the_same_bytes(name: str, processes: InterruptibleProcesses) -> None:
    problem = FIXTURES[name]()
    methods = [*REAL, "round-random", "suppress-kelly"]  # in three dimensions the last two are refused
    alone = compare(problem, methods, seed=3, intervals=True)
    assert told(compare(problem, methods, seed=3, intervals=True, executor=processes)) == told(alone)
    with ThreadPoolExecutor(3) as threads:
        side_by_side = compare(problem, methods, seed=3, intervals=True, executor=threads)
    assert told(side_by_side) == told(alone)
    first = side_by_side.outcomes[0].result
    assert first is not None and publish(problem, first), "its audit is about the caller's own problem"


class Interrupting(ThreadPoolExecutor):
    """Threads; the calling one is interrupted once a method has begun, which waits for that."""

    def __init__(self) -> None:
        super().__init__(1)
        self.begun, self.asked = threading.Event(), threading.Event()

    def progress(self, phase: str, done: int, total: int, *figures: float | None) -> None:
        if phase == "methods side by side" and self.begun.wait(60):
            raise KeyboardInterrupt


def waiting(executor: Interrupting, monkeypatch: pytest.MonkeyPatch, found: bool) -> None:
    """A method that waits for an interrupt, and then has a result or none."""

    def method(problem: Problem, *, params: Any, rng: Any, progress: Any) -> Proposal:
        executor.begun.set()
        try:
            while True:
                progress("waiting", 0, 1)
        except KeyboardInterrupt:
            if not found:
                raise
        everything = Suppression.copy_of(~problem.forced)
        return Proposal(everything, Status.INTERRUPTED, "everything")

    monkeypatch.setitem(METHODS, "waits", replace(METHODS["suppress-cox"], function=method))


def test_after_an_interrupt_methods_under_way_end_and_others_do_not_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Interrupting() as executor:
        waiting(executor, monkeypatch, found=True)
        found = compare(two_way(), ["waits", *REAL], progress=executor.progress, executor=executor)
    assert [outcome.status for outcome in found.outcomes] == ["interrupted", "not-run", "not-run"]


def test_an_interrupt_before_any_result_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    with Interrupting() as executor, pytest.raises(KeyboardInterrupt):
        waiting(executor, monkeypatch, found=False)
        compare(two_way(), ["waits", *REAL], progress=executor.progress, executor=executor)


def test_what_an_executor_raises_is_raised() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(RuntimeError, match="shutdown"):
        compare(two_way(), REAL, executor=executor)
