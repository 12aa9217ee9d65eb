"""suppress-network-flow: Castro's two heuristics of 2002, one sensitive cell after the other by network flows.

For each sensitive cell p, for its upper and its lower level X_p, unless it has that much already (CUP_p, CLP_p):

*Heuristic 1* (networks). Cycles of cells through p. A cycle whose cells can all move by g both ways gives p g units of
its level; the rest of the level needs another cycle. Cells are chosen by strata, a cell of a later one only if need
be: hidden and large enough for the level, published and large enough, hidden and too small, published and too small;
the lightest first within a stratum.

*Heuristic 2*. The cheapest deviation with d_p = X_p (or -X_p) at w_i a unit for published cells, nothing for hidden
ones: a minimum-cost flow, or outside networks a linear program (a multicommodity flow, or one with side constraints).
Two flows a cell, or one for both sides whose reverse is possible too: capacity min(up, down) on both sides.

All cells that take part are hidden. *What they prove* is booked for all sensitive cells among them, so that many need
no flow of their own. Castro books  g = min { a_i : i in T }  over the cells T of a flow. That is right on networks,
where a flow is a sum of cycles of cells of T, but not elsewhere: there some cells move further than others. And cycles
of the first heuristic that use the same cells do not add up. Here (``booking="proven"``) a deviation d proves for its
cells what its multiples move them within the box:

    t = min_i bound_i(sign d_i) / |d_i|,    t' = min_i bound_i(-sign d_i) / |d_i|
    cell i:  t |d_i| in the direction of d_i,   t' |d_i| against it

for the flow itself and for each cycle that it is the sum of (so it is never less than g on networks, and often more).
The first heuristic takes what a cycle uses from the capacity of its cells before it looks for the next one of this p.
``booking="paper"`` is Castro's.

Reference: Castro (2002), Network flows heuristics for complementary cell suppression: an empirical evaluation and
extensions; its section 3.2 follows Cox (1995), 3.3 Kelly, Golden & Assad (1992).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import is_network, tolerances
from tablecloak.methods.base import Proposal, refuse_non_network
from tablecloak.methods.heuristics import (
    FlowSteps,
    OneByOneParams,
    Own,
    Programs,
    ProgramSteps,
    Requests,
    SequentialSettings,
    Steps,
    Terrain,
    one_by_one,
)
from tablecloak.model import Problem
from tablecloak.progress import Progress


@dataclass(frozen=True)
class NetworkFlowParams(OneByOneParams):
    """Parameters of suppress-network-flow."""

    heuristic: Literal[1, 2] = 2
    """1: cycles of cells, chosen by strata (networks only); 2: cheapest flows, or linear programs."""
    flows: Literal["separate", "combined"] = "separate"
    """Heuristic 2: a flow for each side, or one for both that can be reversed."""
    programs: Programs = "dual"
    """Heuristic 2 outside networks, how its linear programs are solved: by the dual simplex method, by it from an
    optimum of a network part (network), or by an interior-point method that ends at a vertex (interior) or amid all
    optima (central). The cost of a deviation is the same; which of the cheapest ones it is, and so the pattern, is
    not."""
    booking: Literal["proven", "paper"] = "proven"
    """What the cells of a flow count as protected by: what it proves, or as in the paper (the repair does the rest)."""


def suppress_network_flow(
    problem: Problem,
    *,
    params: NetworkFlowParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: SequentialSettings = SequentialSettings(),
) -> Proposal:
    """The heuristic's pattern, repaired and without redundant suppressions."""
    params.check()
    network = is_network(problem)
    if params.heuristic == 1:
        refuse_non_network(
            problem,
            "Heuristic 1 of suppress-network-flow looks for cycles of cells",
            ["suppress-network-flow", "suppress-greedy"],
            needs="heuristic 2 or a network table",
        )

    def build(requests: Requests) -> Own:
        terrain = Terrain(requests)
        work: _Cycles | _Flows
        if params.heuristic == 1:
            work = _Cycles(terrain, FlowSteps(terrain, requests), params)
        else:
            steps: Steps = (
                FlowSteps(terrain, requests)
                if network
                else ProgramSteps(
                    terrain, requests, params.programs, settings.first.construction.deviation.highs
                )
            )
            work = _Flows(terrain, steps, params)
        for cell, lower, upper, _ in requests.in_turn(requests.levels, "protecting levels", every=16):
            work.protect(int(terrain.place[cell]), upper, lower)
        hidden = terrain.whole(requests)
        cost = float(problem.weights[hidden].sum())
        return Own(hidden, {**work.steps.counters, **work.counters, "own cost with sensitive": cost})

    engine = "network flows" if network else "linear programs"
    return one_by_one(problem, params, rng, progress, build, engine, settings)


