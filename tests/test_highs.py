"""HiGHS as it is run: limits only where they are given, interrupts during a solve."""

from __future__ import annotations

import math
import threading

import highspy
import numpy as np
import pytest
from scipy.sparse import csc_array
from scipy.sparse import random as random_matrix

from tablecloak.engines import highs
from tablecloak.engines.lp import model


def covering(rows: int, columns: int, *, whole: bool) -> object:
    """Cheapest columns that cover every row half as much as all columns do."""
    rng = np.random.default_rng(0)
    matrix = csc_array(random_matrix(rows, columns, 0.1, rng=rng))
    half = matrix @ np.full(columns, 0.5)
    lp = model(
        matrix, np.zeros(columns), np.ones(columns), half, np.full(rows, math.inf), rng.random(columns)
    )
    if whole:
        lp.integrality_ = [highspy.HighsVarType.kInteger] * columns
    return lp


def loaded(lp: object) -> highspy.Highs:
    solver = highs.quiet_highs()
    solver.passModel(lp)
    return solver


@pytest.mark.parametrize("whole", [False, True])
def test_a_thread_of_its_own_changes_nothing(whole, monkeypatch):
    lp = covering(40, 80, whole=whole)
    values = []
    for least in (0, 10**9):
        monkeypatch.setattr(highs, "LONG_RUN", least)
        solver = loaded(lp)
        assert highs.run(solver, integer=whole) == highspy.HighsModelStatus.kOptimal
        values.append(np.array(solver.getSolution().col_value))
    assert values[0].tobytes() == values[1].tobytes()


def test_limits_are_those_of_the_run(monkeypatch):
    given = []
    solver = loaded(covering(10, 20, whole=False))
    set_option = solver.setOptionValue
    monkeypatch.setattr(
        solver, "setOptionValue", lambda name, value: (given.append((name, value)), set_option(name, value))
    )
    monkeypatch.setattr(solver, "getRunTime", lambda: 7.0)
    highs.run(solver)
    highs.run(solver, 2.0)
    highs.run(solver, -1.0)
    highs.run(solver, 2.0, integer=True)
    assert given == [("time_limit", limit) for limit in (math.inf, 9.0, 7.0, 2.0)]


@pytest.mark.parametrize("whole", [False, True])
def test_an_interrupt_ends_the_solve_and_is_raised(whole, monkeypatch):
    """The main thread is interrupted while it waits; the solver ends at its next callback."""
    waits = []

    class Ended(threading.Event().__class__):
        def wait(self, timeout=None):
            if threading.current_thread() is threading.main_thread() and timeout == highs.WAIT:
                waits.append(timeout)
                if len(waits) == 1:
                    raise KeyboardInterrupt
            return super().wait(timeout)

    monkeypatch.setattr(highs.threading, "Event", Ended)
    monkeypatch.setattr(highs, "LONG_RUN", 0)
    solver = loaded(covering(200, 600, whole=whole))
    with pytest.raises(KeyboardInterrupt):
        highs.run(solver, integer=whole)
    assert solver.getModelStatus() == highspy.HighsModelStatus.kInterrupt
    assert not [thread for thread in threading.enumerate() if thread.name == highs.THREAD]
    monkeypatch.undo()
    if not whole:
        assert highs.run(solver) == highspy.HighsModelStatus.kOptimal  # it can go on


def test_an_interrupted_solve_that_does_not_end_is_abandoned_where_allowed(monkeypatch):
    """A solver that works without a look at its callbacks: here one that waits until the test lets it go."""
    go, waits = threading.Event(), []

    class Ended(threading.Event().__class__):
        def wait(self, timeout=None):
            if threading.current_thread() is threading.main_thread() and timeout == highs.WAIT:
                waits.append(timeout)
                if len(waits) == 1:
                    raise KeyboardInterrupt
                return self.is_set()
            return super().wait(timeout)

    class Deaf:
        def __getattr__(self, name):
            return lambda *given: 0.0

        def run(self):
            go.wait()

    monkeypatch.setattr(highs.threading, "Event", Ended)
    with pytest.raises(highs.Abandoned):
        highs.run(Deaf(), integer=True, abandon=True)
    assert len(waits) == 2 + highs.SETTINGS.patience
    go.set()
