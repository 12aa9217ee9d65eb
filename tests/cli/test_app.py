"""The command line: exit codes, files, messages that tell no values."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import make_dataclass, replace
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rich.console import Console
from rich.progress import Progress as Bars

from tablecloak.cli.app import app
from tablecloak.cli.progress import LiveProgress, drawing
from tablecloak.errors import NotApplicable, SolverError, UnsafePublication
from tablecloak.formats.jj import parse_jj
from tablecloak.methods import METHODS
from tablecloak.progress import silent
from tablecloak.protection import protect

CELLS = "30000 30 s,10000 10 s,20000 20 s,12077 12 s,4077 4 u,8000 8 s,17923 18 s,5923 6 s,12000 12 s"
LEVELS = {"s": "0 0 0", "u": "2000 2000 0"}
ROWS = [f"{i} {cell} 0 inf {LEVELS[cell[-1]]}" for i, cell in enumerate(CELLS.split(","))]
SUMS = [f"0 3 : {a} (-1) {b} (1) {c} (1)" for a, b, c in ("012", "345", "678", "036", "147", "258")]
TABLE = "\n".join(["0", "9", *ROWS, "6", *SUMS, ""])
"""3 x 3 with totals first; cell 4 is sensitive."""
SECRETS = ("4077", "12077", "5923", "8000", "12000", "17923")


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def invoke(*arguments: object) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err or "--show-confidential" in arguments
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return invoke


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.jj"
    path.write_text(TABLE)
    return path


def write_pattern(folder: Path, *hidden: int) -> Path:
    path = folder / "given.csv"
    words = {4: "sensitive"}
    rows = (
        f"{cell},{words.get(cell, 'complementary') if cell in hidden else 'published'}" for cell in range(9)
    )
    path.write_text("\n".join(["cell,status", *rows]) + "\n")
    return path


def tells_no_value(text: str) -> bool:
    return not any(secret in text for secret in SECRETS)


# ---------------------------------------------------------------------- protect


def test_protect_writes_record_and_pattern(run: Run, table: Path, tmp_path: Path) -> None:
    record, pattern = tmp_path / "result.json", tmp_path / "pattern.csv"
    record.write_text("old")
    method = ("--method", "suppress-greedy", "--seconds", 60, "--seed", 1, "--set", "clean_up=no")
    ended = run("protect", table, *method, "--json", record, "--pattern", pattern)
    assert ended.code == 0 and ended.err == ""
    assert ended.out.startswith("suppress-greedy: feasible, cost 26 ")
    assert "SAFE" in ended.out
    found = json.loads(record.read_text())
    names = ("method", "status", "cost", "cost_all", "bound", "gap", "safe")
    expected = ["suppress-greedy", "feasible", 26.0, 30.0, None, None, True]
    assert [found[name] for name in names] == expected
    assert (found["cells"], found["sensitive"], found["complementary"], found["seed"]) == (9, 1, 3, 1)
    assert found["params"]["seconds"] == 60.0 and found["params"]["clean_up"] is False
    lines = pattern.read_text().splitlines()
    assert lines[0] == "cell,status"
    assert lines[5] == "4,sensitive"
    assert [line.split(",")[0] for line in lines[1:]] == list("012345678")
    assert sum("complementary" in line for line in lines) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pattern.csv", "result.json", "table.jj"]


def test_protect_with_an_exact_method(run: Run, table: Path, tmp_path: Path) -> None:
    record = tmp_path / "result.json"
    assert run("protect", table, "-m", "suppress-compact", "--json", record).code == 0
    found = json.loads(record.read_text())
    assert (found["status"], found["cost"], found["gap"]) == ("optimal", 26.0, 0.0)


def test_protect_stopped_by_the_limit_still_writes(run: Run, table: Path, tmp_path: Path) -> None:
    record, pattern = tmp_path / "result.json", tmp_path / "pattern.csv"
    ended = run("protect", table, "--seconds", 0, "--json", record, "--pattern", pattern)
    assert ended.code == 0
    assert json.loads(record.read_text())["status"] == "time-limit"
    assert run("audit", table, "--pattern", pattern).code == 0


def test_quiet_prints_nothing(run: Run, table: Path, tmp_path: Path) -> None:
    table.write_text(TABLE.replace("s 0 inf 0 0 0", "s 0 inf 1 0 0", 1))
    pattern = tmp_path / "pattern.csv"
    assert run("protect", table, "--pattern", pattern, "--quiet") == (0, "", "")
    assert run("audit", table, "--pattern", pattern, "-q") == (0, "", "")
    assert run("exposure", table, "-q") == (0, "", "")
    loud = run("audit", table, "--pattern", pattern)
    assert loud.err == "warning: protection levels of cells that are not sensitive are ignored: line 3\n"


def test_widen(run: Run, table: Path) -> None:
    table.write_text(TABLE.replace("4077 4 u 0 inf", "4077 4 u 3000 5000"))
    refused = run("protect", table)
    assert refused.code == 2 and "--widen" in refused.err and "cell=4" in refused.err
    assert tells_no_value(refused.err)
    assert run("protect", table, "--widen").code == 0


# ---------------------------------------------------------------------- audit


def test_audit_of_a_safe_pattern(run: Run, table: Path, tmp_path: Path) -> None:
    pattern, record = write_pattern(tmp_path, 4, 5, 7, 8), tmp_path / "audit.json"
    ended = run("audit", table, "--pattern", pattern, "--json", record)
    assert ended.code == 0 and ended.out.startswith("SAFE")
    found = json.loads(record.read_text())
    assert (found["safe"], found["questions"], found["open_cells"]) == (True, 1, [])
    assert "intervals" not in found


def test_audit_of_an_unsafe_pattern(run: Run, table: Path, tmp_path: Path) -> None:
    pattern, record = write_pattern(tmp_path, 4, 5), tmp_path / "audit.json"
    ended = run("audit", table, "--pattern", pattern, "--json", record, "--intervals")
    assert ended.code == 4 and ended.err == ""
    assert ended.out.startswith("NOT SAFE") and "open: cell=4" in ended.out and tells_no_value(ended.out)
    found = json.loads(record.read_text())
    assert (found["safe"], found["open"], found["open_cells"]) == (False, 1, ["4"])
    assert (found["intervals"][0]["low"], found["intervals"][0]["high"]) == (4077.0, 4077.0)


def test_audit_of_every_hidden_cell_and_of_whole_numbers(run: Run, table: Path, tmp_path: Path) -> None:
    pattern, record = write_pattern(tmp_path, 4, 5, 7, 8), tmp_path / "audit.json"
    options = ("--every-hidden", "--integer", "--intervals")
    assert run("audit", table, "--pattern", pattern, "--json", record, *options).code == 0
    found = json.loads(record.read_text())
    assert [row["cell"] for row in found["intervals"]] == ["4", "5", "7", "8"]
    assert "integ" in found["engine"]


def test_audit_with_certificates(run: Run, table: Path, tmp_path: Path) -> None:
    pattern, folder = write_pattern(tmp_path, 4, 5, 7, 8), tmp_path / "deep" / "proofs"
    ended = run("audit", table, "--pattern", pattern, "--certificates", folder)
    assert ended.code == 0
    assert "2 claims" in ended.out and "VALID: 2 claims, proving safe" in ended.out
    assert json.loads((folder / "certificate.json").read_text())["confidential"] is True
    unsafe = write_pattern(tmp_path, 4, 5)
    ended = run("audit", table, "--pattern", unsafe, "--certificates", folder)
    assert ended.code == 4 and "proving unsafe" in ended.out
    assert run("audit", table, "--pattern", pattern, "--certificates", table).code == 2


def test_audit_of_a_wrong_pattern(run: Run, table: Path, tmp_path: Path) -> None:
    pattern = write_pattern(tmp_path, 4)
    pattern.write_text(pattern.read_text().replace("\n8,published", "").replace("7,published", "7,gone"))
    ended = run("audit", table, "--pattern", pattern)
    assert ended.code == 2
    assert "line 9: cell 7" in ended.err and "cell 8 is missing" in ended.err


# ---------------------------------------------------------------------- exposure, methods, demo


def test_exposure(run: Run, table: Path, tmp_path: Path) -> None:
    record = tmp_path / "exposure.json"
    ended = run("exposure", table, "--json", record)
    assert ended.code == 0 and "exposed" in ended.out
    found = json.loads(record.read_text())
    assert found["sets"]["E"] == ["4"]
    assert set(found) >= {"sets", "algorithms", "left_open", "most_initial", "seconds"}


def test_methods_lists_all(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    ended = run("methods")
    assert ended.code == 0
    for name in METHODS:
        assert name in ended.out
    assert "seconds=None" in ended.out and "Kelly" in ended.out


def test_demo(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "marks.csv").write_text("of an earlier demonstration")
    ended = run("demo", tmp_path / "here")
    assert ended.code == 0 and ended.err == ""
    steps = [ended.out.index(f"{number}. {verb}") for number, verb in enumerate(VERBS, 1) if verb != "audit"]
    assert steps == sorted(steps)
    for expected in ("DISCLOSED", "SAFE", "confidential: ", "public: ", " x "):
        assert expected in ended.out
    names = {path.name for path in (tmp_path / "here").iterdir()}
    assert {"turnover.csv", "turnover.html", "turnover.xlsx", "report.html", "record.json"} <= names


VERBS = ("tabulate", "assess", "protect", "audit", "publish")


# ---------------------------------------------------------------------- how commands end


def test_wrong_input(run: Run, table: Path, tmp_path: Path) -> None:
    record = tmp_path / "result.json"
    missing = run("protect", tmp_path / "none.jj", "--json", record)
    assert missing.code == 2 and "none.jj" in missing.err and missing.out == ""
    table.write_text(TABLE.replace("4077 4 u", "4077x 4 v").replace("0 3 : 1 (-1)", "0 3 : 11 (-1)"))
    ended = run("protect", table, "--json", record)
    assert ended.code == 2
    assert (
        "3 faults" in ended.err
        and "line 7: cell 4" in ended.err
        and "line 17: there is no cell 11" in ended.err
    )
    assert tells_no_value(ended.err)
    assert not record.exists()


def test_a_table_that_does_not_add_up(run: Run, table: Path) -> None:
    table.write_text(TABLE.replace("3 12077", "3 12078"))
    ended = run("protect", table)
    assert ended.code == 2 and "line 14" in ended.err and "line 16" in ended.err
    assert tells_no_value(ended.err) and "differences" not in ended.err
    shown = run("protect", table, "--show-confidential")
    assert shown.code == 2 and "differences: [" in shown.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--method", "magic"], "there is no method 'magic'"),
        (["--set", "depth=3"], "unknown parameter 'depth'"),
        (["--set", "nodes=many"], "parameter 'nodes' takes a whole number"),
        (["--set", "reweight"], "--set reweight: write it as KEY=VALUE"),
        (["--set", "=3"], "write it as KEY=VALUE"),
        (["--set", "seconds=3", "--seconds", "4"], "seconds is set twice"),
        (["--seconds", "nan"], "--seconds"),
        (["--seconds", "-1"], "--seconds"),
        (["--seconds", "soon"], "--seconds"),
        (["--seed", "-1"], "--seed"),
        (["--jsn", "x"], "--jsn"),
        (["--json", "no/such/folder/x.json"], "there is no directory"),
        (["--json", "."], "it is a directory"),
        (["--json", "same", "--pattern", "./same"], "it is asked for twice"),
    ],
)
def test_wrong_options(run: Run, table: Path, options: list[str], told: str) -> None:
    ended = run("protect", table, *options)
    assert ended.code == 2 and told in ended.err and ended.out == ""


def test_a_method_without_seconds(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = make_dataclass("Nothing", [], frozen=True)
    monkeypatch.setitem(METHODS, "timeless", replace(METHODS["suppress-greedy"], params=nothing))
    ended = run("protect", table, "--method", "timeless", "--seconds", 3)
    assert ended.code == 2 and "unknown parameter 'seconds'" in ended.err


def test_usage_and_inputs_that_would_be_overwritten(run: Run, table: Path, tmp_path: Path) -> None:
    assert [run("protect").code, run("audit", table).code, run("conceal", table).code] == [2, 2, 2]
    assert "it is an input file" in run("protect", table, "--json", table).err
    pattern = write_pattern(tmp_path, 4)
    assert run("audit", table, "--pattern", pattern, "--json", pattern).code == 2
    assert table.read_text() == TABLE


def test_infeasible(run: Run, table: Path, tmp_path: Path) -> None:
    record = tmp_path / "result.json"
    table.write_text(TABLE.replace(" s ", " z "))
    ended = run("protect", table, "--json", record)
    assert ended.code == 3 and "cell=4" in ended.err and tells_no_value(ended.err)
    assert not record.exists()
    shown = run("protect", table, "--show-confidential")
    assert shown.code == 3 and "shortfall:" in shown.err and "cell=4: 2000" in shown.err


def failing(error: BaseException) -> Callable[..., Any]:
    def run(*arguments: object, **options: object) -> None:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (NotApplicable("Not this.", needs="something else"), 5, "It needs something else"),
        (UnsafePublication("Not that."), 4, "Not that."),
        (SolverError("The solver is ill.", confidential={"value": 4077}), 1, "The solver is ill."),
        (RuntimeError("cell 4 is 4077"), 1, "something unexpected happened (RuntimeError)"),
        (KeyboardInterrupt(), 130, "interrupted, nothing written"),
    ],
)
def test_other_ends(run: Run, table: Path, error: BaseException, code: int, told: str) -> None:
    record = table.with_name("result.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["tablecloak.protection"], "protect", failing(error))
        ended = run("protect", table, "--json", record)
        shown = run("protect", table, "--show-confidential")
    assert ended.code == code and told in ended.err and ended.out == ""
    assert tells_no_value(ended.err) and not record.exists()
    assert shown.code == code
    assert ("4077" in shown.err) == isinstance(error, SolverError | RuntimeError)


def test_not_applicable(run: Run, table: Path, tmp_path: Path) -> None:
    """Roundings show a number for every cell; bounds that are no whole numbers are rounded inward."""
    pattern = write_pattern(tmp_path, 4, 5, 7, 8)
    table.write_text(TABLE.replace("4077 4 u 0 inf", "4077 4 u 0.5 inf"))
    assert run("audit", table, "--pattern", pattern, "--integer").code == 0
    table.write_text(TABLE.replace("4077 4 u 0 inf", "4077 4 m 0 inf"))
    ended = run("protect", table, "--method", "round-rapid")
    assert ended.code == 5 and "must be hidden" in ended.err


def test_nothing_is_left_when_writing_fails(
    run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablecloak.files.os.fsync", failing(OSError(28, "No space left on device")))
    ended = run("protect", table, "--json", tmp_path / "result.json", "--pattern", tmp_path / "pattern.csv")
    assert ended.code == 2 and "No space left" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["table.jj"]


# ---------------------------------------------------------------------- the program


def program(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from tablecloak.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_program(table: Path, tmp_path: Path) -> None:
    done = program("audit", table, "--pattern", write_pattern(tmp_path, 4))
    assert done.returncode == 4 and done.stdout.startswith("NOT SAFE") and done.stderr == ""


def test_version_and_help(run: Run) -> None:
    assert run("--version") == (0, f"tablecloak {version('tablecloak')}\n", "")
    listed = run("--help").out
    for command in ("protect", "audit", "exposure", "methods", "demo"):
        assert command in listed
        assert run(command, "-h").code == 0


def test_completion_of_the_shell_can_be_installed(tmp_path: Path) -> None:
    home = {**os.environ, "HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    program = [str(Path(sys.executable).with_name("tablecloak"))]
    subprocess.run([*program, "--install-completion", "bash"], check=True, capture_output=True, env=home)
    assert "tablecloak" in (tmp_path / ".bashrc").read_text(encoding="utf-8")
    asked = {
        **home,
        "_TABLECLOAK_COMPLETE": "complete_bash",
        "COMP_WORDS": "tablecloak pro",
        "COMP_CWORD": "1",
    }
    found = subprocess.run(program, check=False, capture_output=True, text=True, env=asked).stdout
    assert "protect" in found


def test_help_loads_no_data_frames() -> None:
    code = (
        "import sys; from tablecloak.cli import main; sys.argv = ['tablecloak', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([name for name in ('pandas', 'polars') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# ---------------------------------------------------------------------- progress


def test_drawing_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with drawing(quiet=False) as progress:
        assert progress is silent
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with drawing(quiet=True) as progress:
        assert progress is silent
    with drawing(quiet=False) as progress:
        assert isinstance(progress, LiveProgress)
        problem = parse_jj(TABLE).problem
        assert protect(problem, progress=progress).audit.safe


def test_what_is_drawn_and_how_often(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("tablecloak.cli.progress.time.monotonic", lambda: clock[0])
    bars = Bars("{requirement.description}", console=Console(file=StringIO()), auto_refresh=False)
    live = LiveProgress(bars)
    updates: list[dict[str, Any]] = []
    monkeypatch.setattr(bars, "update", lambda requirement, **fields: updates.append(fields))
    for step in range(1000):
        clock[0] = step / 1000
        live("search", step, 1000 if step else 0, 50.0 - step / 100, 20.0 if step == 3 else None)
    assert 9 <= len(updates) <= 11
    assert updates[0] == {"description": "search", "completed": 0, "total": None, "figures": "best 50"}
    assert updates[5]["figures"] == f"best {50.0 - updates[5]['completed'] / 100:.6g}  bound 20"


# ---------------------------------------------------------------------- the public library


def test_a_public_instance_from_end_to_end(run: Run, tmp_path: Path, data: Path) -> None:
    instance = data / "csplib" / "targus.jj"
    record, pattern = tmp_path / "result.json", tmp_path / "pattern.csv"
    assert run("protect", instance, "--seconds", 60, "--json", record, "--pattern", pattern).code == 0
    assert json.loads(record.read_text())["sensitive"] == 13
    assert run("audit", instance, "--pattern", pattern, "--certificates", tmp_path).code == 0
    assert run("exposure", instance).code == 0
