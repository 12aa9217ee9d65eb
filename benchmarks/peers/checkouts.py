"""The package before its kernels were compiled ahead of time, in an environment of its own."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

from peers.process import ENVIRONMENTS, environment

ROOT = ENVIRONMENTS.parents[1]
BEFORE = "5ff32a9"
"""The last commit whose kernels numba compiles at their first use."""


def before() -> tuple[Path, Path]:
    """Its Python, with all that it needs, and the folder of its source."""
    ENVIRONMENTS.mkdir(exist_ok=True)
    folder = ENVIRONMENTS / f"source-{BEFORE}"
    with (ENVIRONMENTS / "source.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            archive = subprocess.run(
                ["git", "archive", BEFORE], cwd=ROOT, check=True, capture_output=True
            ).stdout
            part = folder.with_suffix(".part")
            part.mkdir(exist_ok=True)
            subprocess.run(["tar", "-x", "-C", str(part)], input=archive, check=True)
            part.rename(folder)
    return environment(f"before-{BEFORE}", str(folder)), folder / "src"
