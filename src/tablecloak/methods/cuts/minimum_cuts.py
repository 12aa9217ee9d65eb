"""Minimum cuts of levels on networks: what keeps a cell from deviating as far as its level asks.

A cell is an arc between two equations. At a point x, where cell i is hidden to the extent x_i, cell p deviates by the
largest flow that closes cycles with it, if cell i carries min(capacity_i, L) x_i in each direction; where that is less
than the level L, the cells that lead out of the source side of a minimum cut are what limits it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import Boxes, CellNetwork
from tablecloak.model import Requirement
from tablecloak.solvers.graphs import Network

LEAST = 1e-4
"""A row of right-hand side 1 is worth adding if it is missed by more than this."""
WHOLE = 1e-8
"""At a whole point a level is missed if more than this share of it is missing, and more than half a data unit."""
NOISE = 1e-9
"""Residual capacities below this share of what is asked are rounding noise; at whole points there is none."""
SUPPORT = 1e-7
"""A cell is in the support of a point above this."""


def is_whole(at: Floats) -> bool:
    """Whether a point is integral."""
    return bool((np.abs(at - np.rint(at)) < SUPPORT).all())


def snapped(x: Floats) -> Floats:
    """The whole point that a point is up to the tolerance of solvers, else the point itself.

    What is proven of a pattern must be asked at the pattern: at a point beside it all levels are missed a little.
    """
    return np.rint(x) if is_whole(x) else x


def across(
    graph: CellNetwork, box: tuple[Floats, Floats], cell: int, source_side: Bools | None, upward: bool
) -> Floats:
    """The capacities of the cells that lead out of the source side; without one, the cell's own is the limit."""
    down, up = box
    if source_side is None:
        carried = np.zeros(up.size)
        carried[cell] = (up if upward else down)[cell]
        return carried
    leaves, enters = source_side[graph.tail], source_side[graph.head]
    carried = np.where(leaves & ~enters, up, np.where(enters & ~leaves, down, 0.0))
    carried[cell] = 0.0
    return carried


class LevelCuts:
    """The cuts of some levels at a point. Cells in `hidden` are hidden whatever the point says.

    `rest`, by level: what a cell that is not wholly hidden carries at most, times x (in place of the level).
    """

    def __init__(
        self,
        graph: CellNetwork,
        boxes: Boxes,
        hidden: Bools,
        x: Floats,
        requirements: Sequence[Requirement],
        rest: Sequence[float] | None = None,
    ) -> None:
        self.graph, self.boxes, self.unit = graph, boxes, boxes.problem.table.unit
        x = snapped(x)
        asked = np.array(
            [
                k
                for k, requirement in enumerate(requirements)
                if hidden[requirement.cell] or x[requirement.cell] > SUPPORT
            ],
            int,
        )
        self.requirements = [requirements[k] for k in asked]
        cells = np.flatnonzero((x > SUPPORT) | hidden)
        at = np.where(hidden[cells], 1.0, x[cells])
        self.whole = is_whole(at)
        if self.requirements:
            self._solve(cells, at, hidden, x, None if rest is None else np.asarray(rest)[asked])

    def _solve(self, cells: Ints, at: Floats, hidden: Bools, x: Floats, rest: Floats | None) -> None:
        requirements, graph = self.requirements, self.graph
        self.level = np.array([requirement.level for requirement in requirements])
        self.queries = [
            (t, upward) for t, requirement in enumerate(requirements) for upward in requirement.directions
        ]
        of = np.array([t for t, _ in self.queries])
        who = sorted({requirement.attacker for requirement in requirements})
        down = np.array([self.boxes[k][0][cells] for k in who]).reshape(len(who), cells.size)
        up = np.array([self.boxes[k][1][cells] for k in who]).reshape(len(who), cells.size)
        ones = np.ones(cells.size)
        network = Network(graph.nodes, graph.tail[cells], graph.head[cells], ones, ones)
        own_cells = np.array([requirement.cell for requirement in requirements], dtype=np.int64)
        arcs = np.searchsorted(cells, own_cells[of]).astype(np.int32)
        extent = np.where(hidden[own_cells], 1.0, x[own_cells])
        self.asked = self.level * extent
        attackers = np.array([who.index(requirements[t].attacker) for t in of], dtype=np.int32)
        upward = np.array([upward for _, upward in self.queries])
        own = np.where(upward, up[attackers, arcs], down[attackers, arcs]) * extent[of]
        limits, cap = np.minimum(self.asked[of], own), self.level[of]
        part = cap if rest is None else rest[of]
        noise = 0.0 if self.whole else NOISE
        flows, *self.sides = network.least_cuts(
            arcs, upward, limits, cap, attackers, (up, down), at, part, noise=noise
        )
        self.binding = flows >= own * (1 - noise)
        self.places: dict[int, list[int]] = {}
        for q, (t, _) in enumerate(self.queries):
            self.places.setdefault(t, []).append(q)
        self.got = np.zeros(len(requirements))
        np.add.at(self.got, of, flows)

    def missed(self) -> Ints:
        """The levels that are missed, the worst first."""
        if not self.requirements:
            return np.zeros(0, dtype=np.int64)
        slack = np.minimum(WHOLE * self.level, 0.5 * self.unit) if self.whole else LEAST * self.level
        missed = np.flatnonzero(self.got < self.asked - slack)
        return missed[np.argsort(self.got[missed] / self.level[missed], kind="stable")]

    def carried(self, t: int) -> list[Floats]:
        """What cells carry across the cut of a level nearest to its source, and across the one nearest to its sink."""
        requirement, found = self.requirements[t], []
        for cuts in self.sides:
            carried = np.zeros(self.graph.tail.size)
            for q in self.places[t]:
                source_side = None if self.binding[q] else cuts[q]
                carried += across(
                    self.graph,
                    self.boxes[requirement.attacker],
                    requirement.cell,
                    source_side,
                    self.queries[q][1],
                )
            found.append(carried)
        return found
