"""Greedy search on networks: every exposed level gets its cheapest route, then a clean-up by maximum flows.

The same recipe as `lp_construction`, with compiled shortest paths and flows instead of linear programs. For tables that
are networks and problems without conditional levels.

References: Castro (2007), A shortest-paths heuristic for statistical data protection in positive tables; with weights
as prices and residual arcs as in Kelly, Golden & Assad (1992).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import Boxes, CellNetwork
from tablecloak.methods.heuristics.deviation import negligible
from tablecloak.model import Problem, Requirement, Side
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers.graphs import Network, RoadMap, Rooms

CUT_ENTRIES = 50_000_000
"""So many nodes are remembered in cuts, a byte each."""


class NetworkSearch:
    """The hidden cells so far; `requirements` are the levels that need work.

    `weights` are the prices of the construction, `start` the cells hidden to begin with, and `met` the levels that they
    meet already, as in `lp_construction`.
    """

    def __init__(
        self,
        problem: Problem,
        allowed: Bools,
        requirements: Sequence[Requirement],
        progress: Progress,
        deadline: Deadline,
        *,
        weights: Floats | None = None,
        start: Bools | None = None,
        met: Sequence[Requirement] = (),
    ) -> None:
        self.problem, self.allowed, self.progress, self.deadline = problem, allowed, progress, deadline
        self.weights = problem.weights if weights is None else weights
        self.requirements = _largest_first(requirements)
        self.met = met
        self.hidden: Bools = problem.must_hide.copy() if start is None else start.copy()
        self.complete = False
        self.graph = CellNetwork(problem)
        self.boxes = Boxes(problem)

    # ------------------------------------------------------------------ construction

    def construct(self) -> None:
        """Open the cheapest route for every level in turn."""
        cells = np.flatnonzero(self.allowed)
        place = np.full(self.allowed.size, -1, dtype=np.int64)
        place[cells] = np.arange(cells.size)
        positive = self.weights[self.weights > 0]
        floor = 1e-3 * float(np.median(positive)) if positive.size else 1.0
        price = np.maximum(self.weights[cells], floor)
        roads = RoadMap(
            self.graph.nodes, self.graph.tail[cells], self.graph.head[cells], price, self.hidden[cells]
        )
        boxes = {requirement.attacker: self.boxes[requirement.attacker] for requirement in self.requirements}
        rooms = {attacker: (up[cells], down[cells]) for attacker, (down, up) in boxes.items()}
        for done, requirement in enumerate(self.requirements):
            if done % 64 == 0:
                if self.deadline.passed():
                    return
                self.progress("protecting levels", done, len(self.requirements))
            if not self._routed(
                roads, requirement, int(place[requirement.cell]), rooms[requirement.attacker]
            ):
                if self.deadline.passed():
                    return
                self.hidden |= (
                    self.allowed
                )  # lost in rounding: all of them do, the clean-up shows which are needed
                break
        self.hidden[cells[roads.is_open]] = True
        self.complete = True

    def _routed(self, roads: RoadMap, requirement: Requirement, arc: int, rooms: Rooms) -> bool:
        """Open a route for a level; a sliding one goes up as far as box and network allow, then down."""
        stop = self.deadline.passed
        if requirement.side is not Side.SLIDE:
            return roads.route(arc, requirement.side is Side.UP, requirement.level, rooms, stop)
        rise = min(requirement.level, float(rooms[0][arc]))
        if rise > 0:
            rise -= roads.missing(arc, True, rise, rooms, stop)
        rest = requirement.level - rise
        return rest <= negligible(requirement) or roads.route(arc, False, rest, rooms, stop)

    # ------------------------------------------------------------------ clean-up

    def clean_up(self) -> None:
        """Publish again what no level needs, dearest first; nothing where flows lose a level in rounding."""
        cells = np.flatnonzero(self.hidden)
        flows = _Flows(self, cells)
        if not flows.meet_all:
            return
        candidates = np.flatnonzero(~self.problem.must_hide[cells])
        order = candidates[np.argsort(-self.problem.weights[cells[candidates]], kind="stable")]
        for number, arc in enumerate(order.tolist()):
            if self.deadline.passed():
                return
            if flows.without(arc):
                self.hidden[cells[arc]] = False
            if number % 64 == 0:
                cost = float(self.problem.weights[self.hidden & ~self.problem.must_hide].sum())
                self.progress("cleaning up", number, order.size, cost)


def _largest_first(requirements: Iterable[Requirement]) -> list[Requirement]:
    return sorted(
        requirements, key=lambda requirement: (-requirement.level, requirement.attacker, requirement.cell)
    )


class _Flows:
    """Witness flows of all levels on the hidden cells, one network an attacker."""

    def __init__(self, search: NetworkSearch, cells: Ints) -> None:
        graph = search.graph
        self.requirements = _largest_first(dict.fromkeys([*search.requirements, *search.met]))
        self.networks = {}
        self.rooms = {}
        for attacker in {requirement.attacker for requirement in self.requirements}:
            down, up = (side[cells] for side in search.boxes[attacker])
            self.rooms[attacker] = (up, down)
            self.networks[attacker] = Network(graph.nodes, graph.tail[cells], graph.head[cells], up, down)
        self.arcs, self.count = (
            np.searchsorted(cells, [requirement.cell for requirement in self.requirements]),
            cells.size,
        )
        self.used: list[list[int]] = [[] for _ in self.requirements]
        """The arcs that move when a requirement is met, and the requirements that lean on an arc."""
        self.leaning: list[set[int]] = [set() for _ in range(cells.size)]
        self.cuts: dict[int, Bools] = {}
        """By requirement, a minimum cut of the last arc that it needed: the side where its flow starts."""
        self.meet_all = all(self._starts(t) for t in range(len(self.requirements)))
        """Whether every level has a flow; in whole data units those that are met have one."""

    def _starts(self, t: int) -> bool:
        """Find the first flow of a requirement."""
        used = self._witness(t)
        if used is not None:
            self._lean(t, used)
        return used is not None

    def _lean(self, t: int, used: list[int]) -> None:
        """A requirement leans on these arcs from now on."""
        for arc in self.used[t]:
            self.leaning[arc].discard(t)
        for arc in used:
            self.leaning[arc].add(t)
        self.used[t] = used

    def _witness(self, t: int) -> list[int] | None:
        """The arcs that move when requirement t is met; None if it is not met."""
        requirement, network = self.requirements[t], self.networks[self.requirements[t].attacker]
        arc, used, missing = int(self.arcs[t]), np.zeros(self.count, dtype=bool), requirement.level
        for upward in requirement.directions:
            if missing > 0:
                found = network.route(arc, upward, missing)
                used |= found.deviation != 0
                missing -= min(found.value, missing)
                if (
                    missing > negligible(requirement)
                    and found.value < self.rooms[requirement.attacker][not upward][arc]
                ):
                    self._remember(t, found.source_side)
        return np.flatnonzero(used).tolist() if missing <= negligible(requirement) else None

    def _remember(self, t: int, side: Bools) -> None:
        """Keep a cut, and no more of them than there is room for."""
        self.cuts.pop(t, None)
        self.cuts[t] = side
        if len(self.cuts) > max(1, CUT_ENTRIES // side.size):
            del self.cuts[next(iter(self.cuts))]

    def _is_cut_off(self, t: int) -> bool:
        """Whether what leaves the side of the last cut is too little for the requirement, as the network is now."""
        requirement = self.requirements[t]
        if t not in self.cuts or requirement.side is Side.SLIDE:
            return False
        network, side = self.networks[requirement.attacker], self.cuts[t]
        starts, ends = side[network.tail], side[network.head]
        own, capacity = int(self.arcs[t]), network.capacity
        starts[own] = ends[own] = False
        leaves = capacity[0::2][starts & ~ends].sum() + capacity[1::2][ends & ~starts].sum()
        return bool(leaves < requirement.level - negligible(requirement))

    def without(self, arc: int) -> bool:
        """Close an arc for good if every level can do without it."""
        for network in self.networks.values():
            network.set_capacity(arc, 0.0, 0.0)
        replaced = {}
        leaning = sorted(self.leaning[arc])
        hopeless = any(self._is_cut_off(t) for t in leaning)
        for t in leaning:
            used = None if hopeless else self._witness(t)
            if used is None:
                for attacker, network in self.networks.items():
                    up, down = self.rooms[attacker]
                    network.set_capacity(arc, float(up[arc]), float(down[arc]))
                return False
            replaced[t] = used
        for t, used in replaced.items():
            self._lean(t, used)
        return True
