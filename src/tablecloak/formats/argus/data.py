"""Data of τ-ARGUS: microdata in fixed and free format, tables in free format, as columns of texts and numbers."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import InputError, counted
from tablecloak.files import parse_numbers, read_text
from tablecloak.formats.argus.metadata import ArgusMetadata, ArgusVariable

UNKNOWN = ("", "-")
"""Numbers of a table that are not known: the cell is empty."""


@dataclass(frozen=True)
class ArgusRecords:
    """Records as columns of texts without blanks around them, and the place of each record. Confidential."""

    metadata: ArgusMetadata
    columns: Mapping[str, NDArray[np.object_]]
    files: tuple[Path, ...]
    file_of: Ints
    lines: Ints

    def __len__(self) -> int:
        """Records."""
        return self.lines.size

    def __repr__(self) -> str:
        return f"<confidential ArgusRecords: {counted(len(self), 'record')}>"

    def place(self, record: int) -> str:
        """The file (where there are several) and the line of a record."""
        name = f"{self.files[self.file_of[record]]}, " if len(self.files) > 1 else ""
        return f"{name}line {self.lines[record]}"

    @property
    def source(self) -> str:
        """The data in words."""
        return f"Data {', '.join(map(str, self.files))}"

    def numbers(self, variable: ArgusVariable) -> Floats:
        """A column as numbers; NaN where the number is not known; a point and a comma are both taken."""
        texts = self.columns[variable.name].tolist()
        if any("," in text for text in texts):
            texts = [text.replace(",", ".") for text in texts]
        return parse_numbers(["nan" if text in UNKNOWN else text for text in texts])

    def known_numbers(self, variable: ArgusVariable) -> tuple[Floats, list[str]]:
        """A column as numbers, and faults: what is none, or not known."""
        numbers = self.numbers(variable)
        wrong = np.flatnonzero(~np.isfinite(numbers))
        texts = self.columns[variable.name]
        return numbers, [
            f"{self.place(record)}: {variable.name!r} is {'empty' if texts[record] in UNKNOWN else 'no number'}"
            for record in wrong.tolist()
        ]

    def unreadable(self, variable: ArgusVariable) -> Bools:
        """Records whose text is there, and is no number."""
        texts = self.columns[variable.name]
        there = np.array([text not in UNKNOWN for text in texts.tolist()], dtype=bool)
        return np.asarray(there & ~np.isfinite(self.numbers(variable)))


def read_records(
    paths: Sequence[Path], metadata: ArgusMetadata, wanted: Iterable[ArgusVariable]
) -> ArgusRecords:
    """The columns of these variables; one `InputError` lists all lines that do not fit the metadata."""
    needed = list(dict.fromkeys(wanted))
    parts = list[list[str]]()
    faults, lines, file_of = list[str](), list[int](), list[int]()
    for number, path in enumerate(paths):
        text = read_text(path, "Data")
        rows = (
            _fixed(text, needed)
            if metadata.separator is None
            else _free(text, metadata, needed, faults, path)
        )
        for line, row in rows:
            lines.append(line)
            file_of.append(number)
            parts.append(row)
    if not parts and not faults:
        faults.append("there are no records")
    source = f"Data {', '.join(map(str, paths))}"
    if faults:
        raise InputError(source, faults, advice=f"The metadata {metadata.path} say what stands in a line.")
    columns = {
        variable.name: np.array([row[i] for row in parts], dtype=object) for i, variable in enumerate(needed)
    }
    return ArgusRecords(metadata, columns, tuple(paths), np.array(file_of), np.array(lines))


def _fixed(text: str, needed: Sequence[ArgusVariable]) -> Iterable[tuple[int, list[str]]]:
    """Lines cut at fixed positions."""
    places = [((each.start or 0), (each.start or 0) + (each.width or 0)) for each in needed]
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, [line[start:stop].strip() for start, stop in places]


def _free(
    text: str, metadata: ArgusMetadata, needed: Sequence[ArgusVariable], faults: list[str], path: Path
) -> Iterable[tuple[int, list[str]]]:
    """Lines split at the separator; quotes keep it."""
    at = [metadata.variables.index(each) for each in needed]
    count, separator = len(metadata.variables), metadata.separator or ","
    # quotes only count where a field begins with one; blanks before it are dropped
    reader = csv.reader(text.split("\n"), delimiter=separator, skipinitialspace=separator != " ")
    for row in reader:
        if not any(field.strip() for field in row):
            continue
        if len(row) < count or any(field.strip() for field in row[count:]):
            faults.append(
                f"{path}, line {reader.line_num}: {counted(len(row), 'field')}, separated by {separator!r}; "
                f"the metadata have {counted(count, 'variable')}"
            )
            continue
        yield reader.line_num, [row[i].strip() for i in at]
