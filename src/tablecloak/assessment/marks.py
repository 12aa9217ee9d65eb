"""Marks: what the statistician says about single cells beforehand, from a frame or a file.

A row has a code for each dimension (empty: its total), a `mark`, and any of the numbers below::

    region,size,mark,weight,lower,upper,sliding,low,high
    North,,forced,,,,,,
    South,small,unsafe,,12.5,12.5,,,

=========================  ==========================================================================
safe                       not sensitive, whatever the rules say; it may be hidden to protect others
unsafe                     sensitive, whatever the rules say
forced                     must be published
hidden                     must be hidden
weight                     what hiding the cell costs
lower, upper, sliding      the protection levels of a sensitive cell
low, high                  a-priori bounds of the cell, known to all attackers
=========================  ==========================================================================

The `.hst` files of τ-ARGUS are read too: a line ``code; code; command; arguments``, where the commands are
s (safe), u (unsafe), p (forced), m or ml (hidden), c or w (weight), pl (one level, or lower and upper) and
ab (low and high). Several lines may speak about one cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Floats, Ints, frozen
from tablecloak.assessment.cell_rows import as_text, cells_of
from tablecloak.errors import InputError
from tablecloak.files import parse_numbers, read_rows, read_text
from tablecloak.frames import columns_of
from tablecloak.model import Table

MARK = "mark"
SAFE, UNSAFE, FORCED, HIDDEN = "safe", "unsafe", "forced", "hidden"
MARKS = (SAFE, UNSAFE, FORCED, HIDDEN)
LEVELS = ("lower", "upper", "sliding")
NUMBERS = ("weight", *LEVELS, "low", "high")
COMMANDS = {"s": SAFE, "u": UNSAFE, "p": FORCED, "m": HIDDEN, "ml": HIDDEN}
"""The commands of a .hst file that mark a cell."""
ARGUMENTS = {"c": ("weight",), "w": ("weight",), "pl": ("lower", "upper"), "ab": ("low", "high")}
"""The commands of a .hst file that give numbers."""
SEPARATORS = (";", ",", "\t", "|", " ")


@dataclass(frozen=True, eq=False)
class Marks:
    """Marks by cell, and numbers that replace computed ones (NaN where none was given). Confidential."""

    safe: Bools
    unsafe: Bools
    forced: Bools
    hidden: Bools
    weight: Floats
    lower: Floats
    upper: Floats
    sliding: Floats
    low: Floats
    high: Floats
    places: Mapping[int, str]
    """The source of each mark, for messages: ``row 3``, ``line 3``."""

    @classmethod
    def of(cls, table: Table, data: Any) -> Marks:
        """Marks from a frame, a mapping of columns, or a file: CSV with a first line of names, or `.hst`."""
        if isinstance(data, str | Path):
            return _from_file(table, Path(data))
        entries = _read_columns(table, columns_of(data), "row", 1)
        return _collected(table, entries, "Marks")

    @property
    def has_level(self) -> Bools:
        """Cells that were given a protection level."""
        given = [~np.isnan(getattr(self, name)) for name in LEVELS]
        return np.asarray(given[0] | given[1] | given[2])

    def __repr__(self) -> str:
        counts = ", ".join(f"{int(getattr(self, name).sum())} {name}" for name in MARKS)
        return f"<confidential Marks: {len(self.places)} cells, {counts}>"


@dataclass(frozen=True)
class _Entries:
    """Entries by row or line: the codes of each, its words and numbers, and its place.

    `again`: whether several of them may speak about one cell.
    """

    codes: Sequence[Sequence[str]]
    marks: Sequence[str]
    numbers: Mapping[str, Floats]
    places: Sequence[str]
    faults: Sequence[str]
    again: bool = False


# ---------------------------------------------------------------------- columns


def _read_columns(table: Table, columns: Mapping[str, NDArray[Any]], where: str, first: int) -> _Entries:
    """The entries in columns; `where` and `first` name the rows."""
    wanted = [dimension.name for dimension in table.dimensions]
    count = _checked_length(columns, wanted)
    texts = {name: [as_text(entry) for entry in column.tolist()] for name, column in columns.items()}
    places = [f"{where} {first + row}" for row in range(count)]
    numbers, wrong = dict[str, Floats](), list[str]()
    for name in NUMBERS:
        written = texts.get(name, [""] * count)
        numbers[name] = parse_numbers([text or "nan" for text in written])
        unread = [row for row, text in enumerate(written) if text and np.isnan(numbers[name][row])]
        wrong += [f"{places[row]}: {name} is not a number" for row in unread]
    codes = list(zip(*(texts[name] for name in wanted), strict=True))
    return _Entries(codes, texts.get(MARK, [""] * count), numbers, places, wrong)


def _checked_length(columns: Mapping[str, NDArray[Any]], wanted: Sequence[str]) -> int:
    """The number of rows; an `InputError` where columns are missing, unknown or of different lengths."""
    faults = [f"there is no column {name!r} of codes" for name in wanted if name not in columns]
    strange = [name for name in columns if name not in (*wanted, MARK, *NUMBERS)]
    faults += [f"unknown column {name!r}" for name in strange]
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        faults.append("the columns have different numbers of rows")
    if faults:
        advice = f"Columns: {', '.join(wanted)} for the codes, then {', '.join((MARK, *NUMBERS))}."
        raise InputError("Marks", faults, advice=advice)
    return lengths.pop() if lengths else 0


# ---------------------------------------------------------------------- files


def _from_file(table: Table, path: Path) -> Marks:
    text, source = read_text(path, "Marks"), f"Marks {path}"
    if path.suffix.lower() == ".hst":
        return _collected(table, _read_commands(table, text, source), source)
    names = {dimension.name for dimension in table.dimensions}
    separator = _separator(text, lambda fields: names <= {field.strip() for field in fields}, source)
    lines = _lines(text, separator or ",", source)
    header = [name.strip() for name in lines[0][1]]
    faults = [
        f"line {line}: {len(row)} fields, the first line has {len(header)}"
        for line, row in lines[1:]
        if len(row) != len(header)
    ]
    faults += [f"column {name!r} is there twice" for name in sorted(set(header)) if header.count(name) > 1]
    if faults:
        raise InputError(source, faults)
    columns = {
        name: np.array([row[i] for _, row in lines[1:]], dtype=object) for i, name in enumerate(header)
    }
    entries = _read_columns(table, columns, "line", 2)
    places = [f"line {line}" for line, _ in lines[1:]]
    return _collected(table, _renamed(entries, places), source)


def _renamed(entries: _Entries, places: Sequence[str]) -> _Entries:
    """Entries with the true numbers of their lines."""
    new = dict(zip(entries.places, places, strict=True))
    faults = [f"{new[place]}:{rest}" for place, _, rest in (f.partition(":") for f in entries.faults)]
    return _Entries(entries.codes, entries.marks, entries.numbers, places, faults)


def _separator(text: str, fits: Callable[[list[str]], bool], source: str) -> str | None:
    """The separator with which the fields of the first line are valid."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    for separator in SEPARATORS:
        if any(fits(row) for _, row in read_rows(first, separator, source)):
            return separator
    return None


