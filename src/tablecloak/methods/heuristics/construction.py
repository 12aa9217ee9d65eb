"""Construction of a safe pattern requirement by requirement, by the engine that fits the table.

Network tables without conditional levels get flows (`network_construction`), all others linear programs
(`lp_construction`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import is_network
from tablecloak.auditing import audit
from tablecloak.methods.heuristics.lp_construction import LpConstruction
from tablecloak.methods.heuristics.network_construction import NetworkConstruction
from tablecloak.model import Problem, Requirement, Suppression, unmet_requirements
from tablecloak.progress import Deadline, Progress


class Construction(Protocol):
    """A pattern under construction."""

    hidden: Bools
    """The cells hidden so far."""
    complete: bool
    """Whether they meet every requirement."""

    def construct(self) -> None:
        """Hide cells until every requirement is met, or the time is up."""

    def eliminate_redundant(self) -> None:
        """Publish again what no requirement needs."""


def construction_of(
    problem: Problem,
    allowed: Bools,
    progress: Progress,
    deadline: Deadline,
    *,
    requirements: Sequence[Requirement] | None = None,
    weights: Floats | None = None,
    start: Bools | None = None,
    met: Sequence[Requirement] = (),
) -> Construction:
    """A construction that has not begun.

    `requirements`: what the cells hidden to begin with do not meet; an audit tells where none are given.
    `weights`: prices of the construction (the problem's own unless given); `start`: cells hidden to begin with (those
    that must be, unless given); `met`: requirements that these meet already and must go on meeting.
    """
    if not is_network(problem) or problem.has_conditional:
        return LpConstruction(problem, allowed, progress, deadline, weights=weights, start=start, met=met)
    if requirements is None:
        hidden = Suppression.copy_of(problem.must_hide if start is None else start)
        requirements = unmet_requirements(problem, audit(problem, hidden, progress=progress))
    return NetworkConstruction(
        problem, allowed, requirements, progress, deadline, weights=weights, start=start, met=met
    )


def construct_pattern(
    problem: Problem,
    allowed: Bools,
    progress: Progress,
    deadline: Deadline,
    *,
    requirements: Sequence[Requirement] | None = None,
    weights: Floats | None = None,
) -> Bools | None:
    """The cells of a constructed pattern without redundant suppressions; None: not in time.

    Arguments as of `construction_of`.
    """
    begun = construction_of(problem, allowed, progress, deadline, requirements=requirements, weights=weights)
    begun.construct()
    if not begun.complete:
        return None
    begun.eliminate_redundant()
    return begun.hidden
