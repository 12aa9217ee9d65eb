"""Cloak files: a table or a problem in one confidential file (.cloak), for handing it from command to command.

A cloak file is a zip file::

    CONFIDENTIAL        what this is, for whoever opens it with another program
    meta.json           the object as a tree: names, options, and which array belongs where
    arrays/0.npy ...    the arrays, in the format of numpy; never pickled

The same object gives the same bytes. Reading makes the same object again: `read_cloak(write_cloak(x))` equals x.

It is opened with care: sizes are checked before anything is unpacked. A file of a few kilobytes can be made to unpack
to terabytes, and the header of an array can ask for more memory than
there is. Here nothing is unpacked beyond what the file's own directory announces, the sum of that is limited, and an
array must be exactly as large as its header says.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tablecloak.arrays import frozen
from tablecloak.errors import InputError
from tablecloak.files import read_bytes
from tablecloak.formats.cloak_checks import problem_faults, table_faults, type_faults
from tablecloak.model import (
    Attacker,
    AttackerLevels,
    Contributions,
    Dimension,
    Emptiness,
    Hierarchy,
    Levels,
    Prices,
    Problem,
    Reason,
    Table,
    checked_units,
    is_whole,
    label_of,
    nearest_units,
)
from tablecloak.tabulation import COUNT


@dataclass(frozen=True)
class CloakLimits:
    """How much a cloak file may unpack to before it is refused; raise it for files you trust."""

    most_bytes: int = 16 << 30
    """All entries together."""
    most_ratio: float = 200.0
    """Unpacked bytes for a byte of the file (tables have 10 to 20), unless it unpacks to `small_bytes` at most."""
    small_bytes: int = 64 << 20
    most_entries: int = 100_000


class Damaged(Exception):
    """An entry is not what the tree or the directory says; the text says in what."""


_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<>|][a-zA-Z][0-9]{1,9})', 'fortran_order': False, "
    rb"'shape': \(((?:[0-9]{1,18}(?:, [0-9]{1,18})*,?)?)\), \} *\n"
)
_KINDS = "fiubU"
_LAST_CHARACTER = 0x10FFFF


class Archive:
    """The entries of a cloak file, by name."""

    def __init__(self, data: bytes, limits: CloakLimits) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(data))
        entries = self._archive.infolist()
        size = sum(entry.file_size for entry in entries)
        if len(entries) > limits.most_entries or size > limits.most_bytes:
            raise Damaged("it would unpack to more than is allowed (CloakLimits)")
        if size > max(limits.small_bytes, limits.most_ratio * len(data)):
            raise Damaged("it would unpack to far more than a table needs (CloakLimits)")
        self._entries = {entry.filename: entry for entry in entries}
        if len(self._entries) < len(entries):
            raise Damaged("an entry is there twice")

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str) -> bytes:
        """The bytes of an entry, once: as many as the directory says, and no more."""
        entry = self._entries.pop(name)
        if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Damaged("an entry is packed in another way")
        with self._archive.open(entry) as file:
            data = file.read(entry.file_size + 1)
        if len(data) != entry.file_size:
            raise Damaged("an entry has another size than announced")
        return data

    def array(self, number: int) -> NDArray[Any]:
        """An array of the file, once; it owns its memory and is read-only."""
        data = self.read(f"arrays/{int(number)}.npy")
        start = len(_MAGIC) + 2
        stop = start + int.from_bytes(data[len(_MAGIC) : start], "little")
        header = _HEADER.fullmatch(data[start:stop])
        if not data.startswith(_MAGIC) or header is None:
            raise Damaged("an array has a strange header")
        kind = np.dtype(header[1].decode())
        shape = tuple(int(part) for part in header[2].replace(b",", b" ").split())
        if kind.kind not in _KINDS or math.prod(shape) * kind.itemsize != len(data) - stop:
            raise Damaged("an array has another size than its header says")
        array: NDArray[Any] = np.frombuffer(data, dtype=kind, offset=stop).reshape(shape).copy()
        _check_content(array)
        array.flags.writeable = False
        return array


def _check_content(array: NDArray[Any]) -> None:
    """Raise where bytes are no truth values or no characters."""
    if array.dtype.kind == "b" and array.size and array.view(np.uint8).max() > 1:
        raise Damaged("an array of truth values has others")
    if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
        signs = np.ascontiguousarray(array).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if signs.max() > _LAST_CHARACTER:
            raise Damaged("an array of texts has no texts")


SUFFIX = ".cloak"
FORMAT, VERSION = "tablecloak cloak file", 3
"""3: levels an attacker, conditional lower and upper levels, prices. 2: values are whole units. 1: the first."""
FIRST, META = "CONFIDENTIAL", "meta.json"
WARNING = """CONFIDENTIAL

