"""Tables from files: statuses, levels, frequencies, contributors, totals added up, tables that do not add up."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tablecloak.formats import read_jj
from tests.job.argus.jobs import HEAD, HRC, cells, records, run, write_data
from tests.job.argus.test_run import assert_safe

RDA = """<SEPARATOR> ";"
<SAFE> "s"
<UNSAFE> "u"
<PROTECT> "p"
region
  <RECODEABLE>
  <TOTCODE> "Total"
  <HIERARCHICAL>
  <HIERCODELIST> "region.hrc"
  <HIERLEADSTRING> "@"
size
  <RECODEABLE>
  <TOTCODE> "All"
v
  <NUMERIC>
  <DECIMALS> 1
f
  <FREQUENCY>
t1
  <MAXSCORE>
t2
  <MAXSCORE>
st
  <STATUS>
low
  <NUMERIC> <LOWERPL>
up
  <NUMERIC> <UPPERPL>
"""
LEAVES = {
    ("N1", "a"): "10,5;4;4;3;u;2;3",
    ("N1", "b"): "20;5;9;6;s;0;0",
    ("N2", "a"): "30;6;10;9;s;;",
    ("N2", "b"): "-;-;;;s;;",
    ("S1", "a"): "5.5;1;5.5;;u;;",
    ("S1", "b"): "70;9;20;20;s;;",
    ("E1", "a"): "0;0;;;s;;",
    ("E1", "b"): "44;;20;10;P;;",
}
TOTALS = {
    ("Total", "All"): "180;26;20;20;s;;",
    ("total", "a"): "46;11;10;9;s;;",
    ("", "b"): "134;15;20;20;s;;",
    ("North", "All"): "60,5;15;10;9;s;;",
    ("North", "a"): "40.5;10;10;9;s;;",
    ("North", "b"): "20;5;9;6;s;;",
    ("N1", "All"): "30.5;9;9;6;s;;",
    ("N2", "All"): "30;6;10;9;s;;",
    ("South", "All"): "75.5;10;20;20;s;;",
    ("South", "a"): "5.5;1;5.5;;u;;",
    ("South", "b"): "70;9;20;20;s;;",
    ("S1", "All"): "75.5;10;20;20;s;;",
    ("East", "All"): "44;1;20;10;P;;",
    ("East", "b"): "44;1;20;10;P;;",
    ("E1", "All"): "44;1;20;10;P;;",
}
OPEN = '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> "region""size"|"v"\n'
WRITES = '<WRITETABLE> (1,2,AS+,"o.csv")\n<WRITETABLE> (1,5,,"o.tab")\n<WRITETABLE> (1,6,,"o.jj")\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, LEAVES | TOTALS)
    (tmp_path / "t.rda").write_text(RDA)
    (tmp_path / "region.hrc").write_text(HRC)
    return tmp_path


def write(folder: Path, rows: dict[tuple[str, str], str]) -> None:
    (folder / "t.tab").write_text("".join(f'"{a}";{b};{rest}\n' for (a, b), rest in rows.items()))


def test_given_statuses_and_levels(folder: Path) -> None:
    done = run(folder, f"{OPEN}<SAFETYRULE> MAN(10)\n<READTABLE>\n{WRITES}")
    assert done.code == 0, done.message
    rows, levels = cells(folder / "o.csv", 2), cells(folder / "o.tab", 2, ";")
    assert (
        rows["N1", "a"] == ["10.5", "9"]
        and rows["E1", "b"] == ["44.0", "10"]
        and rows["N1", "b"] == ["20.0", "2"]
    )
    assert rows["N2", "b"] == rows["E1", "a"] == ["-", "14"]
    assert levels["N1", "a"][-2:] == ["2", "3"]
    assert [*map(float, levels["S1", "a"][-2:])] == pytest.approx([0.55, 0.55])
    assert "A frequency of 1 was imputed for 1 cell" in (folder / "log.txt").read_text()


@pytest.mark.parametrize("rule", ["", "MAN(10)\n", None])
@pytest.mark.parametrize("method", ["OPT(1,1)", "MOD(1,5,1,1,1)", "GH(1)"])
def test_given_statuses_are_protected(folder: Path, rule: str | None, method: str) -> None:
    """Without SAFETYRULE, with an empty one, or with a margin only."""
    line = "" if rule is None else f"<SAFETYRULE> {rule.strip()}\n"
    done = run(folder, f"{OPEN}{line}<READTABLE> 0\n<SUPPRESS> {method}\n{WRITES}")
    assert done.code == 0, done.message
    assert assert_safe(folder / "o.jj") > 0
    status = {cell: row[1] for cell, row in cells(folder / "o.csv", 2).items()}
    assert status["E1", "b"] == "10" and "12" in status.values()  # cells that are safe by hand get 12


def test_rules_on_tables(folder: Path) -> None:
    done = run(folder, f"{OPEN}<SAFETYRULE> P(20)|FREQ(3,30)\n<READTABLE>\n{WRITES}")
    assert done.code == 0, done.message
    rows = cells(folder / "o.csv", 2)
    # (x1 20% + x1 + x2 - X) > 0: 20 * 0.2 + 30 - 44 < 0; S1,a: one contributor; N1,a: 0.8 + 7 - 10.5 < 0
    assert {cell for cell, row in rows.items() if row[1] == "3"} == {("S1", "a"), ("South", "a")}
    assert {cell for cell, row in rows.items() if row[1] == "5"} == {
        ("E1", "b"), ("East", "b"), ("East", "All"), ("E1", "All"),
    }  # fmt: skip


def test_totals_are_added_up_with_frequencies_and_contributors(folder: Path) -> None:
    write(folder, LEAVES)
    done = run(folder, f"{OPEN}<SAFETYRULE> P(20)|FREQ(3,30)\n<READTABLE> 1\n{WRITES}")
    assert done.code == 0, done.message
    added = cells(folder / "o.tab", 2, ";")
    write(folder, LEAVES | TOTALS)
    assert run(folder, f"{OPEN}<SAFETYRULE> P(20)|FREQ(3,30)\n<READTABLE>\n{WRITES}").code == 0
    given = cells(folder / "o.tab", 2, ";")
    assert set(added) == set(given)
    for cell, row in given.items():
        assert added[cell] == row, cell


def test_statuses_of_totals_are_kept_when_they_are_added_up(folder: Path) -> None:
    for mode in ("1", "1T"):
        assert run(folder, f"{OPEN}<SAFETYRULE>\n<READTABLE> {mode}\n{WRITES}").code == 0
        rows = cells(folder / "o.csv", 2)
        assert rows["South", "a"][1] == "9" and rows["East", "All"][1] == "10"


def test_tables_that_do_not_add_up(folder: Path) -> None:
    write(folder, LEAVES | TOTALS | {("Total", "All"): "181.5;25;20;20;s;;"})
    refused = run(folder, f"{OPEN}<SAFETYRULE>\n<READTABLE>\n{WRITES}")
    assert refused.code == 2 and "READTABLE 2 takes a table that does not add up" in refused.message
    assert "181" not in refused.message
    done = run(folder, f"{OPEN}<SAFETYRULE>\n<READTABLE> 2\n<SUPPRESS> OPT(1,1)\n{WRITES}")
    assert done.code == 0, done.message
    assert cells(folder / "o.csv", 2)["Total", "All"][0] == "181.5"
    assert assert_safe(folder / "o.jj") > 0
    problem = read_jj(folder / "o.jj").problem
    assert sorted(set(np.abs(problem.table.rhs))) == [0.0, 1.5]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({("N1", "a"): "x;4;4;3;u;;"}, "line 1: 'v' is no number"),
        ({("N1", "a"): "10,5;4;4;3;q;;"}, "line 1: 'st': unknown status 'q'"),
        ({("N1", "a"): "10,5;0;4;3;u;;"}, "line 1: 'v' is not zero although its frequency is"),
        ({("N1", "a"): "-;-;;;u;;"}, "line 1: an empty cell has the status"),
        ({("N1", "a"): "-;4;;;s;;"}, "line 1: 'v' is empty although"),
        ({("N1", "a"): "10,5;4;3;4;u;;"}, "its largest contributions do not decrease"),
        ({("N9", "a"): "1;4;4;3;u;;"}, "unknown code 'N9'"),
        ({("N1 ", "a"): "1;4;1;;u;;"}, "line 1, line 24"),
    ],
)
def test_faults_of_tables(folder: Path, rows: dict[tuple[str, str], str], words: str) -> None:
    write(folder, LEAVES | TOTALS | rows)
    done = run(folder, f"{OPEN}<SAFETYRULE>\n<READTABLE>\n{WRITES}")
    assert done.code == 2 and words in done.message, done.message
    assert not (folder / "o.csv").exists()


def test_costs_and_shadows_of_tables(folder: Path) -> None:
    rda = RDA.replace(
        "t1\n  <MAXSCORE>\nt2\n  <MAXSCORE>\n", "c\n  <NUMERIC> <COST>\nsh\n  <NUMERIC> <SHADOW>\n"
    )
    (folder / "t.rda").write_text(rda)
    done = run(folder, f"{OPEN}<SAFETYRULE>\n<READTABLE>\n{WRITES}")
    assert done.code == 0, done.message
    row = cells(folder / "o.tab", 2, ";")["N1", "b"]  # value, frequency, shadow, cost
    assert row[:4] == ["20.0", "5", "6", "9"]
    write(folder, LEAVES | TOTALS | {("N1", "b"): "20;5;-9;6;s;;"})
    assert "its cost is negative" in run(folder, f"{OPEN}<SAFETYRULE>\n<READTABLE>\n{WRITES}").message


def test_tables_of_frequencies_and_several_files(folder: Path) -> None:
    write(folder, LEAVES | TOTALS | {("E1", "b"): "44;1;20;10;P;;"})
    text = (folder / "t.tab").read_text().splitlines(keepends=True)
    (folder / "part1.tab").write_text("".join(text[:9]))
    (folder / "part2.tab").write_text("".join(text[9:]))
    job = OPEN.replace('"v"', '"<freq>"').replace("t.tab", "part*.tab")
    done = run(folder, f"{job}<SAFETYRULE> FREQ(3,20)\n<READTABLE> 1\n{WRITES}")
    assert done.code == 0, done.message
    assert (folder / "o.csv").read_text().startswith('"region","size","Freq","Status"\n"Total","All",26,1\n')


def test_what_is_written_as_type_5_reads_back(tmp_path: Path) -> None:
    write_data(tmp_path, records(21))
    spec = '<SPECIFYTABLE> "region""size"|"turnover"\n'
    first = f"{HEAD}{spec}<SAFETYRULE> P(15)|FREQ(3,30)\n<READMICRODATA>\n"
    assert (
        run(
            tmp_path,
            f'{first}<WRITETABLE> (1,5,,"i.tab")\n<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,2,AS+,"a.csv")\n',
        ).code
        == 0
    )
    second = f'<OPENTABLEDATA> "i.tab"\n<OPENMETADATA> "i.rda"\n{spec}'
    for rule in ("P(15)|FREQ(3,30)", ""):
        again = f"{second}<SAFETYRULE> {rule}\n<READTABLE>\n"
        done = run(tmp_path, f'{again}<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,2,AS+,"b.csv")\n')
        assert done.code == 0, done.message
        one, other = cells(tmp_path / "a.csv", 2), cells(tmp_path / "b.csv", 2)
        assert one.keys() == other.keys()
        for cell, (value, status) in one.items():
            assert other[cell][0] == value
            if rule:
                assert other[cell][1] == status
            else:
                same = {"1": "2", "11": "12", "3": "9", "5": "9"}
                assert other[cell][1] == same.get(status, status)


def test_a_set_of_tables(folder: Path) -> None:
    (folder / "s.tab").write_text(
        "Total;Total;180\na;Total;46\nb;Total;134\n"
        + "".join(f"{c};x;{v}\n" for c, v in (("Total", 100), ("a", 6), ("b", 94)))
        + "".join(f"{c};y;{v}\n" for c, v in (("Total", 80), ("a", 40), ("b", 40)))
    )
    (folder / "s.rda").write_text(
        '<SEPARATOR> ";"\nsize\n <RECODEABLE>\n <TOTCODE> "Total"\nkind\n <RECODEABLE>\n <TOTCODE> "Total"\nv\n <NUMERIC>\n <DECIMALS> 1\n'
    )
    (folder / "t.rda").write_text(RDA.replace('"All"', '"Total"'))
    rows = {
        (a, b.replace("All", "Total")): rest.replace("u", "s") for (a, b), rest in (LEAVES | TOTALS).items()
    }
    write(folder, rows)
    (folder / "a.hst").write_text("N1;a;u\nN1;a;pl;3\n")
    text = (
        OPEN
        + "<SAFETYRULE>\n"
        + OPEN.replace("t.", "s.").replace('"region""size"', '"size""kind"')
        + "<SAFETYRULE>\n"
    )
    text += '<READTABLE>\n<APRIORI> "a.hst",1,";",0\n<SUPPRESS> MOD(0)\n<WRITETABLE> (1,2,AS+,"o1.csv")\n<WRITETABLE> (2,2,AS+,"o2.csv")\n'
    done = run(folder, text)
    assert done.code == 2 and "common cell" in done.message  # given status 2 in one, 1 in the other
    plain = RDA.replace('"All"', '"Total"').replace("  <STATUS>", "  <RECODEABLE>\n  <TOTCODE> T")
    (folder / "t.rda").write_text(plain)
    done = run(folder, text)
    assert done.code == 0, done.message
    one, two = cells(folder / "o1.csv", 2), cells(folder / "o2.csv", 2)
    assert one["N1", "a"][1] == "9" and all(
        one["Total", size] == two[size, "Total"] for size in ("Total", "a", "b")
    )
    (record,) = json.loads((folder / "log.json").read_text())["suppressions"]
    assert record["tables"] == [1, 2] and record["open"] == []
