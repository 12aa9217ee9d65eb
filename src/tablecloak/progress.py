"""Progress and limits: one small protocol that doors draw, and deadlines that an interrupt brings forward."""

from __future__ import annotations

import _thread
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

Found = TypeVar("Found")
Item = TypeVar("Item")


class Progress(Protocol):
    """Called now and then by anything that may take long."""

    def __call__(
        self, phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None: ...


def silent(
    phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
) -> None:
    """Report nothing."""


class TimeUp(Exception):
    """A deadline passed within a judgement that cannot be cut short: its result would be wrong."""


@dataclass
class Interrupt:
    """Whether the user interrupted a run; the deadlines that share it have passed then."""

    raised: bool = False


@dataclass(frozen=True)
class Deadline:
    """A moment after which long work should stop; without seconds it comes with an interrupt only.

    Without seconds no clock is read: results depend on a clock only where a limit was given.
    """

    moment: float | None
    interrupt: Interrupt | None = field(default=None, compare=False)

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """The deadline after this number of seconds; none for None or an infinite number."""
        limited = seconds is not None and math.isfinite(seconds)
        return cls(time.monotonic() + seconds if seconds is not None and limited else None, Interrupt())

    def share(self, part: float) -> Deadline:
        """The deadline of a step that may take this part of the seconds left; never, if this one never comes."""
        return self if self.moment is None else Deadline(time.monotonic() + part * self.left, self.interrupt)

    def at_least(self, seconds: float) -> Deadline:
        """The deadline, or one in a few seconds if less is left: for steps without which there is no result at all."""
        return self if self.left >= seconds else Deadline.after(seconds)

    def later(self, seconds: float) -> Deadline:
        """The deadline a few seconds later, also after an interrupt: for judging what was found by then."""
        if self.interrupted:
            return Deadline.after(seconds)
        return self if self.moment is None else Deadline(self.moment + seconds, self.interrupt)

    def earlier(self, seconds: float) -> Deadline:
        """The deadline some seconds earlier: what comes after the work that it ends has these; the same without one."""
        return self if self.moment is None else Deadline(self.moment - seconds, self.interrupt)

    def passed(self) -> bool:
        """Whether the moment has come, or the user has interrupted."""
        return self.interrupted or (self.moment is not None and time.monotonic() >= self.moment)

    @property
    def interrupted(self) -> bool:
        """Whether the user has interrupted."""
        return self.interrupt is not None and self.interrupt.raised

    @property
    def stops(self) -> bool:
        """Whether there is a limit of time, or the user has interrupted."""
        return self.moment is not None or self.interrupted

    @property
    def left(self) -> float:
        """Seconds left; infinite without a limit, zero after an interrupt."""
        if self.interrupted:
            return 0.0
        return math.inf if self.moment is None else max(0.0, self.moment - time.monotonic())

    @property
    def since(self) -> float:
        """Seconds since the moment; zero before it and without a limit."""
        return 0.0 if self.moment is None else max(0.0, time.monotonic() - self.moment)

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Work that an interrupt or a passed deadline may end: what was found by then remains."""
        try:
            yield
        except KeyboardInterrupt:
            if self.interrupt is None:
                raise
            self.interrupt.raised = True
        except TimeUp:
            pass

    def check(self) -> None:
        """Raise `TimeUp` if the moment has come, or the user has interrupted."""
        if self.passed():
            raise TimeUp

    def watched(self, progress: Progress) -> Progress:
        """Progress that raises `TimeUp` once the moment has come: for a judgement that is of no use when it is late."""

        def told(
            phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
        ) -> None:
            progress(phase, done, total, incumbent, bound)
            self.check()

        return told


def done_again(work: Callable[[], Found]) -> tuple[Found, bool]:
    """What short work gives, done again where an interrupt ended it; without a thread, else as `uninterrupted`."""
    try:
        return work(), False
    except KeyboardInterrupt:
        return work(), True


def in_turn(
    items: Sequence[Item], phase: str, progress: Progress, deadline: Deadline, every: int = 64
) -> Iterator[Item]:
    """The items one after the other until the deadline passes, each `every`-th of them reported."""
    for number, item in enumerate(items):
        if deadline.passed():
            return
        if number % every == 0:
            progress(phase, number, len(items))
        yield item


class Background:
    """Work in a thread of its own, which no interrupt of the main thread ends or leaves undone.

    Threads and locks are those of `_thread`, whose calls are one step each: an interrupt within the Python code of
    `threading.Thread.start` or `threading.Event.wait` can leave locks behind that break later threads.
    """

    def __init__(self, work: Callable[[], object]) -> None:
        self._work, self._begun, self._ended = work, list[bool](), list[bool]()
        self._once, self._running = _thread.allocate_lock(), _thread.allocate_lock()
        self._running.acquire()

    @property
    def ended(self) -> bool:
        """Whether the work is done."""
        return bool(self._ended)

    def wait(self, seconds: float) -> bool:
        """Start the thread if it has not begun, wait for its end, at most so long; return whether it has ended."""
        if not self._begun:
            _thread.start_new_thread(copy_context().run, (self.run,))
        if not self._ended and self._running.acquire(timeout=seconds):
            self._running.release()  # for the next one who waits
        return self.ended

    def run(self) -> None:
        """Do the work, unless another thread does: an interrupt within the start of the thread starts two."""
        threading.current_thread()  # so that `threading.enumerate` has this thread: the end of a command looks there
        self._begun.append(True)
        if self._once.acquire(blocking=False):
            try:
                self._work()
            finally:
                self._ended.append(True)
                self._running.release()


def uninterrupted(work: Callable[[], Found], wait: float = 0.1) -> tuple[Found, bool]:
    """The result of work that an interrupt does not end, and whether there was one; a second one is raised.

    The work has a thread of its own, since only the main thread is interrupted. One that is raised within the work, by
    the progress of a caller, has ended it: then it is done again. `wait`: seconds between two checks for signals, on
    systems where these do not end the wait for a thread.
    """
    found, interrupted = list[Found | BaseException](), False

    def keep() -> None:
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    background = Background(keep)
    if threading.current_thread() is not threading.main_thread():
        background.run()
    while not background.ended:
        try:
            background.wait(wait)
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
    if isinstance(found[0], KeyboardInterrupt) and not interrupted:
        return work(), True
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0], interrupted


NEVER = Deadline(None)
"""No deadline, and no interrupt."""
