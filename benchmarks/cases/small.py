"""Small problems: 1,000 two-way tables of 100 cells, and three-way ones of 5 x 5 x 5 inner cells.

Each run begins with a problem made anew, as if it were a part of a larger table. All two-way tables have the same
equations, whose structure is recognised once in a process. Times are processor times, the least of several runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from cases.base import Make, Part
from runner import Case, Row
from tablecloak import Levels, Problem, protect
from tablecloak.arrays import Floats
from tablecloak.methods.branch_and_cut import BranchAndCut, ExactParams
from tablecloak.model import Status
from tablecloak.progress import silent
from tablecloak.testing.instances import three_way_generator_one, three_way_generator_two
from tablecloak.testing.random_cases import flat, table_of_leaves

TABLES = 1000
RUNS = 3
SIDE = 9
"""Inner rows and columns; with totals 100 cells."""
SENSITIVE = (5, 20)
"""Sensitive cells of a table, from one number to the other."""
SEEDS = 10
"""Three-way tables of each generator."""
BLOCK = 100
"""Tables of a row."""
LONG = 0.1
"""Seconds of a run that is not repeated."""
MANY = 600.0
"""The limit of a row in seconds."""


# ---------------------------------------------------------------------- tables of 100 cells


def _whole(rng: np.random.Generator) -> Floats:
    return rng.integers(1, 1001, size=(SIDE, SIDE)).astype(float)


def _small_counts(rng: np.random.Generator) -> Floats:
    return rng.integers(1, 30, size=(SIDE, SIDE)).astype(float)


def _with_zeros(rng: np.random.Generator) -> Floats:
    values = _whole(rng)
    values[rng.random(values.shape) < 0.3] = 0.0
    return values


def _decimals(rng: np.random.Generator) -> Floats:
    return np.round(rng.lognormal(4.0, 1.5, size=(SIDE, SIDE)), 2) + 0.01


def _mixed_scales(rng: np.random.Generator) -> Floats:
    shape = (SIDE, SIDE)
    large = np.floor(10.0 ** rng.uniform(4, 9, shape))
    return np.where(rng.random(shape) < 0.5, rng.integers(1, 61, shape), large)


KINDS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "whole": _whole,
    "small counts": _small_counts,
    "zeros": _with_zeros,
    "decimals": _decimals,
    "mixed scales": _mixed_scales,
}
"""The inner values by kind. In every other table of a kind a tenth of the marginals may be sensitive too."""


def two_way_problem(number: int) -> Problem:
    """One of the tables, by its number: 5 to 20 sensitive cells, levels of 15%, weights that are the values."""
    kind = list(KINDS)[number % len(KINDS)]
    rng = np.random.default_rng([number, 100])
    table = table_of_leaves([flat("r", SIDE), flat("c", SIDE)], KINDS[kind](rng))
    may_be = table.values > 0
    if number // len(KINDS) % 2 == 0:
        may_be &= table.is_leaf
    else:
        may_be &= table.is_leaf | (rng.random(len(table)) < 0.1)
        may_be[table.find()] = False
    count = int(rng.integers(SENSITIVE[0], SENSITIVE[1] + 1))
    chosen = np.sort(rng.choice(np.flatnonzero(may_be), count, replace=False))
    unit = 0.01 if kind == "decimals" else 1.0
    level = np.round(np.ceil(0.15 * table.values[chosen] / unit) * unit, 2)
    levels = Levels.at(len(table), chosen, level, level)
    return Problem.of(table, chosen, levels, hide_zeros=False, weights="value")


# ---------------------------------------------------------------------- rows


def small(seconds: float | None) -> Iterator[Case]:
    """Blocks of two-way tables by number, then three-way tables with 6 sensitive cells."""
    limit = seconds or MANY
    for first in range(0, TABLES, BLOCK):
        makes = [partial(two_way_problem, number) for number in range(first, first + BLOCK)]
        yield Case(f"10x10 #{first}-{first + BLOCK - 1}", partial(_row, makes), limit, ("10x10",))
    makers = {"generator 1": three_way_generator_one, "generator 2": three_way_generator_two}
    for kind, maker in makers.items():
        makes = [partial(maker, 5, 5, 5, 6, seed) for seed in range(SEEDS)]
        yield Case(f"5x5x5 {kind}", partial(_row, makes), limit, (kind,))


def _row(makes: Sequence[Make]) -> Row:
    """Medians over some tables of the least processor times, and how many have the same optimum proven both ways."""
    inside, outside, proven = [], [], 0
    _protect(makes[0]())
    for make in makes:
        (one, first), (other, second) = _timed(_solve, make), _timed(_protect, make)
        inside.append(one)
        outside.append(other)
        proven += first[1] and second[1] and abs(first[0] - second[0]) <= 1e-9 * abs(second[0])
    row: Row = {
        "tables": len(makes),
        "proven": proven,
        "status": "optimal" if proven == len(makes) else "open",
    }
    for name, times in (("internal", inside), ("protect", outside)):
        row[f"{name}_ms"], row[f"{name}_p90_ms"] = (
            round(1e3 * float(np.percentile(times, q)), 3) for q in (50, 90)
        )
    return {**row, "largest_ms": round(1e3 * max(inside), 3)}


def _timed(solve: Callable[[Problem], tuple[float, bool]], make: Make) -> tuple[float, tuple[float, bool]]:
    """The least time of a few runs, one if it is long, each on a problem made anew; and what was found."""
    least, found = np.inf, (np.nan, False)
    for _ in range(RUNS):
        problem = make()
        start = time.process_time()
        found = solve(problem)
        least = min(least, time.process_time() - start)
        if least > LONG:
            break
    return least, found


def _solve(problem: Problem) -> tuple[float, bool]:
    solver = BranchAndCut(problem, ExactParams(), np.random.default_rng(0), silent)
    proposal = solver.run()
    return proposal.pattern.loss(problem), proposal.status is Status.OPTIMAL


def _protect(problem: Problem) -> tuple[float, bool]:
    result = protect(problem, "suppress-optimal")
    return result.cost, result.status is Status.OPTIMAL and result.audit.safe


PARTS = (Part("small", "suppress-optimal on 1,000 two-way tables of 100 cells, and on 5 x 5 x 5", small),)
