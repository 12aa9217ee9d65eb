"""Sources of records: a dataframe or files, as parts that DuckDB can select from.

CSV is read with every column as text: codes like "01" stay what they are. The separator is the one of , ; tab |
that the header has most of; text is UTF-8 (a byte order mark is dropped), UTF-16 with its mark, or else Latin-1.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from tablecloak.errors import InputError
from tablecloak.tabulation.duckdb.session import arrays, quoted, run
from tablecloak.tabulation.settings import SETTINGS

if TYPE_CHECKING:
    import duckdb

_SEPARATORS = ",;\t|"
_CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_PARQUET = (".parquet", ".pq")


@dataclass(frozen=True)
class Part:
    """One source of rows: the names of its columns, and what to select them from."""

    names: tuple[str, ...]
    identifiers: tuple[str, ...]
    """The columns in SQL, in the same order."""
    relation: str
    """The relation after FROM; it may use `parameters`."""
    parameters: dict[str, Any] = field(default_factory=dict)
    file: str = ""
    lines: Callable[[Sequence[int]], dict[int, int]] | None = None
    """For text files: the line of each row (both counted from 1)."""


def frame_part(names: Sequence[str]) -> Part:
    """The dataframe registered as "given", whose columns c0, c1, ... have these names."""
    return Part(tuple(names), tuple(f"c{i}" for i in range(len(names))), "given")


def file_parts(connection: duckdb.DuckDBPyConnection, path: str | Path) -> list[Part]:
    """One part for each file; the path may be a pattern with * and ?."""
    found = _matches(path)
    if not found:
        raise InputError(f"Data {_shown(path)}", ["there is no such file"])
    parts, faults, several = list[Part](), list[str](), len(found) > 1
    for name in found:
        try:
            parts.append(_file_part(connection, Path(name), name if several else ""))
        except InputError as error:
            faults += [f"{name}: {fault}" if several else fault for fault in error.faults]
    if faults:
        raise InputError(f"Data {_shown(path)}", faults)
    return parts


def _matches(path: str | Path) -> list[str]:
    """The files of that name or pattern; none where it cannot be one."""
    if not str(path).strip():
        return []
    pattern = Path(path)
    try:
        if pattern.exists():
            return [str(pattern)]
        if "**" in str(path):  # it would go through all folders below
            return []
        return sorted(map(str, Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))))
    except (OSError, ValueError, NotImplementedError):
        return []


def _shown(path: str | Path) -> str:
    """The path for messages; not all of it where it is data by mistake."""
    text = str(path)
    return (text or "''") if len(text) < 300 and text.isprintable() else "(a text that is no path)"


def _file_part(connection: duckdb.DuckDBPyConnection, path: Path, label: str) -> Part:
    lower = path.name.lower()
    if path.is_dir():
        raise InputError("Data", ["it is a directory, not a file"])
    if lower.endswith(_PARQUET):
        return _parquet_part(connection, path, label)
    if lower.endswith(_CSV):
        return _csv_part(path, label)
    raise InputError(
        "Data", [f"files must end in one of {', '.join((*_CSV, *_PARQUET))}: save it as one of these"]
    )


# ---------------------------------------------------------------------- Parquet


def _parquet_part(connection: duckdb.DuckDBPyConnection, path: Path, label: str) -> Part:
    import duckdb

    parameters = {"file": _literal(path)}
    relation = "read_parquet($file)"
    try:
        rows = run(connection, f"DESCRIBE SELECT * FROM {relation}", parameters)
    except duckdb.Error:
        raise InputError(
            "Data", ["it cannot be read as a Parquet file (damaged, cut short, or another kind)"]
        ) from None
    names = tuple(str(row[0]) for row in rows)
    return Part(names, tuple(map(quoted, names)), relation, parameters, label)


def _literal(path: Path) -> str:
    """The path for DuckDB, which would take brackets and stars in it for a pattern."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


# ---------------------------------------------------------------------- CSV


def _csv_part(path: Path, label: str) -> Part:
    try:
        encoding = _encoding(path)
        header, separator = _header(path, encoding)
    except OSError as error:
        raise InputError("Data", [f"it cannot be read ({error.strerror or 'damaged'})"]) from None
    except zlib.error:
        raise InputError("Data", ["it cannot be unpacked (damaged)"]) from None
    except (csv.Error, UnicodeError, EOFError):
        raise InputError("Data", ["its first line cannot be read (is the file complete?)"]) from None
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(header)))
    relation = (
        "read_csv($file, auto_detect=false, header=true, delim=$separator, encoding=$encoding, "
        f"quote='\"', escape='\"', columns={{{columns}}})"
    )
    parameters = {"file": _literal(path), "separator": separator, "encoding": _DUCK[encoding]}
    identifiers = tuple(f"c{i}" for i in range(len(header)))

    def lines(rows: Sequence[int]) -> dict[int, int]:
        return _lines(path, encoding, separator, len(header), rows)

    return Part(tuple(header), identifiers, relation, parameters, label, lines)


