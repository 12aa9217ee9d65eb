"""Local separation: linear programs over the equations near a cell, for large non-network tables.

How far does cell p deviate? Take some equations E near p only, and the cells in them that may deviate:

    max +-d_p     subject to  M_E d = 0,  -down <= d <= up.

This relaxes the program over all equations. If d_p falls short all the same, its duals, zero on all other equations,
make a protection cut of the table (`attacker.oracle`). Else the deviation found is checked: where it satisfies all
equations it is a witness that the requirement is met; the equations that it violates are added, and the program is
solved again.

Witnesses are kept: while the deviation bounds allow one, its requirement is met. For a cut the program is solved once
more with a little slack in the bounds of all cells near p, so that the cut weighs the cells that could be lengthened as
well as those that are; of all cuts of a violated requirement it is one of the strongest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import (
    EQUATION_MET,
    RELATIVE_NOISE,
    REQUIREMENT_MET_BY_PUBLICATION,
    DeviationBounds,
    ProtectionCut,
    WitnessDeviation,
    cut_of_multipliers,
)
from tablecloak.errors import SolverError
from tablecloak.methods.unified.neighbourhood import Neighbourhood
from tablecloak.methods.unified.protection_cuts import Separator
from tablecloak.model import Problem, Requirement
from tablecloak.progress import NEVER, Deadline
from tablecloak.solvers import LinearProgram, Outcome, SimplexOptions, Solution


@dataclass(frozen=True)
class LocalSettings:
    """Sizes of local programs."""

    max_first_cells: int = 600
    """Maximum number of cells in the first program, if the equations of neighbouring cells join those of the cell:
    fewer programs against smaller ones. Untested default."""
    max_cells: int = 3000
    """Maximum number of cells in a program; requirements that need more are left to programs over the whole table.
    Untested default."""
    slack: float = 0.03
    """Deviation bound of cells that could be lengthened, for a cut, as a fraction of the level. Untested default."""


class _Reach(NamedTuple):
    """How far a cell deviates (in units of the level), the deviation, and multipliers of some equations."""

    far: float
    cells: Ints
    moved: Floats
    equations: Ints
    multipliers: Floats


class _Bounds(NamedTuple):
    """Deviation bounds of all cells, and which of them are not zero; `share` as in `Separator.separate`."""

    down: Floats
    up: Floats
    open: Bools
    share: Floats | None

    def at(self, cells: Ints, level: float) -> tuple[Floats, Floats]:
        """The deviation bounds of some cells for a level."""
        if self.share is None:
            return self.down[cells], self.up[cells]
        most = level * self.share[cells]
        return np.minimum(self.down[cells], most), np.minimum(self.up[cells], most)


class LocalSeparator:
    """Local programs first; requirements that they leave undecided go to the separator of the whole table."""

    weighs_closed_cells = True

    def __init__(self, problem: Problem, whole: Separator, settings: LocalSettings = LocalSettings()) -> None:
        self.near, self.boxes = Neighbourhood(problem.table), DeviationBounds(problem)
        self.whole, self.settings = whole, settings
        self.usable = ~problem.forced
        self._session: LinearProgram | None = None
        self._windows: dict[int, Ints] = {}
        self._witnesses: dict[Requirement, WitnessDeviation] = {}
        self._last_violated: dict[Requirement, int] = {}
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
        order = [t for t in range(len(requirements)) if extent[t] > REQUIREMENT_MET_BY_PUBLICATION]
        order.sort(key=lambda t: -self._last_violated.get(requirements[t], 0))
        self._calls += 1
        bounds = _Bounds(below, above, (below > 0) | (above > 0), share)
        found: list[ProtectionCut] = []
        undecided: list[int] = []
        for t in order:
            if len(found) >= most or deadline.passed():
                return found
            if self._still_met(requirements[t], bounds, float(extent[t])):
                continue
            answer = self._settle(requirements[t], bounds, float(extent[t]) - REQUIREMENT_MET_BY_PUBLICATION)
            self._witnesses.pop(requirements[t], None)
            if isinstance(answer, WitnessDeviation):
                self._witnesses[requirements[t]] = answer
            elif answer is None:
                undecided.append(t)
            else:
                found.append(answer)
                self._last_violated[requirements[t]] = self._calls
        if undecided and len(found) < most:
            found += self.whole.separate(
                below,
                above,
                [requirements[t] for t in undecided],
                extent=extent[undecided],
                most=most - len(found),
                share=share,
                deadline=deadline,
            )
        return found

    def _still_met(self, requirement: Requirement, bounds: _Bounds, extent: float) -> bool:
        """Whether the deviation bounds allow the witness that was found last."""
        witness, got = self._witnesses.get(requirement), 0.0
        if witness is None:
            return False
        down, up = self.boxes[requirement.attacker]
        tolerance = EQUATION_MET * requirement.level
        for cells, moved in witness.directions:
            below, above = bounds.at(cells, requirement.level)
            if (moved > np.minimum(above, up[cells]) + tolerance).any():
                return False
            if (-moved > np.minimum(below, down[cells]) + tolerance).any():
                return False
            got += abs(float(moved[np.searchsorted(cells, requirement.cell)]))
        return got >= (extent - REQUIREMENT_MET_BY_PUBLICATION) * requirement.level

    def _settle(
        self, requirement: Requirement, bounds: _Bounds, need: float
    ) -> WitnessDeviation | ProtectionCut | None:
        """A witness that the requirement is met, or a cut that is violated; None if local programs do not decide it."""
        parts, got = [], 0.0
        window = self.near.around(np.array([requirement.cell]), bounds.open, self.settings.max_first_cells)
        for upward in requirement.directions:
            reach = self._reach(requirement, upward, need - got, bounds, window)
            if reach is None:
                return None
            parts.append((upward, reach))
            got += reach.far
            if got >= need * (1 - RELATIVE_NOISE):
                return WitnessDeviation(
                    tuple((part.cells, part.moved * requirement.level) for _, part in parts)
                )
        stronger = self._reaches_with_slack(requirement, bounds, need)
        directions = [(upward, part.equations, part.multipliers) for upward, part in stronger or parts]
        return cut_of_multipliers(self.near.rows, requirement, directions)

    def _reaches_with_slack(
        self, requirement: Requirement, bounds: _Bounds, need: float
    ) -> list[tuple[bool, _Reach]] | None:
        """Reaches with some slack in the bounds of all cells near; None if these meet the requirement."""
        parts, got = [], 0.0
        if requirement.cell not in self._windows:
            self._windows[requirement.cell] = self.near.around(
                np.array([requirement.cell]), self.usable, self.settings.max_first_cells
            )
        window = self._windows[requirement.cell]
        for upward in requirement.directions:
            reach = self._reach(requirement, upward, need - got, bounds, window, slack=self.settings.slack)
            if reach is None or got + reach.far >= need * (1 - RELATIVE_NOISE):
                return None
            got += reach.far
            parts.append((upward, reach))
        return parts

    def _reach(
        self,
        requirement: Requirement,
        upward: bool,
        enough: float,
        bounds: _Bounds,
        equations: Ints,
        slack: float = 0.0,
    ) -> _Reach | None:
        """How far the cell deviates, at most `enough`; None if local programs do not decide it.

        Where only one direction is required, a reach that falls short may be more than all equations allow. Where
        another one adds to it, its deviation has to satisfy all of them.
        `slack`: least deviation bound of the cells that may be touched; then no other equations are added.
        """
        box_down, box_up = self.boxes[requirement.attacker]
        only = len(requirement.directions) == 1
        while True:
            cells = self.near.cells_in(equations)
            usable = bounds.open[cells] | (cells == requirement.cell)
            cells = cells[usable | self.usable[cells] if slack else usable]
            if cells.size == 0:  # in no equation: only its own bounds matter
                cells = np.array([requirement.cell])
            if cells.size > self.settings.max_cells:
                return None
            down, up = (side / requirement.level for side in bounds.at(cells, requirement.level))
            if slack:
                least = np.where(self.usable[cells], slack, 0.0)
                down, up = np.maximum(down, least), np.maximum(up, least)
            low = -np.minimum(down, box_down[cells] / requirement.level)
            high = np.minimum(up, box_up[cells] / requirement.level)
            place = int(np.searchsorted(cells, requirement.cell))
            low[place], high[place] = max(low[place], -enough), min(high[place], enough)
            solution = self._solved(equations, cells, low, high, place, upward)
            far = abs(float(solution.values[place]))
            if slack or (only and far < enough * (1 - RELATIVE_NOISE)):
                return _Reach(far, cells, solution.values, equations, -solution.duals)
            moved = solution.values != 0.0
            moved[place] = True
            more = np.setdiff1d(
                self.near.violated(cells[moved], solution.values[moved], EQUATION_MET), equations
            )
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
            options = SimplexOptions(feasible=True)
            self._session = LinearProgram(matrix, low, high, cost=cost, options=options)
        else:
            self._session.load(matrix, low, high, cost=cost)
        solution = self._session.solve()
        if solution.outcome is not Outcome.OPTIMAL:
            raise SolverError(f"HiGHS ended with {solution.outcome.value} on an attacker's program")
        return solution
