"""Limits of time: no clock without one, the limit of a solver only where one is given, statuses of runs that ended."""

from __future__ import annotations

import gc
import math
import sys
import time
import weakref
from dataclasses import replace
from functools import partial
from importlib import import_module

import highspy
import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, NotApplicable, SolverError
from tablecloak.methods import METHODS, Proposal, best_audited, largest_pattern
from tablecloak.methods.base import Run, RunSettings
from tablecloak.methods.feasibility import known_audit
from tablecloak.methods.suppress_auto import AutoSettings, suppress_auto
from tablecloak.methods.timed_audit import audited_first
from tablecloak.model import EVERYTHING, Intervals, Rounding, Status, Suppression
from tablecloak.progress import NEVER, Deadline, TimeUp, silent
from tablecloak.protection import protect
from tablecloak.testing import assert_protected
from test_conformance import NO_ROUNDING, PARAMS, WITHOUT_LIMIT, protected
from tests.methods.heuristics.test_hypercubes import problem_of

highs, judging = (
    import_module(f"tablecloak.{name}") for name in ("solvers.highs.running", "methods.timed_audit")
)
UNTIMED = ("tablecloak.methods", "tablecloak.attacker", "tablecloak.solvers", "tablecloak.progress")
"""Packages that may not read a clock without a limit; `protect` and `audit` report their seconds."""
EVERY_METHOD = pytest.mark.parametrize("method", list(METHODS))


@pytest.fixture
def no_clock(monkeypatch):
    """Clocks that raise where they are read by a method or an engine, and solvers that refuse a finite time limit."""

    def guarded(clock):
        def read():
            caller = sys._getframe(1).f_globals["__name__"]
            assert not caller.startswith(UNTIMED), f"{caller} reads a clock without a limit"
            return clock()

        return read

    for name in ("monotonic", "perf_counter", "time", "process_time", "thread_time"):
        monkeypatch.setattr(time, name, guarded(getattr(time, name)))
    set_option = highspy.Highs.setOptionValue

    def checked(self, name, value):
        assert name != "time_limit" or value == math.inf, "HiGHS got a finite time limit"
        return set_option(self, name, value)

    monkeypatch.setattr(highspy.Highs, "setOptionValue", checked)
    pyscipopt = pytest.importorskip("pyscipopt")

    class Model(pyscipopt.Model):
        def setParam(self, name, value):
            assert name != "limits/time", "SCIP got a time limit"
            return super().setParam(name, value)

    monkeypatch.setattr(pyscipopt, "Model", Model)


@EVERY_METHOD
@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_no_method_reads_a_clock_without_a_limit(method, fixture, no_clock):
    problem = FIXTURES[fixture]()
    if (method, fixture) in NO_ROUNDING:
        with pytest.raises(InfeasibleProblem, match="adds up"):
            protect(problem, method, seed=1)
    else:
        protected(problem, method, fixture, seed=1)


def test_a_deadline_that_never_comes_reads_no_clock(no_clock):
    for deadline in (Deadline.after(None), Deadline.after(math.inf), Deadline.after(None).share(0.5)):
        assert deadline.moment is None and deadline.left == math.inf and not deadline.passed()
        assert deadline.since == 0.0


def test_a_share_of_a_deadline_comes_before_it(monkeypatch):
    monkeypatch.setattr(time, "monotonic", lambda: 100.0)
    deadline = Deadline.after(10.0)
    assert (deadline.left, deadline.share(0.3).left, deadline.since) == (10.0, 3.0, 0.0)
    monkeypatch.setattr(time, "monotonic", lambda: 112.0)
    assert deadline.passed() and (deadline.left, deadline.since) == (0.0, 2.0)


# ---------------------------------------------------------------------- how runs end


class Fuse:
    """A clock that stands still for some looks and then jumps: a deadline passes after exactly this number of looks."""

    def __init__(self, looks):
        self.looks = looks

    def __call__(self):
        self.looks -= 1
        return 0.0 if self.looks >= 0 else 1e6


LOOKS = (1, 5, 20, 80, 320)


