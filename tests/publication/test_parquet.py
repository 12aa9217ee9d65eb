"""Publications as Parquet, read by two libraries."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pytest

from publications import CASES, published
from tablecloak.publication.parquet import write_parquet


@pytest.mark.parametrize("name", CASES)
def test_it_reads_back_as_the_columns(name: str, tmp_path: Path) -> None:
    publication = published(name, labels={published(name).dimensions[0].name: {}})
    path = tmp_path / "a.parquet"
    path.write_bytes(write_parquet(publication))
    columns = publication.columns()
    read = duckdb.sql(f"SELECT * FROM '{path}'")
    assert read.columns == list(columns)
    assert [str(kind) for kind in read.types] == [
        "DOUBLE" if c.dtype.kind == "f" else "VARCHAR" for c in columns.values()
    ]
    for got, column in zip(zip(*read.fetchall(), strict=True), columns.values(), strict=True):
        wanted = [
            None if isinstance(entry, float) and np.isnan(entry) else entry for entry in column.tolist()
        ]
        assert list(got) == wanted


def test_pyarrow_reads_it_too() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    publication = published("turnover")
    table = parquet.read_table(io.BytesIO(write_parquet(publication)))
    assert table[publication.response].null_count == publication.is_status("hidden").sum()
    assert table["region"].to_pylist()[:8] == ["Total"] * 7 + ["North"]


def test_the_same_bytes_each_time_and_no_file_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert write_parquet(published("mixed")) == write_parquet(published("mixed"))
    assert not list(tmp_path.iterdir())


def test_no_dataframe_library_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = write_parquet(published("intervals"))
    for library in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, library, None)
    assert write_parquet(published("intervals")) == wanted
