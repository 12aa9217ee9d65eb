"""The initial pattern: safe, found quickly, and returned by a method that is stopped before it has its own.

Networks get a cheapest flow for each requirement (`construction`); other tables that are one grid get
hypercubes (`hypercubes`). Requirements that no hypercube meets, and tables of all other kinds, get deviations that
serve many requirements each (`reversible_deviations`). Redundant suppressions are eliminated where that is quick
(`elimination`).

Reference: see these modules.

One run of a method that hides cells: candidate cells, unmet requirements, and the initial pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.attacker import is_network
from tablecloak.auditing import audit
from tablecloak.methods.base import HIDES_EVERYTHING, Run, complementary_cost, without_incumbent
from tablecloak.methods.feasibility import hide_everything
from tablecloak.methods.heuristics.construction import (
    ConstructionSettings,
    LpConstruction,
    NetworkConstruction,
)
from tablecloak.methods.heuristics.elimination import Elimination
from tablecloak.methods.heuristics.hypercubes import CubeSearch, CubeSearchSettings
from tablecloak.methods.heuristics.reversible_deviations import QuickDeviations, QuickSettings
from tablecloak.methods.heuristics.witnesses import NullSpaceWitnesses, elimination_seconds
from tablecloak.model import Problem, Requirement, Suppression, unmet_requirements
from tablecloak.progress import Deadline, Progress

FIRST_KEPT = (
    "stopped before the method had a cheaper pattern of its own: this is the quick one that it began with"
)
"""The note of a first pattern that came to be the last."""


@dataclass(frozen=True)
class FirstPatternSettings:
    """Work and shares of the time of the steps."""

    seed: int = 0
    """Hypercubes are sought in a random order, the same for every run."""
    exchange_searches: int = 1000
    """Maximum number of hypercubes sought by exchanges: a tenth of the cost in 0.2 s on 10,571 cells."""
    elimination_share: float = 0.3
    """With a time limit, the share of the time left that the elimination of redundant suppressions may take."""
    elimination_seconds: float = 3.0
    """The maximum of that in seconds."""
    elimination_work: int = 500_000
    """Without one, the maximum number of requirements times hidden cells (about 0.2 s)."""
    cubes: CubeSearchSettings = CubeSearchSettings()
    deviations: QuickSettings = QuickSettings()
    construction: ConstructionSettings = ConstructionSettings()
    """Flows on networks, repair elsewhere, and the witnesses of the elimination."""


def first_pattern(
    problem: Problem,
    allowed: Bools,
    requirements: Sequence[Requirement],
    progress: Progress,
    deadline: Deadline,
    settings: FirstPatternSettings = FirstPatternSettings(),
) -> Bools | None:
    """The cells hidden by a safe pattern; None where there is none of these kinds, or not in time.

    `requirements`: what the cells that must be hidden do not meet by themselves. Costs are reported to `progress`.
    """
    if problem.most_touched is not None or problem.has_conditional:
        return None
    quick = QuickPattern(problem, allowed, requirements, progress, deadline, settings)
    if is_network(problem):
        return quick.by_flows()
    return quick.by_hypercubes() if CubeSearch.fits(problem) else quick.by_deviations()


@dataclass(frozen=True, eq=False)
class QuickPattern:
    """Safe patterns that are found quickly, of one kind each: the cells they hide, or None where not in time."""

    problem: Problem
    allowed: Bools
    requirements: Sequence[Requirement]
    """What the cells that must be hidden do not meet by themselves."""
    progress: Progress
    deadline: Deadline
    settings: FirstPatternSettings = FirstPatternSettings()

    def _reported(self, hidden: Bools) -> Bools:
        self.progress("first pattern", 1, 1, complementary_cost(self.problem, hidden))
        return hidden

    def by_flows(self) -> Bools | None:
        """Cheapest flows through a network."""
        given = self.problem, self.allowed, self.progress, self.deadline, self.requirements
        flows = NetworkConstruction(*given, settings=self.settings.construction)
        flows.construct()
        return self._reported(flows.hidden) if flows.complete else None

    def by_hypercubes(self) -> Bools | None:
        """Hypercubes, deviations for the requirements that have none, exchanges, and elimination."""
        rng, deadline = np.random.default_rng(self.settings.seed), self.deadline
        given = self.problem, self.allowed, self.requirements, rng, self.progress, deadline
        cubes = CubeSearch(*given, self.settings.cubes)
        cubes.build()
        if cubes.unmet:
            return None if deadline.passed() else self.by_deviations((cubes.hidden, cubes.unmet))
        built = self._reported(cubes.hidden)
        with deadline.stoppable():
            cubes.exchange(self.settings.exchange_searches)
        if not cubes.unmet:  # an interrupt may come within an exchange
            built = cubes.hidden
        return self._reported(self.eliminated(built))

    def by_deviations(self, start: tuple[Bools, Sequence[Requirement]] | None = None) -> Bools | None:
        """Deviations that serve many requirements each, and elimination.

        Without a time limit the audit confirms it. With one that is left to `protect`: every requirement has a witness,
        and an audit of a large table can take longer than the time that is left.
        `start`: cells hidden to begin with and the requirements that they do not meet.
        """
        problem, deadline, settings = self.problem, self.deadline, self.settings
        hidden, unmet = (problem.must_hide, self.requirements) if start is None else start
        given = problem, self.allowed, unmet, self.progress, deadline
        quick = QuickDeviations(*given, start=hidden, settings=settings.deviations)
        quick.build()
        if quick.unmet:
            return None
        hidden = quick.hidden
        if deadline.moment is None:
            rest = problem, self.allowed, self.progress, deadline
            repair = LpConstruction(*rest, start=hidden, settings=settings.construction)
            with deadline.stoppable():  # after an interrupt it is as it was: it has witnesses
                repair.construct()
            hidden = repair.hidden if repair.complete else hidden
        return self._reported(self.eliminated(self._reported(hidden)))

    def eliminated(self, hidden: Bools) -> Bools:
        """Without the redundant suppressions that are found within a share of the time; else as it was."""
        problem, requirements, deadline = self.problem, self.requirements, self.deadline
        tuned = self.settings.construction.witnesses
        work = len(requirements) * int(hidden.sum())
        if deadline.moment is None and work > self.settings.elimination_work:
            return hidden
        long = deadline.left < elimination_seconds(problem, hidden, tuned)
        if long or not NullSpaceWitnesses.fits(problem, requirements, hidden, tuned):
            return hidden
        within, found = deadline, hidden
        if deadline.moment is not None:
            part = self.settings.elimination_seconds / max(deadline.left, self.settings.elimination_seconds)
            within = deadline.share(min(self.settings.elimination_share, part))
        with deadline.stoppable():
            engine = NullSpaceWitnesses(problem, requirements, hidden, tuned)
            report = without_incumbent(self.progress, "first pattern")
            elimination = Elimination(problem, requirements, hidden, engine, within, report)
            if elimination.run():
                found = elimination.hidden
        return found


class SuppressionRun(Run):
    """A run on one problem. `prepare` comes first and may be interrupted; a pattern to fall back on exists before."""

    def __init__(
        self,
        problem: Problem,
        seconds: float | None,
        progress: Progress,
        settings: FirstPatternSettings = FirstPatternSettings(),
    ) -> None:
        super().__init__(seconds)
        self.problem, self.progress, self.settings = problem, progress, settings
        self.allowed = hide_everything(problem, progress)
        """The candidate cells; hiding them all meets every requirement."""
        self.requirements: list[Requirement] = []
        """The requirements of all attackers that the cells hidden in any case do not meet."""
        self.first: Bools | None = None
        """The initial pattern, which is safe; None where there is none, or not in time."""

    def prepare(self, *, first: bool = True) -> None:
        """Find the unmet requirements, and with `first` the initial pattern."""
        problem = self.problem
        found = audit(problem, Suppression.copy_of(problem.must_hide), progress=self.progress)
        self.requirements = unmet_requirements(problem, found)
        if first:
            given = problem, self.allowed, self.requirements, self.progress, self.deadline
            self.first = first_pattern(*given, self.settings)

    def cost(self, hidden: Bools) -> float:
        """The weights of the complementary cells among the hidden ones."""
        return complementary_cost(self.problem, hidden)

    def has_cheaper_first(self, cost: float) -> bool:
        """Whether the initial pattern costs less."""
        return self.first is not None and self.cost(self.first) < cost

    @property
    def fallback(self) -> tuple[Bools, str]:
        """The safe pattern of a run that is stopped before it has its own, and the note that says so."""
        return (self.allowed, HIDES_EVERYTHING) if self.first is None else (self.first, FIRST_KEPT)
