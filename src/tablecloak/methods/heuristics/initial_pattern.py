"""A first safe pattern, made in a moment: what a method falls back on when it is stopped before it has its own.

Networks get the cheapest routes, one for each level (`network_construction`); other tables that are one grid get
hypercubes (`hypercubes`). Requirements that no hypercube meets, and tables of all other kinds, get deviations that
serve many requirements each (`reversible_deviations`). Redundant suppressions are eliminated where that is quick
(`elimination`).

Reference: see these modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.attacker import is_network
from tablecloak.methods.base import complementary_cost
from tablecloak.methods.heuristics.elimination import Elimination
from tablecloak.methods.heuristics.hypercubes import CubeSearch
from tablecloak.methods.heuristics.lp_construction import LpConstruction
from tablecloak.methods.heuristics.network_construction import NetworkConstruction
from tablecloak.methods.heuristics.reversible_deviations import QuickDeviations
from tablecloak.methods.heuristics.witnesses import NullSpaceWitnesses, elimination_seconds
from tablecloak.model import Problem, Requirement
from tablecloak.progress import Deadline, Progress

FIRST_KEPT = "stopped before the method had a pattern of its own: this is the quick one that it began with"
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


SETTINGS = FirstPatternSettings()


def first_pattern(
    problem: Problem,
    allowed: Bools,
    requirements: Sequence[Requirement],
    progress: Progress,
    deadline: Deadline,
    settings: FirstPatternSettings = SETTINGS,
) -> Bools | None:
    """The cells hidden by a safe pattern; None where there is no quick one, or not in time.

    `requirements`: what the cells that must be hidden do not meet by themselves. Costs are reported to `progress`.
    """
    if problem.most_touched is not None or problem.has_conditional:
        return None
    found = _routes if is_network(problem) else _cubes if CubeSearch.fits(problem) else by_deviations
    hidden = found(problem, allowed, requirements, progress, deadline, settings)
    if hidden is not None:
        _report(problem, hidden, progress)
    return hidden


def _report(problem: Problem, hidden: Bools, progress: Progress) -> None:
    progress("first pattern", 1, 1, complementary_cost(problem, hidden))


def _routes(
    problem: Problem,
    allowed: Bools,
    requirements: Sequence[Requirement],
    progress: Progress,
    deadline: Deadline,
    settings: FirstPatternSettings,
) -> Bools | None:
    """Cheapest routes through a network."""
    routes = NetworkConstruction(problem, allowed, requirements, progress, deadline)
    routes.construct()
    return routes.hidden if routes.complete else None


def _cubes(
    problem: Problem,
    allowed: Bools,
    requirements: Sequence[Requirement],
    progress: Progress,
    deadline: Deadline,
    settings: FirstPatternSettings,
) -> Bools | None:
    """Hypercubes, deviations for the requirements that have none, exchanges, and elimination."""
    cubes = CubeSearch(
        problem, allowed, requirements, np.random.default_rng(settings.seed), progress, deadline
    )
    cubes.build()
    if cubes.unmet:
        if deadline.passed():
            return None
        return by_deviations(
            problem, allowed, requirements, progress, deadline, settings, (cubes.hidden, cubes.unmet)
        )
    built = cubes.hidden
    _report(problem, built, progress)
    with deadline.stoppable():
        cubes.exchange(settings.exchange_searches)
    if not cubes.unmet:  # an interrupt may come within an exchange
        built = cubes.hidden
    return eliminated(problem, requirements, built, progress, deadline, settings)


def by_deviations(
    problem: Problem,
    allowed: Bools,
    requirements: Sequence[Requirement],
    progress: Progress,
    deadline: Deadline,
    settings: FirstPatternSettings = SETTINGS,
    start: tuple[Bools, Sequence[Requirement]] | None = None,
) -> Bools | None:
    """Deviations that serve many requirements each, and elimination; None: not in time.

    Without a time limit the audit confirms it. With one that is left to `protect`: every requirement has a witness, and
    an audit of a large table can take longer than the time that is left.
    `start`: cells hidden to begin with and the requirements that they do not meet.
    """
    hidden, unmet = (problem.must_hide, requirements) if start is None else start
    quick = QuickDeviations(problem, allowed, unmet, progress, deadline, start=hidden)
    quick.build()
    if quick.unmet:
        return None
    hidden = quick.hidden
    if deadline.moment is None:
        hidden = _confirmed(problem, allowed, hidden, progress, deadline)
    _report(problem, hidden, progress)
    return eliminated(problem, requirements, hidden, progress, deadline, settings)


def _confirmed(
    problem: Problem, allowed: Bools, hidden: Bools, progress: Progress, deadline: Deadline
) -> Bools:
    """The pattern, repaired if the audit finds it open; as it was after an interrupt: it has witnesses."""
    search = LpConstruction(problem, allowed, progress, deadline, start=hidden)
    with deadline.stoppable():
        search.construct()
    return search.hidden if search.complete else hidden


def eliminated(
    problem: Problem,
    requirements: Sequence[Requirement],
    hidden: Bools,
    progress: Progress,
    deadline: Deadline,
    settings: FirstPatternSettings = SETTINGS,
) -> Bools:
    """Without the redundant suppressions that are found within a share of the time; as it was after an interrupt."""
    work = len(requirements) * int(hidden.sum())
    if deadline.moment is None and work > settings.elimination_work:
        return hidden
    if deadline.left < elimination_seconds(problem, hidden) or not NullSpaceWitnesses.fits(
        problem, requirements, hidden
    ):
        return hidden
    within = deadline
    if deadline.moment is not None:
        part = settings.elimination_seconds / max(deadline.left, settings.elimination_seconds)
        within = deadline.share(min(settings.elimination_share, part))
    found = hidden

    def report(
        phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        progress("first pattern", done, total)

    with deadline.stoppable():
        engine = NullSpaceWitnesses(problem, requirements, hidden)
        elimination = Elimination(problem, requirements, hidden, engine, within, report)
        if elimination.run():
            found = elimination.hidden
    return found
