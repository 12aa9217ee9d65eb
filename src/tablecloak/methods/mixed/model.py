"""The cheapest mixed publication that meets given requirements, audited.

What linear programs leave open within their tolerance is repaired in turn: intervals are lengthened a little, levels
are raised by margins, and in the end single intervals are lengthened by deviations of the levels that the audit still
finds open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.attacker import WitnessFinder
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem
from tablecloak.methods.adjustment import raised
from tablecloak.methods.heuristics import RoundSettings, lengthened, missing_deviations
from tablecloak.methods.intervals import snapped
from tablecloak.methods.intervals import stated as stated_intervals
from tablecloak.methods.mixed.formulation import JointFormulation
from tablecloak.methods.mixed.plan import MixedParams
from tablecloak.methods.mixed.settings import MixedSettings
from tablecloak.methods.mixed.solution import MixedPublication, accepted_with, attainable, refusal_of
from tablecloak.methods.timed_audit import audit_within
from tablecloak.methods.unified import (
    CuttingPlaneModel,
    ModelSolution,
    length_unit,
    solve_compact_model,
    without_ties,
)
from tablecloak.model import Intervals, Mixed, Requirement, box_deviation_bounds
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import LP_PRECISION, Outcome

Requirements = tuple[list[Requirement], list[Requirement]]
"""Levels, and widths of cells if they are touched."""


@dataclass(frozen=True, eq=False)
class MixedModel:
    """A formulation and the requirements that are imposed on it. Confidential."""

    joint: JointFormulation
    params: MixedParams
    requirements: Requirements
    left_open: bool
    """Whether cells that show numbers which need not be true may be open."""
    deadline: Deadline
    progress: Progress
    settings: MixedSettings = MixedSettings()

    # ------------------------------------------------------------------ programs

    def solve(self, start: Floats, least: float, *, last: bool) -> MixedPublication | Outcome:
        """The cheapest publication, audited, or why there is none: infeasible only if that is proven.

        `least` is a lower bound on the cost; `last`: no other requirements are tried after these.
        """
        bound, latest, before = -math.inf, None, self.deadline.left
        known = self.accepted(start)
        offer, took = (None if known is None else start), before - self.deadline.left
        work = self if self.deadline.moment is None else replace(self, deadline=self.deadline.earlier(took))
        for share, units in self._margins():
            solution = work._solved(share, units, offer)
            bound = max(solution.bound, least) if bound == -math.inf else bound
            proven = share == units == 0.0 and solution.outcome is Outcome.INFEASIBLE
            if not solution.safe and (proven or not last):
                return solution.outcome
            if not solution.safe:
                break
            latest = solution
            x = self._integral(solution.values)
            intervals = known if solution.values is offer else self.accepted(x)
            if intervals is not None:
                if solution.outcome is Outcome.OPTIMAL:
                    intervals = self._tightened(x, intervals)
                return self._publication(x, intervals, replace(solution, bound=bound))
        stopped = work.deadline.passed() or solution.outcome is Outcome.TIME_LIMIT
        late = Outcome.TIME_LIMIT if stopped else Outcome.FAILED
        for x in [start] if latest is None else [latest.values, start]:
            x = self._integral(x)
            intervals = self._lengthened(x)
            if intervals is not None:
                solution = replace(latest or solution, outcome=late, values=x, bound=bound)
                return self._publication(x, intervals, solution)
        return late

    def _margins(self) -> tuple[tuple[float, float], ...]:
        """Margins of the levels; data units only where cells are perturbed."""
        margins = self.settings.margins
        return margins if self.joint.plan.perturbed.any() else tuple(m for m in margins if m[1] == 0.0)

    def _integral(self, x: Floats) -> Floats:
        return np.where(self.joint.formulation.integral, np.rint(x), x)

    def _publication(self, x: Floats, intervals: Intervals, solution: ModelSolution) -> MixedPublication:
        pattern = self.joint.pattern(x, intervals)
        return MixedPublication(self.joint, x, pattern, intervals, solution, self.left_open)

    def _solved(self, share: float, units: float, offer: Floats | None) -> ModelSolution:
        """The optimum for levels raised by a share and by data units, or what there is when the time is up."""
        problem, formulation, deadline = self.joint.problem, self.joint.formulation, self.deadline
        more = units * problem.table.unit
        levels, widths = (raised(requirements, more, share) for requirements in self.requirements)
        required = levels, widths
        if self.params.model == "first" and not deadline.passed():
            found = solve_compact_model(problem, formulation, *required, deadline.left)
            if found.values.size or not found.outcome.undecided or offer is None:
                return without_ties(problem, formulation, found, required, deadline, known=None)
        model = CuttingPlaneModel(problem, formulation, *required, deadline, self.progress)
        if offer is not None:
            model.offer(offer)
        return without_ties(problem, formulation, model.solve(), required, deadline)

    def refusal(self, start: Floats, *, explained: bool) -> InfeasibleProblem:
        """The refusal where nothing meets the requirements, with cells that are open even where all else is vague.

        `explained`: whether these are computed; not where a smaller asymmetry is tried next.
        """
        problem, cells = self.joint.problem, []
        if explained:
            widest = self.joint.pattern(start, self.stated(*self.joint.deviation_bounds(start)))
            cells = problem.table.labels(audit(problem, widest, progress=self.progress).open_cells)
        return refusal_of(self.joint, list(cells))

    # ------------------------------------------------------------------ intervals

    def accepted(self, x: Floats) -> Intervals | None:
        """Intervals, lengthened a little if need be, with which the audit accepts the columns; None: it does not."""
        problem, unit = self.joint.problem, length_unit(self.joint.problem)
        most, lengthenings = box_deviation_bounds(problem), self.settings.lengthenings
        for times in lengthenings if self.joint.plan.interval.any() else lengthenings[:1]:
            hair = times * LP_PRECISION
            if hair and self.deadline.passed():
                break
            least = min(LP_PRECISION * unit, problem.table.unit / 2)
            longer = (
                np.where(bound > least, bound + hair * unit, 0.0) for bound in self.joint.deviation_bounds(x)
            )
            below, above = (
                snapped(problem, bound, limit, hair) for bound, limit in zip(longer, most, strict=True)
            )
            intervals = self.stated(below, above)
            if self.passes(self.joint.pattern(x, intervals)):
                return intervals
        return None

    def _lengthened(self, x: Floats) -> Intervals | None:
        """Intervals that contain a deviation for each level that they violate, where programs fail.

        At last they state nothing more than the outsider's a priori bounds. None if those are open too.
        """
        problem, plan = self.joint.problem, self.joint.plan
        vague = self.stated(*box_deviation_bounds(problem))
        if not self.passes(self.joint.pattern(x, vague)):
            return None
        intervals = self.stated(*self.joint.deviation_bounds(x))
        for _ in range(0 if self.deadline.passed() else RoundSettings.repairs):
            pattern = self.joint.pattern(x, intervals)
            if self.passes(pattern):
                return intervals
            finder = WitnessFinder(problem, plan.interval, pattern.view(problem))
            verdict = audit(problem, pattern, progress=self.progress)
            intervals = self._of_plan(
                lengthened(problem, intervals, missing_deviations(problem, finder, verdict))
            )
        return vague

    def _tightened(self, x: Floats, intervals: Intervals) -> Intervals:
        """Attainable intervals. An optimum is tight already where cells have weight."""
        tight = attainable(self.joint, x, intervals, self.progress)
        return tight if tight is not None and self.passes(self.joint.pattern(x, tight)) else intervals

    def stated(self, below: Floats, above: Floats) -> Intervals:
        """The intervals of the cells that are published so, with these deviation bounds."""
        return self._of_plan(stated_intervals(self.joint.problem, below, above))

    def _of_plan(self, intervals: Intervals) -> Intervals:
        """Intervals of the cells that are published so; zero elsewhere."""
        interval = self.joint.plan.interval
        return Intervals(np.where(interval, intervals.low, 0.0), np.where(interval, intervals.high, 0.0))

    def passes(self, pattern: Mixed) -> bool:
        """Whether the audit finds no fault except open cells that may be so."""
        if not self.joint.plan.keeps_bounds(pattern):
            return False
        verdict = audit_within(self.joint.problem, pattern, self.deadline, self.progress)
        return verdict is not None and accepted_with(self.joint.plan, verdict, self.left_open)
