"""Batch files of τ-ARGUS: every command, both sides of every trap, and all faults with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablecloak.errors import InputError
from tablecloak.formats.argus import (
    ReadApriori,
    ReadData,
    RecodeVariable,
    SetSafetyRule,
    SpecifyTable,
    SuppressTable,
    WriteTable,
    read_batch,
)
from tablecloak.formats.argus.batch import REFUSED, ArgusBatch, parse_batch
from tablecloak.formats.argus.lexical import ArgusToken, number_of, tokens_of

HEAD = '<OPENMICRODATA> "m.csv"\n<OPENMETADATA> "m.rda"\n'
TABLE = '<SPECIFYTABLE> "a""b"|"v"||\n<SAFETYRULE> P(10,1)\n'
JOB = f"{HEAD}{TABLE}<READMICRODATA>\n"


def only(text: str, kind: type, head: str = JOB) -> object:
    """The one command of a kind in a job that goes on with this line."""
    (found,) = [each for each in parse_batch(head + text).commands if isinstance(each, kind)]
    return found


def faults(text: str, *, strict: bool = False) -> tuple[str, ...]:
    with pytest.raises(InputError) as error:
        parse_batch(text, strict=strict)
    return error.value.faults


def spec(line: str) -> SpecifyTable:
    found = only("", SpecifyTable, f"{HEAD}<SPECIFYTABLE> {line}\n<SAFETYRULE> FREQ(3,10)\n")
    assert isinstance(found, SpecifyTable)
    return found


# ---------------------------------------------------------------------- lexical rules


def test_tokens() -> None:
    words = tokens_of('<Freq> "a b"|x,(1)// rest')
    assert words[:3] == [ArgusToken("<FREQ>"), ArgusToken("a b", True), ArgusToken("|")]
    assert [each.text for each in words[3:]] == ["x", ",", "(", "1", ")"]
    assert tokens_of('a "not closed') == [ArgusToken("a"), ArgusToken("not closed", True)]
    assert tokens_of("// all of it") == []


@pytest.mark.parametrize(("text", "number"), [("1,5", 1.5), (" 2 ", 2.0), (".5", 0.5), ("1e3", 1000.0)])
def test_numbers_with_a_point_or_a_comma(text: str, number: float) -> None:
    assert number_of(text) == number


@pytest.mark.parametrize("text", ["", "a", "nan", "1_0", "1,2,3", "--1", "0x1"])
def test_what_is_no_number(text: str) -> None:
    assert number_of(text) is None


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_line_ends_encodings_comments_and_case(tmp_path: Path, ends: str, encoding: str) -> None:
    text = (JOB + '// a comment\n\\\\ another\n  <recode>\t1,"a", "é.grc"  // why\n').replace("\n", ends)
    (tmp_path / "job.arb").write_bytes(text.encode(encoding))
    batch = read_batch(tmp_path / "job.arb")
    assert [each.line for each in batch.commands] == [1, 2, 3, 4, 5, 8]
    assert batch.commands[-1].file == "é.grc"  # type: ignore[attr-defined]


# ---------------------------------------------------------------------- tables


def test_specify_table() -> None:
    assert spec('"a" "b"|"v"').explanatory == ("a", "b")
    assert spec('"a""b"|"<freq>"||-2').response is None
    whole = spec('"a"|"v"|"s"|"c"')
    assert (whole.response, whole.shadow, whole.cost, whole.exponent) == ("v", "s", "c", 1.0)
    assert spec('"a"|<FREQ>||"-1"').cost == "-1"


@pytest.mark.parametrize("line", ['"a"|"v"||"c",0.5', '"a"|"v"||"c"|0.5', '"a"|"v"||"c",0,5'])
def test_lambda_behind_a_comma_or_a_bar(line: str) -> None:
    found = spec(line)
    assert (found.cost, found.exponent) == ("c", 0.5)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('"a""A"|"v"', "stands there twice"),
        ('"a"', "write it like"),
        ('"a"||', "there is no response"),
        ('"a"|"v"||"c",x', "is no number"),
    ],
)
def test_specify_table_faults(line: str, words: str) -> None:
    assert words in faults(f"{HEAD}<SPECIFYTABLE> {line}\n<SAFETYRULE> FREQ(3,10)\n")[0]


# ---------------------------------------------------------------------- rules


def rules(text: str) -> list[tuple[str, tuple[float, ...], bool]]:
    found = only("", SetSafetyRule, f'{HEAD}<SPECIFYTABLE> "a"|"v"\n<SAFETYRULE> {text}\n')
    assert isinstance(found, SetSafetyRule)
    return [(each.name, each.numbers, each.holding) for each in found.rules.rules]


def test_rules_by_place_are_about_contributors_or_holdings() -> None:
    assert rules("P(10)|p(20,2) | P(0,0)|P(5,80,2)|") == [
        ("P", (10, 100, 1), False),
        ("P", (20, 100, 2), False),
        ("P", (5, 80, 2), True),
    ]
    assert rules("NK(2, 70)|MIS(1)|NK(0, 0)|FREQ(0, 0)|FREQ(1, 20)|NK(1, 90)") == [
        ("NK", (2, 70), False),
        ("FREQ", (1, 20), True),
        ("NK", (1, 90), True),
    ]


def test_rules_with_three_numbers_fractions_and_placeholders() -> None:
    assert rules("REQ(5,10,20)") == [("REQ", (5, 10, 0, 20), False)]
    assert rules("REQ(5,10,3,20)|REQ(0,0,0)") == [("REQ", (5, 10, 3, 20), False)]
    assert rules("P(12.5)") == [("P", (12.5, 100, 1), False)]
    assert rules("ZERO(0)") == [("ZERO", (0,), False)]
    assert rules("") == rules("MAN(30)") == []


def test_options_of_the_rules() -> None:
    found = only("", SetSafetyRule, f'{HEAD}<SPECIFYTABLE> "a"|"v"\n<SAFETYRULE> MIS(1)|WGT(1)|MAN(7)\n')
    assert isinstance(found, SetSafetyRule)
    assert (found.rules.missing_safe, found.rules.weighted, found.rules.manual) == (True, True, 7)
    assert found.rules.use_status and not found.rules.holding


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("P(100)", "0 < p < q"),
        ("NK(0.5,70)", "whole n"),
        ("NK(3)", "needs 2 numbers"),
        ("FREQ(a,3)", "needs 2 numbers"),
        ("FREQ(3)", "needs 2 numbers"),
        ("XY(3)", "no safety rule"),
        ("MIS(2)", "must be 0 or 1"),
        ("MAN(-1)", "must not be negative"),
        ("ZERO(1)|ZERO(2)", "1 at most"),
        ("REQ(101,1,1,1)", "out of range"),
    ],
)
def test_rule_faults(text: str, words: str) -> None:
    assert words in faults(f'{HEAD}<SPECIFYTABLE> "a"|"v"\n<SAFETYRULE> {text}\n')[0]


def test_rules_about_contributors_do_not_fit_frequencies() -> None:
    (fault,) = faults(f'{HEAD}<SPECIFYTABLE> "a"|"<freq>"\n<SAFETYRULE> P(10)|NK(1,70)|FREQ(3,10)\n')
    assert fault == "line 4: NK, P cannot be used on a table of frequencies: use FREQ"


# ---------------------------------------------------------------------- after reading


def test_apriori_recode_and_their_spellings() -> None:
    found = only('<APRIORY> "x.hst", 1, ",", 0, 1', ReadApriori)
    assert isinstance(found, ReadApriori)
    assert (found.file, found.separator, found.ignore_errors, found.expand_trivial) == (
        "x.hst",
        ",",
        False,
        True,
    )
    plain = only('<APRIORI> "x.hst",1,";"', ReadApriori)
    assert isinstance(plain, ReadApriori) and plain.ignore_errors and not plain.expand_trivial
    level, file = only('<RECODE> 1, "a", 2', RecodeVariable), only('<RECODE> 1,"a","f.grc"', RecodeVariable)
    assert isinstance(level, RecodeVariable) and (level.level, level.file) == (2, None)
    assert isinstance(file, RecodeVariable) and (file.level, file.file) == (None, "f.grc")


def test_suppress_has_defaults_and_empty_places() -> None:
    found = only("<SUPPRESS> MOD(1,5,1,0,,,0.9)", SuppressTable)
    assert isinstance(found, SuppressTable)
    assert dict(found.spec.arguments) == {
        "minutes": 5, "single_single": 1, "single_multiple": 0, "min_frequency": 1, "max_cost": 20000,
        "lower_margin": 0.9, "upper_margin": 1.01,
    }  # fmt: skip
    whole = only("<SUPPRESS> GH(0, 75, 0)", SuppressTable)
    assert isinstance(whole, SuppressTable) and whole.spec.table == 0 and whole.spec.arguments["bounds"] == 75


@pytest.mark.parametrize("stop", ["", ",0", ",1", ",2", ",3"])
def test_stop_rules_in_both_numberings(stop: str) -> None:
    found = only(f"<SUPPRESS> RND(1,5,0,10,0{stop})", SuppressTable)
    assert isinstance(found, SuppressTable)
    assert found.spec.arguments["stop"] == (float(stop[1:]) if stop else 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("OPT(0)", "table 0"),
        ("OPT(2)", "there is no table 2; there are tables 1 to 1"),
        ("RND(1)", "base is missing"),
        ("CKM(1)", "cell key method is not available"),
        ("ABC(1)", "methods: GH"),
        ("MOD(a)", "no number of a table"),
        ("MOD(1,5,2)", "single_single must be"),
        ("NET(1,2)", "0 at most"),
        ("OPT(1,x)", "is no number"),
        ("OPT", "write a method"),
    ],
)
def test_suppress_faults(text: str, words: str) -> None:
    (fault, *_) = faults(f"{JOB}<SUPPRESS> {text}")
    assert fault.startswith("line 6: ") and words in fault


def test_write_table() -> None:
    found = only('<WRITETABLE> (1, 2, AS+QU-, "t 1.csv")', WriteTable)
    assert isinstance(found, WriteTable)
    assert (found.spec.type, found.spec.options, found.spec.file) == (2, frozenset({"AS"}), "t 1.csv")
    assert found.spec.is_confidential
    plain = only('<WRITETABLE> (1,3,,"t.txt")', WriteTable)
    assert isinstance(plain, WriteTable) and plain.spec.options == {"QU"} and not plain.spec.is_confidential
    old = only('<WRITETABLE> (1,3,3,"t.txt")', WriteTable)
    assert isinstance(old, WriteTable) and old.spec.options == {"QU"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('(1,2,,"t")', "must contain a dot"),
        ('(1,7,,"t.x")', "cell key method"),
        ('(1,8,,"t.x")', "there is no type 8"),
        ('(a,2,,"t.x")', "table must be a whole number"),
        ('(1,2,XX+,"t.x")', "unknown option 'XX'"),
        ('(1,2,AS,"t.x")', "must be written like"),
        ('(1,2,AO+,"t.x")', "cell key method"),
        ('(1,2,"t.x")', "write it like"),
        ('(3,2,,"t.x")', "no table 3"),
    ],
)
def test_write_table_faults(text: str, words: str) -> None:
    assert words in faults(f"{JOB}<WRITETABLE> {text}")[0]


def test_read_table_modes() -> None:
    head = '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> "a"|"v"\n'
    for text, mode, keep in (("", 0, False), ("1", 1, False), ("1T", 1, True), ("2F", 2, False)):
        found = only(f"<READTABLE> {text}", ReadData, head)
        assert isinstance(found, ReadData) and (found.mode, found.keep_status) == (mode, keep)
    assert "write 0" in faults(f"{head}<READTABLE> 3")[0]
    two = parse_batch(f"{head}<SAFETYRULE>\n{head}<READTABLE>\n")  # a set of tables
    assert sum(isinstance(each, SpecifyTable) for each in two.commands) == 2


def test_other_commands() -> None:
    text = f'{JOB}<SOLVER> CPLEX,"x.lic"\n<LOGBOOK> "l.txt"\n<VERSIONINFO> v.txt\n<CLEAR>\n{JOB}<GOINTERACTIVE>\n'
    names = [type(each).__name__ for each in parse_batch(text).commands]
    assert names[5:9] == ["ChooseSolver", "SwitchLogbook", "WriteVersion", "ClearAll"]
    assert names[-1] == "GoInteractive"


@pytest.mark.parametrize("keyword", REFUSED)
def test_refused_commands_have_a_remedy(keyword: str) -> None:
    assert faults(f"{JOB}{keyword} 1")[0] == f"line 6: {keyword}: {REFUSED[keyword]}"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('<OPENMETADATA> "m.rda"', 1, "behind OPENMICRODATA"),
        (f"{HEAD}<READMICRODATA>", 3, "behind the SAFETYRULE"),
        (f"{HEAD}<SAFETYRULE> P(10)", 3, "right behind its SPECIFYTABLE"),
        (f"{HEAD}{TABLE}<SUPPRESS> OPT(1)", 5, "put READMICRODATA or READTABLE before it"),
        (f"{HEAD}{TABLE}{HEAD}", 5, "put <CLEAR> before it"),
        (f"{HEAD}{TABLE}<READTABLE>", 5, "write <READMICRODATA>"),
        (f"{JOB}<READMICRODATA>", 6, "after the data were read"),
        (f"{JOB}{TABLE}", 6, "after the data were read"),
        (f'{JOB}<SUPPRESS> OPT(1)\n<RECODE> 1,"a",1', 7, "put it before SUPPRESS"),
        (f"{JOB}<CLEAR>\n<SUPPRESS> OPT(1)", 7, "no table is specified before"),
        (f"{JOB}<OPENMICRODATA>", 6, "needs the name of a file"),
        (f"{JOB}<SUPRESS> OPT(1)", 6, "did you mean '<SUPPRESS>'?"),
        (f"{JOB}SUPPRESS OPT(1)", 6, "unknown keyword 'SUPPRESS'"),
        (f"{JOB}<SOLVER> GUROBI", 6, "no effect here"),
        (f'{JOB}<APRIORI> "f",1', 6, "file, table, separator"),
        (f'{JOB}<APRIORI> "f",1,";;"', 6, "one character"),
        (f'{JOB}<APRIORI> "f",1,";",2', 6, "must be 0 or 1"),
        (f'{JOB}<RECODE> 1,"a"', 6, "write it like"),
        (f'{JOB}<RECODE> 1,"a",0', 6, "level 0"),
    ],
)
def test_wrong_places_and_arguments(text: str, line: int, words: str) -> None:
    found = faults(text)
    assert any(fault.startswith(f"line {line}: ") and words in fault for fault in found), found


def test_recodes_are_for_microdata() -> None:
    head = '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> "a"|"v"\n<READTABLE>\n'
    assert "RECODE is for microdata" in faults(f'{head}<RECODE> 1,"a",1')[0]


def test_all_faults_are_listed_in_order() -> None:
    text = f'{JOB}<SUPPRESS> XX(1)\n<WRITETABLE> (9,2,,"t")\n<NOTHING>\n'
    assert [fault.split(":")[0] for fault in faults(text)] == ["line 6", "line 7", "line 7", "line 8"]
    assert faults("// nothing\n") == ("there is no command in it",)


def test_strict_refuses_what_tau_argus_refuses() -> None:
    text = (
        f'{HEAD}<SPECIFYTABLE> "a"|"v"||"c"|0.5\n<SAFETYRULE> REQ(1,2,3)|P(12.5)\n<READMICRODATA>\n'
        '<SUPPRESS> RND(1,5,0,10,0,3)\n<WRITETABLE> (1,3,3,"f.x")\n'
    )
    batch = parse_batch(text)
    assert isinstance(batch, ArgusBatch) and len(batch.tolerated) == 5
    found = faults(text, strict=True)
    assert [fault.split(":")[0] for fault in found] == ["line 3", "line 4", "line 4", "line 6", "line 7"]
    assert all("4.2.5 refuses it" in fault for fault in found)