@pytest.mark.parametrize("looks", LOOKS)
@pytest.mark.parametrize("fixture", ["two way several", "three way"])
@pytest.mark.parametrize("method", sorted({*METHODS} - WITHOUT_LIMIT))
def test_a_deadline_that_passes_at_any_look(method, fixture, looks, monkeypatch):
    """Safe and honest wherever the time is up: a status, a bound that holds, no error but that there is nothing yet."""
    problem = FIXTURES[fixture]()
    params = {**PARAMS.get(method, {}), "seconds": 1e3}
    monkeypatch.setattr("tablecloak.progress.time.monotonic", Fuse(looks))
    try:
        result = protect(problem, method, params=params)
    except NotApplicable:
        return
    except SolverError as error:
        assert "time was up" in str(error)
        assert method.startswith(("perturb-", "round-", "mixed-"))
        return
    assert result.status in Status
    assert result.report.stopped_by in ("proven", "finished", "time limit")
    assert (result.status is Status.TIME_LIMIT) == (result.report.stopped_by == "time limit")
    assert result.bound is None or result.bound <= result.cost + 1e-9
    if not method.startswith(("perturb-", "round-")):
        assert_protected(problem, result.pattern)


SHOWN = ["round-controlled", "perturb-cell", "perturb-cta", "mixed-joint"]
"""Methods that show numbers; all of them have a result at hand that needs no program."""


@pytest.mark.parametrize("looks", LOOKS)
@pytest.mark.parametrize("method", SHOWN)
def test_numbers_are_there_whenever_the_time_is_up(method, looks, monkeypatch):
    """However soon: no error, and what is returned adds up and is audited."""
    problem = problem_of(0)
    monkeypatch.setattr("tablecloak.progress.time.monotonic", Fuse(looks))
    result = protect(problem, method, params={**PARAMS.get(method, {}), "seconds": 1e3})
    assert result.audit.subject is not None and result.status is not Status.INTERRUPTED
    if not method.startswith("round-"):
        assert result.audit.safe


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 8, 9, 12, 30])
@pytest.mark.parametrize("method", SHOWN)
def test_numbers_are_there_after_an_interrupt(method, count):
    """Interrupted once at any report of progress, within an audit too: a pattern, audited and called interrupted."""
    problem, reports = problem_of(0), []

    def once(phase, done, total, incumbent=None, bound=None):
        reports.append(phase)
        if len(reports) == count:
            raise KeyboardInterrupt

    result = protect(problem, method, params=PARAMS.get(method), progress=once)
    assert result.status in (Status.INTERRUPTED, Status.OPTIMAL) or len(reports) < count
    if not method.startswith("round-"):
        assert result.audit.safe


def test_an_audit_within_a_method_ends_with_the_deadline(monkeypatch):
    """Between reports of progress too, where a long program runs: the solver is watched."""
    problem, looked = FIXTURES["three way"](), []

    def slow(problem, pattern, *, progress, executor):
        with pytest.raises(TimeUp):
            highs._WATCH.get()()
        looked.append(pattern)
        progress("audit", 0, 1)

    monkeypatch.setattr(judging, "audit", slow)
    monkeypatch.setattr("tablecloak.progress.time.monotonic", Fuse(2))
    pattern = Suppression.copy_of(problem.must_hide)
    assert judging.audit_within(problem, pattern, Deadline.after(1.0), lambda *given: None) is None
    assert looked and highs._WATCH.get() is None
    later = Deadline.after(50.0)
    assert judging.audit_within(problem, pattern, Deadline.after(0.0), lambda *given: None) is None
    assert judging.audit_within(problem, pattern, later, lambda *given: None, takes=60.0) is None
    assert len(looked) == 1


