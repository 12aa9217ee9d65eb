"""Metadata, code files and data of τ-ARGUS: what is read, and every fault with its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tablecloak.errors import InputError
from tablecloak.formats.argus import (
    ArgusMetadata,
    read_apriori,
    read_hrc,
    read_metadata,
    read_recode,
    read_records,
    with_missing,
)
from tablecloak.formats.argus.metadata import parse_metadata
from tablecloak.model import Hierarchy

MICRO = """<SEPARATOR> ";"
nace 5 "99999"
  <RECODEABLE>
  <TOTCODE> "All"
  <HIERARCHICAL>
  <HIERCODELIST> "nace.hrc"
  <HIERLEADSTRING> "@"
size 2 9 X
  <recodable>
turnover 12
  <NUMERIC>
  <DECIMALS> 2
w 6
  <WEIGHT>
  <DECIMALS> 1
ask 1
  <REQUEST> "1" "2"
group 4
  <HOLDING>
"""
TABULAR = """<SEPARATOR> ","
<SAFE> "s"
<UNSAFE> "u"
<PROTECT> "z"
Size
  <RECODEABLE>
  <TOTCODE> "Tot"
Resp
  <NUMERIC>
  <DECIMALS> 1
Shad
  <NUMERIC> <SHADOW>
Cost
  <COSTVAR>
Freq
  <NUMERIC>
  <FREQUENCY>
T1
  <MAXSCORE>
T2
  <MAXSCORE>
St
  <STATUS>
Low
  <NUMERIC>
  <LOWERPL>
Up
  <NUMERIC> <UPPERPL>
