"""The frame of the one-by-one heuristics, with builders made for the purpose."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.analysis.lower_bounds import relaxation_p
from tablecloak.auditing import audit, exposure
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable, UnsafePublication
from tablecloak.methods import Method
from tablecloak.methods.heuristics import FIRST_KEPT, OneByOneParams, Own, one_by_one
from tablecloak.methods.heuristics.sequential import NOT_REPAIRED, UNFINISHED
from tablecloak.model import Status
from tablecloak.protection import protect
from tablecloak.publication import publish
from tablecloak.testing import assert_protected, random_problem


def method_of(build):
    """A method that builds its own pattern like this."""

    def run(problem, *, params, rng, progress):
        return one_by_one(problem, params, rng, progress, build, "a test")

    return Method(run, OneByOneParams, "a test", "none")


def nothing(requests):
    return Own(requests.hidden.copy(), {"asked": requests.cells.size})


def everything(requests):
    return Own(requests.allowed.copy())


@pytest.mark.parametrize("fixture", sorted(FIXTURES))
@pytest.mark.parametrize("build", [nothing, everything])
def test_any_pattern_is_made_safe_and_minimal(fixture, build):
    problem = FIXTURES[fixture]()
    result = protect(problem, method_of(build))
    assert_protected(problem, result.pattern)
    rough = protect(problem, method_of(build), params={"clean_up": False})
    assert_protected(problem, rough.pattern)
    assert result.cost <= rough.cost + 1e-9
    counters = result.report.counters
    assert counters["own cost"] == (rough.cost if build is everything else 0)
    assert (counters["own open cells"] > 0) == (build is nothing and counters["added by repair"] > 0)


def test_cells_come_in_the_order_that_was_asked_for():
    problem = FIXTURES["two way several"]()
    seen = {}

    def watching(requests):
        seen["cells"] = requests.cells
        return nothing(requests)

    def asked(**params):
        protect(problem, method_of(watching), params=params, seed=3)
        return seen["cells"]

    sensitive = np.flatnonzero(problem.sensitive)
    value = problem.table.values
    assert (asked(order="given") == sensitive).all()
    assert (np.diff(value[asked(order="value")]) <= 0).all()
    assert (np.diff(value[asked(order="small")]) >= 0).all()
    assert (np.diff(np.maximum(problem.levels.lower, problem.levels.upper)[asked(order="level")]) <= 0).all()
    for order in ("level", "value", "small", "given", "random"):
        assert sorted(asked(order=order)) == sorted(sensitive)
    for name in ("E", "D", "K1", "K3", "K5"):
        assert set(asked(levels=name)) == set(exposure(problem).algorithms[name])


def test_several_starts_keep_the_cheapest():
    def some_at_random(requests):
        hidden = requests.hidden.copy()
        free = np.flatnonzero(requests.allowed & ~hidden)
        hidden[requests.rng.choice(free, size=min(6, free.size), replace=False)] = True
        return Own(hidden)

    problem = FIXTURES["three way"]()
    one, many = (protect(problem, method_of(some_at_random), params={"starts": n}, seed=5) for n in (1, 6))
    assert many.cost <= one.cost


@pytest.mark.parametrize("kind", ["two-way", "hierarchical", "three-way"])
def test_what_a_bound_hides_whole_is_hidden_first_and_the_bound_is_told(kind):
    told = 0
    for number in range(8):
        problem = random_problem(kind, np.random.default_rng(number))
        try:
            result = protect(problem, method_of(nothing), params={"initial": "bound"})
        except InfeasibleProblem:
            continue
        assert result.bound is not None
        assert result.bound <= result.cost + 1e-9
        assert result.bound <= relaxation_p(problem).value + 1e-6 * max(1.0, result.cost)
        told += result.bound > 0
    assert told


def test_faults_are_told_together_and_a_bound_on_touched_cells_is_refused():
    problem = FIXTURES["two way"]()
    with pytest.raises(InputError) as caught:
        protect(
            problem, method_of(nothing), params={"order": "x", "levels": "y", "initial": "z", "starts": 0}
        )
    assert len(caught.value.faults) == 4
    with pytest.raises(NotApplicable):
        protect(replace(problem, most_touched=3), method_of(nothing))


def test_without_time_everything_is_hidden_and_the_note_says_so():
    problem = FIXTURES["three way"]()
    result = protect(problem, method_of(nothing), params={"seconds": 0.0})
    assert result.status is Status.TIME_LIMIT
    assert_protected(problem, result.pattern)
    assert "stopped before" in result.report.notes[0]


def test_a_builder_that_is_cut_short_gives_way_to_a_cheaper_first_pattern(monkeypatch):
    """Only then: a builder that comes to its end has its own pattern returned, whatever it costs."""
    problem = FIXTURES["three way"]()
    moments = iter(range(10**6))
    monkeypatch.setattr("tablecloak.progress.time.monotonic", lambda: float(next(moments)))

    def late(requests):
        while not requests.deadline.passed():
            pass
        return everything(requests)

    params = {"clean_up": False, "seconds": 1e4}
    stopped = protect(problem, method_of(late), params=params)
    assert stopped.status is Status.TIME_LIMIT
    assert FIRST_KEPT in stopped.report.notes
    whole = protect(problem, method_of(everything), params={"clean_up": False})
    assert whole.status is Status.FEASIBLE and stopped.cost < whole.cost
    assert_protected(problem, stopped.pattern)


def test_a_builder_that_is_cut_short_is_completed_by_the_first_pattern_without_an_audit(monkeypatch):
    """An audit of what it had by then, with many open cells, could take longer than the time that is left."""
    problem = FIXTURES["three way"]()
    moments, audited = iter(range(10**6)), []
    monkeypatch.setattr("tablecloak.progress.time.monotonic", lambda: float(next(moments)))

    def counted(judge, *given, **named):
        audited.append(given)
        return judge(*given, **named)

    for module, name in (("sequential", "audit_within"), ("initial_pattern", "audit")):
        where = import_module(f"tablecloak.methods.heuristics.{module}")
        monkeypatch.setattr(where, name, partial(counted, getattr(where, name)))

    def late(requests):
        while not requests.deadline.passed():
            pass
        return nothing(requests)

    stopped = protect(problem, method_of(late), params={"seconds": 1e4})
    assert stopped.status is Status.TIME_LIMIT
    assert len(audited) == 1, "the one before the first attempt"
    assert "own open cells" not in stopped.report.counters
    assert_protected(problem, stopped.pattern)


def test_a_late_run_whose_pattern_is_dearer_than_the_first_returns_the_first(monkeypatch):
    """The builder comes to its end in time, the rest does not: everything hidden is no result then."""
    problem = FIXTURES["three way"]()
    clock = [0.0]
    monkeypatch.setattr("tablecloak.progress.time.monotonic", lambda: clock[0])
    where = import_module("tablecloak.methods.heuristics.sequential")
    judge = where.audit_within

    def slow(*given):
        found = judge(*given)
        clock[0] = 1e6
        return found

    monkeypatch.setattr(where, "audit_within", slow)
    stopped = protect(problem, method_of(everything), params={"clean_up": False, "seconds": 1e4})
    assert stopped.status is Status.TIME_LIMIT
    assert FIRST_KEPT in stopped.report.notes
    assert_protected(problem, stopped.pattern)


def test_an_audit_that_takes_too_long_gives_way_to_the_first_pattern(monkeypatch):
    """Proofs that many cells are open can take long: the audit of the own pattern has a share of the time."""
    problem, given = FIXTURES["three way"](), []
    where = import_module("tablecloak.methods.heuristics.sequential")

    def too_long(problem, pattern, deadline, progress):
        given.append(deadline)

    monkeypatch.setattr(where, "audit_within", too_long)
    stopped = protect(problem, method_of(nothing), params={"seconds": 1e4})
    assert len(given) == 1 and given[0].left < 1e4 / 2
    assert stopped.status is Status.TIME_LIMIT
    assert_protected(problem, stopped.pattern)


@pytest.mark.parametrize("build", [nothing, everything])
@pytest.mark.parametrize("kind", ["two-way", "hierarchical", "linked"])
def test_without_repair_the_own_pattern_comes_back_with_what_it_leaves_open(kind, build):
    """It is judged like any other: unsafe is unsafe, and nothing is published from it by mistake."""
    problem = random_problem(kind, np.random.default_rng(3))
    result = protect(problem, method_of(build), params={"repair": False})
    found = audit(problem, result.pattern)
    assert result.audit.open_cells.tolist() == found.open_cells.tolist()
    assert result.audit.safe == found.safe
    assert NOT_REPAIRED in result.report.notes
    assert result.report.counters["own cells"] == int(result.pattern.hidden.sum())
    if build is nothing:
        assert (result.pattern.hidden == problem.must_hide).all()
        assert not result.audit.safe
        assert "NOT SAFE" in result.summary(problem)
        with pytest.raises(UnsafePublication):
            publish(problem, result)
    else:
        assert result.audit.safe


def test_without_repair_a_limit_is_a_status_and_a_note():
    problem = random_problem("three-way", np.random.default_rng(3))

    def slow(requests):
        while not requests.deadline.passed():
            pass
        return nothing(requests)

    result = protect(problem, method_of(slow), params={"repair": False, "seconds": 0.05})
    assert result.status is Status.TIME_LIMIT
    assert {NOT_REPAIRED, UNFINISHED} <= set(result.report.notes)
