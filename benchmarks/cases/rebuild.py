"""The package before its source was rebuilt (commit a5a79d9, kernels by numba) and this checkout, side by side.

Instances of the parts `exact`, `csplib` and `methods`, as JJ files that both read. A row is one method on one instance:
first the old code, then this one, in a process each, with the same limit on the clock. Compare `cpu_s`, the time on
the processor; on a busy machine a run that its limit ends has less of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from cases.base import WARMING, Make, Part, sizes, tidy
from cases.methods import MAKERS, SUPPRESSIONS, applicable
from cases.real_data import CSPLIB, csplib_problem
from peers.checkouts import ROOT, before
from peers.process import SCRIPTS
from runner import Case, Row, code_facts
from tablecloak import write_jj
from tablecloak.testing.instances import class_one, class_two, generator_one

BEFORE = "a5a79d9"
SECONDS = 10.0
SLACK = 900.0
"""Seconds for both processes beside the limits: loading, warming, compiling by numba at its first use, the audit."""
NEWER = {"suppress-hypercube", "suppress-gauss", "suppress-modular"}
"""Methods that the old code does not have."""
COMPARED = ("targus", "table7", "table8", "table1", "hier13x7x7d", "hier13x13x7d")
"""Instances on which all methods are compared."""
COLUMNS = ("status", "cost", "bound", "nodes", "cpu_s", "seconds")


def instances() -> Iterator[tuple[str, str, Make, str]]:
    """The part, the name, the problem and the method of every row."""
    for size in (20, 50, 100, 200):
        for seed in (0, 1):
            for name, kind in (("I", class_one), ("II", class_two)):
                make = partial(kind, size, size, seed)
                yield "exact", f"class {name} {size}x{size} seed {seed}", make, "suppress-optimal"
    for size, sensitive in ((50, 25), (100, 100)):
        make = partial(generator_one, size, size, sensitive, 0)
        yield "exact", f"generator 1 {size}x{size}, {sensitive} sensitive", make, "suppress-optimal"
    for name in CSPLIB:
        yield "csplib", name, partial(csplib_problem, name), "suppress-greedy"
    for name in COMPARED:
        for method in SUPPRESSIONS:
            if applicable(method, name) and method not in NEWER | {"suppress-greedy"}:  # csplib has that
                yield "methods", name, MAKERS[name], method


def cases(seconds: float | None) -> Iterator[Case]:
    """One method on one instance, by both checkouts."""
    limit = seconds or SECONDS
    for part, name, make, method in instances():
        facts = {"part": part, "name": name, "method": method, "limit_s": f"{limit:g}"}
        measure = partial(both_row, make, method, limit)
        yield Case(f"{part}: {name}, {method}", measure, 2 * limit + SLACK, (part,), facts)


def both_row(make: Make, method: str, seconds: float) -> Row:
    """The old code, then this one."""
    problem = make()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for number, each in enumerate((problem, *(make_small() for make_small in WARMING))):
            (folder / f"{number}.jj").write_text(write_jj(each), encoding="utf-8")
        order = {
            "instance": str(folder / "0.jj"),
            "warming": [str(folder / f"{number + 1}.jj") for number in range(len(WARMING))],
            "method": method,
            "seconds": seconds,
        }
        old = run(*before(BEFORE), order)
        new = run(Path(sys.executable), ROOT / "src", order)
    row: Row = {**code_facts(), **sizes(problem), "status": f"{old['status']}; {new['status']}"}
    for column in COLUMNS[1:]:
        for version, found in (("before", old), ("now", new)):
            row[f"{column}_{version}"] = tidy(found.get(column))
    if old.get("cpu_s") and new.get("cpu_s"):
        row["ratio"] = round(new["cpu_s"] / old["cpu_s"], 2)
    return row


def run(python: Path, source: Path, order: dict[str, Any]) -> dict[str, Any]:
    """What one checkout says; it must be the one that was meant."""
    done = subprocess.run(
        [str(python), "-P", str(SCRIPTS / "checkout_run.py")],
        input=json.dumps(order),
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        return {"status": f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1][:100]}"}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert Path(answer.pop("source")).is_relative_to(source), "another checkout was imported"
    return answer


PARTS = (
    Part(
        "rebuild",
        "exact, csplib and methods before the rebuild of the source and now, side by side",
        cases,
        True,
    ),
)
