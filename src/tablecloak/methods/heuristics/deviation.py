"""The cheapest deviation that meets one requirement: the step that Kelly-type heuristics repeat.

For cell p and an attacker's box, find d with M d = 0, low <= d <= high, d_p = level (up) or -level (down), and the
least  sum_i c_i |d_i|.  Hidden cells are free; the others cost the fixed-charge slope
c_i = w_i / min(level, capacity_i): what hiding i costs for each unit of its capacity. A sliding level uses two
deviations f, g with f_p - g_p = level.

Reference: Kelly, Golden & Assad (1992), Cell suppression: disclosure protection for sensitive tabular data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import block_diag, csc_array, csr_array, hstack

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import DeviationBounds, WitnessFinder, tolerances, without_empty_rows
from tablecloak.model import Problem, Requirement, Side
from tablecloak.progress import NEVER, Deadline
from tablecloak.solvers import (
    DUAL,
    HALF_UNIT,
    LEVEL_NOISE,
    HighsSettings,
    LinearProgram,
    Outcome,
    SimplexOptions,
)

BY_DUAL_SIMPLEX = SimplexOptions(strategy=DUAL, presolve=True)


@dataclass(frozen=True)
class DeviationSettings:
    """Sizes of the programs, and the prices of cells of weight zero."""

    first_cells: int = 800
    """Number of cells of the first program of a search: larger ones find cheaper deviations and take longer.
    Untested default."""
    growth: int = 2
    """Factor of the number of cells of the next program, where one is infeasible. Untested default."""
    max_reweighted_cells: int = 2000
    """Maximum number of cells of a program that is solved again at other prices. Untested default."""
    least_share: float = 1e-3
    """In prices w / |d| a cell counts as moved by at least this share of the level. Untested default."""
    unmoved_factor: float = 2.0
    """Factor of the price of cells that the last deviation does not move. Untested default."""
    furthest: tuple[float, ...] = (100.0, np.inf)
    """Other cells deviate by at most these multiples of the level, one after the other: a limit keeps the numbers of a
    program together. The last one is no limit. Untested default."""
    highs: HighsSettings = HighsSettings()


def floored_weights(weights: Floats, share: float = 1e-3) -> Floats:
    """Weights of at least this share of the median one: cells of weight zero are not hidden for nothing."""
    positive = weights[weights > 0]
    return np.maximum(weights, share * float(np.median(positive)) if positive.size else 1.0)


def positive_weights(weights: Floats, share: float = 1e-3) -> Floats:
    """Weights with this share of the least positive one in the place of zero: the order of all others stays."""
    positive = weights > 0
    least = weights[positive].min() if positive.any() else 1.0
    return np.where(positive, weights, share * least)


def by_decreasing_weight(cells: Bools, weights: Floats) -> Ints:
    """Cells by decreasing weight, in the order of the table where weights are equal."""
    free = np.flatnonzero(cells)
    return free[np.argsort(-weights[free], kind="stable")]


def negligible(requirement: Requirement) -> float:
    """What may be missing of a level that is met: rounding noise, which is less than half a data unit.

    On networks in whole data units nothing is missing then; levels of other problems are met up to noise.
    """
    return min(LEVEL_NOISE * requirement.level, HALF_UNIT)


@dataclass(frozen=True, eq=False)
class Witness:
    """Deviations that meet a requirement: f alone, or f and g for a sliding level, over the cells that move."""

    cells: Ints
    """Sorted."""
    forward: Floats
    """f of these cells."""
    backward: Floats | None = None
    """g of these cells, for a sliding level."""

    def moves(self, cell: int) -> tuple[float, float]:
        """f and g of a cell (g is 0 where there is none)."""
        place = int(np.searchsorted(self.cells, cell))
        if place == self.cells.size or self.cells[place] != cell:
            return 0.0, 0.0
        return float(self.forward[place]), 0.0 if self.backward is None else float(self.backward[place])

    @property
    def furthest(self) -> Floats:
        """How far each of the cells moves, in either deviation."""
        moved = np.abs(self.forward)
        return moved if self.backward is None else np.maximum(moved, np.abs(self.backward))


def exact_witness(problem: Problem, allowed: Bools, requirement: Requirement) -> Witness | None:
    """An exact deviation of some cells that meets a requirement, whatever it costs; None if there is none."""
    unit, found, missing = problem.table.unit, list[Floats](), requirement.level
    finder = WitnessFinder(problem, allowed)
    for upward in requirement.directions:
        if missing > negligible(requirement):
            deviation = finder.find(
                requirement.cell, requirement.attacker, upward, np.ceil(missing / unit - LEVEL_NOISE)
            )
            if deviation is not None:
                found.append(deviation * unit)
                missing -= abs(float(found[-1][requirement.cell]))
    if missing > negligible(requirement):
        return None
    cells = np.flatnonzero(np.logical_or.reduce([deviation != 0.0 for deviation in found]))
    return Witness(cells, *(deviation[cells] for deviation in found))


def outsider_first(requirements: Iterable[Requirement]) -> list[Requirement]:
    """The outsider's requirements before those of all other attackers, each by decreasing level."""
    return sorted(requirements, key=lambda one: (one.attacker > 0, -one.level, one.attacker, one.cell))


