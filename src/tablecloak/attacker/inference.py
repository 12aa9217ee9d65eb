"""Feasibility intervals: several back ends, one interface.

`reach(cells, need_down, need_up)` pushes each cell down and up in turn, other cells free to follow, and stops at the
need: what it returns is at least the need (met), or the farthest point with a bound that proves it. An infinite need
gives the whole extent; a need of zero is not pushed at all. All amounts are whole data units; a farthest point may be
a fraction of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker.evidence import Amount

Tick = Callable[[int], None]


@dataclass(eq=False)
class Extents:
    """How far some cells go on one side: at least `reach`, at most `bound` (infinite where nothing is proven).

    Whole numbers are exact; those that are not are in `fractions` as (reach, bound), by place.
    """

    reach: Floats
    bound: Floats
    fractions: dict[int, tuple[Amount, Amount]] = field(default_factory=dict)

    @classmethod
    def of(cls, size: int) -> Extents:
        """Nothing known yet."""
        return cls(np.zeros(size), np.full(size, np.inf))

    def exact(self, place: int) -> tuple[Amount, Amount]:
        """Reach and bound of one cell."""
        if place in self.fractions:
            return self.fractions[place]
        return _amount(self.reach[place]), _amount(self.bound[place])

    def set(self, place: int, reach: Amount, bound: Amount) -> None:
        """Keep reach and bound of one cell."""
        self.reach[place], self.bound[place] = float(reach), float(bound)
        self.fractions.pop(place, None)
        if not (_is_whole(reach) and _is_whole(bound)):
            self.fractions[place] = reach, bound

    def copy_from(self, other: Extents, mine: Ints, its: Ints) -> None:
        """Take over some cells of another one."""
        self.reach[mine], self.bound[mine] = other.reach[its], other.bound[its]
        for gone in mine.tolist() if self.fractions else ():
            self.fractions.pop(gone, None)
        if other.fractions:
            place = dict(zip(its.tolist(), mine.tolist(), strict=True))
            self.fractions.update(
                {place[where]: amounts for where, amounts in other.fractions.items() if where in place}
            )

    @property
    def proven(self) -> Bools:
        """Where the farthest point is known exactly."""
        proven: Bools = np.asarray(self.reach == self.bound)
        for place, (reach, bound) in self.fractions.items():
            proven[place] = reach == bound
        return proven


class Inference(Protocol):
    """An attacker at work on one component; cells are positions in the component."""

    engine: str
    solves: int

    def reach(
        self, cells: Ints, need_down: Floats, need_up: Floats, tick: Tick, size: Floats
    ) -> tuple[Extents, Extents]:
        """How far the cells go down and up; `size`: amounts that matter for each cell (0: none in particular)."""


def _amount(number: float) -> Amount:
    return Fraction(int(number)) if math.isfinite(number) else math.inf


def _is_whole(amount: Amount) -> bool:
    return amount == math.inf or (isinstance(amount, Fraction) and amount.denominator == 1)
