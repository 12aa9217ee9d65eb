"""Files in and out, and the numbers in them.

Text of any common encoding is read; nothing half-written is ever left behind; numbers read back as written.
"""

from __future__ import annotations

import csv
import io
import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import InputError
from tablecloak.locks import PRIVATE_FILE, Draft, normal_mode, remove_dead


def read_text(source: str | Path, what: str = "File") -> str:
    """The text of a file in UTF-8 (a byte order mark is dropped) or else Latin-1, with plain line ends."""
    path, data = source, read_bytes(source, what)
    if b"\0" in data:
        raise InputError(f"{what} {path}", ["it is not a text file (it contains zero bytes)"])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(source: str | Path, what: str = "File") -> bytes:
    """The bytes of a file; a device that never ends is refused."""
    if not isinstance(source, str | os.PathLike):
        raise InputError(what, [f"expected a path, got {type(source).__name__}"])
    path = Path(source)
    try:
        mode = path.stat().st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise InputError(f"{what} {path}", ["it is a device, not a file"])
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{what} {path}", [_why_unreadable(path, error)]) from None


def read_rows(text: str, separator: str, what: str, strict: bool = False) -> list[tuple[int, list[str]]]:
    """Line number and fields of every line of CSV text that is not empty; blanks after a separator are skipped."""
    reader = csv.reader(
        io.StringIO(text.removeprefix("\ufeff"), newline=""),
        delimiter=separator,
        skipinitialspace=True,
        strict=strict,
    )
    try:
        return [(reader.line_num, row) for row in reader if any(field.strip() for field in row)]
    except csv.Error as error:
        raise InputError(what, [f"line {reader.line_num}: {error}"]) from None


def parse_numbers(texts: Sequence[str]) -> Floats:
    """The numbers written in the texts; NaN where one is no number."""
    try:
        if "_" not in " ".join(texts):
            return np.array(list(map(float, texts)), dtype=np.float64)
    except ValueError:
        pass
    return np.array([_number(text) for text in texts], dtype=np.float64)


def _number(text: str) -> float:
    try:
        return np.nan if "_" in text else float(text)
    except ValueError:
        return np.nan


def number_texts(numbers: Floats) -> list[str]:
    """Each number in the fewest digits that read back as the same number; whole ones without a point."""
    return [
        repr(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
        for number in numbers.tolist()
    ]


def check_writable(paths: Iterable[Path], inputs: Iterable[Path] = ()) -> None:
    """Raise one `InputError` with every path that cannot be written, before long work is done for nothing.

    No path may be named twice or be one of the `inputs`, which would be lost.
    """
    wanted = list(paths)
    wrong = {path: fault for path in wanted if (fault := _why_unwritable(path))}
    faults = [f"{path}: {fault}" for path, fault in wrong.items()]
    fine = [path for path in wanted if path not in wrong]
    faults += [f"{path}: it is asked for twice" for path in _repeated(fine)]
    kept = {path.resolve() for path in inputs}
    faults += [f"{path}: it is an input file" for path in fine if path.resolve() in kept]
    if faults:
        raise InputError("Output files", faults)


def write_files(
    contents: Mapping[Path, str | bytes],
    *,
    public: Collection[Path] = (),
    commit: Callable[[], None] | None = None,
) -> None:
    """Write each text (as UTF-8) or its bytes to a path: all to drafts beside, then these are renamed.

    An existing file keeps its old content until all new contents are complete; what fails before that leaves
    nothing behind. Only their owner can read the files, but for those that are `public`. `commit` is called when
    all drafts are complete, right before they are renamed. Drafts that dead processes left in the same folders are
    removed. Paths that are not regular files (a terminal, a pipe, /dev/null) are written straight.
    """
    drafts: list[tuple[Path, Draft, int]] = []
    path = Path()
    try:
        for path, content in contents.items():
            data = content.encode("utf-8") if isinstance(content, str) else content
            if path.exists() and not path.is_file() and not path.is_dir():
                path.write_bytes(data)
            else:
                target = path.resolve()
                if all(target.parent != other.parent for other, _, _ in drafts):
                    remove_dead(target.parent)
                draft = Draft(target.parent)
                drafts.append((target, draft, normal_mode() if path in public else PRIVATE_FILE))
                draft.write(data)
        if commit is not None:
            commit()
        for path, draft, mode in drafts:
            draft.become(path, mode)
    except (OSError, ValueError, RuntimeError) as error:  # a zero byte in the name; links in a circle
        why = getattr(error, "strerror", None) or "cannot be written"
        raise InputError("Output files", [f"{path}: {why}"]) from None
    finally:
        for _, draft, _ in drafts:
            draft.discard()


def write_file(path: Path, content: str | bytes, *, public: bool = False) -> None:
    """Write one text or its bytes atomically, as `write_files` does."""
    write_files({path: content}, public=[path] if public else ())


def is_file(path: Path) -> bool:
    """Whether a file is there; a name that no file can have is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether a folder is there."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def make_folder(path: Path) -> None:
    """Make a folder (and those above it) unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("Output folder", [f"{path}: {error.strerror or 'cannot be made'}"]) from None


def _why_unreadable(path: Path, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if is_folder(path):
        return "it is a directory, not a file"
    return f"it cannot be read ({getattr(error, 'strerror', None) or error})"


def _why_unwritable(path: Path) -> str:
    try:
        if path.is_dir():
            return "it is a directory"
        if not path.parent.is_dir():
            return f"there is no directory {path.parent}"
        path.resolve()
        place = path if path.exists() and not path.is_file() else path.parent
        return "" if os.access(place, os.W_OK) else "it cannot be written (permission denied)"
    except (OSError, ValueError, RuntimeError) as error:  # a name that is too long; links in a circle
        return f"it cannot be written ({getattr(error, 'strerror', None) or 'no name of a file'})"


def _repeated(paths: list[Path]) -> list[Path]:
    regular = [path.resolve() for path in paths if path.is_file() or not path.exists()]
    return sorted({path for path in regular if regular.count(path) > 1})
