"""The cheapest deviation that gives one cell its room: the step that Kelly-type heuristics repeat.

For cell p and an attacker's box, find d with M d = 0, low <= d <= high, d_p = level (up) or -level (down), and the
least  sum_i c_i |d_i|.  Hidden cells are free; the others cost the fixed-charge slope
c_i = w_i / min(level, capacity_i): what hiding i costs for each unit it can carry. A sliding level uses two
deviations f, g with f_p - g_p = level.

Reference: Kelly, Golden & Assad (1992), Cell suppression: disclosure protection for sensitive tabular data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_diag, csc_array, csr_array, hstack
from scipy.sparse.csgraph import dijkstra

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import WitnessFinder, without_empty_rows
from tablecloak.model import Problem, Requirement, Side, box_deviation_bounds
from tablecloak.progress import NEVER, Deadline
from tablecloak.solvers import DUAL, HALF, NOISE, Outcome, Session

NEAR, WIDER = 800, 2
"""How many cells a program starts with, and how much larger the next one is."""
REWEIGHTED = 2000
"""Larger programs are not solved again at other prices."""
SUPPORT = 1e-7
"""A cell takes part in a deviation when it moves by more than this share of the level."""


FURTHEST = (100.0, np.inf)
"""Other cells deviate by at most these multiples of the level; the last one is no limit."""


def negligible(requirement: Requirement) -> float:
    """What may be missing of a level that is met: rounding noise, which is less than half a data unit.

    On networks in whole data units nothing is missing then; levels of other problems are met up to noise.
    """
    return min(NOISE * requirement.level, HALF)


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
                requirement.cell, requirement.attacker, upward, np.ceil(missing / unit - NOISE)
            )
            if deviation is not None:
                found.append(deviation * unit)
                missing -= abs(float(found[-1][requirement.cell]))
    if missing > negligible(requirement):
        return None
    cells = np.flatnonzero(np.logical_or.reduce([deviation != 0.0 for deviation in found]))
    return Witness(cells, *(deviation[cells] for deviation in found))


class Router:
    """Finds cheapest deviations, looking near the cell first: programs stay small however large the table is.

    Distances between equations are those of the cheapest chain of cells from one to the next. The program of a
    requirement takes the nearest equations and all cells that lie entirely in them; if it is infeasible it is widened.
    """

    def __init__(
        self, problem: Problem, equations: csr_array, allowed: Bools, deadline: Deadline = NEVER
    ) -> None:
        self.problem = problem
        self.deadline, self.late = deadline, False
        """`late`: a solver ran out of time, whatever our own clock says."""
        self.allowed = allowed.copy()
        self.columns = csc_array(equations)
        self.solves = 0
        self.first_size = self.last_size = NEAR
        """Number of cells of the first program of a search, and of the one that ended the last search."""
        lengths = np.diff(self.columns.indptr)
        self._starts, self._isolated = self.columns.indptr[:-1], lengths == 0
        self._edges = _pairs(self.columns)
        self._capacity: dict[int, tuple[Floats, Floats]] = {}

    def capacity(self, attacker: int) -> tuple[Floats, Floats]:
        """How far down and up each cell may deviate by the attacker's box."""
        if attacker not in self._capacity:
            self._capacity[attacker] = box_deviation_bounds(self.problem, attacker)
        return self._capacity[attacker]

    def cheapest(
        self, requirement: Requirement, price: Floats, *, reweight: int = 0, widest: int | None = None
    ) -> Witness | None:
        """The cheapest deviation for a requirement at these prices (a weight a cell, 0 where hidden).

        None if there is none, or when the deadline passes. `reweight` solves again at prices w / |d|, which
        concentrates the deviation on fewer cells; `widest` bounds the number of cells looked at.
        """
        down, up = self.capacity(requirement.attacker)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope_up = price / np.minimum(requirement.level, up)
            slope_down = price / np.minimum(requirement.level, down)
        rank = self._rank(requirement.cell, np.fmin(slope_up, slope_down))
        usable = np.flatnonzero(self.allowed & np.isfinite(rank) & ((up > 0) | (down > 0)))
        order = usable[np.argsort(rank[usable], kind="stable")]
        size, furthest = self.first_size, list(FURTHEST)
        while True:
            self.last_size = size
            last = rank[order[min(size, order.size) - 1]] if order.size else 0.0
            cells = np.sort(order[: np.searchsorted(rank[order], last, side="right")])
            near = _Neighbourhood(self, requirement, cells, furthest[0])
            witness = near.solve(slope_up, slope_down, price, reweight)
            self.solves += 1
            if witness is not None or self.is_late():
                return witness
            if widest is not None and (size >= widest or cells.size == order.size):
                return None
            if cells.size < order.size:
                size *= WIDER
            elif len(furthest) > 1:
                furthest.pop(0)
            else:
                return self.any_deviation(requirement)

    def any_deviation(self, requirement: Requirement) -> Witness | None:
        """An exact deviation that meets a requirement, whatever it costs; None if there is none."""
        self.solves += 1
        return exact_witness(self.problem, self.allowed, requirement)

    def is_late(self) -> bool:
        """Whether the time is up."""
        return self.late or self.deadline.passed()

    def _rank(self, cell: int, slope: Floats) -> Floats:
        """For each cell the rank of its furthest equation, by distance from the equations of `cell`."""
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


