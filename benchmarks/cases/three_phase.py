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

NEED_PHASE_3 = (
    ("I", 20, 20, 3),
    ("I", 40, 20, 5),
    ("I", 40, 30, 6),
    ("I", 40, 40, 2),
    ("I", 60, 30, 3),
    ("I", 60, 60, 0),
    ("I", 80, 80, 1),
    ("I", 100, 50, 4),
    ("I", 100, 100, 1),
    ("I", 300, 200, 5),
    ("II", 10, 10, 2),
    ("II", 20, 10, 3),
    ("II", 20, 20, 5),
    ("II", 30, 20, 1),
    ("II", 40, 20, 5),
    ("II", 50, 50, 5),
    ("II", 60, 40, 2),
)
"""Class, m, n and number of instances that (P) alone does not solve."""
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


def both_ways(seconds: float | None) -> Iterator[Case]:
    """Phase 3 by minimum cuts and by flows, on instances that need it."""
    limit = seconds or SECONDS
    for kind, m, n, number in NEED_PHASE_3:
        for way in ("cuts", "flows"):
            name = f"{kind} {m}x{n} #{number}, {way}"
            facts = {"class": kind, "m": m, "n": n, "number": number, "phase3": way, "limit_s": f"{limit:g}"}
            measure = partial(row, kind, m, n, number, limit, way)
            yield Case(name, measure, limit, (kind,), facts, group=name.partition(",")[0])


def row(kind: str, m: int, n: int, number: int, seconds: float, phase3: str = "cuts") -> Row:
    """suppress-three-phase on one instance."""
    problem = class_problem(kind, m, n, number, False)
    start = time.process_time()
    result = protect(problem, "suppress-three-phase", params={"seconds": seconds, "phase3": phase3})
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


PARTS = (
    Part("three-phase", "suppress-three-phase to its end on the 580 + 830 instances", instances),
    Part("phase-3", "suppress-three-phase with minimum cuts and with flows in phase 3", both_ways),
)
