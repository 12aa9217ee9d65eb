"""suppress-general: the shortest cycle through each sensitive cell; for tables whose values may have any sign.

Where no bounds of the cells are known, values do not matter, only positions: cells are arcs between equations, and a
hidden cell on a cycle of hidden cells can be any number. So every level is met as soon as no sensitive cell is a bridge
of the hidden cells. For each sensitive cell p = (s, t) that is not on a cycle yet (Figure 7 of Castro 2007):

    the shortest path from t to s without p;   cost of a cell: 0 if hidden, else its weight
    hide its cells;   all sensitive cells on it are protected

To cover given arcs by cycles at least weight is NP-hard in general; this is a heuristic.

Additions: any network, not only two-way tables; and tables for which the outsider has bounds (positive ones) too:
cells that cannot move both ways are then left out of the paths, the paper's pattern is a start only, and the frame
repairs what it leaves open (`heuristics.sequential`).

References: Carvalho, Dellaert & Osorio (1994), Statistical disclosure in two-dimensional tables: general tables, JASA
89, as outlined by Castro (2007), section 4.3; Gusfield (1988), A graph theoretic approach to statistical data security,
for cycles and bridges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.errors import counted
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
class GeneralParams(OneByOneParams):
    """Parameters of suppress-general."""


def suppress_general(
    problem: Problem,
    *,
    params: GeneralParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: SequentialSettings = SequentialSettings(),
) -> Proposal:
    """An audited suppression of a table that is a network, without a bound on the number of touched cells."""
    refuse_non_network(
        problem,
        "suppress-general looks for cycles of cells",
        ["suppress-kelly-lp", "suppress-greedy", "suppress-optimal", "suppress-compact"],
    )
    return one_by_one(problem, params, rng, progress, _build, "shortest paths", settings)


def _build(requests: Requests) -> Own:
    """The paper's algorithm: each sensitive cell that is not on a cycle yet."""
    terrain = Terrain(requests)
    network, hidden = FlowSteps(terrain, requests).flows, terrain.hidden
    weights = positive_weights(requests.problem.weights[terrain.cells])
    capacity = np.where((terrain.down > 0) & (terrain.up > 0), 1.0, 0.0)
    protected = np.zeros(hidden.size, dtype=bool)
    paths = given_up = 0
    for arc in requests.in_turn(terrain.protected.tolist(), "protecting cells"):
        if protected[arc]:
            continue
        own = capacity.copy()
        own[arc] = 1.0
        price = np.where(hidden, 0.0, weights)
        sent = network.send(arc, True, 1.0, own, own, price, price)
        paths += 1
        if sent.amount > 0.5:
            protected[sent.deviation != 0] = hidden[sent.deviation != 0] = True
        else:
            given_up += 1
    bounded = int((np.isfinite(terrain.down) | np.isfinite(terrain.up)).sum())
    note = (
        f"the outsider knows bounds of {counted(bounded, 'cell')}: cycles alone do not prove levels here, "
        "and what they left open was repaired"
    )
    counters = {"paths": paths, "cells given up": given_up}
    return Own(terrain.whole(requests), counters, (note,) if bounded else ())
