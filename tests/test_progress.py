"""Deadlines and interrupts: work that an interrupt does not end."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType

import pytest

from tablecloak.progress import uninterrupted

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent to the process")


def interrupt_main() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_the_result_of_work_that_nobody_interrupts():
    assert uninterrupted(lambda: 7) == (7, False)
    with pytest.raises(ValueError, match="wrong"):
        uninterrupted(lambda: int("wrong"))


@POSIX
def test_an_interrupt_does_not_end_the_work_and_is_told():
    runs = []

    def work() -> str:
        runs.append(1)
        interrupt_main()
        time.sleep(0.2)
        return "done"

    assert uninterrupted(work) == ("done", True) and len(runs) == 1


@POSIX
def test_a_second_interrupt_is_raised():
    over = threading.Event()

    def work() -> None:
        interrupt_main()
        time.sleep(0.3)
        interrupt_main()
        over.wait(60)

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(work)
    over.set()


@pytest.mark.parametrize("moment", range(1, 150))
def test_an_interrupt_may_come_at_any_line(moment: int, monkeypatch: pytest.MonkeyPatch):
    """Also within the waiting itself: it ends in the result or in the interrupt, and no thread is left with an error."""
    errors: list[object] = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    lines = 0

    def interrupting(frame: FrameType, event: str, argument: object) -> object:
        nonlocal lines
        lines += event == "line"
        if lines == moment:
            raise KeyboardInterrupt
        return interrupting

    def work() -> int:
        time.sleep(0.02)
        return 7

    before = sys.gettrace()
    sys.settrace(interrupting)
    try:
        found = uninterrupted(work, 0.005)
    except KeyboardInterrupt:
        found = (7, True)
    finally:
        sys.settrace(before)
    time.sleep(0.03)
    assert found[0] == 7 and not errors


def test_an_interrupt_raised_within_the_work_has_it_done_again():
    runs = []

    def work() -> int:
        runs.append(1)
        if len(runs) == 1:
            raise KeyboardInterrupt
        return len(runs)

    assert uninterrupted(work) == (2, True)


def test_other_threads_are_not_interrupted():
    found = []
    worker = threading.Thread(target=lambda: found.append(uninterrupted(threading.current_thread)))
    worker.start()
    worker.join()
    assert found == [(worker, False)]
