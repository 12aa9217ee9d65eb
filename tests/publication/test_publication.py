"""Publications as columns, frames, parts and files."""

from __future__ import annotations

import os
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest

from fixtures import from_leaves
from publications import CASES, SUFFIXES, published, truth
from tablecloak.errors import InputError
from tablecloak.model import Dimension, Problem
from tablecloak.protection import protect
from tablecloak.publication import Publication, publish
from tablecloak.publication.layout import grid, sections


def test_it_is_frozen_and_says_nothing_secret() -> None:
    publication = published("turnover")
    with pytest.raises(FrozenInstanceError):
        publication.title = "other"
    with pytest.raises(ValueError, match="read-only"):
        publication.shown[0] = 1.0
    text = repr(publication)
    assert text.startswith("<Publication: region(12) x industry(7), 84 cells: ")
    assert "confidential" not in text


def test_columns_follow_what_there_is_to_say() -> None:
    assert list(published("turnover").columns()) == ["region", "industry", "turnover", "status"]
    assert list(published("intervals").columns())[3:] == ["value", "status", "low", "high"]
    assert list(published("rounding").columns())[2:] == ["value", "status", "within"]
    labelled = published("two hierarchies", labels={"c": {"c1": "First"}})
    assert list(labelled.columns()) == ["r", "c", "c_label", "value", "status"]
    assert set(labelled.columns()["c_label"].tolist()) == {"", "First"}


def test_names_that_are_taken_get_an_underscore() -> None:
    dimensions = [Dimension.flat(name, ["a", "b"]) for name in ("status", "low")]
    table = replace(from_leaves(dimensions, np.arange(1.0, 5.0).reshape(2, 2)), response="status")
    problem = Problem.of(table, [])
    publication = publish(problem, protect(problem))
    assert list(publication.columns()) == ["status", "low", "status_", "status__"]
    assert publication.columns()[publication.response_column].dtype == float


def test_texts_of_all_kinds() -> None:
    publication = published("intervals")
    cell = int(np.flatnonzero(publication.is_status("interval"))[0])
    low, high = publication.low[cell], publication.high[cell]
    assert publication.texts()[cell] == f"{low:.1f} to {high:.1f}"
    texts = published("one-sided intervals").texts()
    assert any(text.startswith("at least ") for text in texts)
    assert any(text.startswith("at most ") for text in texts)
    assert all("±" not in text for text in published("rounding").texts())
    assert any(text.endswith(" ± 40") for text in published("perturbation").texts())
    assert published("turnover").texts(",")[0] == "356,365"
    assert "x" in published("turnover").texts()


def test_the_legend_explains_every_mark_and_no_other() -> None:
    assert [mark for mark, _ in published("turnover").legend()] == ["x"]
    assert [mark for mark, _ in published("gaps", symbol="c").legend()] == ["c", "–"]
    assert published("rounding").legend() == [
        ("", "Rounded numbers: each value lies within 25 of the number shown.")
    ]
    assert [mark for mark, _ in published("mixed").legend()] == ["x", "a to b", "a ± b"]
    assert published("mixed").legend()[2][1] == "rounded or perturbed: the value lies within b of a"
    assert "exactly zero" in dict(published("gaps").legend())["–"]
    assert "no such cell" in dict(published("linked").legend())["–"]


def test_headings() -> None:
    assert published("turnover").heading == "Turnover by region and industry"
    assert published("turnover", title="Sales").heading == "Sales"
    assert published("one dimension").heading == "Value by r"
    assert published("three way").heading == "Value by r, c and s"


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("name", ["turnover", "intervals", "rounding"])
def test_frames_of_the_kind_that_came_in(kind: str, name: str) -> None:
    library = pytest.importorskip(kind)
    publication = replace(published(name), frame_kind=kind)
    frame = publication.to_frame()
    assert isinstance(frame, library.Table if kind == "pyarrow" else library.DataFrame)
    column = frame[publication.response]
    values = column.to_pylist() if kind == "pyarrow" else column.to_list()
    gaps = [value is None or value != value for value in values]
    assert gaps == np.isnan(publication.shown).tolist()
    if kind != "pandas":
        assert not any(value is not None and value != value for value in values), "a gap is null, not NaN"


