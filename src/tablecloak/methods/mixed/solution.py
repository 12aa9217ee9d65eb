"""Results of mixed-joint: the publication, notes for its reader, and the proposal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker import is_network, structure_of
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, counted, listed
from tablecloak.methods.adjustment import COUNTED_ON, FRACTIONS
from tablecloak.methods.base import Proposal, Run
from tablecloak.methods.mixed.formulation import JointFormulation
from tablecloak.methods.mixed.plan import MixedParams, Plan
from tablecloak.methods.unified import FormulationSettings, ModelSolution
from tablecloak.model import Audit, Intervals, Mixed, Problem, Requirement, Status
from tablecloak.progress import Progress
from tablecloak.solvers import LP_PRECISION, UNIT_NOISE, Outcome

UNDECIDED = (
    "no publication in these ways was found that the audit accepts, and none is proven to be impossible; publish more "
    "cells as intervals or suppress them, lower levels, or give it more seconds"
)


@dataclass(frozen=True, eq=False)
class MixedPublication:
    """A publication, how its program ended, and whether cells with numbers may be open. Confidential."""

    joint: JointFormulation
    x: Floats
    pattern: Mixed
    intervals: Intervals
    answer: ModelSolution
    left_open: bool


def accepted_with(plan: Plan, verdict: Audit, left_open: bool) -> bool:
    """Whether the audit finds no fault except, if `left_open`, open cells that show numbers which need not be true."""
    wrong = verdict.too_many_touched or verdict.against_marks.size > 0
    return not wrong and bool((plan.changed & left_open)[verdict.open_cells].all())


def of_true_cells(plan: Plan, requirements: list[Requirement]) -> list[Requirement]:
    """Requirements without those of cells that show numbers which need not be true."""
    return [requirement for requirement in requirements if not plan.changed[requirement.cell]]


def attainable(
    joint: JointFormulation, x: Floats, intervals: Intervals, progress: Progress
) -> Intervals | None:
    """Intervals of cells without weight cut to what the outsider cannot exclude; None where there are no such cells."""
    problem = joint.problem
    loose = joint.plan.interval & (intervals.low < intervals.high)
    loose &= problem.applied_prices.free_sides
    if not loose.any():
        return None
    found = audit(problem, joint.pattern(x, intervals), intervals=True, every_hidden=True, progress=progress)
    rows = np.flatnonzero((found.attackers == 0) & loose[found.cells])
    cells: Ints = found.cells[rows]
    low, high, value = intervals.low.copy(), intervals.high.copy(), problem.table.values[cells]
    low[cells] = np.minimum(np.maximum(low[cells], found.low[rows]), value)
    high[cells] = np.maximum(np.minimum(high[cells], found.high[rows]), value)
    return Intervals(low, high)


def notes_of(plan: Plan, pattern: Mixed, exact: MixedPublication) -> list[str]:
    """Notes for the reader of a result."""
    table, notes, view = plan.problem.table, [], pattern.view(plan.problem)
    if exact.left_open:
        late, failed = exact.answer.outcome.undecided, exact.answer.outcome is Outcome.FAILED
        stopped = "the solver failed" if failed else "the time was up"
        why = f"{stopped} before numbers that protect" if late else "no numbers of this base or reach protect"
        notes.append(f"{why} every cell{' were found' if late else ''}; the audit names those left open")
    if exact.joint.steps:
        away = exact.joint.steps + 1
        notes.append(f"rounded cells may be {away} bases away from the truth: that is the stated reach")
    if plan.perturbed.any():
        notes.append(COUNTED_ON)
        moved = (view.shown - table.values)[plan.perturbed] / table.unit
        if (np.abs(moved - np.rint(moved)) > UNIT_NOISE).any():
            notes.append(FRACTIONS)
    if (plan.suppress.any() or plan.counted) and not is_network(plan.problem):
        notes.append(
            f"proven for deviations of at most {FormulationSettings().max_deviation:g} levels in hidden cells"
        )
    silent = np.isnan(view.shown)
    full = abs(table.equations) @ silent.astype(float) == 0
    off = np.abs(table.equations @ np.where(silent, 0.0, view.shown) - table.rhs) > table.unit / 2
    if count := int((full & off).sum()):
        notes.append(
            f"in {counted(count, 'equation')} all intervals came out as points, beside numbers that are only within "
            "their reach of the truth: what is printed there need not add up"
        )
    return notes


def proposal_of(
    problem: Problem, params: MixedParams, pattern: Mixed, exact: MixedPublication, notes: list[str], run: Run
) -> Proposal:
    """The proposal of a mixed publication, with what is proven about its cost."""
    answer, before, cost = exact.answer, exact.pattern.loss(problem), pattern.loss(problem)
    first, last = exact.pattern.view(problem), pattern.view(problem)
    same = bool((first.low == last.low).all() and (first.high == last.high).all())
    optimal, bound = answer.outcome is Outcome.OPTIMAL, max(0.0, answer.bound)
    slack = 20 * LP_PRECISION * bound + 1e-12
    proven = optimal and abs(before - bound) <= slack and not exact.left_open
    if optimal and not same:
        notes.append("the optimum is proven for the levels as they are; what is printed is blurred")
    ended = Status.OPTIMAL if same and proven else Status.FEASIBLE
    late = answer.outcome is Outcome.TIME_LIMIT
    # integer units and the stated reach are outside the model
    beyond = exact.joint.ranges is not None and bound > before + slack
    return Proposal(
        pattern,
        run.status(ended, complete=not late),
        f"{params.model} model (HiGHS) on {structure_of(problem.table).description}",
        bound=None if beyond else min(bound, before, cost),
        counters={
            "cost before blurring": before,
            "touched cells": int(exact.pattern.touched(problem).sum()),
            "published before": int(exact.joint.plan.published.sum()),
            "steps": exact.joint.steps,
            "rounds": answer.rounds,
            "rows": answer.cuts,
        },
        notes=tuple(notes),
        may_leave_open=exact.left_open,
    )


def refusal_of(joint: JointFormulation, cells: list[str]) -> InfeasibleProblem:
    """The refusal where nothing meets the requirements; `cells` are known to be open even where all else is vague."""
    problem = joint.problem
    bounds = [f"at most {problem.most_touched} cells touched"] if problem.most_touched is not None else []
    bounds += [f"{name} = {most}" for name, most in joint.plan.most.items()]
    most = f" with {' and '.join(bounds)}" if bounds else ""
    if joint.plan.rounded.any():
        most += f" (rounded cells within {counted(joint.steps + 1, 'base')} of the truth)"
    least = f" Among others these cells are open:\n{listed(cells)}" if cells else ""
    return InfeasibleProblem(
        f"No publication in these ways{most} adds up and meets all levels.{least}\n"
        "Publish more cells as intervals or suppress them, raise the base or the steps of rounding (or the reach "
        "of perturbation), lower levels, or allow more cells to be touched.",
        cells=cells,
    )
