"""The zip file around a cloak file, opened with care: sizes are checked before anything is unpacked.

A file of a few kilobytes can be made to unpack to terabytes, and the header of an array can ask for more memory than
there is. Here nothing is unpacked beyond what the file's own directory announces, the sum of that is limited, and an
array must be exactly as large as its header says.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
