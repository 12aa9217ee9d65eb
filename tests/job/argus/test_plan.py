"""What a batch file names: every fault of its files and variables, with the line of its command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablecloak.errors import InputError
from tablecloak.job.argus import ArgusOptions, lint_argus
from tests.job.argus.jobs import HEAD, RDA, records, write_data
from tests.job.argus.test_tables import OPEN
from tests.job.argus.test_tables import RDA as TABLE_RDA

TABLE = '<SPECIFYTABLE> "region""size"|"turnover"\n'
RULE = "<SAFETYRULE> P(15,1)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_data(tmp_path, records(1))
    (tmp_path / "t.tab").write_text("Total;All;1;1;1;;s;;\n")
    (tmp_path / "t.rda").write_text(TABLE_RDA)
    return tmp_path


def faults(folder: Path, text: str) -> list[str]:
    (folder / "job.arb").write_text(text)
    with pytest.raises(InputError) as error:
        lint_argus(folder / "job.arb")
    return list(error.value.faults)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"{HEAD}{TABLE.replace('region', 'regio')}{RULE}",
            "there is no variable 'regio'; did you mean 'region'?",
        ),
        (f"{HEAD}{TABLE.replace('size', 'staff')}{RULE}", "variable 'staff' is not <RECODEABLE>"),
        (f"{HEAD}{TABLE.replace('turnover', 'size')}{RULE}", "variable 'size' is not <NUMERIC>"),
        (f'{HEAD}<SPECIFYTABLE> "region"|"turnover"||"costs"\n{RULE}', "there is no variable 'costs'"),
        (
            f'{HEAD}<SPECIFYTABLE> "region"|"turnover"||"-3"\n{RULE}',
            "costs by distance (-3) are not available",
        ),
        (
            f"{HEAD.replace('micro.rda', 'x.rda')}{TABLE}{RULE}",
            "there is no file 'x.rda'; put 'x.rda' into the folder",
        ),
        (f"{HEAD.replace('micro.csv', 'sub/x.csv')}{TABLE}{RULE}", "there is no file 'sub/x.csv'"),
        (f"{OPEN}<SAFETYRULE> FREQ(0,0)|FREQ(3,10)\n<READTABLE>\n", "rules about holdings need microdata"),
        (f"{OPEN}<SAFETYRULE> WGT(1)\n<READTABLE>\n", "WGT(1) needs microdata"),
        (f"{OPEN}<SAFETYRULE> NK(3,80)\n<READTABLE>\n", "the 3 largest contributors, "),
    ],
)
def test_faults_of_tables_and_rules(folder: Path, text: str, words: str) -> None:
    assert any(
        words in fault for fault in faults(folder, f"{text}<READMICRODATA>\n" if HEAD[:10] in text else text)
    )


@pytest.mark.parametrize(
    ("old", "new", "rule", "words"),
    [
        ("  <WEIGHT>", "  <NUMERIC>", "P(10)|WGT(1)", "name no <WEIGHT> variable"),
        ("  <HOLDING>", "  <RECODEABLE>", "FREQ(0,0)|FREQ(3,10)", "name no <HOLDING> variable"),
        ('  <REQUEST> "1" "2"', "  <RECODEABLE>", "REQ(1,2,3)", "name no <REQUEST> variable"),
        ("region.hrc", "x.hrc", "P(10)", "there is no file 'x.hrc'; put 'x.hrc' into the folder of the job"),
        ('  <TOTCODE> "Total"', '  <CODELIST> "x.cdl"', "P(10)", "there is no file 'x.cdl'"),
        ("  <RECODEABLE>", "  <RECODEABL>", "P(10)", "line 2: Metadata "),
    ],
)
def test_faults_of_metadata(folder: Path, old: str, new: str, rule: str, words: str) -> None:
    (folder / "micro.rda").write_text(RDA.replace(old, new, 1))
    found = faults(folder, f"{HEAD}{TABLE}<SAFETYRULE> {rule}\n<READMICRODATA>\n")
    assert any(words in fault for fault in found), found


def test_faults_of_hierarchies(folder: Path) -> None:
    (folder / "region.hrc").write_text("North\n@@N1\n")
    (fault,) = faults(folder, f"{HEAD}{TABLE}{RULE}<READMICRODATA>\n")
    assert fault.startswith("line 2: hierarchy") and "line 2" in fault.partition(": ")[2]


def test_frequencies_of_tables_need_their_variable(folder: Path) -> None:
    (folder / "t.rda").write_text(TABLE_RDA.replace("<FREQUENCY>", "<NUMERIC> <SHADOW>"))
    found = faults(folder, OPEN.replace('"v"', '"<freq>"') + "<SAFETYRULE> FREQ(3,10)\n<READTABLE>\n")
    assert any("the metadata name no <FREQUENCY>" in fault for fault in found)
    (fault,) = faults(folder, f"{OPEN}<SAFETYRULE> FREQ(3,10)\n<READTABLE>\n")
    assert "the rules need a <FREQUENCY> variable" in fault


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('<RECODE> 1,"staff",1', "table 1 has no variable 'staff'; it has region, size"),
        ('<RECODE> 1,"size",1', "has no hierarchy to cut"),
        ('<RECODE> 1,"size","x.grc"', "there is no file 'x.grc'"),
        ('<RECODE> 1,"region","flat.grc"', "begins with <TREERECODE>"),
        ('<RECODE> 1,"size","tree.grc"', "has lines like new: old, old"),
        ('<RECODE> 1,"size","bad.grc"', "line 1: write it like"),
        ('<APRIORI> "x.hst",1,";"', "there is no file 'x.hst'"),
        ('<APRIORI> "bad.hst",1,";"', "line 1: 1 fields"),
        ('<WRITETABLE> (1,2,,"none/t.csv")', "make it first"),
        ('<VERSIONINFO> "none/t.txt"', "make it first"),
        ('<LOGBOOK> "C:\\log.txt"', "a path of Windows"),
    ],
)
def test_faults_after_reading(folder: Path, line: str, words: str) -> None:
    (folder / "flat.grc").write_text("1: 2\n")
    (folder / "tree.grc").write_text("<TREERECODE>\nNorth\n")
    (folder / "bad.grc").write_text("what\n")
    (folder / "bad.hst").write_text("what\n")
    (fault,) = faults(folder, f"{HEAD}{TABLE}{RULE}<READMICRODATA>\n{line}\n")
    assert fault.startswith("line 6: ") and words in fault


def test_code_lists_are_read(folder: Path) -> None:
    (folder / "micro.rda").write_text(
        RDA.replace('  <TOTCODE> "Total"', '  <CODELIST> "/else/where/x.cdl"', 1)
    )
    (folder / "x.cdl").write_text("N1,North one\n")
    (folder / "job.arb").write_text(f"{HEAD}{TABLE}{RULE}<READMICRODATA>\n")
    assert folder / "x.cdl" in lint_argus(folder / "job.arb").inputs


def test_keywords_without_a_blank_behind_them_and_tables_after_a_faulty_one(folder: Path) -> None:
    text = f'{HEAD}<SPECIFYTABLE>"nothing"|"turnover"\n{RULE}{TABLE}{RULE}<READMICRODATA>\n'
    text += '<RECODE>2,"region",1\n<SUPPRESS>OPT(2)\n'
    (fault,) = faults(folder, text)
    assert fault.startswith("line 3: SPECIFYTABLE")


def test_files_are_found_in_the_data_folder_too(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = tmp_path_factory.mktemp("data")
    for name in ("micro.csv", "region.hrc"):
        (folder / name).rename(data / name)
    (folder / "job.arb").write_text(f"{HEAD}{TABLE}{RULE}<READMICRODATA>\n")
    plan = lint_argus(folder / "job.arb", ArgusOptions(data=data))
    assert {data / "micro.csv", data / "region.hrc", folder / "micro.rda"} <= plan.inputs
