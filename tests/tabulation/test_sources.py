"""Sources: what they refuse when made, and everything that can be wrong with records, each fault with its place."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tablecloak.errors import InputError
from tablecloak.model import Dimension, Hierarchy, Table
from tablecloak.tabulation import CellData, Layout, Microdata, tabulate, tabulate_linked
from tablecloak.tabulation.settings import SETTINGS

SEX = Dimension.flat("sex", ["f", "m"])
CODE = Dimension.of("code", Hierarchy.from_dict({"0": ["01", "02"]}))


@pytest.fixture(autouse=True)
def private(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """All temporary folders in one place, which must be empty after every test, faults or not."""
    place = tmp_path_factory.mktemp("private")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert not list(place.iterdir())


def faults_of(data: Any, response: str | None = "v", **roles: Any) -> tuple[str, ...]:
    with pytest.raises(InputError) as caught:
        tabulate(Microdata(data, **roles), [SEX], response)
    return caught.value.faults


# ---------------------------------------------------------------------- made wrong


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Microdata({}, request_codes=("1", "1")), "two different codes"),
        (lambda: Microdata({}, request_codes="12"), "two different codes"),
        (lambda: CellData({}, top="x1"), "not one text"),
        (lambda: CellData({}, top=("x1",)), "needs a column count"),
        (lambda: CellData({}, count="n", holding_top=("x1",)), "needs a column holding_count"),
        (lambda: Layout([]), "at least one dimension"),
        (lambda: Layout([SEX, SEX]), "'sex' is listed twice"),
        (lambda: Layout([SEX], decimals=-1), "decimals"),
        (lambda: Layout([SEX], decimals=0.5), "decimals"),
        (lambda: tabulate_linked(Microdata({}), []), "no layout"),
        (lambda: tabulate({"sex": ["f"]}, [SEX], top=0), "top must be"),
        (lambda: tabulate({"sex": ["f"]}, [SEX], top=1.5), "top must be"),
        (lambda: tabulate({"sex": ["f"]}, [SEX], memory="lots"), "amount of memory"),
        (lambda: tabulate(17, [SEX]), "no table"),
        (lambda: tabulate("nowhere.csv", [SEX]), "no such file"),
    ],
)
def test_made_wrong(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_sources_say_that_they_are_confidential() -> None:
    assert "confidential" in repr(Microdata({"v": [12345]}))
    assert "12345" not in repr(Microdata({"v": [12345]})) + repr(CellData({"v": [12345]}))
    assert "confidential" in repr(CellData("cells.csv"))


# ---------------------------------------------------------------------- records


def test_columns_that_are_not_there() -> None:
    with pytest.raises(InputError) as caught:
        tabulate(Microdata({"Sex": ["f"], "w": [1]}, weight="wgt", holding="grp"), [SEX], "v", shadow="u")
    assert caught.value.faults == (
        "there is no column 'sex' with the codes of dimension 'sex'",
        "there is no column 'v' with the values",
        "there is no column 'u' with the values",
        "there is no column 'wgt' with the weights",
        "there is no column 'grp' with the holdings",
    )
    assert caught.value.advice == "Columns found: 'Sex', 'w'."


def test_every_fault_of_the_records_in_one_error() -> None:
    data = {
        "sex": ["f", "x", "Total", None, "", "x", "m", "m", "m"],
        "v": ["1", "one", "", None, "3", "nan", "-inf", "7", "8"],
        "w": [1, 1, 1, 1, None, -2, 1, 1, float("inf")],
        "who": ["a", "a", "b", "c", "d", "e", "a", "g", None],
        "free": [1, 0, None, "yes", "No", True, "maybe", "0", "1"],
    }
    faults = faults_of(data, weight="w", respondent="who", waiver="free")
    assert faults == (
        "row 4: the code in column 'sex' is missing",
        "row 5: the code in column 'sex' is missing",
        "row 2: unknown code 'x' in dimension 'sex' (2 times, here first)",
        "row 3: code 'Total' in dimension 'sex' is a total, records need a leaf (once)",
        "row 3: the number in column 'v' is missing",
        "row 4: the number in column 'v' is missing",
        "row 2: the number in column 'v' is not a finite number",
        "row 6: the number in column 'v' is not a finite number",
        "row 7: the number in column 'v' is not a finite number",
        "row 5: the weight in column 'w' is missing",
        "row 9: the weight in column 'w' is not a finite number",
        "row 6: the weight is negative",
        "row 7: the waiver in column 'free' is neither yes nor no (1 or 0, true or false)",
        "row 9: the respondent in column 'who' is missing",
    )


def test_respondents_with_different_weights() -> None:
    data = {"sex": ["f", "m", "f", "m"], "v": [1, 2, 3, 4], "w": [1, 2, 1.5, 2], "who": ["a", "b", "a", "b"]}
    assert faults_of(data, weight="w", respondent="who") == (
        "row 3: the weight differs from that of the same respondent in row 1",
    )


@pytest.mark.parametrize("data", [{"sex": [], "v": []}, pd.DataFrame({"sex": [], "v": []})])
def test_no_records(data: Any) -> None:
    assert faults_of(data) == ("there are no records",)


def test_long_lists_are_cut_with_their_length() -> None:
    many = SETTINGS.listed_faults + 50
    faults = faults_of({"sex": [f"x{i}" for i in range(many)], "v": [None] * many})
    assert len(faults) == 2 * SETTINGS.listed_faults + 2
    assert "50 further unknown codes in dimension 'sex'" in faults
    assert "50 further records: the number in column 'v' is missing" in faults


def test_no_value_gets_into_a_message() -> None:
    data = {"sex": ["f", "x"], "v": [987654.25, 123456.75], "t": ["871623 EUR", "5"], "w": [-3421.5, 1]}
    with pytest.raises(InputError) as caught:
        tabulate(Microdata(data, weight="w"), [SEX], "v", shadow="t")
    for secret in ("987654", "123456", "871623", "3421"):
        assert secret not in str(caught.value)


def test_empty_codes_get_a_code() -> None:
    data = {"sex": ["f", None, " "], "v": [1, 2, 3]}
    assert tabulate(Microdata(data, missing="m"), [SEX], "v").values.tolist() == [6, 1, 5]
    assert len(faults_of(data)) == 2


def test_numbers_as_codes() -> None:
    size = Dimension.flat("size", ["8", "9", "2.5"])
    expected = tabulate({"size": ["8", "9", "9", "2.5"]}, [size]).values.tolist()
    for column in ([8, 9, 9, 2.5], np.array([8.0, 9.0, 9.0, 2.5])):
        assert tabulate({"size": column}, [size]).values.tolist() == expected
    assert tabulate(pl.DataFrame({"size": [8, 9, 9]}), [size]).values.tolist() == [3, 1, 2]
    assert tabulate(pd.DataFrame({"size": [8, 9, None]}).dropna(), [size]).values.tolist() == [2, 1, 1]
    truth = Dimension.flat("size", ["True", "False"])
    assert tabulate({"size": np.array([True, False, True])}, [truth]).values.tolist() == [3, 2, 1]


# ---------------------------------------------------------------------- files


def written(folder: Path, text: bytes, name: str = "data.csv") -> Path:
    (folder / name).write_bytes(text)
    return folder / name


def test_codes_of_text_files_stay_text(tmp_path: Path) -> None:
    table = tabulate(written(tmp_path, b"code,v\n01,1\n02,2\n01,4\n"), [CODE], "v")
    assert table.values[table.find(code="01")] == 5


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_encodings_and_separators(tmp_path: Path, encoding: str, separator: str) -> None:
    place = Dimension.flat("Größe, total", ["Süd", 'a "b"', "c;,|d"])
    rows = [['"Größe, total"', "v"], ["Süd", "1.5"], ['"a ""b"""', "2"], ['"c;,|d"', "3"]]
    text = "".join(separator.join(row) + "\r\n" for row in rows)
    table = tabulate(written(tmp_path, text.encode(encoding)), [place], "v")
    assert table.values.tolist() == [6.5, 1.5, 2, 3]


