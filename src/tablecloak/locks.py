"""Drafts and private folders that carry a lock, and the removal of those whose process is dead.

The lock (``flock``) is on the file or the folder itself. The kernel drops it when the process ends, however that
ends, so what can be locked has no owner any more. Where a file system has no such locks, and on Windows, nothing
is ever removed.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tablecloak.errors import InputError

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
_DRAFT = re.compile(r"\.tablecloak-[0-9a-f]{16}\.draft")
_FOLDER = re.compile(r"tablecloak-[0-9a-f]{16}\.private")


class Draft:
    """A file that only its owner can read, locked while it is written; it becomes another file or is removed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f".tablecloak-{secrets.token_hex(8)}.draft"
        self._descriptor = -1

    def write(self, data: bytes) -> None:
        """Make the file, lock it, and write everything to the disk."""
        while self._descriptor < 0:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            self._descriptor = os.open(self.path, flags, PRIVATE_FILE)
            if not _hold(self.path, self._descriptor):  # taken for dead before it was locked: once more
                self._close()
        left = memoryview(data)
        while left:
            left = left[os.write(self._descriptor, left) :]
        os.fsync(self._descriptor)

    def become(self, target: Path, mode: int = PRIVATE_FILE) -> None:
        """Take the place of the target; only there it gets another mode."""
        if sys.platform == "win32":
            self._close()
            self.path.replace(target)
            return
        self.path.replace(target)
        os.fchmod(self._descriptor, mode)
        self._close()

    def discard(self) -> None:
        """Remove what is left of it: nothing, where it has become another file."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        self._close()

    def _close(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)


def temporary_place() -> Path:
    """The system's folder for temporary files, as `tempfile` chooses it.

    `tempfile` writes a file there to see whether it can, and a process killed at that moment leaves it; permissions
    are read here instead.
    """
    candidates = [tempfile.tempdir, *(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))]
    if os.name == "posix":
        candidates += ["/tmp", "/var/tmp", "/usr/tmp"]
    for candidate in candidates:
        if (
            candidate
            and Path(place := os.fsdecode(candidate)).is_dir()
            and os.access(place, os.W_OK | os.X_OK)
        ):
            return Path(place).absolute()
    return Path(tempfile.gettempdir())


@contextmanager
def private_folder(place: Path | None = None) -> Iterator[Path]:
    """A locked folder that only its owner can enter, in `place` or among temporary files; it is gone afterwards.

    Those that dead processes left in the same place are removed first.
    """
    place = temporary_place() if place is None else place
    remove_dead(place)
    folder, descriptor = place / f"tablecloak-{secrets.token_hex(8)}.private", -1
    try:
        try:
            descriptor = _made(folder)
        except OSError as error:
            fault = f"{place}: {error.strerror or 'no folder can be made there'}"
            raise InputError("Temporary files", [fault]) from None
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if descriptor >= 0:
            os.close(descriptor)


def remove_dead(place: Path) -> None:
    """Remove drafts and private folders in `place` that belong to no living process. Others are never touched."""
    if sys.platform == "win32":
        return
    with suppress(OSError), os.scandir(place) as entries:
        for entry in list(entries):
            if _DRAFT.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_if_dead(Path(entry.path), os.O_RDWR | os.O_NONBLOCK)
            elif _FOLDER.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_if_dead(Path(entry.path), os.O_RDONLY | os.O_DIRECTORY)


def normal_mode() -> int:
    """What a new file may be used for by whom, as the user's umask says."""
    mask = os.umask(0o077)  # there is no other way to read it; files made meanwhile are private
    os.umask(mask)
    return 0o666 & ~mask


def _made(folder: Path) -> int:
    """Make a folder and lock it; its descriptor, or -1 on Windows."""
    if sys.platform == "win32":
        folder.mkdir()
        return -1
    while True:
        folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
        with suppress(FileNotFoundError):  # taken for dead before it was locked: once more
            descriptor = os.open(folder, os.O_RDONLY)
            if _hold(folder, descriptor):
                return descriptor
            os.close(descriptor)


def _hold(path: Path, descriptor: int) -> bool:
    """Lock what was just made; False if another process has removed it before."""
    with suppress(OSError):  # a file system without locks: nothing is locked, nothing removed
        _lock(descriptor, wait=True)
    return _is_at(path, descriptor)


def _lock(descriptor: int, wait: bool) -> None:
    """Lock a file or a folder; an OSError if it is locked, or cannot be."""
    if sys.platform == "win32":
        raise OSError("there are no such locks")
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _remove_if_dead(path: Path, flags: int) -> None:
    if sys.platform == "win32":
        return
    descriptor = os.open(path, flags | os.O_NOFOLLOW)
    try:
        about = os.fstat(descriptor)
        private = stat.S_IMODE(about.st_mode) in (PRIVATE_FILE, PRIVATE_FOLDER)
        if about.st_uid != os.geteuid() or not private:
            return
        _lock(descriptor, wait=False)
        if not _is_at(path, descriptor):
            return
        if stat.S_ISDIR(about.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        elif stat.S_ISREG(about.st_mode):
            path.unlink()
    finally:
        os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether a path still leads to what was opened."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
