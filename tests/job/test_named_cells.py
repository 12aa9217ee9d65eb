"""Jobs: attackers, conditional levels, prices and ways that a job file names are those of the Python chain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from job.test_job import FILES, JOB, python_chain, survey, write
from tablecloak.assessment import Frequency, PPercent, assess, attacker_of, attacker_within
from tablecloak.errors import InputError, NotApplicable
from tablecloak.job import Job, plan, run_job
from tablecloak.model import Attacker, AttackerLevels, Prices, Problem, Status, Table, select_cells
from tablecloak.protection import protect
from tablecloak.publication import publish
from tablecloak.testing import assert_protected

RULES = [PPercent(15), Frequency(3)]
BARE = JOB.replace("[insiders]\nlargest = 0\n", "")
MIXED = ('method = "suppress-greedy"', 'method = "mixed-joint"')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def table(folder: Path) -> Table:
    return python_chain(folder)[0].table


def added(folder: Path, text: str, *changes: tuple[str, str]) -> Path:
    """The job without insiders, with further sections."""
    return write(folder, *changes, job=f"{BARE}\n{text}")


def wrong(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        plan(Job.read(path))
    return "\n".join(caught.value.faults)


# ---------------------------------------------------------------------- attackers


MINISTRY = "region,industry,low,high,lower,upper,sliding\nN1,A,{low},{high},,,\n{codes},,{most},3,4,\nN,Total,0,,,,\n"


def test_attackers_of_a_job_are_those_of_python(folder: Path, table: Table) -> None:
    """One from a file with levels of his own, one within a percentage of selected cells."""
    value, some = table.values, table.find(region="N1", industry="A")
    small = int(np.flatnonzero(assess(table, RULES).sensitive)[0])
    codes = ",".join(d.codes[c] for d, c in zip(table.dimensions, table.codes[small], strict=True))
    numbers = {"low": value[some] - 20, "high": value[some] + 30.5, "most": value[small] + 500}
    (folder / "ministry.csv").write_text(
        MINISTRY.format(codes=codes, **{name: repr(float(n)) for name, n in numbers.items()})
    )
    text = '[[attacker]]\nname = "ministry"\nfile = "ministry.csv"\n'
    text += '[[attacker]]\nname = "bank"\npercent = 40\ndepth = { industry = [1] }\ncodes = { region = ["S1", "N"] }\n'
    done = run_job(Job.read(added(folder, text)))
    north = table.find(region="N", industry="Total")
    ministry = Attacker.knowing(
        "ministry",
        [some, small, north],
        [value[some] - 20, -np.inf, 0.0],
        [value[some] + 30.5, value[small] + 500, np.inf],
        AttackerLevels.at([small], 3.0, 4.0, np.nan),
    )
    chosen = [table.find(region=r, industry=i) for r in ("N", "S1") for i in ("A", "B")]
    window = 0.4 * np.abs(value[chosen])
    bank = Attacker.knowing("bank", chosen, value[chosen] - window, value[chosen] + window)
    expected = assess(table, RULES, attackers=[ministry, bank])
    assert expected.sensitive[small]
    assert done.problem.attacker_names == ("outsider", "ministry", "bank")
    for attacker in range(3):
        for found, wanted in zip(done.problem.box(attacker), expected.box(attacker), strict=True):
            assert np.array_equal(found, wanted)
    sensitive = np.flatnonzero(expected.sensitive)
    for attacker in range(3):
        found, wanted = (each.required(attacker, sensitive) for each in (done.problem, expected))
        assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))
    assert_protected(expected, done.result.pattern)
    result = protect(expected, "suppress-greedy", seed=7)
    assert (done.result.pattern.hidden == result.pattern.hidden).all()
    again = run_job(Job.read(folder / "record.json"))
    assert "same bytes as recorded: safe.csv" in again.notes
    (folder / "ministry.csv").write_text("region,industry,low\nN1,A,0\n")
    assert any("changed since the record: ministry.csv" in line for line in again_notes(folder))


def again_notes(folder: Path) -> list[str]:
    return plan(Job.read(folder / "record.json")).splitlines()


def test_attackers_come_beside_insiders(folder: Path) -> None:
    text = '[[attacker]]\nname = "bank"\npercent = 50\n'
    problem = run_job(Job.read(write(folder, job=f"{JOB}\n{text}"))).problem
    assert problem.attacker_names[1] == "bank" and len(problem.attackers) > 1


def test_rows_of_attackers_from_frames(table: Table) -> None:
    pandas = pytest.importorskip("pandas")
    rows = {"region": ["N1", "Total"], "industry": ["A", None], "low": [1.0, None], "high": ["", 1e12]}
    for data in (rows, pandas.DataFrame(rows)):
        found = attacker_of(table, "who", data)
        assert found.cells.tolist() == [table.find(region="N1", industry="A"), table.find()]
        assert found.low.tolist() == [1.0, -np.inf] and found.high.tolist() == [np.inf, 1e12]
        assert found.levels.cells.size == 0
    with pytest.raises(InputError) as caught:
        attacker_of(
            table,
            "who",
            {"region": ["N1", "N1", "X", "N2"], "industry": ["A", "A", "", "B"], "low": [1, 2, 3, "much"]},
        )
    assert [fault.partition(":")[0] for fault in caught.value.faults] == ["row 4", "row 3", "row 2"]
    with pytest.raises(InputError, match="low is more than high"):
        attacker_of(table, "who", {"region": ["N1"], "industry": ["A"], "low": [3], "high": [2]})
    with pytest.raises(InputError, match="unknown column 'hgh'; did you mean 'high'"):
        attacker_of(table, "who", {"region": ["N1"], "industry": ["A"], "hgh": [2]})
    with pytest.raises(InputError, match="percent"):
        attacker_within(table, "who", [0], -1.0)


def test_faults_of_attackers(folder: Path, table: Table) -> None:
    (folder / "m.csv").write_text("region,industry,low,high\nN1,A,1,\nN1,Z,2,3\n")
    text = '[[attacker]]\nname = "a"\nfile = "m.csv"\npercent = 3\n[[attacker]]\nname = "a"\n'
    text += '[[attacker]]\nname = "c"\nfile = "none.csv"\n[[attacker]]\nname = "d"\n'
    text += "percent = 1\ndepth = { regoin = 0 }\n"
    told = wrong(added(folder, text))
    for words in (
        "attacker[1].file: it says all about its cells: drop percent",
        "attacker[2]: say what he knows",
        "attacker[2].name: there is an attacker 'a' already: attacker[1]",
        "attacker[3].file",
        "attacker[4].depth: there is no [[dimension]] 'regoin'; did you mean 'region'?",
    ):
        assert words in told
    told = wrong(added(folder, '[[attacker]]\nname = "a"\nfile = "m.csv"\n'))
    assert "attacker[1]: row 2: unknown code 'Z' in dimension 'industry'" in told
    low = table.values[table.find(region="N1", industry="A")] + 1
    (folder / "m.csv").write_text(f"region,industry,low\nN1,A,{low:g}\n")
    told = wrong(added(folder, '[[attacker]]\nname = "a"\nfile = "m.csv"\n'))
    assert "the true value lies outside what attacker 'a' knows" in told and f"{low - 1:g}" not in told


# ---------------------------------------------------------------------- conditional levels


def test_conditional_levels_of_a_job_are_those_of_python(folder: Path, table: Table) -> None:
    text = "[[conditional]]\nwidth = 10\npercent = true\ndepth = { industry = 2 }\n"
    text += '[[conditional]]\nlower = 7\nupper = 9\ncodes = { region = "N1" }\n'
    text += "[[conditional]]\nupper = 100\ncells = 'some.csv'\n"
    (folder / "some.csv").write_text("industry,region\nA1,S1\n,S\n")
    done = run_job(Job.read(added(folder, text, ('"suppress-greedy"', '"suppress-optimal"'))))
    value, sensitive = table.values, done.problem.sensitive
    leaf = select_cells(table, depth={"industry": 2})
    north = select_cells(table, codes={"region": ["N1"]})
    listed = np.zeros(len(table), dtype=bool)
    listed[[table.find(region="S1", industry="A1"), table.find(region="S")]] = True
    assert leaf.sum() == 28 and north.sum() == 7
    levels = done.problem.levels
    free = ~sensitive
    assert np.allclose(levels.conditional, np.where(leaf & free, np.ceil(value / 10 - 1e-9), 0))
    assert np.array_equal(levels.conditional_lower, np.where(north & free, np.minimum(7, value), 0))
    assert np.array_equal(
        levels.conditional_upper, np.where(listed & free, 100, np.where(north & free, 9, 0))
    )
    assert_protected(done.problem, done.result.pattern)
    expected = assess(
        table,
        RULES,
        conditional={
            "width": np.where(leaf, value / 10, 0),
            "lower": np.where(north, 7, 0),
            "upper": np.where(listed, 100, np.where(north, 9, 0)),
        },
    )
    assert all(
        np.array_equal(a, b) for (_, a), (_, b) in zip(levels.named(), expected.levels.named(), strict=True)
    )
    assert protect(expected, "suppress-optimal", seed=7).cost == done.result.cost
    assert done.result.status is Status.OPTIMAL


def test_conditional_levels_go_as_far_as_the_box_and_not_to_unions(table: Table) -> None:
    conditional = {"width": 5.0, "lower": 1e6}
    problem = assess(table, RULES, conditional=conditional, unions=True)
    plain = np.arange(len(problem.table)) < len(table)
    free = plain & ~problem.sensitive
    assert np.array_equal(problem.levels.conditional_lower[free], problem.table.values[free])
    assert (problem.levels.conditional[free] == 5).all()
    assert not problem.levels.is_conditional[~free].any()
    wide = assess(table, RULES, conditional=conditional, widen=True)
    assert (wide.levels.conditional_lower[~wide.sensitive] == 1e6).all()
    with pytest.raises(InputError) as caught:
        assess(table, RULES, conditional={"widht": 5, "upper": [1, 2]})
    assert len(caught.value.faults) == 2 and "'width'" in caught.value.faults[0]


def test_faults_of_conditional_levels(folder: Path) -> None:
    text = "[[conditional]]\ncodes = { region = 'N1' }\n[[conditional]]\nwidth = -1\n"
    text += "[[conditional]]\nwidth = 1\ntotals = 3\n[[conditional]]\nwidth = 1\ndepth = { region = 'N' }\n"
    told = wrong(added(folder, text))
    for words in (
        "conditional[1]: it needs a level",
        "conditional[2].width",
        "conditional[3].totals",
        "[4].depth",
    ):
        assert words in told
    told = wrong(
        added(folder, "[[conditional]]\nwidth = 1\ndepth = { region = 9 }\ncodes = { industry = 'Q' }\n")
    )
    assert "conditional[1]: dimension 'region' has no depth 9; there are 0 to 2" in told
    assert "conditional[1]: dimension 'industry' has no code 'Q'" in told


# ---------------------------------------------------------------------- prices


@pytest.mark.parametrize(
    "method", ["interval-partial", "interval-combined", "round-controlled", "mixed-joint"]
)
def test_prices_of_a_job_are_those_of_python(folder: Path, table: Table, method: str) -> None:
    """A name of weights, a number as number or text, and a column; the optimum is that of the same prices in Python."""
    text = '[prices]\nup = "unit"\ndown = 2.5\n' + ('touch = "log"\n' if method != "interval-partial" else "")
    rounds = {"round-controlled": "params = { base = 5000 }\n", "mixed-joint": "params = { base = 5000 }\n"}
    change = ('method = "suppress-greedy"\n', f'method = "{method}"\n{rounds.get(method, "")}')
    done = run_job(Job.read(added(folder, text, change)))
    given: dict[str, Any] = {"up": "unit", "down": 2.5}
    given |= {"touch": "log"} if method != "interval-partial" else {}
    prices = Prices.of(table, **given)
    assert done.problem.prices is not None
    for (_, found), (_, wanted) in zip(done.problem.prices.named(), prices.named(), strict=True):
        assert np.array_equal(found, wanted)
    problem = replace(assess(table, RULES), prices=prices)
    params = {"base": 5000.0} if method in rounds else {}
    expected = protect(problem, method, params=params, seed=7)
    assert (done.result.cost, done.result.bound) == (expected.cost, expected.bound)
    assert (folder / "safe.csv").read_text() == publish(
        problem, expected, title="Turnover", labels=done_labels()
    ).render("safe.csv")
    weighed = protect(replace(problem, prices=None), method, params=params, seed=7)
    assert weighed.cost != expected.cost


def done_labels() -> dict[str, dict[str, str]]:
    return {"region": {"Total": "Everywhere", "N": "North", "S": "South"}}


def test_prices_by_a_column_of_the_cells_and_their_faults(folder: Path) -> None:
    cells = "region,value,dear,n,x1,x2\n"
    numbers = {
        "N1": (90, 1, 5, 50, 20),
        "N2": (40, 2, 2, 30, 9),
        "S1": (70, 3, 4, 30, 20),
        "S2": (60, 4, 9, 10, 9),
    }
    numbers |= {"N": (130, 5, 7, 50, 30), "S": (130, 6, 13, 30, 20), "Total": (260, 7, 20, 50, 30)}
    for region, row in numbers.items():
        cells += f"{region},{','.join(map(str, row))}\n"
    (folder / "cells.csv").write_text(cells)
    text = """
