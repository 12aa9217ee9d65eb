"""Cheapest deviations at a price a unit over all candidate cells: the step that the flow heuristics repeat.

    min  sum_i  c_i |d_i|    s.t.  M d = 0,   -down <= d <= up,   d_p = need  (or -need)

On networks it is a minimum-cost flow around the arc of cell p, elsewhere a linear program. c_i = 0 for hidden cells and
the weight w_i for the others: a price *for each unit*, as in the papers (`deviation` has the fixed-charge slopes).

Reference: Castro (2002), sections 3.3 and 5; Kelly, Golden & Assad (1992).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, Protocol

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints, places_of
from tablecloak.attacker import CellNetwork, DeviationBounds, tolerances, without_empty_rows, working_columns
from tablecloak.methods.heuristics.deviation import CheapestDeviationProgram, floored_weights
from tablecloak.methods.heuristics.network_start import NetworkStartProgram
from tablecloak.methods.heuristics.sequential import Requests
from tablecloak.solvers import HighsSettings, SimplexOptions
from tablecloak.solvers.graphs import MinCostNetwork

Programs = Literal["dual", "network", "interior", "central"]
"""How linear programs are solved: dual simplex, from an optimum of a network part, or interior point, with a vertex at
its end or without."""


class Terrain:
    """The cells that may be hidden, by place: what they cost, how far the outsider's box lets them move."""

    def __init__(self, requests: Requests) -> None:
        problem = requests.problem
        self.cells: Ints = np.flatnonzero(requests.allowed)
        self.place = places_of(self.cells, requests.allowed.size)
        self.protected: Ints = self.place[requests.cells]
        """The places of the cells whose levels are protected, in their order."""
        self.hidden: Bools = requests.hidden[self.cells]
        down, up = DeviationBounds(problem)[0]
        self.down, self.up = down[self.cells], up[self.cells]
        self.weights: Floats = floored_weights(problem.weights[self.cells])

    @property
    def price(self) -> Floats:
        """For each unit of deviation: nothing for hidden cells."""
        return np.where(self.hidden, 0.0, self.weights)

    def whole(self, requests: Requests) -> Bools:
        """The hidden cells of the table."""
        hidden = requests.hidden.copy()
        hidden[self.cells[self.hidden]] = True
        return hidden


class Steps(Protocol):
    """Finds cheapest deviations by place, and counts."""

    counters: dict[str, float]

    def cheapest(self, p: int, upward: bool, need: float, up: Floats, down: Floats) -> Floats | None:
        """The cheapest deviation at the present prices; None if there is none (in time)."""
        ...

    def cycles(self, deviation: Floats) -> list[tuple[Ints, Floats]]:
        """A deviation as a sum of simpler ones, each with the places that move and how; none where none are known."""
        ...


class FlowSteps:
    """Minimum-cost flows."""

    def __init__(self, terrain: Terrain, requests: Requests) -> None:
        graph = CellNetwork(requests.problem)
        self.tail, self.head = graph.tail[terrain.cells], graph.head[terrain.cells]
        self.nodes = graph.nodes
        self.terrain = terrain
        self.flows = MinCostNetwork(graph.nodes, self.tail, self.head)
        self.counters: dict[str, float] = {"flows": 0, "paths of flows": 0}

    def cheapest(self, p: int, upward: bool, need: float, up: Floats, down: Floats) -> Floats | None:
        """The cheapest flow of `need` through arc p at the present prices; None if less is possible."""
        price = self.terrain.price
        sent = self.flows.send(p, upward, need, up, down, price, price)
        self.count(sent.paths)
        return sent.deviation if sent.amount >= need * (1 - 1e-9) else None

    def count(self, paths: int) -> None:
        """One more flow."""
        self.counters["flows"] += 1
        self.counters["paths of flows"] += paths

    def cycles(self, deviation: Floats) -> list[tuple[Ints, Floats]]:
        """The flow as a sum of cycles, each with one sign and size an arc: walk along the flow until a node returns."""
        left = {int(arc): float(deviation[arc]) for arc in np.flatnonzero(deviation)}
        least = 1e-12 * max(map(abs, left.values()), default=0.0)
        leaving: dict[int, list[int]] = {}
        for arc, flow in left.items():
            start = self.tail[arc] if flow > 0 else self.head[arc]
            leaving.setdefault(int(start), []).append(arc)
        found = []
        while left and all(self._onward(arc, left, leaving) for arc in left):  # rounding may leave loose ends
            cycle = self._cycle(left, leaving)
            signs = np.sign([left[arc] for arc in cycle])
            amount = min(abs(left[arc]) for arc in cycle)
            found.append((np.array(cycle), amount * signs))
            for arc, sign in zip(cycle, signs.tolist(), strict=True):
                left[arc] -= amount * sign
            left = {arc: flow for arc, flow in left.items() if abs(flow) > least}
        return found

    def _end(self, arc: int, flow: float) -> int:
        return int(self.head[arc] if flow > 0 else self.tail[arc])

    def _onward(self, arc: int, left: dict[int, float], leaving: dict[int, list[int]]) -> list[int]:
        return [other for other in leaving.get(self._end(arc, left[arc]), []) if other in left]

    def _cycle(self, left: dict[int, float], leaving: dict[int, list[int]]) -> list[int]:
        """Follow the flow from its first arc until a node returns; the arcs since then."""
        arc = next(iter(left))
        walk, seen = [arc], {int(self.tail[arc] if left[arc] > 0 else self.head[arc]): 0}
        while self._end(arc, left[arc]) not in seen:
            seen[self._end(arc, left[arc])] = len(walk)
            arc = self._onward(arc, left, leaving)[0]
            walk.append(arc)
        return walk[seen[self._end(arc, left[arc])] :]


class ProgramSteps:
    """Linear programs over all cells at once: the flows with side constraints of non-network tables."""

    def __init__(
        self,
        terrain: Terrain,
        requests: Requests,
        programs: Programs = "dual",
        highs: HighsSettings = HighsSettings(),
    ) -> None:
        self.terrain, self.deadline = terrain, requests.deadline
        matrix = without_empty_rows(working_columns(requests.problem.table)[:, terrain.cells])
        program = partial(CheapestDeviationProgram, matrix, highs=highs)
        make: dict[str, Callable[[], CheapestDeviationProgram | NetworkStartProgram]] = {
            "dual": program,
            "network": lambda: NetworkStartProgram(matrix, highs),
            "interior": lambda: program(options=SimplexOptions(interior=True)),
            "central": lambda: program(options=SimplexOptions(interior=True, crossover=False)),
        }
        self.program = make[programs]()
        self.counters: dict[str, float] = {"linear programs": 0}

    def cheapest(self, p: int, upward: bool, need: float, up: Floats, down: Floats) -> Floats | None:
        """The cheapest deviation of cell p by `need`; None if there is none, or none in time."""
        price = self.terrain.price / self.terrain.weights.max(initial=1.0)
        self.counters["linear programs"] += 1
        found = self.program.cheapest(p, upward, need, (down, up), price, self.deadline.left)
        return None if found is None else np.where(np.abs(found) > tolerances.LP_MOVE * need, found, 0.0)

    def cycles(self, deviation: Floats) -> list[tuple[Ints, Floats]]:
        """None: outside networks a deviation is not a sum of cycles."""
        return []
