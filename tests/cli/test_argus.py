"""The commands argus and lint: arguments as TauArgus takes them, exit codes, bad jobs, the executable."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tablecloak.cli.app import app
from tests.job.argus.jobs import HEAD, records, write_data

TABLE = '<SPECIFYTABLE> "region""size"|"turnover"\n<SAFETYRULE> P(15,1)|FREQ(3,30)\n'
JOB = f'{HEAD}{TABLE}<READMICRODATA>\n<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,2,,"t.csv")\n'


class Ended(NamedTuple):
    code: int
    out: str
    err: str


Invoke = Callable[..., Ended]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_data(tmp_path, records(11))
    (tmp_path / "job.arb").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def invoke(capsys: pytest.CaptureFixture[str]) -> Invoke:
    def call(*arguments: object) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app([str(each) for each in arguments])
        found = capsys.readouterr()
        assert "Traceback" not in found.err
        return Ended(int(ended.value.code or 0), found.out, found.err)

    return call


def test_arguments_as_tau_argus_takes_them(folder: Path, invoke: Invoke) -> None:
    (folder / "temp").mkdir()
    (folder / "data").mkdir()
    assert invoke("argus", "job.arb", "-", "temp").code == 0
    assert (folder / "temp" / "TauLogbook.txt").exists() and (folder / "t.csv").exists()
    done = invoke("argus", "job.arb", "my.log", "-", "data", "/v")
    assert done.code == 0 and "log: my.log" in done.out and f"written: {Path('data') / 't.csv'}" in done.out
    assert (folder / "data" / "t.csv").read_text() == (folder / "t.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 1, "there is no window"),
        (("X",), 1, "there is no window"),
        (("none.arb", "log.txt"), 2, "there is no such file"),
        (("job.arb", "log.txt", "-", "none"), 2, "there is no folder none"),
        (("job.arb", "log.txt", "none"), 2, "TEMP: there is no folder"),
        (("job.arb", "none/log.txt"), 2, "No such file"),
        (("job.arb", "a", "-", "-", "-"), 2, "5 arguments"),
    ],
)
def test_wrong_arguments(
    folder: Path, invoke: Invoke, arguments: tuple[str, ...], code: int, words: str
) -> None:
    done = invoke("argus", *arguments)
    assert done.code == code and words in done.err


def test_interactive_jobs_exit_with_1(folder: Path, invoke: Invoke) -> None:
    (folder / "job.arb").write_text(JOB + "<GOINTERACTIVE>\n")
    done = invoke("argus", "job.arb", "log.txt")
    assert done.code == 1 and "GOINTERACTIVE" in done.err and (folder / "t.csv").exists()


def test_lint_lists_all_faults_of_all_files_and_runs_nothing(folder: Path, invoke: Invoke) -> None:
    assert invoke("lint", "job.arb") == (0, "no faults: 7 commands, 1 table\n", "")
    assert invoke("argus", "job.arb", "--lint").out == "no faults: 7 commands, 1 table\n"
    (folder / "micro.rda").write_text((folder / "micro.rda").read_text().replace("region.hrc", "none.hrc"))
    (folder / "job.arb").write_text(
        JOB.replace('"turnover"', '"turnoevr"')
        + '<APRIORI> "none.hst",1,";"\n<WRITETABLE> (1,2,,"none/t.csv")\n<WRITETABLE> (1,2,,"C:\\out\\t.csv")\n'
    )
    for command in (("lint", "job.arb"), ("argus", "job.arb", "--lint"), ("argus", "job.arb", "log.txt")):
        done = invoke(*command)
        assert done.code == 2
        for words in (
            "line 2: variable 'region' of",
            "there is no file 'none.hrc'",
            "line 3: SPECIFYTABLE: there is no variable 'turnoevr'; did you mean 'turnover'?",
            "line 8: there is no file 'none.hst'",
            "line 9: there is no folder",
            "line 10: 'C:\\\\out\\\\t.csv' is a path of Windows",
        ):
            assert words in done.err, done.err
    assert sorted(path.name for path in folder.iterdir()) == [
        "job.arb",
        "log.txt",
        "micro.csv",
        "micro.rda",
        "region.hrc",
    ]


def test_lint_tells_what_is_accepted_and_strict_refuses_it(folder: Path, invoke: Invoke) -> None:
    (folder / "job.arb").write_text(JOB.replace("P(15,1)", "P(12.5)"))
    done = invoke("lint", "job.arb")
    assert done.code == 0 and "accepted: line 4: P with a number that is not whole" in done.out
    assert invoke("lint", "job.arb", "--strict").code == 2
    strict = invoke("argus", "job.arb", "log.txt", "--strict")
    assert strict.code == 2 and "4.2.5 refuses it" in strict.err


def test_windows_paths_find_files_beside_the_job(folder: Path, invoke: Invoke) -> None:
    text = JOB.replace('"micro.csv"', '"C:\\data\\micro.csv"').replace('"micro.rda"', '"D:\\meta\\micro.rda"')
    (folder / "job.arb").write_bytes(text.replace("\n", "\r\n").encode("latin-1"))
    rda = (folder / "micro.rda").read_text().replace('"region.hrc"', '"C:\\my data\\region.hrc"')
    (folder / "micro.rda").write_text(rda)
    assert invoke("argus", "job.arb", "log.txt").code == 0
    (folder / "micro.csv").unlink()
    done = invoke("argus", "job.arb", "log.txt")
    assert done.code == 2 and f"put 'micro.csv' into {folder}" in done.err


@pytest.mark.parametrize("name", ["é ü.arb", "a b.arb"])
def test_accents_and_blanks_in_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke, name: str
) -> None:
    home = tmp_path / "Données à publier"
    home.mkdir()
    write_data(home, records(11))
    (home / name).write_text(
        JOB.replace('"t.csv"', f'"{home}/té b.csv"').replace('"micro.csv"', f'"{home}/micro.csv"')
    )
    monkeypatch.chdir(tmp_path)
    assert invoke("argus", home / name, home / "log é.txt").code == 0
    assert (home / "té b.csv").exists() and (home / "log é.txt").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("N1;1", "line 61: 2 fields, separated by ';'; the metadata have 8 variables"),
        ("XX;1;5.0;1;1;1.0;g1;0", "line 61: 'region': code 'XX' is unknown"),
        (
            "North;1;5.0;1;1;1.0;g1;0",
            "line 61: 'region': code 'North' is a total, records need a code below it",
        ),
        (";1;5.0;1;1;1.0;g1;0", "line 61: 'region': is empty"),
        ("N1;1;abc;1;1;1.0;g1;0", "line 61: 'turnover' is no number"),
        ("N1;1;;1;1;1.0;g1;0", "line 61: 'turnover' is empty"),
    ],
)
def test_bad_records(folder: Path, invoke: Invoke, line: str, words: str) -> None:
    with (folder / "micro.csv").open("a") as file:
        file.write(f"{line}\n")
    done = invoke("argus", "job.arb", "log.txt")
    assert done.code == 2 and words in done.err, done.err
    assert not (folder / "t.csv").exists()


def test_install(tmp_path: Path, folder: Path, invoke: Invoke) -> None:
    place = tmp_path / "bin"
    assert invoke("argus", "--install", place).code == 2
    place.mkdir()
    assert invoke("argus", "--install", place).out == f"installed: {place / 'TauArgus'}\n"
    assert invoke("argus", "--install", place).code == 0  # ours may be replaced
    path = place / "TauArgus"
    assert os.access(path, os.X_OK)
    for name, code in (("job.arb", 0), ("none.arb", 2)):
        ended = subprocess.run(
            [path, name, "log.txt"], cwd=folder, capture_output=True, text=True, check=False
        )
        assert ended.returncode == code, ended.stderr
    path.write_text("#!/bin/sh\n")
    done = invoke("argus", "--install", place)
    assert done.code == 2 and "is another program" in done.err and path.read_text() == "#!/bin/sh\n"
