"""Greedy construction of a safe pattern: every unmet requirement gets its cheapest deviation.

Network tables without conditional levels get flows, by compiled shortest augmenting paths (`NetworkConstruction`); all
others get linear programs (`LpConstruction`). The recipe is that of `suppress_greedy`. Redundant suppressions are
eliminated afterwards (`elimination`).

References: Kelly, Golden & Assad (1992), Cell suppression: disclosure protection for sensitive tabular data, for
weights as prices and residual arcs; Castro (2007), A shortest-paths heuristic for statistical data protection in
positive tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from tablecloak.arrays import Bools, Floats, places_of
from tablecloak.attacker import CellNetwork, DeviationBounds, is_network, working_equations
from tablecloak.auditing import audit
from tablecloak.errors import SolverError
from tablecloak.methods.base import complementary_cost
from tablecloak.methods.heuristics.deviation import (
    DeviationFinder,
    DeviationSettings,
    RequirementQueue,
    Witness,
    floored_weights,
    met_by,
    negligible,
    outsider_first,
)
from tablecloak.methods.heuristics.elimination import Elimination
from tablecloak.methods.heuristics.witnesses import (
    FlowWitnesses,
    ProgramWitnesses,
    WitnessSettings,
    engine_of,
)
from tablecloak.methods.timed_audit import audit_within
from tablecloak.model import (
    Problem,
    Requirement,
    Side,
    Suppression,
    conditional_requirements,
    unmet_requirements,
)
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers.graphs import Capacities, PathOpeningNetwork, PathOpeningSettings


@dataclass(frozen=True)
class ConstructionSettings:
    """Rounds and programs of the construction, and the witnesses of the elimination after it."""

    max_rounds: int = 50
    """Maximum number of rounds of audit and repair; more than two are rare. Untested default."""
    deviation: DeviationSettings = DeviationSettings()
    paths: PathOpeningSettings = PathOpeningSettings()
    """On networks, in the place of rounds and deviations."""
    witnesses: WitnessSettings = WitnessSettings()


@dataclass(eq=False, repr=False)
class Construction(ABC):
    """A pattern under construction: cells are hidden until every requirement is met."""

    problem: Problem
    allowed: Bools
    progress: Progress
    deadline: Deadline
    _: KW_ONLY
    weights: Floats | None = None
    """The prices of the construction, the problem's own unless given; the elimination goes by the problem's."""
    start: Bools | None = None
    """Cells hidden to begin with: those that must be, unless given."""
    met: Sequence[Requirement] = ()
    """Requirements that these meet already and must go on meeting."""
    settings: ConstructionSettings = ConstructionSettings()

    def __post_init__(self) -> None:
        self.hidden: Bools = (self.problem.must_hide if self.start is None else self.start).copy()
        """The cells hidden so far."""
        self.complete = False
        """Whether they meet every requirement."""
        self.prices = floored_weights(self.problem.weights if self.weights is None else self.weights)

    @abstractmethod
    def construct(self) -> None:
        """Hide cells until every requirement is met, or the time is up."""

    @abstractmethod
    def eliminate_redundant(self) -> None:
        """Publish again, by decreasing weight, what no requirement needs."""


@dataclass(eq=False, repr=False)
class LpConstruction(Construction):
    """By linear programs, with a witness of every requirement that the cells hidden to begin with did not meet."""

    reweight: int = 2
    """Maximum number of times that a program is solved again at prices w / |d|."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.witness: dict[Requirement, Witness] = {}
        self.finder: DeviationFinder | None = None
        self.requirements_seen = self.published_again = self.rounds = 0

    @property
    def solves(self) -> int:
        """Number of neighbourhoods searched for a cheapest deviation."""
        return 0 if self.finder is None else self.finder.solves

    @property
    def cost(self) -> float:
        """The weights of the complementary cells hidden now; reported only once the pattern is safe."""
        return complementary_cost(self.problem, self.hidden)

    # ------------------------------------------------------------------ construction

    def construct(self) -> None:
        """Rounds of audit and repair; one round is enough but for conditional levels and numerical near misses."""
        most = self.settings.max_rounds
        for self.rounds in range(1, most + 1):
            found = audit_within(self.problem, Suppression.copy_of(self.hidden), self.deadline, self.progress)
            if found is None:  # the time is up
                return
            requirements = unmet_requirements(self.problem, found)
            self.requirements_seen += len(requirements)
            if not requirements:
                self.complete = True
                self.progress("safe", 1, 1, self.cost)
                return
            before = int(self.hidden.sum())
            self._protect(requirements)
            if self._deviations().is_late():
                return
            if int(self.hidden.sum()) == before:  # small moves were taken for noise
                self._protect_exactly(requirements)
            if int(self.hidden.sum()) == before:
                self._hide_all(requirements)
        raise SolverError(f"no safe pattern was found in {most} rounds of audit and repair")

    def _deviations(self) -> DeviationFinder:
        """The finder of cheapest deviations, made when it is first needed."""
        if self.finder is None:
            equations = working_equations(self.problem.table)
            self.finder = DeviationFinder(
                self.problem, equations, self.allowed, self.deadline, self.settings.deviation
            )
        return self.finder

    def _protect(self, requirements: list[Requirement]) -> None:
        finder, queue, done = self._deviations(), RequirementQueue(outsider_first(requirements)), 0
        for _, requirement in queue:
            if self.deadline.passed():
                return
            witness = finder.cheapest(requirement, self._price(), reweight=self.reweight)
            if witness is None and finder.is_late():
                return
            if witness is None:
                self._hide_all(requirements)
                return
            self._adopt(requirement, witness)
            queue.settle(requirement)
            met = met_by(self.problem, witness, requirement.attacker, queue.of(witness.cells.tolist()))
            for other in met:
                self.witness[other] = witness
                queue.settle(other)
            done += 1 + len(met)
            self.progress("protecting levels", done, len(queue))  # not safe yet: without a cost

    def _protect_exactly(self, requirements: list[Requirement]) -> None:
        """Hide every cell of some deviation for each level, however little it moves."""
        for requirement in requirements:
            if self.deadline.passed():
                return
            witness = self._deviations().any_deviation(requirement)
            if witness is not None:
                self._adopt(requirement, witness)

    def _hide_all(self, requirements: list[Requirement]) -> None:
        """Hide everything that may be hidden, where single deviations do not suffice; the elimination has the rest."""
        self.hidden |= self.allowed
        self.met = [*self.met, *requirements]

    def _price(self) -> Floats:
        """Weights of the cells that are not hidden yet."""
        return np.where(self.hidden, 0.0, self.prices)

    def _adopt(self, requirement: Requirement, witness: Witness) -> None:
        self.witness[requirement] = witness
        self.hidden[witness.cells] = True

    # ------------------------------------------------------------------ elimination

    def eliminate_redundant(self) -> None:
        """Publish again, by decreasing weight, what no requirement needs."""
        if self.finder is None and not self.met:
            return
        widths = conditional_requirements(self.problem, self.hidden)
        requirements = list(dict.fromkeys([*self.witness, *self.met, *widths]))
        tuned = self.settings.witnesses
        engine = engine_of(self.problem, requirements, self.hidden, self.deadline, tuned)
        elimination = Elimination(
            self.problem, requirements, self.hidden, engine, self.deadline, self.progress
        )
        self.hidden, programs = elimination.hidden, isinstance(engine, ProgramWitnesses)
        if programs:  # exact engines find their own: deviations of programs are met up to tolerances only
            elimination.adopt({requirement: found.cells for requirement, found in self.witness.items()})
        elimination.run(unused_first=programs)
        self.published_again = elimination.published


