"""What the papers do not say, read in several ways: Class I of Carvalho & Almeida, Castro (2002) in three ways.

*Class I.* Internal values from 0 to 499 of which those from 1 to 4 are confidential make 0.8% of the cells sensitive,
2,000 of 250,000. The first set of Fischetti & Salazar (1999), which the class repeats, is reported with 10,000 of
250,000, one in 25 (Salazar 2002, section 3). Each reading is solved by suppress-three-phase, one iteration.

*Castro (2002).* The paper does not print its tables, nor whether levels are rounded, zeros may be hidden, and in which
order cells are protected. Each reading, and each way to solve the linear programs, on several seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from cases.base import Make, Part, sizes
from cases.castro_2002 import Instance, heuristic_row, three_way
from cases.grid import SEEDS, THREE_PHASE_SECONDS, grid
from runner import Case, Row
from tablecloak import Levels, Problem, Suppression, audit, protect
from tablecloak.testing.instances import class_one, class_seed

CLASS_READINGS: dict[str, Mapping[str, Any]] = {
    "0 to 499, as printed": {},
    "0 to 99": {"largest": 99},
    "one in 25 sensitive": {"share": 0.04},
}
"""By name the arguments of `class_one`."""


def class_readings(seconds: float | None) -> Iterator[Case]:
    """All 580 instances in each reading, the first numbers of all sizes before the second ones."""
    limit = seconds or THREE_PHASE_SECONDS
    for number in SEEDS:
        for m, n in grid("I"):
            for reading in CLASS_READINGS:
                facts = {"reading": reading, "m": m, "n": n, "number": number, "limit_s": f"{limit:g}"}
                measure = partial(class_row, reading, m, n, number, limit)
                yield Case(f"{m}x{n} #{number}, {reading}", measure, limit, (reading, m), facts)


def class_row(reading: str, m: int, n: int, number: int, seconds: float) -> Row:
    """Whether anything is needed beside the sensitive cells, and the first iteration of suppress-three-phase."""
    problem = class_one(m, n, class_seed("I", m, n, number), **CLASS_READINGS[reading])
    nothing = audit(problem, Suppression(problem.must_hide)).safe
    row: Row = {**sizes(problem), "nothing_needed": nothing}
    result = protect(problem, "suppress-three-phase", params={"seconds": seconds, "iterations": 1})
    counters = result.report.counters
    proven, gap = counters.get("proven at iteration 1"), counters.get("gap at iteration 1 (%)")
    return row | {
        "proven_1": True if nothing else None if proven is None else bool(proven),
        "gap_1_percent": None if gap is None else round(gap, 3),
        "cost": result.cost,
        "status": result.status.value,
        "seconds": round(result.report.seconds, 3),
        "open": int(result.audit.open_cells.size),
    }


# ---------------------------------------------------------------------- Castro (2002)

CUBE_READINGS: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "as on this page": ({}, {}),
    "levels not rounded": ({}, {"rounded": False}),
    "zeros may be hidden": ({}, {"zeros": True}),
    "in the order of the table": ({"order": "given"}, {}),
    "nothing hidden to begin with": ({"initial": "none"}, {}),
    "nothing hidden to begin with, zeros may be": ({"initial": "none"}, {"zeros": True}),
    "sizes count the totals": ({}, {"totals": True}),
    "network warm start": ({"programs": "network"}, {}),
    "interior point": ({"programs": "interior"}, {}),
    "interior point, no vertex": ({"programs": "central"}, {}),
}
"""By name: parameters of suppress-network-flow, and what is different in the problem."""
WHOLE = ("as on this page", "sizes count the totals")
"""Readings of all sixteen tables."""
CUBE_SEEDS, CUBE_SECONDS = range(1, 6), 120.0
"""Seeds, and the limit of a run."""


def reading_of(
    instance: Instance, seed: int, *, rounded: bool = True, zeros: bool = False, totals: bool = False
) -> Problem:
    """The instance with another seed, and levels, zeros or sizes in another way."""
    shape = tuple(size - totals for size in instance.shape)
    plain = Instance(instance.generator, shape, instance.sensitive, seed).problem()
    share = 0.15 * plain.table.values
    level = np.where(plain.sensitive, np.ceil(share) if rounded else share, 0.0)
    levels = Levels.of(len(plain.table), level, level)
    return Problem.of(plain.table, plain.sensitive, levels, hide_zeros=zeros)


def cube_readings(seconds: float | None) -> Iterator[Case]:
    """Two readings on all sixteen tables, the others on those of 10 x 10 x 10; seed by seed."""
    limit = seconds or CUBE_SECONDS
    for number in CUBE_SEEDS:
        for reading in CUBE_READINGS:
            for one in three_way():
                if one.shape != (10, 10, 10) and reading not in WHOLE:
                    continue
                seed = 1000 * number + one.number
                facts = {"name": one.name, "reading": reading, "generator": one.generator, "number": number}
                facts |= {"shape": "x".join(map(str, one.shape)), "asked": one.sensitive}
                measure = partial(cube_row, one, seed, reading, limit)
                name = f"{one.name} #{number}, {reading}"
                yield Case(name, measure, limit + 60.0, (reading, one.generator), facts)


def cube_row(one: Instance, seed: int, reading: str, seconds: float) -> Row:
    """What heuristic 2 hides by itself, booked as in the paper."""
    params, different = CUBE_READINGS[reading]
    make: Make = partial(reading_of, one, seed, **different)
    return heuristic_row(make, 2, "paper", seconds, params)


PARTS = (
    Part("classes-readings", "three readings of Class I: what is needed, and iteration 1", class_readings),
    Part("castro-2002-readings", "readings of Castro's three-way tables on several seeds", cube_readings),
)
