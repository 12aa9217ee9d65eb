"""Separators of branch and cut: violated cuts of fractional and of integral points.

Capacity cuts are separated at shifted points: promising cells that x publishes are hidden a little. Cuts that are
violated there are violated by x all the more; and they are sparser and deeper, for they weigh these cells too. At an
integral point no violated cut means that the pattern is safe.

Reference: Ben-Ameur & Neto (2007), Acceleration of cutting-plane and column generation algorithms: applications to
network design, Networks 49(1), for separation at points between x and the interior.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.methods.branch_and_cut.incumbent import Incumbent
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.settings import ExactSettings, Shift
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


@dataclass(frozen=True, eq=False)
class SeparationScope:
    """Where fractional points are separated, at the root or in one tree, and with what effort."""

    separation: Separation
    candidates: Bools
    """The variables that may be 1 there; the others are fixed to 0."""
    shifts: Sequence[Shift]
    """Shifts of the separation point, the largest one first; the last one is the point itself."""
    keeps_shift: bool
    """Whether a call begins with the shift at which the call before it ended (root), or with the first one (tree)."""
    cover_kinds: int | None
    """Maximum number of kinds of covers that are separated in one call; None: all."""

    @property
    def model(self) -> SuppressionModel:
        """The model of the search."""
        return self.separation.model


class PointSeparator(ABC):
    """Finds valid inequalities that a fractional point violates. An object serves the root, or one tree."""

    is_fallback: ClassVar[bool] = False
    """Whether it is called only where the other separators find nothing."""

    def __init__(self, scope: SeparationScope) -> None:
        self.scope = scope

    @staticmethod
    def supports(scope: SeparationScope) -> bool:
        """Whether there are such cuts in the scope."""
        return True

    @abstractmethod
    def separate(self, x: Floats, limit: int) -> list[Cut]:
        """Violated cuts, for at most `limit` requirements; x is over all cells."""

    def next_shift(self) -> bool:
        """Called when the bound of the root stalls; True if the next call separates another point."""
        return False


class ShiftedCapacity(PointSeparator):
    """Capacity cuts, separated at shifted points; at the root a call begins with the shift at which the last ended."""

    def __init__(self, scope: SeparationScope) -> None:
        super().__init__(scope)
        self.shifts = scope.shifts
        """The shifts that are left."""

    def separate(self, x: Floats, limit: int) -> list[Cut]:
        """Capacity cuts that are violated at the first shifted point that violates any."""
        own = self.scope.separation
        if not self.scope.keeps_shift:
            self.shifts = self.scope.shifts
        while True:
            shifted = self._shifted(x, self.shifts[0])
            cuts = own.capacity_cuts(shifted, limit)
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
        own = self.scope.separation
        cells = np.flatnonzero(self.scope.candidates & (x < shift.extent))
        if cells.size > shift.cells:
            reduced = own.relaxation.reduced[cells]
            cells = cells[np.argpartition(reduced, shift.cells)[: shift.cells]]
        shifted = x.copy()
        shifted[cells] = shift.extent
        return own.model.expanded(shifted)


class Bridgeless(PointSeparator):
    """Bridgeless inequalities of single equations, the most violated one of each."""

    def separate(self, x: Floats, limit: int) -> list[Cut]:
        """All violated ones: there are few, and they belong to no requirement."""
        return self.scope.separation.bridgeless.separate(x)


class Covers(PointSeparator):
    """Knapsack covers of capacity cuts by minimum cuts of their own, which take longer: on networks only."""

    is_fallback = True

    @staticmethod
    def supports(scope: SeparationScope) -> bool:
        """Whether the table is a network and covers are to be separated."""
        return scope.separation.covers is not None and scope.cover_kinds != 0

    def separate(self, x: Floats, limit: int) -> list[Cut]:
        """Violated covers of the first kind that has any."""
        own, kinds = self.scope.separation, self.scope.cover_kinds
        assert own.covers is not None
        return own.safe_patterns.valid(own.covers.separate(x, most=limit, kinds=kinds, deadline=own.deadline))


SEPARATORS: tuple[type[PointSeparator], ...] = (ShiftedCapacity, Bridgeless, Covers)
"""The separators of fractional points, in the order in which they are called."""


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
        return [*cuts, *own.bridgeless.separate(x)] if cuts else []

    def is_safe(self, x: Floats) -> bool:
        """Whether an integral point is a safe pattern. Recently violated requirements are checked first."""
        capacity = self._separation.capacity
        if self._recent and capacity.separate(x, self._recent, most=1):
            return False
        safe = not self.separate(x, 1)
        if not safe and self._separation.model.is_network and capacity.worst is not None:
            self._recent = [capacity.worst, *self._recent[: self._most_recent - 1]]
        return safe


class SeparatorLists:
    """The separators that a scope supports, in the order of the list they are chosen from."""

    def __init__(self, chosen: Sequence[type[PointSeparator]], scope: SeparationScope) -> None:
        made = [separator(scope) for separator in chosen if separator.supports(scope)]
        self.first = [each for each in made if not each.is_fallback]
        self.fallback = [each for each in made if each.is_fallback]
        """Those that are called where the first ones find nothing."""

    def next_shift(self) -> bool:
        """Let every separator go on to its next separation point; False if none has one."""
        moved = [each.next_shift() for each in self.first]
        return any(moved)


class Separation:
    """Separation for a model: separators of fractional points, one of integral points, and the engines they share.

    `chosen`: the separators of fractional points. The one of integral points, which decides what is safe, is always
    there.
    """

    def __init__(
        self,
        model: SuppressionModel,
        incumbent: Incumbent,
        relaxation: Relaxation,
        deadline: Deadline,
        limit: int,
        settings: ExactSettings,
        chosen: Sequence[type[PointSeparator]] = SEPARATORS,
    ) -> None:
        self._chosen = tuple(chosen)
        self.model, self.relaxation, self.deadline = model, relaxation, deadline
        self.limit, self.safe_patterns = limit, incumbent.safe_patterns
        """Maximum number of requirements that get cuts in one round, and patterns that no cut may exclude."""
        self.capacity = capacity = capacity_separator_of(
            model.problem, model.allowed, model.aggregation, settings.capacity
        )
        self.bridgeless = BridgelessCuts(model.problem, model.allowed, model.aggregation, settings.bridgeless)
        self.covers = (
            CoverSeparator(capacity, model.requirements) if isinstance(capacity, NetworkSeparator) else None
        )
        """Engines of capacity cuts, of bridgeless inequalities and, on networks, of covers."""
        self.active = list(model.first_active)
        first = set(self.active)
        self.waiting = [requirement for requirement in model.requirements if requirement not in first]
        """Requirements that fractional points are separated for, and those that none has violated so far. Integral
        points are always separated for all."""
        self._integral = Integral(self, incumbent, settings.recent_violations)

    def capacity_cuts(self, x: Floats, limit: int) -> list[Cut]:
        """Violated capacity cuts of active requirements; where there are none, of the others, which are active then."""
        cuts = self.capacity.separate(x, self.active, most=limit, deadline=self.deadline)
        if cuts or not self.waiting:
            return cuts
        still = []
        for requirement in self.waiting:
            found = self.capacity.separate(x, [requirement], most=1, deadline=self.deadline)
            (self.active if found else still).append(requirement)
            cuts += found
        self.waiting = still
        return cuts

    def at_root(self, shifts: Sequence[Shift], cover_kinds: int | None) -> SeparatorLists:
        """The separators of the root, over all variables."""
        scope = SeparationScope(self, self.model.representatives, shifts, True, cover_kinds)
        return SeparatorLists(self._chosen, scope)

    def in_tree(self, candidates: Bools, shifts: Sequence[Shift], cover_kinds: int) -> SeparatorLists:
        """The separators of a tree over some of the variables."""
        return SeparatorLists(self._chosen, SeparationScope(self, candidates, shifts, False, cover_kinds))

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
