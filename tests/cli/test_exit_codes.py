"""How commands end when they are interrupted: exit codes, signals, and what is written."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from tablecloak.cli.app import app
from tablecloak.cli.exit_codes import exit_codes, leave
from tablecloak.errors import SolverError
from tablecloak.examples import path
from tablecloak.model import Status
from tablecloak.protection import protect

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="modes and SIGTERM do not apply on Windows")
TABLE = """0
4
0 30 30 s 0 inf 0 0 0
1 10 10 u 0 inf 2 2 0
2 10 10 s 0 inf 0 0 0
3 10 10 s 0 inf 0 0 0
1
0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)
"""


JOB = """
[data]
path = "business_survey.csv"
weight = "weight"
respondent = "enterprise"
[[dimension]]
name = "region"
hierarchy = "region.csv"
[[dimension]]
name = "size"
hierarchy = "size.csv"
[table]
response = "turnover"
[[rule]]
rule = "p-percent"
p = 10
[protect]
method = "suppress-greedy"
[publish]
outputs = ["safe.csv", "safe.html"]
[report]
html = "report.html"
json = "record.json"
pattern = "found.csv"
problem = "problem.cloak"
"""


def small_job(folder: Path) -> Path:
    for name in ("business_survey.csv", "region.csv", "size.csv"):
        copy(path(name), folder / name)
    job = folder / "job.toml"
    job.write_text(JOB)
    return job


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.jj"
    path.write_text(TABLE)
    return path


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every method ends as if the user had pressed Ctrl-C."""

    def stopped(*given: Any, **options: Any) -> Any:
        result = protect(*given, **options)
        report = replace(result.report, notes=("the whole table is hidden",))
        return replace(result, status=Status.INTERRUPTED, report=report)

    modules = [import_module(f"tablecloak.{name}") for name in ("protection", "job.run", "analysis.compare")]
    for module in modules:
        monkeypatch.setattr(module, "protect", stopped)


def ended(*arguments: object) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_an_interrupted_protect_writes_its_pattern(table: Path, interrupted: None) -> None:
    pattern, record = table.with_name("pattern.csv"), table.with_name("record.json")
    done = ended("protect", table, "--pattern", pattern, "--json", record)
    assert done.exit_code == 6 and "what was found so far is written" in done.stderr
    assert "interrupted, cost" in done.stdout and "note: the whole table is hidden" in done.stdout
    assert json.loads(record.read_text())["status"] == "interrupted" and pattern.exists()
    bare = ended("protect", table)
    assert bare.exit_code == 130 and "interrupted, nothing written" in bare.stderr


def test_an_interrupted_comparison_runs_no_further_method(table: Path, interrupted: None) -> None:
    record = table.with_name("record.json")
    done = ended("compare", table, "-m", "suppress-greedy,suppress-optimal", "--json", record)
    assert done.exit_code == 6 and "suppress-greedy: the whole table is hidden" in done.stdout
    rows = json.loads(record.read_text())["outcomes"]
    assert [row["status"] for row in rows] == ["interrupted", "not-run"]
    assert "suppress-optimal: interrupted before it" in done.stdout


def test_an_interrupted_job_publishes_nothing(tmp_path: Path, interrupted: None) -> None:
    job = small_job(tmp_path)
    before = set(job.parent.iterdir())
    done = ended("run", job)
    assert done.exit_code == 6 and "interrupted: nothing is published" in done.stdout, done.output
    new = {path.name for path in set(job.parent.iterdir()) - before}
    assert new == {"found.csv", "record.json", "problem.cloak"}, "neither public files nor the report"
    told = json.loads((tmp_path / "record.json").read_text(encoding="utf-8"))
    assert told["public"] == {} and told["repeatable"] is False
    assert told["result"]["status"] == "interrupted"
    again = ended("run", tmp_path / "record.json")
    assert again.exit_code == 6 and "nothing is published" in again.stdout
    job.write_text(JOB.partition("[report]")[0])
    bare = ended("run", job)
    assert bare.exit_code == 130 and "interrupted, nothing written" in bare.stderr