class _Neighbourhood:
    """The linear program of one requirement over some cells: d+ and d- of each, twice for a sliding level."""

    def __init__(self, router: Router, requirement: Requirement, cells: Ints, furthest: float) -> None:
        self.requirement, self.cells, self.deadline, self.router = requirement, cells, router.deadline, router
        self.copies = 2 if requirement.side is Side.SLIDE else 1
        matrix = without_empty_rows(router.columns[:, cells])
        half = hstack([matrix, -matrix], format="csr")
        down, up = router.capacity(requirement.attacker)
        room = np.concatenate([up[cells], down[cells]]) / requirement.level
        high = np.tile(np.minimum(room, furthest), self.copies)
        low = np.zeros(high.size)
        place, count = int(np.searchsorted(cells, requirement.cell)), cells.size
        if self.copies == 1:
            forced, fixed = (place, count + place) if requirement.side is Side.UP else (count + place, place)
            low[forced] = high[forced] = 1.0
            high[fixed] = 0.0
        whole = half if self.copies == 1 else block_diag([half, half], format="csr")
        self.session = Session(whole, low, high, strategy=DUAL, presolve=True)
        if self.copies == 2:
            columns = np.array([place, count + place, 2 * count + place, 3 * count + place])
            self.session.add_row(1.0, np.inf, columns, np.array([1.0, -1.0, -1.0, 1.0]))

    def solve(self, slope_up: Floats, slope_down: Floats, price: Floats, reweight: int) -> Witness | None:
        slopes = np.concatenate([slope_up[self.cells], slope_down[self.cells]])
        slopes[~np.isfinite(slopes)] = 0.0  # no capacity on that side: its bound keeps it at zero
        best = self._solve(slopes)
        if best is None:
            return None
        for _ in range(reweight if price[best.cells].any() and self.cells.size <= REWEIGHTED else 0):
            moved = np.zeros(self.cells.size)
            moved[np.searchsorted(self.cells, best.cells)] = best.furthest
            factor = np.where(
                moved > 0, self.requirement.level / np.maximum(moved, 1e-3 * self.requirement.level), 2.0
            )
            sharper = self._solve(slopes * np.tile(factor, 2))
            if sharper is None or price[sharper.cells].sum() >= price[best.cells].sum():
                break
            best = sharper
        return best

    def _solve(self, slopes: Floats) -> Witness | None:
        largest = slopes.max(initial=0.0)
        self.session.set_costs(
            np.arange(slopes.size * self.copies), np.tile(slopes / (largest or 1.0), self.copies)
        )
        solution = self.session.solve(self.deadline.left)
        self.router.late |= solution.outcome is Outcome.TIME_LIMIT
        if solution.outcome is not Outcome.OPTIMAL:
            return None
        count = self.cells.size
        values = solution.values * self.requirement.level
        copies = [
            values[at : at + count] - values[at + count : at + 2 * count]
            for at in range(0, values.size, 2 * count)
        ]
        moved = np.maximum.reduce([np.abs(copy) for copy in copies]) > SUPPORT * self.requirement.level
        return Witness(self.cells[moved], *(copy[moved] for copy in copies))


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
            1 - SUPPORT
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
