"""Cloak files that unpack to more than they should, or to something else than they say."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.errors import InputError
from tablecloak.formats import CloakLimits, read_cloak, write_cloak

DATA = write_cloak(next(iter(FIXTURES.values()))())
MEGABYTE = 1 << 20


def packed(change: Callable[[dict[str, bytes]], None], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """The file with other entries, checksums and sizes being right."""
    with zipfile.ZipFile(io.BytesIO(DATA)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return result.getvalue()


def array(header: bytes, content: bytes = b"") -> bytes:
    """An .npy file with any header."""
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def with_array(content: bytes) -> bytes:
    return packed(lambda entries: entries.update({"arrays/0.npy": content}))


def refused(data: bytes, limits: CloakLimits | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_cloak(data, limits)
    assert caught.value.what == "Cloak file"
    return str(caught.value)


def test_a_bomb_is_not_unpacked() -> None:
    bomb = packed(lambda entries: entries.update({"zeros": bytes(80 * MEGABYTE)}))
    assert len(bomb) < MEGABYTE and "unpack to far more than a table needs" in refused(bomb)
    read_cloak(bomb, CloakLimits(most_ratio=1e6))
    assert "more than is allowed" in refused(DATA, CloakLimits(most_bytes=1000))
    assert "more than is allowed" in refused(DATA, CloakLimits(most_entries=3))


def test_an_entry_larger_than_announced_is_not_unpacked() -> None:
    """The directory says that an entry is small; what it unpacks to is not."""
    name = b"arrays/0.npy"
    bomb = bytearray(with_array(bytes(30 * MEGABYTE)))
    for at in (
        bomb.find(b"PK\x03\x04", bomb.find(name) - 40),
        bomb.rfind(b"PK\x01\x02", 0, bomb.rfind(name)),
    ):
        place = at + (22 if bomb[at : at + 4] == b"PK\x03\x04" else 24)
        bomb[place : place + 4] = struct.pack("<I", 500)
    assert "it is damaged" in refused(bytes(bomb))


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999999,), }\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }\n",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n",
        b"{'descr': '<f3', 'fortran_order': False, 'shape': (1,), }\n",
        b"{'descr': '<M8', 'fortran_order': False, 'shape': (1,), }\n",
        b"{'descr': '<f8', 'fortran_order': True, 'shape': (1,), }\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': " + b"(" * 5000 + b"}\n",
        b"{\n\n\n",
        b"",
    ],
)
def test_headers_of_arrays_are_checked_before_memory_is_taken(header: bytes) -> None:
    """TokenError, MemoryError and RecursionError escaped here."""
    assert "it is damaged" in refused(with_array(array(header, bytes(16))))


def test_bytes_that_are_no_truth_values_or_texts() -> None:
    flags = np.array([True, False]).tobytes().replace(b"\1", b"\7")
    header = b"{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }\n"
    assert "truth values" in refused(with_array(array(header, flags)))
    header = b"{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }\n"
    assert "texts" in refused(with_array(array(header, b"\xff\xff\xff\x7f")))


def test_entries_that_are_packed_otherwise_or_twice() -> None:
    assert "packed in another way" in refused(packed(lambda entries: None, zipfile.ZIP_LZMA))
    assert "packed in another way" in refused(packed(lambda entries: None, zipfile.ZIP_BZIP2))
    stored = packed(lambda entries: None, zipfile.ZIP_STORED)
    assert len(read_cloak(stored).__repr__()) > 0
    twice = io.BytesIO(DATA)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(twice, "a") as archive:
        archive.writestr("meta.json", "{}")
    assert "twice" in refused(twice.getvalue())


def test_an_array_is_used_once() -> None:
    """Or a small description could ask for a large array again and again."""

    def again(entries: dict[str, bytes]) -> None:
        entries["meta.json"] = entries["meta.json"].replace(b'"array": 1\n', b'"array": 0\n')

    assert "it is damaged" in refused(packed(again))


@pytest.mark.parametrize(
    "meta", [b"[" * 100_000, b'{"a":' * 50_000, b"1" * 10_000, b"\xff\xfe", b"", b"null", b"[]"]
)
def test_strange_descriptions(meta: bytes) -> None:
    refused(packed(lambda entries: entries.update({"meta.json": meta})))


def test_deep_descriptions() -> None:
    deep = b'{"list": [' * 400 + b"null" + b"]}" * 400
    start = b'{"format": "tablecloak cloak file", "version": 1, "holds": '
    refused(packed(lambda entries: entries.update({"meta.json": start + deep + b"}"})))
