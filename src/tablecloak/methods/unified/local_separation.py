"""Local separation and initial cuts: linear programs over the equations near a cell, for large non-network tables.

How far does cell p deviate? Take some equations E near p only, and the cells in them that may deviate:

    max +-d_p     subject to  M_E d = 0,  -down <= d <= up.

This relaxes the program over all equations. If d_p falls short all the same, its duals, zero on all other equations,
make a protection cut of the table (`attacker.oracle`). Else the deviation found is checked: where it satisfies all
equations it is a witness that the requirement is met; the equations that it violates are added, and the program is
solved again.

Witnesses are kept: while the deviation bounds allow one, its requirement is met. For a cut the program is solved once
more with a little slack in the bounds of all cells near p, so that the cut weighs the cells that could be lengthened as
well as those that are; of all cuts of a violated requirement it is one of the strongest.

*Initial cuts* (`local_protection_cuts`): for levels L_t of cells p_t that share equations, and the cells around them,

    min  sum_i u_i z_i+ + v_i z_i-     subject to  M d^t = 0,  -z- <= d^t <= z+,  +-d^t_p >= L_t  for every t

with d^t in the attacker's box is a small linear program, the compact model of these requirements. With its duals y^t
of the equations and q_t of the level, -y^t / q_t are multipliers for requirement t, zero on all other equations. Their
cuts alone, with the price of the cells, give the optimum of the small program as a bound: they are the right ones as
far as requirements elsewhere do not matter, and valid whatever was left out, as all multipliers are. The cutting-plane
model starts with them. A sliding requirement takes two deviations, one up and one down, that are L_t apart.

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework, first models. Taking the duals of
small ones as cuts of the second model is a contribution of this package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Codes, Floats, Ints, ranges
from tablecloak.attacker import (
    EQUATION_MET,
    RELATIVE_NOISE,
    REQUIREMENT_MET_BY_PUBLICATION,
    DeviationBounds,
    MultiplierSettings,
    ProtectionCut,
    WitnessDeviation,
    cut_of_multipliers,
    is_network,
    working_columns,
    working_equations,
)
from tablecloak.errors import SolverError
from tablecloak.methods.unified.protection_cuts import Separator
from tablecloak.model import Problem, Requirement, Table, box_deviation_bounds
from tablecloak.progress import NEVER, Deadline
from tablecloak.solvers import DUAL, HighsSettings, LinearProgram, Outcome, SimplexOptions, Solution


class Neighbourhood:
    """The equations of a table by rows and by columns: access to a few of them at a time."""

    def __init__(self, table: Table) -> None:
        self.rows, self.columns = csr_array(working_equations(table)), working_columns(table)
        self._place: Ints = np.full(self.columns.shape[1], -1, dtype=np.int64)
        self._sums: Floats = np.zeros(self.columns.shape[0])

    def equations_of(self, cells: Ints) -> Ints:
        """The equations that these cells are in, sorted."""
        return np.unique(_gathered(self.columns.indptr, self.columns.indices, cells))

    def cells_in(self, equations: Ints) -> Ints:
        """The cells in these equations, sorted."""
        return np.unique(_gathered(self.rows.indptr, self.rows.indices, equations))

    def around(self, cells: Ints, usable: Bools, most: int) -> Ints:
        """The equations of these cells, and those of usable cells in them if these are in no more than `most` cells."""
        own = self.equations_of(cells)
        near = self.cells_in(own)
        wider = np.union1d(own, self.equations_of(near[usable[near]]))
        return wider if usable[self.cells_in(wider)].sum() <= most else own

    def matrix(self, equations: Ints, cells: Ints) -> csc_array:
        """The matrix of some equations over some cells."""
        start = self.rows.indptr[equations]
        count = self.rows.indptr[equations + 1] - start
        place = ranges(start, start + count)
        self._place[cells] = np.arange(cells.size)
        column = self._place[self.rows.indices[place]]
        self._place[cells] = -1
        row, kept = np.repeat(np.arange(equations.size), count), column >= 0
        shape = (equations.size, cells.size)
        return csc_array((self.rows.data[place[kept]], (row[kept], column[kept])), shape=shape)

    def violated(self, cells: Ints, moved: Floats, tolerance: float) -> Ints:
        """The equations that a deviation of these cells violates, sorted."""
        start = self.columns.indptr[cells]
        count = self.columns.indptr[cells + 1] - start
        place = ranges(start, start + count)
        rows = self.columns.indices[place].astype(np.int64)
        np.add.at(self._sums, rows, self.columns.data[place] * np.repeat(moved, count))
        touched = np.unique(rows)
        found = touched[np.abs(self._sums[touched]) > tolerance]
        self._sums[touched] = 0.0
        return found


def _gathered(indptr: Codes, indices: Codes, which: Ints) -> Ints:
    """The indices of some rows (or columns), one after the other."""
    start = indptr[which]
    return indices[ranges(start, indptr[which + 1])].astype(np.int64)


@dataclass(frozen=True)
class LocalStartSettings:
    """When local programs are worth it, and how large they are."""

    max_whole_cells: int = 2000
    """Maximum number of cells of a table whose programs are over the whole table: these are quick. Untested
    default."""
    sample: int = 20
    """Approximate number of sensitive cells whose neighbourhoods are measured. Untested default."""
    max_neighbourhood: int = 200
    """Maximum number of cells in the neighbourhoods of most of the sample, for local programs: where equations are
    long, as in three-way tables, neighbourhoods are nearly the whole table. Untested default."""
    max_sensitive: int = 12
    """Maximum number of sensitive cells in one program: stronger cuts against larger programs. Untested default."""
    max_cells: int = 600
    """Maximum number of cells in one program, if the equations of neighbouring cells join it. Untested default."""
    max_columns: int = 20_000
    """Maximum number of columns of one program; larger ones are left out. Untested default."""
    min_dual: float = 1e-7
    """Dual of a requirement, as a fraction of the largest price, from which it makes a cut. Untested default."""
    multipliers: MultiplierSettings = MultiplierSettings()
    highs: HighsSettings = HighsSettings()


def separates_locally(problem: Problem, settings: LocalStartSettings = LocalStartSettings()) -> bool:
    """Whether separation is local first: in large non-network tables whose neighbourhoods are small."""
    if len(problem.table) <= settings.max_whole_cells or is_network(problem):
        return False
    near, usable, most = Neighbourhood(problem.table), ~problem.forced, settings.max_neighbourhood
    cells = np.flatnonzero(problem.sensitive)
    some = cells[:: max(1, cells.size // settings.sample)].reshape(-1, 1)
    small = [near.around(cell, usable, most).size > near.equations_of(cell).size for cell in some]
    return sum(small) * 2 > len(small)


def local_protection_cuts(
    problem: Problem,
    up: Floats,
    down: Floats,
    requirements: Sequence[Requirement],
    deadline: Deadline,
    settings: LocalStartSettings = LocalStartSettings(),
) -> list[ProtectionCut]:
    """Cuts as strong as the requirements nearby make them; `up`, `down`: cost of a unit of length of each cell."""
    models = _LocalModels(problem, up, down, settings)
    found: list[ProtectionCut] = []
    for group in _groups(models.near, requirements, settings.max_sensitive):
        if deadline.passed():
            break
        found += models.separate(group, deadline)
    return found


def _groups(
    near: Neighbourhood, requirements: Sequence[Requirement], most: int
) -> Iterator[list[Requirement]]:
    """Requirements of the same cell or of cells in the same equations, of at most `most` cells."""
    of_cell: dict[int, list[Requirement]] = {}
    for requirement in requirements:
        of_cell.setdefault(requirement.cell, []).append(requirement)
    waiting = set(of_cell)
    asked = np.zeros(near.columns.shape[1], dtype=bool)
    asked[list(of_cell)] = True
    for first in sorted(of_cell):
        if first not in waiting:
            continue
        queue, chosen = [first], list[int]()
        waiting.discard(first)
        while queue and len(chosen) < most:
            cell = queue.pop(0)
            chosen.append(cell)
            others = near.cells_in(near.equations_of(np.array([cell])))
            for other in others[asked[others]].tolist():
                if other in waiting:
                    waiting.discard(other)
                    queue.append(other)
        waiting.update(queue)
        yield [requirement for cell in chosen for requirement in of_cell[cell]]


class _LocalModels:
    """The compact models of neighbourhoods in one table."""

    def __init__(self, problem: Problem, up: Floats, down: Floats, settings: LocalStartSettings) -> None:
        self.settings = settings
        self.near, self.boxes, self.price = Neighbourhood(problem.table), DeviationBounds(problem), (up, down)
        self.widest, self.usable = box_deviation_bounds(problem), ~problem.forced
        self._session: LinearProgram | None = None

    def separate(self, requirements: list[Requirement], deadline: Deadline) -> list[ProtectionCut]:
        """The cuts that the duals of one program make."""
        own = np.unique([requirement.cell for requirement in requirements])
        equations = self.near.around(own, self.usable, self.settings.max_cells)
        cells = self.near.cells_in(equations)
        cells = cells[self.usable[cells]]
        legs = [
            (k, upward) for k, requirement in enumerate(requirements) for upward in requirement.directions
        ]
        if cells.size * len(legs) > self.settings.max_columns or not np.isin(own, cells).all():
            return []
        duals = self._duals(requirements, legs, equations, cells, deadline)
        if duals is None:
            return []
        multipliers, worth = duals
        directions: list[list[tuple[bool, Ints, Floats]]] = [[] for _ in requirements]
        for (k, upward), y in zip(legs, multipliers, strict=True):
            if worth[k] > self.settings.min_dual:
                directions[k].append((upward, equations, -y / worth[k]))
        return [
            cut_of_multipliers(self.near.rows, requirement, given, self.settings.multipliers)
            for requirement, given in zip(requirements, directions, strict=True)
            if given
        ]

    def _duals(
        self,
        requirements: list[Requirement],
        legs: list[tuple[int, bool]],
        equations: Ints,
        cells: Ints,
        deadline: Deadline,
    ) -> tuple[Floats, Floats] | None:
        """The duals of the equations, a row each deviation, and those of the levels; None if there is no optimum."""
        count, many = cells.size, equations.size
        unit = max(requirement.level for requirement in requirements)
        price = np.concatenate([side[cells] for side in self.price])
        largest = float(price.max(initial=0.0)) or 1.0
        low, high = [np.zeros(2 * count)], [self.widest[1][cells] / unit, self.widest[0][cells] / unit]
        for k, _ in legs:
            down, up = self.boxes[requirements[k].attacker]
            low.append(-down[cells] / unit)
            high.append(up[cells] / unit)
        matrix = self._matrix(requirements, legs, equations, cells)
        each = many + 2 * count
        row_low = np.zeros(len(legs) * each + len(requirements))
        row_low[len(legs) * each :] = [requirement.level / unit for requirement in requirements]
        row_high = np.full(row_low.size, np.inf)
        row_high[: len(legs) * each].reshape(-1, each)[:, :many] = 0.0
        cost = np.concatenate([price / largest, np.zeros(len(legs) * count)])
        arrays = (matrix, np.concatenate(low), np.concatenate(high))
        if self._session is None:
            options = SimplexOptions(strategy=DUAL)
            self._session = LinearProgram(
                *arrays,
                cost=cost,
                rows=(row_low, row_high),
                options=options,
                settings=self.settings.highs,
            )
        else:
            self._session.load(*arrays, cost=cost, rows=(row_low, row_high))
        solution = self._session.solve(deadline.left)
        if solution.outcome is not Outcome.OPTIMAL:
            return None
        duals = solution.duals[: len(legs) * each].reshape(-1, each)[:, :many]
        return duals, solution.duals[len(legs) * each :]

    def _matrix(
        self, requirements: list[Requirement], legs: list[tuple[int, bool]], equations: Ints, cells: Ints
    ) -> csc_array:
        """For each deviation its equations, then z+ - d >= 0, then z- + d >= 0; last what the levels ask."""
        part = self.near.matrix(equations, cells).tocoo()
        count, many, one = cells.size, equations.size, np.arange(cells.size)
        each, ones = many + 2 * count, np.ones(count)
        row: Ints = np.concatenate([part.row, many + one, many + one, many + count + one, many + count + one])
        rows, columns, data = list[Ints](), list[Ints](), list[Floats]()
        for number, (k, upward) in enumerate(legs):
            first = 2 * count + number * count
            at = first + int(np.searchsorted(cells, requirements[k].cell))
            rows += [row + number * each, np.array([len(legs) * each + k])]
            columns += [
                first + part.col.astype(np.int64),
                one,
                first + one,
                count + one,
                first + one,
                np.array([at]),
            ]
            data += [part.data, ones, -ones, ones, ones, np.array([1.0 if upward else -1.0])]
        shape = (len(legs) * each + len(requirements), (2 + len(legs)) * count)
        place = np.concatenate(rows), np.concatenate(columns)
        return csc_array((np.concatenate(data), place), shape=shape)


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
    multipliers: MultiplierSettings = MultiplierSettings()
    highs: HighsSettings = HighsSettings()


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
        return cut_of_multipliers(self.near.rows, requirement, directions, self.settings.multipliers)

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
            self._session = LinearProgram(
                matrix, low, high, cost=cost, options=options, settings=self.settings.highs
            )
        else:
            self._session.load(matrix, low, high, cost=cost)
        solution = self._session.solve()
        if solution.outcome is not Outcome.OPTIMAL:
            raise SolverError(f"HiGHS ended with {solution.outcome.value} on an attacker's program")
        return solution