"""


def faults(text: str, *, tabular: bool = False) -> tuple[str, ...]:
    with pytest.raises(InputError) as error:
        parse_metadata(text, tabular=tabular)
    return error.value.faults


def test_free_microdata() -> None:
    found = parse_metadata(MICRO, tabular=False)
    nace, size, turnover, w, ask, group = found.variables
    assert (found.separator, nace.total, nace.hierarchy_file, nace.lead) == (";", "All", "nace.hrc", "@")
    assert nace.spanning and nace.hierarchical and nace.missing == ("99999",)
    assert size.spanning and size.missing == ("9", "X") and size.width == 2
    assert turnover.numeric and turnover.decimals == 2 and not turnover.spanning
    assert w.weight and ask.request == ("1", "2") and group.holding
    assert found.find("NACE") is nace and found.find("x") is None


def test_fixed_microdata_and_levels_by_digits() -> None:
    found = parse_metadata(
        "a 1 5 99999\n <RECODEABLE>\n <HIERLEVELS> 3 1 1 0 0\nv 7 10\n <NUMERIC>\n", tabular=False
    )
    a, v = found.variables
    assert found.separator is None
    assert (a.start, a.width, a.levels, a.hierarchical, a.missing) == (0, 5, (3, 1, 1), True, ("99999",))
    assert (v.start, v.width) == (6, 10)


def test_as_piargus_writes_it() -> None:
    text = (
        "    <SEPARATOR> ,\nregio 7\n    <RECODABLE>\n    <HIERCODELIST> /a b/c.hrc\n    <HIERLEADSTRING> @\n"
    )
    text += (
        "    <HIERARCHICAL>\n    <TOTCODE> Total\nv 3\n    <NUMERIC>\n    <RECODABLE>\n    <DECIMALS> 10\n"
    )
    regio, v = parse_metadata(text, tabular=False).variables
    assert (regio.hierarchy_file, regio.lead, regio.total) == ("/a b/c.hrc", "@", "Total")
    assert v.numeric and v.spanning and v.decimals == 10


def test_tables() -> None:
    found = parse_metadata(TABULAR, tabular=True)
    roles = [each.role for each in found.variables]
    assert roles == [
        "",
        "response",
        "shadow",
        "cost",
        "frequency",
        "top",
        "top",
        "status",
        "lower level",
        "upper level",
    ]
    assert found.letters == {"S": "S", "U": "U", "P": "Z"}
    assert found.separator == ","


def test_widths_in_tables_are_no_missing_codes_but_missing_codes_are() -> None:
    text = "a 7\n <RECODEABLE>\n <TOTCODE> T\nv 3\n <NUMERIC>\n"
    assert [each.missing for each in parse_metadata(text, tabular=True).variables] == [(), ()]
    text = "a 7\n <RECODEABLE>\n <TOTCODE> T\nv\n <NUMERIC>\n"
    assert [each.missing for each in parse_metadata(text, tabular=True).variables] == [("7",), ()]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no variable in it"),
        ('<SEPARATOR> ";"\nv 3\n <NUMERIC>\n', "there is no spanning variable"),
        ("a\n <RECODEABLE>\n", "needs a first position and a width"),
        ('<SEPARATOR> ";"\na\n <RECODEABLE>\n', "needs a width"),
        ('<SEPARATOR> ";;"\na 1\n <RECODEABLE>\n', "one character"),
        ("<SPSS>\n", "is not read"),
        ("<WHAT>\na 1 1\n <RECODEABLE>\n", "unknown keyword '<WHAT>'"),
        ("a 1 1\n <RECODEABL>\n", "did you mean '<RECODEABLE>'?"),
        ("a 1 1\n <RECODEABLE>\nA 2 1\n", "described twice"),
        ("a 1 1 99\n <RECODEABLE>\n", "longer than its width"),
        ("a 1 1 9 8 7\n <RECODEABLE>\n", "two missing codes"),
        ("a 1 1\n <RECODEABLE>\n <DECIMALS> x\n", "whole numbers"),
        ("a 1 2\n <RECODEABLE>\n <HIERLEVELS> 1 2\n", "add up to the width 2"),
        ("a 1 2\n <RECODEABLE>\n <HIERARCHICAL>\n", "needs <HIERCODELIST> or <HIERLEVELS>"),
        ("a 1 2\n <RECODEABLE>\n <REQUEST>\n", "one or two codes"),
        ("a 1 2\n <RECODEABLE>\nb 3 1\n <WEIGHT>\nc 4 1\n <WEIGHT>\n", "<WEIGHT> variable already"),
        ("a 1 2\n <RECODEABLE>\nb 3 1\n <NUMERIC> <SHADOW>\n", "is for tables"),
        ('a 1 2\n <RECODEABLE>\n<SEPARATOR> ";"\n', "must stand before the first variable"),
    ],
)
def test_faults_of_microdata(text: str, words: str) -> None:
    assert any(words in fault for fault in faults(text)), faults(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\n <RECODEABLE>\nv\n <NUMERIC>\n", "needs <TOTCODE>"),
        ("a\n <RECODEABLE>\n <TOTCODE> T\n", "neither a response"),
        ("a\n <RECODEABLE>\n <TOTCODE> T\nv\n <NUMERIC> <SHADO>\n", "did you mean '<SHADOW>'?"),
        ("a\n <RECODEABLE>\n <TOTCODE> T\nv\n <FREQUENCY>\nw\n <FREQUENCY>\n", "frequency variable already"),
    ],
)
def test_faults_of_tables(text: str, words: str) -> None:
    assert any(words in fault for fault in faults(text, tabular=True)), faults(text, tabular=True)


def test_properties_of_the_cell_key_method_are_read() -> None:
    text = "a 1 2\n <RECODEABLE>\nk 3 9\n <RECORDKEY>\n <PFILE> p.txt\nv 12 3\n <NUMERIC>\n <CKM> T(3)\n <SCALING> N(1)\n"
    assert parse_metadata(text, tabular=False).variables[1].ignored == ("<RECORDKEY>", "<PFILE>")


# ---------------------------------------------------------------------- code files


def test_hierarchies_with_leading_blanks_as_piargus_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "h.hrc"
    path.write_text("    North\r\n@    N1\r\n@    N2\r\n\r\n    South\r\n")
    found = read_hrc(path, "Total", "@")
    assert found == Hierarchy.from_dict({"North": ["N1", "N2"], "South": None})
    with pytest.raises(InputError, match="missing code"):
        read_hrc(path, "Total", "@", ["N1"])
    assert with_missing(found, ["9"]).leaves == ("N1", "N2", "South", "9")
    assert with_missing(found, []) is found


def test_flat_recodes(tmp_path: Path) -> None:
    path = tmp_path / "r.grc"
    path.write_text('<MISSING> 9 X\n<CODELIST> "x.cdl"\n1: 01, 02\n2: 03 - 07, 09\n3: 20 -\n4: - 00\n')
    found = read_recode(path)
    new = {code: found.new_code(code, 2) for code in ("01", "03", "05", "07", "08", "09", "25", "00", "1")}
    assert new == {
        "01": "1",
        "03": "2",
        "05": "2",
        "07": "2",
        "08": None,
        "09": "2",
        "25": "3",
        "00": "4",
        "1": "4",
    }
    assert found.missing == ("9", "X") and not found.tree


def test_tree_recodes(tmp_path: Path) -> None:
    path = tmp_path / "r.grc"
    path.write_text("<TREERECODE>\n    North\n     S1\n")
    found = read_recode(path)
    assert found.tree and found.collapsed == ("North", "S1")


@pytest.mark.parametrize("text", ["", "<TREERECODE>\n", "abc\n", "1:\n", ": 1\n", "1: 2\n1: 3\n"])
def test_faults_of_recodes(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.grc").write_text(text)
    with pytest.raises(InputError):
        read_recode(tmp_path / "r.grc")


def test_apriori_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.hst"
    path.write_text('01;FR;u\n"01"; FR ;PL;12,5;3\n02;;c;1\n02;x;pl;4\n;;W;0\n1;2;ml\n')
    found = [(each.line, each.codes, each.command, each.numbers) for each in read_apriori(path, ";", 2)]
    assert found == [
        (1, ("01", "FR"), "U", ()),
        (2, ("01", "FR"), "PL", (12.5, 3.0)),
        (3, ("02", ""), "C", (1.0,)),
        (4, ("02", "x"), "PL", (4.0, 4.0)),
        (5, ("", ""), "C", (0.0,)),
        (6, ("1", "2"), "ML", ()),
    ]


def test_apriori_faults_are_listed_with_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.hst"
    path.write_text("1;2\n1;2;ab;3;4\n1;2;q\n1;2;pl\n1;2;c\n1;2;pl;-1;2\n1;2;pl;x\n")
    with pytest.raises(InputError) as error:
        read_apriori(path, ";", 2)
    assert [fault.split(":")[0] for fault in error.value.faults] == [f"line {n}" for n in range(1, 8)]
    assert "is not possible" in error.value.faults[1]


# ---------------------------------------------------------------------- data


def metadata(text: str, tabular: bool = False) -> ArgusMetadata:
    return parse_metadata(text, tabular=tabular)


def test_fixed_data(tmp_path: Path) -> None:
    path = tmp_path / "d.asc"
    path.write_bytes("Zürich  12,5\r\n\r\n  Bern   3.0\r\n".encode("latin-1"))
    about = metadata("a 1 6\n <RECODEABLE>\nv 7 6\n <NUMERIC>\n")
    found = read_records([path], about, about.variables)
    assert found.columns["a"].tolist() == ["Zürich", "Bern"]
    assert found.numbers(about.variables[1]).tolist() == [12.5, 3.0]
    assert [found.place(0), found.place(1)] == ["line 1", "line 3"]
    assert "Zürich" not in repr(found)


def test_free_data_with_quotes_blanks_and_several_files(tmp_path: Path) -> None:
    for name, text in (("a1.csv", '"x, y", 1\n'), ("a2.csv", "z,  2.5,\n")):
        (tmp_path / name).write_text(text)
    about = metadata('<SEPARATOR> ","\na 9\n <RECODEABLE>\nv 3\n <NUMERIC>\n')
    found = read_records([tmp_path / "a1.csv", tmp_path / "a2.csv"], about, about.variables)
    assert found.columns["a"].tolist() == ["x, y", "z"]
    assert found.place(1).endswith("a2.csv, line 1")
    numbers, wrong = found.known_numbers(about.variables[1])
    assert np.array_equal(numbers, [1.0, 2.5]) and wrong == []


def test_lines_that_do_not_fit_are_listed(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a;1\nb\nc;1;2\n")
    about = metadata('<SEPARATOR> ";"\na 9\n <RECODEABLE>\nv 3\n <NUMERIC>\n')
    with pytest.raises(InputError) as error:
        read_records([tmp_path / "d.csv"], about, about.variables)
    assert [fault.split(": ")[0].split(", ")[1] for fault in error.value.faults] == ["line 2", "line 3"]
    (tmp_path / "d.csv").write_text("")
    with pytest.raises(InputError, match="no records"):
        read_records([tmp_path / "d.csv"], about, about.variables)


def test_numbers_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a;x\nb;\nc;3\n")
    about = metadata('<SEPARATOR> ";"\na 9\n <RECODEABLE>\nv 3\n <NUMERIC>\n')
    found = read_records([tmp_path / "d.csv"], about, about.variables)
    assert found.known_numbers(about.variables[1])[1] == ["line 1: 'v' is no number", "line 2: 'v' is empty"]
    assert found.unreadable(about.variables[1]).tolist() == [True, False, False]


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_metadata(tmp_path / "x.rda", tabular=False)
