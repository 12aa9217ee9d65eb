"""One job against two: audits by threads, a comparison by processes, suppress-auto, of which the audit alone is shared.

A case is measured alternately with one and with two jobs, several times; the least seconds of each count, and beside
them stands the largest ratio of two neighbouring runs, for on a machine with other work only neighbours are comparable.
The bytes of both results must be the same. The load of the machine is part of the row.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial

import numpy as np

from cases.base import Make, Part, sizes
from cases.real_data import CSPLIB, csplib_problem
from cases.synthetic import tau_problem
from runner import Case, Row, code_facts
from tablecloak import Audit, Problem, Result, Suppression, audit, compare, protect
from tablecloak.solvers import InterruptibleProcesses
from tablecloak.testing.instances import class_two

ROUNDS = 5
"""Measurements with each number of jobs."""
LIMIT = 1800.0
FIVE = ("suppress-greedy", "suppress-network-flow", "interval-partial", "round-rapid", "perturb-cell")
"""The methods of the comparison."""

Work = Callable[[Executor | None], bytes]


def cores(seconds: float | None) -> Iterator[Case]:
    """Audits, suppress-auto and a comparison."""
    for name, make, intervals in (
        ("class II 500x500, intervals", partial(class_two, 500, 500, 0), True),
        ("class II 500x500, verdict", partial(class_two, 500, 500, 0), False),
        ("tau_testW, verdict", tau_problem, False),
    ):
        facts = {"what": "audit", "workers_are": "threads"}
        yield Case(f"audit of {name}", partial(_audit_row, make, intervals), LIMIT, (), facts)
    for name in CSPLIB:
        if name not in ("hier16", "ninenew", "osorio", "cbs"):  # minutes without a limit
            measure = partial(_protect_row, partial(csplib_problem, name))
            facts = {"what": "suppress-auto", "workers_are": "threads"}
            yield Case(f"suppress-auto of {name}", measure, LIMIT, (), facts)
    facts = {"what": "compare", "workers_are": "processes"}
    yield Case("compare of five methods", _compare_row, LIMIT, (), facts)


def _audit_row(make: Make, intervals: bool) -> Row:
    problem = make()
    pattern = Suppression.copy_of(problem.must_hide if intervals else ~problem.forced)
    audit(problem, pattern)

    def work(executor: Executor | None) -> bytes:
        return _bytes(audit(problem, pattern, intervals=intervals, executor=executor))

    return {**sizes(problem), **_measured(work, lambda: ThreadPoolExecutor(2))}


def _protect_row(make: Make) -> Row:
    problem = make()

    def work(executor: Executor | None) -> bytes:
        result = protect(problem, "suppress-auto", executor=executor)
        return result.pattern.touched(problem).tobytes() + _bytes(result.audit)

    return {**sizes(problem), **_measured(work, lambda: ThreadPoolExecutor(2))}


def _compare_row() -> Row:
    problem = csplib_problem("hier13x7x7d")

    def work(executor: Executor | None) -> bytes:
        found = compare(problem, FIVE, executor=executor)
        return b"".join(_outcome_bytes(problem, outcome.result) for outcome in found.outcomes)

    return {**sizes(problem), **_measured(work, lambda: InterruptibleProcesses(2))}


def _outcome_bytes(problem: Problem, result: Result | None) -> bytes:
    return b"" if result is None else result.pattern.view(problem).low.tobytes()


def _bytes(found: Audit) -> bytes:
    """What an audit found, in a few bytes."""
    arrays = (found.cells, found.attackers, found.low, found.high, found.safe_rows, found.undecided)
    text = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return hashlib.sha256(text).digest()


def _measured(work: Work, workers: Callable[[], Executor]) -> Row:
    """Seconds with one and with two jobs; the start of the workers is part of the latter."""
    one, two, same = list[float](), list[float](), True
    for _ in range(ROUNDS):
        start = time.perf_counter()
        alone = work(None)
        one.append(time.perf_counter() - start)
        start = time.perf_counter()
        with workers() as executor:
            same &= work(executor) == alone
        two.append(time.perf_counter() - start)
    ratios = [before / now for before, now in zip(one, two, strict=True)]
    return {
        "one_s": round(min(one), 3),
        "two_s": round(min(two), 3),
        "ratio": round(min(one) / min(two), 2),
        "best_neighbours": round(max(ratios), 2),
        "least_neighbours": round(min(ratios), 2),
        "same_bytes": same,
        "load": round(os.getloadavg()[0], 1),
        "status": "same" if same else "DIFFERENT",
        **code_facts(),
    }


PARTS = (Part("cores", "audits, a method and a comparison with one and with two jobs", cores, True),)
