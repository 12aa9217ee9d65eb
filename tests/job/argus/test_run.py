"""Batch files of τ-ARGUS, run: methods judged by its problem, a-priori files, recodes, linked tables, outputs, logs."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import numpy as np
import pytest

from tablecloak.formats import read_jj
from tablecloak.formats.argus import CONFIDENTIAL_TYPES
from tablecloak.model import Mark, Suppression
from tablecloak.testing import assert_protected
from tests.job.argus.jobs import HEAD, Model, cells, records, run, write_data

RULE = "P(15,1)|FREQ(3,30)"
TABLE = f'<SPECIFYTABLE> "region""size"|"turnover"\n<SAFETYRULE> {RULE}\n'
JOB = f"{HEAD}{TABLE}<READMICRODATA>\n"
FREE = f'{HEAD}<SPECIFYTABLE> "region""size"|"<freq>"\n<SAFETYRULE> FREQ(3,30)\n<READMICRODATA>\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_data(tmp_path, records(11))
    return tmp_path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def assert_safe(path: Path) -> int:
    """The oracle finds the pattern of a JJ file safe in the problem of that file; gives the number of secondaries."""
    problem = read_jj(path).problem
    hidden = np.isin(problem.marks, [Mark.SENSITIVE, Mark.HIDDEN])
    assert_protected(problem, Suppression.of(problem.table, hidden))
    return int((problem.marks == Mark.HIDDEN).sum())


# ---------------------------------------------------------------------- methods


@pytest.mark.parametrize(
    "method", ["GH(1)", "GH(1,75,0,0)", "MOD(1)", "MOD(1,5,1,0,0)", "MOD(1,1,0,0,0,500,0.9,1.1)", "OPT(1,1)"]
)
@pytest.mark.parametrize("job", [JOB, FREE], ids=["turnover", "frequencies"])
def test_suppressions_are_safe_in_the_problem_of_tau_argus(folder: Path, method: str, job: str) -> None:
    done = run(
        folder, f'{job}<SUPPRESS> {method}\n<WRITETABLE> (1,6,,"t.jj")\n<WRITETABLE> (1,2,AS+,"t.csv")\n'
    )
    assert done.code == 0, done.message
    secondary = assert_safe(folder / "t.jj")
    status = [row[1] for row in list(cells(folder / "t.csv", 2).values())[1:]]
    assert status.count("11") == secondary > 0
    (record,) = json.loads((folder / "log.json").read_text())["suppressions"]
    assert record["hidden"] == secondary and record["open"] == []


def test_network_suppression(folder: Path) -> None:
    done = run(folder, f'{JOB}<SUPPRESS> NET(1)\n<WRITETABLE> (1,6,,"t.jj")\n')
    assert done.code == 0, done.message
    assert assert_safe(folder / "t.jj") > 0


def test_network_suppression_takes_three_dimensions_too(folder: Path) -> None:
    three = (folder / "micro.rda").read_text().replace("ask 1\n", "ask 1\n  <RECODEABLE>\n")
    (folder / "micro.rda").write_text(three)
    job = f'{JOB}<SUPPRESS> NET(1)\n<WRITETABLE> (1,6,,"t.jj")\n'
    done = run(folder, job.replace('"size"|', '"size""ask"|'))
    assert done.code == 0, done.message
    assert assert_safe(folder / "t.jj") > 0


def test_methods_that_cannot_take_a_table_say_so_with_the_line(folder: Path) -> None:
    (folder / "micro.csv").write_text(_with_a_negative_value((folder / "micro.csv").read_text()))
    done = run(folder, f"{JOB}<SUPPRESS> NET(1)\n")
    assert done.code == 2 and done.message.startswith("line 6: suppress-shortest-path")


def _with_a_negative_value(records: str) -> str:
    """The records, the response of the first one below zero."""
    first, _, rest = records.partition("\n")
    fields = first.split(";")
    fields[2] = "-5000000.0"
    return ";".join(fields) + f"\n{rest}"


def test_suppress_twice_undoes_the_first(folder: Path) -> None:
    twice = f'{JOB}<SUPPRESS> GH(1)\n<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,2,AS+,"two.csv")\n'
    assert run(folder, twice).code == 0
    assert run(folder, f'{JOB}<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,2,AS+,"one.csv")\n').code == 0
    assert (folder / "two.csv").read_text() == (folder / "one.csv").read_text()
    assert "has been undone" in (folder / "log.txt").read_text()


def test_rounding(folder: Path) -> None:
    text = f'{FREE}<SUPPRESS> RND(1,5,0,1,0,3)\n<WRITETABLE> (1,2,AS+,"a.csv")\n<WRITETABLE> (1,2,,"p.csv")\n'
    done = run(folder, f'{text}<WRITETABLE> (1,4,,"s.sbs")\n<WRITETABLE> (1,5,,"i.tab")\n')
    assert done.code == 0, done.message
    rows, public = cells(folder / "a.csv", 2), cells(folder / "p.csv", 2)
    assert (folder / "a.csv").read_text().splitlines()[0] == '"region","size","Freq_Round","Freq_Orig"'
    model = Model(records(11))
    for cell, some in model.cells.items():
        rounded, original = map(int, rows[cell])
        assert original == len(some) and rounded % 5 == 0 and abs(rounded - original) < 5
        assert public[cell] == [str(rounded)]
    assert mode(folder / "a.csv") == 0o600 and mode(folder / "p.csv") & 0o044
    assert "Partitions and stop rule have no effect" in (folder / "log.txt").read_text()
    refused = run(folder, f'{FREE}<SUPPRESS> RND(1,5)\n<WRITETABLE> (1,6,,"t.jj")\n')
    assert refused.code == 2 and "line 7" in refused.message


def test_adjustment(folder: Path) -> None:
    text = f'{JOB}<SUPPRESS> CTA(1)\n<WRITETABLE> (1,2,AS+,"a.csv")\n'
    done = run(folder, text)
    assert done.code == 0, done.message
    rows = cells(folder / "a.csv", 2)
    assert rows["region", "size"] == ["turnover_CTA", "turnover_Orig"]
    changed = [cell for cell, (shown, true) in list(rows.items())[1:] if shown != true]
    assert changed
    assert run(folder, f'{JOB}<SUPPRESS> CTA(1)\n<WRITETABLE> (1,4,,"a.sbs")\n').code == 2


def test_original_patterns_are_kept_and_what_they_leave_open_is_named(folder: Path) -> None:
    """A table on which the hypercube method leaves cells open in the problem of τ-ARGUS."""
    for seed in range(40):
        write_data(folder, records(seed, 40))
        text = f"{JOB}<SUPPRESS> GH(1)\n"
        assert run(folder, text, original=True).code == 0
        (record,) = json.loads((folder / "log.json").read_text())["suppressions"]
        assert record["open"] == record["open_before_repair"] and not record["repaired"]
        if record["open"]:
            break
    assert record["open"], "no seed leaves a cell open"
    assert "NOT SAFE" in (folder / "log.txt").read_text()
    public = run(folder, f'{text}<WRITETABLE> (1,2,,"p.csv")\n', original=True)
    assert public.code == 2 and record["open"][0] in public.message and not (folder / "p.csv").exists()
    assert run(folder, f'{text}<WRITETABLE> (1,2,AS+,"a.csv")\n').code == 0
    (repaired,) = json.loads((folder / "log.json").read_text())["suppressions"]
    assert (
        repaired["repaired"] and repaired["open"] == [] and repaired["open_before_repair"] == record["open"]
    )


def test_an_open_pattern_is_not_published(folder: Path) -> None:
    for seed in range(200):
        write_data(folder, records(seed, 40))
        for name in ("p.csv", "log.json"):
            (folder / name).unlink(missing_ok=True)
        text = f'{JOB}<SUPPRESS> GH(1,100,0,0)\n<WRITETABLE> (1,2,,"p.csv")\n'
        done = run(folder, text, original=True)
        if done.code == 2:
            break
    assert done.code == 2 and "line 7: WRITETABLE: table 1 is not safe to publish" in done.message
    assert not (folder / "p.csv").exists() and not (folder / "log.json").exists()


# ---------------------------------------------------------------------- a-priori files and recodes


def apriori(folder: Path, text: str, arguments: str = '"a.hst",1,";",0', more: str = "") -> str:
    (folder / "a.hst").write_text(text)
    return f'{JOB}<APRIORI> {arguments}\n{more}<WRITETABLE> (1,2,AS+,"t.csv")\n<WRITETABLE> (1,5,,"t.tab")\n'


def test_marks_of_cells(folder: Path) -> None:
    assert run(folder, apriori(folder, "")).code == 0
    before = {cell: row[1] for cell, row in cells(folder / "t.csv", 2).items()}
    safe, other = [cell for cell, status in before.items() if status == "1" and cell != ("Total", "Total")][
        :2
    ]
    unsafe = next(cell for cell, status in before.items() if status in ("3", "5"))
    text = f"{safe[0]};{safe[1]};u\n{safe[0]};{safe[1]};pl;12,5;3\n{unsafe[0]};{unsafe[1]};s\n"
    text += f"{other[0]};{other[1]};ml\n{other[0]};{other[1]};c;77\n;;p\n"
    done = run(folder, apriori(folder, text))
    assert done.code == 0, done.message
    after = {cell: row[1] for cell, row in cells(folder / "t.csv", 2).items()}
    assert (after[safe], after[unsafe], after[other], after["Total", "Total"]) == ("9", "2", "11", "10")
    rows = cells(folder / "t.tab", 2, ";")
    assert [*map(float, rows[safe][-2:])] == [12.5, 3.0]
    assert float(rows[other][3]) == 77
    unchanged = {cell for cell in before if cell not in (safe, unsafe, other, ("Total", "Total"))}
    assert all(before[cell] == after[cell] for cell in unchanged)


def test_manual_cells_have_the_manual_margin(folder: Path) -> None:
    text = apriori(folder, "Total;1;u\n").replace(RULE, f"{RULE}|MAN(10)")
    assert run(folder, text).code == 0
    row = cells(folder / "t.tab", 2, ";")["Total", "1"]
    assert float(row[-1]) == pytest.approx(float(row[0]) / 10, abs=0.1)


def test_marks_that_do_not_fit(folder: Path) -> None:
    text = "N1;XX;u\nTotal;Total;pl;1;1\nTotal;Total;u\nTotal;Total;p\n"
    done = run(folder, apriori(folder, text))
    assert done.code == 2 and done.message.startswith("line 6: A-priori file a.hst: 3 faults")
    assert "line 1: variable 'size' has no code 'XX'" in done.message
    assert not (folder / "t.csv").exists()
    assert (
        run(folder, apriori(folder, text, '"a.hst",1,";"')).code == 0
    )  # ignored, as τ-ARGUS does by default
    assert "3 ignored" in (folder / "log.txt").read_text()
    assert cells(folder / "t.csv", 2)["Total", "Total"][1] == "9"


def test_trivial_levels_are_marked_together(folder: Path) -> None:
    for switch, status in (("0,0", "1"), ("0,1", "9")):
        assert (
            run(
                folder, apriori(folder, "East;10;u\n", f'"a.hst",1,";",{switch}').replace(RULE, "FREQ(1,1)")
            ).code
            == 0
        )
        rows = cells(folder / "t.csv", 2)
        assert rows["East", "10"][1] == "9" and rows["E1", "10"][1] == status


def test_forced_cells_that_stand_in_the_way(folder: Path) -> None:
    lines = "".join(
        f"{r};{s};p\n"
        for r in ("Total", "North", "South", "East", "N1", "N2", "S1", "S2", "S3")
        for s in ("", "1", "2", "9", "10")
    )
    done = run(folder, apriori(folder, lines, '"a.hst",1,";"', "<SUPPRESS> OPT(1,1)\n"))
    assert done.code == 2 and done.message.startswith("line 7: ")
    assert not (folder / "t.csv").exists()
    assert "Error in batch file" in (folder / "log.txt").read_text()


def test_recodes(folder: Path) -> None:
    (folder / "s.grc").write_text("small: 1-2\n")
    (folder / "r.grc").write_text("<TREERECODE>\n  North\n")
    text = f'{JOB}<RECODE> 1,"Size","s.grc"\n<RECODE> 1, "region", "r.grc"\n<SUPPRESS> OPT(1,1)\n'
    done = run(folder, f'{text}<WRITETABLE> (1,2,AS+,"t.csv")\n<WRITETABLE> (1,6,,"t.jj")\n')
    assert done.code == 0, done.message
    rows = cells(folder / "t.csv", 2)
    assert {cell[0] for cell in rows} == {"region", "Total", "North", "South", "S1", "S2", "S3", "East", "E1"}
    assert {cell[1] for cell in rows} == {"size", "Total", "small", "10", "9"}
    model = Model(records(11))
    small = model.total(("North", "1"), "turnover") + model.total(("North", "2"), "turnover")
    assert float(rows["North", "small"][0]) == pytest.approx(float(small))
    assert_safe(folder / "t.jj")
    assert run(folder, f'{JOB}<RECODE> 1,"region",1\n<WRITETABLE> (1,2,AS+,"t.csv")\n').code == 0
    assert {cell[0] for cell in cells(folder / "t.csv", 2)} == {"region", "Total", "North", "South", "East"}


def test_recodes_of_unknown_codes(folder: Path) -> None:
    (folder / "r.grc").write_text("<TREERECODE>\nNorht\n")
    done = run(folder, f'{JOB}<RECODE> 1,"region","r.grc"\n')
    assert done.code == 2 and "did you mean 'North'?" in done.message


# ---------------------------------------------------------------------- linked tables


def test_linked_tables_are_one_system(folder: Path) -> None:
    two = f'<SPECIFYTABLE> "region"|"turnover"\n<SAFETYRULE> {RULE}\n'
    two += f'<SPECIFYTABLE> "size""group"|"turnover"\n<SAFETYRULE> {RULE}\n'
    rda = (folder / "micro.rda").read_text().replace("group 3\n  <HOLDING>", "group 3\n  <RECODEABLE>")
    (folder / "micro.rda").write_text(rda)
    staff = f'<SPECIFYTABLE> "region""size"|"staff"\n<SAFETYRULE> {RULE}\n'
    head = f"{HEAD}{TABLE}{two}{staff}<READMICRODATA>\n"
    write = "".join(
        f'<WRITETABLE> ({n},2,AS+,"t{n}.csv")\n<WRITETABLE> ({n},2,,"p{n}.csv")\n' for n in range(1, 5)
    )
    for method in ("MOD(0)", "GH(0)"):
        done = run(folder, f"{head}<SUPPRESS> {method}\n{write}")
        assert done.code == 0, done.message
        of_turnover, of_staff = json.loads((folder / "log.json").read_text())["suppressions"]
        assert of_turnover["tables"] == [1, 2, 3] and of_staff["tables"] == [4]
        assert of_turnover["open"] == of_staff["open"] == []
        one, regions, sizes = (cells(folder / f"t{n}.csv", k) for n, k in ((1, 2), (2, 1), (3, 2)))
        for (region,), row in list(regions.items())[1:]:
            assert one[region, "Total"] == row
        for (size, group), row in list(sizes.items())[1:]:
            if group == "Total":
                assert one["Total", size] == row


def test_linked_tables_must_agree(folder: Path) -> None:
    other = '<SPECIFYTABLE> "region"|"turnover"\n<SAFETYRULE> FREQ(50,10)\n'
    done = run(folder, f"{HEAD}{TABLE}{other}<READMICRODATA>\n<SUPPRESS> MOD(0)\n")
    assert done.code == 2 and "common cell region=North, size=Total has status" in done.message


# ---------------------------------------------------------------------- what is written


WRITES = "".join(f'<WRITETABLE> (1,{kind},{options},"w{kind}{options[:2]}.txt")\n' for kind, options in (
    (1, ""), (2, ""), (3, ""), (3, "FL+QU-SE+"), (2, "AS+"), (3, "AS+"), (4, ""), (4, "HL+"), (5, ""),
    (5, "SO+"), (6, ""),
))  # fmt: skip


def test_public_files_hold_no_hidden_value_and_confidential_ones_are_private(folder: Path) -> None:
    done = run(folder, f"{JOB}<SUPPRESS> OPT(1,1)\n{WRITES}")
    assert done.code == 0, done.message
    status = list(cells(folder / "w2AS.txt", 2).items())[1:]
    hidden = {cell: row[0] for cell, row in status if row[1] in ("3", "5", "11")}
    assert len(hidden) > 5
    telling = {value for value in hidden.values() if len(value.replace(".", "")) > 3}
    shown = {row[0] for _, row in status if row[1] in ("1", "2")}
    assert telling - shown
    log = (folder / "log.txt").read_text()
    for path in sorted(folder.glob("w*.txt")):
        kind = int(path.name[1])
        confidential = kind in CONFIDENTIAL_TYPES or path.stem.endswith("AS")
        text = path.read_text()
        assert mode(path) == (0o600 if confidential else 0o666 & ~umask()), path
        line = re.search(rf"Output file name: {re.escape(str(path))}\n +\((public|CONFIDENTIAL)", log)
        assert line and line[1] == ("CONFIDENTIAL" if confidential else "public")
        numbers = set(re.findall(r"\d+\.\d+", text))
        assert confidential or not numbers & (telling - shown)
        assert not confidential or kind == 6 or numbers & telling
    assert not set(re.findall(r"\d+\.\d+", log)) & telling
    for name in ("w2.txt", "w3.txt"):
        for cell, row in list(cells(folder / name, 2).items())[1 if name == "w2.txt" else 0 :]:
            assert (row == ["x"]) == (cell in hidden)
    for beside in (folder / "log.json", folder / "w5_region.hrc", folder / "w5.rda", folder / "w6.frq"):
        assert mode(beside) == 0o600


def umask() -> int:
    import os

    old = os.umask(0)
    os.umask(old)
    return old


def test_layout_of_crosstabs(folder: Path) -> None:
    assert run(folder, f'{JOB}<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,1,,"t.csv")\n').code == 0
    lines = (folder / "t.csv").read_text().splitlines()
    assert lines[0] == ',"Total","1","2","10","9"'
    assert [line.split(",")[0] for line in lines[1:10]] == [
        '"Total"', '"North"', '"N1"', '"N2"', '"South"', '"S1"', '"S2"', '"S3"', '"East"',
    ]  # fmt: skip
    assert lines[11] == ""
    one = f'{HEAD}<SPECIFYTABLE> "region"|"turnover"\n<SAFETYRULE> FREQ(1,1)\n<READMICRODATA>\n'
    assert run(folder, f'{one}<WRITETABLE> (1,1,,"u.csv")\n').code == 0
    assert (folder / "u.csv").read_text().splitlines()[1].startswith('"North",')


def test_layers_of_crosstabs(folder: Path) -> None:
    (folder / "micro.rda").write_text(
        (folder / "micro.rda").read_text().replace("ask 1\n", "ask 1\n  <RECODEABLE>\n")
    )
    text = f'{HEAD}<SPECIFYTABLE> "ask""size""region"|"staff"\n<SAFETYRULE> FREQ(1,1)\n<READMICRODATA>\n'
    assert run(folder, f'{text}<WRITETABLE> (1,1,,"t.csv")\n').code == 0
    lines = (folder / "t.csv").read_text().splitlines()
    assert [line for line in lines if line.startswith("ask")] == [
        f'ask,"{code}"' for code in ("Total", "0", "1", "2")
    ]


def test_sbs_rows(folder: Path) -> None:
    assert (
        run(
            folder,
            f'{JOB}<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,4,HL+,"s.sbs")\n<WRITETABLE> (1,2,AS+,"t.csv")\n',
        ).code
        == 0
    )
    status = cells(folder / "t.csv", 2)
    model = Model(records(11))
    rows = [line.replace('"', "").split(",") for line in (folder / "s.sbs").read_text().splitlines()]
    assert len(rows) == len(model.cells)
    levels = {"Total": "0", "North": "1", "South": "1", "East": "1"}
    for region, region_level, size, size_level, value, count, flag, *shares in rows:
        cell = (region, size)
        assert (region_level, size_level) == (levels.get(region, "2"), "0" if size == "Total" else "1")
        assert float(value) == pytest.approx(float(model.total(cell, "turnover"))) and int(count) == len(
            model.cells[cell]
        )
        assert flag == {"1": "V", "3": "F", "5": "A", "11": "D"}[status[cell][1]]
        if flag == "F" and model.total(cell, "turnover"):
            first, second, *_ = [*(unit for unit, _ in model.units(cell, False)), 0]
            total = float(model.total(cell, "turnover"))
            assert shares == [f"{100 * float(first) / total:.1f}", f"{100 * float(second) / total:.1f}"]


def test_dominance_flags_tell_how_many_contributors_are_stored(folder: Path) -> None:
    for rule, flag in (("NK(1,60)", "B"), ("NK(1,60)|NK(2,95)", "C")):
        text = JOB.replace(RULE, rule)
        assert run(folder, f'{text}<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,4,,"s.sbs")\n').code == 0
        flags = {line.split(",")[4] for line in (folder / "s.sbs").read_text().splitlines()}
        assert flags <= {"V", "D", flag} and flag in flags


def test_a_table_without_suppression_is_published_only_if_it_is_safe(folder: Path) -> None:
    done = run(folder, f'{JOB}<WRITETABLE> (1,2,,"t.csv")\n')
    assert done.code == 2 and "put SUPPRESS before it, or write AS+" in done.message
    safe = JOB.replace(RULE, "FREQ(1,1)")
    assert run(folder, f'{safe}<WRITETABLE> (1,2,,"t.csv")\n').code == 0
    assert "x" not in {row[0] for row in cells(folder / "t.csv", 2).values()}


def test_costs(folder: Path) -> None:
    def costs(spec: str) -> dict[tuple[str, ...], float]:
        text = (
            f'{HEAD}<SPECIFYTABLE> "region""size"|"turnover"||{spec}\n<SAFETYRULE> {RULE}\n<READMICRODATA>\n'
        )
        done = run(
            folder, f'{text}<WRITETABLE> (1,5,SO+,"t.tab")\n<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,6,,"t.jj")\n'
        )
        assert done.code == 0, done.message
        weights = read_jj(folder / "t.jj").problem.weights
        rows = cells(folder / "t.tab", 2, ";")
        return {
            cell: (float(row[2]), weight) for (cell, row), weight in zip(rows.items(), weights, strict=True)
        }

    model = Model(records(11))
    for spec, variable, change in (
        ('"price"', "price", lambda cost: cost),
        ('"price",0.5', "price", lambda cost: cost**0.5),
        ('"price"|0', "price", lambda cost: np.log(cost + 1)),
        ('"-2",0.5', None, lambda cost: 1.0),
        ("-1", "count", lambda cost: cost),
    ):
        for cell, (cost, weight) in costs(spec).items():
            true = (
                1.0
                if variable is None
                else len(model.cells[cell])
                if variable == "count"
                else float(model.total(cell, variable))
            )
            assert cost == pytest.approx(true)
            assert weight == pytest.approx(change(true))


# ---------------------------------------------------------------------- log, codes, other commands


def test_the_log(folder: Path) -> None:
    assert run(folder, f'<VERSIONINFO> "v.txt"\n<SOLVER> FREE\n{JOB}').code == 0
    assert (folder / "v.txt").read_text() == "TAU-ARGUS version: 4.2.5; build: 3\n"
    lines = (folder / "log.txt").read_text().splitlines()
    stamp = r"\d\d-(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)-\d{4} \d\d:\d\d:\d\d : "
    assert all(re.match(stamp, line) or line.startswith(" " * 23) for line in lines)
    texts = [line[23:] for line in lines]
    assert texts[:4] == ["-" * 26, "Start of TauArgus run", "TauArgus version 4.2.5 build 3", "-" * 26]
    assert texts[4].startswith("Start of batch procedure; file: ") and texts[-1] == "End of TauArgus run"
    assert "<READMICRODATA>" in texts and "Tables from microdata have been read" in texts
    run(folder, JOB)
    again = (folder / "log.txt").read_text().splitlines()
    assert again[: len(lines)] == lines and len(again) > len(lines)


def test_errors_are_logged_and_exit_with_2(folder: Path) -> None:
    done = run(folder, f"{JOB}<SUPPRESS> MOD(2)\n")
    log = (folder / "log.txt").read_text()
    assert done.code == 2 and "line 6: SUPPRESS: there is no table 2" in done.message
    assert log.index("line 6") < log.index("Error in batch file") < log.index("End of TauArgus run")


def test_a_batch_file_that_is_not_there(tmp_path: Path) -> None:
    from tablecloak.job.argus import ArgusOptions, run_argus

    done = run_argus(tmp_path / "none.arb", ArgusOptions(log=tmp_path / "log.txt"))
    assert done.code == 2 and "no such file" in (tmp_path / "log.txt").read_text()


def test_go_interactive_exits_with_1_after_everything_before_it(folder: Path) -> None:
    done = run(folder, f'{JOB}<WRITETABLE> (1,2,AS+,"t.csv")\n<GOINTERACTIVE>\n<SUPPRESS> OPT(1)\n')
    assert done.code == 1 and "there is no window" in done.message
    assert (folder / "t.csv").exists() and not (folder / "log.json").exists()


def test_clear_and_logbook(folder: Path) -> None:
    first = f'<LOGBOOK> "own.txt"\n{JOB}<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,2,AS+,"t1.csv")\n<CLEAR>\n'
    done = run(folder, f'{first}{FREE}<WRITETABLE> (1,2,AS+,"t2.csv")\n')
    assert done.code == 0 and done.log == folder / "own.txt"
    assert (folder / "own.json").exists()
    assert "Freq" in (folder / "t2.csv").read_text() and "turnover" in (folder / "t1.csv").read_text()


def test_nothing_is_written_after_a_late_error(folder: Path) -> None:
    done = run(folder, f'{JOB}<WRITETABLE> (1,2,AS+,"t1.csv")\n<WRITETABLE> (1,5,AR+,"t2.tab")\n')
    assert done.code == 2 and "option AR+" in done.message
    assert sorted(path.name for path in folder.iterdir()) == [
        "job.arb",
        "log.txt",
        "micro.csv",
        "micro.rda",
        "region.hrc",
    ]


def test_the_data_folder(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    data = tmp_path_factory.mktemp("data")
    (folder / "micro.csv").rename(data / "micro.csv")
    done = run(folder, f'{JOB}<WRITETABLE> (1,2,AS+,"t.csv")\n', data=data)
    assert done.code == 0, done.message
    assert (data / "t.csv").exists() and not (folder / "t.csv").exists()
    assert "DATADIR" in run(folder, JOB, data=folder / "none").message


def test_several_responses_weights_and_decimals(folder: Path) -> None:
    """Weighted totals with more decimals than the response are printed with its decimals, and stay safe."""
    text = JOB.replace(RULE, f"{RULE}|WGT(1)")
    done = run(
        folder, f'{text}<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,2,,"p.csv")\n<WRITETABLE> (1,6,,"t.jj")\n'
    )
    assert done.code == 0, done.message
    model = Model(records(11), weighted=True)
    for cell, (value,) in list(cells(folder / "p.csv", 2).items())[1:]:
        if value not in "-x":
            assert float(value) == pytest.approx(float(model.total(cell, "turnover")), abs=0.051)
            assert len(value.partition(".")[2]) == 1
    assert_safe(folder / "t.jj")


def test_inputs_are_never_overwritten(folder: Path) -> None:
    """The metadata of an intermediate file would be written over those of the data."""
    before = (folder / "micro.rda").read_text()
    for name in ("micro.tab", "region.hrc"):
        done = run(folder, f'{JOB}<WRITETABLE> (1,5,,"{name}")\n')
        assert done.code == 2 and "it is an input file" in done.message
    assert (folder / "micro.rda").read_text() == before and not (folder / "micro.tab").exists()


def test_what_is_unexpected_ends_with_exit_code_2(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("12345.6")

    monkeypatch.setattr("tablecloak.job.argus.run.made_tables", broken)
    done = run(folder, JOB)
    assert (done.code, done.message) == (2, "something unexpected happened (ZeroDivisionError)")
    log = (folder / "log.txt").read_text()
    assert "12345" not in log and log.rstrip().endswith("End of TauArgus run")
    with pytest.raises(ZeroDivisionError):
        run(folder, JOB, trace=True)


def test_an_interrupt_is_logged_and_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tablecloak.job.argus.run.suppress", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(folder, f'{JOB}<WRITETABLE> (1,2,AS+,"t.csv")\n<SUPPRESS> OPT(1)\n')
    assert "Interrupted; nothing is written" in (folder / "log.txt").read_text()
    assert not (folder / "t.csv").exists()


def test_tables_that_were_protected_apart_are_audited_together(folder: Path) -> None:
    """The second table shows a margin of the first one that its own suppression does not need to be hidden."""
    other = '<SPECIFYTABLE> "size"|"turnover"\n<SAFETYRULE> FREQ(1,1)\n'
    text = f"{HEAD}{TABLE}{other}<READMICRODATA>\n<SUPPRESS> MOD(1)\n<SUPPRESS> OPT(2,1)\n"
    warned = 0
    for seed in range(12):
        write_data(folder, records(seed, 40))
        done = run(folder, f'{text}<WRITETABLE> (1,2,,"p1.csv")\n<WRITETABLE> (2,2,,"p2.csv")\n')
        assert done.code == 0, done.message
        shown = {cell[0]: row[0] for cell, row in cells(folder / "p2.csv", 1).items()}
        one = cells(folder / "p1.csv", 2)
        differ = [size for size in ("1", "2", "10", "9") if one["Total", size] == ["x"] != [shown[size]]]
        (found, *_) = [*json.loads((folder / "log.json").read_text())["open_together"], {"open": []}]
        assert differ or not found["open"]
        warned += bool(found["open"])
        assert bool(found["open"]) == (
            "Warning: read together" in (folder / "log.txt").read_text().split("Start of")[-1]
        )
    assert warned
    linked = f"{HEAD}{TABLE}{other.replace('FREQ(1,1)', RULE)}<READMICRODATA>\n<SUPPRESS> MOD(0)\n"
    assert run(folder, f'{linked}<WRITETABLE> (1,2,,"p1.csv")\n<WRITETABLE> (2,2,,"p2.csv")\n').code == 0
    assert json.loads((folder / "log.json").read_text())["open_together"] == []


def test_linked_tables_are_published_against_the_outsider_of_all_of_them(folder: Path) -> None:
    """With negative values the bounds of one table alone are narrower than those of the linked system."""
    rda = (folder / "micro.rda").read_text().replace("ask 1\n", "ask 1\n  <RECODEABLE>\n")
    other = f'<SPECIFYTABLE> "size""ask"|"turnover"\n<SAFETYRULE> {RULE}\n'
    write = "".join(f'<WRITETABLE> ({n},2,,"p{n}.csv")\n' for n in (1, 2))
    published = 0
    for seed in range(12):
        data = [dict(each) for each in records(seed, 60)]
        for each in data[::5]:
            each["turnover"] = f"-{each['turnover']}"
        write_data(folder, data)
        (folder / "micro.rda").write_text(rda)
        done = run(folder, f"{HEAD}{TABLE}{other}<READMICRODATA>\n<SUPPRESS> GH(0)\n{write}")
        if done.code:  # levels of totals near zero can be more than anything that is hidden
            assert "Nothing that hides or blurs cells can protect" in done.message
            continue
        assert json.loads((folder / "log.json").read_text())["open_together"] == []
        published += 1
    assert published > 5
