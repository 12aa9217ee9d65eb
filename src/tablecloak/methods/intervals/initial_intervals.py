"""Initial intervals, safe and with ends: what interval methods fall back on when they are stopped early.

Every requirement gets a witness, a deviation d with M d = 0 within the attacker's box that moves its cell by the level.
Cell i is published as the interval that the witnesses span, from a_i + min d_i to a_i + max d_i over all of them:
whatever else is published, each witness stays possible, so that every requirement is met. Witnesses are flows over the
cells of an initial pattern on networks, else hypercubes (`heuristics.hypercubes`), else deviations that serve many
requirements each (`heuristics.reversible_deviations`).

Reference: Fischetti & Salazar (2003), Partial cell suppression, for what makes intervals safe; see also these modules.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import is_network
from tablecloak.auditing import audit
from tablecloak.methods.data_units import in_data_units
from tablecloak.methods.heuristics import (
    CubeSearch,
    FirstPatternSettings,
    FlowWitnesses,
    QuickDeviations,
    first_pattern,
)
from tablecloak.methods.intervals.attainable import SideBounds, snapped, stated
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
from tablecloak.solvers import LP_PRECISION


@dataclass(frozen=True)
class InitialIntervalSettings:
    """How witnesses are sought."""

    first: FirstPatternSettings = FirstPatternSettings()
    """Hypercubes and deviations, and on networks the pattern whose flows are taken."""
    flows_per_check: int = 64
    """Maximum number of flows between two deadline checks. More: less overhead, against a later stop. Untested
    default."""


def initial_intervals(
    problem: Problem,
    allowed: Bools,
    deadline: Deadline,
    progress: Progress,
    settings: InitialIntervalSettings = InitialIntervalSettings(),
) -> SideBounds | None:
    """Deviation bounds of safe intervals; None when it takes too long.

    None also with conditional levels or a limit on touched cells. The cost is reported to `progress`.
    """
    if not problem.is_monotone or deadline.passed():
        return None
    bounds: SideBounds | None = None
    with deadline.stoppable():
        span = _span_of_flows if is_network(problem) else _span_of_deviations
        bounds = span(problem, allowed, deadline, progress, settings)
    if bounds is None:
        return None
    below, above = (
        snapped(problem, *pair, LP_PRECISION)
        for pair in zip(bounds, box_deviation_bounds(problem), strict=True)
    )
    with deadline.stoppable():
        progress("first intervals", 1, 1, stated(problem, below, above).loss(problem))
    return below, above


def _span_of_deviations(
    problem: Problem,
    allowed: Bools,
    deadline: Deadline,
    progress: Progress,
    settings: InitialIntervalSettings,
) -> SideBounds | None:
    """How far hypercubes, and deviations where there are none, move each cell."""
    unmet, hidden = all_requirements(problem), problem.must_hide
    below, above = np.zeros((2, hidden.size))
    if CubeSearch.fits(problem):
        rng = np.random.default_rng(settings.first.seed)
        cubes = CubeSearch(problem, allowed, unmet, rng, progress, deadline, settings.first.cubes)
        cubes.build()
        unmet, hidden = cubes.unmet, cubes.hidden
        below, above = cubes.spans()
    given = problem, allowed, unmet, progress, deadline
    quick = QuickDeviations(*given, start=hidden, settings=settings.first.deviations)
    quick.build()
    if quick.unmet:
        return None
    more_below, more_above = quick.spans()
    return np.maximum(below, more_below), np.maximum(above, more_above)


def _span_of_flows(
    problem: Problem,
    allowed: Bools,
    deadline: Deadline,
    progress: Progress,
    settings: InitialIntervalSettings,
) -> SideBounds | None:
    """How far flows over the cells of an initial pattern move each cell; a flow often serves other requirements too."""
    whole, levels = in_data_units(problem), all_requirements(problem)
    requirements = unmet_requirements(
        whole, audit(whole, Suppression.copy_of(whole.must_hide), progress=progress)
    )
    hidden = first_pattern(whole, allowed, requirements, progress, deadline, settings.first)
    if hidden is None:
        return None
    finder = FlowWitnesses(problem, levels, hidden, settings=settings.first.construction.witnesses)
    reached = {attacker: np.zeros((2, hidden.size)) for attacker in finder.networks}
    for number, requirement in enumerate(levels):
        if number % settings.flows_per_check == 0:
            progress("flows", number, len(levels))
            if deadline.passed():
                return None
        if not _is_reached(requirement, reached[requirement.attacker]):
            moves = finder.deviations(requirement)
            if moves is None:
                return None
            for move in moves:
                for span, side in zip(reached[requirement.attacker], (-move, move), strict=True):
                    span[finder.cells] = np.maximum(span[finder.cells], side)
    below, above = np.maximum.reduce([np.zeros((2, hidden.size)), *reached.values()])
    return below, above


def _is_reached(requirement: Requirement, reached: Floats) -> bool:
    """Whether flows of the same attacker move a cell as far as a requirement says, down and up."""
    down, up = reached[:, requirement.cell].tolist()
    return bool({Side.DOWN: down, Side.UP: up, Side.SLIDE: down + up}[requirement.side] >= requirement.level)
