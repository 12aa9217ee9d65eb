"""The JJ format: a table as cells and equations, the interchange format of cell suppression programs.

::

    0
    <number of cells>
    <id> <value> <weight> <status> <low> <high> <lower> <upper> <sliding>       one line a cell
    <number of equations>
    <rhs> <number of terms> : <id> (<coefficient>) <id> (<coefficient>) ...     may run over several lines

Status ``u`` is sensitive, ``s`` free, ``z`` must be published, ``m`` must be hidden. `low..high` is what
everybody knows beforehand; a bound of 1e30 or more means none. Levels count for sensitive cells only.
Confidential: such a file holds true values. Messages name lines, fields and ids, never a number of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import InputError, NotApplicable
from tablecloak.files import number_texts, parse_numbers, read_text
from tablecloak.model import Levels, Mark, Problem, Table

INFINITE = 1e30
"""Bounds at least this large are no bounds; written so because other programs cannot read ``inf``."""

STATUS = {Mark.SENSITIVE: "u", Mark.FREE: "s", Mark.FORCED: "z", Mark.HIDDEN: "m"}
FIELDS = ("id", "value", "weight", "status", "low", "high", "lower level", "upper level", "sliding level")
NUMBERS = tuple(name for name in FIELDS if name not in ("id", "status"))

ADVICE = "Format: docs/command-line.md#jj-files. Numbers have a decimal point and no separators."

_Line: TypeAlias = tuple[int, str]  # line number, text


@dataclass(frozen=True, eq=False)
class JJInstance:
    """What a JJ file says, and what in it was passed over. Confidential."""

    problem: Problem
    warnings: tuple[str, ...]


# ---------------------------------------------------------------------- reading


def read_jj(source: str | Path, *, widen: bool = False) -> JJInstance:
    """The problem in a JJ file; every fault of the file is in one `InputError`, with its line.

    `widen=True` widens bounds that are narrower than a protection level instead of refusing them.
    """
    return parse_jj(read_text(source, "JJ file"), widen=widen, source=f"JJ file {source}")


def parse_jj(text: str, *, widen: bool = False, source: str = "JJ text") -> JJInstance:
    """The problem in the text of a JJ file, as `read_jj`."""
    faults = _Faults()
    cell_lines, equation_lines = _layout(_split(text), faults)
    cells = _read_cells(cell_lines, faults)
    equations = _read_equations(equation_lines, cells.known, faults)
    if faults.found:
        raise InputError(source, faults.listed(), advice=ADVICE)
    table = _table(cells, equations, source)
    sensitive = cells.marked(Mark.SENSITIVE)
    levels = (np.where(sensitive, level, 0.0) for level in cells.levels)
    try:
        problem = Problem.of(
            table,
            sensitive,
            Levels.of(len(table), *levels),
            weights=cells.numbers["weight"],
            forced=cells.marked(Mark.FORCED),
            hidden=cells.marked(Mark.HIDDEN),
            known=(cells.numbers["low"], cells.numbers["high"]),
            widen=widen,
        )
    except InputError as error:
        advice = "Bounds narrower than a level: widen=True, or --widen on the command line."
        raise InputError(source, error.faults, advice=advice, confidential=error.confidential) from None
    return JJInstance(problem, tuple(_warnings(cells, equations)))


class _Faults:
    """What is wrong, line by line."""

    def __init__(self) -> None:
        self.found: list[tuple[int, str]] = []

    def add(self, line: int, what: str) -> None:
        self.found.append((line, what))

    def listed(self) -> list[str]:
        return [f"line {line}: {what}" for line, what in sorted(self.found)]


@dataclass(frozen=True, eq=False)
class _Cells:
    """The lines of cells in columns."""

    lines: Ints
    ids: Sequence[str]
    status: NDArray[np.str_]
    numbers: Mapping[str, Floats]
    known: Mapping[str, int]
    """Position of each id, also of those whose line is faulty."""

    def marked(self, mark: Mark) -> Bools:
        return np.asarray(self.status == STATUS[mark])

    @property
    def levels(self) -> list[Floats]:
        return [self.numbers[name] for name in NUMBERS[-3:]]


@dataclass(frozen=True, eq=False)
class _Equations:
    """The equations as the parts of a sparse matrix, and the line of each."""

    lines: list[int] = field(default_factory=list)
    rhs: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    cells: list[int] = field(default_factory=list)
    coefficients: list[float] = field(default_factory=list)

    def matrix(self, cells: int) -> csr_array:
        starts = np.concatenate([[0], np.cumsum(self.sizes, dtype=np.int64)])
        parts = (np.array(self.coefficients, dtype=np.float64), np.array(self.cells, dtype=np.int64), starts)
        return csr_array(parts, shape=(len(self.sizes), cells))


def _table(cells: _Cells, equations: _Equations, source: str) -> Table:
    """The table; equations that do not add up are listed with their lines."""
    values, matrix = cells.numbers["value"], equations.matrix(len(cells.ids))
    try:
        return Table.from_equations(values, matrix, np.array(equations.rhs), names=cells.ids)
    except InputError as error:
        lines = [f"line {equations.lines[row]}: " for row in error.confidential.get("equations", ())]
        faults = [where + fault for where, fault in zip_longest(lines, error.faults, fillvalue="")]
        what = f"{source}: {error.what}"
        raise InputError(what, faults, advice=error.advice, confidential=error.confidential) from None


def _warnings(cells: _Cells, equations: _Equations) -> Iterable[str]:
    ignored = cells.lines[np.any(cells.levels, axis=0) & ~cells.marked(Mark.SENSITIVE)]
    if ignored.size:
        yield f"protection levels of cells that are not sensitive are ignored: {_places(ignored)}"
    rows = np.repeat(np.arange(len(equations.sizes)), equations.sizes)
    pairs = rows * len(cells.ids) + np.array(equations.cells, dtype=np.int64)
    keys, counts = np.unique(pairs, return_counts=True)
    twice = np.unique(keys[counts > 1] // len(cells.ids))
    if twice.size:
        where = np.array(equations.lines, dtype=np.int64)[twice]
        yield f"equations that name a cell more than once, coefficients added up: {_places(where)}"


def _places(lines: Ints, shown: int = 5) -> str:
    more = f" and {lines.size - shown} more" if lines.size > shown else ""
    return f"{'line' if lines.size == 1 else 'lines'} {', '.join(map(str, lines[:shown].tolist()))}{more}"


def _split(text: str) -> list[_Line]:
    """The lines that are not blank, with ``( ) :`` set off as fields of their own."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    for mark in "():":
        text = text.replace(mark, f" {mark} ")
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line and not line.isspace()]


