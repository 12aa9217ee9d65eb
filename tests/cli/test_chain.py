"""The five verbs as commands, each reading what the one before wrote; and jobs from the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tablecloak.assessment import Dominance, Frequency, Insiders, PPercent, assess
from tablecloak.auditing import audit
from tablecloak.cli.app import app
from tablecloak.formats import read_cloak, read_pattern, write_cloak, write_pattern
from tablecloak.job.schema import PUBLIC
from tablecloak.model import Dimension, Hierarchy, Problem, Suppression, Table
from tablecloak.protection import protect
from tablecloak.publication import publish
from tablecloak.tabulation import CellData, Microdata, tabulate
from tests.cli.test_app import TABLE, failing
from tests.cli.test_app import write_pattern as write_given
from tests.job.test_job import FILES, REGIONS, cells_of


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
        assert "Traceback" not in captured.err
        return Outcome(int(ended.value.code or 0), captured.out, captured.err)

    return invoke


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


DIMENSIONS = ("--dimension", "region=region.csv", "--dimension", "industry=digits:1,1")
COLUMNS = ("--response", "turnover", "--weight", "w", "--respondent", "firm", "--holding", "group")
RULES = (
    "--rule",
    "p-percent p=15",
    "--rule",
    "frequency minimum=3",
    "--rule",
    "dominance n=1 k=80 level=holdings",
)


def dimensions() -> list[Dimension]:
    return [
        Dimension.of("region", Hierarchy.from_dict({"N": ["N1", "N2"], "S": ["S1", "S2"]})),
        Dimension.of("industry", Hierarchy.from_prefixes(["A1", "A2", "B1", "B2"], (1, 1))),
    ]


def table_of(folder: Path) -> Table:
    source = Microdata(folder / "survey.csv", weight="w", respondent="firm", holding="group")
    return tabulate(source, dimensions(), "turnover")


# ---------------------------------------------------------------------- the chain


def test_the_chain_is_the_python_chain_byte_for_byte(run: Run, folder: Path) -> None:
    made = run("tabulate", "survey.csv", *DIMENSIONS, *COLUMNS, "--out", "table.cloak")
    assert made.code == 0 and made.err == ""
    assert (
        made.out.startswith("turnover by region(7) x industry(7): ")
        and "respondents and holdings" in made.out
    )
    table = table_of(folder)
    assert Path("table.cloak").read_bytes() == write_cloak(table)

    found = run("assess", "table.cloak", *RULES, "--insiders", "largest=0", "--out", "problem.cloak")
    assert found.code == 0 and "p% rule (p=15): caught" in found.out
    rules = [PPercent(15), Frequency(3), Dominance(1, 80, level="holdings")]
    problem = assess(table, rules, insiders=Insiders(largest=0))
    assert Path("problem.cloak").read_bytes() == write_cloak(problem)

    options = ("--seed", 3, "--pattern", "pattern.csv", "--json", "result.json")
    done = run("protect", "problem.cloak", *options)
    assert done.code == 0 and "SAFE" in done.out
    result = protect(problem, seed=3)
    assert Path("pattern.csv").read_text() == write_pattern(problem, result.pattern)
    assert json.loads(Path("result.json").read_text())["cost"] == result.cost

    judged = run("audit", "problem.cloak", "--pattern", "pattern.csv", "--intervals", "--json", "audit.json")
    assert judged.code == 0 and judged.out.startswith("SAFE")
    assert json.loads(Path("audit.json").read_text())["attackers"] == len(problem.attackers) + 1

    outputs = [f"safe{suffix}" for suffix in PUBLIC]
    texts = ("--title", "Turnover", "--note", "In euros.", "--symbol", "c", "--labels", "region=region.csv")
    wanted = [part for name in outputs for part in ("--out", name)]
    shown = run("publish", "problem.cloak", "--pattern", "pattern.csv", *wanted, *texts)
    assert shown.code == 0 and shown.out.count("(public)") == len(PUBLIC)
    labels = {"region": {"Total": "Everywhere", "N": "North", "S": "South"}}
    printed = publish(problem, result, title="Turnover", note="In euros.", symbol="c", labels=labels)
    for name in outputs:
        content = printed.render(name)
        data = content.encode() if isinstance(content, str) else content
        assert Path(name).read_bytes() == data

    coarse = ("publish", "problem.cloak", "--pattern", "pattern.csv", "--out", "coarse.csv")
    assert run(*coarse, "--unit", 50).code == 0
    assert Path("coarse.csv").read_text() == publish(problem, result, unit=50).render("coarse.csv")
    assert run(*coarse, "--decimals", 0, "--report", "coarse.html").code == 0
    wrong = run(*coarse, "--decimals", 7)
    assert wrong.code == 2 and "decimals: finer than the data unit" in wrong.err

    more = run("publish", "problem.cloak", "--pattern", "pattern.csv", "--out", "s.csv", "--report", "r.html")
    assert more.code == 0 and "written: r.html (CONFIDENTIAL)" in more.out
    page = Path("r.html").read_text()
    assert "confidential" in page.lower() and "pattern in pattern.csv" in page

    assert run("exposure", "problem.cloak", "--json", "exposure.json").code == 0
    assert "sets" in json.loads(Path("exposure.json").read_text())


def test_cells_from_the_command_line(run: Run, folder: Path) -> None:
    Path("cells.csv").write_text(cells_of(folder))
    columns = ("--cells", "--count", "n", "--top", "x1", "--top", "x2")
    made = run("tabulate", "cells.csv", "--dimension", "region=region.csv", "--dimension", "industry", *columns,
               "--out", "table.cloak")  # fmt: skip
    assert made.code == 0, made.err
    own = [dimensions()[0], Dimension.flat("industry", ["A1", "A2", "B1", "B2"])]
    table = tabulate(CellData("cells.csv", count="n", top=("x1", "x2")), own)
    assert Path("table.cloak").read_bytes() == write_cloak(table)


def test_totals_further_hierarchies_counts_and_hrc(run: Run, folder: Path) -> None:
    Path("region.hrc").write_text("N\n@N1\n@N2\nS\n@S1\n@S2\n")
    Path("coast.csv").write_text(
        "child,parent\nN1,coast\nS1,coast\nN2,inland\nS2,inland\ncoast,All\ninland,All\n"
    )
    options = ("--dimension", "region=region.hrc", "--dimension", "industry", "--further", "region=coast.csv")
    made = run("tabulate", "survey.csv", *options, "--total", "industry=Every", "--out", "t.cloak")
    assert made.code == 0, made.err
    table = read_cloak("t.cloak")
    assert isinstance(table, Table) and table.response == "count"
    assert len(table.dimensions[0].hierarchies) == 2 and table.dimensions[1].total == "Every"
    assert table.values[table.find()] == 400


def test_options_of_assess(run: Run, folder: Path) -> None:
    Path("table.cloak").write_bytes(write_cloak(table_of(folder)))
    Path("marks.csv").write_text("region,industry,mark\nN1,A1,unsafe\nS1,A,forced\n")
    options = (
        "--marks",
        "marks.csv",
        "--weights",
        "unit",
        "--manual-percent",
        30,
        "--publish-zeros",
        "--widen",
    )
    more = ("--most-touched", 40, "--missing-safe", "industry=B2", "--power", 1, "--insiders", "default")
    made = run("assess", "table.cloak", *options, *more, "--rule", "frequency minimum=2", "--out", "p.cloak")
    assert made.code == 0, made.err
    problem = read_cloak("p.cloak")
    assert isinstance(problem, Problem)
    marked = problem.table.find(region="N1", industry="A1")
    assert problem.levels.upper[marked] == np.ceil(0.3 * problem.table.values[marked])
    assert problem.forced[problem.table.find(region="S1", industry="A")] and problem.most_touched == 40
    assert not problem.weights.any()  # (1^1 - 1) / 1


def test_a_jj_file_through_publish(run: Run, folder: Path) -> None:
    Path("table.jj").write_text(TABLE)
    pattern = write_given(folder, 4, 5, 7, 8)
    done = run("publish", "table.jj", "--pattern", pattern, "--out", "safe.csv")
    assert done.code == 0, done.err
    rows = Path("safe.csv").read_text().splitlines()
    assert len(rows) == 10 and not any("4077" in row or "sensitive" in row for row in rows)


# ---------------------------------------------------------------------- refusals


@pytest.fixture
def chain(folder: Path) -> tuple[Problem, Any]:
    """A problem and a pattern in files."""
    problem = assess(table_of(folder), [PPercent(15), Frequency(3)])
    result = protect(problem)
    Path("table.cloak").write_bytes(write_cloak(problem.table))
    Path("problem.cloak").write_bytes(write_cloak(problem))
    Path("pattern.csv").write_text(write_pattern(problem, result.pattern))
    return problem, result


def test_a_pattern_that_is_safe_in_print_only(run: Run, chain: tuple[Problem, Any]) -> None:
    problem, _ = chain
    Path("naked.csv").write_text(write_pattern(problem, Suppression.of(problem.table, [])))
    command = ("publish", "problem.cloak", "--pattern", "naked.csv", "--out", "naked_safe.csv")
    assert run(*command, "--unit", 2).code == 4 and not Path("naked_safe.csv").exists()
    assert run(*command, "--unit", 1_000_000).code == 0
    assert ",published,500000" in Path("naked_safe.csv").read_text()


def test_an_unsafe_pattern_is_not_published(run: Run, chain: tuple[Problem, Any]) -> None:
    problem, _ = chain
    naked = Path("pattern.csv").read_text().replace("complementary", "published")
    Path("naked.csv").write_text(naked)
    ended = run(
        "publish", "problem.cloak", "--pattern", "naked.csv", "--out", "safe.csv", "--out", "safe.html"
    )
    assert ended.code == 4 and ended.out == "" and "did not pass" in ended.err
    assert not Path("safe.csv").exists() and not Path("safe.html").exists()
    assert not audit(problem, read_pattern("naked.csv", problem)).safe
    for value in problem.table.values[problem.sensitive]:
        assert f"{value:g}" not in ended.err


def test_files_in_the_wrong_place(run: Run, chain: tuple[Problem, Any]) -> None:
    ended = run("protect", "table.cloak")
    assert ended.code == 2 and "Run tablecloak assess on it first" in ended.err
    ended = run("assess", "problem.cloak", *RULES, "--out", "again.cloak")
    assert ended.code == 2 and "assessed already" in ended.err
    ended = run("protect", "problem.cloak", "--widen")
    assert ended.code == 2 and "pass it to assess" in ended.err
    Path("broken.cloak").write_bytes(Path("problem.cloak").read_bytes()[:-40])
    ended = run("audit", "broken.cloak", "--pattern", "pattern.csv")
    assert ended.code == 2 and "broken.cloak" in ended.err and "cut short" in ended.err
    ended = run(
        "publish", "problem.cloak", "--pattern", "pattern.csv", "--out", "safe.doc", "--out", "safe.txt"
    )
    assert ended.code == 2 and ended.err.count("no public format goes by this name") == 2
    ended = run("publish", "problem.cloak", "--pattern", "pattern.csv", "--out", "pattern.csv")
    assert ended.code == 2 and "it is an input file" in ended.err
    ended = run(
        "publish", "problem.cloak", "--pattern", "pattern.csv", "--out", "s.csv", "--labels", "none.csv"
    )
    assert ended.code == 2 and "there is no such file" in ended.err
    assert not Path("s.csv").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--dimension", "region=none.csv"], "--dimension region: there is no file none.csv"),
        (
            ["--dimension", "regoin"],
            "--dimension regoin: survey.csv has no column 'regoin'; did you mean 'region'?",
        ),
        (["--dimension", "region="], "--dimension region=: write it as NAME or NAME=HIERARCHY"),
        (["--dimension", "industry"], "--dimension industry: industry is there already"),
        (["--dimension", "region=digits:a"], "--dimension region: digits:a: write the characters"),
        (["--weight", "wgt"], "--weight: survey.csv has no column 'wgt'"),
        (
            ["--response", "turnovr"],
            "--response: survey.csv has no column 'turnovr'; did you mean 'turnover'?",
        ),
        (["--response", "industry"], "--response: 'industry' is a dimension already"),
        (["--count", "w"], "--count: it goes with kind = 'cells' only"),
        (["--total", "size=All"], "--total size=All: there is no --dimension size"),
        (["--total", "industry"], "--total industry: write it as NAME=VALUE"),
        (["--further", "industry=none.hrc"], "--further industry: there is no file none.hrc"),
        (["--holding", "w", "--weight", "w"], "--holding: column 'w' is used already"),
        (["--request-code", "a", "--request", "w"], "--request-code: it takes a list of two texts"),
        (["--decimals", "-1"], "--decimals"),
        (["--out", "no/such/t.cloak"], "there is no directory"),
        (["--out", "survey.csv"], "it is an input file"),
    ],
)
def test_wrong_options_of_tabulate(run: Run, folder: Path, options: list[str], told: str) -> None:
    ended = run("tabulate", "survey.csv", "--dimension", "industry", "--out", "t.cloak", *options)
    assert ended.code == 2 and told in ended.err, ended.err
    assert not Path("t.cloak").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "there is no --rule and there are no --marks"),
        (["--rule", "p-procent p=1"], "there is no rule 'p-procent' (Rules: "),
        (["--rule", "p-percent"], "--rule p-percent: p is missing"),
        (["--rule", "p-percent p"], "--rule p-percent p: 'p' is not written as KEY=VALUE"),
        (["--rule", "p-percent p=1 p=2"], "p is set twice"),
        (["--rule", "p-percent p=many"], "p must be"),
        (["--rule", "frequency minimum=3 level=firms"], "level"),
        (["--rule", ""], "there is no rule ''"),
        (["--rule", "frequency minimum=3", "--insiders", "larges=1"], "did you mean 'largest'?"),
        (["--rule", "frequency minimum=3", "--insiders", "coalition=1"], "coalition must be at least 2"),
        (
            ["--rule", "frequency minimum=3", "--missing-safe", "B2"],
            "--missing-safe B2: write it as NAME=CODE",
        ),
        (["--rule", "frequency minimum=3", "--weights", "gold"], "there are no weights 'gold'"),
        (["--marks", "none.csv"], "none.csv"),
    ],
)
def test_wrong_options_of_assess(run: Run, chain: tuple[Problem, Any], options: list[str], told: str) -> None:
    ended = run("assess", "table.cloak", "--out", "new.cloak", *options)
    assert ended.code == 2 and told in ended.err, ended.err
    assert not Path("new.cloak").exists()


def test_all_wrong_rules_at_once(run: Run, chain: tuple[Problem, Any]) -> None:
    rules = ("--rule", "p-percent", "--rule", "magic", "--rule", "frequency minimum=-1")
    ended = run("assess", "table.cloak", "--out", "new.cloak", *rules)
    assert ended.code == 2 and "3 faults" in ended.err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("cell 4 is 4077")])
def test_interrupted_commands_leave_nothing(
    run: Run, chain: tuple[Problem, Any], error: BaseException
) -> None:
    before = sorted(path.name for path in Path.cwd().iterdir())
    steps = {
        "tablecloak.job.run.tabulate_linked": ("tabulate", "survey.csv", *DIMENSIONS, "--out", "t.cloak"),
        "tablecloak.formats.write_cloak": ("assess", "table.cloak", *RULES[:2], "--out", "p.cloak"),
        "tablecloak.publication.publish": (
            "publish",
            "problem.cloak",
            "--pattern",
            "pattern.csv",
            "--out",
            "s.csv",
        ),
        "tablecloak.job.run.protect": ("run", "job.toml"),
    }
    for name, command in steps.items():
        with pytest.MonkeyPatch.context() as patch:
            module, _, function = name.rpartition(".")
            patch.setattr(sys.modules[module], function, failing(error))
            ended = run(*command)
        assert ended.code == (130 if isinstance(error, KeyboardInterrupt) else 1)
        assert ended.out == "" and "4077" not in ended.err
        assert sorted(path.name for path in Path.cwd().iterdir()) == before


# ---------------------------------------------------------------------- jobs


def test_run_a_job_and_its_record(run: Run, folder: Path) -> None:
    tried = run("run", "job.toml", "--dry-run")
    assert tried.code == 0 and "would write: safe.csv (public)" in tried.out
    assert not Path("safe.csv").exists()
    done = run("run", "job.toml")
    assert done.code == 0 and "written: safe.csv (public)" in done.out and done.err == ""
    was = Path("safe.csv").read_bytes()
    Path("safe.csv").unlink()
    again = run("run", "record.json")
    assert again.code == 0 and "same bytes as recorded: safe.csv" in again.out
    assert Path("safe.csv").read_bytes() == was
    assert run("run", "job.toml", "--quiet") == (0, "", "")


def test_a_wrong_job(run: Run, folder: Path) -> None:
    Path("job.toml").write_text(FILES["job.toml"].replace("p = 15", "p = 150").replace('"w"', '"weight"'))
    for options in ((), ("--dry-run",)):
        ended = run("run", "job.toml", *options)
        assert ended.code == 2 and ended.out == "" and "2 faults" in ended.err
        assert "line 4, data.weight" in ended.err and "line 20, rule[1]" in ended.err
    assert run("run", "none.toml").code == 2
    assert not Path("safe.csv").exists()


def test_a_job_on_a_wrong_table_of_data(run: Run, folder: Path) -> None:
    Path("region.csv").write_text(REGIONS.replace("S2,S,\n", ""))
    ended = run("run", "job.toml", "--dry-run")
    assert ended.code == 2 and "S2" in ended.err


def test_init_writes_a_job_that_runs(run: Run, folder: Path) -> None:
    Path("job.toml").unlink()
    printed = run("init", "survey.csv")
    assert printed.code == 0 and printed.out.startswith("# A job for tablecloak")
    written = run("init", "survey.csv", "--out", "job.toml")
    assert written.code == 0 and "--dry-run" in written.out
    assert Path("job.toml").read_text() == printed.out
    assert run("run", "job.toml", "--dry-run").code == 0
    assert run("init", "survey.csv", "--out", "survey.csv").code == 2
    assert run("init", "none.csv").code == 2
    assert np.isin(["survey.csv", "job.toml"], [path.name for path in folder.iterdir()]).all()
