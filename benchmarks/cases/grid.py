"""The two classes of Carvalho & Almeida (2008) on their grid of sizes, and a peer on squares of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cases.base import Part, both, exact_row, sizes
from runner import Case, Row
from tablecloak import protect
from tablecloak.testing.instances import class_problem

SECONDS = 60.0
THREE_PHASE_SECONDS = 10.0
"""suppress-three-phase runs for the value of (P) and the gap at iteration 1 only."""
SEEDS = range(10)
LARGE = (200, 300, 400, 500)
PEER_SECONDS = {50: 600.0, 100: 600.0, 200: 300.0}
"""The peer's limit by size: it has no hope at 200 x 200 of Class II, and its limit counts for the ratio."""


def grid(kind: str) -> Iterator[tuple[int, int]]:
    """The sizes m x n of a class: n = 10, 20, ..., m up to m = 100, and n = 50, 100, ..., m beyond."""
    for m in range(20, 101, 20) if kind == "I" else range(10, 101, 10):
        yield from ((m, n) for n in range(10, m + 1, 10))
    for m in LARGE:
        yield from ((m, n) for n in range(50, m + 1, 50))


def standard(seconds: float | None) -> Iterator[Case]:
    """580 + 830 instances, by value weights and by w = 1."""
    for weights in ("value", "unit"):
        for kind in ("I", "II"):
            yield from _cases(kind, weights, seconds or SECONDS)


def with_total(seconds: float | None) -> Iterator[Case]:
    """Class II with the grand total in the lottery, as independent instances."""
    for weights in ("value", "unit"):
        yield from _cases("II+", weights, seconds or SECONDS)


def _cases(kind: str, weights: str, seconds: float) -> Iterator[Case]:
    for m, n in grid(kind):
        for number in SEEDS:
            name = f"{kind} {m}x{n} #{number} {weights}"
            measure = partial(class_row, kind, m, n, number, weights == "unit", seconds)
            facts = {"class": kind, "m": m, "n": n, "number": number, "weights": weights}
            facts["limit_s"] = f"{seconds:g}"
            yield Case(name, measure, seconds + THREE_PHASE_SECONDS, (kind, m, weights), facts)


def class_row(kind: str, m: int, n: int, number: int, unit: bool, seconds: float) -> Row:
    """suppress-optimal, then suppress-three-phase for (P)."""
    problem = class_problem(kind, m, n, number, unit)
    result = protect(problem, "suppress-optimal", params={"seconds": seconds})
    row = {**sizes(problem), **exact_row(result)}
    phases = protect(
        problem, "suppress-three-phase", params={"seconds": THREE_PHASE_SECONDS, "iterations": 1}
    )
    counters = phases.report.counters
    untouched = counters.get("iterations") == 0
    value = 0.0 if untouched else counters.get("value of (P)")
    gap = counters.get("gap at iteration 1 (%)")
    known = result.status.value == "optimal" and value is not None
    return row | {
        "p_value": value,
        "p_tight": (result.cost - value <= 1e-9 * max(1.0, result.cost))
        if known and value is not None
        else None,
        "proven_1": True if untouched else _said(counters.get("proven at iteration 1")),
        "gap_1_percent": None if gap is None else round(gap, 3),
        "three_phase_status": phases.status.value,
        "three_phase_cost": phases.cost,
        "three_phase_s": round(phases.report.seconds, 3),
    }


def _said(counter: float | None) -> bool | None:
    return None if counter is None else bool(counter)


def beside_peer(seconds: float | None) -> Iterator[Case]:
    """Squares of both classes, ten seeds each."""
    limit = seconds or SECONDS
    for m, peer_seconds in PEER_SECONDS.items():
        for kind in ("I", "II"):
            for number in SEEDS:
                make, facts = partial(class_problem, kind, m, m, number), {"class": kind, "m": m}
                yield from both(f"{kind} {m}x{m} #{number}", make, limit, peer_seconds, (kind, m), facts)


PARTS = (
    Part(
        "classes",
        "suppress-optimal and (P) on the 580 + 830 instances of Carvalho and Almeida, twice",
        standard,
    ),
    Part("classes-total", "Class II with the grand total in the lottery for marginals", with_total),
    Part("peer-classes", "both classes at 50, 100 and 200, beside pytauargus", beside_peer),
)
