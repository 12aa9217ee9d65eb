"""What a part is, and how we and a peer are measured on a problem."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from peers import suppression
from runner import Case, Row
from tablecloak import Problem, Result, protect, write_jj
from tablecloak.formats.jj import parse_jj
from tablecloak.methods import METHODS
from tablecloak.testing.instances import class_one, three_way_class_one

OURS, PEER = "tablecloak", "pytauargus"
POINTS = 60
"""Maximum number of points of a stored trace."""

Make = Callable[[], Problem]
WARMING: tuple[Make, ...] = (partial(class_one, 20, 20, 0), partial(three_way_class_one, 6, 6, 6, 3))
"""Small problems that need complementary cells."""


@dataclass(frozen=True)
class Part:
    """A list of cases with a file of rows."""

    name: str
    about: str
    cases: Callable[[float | None], Iterable[Case]]
    """The cases, given a limit in seconds or None for the usual one."""
    needs_data: bool = False


def warm_up() -> float:
    """Load the solvers before the clock runs; gives the seconds this took."""
    start = time.perf_counter()
    for problem in (make() for make in WARMING):
        for method in ("suppress-greedy", "suppress-optimal", "suppress-three-phase"):
            if method != "suppress-three-phase" or len(problem.table.dimensions) == 2:
                protect(problem, METHODS[method], params={"seconds": 2.0})
    return time.perf_counter() - start


def sizes(problem: Problem) -> Row:
    """How large a problem is."""
    return {"cells": len(problem.table), "sensitive": int(problem.sensitive.sum())}


def result_row(result: Result) -> Row:
    """How a method ended; the cost of intervals is that of the optimum before it is blurred."""
    cost = result.report.counters.get("cost before blurring", result.cost)
    return {
        "cost": cost,
        "bound": result.bound,
        "gap_percent": gap_percent(cost, result.bound),
        "status": result.status.value,
        "seconds": round(result.report.seconds, 3),
        "open": int(result.audit.open_cells.size),
    }


def exact_row(result: Result) -> Row:
    """What suppress-optimal found."""
    return {"levels": f"{result.report.counters.get('levels', 0):g}", **result_row(result)}


def complementary(problem: Problem, result: Result) -> int:
    """The number of cells that are hidden beside those that must be."""
    return int((result.pattern.touched(problem) & ~problem.must_hide).sum())


def tidy(value: float | None) -> float | None:
    """A number with four decimals."""
    return None if value is None else round(value, 4)


def gap_percent(cost: float | None, bound: float | None) -> float | None:
    """How far the cost may be above the optimum, as a percentage of the cost."""
    if cost is None or bound is None:
        return None
    return 0.0 if cost <= bound else round(100.0 * (cost - bound) / cost, 3)


def ours(make: Make, seconds: float) -> Row:
    """suppress-optimal on a problem."""
    problem = make()
    result = protect(problem, "suppress-optimal", params={"seconds": seconds})
    return {**sizes(problem), **exact_row(result), "trace": trace_text(result.report.trace)}


def ours_from_file(make: Make, seconds: float) -> Row:
    """suppress-optimal on a problem read from JJ text, as a peer gets it: the time of reading is told apart."""
    text, start = write_jj(make()), time.perf_counter()
    problem = parse_jj(text).problem
    read = time.perf_counter() - start
    return {**ours(lambda: problem, seconds), "read_s": round(read, 3)}


def theirs(make: Make, seconds: float) -> Row:
    """pytauargus on a problem, from the same JJ text."""
    problem = make()
    run = suppression.pytauargus(problem, seconds)
    own = run.solve_seconds
    return {
        **sizes(problem),
        "cost": run.cost,
        "bound": run.bound,
        "gap_percent": gap_percent(run.cost, run.bound),
        "status": run.status,
        "seconds": round(run.seconds, 3),
        "open": run.open_cells,
        "own_s": None if own is None else round(own, 3),
        "scale": f"{run.scale:g}",
        "crashes": run.crashes,
    }


def with_slack(peer_seconds: float) -> float:
    """What a peer with this limit may take: `peers.suppression` kills it, and it may have crashed before."""
    return 2.0 * peer_seconds + 60.0


def by_us(name: str, make: Make, seconds: float, stratum: tuple[Any, ...], facts: Row) -> Case:
    """We alone on a problem."""
    return Case(name, partial(ours, make, seconds), seconds, stratum, {**facts, "limit_s": f"{seconds:g}"})


def by_peer(name: str, make: Make, seconds: float, stratum: tuple[Any, ...], facts: Row) -> Case:
    """The peer alone on a problem; its limit is rounded up to minutes."""
    limit = 60.0 * suppression.minutes(seconds)
    told = {**facts, "program": PEER, "limit_s": f"{limit:g}"}
    return Case(name, partial(theirs, make, limit), with_slack(limit), stratum, told)


def both(
    name: str, make: Make, seconds: float, peer_seconds: float, stratum: tuple[Any, ...], facts: Row
) -> list[Case]:
    """We and the peer on the same problem, one after the other."""
    told = {**facts, "name": name}
    us = by_us(f"{name}, {OURS}", make, seconds, stratum, {**told, "program": OURS})
    us = replace(us, measure=partial(ours_from_file, make, seconds))
    peer = by_peer(f"{name}, {PEER}", make, peer_seconds, stratum, told)
    return [replace(case, group=name) for case in (us, peer)]


# ---------------------------------------------------------------------- how cost and bound went


def trace_text(trace: Iterable[tuple[float, float | None, float | None]]) -> str:
    """``seconds cost bound`` of the points where one of them changed, with semicolons; thinned if they are many."""
    points = list(trace)
    step = max(1, -(-len(points) // POINTS))
    kept = points[::step] if not points or points[-1] in points[::step] else [*points[::step], points[-1]]
    return ";".join(f"{seconds:.2f} {_number(cost)} {_number(bound)}" for seconds, cost, bound in kept)


def trace_points(text: str) -> list[tuple[float, float | None, float | None]]:
    """The points of a stored trace."""
    split = [point.split(" ") for point in text.split(";") if point]
    return [(float(a), *(None if part == "-" else float(part) for part in (b, c))) for a, b, c in split]  # type: ignore[misc]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.10g}"