class RequirementQueue:
    """Requirements in the order in which they are met, and which of them have no witness yet."""

    def __init__(self, requirements: Sequence[Requirement]) -> None:
        self.all = requirements
        self._waiting: dict[int, list[Requirement]] = {}
        for requirement in self.all:
            self._waiting.setdefault(requirement.cell, []).append(requirement)

    def __iter__(self) -> Iterator[tuple[int, Requirement]]:
        """The requirements that still wait when their turn comes, with their numbers."""
        for number, requirement in enumerate(self.all):
            if requirement in self:
                yield number, requirement

    def __contains__(self, requirement: Requirement) -> bool:
        return requirement in self._waiting.get(requirement.cell, ())

    def __len__(self) -> int:
        return len(self.all)

    @property
    def unmet(self) -> list[Requirement]:
        """The requirements that still wait."""
        return [requirement for requirement in self.all if requirement in self]

    def of(self, cells: Iterable[int]) -> list[Requirement]:
        """The requirements of these cells that still wait."""
        return [requirement for cell in cells for requirement in self._waiting.get(cell, ())]

    def settle(self, requirement: Requirement) -> None:
        """A requirement has a witness."""
        self._waiting[requirement.cell].remove(requirement)


class DeviationFinder:
    """Finds cheapest deviations in the neighbourhood of the cell: programs stay small however large the table is.

    Distances between equations are those of the cheapest chain of cells from one to the next. The program of a
    requirement takes the nearest equations and all cells that lie entirely in them; if it is infeasible it is widened.
    """

    def __init__(
        self,
        problem: Problem,
        equations: csr_array,
        allowed: Bools,
        deadline: Deadline = NEVER,
        settings: DeviationSettings = DeviationSettings(),
    ) -> None:
        self.problem, self.settings = problem, settings
        self.deadline, self.late = deadline, False
        """`late`: a solver ran out of time, whatever the clock says."""
        self.allowed = allowed.copy()
        self.columns = csc_array(equations)
        self.solves = self.programs = 0
        """Number of neighbourhoods searched, and of linear programs solved."""
        self.first_size = self.last_size = settings.first_cells
        """Number of cells of the first program of a search, and of the one that ended the last search."""
        lengths = np.diff(self.columns.indptr)
        self._starts, self._isolated = self.columns.indptr[:-1], lengths == 0
        self._edges = _pairs(self.columns)
        self._boxes = DeviationBounds(problem)

    def capacity(self, attacker: int) -> tuple[Floats, Floats]:
        """How far down and up each cell may deviate by the attacker's box."""
        return self._boxes[attacker]

    def slopes(self, requirement: Requirement, price: Floats) -> tuple[Floats, Floats]:
        """The cost of a unit up and of a unit down by cell; infinite or undefined where there is no capacity."""
        down, up = self.capacity(requirement.attacker)
        with np.errstate(divide="ignore", invalid="ignore"):
            return price / np.minimum(requirement.level, up), price / np.minimum(requirement.level, down)

    def cheapest(
        self, requirement: Requirement, price: Floats, *, reweight: int = 0, widest: int | None = None
    ) -> Witness | None:
        """The cheapest deviation for a requirement at these prices (a weight a cell, 0 where hidden).

        None if there is none, or when the deadline passes. `reweight` solves again at prices w / |d|, which
        concentrates the deviation on fewer cells; `widest` bounds the number of cells of the programs.
        """
        slopes, (down, up) = self.slopes(requirement, price), self.capacity(requirement.attacker)
        rank = self._rank(requirement.cell, np.fmin(*slopes))
        usable = np.flatnonzero(self.allowed & np.isfinite(rank) & ((up > 0) | (down > 0)))
        order = usable[np.argsort(rank[usable], kind="stable")]
        size, furthest = self.first_size, list(self.settings.furthest)
        while True:
            self.last_size = size
            last = rank[order[min(size, order.size) - 1]] if order.size else 0.0
            cells = np.sort(order[: np.searchsorted(rank[order], last, side="right")])
            program = self.program(cells, requirement)
            reweighted = reweight if cells.size <= self.settings.max_reweighted_cells else 0
            self.solves += 1
            witness = self.solve(
                program, cells, requirement, price, slopes, reweight=reweighted, furthest=furthest[0]
            )
            if witness is not None or self.is_late():
                return witness
            if widest is not None and (size >= widest or cells.size == order.size):
                return None
            if cells.size < order.size:
                size *= self.settings.growth
            elif len(furthest) > 1:
                furthest.pop(0)
            else:
                return self.any_deviation(requirement)

    def program(self, cells: Ints, requirement: Requirement) -> CheapestDeviationProgram:
        """The program of a requirement over some cells."""
        sliding = requirement.side is Side.SLIDE
        place = int(np.searchsorted(cells, requirement.cell)) if sliding else None
        matrix = without_empty_rows(self.columns[:, cells])
        return CheapestDeviationProgram(matrix, place, self.settings.highs)

    def solve(
        self,
        program: CheapestDeviationProgram,
        cells: Ints,
        requirement: Requirement,
        price: Floats,
        slopes: tuple[Floats, Floats],
        *,
        reweight: int,
        furthest: float = np.inf,
    ) -> Witness | None:
        """The cheapest deviation over these cells; again at prices w / |d| while that makes the pattern cheaper."""
        down, up = self.capacity(requirement.attacker)
        bounds = np.minimum(np.concatenate([up[cells], down[cells]]) / requirement.level, furthest)
        program.require(int(np.searchsorted(cells, requirement.cell)), requirement.side, bounds)
        costs = np.concatenate([slope[cells] for slope in slopes])
        costs[~np.isfinite(costs)] = 0.0  # no capacity on that side: its bound keeps it at zero
        best = self._witness(program, cells, requirement, costs)
        for _ in range(reweight):
            if best is None or not price[best.cells].any():
                break
            moved = np.zeros(cells.size)
            moved[np.searchsorted(cells, best.cells)] = best.furthest
            least = self.settings.least_share * requirement.level
            factor = np.where(
                moved > 0, requirement.level / np.maximum(moved, least), self.settings.unmoved_factor
            )
            other = self._witness(program, cells, requirement, costs * np.tile(factor, 2))
            if other is None or price[other.cells].sum() >= price[best.cells].sum():
                break
            best = other
        return best

    def cost_unit(self, costs: Floats) -> float:
        """The unit in which costs are passed to the solver."""
        return float(costs.max(initial=0.0)) or 1.0

    def _witness(
        self, program: CheapestDeviationProgram, cells: Ints, requirement: Requirement, costs: Floats
    ) -> Witness | None:
        self.programs += 1
        outcome, found = program.solve(costs / self.cost_unit(costs), self.deadline.left)
        self.late |= outcome is Outcome.TIME_LIMIT
        if outcome is not Outcome.OPTIMAL:
            return None
        deviations = [deviation * requirement.level for deviation in found]
        moved = np.maximum.reduce(np.abs(deviations)) > tolerances.LP_MOVE * requirement.level
        return Witness(cells[moved], *(deviation[moved] for deviation in deviations))

    def any_deviation(self, requirement: Requirement) -> Witness | None:
        """An exact deviation that meets a requirement, whatever it costs; None if there is none."""
        self.solves += 1
        return exact_witness(self.problem, self.allowed, requirement)

    def is_late(self) -> bool:
        """Whether the time is up."""
        return self.late or self.deadline.passed()

    def _rank(self, cell: int, slope: Floats) -> Floats:
        """For each cell the rank of its furthest equation, by distance from the equations of `cell`."""
        from scipy.sparse.csgraph import dijkstra

        one, other, through = self._edges
        length = np.where(np.isfinite(slope), slope, np.inf)[through]
        keep = np.isfinite(length) & self.allowed[through]
        count = self.columns.shape[0]
        steps = length[keep]
        typical = (
            float(np.median(steps[steps > 0])) if steps.any() else 1.0
        )  # a step costs something even if free
        graph = _lightest(one[keep], other[keep], steps + typical, count)
        own = self.columns.indices[self.columns.indptr[cell] : self.columns.indptr[cell + 1]]
        rank = np.full(self.columns.shape[1], -1.0)
        if own.size:
            distance = dijkstra(graph, directed=False, indices=own, min_only=True)
            place = np.empty(count)
            place[np.argsort(distance, kind="stable")] = np.arange(count)
            place[~np.isfinite(distance)] = np.inf
            busy = ~self._isolated
            rank[busy] = np.maximum.reduceat(place[self.columns.indices], self._starts[busy])
        rank[cell] = -1.0
        return rank


