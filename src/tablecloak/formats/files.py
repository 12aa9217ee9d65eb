"""Files in and out: text of any common encoding is read, and nothing half-written is ever left behind."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from tablecloak.errors import InputError


def read_text(source: str | Path, what: str = "File") -> str:
    """The text of a file in UTF-8 (with or without a byte order mark) or else Latin-1; line ends become ``\\n``."""
    path = Path(source)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{what} {path}", [_why_unreadable(path, error)]) from None
    if b"\0" in data:
        raise InputError(f"{what} {path}", ["it is not a text file (it contains zero bytes)"])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def check_writable(paths: Iterable[Path]) -> None:
    """Raise one `InputError` with every path that cannot be written, before long work is done for nothing."""
    wanted = list(paths)
    faults = [f"{path}: {fault}" for path in wanted if (fault := _why_unwritable(path))]
    faults += [f"{path}: it is asked for twice" for path in _repeated(wanted)]
    if faults:
        raise InputError("Output files", faults)


def write_files(texts: Mapping[Path, str]) -> None:
    """Write each text (UTF-8) to its path, all or none: temporary files beside them first, then renamed.

    An existing file keeps its old content until the new one is complete. Paths that are no regular files
    (a terminal, a pipe) are written straight.
    """
    drafts: dict[Path, Path] = {}
    try:
        for path, text in texts.items():
            if path.exists() and not path.is_file() and not path.is_dir():
                path.write_text(text, encoding="utf-8", newline="\n")
            else:
                target = path.resolve()
                draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
                drafts[draft] = target
                _write_draft(draft, text)
        for draft, target in drafts.items():
            draft.replace(target)
    except OSError as error:
        name = error.filename2 or error.filename or ", ".join(map(str, texts))
        raise InputError("Output files", [f"{name}: {error.strerror or 'cannot be written'}"]) from None
    finally:
        for draft in drafts:
            draft.unlink(missing_ok=True)


def write_file(path: Path, text: str) -> None:
    """Write one text atomically, as `write_files` does."""
    write_files({path: text})


def _write_draft(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _why_unreadable(path: Path, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if path.is_dir():
        return "it is a directory, not a file"
    return f"it cannot be read ({getattr(error, 'strerror', None) or error})"


def _why_unwritable(path: Path) -> str:
    if path.is_dir():
        return "it is a directory"
    if not path.parent.is_dir():
        return f"there is no directory {path.parent}"
    place = path if path.exists() and not path.is_file() else path.parent
    return "" if os.access(place, os.W_OK) else "it cannot be written (permission denied)"


def _repeated(paths: list[Path]) -> list[Path]:
    regular = [path.resolve() for path in paths if path.is_file() or not path.exists()]
    return sorted({path for path in regular if regular.count(path) > 1})
