"""What the core claims: audits, exposure sets, suppress-greedy, and a first look at the exact method."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cases.base import Make, Part, complementary
from cases.baseline import warm_primal_seconds
from cases.real_data import CSPLIB, INSEE, csplib_problem, insee_problem
from runner import Case, Row
from tablecloak import InputError, Suppression, audit, exposure, protect, read_jj, write_jj
from tablecloak.testing.instances import class_one, class_two, generator_one

SECONDS = 120.0
LONG = 900.0
"""For cases that measure the yardstick too."""


def audit_of_a_large_network(seconds: float | None) -> Iterator[Case]:
    """Verdict audit of Class II tables read from a JJ file, against warm primal simplex on a sample."""
    for size in (100, 200, 500):
        yield Case(f"class II {size}x{size}", partial(_network_row, size), LONG)


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


def csplib(seconds: float | None) -> Iterator[Case]:
    """suppress-greedy on the public library, and the audit of its pattern against warm primal simplex."""
    for name in CSPLIB:
        yield Case(name, partial(_csplib_row, name, seconds or SECONDS), LONG)


def _csplib_row(name: str, seconds: float) -> Row:
    problem = csplib_problem(name)
    result = protect(problem, "suppress-greedy", params={"seconds": seconds})
    found = audit(problem, result.pattern)
    ours = _typical(lambda: audit(problem, result.pattern).seconds)
    sensitive = int(problem.sensitive.sum())
    _, sample = warm_primal_seconds(problem, result.pattern, 400, 60.0)
    plain = _typical(lambda: warm_primal_seconds(problem, result.pattern, 400, 60.0)[0], least=1)
    return {
        "cells": len(problem.table),
        "sensitive": sensitive,
        "cost": result.cost,
        "complementary": complementary(problem, result),
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
    """The median of several measurements: at least this number, and as many as fit in a quarter of a second."""
    seconds = [measure() for _ in range(least)]
    while sum(seconds) < 0.25:
        seconds.append(measure())
    return statistics.median(seconds)


def insee(seconds: float | None) -> Iterator[Case]:
    """The four linked INSEE tables as one system; a fifth one disagrees on common cells."""
    yield Case("four linked tables", partial(_insee_row, seconds or SECONDS), LONG)
    yield Case("with act_nuts_size", _insee_disagreement, LONG)


def _insee_row(seconds: float) -> Row:
    problem = insee_problem()
    result = protect(problem, "suppress-greedy", params={"seconds": seconds})
    return {
        "cells": len(problem.table),
        "equations": problem.table.equations.shape[0],
        "sensitive": int(problem.sensitive.sum()),
        "cost": round(result.cost, 2),
        "complementary": complementary(problem, result),
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
    raise AssertionError("the fifth table disagrees with the others, and it was not noticed")


def exposed(seconds: float | None) -> Iterator[Case]:
    """Exposure sets before anything is protected."""
    for name in CSPLIB:
        yield Case(name, partial(_exposure_row, partial(csplib_problem, name)), LONG)
    yield Case("class II 500x500", partial(_exposure_row, partial(class_two, 500, 500, 0)), LONG)


def _exposure_row(make: Make) -> Row:
    problem = make()
    found = exposure(problem)
    sizes = {
        name: cells.size for name, cells in found.sets.items() if name in ("E", "N", "E_f", "E_u", "E_n", "I")
    }
    kept = {f"kept_{name}": cells.size for name, cells in found.algorithms.items()}
    return {"sensitive": int(problem.sensitive.sum()), **sizes, **kept, "seconds": round(found.seconds, 2)}


def exact(seconds: float | None) -> Iterator[Case]:
    """suppress-optimal, at most 60 s: both classes of Carvalho & Almeida, Castro's generator 1, the public library."""
    makers: dict[str, Make] = {}
    for size in (20, 50, 100, 200, 500):
        for seed in (0, 1):
            makers[f"class I {size}x{size} seed {seed}"] = partial(class_one, size, size, seed)
            makers[f"class II {size}x{size} seed {seed}"] = partial(class_two, size, size, seed)
    for size, sensitive in ((50, 25), (100, 100), (250, 500)):
        name = f"generator 1 {size}x{size}, {sensitive} sensitive"
        makers[name] = partial(generator_one, size, size, sensitive, 0)
    makers |= {name: partial(csplib_problem, name) for name in CSPLIB}
    limit = seconds or 60.0
    for name, make in makers.items():
        yield Case(name, partial(_exact_row, make, limit), limit)


def _exact_row(make: Make, seconds: float) -> Row:
    problem = make()
    result = protect(problem, "suppress-optimal", params={"seconds": seconds})
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


PARTS = (
    Part("audit_network", "the verdict audit of large two-way tables", audit_of_a_large_network),
    Part("csplib", "suppress-greedy on the library, and the audit of its pattern", csplib, True),
    Part("insee", "suppress-greedy on four linked tables as one system", insee, True),
    Part("exposure", "the exposure sets of the library and of a 500 x 500 table", exposed, True),
    Part("exact", "suppress-optimal at a glance, a minute each", exact, True),
)
