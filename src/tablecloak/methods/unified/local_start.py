"""Proofs to start with: the first model of a few levels near each other, over the equations around them.

For levels L_t of cells p_t that share equations, and the cells of the equations around them,

    min  sum_i u_i z_i+ + v_i z_i-     subject to  M d^t = 0,  -z- <= d^t <= z+,  +-d^t_p >= L_t  for every t

with d^t in the attacker's box is a small linear program. Its duals are what cuts are made of (`protection_cuts`):
with y^t of the equations and q_t of the level, -y^t / q_t are multipliers for level t, zero on all other equations. The
rows of these cuts alone, with the price of the cells, give the optimum of the small program as a bound: they are the
right ones as far as levels elsewhere do not matter. The second model starts with them and looks for what is missing.
They hold whatever was left out of the small program, as all multipliers do.

A sliding level takes two deviations, one up and one down, that are L_t apart.

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework, first models. Taking the duals of
small ones as rows of the second model is ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import csc_array

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker import Boxes, is_network
from tablecloak.methods.unified.neighbourhood import Neighbourhood
from tablecloak.methods.unified.protection_cuts import ProtectionCut
from tablecloak.model import Problem, Requirement, box_deviation_bounds
from tablecloak.progress import Deadline
from tablecloak.solvers import DUAL, Outcome, Session

QUICKLY_ASKED = 2000
"""In tables of no more cells programs over the whole table are quick."""
SAMPLE, FEW_CELLS = 20, 200
"""Of about so many sensitive cells it is asked whether no more cells than this lie around them."""
TOGETHER = 12
"""At most so many sensitive cells are in one program."""
MOST_CELLS = 600
"""Equations around them are left out where they are in more cells than this."""
MOST_COLUMNS = 20_000
"""Larger programs are left to the second model."""
WORTHLESS = 1e-7
"""A level whose dual is below this share of the largest price costs nothing more: no cut."""


def separates_locally(problem: Problem) -> bool:
    """Whether cuts are looked for near the cells first: in large tables that are no networks, if near is small.

    Where equations are long, as in three-way tables, the equations around most cells hold nearly all cells.
    """
    if len(problem.table) <= QUICKLY_ASKED or is_network(problem):
        return False
    near, usable = Neighbourhood(problem.table), ~problem.forced
    cells = np.flatnonzero(problem.sensitive)
    some = cells[:: max(1, cells.size // SAMPLE)].reshape(-1, 1)
    small = [near.around(cell, usable, FEW_CELLS).size > near.equations_of(cell).size for cell in some]
    return sum(small) * 2 > len(small)


def local_protection_cuts(
    problem: Problem, up: Floats, down: Floats, requirements: Sequence[Requirement], deadline: Deadline
) -> list[ProtectionCut]:
    """Proofs for the levels, as strong as levels nearby ask for; `up`, `down`: what a unit of length costs."""
    models = _NearModels(problem, up, down)
    found: list[ProtectionCut] = []
    for group in _groups(models.near, requirements):
        if deadline.passed():
            break
        found += models.separate(group, deadline)
    return found


def _groups(near: Neighbourhood, requirements: Sequence[Requirement]) -> Iterator[list[Requirement]]:
    """Levels of the same cell or of cells in the same equations, for so many cells at most."""
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
        while queue and len(chosen) < TOGETHER:
            cell = queue.pop(0)
            chosen.append(cell)
            others = near.cells_in(near.equations_of(np.array([cell])))
            for other in others[asked[others]].tolist():
                if other in waiting:
                    waiting.discard(other)
                    queue.append(other)
        waiting.update(queue)
        yield [requirement for cell in chosen for requirement in of_cell[cell]]


class _NearModels:
    """Makes and solves the small programs of one table."""

    def __init__(self, problem: Problem, up: Floats, down: Floats) -> None:
        self.near, self.boxes, self.price = Neighbourhood(problem.table), Boxes(problem), (up, down)
        self.room, self.usable = box_deviation_bounds(problem), ~problem.forced
        self._session: Session | None = None

    def separate(self, requirements: list[Requirement], deadline: Deadline) -> list[ProtectionCut]:
        """The cuts that the duals of one program make."""
        own = np.unique([requirement.cell for requirement in requirements])
        equations = self.near.around(own, self.usable, MOST_CELLS)
        cells = self.near.cells_in(equations)
        cells = cells[self.usable[cells]]
        legs = [
            (k, upward) for k, requirement in enumerate(requirements) for upward in requirement.directions
        ]
        if cells.size * len(legs) > MOST_COLUMNS or not np.isin(own, cells).all():
            return []
        duals = self._duals(requirements, legs, equations, cells, deadline)
        if duals is None:
            return []
        multipliers, worth = duals
        sides: list[list[tuple[bool, Ints, Floats]]] = [[] for _ in requirements]
        for (k, upward), y in zip(legs, multipliers, strict=True):
            if worth[k] > WORTHLESS:
                sides[k].append((upward, equations, -y / worth[k]))
        return [
            self.near.cut(requirement, side)
            for requirement, side in zip(requirements, sides, strict=True)
            if side
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
            self._session = Session(*arrays, cost=cost, row_low=row_low, row_high=row_high, strategy=DUAL)
        else:
            self._session.load(*arrays, cost=cost, row_low=row_low, row_high=row_high)
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
