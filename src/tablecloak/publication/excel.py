"""Publications as Excel workbooks: one sheet to read and print, and nothing else in the file. Public."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import numpy as np

from tablecloak.arrays import Ints
from tablecloak.errors import InputError, NotApplicable
from tablecloak.publication.layout import Grid, grid
from tablecloak.publication.publication import HIDDEN, NOTHING, Publication

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
SHEET = "Table"
ALWAYS = datetime(2000, 1, 1, tzinfo=UTC)
"""When every file says it was made: the same table gives the same bytes."""

_INK, _RULE, _SHADE, _HEAD = "#1F2933", "#9AA5B1", "#E4E7EB", "#EEF2F6"
_WIDEST = 48


def write_excel(publication: Publication) -> bytes:
    """The bytes of an .xlsx file, always the same for the same publication.

    A row for each code of the first dimension (for each combination of codes of all dimensions but the last),
    indented by level; the last dimension across. Hidden cells carry the symbol on grey. Codes, labels and the
    title are text, whatever they look like: nothing in the sheet is a formula.
    """
    try:
        library = import_module("xlsxwriter")
    except ImportError:
        needs = "XlsxWriter: pip install tablecloak[excel]"
        raise NotApplicable(
            "Excel files cannot be written.", needs=needs, instead=(".csv", ".html")
        ) from None
    laid = grid(publication)
    _check_size(laid, len(publication.dimensions))
    file = io.BytesIO()
    with library.Workbook(file, {"in_memory": True, "strings_to_formulas": False}) as workbook:
        workbook.set_properties({"created": ALWAYS})
        _Sheet(workbook, publication, laid).write()
    return file.getvalue()


def _check_size(laid: Grid, dimensions: int) -> None:
    rows, columns = laid.cells.shape
    faults = []
    if rows > MOST_ROWS - 100:
        faults.append(f"{rows} rows do not fit on a sheet of {MOST_ROWS}")
    if columns > MOST_COLUMNS - dimensions:
        faults.append(f"{columns} columns do not fit on a sheet of {MOST_COLUMNS}")
    if faults:
        raise InputError("Excel", faults, advice="Write .csv or .parquet, or a part of the publication.")


class _Sheet:
    """One sheet being written."""

    def __init__(self, workbook: Any, publication: Publication, laid: Grid) -> None:
        self.workbook, self.publication, self.laid = workbook, publication, laid
        self.sheet = workbook.add_worksheet(SHEET)
        several = len(publication.dimensions) > 1
        self.down = publication.dimensions[:-1] if several else publication.dimensions
        self.across = publication.dimensions[-1] if several else None
        self.texts = publication.texts()
        self.top = 3 if publication.note else 2
        self.formats: dict[tuple[Any, ...], Any] = {}

    def write(self) -> None:
        """Title, note, heads, rows, legend; then widths and panes."""
        sheet, publication = self.sheet, self.publication
        sheet.hide_gridlines(2)
        sheet.write_string(0, 0, publication.heading, self.format(bold=True, font_size=14))
        if publication.note:
            sheet.write_string(1, 0, publication.note, self.format(italic=True))
        first = self._heads()
        for row, cells in enumerate(self.laid.cells, start=first):
            self._row(row, row - first, cells)
        self._legend(first + len(self.laid.cells) + 1)
        self._widths()
        sheet.freeze_panes(first, len(self.down))
        sheet.set_landscape()
        sheet.set_paper(9)
        sheet.fit_to_pages(1, 0)

    def format(self, **properties: Any) -> Any:
        """A cell format; the same properties give the same one."""
        key = tuple(sorted(properties.items()))
        if key not in self.formats:
            base = {"font_name": "Calibri", "font_size": 11, "font_color": _INK}
            self.formats[key] = self.workbook.add_format(base | properties)
        return self.formats[key]

    def _heads(self) -> int:
        """The names of dimensions and the codes across; the number of the first row below them."""
        head: dict[str, Any] = {"bold": True, "bg_color": _HEAD, "bottom": 1, "border_color": _RULE}
        row, left = self.top, len(self.down)
        if self.across is not None:
            name = f"{self.across.name} ({self.publication.response})"
            self.sheet.write_string(row, left, name, self.format(italic=True))
            row += 1
        for column, dimension in enumerate(self.down):
            self.sheet.write_string(row, column, dimension.name, self.format(**head, valign="bottom"))
        texts = self.across.texts if self.across is not None else (self.publication.response,)
        for column, text in enumerate(texts, start=left):
            form = self.format(**head, align="right", valign="bottom", text_wrap=True)
            self.sheet.write_string(row, column, text, form)
        return row + 1

    def _row(self, row: int, place: int, cells: Ints) -> None:
        codes = self.laid.rows[place].tolist()
        strong = all(dimension.depth[code] == 0 for dimension, code in zip(self.down, codes, strict=True))
        strong = strong and any(dimension.has_levels for dimension in self.down)
        for column, (dimension, code) in enumerate(zip(self.down, codes, strict=True)):
            form = self.format(bold=strong, indent=min(dimension.depth[code], 15))
            self.sheet.write_string(row, column, dimension.texts[code], form)
        publication, left = self.publication, len(self.down)
        number = "#,##0" + ("." + "0" * publication.decimals if publication.decimals else "")
        for column, cell in enumerate(cells.tolist(), start=left):
            if cell < 0:
                self.sheet.write_string(row, column, NOTHING, self.format(align="right", font_color=_RULE))
            elif self._is_number(cell):
                form = self.format(bold=strong, num_format=number)
                self.sheet.write_number(row, column, float(publication.shown[cell]), form)
            else:
                shade = {"bg_color": _SHADE} if publication.status[cell] == HIDDEN else {}
                form = self.format(bold=strong, align="right", **shade)
                self.sheet.write_string(row, column, self.texts[cell], form)

    def _is_number(self, cell: int) -> bool:
        return not self.publication.own_reach[cell] and not np.isnan(self.publication.shown[cell])

    def _legend(self, row: int) -> None:
        for line, (mark, meaning) in enumerate(self.publication.legend(), start=row):
            text = f"{mark} = {meaning}" if mark else meaning
            self.sheet.write_string(line, 0, text, self.format(font_size=9))

    def _widths(self) -> None:
        for column, dimension in enumerate(self.down):
            lengths = [
                2 * depth + len(text) for depth, text in zip(dimension.depth, dimension.texts, strict=True)
            ]
            self.sheet.set_column(column, column, min(max([8, len(dimension.name), *lengths]) + 2, _WIDEST))
        left = len(self.down)
        widest = max((len(text) + len(text) // 3 for text in self.texts), default=0)
        texts = self.across.texts if self.across is not None else (self.publication.response,)
        word = max(len(word) for text in texts for word in (text.split() or [text]))
        width = min(max(9, widest, word) + 2, _WIDEST)
        self.sheet.set_column(left, left + len(texts) - 1, width)
