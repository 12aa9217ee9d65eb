"""Measures what the core claims, one stored row a measurement: ``make bench`` or ``python benchmarks/run.py PART``.

Rows are kept in benchmarks/results/*.csv; a row that is there is not measured again (delete it to repeat).
"""

from __future__ import annotations

import csv
import math
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from baseline import warm_primal_seconds
from instances import DATA, INSEE, class_one, class_two, generator_one, insee_problem
from tablecloak import InputError, Problem, Suppression, audit, exposure, protect, read_jj, write_jj
from tablecloak.engines.flow import warm_up

RESULTS = Path(__file__).resolve().parent / "results"
Row = dict[str, Any]
CSPLIB = (
    "targus", "table7", "hier13x7x7d", "hier13x13x7d", "table8", "table1", "hier13x13x13a", "toy3dsarah", "jjtabel3",
    "hier16", "ninenew", "osorio", "cbs",
)  # fmt: skip
SECONDS = 120.0


def audit_of_a_large_network() -> Iterable[tuple[str, Callable[[], Row]]]:
    """Verdict audit of Class II tables read from a JJ file, against warm primal simplex on a sample."""
    for size in (100, 200, 500):
        yield f"class II {size}x{size}", lambda size=size: _network_row(size)


def _network_row(size: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instance.jj"
        path.write_text(write_jj(class_two(size, size, seed=0)), encoding="utf-8")
        start = time.perf_counter()
        problem = read_jj(path).problem
        read = time.perf_counter() - start
    pattern = Suppression.of(problem.table, problem.must_hide)
    first = audit(problem, pattern)  # recognises the structure, once a table
    found = audit(problem, pattern)
    exact = audit(problem, pattern, intervals=True)
    plain, sample = warm_primal_seconds(problem, pattern, 300, 60.0)
    count = found.cells.size
    return {
        "cells": len(problem.table),
        "sensitive": found.cells.size,
        "read_s": round(read, 2),
        "first_audit_s": round(first.seconds, 2),
        "engine": found.engine,
        "open": found.open_cells.size,
        "verdict_us_a_cell": round(1e6 * found.seconds / count, 2),
        "interval_us_a_cell": round(1e6 * exact.seconds / count, 2),
        "warm_primal_us_a_cell": round(1e6 * plain / count, 1),
        "sample": sample,
        "times_faster": round(plain / found.seconds, 1),
        "times_faster_intervals": round(plain / exact.seconds, 1),
    }


def csplib() -> Iterable[tuple[str, Callable[[], Row]]]:
    """suppress-greedy on the public library, and the audit of its pattern against warm primal simplex."""
    for name in CSPLIB:
        yield name, lambda name=name: _csplib_row(name)


def _csplib_row(name: str) -> Row:
    problem = read_jj(DATA / "csplib" / f"{name}.jj").problem
    result = protect(problem, "suppress-greedy", params={"seconds": SECONDS})
    found = audit(problem, result.pattern)
    ours = _typical(lambda: audit(problem, result.pattern).seconds)
    sensitive = int(problem.sensitive.sum())
    _, sample = warm_primal_seconds(problem, result.pattern, 400, 60.0)
    plain = _typical(lambda: warm_primal_seconds(problem, result.pattern, 400, 60.0)[0], least=1)
    return {
        "cells": len(problem.table),
        "sensitive": sensitive,
        "cost": result.cost,
        "complementary": int(result.pattern.complementary(problem).sum()),
        "status": result.status.value,
        "protect_s": round(result.report.seconds, 2),
        "safe": found.safe,
        "audit_engine": found.engine,
        "audit_ms": round(1e3 * ours, 2),
        "warm_primal_ms": round(1e3 * plain, 2),
        "sample": sample,
        "times_faster": round(plain / ours, 1),
    }


def _typical(measure: Callable[[], float], least: int = 3) -> float:
    """The median of several measurements: at least so many, and as many as fit in a quarter of a second."""
    seconds = [measure() for _ in range(least)]
    while sum(seconds) < 0.25:
        seconds.append(measure())
    return statistics.median(seconds)


def insee() -> Iterable[tuple[str, Callable[[], Row]]]:
    """The four linked INSEE tables as one system; a fifth one disagrees on common cells."""
    yield "four linked tables", _insee_row
    yield "with act_nuts_size", _insee_disagreement


def _insee_row() -> Row:
    problem = insee_problem()
    result = protect(problem, "suppress-greedy", params={"seconds": SECONDS})
    return {
        "cells": len(problem.table),
        "equations": problem.table.equations.shape[0],
        "sensitive": int(problem.sensitive.sum()),
        "cost": round(result.cost, 2),
        "complementary": int(result.pattern.complementary(problem).sum()),
        "status": result.status.value,
        "protect_s": round(result.report.seconds, 2),
        "safe": result.audit.safe,
        "outcome": "audited as one system",
    }


def _insee_disagreement() -> Row:
    try:
        insee_problem(tuple(INSEE))
    except InputError as error:
        return {"outcome": f"refused: {len(error.faults)} common cells disagree, all listed"}
    raise AssertionError("the fifth table disagrees with the others, and nobody noticed")


def exposed() -> Iterable[tuple[str, Callable[[], Row]]]:
    """Exposure sets before anything is protected."""
    for name in CSPLIB:
        yield name, lambda name=name: _exposure_row(read_jj(DATA / "csplib" / f"{name}.jj").problem)
    yield "class II 500x500", lambda: _exposure_row(class_two(500, 500, seed=0))


def _exposure_row(problem: Problem) -> Row:
    found = exposure(problem)
    sizes = {
        name: cells.size for name, cells in found.sets.items() if name in ("E", "N", "E_f", "E_u", "E_n", "I")
    }
    kept = {f"kept_{name}": cells.size for name, cells in found.algorithms.items()}
    return {"sensitive": int(problem.sensitive.sum()), **sizes, **kept, "seconds": round(found.seconds, 2)}


def exact() -> Iterable[tuple[str, Callable[[], Row]]]:
    """suppress-optimal, at most 60 s: both classes of Carvalho & Almeida, Castro's generator 1, the public library."""
    for size in (20, 50, 100, 200, 500):
        for seed in (0, 1):
            yield f"class I {size}x{size} seed {seed}", lambda m=size, s=seed: _exact_row(class_one(m, m, s))
            yield f"class II {size}x{size} seed {seed}", lambda m=size, s=seed: _exact_row(class_two(m, m, s))
    for size, sensitive in ((50, 25), (100, 100), (250, 500)):
        name = f"generator 1 {size}x{size}, {sensitive} sensitive"
        yield name, lambda m=size, p=sensitive: _exact_row(generator_one(m, m, p, seed=0))
    for name in CSPLIB:
        yield name, lambda name=name: _exact_row(read_jj(DATA / "csplib" / f"{name}.jj").problem)


def _exact_row(problem: Problem) -> Row:
    result = protect(problem, "suppress-optimal", params={"seconds": 60.0})
    return {
        "cells": len(problem.table),
        "sensitive": int(problem.sensitive.sum()),
        "levels": result.report.counters["levels"],
        "cost": result.cost,
        "bound": result.bound,
        "gap_percent": round(100 * (result.gap or 0.0), 2),
        "status": result.status.value,
        "seconds": round(result.report.seconds, 2),
        "safe": result.audit.safe,
    }


PARTS = {
    "audit_network": audit_of_a_large_network,
    "csplib": csplib,
    "insee": insee,
    "exposure": exposed,
    "exact": exact,
}


def main(wanted: list[str]) -> None:
    print(
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, kernels {warm_up():.1f} s"
    )
    for part in wanted or PARTS:
        path = RESULTS / f"{part}.csv"
        known = _stored(path)
        for name, measure in PARTS[part]():
            if name not in known:
                known[name] = {"instance": name, **{key: str(value) for key, value in measure().items()}}
                _store(path, known)
            print(part, *(f"{key}={value}" for key, value in known[name].items()), flush=True)
        ratios = [float(row["times_faster"]) for row in known.values() if row.get("times_faster")]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(
                f"{part}: least {min(ratios)}, geometric mean {mean:.1f} times faster than warm primal simplex"
            )


def _stored(path: Path) -> dict[str, Row]:
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row["instance"]: row for row in csv.DictReader(file)}


def _store(path: Path, rows: dict[str, Row]) -> None:
    path.parent.mkdir(exist_ok=True)
    columns = list(dict.fromkeys(key for row in rows.values() for key in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows.values())


if __name__ == "__main__":
    main(sys.argv[1:])
