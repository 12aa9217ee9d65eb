"""How interval-partial grows, to 100,000 cells with 5,000 sensitive ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from cases.base import Make, Part, sizes, trace_text
from cases.ways import printed_row
from runner import Case, Row
from tablecloak import protect
from tablecloak.testing.instances import generator_one, hierarchical_generator_one

SECONDS = 600.0
SHARE = 0.05
SQUARES = (32, 71, 100, 141, 200, 317)
"""Two-way tables of about 1,000, 5,000, 10,000, 20,000, 40,000 and 100,000 cells."""
NESTED = (((4, 5), (5, 6), 50), ((5, 5, 3), (4, 5, 4), 500), ((6, 7, 6), (6, 7, 7), 5000))
"""Two nested dimensions, numbers of codes in each code, and sensitive cells: about 1,000, 10,000 and 100,000 cells."""


def series() -> Iterator[tuple[str, str, Make]]:
    """The name of a series, the size, and the problem: about a twentieth of the cells is sensitive."""
    for m in SQUARES:
        yield "two-way", f"{m}x{m}", partial(generator_one, m, m, min(5000, round(SHARE * m * m)), 0)
    for rows, columns, sensitive in NESTED:
        size = "x".join(str(math.prod(counts)) for counts in (rows, columns))
        yield "hierarchical", size, partial(hierarchical_generator_one, rows, columns, sensitive, 0)


def points(seconds: float | None) -> Iterator[Case]:
    """interval-partial on every size."""
    limit = seconds or SECONDS
    for name, size, make in series():
        facts = {"series": name, "size": size, "limit_s": f"{limit:g}"}
        yield Case(f"{name}, {size}", partial(width_row, make, limit), limit + 120.0, (name,), facts)


def width_row(make: Make, seconds: float) -> Row:
    """interval-partial on a problem; the cost is of the optimum before it is blurred."""
    problem = make()
    result = protect(problem, "interval-partial", params={"seconds": seconds})
    counters = result.report.counters
    return {
        **sizes(problem),
        **printed_row(result),
        "touched": int(counters["touched cells"]),
        "rounds": int(counters["rounds"]),
        "rows": int(counters["rows"]),
        "trace": trace_text(result.report.trace),
    }


PARTS = (Part("intervals", "interval-partial up to 100,000 cells with 5,000 sensitive ones", points),)