class CheapestDeviationProgram:
    """The linear program over some cells, in units of the level: d+ and d- of each, twice for a sliding level.

    `sliding`: the place of the cell with a sliding level; other levels are required by bounds alone. `options`: how it
    is solved, by default by the dual simplex method.
    """

    def __init__(
        self,
        matrix: Any,
        sliding: int | None = None,
        highs: HighsSettings = HighsSettings(),
        options: SimplexOptions = BY_DUAL_SIMPLEX,
    ) -> None:
        self.count, self.copies = int(matrix.shape[1]), 1 if sliding is None else 2
        half = hstack([matrix, -matrix], format="csc")
        both = half if sliding is None else block_diag([half, half], format="csc")
        zero = np.zeros(2 * self.copies * self.count)
        self._all = np.arange(zero.size)
        self._session = LinearProgram(csc_array(both), zero, zero, options=options, settings=highs)
        if sliding is not None:
            places = sliding + self.count * np.arange(4)
            self._session.add_row(1.0, np.inf, places, np.array([1.0, -1.0, -1.0, 1.0]))

    def require(self, place: int, side: Side, bounds: Floats) -> None:
        """Require a level of the cell in that place; `bounds` up and down of every cell in levels."""
        high = np.tile(bounds, self.copies)
        low = np.zeros(high.size)
        if side is not Side.SLIDE:
            up, down = place, self.count + place
            forced, fixed = (up, down) if side is Side.UP else (down, up)
            low[forced] = high[forced] = 1.0
            high[fixed] = 0.0
        self._session.set_many_bounds(self._all, low, high)

    def solve(self, costs: Floats, seconds: float) -> tuple[Outcome, list[Floats]]:
        """How the program ended, and if optimally the cheapest deviations in levels: one, or f and g."""
        self._session.set_objective(np.tile(costs, self.copies))
        solution = self._session.solve(seconds)
        if solution.outcome is not Outcome.OPTIMAL:
            return solution.outcome, []
        parts = solution.values.reshape(2 * self.copies, self.count)
        return solution.outcome, [parts[at] - parts[at + 1] for at in range(0, 2 * self.copies, 2)]

    def cheapest(
        self,
        place: int,
        upward: bool,
        level: float,
        bounds: tuple[Floats, Floats],
        costs: Floats,
        seconds: float,
    ) -> Floats | None:
        """The cheapest deviation of the cell in that place by a level; None if there is none, or none in time.

        `bounds` down and up of every cell, `costs` of a unit of every cell in either direction.
        """
        down, up = bounds
        if (up if upward else down)[place] < level * (1 - tolerances.WITNESS_MET):
            return None
        self.require(place, Side.UP if upward else Side.DOWN, np.concatenate([up, down]) / level)
        _, found = self.solve(np.tile(costs, 2), seconds)
        return found[0] * level if found else None


