"""Marks from frames, mappings and files; every fault with its row or line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tablecloak.assessment import Marks
from tablecloak.errors import InputError
from tablecloak.model import Dimension, Table

ROWS = {
    "size": ["1", "2", "", "1", "2"],
    "region": ["N", "S", None, "", "N"],
    "mark": ["unsafe", "safe", "forced", "hidden", ""],
    "weight": [np.nan, 7.0, np.nan, np.nan, 3.0],
    "lower": [12.5, np.nan, np.nan, np.nan, np.nan],
    "high": [np.nan, np.nan, 1000.0, np.nan, np.nan],
}


@pytest.fixture
def table() -> Table:
    dims = [Dimension.flat("size", ["1", "2"]), Dimension.flat("region", ["N", "S"])]
    cells = {"size": ["1", "1", "2", "2"], "region": ["N", "S", "N", "S"], "value": [40, 30, 20, 10]}
    return Table.from_cells(dims, cells, recompute=True)


def marked(table: Table, marks: Marks, name: str) -> list[str]:
    column = getattr(marks, name)
    where = column if column.dtype == bool else ~np.isnan(column)
    return table.labels(np.flatnonzero(where))


def faults(table: Table, data: Any) -> tuple[str, ...]:
    with pytest.raises(InputError) as caught:
        Marks.of(table, data)
    return caught.value.faults


@pytest.mark.parametrize(
    "make", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=["dict", "pandas", "polars", "arrow"]
)
def test_marks_from_any_frame(table: Table, make: Callable[[Any], Any]) -> None:
    marks = Marks.of(table, make(ROWS))
    assert marked(table, marks, "unsafe") == ["size=1, region=N"]
    assert marked(table, marks, "safe") == ["size=2, region=S"]
    assert marked(table, marks, "forced") == ["size=Total, region=Total"]
    assert marked(table, marks, "hidden") == ["size=1, region=Total"]
    assert marked(table, marks, "weight") == ["size=2, region=N", "size=2, region=S"]
    assert marks.weight[table.find(size="2", region="S")] == 7
    assert marks.lower[table.find(size="1", region="N")] == 12.5
    assert marks.high[table.find()] == 1000
    assert marked(table, marks, "sliding") == []
    assert marks.has_level.sum() == 1
    assert marks.places[table.find(size="2", region="N")] == "row 5"
    assert repr(marks) == "<confidential Marks: 5 cells, 1 safe, 1 unsafe, 1 forced, 1 hidden>"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_marks_from_a_csv_file(table: Table, tmp_path: Path, separator: str) -> None:
    path = tmp_path / "marks.csv"
    lines = ["region,size,mark,upper", "N, 1, Unsafe, 5", "", ",2,forced,"]
    path.write_text("\n".join(lines).replace(",", separator), encoding="utf-8")
    marks = Marks.of(table, path)
    assert marked(table, marks, "unsafe") == ["size=1, region=N"]
    assert marked(table, marks, "forced") == ["size=2, region=Total"]
    assert marks.upper[table.find(size="1", region="N")] == 5
    assert marks.places[table.find(size="2")] == "line 4"
    assert Marks.of(table, str(path)).forced.tolist() == marks.forced.tolist()


@pytest.mark.parametrize("separator", [";", ",", "\t"])
def test_marks_from_a_hst_file(table: Table, tmp_path: Path, separator: str) -> None:
    path = tmp_path / "marks.HST"
    lines = [
        '"1"; N; u',
        "1; N; pl; 12.5; 7",
        "1;N;C;0",
        "2;N;U",
        "2;N;PL;3",
        "2;S;s",
        ";;p",
        "Total;N;m",
        "Total;S;ML",
        "2;;w;2.5",
        "2;S;ab;5;15",
    ]
    path.write_text("\n".join(lines).replace(";", separator), encoding="utf-8")
    marks = Marks.of(table, path)
    first, second = table.find(size="1", region="N"), table.find(size="2", region="N")
    assert marked(table, marks, "unsafe") == ["size=1, region=N", "size=2, region=N"]
    assert (marks.lower[first], marks.upper[first], marks.weight[first]) == (12.5, 7, 1)
    assert (marks.lower[second], marks.upper[second]) == (3, 3)
    assert marked(table, marks, "safe") == ["size=2, region=S"]
    assert marked(table, marks, "forced") == ["size=Total, region=Total"]
    assert marked(table, marks, "hidden") == ["size=Total, region=N", "size=Total, region=S"]
    assert marks.weight[table.find(size="2")] == 2.5
    assert (marks.low[table.find(size="2", region="S")], marks.high[table.find(size="2", region="S")]) == (
        5,
        15,
    )


def test_every_fault_of_the_rows(table: Table) -> None:
    rows = {
        "size": ["1", "9", "2", "2", "1", "1", "2", "Total"],
        "region": ["N", "S", "N", "N", "S", "Total", "Total", "N"],
        "mark": ["unsave", "safe", "safe", "unsafe", "hidden", "forced", "", "unsafe"],
        "weight": [None, None, -1, None, None, None, np.inf, None],
        "lower": ["", "", "", "much", 5, "", "", ""],
        "low": [None, None, None, None, None, 5, None, None],
        "high": [None, None, None, None, None, 4, None, None],
    }
    assert faults(table, rows) == (
        "row 4: lower is not a number",
        "row 2: unknown code '9' in dimension 'size'",
        "row 1: the mark 'unsave' is none of safe, unsafe, forced, hidden",
        "row 3: weight must be a finite number that is not negative",
        "row 7: weight must be a finite number that is not negative",
        "row 6: low is more than high",
        "row 4: cell size=2, region=N is listed already in row 3",
        "row 5: cell size=1, region=S is marked hidden and has a protection level",
    )


def test_every_fault_of_the_lines(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "marks.hst"
    lines = ["1;N;u", "1;N;s", "1;N;pl;x", "1;N;pl;1;2;3", "1;N;what", "1;N", "3;N;s", "1;S;s;4", "2;N;c;-4",
             "2;S;s", "2;S;pl;1", "2;N;pl;1", "2;N;pl;1"]  # fmt: skip
    path.write_text("\n".join(lines), encoding="utf-8")
    assert faults(table, path) == (
        "line 3: the command pl needs lower and upper, as numbers",
        "line 4: the command pl needs lower and upper, as numbers",
        "line 5: expected one of s, u, p, m, ml, c, w, pl, ab after the codes",
        "line 6: expected one of s, u, p, m, ml, c, w, pl, ab after the codes",
        "line 8: the command s takes no numbers",
        "line 7: unknown code '3' in dimension 'size'",
        "line 9: weight must be a finite number that is not negative",
        "line 2: cell size=1, region=N is given a mark already in line 1",
        "line 13: cell size=2, region=N is given a lower already in line 12",
        "line 13: cell size=2, region=N is given a upper already in line 12",
        "line 11: cell size=2, region=S is marked safe and has a protection level",
    )


def test_faults_of_whole_files(table: Table, tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    assert "there is no such file" in faults(table, path)[0]
    path.write_text("", encoding="utf-8")
    assert faults(table, path) == ("it is empty",)
    path.write_text("size,mark\n1,safe\n", encoding="utf-8")
    assert faults(table, path) == ("there is no column 'region' of codes",)
    path.write_text("size,region,mark,mark,wieght\n1,N,safe\n1,S\n", encoding="utf-8")
    assert len(faults(table, path)) == 3
    path.write_text("size,region,wieght\n1,N,2\n", encoding="utf-8")
    assert faults(table, path) == ("unknown column 'wieght'",)
    path.write_text('size,region,mark\n1,N,"safe\n', encoding="utf-8")
    assert "unexpected end of data" in faults(table, path)[0]
    path = tmp_path / "marks.hst"
    path.write_text("1-N-u\n", encoding="utf-8")
    assert faults(table, path) == ("line 1: expected 2 codes and then one of s, u, p, m, ml, c, w, pl, ab",)


def test_columns_of_different_lengths(table: Table) -> None:
    rows = {"size": ["1"], "region": ["N", "S"], "mark": ["safe"]}
    assert faults(table, rows) == ("the columns have different numbers of rows",)


def test_cells_that_the_table_does_not_have() -> None:
    dims = [Dimension.flat("size", ["1", "2"]), Dimension.names("cell", ["a", "b"])]
    cells = {"size": ["1", "Total"], "cell": ["a", "a"], "value": [4, 4]}
    table = Table.from_cells(dims, cells)
    found = faults(table, {"size": ["2", ""], "cell": ["b", ""], "mark": ["safe", "safe"]})
    assert found == (
        "row 2: an empty code, but there is no total in dimension 'cell'",
        "row 1: the table has no such cell",
    )


def test_no_rows_are_no_marks(table: Table) -> None:
    marks = Marks.of(table, {"size": [], "region": [], "mark": []})
    assert not marks.places
    assert not (marks.safe | marks.unsafe | marks.forced | marks.hidden).any()