def _layout(lines: list[_Line], faults: _Faults) -> tuple[list[_Line], list[_Line]]:
    """The lines of cells and the lines of equations."""
    if len(lines) < 2:
        faults.add(lines[-1][0] if lines else 1, "the file ends before the number of cells")
        return [], []
    if lines[0][1].split() != ["0"]:
        faults.add(lines[0][0], "the first line of a JJ file is 0")
    cells = _count(lines[1], "the number of cells", faults)
    end = _end_of_cells(lines, cells)
    if cells is not None and cells != end - 2:
        faults.add(lines[1][0], f"{cells} cells announced, but {end - 2} lines of cells follow")
    if end == len(lines):
        faults.add(lines[-1][0], "the file ends before the number of equations")
        return lines[2:], []
    if not _is_single(lines[end]):
        faults.add(lines[end][0], "the number of equations is missing before this line")
        return lines[2:end], lines[end:]
    equations = _count(lines[end], "the number of equations", faults)
    found = sum(text.count(":") for _, text in lines[end + 1 :])
    if equations is not None and equations != found:
        faults.add(lines[end][0], f"{equations} equations announced, but {found} follow")
    return lines[2:end], lines[end + 1 :]


def _end_of_cells(lines: list[_Line], cells: int | None) -> int:
    """Where the number of equations stands: as announced, or else the first line that looks like it."""
    if cells is not None and 2 + cells < len(lines) and _is_single(lines[2 + cells]):
        return 2 + cells
    candidates = (at for at, line in enumerate(lines[2:], 2) if _is_single(line) or ":" in line[1])
    return next(candidates, len(lines))


