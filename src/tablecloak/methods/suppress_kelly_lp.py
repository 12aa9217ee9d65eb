"""suppress-kelly-lp: one linear program after the other, each for one level of one sensitive cell; any table.

For each sensitive cell p in turn, and each of its levels l, the deviation of least cost that meets the level:

    min  sum_i c_i (d+_i + d-_i)
    s.t. M (d+ - d-) = 0,   0 <= d+ <= high - a,   0 <= d- <= a - low
         d+_p = l, d-_p = 0   (upper;  the other way round for a lower level)

M: the equations, a: the values, low..high: the outsider's box, c_i = 0 where i is hidden already. A sliding level needs
two deviations f, g at once with f_p - g_p >= l. The cells that move are hidden. Costs:

- *paper*: c_i = w_i. What is paid is w_i a unit, not w_i for hiding i: small moves of many cells look cheap.
- *charge*: c_i = w_i / min(l, capacity of i), the slope of the fixed charge; then again at w_i / |d_i|, some times.

Additions: a level that an earlier deviation meets is skipped (`carry`), programs stay warm from level to level, and
those of large tables are over the neighbourhood of the cell. What the recipe leaves open, the frame repairs
(`heuristics.sequential`).

References: Kelly, Golden & Assad (1992), Cell suppression: disclosure protection for sensitive tabular data, Networks
22; Serpell et al. (2013), who use it as a yardstick ("Kelly et al. LP").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import working_equations
from tablecloak.methods.base import Proposal
from tablecloak.methods.heuristics import (
    CheapestDeviationProgram,
    DeviationFinder,
    DeviationSettings,
    OneByOneParams,
    Own,
    Requests,
    RequirementQueue,
    SequentialSettings,
    Witness,
    met_by,
    one_by_one,
    positive_weights,
)
from tablecloak.model import Problem, Requirement, Side
from tablecloak.progress import Progress


@dataclass(frozen=True)
class KellyLpSettings:
    """Sizes and scale of the programs."""

    max_whole_cells: int = 3000
    """Maximum number of cells that may be hidden for programs over the whole table, which stay warm; larger tables have
    programs over the neighbourhood of the cell. Untested default."""
    neighbourhood: DeviationSettings = field(default_factory=DeviationSettings)
    """Sizes of the programs over a neighbourhood."""
    least_cost_share: float = 1e-7
    """Costs are passed in units of the median one, or of this share of the largest: a solver takes smaller ones for
    noise. Untested default."""
    sequential: SequentialSettings = SequentialSettings()
    """The steps around the paper's algorithm."""


@dataclass(frozen=True)
class KellyLpParams(OneByOneParams):
    """Parameters of suppress-kelly-lp."""

    prices: Literal["paper", "charge"] = "paper"
    """What a unit of a cell's deviation costs: its weight (the paper), or its fixed charge spread over its capacity."""
    reweight: int = 2
    """With `charge`: maximum number of times that each program is solved again at prices w / |d|."""
    carry: bool = True
    """Skip a level that an earlier deviation meets (the paper solves for every level)."""


def suppress_kelly_lp(
    problem: Problem,
    *,
    params: KellyLpParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: KellyLpSettings = KellyLpSettings(),
) -> Proposal:
    """An audited suppression on every feasible problem without a bound on the number of touched cells."""
    params.check({"reweight must not be negative": params.reweight < 0})

    def build(requests: Requests) -> Own:
        return _Kelly(requests, params, settings).run()

    return one_by_one(problem, params, rng, progress, build, "linear programs", settings.sequential)


class _Kelly:
    """The paper's recipe: the cells hidden so far and the levels not met yet."""

    def __init__(self, requests: Requests, params: KellyLpParams, settings: KellyLpSettings) -> None:
        self.requests, self.params = requests, params
        self.hidden: Bools = requests.hidden.copy()
        self.queue = RequirementQueue(_requirements(requests))
        self.price = positive_weights(requests.problem.weights)
        self.finder = _PricedFinder(requests, settings, by_unit=params.prices == "paper")
        self.searched = self.carried = self.without = 0

    def run(self) -> Own:
        """Each cell in turn, each of its levels that is not met yet."""
        for number, requirement in self.queue:
            if self.requests.deadline.passed():
                break
            self.queue.settle(requirement)
            self._protect(requirement)
            self.requests.progress("protecting levels", number + 1, len(self.queue))
        counters = {
            "levels asked": self.searched,
            "levels carried": self.carried,
            "linear programs": self.finder.programs,
            "levels unanswered": self.without,
        }
        return Own(self.hidden, counters)

    def _protect(self, requirement: Requirement) -> None:
        """Hide the cells of the cheapest deviation for one level."""
        self.searched += 1
        price = np.where(self.hidden, 0.0, self.price)
        reweight = 0 if self.params.prices == "paper" else self.params.reweight
        witness = self.finder.cheapest(requirement, price, reweight=reweight)
        if witness is None:  # out of time, or a numerical failure that is repaired later
            self.without += 1
            return
        self.hidden[witness.cells] = True
        if self.params.carry:
            near = self.queue.of(witness.cells.tolist())
            for met in met_by(self.requests.problem, witness, requirement.attacker, near):
                self.queue.settle(met)
                self.carried += 1


def _requirements(requests: Requests) -> list[Requirement]:
    """The levels of each cell: lower, upper, sliding, as far as there are any."""
    return [
        Requirement(cell, 0, side, level)
        for cell, *sizes in requests.levels
        for side, level in zip((Side.DOWN, Side.UP, Side.SLIDE), sizes, strict=True)
        if level > 0
    ]


class _PricedFinder(DeviationFinder):
    """Cheapest deviations at either price; small tables have one program that stays warm from level to level."""

    def __init__(self, requests: Requests, settings: KellyLpSettings, *, by_unit: bool) -> None:
        problem = requests.problem
        equations, deadline = working_equations(problem.table), requests.deadline
        super().__init__(problem, equations, requests.allowed, deadline, settings.neighbourhood)
        self.by_unit, self._kelly = by_unit, settings
        self._cells = np.flatnonzero(requests.allowed)
        self._whole: CheapestDeviationProgram | None = None

    def slopes(self, requirement: Requirement, price: Floats) -> tuple[Floats, Floats]:
        """The cost of a unit up and of a unit down by cell; infinite where there is no capacity."""
        down, up = self.capacity(requirement.attacker)
        rise, fall = (price, price) if self.by_unit else super().slopes(requirement, price)
        return np.where(up > 0, rise, np.inf), np.where(down > 0, fall, np.inf)

    def cost_unit(self, costs: Floats) -> float:
        """The median cost, or a share of the largest."""
        paid = costs[costs > 0]
        if not paid.size:
            return 1.0
        return max(float(np.median(paid)), self._kelly.least_cost_share * float(paid.max()))

    def cheapest(
        self, requirement: Requirement, price: Floats, *, reweight: int = 0, widest: int | None = None
    ) -> Witness | None:
        """The cheapest deviation for a requirement; `price` is a weight a cell, 0 where it is hidden."""
        if self._cells.size > self._kelly.max_whole_cells:
            return super().cheapest(requirement, price, reweight=reweight, widest=widest)
        slopes, program = self.slopes(requirement, price), self._program(requirement)
        return self.solve(program, self._cells, requirement, price, slopes, reweight=reweight)

    def _program(self, requirement: Requirement) -> CheapestDeviationProgram:
        """The program over the whole table; a sliding level has one of its own."""
        if requirement.side is Side.SLIDE:
            return self.program(self._cells, requirement)
        if self._whole is None:
            self._whole = self.program(self._cells, requirement)
        return self._whole
