"""The workers of a command: threads for audits, processes for whole methods; none where one job is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from tablecloak.cli.settings import SETTINGS


def job_count(jobs: int | None) -> int:
    """The number of jobs asked for, by default the number of cores that this process may use."""
    if jobs is not None:
        return jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def threads(jobs: int | None) -> Iterator[Executor | None]:
    """Threads that share the questions of audits; they start when there is work for them."""
    if job_count(jobs) == 1:
        yield None
        return
    from concurrent.futures import ThreadPoolExecutor

    executor = ThreadPoolExecutor(job_count(jobs), thread_name_prefix="tablecloak-worker")
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


@contextmanager
def processes(jobs: int | None, tasks: int, cells: int) -> Iterator[Executor | None]:
    """Processes for some methods on a table, at most one for each; interrupted when the command ends in any other way.

    They start when there is work for them, and end before the command does.
    """
    count = min(job_count(jobs), tasks)
    if count < 2 or cells <= SETTINGS.side_by_side_cells:
        yield None
        return
    from tablecloak.solvers import InterruptibleProcesses

    executor = InterruptibleProcesses(count)
    try:
        yield executor
    except BaseException:
        executor.interrupt()
        raise
    finally:
        executor.shutdown(cancel_futures=True)