def _is_single(line: _Line) -> bool:
    return len(line[1].split()) == 1


def _count(line: _Line, what: str, faults: _Faults) -> int | None:
    if _is_count(line[1].strip()):
        return int(line[1])
    faults.add(line[0], f"{what} must stand here alone, a whole number")
    return None


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16


def _read_cells(lines: list[_Line], faults: _Faults) -> _Cells:
    sizes = [len(text.split()) for _, text in lines]
    for (number, _), size in zip(lines, sizes, strict=True):
        if size != len(FIELDS):
            faults.add(number, f"{size} fields, a cell has {len(FIELDS)}: {', '.join(FIELDS)}")
    known = _known(lines, faults)
    whole = [line for line, size in zip(lines, sizes, strict=True) if size == len(FIELDS)]
    fields = "\n".join(text for _, text in whole).split()
    named = {name: fields[at :: len(FIELDS)] for at, name in enumerate(FIELDS)}
    numbers = {name: parse_numbers(named[name]) for name in NUMBERS}
    for bound in ("low", "high"):
        column = numbers[bound]
        numbers[bound] = np.where(np.abs(column) >= INFINITE, np.copysign(np.inf, column), column)
    where = np.array([number for number, _ in whole], dtype=np.int64)
    status = np.array([text[:2] for text in named["status"]], dtype=np.str_)  # longer ones are faults anyway
    cells = _Cells(where, named["id"], status, numbers, known)
    for what, wrong in _cell_faults(cells):
        for at in np.flatnonzero(wrong).tolist():
            faults.add(int(where[at]), f"cell {cells.ids[at]}: {what}")
    return cells


def _known(lines: list[_Line], faults: _Faults) -> dict[str, int]:
    """Which line of a cell names which id."""
    known: dict[str, int] = {}
    for at, (number, text) in enumerate(lines):
        name = text.split(None, 1)[0]
        first = known.setdefault(name, at)
        if first != at:
            faults.add(number, f"cell {name} is listed already in line {lines[first][0]}")
    return known


def _cell_faults(cells: _Cells) -> Iterable[tuple[str, Bools]]:
    """What may be wrong with the fields of cells, and where it is."""
    yield "the status is none of u, s, z, m", ~np.isin(cells.status, list(STATUS.values()))
    value, low, high = (cells.numbers[name] for name in ("value", "low", "high"))
    yield "low is above the value", low > value
    yield "high is below the value", high < value
    for name, column in cells.numbers.items():
        if name in ("low", "high"):
            yield f"{name} is not a number", np.isnan(column)
        else:
            yield f"{name} is not a finite number", ~np.isfinite(column)
            yield f"{name} is negative", np.isfinite(column) & (column < 0) & (name != "value")


def _read_equations(source: list[_Line], known: Mapping[str, int], faults: _Faults) -> _Equations:
    """Equations from a stream of fields, whatever the lines.

    Each colon makes an equation of the two fields before it (right-hand side, number of terms) and of the
    terms ``id ( coefficient )`` that follow, up to two fields before the next colon.
    """
    split = [(number, text.split()) for number, text in source]
    fields = [text for _, some in split for text in some]
    lines = [number for number, some in split for _ in some]
    colons = [at for at, text in enumerate(fields) if text == ":"]
    if fields and (not colons or colons[0] > 2):
        faults.add(lines[0], "something stands before the first equation")
    found = _Equations()
    for colon, after in pairwise([*colons, len(fields) + 2]):
        start, stop = colon + 1, max(after - 2, colon + 1)
        head, line = fields[max(colon - 2, 0) : colon], lines[max(colon - 1, 0)]
        rhs = float(parse_numbers(head[:1])[0]) if len(head) == 2 else np.nan
        if not np.isfinite(rhs) or not _is_count(head[1]):
            faults.add(line, "an equation starts with a finite number, the number of terms and a colon")
            continue
        terms = int(head[1])
        if after > len(fields) and stop > start + 4 * terms and _is_paired(fields[start:stop], terms):
            stop = start + 4 * terms
            faults.add(lines[stop], "something stands after the last equation")
        found.lines.append(line)
        found.rhs.append(rhs)
        _read_terms(found, terms, fields[start:stop], lines[colon:stop], known, faults)
    return found


