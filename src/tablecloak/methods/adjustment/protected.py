"""Perturbation with attackers: the form over the ranges of `reach`, both models, and whole units at the end.

The stated reach depends on what is shown, f(v) = constant + rate v, so the room that the publication leaves is

    U = v + f(v) - a = own + (1 + rate) d,    D = a - v + f(v) = own - (1 - rate) d,    d = v - a,  own = f(a),

affine in what is decided, as `unified.formulation` asks. What is stated in the end is a little more, which only adds
room (and lets whole units cost a little less than the model's optimum, at times).

Whole units may take away some room that a solution in fractions had: then levels are asked for with a margin of some
units, until the audit accepts what comes out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_array, diags_array

from tablecloak.arrays import Bools, Floats
from tablecloak.errors import InfeasibleProblem, InputError
from tablecloak.methods.adjustment.integer_units import adds_up, fewest_digits_until
from tablecloak.methods.adjustment.leaf_perturbation import leaf_move
from tablecloak.methods.adjustment.model import Adjustment
from tablecloak.methods.adjustment.reach import Ranges, ReachRule, cost_of, pattern_of, ranges_of
from tablecloak.methods.adjustment.reweighted_start import quick_move
from tablecloak.methods.base import Run
from tablecloak.methods.feasibility import largest_pattern
from tablecloak.methods.timed_audit import audit_within
from tablecloak.methods.unified import (
    Affine,
    CuttingPlaneModel,
    Formulation,
    ModelSolution,
    ShownFormulation,
    additivity,
    length_unit,
    perturbation_formulation,
    solve_compact_model,
    with_senses,
)
from tablecloak.model import Perturbation, Problem, all_requirements, conditional_widths
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import MixedSolution, Outcome, watched

FRACTIONS = "no solution in whole data units was found: shown values have more decimals than the data"
COUNTED_ON = "attackers were given the reach that is counted on; what is stated is rounded up from it"
MARGINS = (0.0, 1.0, 2.0, 4.0, 8.0)
"""Units by which levels are raised, one after the other."""
PROGRAM_SHARE = 0.75
"""The share of the time left that a program may take; the rest is for whole units and the audit."""
FIRST = "first perturbation"
"""The phase of progress that tells the cost of one that is there early."""
Made = TypeVar("Made")


@dataclass(frozen=True)
class FirstSettings:
    """Untested default."""

    larger: int = 1000
    """In tables of more cells than this a perturbation to fall back on is made first, also without a limit of time."""
    check_share: float = 0.9
    """The share of the time that the check whether anything protects the problem may take then."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """What was found: moves in units (empty: none), how the program ended, and whether the audit accepts it."""

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


def price_unit(problem: Problem) -> float:
    """What costs are measured in, so that those of a program are around one."""
    positive = problem.weights[problem.weights > 0]
    return (float(positive.mean()) if positive.size else 1.0) * length_unit(problem)


def form_of(problem: Problem, ranges: Ranges, counted: bool) -> ShownFormulation:
    """Columns and rows of a perturbation within ranges; cells with a choice have a binary sense, if there are any.

    Costs are in units of `price_unit`.
    """
    unit, length = problem.table.unit, length_unit(problem)
    cells = ~problem.forced
    furthest = np.maximum.reduce([ranges.high, -ranges.low, ranges.up_high, ranges.down_high]) * unit
    prices = problem.weights / price_unit(problem)
    shown = perturbation_formulation(problem, cells, np.where(cells, furthest, 0.0), prices, counted)
    mine = np.flatnonzero(cells & (furthest > 0))
    count, ratio = mine.size, unit / length
    sensitive, rises, falls = (mask[mine] for mask in (problem.sensitive, ranges.rises, ranges.falls))
    low, high = shown.formulation.low.copy(), shown.formulation.high.copy()
    high[:count] = np.where(problem.sensitive, ranges.up_high, ranges.high)[mine] * ratio
    high[count : 2 * count] = np.where(problem.sensitive, ranges.down_high, -ranges.low)[mine] * ratio
    high[:count][sensitive & ~rises] = 0.0
    high[count : 2 * count][sensitive & ~falls] = 0.0
    if not ranges.both.any():
        low[:count] = np.where(rises, ranges.up_low[mine] * ratio, 0.0)
        low[count : 2 * count] = np.where(falls, ranges.down_low[mine] * ratio, 0.0)
    shown = replace(shown, formulation=replace(shown.formulation, low=low, high=high))
    if ranges.both.any():
        columns = shown.formulation.size
        shown = with_senses(shown, problem, cells, ranges.up_low * unit, ranges.down_low * unit)
        low, high = shown.formulation.low.copy(), shown.formulation.high.copy()
        low[columns:] = (rises & ~falls)[sensitive]
        high[columns:] = rises[sensitive]
        shown = replace(shown, formulation=replace(shown.formulation, low=low, high=high))
    form = shown.formulation.with_constraints(additivity(problem, shown.value)).at_most_touched(
        problem.most_touched
    )
    own = ranges.constant + ranges.rate * np.where(cells, problem.table.values, 0.0)
    above = Affine(own, csr_array(diags_array(1 + ranges.rate) @ shown.value.matrix))
    below = Affine(own, csr_array(diags_array(ranges.rate - 1) @ shown.value.matrix))
    return replace(shown, formulation=replace(form, above=above, below=below))


def counts_cells(problem: Problem) -> bool:
    """Whether it matters which cells are changed at all."""
    return problem.most_touched is not None or bool((problem.levels.conditional > 0).any())


def against_attackers(
    problem: Problem, ranges: Ranges, *, first: bool, deadline: Deadline, progress: Progress
) -> Attempt:
    """The best perturbation that no attacker can undo; unsafe, or none, if that was not found."""
    last: Attempt | None = None
    for margin in MARGINS:
        found = _solved(problem, ranges, margin, first=first, deadline=deadline, progress=progress)
        if last is not None and found.pattern is None:
            return last
        bound = found.bound if last is None else last.bound  # that of the levels as they are
        last = replace(found, bound=bound, margin=margin)
        if found.safe or found.pattern is None or found.outcome is not Outcome.OPTIMAL or deadline.passed():
            break
    assert last is not None
    return last


def without_attackers(problem: Problem, ranges: Ranges, deadline: Deadline, progress: Progress) -> Attempt:
    """The best perturbation that keeps sensitive cells away from the truth, whatever attackers make of it."""
    shown = form_of(problem, ranges, problem.most_touched is not None)
    answer = CuttingPlaneModel(
        problem, shown.formulation, [], [], deadline.share(PROGRAM_SHARE), _priced(problem, progress)
    ).solve()
    return _attempt(problem, ranges, shown, answer, deadline, progress)


def by_balancing(
    problem: Problem,
    ranges: Ranges,
    bound: float,
    rng: np.random.Generator,
    progress: Progress,
    deadline: Deadline,
    *,
    fallback: bool = False,
) -> Attempt | None:
    """Something to return when programs have nothing: senses that nearly balance, mended (`reweighted_start`), or None.

    Attackers are not in it; `bound` is one that is known. `fallback`: there is another one, so that the deadline is
    kept to.
    """
    adjustment = Adjustment(problem, ranges, deadline, fallback=fallback)
    move = quick_move(adjustment, rng, progress)
    if move is None:
        return None
    low, high = adjustment.ends(adjustment.senses(move.moved))
    moved, whole = fewest_digits_until(problem, move.moved, low, high, deadline)
    if not adds_up(problem, moved):
        return None
    pattern = pattern_of(problem, ranges, moved)
    cost, safe = cost_of(problem, moved), _is_safe(problem, pattern, deadline, progress)
    return Attempt(Outcome.TIME_LIMIT, moved, pattern, safe, cost, min(bound, cost), 0, 0, whole=whole)


def needs_first(problem: Problem, deadline: Deadline) -> bool:
    """Whether a perturbation to fall back on is made first: with a limit of time, and in tables that take long."""
    return deadline.moment is not None or len(problem.table) > FirstSettings.larger


def made(run: Run, work: Callable[[], Made]) -> Made:
    """What short work gives without which there is no result: after an interrupt within it, it is made again."""
    found = run.until_stopped(work)
    return work() if found is None else found


def opened(
    method: str,
    problem: Problem,
    rule: ReachRule,
    run: Run,
    progress: Progress,
    given: Callable[[Ranges], Ranges] = lambda ranges: ranges,
) -> tuple[Ranges, Attempt | None]:
    """Where cells may be shown (`given`: with senses), and a first perturbation, if there is time for no other.

    Raises where nothing can protect the problem; where there is a first perturbation, the time for that is limited.
    Levels that do not fit into the stated reach are told after that.
    """
    quick, wrong, deadline = None, None, run.deadline
    try:
        ranges = given(made(run, lambda: ranges_of(method, problem, rule)))
    except InputError as error:
        wrong = error
    with run.stoppable():
        if wrong is None and needs_first(problem, deadline):
            quick = by_leaves(problem, ranges)
            progress(FIRST, 1, 1, None if quick is None else quick.cost)
        anyhow = replace(problem, most_touched=None) if problem.most_touched is not None else problem
        if quick is None:
            largest_pattern(anyhow, progress)
        else:
            within = deadline.share(FirstSettings.check_share)
            with watched(within.check):
                largest_pattern(anyhow, within.watched(progress))
    if wrong is not None:
        raise wrong
    return ranges, quick


def by_leaves(problem: Problem, ranges: Ranges) -> Attempt | None:
    """Something to return when there was no time for anything else: leaves moved by their levels (`leaf_perturbation`).

    It takes a moment at any size, and is not audited. None where totals do not stay within their ranges this way.
    """
    moved = leaf_move(problem, ranges) if problem.is_monotone else None
    if moved is None:
        return None
    pattern = pattern_of(problem, ranges, moved)
    return Attempt(Outcome.TIME_LIMIT, moved, pattern, False, cost_of(problem, moved), 0.0)


def _solved(
    problem: Problem, ranges: Ranges, margin: float, *, first: bool, deadline: Deadline, progress: Progress
) -> Attempt:
    shown = form_of(problem, ranges, counts_cells(problem))
    more, limit = margin * problem.table.unit, deadline.share(PROGRAM_SHARE)
    requirements = [
        replace(requirement, level=requirement.level + more) for requirement in all_requirements(problem)
    ]
    widths = [
        replace(requirement, level=requirement.level + more)
        for requirement in conditional_widths(problem, ~problem.sensitive & ~problem.forced)
    ]
    if first:
        progress("first model", 0, 1)
        answer = _answer(
            solve_compact_model(problem, shown.formulation, requirements, widths, limit.left),
            shown.formulation,
        )
    else:
        told = _priced(problem, progress)
        answer = CuttingPlaneModel(problem, shown.formulation, requirements, widths, limit, told).solve()
    return _attempt(problem, ranges, shown, answer, deadline, progress)


def _priced(problem: Problem, progress: Progress) -> Progress:
    """Progress of a program in units of `price_unit`, told in costs."""
    factor = price_unit(problem)

    def told(
        phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        costs = [None if one is None else one * factor for one in (incumbent, bound)]
        progress(phase, done, total, *costs)

    return told


def _answer(solution: MixedSolution, form: Formulation) -> ModelSolution:
    """The first model's solution as an answer of the second."""
    there = solution.values.size == form.size
    objective = solution.objective if there else math.inf
    return ModelSolution(solution.outcome, solution.values, there, objective, solution.bound, 0, 0)


