"""Audits of this checkout beside those of another one: ``python benchmarks/side_by_side.py OTHER/src``.

The same instances and patterns, in processes that alternate between the two, in processor time; the least of several
runs counts. Rows are kept in benchmarks/results/audit-side-by-side.csv; what has a row is skipped. Patterns are made
once and kept in benchmarks/results/audit-patterns: those of suppress-network-flow, on slow instances what
suppress-greedy finds in 20 seconds; on Class II tables only the sensitive cells are hidden.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import typer
from numpy.typing import NDArray

from cases.real_data import CSPLIB, csplib_problem
from runner import RESULTS, Store
from tablecloak import Levels, Problem, Suppression, audit, protect, read_jj, write_jj

ROUNDS = 3
"""Processes for each checkout."""
ENOUGH = 60.0
"""Seconds after which no further round begins."""
REPEATS, SECONDS = 200, 1.0
"""Audits in each process, and their processor time together: as many as fit, but at least one."""
SLOW = ("hier16", "ninenew", "osorio", "cbs", "mixed scales 10x10x10", "mixed scales 14x14x14")
"""Instances on which suppress-network-flow takes many minutes."""
PATTERNS = RESULTS / "audit-patterns"


def mixed_scales(size: int, seed: int = 0) -> Problem:
    """A three-way table with cells of 1 to 60 beside cells of 1e8 to 1e12; a tenth of both kinds is sensitive."""
    from tablecloak.testing.random_cases import flat, table_of_leaves

    rng = np.random.default_rng(seed)
    shape = (size, size, size)
    values = np.where(
        rng.random(shape) < 0.5, rng.integers(1, 61, shape), np.floor(10.0 ** rng.uniform(8, 12, shape))
    )
    table = table_of_leaves([flat(name, size) for name in "abc"], values)
    chosen = rng.choice(np.flatnonzero(table.is_leaf), size**3 // 10, replace=False)
    level = np.ceil(0.15 * table.values[chosen])
    return Problem.of(table, chosen, Levels.at(len(table), chosen, level, level))


def instances() -> dict[str, tuple[Problem, bool]]:
    """Name: problem, and whether complementary cells are hidden too."""
    from tablecloak.testing.instances import class_two  # here: another checkout need not have it

    found = {f"class II {size}x{size}": (class_two(size, size, seed=0), False) for size in (100, 200, 500)}
    found |= {name: (csplib_problem(name), True) for name in CSPLIB}
    return found | {f"mixed scales {size}x{size}x{size}": (mixed_scales(size), True) for size in (6, 10, 14)}


def pattern_of(name: str, problem: Problem, complementary: bool) -> NDArray[np.bool_]:
    """The hidden cells of an instance: from the file where there is one, else made and kept."""
    if not complementary:
        return problem.must_hide
    kept = PATTERNS / f"{name.replace(' ', '-')}.npy"
    if not kept.exists():
        method, params = (
            ("suppress-greedy", {"seconds": 20.0}) if name in SLOW else ("suppress-network-flow", {})
        )
        hidden = protect(problem, method, params=params).pattern.touched(problem)
        PATTERNS.mkdir(exist_ok=True)
        np.save(kept, np.packbits(hidden))
    return np.unpackbits(np.load(kept), count=len(problem.table)).astype(bool)


def measure(instance: Path, pattern: Path, intervals: bool) -> dict[str, float]:
    """The processor time of one audit: the least of several after a first one."""
    problem = read_jj(instance).problem
    hidden = Suppression(np.load(pattern))
    found = audit(problem, hidden)
    seconds = list[float]()
    while not seconds or (len(seconds) < REPEATS and sum(seconds) < SECONDS):
        start = time.process_time()
        found = audit(problem, hidden, intervals=intervals)
        seconds.append(time.process_time() - start)
    return {"seconds": min(seconds), "safe": found.safe, "rows": found.cells.size}


def main(other: Path, only: str = "") -> None:
    """Measure what has no row yet."""
    store = Store(RESULTS / "audit-side-by-side.csv")
    sources = {"before": other.resolve(), "now": Path(__file__).resolve().parents[1] / "src"}
    for name, (problem, complementary) in instances().items():
        if name in store.rows or only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            instance, pattern = Path(folder) / "instance.jj", Path(folder) / "pattern.npy"
            instance.write_text(write_jj(problem), encoding="utf-8")
            np.save(pattern, pattern_of(name, problem, complementary))
            row: dict[str, object] = {"cells": len(problem.table), "sensitive": int(problem.sensitive.sum())}
            for intervals in (False, True):
                kind = "intervals" if intervals else "verdict"
                best = dict.fromkeys(sources, np.inf)
                start = time.perf_counter()
                for number in range(ROUNDS):
                    if number and time.perf_counter() - start > ENOUGH:
                        break
                    for which, source in sources.items():
                        words = [sys.executable, __file__, "--worker", str(instance), str(pattern), kind]
                        path = os.pathsep.join([str(source), str(Path(__file__).parent)])
                        answer = subprocess.run(
                            words, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
                        )
                        if answer.returncode == 0:
                            best[which] = min(best[which], json.loads(answer.stdout)["seconds"])
                done = all(np.isfinite(each) for each in best.values())
                row |= {
                    f"{kind}_{which}_ms": round(1e3 * best[which], 3)
                    if np.isfinite(best[which])
                    else "failed"
                    for which in sources
                }
                row[f"{kind}_ratio"] = round(best["now"] / best["before"], 2) if done else ""
        store.put(name, row)
        print(name, row, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        print(
            json.dumps(
                measure(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4] == "intervals"), default=float
            )
        )
    else:
        typer.run(main)
