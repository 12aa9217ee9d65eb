"""Jobs: every fault is named with its key and line, the chain is the Python chain, all or nothing is written."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tablecloak.assessment import Frequency, Insiders, Marks, PPercent, assess
from tablecloak.errors import InfeasibleProblem, InputError, UnsafePublication
from tablecloak.formats import read_cloak, write_pattern
from tablecloak.job import Job, JobResult, code_labels, plan, read_labels, run_job
from tablecloak.job.hierarchies import in_order, make_dimension, make_hierarchy, read_digits
from tablecloak.job.positions import key_lines
from tablecloak.job.record import digest, file_digest
from tablecloak.job.schema import PUBLIC, SECTIONS
from tablecloak.model import Dimension, Hierarchy, Problem, link, link_responses
from tablecloak.protection import protect
from tablecloak.publication import publish
from tablecloak.tabulation import CellData, Layout, Microdata, tabulate, tabulate_linked

JOB = """\
[data]
path = "survey.csv"
kind = "microdata"
weight = "w"
respondent = "firm"
holding = "group"

[[dimension]]
name = "region"
hierarchy = "region.csv"

[[dimension]]
name = "industry"
hierarchy = [1, 1]

[table]
response = "turnover"
decimals = 0

[[rule]]
rule = "p-percent"
p = 15

[[rule]]
rule = "frequency"
minimum = 3

[insiders]
largest = 0

[protect]
method = "suppress-greedy"
seed = 7

[publish]
outputs = ["safe.csv", "safe.html"]
title = "Turnover"
labels = true

