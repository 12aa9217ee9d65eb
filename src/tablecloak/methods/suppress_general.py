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

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import CellNetwork, DeviationBounds
from tablecloak.errors import counted
from tablecloak.methods.base import Proposal, refuse_non_network
from tablecloak.methods.heuristics import OneByOneParams, Own, Requests, one_by_one, positive_weights
from tablecloak.model import Problem
from tablecloak.progress import Progress
from tablecloak.solvers.graphs import MinCostNetwork


@dataclass(frozen=True)
class GeneralParams(OneByOneParams):
    """Parameters of suppress-general."""


def suppress_general(
    problem: Problem,
    *,
    params: GeneralParams,
    rng: np.random.Generator,
    progress: Progress,
) -> Proposal:
    """An audited suppression of a table that is a network, without a bound on the number of touched cells."""
    refuse_non_network(
        problem,
        "suppress-general looks for cycles of cells",
        ["suppress-kelly-lp", "suppress-greedy", "suppress-optimal", "suppress-compact"],
    )
    return one_by_one(problem, params, rng, progress, _build, "shortest paths")


def _build(requests: Requests) -> Own:
    return _General(requests).run()


class _General:
    """The paper's algorithm: the cells hidden so far."""

    def __init__(self, requests: Requests) -> None:
        self.requests = requests
        self.cells: Ints = np.flatnonzero(requests.allowed)
        graph, problem = CellNetwork(requests.problem), requests.problem
        self.network = MinCostNetwork(graph.nodes, graph.tail[self.cells], graph.head[self.cells])
        down, up = (side[self.cells] for side in DeviationBounds(problem)[0])
        self.bounded = int((np.isfinite(down) | np.isfinite(up)).sum())
        self.capacity: Floats = np.where((down > 0) & (up > 0), 1.0, 0.0)
        self.hidden: Bools = requests.hidden[self.cells]
        self.price = positive_weights(problem.weights[self.cells])

    def run(self) -> Own:
        """Each sensitive cell that is not on a cycle yet."""
        requests = self.requests
        arcs = np.searchsorted(self.cells, requests.cells).tolist()
        protected = np.zeros(self.cells.size, dtype=bool)
        paths = given_up = 0
        for done, arc in enumerate(arcs):
            if requests.deadline.passed():
                break
            if not protected[arc]:
                cycle = self._cycle(arc)
                paths += 1
                given_up += cycle is None
                if cycle is not None:
                    protected[cycle] = self.hidden[cycle] = True
            if done % 64 == 0:
                requests.progress("protecting cells", done, len(arcs))
        hidden = requests.hidden.copy()
        hidden[self.cells] = self.hidden
        return Own(hidden, {"paths": paths, "cells given up": given_up}, self._notes())

    def _cycle(self, arc: int) -> Ints | None:
        """The arcs of the shortest cycle through one of them. None: there is none."""
        capacity = self.capacity.copy()
        capacity[arc] = 1.0
        price = np.where(self.hidden, 0.0, self.price)
        sent = self.network.send(arc, True, 1.0, capacity, capacity, price, price)
        return np.flatnonzero(sent.deviation) if sent.amount > 0.5 else None

    def _notes(self) -> tuple[str, ...]:
        if not self.bounded:
            return ()
        return (
            f"the outsider knows bounds of {counted(self.bounded, 'cell')}: cycles alone do not prove levels here, "
            "and what they left open was repaired",
        )
