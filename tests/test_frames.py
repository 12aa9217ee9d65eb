"""Any dataframe to columns and back: kinds, gaps, odd names, odd objects, libraries that are not there."""

from __future__ import annotations

import importlib.util
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tablecloak import frames
from tablecloak.errors import InputError
from tablecloak.frames import columns_of, frame_kind, make_frame, names_of, scannable

DATA: dict[str, list[Any]] = {"a b": ["x", None, "z"], 'q"': [1, 2, 3], "ü": [0.5, None, 2.0]}
MADE = {
    "pandas": pd.DataFrame(DATA),
    "polars": pl.DataFrame(DATA),
    "pyarrow": pa.table(DATA),
    None: DATA,
}


@pytest.mark.parametrize("kind", MADE)
def test_columns(kind: str | None) -> None:
    assert frame_kind(MADE[kind]) == kind
    assert names_of(MADE[kind]) == list(DATA)
    columns = columns_of(MADE[kind])
    assert list(columns) == list(DATA)
    assert columns["a b"].tolist() == ["x", None, "z"]
    assert columns['q"'].tolist() == [1, 2, 3]
    numbers = columns["ü"].astype(np.float64)
    assert np.isnan(numbers[1]) and numbers[[0, 2]].tolist() == [0.5, 2.0]


@pytest.mark.parametrize("kind", MADE)
def test_there_and_back(kind: str | None) -> None:
    columns = {
        "code": np.array(["a", "b"], dtype=object),
        "text": np.array(["c", "d"]),
        "n": np.array([1.5, 2.5]),
    }
    frame = make_frame(columns, kind)
    assert frame_kind(frame) == kind
    back = columns_of(frame)
    assert {name: column.tolist() for name, column in back.items()} == {
        "code": ["a", "b"],
        "text": ["c", "d"],
        "n": [1.5, 2.5],
    }


def test_lazy_frames_are_collected() -> None:
    lazy = MADE["polars"].lazy().filter(pl.col('q"') > 1)
    assert frame_kind(lazy) == "polars"
    assert columns_of(lazy)['q"'].tolist() == [2, 3]


def test_names_that_are_no_text() -> None:
    frame = pd.DataFrame([[1, 2]], columns=[2020, 2021])
    assert names_of(frame) == ["2020", "2021"]
    assert columns_of(frame)["2021"].tolist() == [2]


@pytest.mark.parametrize("data", [3, ["a"], None, np.zeros(3), pd.Series([1])])
def test_what_is_no_table(data: Any) -> None:
    with pytest.raises(InputError, match="pandas, polars or pyarrow"):
        frame_kind(data)


def test_two_columns_of_a_name() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InputError, match=r"same name|two columns"):
        columns_of(frame)
    with pytest.raises(InputError, match="different numbers of rows: 'a' has 1, 'b' has 2"):
        scannable({"a": [1], "b": [1, 2]}, ["a", "b"])
    with pytest.raises(InputError, match="'a' is not a plain list"):
        scannable({"a": np.zeros((2, 2))}, ["a"])


def test_odd_objects_become_text() -> None:
    mixed: list[Any] = [8.0, 8, "8", None, float("nan"), Decimal("1.50"), b"b", 2.5]
    texts = ["8", "8", "8", None, None, "1.50", "b", "2.5"]
    assert scannable({"x": mixed}, ["x"])["c0"].tolist() == texts
    frame = scannable(pd.DataFrame({"x": pd.Series(mixed, dtype=object)}), ["x"])
    assert [None if pd.isna(entry) else entry for entry in frame["c0"]] == texts
    categories = scannable(pd.DataFrame({"x": pd.Categorical([1, 2, None])}), ["x"])
    assert [None if pd.isna(entry) else entry for entry in categories["c0"]] == ["1", "2", None]
    assert scannable({"x": [True, False]}, ["x"])["c0"].dtype == bool
    assert scannable({"x": np.array([1, 2])}, ["x"])["c0"].dtype.kind == "i"


def test_the_frame_given_is_not_changed() -> None:
    frame = pd.DataFrame({"b": [1], "a": pd.Series([2], dtype=object)})
    scannable(frame, ["a", "b"])
    assert list(frame.columns) == ["b", "a"]
    assert frame["a"].dtype == object and frame["a"][0] == 2


def test_polars_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(frames, "find_spec", lambda name: None if name == "pyarrow" else there(name))
    picked = scannable(MADE["polars"], ["a b", 'q"'])
    assert picked["c0"].tolist() == ["x", None, "z"] and picked["c1"].tolist() == [1, 2, 3]


def test_libraries_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install polars"):
        make_frame({"a": [1]}, "polars")
    with pytest.raises(InputError, match="no kind of dataframe 'excel'"):
        make_frame({"a": [1]}, "excel")