def _lines(text: str, separator: str, source: str) -> list[tuple[int, list[str]]]:
    """Line number and fields of each line that is not blank."""
    rows = read_rows(text, separator, source, strict=True)
    if not rows:
        raise InputError(source, ["it is empty"])
    return rows


def _read_commands(table: Table, text: str, source: str) -> _Entries:
    """The entries of a .hst file."""
    depth = len(table.dimensions)
    known = COMMANDS | ARGUMENTS
    separator = _separator(text, lambda fields: len(fields) > depth and _word(fields[depth]) in known, source)
    lines = _lines(text, separator or ";", source)
    if separator is None:
        raise InputError(
            source, [f"line {lines[0][0]}: expected {depth} codes and then one of {', '.join(known)}"]
        )
    codes, marks, places, faults = [], [], [], []
    numbers = {name: np.full(len(lines), np.nan) for name in NUMBERS}
    for row, (line, fields) in enumerate(lines):
        word = _word(fields[depth]) if len(fields) > depth else ""
        given = [field.strip() for field in fields[depth + 1 :] if field.strip()]
        values, fault = _arguments(word, given)
        faults += [f"line {line}: {fault}"] if fault else []
        for name, value in values.items():
            numbers[name][row] = value
        codes.append([field.strip() for field in fields[:depth]] + [""] * (depth - len(fields)))
        marks.append(COMMANDS.get(word, ""))
        places.append(f"line {line}")
    return _Entries(codes, marks, numbers, places, faults, again=True)


