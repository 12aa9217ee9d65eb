"""Every kernel against the version of it that numba compiled: the same calls in two processes, taking turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from cases.base import Part
from peers.checkouts import BEFORE, ROOT, before
from peers.kernels import TIMED
from runner import Case, Row

TURNS = 5
"""How often each version is timed; the least time of all counts."""
SCRIPT = ROOT / "benchmarks" / "peers" / "kernels.py"


class Timer:
    """A process with the kernels of one checkout."""

    def __init__(self, python: Path, source: Path) -> None:
        self.process = subprocess.Popen(
            [str(python), "-P", str(SCRIPT)],
            env={**os.environ, "PYTHONPATH": str(source)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """The answer to one order."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def kernel_row(kernel: str, size: str) -> Row:
    """Microseconds of both versions, and whether they gave the same bytes."""
    versions = Timer(*before()), Timer(Path(sys.executable), ROOT / "src")
    order = {"kernel": kernel, "size": size, "repeat": 3}
    try:
        turns = [[version.ask(order) for version in versions] for _ in range(TURNS)]
    finally:
        for version in versions:
            version.close()
    numba, now = (min(turn[side]["seconds"] for turn in turns) for side in range(2))
    same = all(one["digest"] == turns[0][0]["digest"] for turn in turns for one in turn)
    return {
        "before": BEFORE,
        "numba_us": round(1e6 * numba, 1),
        "compiled_us": round(1e6 * now, 1),
        "ratio": round(now / numba, 2),
        "same_bytes": same,
        "status": "same" if same else "different",
    }


def cases(seconds: float | None) -> Iterator[Case]:
    """Each kernel, or the few that are called together, on a small and on a large input."""
    for timed in TIMED:
        for size in ("small", "large"):
            name = f"{timed.__name__}, {size}"
            yield Case(name, partial(kernel_row, timed.__name__, size), seconds or 300.0, (size,))


PARTS = (Part("kernels", "every kernel beside its numba version", cases),)
