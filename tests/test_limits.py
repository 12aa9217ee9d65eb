"""Limits of time: no clock without one, the limit of a solver only where one is given, statuses of runs that ended."""

from __future__ import annotations

import math
import sys
import time

import highspy
import pytest

from fixtures import FIXTURES
from tablecloak.errors import InfeasibleProblem
from tablecloak.methods import METHODS
from tablecloak.progress import Deadline
from tablecloak.protect import protect
from test_conformance import NO_ROUNDING, protected

UNTIMED = ("tablecloak.methods", "tablecloak.engines", "tablecloak.progress")
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
