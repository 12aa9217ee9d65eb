"""How the exact method grows with cells and with sensitive cells."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cases.base import Make, Part, by_us
from runner import Case
from tablecloak.testing.instances import class_problem, generator_one

SECONDS = 60.0
SEEDS = range(3)
SQUARES = (20, 50, 100, 200, 300, 400, 500)
SHARE = 0.01
SENSITIVE = (25, 50, 100, 200, 400, 800, 1600, 3200)


def series() -> Iterator[tuple[str, int, Make]]:
    """The name of a series, a number of the instance, and the problem."""
    for kind in ("I", "II"):
        for m in SQUARES:
            for number in SEEDS:
                yield f"Class {kind}", m, partial(class_problem, kind, m, m, number)
    for m in SQUARES:
        for seed in SEEDS:
            yield "generator 1, 1% sensitive", m, partial(generator_one, m, m, round(SHARE * m * m), seed)
    for count in SENSITIVE:
        for seed in SEEDS:
            yield "generator 1, 200x200", count, partial(generator_one, 200, 200, count, seed)


def points(seconds: float | None) -> Iterator[Case]:
    """suppress-optimal on every point."""
    for position, (name, size, make) in enumerate(series()):
        instance = f"{name}, {size} #{position % len(SEEDS)}"
        yield by_us(instance, make, seconds or SECONDS, (name, size), {"series": name, "size": size})


PARTS = (Part("growth", "suppress-optimal against the number of cells and of sensitive cells", points),)
