"""Lower bounds side by side at equal time: the relaxation of the whole table, its subtables, and both (`combined`)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from cases.base import Make, Part, sizes
from cases.real_data import csplib_problem
from cases.synthetic import hierarchical_microdata, tau_problem
from runner import Case, Row, code_facts
from tablecloak import Problem
from tablecloak.analysis.lower_bounds import Bound, _Case, combined, subtables
from tablecloak.progress import silent
from tablecloak.testing.instances import three_way_generator_one

SECONDS = 30.0
LIBRARY = ("hier13x13x7d", "hier13x13x13a", "toy3dsarah", "jjtabel3", "hier16", "ninenew")


def whole(problem: Problem, *, seconds: float) -> Bound:
    """`combined` without subtables."""
    case = _Case(problem, seconds, silent)
    case.add_p()
    case.add_capacity(strengthened=True)
    return case.solve("whole", False)


BOUNDS = {"whole": whole, "subtables": subtables, "combined": combined}


def instances() -> Iterator[tuple[str, Make]]:
    """The library of JJ instances, tables from microdata, and a front."""
    for name in LIBRARY:
        yield name, partial(csplib_problem, name)
    yield "tau_testW", tau_problem
    yield "tau_testW, half of its records", partial(hierarchical_microdata, 0)
    yield "generator 1 10x10x10, 50 sensitive #0", partial(three_way_generator_one, 10, 10, 10, 50, 0)


def _row(make: Make, bound: str, seconds: float) -> Row:
    problem = make()
    start = time.perf_counter()
    found = BOUNDS[bound](problem, seconds=seconds)
    return {
        **sizes(problem),
        "bound": found.value,
        "linear": found.linear,
        "rows": found.rows,
        "seconds": round(time.perf_counter() - start, 2),
        "notes": "; ".join(found.notes),
        **code_facts(),
    }


def cases(seconds: float | None) -> Iterator[Case]:
    """Every bound on every instance."""
    limit = seconds or SECONDS
    for name, make in instances():
        for bound in BOUNDS:
            facts = {"name": name, "method": bound, "limit_s": f"{limit:g}"}
            yield Case(f"{name}, {bound}", partial(_row, make, bound, limit), 3 * limit, (name,), facts)


PARTS = (Part("subtables", "lower bounds: the whole table, its subtables, both", cases, needs_data=True),)