[report]
json = "record.json"
pattern = "pattern.csv"
problem = "problem.cloak"
"""


def survey(rows: int = 400, seed: int = 5) -> str:
    """Microdata of invented firms."""
    rng = np.random.default_rng(seed)
    regions, industries = ["N1", "N2", "S1", "S2"], ["A1", "A2", "B1", "B2"]
    lines = ["firm,region,industry,group,w,turnover,costs,profit"]
    for i in range(rows):
        region, industry = rng.choice(regions), rng.choice(industries, p=[0.4, 0.4, 0.19, 0.01])
        turnover, costs = int(rng.lognormal(5, 1)) + 1, int(rng.lognormal(4, 1)) + 1
        group = f"G{rng.integers(4)}" if rng.random() < 0.05 else ""
        lines.append(f"F{i},{region},{industry},{group},1,{turnover},{costs},{turnover - costs}")
    return "\n".join(lines) + "\n"


REGIONS = "child,parent,label\nTotal,,Everywhere\nN,Total,North\nS,Total,South\nN1,N,\nN2,N,\nS1,S,\nS2,S,\n"
FILES = {"survey.csv": survey(), "region.csv": REGIONS, "job.toml": JOB}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def write(folder: Path, *changes: tuple[str, str], job: str = JOB) -> Path:
    """The job with some texts replaced by others."""
    for old, new in changes:
        assert old in job, f"{old!r} is not in the job"
        job = job.replace(old, new, 1)
    path = folder / "job.toml"
    path.write_text(job)
    return path


def faults(path: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        Job.read(path)
    return list(caught.value.faults)


# ---------------------------------------------------------------------- the chain


def python_chain(folder: Path) -> tuple[Problem, Any, Any]:
    """The same run as JOB, written in Python."""
    tree = Hierarchy.from_dict({"N": ["N1", "N2"], "S": ["S1", "S2"]})
    codes = Hierarchy.from_prefixes(["A1", "A2", "B1", "B2"], (1, 1))
    source = Microdata(folder / "survey.csv", weight="w", respondent="firm", holding="group")
    dimensions = [Dimension.of("region", tree), Dimension.of("industry", codes)]
    table = tabulate(source, dimensions, "turnover", decimals=0)
    problem = assess(table, [PPercent(15), Frequency(3)], insiders=Insiders(largest=0))
    result = protect(problem, "suppress-greedy", seed=7)
    labels = {"region": {"Total": "Everywhere", "N": "North", "S": "South"}}
    return problem, result, publish(problem, result, title="Turnover", labels=labels)


def test_a_job_is_the_python_chain_byte_for_byte(folder: Path) -> None:
    done = run_job(Job.read(folder / "job.toml"))
    problem, result, publication = python_chain(folder)
    assert problem.sensitive.any() and problem.attackers
    assert (folder / "safe.csv").read_text() == publication.render("safe.csv")
    assert (folder / "safe.html").read_text() == publication.render("safe.html")
    assert (folder / "pattern.csv").read_text() == write_pattern(problem, result.pattern)
    kept = read_cloak(folder / "problem.cloak")
    assert isinstance(kept, Problem) and np.array_equal(kept.levels.upper, problem.levels.upper)
    assert [path.name for path in done.written] == [
        "safe.csv", "safe.html", "pattern.csv", "problem.cloak", "record.json",
    ]  # fmt: skip
    assert "confidential" in repr(done)
    told = done.summary()
    assert "SAFE" in told and "safe.csv (public)" in told and "record.json (confidential)" in told


def test_a_printed_unit(folder: Path) -> None:
    job = Job.read(write(folder, ('title = "Turnover"', "unit = 50")))
    done = run_job(job)
    assert done.publication is not None and done.publication.unit == 50
    assert "multiples of 50" in (folder / "safe.html").read_text()
    rows = (folder / "safe.csv").read_text().splitlines()[1:]
    assert all(int(row.split(",")[3]) % 50 == 0 for row in rows if ",published," in row)
    record = json.loads((folder / "record.json").read_text())
    assert record["job"]["publish"]["unit"] == 50
    again = run_job(Job.read(folder / "record.json"))
    assert "same bytes as recorded: safe.csv" in again.notes


def test_a_printed_unit_that_does_not_fit_is_told_before_anything_is_solved(folder: Path) -> None:
    with pytest.raises(InputError) as caught:
        plan(Job.read(write(folder, ('title = "Turnover"', "decimals = 2"))))
    assert "publish.decimals: finer than the data unit. The data unit of this table is 1" in str(caught.value)


def test_what_a_run_would_do(folder: Path) -> None:
    before = sorted(path.name for path in folder.iterdir())
    told = plan(Job.read(folder / "job.toml"))
    assert "turnover by region(7) x industry(7)" in told
    assert "p% rule (p=15)" in told and "minimum frequency (3)" in told
    assert "would protect with suppress-greedy, seed 7" in told
    assert "safe.html (public)" in told and "pattern.csv (confidential)" in told
    assert sorted(path.name for path in folder.iterdir()) == before


def test_the_report_is_confidential_and_has_exact_intervals(folder: Path) -> None:
    path = write(folder, ('json = "record.json"', 'json = "record.json"\nhtml = "report.html"'))
    done = run_job(Job.read(path))
    page = (folder / "report.html").read_text()
    assert "confidential" in page.lower() and "p% rule (p=15)" in page
    assert page.count("<svg") == 3  # costs over time: everything hidden, then the pattern
    exact = ('method = "suppress-greedy"', 'method = "suppress-optimal"')
    run_job(
        Job.read(write(folder, exact, ('json = "record.json"', 'json = "record.json"\nhtml = "exact.html"')))
    )
    assert (folder / "exact.html").read_text().count("<svg") == 3
    done = run_job(
        Job.read(write(folder, ('json = "record.json"', 'json = "record.json"\nhtml = "report.html"')))
    )
    assert [each.name for each in done.written][-2:] == ["report.html", "record.json"]
    short = write(folder, ('json = "record.json"', 'html = "short.html"\nexplain = false'))
    run_job(Job.read(short))
    assert len((folder / "short.html").read_text()) < len(page)


def test_an_input_changed_during_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*arguments: Any, **options: Any) -> Any:
        (folder / "survey.csv").write_text(survey(seed=9))
        return protect(*arguments, **options)

    monkeypatch.setattr("tablecloak.job.run.protect", slow)
    with pytest.raises(InputError, match=r"survey\.csv was changed while the job ran"):
        run_job(Job.read(folder / "job.toml"))
    assert left(folder) == []


def test_wrong_labels_are_told_before_anything_is_solved(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablecloak.job.run.protect", None)
    path = write(folder, ("labels = true", 'labels = { region = { X = "Nowhere" }, size = { S = "small" } }'))
    for run in (plan, run_job):
        with pytest.raises(InputError) as caught:
            run(Job.read(path))
        assert caught.value.faults == (
            "Labels: there is no dimension 'size'",
            "Labels: dimension 'region' has no code 'X'",
        )


def test_missing_libraries_are_told_beforehand(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablecloak.job.validation.find_spec", lambda name: None)
    found = faults(write(folder, ('"safe.html"', '"safe.xlsx"'), ('json = "r', 'html = "r.html"\njson = "r')))
    assert [fault.split(": it needs ")[1] for fault in found] == [
        "xlsxwriter; run: pip install tablecloak[excel]",
        "matplotlib; run: pip install tablecloak[report]",
    ]


def test_linked_tables_and_responses(folder: Path) -> None:
    tables = """