[data]
path = "cells.csv"
kind = "cells"
count = "n"
top = ["x1", "x2"]
[[dimension]]
name = "region"
hierarchy = { N = ["N1", "N2"], S = ["S1", "S2"] }
[[rule]]
rule = "p-percent"
p = 15
[prices]
up = "dear"
down = "7"
[protect]
method = "interval-partial"
[publish]
outputs = ["safe.csv"]
"""
    done = run_job(Job.read(write(folder, job=text)))
    table, prices = done.problem.table, done.problem.prices
    assert prices is not None and (prices.down == 7).all() and prices.touch is None
    leaves = [table.find(region=region) for region in numbers]
    assert prices.up[leaves].tolist() == [1, 2, 3, 4, 5, 6, 7]
    told = wrong(write(folder, ('up = "dear"', 'up = "deer"'), ("down =", "down_ ="), job=text))
    assert "prices.down_: there is no such key; did you mean 'down'?" in told
    told = wrong(write(folder, ('up = "dear"', 'up = "deer"'), job=text))
    assert "there are no prices 'deer'; did you mean 'dear'?" in told
    told = wrong(write(folder, ('down = "7"', "down = -7"), job=text))
    assert "price downward must be a finite number that is not negative" in told


# ---------------------------------------------------------------------- ways


WAYS = """
[[way]]
way = "interval"

