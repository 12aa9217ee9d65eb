"""HiGHS, set up and run: no time limit unless one is given, and Ctrl-C is honoured while it works.

Measured with highspy 1.15.1: `run` lets other threads work but no signal reaches Python before it ends, so that long
programs run in a thread of their own while the main thread waits for signals; their callbacks end the solve. The time
limit counts all runs of a solver together where linear programs are concerned, each run of integer programs.

Integer programs look for an interrupt and at the clock only now and then (seconds apart, within heuristics). One that
does not end within a moment, and whose solver is not used again, is left to itself: its thread ends when it looks, and
the process waits for that before it exits.

Work that has no time limit of its own (an audit) can be watched: what `watched` is given is called while a long program
runs, and what it raises ends the solve in the same way.
"""

from __future__ import annotations

import atexit
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import highspy

from tablecloak.progress import Deadline

LONG_RUN = 10_000
"""Linear programs with more nonzeros than this can be interrupted; smaller ones end before a thread would pay."""
WAIT = 0.1
"""Seconds between two looks for signals, on systems where waiting for a lock is not ended by them."""
LEAST_ITERATIONS, ITERATIONS = 10_000, 10
"""A linear program with more simplex iterations, also for each row and column, cycles: seen on mixed scales."""
THREAD = "tablecloak-highs"
"""Name of the thread of a long solve."""

_INTERRUPTS = (
    highspy.cb.HighsCallbackType.kCallbackSimplexInterrupt,
    highspy.cb.HighsCallbackType.kCallbackIpmInterrupt,
    highspy.cb.HighsCallbackType.kCallbackMipInterrupt,
)


class LeftAlone(Exception):
    """A program did not end with its time limit and was left to itself; it has no result."""


class Abandoned(KeyboardInterrupt):
    """An interrupted program did not end and was left to itself; it has no result."""


@dataclass(frozen=True)
class HighsSettings:
    """Untested default."""

    patience: float = 0.2
    """Seconds that a program has to end after an interrupt or its time limit before it is left to itself."""
    short_patience: float = 0.02
    """The same after an interrupt where its point is of no use to the caller."""
    exit_seconds: float = 1.0
    """Maximum number of seconds that the exit of the process waits for programs that were left to themselves."""


SETTINGS = HighsSettings()
_LEFT: list[threading.Thread] = []
"""Threads of programs that were left to themselves."""
_LOOK: ContextVar[Callable[[], None] | None] = ContextVar("look", default=None)


@contextmanager
def watched(look: Callable[[], None]) -> Iterator[None]:
    """Call `look` now and then while long programs run; what it raises ends them."""
    token = _LOOK.set(look)
    try:
        yield
    finally:
        _LOOK.reset(token)


def quiet_highs(**options: Any) -> Any:
    """A silent single-threaded HiGHS with these options."""
    highs = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, "random_seed": 0, **options}.items():
        highs.setOptionValue(name, value)
    return highs


def run(
    highs: Any,
    seconds: float = math.inf,
    *,
    integer: bool = False,
    iterations: int | None = None,
    may_leave: bool = False,
    patience: float | None = None,
) -> Any:
    """Solve the present program within `seconds`, if they are finite; gives the model status.

    Linear programs end with status kIterationLimit after `iterations` of the simplex method, by default after more
    than any takes that does not cycle. KeyboardInterrupt ends the solve and is raised again when it has ended.
    `may_leave`: if it does not end, `Abandoned` is raised instead, and `LeftAlone` where the time limit is not kept;
    the solver must not be used again then. `patience`: seconds that it has to end after an interrupt, if not the usual.
    """
    spent = 0.0 if integer else highs.getRunTime()
    highs.setOptionValue("time_limit", spent + max(seconds, 0.0) if math.isfinite(seconds) else math.inf)
    if not integer:
        usual = max(LEAST_ITERATIONS, ITERATIONS * (highs.getNumRow() + highs.getNumCol()))
        highs.setOptionValue("simplex_iteration_limit", usual if iterations is None else iterations)
    long = integer or highs.getNumNz() > LONG_RUN
    if long and threading.current_thread() is threading.main_thread():
        _run_interruptibly(highs, seconds if may_leave else None, patience)
    else:
        highs.run()
    return highs.getModelStatus()


def run_presolved(highs: Any, seconds: float = math.inf) -> Any:
    """Solve a linear program afresh by presolve, interior point and crossover; options are as before afterwards.

    It solves programs of mixed scales on which the simplex method fails or cycles.
    """
    before = {name: highs.getOptionValue(name)[1] for name in ("presolve", "solver")}
    highs.clearSolver()
    for name, value in {"presolve": "on", "solver": "ipm"}.items():
        highs.setOptionValue(name, value)
    status = run(highs, seconds)
    for name, value in before.items():
        highs.setOptionValue(name, value)
    return status


def _run_interruptibly(highs: Any, seconds: float | None, patience: float | None = None) -> None:
    """Solve in another thread; the main one waits for the end and for signals.

    `seconds`: after these it is left to itself if it does not end; None: it may not be. `patience`: see `run`.
    """
    patience = SETTINGS.patience if patience is None else patience
    late = Deadline.after(None if seconds is None else seconds + SETTINGS.patience)
    ended, stop = threading.Event(), threading.Event()

    def solve() -> None:
        try:
            highs.run()
        finally:
            ended.set()

    def look(kind: Any, message: str, told: Any, answer: Any, data: Any) -> None:
        if stop.is_set():
            answer.user_interrupt = True

    highs.setCallback(look, None)
    for kind in _INTERRUPTS:
        highs.startCallback(kind)
    interrupted: BaseException | None = None
    watch = _LOOK.get()
    worker = threading.Thread(target=solve, daemon=True, name=THREAD)
    worker.start()
    while not ended.is_set():
        try:
            ended.wait(WAIT)
            if watch is not None and not stop.is_set():
                watch()
            if late.passed():
                raise LeftAlone
        except BaseException as signal:  # an interrupt, or what the watch raises
            interrupted = signal
            stop.set()
            if seconds is not None and not ended.wait(patience):
                _leave(worker)
                if isinstance(signal, KeyboardInterrupt):
                    raise Abandoned from signal
                raise
    worker.join()
    for kind in _INTERRUPTS:
        highs.stopCallback(kind)
    if interrupted is not None and not isinstance(interrupted, LeftAlone):
        raise interrupted


def _leave(worker: threading.Thread) -> None:
    """Let a solve that was interrupted end by itself; the process waits a moment for it before it exits."""
    if not _LEFT:
        atexit.register(_join_left)
    _LEFT[:] = [thread for thread in _LEFT if thread.is_alive()] + [worker]


def _join_left() -> None:
    """Wait for programs that were left to themselves, but not for those that never end: they end with the process."""
    until = Deadline.after(SETTINGS.exit_seconds)
    for thread in _LEFT:
        thread.join(until.left)