[[table]]
response = "turnover"
outputs = ["turnover.csv"]
[[table]]
response = "costs"
dimensions = ["region"]
[[table]]
response = "turnover"
dimensions = ["region"]
[[table]]
response = "profit"
dimensions = ["region"]
outputs = ["profit.csv"]
[relations]
profit = { turnover = 1, costs = -1 }
"""
    one = '[table]\nresponse = "turnover"\ndecimals = 0\n'
    path = write(folder, (one, tables), ("[insiders]\nlargest = 0\n", ""))
    run_job(Job.read(path))
    rows = (folder / "safe.csv").read_text().splitlines()
    assert rows[0].startswith("response,region,region_label,industry,")
    part = (folder / "profit.csv").read_text().splitlines()
    assert part[0].startswith("region,region_label,") and len(part) == 8
    whole = (folder / "turnover.csv").read_text().splitlines()
    assert len(whole) > 40 and not any("profit" in line for line in whole)

    tree = make_dimension("region", ["region.csv"], folder)
    industry = make_dimension("industry", [[1, 1]], folder, codes=["A1", "A2", "B1", "B2"])
    source = Microdata(folder / "survey.csv", weight="w", respondent="firm", holding="group")
    made = tabulate_linked(
        source,
        [
            Layout([tree, industry], "turnover"),
            Layout([tree], "costs"),
            Layout([tree], "turnover"),
            Layout([tree], "profit"),
        ],
    )
    parts = {"turnover": link([made[0], made[2]]), "costs": made[1], "profit": made[3]}
    table = link_responses(parts, {"profit": {"turnover": 1, "costs": -1}})
    kept = read_cloak(folder / "problem.cloak")
    assert isinstance(kept, Problem)
    assert np.array_equal(kept.table.values, table.values)
    assert (kept.table.equations != table.equations).nnz == 0


CELLS = """\
[data]
path = "cells.csv"
kind = "cells"
count = "n"
top = ["x1", "x2"]
[[dimension]]
name = "region"
hierarchy = { N = ["N1", "N2"], S = ["S1", "S2"] }
[[dimension]]
name = "industry"
[[rule]]
rule = "p-percent"
p = 15
[publish]
outputs = ["safe.parquet"]
"""


def cells_of(folder: Path) -> str:
    problem, _, _ = python_chain(folder)
    table, who = problem.table, problem.table.respondents
    assert who is not None
    lines = ["region,industry,value,n,x1,x2"]
    for cell in range(len(table)):
        region, industry = (d.codes[c] for d, c in zip(table.dimensions, table.codes[cell], strict=True))
        if len(industry) != 1:  # a flat dimension: leaves and the total
            numbers = (table.values[cell], who.count[cell], *who.top[cell, :2])
            lines.append(",".join([region, industry, *(f"{number:g}" for number in numbers)]))
    return "\n".join(lines) + "\n"


def test_cells_with_totals(folder: Path) -> None:
    (folder / "cells.csv").write_text(cells_of(folder))
    done = run_job(Job.read(write(folder, job=CELLS)))
    dimensions = [
        Dimension.of("region", Hierarchy.from_dict({"N": ["N1", "N2"], "S": ["S1", "S2"]})),
        Dimension.flat("industry", ["A1", "A2", "B1", "B2"]),
    ]
    table = tabulate(CellData(folder / "cells.csv", count="n", top=("x1", "x2")), dimensions)
    problem = assess(table, [PPercent(15)])
    assert np.array_equal(done.problem.sensitive, problem.sensitive) and problem.sensitive.any()
    assert (folder / "safe.parquet").read_bytes() == publish(problem, protect(problem)).render("x.parquet")


def test_linked_tables_of_cells(tmp_path: Path, data: Path) -> None:
    """Two of the linked tables of an institute, each in a file of its own, with its totals."""
    linked = data / "linked"
    levels = (data / "microdata" / "insee_activity_corr_table.csv").read_text().split()[1:]
    above = {"AZ": "Total"}
    for coarse, middle, fine in (line.split(",") for line in levels if not line.endswith(",X,X")):
        above |= {coarse: "Total", middle: coarse} | ({fine: middle} if fine != middle else {})
    pairs = "".join(f"{child},{parent}\n" for child, parent in above.items())
    (tmp_path / "activity.csv").write_text("child,parent\n" + pairs)
    tables = "".join(
        f"""
[[table]]
dimensions = ["ACTIVITY", "{other}"]
response = "TOT"
path = "{linked}/insee_turnover_act_{other.lower()}.csv"
"""
        for other in ("CJ", "SIZE")
    )
    text = f"""
[data]
path = "{linked}/insee_turnover_act_cj.csv"
kind = "cells"
count = "N_OBS"
top = ["MAX"]
tolerance = 0.05
[[dimension]]
name = "ACTIVITY"
hierarchy = "activity.csv"
[[dimension]]
name = "CJ"
[[dimension]]
name = "SIZE"
{tables}
[[rule]]
rule = "dominance"
n = 1
k = 85
"""
    told = plan(Job.read(write(tmp_path, job=text)))
    assert "TOT by ACTIVITY(121) x CJ(4) x SIZE(4): 707 cells" in told
    assert "dominance rule (n=1, k=85): caught 111" in told


def test_marks_weights_and_options_of_assess(folder: Path) -> None:
    (folder / "marks.csv").write_text("region,industry,mark\nN1,A,forced\nS1,A1,unsafe\n")
    extra = """