class _Books:
    """What is hidden and what the cells have so far: CUP and CLP, by place."""

    def __init__(self, terrain: Terrain, steps: Steps, params: NetworkFlowParams) -> None:
        self.terrain, self.steps, self.params = terrain, steps, params
        self.up, self.down = np.zeros(terrain.cells.size), np.zeros(terrain.cells.size)
        """CUP and CLP."""
        self.counters: dict[str, float] = {
            "levels": 0,
            "levels met on the way": 0,
            "levels without a flow": 0,
        }

    @property
    def in_paper_s_way(self) -> bool:
        return self.params.booking == "paper"

    def met(self, p: int, level: float, upward: bool) -> bool:
        """Whether the cell has this level by now."""
        return bool((self.up if upward else self.down)[p] >= level * (1 - tolerances.WITNESS_MET))

    def book(self, places: Ints, up: Floats | float, down: Floats | float) -> None:
        """Book at least these amounts for the cells."""
        self.up[places] = np.maximum(self.up[places], up)
        self.down[places] = np.maximum(self.down[places], down)

    def book_proven(self, places: Ints, moves: Floats) -> None:
        """What the multiples of one deviation prove for its cells."""
        up, down, size, rises = self.terrain.up[places], self.terrain.down[places], np.abs(moves), moves > 0
        along = size * (np.where(rises, up, down) / size).min()
        against = size * (np.where(rises, down, up) / size).min()
        self.book(places, np.where(rises, along, against), np.where(rises, against, along))

    @property
    def both_ways(self) -> Floats:
        """How far each cell can move up as well as down: Castro's a_i."""
        return np.asarray(np.minimum(self.terrain.up, self.terrain.down))


class _Cycles(_Books):
    """Heuristic 1."""

    steps: FlowSteps

    def __init__(self, terrain: Terrain, steps: FlowSteps, params: NetworkFlowParams) -> None:
        super().__init__(terrain, steps, params)
        heaviest, most = float(terrain.weights.max(initial=1.0)), steps.nodes + 1
        self.later, self.last = most * heaviest, (most + 1) * most * heaviest
        """What a cell of the third and of the fourth stratum costs above its weight: more than any path before it."""

    def protect(self, p: int, upper: float, lower: float) -> None:
        """Cycles until both levels are met; the same cycles serve both."""
        left = self.both_ways
        got = 0.0
        for level, upward in ((upper, True), (lower, False)):
            self.counters["levels"] += level > 0
            if level > 0 and self.met(p, level, upward):
                self.counters["levels met on the way"] += 1
                continue
            while got < level * (1 - tolerances.WITNESS_MET):
                gain = self._cycle(p, level - got, left)
                if gain == 0.0:
                    self.counters["levels without a flow"] += 1
                    break
                got += gain
            self.book(np.array([p]), min(got, self.terrain.up[p]), min(got, self.terrain.down[p]))

    def _cycle(self, p: int, level: float, left: Floats) -> float:
        """Hide one more cycle through p; what it gives p, 0 if there is none. Takes that from what is `left`."""
        usable = (left > 1e-9 * level).astype(float)
        usable[p] = 1.0
        price = self._strata(level, left)
        sent = self.steps.flows.send(p, True, 1.0, usable, usable, price, price)
        self.steps.count(sent.paths)
        if sent.amount < 1.0:
            return 0.0
        cycle = np.flatnonzero(sent.deviation)
        self.terrain.hidden[cycle] = True
        self.book(cycle, *(2 * [float(self.both_ways[cycle].min())]))
        if self.in_paper_s_way:
            return float(self.both_ways[cycle].min())
        others = cycle[cycle != p]
        gain = float(left[others].min(initial=np.inf))
        if gain < np.inf:
            left[others] -= gain
        return gain

    def _strata(self, level: float, left: Floats) -> Floats:
        """A price for each cell of a cycle, by Castro's four strata."""
        hidden, weights = self.terrain.hidden, self.terrain.weights
        large: Bools = left >= level * (1 - tolerances.WITNESS_MET)
        strata = [hidden & large, large, hidden]
        prices = [1e-9 * weights, weights, self.later + 1e-9 * weights]
        return np.select(strata, prices, self.last + weights)


class _Flows(_Books):
    """Heuristic 2."""

    def protect(self, p: int, upper: float, lower: float) -> None:
        """A flow for each level that is not met by now, or one for both."""
        wanted = []
        for level, upward in ((upper, True), (lower, False)):
            self.counters["levels"] += level > 0
            if level > 0 and self.met(p, level, upward):
                self.counters["levels met on the way"] += 1
            elif level > 0:
                wanted.append((level, upward))
        if self.params.flows == "combined" and wanted and self._both(p, max(level for level, _ in wanted)):
            return
        for level, upward in wanted:
            deviation = self.steps.cheapest(p, upward, level, self.terrain.up, self.terrain.down)
            if deviation is None:
                self.counters["levels without a flow"] += 1
            else:
                self._take(deviation, upward)

    def _both(self, p: int, level: float) -> bool:
        """One flow that can be reversed. False if there is none: then each side has its own."""
        own = self.both_ways.copy()
        own[p] = level
        deviation = self.steps.cheapest(p, True, level, own, own)
        if deviation is None:
            return False
        self._take(deviation, True)
        if self.in_paper_s_way:
            self._take(-deviation, False)
        self.book(np.array([p]), min(level, self.terrain.up[p]), min(level, self.terrain.down[p]))
        return True

    def _take(self, deviation: Floats, upward: bool) -> None:
        """Hide the cells that move, and book what they have by it."""
        places = np.flatnonzero(deviation)
        moves = deviation[places]
        self.terrain.hidden[places] = True
        if self.in_paper_s_way:
            least = float(self.both_ways[places].min())
            claimed = np.maximum(least, moves if upward else -moves)
            self.book(places, claimed if upward else 0.0, 0.0 if upward else claimed)
            return
        self.book_proven(places, moves)
        for cycle, cycled in self.steps.cycles(deviation):
            self.book_proven(cycle, cycled)