@pytest.mark.parametrize("count", [2, 4, 9, 30])
@pytest.mark.parametrize("fixture", ["two way several", "three way"])
@EVERY_METHOD
def test_an_interrupt_at_any_report(method, fixture, count):
    """Interrupted once at any report of progress: nothing, or a pattern that is audited and called interrupted."""
    problem, reports, raised = FIXTURES[fixture](), [], []

    def once(phase, done, total, incumbent=None, bound=None):
        reports.append(phase)
        if len(reports) == count:
            raised.append(phase)
            raise KeyboardInterrupt

    try:
        result = protect(problem, method, params=PARAMS.get(method), progress=once)
    except (NotApplicable, KeyboardInterrupt):
        return
    if raised and raised != ["audit"]:
        assert result.status in (Status.INTERRUPTED, Status.OPTIMAL)
    if not method.startswith(("perturb-", "round-")):
        assert_protected(problem, result.pattern)


def test_status_of_a_run(monkeypatch):
    run = Run(None)
    assert run.status(Status.FEASIBLE) is Status.FEASIBLE
    assert run.status(Status.FEASIBLE, complete=False) is Status.FEASIBLE, "without a limit none was struck"
    assert Run(1000.0).status(Status.FEASIBLE, complete=False) is Status.TIME_LIMIT
    with run.stoppable():
        raise TimeUp
    assert not run.deadline.passed()
    part = run.deadline.share(0.5)
    with run.stoppable():
        raise KeyboardInterrupt
    assert run.deadline.interrupted and part.interrupted and part.left == 0.0
    assert run.status(Status.FEASIBLE) is Status.INTERRUPTED
    assert run.status(Status.OPTIMAL) is Status.OPTIMAL
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    late = Run(1.0)
    monkeypatch.setattr(time, "monotonic", lambda: 2.0)
    assert late.status(Status.FEASIBLE) is Status.TIME_LIMIT
    assert late.deadline.at_least(0.5).left == 0.5
    with pytest.raises(KeyboardInterrupt), NEVER.stoppable():
        raise KeyboardInterrupt


def test_a_run_ends_a_little_before_its_limit(monkeypatch):
    """What is under way then may end within the limit: the audit has all that is allowed beyond it."""
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    assert Run(2.0).deadline.left == pytest.approx(1.92)
    assert Run(60.0).deadline.left == pytest.approx(59.5)
    assert Run(0.0).deadline.left == 0.0 and Run(None).deadline.moment is None
    assert Run(2.0, RunSettings(reserve=0.5)).deadline.left == pytest.approx(1.5)


def test_a_watched_deadline_ends_a_judgement(monkeypatch):
    told = []

    def listen(phase, done, total, incumbent=None, bound=None):
        told.append((phase, done, total, incumbent, bound))

    NEVER.watched(listen)("audit", 1, 2, 3.0, 4.0)
    assert told == [("audit", 1, 2, 3.0, 4.0)] and NEVER.later(1.0) is NEVER
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    deadline = Deadline.after(1.0)
    monkeypatch.setattr(time, "monotonic", lambda: 2.0)
    deadline.later(1.5).watched(listen)("audit", 1, 2)
    with pytest.raises(TimeUp):
        deadline.watched(listen)("audit", 1, 2)
    with deadline.stoppable():
        raise KeyboardInterrupt
    assert deadline.interrupted and deadline.later(0.5).left == 0.5


def test_the_summary_says_that_everything_is_hidden():
    problem = FIXTURES["three way"]()
    result = protect(problem, "suppress-greedy", params={"seconds": 0.0})
    assert EVERYTHING in result.report.notes[0]
    assert EVERYTHING in result.summary(problem).splitlines()[1]
    assert EVERYTHING not in protect(problem, "suppress-greedy").summary(problem)


def test_work_without_a_limit_is_counted():
    problem = FIXTURES["three way"]()
    fast = partial(suppress_auto, settings=AutoSettings(exact_levels=0, small_cells=0))
    result = protect(problem, replace(METHODS["suppress-auto"], function=fast))
    assert (result.status, result.report.stopped_by) == (Status.FEASIBLE, "work limit")
    assert "`seconds` would buy a smaller gap" in result.report.notes[-1]
    proven = protect(problem, "suppress-auto")
    assert (proven.status, proven.report.stopped_by) == (Status.OPTIMAL, "proven")
    assert not proven.report.notes


