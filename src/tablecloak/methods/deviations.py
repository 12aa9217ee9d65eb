"""The cheapest deviation that gives one cell its room: the step that Kelly-type heuristics repeat.

For cell p and an attacker's box, find d with M d = 0, low <= d <= high, d_p = level (up) or -level (down), and the
least  sum_i c_i |d_i|.  Hidden cells are free; the others cost the fixed-charge slope
c_i = w_i / min(level, capacity_i): what hiding i costs for each unit it can carry. A sliding level uses two
deviations f, g with f_p - g_p = level.

Reference: Kelly, Golden & Assad (1992), Cell suppression: disclosure protection for sensitive tabular data.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy.sparse import block_diag, csr_array, hstack

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.engines.lp import DUAL, Outcome, Session, Solution
from tablecloak.problem import Problem
from tablecloak.result import Audit

SUPPORT = 1e-7
"""A cell takes part in a deviation when it moves by more than this share of the level."""


class Side(Enum):
    """Which requirement a task is about."""

    DOWN = "lower"
    UP = "upper"
    SLIDE = "sliding"


@dataclass(frozen=True)
class Task:
    """A level that the cells hidden so far do not give: cell, attacker, side and size."""

    cell: int
    attacker: int
    side: Side
    level: float


@dataclass(frozen=True, eq=False)
class Witness:
    """Deviations that meet a task: f alone, or f and g for a sliding level; `cells` are those that move."""

    cells: Ints
    forward: Floats
    """f over all cells of the table."""
    backward: Floats | None = None
    """g, for a sliding level."""


def open_tasks(problem: Problem, found: Audit) -> list[Task]:
    """The levels an audit found unmet."""
    tasks = []
    for row in np.flatnonzero(~found.safe_rows):
        cell, attacker = int(found.cells[row]), int(found.attackers[row])
        value = problem.table.values[cell]
        down, up = value - found.low[row], found.high[row] - value
        for side, need, got in (
            (Side.UP, found.required_upper[row], up),
            (Side.DOWN, found.required_lower[row], down),
            (Side.SLIDE, found.required_sliding[row], down + up),
        ):
            if got < need * (1 - 1e-9):
                tasks.append(Task(cell, attacker, side, float(need)))
    return tasks


class Router:
    """Finds cheapest deviations over the cells that may be hidden. Stays warm between tasks."""

    def __init__(self, problem: Problem, equations: csr_array, allowed: Bools, level: float) -> None:
        self.problem = problem
        self.cells = np.flatnonzero(allowed)
        self.place = np.full(allowed.size, -1, dtype=np.int64)
        self.place[self.cells] = np.arange(self.cells.size)
        self.matrix = equations[:, self.cells]
        self.scale = level
        self.closed = np.zeros(allowed.size, dtype=bool)
        self.solves = 0
        self._single: Session | None = None
        self._double: Session | None = None
        self._boxed: dict[int, tuple[Floats, Floats]] = {}
        self._box_of: dict[int, int] = {}

    # ------------------------------------------------------------------ boxes

    def capacity(self, attacker: int) -> tuple[Floats, Floats]:
        """How far down and up each cell may deviate by the attacker's box, over the router's cells."""
        if attacker not in self._boxed:
            low, high = self.problem.box(attacker)
            value = self.problem.table.values
            self._boxed[attacker] = ((value - low)[self.cells], (high - value)[self.cells])
        return self._boxed[attacker]

    def close(self, cell: int) -> None:
        """The cell may not move from now on (it is going to be published)."""
        self.closed[cell] = True
        self._refresh(cell)

    def open(self, cell: int) -> None:
        self.closed[cell] = False
        self._refresh(cell)

    def _refresh(self, cell: int) -> None:
        for session, copies in ((self._single, 1), (self._double, 2)):
            if session is not None:
                self._restore(session, copies, np.array([self.place[cell]]))

    def _restore(self, session: Session, copies: int, places: Ints) -> None:
        """The ordinary bounds of some cells: [0, up] for d+, [0, down] for d-."""
        attacker = self._box_of[copies]
        down, up = self.capacity(attacker)
        count = self.cells.size
        shut = self.closed[self.cells[places]]
        zero = np.zeros(places.size)
        for copy in range(copies):
            base = 2 * count * copy
            session.set_many_bounds(base + places, zero, np.where(shut, 0.0, up[places]) / self.scale)
            session.set_many_bounds(base + count + places, zero, np.where(shut, 0.0, down[places]) / self.scale)

    def _session(self, copies: int, attacker: int) -> Session:
        """The program with the attacker's box in place."""
        session = self._single if copies == 1 else self._double
        if session is None:
            self._box_of[copies] = attacker
            down, up = self.capacity(attacker)
            shut = self.closed[self.cells]
            high = np.where(np.tile(shut, 2), 0.0, np.concatenate([up, down])) / self.scale
            half = hstack([self.matrix, -self.matrix], format="csr")
            matrix = half if copies == 1 else block_diag([half, half], format="csr")
            session = Session(matrix, np.zeros(high.size * copies), np.tile(high, copies), strategy=DUAL)
            if copies == 1:
                self._single = session
            else:
                self._double = session
        elif self._box_of[copies] != attacker:
            before, self._box_of[copies] = self._box_of[copies], attacker
            changed = [self.problem.attackers[k - 1].cells for k in (before, attacker) if k > 0]
            places = self.place[np.unique(np.concatenate(changed))]
            self._restore(session, copies, places[places >= 0])
        return session

    # ------------------------------------------------------------------ the step

    def cheapest(self, task: Task, price: Floats) -> Witness | None:
        """The cheapest deviation for a task at these prices (a weight a cell, 0 where hidden); None if impossible."""
        copies = 2 if task.side is Side.SLIDE else 1
        session = self._session(copies, task.attacker)
        down, up = self.capacity(task.attacker)
        reach = 2.0 ** np.ceil(np.log2(task.level))  # slopes by powers of two keep the programs warm
        own = price[self.cells]
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = np.concatenate([own / np.minimum(reach, up), own / np.minimum(reach, down)])
        slopes[~np.isfinite(slopes)] = 0.0  # no capacity: the bound keeps it at zero
        largest = slopes.max(initial=0.0)
        session.set_costs(np.arange(slopes.size * copies), np.tile(slopes / (largest or 1.0), copies))
        solution = self._solve(session, task)
        self.solves += 1
        if solution.outcome is not Outcome.OPTIMAL:
            return None
        return self._witness(solution.values * self.scale, task)

    def _solve(self, session: Session, task: Task) -> Solution:
        count, place = self.cells.size, int(self.place[task.cell])
        level = task.level / self.scale
        if task.side is Side.SLIDE:
            columns = np.array([place, count + place, 2 * count + place, 3 * count + place])
            session.add_row(level, np.inf, columns, np.array([1.0, -1.0, -1.0, 1.0]))
            solution = session.solve()
            session.drop_last_row()
            return solution
        forced, fixed = (place, count + place) if task.side is Side.UP else (count + place, place)
        session.set_bounds(forced, level, level)
        session.set_bounds(fixed, 0.0, 0.0)
        solution = session.solve()
        self._restore(session, 1, np.array([place]))
        return solution

    def _witness(self, values: Floats, task: Task) -> Witness:
        count = self.cells.size
        copies = [values[start : start + count] - values[start + count : start + 2 * count] for start in
                  range(0, values.size, 2 * count)]
        moved = np.maximum.reduce([np.abs(copy) for copy in copies]) > SUPPORT * task.level
        full = []
        for copy in copies:
            deviation = np.zeros(self.place.size)
            deviation[self.cells] = np.where(moved, copy, 0.0)
            full.append(deviation)
        return Witness(self.cells[moved], full[0], full[1] if len(full) == 2 else None)


