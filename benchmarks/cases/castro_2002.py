"""Castro (2002), Network flows heuristics for complementary cell suppression: its two-way and three-way instances.

48 two-way tables by each of two generators, both heuristics; sixteen three-way tables, the second heuristic by linear
programs. Both ways of booking what a flow proves: the paper's, and ours. suppress-auto beside them on the latter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from cases.base import Make, Part, tidy
from cases.castro import Watch, auto_row, cost_row, warm_up
from runner import Case, Row
from tablecloak import Problem, protect
from tablecloak.testing.instances import (
    generator_one,
    generator_two,
    three_way_generator_one,
    three_way_generator_two,
)

ROWS, COLUMNS, COUNTS = (50, 100, 150), (50, 100, 150, 200), (50, 100, 150, 200)
"""m, n and p of the paper; its instances are numbered with p running fastest, then n."""
CUBES = ((10, 10, 10), (10, 10, 20), (10, 20, 10), (10, 20, 20))
CUBE_COUNTS = (50, 100)
MAKERS: dict[tuple[int, int], Callable[..., Problem]] = {
    (1, 2): generator_one,
    (2, 2): generator_two,
    (1, 3): three_way_generator_one,
    (2, 3): three_way_generator_two,
}
"""By generator and number of dimensions."""
SECONDS, CUBE_SECONDS, AUTO_SECONDS = 30.0, 120.0, 60.0
SLACK = 60.0
PAPER, PROVEN = "paper", "proven"
AUTO = "auto"


@dataclass(frozen=True)
class Instance:
    """A table of a generator; `number` counts as in the figures and tables of the paper, from 1."""

    generator: int
    shape: tuple[int, ...]
    sensitive: int
    number: int

    @property
    def name(self) -> str:
        return f"generator {self.generator}, {'x'.join(map(str, self.shape))}, {self.sensitive} sensitive"

    def problem(self) -> Problem:
        """The problem; its number is its seed."""
        return MAKERS[self.generator, len(self.shape)](*self.shape, self.sensitive, self.number)


def two_way() -> list[Instance]:
    """2 x 48 tables."""
    found = []
    for number, (m, n, p) in enumerate(product(ROWS, COLUMNS, COUNTS), 1):
        found += [Instance(generator, (m, n), p, number) for generator in (1, 2)]
    return found


def three_way() -> list[Instance]:
    """2 x 8 tables."""
    found = []
    for number, (shape, p) in enumerate(product(CUBES, CUBE_COUNTS), 1):
        found += [Instance(generator, shape, p, number) for generator in (1, 2)]
    return found


def heuristic_row(
    make: Make, heuristic: int, booking: str, seconds: float, more: Mapping[str, Any] | None = None
) -> Row:
    """suppress-network-flow: what the heuristic hides and counts by itself, and what it costs after all.

    As in the paper the second heuristic begins with cells that a linear program of a lower bound hides. `more`: other
    parameters.
    """
    warm_up()
    problem, watch = make(), Watch("protecting levels")
    params = {
        "heuristic": heuristic,
        "booking": booking,
        "initial": "bound" if heuristic == 2 else "none",
        "seconds": seconds,
        **(more or {}),
    }
    result = protect(problem, "suppress-network-flow", params=params, progress=watch)
    counters = result.report.counters
    problems = counters.get("flows", counters.get("linear programs"))
    return {
        **cost_row(problem, result),
        "own_value": counters.get("own cost with sensitive"),
        "problems": problems,
        "own_s": tidy(watch.seconds),
        "bound": result.bound,
    }


def improved_row(make: Make, seconds: float) -> Row:
    """suppress-auto."""
    warm_up()
    return auto_row(make, seconds)


def case(instance: Instance, heuristic: int, booking: str, seconds: float) -> Case:
    """A heuristic on an instance."""
    what = f"heuristic {heuristic}, {booking}"
    measure = partial(heuristic_row, instance.problem, heuristic, booking, seconds)
    return _case(instance, what, measure, seconds, {"heuristic": heuristic, "booking": booking})


def _case(instance: Instance, what: str, measure: Callable[[], Row], seconds: float, more: Row) -> Case:
    facts = {
        "name": instance.name,
        "what": what,
        "generator": instance.generator,
        "shape": "x".join(map(str, instance.shape)),
        "asked": instance.sensitive,
        "number": instance.number,
        "limit_s": f"{seconds:g}",
        **more,
    }
    stratum = (what, instance.generator, len(instance.shape))
    return Case(f"{instance.name}, {what}", measure, seconds + SLACK, stratum, facts)


def cases(seconds: float | None) -> Iterator[Case]:
    """The paper's own algorithm on everything first, then our booking, then suppress-auto."""
    plain, cubes = two_way(), three_way()
    for booking in (PAPER, PROVEN):
        for one in plain:
            yield from (case(one, heuristic, booking, seconds or SECONDS) for heuristic in (1, 2))
        yield from (case(one, 2, booking, seconds or CUBE_SECONDS) for one in cubes)
    for one in cubes:
        limit = seconds or AUTO_SECONDS
        yield _case(one, AUTO, partial(improved_row, one.problem, limit), limit, {})


PARTS = (Part("castro-2002", "both heuristics of Castro (2002) on its instances", cases),)
