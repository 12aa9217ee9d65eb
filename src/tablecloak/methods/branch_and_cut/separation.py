"""Separators of branch and cut: violated cuts of fractional and of integral points.

Capacity cuts are separated at shifted points: promising cells that x publishes are hidden a little. Cuts that are
violated there are violated by x all the more; and they are sparser and deeper, for they weigh these cells too. At an
integral point no violated cut means that the pattern is safe.

Reference: Ben-Ameur & Neto (2007), Acceleration of cutting-plane and column generation algorithms: applications to
network design, Networks 49(1), for separation at points between x and the interior.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.methods.branch_and_cut.incumbent import Incumbent, SafePatterns
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.settings import Shift
from tablecloak.methods.cuts import (
    BridgelessCuts,
    CoverSeparator,
    Cut,
    NetworkSeparator,
    Relaxation,
    capacity_separator_of,
)
from tablecloak.model import Requirement
from tablecloak.progress import Deadline, TimeUp


class PointSeparator(Protocol):
    """Finds valid inequalities that a point over all cells violates."""

    def separate(self, x: Floats, limit: int) -> list[Cut]:
        """Violated cuts, for at most `limit` requirements."""


class ShiftedCapacity:
    """Capacity cuts, separated at shifted points: the first shift with violated cuts is where the next call begins."""

    def __init__(
        self,
        separation: Separation,
        shifts: Sequence[Shift],
        candidates: Bools,
    ) -> None:
        self._separation, self._candidates = separation, candidates
        self.shifts = shifts
        """The shifts that are left; the last one is the point itself."""

    def separate(self, x: Floats, limit: int) -> list[Cut]:
        """Capacity cuts that are violated at the first shifted point that violates any."""
        own = self._separation
        while True:
            shifted = self._shifted(x, self.shifts[0])
            cuts = own.capacity.separate(shifted, own.model.requirements, most=limit, deadline=own.deadline)
            if cuts or not self.next_shift() or own.deadline.passed():
                return own.safe_patterns.valid(cuts)

    def next_shift(self) -> bool:
        """Go on with a smaller shift; False if there is none."""
        if len(self.shifts) == 1:
            return False
        self.shifts = self.shifts[1:]
        return True

    def _shifted(self, x: Floats, shift: Shift) -> Floats:
        """The point with the candidates of least reduced cost hidden to some extent."""
        cells = np.flatnonzero(self._candidates & (x < shift.extent))
        if cells.size > shift.cells:
            reduced = self._separation.relaxation.reduced[cells]
            cells = cells[np.argpartition(reduced, shift.cells)[: shift.cells]]
        shifted = x.copy()
        shifted[cells] = shift.extent
        return self._separation.model.expanded(shifted)


class Bridgeless:
    """Bridgeless inequalities of single equations, the most violated one of each."""

    def __init__(self, cuts: BridgelessCuts) -> None:
        self._cuts = cuts

    def separate(self, x: Floats, limit: int) -> list[Cut]:
        """All violated ones: there are few, and they belong to no requirement."""
        return self._cuts.separate(x)

    def cheapest(self, count: int, rng: np.random.Generator | None) -> Bools:
        """The cheapest cells of every equation; with `rng` ties are broken at random."""
        return self._cuts.cheapest(count, rng)


class Covers:
    """Knapsack covers of capacity cuts by minimum cuts of their own, at most `kinds` kinds in one call (None: all)."""

    def __init__(
        self, finder: CoverSeparator, safe_patterns: SafePatterns, deadline: Deadline, kinds: int | None
    ) -> None:
        self._finder, self._safe_patterns, self._deadline, self._kinds = (
            finder,
            safe_patterns,
            deadline,
            kinds,
        )

    def separate(self, x: Floats, limit: int) -> list[Cut]:
        """Violated covers of the first kind that has any."""
        return self._safe_patterns.valid(
            self._finder.separate(x, most=limit, kinds=self._kinds, deadline=self._deadline)
        )


class Integral:
    """Cuts that an integral point violates; a point without any is a safe pattern, which is offered as incumbent."""

    def __init__(self, separation: Separation, incumbent: Incumbent, recent: int) -> None:
        self._separation, self._incumbent, self._most_recent = separation, incumbent, recent
        self._recent: list[Requirement] = []
        """Recently violated requirements."""

    def separate(self, x: Floats, limit: int) -> list[Cut]:
        """Violated cuts; none: the point is a safe pattern."""
        own = self._separation
        model = own.model
        found = own.capacity.separate(x, model.requirements, most=limit, deadline=own.deadline)
        cuts = own.safe_patterns.valid(found)
        if not cuts:
            if not found and own.deadline.passed():  # then not every requirement was checked
                raise TimeUp
            sure = model.is_network and not found
            unmet = self._incumbent.offer((x > 0.5) | model.problem.must_hide, sure=sure)
            cuts = [own.capacity.weakest_no_good(requirement, x) for requirement in unmet]
        return [*cuts, *own.bridgeless.separate(x, limit)] if cuts else []

    def is_safe(self, x: Floats) -> bool:
        """Whether an integral point is a safe pattern. Recently violated requirements are checked first."""
        capacity = self._separation.capacity
        if self._recent and capacity.separate(x, self._recent, most=1):
            return False
        safe = not self.separate(x, 1)
        if not safe and self._separation.model.is_network and capacity.worst is not None:
            self._recent = [capacity.worst, *self._recent[: self._most_recent - 1]]
        return safe


class Separation:
    """The separators of a model: lists of them for fractional points, one for integral points; they share engines."""

    def __init__(
        self,
        model: SuppressionModel,
        incumbent: Incumbent,
        relaxation: Relaxation,
        deadline: Deadline,
        limit: int,
        recent: int,
    ) -> None:
        self.model, self.relaxation, self.deadline = model, relaxation, deadline
        self.limit, self.safe_patterns = limit, incumbent.safe_patterns
        """Maximum number of requirements that get cuts in one round, and patterns that no cut may exclude."""
        self.capacity = capacity = capacity_separator_of(model.problem, model.allowed, model.aggregation)
        self.bridgeless = Bridgeless(BridgelessCuts(model.problem, model.allowed, model.aggregation))
        self._covers = (
            CoverSeparator(capacity, model.requirements) if isinstance(capacity, NetworkSeparator) else None
        )
        self._integral = Integral(self, incumbent, recent)

    def shifted_capacity(self, shifts: Sequence[Shift], candidates: Bools | None = None) -> ShiftedCapacity:
        """Capacity cuts at shifted points; promising cells are candidates, all variables if not said."""
        return ShiftedCapacity(self, shifts, self.model.representatives if candidates is None else candidates)

    def covers(self, kinds: int | None = None) -> list[PointSeparator]:
        """Separators of covers: on networks only."""
        if self._covers is None:
            return []
        return [Covers(self._covers, self.safe_patterns, self.deadline, kinds)]

    def star_cuts(self) -> list[Cut]:
        """The cuts of single equations around each requirement: on networks only."""
        return (
            self.capacity.star_cuts(self.model.requirements)
            if isinstance(self.capacity, NetworkSeparator)
            else []
        )

    def violated(self, x: Floats) -> list[Cut]:
        """Cuts that an integral point violates. None: it is a safe pattern, and offered as incumbent."""
        return self._integral.separate(x, self.limit)

    def is_safe(self, x: Floats) -> bool:
        """Whether an integral point is a safe pattern; then it is offered as incumbent."""
        return self._integral.is_safe(x)