@pytest.mark.parametrize("method", [name for name in METHODS if name.startswith("suppress")])
def test_everything_hidden_is_the_first_incumbent(method):
    problem = FIXTURES["two way"]()
    reported = []

    def progress(phase, done, total, incumbent=None, bound=None):
        if incumbent is not None:
            reported.append(incumbent)

    protect(problem, method, progress=progress)
    everything = float(problem.weights[~problem.forced & ~problem.must_hide].sum())
    assert reported[0] == pytest.approx(everything)


def test_the_audit_of_everything_hidden_is_made_once(monkeypatch):
    problem = FIXTURES["two way"]()
    protect(problem, "suppress-greedy")
    everything = Suppression.copy_of(largest_pattern(problem))
    calls = []
    monkeypatch.setattr(judging, "audit", lambda *given, **options: calls.append(given))
    assert known_audit(problem, everything).safe
    result = protect(problem, "suppress-greedy", params={"seconds": 0.0})
    assert result.audit.subject == (problem, result.pattern)
    assert not calls
    assert known_audit(problem, Suppression.copy_of(~everything.hidden)) is None
    low = np.where(everything.hidden, -np.inf, problem.table.values)
    endless = Intervals(low, np.where(everything.hidden, np.inf, problem.table.values))
    known, made = known_audit(problem, endless), audit(problem, endless)
    assert known is not None and known.safe and known.subject == (problem, endless)
    assert np.array_equal(known.cells, made.cells) and np.array_equal(known.safe_rows, made.safe_rows)
    some = int(np.flatnonzero(everything.hidden)[0])
    low[some] = 0.0
    assert known_audit(problem, Intervals(low, endless.high)) is None
    assert known_audit(replace(problem), everything) is None


def test_audits_that_are_kept_do_not_keep_their_problem():
    problem = FIXTURES["two way"]()
    largest_pattern(problem)
    gone = weakref.ref(problem)
    del problem
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(("share", "engine"), [(0.0, "first"), (1e9, "last")])
def test_an_interrupted_run_has_the_time_of_one_audit(share, engine):
    """The last proposal if it is audited in time, else the first, which was audited when it was found."""
    problem = FIXTURES["two way"]()
    shown = problem.table.values
    wide, wider = (Rounding.of(shown, np.full(shown.size, reach)) for reach in (50.0, 60.0))
    run = Run(None)
    first = audited_first(problem, run, silent, lambda: Proposal(wide, Status.FEASIBLE, "first"))
    assert first is not None and first.status is Status.INTERRUPTED
    last = Proposal(wider, Status.INTERRUPTED, "last", earlier=first)
    settings = RunSettings(last_audit=share)
    proposal, verdict = best_audited(problem, last, silent, settings=settings)
    assert proposal.engine == engine and verdict.subject == (problem, proposal.pattern)
    finished = replace(last, status=Status.FEASIBLE)
    assert best_audited(problem, finished, silent, settings=settings)[0] is finished, (
        "only after an interrupt"
    )


def test_a_first_proposal_is_audited_at_once_only_without_a_limit():
    problem = FIXTURES["two way"]()
    first = Proposal(
        Rounding.of(problem.table.values, np.full(len(problem.table), 50.0)), Status.FEASIBLE, ""
    )
    assert audited_first(problem, Run(60.0), silent, lambda: first) is None
    run = Run(None)
    run.interrupt()
    assert run.deadline.interrupted and audited_first(problem, run, silent, lambda: first) is None


@pytest.mark.parametrize(
    "method", ["suppress-auto", "suppress-optimal", "suppress-greedy", "interval-partial"]
)
def test_an_interrupt_within_the_first_audit_does_not_lose_it(method):
    """Everything hidden is the result of a run that was interrupted before it had a pattern."""
    problem, seen = FIXTURES["three way"](), []

    def interrupt_once(phase, done, total, incumbent=None, bound=None):
        seen.append(phase)
        if len(seen) == 2:
            raise KeyboardInterrupt

    result = protect(problem, method, progress=interrupt_once)
    assert result.status is Status.INTERRUPTED and result.audit.safe
    assert any(EVERYTHING in note for note in result.report.notes)