def test_plain_columns_where_no_frame_came_in() -> None:
    columns = published("turnover").to_frame()
    assert isinstance(columns, dict)
    assert np.isnan(columns["turnover"][columns["status"] == "hidden"]).all()


# ---------------------------------------------------------------------- layout


@pytest.mark.parametrize("name", CASES)
def test_every_cell_has_one_place_in_a_grid_and_in_a_section(name: str) -> None:
    publication = published(name)
    laid = grid(publication)
    assert sorted(laid.cells[laid.cells >= 0].tolist()) == list(range(len(publication)))
    placed = []
    for key, cells in sections(publication):
        part = grid(publication, cells)
        assert (publication.codes[cells, 1:-1] == list(key)).all()
        placed += part.cells[part.cells >= 0].tolist()
        for row, places in zip(part.rows, part.cells, strict=True):
            for column, cell in enumerate(places):
                assert cell < 0 or publication.codes[cell, 0] == row[0]
                assert cell < 0 or len(publication.dimensions) == 1 or publication.codes[cell, -1] == column
    assert sorted(placed) == list(range(len(publication)))


# ---------------------------------------------------------------------- parts


def test_the_tables_of_a_link() -> None:
    whole = published("linked")
    part = whole.part(["c", "a"])
    assert [dimension.name for dimension in part.dimensions] == ["c", "a"]
    assert len(part) == 16
    cells, known = truth(part), truth(whole)
    for (c, a), cell in cells.items():
        other = known[a, "Total", c]
        assert part.status[cell] == whole.status[other]
        assert np.array_equal(part.shown[cell], whole.shown[other], equal_nan=True)
    assert part.codes.tolist() == sorted(part.codes.tolist())


def test_one_of_several_responses() -> None:
    part = published("responses").part(["r", "c"], {"response": "costs"})
    assert part.response == "costs"
    assert len(part) == 12
    assert part.heading == "Costs by r and c"


def test_parts_that_there_are_not() -> None:
    with pytest.raises(InputError) as caught:
        published("linked").part(["a", "z"], {"a": "a1", "b": "zz"})
    assert list(caught.value.faults) == [
        "there is no dimension 'z'",
        "dimension 'a' cannot be kept and fixed",
        "dimension 'b' has no code 'zz'",
    ]
    with pytest.raises(InputError, match="no cell is left"):
        published("linked").part(["a"], {"b": "b1", "c": "c1"})


# ---------------------------------------------------------------------- files


def test_the_suffix_names_the_format(tmp_path: Path) -> None:
    publication = published("turnover")
    starts = {
        ".csv": b"region,",
        ".parquet": b"PAR1",
        ".xlsx": b"PK",
        ".html": b"<!DOCTYPE",
        ".sdmx.csv": b"STRUCTURE,",
    }
    for suffix in SUFFIXES:
        path = publication.write(tmp_path / f"Table{suffix.upper()}")
        assert path.read_bytes().startswith(starts[suffix])
        assert publication.write(str(path)) == path
    assert len(list(tmp_path.iterdir())) == len(SUFFIXES), "nothing is left beside them"


@pytest.mark.parametrize("name", ["table", "table.txt", "table.sdmx", "csv"])
def test_other_names_are_refused_with_those_there_are(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        published("turnover").write(tmp_path / name)
    assert ".csv, .html, .parquet, .sdmx.csv, .xlsx" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        published("turnover").write(tmp_path / "nowhere" / "table.csv")
    assert not os.listdir(tmp_path)  # noqa: PTH208


def test_a_publication_is_the_same_after_a_copy() -> None:
    one = published("mixed")
    assert isinstance(one, Publication)
    assert replace(one).render("a.html") == one.render("a.html")
