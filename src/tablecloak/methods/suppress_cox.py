"""suppress-cox: cycles of cells through each sensitive cell, until they carry its level; tables that are networks.

Cells are arcs between equations. If every cell of a cycle through p can move by gamma either way, so can p. For each
sensitive cell p in turn (Figure 8 of Castro 2007):

    m = max(lower, upper)                                   what is still missing
    while m > 0:
        the cheapest cycle through p, by a flow of one unit with capacities 0 or 1
        hide its cells;   gamma = min of their capacities;   m = m - gamma

The *capacity* r_i of cell i is the smaller of what the outsider's box leaves below and above its value (a_i on
non-negative tables). Costs are in strata, so that cycles are few and new cells fewer: first hidden cells with r_i >= m,
then others with r_i >= m, then hidden cells of less capacity, then others. In the second one cells cost their weight.

Additions where the outline of the paper leaves it open: cycles of one p add up, so a cell that a cycle of p has used
has that much less capacity in the same direction and more in the other; p itself does not count in gamma (its levels
fit its box); a sliding level s needs m = s / 2, more where the box of p is narrow; strata are kept apart by costs in
multiples of the most expensive path, not by constants that may overflow. Where no cycle is left although m > 0, the
paper's algorithm gives up; the frame repairs that (`heuristics.sequential`).

References: Cox (1995), Network models for complementary cell suppression, JASA 90; as outlined by Castro (2007),
section 4.4, and Castro (2002), section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import tolerances
from tablecloak.methods.base import Proposal, refuse_non_network
from tablecloak.methods.heuristics import (
    FlowSteps,
    OneByOneParams,
    Own,
    Requests,
    SequentialSettings,
    Terrain,
    one_by_one,
    positive_weights,
)
from tablecloak.model import Problem
from tablecloak.progress import Progress


@dataclass(frozen=True)
class CoxParams(OneByOneParams):
    """Parameters of suppress-cox."""

    prefer: Literal["weight", "cells"] = "weight"
    """Which of two cycles of enough capacity is taken: the one whose new cells weigh less, or the one with fewer new
    cells."""


def suppress_cox(
    problem: Problem,
    *,
    params: CoxParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: SequentialSettings = SequentialSettings(),
) -> Proposal:
    """An audited suppression of a table that is a network, without a bound on the number of touched cells."""
    params.check()
    refuse_non_network(
        problem,
        "suppress-cox looks for cycles of cells",
        ["suppress-kelly-lp", "suppress-greedy", "suppress-optimal", "suppress-compact"],
    )

    def build(requests: Requests) -> Own:
        return _Cox(requests, params).run()

    return one_by_one(problem, params, rng, progress, build, "unit flows", settings)


class _Cox:
    """The paper's algorithm: the cells hidden so far, and the flow of the sensitive cell whose turn it is."""

    def __init__(self, requests: Requests, params: CoxParams) -> None:
        self.requests, self.prefer, self.terrain = requests, params.prefer, Terrain(requests)
        steps = FlowSteps(self.terrain, requests)
        self.network, self.nodes = steps.flows, steps.nodes
        self.capacity, self.hidden = np.minimum(self.terrain.down, self.terrain.up), self.terrain.hidden
        price = positive_weights(requests.problem.weights[self.terrain.cells])
        self.share: Floats = price / max(float(price.sum()), float(np.finfo(float).tiny))
        self.cycles = self.given_up = 0

    def run(self) -> Own:
        """Each sensitive cell in turn."""
        requests, arcs = self.requests, self.terrain.protected
        # a sliding level is either way as far as the box of the cell allows
        either = np.maximum(requests.sliding / 2, requests.sliding - self.capacity[arcs])
        levels = np.maximum.reduce([requests.lower, requests.upper, either])
        turns = list(zip(arcs.tolist(), levels.tolist(), strict=True))
        for arc, level in requests.in_turn(turns, "protecting cells"):
            self._protect(arc, level)
        counters = {"cycles": self.cycles, "cells given up": self.given_up}
        return Own(self.terrain.whole(requests), counters)

    def _protect(self, arc: int, level: float) -> None:
        """Hide cycles through a cell until they carry its level."""
        missing = level
        flow = np.zeros(self.hidden.size)
        while missing > tolerances.WITNESS_MET * level and not self.requests.deadline.passed():
            forth, back = self.capacity - flow, self.capacity + flow
            cycle = self._cycle(arc, missing, forth, back, tolerances.WITNESS_MET * level)
            if cycle is None:
                self.given_up += 1
                return
            self.cycles += 1
            used = np.flatnonzero(cycle)
            self.hidden[used] = True
            others = used[used != arc]
            gamma = np.where(cycle[others] > 0, forth[others], back[others]).min(initial=np.inf)
            missing -= gamma
            flow[others] += np.minimum(gamma, level) * np.sign(cycle[others])

    def _cycle(self, arc: int, missing: float, forth: Floats, back: Floats, least: float) -> Floats | None:
        """The cheapest cycle through an arc: +1 or -1 for its cells. None: there is none."""
        usable = [np.where(left > least, 1.0, 0.0) for left in (forth, back)]
        for side in usable:
            side[arc] = 1.0
        prices = [self._strata(left >= missing) for left in (forth, back)]
        sent = self.network.send(arc, True, 1.0, *usable, *prices)
        return sent.deviation if sent.amount > 0.5 else None

    def _strata(self, wide: Bools) -> Floats:
        """Costs of the cells: a cell of a later stratum costs more than any path in the strata before.

        Weights are shares of their sum, so a path without narrow cells costs less than 2 (by weight) or than twice the
        number of nodes (by number of cells).
        """
        tiny = float(self.share.min(initial=1.0)) / (2 * self.nodes)
        new = self.share + tiny if self.prefer == "weight" else 1.0 + self.share
        if self.prefer == "cells":
            tiny = 1.0 / (2 * self.nodes)
        narrow = 2.0 if self.prefer == "weight" else 2.0 * (self.nodes + 1)
        late = narrow * (self.nodes + 1)
        return np.where(self.hidden, np.where(wide, tiny, narrow), np.where(wide, new, late + self.share))
