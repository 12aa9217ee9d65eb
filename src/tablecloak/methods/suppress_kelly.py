"""suppress-kelly: the heuristic of Kelly, Golden and Assad, a sliding level by one combined flow.

For each sensitive cell p two deviations f (up) and g (down) that are together as far apart as required, in one problem:

    min  sum_i  c_i (|f_i| + |g_i|)    s.t.  M f = M g = 0,   -down <= f, g <= up,   f_p - g_p = s_p

with c_i = w_i for published cells and 0 for hidden ones, s_p = max(sliding level, lower + upper level). Cost decides
how much of s_p is upward. All cells that move in f or g are hidden. In the end
redundant suppressions are eliminated by decreasing weight.

The network is doubled, one copy for f and one for g, tied only by the arc of p. So the combined flow is the sequence of
the shortest paths of both copies in the order of their prices (`solvers.graphs.min_cost`): exact, without building it.

The paper protects sliding levels alone, so upper and lower levels may stay open. ``sides="each"`` puts them into the
same flow (f_p >= upper, g_p <= -lower); with ``"sliding"`` the repair of `heuristics.sequential` does what is missing.

Reference: Kelly, Golden & Assad (1992), Cell suppression: disclosure protection for sensitive tabular data, as outlined
in Castro (2007), section 4.2 and Figure 6; the initial suppressions are ``initial="bound"``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tablecloak.methods.base import Proposal, refuse_non_network
from tablecloak.methods.heuristics import (
    FlowSteps,
    OneByOneParams,
    Own,
    Requests,
    SequentialSettings,
    Terrain,
    one_by_one,
)
from tablecloak.model import Problem
from tablecloak.progress import Progress


@dataclass(frozen=True)
class KellyParams(OneByOneParams):
    """Parameters of suppress-kelly."""

    sides: Literal["sliding", "each"] = "sliding"
    """Only how far apart both sides are, as in the paper, or each side its own level in the same flow."""


def suppress_kelly(
    problem: Problem,
    *,
    params: KellyParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: SequentialSettings = SequentialSettings(),
) -> Proposal:
    """The heuristic's pattern, repaired and without redundant suppressions."""
    params.check()
    refuse_non_network(
        problem,
        "suppress-kelly sends flows through the network of a table",
        ["suppress-kelly-lp", "suppress-greedy"],
    )

    def build(requests: Requests) -> Own:
        return _kelly(requests, each_side=params.sides == "each")

    return one_by_one(problem, params, rng, progress, build, "combined network flows", settings)


def _kelly(requests: Requests, *, each_side: bool) -> Own:
    """Castro's Figure 6 (2007): each sensitive cell in turn, a combined flow of its sliding level."""
    terrain = Terrain(requests)
    steps = FlowSteps(terrain, requests)
    apart = np.maximum(requests.sliding, requests.lower + requests.upper)
    short = upward = total = 0.0
    places = list(enumerate(terrain.protected.tolist()))
    for done, p in requests.in_turn(places, "protecting levels", every=16):
        need, price = float(apart[done]), terrain.price
        if need == 0:
            continue
        least = (float(requests.upper[done]), float(requests.lower[done])) if each_side else (0.0, 0.0)
        f, g = steps.flows.slide(p, need, terrain.up, terrain.down, price, price, least=least)
        steps.count(f.paths)
        short += f.amount + g.amount < need * (1 - 1e-9)
        upward += f.amount / need
        total += 1
        terrain.hidden[(f.deviation != 0) | (g.deviation != 0)] = True
    hidden = terrain.whole(requests)
    return Own(
        hidden,
        {
            **steps.counters,
            "levels without a flow": short,
            "upward share of flows": upward / total if total else 0.0,
            "own cost with sensitive": float(requests.problem.weights[hidden].sum()),
        },
    )