def test_places_in_text_files_are_lines(tmp_path: Path) -> None:
    text = b'sex,v\nf,1\n\nx,2\n"m\nm",3\nm,?\n'
    assert faults_of(written(tmp_path, text)) == (
        "line 4: unknown code 'x' in dimension 'sex' (once)",
        "line 5: unknown code 'm\\nm' in dimension 'sex' (once)",
        "line 7: the number in column 'v' is not a finite number",
    )


def test_places_in_several_files(tmp_path: Path) -> None:
    first, second = (
        written(tmp_path, b"sex,v\nf,1\nf,2\n", "a.csv"),
        written(tmp_path, b"v;sex\n1;m\n;y\n", "b.csv"),
    )
    assert faults_of(tmp_path / "*.csv") == (
        f"{second}, line 3: unknown code 'y' in dimension 'sex' (once)",
        f"{second}, line 3: the number in column 'v' is missing",
    )
    written(tmp_path, b"sex;w\nf;1\n", "b.csv")
    assert faults_of(str(tmp_path / "?.csv")) == (f"{second}: there is no column 'v' with the values",)
    assert first.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "the file is empty"),
        (b"\xef\xbb\xbf\n", "the file is empty"),
        (b"sex,v\n", "there are no records"),
        (b"sex,v\nf,771\nf\n", "line 3: 1 columns, but the first line has 2"),
        (b"sex,v\nf,1\nm,771,3\n", "line 3: 3 columns, but the first line has 2"),
        (b'sex,v\n"f,771\nm,2\n', "a quote is opened and never closed"),
        (b"sex,v\nf,1\r\nm,771\n", "all lines end in the same way"),
        (b"sex,v\nf,1\x00\n", "zero bytes"),
        (b"sex,sex,v\nf,f,1\n", "there are two columns 'sex'"),
    ],
)
def test_files_that_are_no_proper_csv(tmp_path: Path, text: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        tabulate(written(tmp_path, text), [SEX], "v")
    assert "771" not in str(caught.value)


@pytest.mark.parametrize("text", ["sex,v\nf,771\n", "sex,v" * 5000 + "771", "771\0", "**771"])
def test_text_that_is_no_path(text: str) -> None:
    with pytest.raises(InputError, match="no such file") as caught:
        tabulate(text, [SEX], "v")
    assert len(str(caught.value)) < 200
    assert "\n771" not in repr(Microdata(text)) and len(repr(Microdata(text))) < 300


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must end in one of"):
        tabulate(written(tmp_path, b"", "data.xls"), [SEX])
    with pytest.raises(InputError, match="cannot be read as a Parquet file"):
        tabulate(written(tmp_path, b"PAR", "data.parquet"), [SEX])
    with pytest.raises(InputError, match="directory"):
        tabulate(tmp_path, [SEX])
    with pytest.raises(InputError, match="cannot be read"):
        tabulate(written(tmp_path, b"no gzip", "data.csv.gz"), [SEX])


def test_names_with_anything_in_them(tmp_path: Path) -> None:
    name, value = "'; DROP TABLE records; --\" $first ü", 'a "b" $file'
    odd = Dimension.flat(name, ["'", '"', "$x"])
    frame = pd.DataFrame({name: ["'", '"', "$x"], value: [1, 2, 3]})
    frame.to_parquet(tmp_path / "x'[1]*.parquet")
    for data in (frame, tmp_path / "x'[1]*.parquet"):
        table = tabulate(data, [odd], value)
        assert isinstance(table, Table) and table.values.tolist() == [6, 1, 2, 3]
