"""Older commits of the package, each in an environment of its own."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

from peers.process import ENVIRONMENTS, environment

ROOT = ENVIRONMENTS.parents[1]
BEFORE = "5ff32a9"
"""The last commit whose kernels numba compiles at their first use."""


def before(commit: str = BEFORE) -> tuple[Path, Path]:
    """The Python of a commit, with all that it needs, and the folder of its source."""
    ENVIRONMENTS.mkdir(exist_ok=True)
    folder = ENVIRONMENTS / f"source-{commit}"
    with (ENVIRONMENTS / "source.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            archive = subprocess.run(
                ["git", "archive", commit], cwd=ROOT, check=True, capture_output=True
            ).stdout
            part = folder.with_suffix(".part")
            part.mkdir(exist_ok=True)
            subprocess.run(["tar", "-x", "-C", str(part)], input=archive, check=True)
            part.rename(folder)
    return environment(f"before-{commit}", str(folder)), folder / "src"