@dataclass(eq=False, repr=False)
class NetworkConstruction(Construction):
    """By flows; `requirements` are those that the cells hidden to begin with do not meet."""

    requirements: Sequence[Requirement] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.requirements = by_decreasing_level(self.requirements)
        self.graph, self.boxes = CellNetwork(self.problem), DeviationBounds(self.problem)

    # ------------------------------------------------------------------ construction

    def construct(self) -> None:
        """Open the cheapest flow of every requirement in turn."""
        cells = np.flatnonzero(self.allowed)
        place = places_of(cells, self.allowed.size)
        price = self.prices[cells]
        network = PathOpeningNetwork(
            self.graph.nodes,
            self.graph.tail[cells],
            self.graph.head[cells],
            price,
            self.hidden[cells],
            self.settings.paths,
        )
        boxes = {requirement.attacker: self.boxes[requirement.attacker] for requirement in self.requirements}
        bounds = {attacker: (up[cells], down[cells]) for attacker, (down, up) in boxes.items()}
        for done, requirement in enumerate(self.requirements):
            if done % 64 == 0:
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

    def eliminate_redundant(self) -> None:
        """Publish again, by decreasing weight, what no requirement needs; nothing where flows miss one by rounding."""
        requirements = by_decreasing_level([*self.requirements, *self.met])
        engine = FlowWitnesses(
            self.problem,
            requirements,
            self.hidden,
            graph=self.graph,
            boxes=self.boxes,
            settings=self.settings.witnesses,
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


def construction_of(
    problem: Problem,
    allowed: Bools,
    progress: Progress,
    deadline: Deadline,
    requirements: Sequence[Requirement] | None = None,
    **options: Any,
) -> Construction:
    """A construction that has not begun.

    `requirements`: what the cells hidden to begin with do not meet; an audit tells where none are given. `options`: the
    others of `Construction`.
    """
    if not is_network(problem) or problem.has_conditional:
        return LpConstruction(problem, allowed, progress, deadline, **options)
    begun = NetworkConstruction(problem, allowed, progress, deadline, requirements or (), **options)
    if requirements is None:
        found = audit(problem, Suppression.copy_of(begun.hidden), progress=progress)
        begun.requirements = by_decreasing_level(unmet_requirements(problem, found))
    return begun


def construct_pattern(
    problem: Problem, allowed: Bools, progress: Progress, deadline: Deadline, **options: Any
) -> Bools | None:
    """The cells of a constructed pattern without redundant suppressions; None: not in time.

    Arguments as of `construction_of`.
    """
    begun = construction_of(problem, allowed, progress, deadline, **options)
    begun.construct()
    if not begun.complete:
        return None
    begun.eliminate_redundant()
    return begun.hidden