[[way]]
way = "round"
base = 50
depth = { region = [0, 1] }

[[way]]
way = "perturb"
codes = { region = "S1", industry = ["A", "A1"] }

[[way]]
way = "suppress"
mark = ["sensitive", "hidden"]

[[way]]
way = "exact"
cells = "known.csv"
"""


def test_ways_of_a_job_are_those_of_python(folder: Path, table: Table) -> None:
    (folder / "known.csv").write_text("region,industry\nN2,A2\n")
    params = "params = { grid = 0, asymmetry = 0, share = 0, least = 300, most_intervals = 9 }"
    path = added(folder, WAYS, (MIXED[0], f"{MIXED[1]}\n{params}"))
    done = run_job(Job.read(path))
    problem = assess(table, RULES)
    ways = np.full(len(table), "interval", dtype=object)
    high = select_cells(table, depth={"region": [0, 1]})
    ways[high] = "round"
    ways[[table.find(region="S1", industry=i) for i in ("A", "A1")]] = "perturb"
    ways[problem.must_hide] = "suppress"
    ways[table.find(region="N2", industry="A2")] = "exact"
    given: dict[str, Any] = {"grid": 0, "asymmetry": 0, "share": 0, "least": 300, "most_intervals": 9}
    bases = np.where(high, 50.0, 5.0)
    expected = protect(
        problem, "mixed-joint", params={**given, "ways": ways.tolist(), "bases": bases}, seed=7
    )
    assert (done.result.cost, done.result.status) == (expected.cost, expected.status)
    view, wanted = done.result.pattern.view(problem), expected.pattern.view(problem)
    assert np.array_equal(view.low, wanted.low) and np.array_equal(view.high, wanted.high)
    assert_protected(problem, done.result.pattern)
    text = (folder / "safe.csv").read_text()
    assert all(f",{status}," in text for status in ("rounded", "hidden", "published", "perturbed"))
    again = run_job(Job.read(folder / "record.json"))
    assert "same bytes as recorded: safe.csv" in again.notes


def test_faults_of_ways(folder: Path) -> None:
    (folder / "known.csv").write_text("region,industry\nN2,A2\nN9,A2\n")
    assert "way: suppress-greedy publishes all cells in one way; use mixed-joint" in wrong(
        added(folder, WAYS)
    )
    told = wrong(added(folder, WAYS, MIXED))
    assert "way[5]: row 2: unknown code 'N9' in dimension 'region'" in told
    (folder / "known.csv").write_text("region,industry\nN2,A2\n")
    changes = (
        ('way = "interval"', 'way = "intervals"'),
        ("base = 50", "bse = 50"),
        ('way = "perturb"', 'way = "perturb"\nbase = 3'),
        ('"hidden"]', '"hiden"]'),
        ('cells = "known.csv"', 'cells = "unknown.csv"'),
    )
    told = wrong(added(folder, WAYS, MIXED, *changes))
    for words in (
        "way[1]: there is no way 'intervals'; did you mean 'interval'?",
        "way[2].bse: there is no such key; did you mean 'base'?",
        "way[3]: base: only cells that are rounded have one",
        "way[4]: there is no mark 'hiden'; did you mean 'hidden'?",
        "way[5].cells: there is no file",
    ):
        assert words in told
    told = wrong(
        added(folder, WAYS, (MIXED[0], f'{MIXED[1]}\nparams = {{ choose = [{{ way = "round" }}] }}'))
    )
    assert "it is set twice" in told
    told = wrong(added(folder, WAYS, MIXED, ("depth = { region = [0, 1] }", "depth = { region = 7 }")))
    assert "way[2]: dimension 'region' has no depth 7; there are 0 to 2" in told


def test_methods_that_cannot_take_conditional_levels_say_so(folder: Path) -> None:
    path = added(folder, "[[conditional]]\nwidth = 10\n", ('"suppress-greedy"', '"suppress-three-phase"'))
    with pytest.raises(NotApplicable):
        run_job(Job.read(path))
    assert not (folder / "safe.csv").exists()
    assert survey() == FILES["survey.csv"]
    assert isinstance(python_chain(folder)[0], Problem)
