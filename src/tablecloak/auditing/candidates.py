"""Candidates for exact proofs: flows and cuts on networks, vertices and bases of linear programs elsewhere.

Engines compute with floats and only propose. Candidates come in order of increasing effort: fractions with small
denominators next to the floats, then the exact solution of the final basis, within the limits of
`RationalBasisSettings` and of `gaussian_elimination.solve`. None is accepted before the exact check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import csc_array, hstack

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker import (
    ZERO,
    Component,
    Rational,
    RationalBasis,
    RationalBasisSettings,
    TooMuchWork,
    tolerances,
)
from tablecloak.auditing.exact import ONE, CellBounds, ExactProblem, Extended, Vector
from tablecloak.solvers import DUAL, PRIMAL, LinearProgram, Outcome, SimplexOptions
from tablecloak.solvers.graphs import Network


@dataclass(frozen=True)
class CandidateSettings:
    """Effort for candidates that are made from floats."""

    denominators: tuple[int, ...] = (1, 12, 1_000)
    """Largest denominators, in this order, of the fractions of a data unit that floats are rounded to before the basis
    is solved exactly; more of them save exact bases and cost checks. Untested default."""
    largest_flow: int = 2**50
    """Flows are computed in integers below this, where floats are exact: the size of the grid units follows from it."""
    flows: bool = True
    """Whether maximum flows are tried before linear programs on network components. Untested default."""
    basis: RationalBasisSettings = field(default_factory=RationalBasisSettings)
    """Exact bases, where rounding fails."""


@dataclass
class Push:
    """Candidates of an engine for one cell and side; `estimate` is its estimate of the reach."""

    estimate: float
    deviations: Iterator[Vector]
    multipliers: Iterator[Vector]


class NoBasis(Exception):
    """Why a basis was not solved exactly."""


class Engine(Protocol):
    """Maximises the deviation of a cell up or down, up to `goal`, for an attacker."""

    def push(self, cell: int, attacker: int, upward: bool, goal: Extended) -> Push: ...


class NetworkEngine:
    """Maximum flows: the circulation is the deviation, the cut gives the multipliers (1 and -1).

    Amounts are counted in a grid fine enough for all bounds to be integral; where there is none, bounds
    are rounded inward: that loses proofs on the very edge only.
    """

    def __init__(
        self,
        exact: ExactProblem,
        component: Component,
        rows: Ints,
        settings: CandidateSettings = CandidateSettings(),
    ) -> None:
        assert component.orientation is not None
        self.exact, self.rows, self.orientation = exact, rows.tolist(), component.orientation
        self.cells: list[int] = component.cells.tolist()
        self.arc = {cell: arc for arc, cell in enumerate(self.cells)}
        bounds = [exact.cell_bounds(0, cell) for cell in self.cells]
        self.grid = _grid([*bounds, *self._insiders()], exact.unit, settings.largest_flow)
        capacities = np.array([self._capacity(each) for each in bounds])
        ends = component.orientation.tail, component.orientation.head
        self.network = Network(component.orientation.nodes, *ends, capacities[:, 0], capacities[:, 1])
        self.attacker = 0

    def _insiders(self) -> Iterator[CellBounds]:
        for attacker in range(1, len(self.exact.problem.attacker_names)):
            known = self.exact.insider_bounds(attacker)
            yield from (bounds for cell, bounds in known.items() if cell in self.arc)

    def _capacity(self, bounds: CellBounds) -> tuple[float, float]:
        """Capacities up and down in integral grid units."""
        low, high = bounds
        up, down = (math.floor(x * self.grid) if isinstance(x, Fraction) else x for x in (high, -low))
        return float(up), float(down)

    def _become(self, attacker: int) -> None:
        """Replace the capacities of the current attacker by those of another one."""
        for source, known in ((0, self.attacker), (attacker, attacker)):
            for cell in self.exact.insider_bounds(known):
                if cell in self.arc:
                    bounds = self.exact.cell_bounds(source, cell)
                    self.network.set_capacity(self.arc[cell], *self._capacity(bounds))
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


def _grid(bounds: Sequence[CellBounds], unit: Fraction, largest_flow: int) -> int:
    """Number of grid units in one: all bounds are integral, or rounded closely where that takes too fine a grid."""
    ends = [end for each in bounds for end in each if isinstance(end, Fraction)]
    most = largest_flow // max(1, math.ceil(max(map(abs, ends), default=ZERO)))
    grid = unit.denominator
    for end in ends:
        grid = math.lcm(grid, end.denominator)
        if grid > most:
            return max(unit.denominator, int(10 ** (len(str(most)) - 1)))
    return grid


class _ProgramEngine:
    """Linear programs over the cells of a component, within the bounds of one attacker at a time."""

    def __init__(
        self,
        exact: ExactProblem,
        component: Component,
        rows: Ints,
        settings: CandidateSettings = CandidateSettings(),
    ) -> None:
        self.exact, self.component, self.rows = exact, component, rows.tolist()
        self.settings = settings
        self.place = {int(cell): place for place, cell in enumerate(component.cells)}
        self.attacker = -1


class LinearEngine(_ProgramEngine):
    """Linear programs that maximise the deviation of a cell: vertices are deviations, row duals multipliers."""

    def _become(self, attacker: int) -> None:
        self.attacker = attacker
        self.bounds = [self.exact.cell_bounds(attacker, cell) for cell in self.place]
        self.program: _VertexProgram | None = None
        self.cone: _VertexProgram | None = None

    def push(self, cell: int, attacker: int, upward: bool, goal: Extended) -> Push:
        if attacker != self.attacker:
            self._become(attacker)
        if not isinstance(goal, Fraction):
            push = self._ray(cell, upward)
            if push is not None:
                return push
        if self.program is None:
            self.program = self._program(self.bounds)
        unit = self.exact.unit
        limit = math.ceil(goal / unit) * unit if isinstance(goal, Fraction) else goal
        return self.program.furthest(self.place[cell], upward, limit)

    def _program(self, bounds: list[CellBounds]) -> _VertexProgram:
        columns = _Columns(list(self.place), self.component.matrix, bounds)
        return _VertexProgram(self.exact, self.rows, columns, self.settings)

    def _ray(self, cell: int, upward: bool) -> Push | None:
        """An unbounded direction: cells move where their bounds are infinite, by at most 1."""
        if self.cone is None:
            self.cone = self._program(
                [
                    (ZERO if isinstance(low, Fraction) else -ONE, ZERO if isinstance(high, Fraction) else ONE)
                    for low, high in self.bounds
                ]
            )
        push = self.cone.furthest(self.place[cell], upward, ONE)
        found = push.estimate > tolerances.RAY
        return Push(math.inf, push.deviations, iter(())) if found else None


class SparseEngine(_ProgramEngine):
    """Linear programs that reach a goal with the least movement in all: few cells move, by simple amounts.

    d = u - v with u, v >= 0 and the sum of all u and v at its least. They give no multipliers.
    """

    def _become(self, attacker: int) -> None:
        self.attacker = attacker
        bounds = [self.exact.cell_bounds(attacker, cell) for cell in self.place]
        both: list[CellBounds] = [(ZERO, high) for _, high in bounds]
        both += [(ZERO, -low) for low, _ in bounds]
        matrix = hstack([self.component.matrix, -self.component.matrix], format="csc")
        columns = _Columns([*self.place, *self.place], matrix, both)
        self.program = _VertexProgram(self.exact, self.rows, columns, self.settings)

    def push(self, cell: int, attacker: int, upward: bool, goal: Extended) -> Push:
        if not isinstance(goal, Fraction):
            return Push(0.0, iter(()), iter(()))
        if attacker != self.attacker:
            self._become(attacker)
        unit, size = self.exact.unit, len(self.place)
        place, other = self.place[cell] + size * (not upward), self.place[cell] + size * upward
        amounts = sorted({math.ceil(goal / unit) * unit, goal}, reverse=True)
        return Push(float(goal), self.program.least(place, other, amounts), iter(()))


class _Columns(NamedTuple):
    """The columns of a linear program: their cells, coefficients and bounds.

    The columns are the cells, or the cells twice: then d = u - v and the program starts with the least sum.
    """

    cells: list[int]
    matrix: csc_array
    bounds: list[CellBounds]


class _VertexProgram:
    """Linear programs matrix d = 0 within bounds: solved in floats, their bases in fractions."""

    def __init__(
        self, exact: ExactProblem, rows: list[int], columns: _Columns, settings: CandidateSettings
    ) -> None:
        self.exact, self.rows, self.settings = exact, rows, settings
        self.cells, matrix, self.bounds = columns
        self.matrix = csc_array(matrix)
        self.twice = len(set(self.cells)) < len(self.cells)
        ends = np.array([[float(end) for end in each] for each in self.bounds])
        sizes = np.abs(ends[np.isfinite(ends) & (ends != 0)])
        self.scale = float(np.sqrt(sizes.min() * sizes.max())) if sizes.size else float(exact.unit)
        self.session = LinearProgram(
            self.matrix,
            ends[:, 0] / self.scale,
            ends[:, 1] / self.scale,
            cost=np.full(len(self.cells), float(self.twice)),
            options=SimplexOptions(strategy=DUAL if self.twice else PRIMAL),
        )

    def furthest(self, place: int, upward: bool, limit: Extended) -> Push:
        """Maximise the deviation of one cell up or down, up to the limit."""
        low, high = self.bounds[place]
        limited = (low, min(high, limit)) if upward else (max(low, -limit), high)
        self.session.set_cost(place, -1.0 if upward else 1.0)
        end = self._solve({place: limited})
        self.session.set_cost(place, 0.0)
        if end is None:
            return Push(0.0, iter(()), iter(()))
        goal = (place, ONE if upward else -ONE)
        estimate = abs(float(end.values[place])) * self.scale
        return Push(estimate, self._deviations(end), self._multipliers(end, goal))

    def least(self, place: int, other: int, amounts: list[Fraction]) -> Iterator[Vector]:
        """Fix one column at each of the amounts in turn, its mirror image at zero."""
        for amount in amounts:
            if amount <= self.bounds[place][1]:
                self.session.forget_basis()
                end = self._solve({place: (amount, amount), other: (ZERO, ZERO)})
                if end is not None:
                    yield from self._deviations(end)

    def _solve(self, changed: Mapping[int, CellBounds]) -> _End | None:
        """Solve with other bounds for some columns; None without an optimal solution."""
        for place, bounds in changed.items():
            self.session.set_bounds(place, *(float(end) / self.scale for end in bounds))
        solution = self.session.solve()
        columns, rows = self.session.basis()
        for place in changed:
            self.session.set_bounds(place, *(float(end) / self.scale for end in self.bounds[place]))
        if solution.outcome is not Outcome.OPTIMAL:
            return None
        used = [changed.get(place, bounds) for place, bounds in enumerate(self.bounds)]
        return _End(solution.values, solution.duals, used, columns, rows)

    def _deviations(self, end: _End) -> Iterator[Vector]:
        values, size = end.values * self.scale, len(self.cells) // 2
        if self.twice:
            values = values[:size] - values[size:]
        for most in self.settings.denominators:
            yield from _rounded(values, self.cells, most, self.exact.unit)
        found: dict[int, Fraction] = {}
        for place, amount in self._vertex(end).items():
            cell = self.cells[place]
            sign = -1 if self.twice and place >= size else 1
            found[cell] = found.get(cell, ZERO) + sign * amount
        yield found

    def _vertex(self, end: _End) -> dict[int, Fraction]:
        """The exact solution of the basis."""

        def bound(place: int, upper: bool) -> Fraction:
            wall = end.bounds[place][upper]
            return wall if isinstance(wall, Fraction) else ZERO

        basis = self._basis(end)
        return _exactly(lambda: basis.point(bound))

    def _multipliers(self, end: _End, goal: tuple[int, Fraction]) -> Iterator[Vector]:
        for most in self.settings.denominators:
            yield from _rounded(-end.duals, self.rows, most, ONE)
        basis, (place, cost) = self._basis(end), goal
        solution = _exactly(lambda: basis.multipliers(place, cost))
        yield {self.rows[row]: multiplier for row, multiplier in solution.items()}

    def _basis(self, end: _End) -> RationalBasis:
        try:
            return RationalBasis(self._column, end.columns, end.rows, self.settings.basis)
        except TooMuchWork as reason:
            raise NoBasis(str(reason)) from None

    def _column(self, place: int) -> Iterator[tuple[int, Rational]]:
        start, stop = self.matrix.indptr[place : place + 2].tolist()
        for row, value in zip(self.matrix.indices[start:stop], self.matrix.data[start:stop], strict=True):
            yield int(row), self.exact.equations.coefficient(float(value))


@dataclass(frozen=True)
class _End:
    """The end of a linear program: the solution in floats, its bounds, and the basis by status names."""

    values: Floats
    duals: Floats
    bounds: list[CellBounds]
    columns: list[str]
    rows: list[str]


def _exactly(solve: Callable[[], Mapping[int, Rational] | None]) -> dict[int, Fraction]:
    """The exact solution of a basis; `NoBasis` with the reason if there is none."""
    try:
        solution = solve()
    except TooMuchWork as reason:
        raise NoBasis(str(reason)) from None
    if solution is None:
        raise NoBasis("the basis of the linear program is singular")
    return {place: Fraction(number) for place, number in solution.items()}


def _rounded(values: Floats, numbers: list[int], most: int, unit: Fraction) -> Iterator[Vector]:
    """Each float as the nearest fraction of a unit with a denominator up to `most`, if any is near."""
    scaled = values / float(unit)
    if most == 1 and not np.allclose(scaled, np.rint(scaled), rtol=0.0, atol=tolerances.INTEGER_CANDIDATE):
        return
    found = {}
    for place in np.flatnonzero(np.abs(scaled) > 0.5 / most):
        x = float(scaled[place])
        integral = most == 1 or abs(x - round(x)) < tolerances.NEAR_INTEGER
        near = Fraction(round(x)) if integral else Fraction(x).limit_denominator(most)
        if near:
            found[numbers[place]] = near * unit
    yield found
