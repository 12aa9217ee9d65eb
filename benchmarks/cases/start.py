"""How soon the package is there: import, version, first and second call, demonstration; what it takes on the disk."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cases.base import Part
from peers.checkouts import ROOT, before
from peers.process import environment
from runner import Case, Row

REPETITIONS = 9
FIRST = """
import json, time
import numpy as np
from tablecloak import Dimension, Levels, Problem, Table, protect
rng = np.random.default_rng(0)
dimensions = [Dimension.flat(name, [f"{name}{k}" for k in range(8)]) for name in "xy"]
row, column = np.indices((8, 8)).reshape(2, -1)
cells = {"x": [f"x{k}" for k in row], "y": [f"y{k}" for k in column], "value": rng.integers(1, 1000, 64).astype(float)}
table = Table.from_cells(dimensions, cells, recompute=True)
few = np.zeros(len(table), bool)
few[rng.choice(np.flatnonzero(table.is_leaf), 5, replace=False)] = True
level = np.where(few, np.ceil(0.15 * table.values), 0.0)
problem = Problem.of(table, few, Levels.of(len(table), level, level))
for _ in range(2):
    start = time.perf_counter()
    result = protect(problem, params={"seconds": 2.0})
    print(time.perf_counter() - start, result.cost)
"""
"""The first case of a new user: an 8 x 8 table with a limit of 2 s, twice."""


def python_of(version: str) -> Path:
    """The Python of a fresh environment with the package as users install it."""
    return before()[0] if version == "before" else environment("after", str(ROOT))


def seconds_of(command: list[str]) -> tuple[float, float]:
    """Median seconds on the clock and on the processor of a program that is run some times."""
    clock, work = [], []
    for _ in range(REPETITIONS):
        start, used = time.perf_counter(), os.times()
        subprocess.run(command, check=True, capture_output=True)
        clock.append(time.perf_counter() - start)
        now = os.times()
        work.append(now.children_user + now.children_system - used.children_user - used.children_system)
    return statistics.median(clock), statistics.median(work)


def import_row(version: str) -> Row:
    """`import tablecloak` beside `import numpy, scipy.sparse`, the start of Python apart."""
    python = str(python_of(version))
    programs = ("pass", "import numpy, scipy.sparse", "import tablecloak")
    (_, idle), (_, floor), (clock, work) = (seconds_of([python, "-c", each]) for each in programs)
    return {
        "seconds": round(clock, 3),
        "cpu_s": round(work - idle, 3),
        "numpy_scipy_cpu_s": round(floor - idle, 3),
        "ratio": round((work - idle) / (floor - idle), 2),
        "status": "done",
    }


def version_row(version: str) -> Row:
    """`tablecloak --version`."""
    clock, work = seconds_of([str(python_of(version).with_name("tablecloak")), "--version"])
    return {"seconds": round(clock, 3), "cpu_s": round(work, 3), "status": "done"}


def first_row(version: str) -> Row:
    """The first and the second `protect` of a process, with nothing compiled before."""
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [str(python_of(version)), "-c", FIRST],
            env={**os.environ, "NUMBA_CACHE_DIR": empty},
            check=True,
            capture_output=True,
            text=True,
        )
    (first, cost), (second, again) = (map(float, line.split()) for line in done.stdout.splitlines())
    return {
        "seconds": round(first, 3),
        "second_s": round(second, 3),
        "cost": cost,
        "same_cost": cost == again,
        "status": "done",
    }


def size_row(version: str) -> Row:
    """Megabytes of the environment, pip and its tools apart."""
    python = python_of(version)
    (site,) = python.parents[1].glob("lib/*/site-packages")
    files = [
        path for path in site.rglob("*") if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")
    ]
    tools = ("pip", "setuptools", "wheel", "_distutils_hack", "pkg_resources")
    kept = [path for path in files if not path.relative_to(site).parts[0].startswith(tools)]
    return {"megabytes": round(sum(path.stat().st_size for path in kept) / 1e6), "status": "done"}


def demo_row(version: str) -> Row:
    """`make demo` in a fresh clone, then once more: the second run installs and builds nothing."""
    commit = "HEAD" if version == "after" else "5ff32a9"
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        subprocess.run(["git", "checkout", "--quiet", commit], cwd=clone, check=True)
        spent = []
        for _ in range(2):
            start = time.perf_counter()
            subprocess.run(["make", "demo"], cwd=clone, check=True, capture_output=True)
            spent.append(time.perf_counter() - start)
            shutil.rmtree(clone / "tablecloak-demo", ignore_errors=True)
    return {"seconds": round(spent[0], 1), "second_s": round(spent[1], 1), "status": "done"}


ROWS: dict[str, Callable[[str], Row]] = {
    "import": import_row,
    "version": version_row,
    "first protect": first_row,
    "install size": size_row,
    "make demo": demo_row,
}


def cases(seconds: float | None) -> Iterator[Case]:
    """Each before and after the kernels were compiled ahead of time."""
    for name, row in ROWS.items():
        for version in ("before", "after"):
            yield Case(f"{name}, {version}", partial(row, version), seconds or 1200.0, (name,))


PARTS = (Part("start", "import, version, first call, install size and demo, before and after", cases),)