def _pairs(columns: csc_array) -> tuple[Ints, Ints, Ints]:
    """Every two equations that a cell ties: (equation, equation, cell)."""
    lengths = np.diff(columns.indptr)
    one, other, through = [], [], []
    for length in np.unique(lengths[lengths > 1]):
        cells = np.flatnonzero(lengths == length)
        members = columns.indices[columns.indptr[cells][:, None] + np.arange(length)]
        left, right = np.triu_indices(length, 1)
        one.append(members[:, left].ravel())
        other.append(members[:, right].ravel())
        through.append(np.repeat(cells, left.size))
    if not one:
        return (np.zeros(0, dtype=np.int64),) * 3
    return np.concatenate(one), np.concatenate(other), np.concatenate(through)


def _lightest(one: Ints, other: Ints, length: Floats, count: int) -> csr_array:
    """The graph of equations with the lightest of parallel edges."""
    key = np.minimum(one, other).astype(np.int64) * count + np.maximum(one, other)
    order = np.lexsort((length, key))
    first = np.ones(order.size, dtype=bool)
    first[1:] = key[order][1:] != key[order][:-1]
    chosen = order[first]
    return csr_array((length[chosen], (key[chosen] // count, key[chosen] % count)), shape=(count, count))


def met_by(
    problem: Problem, witness: Witness, found_for: int, requirements: list[Requirement]
) -> list[Requirement]:
    """The requirements that a witness meets besides its own, also of other attackers whose boxes it fits."""
    possible: dict[int, bool] = {found_for: True}
    met = []
    for requirement in requirements:
        if requirement.attacker not in possible:
            possible[requirement.attacker] = _inside(problem, witness, requirement.attacker)
        if possible[requirement.attacker] and _room(witness, requirement) >= requirement.level * (
            1 - tolerances.LP_MOVE
        ):
            met.append(requirement)
    return met


def _room(witness: Witness, requirement: Requirement) -> float:
    """How much of a requirement's level the witness gives."""
    forward, backward = witness.moves(requirement.cell)
    if requirement.side is Side.UP:
        return max(forward, backward)
    if requirement.side is Side.DOWN:
        return max(-forward, -backward)
    return max(abs(forward), abs(backward), abs(forward - backward))


def _inside(problem: Problem, witness: Witness, attacker: int) -> bool:
    """Whether a deviation found for the outsider or another attacker stays in this attacker's box."""
    low, high = problem.box(attacker)
    cells = witness.cells
    for deviation in (witness.forward, witness.backward):
        if deviation is not None:
            moved = problem.table.values[cells] + deviation
            slack = 1e-9 * np.maximum(1.0, np.abs(moved))
            if ((moved < low[cells] - slack) | (moved > high[cells] + slack)).any():
                return False
    return True