def _word(field: str) -> str:
    return field.strip().lower()


def _arguments(word: str, given: Sequence[str]) -> tuple[dict[str, float], str]:
    """The numbers of a command by name, and what is wrong with them."""
    if word in COMMANDS:
        return {}, f"the command {word} takes no numbers" if given else ""
    if word not in ARGUMENTS:
        return {}, f"expected one of {', '.join([*COMMANDS, *ARGUMENTS])} after the codes"
    names = ARGUMENTS[word]
    given = [*given, *given] if word == "pl" and len(given) == 1 else given
    values = parse_numbers(given)
    if len(given) != len(names) or np.isnan(values).any():
        return {}, f"the command {word} needs {' and '.join(names)}, as numbers"
    if word in ("c", "w") and values[0] == 0:
        values = np.ones(1)  # τ-ARGUS takes a cost of 0 for 1
    return dict(zip(names, values.tolist(), strict=True)), ""


# ---------------------------------------------------------------------- cells


def _collected(table: Table, entries: _Entries, source: str) -> Marks:
    """One mark and one number of each kind a cell, or every fault with its row or line."""
    cells, faults = cells_of(table, entries.codes, entries.places)
    faults = [*entries.faults, *faults]
    words = [_word(mark) for mark in entries.marks]
    unknown = [row for row, word in enumerate(words) if word and word not in MARKS]
    faults += [
        f"{entries.places[row]}: the mark {entries.marks[row]!r} is none of {', '.join(MARKS)}"
        for row in unknown
    ]
    faults += _number_faults(entries)
    said = {MARK: np.array([bool(word) for word in words], dtype=bool)}
    said |= {name: ~np.isnan(column) for name, column in entries.numbers.items()}
    faults += _repeats(table, entries, cells, said)
    marks, numbers = np.full(len(table), "", dtype="U8"), {}
    here = np.flatnonzero((cells >= 0) & said[MARK])
    marks[cells[here]] = np.array(words, dtype="U8")[here] if here.size else marks[:0]
    for name, column in entries.numbers.items():
        numbers[name] = np.full(len(table), np.nan)
        here = np.flatnonzero((cells >= 0) & said[name])
        numbers[name][cells[here]] = column[here]
    places = {int(cell): place for cell, place in zip(cells, entries.places, strict=True) if cell >= 0}
    faults += _contradictions(table, marks, numbers, places)
    if faults:
        raise InputError(source, faults, advice="Say everything about a cell once; see docs/rules.md.")
    masks = {name: frozen(marks == name) for name in MARKS}
    return Marks(**masks, **{name: frozen(column) for name, column in numbers.items()}, places=places)


def _number_faults(entries: _Entries) -> Iterator[str]:
    for name in ("weight", *LEVELS):
        column = entries.numbers[name]
        for row in np.flatnonzero(~np.isnan(column) & ~((column >= 0) & (column < np.inf))).tolist():
            yield f"{entries.places[row]}: {name} must be a finite number that is not negative"
    for row in np.flatnonzero(entries.numbers["low"] > entries.numbers["high"]).tolist():
        yield f"{entries.places[row]}: low is more than high"


def _repeats(table: Table, entries: _Entries, cells: Ints, said: Mapping[str, Bools]) -> Iterator[str]:
    """Cells that are listed twice, or in a .hst file with the same kind of entry twice."""
    kinds = said if entries.again else {"": np.ones(cells.size, dtype=bool)}
    for kind, given in kinds.items():
        first: dict[int, str] = {}
        for row in np.flatnonzero(given & (cells >= 0)).tolist():
            cell, place = int(cells[row]), entries.places[row]
            if cell in first:
                what = f"is given a {kind} already" if kind else "is listed already"
                yield f"{place}: cell {table.label(cell)} {what} in {first[cell]}"
            first.setdefault(cell, place)


def _contradictions(
    table: Table, marks: NDArray[np.str_], numbers: Mapping[str, Floats], places: Mapping[int, str]
) -> Iterator[str]:
    """Levels of cells that are marked as not sensitive."""
    level = ~np.isnan([numbers[name] for name in LEVELS]).all(axis=0)
    for cell in np.flatnonzero(level & np.isin(marks, (SAFE, FORCED, HIDDEN))):
        yield f"{places[int(cell)]}: cell {table.label(cell)} is marked {marks[cell]} and has a protection level"
