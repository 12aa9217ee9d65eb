"""Drafts and private folders: what dead processes leave is removed by the next run, living ones are never touched."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from tablecloak.errors import InputError
from tablecloak.files import write_file, write_files
from tablecloak.locks import Draft, normal_mode, private_folder, remove_dead, temporary_place

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="modes, flock and SIGTERM do not apply on Windows"
)
WRITES = """
import os, sys, time
from pathlib import Path
from tablecloak import files
from tablecloak.locks import Draft

def stop(*_):
    print("ready", flush=True)
    time.sleep(600)

moment = sys.argv[2]
if moment == "made":
    os.write = stop
elif moment == "written":
    os.fsync = stop
elif moment == "renaming":
    Draft.become = stop
files.write_files({Path(sys.argv[1]) / "one.csv": "1", Path(sys.argv[1]) / "two.csv": "2"})
"""
COUNTS = """
import sys, tempfile, time
tempfile.tempdir = sys.argv[1]
from tablecloak.tabulation.duckdb.session import run
from tablecloak.tabulation import session

with session("64MB") as connection:
    run(connection, "CREATE TABLE a AS SELECT range AS i FROM range(1000)")
    print("ready", flush=True)
    time.sleep(600)
"""


def started(code: str, *arguments: object) -> subprocess.Popen[bytes]:
    """A process that has come to the point where it says that it is ready."""
    process = subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    return process


def end(process: subprocess.Popen[bytes], number: int) -> None:
    process.send_signal(number)
    process.communicate(timeout=60)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["made", "written", "renaming"])
def test_drafts_of_the_dead_are_removed(tmp_path: Path, moment: str, number: int) -> None:
    process = started(WRITES, tmp_path, moment)
    try:
        drafts = list(tmp_path.iterdir())
        assert drafts and all(mode(draft) == 0o600 for draft in drafts)
        write_file(tmp_path / "other.csv", "alive")
        assert set(drafts) < set(tmp_path.iterdir()), "those of a living process stay"
    finally:
        end(process, number)
    assert set(drafts) < set(tmp_path.iterdir()), "the dead cannot clean up"
    write_file(tmp_path / "other.csv", "again")
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_folders_of_the_dead_are_removed(tmp_path: Path, number: int) -> None:
    process = started(COUNTS, tmp_path)
    try:
        [folder] = tmp_path.iterdir()
        assert mode(folder) == 0o700 and list(folder.iterdir())
        with private_folder(tmp_path):
            assert list(folder.iterdir()), "that of a living process stays"
    finally:
        end(process, number)
    assert list(folder.iterdir())
    with private_folder(tmp_path) as own:
        assert list(tmp_path.iterdir()) == [own]
    assert not list(tmp_path.iterdir())


def test_what_others_made_is_never_touched(tmp_path: Path) -> None:
    """Names of other programs, files that others may read, links and pipes with our names."""
    name = ".tablecloak-0123456789abcdef.draft"
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / "tablecloak-demo").mkdir()
    (tmp_path / ".notes.deadbeef.tmp").write_text("mine")
    (tmp_path / "tablecloak-0123456789abcdef.private").mkdir(0o755)
    (tmp_path / name).symlink_to(target)
    os.mkfifo(tmp_path / name.replace("0", "1"), 0o600)
    (tmp_path / name.replace("0", "2")).write_text("open to all")
    before = sorted(tmp_path.iterdir())
    remove_dead(tmp_path)
    assert sorted(tmp_path.iterdir()) == before and target.read_text() == "mine"
    remove_dead(tmp_path / "there is no such folder")


def test_living_drafts_and_folders_of_the_same_process_stay(tmp_path: Path) -> None:
    draft = Draft(tmp_path)
    draft.write(b"half")
    with private_folder(tmp_path) as folder:
        worker = threading.Thread(target=remove_dead, args=[tmp_path])
        worker.start()
        worker.join()
        assert sorted(tmp_path.iterdir()) == sorted([draft.path, folder])
    draft.discard()
    assert not list(tmp_path.iterdir())


def test_a_draft_taken_for_dead_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    original, calls = fcntl.flock, list[int]()

    def late(descriptor: int, operation: int) -> None:
        calls.append(descriptor)
        if len(calls) == 1:  # another process comes between making and locking
            [path] = tmp_path.iterdir()
            path.rmdir() if path.is_dir() else path.unlink()
        original(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    write_file(tmp_path / "one.csv", "1")
    assert (tmp_path / "one.csv").read_text() == "1" and len(calls) == 2
    calls.clear()
    (tmp_path / "one.csv").unlink()
    with private_folder(tmp_path) as folder:
        assert folder.is_dir() and len(calls) == 2


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    left = Draft(tmp_path)
    left.write(b"")

    def none(descriptor: int, operation: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    write_file(tmp_path / "one.csv", "1")
    assert sorted(tmp_path.iterdir()) == sorted([left.path, tmp_path / "one.csv"])
    left.discard()


def test_no_place_for_temporary_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Temporary files"), private_folder(tmp_path / "none"):
        pass


@pytest.mark.parametrize("mask", [0o022, 0o007, 0o077])
def test_only_public_files_get_the_usual_mode(tmp_path: Path, mask: int) -> None:
    secret, public = tmp_path / "secret.json", tmp_path / "public.csv"
    secret.write_text("old")
    secret.chmod(0o666)
    before = os.umask(mask)
    try:
        write_files({secret: "s", public: "p"}, public=[public])
        assert normal_mode() == 0o666 & ~mask
    finally:
        os.umask(before)
    assert mode(secret) == 0o600 and mode(public) == 0o666 & ~mask


def test_a_public_file_is_private_until_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[int]()
    original = Draft.become

    def become(self: Draft, target: Path, mode: int = 0o600) -> None:
        seen.append(stat.S_IMODE(self.path.stat().st_mode))
        original(self, target, mode)

    monkeypatch.setattr(Draft, "become", become)
    write_file(tmp_path / "public.csv", "p", public=True)
    assert seen == [0o600]


def test_the_place_for_temporary_files_is_found_without_a_file_that_a_kill_would_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `tempfile` chooses it, which writes a file there to see whether it can."""

    def refuse(*given: object) -> int:
        raise AssertionError("nothing is written to find the place")

    monkeypatch.setattr(tempfile, "tempdir", None)
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    assert temporary_place() == Path(tempfile.gettempdir())
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(os, "write", refuse)
    monkeypatch.setenv("TMP", str(tmp_path))
    assert temporary_place() == tmp_path
    monkeypatch.setenv("TEMP", str(tmp_path / "there is no such folder"))
    assert temporary_place() == tmp_path
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path.parent))
    assert temporary_place() == tmp_path.parent
    with private_folder() as folder:
        assert folder.parent == tmp_path.parent
