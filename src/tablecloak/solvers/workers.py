"""Independent work on the executor that a caller hands in; without one it is done here, one task after the other.

Nothing is scheduled here. Tasks are fixed by the caller's settings and share nothing, results are combined in the order
of the tasks: they are the same whatever the executor and however many workers it has. Threads suit tasks that spend
their time in HiGHS or in compiled kernels, which let other threads run; processes suit whole methods.

An exception in the calling thread (Ctrl-C, a passed deadline) or in a task cancels the tasks that wait and stops those
under way at their next check. Other processes share no memory with the caller: `InterruptibleProcesses` are told by an
event; tasks under way in a plain pool of processes end by themselves, and are not waited for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from tablecloak.solvers.highs import check_watch, watched

Task = TypeVar("Task")
Found = TypeVar("Found")
Tick = Callable[[int], None]
"""Called now and then with the number of questions settled since: it reports, and raises where the work should end."""


@dataclass(frozen=True)
class WorkerSettings:
    """How a caller waits for its workers."""

    wait: float = 0.1
    """Seconds between two checks of deadlines and signals. Untested default."""


SETTINGS = WorkerSettings()


class Stopped(Exception):
    """The caller of a task does not want its result any more."""


_INTERRUPT: ContextVar[Any] = ContextVar("interrupt")
"""In a worker process: the event by which its parent interrupts all of them."""


class Stop:
    """Whether the tasks of one call should end. A copy in another process goes by the event of its parent."""

    def __init__(self, event: Any = None) -> None:
        self._event = threading.Event() if event is None else event

    def set(self) -> None:
        """End the tasks at their next check."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether they should end."""
        return bool(self._event.is_set())

    def check(self) -> None:
        """Raise `Stopped` if they should end."""
        if self.is_set():
            raise Stopped

    def __reduce__(self) -> tuple[Callable[[], Stop], tuple[()]]:
        return _elsewhere, ()


def _elsewhere() -> Stop:
    """What a worker process takes for the caller's `Stop`."""
    return Stop(_INTERRUPT.get(None))


class InterruptibleProcesses(ProcessPoolExecutor):
    """Processes whose tasks end at their next check after `interrupt`, and that end with the process that made them.

    They pass over Ctrl-C: whoever made them gets it, and decides.
    """

    def __init__(self, count: int) -> None:
        from multiprocessing import get_context

        context = get_context("spawn")
        self._interrupt = context.Event()
        super().__init__(count, context, initializer=_begin, initargs=(self._interrupt,))

    def interrupt(self) -> None:
        """End all tasks under way; there is no way back."""
        self._interrupt.set()


def _begin(interrupt: Any) -> None:
    """The beginning of a worker process."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _INTERRUPT.set(interrupt)
    threading.Thread(target=_end_with_parent, daemon=True, name="tablecloak-parent").start()


def _end_with_parent() -> None:
    """End this process when its parent is gone, however that ended."""
    import os
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def mapped(
    executor: Executor | None,
    work: Callable[[Task, Tick], Found],
    tasks: Sequence[Task],
    tick: Tick,
    settings: WorkerSettings = SETTINGS,
) -> list[Found]:
    """What `work(task, tick)` gives for every task, in their order.

    A single task is done here: it would only wait for itself. `tick` is called by this thread only. For executors of
    other processes `work` is a function of a module, and tasks and results can be pickled.
    """
    if executor is None or len(tasks) < 2:
        return [work(task, tick) for task in tasks]
    stop, futures = Stop(), list[Future[tuple[Found, int]]]()
    try:
        for task in tasks:
            futures.append(executor.submit(_done, work, task, stop))
        return [_awaited(future, tick, settings.wait) for future in futures]
    except BaseException:
        stop.set()
        for future in futures:
            future.cancel()
        raise


def _done(work: Callable[[Task, Tick], Found], task: Task, stop: Stop) -> tuple[Found, int]:
    """The result of a task in a worker, and the number of questions that it settled."""
    settled = 0

    def tick(more: int) -> None:
        nonlocal settled
        settled += more
        stop.check()

    with watched(stop.check):
        return work(task, tick), settled


def _awaited(future: Future[tuple[Found, int]], tick: Tick, wait: float) -> Found:
    """The result of a future; until it is there, this thread reports, and checks for signals and deadlines."""
    while True:
        try:
            found, settled = future.result(wait)
        except TimeoutError:
            if future.done():  # it is there by now, or the task itself raised this
                found, settled = future.result()
            else:
                check_watch()
                tick(0)
                continue
        tick(settled)
        return found
