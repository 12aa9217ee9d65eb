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
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import InputError, NotApplicable, TablecloakError
from tablecloak.formats.files import read_text
from tablecloak.problem import Levels, Mark, Problem
from tablecloak.table import Table

INFINITE = 1e30
"""Bounds at least this large are no bounds; written so because other programs cannot read ``inf``."""

STATUS = {Mark.SENSITIVE: "u", Mark.FREE: "s", Mark.FORCED: "z", Mark.HIDDEN: "m"}
FIELDS = ("id", "value", "weight", "status", "low", "high", "lower level", "upper level", "sliding level")
NUMBERS = tuple(name for name in FIELDS if name not in ("id", "status"))

ADVICE = "Format: docs/formats, or tablecloak.formats.jj. Numbers have a decimal point and no separators."

_Line: TypeAlias = tuple[int, list[str]]  # line number, fields
_Fault: TypeAlias = tuple[int, str]  # line number, what is wrong there


@dataclass(frozen=True, eq=False)
class JJInstance:
    """What a JJ file says, and what in it was passed over. Confidential."""

    problem: Problem
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Cells:
    """The lines of cells in columns."""

    lines: Ints
    ids: Sequence[str]
    status: Sequence[str]
    numbers: Mapping[str, Floats]
    known: Mapping[str, int]
    """Position of each id, also of those whose line is faulty."""

    def marked(self, mark: Mark) -> Bools:
        return np.array([status == STATUS[mark] for status in self.status], dtype=bool)


@dataclass(frozen=True, eq=False)
class _Equations:
    """The equations as the parts of a sparse matrix."""

    lines: Sequence[int]
    rhs: Sequence[float]
    sizes: Sequence[int]
    cells: Sequence[int]
    coefficients: Sequence[float]

    def matrix(self, cells: int) -> csr_array:
        starts = np.concatenate([[0], np.cumsum(self.sizes, dtype=np.int64)])
        shape = (len(self.sizes), cells)
        columns = np.array(self.cells, dtype=np.int64)
        return csr_array((np.array(self.coefficients, dtype=np.float64), columns, starts), shape=shape)


# ---------------------------------------------------------------------- reading


def read_jj(source: str | Path, *, widen: bool = False) -> JJInstance:
    """The problem in a JJ file; every fault of the file is in one `InputError`, with its line.

    `widen=True` widens bounds that are narrower than a protection level instead of refusing them.
    """
    return parse_jj(read_text(source, "JJ file"), widen=widen, source=f"JJ file {source}")


