"""HiGHS, set up and run: no time limit unless one is given, and Ctrl-C is honoured while it works.

Measured with highspy 1.15.1: `run` lets other threads work but no signal reaches Python before it ends, so that long
programs run in a thread of their own while the main thread waits for signals; their callbacks end the solve. The time
limit counts all runs of a solver together where linear programs are concerned, each run of integer programs.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import highspy

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


def quiet_highs(**options: Any) -> Any:
    """A silent single-threaded HiGHS with these options."""
    highs = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, "random_seed": 0, **options}.items():
        highs.setOptionValue(name, value)
    return highs


def run(
    highs: Any, seconds: float = math.inf, *, integer: bool = False, iterations: int | None = None
) -> Any:
    """Solve the present program within `seconds`, if they are finite; gives the model status.

    Linear programs end with status kIterationLimit after `iterations` of the simplex method, by default after more
    than any takes that does not cycle. KeyboardInterrupt ends the solve and is raised again when it has ended.
    """
    spent = 0.0 if integer else highs.getRunTime()
    highs.setOptionValue("time_limit", spent + max(seconds, 0.0) if math.isfinite(seconds) else math.inf)
    if not integer:
        usual = max(LEAST_ITERATIONS, ITERATIONS * (highs.getNumRow() + highs.getNumCol()))
        highs.setOptionValue("simplex_iteration_limit", usual if iterations is None else iterations)
    long = integer or highs.getNumNz() > LONG_RUN
    if long and threading.current_thread() is threading.main_thread():
        _run_interruptibly(highs)
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


def _run_interruptibly(highs: Any) -> None:
    """Solve in another thread; the main one waits for the end and for signals."""
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
    interrupted: KeyboardInterrupt | None = None
    worker = threading.Thread(target=solve, daemon=True, name=THREAD)
    worker.start()
    while not ended.is_set():
        try:
            ended.wait(WAIT)
        except KeyboardInterrupt as signal:
            interrupted = signal
            stop.set()
    worker.join()
    for kind in _INTERRUPTS:
        highs.stopCallback(kind)
    if interrupted is not None:
        raise interrupted
