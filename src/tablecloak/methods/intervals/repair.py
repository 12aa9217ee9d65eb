"""Audit and repair of intervals: what the audit finds open gets the deviation bounds of a deviation of its own.

A deviation d with M d = 0 that moves cell p by its level stays possible if every interval contains a_i + d_i: so the
bounds max(below, -d), max(above, d) meet that requirement, whatever the others do.

Reference: Fischetti & Salazar (2003), Partial cell suppression, for what makes intervals safe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import working_equations
from tablecloak.auditing import audit
from tablecloak.methods.heuristics import DeviationFinder, Witness
from tablecloak.methods.intervals.attainable import (
    SideBounds,
    hidden_by_mark,
    rounded_up,
    snapped,
    stated,
)
from tablecloak.model import Problem, Requirement, box_deviation_bounds, unmet_requirements
from tablecloak.progress import NEVER, Deadline, Progress
from tablecloak.solvers import LP_PRECISION


@dataclass(frozen=True)
class RepairSettings:
    """Rounds of audit and repair."""

    margins: tuple[float, ...] = (0.0, LP_PRECISION, 10 * LP_PRECISION)
    """Shares by which intervals that the audit rejects are lengthened, round by round, before single requirements are
    repaired. Larger: fewer rounds, against longer intervals. Untested default."""
    max_rounds: int = 20
    """Maximum number of audit-and-repair rounds. Untested default."""
    many_unmet: int = 100
    """Number of unmet requirements above which, with a time limit, all intervals are lengthened instead. More: shorter
    intervals, against the time for a deviation each. Untested default."""
    growth: float = 1.3
    """Factor by which all intervals are lengthened then. Untested default."""
    max_growths: int = 8
    """Maximum number of rounds in which they are. Untested default."""


class Widener:
    """Widens intervals requirement by requirement, by cheapest deviations."""

    def __init__(self, problem: Problem, price: Floats, deadline: Deadline) -> None:
        self.problem, self.price = problem, np.where(hidden_by_mark(problem), 0.0, price)
        self.finder = DeviationFinder(problem, working_equations(problem.table), ~problem.forced, deadline)
        self._widened: set[Requirement] = set()

    def widen(self, below: Floats, above: Floats, requirements: list[Requirement]) -> SideBounds | None:
        """Deviation bounds that also meet these requirements; None if the time was up first.

        Deviations are rounded up to integral data units. Where the number of touched cells or conditional widths
        matter they stay on cells that are touched, if possible. A requirement that is unmet again gets a deviation
        from the attacker's own program, which is nearly exact.
        """
        below, above = below.copy(), above.copy()
        for requirement in requirements:
            witness = self._witness(requirement, (below > 0) | (above > 0) | self.problem.must_hide)
            if witness is None:
                return None
            for moved in (witness.forward, witness.backward):
                if moved is not None:
                    np.maximum.at(above, witness.cells, rounded_up(self.problem, moved))
                    np.maximum.at(below, witness.cells, rounded_up(self.problem, -moved))
        return below, above

    def _witness(self, requirement: Requirement, touched: Bools) -> Witness | None:
        again, everything = requirement in self._widened, ~self.problem.forced
        self._widened.add(requirement)
        # the finder divides the prices of cells by their capacity; lengths cost by the unit
        prices = self.price * requirement.level
        for cells in [everything] if self.problem.is_monotone else [touched & everything, everything]:
            self.finder.allowed[:] = cells
            found = None if again else self.finder.cheapest(requirement, prices)
            if found is None and self.finder.is_late():
                return None
            found = found or self.finder.any_deviation(requirement)
            if found is not None:
                return found
        return None


def repaired(
    problem: Problem,
    allowed: Bools,
    bounds: SideBounds,
    progress: Progress,
    deadline: Deadline = NEVER,
    settings: RepairSettings = RepairSettings(),
) -> SideBounds | None:
    """Deviation bounds that the audit accepts; None if the time is up first.

    What a linear program leaves open is within its tolerance: intervals are lengthened by a margin, to integral data
    units. What one leaves that was stopped can be much: then all intervals are made longer first, and cheapest
    deviations are for the few requirements that this does not help. In the end nothing is stated about `allowed` cells.
    """
    most, margins = box_deviation_bounds(problem), settings.margins
    widener = Widener(problem, problem.weights, deadline)
    bounds = np.maximum(bounds[0], 0.0), np.maximum(bounds[1], 0.0)
    for number in range(settings.max_rounds):
        margin = margins[min(number, len(margins) - 1)]
        below, above = (snapped(problem, *pair, margin) for pair in zip(bounds, most, strict=True))
        verdict = audit(problem, stated(problem, below, above), progress=progress)
        unmet = unmet_requirements(problem, verdict)
        if not unmet:
            return below, above
        if deadline.passed():
            return None
        many = len(unmet) > settings.many_unmet and number < settings.max_growths
        if deadline.moment is not None and many and below.any():
            bounds = settings.growth * below, settings.growth * above
        elif number < len(margins) - 1 and (below.any() or above.any()):
            bounds = below, above
        else:
            wider = widener.widen(below, above, unmet)
            if wider is None:
                break
            bounds = wider
    if deadline.passed():
        return None
    endless = np.where(allowed, np.inf, 0.0)
    return endless, endless


def repaired_in_time(
    problem: Problem,
    allowed: Bools,
    bounds: SideBounds,
    progress: Progress,
    deadline: Deadline,
    *,
    safe: bool,
    settings: RepairSettings = RepairSettings(),
) -> SideBounds | None:
    """Deviation bounds that the audit accepts; None if they are not known to be `safe` and the time is up first.

    What is not known to be safe is audited only while there is time: an audit of many open cells can take long.
    """
    found: SideBounds | None = None
    with deadline.stoppable():
        if safe:
            found = repaired(problem, allowed, bounds, progress, settings=settings)
        elif not deadline.passed():
            found = repaired(problem, allowed, bounds, deadline.watched(progress), deadline, settings)
    return found