This file holds true values of a statistical table. It must not leave the building.
It was written by tablecloak; read it with: tablecloak assess, protect, audit, publish.
"""
CLASSES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (Table, Dimension, Hierarchy, Contributions, Emptiness, Problem, Levels, Prices, Reason)
}
"""What a cloak file may hold; nothing else is ever made from one."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
_MANY = 16
"""Longer tuples of texts are kept as arrays."""


# ---------------------------------------------------------------------- writing


def write_cloak(thing: Table | Problem) -> bytes:
    """The bytes of a cloak file, which `read_cloak` reads back. Confidential."""
    arrays: list[NDArray[Any]] = []
    tree = _Writer(arrays).tree(thing)
    meta = {"format": FORMAT, "version": VERSION, "confidential": True, "holds": tree}
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        _add(archive, FIRST, WARNING.encode())
        _add(archive, META, json.dumps(meta, ensure_ascii=True, indent=1).encode())
        for number, array in enumerate(arrays):
            content = io.BytesIO()
            np.lib.format.write_array(content, np.ascontiguousarray(array), allow_pickle=False)
            _add(archive, f"arrays/{number}.npy", content.getbuffer())
    return data.getvalue()


def _add(archive: zipfile.ZipFile, name: str, content: bytes | memoryview) -> None:
    """An entry that does not depend on the time, the machine or its user."""
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.create_system, entry.external_attr = 3, 0o600 << 16
    archive.writestr(entry, content, zipfile.ZIP_DEFLATED, compresslevel=1)


class _Writer:
    """Takes objects apart: a tree for JSON whose leaves point at arrays."""

    def __init__(self, arrays: list[NDArray[Any]]) -> None:
        self._arrays = arrays

    def _array(self, array: NDArray[Any]) -> int:
        self._arrays.append(array)
        return len(self._arrays) - 1

    def tree(self, thing: Any) -> Any:
        """The tree of anything a table or a problem is made of."""
        match thing:
            case None | bool() | str():
                return thing
            case int() | np.integer():
                return int(thing)
            case float() | np.floating():
                return {"number": float(thing).hex()}
            case np.ndarray():
                return {"array": self._array(thing)}
            case csr_array():
                parts = (thing.data, thing.indices, thing.indptr)
                return {"matrix": [self._array(part) for part in parts], "shape": list(thing.shape)}
            case Problem():
                return self._object(thing, {"attackers": self._attackers, "reasons": self._reasons})
            case tuple() | list():
                many = len(thing) > _MANY and all(type(item) is str for item in thing)
                return (
                    {"texts": self._texts(thing)} if many else {"list": [self.tree(item) for item in thing]}
                )
            case Mapping():
                return {"mapping": [[self.tree(key), self.tree(item)] for key, item in thing.items()]}
        if is_dataclass(thing) and type(thing).__name__ in CLASSES:
            return self._object(thing, {})
        raise InputError("Cloak file", [f"it cannot hold a {type(thing).__name__}"])

    def _object(self, thing: Any, special: Mapping[str, Callable[[Any], Any]]) -> Any:
        parts = {
            field.name: special.get(field.name, self.tree)(getattr(thing, field.name))
            for field in fields(thing)
            if field.init
        }
        return {"object": type(thing).__name__, "fields": parts}

    def _texts(self, texts: Sequence[str]) -> list[int]:
        """Texts end to end, and where each of them ends."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        return [self._array(np.frombuffer(b"".join(encoded), dtype=np.uint8)), self._array(ends)]

    def _attackers(self, attackers: Sequence[Attacker]) -> Any:
        """All attackers in three arrays, and where each of them ends; so are the levels against them."""
        names = self._texts([who.name for who in attackers])
        numbers = self._ragged(attackers, ("cells", "low", "high"))
        levels = self._ragged([who.levels for who in attackers], ("cells", "lower", "upper", "sliding"))
        return {"attackers": numbers, "names": names, "levels": levels}

    def _ragged(self, things: Sequence[Any], names: Sequence[str]) -> list[int]:
        """Arrays of several objects end to end, and before them where each object ends."""
        ends = np.cumsum([thing.cells.size for thing in things], dtype=np.int64)
        arrays = [
            np.concatenate([getattr(thing, name) for thing in things] or [np.zeros(0)]) for name in names
        ]
        return [self._array(array) for array in (ends, *arrays)]

    def _reasons(self, reasons: Mapping[int, tuple[Reason, ...]]) -> Any:
        """Each distinct tuple of reasons once, and which of them each cell has."""
        distinct: dict[tuple[Reason, ...], int] = {}
        which = [distinct.setdefault(tuple(given), len(distinct)) for given in reasons.values()]
        cells = np.fromiter(reasons, dtype=np.int64, count=len(reasons))
        numbers = [self._array(cells), self._array(np.array(which, dtype=np.int64))]
        listed = [[[each.rule, each.kind, each.why] for each in given] for given in distinct]
        return {"reasons": numbers, "distinct": listed}


# ---------------------------------------------------------------------- reading


def read_cloak(source: str | Path | bytes, limits: CloakLimits | None = None) -> Table | Problem:
    """The table or the problem in a cloak file; an `InputError` says what is wrong with the file.

    What it would unpack to is checked against the `limits` before it is unpacked, and what it says after.
    """
    what, data = _content(source)
    try:
        archive = Archive(data, limits or CloakLimits())
        meta = _meta(archive, what)
        thing = _Reader(archive, meta["version"]).thing(meta["holds"])
    except _Outdated as error:
        raise InputError(what, error.faults, advice=_AGAIN) from None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError):
        raise InputError(what, ["it is damaged or was cut short"], advice=_AGAIN) from None
    except Damaged as error:
        raise InputError(what, [f"it is damaged: {error}"], advice=_AGAIN) from None
    except InputError as error:
        if error.what == what:
            raise
        faults = [f"it is damaged or was changed by hand: {fault}" for fault in error.faults]
        raise InputError(what, faults, advice=_AGAIN, confidential=error.confidential) from None
    except _FOREIGN:
        raise InputError(what, ["it is damaged or was changed by hand"], advice=_AGAIN) from None
    if not isinstance(thing, Table | Problem):
        raise InputError(what, ["it holds neither a table nor a problem"], advice=_AGAIN)
    return thing


_FOREIGN = (
    LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError, MemoryError, struct.error
)  # fmt: skip
"""What strange trees and arrays can raise while objects are put together; recursion is a RuntimeError."""
_AGAIN = "Make it again with tablecloak tabulate or tablecloak assess."


def is_cloak(source: str | Path) -> bool:
    """Whether a file is a cloak file, by its name or else by its first bytes."""
    path = Path(source)
    if path.suffix.lower() == SUFFIX:
        return True
    try:
        if not path.is_file():  # what is read from a pipe is gone
            return False
        with path.open("rb") as file:
            return file.read(4) == b"PK\x03\x04"
    except (OSError, ValueError):
        return False


class _Outdated(Exception):
    """What an earlier tablecloak wrote is not in whole data units."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__()
        self.faults = [f"from an earlier tablecloak: {fault}" for fault in faults]


