"""Perturbations that attackers cannot undo, and those to fall back on.

The formulation over the ranges of `reach` is solved by cutting planes or as a compact model, then brought to integer
units and audited. Integer units may take away some deviation that a solution in fractions allowed: then levels are
raised by a margin of some units, until the audit accepts the result.

Without a program there are moves of leaves (`leaf_perturbation`), and with linear programs only those of
`reweighted_start`; both ignore attackers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.errors import InfeasibleProblem, InputError
from tablecloak.methods.adjustment.formulation import formulate, in_costs, price_unit
from tablecloak.methods.adjustment.integer_units import IntegerUnits, is_additive
from tablecloak.methods.adjustment.leaf_perturbation import leaf_move
from tablecloak.methods.adjustment.programs import Adjustment
from tablecloak.methods.adjustment.reach import Range, Ranges, cost_of, pattern_of
from tablecloak.methods.adjustment.reweighted_start import quick_move
from tablecloak.methods.adjustment.settings import AdjustmentSettings
from tablecloak.methods.base import Proposal, Run
from tablecloak.methods.feasibility import largest_pattern
from tablecloak.methods.timed_audit import audit_within, audited_first
from tablecloak.methods.unified import (
    CuttingPlaneModel,
    ModelSolution,
    ShownFormulation,
    solve_compact_model,
    without_ties,
)
from tablecloak.model import (
    Perturbation,
    Problem,
    Requirement,
    Status,
    all_requirements,
    conditional_requirements,
)
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import Outcome, watched

FRACTIONS = "no solution in whole data units was found: shown values have more decimals than the data"
COUNTED_ON = "attackers were given the reach that is counted on; what is stated is rounded up from it"
LEAVES = "stopped before programs had a perturbation that was audited: this one moves leaves and their totals"
FIRST = "first perturbation"
"""The phase of progress that reports the cost of an early perturbation."""
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Attempt:
    """A perturbation in units (empty: none), how its program ended, and whether the audit accepts it. Confidential."""

    outcome: Outcome
    moved: Floats
    pattern: Perturbation | None
    safe: bool
    cost: float
    bound: float
    rounds: int = 0
    rows: int = 0
    margin: float = 0.0
    whole: bool = True


def raised(requirements: list[Requirement], units: float, share: float = 0.0) -> list[Requirement]:
    """Requirements with levels raised by an amount and by a share."""
    return [
        replace(requirement, level=requirement.level * (1 + share) + units) for requirement in requirements
    ]


@dataclass(frozen=True, eq=False)
class Perturber:
    """Perturbations of one problem within given ranges. Confidential."""

    problem: Problem
    ranges: Ranges
    progress: Progress
    settings: AdjustmentSettings = AdjustmentSettings()

    def against_attackers(self, deadline: Deadline, *, compact: bool = False) -> Attempt:
        """The best perturbation that no attacker can undo; unsafe, or none, if that was not found."""
        last: Attempt | None = None
        for margin in self.settings.protection.margins:
            found = self._solved(margin, deadline, compact=compact)
            if last is not None and found.pattern is None:
                return last
            bound = found.bound if last is None else last.bound  # that of the levels as they are
            last = replace(found, bound=bound, margin=margin)
            optimal = found.outcome is Outcome.OPTIMAL
            if found.safe or found.pattern is None or not optimal or deadline.passed():
                break
        assert last is not None
        return last

    def without_attackers(self, deadline: Deadline) -> Attempt:
        """The best perturbation that keeps sensitive cells away from the truth, attackers left out."""
        problem = self.problem
        shown = formulate(problem, self.ranges, problem.most_touched is not None)
        limit = deadline.share(self.settings.protection.program_share)
        reported = in_costs(problem, self.progress)
        tuned = self.settings.cutting_plane
        solution = CuttingPlaneModel(problem, shown.formulation, [], [], limit, reported, tuned).solve()
        models = tuned, self.settings.compact
        solution = without_ties(problem, shown.formulation, solution, ([], []), limit, settings=models)
        return self._attempt(shown, solution, deadline)

    def by_sign_annealing(
        self, bound: float, rng: np.random.Generator, deadline: Deadline, *, fallback: bool = False
    ) -> Attempt | None:
        """A perturbation of `reweighted_start`, for when programs have nothing, or None.

        Attackers are left out; `bound` is a known one. `fallback`: another perturbation exists, so that the deadline is
        kept.
        """
        adjustment = Adjustment(
            self.problem, self.ranges, deadline, fallback=fallback, settings=self.settings
        )
        move = quick_move(adjustment, rng, self.progress)
        if move is None:
            return None
        ends = adjustment.ends(adjustment.senses(move.moved))
        found = self._finished(move.moved, ends, Outcome.TIME_LIMIT, deadline)
        return None if found is None else replace(found, bound=min(bound, found.cost))

    def by_leaves(self) -> Attempt | None:
        """A perturbation by moves of leaves (`leaf_perturbation`), for when there is no time for another.

        It takes a moment at any size, and is not audited. None where totals leave their ranges this way.
        """
        moved = (
            leaf_move(self.problem, self.ranges, self.settings.integer_units.leaf)
            if self.problem.is_monotone
            else None
        )
        if moved is None:
            return None
        pattern, cost = pattern_of(self.problem, self.ranges, moved), cost_of(self.problem, moved)
        return Attempt(Outcome.TIME_LIMIT, moved, pattern, False, cost, 0.0)

    def needs_fallback(self, deadline: Deadline) -> bool:
        """Whether a perturbation to fall back on is made first: with a time limit, and in tables that take long."""
        return deadline.moment is not None or len(self.problem.table) > self.settings.protection.large

    def _solved(self, margin: float, deadline: Deadline, *, compact: bool) -> Attempt:
        """The perturbation for levels raised by a margin of data units."""
        problem, tuned = self.problem, self.settings
        shown = formulate(problem, self.ranges, not problem.is_monotone)
        formulation, more = shown.formulation, margin * problem.table.unit
        limit = deadline.share(self.settings.protection.program_share)
        levels = raised(all_requirements(problem), more)
        widths = raised(conditional_requirements(problem, ~problem.sensitive & ~problem.forced), more)
        if compact:
            self.progress("first model", 0, 1)
            found = solve_compact_model(problem, formulation, levels, widths, limit.left, tuned.compact)
            solution = replace(found, rounds=0)  # no cuts were separated
        else:
            reported = in_costs(problem, self.progress)
            given = problem, formulation, levels, widths, limit, reported
            solution = CuttingPlaneModel(*given, tuned.cutting_plane).solve()
        solution = without_ties(
            problem,
            formulation,
            solution,
            (levels, widths),
            limit,
            known=None if compact else (),
            settings=(tuned.cutting_plane, tuned.compact),
        )
        return self._attempt(shown, solution, deadline)

    def _attempt(self, shown: ShownFormulation, solution: ModelSolution, deadline: Deadline) -> Attempt:
        """The solution of a program in integer units, audited."""
        problem, outcome, x = self.problem, solution.outcome, solution.values
        unit, finite = price_unit(problem), math.isfinite(solution.bound)
        found = None
        if x.size == shown.formulation.size and (outcome is not Outcome.INFEASIBLE or solution.safe):
            moved = (shown.value.at(x) - problem.table.values) / problem.table.unit
            still = _untouched(problem, shown, x)
            low, high = (np.where(still, 0.0, end) for end in self.ranges.with_senses(moved > 0).ends())
            found = self._finished(moved, (low, high), outcome, deadline)
        if found is None:
            bound = solution.bound * unit if finite else 0.0
            found = Attempt(outcome, np.zeros(0), None, False, math.inf, bound)
        else:
            found = replace(found, bound=max(solution.bound * unit, 0.0))
        return replace(found, rounds=solution.rounds, rows=solution.cuts)

    def _finished(self, moved: Floats, ends: Range, outcome: Outcome, deadline: Deadline) -> Attempt | None:
        """A move in integer units, audited; None if it is not additive. Integer units have a moment in any case."""
        problem, units = self.problem, IntegerUnits(self.problem, self.settings.integer_units)
        moved, whole = units.fewest_digits_until(moved, ends, deadline)
        if not is_additive(problem, moved):
            return None
        pattern = pattern_of(problem, self.ranges, moved)
        cost, safe = cost_of(problem, moved), self._is_safe(pattern, deadline)
        return Attempt(outcome, moved, pattern, safe, cost, 0.0, whole=whole)

    def _is_safe(self, pattern: Perturbation, deadline: Deadline) -> bool:
        """Whether the audit finds no open cell; False where there is no time for an audit."""
        safe = False
        with deadline.stoppable():  # what is audited remains after an interrupt
            verdict = audit_within(self.problem, pattern, deadline, self.progress)
            safe = verdict is not None and verdict.safe
        return safe


def _untouched(problem: Problem, shown: ShownFormulation, x: Floats) -> Bools:
    """Cells that must not be changed: forced ones, and those that the program counts as untouched."""
    still = problem.forced.copy()
    if shown.formulation.touched.matrix.nnz:
        still |= shown.formulation.touched.at(x) < 0.5
    return still


# ---------------------------------------------------------------------- openings and refusals


def made(run: Run, work: Callable[[], Made]) -> Made:
    """The result of short work without which there is none; after an interrupt within it, it is repeated."""
    found = run.until_stopped(work)
    return work() if found is None else found


def open_perturbation(
    problem: Problem,
    ranges: Callable[[], Ranges],
    run: Run,
    progress: Progress,
    settings: AdjustmentSettings,
) -> tuple[Perturber, Attempt | None, Proposal | None]:
    """The perturbations of a problem within ranges, and a first one if programs may take long.

    Without a time limit the first one is audited at once, and is a proposal then.

    Raises where the problem is infeasible; where there is a first perturbation, the time for that check is limited.
    Levels that do not fit into the stated reach are reported after that.
    """
    quick, first, wrong, perturber, deadline = None, None, None, None, run.deadline
    try:
        perturber = Perturber(problem, made(run, ranges), progress, settings)
    except InputError as error:
        wrong = error
    with run.stoppable():
        if perturber is not None and perturber.needs_fallback(deadline):
            quick = perturber.by_leaves()
            progress(FIRST, 1, 1, None if quick is None else quick.cost)
            first = _audited_leaves(problem, quick, run, progress)
        relaxed = replace(problem, most_touched=None) if problem.most_touched is not None else problem
        if quick is None:
            largest_pattern(relaxed, progress)
        else:
            within = deadline.share(settings.protection.check_share)
            with watched(within.check):
                largest_pattern(relaxed, within.watched(progress))
    if wrong is not None:
        raise wrong
    assert perturber is not None
    return perturber, quick, first


def _audited_leaves(problem: Problem, quick: Attempt | None, run: Run, progress: Progress) -> Proposal | None:
    """The first perturbation as a proposal, audited where there is no time limit."""
    if quick is None or quick.pattern is None:
        return None
    proposal = Proposal(
        quick.pattern, Status.FEASIBLE, "moves of leaves", 0.0, notes=(LEAVES,), may_leave_open=True
    )
    return audited_first(problem, run, progress, lambda: proposal)


def out_of_reach(
    problem: Problem, under: str = "", widen: str = "Raise `share` or `least`"
) -> InfeasibleProblem:
    """The refusal where no perturbation (`under` some conditions) shows all sensitive cells a level away."""
    return InfeasibleProblem(
        f"No perturbation{under} keeps all sensitive cells away from their true values. "
        f"{widen}, or force fewer cells to be published.",
        cells=problem.table.labels(np.flatnonzero(problem.sensitive)),
        forced=problem.table.labels(np.flatnonzero(problem.forced)),
    )
