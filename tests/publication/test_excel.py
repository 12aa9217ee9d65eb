"""Publications as Excel workbooks, read back from the parts of the zip file."""

from __future__ import annotations

import io
import re
import sys
import time
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest

from fixtures import from_leaves
from publications import CASES, published
from tablecloak.errors import InputError, NotApplicable
from tablecloak.model import Dimension, Problem
from tablecloak.protection import protect
from tablecloak.publication import Publication, excel, publish
from tablecloak.publication.excel import write_excel

pytest.importorskip("xlsxwriter")
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
PARTS = {
    "[Content_Types].xml", "_rels/.rels", "docProps/app.xml", "docProps/core.xml", "xl/_rels/workbook.xml.rels",
    "xl/sharedStrings.xml", "xl/styles.xml", "xl/theme/theme1.xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml",
}  # fmt: skip


def unzipped(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sheet_of(data: bytes) -> dict[tuple[int, int], str | float]:
    """What stands in each cell of the sheet, by (row, column) from 0."""
    parts = unzipped(data)
    strings = [
        "".join(text.text or "" for text in entry.iter(f"{MAIN}t"))
        for entry in ElementTree.fromstring(parts["xl/sharedStrings.xml"])
    ]
    found: dict[tuple[int, int], str | float] = {}
    for cell in ElementTree.fromstring(parts["xl/worksheets/sheet1.xml"]).iter(f"{MAIN}c"):
        assert cell.find(f"{MAIN}f") is None, "no formulas"
        text = cell.findtext(f"{MAIN}v")
        if text is None:
            continue
        letters, row = re.fullmatch(r"([A-Z]+)(\d+)", cell.attrib["r"]).groups()
        column = 0
        for letter in letters:
            column = 26 * column + ord(letter) - ord("A") + 1
        found[int(row) - 1, column - 1] = strings[int(text)] if cell.get("t") == "s" else float(text)
    return found


@pytest.mark.parametrize("name", CASES)
def test_every_cell_stands_in_its_row_and_column(name: str) -> None:
    publication = published(name, note="A note")
    sheet, texts = sheet_of(write_excel(publication)), publication.texts()
    several = len(publication.dimensions) > 1
    down = publication.dimensions[:-1] if several else publication.dimensions
    top = 4 if several else 3
    assert sheet[0, 0] == publication.heading
    assert sheet[1, 0] == "A note"
    assert [sheet[top, i] for i in range(len(down))] == [dimension.name for dimension in down]
    row, before, seen = top, None, 0
    for cell, codes in enumerate(publication.codes.tolist()):
        side = codes[:-1] if several else codes
        row, before = (row, before) if side == before else (row + 1, side)
        column = len(down) + (codes[-1] if several else 0)
        assert [sheet[row, i] for i in range(len(down))] == [
            d.texts[c] for d, c in zip(down, side, strict=True)
        ]
        assert sheet[top, column] == (
            publication.dimensions[-1].texts[codes[-1]] if several else publication.response
        )
        got = sheet[row, column]
        assert got == (publication.shown[cell] if isinstance(got, float) else texts[cell])
        assert isinstance(got, float) == bool(re.fullmatch(r"-?[\d.]+", texts[cell]))
        seen += 1
    assert seen == len(publication)
    legend = [f"{mark} = {meaning}" if mark else meaning for mark, meaning in publication.legend()]
    assert [sheet[row + 2 + line, 0] for line in range(len(legend))] == legend


def test_nothing_else_is_in_the_file() -> None:
    parts = unzipped(write_excel(published("turnover", title="T", note="N")))
    assert set(parts) == PARTS, "no comments, no drawings, no second sheet, no calculation chain"
    workbook = ElementTree.fromstring(parts["xl/workbook.xml"])
    (sheet,) = workbook.iter(f"{MAIN}sheet")
    assert (sheet.attrib["name"], sheet.get("state")) == ("Table", None), "one sheet, visible"
    assert workbook.find(f"{MAIN}definedNames") is None
    assert b"hidden" not in parts["xl/worksheets/sheet1.xml"], "no hidden rows or columns"
    core = parts["docProps/core.xml"].decode()
    assert "<dc:creator></dc:creator><cp:lastModifiedBy></cp:lastModifiedBy>" in core
    assert set(re.findall(r"\d{4}-\d\d-\d\dT[\d:]+Z", core)) == {"2000-01-01T00:00:00Z"}


def test_the_same_bytes_at_another_time() -> None:
    one = write_excel(published("mixed"))
    time.sleep(2.1)  # zip files tell even seconds only
    assert write_excel(published("mixed")) == one


def test_hidden_cells_are_grey_and_numbers_have_their_decimals() -> None:
    data = write_excel(published("decimals"))
    styles = unzipped(data)["xl/styles.xml"].decode()
    assert "FFE4E7EB" in styles
    decimals = published("decimals").decimals
    assert f'formatCode="#,##0.{"0" * decimals}"' in styles
    assert "ySplit" in unzipped(data)["xl/worksheets/sheet1.xml"].decode()


def test_codes_that_look_like_formulas_are_text() -> None:
    codes = ["=1+1", "+3", "-2", "@sum", "http://example.org", "007"]
    table = from_leaves([Dimension.flat("r", codes, "=total")], np.arange(1.0, 7.0))
    problem = Problem.of(table, [])
    data = write_excel(publish(problem, protect(problem), title="=HYPERLINK(1)", note="{=x}"))
    assert {sheet_of(data)[row, 0] for row in range(4, 11)} == {"=total", *codes}
    assert set(unzipped(data)) == PARTS, "no links either"


def test_what_does_not_fit_on_a_sheet_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excel, "MOST_ROWS", 105)
    monkeypatch.setattr(excel, "MOST_COLUMNS", 7)
    with pytest.raises(InputError) as caught:
        write_excel(published("turnover"))
    assert len(caught.value.faults) == 2


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(NotApplicable, match=r"pip install tablecloak\[excel\]"):
        write_excel(published("turnover"))


def test_widths_follow_what_is_printed() -> None:
    def widths(publication: Publication) -> list[str]:
        return re.findall(
            r'width="([\d.]+)"', unzipped(write_excel(publication))["xl/worksheets/sheet1.xml"].decode()
        )

    short, long = published("turnover"), published("turnover", symbol="confidential, ask us for it")
    assert widths(short)[0] == widths(long)[0]
    assert float(widths(short)[1]) < float(widths(long)[1])