_DUCK = {"utf-8-sig": "utf-8", "utf-16": "utf-16", "latin-1": "latin-1"}


def _open(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb"))


def _encoding(path: Path) -> str:
    """The encoding of a text file, by its name in Python."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _open(path) as file:
        chunk = file.read(SETTINGS.chunk_bytes)
        if not chunk.strip(b"\xef\xbb\xbf \r\n\t"):
            raise InputError("Data", ["the file is empty"])
        if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        try:
            while chunk:
                if b"\0" in chunk:
                    raise InputError("Data", ["it is not a text file (it contains zero bytes)"])
                decoder.decode(chunk)
                chunk = file.read(SETTINGS.chunk_bytes)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "latin-1"
    return "utf-8-sig"


def _header(path: Path, encoding: str) -> tuple[list[str], str]:
    """The names in the first line, and what separates them."""
    with io.TextIOWrapper(_open(path), encoding=encoding, newline="") as text:
        beginning = text.read(SETTINGS.max_header)
    first = re.split(r"[\r\n]", beginning, maxsplit=1)[0]
    if len(first) == SETTINGS.max_header:
        raise InputError("Data", ["its first line is too long to be a line of names"])
    bare = re.sub(r'"[^"]*"', "", first)
    separator = max(_SEPARATORS, key=bare.count)
    names = next(csv.reader(io.StringIO(beginning, newline=""), delimiter=separator), None)
    if names is None:
        raise InputError("Data", ["the file is empty"])
    return names, separator


def _lines(path: Path, encoding: str, separator: str, width: int, rows: Sequence[int]) -> dict[int, int]:
    """The line in which each row ends; rows may be spread over lines, and blank lines are no rows."""
    wanted, found = set(rows), dict[int, int]()
    with suppress(csv.Error), io.TextIOWrapper(_open(path), encoding=encoding, newline="") as text:
        reader = csv.reader(text, delimiter=separator)
        next(reader)
        for row, line in enumerate(_row_lines(reader, width), 1):
            if row in wanted:
                found[row] = line
            if len(found) == len(wanted):
                break
    return found


def _row_lines(reader: Any, width: int) -> Iterator[int]:
    before = reader.line_num
    for entries in reader:
        if entries or width == 1:
            yield before + 1
        before = reader.line_num


def csv_fault(error: duckdb.Error) -> str:
    """The fault that DuckDB found in a text file, without the data that its message quotes."""
    text = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", text)
    counts = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    where = f"line {line[1]}: " if line else ""
    if counts:
        return f"{where}{counts[2]} columns, but the first line has {counts[1]}"
    if "unterminated quote" in text:
        return f"{where}a quote is opened and never closed"
    if "maximum line size" in text.lower():
        return f"{where}the line is too long"
    return f"{where}the text is no proper CSV (check quotes, and that all lines end in the same way)"


def read_columns(connection: duckdb.DuckDBPyConnection, parts: Sequence[Part]) -> dict[str, NDArray[Any]]:
    """All columns of some files; text where they are CSV, None where there is nothing."""
    import duckdb

    names = parts[0].names
    faults = [
        f"{part.file}: its columns are not those of the first file" for part in parts if part.names != names
    ]
    faults += [f"there are two columns {name!r}" for name in dict.fromkeys(names) if names.count(name) > 1]
    if faults:
        raise InputError("Data", faults)
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
    for part in parts:
        chosen = ", ".join(part.identifiers)
        try:
            found = arrays(connection, f"SELECT {chosen} FROM {part.relation}", part.parameters)
        except (duckdb.OutOfMemoryException, duckdb.InterruptException):
            raise
        except duckdb.Error as error:
            where = f"{part.file}: " if part.file else ""
            fault = csv_fault(error) if part.lines else "the data cannot be read (damaged file?)"
            raise InputError("Data", [f"{where}{fault}"]) from None
        for name, column in zip(names, found.values(), strict=True):
            columns[name].append(_filled(column))
    return {name: np.concatenate(pieces) for name, pieces in columns.items()}


def _filled(column: Any) -> NDArray[Any]:
    """A column in which gaps are None, or NaN among numbers."""
    if not isinstance(column, np.ma.MaskedArray):
        return np.asarray(column)
    kind = np.float64 if column.dtype.kind in "iufb" else object
    filled = np.asarray(column.data).astype(kind)
    filled[np.ma.getmaskarray(column)] = np.nan if kind is np.float64 else None
    return filled
