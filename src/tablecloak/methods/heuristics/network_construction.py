"""Greedy construction on networks: every unmet requirement gets its cheapest flow, by augmenting paths.

The recipe of `lp_construction`, with compiled shortest paths and flows instead of linear programs. For network tables
and problems without conditional levels. Redundant suppressions are eliminated afterwards (`elimination`).

References: Castro (2007), A shortest-paths heuristic for statistical data protection in positive tables; with weights
as prices and residual arcs as in Kelly, Golden & Assad (1992).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import CellNetwork, DeviationBounds
from tablecloak.methods.heuristics.deviation import floored_weights, negligible
from tablecloak.methods.heuristics.elimination import Elimination
from tablecloak.methods.heuristics.witnesses import WITNESS_SETTINGS, FlowWitnesses, WitnessSettings
from tablecloak.model import Problem, Requirement, Side
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers.graphs import Capacities, PathOpeningNetwork


@dataclass(frozen=True)
class NetworkConstructionSettings:
    """Reports of progress."""

    requirements_per_check: int = 64
    """Number of requirements between two checks of the deadline. Untested default."""


SETTINGS = NetworkConstructionSettings()


class NetworkConstruction:
    """The hidden cells so far; `requirements` are those that they do not meet at first.

    `weights` are the prices of the construction, `start` the cells hidden to begin with, and `met` the requirements
    that they meet already and must go on meeting, as in `lp_construction`.
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
        self.requirements = by_decreasing_level(requirements)
        self.met = met
        self.hidden: Bools = problem.must_hide.copy() if start is None else start.copy()
        self.complete = False
        self.graph = CellNetwork(problem)
        self.boxes = DeviationBounds(problem)

    # ------------------------------------------------------------------ construction

    def construct(self, settings: NetworkConstructionSettings = SETTINGS) -> None:
        """Open the cheapest flow of every requirement in turn."""
        cells = np.flatnonzero(self.allowed)
        place = np.full(self.allowed.size, -1, dtype=np.int64)
        place[cells] = np.arange(cells.size)
        price = floored_weights(self.weights)[cells]
        network = PathOpeningNetwork(
            self.graph.nodes, self.graph.tail[cells], self.graph.head[cells], price, self.hidden[cells]
        )
        boxes = {requirement.attacker: self.boxes[requirement.attacker] for requirement in self.requirements}
        bounds = {attacker: (up[cells], down[cells]) for attacker, (down, up) in boxes.items()}
        for done, requirement in enumerate(self.requirements):
            if done % settings.requirements_per_check == 0:
                if self.deadline.passed():
                    return
                self.progress("protecting levels", done, len(self.requirements))
            if not self._open_flow(
                network, requirement, int(place[requirement.cell]), bounds[requirement.attacker]
            ):
                if self.deadline.passed():
                    return
                self.hidden |= self.allowed  # missed by rounding only: the elimination shows which are needed
                break
        self.hidden[cells[network.is_open]] = True
        self.complete = True

    def _open_flow(
        self, network: PathOpeningNetwork, requirement: Requirement, arc: int, bounds: Capacities
    ) -> bool:
        """Open the cheapest flow of a requirement; a sliding one goes up as far as box and network allow, then down."""
        stop = self.deadline.passed
        if requirement.side is not Side.SLIDE:
            return network.route(arc, requirement.side is Side.UP, requirement.level, bounds, stop)
        rise = min(requirement.level, float(bounds[0][arc]))
        if rise > 0:
            rise -= network.missing(arc, True, rise, bounds, stop)
        rest = requirement.level - rise
        return rest <= negligible(requirement) or network.route(arc, False, rest, bounds, stop)

    # ------------------------------------------------------------------ elimination

    def eliminate_redundant(self, settings: WitnessSettings = WITNESS_SETTINGS) -> None:
        """Publish again, by decreasing weight, what no requirement needs; nothing where flows miss one by rounding."""
        requirements = by_decreasing_level([*self.requirements, *self.met])
        engine = FlowWitnesses(
            self.problem, requirements, self.hidden, graph=self.graph, boxes=self.boxes, settings=settings
        )
        elimination = Elimination(
            self.problem, requirements, self.hidden, engine, self.deadline, self.progress
        )
        self.hidden = elimination.hidden
        elimination.run()


def by_decreasing_level(requirements: Iterable[Requirement]) -> list[Requirement]:
    """The requirements by decreasing level, by attacker and cell where levels are equal."""
    return sorted(
        requirements, key=lambda requirement: (-requirement.level, requirement.attacker, requirement.cell)
    )