def met_by(problem: Problem, witness: Witness, found_for: int, tasks: list[Task]) -> list[Task]:
    """The tasks that a witness meets besides the one it was found for, also of other attackers it is possible for."""
    possible: dict[int, bool] = {found_for: True}
    met = []
    for task in tasks:
        if task.attacker not in possible:
            possible[task.attacker] = _inside(problem, witness, task.attacker)
        if possible[task.attacker] and _room(witness, task) >= task.level * (1 - SUPPORT):
            met.append(task)
    return met


def _room(witness: Witness, task: Task) -> float:
    """How much of a task's level the witness gives."""
    forward = float(witness.forward[task.cell])
    backward = 0.0 if witness.backward is None else float(witness.backward[task.cell])
    if task.side is Side.UP:
        return max(forward, backward)
    if task.side is Side.DOWN:
        return max(-forward, -backward)
    return max(abs(forward), abs(backward), abs(forward - backward))


def _inside(problem: Problem, witness: Witness, attacker: int) -> bool:
    """Whether a deviation found for the outsider or another attacker stays in this attacker's box."""
    low, high = problem.box(attacker)
    cells = witness.cells
    for deviation in (witness.forward, witness.backward):
        if deviation is not None:
            moved = problem.table.values[cells] + deviation[cells]
            slack = 1e-9 * np.maximum(1.0, np.abs(moved))
            if ((moved < low[cells] - slack) | (moved > high[cells] + slack)).any():
                return False
    return True
