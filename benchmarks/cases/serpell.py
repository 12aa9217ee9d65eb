"""Serpell et al. (2013): what the sets E, K1, K3 and K5 of `exposure` save, whether they suffice, what they are worth.

One row a table. A set S keeps the levels of its cells; the other sensitive cells are hidden without levels. What is
protected with S has *failed* if the audit of all sensitive cells finds one open.

Programs, as in the paper: the *integer program* (here suppress-optimal, which leaves out the levels of cells that are
not exposed anyway), *Kelly's linear programs* and the *elimination*. All run on the same problem but for its levels:
processor seconds are those of `protect`, without the search for the set, which is told apart (`exposure_s`; the paper
does not say whether it counts it).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cases.base import Make, Part, sizes
from cases.synthetic import MIX, RESAMPLED, resampled, synthetic
from runner import Case, Row
from tablecloak import Levels, Problem, Result, audit, exposure, protect
from tablecloak.auditing import Exposure

SECONDS = 8.0
"""The limit of each run."""
SETS = ("E", "K1", "K3", "K5")
ALL = "all"
"""All sensitive cells: without any set."""
REPEATS, ENOUGH = 3, 0.1
"""Maximum number of measurements of a run, and the seconds after which none follows; the least counts."""
ORDERS = ("level", "given")
"""Orders in which Kelly's linear programs protect the cells: the paper says that K5 pays where consequently exposed
cells would come before those that expose them, and not in which order its program went."""
PROGRAMS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "ilp": ("suppress-optimal", {}),
    "kelly": ("suppress-kelly-lp", {"carry": False, "clean_up": False}),
    "elimination": ("suppress-elimination", {}),
}
"""The programs of the paper's Table 6: Kelly's asks for every level and has no clean-up, as there."""


def mixed(seconds: float | None) -> Iterator[Case]:
    """The 313 tables of the paper's Table 2."""
    limit = seconds or SECONDS
    runs = len(SETS) + 1 + 2 * (len(PROGRAMS) - 1)
    for shape, count in MIX.items():
        for number in range(count):
            measure = partial(table_row, partial(synthetic, shape, number), limit)
            facts = {"shape": shape, "number": number, "limit_s": f"{limit:g}"}
            yield Case(f"{shape} {number}", measure, runs * limit + 20.0, (shape,), facts)


def drawn_again(seconds: float | None) -> Iterator[Case]:
    """The 200 resampled tables: the sets only, as in the paper."""
    for number in range(RESAMPLED):
        measure = partial(sets_row, partial(resampled, number))
        yield Case(f"resampled {number}", measure, seconds or 120.0, (), {"number": number})


def in_orders(seconds: float | None) -> Iterator[Case]:
    """Kelly's linear programs on the 313 tables in several orders of the cells."""
    limit = seconds or SECONDS
    for shape, count in MIX.items():
        for number in range(count):
            measure = partial(orders_row, partial(synthetic, shape, number), limit)
            facts = {"shape": shape, "number": number, "limit_s": f"{limit:g}"}
            yield Case(f"{shape} {number}", measure, 2 * len(ORDERS) * limit + 20.0, (shape,), facts)


# ---------------------------------------------------------------------- rows


def sets_row(make: Make) -> Row:
    """What the sets save."""
    return {**_told(*_exposed(make())), "status": "measured"}


def table_row(make: Make, seconds: float) -> Row:
    """What the sets save, and what the programs make of them."""
    problem, found = _exposed(make())
    row = _told(problem, found)
    runs = {("ilp", name) for name in (ALL, *SETS)}
    runs |= {(program, name) for program in PROGRAMS for name in (ALL, "K5")}
    for program, name in sorted(runs):
        asked = problem if name == ALL else keeping(problem, found.algorithms[name])
        row |= {f"{program}_{key}_{name}": value for key, value in _run(problem, asked, program, seconds)}
    return {**row, "status": "measured"}


def orders_row(make: Make, seconds: float) -> Row:
    """What Kelly's linear programs cost with the levels of all sensitive cells and with K5, by order of the cells."""
    problem, found = _exposed(make())
    row: Row = {**sizes(problem), **{f"kept_{name}": found.algorithms[name].size for name in SETS}}
    for order in ORDERS:
        for name in (ALL, "K5"):
            asked = problem if name == ALL else keeping(problem, found.algorithms[name])
            row |= {
                f"{order}_{key}_{name}": value for key, value in _run(problem, asked, "kelly", seconds, order)
            }
    return {**row, "status": "measured"}


def keeping(problem: Problem, cells: NDArray[np.int64]) -> Problem:
    """The same table with the levels of these cells only; the other sensitive ones are hidden."""
    kept = np.isin(np.arange(len(problem.table)), cells)
    lower, upper = (np.where(kept, level, 0.0) for level in (problem.levels.lower, problem.levels.upper))
    return Problem.of(
        problem.table,
        kept,
        Levels.of(len(problem.table), lower, upper),
        hidden=problem.must_hide & ~kept,
        forced=problem.forced,
        weights=problem.weights,
    )


def _exposed(problem: Problem) -> tuple[Problem, Exposure]:
    return problem, exposure(problem)


def _told(problem: Problem, found: Exposure) -> Row:
    kept = {f"kept_{name}": found.algorithms[name].size for name in SETS}
    exposed = {name: found.sets[name].size for name in ("E", "E_f", "E_u", "I")}
    return {**sizes(problem), **exposed, **kept, "exposure_s": round(found.seconds, 4)}


def _run(
    problem: Problem, asked: Problem, program: str, seconds: float, order: str | None = None
) -> Iterator[tuple[str, Any]]:
    """Status, cost, processor seconds and cells left open of one program with some levels."""
    spent: list[float] = []
    while not spent or (len(spent) < REPEATS and spent[-1] < ENOUGH):
        start = time.process_time()
        result = _protected(asked, program, seconds, order)
        spent.append(time.process_time() - start)
    yield "status", result.status.value
    yield "cost", result.cost
    yield "s", round(min(spent), 4)
    yield "open", int(audit(problem, result.pattern).open_cells.size)


def _protected(asked: Problem, program: str, seconds: float, order: str | None) -> Result:
    method, settings = PROGRAMS[program]
    ordered = {} if order is None else {"order": order}
    return protect(asked, method, params={**settings, **ordered, "seconds": seconds})


PARTS = (
    Part("serpell", "exposure sets and three programs on 313 tables, after Serpell et al.", mixed),
    Part("serpell-order", "Kelly's linear programs in several orders, with and without K5", in_orders),
    Part("serpell-resampled", "exposure sets of 200 resampled three-way tables", drawn_again, True),
)
