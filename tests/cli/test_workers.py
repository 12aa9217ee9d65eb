"""The workers of a command: how many there are, that they work, and that they end with the command."""

from __future__ import annotations

import math
import os

import pytest

from tablecloak.cli.settings import SETTINGS
from tablecloak.cli.workers import job_count, processes, threads

LARGE = SETTINGS.side_by_side_cells + 1


def test_as_many_jobs_as_are_asked_for_and_by_default_as_there_are_cores() -> None:
    assert job_count(3) == 3
    assert job_count(None) == len(os.sched_getaffinity(0))


def test_threads_share_work_and_one_job_needs_none() -> None:
    with threads(1) as nothing:
        assert nothing is None
    with threads(2) as executor:
        assert executor is not None
        assert list(executor.map(math.sqrt, [4.0, 9.0])) == [2.0, 3.0]
    with pytest.raises(RuntimeError):  # it has ended
        executor.submit(math.sqrt, 4.0)


@pytest.mark.parametrize(("jobs", "tasks", "cells"), [(1, 5, LARGE), (4, 1, LARGE), (4, 5, LARGE - 1)])
def test_no_processes_for_one_job_one_task_or_a_small_table(jobs: int, tasks: int, cells: int) -> None:
    with processes(jobs, tasks, cells) as executor:
        assert executor is None


def test_processes_work_and_end_with_the_command() -> None:
    with processes(2, 5, LARGE) as executor:
        assert executor is not None
        assert executor.submit(math.sqrt, 16.0).result() == 4.0
    with pytest.raises(RuntimeError):
        executor.submit(math.sqrt, 4.0)


def test_an_error_interrupts_the_processes() -> None:
    with pytest.raises(ZeroDivisionError), processes(2, 2, LARGE) as executor:
        assert executor is not None
        assert executor.submit(math.sqrt, 25.0).result() == 5.0
        raise ZeroDivisionError
    with pytest.raises(RuntimeError):
        executor.submit(math.sqrt, 4.0)
