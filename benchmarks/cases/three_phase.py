"""suppress-three-phase to its end on all instances of Carvalho & Almeida (2008), with the seconds of its phases.

Instances come in rounds of one for each size, so that a run that is stopped has measured all sizes evenly. What
suppress-optimal does on the same instances is in the rows of part `classes`, by the same names.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from cases.base import Part, result_row, sizes
from cases.grid import SECONDS, SEEDS, grid
from runner import Case, Row
from tablecloak import Status, protect
from tablecloak.testing.instances import class_problem

FAIR_SHARE = 0.5
STARVED = "time-limit, starved"
"""The status of a row that the limit stopped before it had this share of the limit as processor time: the machine was
busy, and the row says nothing. `--repeat "*starved"` measures them again."""
PHASES = {
    "preprocessing": "s_preprocessing",
    "first pattern": "s_first_pattern",
    "phase 1": "s_phase_1",
    "phase 2": "s_phase_2",
    "phase 3": "s_phase_3",
}
COUNTED = {
    "levels": "levels",
    "levels left after preprocessing": "levels_left",
    "iterations": "iterations",
    "listed levels": "levels_listed",
    "rows": "rows",
    "value of (P)": "p_value",
    "proven at iteration 1": "proven_1",
    "gap at iteration 1 (%)": "gap_1_percent",
}


def instances(seconds: float | None) -> Iterator[Case]:
    """580 + 830 instances by value weights, one of each size after the other."""
    limit = seconds or SECONDS
    for number in SEEDS:
        for kind in ("I", "II"):
            for m, n in grid(kind):
                name = f"{kind} {m}x{n} #{number} value"
                facts = {"class": kind, "m": m, "n": n, "number": number, "limit_s": f"{limit:g}"}
                yield Case(name, partial(row, kind, m, n, number, limit), limit, (number,), facts)


def row(kind: str, m: int, n: int, number: int, seconds: float) -> Row:
    """suppress-three-phase on one instance."""
    problem = class_problem(kind, m, n, number, False)
    start = time.process_time()
    result = protect(problem, "suppress-three-phase", params={"seconds": seconds})
    worked = time.process_time() - start
    counters = result.report.counters
    told = {column: counters.get(counter) for counter, column in COUNTED.items()}
    clock = {column: counters.get(f"seconds of {phase}", 0.0) for phase, column in PHASES.items()}
    starved = result.status is Status.TIME_LIMIT and worked < FAIR_SHARE * seconds
    return {
        **sizes(problem),
        **result_row(result),
        **({"status": STARVED} if starved else {}),
        "cpu_s": round(worked, 3),
        **{column: None if value is None else f"{value:.10g}" for column, value in told.items()},
        **{column: round(value, 3) for column, value in clock.items()},
    }


PARTS = (Part("three-phase", "suppress-three-phase to its end on the 580 + 830 instances", instances),)