def test_files_of_an_earlier_run_stay_and_are_named(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    job = small_job(tmp_path)
    whole = ended("run", job)
    assert whole.exit_code == 0, whole.output
    public = [line.split()[1] for line in whole.stdout.splitlines() if line.endswith("(public)")]
    contents = {name: Path(name).read_bytes() for name in public}
    request.getfixturevalue("interrupted")
    done = ended("run", job)
    assert public and all(f"left as it was, from an earlier run: {name}" in done.stdout for name in public)
    assert {name: Path(name).read_bytes() for name in public} == contents
    if sys.platform != "win32":
        for line in whole.stdout.splitlines():
            if line.startswith("written: "):
                private = stat.S_IMODE(Path(line.split()[1]).stat().st_mode) == 0o600
                assert private == line.endswith("(confidential)")


# ---------------------------------------------------------------------- signals


@POSIX
def test_sigterm_is_ctrl_c_inside_a_command_only() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with pytest.raises(BaseException) as caught, exit_codes():
        signal.raise_signal(signal.SIGTERM)
    assert getattr(caught.value, "exit_code", None) == 130
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


@POSIX
@pytest.mark.parametrize("error", [RuntimeError("Query interrupted"), SolverError("DuckDB failed.")])
def test_an_interrupt_that_a_library_turns_into_an_error_is_an_interrupt(error: Exception) -> None:
    """Found by killed jobs: exit code 1 after SIGTERM."""
    with pytest.raises(typer.Exit) as caught, exit_codes():
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise error from None
    assert caught.value.exit_code == 130
    with pytest.raises(typer.Exit) as caught, exit_codes():
        raise error
    assert caught.value.exit_code == 1


def test_interrupts_come_too_late_once_files_are_renamed() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with exit_codes() as interrupts:
        interrupts.commit()
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


@POSIX
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_nothing_is_published_where_a_method_went_on_after_an_interrupt(
    tmp_path: Path, table: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deaf(*given: Any, **options: Any) -> Any:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(number)
        return protect(*given, **options)

    for name in ("protection", "job.run", "analysis.compare"):
        monkeypatch.setattr(import_module(f"tablecloak.{name}"), "protect", deaf)
    job = small_job(tmp_path)
    before = set(tmp_path.iterdir())
    done = ended("run", job)
    assert done.exit_code == 130 and set(tmp_path.iterdir()) == before
    pattern = tmp_path / "pattern.csv"
    assert ended("protect", table, "--pattern", pattern).exit_code == 6 and pattern.exists()
    assert ended("compare", table, "-m", "suppress-greedy").exit_code == 130


@POSIX
def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with exit_codes():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_commands_in_other_threads_set_no_handlers() -> None:
    faults = list[BaseException]()

    def work() -> None:
        try:
            with exit_codes() as interrupts:
                interrupts.commit()
        except BaseException as error:
            faults.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not faults


def test_importing_sets_no_handlers() -> None:
    code = (
        "import signal, tablecloak, tablecloak.cli.app\n"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


SLOW = """
import sys, time
import tablecloak.protection
from tablecloak.cli import main

def slow(*_, **options):
    print("ready", flush=True)
    time.sleep(600)

tablecloak.protection.protect = slow
sys.modules["tablecloak.protection"].protect = slow
main()
"""


@POSIX
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_terminated(table: Path, number: int) -> None:
    pattern = table.with_name("pattern.csv")
    command = [sys.executable, "-c", SLOW, "protect", str(table), "--pattern", str(pattern)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130 and told == b"interrupted, nothing written\n"
    assert not pattern.exists()


SOLVING = """
import sys, threading, time
import numpy as np
from tablecloak.cli.exit_codes import leave
from tablecloak.solvers.highs.running import new_highs
from highspy import HighsVarType, cb

def solve():
    rng, columns = np.random.default_rng(0), np.arange(60, dtype=np.int32)
    while True:
        highs = new_highs(time_limit=0.05)
        highs.addVars(60, np.zeros(60), np.ones(60))
        highs.changeColsIntegrality(60, columns, np.full(60, HighsVarType.kInteger))
        highs.changeColsCost(60, columns, rng.random(60))
        for _ in range(30):
            highs.addRow(9.0, 1e30, 60, columns, rng.random(60))
        highs.setCallback(lambda *_: None, None)
        highs.startCallback(cb.HighsCallbackType.kCallbackMipInterrupt)
        highs.run()

threading.Thread(target=solve, daemon=True).start()
time.sleep(0.3)
leave(SystemExit(6), seconds=0.1) if "leave" in sys.argv else sys.exit(6)
"""


@POSIX
def test_a_solver_that_goes_on_does_not_change_the_exit_code():
    """It aborts the process if Python shuts down meanwhile (fuzzer: kills, seed 2190)."""
    command = [sys.executable, "-c", SOLVING, "leave"]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert (ended.returncode, ended.stderr) == (6, b"")


def test_the_end_of_a_command_is_an_ordinary_exit_otherwise():
    for code in (None, 0, 6, "text"):
        with pytest.raises(SystemExit) as ended:
            leave(SystemExit(code))
        assert ended.value.code == code


BACKGROUND = """
import sys, time
from tablecloak.cli.exit_codes import leave
from tablecloak.progress import Background

work = Background(lambda: time.sleep(float(sys.argv[1])))
work.wait(0.3)
leave(SystemExit(6), seconds=0.2)
"""


@pytest.mark.parametrize("seconds", ["0", "60"])
def test_work_in_the_background_does_not_change_the_exit_code(seconds: str):
    """Neither while it goes on nor when it has ended: its thread was joined, which it cannot be, at Ctrl-C."""
    command = [sys.executable, "-c", BACKGROUND, seconds]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=30)
    assert (ended.returncode, ended.stderr) == (6, b"")
