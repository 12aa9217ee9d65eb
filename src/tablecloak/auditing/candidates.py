"""Proposals for exact proofs: flows and cuts on networks, vertices and bases of linear programs elsewhere.

Engines compute with floats and only propose. Proposals come cheapest first: fractions with small denominators
next to the floats, then the exact solution of the final basis, for which `MOST_COLUMNS` and the work limit of
`gaussian_elimination.solve` are the limits. Nothing here is believed before the exact check.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from scipy.sparse import csc_array, hstack

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker import Component, TooMuchWork, solve
from tablecloak.auditing.exact import ONE, ZERO, ExactProblem, Extended, Room, Vector
from tablecloak.solvers import DUAL, PRIMAL, LinearProgram, Outcome, SimplexOptions
from tablecloak.solvers.graphs import Network

DENOMINATORS = (1, 12, 1_000)
"""Floats are first taken for the nearest fractions (of a data unit) with denominators up to these."""
MOST_COLUMNS = 3_000
"""The largest basis (in columns) that is solved exactly."""
LARGEST_FLOW = 2**50
"""Flows are computed in whole numbers below this, where floats are exact."""


@dataclass
class Push:
    """What an engine proposes for one cell and side; `estimate` is how far it thinks the cell goes."""

    estimate: float
    deviations: Iterator[Vector]
    multipliers: Iterator[Vector]


class NoBasis(Exception):
    """Why a basis was not solved exactly."""


class Engine(Protocol):
    """Pushes a cell up or down as far as `goal` (or as far as possible) for an attacker."""

    def push(self, cell: int, attacker: int, upward: bool, goal: Extended) -> Push: ...


class NetworkEngine:
    """Maximum flows: the circulation is the deviation, the cut gives the multipliers (1 and -1).

    Amounts are counted in a grid fine enough for all bounds to be whole numbers; where there is none, bounds
    are rounded inward: that loses proofs on the very edge only.
    """

    def __init__(self, exact: ExactProblem, component: Component, rows: Ints) -> None:
        assert component.orientation is not None
        self.exact, self.rows, self.orientation = exact, rows.tolist(), component.orientation
        self.cells: list[int] = component.cells.tolist()
        self.arc = {cell: arc for arc, cell in enumerate(self.cells)}
        rooms = [exact.room(0, cell) for cell in self.cells]
        self.grid = _grid([*rooms, *self._insiders()], exact.unit)
        capacities = np.array([self._capacity(room) for room in rooms])
        ends = component.orientation.tail, component.orientation.head
        self.network = Network(component.orientation.nodes, *ends, capacities[:, 0], capacities[:, 1])
        self.attacker = 0

    def _insiders(self) -> Iterator[Room]:
        for attacker in range(1, len(self.exact.problem.attacker_names)):
            yield from (room for cell, room in self.exact.inside(attacker).items() if cell in self.arc)

    def _capacity(self, room: Room) -> tuple[float, float]:
        """Up and down in whole grid units."""
        up, down = (math.floor(x * self.grid) if isinstance(x, Fraction) else x for x in (room[1], -room[0]))
        return float(up), float(down)

    def _become(self, attacker: int) -> None:
        for who, where in ((0, self.attacker), (attacker, attacker)):
            for cell in self.exact.inside(where):
                if cell in self.arc:
                    self.network.set_capacity(self.arc[cell], *self._capacity(self.exact.room(who, cell)))
        self.attacker = attacker

    def push(self, cell: int, attacker: int, upward: bool, goal: Extended) -> Push:
        if attacker != self.attacker:
            self._become(attacker)
        limit = float(math.ceil(goal * self.grid)) if isinstance(goal, Fraction) else math.inf
        route = self.network.max_deviation(self.arc[cell], upward, limit)
        grid = ONE if route.value == math.inf else Fraction(self.grid)
        deviation = {
            self.cells[arc]: int(route.deviation[arc]) / grid for arc in np.flatnonzero(route.deviation)
        }
        inside = route.source_side[: len(self.rows)]
        grounded = route.source_side.size > len(self.rows) and bool(route.source_side[-1])
        cut = {
            self.rows[node]: Fraction(int(self.orientation.sign[node]) * (1 if grounded else -1))
            for node in np.flatnonzero(~inside if grounded else inside)
        }
        return Push(route.value / self.grid, iter([deviation]), iter([cut]))


def _grid(rooms: Sequence[Room], unit: Fraction) -> int:
    """So many parts of one that all rooms are whole numbers of them, or many enough for a close fit."""
    ends = [end for room in rooms for end in room if isinstance(end, Fraction)]
    most = LARGEST_FLOW // max(1, math.ceil(max(map(abs, ends), default=ZERO)))
    grid = unit.denominator
    for end in ends:
        grid = math.lcm(grid, end.denominator)
        if grid > most:
            return max(unit.denominator, int(10 ** (len(str(most)) - 1)))
    return grid


class LinearEngine:
    """Linear programs that push a cell as far as it goes: vertices are deviations, row duals multipliers."""

    def __init__(self, exact: ExactProblem, component: Component, rows: Ints) -> None:
        self.exact, self.component, self.rows = exact, component, rows.tolist()
        self.place = {int(cell): place for place, cell in enumerate(component.cells)}
        self.attacker = -1

    def _become(self, attacker: int) -> None:
        self.attacker = attacker
        self.rooms = [self.exact.room(attacker, cell) for cell in self.place]
        self.program: _Program | None = None
        self.cone: _Program | None = None

    def push(self, cell: int, attacker: int, upward: bool, goal: Extended) -> Push:
        if attacker != self.attacker:
            self._become(attacker)
        if not isinstance(goal, Fraction):
            push = self._ray(cell, upward)
            if push is not None:
                return push
        if self.program is None:
            self.program = _Program(
                self.exact, list(self.place), self.rows, self.component.matrix, self.rooms
            )
        unit = self.exact.unit
        limit = math.ceil(goal / unit) * unit if isinstance(goal, Fraction) else goal
        return self.program.furthest(self.place[cell], upward, limit)

    def _ray(self, cell: int, upward: bool) -> Push | None:
        """A direction without end: cells move where their room is infinite, by at most 1."""
        if self.cone is None:
            rooms: list[Room] = [
                (ZERO if isinstance(low, Fraction) else -ONE, ZERO if isinstance(high, Fraction) else ONE)
                for low, high in self.rooms
            ]
            self.cone = _Program(self.exact, list(self.place), self.rows, self.component.matrix, rooms)
        push = self.cone.furthest(self.place[cell], upward, ONE)
        return Push(math.inf, push.deviations, iter(())) if push.estimate > 1e-6 else None


class SparseEngine:
    """Linear programs that reach a goal with the least movement in all: few cells move, by simple amounts.

    d = u - v with u, v >= 0 and the sum of all u and v at its least. No multipliers come out of it.
    """

    def __init__(self, exact: ExactProblem, component: Component, rows: Ints) -> None:
        self.exact, self.component, self.rows = exact, component, rows.tolist()
        self.place = {int(cell): place for place, cell in enumerate(component.cells)}
        self.attacker = -1

    def _become(self, attacker: int) -> None:
        self.attacker = attacker
        rooms = [self.exact.room(attacker, cell) for cell in self.place]
        both: list[Room] = [(ZERO, high) for _, high in rooms]
        both += [(ZERO, -low) for low, _ in rooms]
        matrix = hstack([self.component.matrix, -self.component.matrix], format="csc")
        self.program = _Program(self.exact, [*self.place, *self.place], self.rows, matrix, both)

    def push(self, cell: int, attacker: int, upward: bool, goal: Extended) -> Push:
        if not isinstance(goal, Fraction):
            return Push(0.0, iter(()), iter(()))
        if attacker != self.attacker:
            self._become(attacker)
        unit, size = self.exact.unit, len(self.place)
        place, other = self.place[cell] + size * (not upward), self.place[cell] + size * upward
        amounts = sorted({math.ceil(goal / unit) * unit, goal}, reverse=True)
        return Push(float(goal), self.program.least(place, other, amounts), iter(()))


class _Program:
    """Linear programs matrix d = 0 within rooms: solved in floats, their bases in fractions.

    The columns are the cells, or the cells twice: then d = u - v and the program starts with the least sum.
    """

    def __init__(
        self, exact: ExactProblem, cells: list[int], rows: list[int], matrix: csc_array, rooms: list[Room]
    ) -> None:
        self.exact, self.cells, self.rows, self.rooms = exact, cells, rows, rooms
        self.matrix = csc_array(matrix)
        self.twice = len(set(cells)) < len(cells)
        ends = np.array([[float(end) for end in room] for room in rooms])
        sizes = np.abs(ends[np.isfinite(ends) & (ends != 0)])
        self.scale = float(np.sqrt(sizes.min() * sizes.max())) if sizes.size else float(exact.unit)
        self.session = LinearProgram(
            self.matrix,
            ends[:, 0] / self.scale,
            ends[:, 1] / self.scale,
            cost=np.full(len(cells), float(self.twice)),
            options=SimplexOptions(strategy=DUAL if self.twice else PRIMAL),
        )

    def furthest(self, place: int, upward: bool, limit: Extended) -> Push:
        """Push one cell up or down as far as it goes, or to the limit."""
        low, high = self.rooms[place]
        room = (low, min(high, limit)) if upward else (max(low, -limit), high)
        self.session.set_cost(place, -1.0 if upward else 1.0)
        end = self._solve({place: room})
        self.session.set_cost(place, 0.0)
        if end is None:
            return Push(0.0, iter(()), iter(()))
        goal = (place, ONE if upward else -ONE)
        estimate = abs(float(end.values[place])) * self.scale
        return Push(estimate, self._deviations(end), self._multipliers(end, goal))

    def least(self, place: int, other: int, amounts: list[Fraction]) -> Iterator[Vector]:
        """Put one column at each of the amounts in turn, its mirror image at zero."""
        for amount in amounts:
            if amount <= self.rooms[place][1]:
                self.session.forget_basis()
                end = self._solve({place: (amount, amount), other: (ZERO, ZERO)})
                if end is not None:
                    yield from self._deviations(end)

    def _solve(self, rooms: Mapping[int, Room]) -> _End | None:
        """Solve with other rooms for some columns; None if that is not possible."""
        for place, room in rooms.items():
            self.session.set_bounds(place, *(float(end) / self.scale for end in room))
        solution = self.session.solve()
        columns, rows = self.session.basis()
        for place in rooms:
            self.session.set_bounds(place, *(float(end) / self.scale for end in self.rooms[place]))
        if solution.outcome is not Outcome.OPTIMAL:
            return None
        changed = [rooms.get(place, room) for place, room in enumerate(self.rooms)]
        return _End(solution.values, solution.duals, changed, columns, rows)

    def _deviations(self, end: _End) -> Iterator[Vector]:
        values, size = end.values * self.scale, len(self.cells) // 2
        if self.twice:
            values = values[:size] - values[size:]
        for most in DENOMINATORS:
            yield from _rounded(values, self.cells, most, self.exact.unit)
        found: dict[int, Fraction] = {}
        for place, amount in self._vertex(end).items():
            cell = self.cells[place]
            sign = -1 if self.twice and place >= size else 1
            found[cell] = found.get(cell, ZERO) + sign * amount
        yield found

    def _vertex(self, end: _End) -> dict[int, Fraction]:
        """The exact solution of the basis: columns that are not basic are at their bounds."""
        basic, tight = self._basis(end)
        found = {}
        for place, status in enumerate(end.columns):
            wall = end.rooms[place][status == "kUpper"] if status in ("kLower", "kUpper") else ZERO
            if isinstance(wall, Fraction) and wall:
                found[place] = wall
        rhs = dict.fromkeys(tight, ZERO)
        for place, wall in found.items():
            for row, coefficient in self._column(place):
                if row in rhs:
                    rhs[row] -= coefficient * wall
        equations: dict[int, dict[int, Fraction]] = {row: {} for row in tight}
        for place in basic:
            for row, coefficient in self._column(place):
                if row in equations:
                    equations[row][place] = coefficient
        return {**found, **_solved(list(equations.values()), list(rhs.values()))}

    def _multipliers(self, end: _End, goal: tuple[int, Fraction]) -> Iterator[Vector]:
        for most in DENOMINATORS:
            yield from _rounded(-end.duals, self.rows, most, ONE)
        basic, tight = self._basis(end)
        nonbasic = set(tight)
        equations = [{row: value for row, value in self._column(j) if row in nonbasic} for j in basic]
        solution = _solved(equations, [goal[1] if place == goal[0] else ZERO for place in basic])
        yield {self.rows[row]: multiplier for row, multiplier in solution.items()}

    def _basis(self, end: _End) -> tuple[list[int], list[int]]:
        """The basic columns, and the rows that are not basic: as many."""
        basic = [place for place, status in enumerate(end.columns) if status == "kBasic"]
        if len(basic) > MOST_COLUMNS:
            raise NoBasis(f"the exact basis would have more than {MOST_COLUMNS} columns")
        return basic, [row for row, status in enumerate(end.rows) if status != "kBasic"]

    def _column(self, place: int) -> Iterator[tuple[int, Fraction]]:
        start, stop = self.matrix.indptr[place : place + 2].tolist()
        for row, value in zip(self.matrix.indices[start:stop], self.matrix.data[start:stop], strict=True):
            yield int(row), Fraction(self.exact.coefficient(float(value)))


@dataclass(frozen=True)
class _End:
    """Where a linear program ended: floats, the rooms it was solved in, and the basis by status names."""

    values: Floats
    duals: Floats
    rooms: list[Room]
    columns: list[str]
    rows: list[str]


def _solved(equations: list[dict[int, Fraction]], rhs: list[Fraction]) -> dict[int, Fraction]:
    try:
        solution = solve(equations, rhs)
    except TooMuchWork:
        raise NoBasis("solving the basis exactly took too much work") from None
    if solution is None:
        raise NoBasis("the basis of the linear program is singular")
    return solution


def _rounded(values: Floats, numbers: list[int], most: int, unit: Fraction) -> Iterator[Vector]:
    """Each float as the nearest fraction of a unit with a denominator up to `most`, if any is near."""
    scaled = values / float(unit)
    if most == 1 and not np.allclose(scaled, np.rint(scaled), rtol=0.0, atol=0.01):
        return
    found = {}
    for place in np.flatnonzero(np.abs(scaled) > 0.5 / most):
        x = float(scaled[place])
        whole = most == 1 or abs(x - round(x)) < 1e-9
        near = Fraction(round(x)) if whole else Fraction(x).limit_denominator(most)
        if near:
            found[numbers[place]] = near * unit
    yield found
