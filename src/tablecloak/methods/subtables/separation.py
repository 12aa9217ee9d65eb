"""Cuts of a subsystem at points of the whole table: capacity cuts of its attackers, and on networks their covers.

What holds for all safe patterns of a subsystem holds for those of the whole. On networks cuts are separated by minimum
cuts, some hundred times as fast as by the programs of the whole table, and with covers, which those do not give.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import Subsystem
from tablecloak.auditing import audit
from tablecloak.methods.cuts import (
    CapacitySettings,
    CoverSeparator,
    Cut,
    NetworkSeparator,
    capacity_separator_of,
)
from tablecloak.methods.feasibility import largest_pattern
from tablecloak.model import Problem, Suppression, open_requirements
from tablecloak.progress import Deadline


@dataclass(frozen=True, eq=False)
class MemberCut(Cut):
    """A cut that follows from the equations of one member."""

    member: int


class MemberSeparator:
    """The separators of one subsystem, the member of this number."""

    def __init__(
        self,
        number: int,
        subsystem: Subsystem,
        problem: Problem,
        settings: CapacitySettings = CapacitySettings(),
    ) -> None:
        self.number, self.subsystem, self.view = number, subsystem, subsystem.view(problem)
        self.allowed: Bools = largest_pattern(self.view)
        self.free: Bools = self.allowed & ~self.view.must_hide
        found = audit(self.view, Suppression.copy_of(self.view.must_hide))
        self.requirements = open_requirements(self.view, found, self.free)
        self._capacity = capacity_separator_of(self.view, self.allowed, settings=settings)
        self._covers: CoverSeparator | None = None
        if isinstance(self._capacity, NetworkSeparator):
            self._covers = CoverSeparator(self._capacity, self.requirements)

    def capacity(self, x: Floats, most: int, deadline: Deadline) -> list[MemberCut]:
        """Capacity cuts that a point of the whole table violates, for at most this number of requirements."""
        here = x[self.subsystem.cells]
        return self.in_parent(self._capacity.separate(here, self.requirements, most=most, deadline=deadline))

    def covers(self, x: Floats, most: int, deadline: Deadline) -> list[MemberCut]:
        """Covers that a point of the whole table violates; none where the subsystem is not a network."""
        if self._covers is None:
            return []
        return self.in_parent(self._covers.separate(x[self.subsystem.cells], most=most, deadline=deadline))

    def in_parent(self, cuts: Iterable[Cut]) -> list[MemberCut]:
        """Cuts over the cells of the subsystem as cuts over the cells of the whole table."""
        cells = self.subsystem.cells
        return [MemberCut(cells[cut.cells], cut.coefficients, cut.rhs, cut.kind, self.number) for cut in cuts]
