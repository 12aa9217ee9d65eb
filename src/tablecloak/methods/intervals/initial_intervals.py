"""First intervals, safe and with ends: what interval methods fall back on when they are stopped early.

Every level gets a witness, a deviation d with M d = 0 within the attacker's box that moves its cell by the level. Cell
i is published as the interval that the witnesses span, from a_i + min d_i to a_i + max d_i over all of them: whatever
else is published, each witness stays possible, so that every level is met. Witnesses are flows over the cells of a
first pattern on networks, else hypercubes (`heuristics.hypercubes`), else deviations that serve many levels each
(`heuristics.reversible_deviations`).

Reference: Fischetti & Salazar (2003), Partial cell suppression, for what makes intervals safe; see also these modules.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import is_network
from tablecloak.auditing import audit
from tablecloak.methods.data_units import in_data_units
from tablecloak.methods.heuristics import CubeSearch, FlowFinder, QuickDeviations, first_pattern
from tablecloak.methods.intervals.attainable import HAIR, Room, snapped, stated
from tablecloak.model import (
    Problem,
    Requirement,
    Side,
    Suppression,
    all_requirements,
    box_deviation_bounds,
    unmet_requirements,
)
from tablecloak.progress import Deadline, Progress


@dataclass(frozen=True)
class FirstIntervalSettings:
    """How witnesses are sought."""

    seed: int = 0
    """Hypercubes are sought in a random order, the same for every run."""
    flows_per_check: int = 64
    """Maximum number of flows between two looks at the deadline."""


SETTINGS = FirstIntervalSettings()


def first_intervals(problem: Problem, allowed: Bools, deadline: Deadline, progress: Progress) -> Room | None:
    """The room of safe intervals; None when it takes too long, and with conditional levels or bounds on touched cells.

    The cost is reported to `progress`.
    """
    if not problem.is_monotone or deadline.passed():
        return None
    room: Room | None = None
    with deadline.stoppable():
        moved = _moved_by_flows if is_network(problem) else _moved
        room = moved(problem, allowed, deadline, progress)
    if room is None:
        return None
    below, above = (
        snapped(problem, side, most, HAIR)
        for side, most in zip(room, box_deviation_bounds(problem), strict=True)
    )
    with deadline.stoppable():
        progress("first intervals", 1, 1, stated(problem, below, above).loss(problem))
    return below, above


def _moved(problem: Problem, allowed: Bools, deadline: Deadline, progress: Progress) -> Room | None:
    """How far hypercubes, and deviations where there are none, move each cell."""
    unmet, hidden = all_requirements(problem), problem.must_hide
    below, above = np.zeros((2, hidden.size))
    if CubeSearch.fits(problem):
        cubes = CubeSearch(problem, allowed, unmet, np.random.default_rng(SETTINGS.seed), progress, deadline)
        cubes.build()
        unmet, hidden = cubes.unmet, cubes.hidden
        below, above = cubes.spans()
    quick = QuickDeviations(problem, allowed, unmet, progress, deadline, start=hidden)
    quick.build()
    if quick.unmet:
        return None
    more_below, more_above = quick.spans()
    return np.maximum(below, more_below), np.maximum(above, more_above)


def _moved_by_flows(problem: Problem, allowed: Bools, deadline: Deadline, progress: Progress) -> Room | None:
    """How far flows over the cells of a first pattern move each cell; a flow often serves other levels too."""
    whole, levels = in_data_units(problem), all_requirements(problem)
    requirements = unmet_requirements(
        whole, audit(whole, Suppression.copy_of(whole.must_hide), progress=progress)
    )
    hidden = first_pattern(whole, allowed, requirements, progress, deadline)
    if hidden is None:
        return None
    finder = FlowFinder(problem, levels, hidden)
    below, above = np.zeros((2, hidden.size))
    reached = {attacker: np.zeros((2, hidden.size)) for attacker in finder.networks}
    for number, requirement in enumerate(levels):
        if number % SETTINGS.flows_per_check == 0:
            progress("flows", number, len(levels))
            if deadline.passed():
                return None
        if not _is_reached(requirement, reached[requirement.attacker]):
            moves = finder.deviations(requirement)
            if moves is None:
                return None
            for move in moves:
                for total, side in zip((below, above), (-move, move), strict=True):
                    total[finder.cells] = np.maximum(total[finder.cells], side)
                for total, side in zip(reached[requirement.attacker], (-move, move), strict=True):
                    total[finder.cells] = np.maximum(total[finder.cells], side)
    return below, above


def _is_reached(requirement: Requirement, reached: Floats) -> bool:
    """Whether flows of the same attacker move a cell as far as a level asks, down and up."""
    down, up = reached[:, requirement.cell].tolist()
    return bool({Side.DOWN: down, Side.UP: up, Side.SLIDE: down + up}[requirement.side] >= requirement.level)
