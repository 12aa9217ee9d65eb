"""Killed jobs: whatever the moment, nothing half-written stands under a final name, and the next run cleans up.

A seed chooses the signal (SIGKILL or SIGTERM) and the moment at which a real ``tablecloak run`` of a small survey is
hit: after a random time, or between two steps of the last part, when files are written. After the kill every output
must be as it was before or complete; after the next whole run no draft and no private folder may be left.

    python benchmarks/cases/reliability/kills.py FIRST LAST
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tablecloak.examples import path as example
from tablecloak.job import Job, run_job

SURVEY = ("business_survey.csv", "region.csv", "size.csv")
JOB = """
[data]
path = "business_survey.csv"
weight = "weight"
respondent = "enterprise"

[[dimension]]
name = "region"
hierarchy = "region.csv"

[[dimension]]
name = "size"
hierarchy = "size.csv"

[table]
response = "turnover"

[[rule]]
rule = "p-percent"
p = 10

[protect]
method = "suppress-greedy"

[publish]
outputs = ["safe.csv", "safe.html"]

[report]
json = "record.json"
pattern = "pattern.csv"
problem = "problem.cloak"
"""
OUTPUTS = ("safe.csv", "safe.html", "record.json", "pattern.csv", "problem.cloak")
SAME = ("safe.csv", "safe.html", "pattern.csv", "problem.cloak")
"""Outputs that are the same bytes in every run."""
CONFIDENTIAL = ("record.json", "pattern.csv", "problem.cloak")
PUBLIC = ("safe.csv", "safe.html")
PROGRAM = """
import os, sys, time
import tablecloak.locks as locks

where, pause = sys.argv.pop(1), float(sys.argv.pop(1))

def slow(function):
    def run(*given, **options):
        print("here", flush=True)
        time.sleep(pause)
        return function(*given, **options)
    return run

if where == "write":
    os.write = slow(os.write)
elif where == "sync":
    os.fsync = slow(os.fsync)
elif where == "rename":
    locks.Draft.become = slow(locks.Draft.become)
elif where == "database":
    import duckdb
    duckdb.connect = slow(duckdb.connect)
from tablecloak.cli import main
main()
"""
PLACES = ("any time", "database", "write", "sync", "rename")
ALLOWED = (0, 6, 130, -signal.SIGKILL, -signal.SIGTERM)


@dataclass
class Counts:
    """How many kills ended how, and what was wrong after them."""

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def run(seeds: Iterable[int]) -> Counts:
    """Kill one job for each seed, look at what it left, and run it again."""
    counts = Counts()
    with tempfile.TemporaryDirectory(prefix="tablecloak-kills-") as name:
        place = Path(name)
        reference, seconds = _reference(place)
        for seed in seeds:
            killed = _Killed(place / f"seed-{seed}", random.Random(seed), reference, seconds)
            told, faults = killed.outcome()
            counts.outcomes[told] += 1
            counts.faults += [f"seed {seed}, {told}: {fault}" for fault in faults]
    return counts


def _reference(place: Path) -> tuple[dict[str, bytes], float]:
    """The outputs of a whole run, and how long it takes."""
    folder = _prepared(place / "reference")
    start = time.perf_counter()
    process = _started(folder)
    _, told = process.communicate()
    seconds = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"a run that is left alone failed: {told.decode()}")
    return {name: (folder / name).read_bytes() for name in OUTPUTS}, seconds


def _prepared(folder: Path) -> Path:
    (folder / "temporary").mkdir(parents=True)
    for name in SURVEY:
        shutil.copy(example(name), folder / name)
    (folder / "job.toml").write_text(JOB)
    return folder


def _started(folder: Path, where: str = "", pause: float = 0.0) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", PROGRAM, where, str(pause), "run", str(folder / "job.toml")]
    environment = os.environ | {"TMPDIR": str(folder / "temporary")}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _finished(folder: Path) -> None:
    """A whole run, in this process."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder / "temporary")
    try:
        run_job(Job.read(folder / "job.toml"))
    finally:
        tempfile.tempdir = before


class _Killed:
    """One job that is killed, and what is left of it."""

    def __init__(self, folder: Path, rng: random.Random, reference: dict[str, bytes], seconds: float) -> None:
        self.folder = _prepared(folder)
        self.number = rng.choice((signal.SIGKILL, signal.SIGTERM))
        self.where = rng.choice(PLACES)
        self.old = rng.random() < 0.5  # whether outputs of an earlier run are there
        self.rng, self.reference, self.seconds = rng, reference, seconds

    def outcome(self) -> tuple[str, list[str]]:
        """What was done, and everything wrong with what was found then."""
        if self.old:
            for name, data in self.reference.items():
                (self.folder / name).write_bytes(data if name in SAME else b"of an earlier run")
        code = self._kill()
        faults = [] if code in ALLOWED else [f"exit code {code}"]
        faults += self._half_written(code)
        _finished(self.folder)
        faults += self._left_over()
        shutil.rmtree(self.folder)
        return f"{self.number.name} {self.where}", faults

    def _kill(self) -> int:
        process = _started(self.folder, self.where, pause=0.2)
        if self.where == "any time":
            time.sleep(self.rng.uniform(0.0, self.seconds))
        else:
            for _ in range(self.rng.randint(1, 5)):
                if process.stdout is None or b"here" not in process.stdout.readline():
                    break
            time.sleep(self.rng.uniform(0.0, 0.2))
        process.send_signal(self.number)
        process.communicate()
        return process.returncode

    def _half_written(self, code: int) -> list[str]:
        """Outputs that are neither as they were nor complete; files that others may read though they must not."""
        faults = []
        for name in OUTPUTS:
            path = self.folder / name
            if not path.exists():
                faults += [f"{name} is gone"] if self.old else []
                continue
            data = path.read_bytes()
            whole = data == self.reference[name] if name in SAME else data.endswith(b"}\n")
            if not whole and not (self.old and data == b"of an earlier run"):
                faults.append(f"{name} is half-written")
            elif code in (130, 6) and name in PUBLIC and not self.old:
                faults.append(f"{name} is published by a run that was interrupted")
        for path in self.folder.iterdir():
            if path.name.startswith(".tablecloak") and path.stat().st_mode & 0o077:
                faults.append("a draft can be read by others")
        return faults

    def _left_over(self) -> list[str]:
        """Anything there beside inputs and outputs; modes that are wrong."""
        known = {*SURVEY, *OUTPUTS, "job.toml", "temporary"}
        faults = [f"{path.name} is left" for path in self.folder.iterdir() if path.name not in known]
        faults += [f"temporary {path.name} is left" for path in (self.folder / "temporary").iterdir()]
        for name in CONFIDENTIAL:
            if (self.folder / name).stat().st_mode & 0o077:
                faults.append(f"{name} can be read by others")
        return faults


def main(first: int, last: int) -> None:
    """Print how the kills of some seeds ended and every fault."""
    counts = run(range(first, last))
    for told, count in sorted(counts.outcomes.items()):
        print(f"{told:30}{count:5}")
    print(f"{counts.outcomes.total()} kills, {len(counts.faults)} faults")
    print("\n".join(counts.faults))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