def _read_terms(
    found: _Equations,
    terms: int,
    body: list[str],
    lines: list[int],
    known: Mapping[str, int],
    faults: _Faults,
) -> None:
    """The terms of one equation; `lines` are those of its colon and of the fields of its body."""
    count = len(body) // 4
    if len(body) % 4 or not _is_paired(body, count):
        faults.add(lines[0], "terms are not written as: id (coefficient)")
        return
    if count != terms:
        faults.add(lines[0], f"{terms} terms announced, but {count} follow")
    names, coefficients = body[::4], parse_numbers(body[2::4])
    cells = list(map(known.get, names))
    for term in (term for term, cell in enumerate(cells) if cell is None):
        faults.add(lines[1 + 4 * term], f"there is no cell {names[term]}")
    for term in np.flatnonzero(~np.isfinite(coefficients)).tolist():
        faults.add(lines[3 + 4 * term], f"the coefficient of cell {names[term]} is not a finite number")
    found.sizes.append(count)
    found.cells.extend(cell for cell in cells if cell is not None)
    found.coefficients.extend(coefficients.tolist())


def _is_paired(body: list[str], terms: int) -> bool:
    """Whether the first terms are written ``id ( coefficient )``."""
    own = body[: 4 * terms]
    return own[1::4].count("(") == terms and own[3::4].count(")") == terms


# ---------------------------------------------------------------------- writing


def write_jj(problem: Problem) -> str:
    """The text of a JJ file, which `parse_jj` reads back to the same problem.

    Cells keep their names where the table is a mere list of them (as one read from a JJ file is); cells of a
    table with dimensions are numbered from 0. The format has no place for insiders, conditional levels and a
    bound on the number of touched cells (`NotApplicable`), nor for dimensions and further columns (left out).
    """
    _check_writable(problem)
    names, table = _ids(problem.table), problem.table
    status = [STATUS[Mark(mark)] for mark in problem.marks]
    columns = [
        names,
        number_texts(table.values),
        number_texts(problem.weights),
        status,
        number_texts(np.clip(problem.outsider_low, -INFINITE, INFINITE)),
        number_texts(np.clip(problem.outsider_high, -INFINITE, INFINITE)),
        *(
            number_texts(level)
            for name, level in problem.levels.named()
            if not name.startswith("conditional")
        ),
    ]
    lines = ["0", str(len(table)), *map(" ".join, zip(*columns, strict=True)), str(table.equations.shape[0])]
    lines += _equation_lines(table, names)
    return "\n".join(lines) + "\n"


def _equation_lines(table: Table, names: Sequence[str]) -> Iterable[str]:
    starts, cells = table.equations.indptr.tolist(), table.equations.indices.tolist()
    coefficients = number_texts(table.equations.data)
    for rhs, (start, stop) in zip(number_texts(table.rhs), pairwise(starts), strict=True):
        terms = [f"{names[cells[at]]} ({coefficients[at]})" for at in range(start, stop)]
        yield " ".join([rhs, str(stop - start), ":", *terms])


def _check_writable(problem: Problem) -> None:
    lost = {
        "insiders": bool(problem.attackers),
        "conditional levels": problem.has_conditional,
        "prices": problem.prices is not None,
        "a bound on the number of touched cells": problem.most_touched is not None,
    }
    if any(lost.values()):
        what = f"The JJ format has no place for {', '.join(name for name, there in lost.items() if there)}."
        raise NotApplicable(what, needs="a problem against the outsider with plain levels")


def _ids(table: Table) -> Sequence[str]:
    """What the cells are called in the file."""
    if len(table.dimensions) > 1 or table.dimensions[0].hierarchies:
        return [str(cell) for cell in range(len(table))]
    names = [table.dimensions[0].codes[code] for code in table.codes[:, 0]]
    unfit = [name for name in names if name.split() != [name] or any(mark in name for mark in "():\ufeff")]
    if unfit:
        faults = [f"cell name {name!r} is blank or contains blanks or one of ( ) :" for name in unfit]
        raise InputError("JJ file", faults, advice="Rename these cells: the format cannot hold such names.")
    return names
