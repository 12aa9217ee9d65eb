"""Environments of other programs under benchmarks/.peers, made when first needed, and scripts that run in them."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parent
ENVIRONMENTS = SCRIPTS.parent / ".peers"


def environment(name: str, installed: str = "") -> Path:
    """The Python of a peer's environment; made with venv and pip if it is not there.

    `installed`: what pip installs, by default the package of this name.
    """
    ENVIRONMENTS.mkdir(exist_ok=True)
    python = ENVIRONMENTS / name / "bin" / "python"
    with (ENVIRONMENTS / f"{name}.lock").open("w") as lock:  # several workers may come at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (ENVIRONMENTS / name / "installed").exists():
            subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENTS / name)], check=True)
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, installed or name], check=True)
            (ENVIRONMENTS / name / "installed").touch()
    return python


@dataclass(frozen=True)
class Said:
    """What a script of a peer said: its answer, or how it ended without one."""

    status: str
    seconds: float
    answer: dict[str, Any] | None = None
    text: str = ""
    """All that it printed."""


def ask(name: str, script: Path, order: dict[str, Any], end: float) -> Said:
    """Run a script in the environment of a peer, in the folder of the order; it is killed after `end` seconds."""
    # -P: the folder of the script is not searched, for scripts have the names of the packages that they import
    command, start = [str(environment(name)), "-P", str(script)], time.perf_counter()
    try:
        done = subprocess.run(
            command,
            input=json.dumps(order),
            capture_output=True,
            text=True,
            timeout=end,
            cwd=order["folder"],
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return Said(f"killed after {end:.0f} s", end)
    spent = time.perf_counter() - start
    if done.returncode < 0:
        return Said(f"crashed: signal {-done.returncode}", spent)
    if done.returncode > 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return Said(f"error: {last[:200]}", spent)
    answers = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not answers:
        return Said("error: no answer", spent)
    return Said("", spent, json.loads(answers[-1]), done.stdout)
