"""One method on one JJ file by whichever checkout is in `PYTHONPATH`; the order comes as JSON on standard input.

The method first runs on the small problems of the order, so that kernels are compiled or loaded. Times are of
`protect` alone: on the processor and on the clock.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress

import tablecloak
from tablecloak import NotApplicable, TablecloakError, protect, read_jj


def row(order: dict) -> dict:  # type: ignore[type-arg]
    """What came out; or the kind of error."""
    method = order["method"]
    for path in order["warming"]:
        with suppress(NotApplicable):
            protect(read_jj(path).problem, method, params={"seconds": 2.0})
    problem = read_jj(order["instance"]).problem
    clock, work = time.perf_counter(), time.process_time()
    try:
        result = protect(problem, method, params={"seconds": order["seconds"]})
    except TablecloakError as error:
        return {"status": f"refused: {type(error).__name__}"}
    return {
        "status": result.status.value,
        "cost": result.cost,
        "bound": result.bound,
        "nodes": result.report.counters.get("nodes"),
        "cpu_s": time.process_time() - work,
        "seconds": time.perf_counter() - clock,
    }


if __name__ == "__main__":
    print(json.dumps({"source": tablecloak.__file__, **row(json.load(sys.stdin))}))