def _content(source: str | Path | bytes) -> tuple[str, bytes]:
    """The name of the source for messages, and its bytes."""
    if isinstance(source, bytes):
        what, data = "Cloak file", source
    else:
        what, data = f"Cloak file {source}", read_bytes(source, "Cloak file")
    if not data:
        raise InputError(what, ["it is empty"], advice=_AGAIN)
    if not data.startswith(b"PK"):
        raise InputError(what, ["it is not a cloak file"], advice=_AGAIN)
    return what, data


def _meta(archive: Archive, what: str) -> dict[str, Any]:
    """The description of the content, once it is clear that this program can read it."""
    if META not in archive:
        raise InputError(what, ["it is a zip file, but not a cloak file"], advice=_AGAIN)
    meta = json.loads(archive.read(META))
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise InputError(what, ["it is a zip file, but not a cloak file"], advice=_AGAIN)
    version = meta.get("version")
    if not isinstance(version, int) or version > VERSION:
        fault = f"it was written by a newer tablecloak (format {version}; this one reads up to {VERSION})"
        raise InputError(what, [fault], advice="Install that version, or make the file again with this one.")
    return meta


class _Reader:
    """Puts objects together again; everything is looked at before it is believed."""

    def __init__(self, archive: Archive, version: int) -> None:
        self._array, self._version = archive.array, version

    def thing(self, tree: Any) -> Any:
        """The object of a tree."""
        match tree:
            case None | bool() | str() | int():
                return tree
            case {"number": text}:
                return float.fromhex(text)
            case {"array": number}:
                return self._array(number)
            case {"matrix": numbers, "shape": shape}:
                return self._matrix(numbers, shape)
            case {"texts": numbers}:
                return self._texts(numbers)
            case {"list": items}:
                return tuple(self.thing(item) for item in items)
            case {"mapping": pairs}:
                return {self.thing(key): self.thing(item) for key, item in pairs}
            case {"attackers": numbers, "names": names}:
                return self._attackers(numbers, names, tree.get("levels"))
            case {"reasons": numbers, "distinct": distinct}:
                return self._reasons(numbers, distinct)
            case {"object": name, "fields": parts}:
                return self._object(name, parts)
        raise Damaged("its description has something unknown")

    def _object(self, name: str, parts: Mapping[str, Any]) -> Any:
        kind, given = CLASSES[name], {field: self.thing(part) for field, part in parts.items()}
        old = self._version == 1
        if old and kind is Table:
            given = _in_units(given)
        if kind is Levels:  # files of before version 3 have widths only
            nothing = frozen(np.zeros_like(given["conditional"]))
            given = {"conditional_lower": nothing, "conditional_upper": nothing} | given
        _refuse(name, type_faults(kind, given))
        made = kind(**given)
        if isinstance(made, Table):
            _refuse(name, list(table_faults(made)))
        if isinstance(made, Problem):
            if old:
                _check_old(made)
            _refuse(name, list(problem_faults(made)))
        return made

    def _matrix(self, numbers: Sequence[int], shape: Sequence[int]) -> csr_array:
        data, indices, indptr = (self._array(number) for number in numbers)
        rows, columns = (int(size) for size in shape)
        matrix = csr_array((data, indices, indptr), shape=(rows, columns))
        matrix.check_format(full_check=True)
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.flags.writeable = False
        return matrix

    def _texts(self, numbers: Sequence[int]) -> tuple[str, ...]:
        data, ends = (self._array(number) for number in numbers)
        _check_ends(ends, data)
        content, bounds = data.tobytes(), [0, *ends.tolist()]
        return tuple(content[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(bounds))

    def _attackers(
        self, numbers: Sequence[int], names: Sequence[int], levels: Sequence[int] | None
    ) -> tuple[Attacker, ...]:
        """The attackers; files of before version 3 have no levels against single ones."""
        known = list(self._ragged(numbers, 3))
        own = [AttackerLevels.none() for _ in known]
        if levels is not None:
            own = [AttackerLevels(*parts) for parts in self._ragged(levels, 4)]
            _refuse(
                "AttackerLevels", [fault for each in own for fault in type_faults(type(each), vars(each))]
            )
        found = zip(self._texts(names), known, own, strict=True)
        return tuple(Attacker(name, cells, low, high, each) for name, (cells, low, high), each in found)

    def _ragged(self, numbers: Sequence[int], count: int) -> Iterator[list[NDArray[Any]]]:
        """The `count` arrays of each of several objects, which are kept end to end."""
        ends, *arrays = (self._array(number) for number in numbers)
        if len(arrays) != count:
            raise Damaged("an attacker has other arrays")
        for array in arrays:
            _check_ends(ends, array)
        for start, end in pairwise([0, *ends.tolist()]):
            yield [frozen(array[start:end]) for array in arrays]

    def _reasons(self, numbers: Sequence[int], distinct: Any) -> dict[int, tuple[Reason, ...]]:
        cells, which = (self._array(number).tolist() for number in numbers)
        made = [tuple(Reason(*map(str, each)) for each in given) for given in distinct]
        return {cell: made[number] for cell, number in zip(cells, which, strict=True)}


def _in_units(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a table that was kept as values: the same in whole units, or `_Outdated`."""
    if given.get("response") == COUNT and "counts" not in given:
        raise _Outdated(["it holds counts, but not which combinations are known to be empty"])
    dimensions, codes = given["dimensions"], given["codes"]
    try:
        units = checked_units(
            given["values"], given["decimals"], lambda cell: label_of(dimensions, codes[cell])
        )
        old = {name: part for name, part in given.items() if name != "values"} | {"units": frozen(units)}
        if not type_faults(Table, old):
            made = Table(**old)
            if not list(table_faults(made, additive=False)):
                made.check_additive()
    except InputError as error:
        raise _Outdated(error.faults) from None
    return old


def _check_old(problem: Problem) -> None:
    """Raise `_Outdated` where levels and bounds are no whole units."""
    decimals = problem.table.decimals
    known = [("bounds", problem.outsider_low), ("bounds", problem.outsider_high)]
    known += [(f"bounds of {who.name!r}", end) for who in problem.attackers for end in (who.low, who.high)]
    faults = [
        f"the {name} are no whole multiples of the data unit"
        for name, array in (*((f"{name} levels", level) for name, level in problem.levels.named()), *known)
        if not is_whole(array, nearest_units(array, decimals), decimals).all()
    ]
    if faults:
        raise _Outdated(list(dict.fromkeys(faults)))


def _check_ends(ends: NDArray[Any], data: NDArray[Any]) -> None:
    """Raise unless these are the ends of parts that make up the data."""
    flat = ends.dtype == np.int64 and ends.ndim == data.ndim == 1
    fine = flat and bool((np.diff(ends, prepend=0) >= 0).all())
    if not fine or (int(ends[-1]) if ends.size else 0) != data.size:
        raise Damaged("the parts of an array are not those announced")


def _refuse(name: str, faults: list[str]) -> None:
    if faults:
        raise InputError(name, faults)