def parse_jj(text: str, *, widen: bool = False, source: str = "JJ text") -> JJInstance:
    """The problem in the text of a JJ file, as `read_jj`."""
    faults: list[_Fault] = []
    lines = _split(text)
    announced, cell_lines, equation_lines = _layout(lines, faults)
    cells = _read_cells(cell_lines, faults)
    equations = _read_equations(equation_lines, announced, cells.known, faults)
    if faults:
        raise InputError(source, [f"line {line}: {fault}" for line, fault in sorted(faults)], advice=ADVICE)
    table = _table(cells, equations, source)
    sensitive = cells.marked(Mark.SENSITIVE)
    wanted = (np.where(sensitive, cells.numbers[name], 0.0) for name in NUMBERS[-3:])
    try:
        problem = Problem.of(
            table,
            sensitive,
            Levels.of(len(table), *wanted),
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


def _table(cells: _Cells, equations: _Equations, source: str) -> Table:
    """The table; equations that do not add up are listed with their lines."""
    values, matrix = cells.numbers["value"], equations.matrix(len(cells.ids))
    try:
        return Table.from_equations(values, matrix, np.array(equations.rhs), names=cells.ids)
    except InputError as error:
        rows = error.confidential.get("equations", ())
        faults = [f"line {equations.lines[row]}: {fault}" for row, fault in zip(rows, error.faults, strict=False)]
        what = f"{source}: {error.what}" if faults else source
        raise InputError(what, faults or error.faults, confidential=error.confidential) from None


def _warnings(cells: _Cells, equations: _Equations) -> Iterable[str]:
    levels = sum(cells.numbers[name] for name in NUMBERS[-3:])
    ignored = cells.lines[(levels > 0) & ~cells.marked(Mark.SENSITIVE)]
    if ignored.size:
        yield f"protection levels of cells that are not sensitive are ignored: {_places(ignored)}"
    rows = np.repeat(np.arange(len(equations.sizes)), equations.sizes)
    keys, counts = np.unique(rows * len(cells.ids) + np.array(equations.cells, dtype=np.int64), return_counts=True)
    twice = np.unique(keys[counts > 1] // len(cells.ids))
    if twice.size:
        where = np.array(equations.lines)[twice]
        yield f"equations that name a cell more than once, coefficients added up: {_places(where)}"


def _places(lines: Ints, shown: int = 5) -> str:
    more = f" and {lines.size - shown} more" if lines.size > shown else ""
    return f"{'line' if lines.size == 1 else 'lines'} {', '.join(map(str, lines[:shown].tolist()))}{more}"


def _split(text: str) -> list[_Line]:
    """The fields of each line that is not blank; ``( ) :`` are fields of their own."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    for mark in "():":
        text = text.replace(mark, f" {mark} ")
    numbered = ((number, line.split()) for number, line in enumerate(text.split("\n"), 1))
    return [line for line in numbered if line[1]]


def _layout(lines: list[_Line], faults: list[_Fault]) -> tuple[int | None, list[_Line], list[_Line]]:
    """How many equations are announced, the lines of cells, the lines of equations."""
    if len(lines) < 2:
        last = lines[-1][0] if lines else 1
        faults.append((last, "the file ends before the number of cells"))
        return None, [], []
    if lines[0][1] != ["0"]:
        faults.append((lines[0][0], "the first line of a JJ file is 0"))
    cells = _count(lines[1], "the number of cells", faults)
    end = _end_of_cells(lines, cells)
    if cells is not None and cells != end - 2:
        faults.append((lines[1][0], f"{cells} cells announced, but {end - 2} lines of cells follow"))
    if end == len(lines):
        faults.append((lines[-1][0], "the file ends before the number of equations"))
        return None, lines[2:], []
    if len(lines[end][1]) != 1:
        faults.append((lines[end][0], "the number of equations is missing before this line"))
        return None, lines[2:end], lines[end:]
    equations = _count(lines[end], "the number of equations", faults)
    found = sum(fields.count(":") for _, fields in lines[end + 1 :])
    if equations is not None and equations != found:
        faults.append((lines[end][0], f"{equations} equations announced, but {found} follow"))
    return equations, lines[2:end], lines[end + 1 :]


def _end_of_cells(lines: list[_Line], cells: int | None) -> int:
    """Where the number of equations stands: as announced, or else the first line that looks like it."""
    if cells is not None and 2 + cells < len(lines) and len(lines[2 + cells][1]) == 1:
        return 2 + cells
    for at, (_, fields) in enumerate(lines[2:], 2):
        if len(fields) == 1 or ":" in fields:
            return at
    return len(lines)


def _count(line: _Line, what: str, faults: list[_Fault]) -> int | None:
    number, fields = line
    if len(fields) == 1 and _is_count(fields[0]):
        return int(fields[0])
    faults.append((number, f"{what} must stand here alone, a whole number"))
    return None


def _is_count(field: str) -> bool:
    return field.isascii() and field.isdigit() and len(field) < 16


def _read_cells(lines: list[_Line], faults: list[_Fault]) -> _Cells:
    known: dict[str, int] = {}
    whole = []
    for number, fields in lines:
        if known.setdefault(fields[0], len(known)) != len(known) - 1:
            faults.append((number, f"cell {fields[0]} is listed twice"))
            known[f"{fields[0]} again in line {number}"] = len(known)
        if len(fields) == len(FIELDS):
            whole.append((number, fields))
        else:
            faults.append((number, f"a cell has {len(FIELDS)} fields ({', '.join(FIELDS)}), here are {len(fields)}"))
    columns = list(zip(*(fields for _, fields in whole), strict=True)) or [()] * len(FIELDS)
    named = dict(zip(FIELDS, columns, strict=True))
    numbers = {name: _floats(named[name]) for name in NUMBERS}
    for bound in ("low", "high"):
        column = numbers[bound]
        numbers[bound] = np.where(np.abs(column) >= INFINITE, np.copysign(np.inf, column), column)
    cells = _Cells(
        np.array([number for number, _ in whole], dtype=np.int64), named["id"], named["status"], numbers, known
    )
    faults += _cell_faults(cells)
    return cells


def _cell_faults(cells: _Cells) -> Iterable[_Fault]:
    """What is wrong with the fields of the cells."""
    value, low, high = (cells.numbers[name] for name in ("value", "low", "high"))
    wrong = {
        "the status is none of u, s, z, m": np.array([s not in STATUS.values() for s in cells.status], dtype=bool),
        "low is above the value": low > value,
        "high is below the value": high < value,
    }
    for name, column in cells.numbers.items():
        if name in ("low", "high"):
            wrong[f"{name} is not a number"] = np.isnan(column)
            continue
        wrong[f"{name} is not a finite number"] = ~np.isfinite(column)
        if name != "value":
            wrong[f"{name} is negative"] = np.isfinite(column) & (column < 0)
    for what, where in wrong.items():
        for at in np.flatnonzero(where):
            yield int(cells.lines[at]), f"cell {cells.ids[at]}: {what}"


def _read_equations(
    lines: list[_Line], announced: int | None, known: Mapping[str, int], faults: list[_Fault]
) -> _Equations:
    """Each colon makes an equation of the two fields before it and of what follows up to the next one's."""
    fields = [field for _, some in lines for field in some]
    line = np.repeat([number for number, _ in lines], [len(some) for _, some in lines]).tolist()
    colons = [at for at, field in enumerate(fields) if field == ":"]
    found = _Equations([], [], [], [], [])
    first = colons[0] - 2 if colons else len(fields)
    if first != 0:
        faults.append((line[0], "an equation starts with its right-hand side, the number of terms and a colon"))
    for at, colon in enumerate(colons):
        last = at + 1 == len(colons)
        start, stop = colon + 1, len(fields) if last else max(colon + 1, colons[at + 1] - 2)
        rhs, terms = _head(fields[max(colon - 2, 0) : colon], line[max(colon - 2, 0)], faults)
        body = fields[start:stop]
        if last and announced is not None and terms is not None and len(body) > 4 * terms and _paired(body[: 4 * terms]):
            faults.append((line[start + 4 * terms], "there is something after the last term of the last equation"))
            body = body[: 4 * terms]
        if terms is None or not _whole(body, terms, line[colon], faults):
            continue
        cells = [known.get(name, -1) for name in body[::4]]
        faults += [
            (line[start + 4 * term], f"there is no cell {body[4 * term]}") for term, cell in enumerate(cells) if cell < 0
        ]
        coefficients = _floats(body[2::4])
        faults += [
            (line[start + 4 * int(term) + 2], f"the coefficient of cell {body[4 * term]} is not a finite number")
            for term in np.flatnonzero(~np.isfinite(coefficients))
        ]
        found.lines.append(line[colon])  # type: ignore[attr-defined]
    return found


def _head(head: list[str], line: int, faults: list[_Fault]) -> tuple[float, int | None]:
    raise NotImplementedError