def _attempt(
    problem: Problem,
    ranges: Ranges,
    shown: ShownFormulation,
    answer: ModelSolution,
    deadline: Deadline,
    progress: Progress,
) -> Attempt:
    """The answer in whole units, audited. Whole units have a moment also when the time is up."""
    unit = problem.table.unit
    if answer.values.size < shown.formulation.size or (
        answer.outcome is Outcome.INFEASIBLE and not answer.safe
    ):
        return _none(problem, answer)
    moved = (shown.value.at(answer.values) - problem.table.values) / unit
    low, high = ranges.with_senses(moved > 0).ends()
    still = _still(problem, shown, answer.values)
    low, high = np.where(still, 0.0, low), np.where(still, 0.0, high)
    moved, whole = fewest_digits_until(problem, moved, low, high, deadline)
    if not adds_up(problem, moved):
        return _none(problem, answer)
    pattern = pattern_of(problem, ranges, moved)
    cost = cost_of(problem, moved)
    bound = max(answer.bound * price_unit(problem), 0.0)
    safe = _is_safe(problem, pattern, deadline, progress)
    return Attempt(answer.outcome, moved, pattern, safe, cost, bound, answer.rounds, answer.rows, whole=whole)


def _is_safe(problem: Problem, pattern: Perturbation, deadline: Deadline, progress: Progress) -> bool:
    """Whether the audit finds no cell open; False, nothing known, where there is no time for an audit."""
    safe = False
    with deadline.stoppable():  # what is judged remains after an interrupt
        verdict = audit_within(problem, pattern, deadline, progress)
        safe = verdict is not None and verdict.safe
    return safe


def _none(problem: Problem, answer: ModelSolution) -> Attempt:
    """Nothing was found."""
    bound = answer.bound * price_unit(problem) if math.isfinite(answer.bound) else 0.0
    return Attempt(answer.outcome, np.zeros(0), None, False, math.inf, bound, answer.rounds, answer.rows)


def _still(problem: Problem, shown: ShownFormulation, x: Floats) -> Bools:
    """Cells that must not be changed: forced ones, and those that the program counts as untouched."""
    still = problem.forced.copy()
    if shown.formulation.touched.matrix.nnz:
        still |= shown.formulation.touched.at(x) < 0.5
    return still


def out_of_reach(problem: Problem) -> InfeasibleProblem:
    """The refusal where no perturbation shows all sensitive cells a level away."""
    return InfeasibleProblem(
        "No perturbation keeps all sensitive cells away from their true values. "
        "Raise `share` or `least`, or force fewer cells to be published.",
        cells=problem.table.labels(np.flatnonzero(problem.sensitive)),
        forced=problem.table.labels(np.flatnonzero(problem.forced)),
    )
