"""Patterns as CSV files. Confidential: such a file tells sensitive from complementary cells.

A suppression has two columns, one line a cell::

    cell,status          status: published, sensitive, complementary, forced (marked to be hidden)

Other patterns also say what is `shown` for each cell (empty: nothing) and that it lies in `low..high`::

    cell,status,shown,low,high          further statuses: interval, rounded, perturbed

Rounded cells lie within one base = high - shown of what is shown, perturbed ones within reach = high - shown.
A cell is called by its code; where there are several dimensions, by its codes joined with ``|``.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Floats
from tablecloak.errors import InputError, NotApplicable
from tablecloak.files import number_texts, parse_numbers, read_rows, read_text
from tablecloak.model import (
    Intervals,
    Mark,
    Mixed,
    Pattern,
    Perturbation,
    Problem,
    Rounding,
    Suppression,
    Table,
)

PUBLISHED, SENSITIVE, COMPLEMENTARY, FORCED = "published", "sensitive", "complementary", "forced"
INTERVAL, ROUNDED, PERTURBED = "interval", "rounded", "perturbed"
HIDDEN = (SENSITIVE, COMPLEMENTARY, FORCED)
TWO_COLUMNS = ["cell", "status"]
FIVE_COLUMNS = [*TWO_COLUMNS, "shown", "low", "high"]

_Words: TypeAlias = NDArray[np.str_]
_WORD = np.dtype("U16")
_SLACK = 1e-9


def cell_names(table: Table) -> list[str]:
    """What each cell is called in files: its code, or its codes joined with ``|``."""
    columns = [
        [dimension.codes[code] for code in table.codes[:, d].tolist()]
        for d, dimension in enumerate(table.dimensions)
    ]
    names = ["|".join(codes) for codes in zip(*columns, strict=True)]
    if len(set(names)) < len(names):
        faults = [f"{n} cells would be called {name!r}" for name, n in Counter(names).items() if n > 1]
        raise InputError("Names of cells", faults, advice="Do not use | in the codes of a table.")
    return names


# ---------------------------------------------------------------------- writing


def write_pattern(problem: Problem, pattern: Pattern) -> str:
    """The CSV text of a pattern, which `parse_pattern` reads back."""
    words = _statuses(problem, pattern)
    columns: list[Sequence[str]] = [cell_names(problem.table), words.tolist()]
    if not isinstance(pattern, Suppression):
        view = pattern.view(problem)
        shown = ["" if text == "nan" else text for text in number_texts(view.shown)]
        columns += [shown, number_texts(view.low), number_texts(view.high)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIVE_COLUMNS[: len(columns)])
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _statuses(problem: Problem, pattern: Pattern) -> _Words:
    """One status a cell; every cell of a rounding is called rounded (or perturbed), even by nothing."""
    words = np.full(len(problem.table), PUBLISHED, dtype=_WORD)
    match pattern:
        case Suppression():
            _hide(words, problem, pattern.hidden)
        case Intervals():
            words[pattern.low < pattern.high] = INTERVAL
            _hide(words, problem, np.isneginf(pattern.low) & np.isposinf(pattern.high))
        case Rounding():
            words[:] = ROUNDED
        case Perturbation():
            words[:] = PERTURBED
        case Mixed():
            for where, part in pattern.parts:
                words[where] = _statuses(problem, part)[where]
        case _:
            what = f"A pattern of type {type(pattern).__name__} cannot be written as CSV."
            raise NotApplicable(what, needs="one of the patterns of tablecloak.model")
    return words


def _hide(words: _Words, problem: Problem, hidden: Bools) -> None:
    words[hidden] = COMPLEMENTARY
    words[hidden & problem.sensitive] = SENSITIVE
    words[hidden & (problem.marks == Mark.HIDDEN)] = FORCED


# ---------------------------------------------------------------------- reading


def read_pattern(source: str | Path, problem: Problem) -> Pattern:
    """The pattern in a CSV file, for the table of `problem`; every fault of the file is in one `InputError`.

    Every cell must be listed once. Whether the pattern is safe is for the audit to say: a sensitive cell may
    well be read as published. A cell that must be published may not be hidden.
    """
    return parse_pattern(read_text(source, "Pattern file"), problem, source=f"Pattern file {source}")


def parse_pattern(text: str, problem: Problem, *, source: str = "Pattern text") -> Pattern:
    """The pattern in CSV text, as `read_pattern`."""
    faults: list[str] = []
    rows = read_rows(text, ",", source, strict=True)
    if not rows:
        raise InputError(source, ["it is empty"])
    header = [name.strip() for name in rows[0][1]]
    if header not in (TWO_COLUMNS, FIVE_COLUMNS):
        wanted = f"{','.join(TWO_COLUMNS)} or {','.join(FIVE_COLUMNS)}"
        raise InputError(source, [f"line {rows[0][0]}: the first line must be {wanted}"])
    words, texts = _by_cell(rows[1:], header, problem, faults)
    hidden = np.isin(words, HIDDEN)
    if header == TWO_COLUMNS:
        if faults:
            raise InputError(source, faults)
        return Suppression.of(problem.table, hidden)
    shown, low, high = (parse_numbers(column) for column in texts)
    empty = np.array([not column.strip() for column in texts[0]], dtype=bool)
    names = cell_names(problem.table)
    for what, wrong in _number_faults(words, hidden, empty, shown, low, high).items():
        faults += [f"cell {names[cell]}: {what}" for cell in np.flatnonzero(wrong)]
    if faults:
        raise InputError(source, faults)
    return _pattern(problem.table, words, hidden, shown, low, high)


def _by_cell(
    rows: list[tuple[int, list[str]]], header: list[str], problem: Problem, faults: list[str]
) -> tuple[_Words, list[list[str]]]:
    """The status of each cell and its further columns, in the order of the table."""
    names = cell_names(problem.table)
    index = {name: cell for cell, name in enumerate(names)}
    lines: dict[int, int] = {}
    words = [PUBLISHED] * len(names)
    forced = problem.forced.tolist()
    texts = [["nan"] * len(names) for _ in header[2:]]
    allowed = (PUBLISHED, *HIDDEN) if len(header) == 2 else (PUBLISHED, *HIDDEN, INTERVAL, ROUNDED, PERTURBED)
    for line, fields in rows:
        cell = index.get(fields[0], index.get(fields[0].strip()))
        word = fields[1].strip() if len(fields) == len(header) else ""
        if len(fields) != len(header):
            faults.append(f"line {line}: {len(fields)} fields, the first line has {len(header)}")
        elif cell is None:
            faults.append(f"line {line}: there is no cell {fields[0]}")
        elif cell in lines:
            faults.append(f"line {line}: cell {names[cell]} is listed already in line {lines[cell]}")
        elif word not in allowed:
            faults.append(f"line {line}: cell {names[cell]}: the status is none of {', '.join(allowed)}")
        elif forced[cell] and word in (SENSITIVE, COMPLEMENTARY):
            faults.append(f"line {line}: cell {names[cell]} is hidden, but must be published")
        else:
            words[cell] = PUBLISHED if forced[cell] and word == FORCED else word
            for column, text in zip(texts, fields[2:], strict=True):
                column[cell] = text
        if cell is not None:
            lines.setdefault(cell, line)
    faults += [f"cell {name} is missing" for cell, name in enumerate(names) if cell not in lines]
    return np.array(words, dtype=_WORD), texts


def _number_faults(
    words: _Words, hidden: Bools, empty: Bools, shown: Floats, low: Floats, high: Floats
) -> Mapping[str, Bools]:
    """What may be wrong with the numbers of a cell of each status, and where it is."""
    published, interval = words == PUBLISHED, words == INTERVAL
    around = (words == ROUNDED) | (words == PERTURBED)
    with np.errstate(invalid="ignore", over="ignore"):
        reach = high - shown
        lopsided = np.abs((shown - low) - reach) > _SLACK * np.maximum(np.abs(shown), np.abs(reach))
    return {
        "shown, low and high of a published cell must be the same number": published
        & ~(np.isfinite(shown) & (low == shown) & (high == shown)),
        "a hidden cell has nothing shown, low -inf and high inf": hidden
        & ~(empty & np.isneginf(low) & np.isposinf(high)),
        "an interval has nothing shown and two numbers, low not above high": interval
        & ~(empty & (low <= high)),
        "shown must be the middle of low and high, all of them finite": around
        & ~(np.isfinite(shown) & np.isfinite(reach) & (reach >= 0) & ~lopsided),
    }


def _pattern(table: Table, words: _Words, hidden: Bools, shown: Floats, low: Floats, high: Floats) -> Pattern:
    """The one pattern all cells have, or a mixture."""
    rounded, perturbed = words == ROUNDED, words == PERTURBED
    if rounded.all():
        return Rounding.of(shown, high - shown)
    if perturbed.all():
        return Perturbation.of(shown, high - shown)
    if not (rounded | perturbed).any():
        return Intervals.of(low, high)
    reach = np.where(rounded | perturbed, high - shown, 0.0)
    parts: list[tuple[Bools, Pattern]] = [
        (hidden, Suppression.of(table, hidden)),
        ((words == INTERVAL) | (words == PUBLISHED), Intervals.of(low, high)),
        (rounded, Rounding.of(shown, reach)),
        (perturbed, Perturbation.of(shown, reach)),
    ]
    return Mixed.of(table, [(where, part) for where, part in parts if where.any()])
