"""suppress-kelly-lp: one linear program after the other, each for one level of one sensitive cell; any table.

For each sensitive cell p in turn, and each of its levels l, the deviation of least cost that gives p its room:

    min  sum_i c_i (d+_i + d-_i)
    s.t. M (d+ - d-) = 0,   0 <= d+ <= high - a,   0 <= d- <= a - low
         d+_p = l, d-_p = 0   (upper;  the other way round for a lower level)

M: the equations, a: the values, low..high: the outsider's box, c_i = 0 where i is hidden already. A sliding level asks
for two deviations f, g at once with f_p - g_p >= l. The cells that move are hidden. Costs:

- *paper*: c_i = w_i. What is paid is w_i a unit, not w_i for hiding i: small moves of many cells look cheap.
- *charge*: c_i = w_i / min(l, room of i), the slope of the fixed charge; then again at w_i / |d_i|, some times.

Ours: a level that an earlier deviation meets is not asked again (`carry`), programs stay warm from level to level, and
those of large tables look near the cell first. What the recipe leaves open, the frame repairs
(`heuristics.sequential`).

References: Kelly, Golden & Assad (1992), Cell suppression: disclosure protection for sensitive tabular data, Networks
22; Serpell et al. (2013), who use it as a yardstick ("Kelly et al. LP").
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import block_diag, csc_array, hstack

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import without_empty_rows, working_equations
from tablecloak.methods.base import Proposal
from tablecloak.methods.heuristics import (
    NEAR,
    SUPPORT,
    WIDER,
    OneByOneParams,
    Own,
    Requests,
    Router,
    Witness,
    met_by,
    one_by_one,
)
from tablecloak.model import Problem, Requirement, Side
from tablecloak.progress import Progress
from tablecloak.solvers import DUAL, LinearProgram, Outcome, SimplexOptions

WHOLE_TABLE = 3000
"""Programs are over the whole table if no more cells may be hidden; else they look near the cell first."""
FREE = 1e-3
"""A cell of weight zero costs this share of the least weight above zero, so that it is not hidden for nothing."""
SPREAD = 1e-7
"""Costs are measured in the median one, or in this share of the largest: a solver takes smaller ones for noise."""


@dataclass(frozen=True)
class KellyLpParams(OneByOneParams):
    """Parameters of suppress-kelly-lp."""

    prices: Literal["paper", "charge"] = "paper"
    """What a unit of a cell's deviation costs: its weight (the paper), or its fixed charge spread over its room."""
    reweight: int = 2
    """With `charge`: solve each program again so many times at prices w / |d|."""
    carry: bool = True
    """Skip a level that an earlier deviation meets (the paper asks for every level)."""


def suppress_kelly_lp(
    problem: Problem,
    *,
    params: KellyLpParams,
    rng: np.random.Generator,
    progress: Progress,
    executor: Executor | None,
) -> Proposal:
    """An audited suppression on every feasible problem without a bound on the number of touched cells."""
    params.check({"reweight must not be negative": params.reweight < 0})

    def build(requests: Requests) -> Own:
        return _Kelly(requests, params).run()

    return one_by_one(problem, params, rng, progress, build, "linear programs")


