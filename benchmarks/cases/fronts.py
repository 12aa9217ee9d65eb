"""The hard fronts: few sensitive cells with large levels, and three-way tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cases.base import Make, Part, by_peer, by_us
from runner import Case
from tablecloak.testing.instances import generator_one, three_way_class_one, three_way_generator_one

SECONDS = 600.0
SEEDS = range(3)


def instances() -> Iterator[tuple[str, Make]]:
    """Every front with its seeds."""
    for size, sensitive in ((50, 25), (100, 100), (250, 500)):
        for seed in SEEDS:
            name = f"generator 1 {size}x{size}, {sensitive} sensitive #{seed}"
            yield name, partial(generator_one, size, size, sensitive, seed)
    for seed in SEEDS:
        yield f"like Class I 10x10x10 #{seed}", partial(three_way_class_one, 10, 10, 10, seed)
    for seed in SEEDS:
        name = f"generator 1 10x10x10, 50 sensitive #{seed}"
        yield name, partial(three_way_generator_one, 10, 10, 10, 50, seed)
    for seed in SEEDS:
        yield f"like Class I 20x20x20 #{seed}", partial(three_way_class_one, 20, 20, 20, seed)


def ours(seconds: float | None) -> Iterator[Case]:
    """suppress-optimal."""
    for name, make in instances():
        front = name.partition(" #")[0]
        yield by_us(name, make, seconds or SECONDS, (front,), {"front": front})


def theirs(seconds: float | None) -> Iterator[Case]:
    """pytauargus."""
    for name, make in instances():
        front = name.partition(" #")[0]
        yield by_peer(name, make, seconds or SECONDS, (front,), {"front": front})


PARTS = (
    Part("fronts", "suppress-optimal on instances that are hard for every known program", ours),
    Part("peer-fronts", "pytauargus on the same", theirs),
)
