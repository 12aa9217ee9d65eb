"""The command compare: one error for all wrong names, files written together, exit codes that say what happened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tablecloak.methods import METHODS
from tablecloak.reports import comparison
from tests.cli.test_app import TABLE, Run, run, table, tells_no_value  # noqa: F401
from ways import FAILURES, WAYS

pytestmark = pytest.mark.usefixtures("more_ways")


@pytest.fixture
def more_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, method in (WAYS | FAILURES).items():
        monkeypatch.setitem(METHODS, name, method)


def test_it_prints_and_writes(run: Run, table: Path, tmp_path: Path) -> None:  # noqa: F811
    pytest.importorskip("matplotlib", reason="the page needs matplotlib")
    record, page = tmp_path / "compare.json", tmp_path / "compare.html"
    options = (
        "--seconds",
        60,
        "--seed",
        2,
        "--set",
        "round-test.step=5000",
        "--json",
        record,
        "--html",
        page,
    )
    ended = run("compare", table, "--methods", "suppress-compact, round-test,no-place", *options)
    assert ended.code == 0 and ended.err == ""
    assert ended.out.startswith("Confidential: 3 methods compared, seed 2\n")
    assert tells_no_value(ended.out)
    found = json.loads(record.read_text())
    assert found["confidential"] is True and found["seed"] == 2
    compact, rounding, refused = found["outcomes"]
    assert (compact["status"], compact["cost"], compact["touched"]) == ("optimal", 26.0, 4)
    assert compact["params"] == {"seconds": 60.0}
    assert rounding["params"] == {"step": "5000"} and rounding["vague"] == 9
    assert refused["status"] == "not-applicable"
    html = page.read_text()
    assert "<title>CONFIDENTIAL: " in html and html.count("<svg") == 3
    assert "http:" not in html and "https:" not in html
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compare.html", "compare.json", "table.jj"]


def test_the_plot_is_a_file_and_missing_where_nothing_ran(run: Run, table: Path, tmp_path: Path) -> None:  # noqa: F811
    pytest.importorskip("matplotlib", reason="the plot needs matplotlib")
    plot = tmp_path / "cost.svg"
    ended = run("compare", table, "-m", "suppress-compact,suppress-greedy", "--plot", plot)
    assert ended.code == 0 and "Gaps to that: suppress-compact 0%" in ended.out
    text = plot.read_text()
    assert text.startswith("<svg ") and "CONFIDENTIAL" in text and "best bound" in text
    plot.unlink()
    assert run("compare", table, "-m", "no-way", "--plot", plot).code == 3
    assert not plot.exists()


def test_exact_intervals_and_quiet(run: Run, table: Path, tmp_path: Path) -> None:  # noqa: F811
    record = tmp_path / "compare.json"
    assert run("compare", table, "-m", "suppress-compact", "--intervals", "--json", record, "-q") == (
        0,
        "",
        "",
    )
    (compact,) = json.loads(record.read_text())["outcomes"]
    assert compact["unbounded"] == 4
    assert [compact[f"width_{part}"] for part in ("mean", "50", "90", "100")] == pytest.approx([10000.0] * 4)


def test_wrong_names_are_listed_together_with_what_exists(run: Run, table: Path) -> None:  # noqa: F811
    ended = run("compare", table, "--methods", "magic,suppress-greedy,supress-optimal")
    assert ended.code == 2 and ended.out == ""
    assert "2 faults" in ended.err
    assert "'magic'" in ended.err and "did you mean 'suppress-optimal'" in ended.err
    assert all(name in ended.err for name in METHODS)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--methods", " , "], ["no method is named"]),
        (["--methods", "no-way,no-way"], ["no-way is named twice"]),
        (["--methods", "no-way", "--set", "step=3"], ["write it as METHOD.KEY=VALUE"]),
        (["--methods", "no-way", "--set", "no-way.step"], ["write it as METHOD.KEY=VALUE"]),
        (["--methods", "no-way", "--set", ".step=3"], ["write it as METHOD.KEY=VALUE"]),
        (
            ["--methods", "no-way", "--set", "round-test.step=3", "--set", "no-way.=1"],
            ["round-test is not among the methods", "METHOD.KEY=VALUE"],
        ),
        (["--methods", "no-way", *["--set", "no-way.step=1"] * 2], ["step is set twice"]),
        (["--methods", "no-way", "--set", "no-way.depth=1"], ["no-way: unknown parameter 'depth'"]),
        (["--methods", "no-way", "--seconds", "nan"], ["--seconds"]),
        (["--methods", "no-way", "--seconds", "-1"], ["--seconds"]),
        (["--methods", "no-way", "--seed", "-1"], ["--seed"]),
        (["--methods", "no-way", "--json", "."], ["it is a directory"]),
        (["--methods", "no-way", "--json", "same", "--html", "./same"], ["it is asked for twice"]),
        ([], ["--methods"]),
    ],
)
def test_wrong_options(run: Run, table: Path, options: list[str], told: list[str]) -> None:  # noqa: F811
    ended = run("compare", table, *options)
    assert ended.code == 2 and ended.out == ""
    for words in told:
        assert words in ended.err


@pytest.mark.parametrize(
    ("methods", "code"),
    [
        ("no-place", 5),
        ("no-way", 3),
        ("no-sense", 2),
        ("no-luck", 1),
        ("no-place,no-way", 1),
        ("no-place,suppress-greedy", 0),
    ],
)
def test_how_it_ends(run: Run, table: Path, tmp_path: Path, methods: str, code: int) -> None:  # noqa: F811
    record = tmp_path / "compare.json"
    ended = run("compare", table, "-m", methods, "--json", record)
    assert ended.code == code and ended.err == ""
    assert methods.split(",")[0] in ended.out and tells_no_value(ended.out)
    assert len(json.loads(record.read_text())["outcomes"]) == methods.count(",") + 1


def test_without_matplotlib_nothing_runs(
    run: Run,  # noqa: F811
    table: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(comparison, "find_spec", lambda name: None)
    page = table.with_name("compare.html")
    ended = run("compare", table, "-m", "suppress-greedy", "--html", page)
    assert ended.code == 5 and "matplotlib" in ended.err and ended.out == ""
    assert not page.exists()


def test_the_input_is_not_overwritten(run: Run, table: Path) -> None:  # noqa: F811
    assert "it is an input file" in run("compare", table, "-m", "suppress-greedy", "--html", table).err
    assert table.read_text() == TABLE