class _Kelly:
    """The paper's recipe: the cells hidden so far and the levels not met yet."""

    def __init__(self, requests: Requests, params: KellyLpParams) -> None:
        self.requests, self.params = requests, params
        self.hidden: Bools = requests.hidden.copy()
        self.waiting = {cell: list(requirements) for cell, requirements in _tasks_by_cell(requests)}
        weights = requests.problem.weights
        least = weights[weights > 0].min() if (weights > 0).any() else 1.0
        self.price = np.where(weights > 0, weights, FREE * least)
        self.programs = _Programs(requests, linear=params.prices == "paper")
        self.asked = self.carried = self.unanswered = 0

    def run(self) -> Own:
        """Each cell in turn, each of its levels that is not met yet."""
        total = len(self.waiting)
        for done, cell in enumerate(list(self.waiting)):
            while self.waiting[cell]:
                if self.requests.deadline.passed():
                    return self._own()
                self._protect(self.waiting[cell].pop(0))
            self.requests.progress("protecting levels", done + 1, total)
        return self._own()

    def _protect(self, requirement: Requirement) -> None:
        """Hide the cells of the cheapest deviation for one level."""
        self.asked += 1
        price = np.where(self.hidden, 0.0, self.price)
        reweight = 0 if self.params.prices == "paper" else self.params.reweight
        witness = self.programs.cheapest(requirement, price, reweight=reweight)
        if witness is None:  # out of time, or a numerical failure that is repaired later
            self.unanswered += 1
            return
        self.hidden[witness.cells] = True
        if self.params.carry:
            near = [
                requirement for cell in witness.cells.tolist() for requirement in self.waiting.get(cell, ())
            ]
            for met in met_by(self.requests.problem, witness, requirement.attacker, near):
                self.waiting[met.cell].remove(met)
                self.carried += 1

    def _own(self) -> Own:
        counters = {
            "levels asked": self.asked,
            "levels carried": self.carried,
            "linear programs": self.programs.solves,
            "levels unanswered": self.unanswered,
        }
        return Own(self.hidden, counters)


def _tasks_by_cell(requests: Requests) -> Iterable[tuple[int, list[Requirement]]]:
    """The levels of each cell: lower, upper, sliding, as far as there are any."""
    levels = zip(
        requests.cells.tolist(),
        requests.lower.tolist(),
        requests.upper.tolist(),
        requests.sliding.tolist(),
        strict=True,
    )
    for cell, *sizes in levels:
        sides = zip((Side.DOWN, Side.UP, Side.SLIDE), sizes, strict=True)
        yield cell, [Requirement(cell, 0, side, size) for side, size in sides if size > 0]


class _Programs(Router):
    """Cheapest deviations at either price: over the whole table and warm, or near the cell first on large tables."""

    def __init__(self, requests: Requests, *, linear: bool) -> None:
        problem = requests.problem
        super().__init__(problem, working_equations(problem.table), requests.allowed, requests.deadline)
        self.linear = linear
        self._cells = np.flatnonzero(requests.allowed)
        self._whole: _Program | None = None

    def cheapest(
        self, requirement: Requirement, price: Floats, *, reweight: int = 0, widest: int | None = None
    ) -> Witness | None:
        """The cheapest deviation for a requirement; `price` is a weight a cell, 0 where it is hidden."""
        slopes = self._slopes(requirement, price)
        if self._cells.size <= WHOLE_TABLE:
            return self._solved(self._program(requirement), self._cells, requirement, slopes, price, reweight)
        near = self._nearest(requirement, np.minimum(*slopes))
        size = NEAR
        while True:
            cells = np.sort(near[:size])
            program = _Program(without_empty_rows(self.columns[:, cells]), _where(cells, requirement))
            witness = self._solved(program, cells, requirement, slopes, price, reweight)
            enough = size >= near.size or (widest is not None and size >= widest)
            if witness is not None or enough or self.deadline.passed():
                return witness
            size *= WIDER

    def _slopes(self, requirement: Requirement, price: Floats) -> tuple[Floats, Floats]:
        """What a unit up and a unit down cost, for every cell; infinite where there is no room."""
        down, up = self.capacity(requirement.attacker)
        slopes = []
        for room in (up, down):
            with np.errstate(divide="ignore", invalid="ignore"):
                slope = price if self.linear else price / np.minimum(requirement.level, room)
            slopes.append(np.where(room > 0, slope, np.inf))
        return slopes[0], slopes[1]

    def _nearest(self, requirement: Requirement, slope: Floats) -> Ints:
        """The cells that may move, nearest first."""
        rank = self._rank(requirement.cell, slope)
        usable = np.flatnonzero(self.allowed & np.isfinite(rank) & np.isfinite(slope))
        return usable[np.argsort(rank[usable], kind="stable")]

    def _program(self, requirement: Requirement) -> _Program:
        """The program over the whole table; a sliding level has one of its own."""
        if requirement.side is Side.SLIDE:
            return _Program(self.columns[:, self._cells], _where(self._cells, requirement))
        if self._whole is None:
            self._whole = _Program(self.columns[:, self._cells])
        return self._whole

    def _solved(
        self,
        program: _Program,
        cells: Ints,
        requirement: Requirement,
        slopes: tuple[Floats, Floats],
        price: Floats,
        reweight: int,
    ) -> Witness | None:
        """The cheapest deviation over these cells; again at prices w / |d| while that makes the pattern cheaper."""
        down, up = self.capacity(requirement.attacker)
        program.ask(
            _place(cells, requirement),
            requirement.side,
            np.concatenate([up[cells], down[cells]]) / requirement.level,
        )
        costs = np.concatenate([slope[cells] for slope in slopes])
        costs[~np.isfinite(costs)] = 0.0  # no room on that side: its bound keeps it at zero
        best = self._witness(program, cells, requirement, costs)
        for _ in range(reweight):
            if best is None or not price[best.cells].any():
                break
            moved = np.zeros(cells.size)
            moved[np.searchsorted(cells, best.cells)] = best.furthest / requirement.level
            factor = np.where(moved > 0, 1 / np.maximum(moved, 1e-3), 2.0)
            sharper = self._witness(program, cells, requirement, costs * np.tile(factor, 2))
            if sharper is None or price[sharper.cells].sum() >= price[best.cells].sum():
                break
            best = sharper
        return best

    def _witness(
        self, program: _Program, cells: Ints, requirement: Requirement, costs: Floats
    ) -> Witness | None:
        self.solves += 1
        found = program.solve(costs, self.deadline.left)
        if found is None:
            return None
        moved = np.maximum.reduce(np.abs(found)) > SUPPORT
        return Witness(cells[moved], *(deviation[moved] * requirement.level for deviation in found))


