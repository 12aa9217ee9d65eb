"""The audit with workers: the same bytes whatever the executor, and an end when there should be one."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.attacker import HypercubeSettings, IntegerAttackSettings, LinearAttackSettings
from tablecloak.auditing import AuditSettings, audit
from tablecloak.model import Audit, Problem, Suppression
from tablecloak.progress import TimeUp
from tablecloak.solvers import InterruptibleProcesses
from tablecloak.testing.instances import class_two, three_way_class_one

SMALL = AuditSettings(
    task_work=1,
    attackers_together=3,
    hypercubes=HypercubeSettings(min_cells=0, min_requirements=0, chunk_size=2, chunks=3),
    linear=LinearAttackSettings(chunk_size=2),
    integer=IntegerAttackSettings(part_size=1),
)
"""Parts so small that even the smallest tables have several."""
OPTIONS: list[dict[str, Any]] = [{}, {"intervals": True, "every_hidden": True}]


def answers(found: Audit) -> list[object]:
    """All that an audit says, but for its seconds."""
    arrays = (
        found.cells, found.attackers, found.low, found.high, found.required_lower, found.required_upper,
        found.required_sliding, found.safe_rows, found.unmet, found.undecided, found.low_proven, found.high_proven,
    )  # fmt: skip
    return [*(np.ascontiguousarray(array).tobytes() for array in arrays), found.engine, dict(found.counters)]


def patterns(problem: Problem) -> list[Suppression]:
    """Everything hidden, what must be, and something in between."""
    some = problem.must_hide | (~problem.forced & (np.arange(len(problem.table)) % 3 > 0))
    return [Suppression.copy_of(hidden) for hidden in (~problem.forced, problem.must_hide, some)]


@cache
def expected(name: str) -> list[list[object]]:
    problem = FIXTURES[name]()
    return [
        answers(audit(problem, pattern, settings=SMALL, **options))
        for pattern in patterns(problem)
        for options in OPTIONS
    ]


def found_by(name: str, executor: Executor) -> list[list[object]]:
    problem = FIXTURES[name]()
    return [
        answers(audit(problem, pattern, settings=SMALL, executor=executor, **options))
        for pattern in patterns(problem)
        for options in OPTIONS
    ]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("name", list(FIXTURES))
def test_threads_give_the_same_bytes(name: str, workers: int) -> None:
    with ThreadPoolExecutor(workers) as executor:
        assert found_by(name, executor) == expected(name)


@pytest.fixture(scope="module", params=["ours", "plain"])
def processes(request: pytest.FixtureRequest) -> Iterator[Executor]:
    plain = request.param == "plain"
    with (
        ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))
        if plain
        else InterruptibleProcesses(2) as some
    ):
        yield some


@pytest.mark.parametrize("name", ["two way several", "three way", "fifty attackers", "only sliding"])
def test_processes_give_the_same_bytes(name: str, processes: Executor) -> None:
    assert found_by(name, processes) == expected(name)


@pytest.mark.parametrize("integer", [False, True])
def test_parts_of_the_usual_size_give_the_same_bytes(integer: bool) -> None:
    problem = three_way_class_one(4, 4, 4, 0) if integer else class_two(60, 60, 0)
    everything = Suppression.copy_of(~problem.forced)
    alone = audit(problem, everything, intervals=True, every_hidden=True, integer=integer)
    with ThreadPoolExecutor(2) as executor:
        found = audit(
            problem, everything, intervals=True, every_hidden=True, integer=integer, executor=executor
        )
    assert answers(found) == answers(alone)


def test_verdicts_do_not_depend_on_the_size_of_parts() -> None:
    for name, make in FIXTURES.items():
        problem = make()
        for pattern in patterns(problem):
            usual, small = audit(problem, pattern), audit(problem, pattern, settings=SMALL)
            assert np.array_equal(usual.safe_rows, small.safe_rows), name
            assert np.array_equal(usual.undecided, small.undecided), name


@pytest.mark.parametrize("reason", [KeyboardInterrupt, TimeUp])
@pytest.mark.parametrize("intervals", [False, True])
def test_an_interrupt_or_a_deadline_ends_the_workers(reason: type[BaseException], intervals: bool) -> None:
    problem, calls = class_two(60, 60, 0), [0]
    everything = Suppression.copy_of(~problem.forced)

    def progress(phase: str, done: int, total: int, *figures: float | None) -> None:
        calls[0] += phase == "audit"
        if calls[0]:
            raise reason

    with ThreadPoolExecutor(2, thread_name_prefix="auditing") as executor, pytest.raises(reason):
        audit(
            problem, everything, intervals=intervals, every_hidden=True, progress=progress, executor=executor
        )
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("auditing")]


def test_progress_is_told_by_the_calling_thread_only() -> None:
    problem, told = FIXTURES["three way"](), set[threading.Thread]()

    def progress(phase: str, done: int, total: int, *figures: float | None) -> None:
        told.add(threading.current_thread())

    with ThreadPoolExecutor(2) as executor:
        for pattern in patterns(problem):
            audit(problem, pattern, progress=progress, executor=executor, settings=SMALL)
    assert told == {threading.current_thread()}


def test_an_executor_that_is_shut_down_is_an_error() -> None:
    problem = FIXTURES["three way"]()
    executor = ThreadPoolExecutor(2)
    executor.shutdown()
    with pytest.raises(RuntimeError, match="shutdown"):
        audit(problem, patterns(problem)[0], executor=executor, settings=SMALL)
