"""Mutated inputs and killed jobs: the same as for docs/reliability.md, with few fixed seeds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cases.reliability import inputs, kills

POSIX = pytest.mark.skipif(
    sys.platform == "win32", reason="there are no timers by signal, no SIGTERM and no flock on Windows"
)
FORMATS = 16
FOUND = (661, 2166, 5715, 24_693, 72_609, 204_854)
"""Seeds that found faults once: a number of 5,000 digits in a job, a name of a file that is too long, a pattern with
numbers whose difference is infinite, a whole number in a job that no double can hold, a long row of digits as the shape
of an array (the pattern that reads it took for ever), 20,000 wildcards in a record."""


@POSIX
def test_mutated_inputs_are_read_or_refused() -> None:
    counts = inputs.run([*range(120 * FORMATS), *FOUND])
    assert counts.faults == []
    assert len(counts.outcomes) == FORMATS
    assert all(set(outcomes) == {"success", "input error"} for outcomes in counts.outcomes.values())


@POSIX
def test_what_is_mutated_is_valid(tmp_path: Path) -> None:
    for each in inputs.all_formats(tmp_path):
        for data in each.files:
            path = tmp_path / f"valid{each.suffix}"
            path.write_bytes(data)
            each.read(path)


@POSIX
def test_the_same_seed_gives_the_same_file(tmp_path: Path) -> None:
    formats = inputs.all_formats(tmp_path)
    for seed in range(3 * FORMATS):
        one, other = (inputs.mutated(formats, seed) for _ in range(2))
        assert one == other


@POSIX
def test_faults_and_hangs_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> object:
        if path.stat().st_size % 2:
            raise KeyError("x")
        while True:
            pass

    broken_format = inputs.Format("broken", ".txt", (b"abcdef 1 2 3\n",), broken)
    monkeypatch.setattr(inputs, "all_formats", lambda folder: [broken_format])
    counts = inputs.run(range(8), seconds=0.05)
    assert counts.total["other"] and counts.total["hang"] and counts.total.total() == len(counts.faults) == 8
    assert any("KeyError" in fault for fault in counts.faults)


@POSIX
def test_killed_jobs_leave_nothing_half_written() -> None:
    counts = kills.run(range(5))
    assert counts.faults == [] and counts.outcomes.total() == 5