[marks]
file = "marks.csv"
[weights]
by = "contributors"
power = 0.5
[assess]
manual_percent = 30
hide_zeros = false
missing_safe = { industry = ["B2"] }
[audit]
intervals = true
every_hidden = true
"""
    done = run_job(Job.read(write(folder, job=JOB + extra)))
    table = done.problem.table
    assert done.problem.forced[table.find(region="N1", industry="A")]
    marked = table.find(region="S1", industry="A1")
    assert done.problem.levels.upper[marked] == np.ceil(0.3 * table.values[marked])
    assert not done.problem.sensitive[table.codes[:, 1] == table.dimensions[1].index["B2"]].any()
    assert np.allclose(done.problem.weights, 2 * (np.sqrt(np.maximum(table.column("contributors"), 1)) - 1))
    assert done.audit.exact and done.audit is not done.result.audit
    marks = Marks.of(table, folder / "marks.csv")
    assert done.problem.forced[marks.forced].all()
    assert "audited again: SAFE" in done.summary()


# ---------------------------------------------------------------------- nothing half-written


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name not in FILES)


def test_an_infeasible_job_writes_nothing(folder: Path) -> None:
    (folder / "marks.csv").write_text(
        "region,industry,mark\n" + "".join(f"{r},{i},forced\n" for r in ("N1", "N2", "S1", "S2", "N", "S", "")
        for i in ("A1", "A2", "B1", "A", "B", ""))
    )  # fmt: skip
    path = write(folder, job=JOB + '[marks]\nfile = "marks.csv"\n')
    with pytest.raises((InfeasibleProblem, InputError)):
        run_job(Job.read(path))
    assert left(folder) == ["marks.csv"]


@pytest.mark.parametrize(
    "stage", ["tabulate_linked", "assess", "protect", "publish", "run_record", "write_files"]
)
def test_an_interrupted_job_writes_nothing(folder: Path, stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"tablecloak.job.run.{stage}", stop)
    with pytest.raises(KeyboardInterrupt):
        run_job(Job.read(folder / "job.toml"))
    assert left(folder) == []


def test_a_full_disk_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "safe.csv").write_text("old")
    calls = []

    def full(number: int) -> None:
        calls.append(number)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("tablecloak.files.os.fsync", full)
    with pytest.raises(InputError, match="No space left"):
        run_job(Job.read(folder / "job.toml"))
    assert left(folder) == ["safe.csv"] and (folder / "safe.csv").read_text() == "old"


def test_outputs_that_became_unwritable(folder: Path) -> None:
    job = Job.read(folder / "job.toml")
    (folder / "safe.csv").mkdir()
    with pytest.raises(InputError, match="it is a directory"):
        run_job(job)
    assert left(folder) == ["safe.csv"]


def test_an_unsafe_closer_audit_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tablecloak.auditing import audit

    def severe(problem: Problem, pattern: Any, **options: Any) -> Any:
        from tablecloak.model import Suppression

        return audit(problem, Suppression.of(problem.table, []))

    monkeypatch.setattr("tablecloak.job.run.audit", severe)
    path = write(folder, job=JOB + "[audit]\nintervals = true\n")
    with pytest.raises(UnsafePublication, match="NOT SAFE"):
        run_job(Job.read(path))
    assert left(folder) == []


# ---------------------------------------------------------------------- records


@pytest.fixture
def done(folder: Path) -> JobResult:
    return run_job(Job.read(folder / "job.toml"))


def test_the_record_says_everything(folder: Path, done: JobResult) -> None:
    record = json.loads((folder / "record.json").read_text())
    assert record["confidential"] is True and record["repeatable"] is True
    assert record["job"]["rule"][0] == {"rule": "p-percent", "p": 15}
    assert record["inputs"] == {
        name: file_digest(folder / name) for name in ("job.toml", "survey.csv", "region.csv")
    }
    assert record["public"] == {
        name: digest((folder / name).read_bytes()) for name in ("safe.csv", "safe.html")
    }
    assert record["seed"] == 7 and record["result"]["seed"] == 7
    assert record["result"]["safe"] is True and record["audit"]["safe"] is True
    assert set(record["versions"]) >= {"python", "tablecloak", "numpy", "duckdb"}


def test_every_field_of_the_record_is_explained(folder: Path, done: JobResult) -> None:
    page = (Path(__file__).resolve().parent.parent.parent / "docs" / "jobs.md").read_text(encoding="utf-8")
    chapter = page.split("## The record\n")[1].partition("\n## ")[0]
    record = json.loads((folder / "record.json").read_text())
    assert re.findall(r"^\| `(\w+)` \|", chapter, re.MULTILINE) == list(record)


def test_a_record_runs_again_to_the_same_bytes(folder: Path, done: JobResult) -> None:
    was = {name: (folder / name).read_bytes() for name in ("safe.csv", "safe.html", "record.json")}
    for name in ("safe.csv", "safe.html", "job.toml"):
        (folder / name).unlink()
    again = run_job(Job.read(folder / "record.json"))
    assert {name: (folder / name).read_bytes() for name in was} == was
    assert "same bytes as recorded: safe.csv" in again.notes
    assert [note for note in again.notes if "changed" in note] == ["changed since the record: job.toml"]


def test_a_record_moves_with_its_folder(folder: Path, done: JobResult, tmp_path_factory: Any) -> None:
    other = tmp_path_factory.mktemp("moved") / "archive"
    shutil.copytree(folder, other)
    again = run_job(Job.read(other / "record.json"))
    assert set(again.notes) == {"same bytes as recorded: safe.csv", "same bytes as recorded: safe.html"}


def test_a_changed_input_is_told(folder: Path, done: JobResult) -> None:
    (folder / "survey.csv").write_text(FILES["survey.csv"].replace("F1,", "F1x,"))
    again = run_job(Job.read(folder / "record.json"))
    assert "changed since the record: survey.csv" in again.notes
    assert "changed since the record: survey.csv" in plan(Job.read(folder / "record.json"))


def test_other_bytes_are_refused_and_nothing_is_written(folder: Path, done: JobResult) -> None:
    (folder / "survey.csv").write_text(survey(seed=6))
    was = (folder / "safe.csv").read_bytes()
    with pytest.raises(InputError) as caught:
        run_job(Job.read(folder / "record.json"))
    assert "safe.csv: not the bytes of the recorded run" in caught.value.faults
    assert "changed since the record: survey.csv" in caught.value.faults
    assert (folder / "safe.csv").read_bytes() == was
    record = json.loads((folder / "record.json").read_text())
    (folder / "survey.csv").write_text(FILES["survey.csv"])
    record["job"]["publish"]["title"] = "Something else"
    (folder / "record.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match="look at the versions"):
        run_job(Job.read(folder / "record.json"))


def test_a_record_of_something_else(folder: Path) -> None:
    path = folder / "other.json"
    for text, told in (
        ('{"confidential": true}', "not the record of a run"),
        ("{", "neither a job file nor"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=told):
            Job.read(path)


# ---------------------------------------------------------------------- faults of a job file


ONE_FAULT: list[tuple[str, list[tuple[str, str]], str]] = [
    (
        "unknown section",
        [("[insiders]", "[insider]")],
        "line 28, insider: there is no section [insider]; did you mean 'insiders'?",
    ),
    (
        "unknown key",
        [("weight =", "wieght =")],
        "line 4, data.wieght: there is no such key; did you mean 'weight'?",
    ),
    (
        "unknown key, nothing near",
        [("seed = 7", "colour = 7")],
        "line 33, protect.colour: there is no such key; there are: method, seconds, seed, params",
    ),
    ("missing key", [('path = "survey.csv"\n', "")], "line 1, data: the key 'path' is missing"),
    ("missing name", [('name = "industry"\n', "")], "line 12, dimension[2]: the key 'name' is missing"),
    (
        "a number as text",
        [("seed = 7", 'seed = "7"')],
        "line 33, protect.seed: it takes a whole number that is not negative, not '7'",
    ),
    (
        "a negative number",
        [("seed = 7", "seconds = -1")],
        "line 33, protect.seconds: it takes a number that is not negative, not -1",
    ),
    (
        "text as a number",
        [('response = "turnover"', "response = 4")],
        "line 17, table.response: it takes text, not 4",
    ),
    (
        "a switch as text",
        [("largest = 0", 'sole = "yes"')],
        "line 29, insiders.sole: it takes true or false, not 'yes'",
    ),
    (
        "an empty list",
        [('outputs = ["safe.csv", "safe.html"]', "outputs = []")],
        "line 36, publish.outputs: it takes a list of texts, not an empty list",
    ),
    (
        "a choice",
        [('"microdata"', '"microdat"')],
        "line 3, data.kind: there is no 'microdat'; did you mean 'microdata'?",
    ),
    (
        "not a list of tables",
        [('[[dimension]]\nname = "region"\nhierarchy = "region.csv"\n\n[[dimension]]', "[dimension]")],
        "line 8, dimension: it must be written as [[dimension]]",
    ),
    ("a list of tables", [("[data]", "[[data]]")], "line 1, data: it must be written as [data]"),
    (
        "one rule only",
        [('[[rule]]\nrule = "p-percent"\np = 15\n\n[[rule]]', "[rule]")],
        "line 20, rule: it must be written as [[rule]]",
    ),
    (
        "a text for a list",
        [('outputs = ["safe.csv", "safe.html"]', 'outputs = "safe.csv"')],
        "line 36, publish.outputs: it takes a list of texts, not 'safe.csv'",
    ),
    ("missing data", [('"survey.csv"', '"survy.csv"')], "line 2, data.path: there is no file "),
    (
        "missing hierarchy",
        [('"region.csv"', '"regions.csv"')],
        "line 10, dimension[1].hierarchy: there is no file ",
    ),
    (
        "unknown column",
        [('"w"', '"weight"')],
        "line 4, data.weight: survey.csv has no column 'weight'; there are: firm, region",
    ),
    (
        "unknown dimension",
        [('name = "region"', 'name = "regoin"')],
        "line 9, dimension[1].name: survey.csv has no column 'regoin'; did you mean 'region'?",
    ),
    (
        "unknown response",
        [('"turnover"', '"turnovr"')],
        "line 17, table.response: survey.csv has no column 'turnovr'; did you mean 'turnover'?",
    ),
    (
        "one column twice",
        [('"group"', '"w"')],
        "line 6, data.holding: column 'w' is used already by data.weight",
    ),
    (
        "dimension twice",
        [('name = "industry"\nhierarchy = [1, 1]', 'name = "region"')],
        "line 13, dimension[2].name: dimension 'region' is there already: dimension[1]",
    ),
    (
        "response is a dimension",
        [('response = "turnover"', 'response = "region"')],
        "line 17, table.response: 'region' is a dimension already",
    ),
    (
        "digits",
        [("[1, 1]", '"digits:1,x"')],
        "line 14, dimension[2].hierarchy: digits:1,x: write the characters of each level as digits:3,1,1",
    ),
    (
        "unknown table dimension",
        [("decimals = 0", 'dimensions = ["regio"]')],
        "line 18, table.dimensions: there is no [[dimension]] 'regio'; did you mean 'region'?",
    ),
    (
        "unknown rule",
        [('"p-percent"', '"p-procent"')],
        "line 21, rule[1].rule: there is no rule 'p-procent'; did you mean 'p-percent'?",
    ),
    (
        "unknown parameter of a rule",
        [("p = 15", "p = 15\nq = 20")],
        "line 20, rule[1]: p-percent: unknown key 'q'",
    ),
    (
        "missing parameter of a rule",
        [("minimum = 3\n", "")],
        "line 24, rule[2]: frequency: minimum is missing",
    ),
    ("wrong parameter of a rule", [("p = 15", "p = -1")], "line 20, rule[1]: p-percent: p must be"),
    (
        "a rule twice",
        [("minimum = 3\n", 'minimum = 3\n[[rule]]\nrule = "frequency"\nminimum = 5\n')],
        "line 27, rule[3]: it contradicts or repeats rule[2]: keep one of them",
    ),
    (
        "a request without a column",
        [('rule = "frequency"\nminimum = 3', 'rule = "request"\npercent1 = 60')],
        "line 24, rule[2]: it needs the column data.request",
    ),
    (
        "holdings without a column",
        [('holding = "group"\n', ""), ("minimum = 3", 'minimum = 3\nlevel = "holdings"')],
        "line 23, rule[2]: holdings are asked for, but there is no column data.holding",
    ),
    (
        "insiders of holdings",
        [('holding = "group"\n', ""), ("largest = 0", "holdings = true")],
        "line 28, insiders.holdings: there is no column data.holding",
    ),
    (
        "a coalition of one",
        [("largest = 0", "coalition = 1")],
        "line 28, insiders: coalition must be at least 2",
    ),
    (
        "unknown method",
        [("suppress-greedy", "suppress-greed")],
        "line 32, protect.method: there is no method 'suppress-greed'; did you mean 'suppress-greedy'?",
    ),
    (
        "unknown parameter",
        [("seed = 7", "seed = 7\n[protect.params]\ndepth = 3")],
        "line 35, protect.params.depth: suppress-greedy: unknown parameter 'depth'",
    ),
    (
        "wrong parameter",
        [("seed = 7", 'params = { reweight = "many" }')],
        "line 33, protect.params.reweight: suppress-greedy: parameter 'reweight' takes a whole number",
    ),
    (
        "seconds twice",
        [("seed = 7", "seconds = 3\nparams = { seconds = 3 }")],
        "line 34, protect.params.seconds: it is set twice",
    ),
    (
        "a printed unit twice",
        [('title = "Turnover"', "decimals = 0\nunit = 10")],
        "line 38, publish.unit: the printed unit is set twice",
    ),
    (
        "a wrong number of decimals",
        [('title = "Turnover"', "decimals = -1")],
        "line 37, publish.decimals: it takes a whole number that is not negative, not -1",
    ),
    ("unknown format", [('"safe.csv"', '"safe.doc"')], "line 36, publish.outputs: "),
    ("no folder", [('"safe.csv"', '"none/safe.csv"')], "line 36, publish.outputs: "),
    ("an output twice", [('"safe.html"', '"./safe.csv"')], "it is asked for already by publish.outputs"),
    ("an output over an input", [('"record.json"', '"survey.csv"')], "line 41, report.json: "),
    (
        "only for cells",
        [('weight = "w"', 'weight = "w"\nrecompute = true')],
        "line 5, data.recompute: it goes with kind = 'cells' only",
    ),
    (
        "codes without a column",
        [('holding = "group"', 'request_codes = ["a", "b"]')],
        "line 6, data.request_codes: it says what is in the column 'request', which is not named",
    ),
    (
        "three codes",
        [('holding = "group"', 'request = "group"\nrequest_codes = ["a", "b", "c"]')],
        "line 7, data.request_codes: it takes a list of two texts, not a list",
    ),
    (
        "unknown safe dimension",
        [("[protect]", '[assess]\nmissing_safe = { size = ["x"] }\n[protect]')],
        "line 32, assess.missing_safe.size: there is no [[dimension]] 'size'",
    ),
    (
        "unknown relation",
        [("[insiders]", "[relations]\nprofit = { turnover = 1 }\n[insiders]")],
        "line 29, relations.profit: no [[table]] has the response 'profit'",
    ),
    (
        "a relation to itself",
        [("[insiders]", "[relations]\nturnover = { turnover = 1 }\n[insiders]")],
        "line 29, relations.turnover: 'turnover' cannot be a part of itself",
    ),
    (
        "wrong factors",
        [("[insiders]", '[relations]\nturnover = { costs = "x" }\n[insiders]')],
        "line 29, relations.turnover: it takes a table of factors",
    ),
    (
        "own path",
        [("decimals = 0", 'path = "survey.csv"')],
        "line 18, table.path: only cells may come from a file of their own",
    ),
]


@pytest.mark.parametrize(("changes", "told"), [case[1:] for case in ONE_FAULT], ids=[c[0] for c in ONE_FAULT])
def test_one_fault(folder: Path, changes: list[tuple[str, str]], told: str) -> None:
    found = faults(write(folder, *changes))
    hits = [fault for fault in found if told in fault]
    assert hits, "\n".join(found)
    if told.startswith("line"):
        assert hits[0].startswith(told)
    assert len(found) == 1, "\n".join(found)


def test_all_faults_at_once(folder: Path) -> None:
    changes = [
        ("weight =", "wieght ="),
        ("p = 15", "p = 0"),
        ("seed = 7", "seed = -7"),
        ('"safe.csv"', '"safe"'),
    ]
    found = faults(write(folder, *changes, ('"region.csv"', '"no.csv"'), ("suppress-greedy", "magic")))
    assert len(found) == 6
    lines = [int(fault.split(",")[0].removeprefix("line ")) for fault in found]
    assert lines == sorted(lines)


def test_no_rule_and_no_sections(folder: Path) -> None:
    start, end = JOB.index("[[rule]]"), JOB.index("[insiders]")
    (nothing,) = faults(write(folder, job=JOB[:start] + JOB[end:]))
    assert nothing == "there is no [[rule]] and there are no [marks]: nothing would be sensitive"
    empty = faults(write(folder, job=""))
    assert "the section [data] is missing" in empty and "the section [[dimension]] is missing" in empty


def test_faults_of_cells(folder: Path) -> None:
    (folder / "cells.csv").write_text("region,industry,value,n,x1\nTotal,Total,5,1,5\n")
    found = faults(write(folder, ('path = "cells.csv"', 'path = "cells.csv"\nweight = "n"'), job=CELLS))
    assert "line 3, data.weight: it goes with kind = 'microdata' only" in found
    assert any(fault.startswith("line 6, data.top: cells.csv has no column 'x2'") for fault in found)
    bare = CELLS.replace('count = "n"\ntop = ["x1", "x2"]\n', "").replace(
        "[publish]", "[insiders]\n[publish]"
    )
    found = faults(write(folder, job=bare))
    assert "line 9, rule[1]: it needs the column data.count" in found
    assert "line 9, rule[1]: it needs data.top with the 2 largest contributions" in found
    assert "line 12, insiders: contributors are known from microdata only" in found
    (folder / "cells.csv").write_text("region,industry,turnover,n,x1,x2\nTotal,Total,5,1,5,0\n")
    found = faults(write(folder, job=CELLS))
    assert any("table.response: cells.csv has no column 'value'" in fault for fault in found)


def test_a_wrong_hierarchy_file(folder: Path) -> None:
    (folder / "region.csv").write_text("child,parent\nN1,N\nN,Total\nN1,S\n,S\nS,N1\n")
    found = faults(folder / "job.toml")
    assert len(found) >= 3
    assert all(fault.startswith("line 10, dimension[1].hierarchy: region.csv: ") for fault in found)
    (folder / "region.csv").write_text("a;b\n1;2\n")
    (header,) = faults(folder / "job.toml")
    assert header.endswith("region.csv: the first line must name the columns child and parent")


def test_no_toml_and_no_file(folder: Path) -> None:
    (fault,) = faults(write(folder, ("[[dimension]]", "[[dimension]")))
    assert fault.startswith("it is not valid TOML: ") and "line 8" in fault
    (fault,) = faults(folder / "none.toml")
    assert fault == "there is no such file"
    (fault,) = faults(write(folder, ("weight =", "path =")))
    assert "Cannot overwrite a value" in fault


def test_faults_of_the_data_come_with_their_lines(folder: Path) -> None:
    lines = FILES["survey.csv"].splitlines()
    lines[3] = lines[3].replace(lines[3].split(",")[1], "X9", 1)
    lines[5] = lines[5].rsplit(",", 3)[0] + ",many,1,1"
    (folder / "survey.csv").write_text("\n".join(lines) + "\n")
    job = Job.read(folder / "job.toml")
    with pytest.raises(InputError) as caught:
        plan(job)
    text = "\n".join(caught.value.faults)
    assert "X9" in text and "turnover" in text and "line 4" in text and "line 6" in text


def test_codes_that_do_not_fit_the_digits(folder: Path) -> None:
    (folder / "survey.csv").write_text(FILES["survey.csv"].replace(",A1,", ",A11,", 1))
    with pytest.raises(InputError) as caught:
        plan(Job.read(folder / "job.toml"))
    assert caught.value.faults[0].startswith("dimension[2]: ") and "'A11' is 3 long" in caught.value.faults[0]


# ---------------------------------------------------------------------- the small parts


def test_lines_of_keys() -> None:
    text = """# [not.a.table]
