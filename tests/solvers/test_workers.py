"""Independent work on an executor: same results in the same order, and a way to end it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy.sparse import random_array

from tablecloak.progress import TimeUp
from tablecloak.solvers import InterruptibleProcesses, LinearProgram, Stop, Stopped, Tick, mapped, watched


class Refusing(Executor):
    """An executor that takes some tasks and then no more."""

    def __init__(self, takes: int) -> None:
        self.takes, self.futures = takes, list[Future[Any]]()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if len(self.futures) == self.takes:
            raise RuntimeError("no more")
        self.futures.append(Future())  # it never begins
        return self.futures[-1]


def squared(number: int, tick: Tick) -> int:
    tick(1)
    if number < 0:
        raise ValueError("a negative number")
    return number * number


def until_stopped(begun: threading.Event, tick: Tick) -> None:
    begun.set()
    while True:
        tick(0)


def is_told(number: int, tick: Tick) -> bool:
    """Whether a worker process hears of an interrupt; whoever asks waits for the answer."""
    try:
        while True:
            tick(0)
    except Stopped:
        return True


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_results_are_in_the_order_of_the_tasks(workers: int) -> None:
    ticks = list[int]()
    with ThreadPoolExecutor(workers) if workers else Nothing() as executor:
        assert mapped(executor, squared, range(20), ticks.append) == [k * k for k in range(20)]
    assert sum(ticks) == 20


def test_a_single_task_is_done_here() -> None:
    assert mapped(Refusing(0), squared, [3], lambda more: None) == [9]


def test_what_an_executor_or_a_task_raises_is_raised() -> None:
    refusing = Refusing(2)
    with pytest.raises(RuntimeError, match="no more"):
        mapped(refusing, squared, [1, 2, 3], lambda more: None)
    assert all(future.cancelled() for future in refusing.futures)
    with ThreadPoolExecutor(2) as executor, pytest.raises(ValueError, match="negative"):
        mapped(executor, squared, [1, -1, 2], lambda more: None)


@pytest.mark.parametrize("reason", [KeyboardInterrupt, TimeUp])
def test_what_the_caller_raises_while_it_waits_ends_all_tasks(reason: type[BaseException]) -> None:
    begun = [threading.Event() for _ in range(4)]

    def tick(more: int) -> None:
        if begun[0].is_set():
            raise reason

    with ThreadPoolExecutor(2) as executor, pytest.raises(reason):
        mapped(executor, until_stopped, begun, tick)  # the executor waits for its threads: they have ended
    assert not begun[3].is_set(), "what had not begun is cancelled"


def test_the_watch_of_the_caller_is_called_while_it_waits() -> None:
    begun = [threading.Event(), threading.Event()]

    def check() -> None:
        raise TimeUp

    with ThreadPoolExecutor(2) as executor, watched(check), pytest.raises(TimeUp):
        mapped(executor, until_stopped, begun, lambda more: None)


def test_watches_inside_each_other_are_all_called() -> None:
    from tablecloak.solvers.highs import check_watch

    called = list[str]()
    with watched(lambda: called.append("outer")), watched(lambda: called.append("inner")):
        check_watch()
    check_watch()
    assert called == ["outer", "inner"]


def test_a_long_program_in_a_thread_is_ended_by_its_watch() -> None:
    rng = np.random.default_rng(0)
    matrix = random_array((300, 600), density=0.1, rng=rng).tocsc()
    assert matrix.nnz > 10_000, "shorter ones are not watched"
    stop = Stop()
    stop.set()

    def solve() -> None:
        program = LinearProgram(matrix, np.zeros(600), np.ones(600), cost=rng.normal(size=600))
        with watched(stop.check):
            while True:  # a program may end before it is looked at
                program.set_objective(rng.normal(size=600))
                program.solve()

    with ThreadPoolExecutor(1) as executor, pytest.raises(Stopped):
        executor.submit(solve).result()


@pytest.fixture(scope="module")
def processes() -> Iterator[InterruptibleProcesses]:
    with InterruptibleProcesses(2) as executor:
        yield executor


def test_processes_give_the_same(processes: ProcessPoolExecutor) -> None:
    ticks = list[int]()
    assert mapped(processes, squared, range(5), ticks.append) == [0, 1, 4, 9, 16]
    assert sum(ticks) == 5
    with pytest.raises(ValueError, match="negative"):
        mapped(processes, squared, [1, -1], ticks.append)


def test_an_interrupt_reaches_tasks_of_other_processes() -> None:
    with InterruptibleProcesses(2) as executor:
        futures = []

        def tick(more: int) -> None:
            if not futures:
                executor.interrupt()
            futures.append(more)

        assert mapped(executor, is_told, [1, 2], tick) == [True, True]


class Nothing:
    """No executor."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *how: object) -> None:
        return None