def _place(cells: Ints, requirement: Requirement) -> int:
    return int(np.searchsorted(cells, requirement.cell))


def _where(cells: Ints, requirement: Requirement) -> int | None:
    """The place of a cell with a sliding level; other levels are asked by bounds alone."""
    return _place(cells, requirement) if requirement.side is Side.SLIDE else None


class _Program:
    """The linear program over some cells, in units of the level: d+ and d- of each, twice for a sliding level."""

    def __init__(self, matrix: Any, sliding: int | None = None) -> None:
        self.count, self.copies = int(matrix.shape[1]), 1 if sliding is None else 2
        half = hstack([matrix, -matrix], format="csc")
        whole = half if sliding is None else block_diag([half, half], format="csc")
        zero = np.zeros(2 * self.copies * self.count)
        self.columns = np.arange(zero.size)
        options = SimplexOptions(strategy=DUAL, presolve=True)
        self.session = LinearProgram(csc_array(whole), zero, zero, options=options)
        if sliding is not None:
            places = sliding + self.count * np.arange(4)
            self.session.add_row(1.0, np.inf, places, np.array([1.0, -1.0, -1.0, 1.0]))

    def ask(self, place: int, side: Side, room: Floats) -> None:
        """Ask for a level of the cell in that place; `room` up and down of every cell in levels."""
        high = np.tile(room, self.copies)
        low = np.zeros(high.size)
        if side is not Side.SLIDE:
            up, down = place, self.count + place
            forced, fixed = (up, down) if side is Side.UP else (down, up)
            low[forced] = high[forced] = 1.0
            high[fixed] = 0.0
        self.session.set_many_bounds(self.columns, low, high)

    def solve(self, costs: Floats, seconds: float) -> list[Floats] | None:
        """The cheapest deviations in levels: one, or f and g. None: there are none, or not in time."""
        paid = costs[costs > 0]
        scale = max(float(np.median(paid)), SPREAD * float(paid.max())) if paid.size else 1.0
        self.session.set_objective(np.tile(costs / scale, self.copies))
        solution = self.session.solve(seconds)
        if solution.outcome is not Outcome.OPTIMAL:
            return None
        parts = solution.values.reshape(2 * self.copies, self.count)
        return [parts[at] - parts[at + 1] for at in range(0, 2 * self.copies, 2)]
