"""Proofs by linear programs over the equations near a cell: for large tables that are no networks.

How far can cell p go? Take some equations near p only, and the cells in them that have room:

    max +-d_p     subject to  M_E d = 0,  -down <= d <= up.

This asks for less than all equations do. If d_p falls short all the same, its duals, zero on all other equations, prove
that it does in the table (`protection_cuts`). Else the deviation found is looked at: where it satisfies all equations
it is a witness that the level is met; the equations that it violates are added, and the question is asked again.

Witnesses are kept: while there is room for one its level need not be asked. For a cut the question is asked once more
with a little room for all cells near p, so that it weighs the cells that could be lengthened as well as those that are;
of all cuts of a level that is missed it is one of the strongest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import Boxes
from tablecloak.errors import SolverError
from tablecloak.methods.unified.neighbourhood import Neighbourhood
from tablecloak.methods.unified.protection_cuts import ProtectionCut, Separator
from tablecloak.model import Problem, Requirement
from tablecloak.progress import NEVER, Deadline
from tablecloak.solvers import Outcome, Session, Solution

SHORT = 1e-7
"""A level is missed if more than this share of it is missing."""
BALANCED = 1e-8
"""A deviation satisfies an equation if it is off by no more than this share of the level."""
MOST_CELLS = 600
"""Equations around a cell are taken at once where no more cells than this are in them."""
FARTHEST = 3000
"""A question that needs more cells than this is left to programs over the whole table."""
LITTLE = 0.03
"""The room that cells without room get for a cut, as a share of the level."""


class _Reach(NamedTuple):
    """How far a cell goes (in units of the level), the deviation behind it, and multipliers of some equations."""

    far: float
    cells: Ints
    moved: Floats
    equations: Ints
    multipliers: Floats


class _Room(NamedTuple):
    """How far down and up each cell may go, and which cells may at all; `share` as in `Separator.separate`."""

    down: Floats
    up: Floats
    open: Bools
    share: Floats | None

    def at(self, cells: Ints, level: float) -> tuple[Floats, Floats]:
        """The room of some cells for a level."""
        if self.share is None:
            return self.down[cells], self.up[cells]
        most = level * self.share[cells]
        return np.minimum(self.down[cells], most), np.minimum(self.up[cells], most)


class LocalSeparator:
    """Looks near the cell first; what cannot be told there is asked of `far`."""

    weighs_closed_cells = True

    def __init__(self, problem: Problem, far: Separator) -> None:
        self.near, self.boxes, self.far = Neighbourhood(problem.table), Boxes(problem), far
        self.usable = ~problem.forced
        self._session: Session | None = None
        self._windows: dict[int, Ints] = {}
        self._witnesses: dict[Requirement, list[tuple[Ints, Floats]]] = {}
        self._missed: dict[Requirement, int] = {}
        self._calls = 0

    def separate(
        self,
        below: Floats,
        above: Floats,
        requirements: Sequence[Requirement],
        *,
        extent: Floats,
        most: int,
        share: Floats | None = None,
        depth: int = 1,
        deadline: Deadline = NEVER,
    ) -> list[ProtectionCut]:
        order = [t for t in range(len(requirements)) if extent[t] > SHORT]
        order.sort(key=lambda t: -self._missed.get(requirements[t], 0))
        self._calls += 1
        room = _Room(below, above, (below > 0) | (above > 0), share)
        found: list[ProtectionCut] = []
        undecided: list[int] = []
        for t in order:
            if len(found) >= most or deadline.passed():
                return found
            if self._still_met(requirements[t], room, float(extent[t])):
                continue
            cut = self._ask(requirements[t], room, float(extent[t]) - SHORT)
            if cut is not None:
                found.append(cut)
                self._missed[requirements[t]] = self._calls
            elif requirements[t] not in self._witnesses:
                undecided.append(t)
        if undecided and len(found) < most:
            found += self.far.separate(
                below,
                above,
                [requirements[t] for t in undecided],
                extent=extent[undecided],
                most=most - len(found),
                share=share,
                deadline=deadline,
            )
        return found

    def _still_met(self, requirement: Requirement, room: _Room, extent: float) -> bool:
        """Whether there is room for the witness of the level that was found last."""
        witness, got = self._witnesses.get(requirement), 0.0
        if witness is None:
            return False
        down, up = self.boxes[requirement.attacker]
        slack = BALANCED * requirement.level
        for cells, moved in witness:
            below, above = room.at(cells, requirement.level)
            if (moved > np.minimum(above, up[cells]) + slack).any():
                return False
            if (-moved > np.minimum(below, down[cells]) + slack).any():
                return False
            got += abs(float(moved[np.searchsorted(cells, requirement.cell)]))
        return got >= (extent - SHORT) * requirement.level

    def _ask(self, requirement: Requirement, room: _Room, need: float) -> ProtectionCut | None:
        """A cut that the level is missed; None if it is met (then there is a witness) or cannot be told near it."""
        self._witnesses.pop(requirement, None)
        parts, got = [], 0.0
        window = self.near.around(np.array([requirement.cell]), room.open, MOST_CELLS)
        for upward in requirement.directions:
            reach = self._reach(requirement, upward, need - got, room, window)
            if reach is None:
                return None
            parts.append((upward, reach))
            got += reach.far
            if got >= need * (1 - 1e-12):
                self._witnesses[requirement] = [
                    (part.cells, part.moved * requirement.level) for _, part in parts
                ]
                return None
        sharper = self._sharper(requirement, room, need)
        sides = [(upward, part.equations, part.multipliers) for upward, part in sharper or parts]
        return self.near.cut(requirement, sides)

    def _sharper(
        self, requirement: Requirement, room: _Room, need: float
    ) -> list[tuple[bool, _Reach]] | None:
        """The same with a little room for all cells near; None if that is enough for the level."""
        parts, got = [], 0.0
        if requirement.cell not in self._windows:
            self._windows[requirement.cell] = self.near.around(
                np.array([requirement.cell]), self.usable, MOST_CELLS
            )
        window = self._windows[requirement.cell]
        for upward in requirement.directions:
            reach = self._reach(requirement, upward, need - got, room, window, little=LITTLE)
            if reach is None or got + reach.far >= need * (1 - 1e-12):
                return None
            got += reach.far
            parts.append((upward, reach))
        return parts

    def _reach(
        self,
        requirement: Requirement,
        upward: bool,
        enough: float,
        room: _Room,
        equations: Ints,
        little: float = 0.0,
    ) -> _Reach | None:
        """How far the cell goes, at most `enough`; None if that cannot be told near it.

        Where only one direction is asked for, a reach that falls short may be more than all equations allow. Where
        another one adds to it, its deviation has to satisfy all of them.
        `little`: all cells that may be touched have so much room at least; then other equations are left out for good.
        """
        box_down, box_up = self.boxes[requirement.attacker]
        only = len(requirement.directions) == 1
        while True:
            cells = self.near.cells_in(equations)
            usable = room.open[cells] | (cells == requirement.cell)
            cells = cells[usable | self.usable[cells] if little else usable]
            if cells.size == 0:  # in no equation: its own room is all that matters
                cells = np.array([requirement.cell])
            if cells.size > FARTHEST:
                return None
            down, up = (side / requirement.level for side in room.at(cells, requirement.level))
            if little:
                least = np.where(self.usable[cells], little, 0.0)
                down, up = np.maximum(down, least), np.maximum(up, least)
            low = -np.minimum(down, box_down[cells] / requirement.level)
            high = np.minimum(up, box_up[cells] / requirement.level)
            place = int(np.searchsorted(cells, requirement.cell))
            low[place], high[place] = max(low[place], -enough), min(high[place], enough)
            solution = self._solved(equations, cells, low, high, place, upward)
            far = abs(float(solution.values[place]))
            if little or (only and far < enough * (1 - 1e-12)):
                return _Reach(far, cells, solution.values, equations, -solution.duals)
            moved = solution.values != 0.0
            moved[place] = True
            more = np.setdiff1d(self.near.violated(cells[moved], solution.values[moved], BALANCED), equations)
            if more.size == 0:
                return _Reach(far, cells[moved], solution.values[moved], equations, -solution.duals)
            equations = np.union1d(equations, more)

    def _solved(
        self, equations: Ints, cells: Ints, low: Floats, high: Floats, place: int, upward: bool
    ) -> Solution:
        matrix = self.near.matrix(equations, cells)
        cost = np.zeros(cells.size)
        cost[place] = -1.0 if upward else 1.0
        if self._session is None:
            self._session = Session(matrix, low, high, cost=cost, feasible=True)
        else:
            self._session.load(matrix, low, high, cost=cost)
        solution = self._session.solve()
        if solution.outcome is not Outcome.OPTIMAL:
            raise SolverError(f"HiGHS ended with {solution.outcome.value} on an attacker's program")
        return solution