title = 'x'   # "comment
[a.b]
one = [
  "[[c]]",  # ]
  { x = 1 },
]
"two words".deep = 2
[[c]]
text = \"\"\"
[d]
e = 5
\"\"\"
[[c]]
[c.inner]
last = '''
[f]'''
[g]
h.i = 1
"""
    assert key_lines(text) == {
        "title": 2, "a.b": 3, "a.b.one": 4, "a.b.two words": 8, "a.b.two words.deep": 8, "c[1]": 9,
        "c[1].text": 10, "c[2]": 14, "c[2].inner": 15, "c[2].inner.last": 16, "g": 18, "g.h": 19, "g.h.i": 19,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ("tree.hrc", ("All", "N", "N1", "N2", "S")),
        ("tree.csv", ("All", "N", "N1", "N2", "S")),
        ({"N": ["N1", "N2"], "S": []}, ("All", "N", "N1", "N2", "S")),
        (["S", "N"], ("All", "S", "N")),
        ([1, 1], ("All", "N", "N1", "N2", "S")),
        ("digits:1,1", ("All", "N", "N1", "N2", "S")),
        (None, ("All", "N1", "N2", "S")),
    ],
)
def test_hierarchies(given: Any, codes: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "tree.hrc").write_text("N\n@N1\n@N2\nS\n")
    (tmp_path / "tree.csv").write_text("parent;child;level\nN;N1;2\nN;N2;2\nAll;N;1\nAll;S;1\n")
    made = make_hierarchy(given, tmp_path, total="All", codes=["N2", "S", "All", "N1"])
    assert made.codes == codes


def test_missing_codes_come_below_the_total(tmp_path: Path) -> None:
    made = make_hierarchy([1, 1], tmp_path, codes=["A1", "unknown"], missing="unknown")
    assert made.children("Total") == ("A", "unknown")


def test_further_hierarchies_and_their_faults(tmp_path: Path) -> None:
    (tmp_path / "tree.hrc").write_text("N\n@N1\n@N2\nS\n@S1\n")
    made = make_dimension("d", ["tree.hrc", {"coast": ["N1", "S1"], "inland": ["N2"]}], tmp_path)
    assert len(made.hierarchies) == 2 and "coast" in made.codes
    with pytest.raises(InputError) as caught:
        make_dimension("d", ["none.hrc", "digits:0"], tmp_path, codes=["a"])
    assert len(caught.value.faults) == 2


def test_the_order_of_codes() -> None:
    assert in_order(["10", "9", "2", "10"]) == ["2", "9", "10"]
    assert in_order(["b", "10", "9"]) == ["10", "9", "b"]
    assert read_digits("digits: 2, 1") == [2, 1]


def test_labels(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("dimension;code;label\nregion;N;North\nregion;S;\nsize;1;small\n")
    assert read_labels(path) == {"region": {"N": "North"}, "size": {"1": "small"}}
    path.write_text("code,label\nN,North\n")
    assert code_labels(path) == {"N": "North"}
    with pytest.raises(InputError, match="must name the columns dimension, code, label"):
        read_labels(path)
    path.write_text("code,label\nN\n")
    with pytest.raises(InputError, match="line 2: 1 fields"):
        code_labels(path)


def test_every_public_format_is_known(done: JobResult) -> None:
    assert done.publication is not None
    for suffix in PUBLIC:
        assert done.publication.render(f"table{suffix}")
    with pytest.raises(InputError):
        done.publication.render("table.doc")


def test_every_key_is_described() -> None:
    page = (Path(__file__).resolve().parent.parent.parent / "docs" / "jobs.md").read_text(encoding="utf-8")
    for name, section in SECTIONS.items():
        chapter = page.split(f"### {name}\n")[1].partition("\n##")[0]
        for key in section.keys:
            assert f"`{key}`" in chapter, f"{name}.{key}"
