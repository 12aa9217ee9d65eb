"""A look at data in files: the names of the columns, the codes in one of them, what kind of column each is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from tablecloak.errors import InputError
from tablecloak.job.settings import LIMITS
from tablecloak.tabulation import Part, csv_fault, file_parts, read_columns, session

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True)
class Column:
    """What a column looks like. Gaps do not count, except for `empty`."""

    name: str
    distinct: int
    empty: int
    number: bool
    """Whether everything in it is a number; "01" is none."""
    whole: bool
    negative: bool
    positive: bool
    codes: tuple[str, ...] = ()
    """The different values as text, unless there are very many."""


@dataclass(frozen=True, eq=False)
class Look:
    """What a file of data looks like."""

    path: Path
    rows: int
    columns: tuple[Column, ...]

    def combinations(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """The different combinations of codes in some columns, in order."""
        with session() as connection:
            columns = ", ".join(_stage(connection, self.path, names))
            return sorted(_texts(connection.execute(f"SELECT DISTINCT {columns} FROM look").fetchall()))

    def tree(self, names: Sequence[str]) -> dict[str, Any]:
        """The codes of columns that group each other as nested dicts, the coarsest column first."""
        tree: dict[str, Any] = {}
        for *above, last, code in self.combinations(names):
            below = tree
            for each in above:
                below = below.setdefault(each, {})
            below.setdefault(last, []).append(code)
        return tree


def column_names(path: Path) -> list[str]:
    """The names of the columns that all files of a path have."""
    with session() as connection:
        return _common(file_parts(connection, path))


def codes_in(path: Path, column: str, missing: str = "") -> list[str]:
    """The different codes in a column; `missing` for empty ones, which are left out if it is nothing."""
    with session() as connection:
        _stage(connection, path, [column])
        found = _texts(connection.execute("SELECT DISTINCT k0 FROM look").fetchall())
    return sorted({code or missing for (code,) in found} - {""})


def columns_in(path: Path) -> dict[str, NDArray[Any]]:
    """All columns of the files of a path, by name."""
    with session() as connection:
        return read_columns(connection, file_parts(connection, path))


def look_at(path: Path) -> Look:
    """What each column is like."""
    with session() as connection:
        names = _common(file_parts(connection, path))
        columns = _stage(connection, path, names)
        figures = ", ".join(_FIGURES.format(column=column) for column in columns)
        row = connection.execute(f"SELECT count(*), {figures} FROM look").fetchone() or ()
        rows, each = int(row[0]), len(_KINDS)
        found = [
            _column(connection, name, column, row[1 + i * each : 1 + (i + 1) * each])
            for i, (name, column) in enumerate(zip(names, columns, strict=True))
        ]
    if not rows:
        raise InputError(f"Data {path}", ["there are no rows"])
    return Look(path, rows, tuple(found))


_KINDS = ("distinct", "empty", "number", "whole", "least")
_FIGURES = """
    count(DISTINCT {column}), count(*) - count({column}),
    coalesce(bool_and(isfinite(TRY_CAST({column} AS DOUBLE)) AND NOT regexp_matches({column}, '^[+-]?0[0-9]'))
             AND count({column}) = count(TRY_CAST({column} AS DOUBLE)), false),
    coalesce(bool_and(TRY_CAST({column} AS DOUBLE) = trunc(TRY_CAST({column} AS DOUBLE))), false),
    min(TRY_CAST({column} AS DOUBLE))
"""


def _column(connection: duckdb.DuckDBPyConnection, name: str, column: str, row: Sequence[Any]) -> Column:
    distinct, empty, number, whole, least = row
    codes: tuple[str, ...] = ()
    if distinct <= LIMITS.kept_codes:
        query = f"SELECT DISTINCT {column} FROM look WHERE {column} IS NOT NULL"
        codes = tuple(sorted(code for (code,) in _texts(connection.execute(query).fetchall())))
    number = bool(number) and distinct > 0
    kinds = number, number and bool(whole), number and least < 0, number and least > 0
    return Column(name, int(distinct), int(empty), *kinds, codes)


def _common(parts: Sequence[Part]) -> list[str]:
    """The names that all parts have, once each."""
    return [name for name in parts[0].names if all(part.names.count(name) == 1 for part in parts)]


def _stage(connection: duckdb.DuckDBPyConnection, path: Path, names: Sequence[str]) -> list[str]:
    """Copy columns as text into the table `look`; what they are called there. Gaps and blanks are NULL."""
    import duckdb

    parts = file_parts(connection, path)
    if missing := [name for name in names if name not in _common(parts)]:
        raise InputError(f"Data {path}", [f"there is no column {name!r}" for name in missing])
    columns = [f"k{i}" for i in range(len(names))]
    for number, part in enumerate(parts):
        given = connection.execute(f"DESCRIBE SELECT * FROM {part.relation}", part.parameters).fetchall()
        kinds = dict(zip(part.names, (str(row[1]) for row in given), strict=True))
        places = dict(zip(part.names, part.identifiers, strict=True))
        texts = [_text(places[name], kinds[name]) for name in names]
        chosen = ", ".join(f"{text} AS {column}" for text, column in zip(texts, columns, strict=True))
        make = "INSERT INTO look" if number else "CREATE TABLE look AS"
        try:
            connection.execute(f"{make} SELECT {chosen} FROM {part.relation}", part.parameters)
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            where = f"{part.file}: " if part.file else ""
            fault = csv_fault(error) if part.lines else "the data cannot be read"
            raise InputError(f"Data {path}", [f"{where}{fault}"]) from None
    return columns


def _text(column: str, kind: str) -> str:
    """A value as text in SQL, as tabulate takes codes: 8.0 is "8", and blanks are nothing."""
    text = f"CAST({column} AS VARCHAR)"
    if kind == "BOOLEAN":
        text = f"CASE WHEN {column} THEN 'True' WHEN NOT {column} THEN 'False' END"
    elif kind.startswith(("DOUBLE", "FLOAT", "DECIMAL")):
        text = f"CASE WHEN isnan(CAST({column} AS DOUBLE)) THEN NULL ELSE regexp_replace({text}, '\\.0+$', '') END"
    return f"CASE WHEN trim({text}) <> '' THEN {text} END"


def _texts(rows: Sequence[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    return [tuple("" if entry is None else str(entry) for entry in row) for row in rows]
