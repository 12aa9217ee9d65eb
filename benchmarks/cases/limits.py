"""Limits of time and interrupts, kept or not: every method on tables of several kinds.

A case is one method on one table, with one limit after the other, or interrupted after some seconds as by Ctrl-C. A
run that ends by itself is not repeated with a larger limit. A limit is kept if the call ends within it and the largest
of one second, a twentieth of it, and one audit of the table (and a twentieth of a second, which is about what the two
measurements differ by); a first pattern is early within a tenth of the limit or three audits, where everything hidden
counts as none. The load of the machine is part of the row: on a busy one the clock runs on while others work.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from cases.base import Make, Part, sizes, tidy
from cases.real_data import CSPLIB, csplib_problem, insee_problem
from runner import RESULTS, Case, Row, Store, code_facts
from tablecloak import Dimension, Levels, Problem, TablecloakError, audit, protect
from tablecloak.methods import METHODS
from tablecloak.model import Result, Suppression
from tablecloak.testing.instances import nested
from tablecloak.testing.random_cases import flat, table_of_leaves

LIMITS, LONG_LIMIT = (2.0, 10.0), 60.0
INTERRUPTED = 3.0
"""Seconds after which a run without a limit is interrupted."""
SLACK = 120.0
NOISE = 0.05
"""Seconds by which two measurements of the same audit differ."""
ENDED = ("optimal", "feasible", "NotApplicable", "InputError", "InfeasibleProblem")
"""What a run ends in that no limit has stopped."""


def flat_grid(shape: tuple[int, ...], share: float) -> Problem:
    """A table without hierarchies; a share of its leaves is sensitive (as in the cases that showed the overruns)."""
    names = "abc"[: len(shape)]
    return _filled([flat(name, size) for name, size in zip(names, shape, strict=True)], share)


def hierarchical(share: float) -> Problem:
    """Three hierarchies of two levels below the total, 21 x 21 x 13 codes: 5,733 cells."""
    return _filled([nested("a", (4, 4)), nested("b", (4, 4)), nested("c", (3, 3))], share)


def _filled(dimensions: list[Dimension], share: float) -> Problem:
    """Lognormal leaves; levels of 15% for a share of them."""
    rng = np.random.default_rng(0)
    shape = tuple(int(dimension.is_leaf.sum()) for dimension in dimensions)
    table = table_of_leaves(dimensions, np.floor(rng.lognormal(5, 1.5, shape)) + 1)
    leaves = np.flatnonzero(table.is_leaf)
    cells = rng.choice(leaves, int(share * leaves.size), replace=False)
    level = np.minimum(np.ceil(0.15 * table.values[cells]), table.values[cells])
    return Problem.of(table, cells, Levels.at(len(table), cells, level, level))


TABLES: dict[str, Make] = {
    "200x200": partial(flat_grid, (200, 200), 0.10),
    "30x30x10": partial(flat_grid, (30, 30, 10), 0.03),
    "21x21x13 hierarchical": partial(hierarchical, 0.05),
    "insee": insee_problem,
    **{name: partial(csplib_problem, name) for name in CSPLIB},
}


def limited(seconds: float | None) -> Iterator[Case]:
    """Every method on every table with every limit but the longest."""
    limits = LIMITS if seconds is None else (seconds,)
    for name, make in TABLES.items():
        for method, chosen in METHODS.items():
            if "seconds" in chosen.params.__dataclass_fields__:
                measure = partial(limit_row, make, method, limits)
                facts = {"name": name, "method": method}
                yield Case(f"{name}, {method}", measure, 2 * sum(limits) + SLACK, (), facts)


def long_limited(seconds: float | None) -> Iterator[Case]:
    """The longest limit, for what shorter ones have stopped (rows of `limited`)."""
    limit, shorter = seconds or LONG_LIMIT, Store(RESULTS / "limits.csv").rows
    for case in limited(None):
        if shorter.get(case.name, {}).get("status") not in ENDED:
            make, method, _ = case.measure.args  # type: ignore[attr-defined]
            measure = partial(limit_row, make, method, (limit,))
            yield Case(case.name, measure, 2 * limit + SLACK, (), case.facts)


def interrupted(seconds: float | None) -> Iterator[Case]:
    """Every method on every table, without a limit, interrupted after some seconds."""
    moment = seconds or INTERRUPTED
    for name, make in TABLES.items():
        for method in METHODS:
            facts = {"name": name, "method": method, "interrupt_s": f"{moment:g}"}
            measure = partial(interrupt_row, make, method, moment)
            yield Case(f"{name}, {method}, Ctrl-C at {moment:g} s", measure, moment + SLACK, (), facts)


def limit_row(make: Make, method: str, limits: tuple[float, ...]) -> Row:
    """Runs with limits, until one ends by itself."""
    problem, found = make(), dict[str, object]()
    for limit in limits:
        row = _row(problem, method, {"seconds": limit}, limit)
        found |= {f"{column} {limit:g} s": value for column, value in row.items()}
        found["status"] = row["status"]
        if row["status"] in ENDED:
            break
    return {**sizes(problem), **found}


def interrupt_row(make: Make, method: str, moment: float) -> Row:
    """One run that is interrupted, unless it ends before."""
    problem, before = make(), signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(moment, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        return {**sizes(problem), **_row(problem, method, {}, moment, timer.cancel)}
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def _first_moments(problem: Problem, method: str, result: Result) -> list[float]:
    """When there were patterns; of suppressions only those that hide less than everything, which is audited first."""
    everything = float(problem.weights[~problem.forced & ~problem.must_hide].sum())
    most = everything * (1 - 1e-9) if "suppress" in method else math.inf
    found = [moment for moment, cost, _ in result.report.trace if cost is not None and cost < most]
    return found or [result.report.seconds]


def _row(
    problem: Problem,
    method: str,
    params: dict[str, float],
    limit: float,
    ended: Callable[[], None] = lambda: None,
) -> Row:
    """What came out, how long it took on the clock and on the processor, and whether the limit was kept."""
    start, work = time.perf_counter(), time.process_time()
    facts: Row = {"status": "", "safe": None, "cost": None, "first_s": None, "notes": "", "everything": False}
    try:
        result = protect(problem, method, params=params)
        early = _first_moments(problem, method, result)
        facts |= {
            "status": str(result.status),
            "safe": result.audit.safe,
            "cost": tidy(result.cost),
            "first_s": tidy(early[0]) if early else None,
            "notes": "; ".join(result.report.notes),
            "everything": bool(result.pattern.touched(problem)[~problem.forced].all())
            and "suppress" in method,
        }
        judged = result.audit.seconds
    except (TablecloakError, KeyboardInterrupt) as error:
        facts |= {"status": type(error).__name__, "notes": str(error).split("\n")[0][:100]}
        judged = 0.0
    finally:
        ended()
    took, work = time.perf_counter() - start, time.process_time() - work
    if not judged:
        judged = audit(problem, Suppression(~problem.forced)).seconds
    allowed = limit + max(1.0, 0.05 * limit, judged) + NOISE
    first = facts["first_s"]
    return {
        **facts,
        **code_facts(),
        "seconds": tidy(took),
        "processor_s": tidy(work),
        "audit_s": tidy(judged),
        "kept": took <= allowed,
        "early": first <= max(0.1 * limit, 3 * judged) + NOISE if params and first is not None else None,
        "load": tidy(os.getloadavg()[0]),
    }


PARTS = (
    Part("limits", "limits of 2 and 10 s: method by table", limited, needs_data=True),
    Part("limits-60", "a limit of 60 s, where 10 s have stopped a method", long_limited, needs_data=True),
    Part("interrupts", "Ctrl-C after 3 s: method by table", interrupted, needs_data=True),
)
