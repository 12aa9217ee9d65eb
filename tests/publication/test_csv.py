"""Publications as CSV."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from fixtures import from_leaves
from publications import CASES, published, truth
from tablecloak.model import Dimension, Problem
from tablecloak.protection import protect
from tablecloak.publication import Publication, publish
from tablecloak.publication.csv import write_csv


def rows_of(publication: Publication) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(write_csv(publication).removeprefix("\ufeff"))))


def test_the_whole_text() -> None:
    assert write_csv(published("one dimension", symbol="c")) == (
        "r,value,status\nTotal,66,published\nr1,c,hidden\nr2,9,published\nr3,20,published\nr4,31,published\n"
        "r5,c,hidden\n"
    )


@pytest.mark.parametrize("name", CASES)
def test_it_reads_back_as_what_is_stated(name: str) -> None:
    publication = published(name, symbol="c")
    rows, cells = rows_of(publication), truth(publication)
    assert len(rows) == len(publication)
    for row in rows:
        cell = cells[tuple(row[dimension.name] for dimension in publication.dimensions)]
        assert row["status"] == publication.status[cell]
        text = {"hidden": "c", "interval": ""}.get(row["status"])
        if text is None:
            assert float(row[publication.response]) == publication.shown[cell]
        else:
            assert row[publication.response] == text
        if row["status"] == "interval":
            ends = float(row["low"] or "-inf"), float(row["high"] or "inf")
            assert ends == (publication.low[cell], publication.high[cell])
        else:
            assert row.get("low", "") == row.get("high", "") == ""
        assert float(row.get("within") or 0) == publication.within[cell]


def test_codes_stay_exactly_as_they_are() -> None:
    codes = ["=1+1", "-a", "@b", 'say "no"', "a,b", " c ", "Øst"]
    table = from_leaves([Dimension.flat("r", codes)], np.arange(1.0, 8.0))
    problem = Problem.of(table, [])
    publication = publish(problem, protect(problem), labels={"r": {"-a": "minus\na"}})
    text = write_csv(publication)
    assert text.startswith("\ufeff"), "text beyond ASCII"
    assert [row["r"] for row in rows_of(publication)] == ["Total", *codes]
    assert [row["r_label"] for row in rows_of(publication)][2] == "minus\na"
