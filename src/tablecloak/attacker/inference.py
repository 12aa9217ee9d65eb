"""Feasibility intervals: several back ends, one interface.

`reach(cells, need_down, need_up)` maximises the deviation of each cell down and up in turn, up to the need: the result
is at least the need (met), or the farthest point with a bound that proves it. An infinite need gives the full extent; a
need of zero is not pursued. Needs and bounds are integral data units; a farthest point may be a fraction of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol, Self

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker.evidence import Amount
from tablecloak.solvers import Tick


@dataclass(eq=False)
class Extents:
    """Extents of some cells on one side: at least `reach`, at most `bound` (infinite where nothing is proven).

    Integers are exact; other numbers are in `fractions` as (reach, bound), by place.
    """

    reach: Floats
    bound: Floats
    fractions: dict[int, tuple[Amount, Amount]] = field(default_factory=dict)

    @classmethod
    def of(cls, size: int) -> Extents:
        """Extents of which nothing is known yet."""
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
        if not (_is_integral(reach) and _is_integral(bound)):
            self.fractions[place] = reach, bound

    def copy_from(self, other: Extents, mine: Ints, its: Ints) -> None:
        """Copy the extents of some cells of another object."""
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
        """Cells whose farthest point is known exactly."""
        proven: Bools = np.asarray(self.reach == self.bound)
        for place, (reach, bound) in self.fractions.items():
            proven[place] = reach == bound
        return proven


class Inference(Protocol):
    """Feasibility intervals of one component; cells are positions in the component.

    Requirements are settled in parts of a fixed size that share nothing, each through an inference of its own
    (`alone`), so that their order does not matter and several threads can ask at the same time.
    """

    engine: str
    solves: int

    def parts(self, cells: Ints, size: Floats) -> list[Ints]:
        """The places in `cells` of each part; `size` as in `reach`."""

    def alone(self, number: int) -> Self:
        """The inference for the part of this number: no solves yet, and scratch memory of its own."""

    def learn(self, number: int, part: Self) -> None:
        """Take over what the inference of a part found that can be of use to later questions, and count its solves."""

    def work(self, questions: int) -> int:
        """The work of this number of questions, by a rough measure: that of a flow in a network is 1."""

    def reach(
        self, cells: Ints, need_down: Floats, need_up: Floats, tick: Tick, size: Floats
    ) -> tuple[Extents, Extents]:
        """Extents of the cells down and up; `size`: the magnitude that matters for each cell (0: unknown)."""


def _amount(number: float) -> Amount:
    return Fraction(int(number)) if math.isfinite(number) else math.inf


def _is_integral(amount: Amount) -> bool:
    return amount == math.inf or (isinstance(amount, Fraction) and amount.denominator == 1)
