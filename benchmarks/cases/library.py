"""The public library of JJ instances: the exact method beside a peer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cases.base import Part, both
from cases.real_data import CSPLIB, csplib_problem
from runner import Case

SECONDS = 600.0


def exactly(seconds: float | None) -> Iterator[Case]:
    """All 13 with the same limit for both programs."""
    limit = seconds or SECONDS
    for name in CSPLIB:
        yield from both(name, partial(csplib_problem, name), limit, limit, (), {})


PARTS = (
    Part(
        "csplib-exact",
        "suppress-optimal on the 13 instances of the library, beside pytauargus",
        exactly,
        True,
    ),
)
