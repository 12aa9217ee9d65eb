"""HiGHS as it is run: limits only where they are given, interrupts during a solve."""

from __future__ import annotations

import math
import threading

import highspy
import numpy as np
import pytest
from scipy.sparse import csc_array
from scipy.sparse import random as random_matrix

from tablecloak.progress import Background
from tablecloak.solvers.highs import HighsSettings
from tablecloak.solvers.highs import running as highs
from tablecloak.solvers.highs.linear_programs import highs_model


def test_statuses_have_the_numbers_of_highs():
    for status in highs.ModelStatus:
        assert status == int(getattr(highspy.HighsModelStatus, status.name))


def covering(rows: int, columns: int, *, whole: bool) -> object:
    """Cheapest columns that cover every row half as much as all columns do."""
    rng = np.random.default_rng(0)
    matrix = csc_array(random_matrix(rows, columns, 0.1, rng=rng))
    half = matrix @ np.full(columns, 0.5)
    bounds, integral = (np.zeros(columns), np.ones(columns)), np.full(columns, whole)
    return highs_model(matrix, bounds, (half, np.full(rows, math.inf)), rng.random(columns), integral)


def loaded(lp: object) -> highspy.Highs:
    solver = highs.new_highs()
    solver.passModel(lp)
    return solver


@pytest.mark.parametrize("whole", [False, True])
def test_a_thread_of_its_own_changes_nothing(whole):
    lp = covering(40, 80, whole=whole)
    values = []
    for least in (0, 10**9):
        solver, settings = loaded(lp), HighsSettings(long_run=least)
        assert highs.run(solver, integer=whole, settings=settings) == highspy.HighsModelStatus.kOptimal
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
    assert [value for name, value in given if name == "time_limit"] == [math.inf, 9.0, 7.0, 2.0]
    assert [name for name, _ in given].count("simplex_iteration_limit") == 3, "not that of integer programs"


@pytest.mark.parametrize("whole", [False, True])
def test_an_interrupt_ends_the_solve_and_is_raised(whole, monkeypatch):
    """The main thread is interrupted while it waits; the solver ends at its next callback."""
    waits = []

    class Interrupted(Background):
        def wait(self, seconds):
            waits.append(self)
            if len(waits) == 2:
                raise KeyboardInterrupt
            return super().wait(0.0 if len(waits) == 1 else seconds)

    monkeypatch.setattr(highs, "Background", Interrupted)
    solver = loaded(covering(200, 600, whole=whole))
    with pytest.raises(KeyboardInterrupt):
        highs.run(solver, integer=whole, settings=HighsSettings(long_run=0))
    assert solver.getModelStatus() == highspy.HighsModelStatus.kInterrupt
    assert all(solving.ended for solving in waits)
    monkeypatch.undo()
    if not whole:
        assert highs.run(solver) == highspy.HighsModelStatus.kOptimal  # it can go on


def test_an_interrupted_integer_program_may_be_left_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not look for interrupts: the interrupt is raised at once, and its thread ends later."""
    go_on, begun = threading.Event(), threading.Event()

    class Deaf:
        def run(self) -> None:
            begun.set()
            go_on.wait(60)

        def setOptionValue(self, *given: object) -> None: ...

        def getModelStatus(self) -> None: ...

        setCallback = startCallback = stopCallback = setOptionValue

    def look() -> None:
        begun.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(highs, "_ABANDONED", [])
    monkeypatch.setattr(highs.atexit, "register", lambda work: None)
    with highs.watched(look), pytest.raises(KeyboardInterrupt):
        highs.run(Deaf(), integer=True, may_abandon=True)
    (solving,) = highs._ABANDONED
    assert not solving.ended
    go_on.set()
    highs._join_abandoned(1.0)
    assert solving.ended


def test_a_program_that_does_not_keep_its_time_limit_is_left_to_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on = threading.Event()

    class Deaf:
        def run(self) -> None:
            go_on.wait(60)

        def setOptionValue(self, *given: object) -> None: ...

        setCallback = startCallback = stopCallback = setOptionValue

    monkeypatch.setattr(highs, "_ABANDONED", [])
    monkeypatch.setattr(highs.atexit, "register", lambda work: None)
    with pytest.raises(highs.Overrun):
        highs.run(Deaf(), 0.0, integer=True, may_abandon=True, settings=HighsSettings(patience=0.0))
    go_on.set()
    highs._join_abandoned(1.0)


def test_the_exit_of_the_process_does_not_wait_for_a_program_that_never_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    end = threading.Event()
    endless = Background(end.wait)
    monkeypatch.setattr(highs, "_ABANDONED", [endless])
    highs._join_abandoned(0.0)
    assert not endless.ended
    end.set()
    assert endless.wait(10.0)
