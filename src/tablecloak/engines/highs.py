"""HiGHS, set up and run: no time limit unless one is given, and Ctrl-C is honoured while it works.

Measured with highspy 1.15.1: `run` lets other threads work but no signal reaches Python before it ends, so that long
programs run in a thread of their own while the main thread waits for signals; their callbacks end the solve. The time
limit counts all runs of a solver together where linear programs are concerned, each run of integer programs.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Any

import highspy

LONG_RUN = 10_000
"""Linear programs with more nonzeros than this can be interrupted; smaller ones end before a thread would pay."""
WAIT = 0.1
"""Seconds between two looks for signals, on systems where waiting for a lock is not ended by them."""
THREAD = "tablecloak-highs"
"""Name of the thread of a long solve."""


@dataclass(frozen=True)
class InterruptSettings:
    """How long an interrupted solve is waited for."""

    patience: int = 5
    """Number of waits of `WAIT` seconds before a solve is abandoned: HiGHS sets up large integer programs for minutes
    without a look at its callbacks. The thread ends at its next look."""


SETTINGS = InterruptSettings()


class Abandoned(KeyboardInterrupt):
    """An interrupted solve that did not end: its solver still works and must not be used any more."""


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


def run(highs: Any, seconds: float = math.inf, *, integer: bool = False, abandon: bool = False) -> Any:
    """Solve the present program within `seconds`, if they are finite; gives the model status.

    KeyboardInterrupt ends the solve and is raised again when it has ended. With `abandon` a solve that does not end
    soon is left to itself (`Abandoned`): the caller must not use this solver any more.
    """
    spent = 0.0 if integer else highs.getRunTime()
    highs.setOptionValue("time_limit", spent + max(seconds, 0.0) if math.isfinite(seconds) else math.inf)
    long = integer or highs.getNumNz() > LONG_RUN
    if long and threading.current_thread() is threading.main_thread():
        _run_interruptibly(highs, SETTINGS.patience if abandon else None)
    else:
        highs.run()
    return highs.getModelStatus()


def _run_interruptibly(highs: Any, patience: int | None) -> None:
    """Solve in another thread; the main one waits for the end and for signals.

    `patience`: the maximum number of waits after a signal; None: until the end.
    """
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
            if interrupted is not None and patience is not None:
                patience -= 1
                if patience < 0:
                    raise Abandoned from interrupted
        except Abandoned:
            raise
        except KeyboardInterrupt as signal:
            interrupted = signal
            stop.set()
    worker.join()
    for kind in _INTERRUPTS:
        highs.stopCallback(kind)
    if interrupted is not None:
        raise interrupted
