"""Initial protection cuts: the compact model of a few requirements near each other, over the equations around them.

For levels L_t of cells p_t that share equations, and the cells of the equations around them,

    min  sum_i u_i z_i+ + v_i z_i-     subject to  M d^t = 0,  -z- <= d^t <= z+,  +-d^t_p >= L_t  for every t

with d^t in the attacker's box is a small linear program. Its duals make protection cuts (`attacker.oracle`): with y^t
of the equations and q_t of the level, -y^t / q_t are multipliers for requirement t, zero on all other equations. These
cuts alone, with the price of the cells, give the optimum of the small program as a bound: they are the right ones as
far as requirements elsewhere do not matter. The cutting-plane model starts with them and separates what is missing.
They are valid whatever was left out of the small program, as all multipliers are.

A sliding requirement takes two deviations, one up and one down, that are L_t apart.

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework, first models. Taking the duals of
small ones as cuts of the second model is a contribution of this package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker import DeviationBounds, ProtectionCut, cut_of_multipliers, is_network
from tablecloak.methods.unified.neighbourhood import Neighbourhood
from tablecloak.model import Problem, Requirement, box_deviation_bounds
from tablecloak.progress import Deadline
from tablecloak.solvers import DUAL, LinearProgram, Outcome, SimplexOptions


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
        self.room, self.usable = box_deviation_bounds(problem), ~problem.forced
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
            cut_of_multipliers(self.near.rows, requirement, given)
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
        low, high = [np.zeros(2 * count)], [self.room[1][cells] / unit, self.room[0][cells] / unit]
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
            self._session = LinearProgram(*arrays, cost=cost, rows=(row_low, row_high), options=options)
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
