"""Controlled rounding: large tables of counts, and the same objective beside two other programs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from cases.base import OURS, PEER, Make, Part, gap_percent, result_row, sizes
from cases.census import census_five_way, census_three_way, commuters, cube_of_counts
from cases.real_data import csplib_problem
from cases.ways import PROTECTING, protecting_base, refusal
from peers.rounding import Rounded, gconfid, pytauargus
from runner import Case, Row
from tablecloak import InfeasibleProblem, Levels, NotApplicable, Problem, Result, SolverError, audit, protect
from tablecloak.arrays import Floats
from tablecloak.model import Rounding, additive

SECONDS = 600.0
SLACK = 1200.0
"""Seconds that a row may take beside the method: making the table, and the audit of 100,000 cells."""
PEER_SECONDS = 60.0
BASES = (3.0, 5.0, 10.0)
GCONFID = "gconfid"
PROTECTED, AUDITED, RAPID = PROTECTING, "round-controlled, audited only", "round-rapid"
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    PROTECTED: (PROTECTING, {"protect": True}),
    AUDITED: (PROTECTING, {"protect": False}),
    RAPID: (RAPID, {}),
}
"""With protection imposed, without, and the fallback for huge tables."""


# ---------------------------------------------------------------------- large tables


def large_tables() -> dict[str, Make]:
    """Counts: two-way 500 x 500, and census-like tables of about 100,000 cells."""
    return {
        "commuters 500x500": partial(commuters, 500),
        "census, three-way": census_three_way,
        "census, five-way": census_five_way,
    }


def large(seconds: float | None) -> Iterator[Case]:
    """Every method with every base."""
    limit = seconds or SECONDS
    for name, make in large_tables().items():
        for base in BASES:
            for method in METHODS:
                facts = {"name": name, "base": f"{base:g}", "method": method, "limit_s": f"{limit:g}"}
                measure = partial(large_row, make, method, base, limit)
                yield Case(f"{name}, base {base:g}, {method}", measure, limit + SLACK, (name, base), facts)


def large_row(make: Make, method: str, base: float, seconds: float) -> Row:
    """A method on a table: does it add up, what is open, how far is it from the truth."""
    problem = make()
    name, params = METHODS[method]
    told = {**sizes(problem), "kind": len(problem.table.dimensions)}
    limit = {} if method == RAPID else {"seconds": seconds}
    try:
        result = protect(problem, name, params={**params, **limit, "base": base})
    except (InfeasibleProblem, NotApplicable) as error:
        return {**told, "status": refusal(error)}
    return {**told, **rounded_row(problem, result)}


def rounded_row(problem: Problem, result: Result) -> Row:
    """What a rounding is."""
    pattern = result.pattern
    assert isinstance(pattern, Rounding)
    return {
        **result_row(result),
        "audit_s": round(result.audit.seconds, 3),
        "steps": result.report.counters.get("steps"),
        **shown_columns(problem, pattern.shown),
    }


def shown_columns(problem: Problem, shown: Floats) -> Row:
    """Whether it adds up, and how far cells go."""
    table = problem.table
    moved = np.abs(shown - table.values)
    return {
        "additive": bool(additive(table.equations, table.rhs, shown).all()),
        "changed": int((moved > 0).sum()),
        "largest_change": float(moved.max(initial=0.0)),
    }


# ---------------------------------------------------------------------- beside other programs


def shared_tables() -> Iterator[tuple[str, Make, tuple[float, ...] | None]]:
    """Name, problem and bases (None: one that could protect) of what is given to all programs."""
    for size in (10, 20, 50, 100):
        yield f"commuters {size}x{size}", partial(commuters, size), BASES
    for size in (5, 10):
        yield f"counts {size}x{size}x{size}", partial(cube_of_counts, size), BASES
    small = {"years": 20, "regions": (3, 4), "people": 2000}
    yield "small census", partial(census_three_way, **small), BASES  # type: ignore[arg-type]
    for name in ("targus", "table8", "table7", "hier13x7x7d", "hier13x13x7d", "table1"):
        yield name, partial(csplib_problem, name), None


def beside_peers(seconds: float | None) -> Iterator[Case]:
    """The nearest table of multiples, by us and by both peers."""
    limit = seconds or PEER_SECONDS
    for name, make, bases in shared_tables():
        for base in bases or (None,):
            told = f"{name}, base {base:g}" if base else name
            for program in PROGRAMS:
                facts = {"name": told, "program": program, "limit_s": f"{limit:g}"}
                measure = partial(shared_row, make, program, base, limit)
                yield Case(f"{told}, {program}", measure, 2.5 * limit + 60.0, (name,), facts, group=told)


def shared_row(make: Make, program: str, base: float | None, seconds: float) -> Row:
    """One program on a table that is given to all: its rounding priced and audited by us."""
    problem = make()
    base = base or protecting_base(problem)
    bare = without_levels(problem)
    run = PROGRAMS[program](bare, base, seconds)
    row = {**sizes(problem), "base": f"{base:g}", "status": run.status, "seconds": round(run.seconds, 3)}
    if run.shown is None:
        return row
    shown = base * np.rint(run.shown / base)
    pattern = Rounding.of(shown, base * bases_away(problem, shown, base))
    cost = pattern.loss(bare)
    return {
        **row,
        "cost": cost,
        "bases_away": bases_away(problem, shown, base),
        "bound": run.bound,
        "gap_percent": gap_percent(cost, run.bound),
        "open": int(audit(unforced(problem), pattern).open_cells.size),
        "multiples": bool((np.abs(shown - run.shown) <= 1e-6 * base).all()),
        **shown_columns(bare, shown),
    }


def bases_away(problem: Problem, shown: Floats, base: float) -> int:
    """How many bases a cell is away from the truth at most, and at least one: what must be stated."""
    return max(1, math.ceil(float(np.abs(shown - problem.table.values).max(initial=0.0)) / base - 1e-9))


def without_levels(problem: Problem) -> Problem:
    """The same table and weights, nothing sensitive and nothing forced: what all programs understand."""
    size = len(problem.table)
    return Problem.of(problem.table, np.zeros(size, dtype=bool), Levels.of(size), weights=problem.weights)


def unforced(problem: Problem) -> Problem:
    """The problem with its levels, but no cell forced: rounding moved what it liked."""
    return Problem.of(
        problem.table,
        problem.sensitive,
        problem.levels,
        weights=problem.weights,
        known=(problem.outsider_low, problem.outsider_high),
    )


def ours(problem: Problem, base: float, seconds: float) -> Rounded:
    """round-controlled on a table without levels."""
    start = time.perf_counter()
    try:
        result = protect(problem, PROTECTING, params={"base": base, "seconds": seconds})
    except (InfeasibleProblem, NotApplicable) as error:
        return Rounded(refusal(error), time.perf_counter() - start)
    except SolverError as error:
        return Rounded(f"error: {str(error).splitlines()[0]}", time.perf_counter() - start)
    pattern = result.pattern
    assert isinstance(pattern, Rounding)
    return Rounded(result.status.value, result.report.seconds, pattern.shown, result.bound)


PROGRAMS: dict[str, Callable[[Problem, float, float], Rounded]] = {
    OURS: ours,
    PEER: pytauargus,
    GCONFID: gconfid,
}

PARTS = (
    Part("rounding", "round-controlled and round-rapid on tables of counts up to 250,000 cells", large),
    Part("peer-rounding", "round-controlled beside pytauargus and gconfid", beside_peers, True),
)
