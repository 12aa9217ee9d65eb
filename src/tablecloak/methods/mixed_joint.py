"""mixed-joint: different ways for different cells of one table, decided together, beside what was published before.

    min  sum of what each way costs:  w x (suppress),  w (z+ + z-) (interval),  w |v - a| (round, perturb)
    what is printed adds up wherever all cells of an equation show a number by their way   (`mixed.formulation`)
    every level of every attacker who has all of it at once, and what was published before (`unified.protection_cuts`)

By default inner cells are intervals and totals are rounded. What each way states is room for all the others: where
totals are rounded anyway, narrower intervals protect. One program decides all of it, so nothing is protected twice.
Cells published before keep their statement: it costs what it costs, and leaves the room that it leaves.

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework, last section (combinations).
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.attacker import WitnessFinder
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, SolverError
from tablecloak.methods.base import GRACE, Proposal, Run
from tablecloak.methods.heuristics import ROUNDS, lengthened, missing_deviations
from tablecloak.methods.intervals import HAIR, LEAST_ASYMMETRY, on_grid, snapped
from tablecloak.methods.intervals import stated as stated_intervals
from tablecloak.methods.mixed import (
    UNDECIDED,
    AtHand,
    Found,
    Joint,
    JointSettings,
    MixedParams,
    Plan,
    accepted_with,
    attainable,
    cannot_add_up,
    check_divisible,
    check_in_time,
    joint_of,
    notes_of,
    numbers_at_hand,
    numbers_by_annealing,
    of_true_cells,
    plan_of,
    proposal_of,
    refusal_of,
    skewed_plan,
    stated_wider,
)
from tablecloak.methods.timed_audit import audit_within
from tablecloak.methods.unified import CuttingPlaneModel, ModelSolution, length_unit, solve_compact_model
from tablecloak.model import (
    Intervals,
    Mixed,
    Problem,
    Requirement,
    all_requirements,
    box_deviation_bounds,
    conditional_widths,
)
from tablecloak.progress import NEVER, Deadline, Progress
from tablecloak.solvers import Outcome

NAME = "mixed-joint"
MOST_STEPS = 3
"""So many steps of rounding are tried when none were asked for and nothing adds up."""
MARGINS = ((0.0, 0.0), (1e-5, 0.0), (0.0, 1.0), (0.0, 2.0), (0.0, 4.0), (0.0, 8.0))
"""Levels are raised by a share and by data units, one after the other, until the audit accepts what comes out; units
only where cells are perturbed, for their whole units may take away room that a solution in fractions had."""
NUMBERS_SHARE = 0.5
"""The share of the time that programs have for numbers that add up."""
HAIRS = (
    0.0,
    HAIR,
    10 * HAIR,
)  # by such shares intervals are lengthened first: what linear programs leave open


class _Unsettled(SolverError):
    """Programs found nothing that the audit accepts, and do not prove that there is nothing."""


def mixed_joint(
    problem: Problem,
    *,
    params: MixedParams,
    rng: np.random.Generator,
    progress: Progress,
    executor: Executor | None,
) -> Proposal:
    """The cheapest publication in these ways that protects, proven before its intervals are blurred."""
    plan = plan_of(NAME, problem, params)
    run = Run(params.seconds)
    deadline = run.deadline
    chance, early = rng.spawn(1)[0], rng.spawn(1)[0]
    hand = run.until_stopped(lambda: numbers_at_hand(NAME, plan, params.steps, early, deadline, progress))
    before = deadline.left
    with run.stoppable():
        if hand is not None and deadline.moment is not None:
            first = _vague(plan, params, hand.numbers, deadline, progress)
            progress("annealing", 1, 1, first.pattern.loss(problem))
        progress("is it feasible at all", 0, 1)
        check_in_time(plan, NEVER if hand is None else deadline.share(JointSettings.possible_share), progress)
    check_divisible(plan)
    late = False
    if deadline.moment is not None:  # time for a judgement in the end that takes as long as this one
        took = before - deadline.left
        deadline = deadline.earlier(min(took, JointSettings.judged_share * before))
        late = hand is not None and deadline.left < took  # nothing could be judged that programs find
    blurred = plan.interval & problem.sensitive
    asymmetry = params.asymmetry if blurred.any() else 0.0
    half = deadline.share(0.5) if asymmetry > 0 else deadline
    steps = [params.steps] if params.steps is not None else list(range(MOST_STEPS + 1))
    numbers = None
    if not late:
        numbers = run.until_stopped(lambda: _adding_up(plan, params, steps, deadline, progress, chance, hand))
    if numbers is None and hand is not None:
        numbers = hand.numbers
    if numbers is None:
        numbers = numbers_by_annealing(NAME, plan, params.steps, chance, deadline, progress)
    adding_up = numbers
    found, settled = None, True
    for until in () if late else (half, deadline):
        if found is None and settled and not until.passed():
            try:
                found = run.until_stopped(partial(_cheapest, plan, params, adding_up, until, progress))
            except _Unsettled:
                settled = False
    if found is None:
        linked = hand is not None and hand.tied and (late or run.deadline.passed())
        found, late = _vague(plan, params, numbers, run.deadline, progress, judged=not linked), True
        if not settled:
            found = replace(found, answer=replace(found.answer, outcome=Outcome.FAILED))
        if not settled and not accepted_with(plan, audit(problem, found.pattern, progress=progress), True):
            raise SolverError(UNDECIDED)
    printed = exact = found
    share = rng.bit_generator.random_raw()
    while asymmetry > 0:
        larger = skewed_plan(plan, blurred, asymmetry, share)
        more = None
        try:
            with run.stoppable():
                if not (late or deadline.passed()):
                    more = _for_larger_levels(larger, params, exact, deadline, progress, rng)
        except (InfeasibleProblem, SolverError):  # or nothing was found for levels as large as these
            again = asymmetry > LEAST_ASYMMETRY and not deadline.passed()
            asymmetry = asymmetry / 2 if again else 0.0
            continue
        printed, asymmetry = (exact, 0.0) if more is None else (more, asymmetry)
        break
    pattern = printed.joint.pattern(printed.x, on_grid(problem, printed.intervals, params.grid))
    notes = notes_of(plan, pattern, exact)
    if blurred.any() and asymmetry < params.asymmetry:
        notes.append(f"the levels could be made larger by an asymmetry of {asymmetry:g} only")
    return proposal_of(problem, params, pattern, exact, notes, run)


def _for_larger_levels(
    larger: Plan,
    params: MixedParams,
    exact: Found,
    deadline: Deadline,
    progress: Progress,
    rng: np.random.Generator,
) -> Found | None:
    """The publication of the same kind for levels that chance made larger; None: the time was up first."""
    check_in_time(larger, deadline, progress)
    numbers = joint_of(larger, exact.joint.steps), exact.x, 0.0
    if larger.perturbed.any():
        numbers = _adding_up(larger, params, [exact.joint.steps], deadline, progress, rng)
    return _cheapest(larger, params, numbers, deadline, progress, exact)


# ---------------------------------------------------------------------- the cheapest


def _cheapest(
    plan: Plan,
    params: MixedParams,
    found: tuple[Joint, Floats, float],
    deadline: Deadline,
    progress: Progress,
    before: Found | None = None,
) -> Found | None:
    """The cheapest publication that protects every cell, or all but those that show numbers which need not be true.

    It begins with numbers that add up (`found`: program, columns, what they cost at least). After another one
    (`before`) it is of the same kind. None: the time was up first.
    """
    joint, numbers, least = found
    every = all_requirements(plan.problem), conditional_widths(plan.problem, ~plan.exact)
    kept = of_true_cells(plan, every[0]), of_true_cells(plan, every[1])
    kinds = [False, True] if sum(map(len, kept)) < sum(map(len, every)) else [False]
    proven = True
    for left_open in kinds if before is None else [before.left_open]:
        model = _Asked(joint, params, kept if left_open else every, left_open, deadline, progress)
        last = before is None and left_open == kinds[-1]
        best = model.solve(joint.widest(numbers), least, last=last)
        if isinstance(best, Found):
            return best
        proven = best is Outcome.INFEASIBLE
    if before is None and (deadline.passed() or best is Outcome.TIME_LIMIT):
        return None
    if not proven:
        raise _Unsettled(UNDECIDED)
    raise model.refusal(joint.widest(numbers), explained=before is None)


def _adding_up(
    plan: Plan,
    params: MixedParams,
    steps: list[int],
    deadline: Deadline,
    progress: Progress,
    rng: np.random.Generator,
    hand: AtHand | None = None,
) -> tuple[Joint, Floats, float]:
    """The program with the fewest steps of rounding for which numbers add up, such numbers, and what they cost.

    Where programs take too long the numbers are those of an annealed rounding, with the steps that it needs.
    """
    limit = deadline.share(NUMBERS_SHARE)
    limit = limit.at_least(GRACE) if hand is None else limit
    for number in steps if plan.rounded.any() else [0]:
        joint = joint_of(plan, number)
        if not plan.changed.any():
            return joint, np.zeros(joint.form.size), 0.0
        answer = CuttingPlaneModel(plan.problem, joint.free, [], [], limit, progress).solve()
        if answer.safe:
            return joint, answer.values, answer.bound
        if answer.outcome is not Outcome.INFEASIBLE:
            if hand is not None and deadline.stops:
                return hand.numbers
            return numbers_by_annealing(NAME, plan, params.steps, rng, deadline, progress)
    raise cannot_add_up(plan, steps[-1])


def _vague(
    plan: Plan,
    params: MixedParams,
    numbers: tuple[Joint, Floats, float],
    deadline: Deadline,
    progress: Progress,
    *,
    judged: bool = False,
) -> Found:
    """Numbers that add up, everything else as vague as needed, when there was no time for anything better.

    Where the steps are free, rounded cells state a reach as good as hiding, safe wherever that is. Intervals that are
    not `judged` in time state no more than the outsider's box.
    """
    joint, x, least = numbers
    if params.steps is None:
        joint, x = stated_wider(joint, x)
    x = joint.widest(x)
    model = _Asked(joint, params, ([], []), False, deadline.later(GRACE / 2), progress)
    intervals = model.stated(*joint.room(x))
    if not (judged and model.passes(joint.pattern(x, intervals))):
        intervals = model.stated(*box_deviation_bounds(plan.problem))
    pattern = joint.pattern(x, intervals)
    answer = ModelSolution(Outcome.TIME_LIMIT, x, True, pattern.loss(plan.problem), least, 0, 0)
    return Found(joint, x, pattern, intervals, answer, left_open=bool(plan.changed.any()))


@dataclass(frozen=True, eq=False)
class _Asked:
    """A program and the levels that are asked of it. Confidential."""

    joint: Joint
    params: MixedParams
    asked: tuple[list[Requirement], list[Requirement]]
    """Levels, and widths of cells if they are touched."""
    left_open: bool
    """Whether the cells that show numbers which need not be true may be open."""
    deadline: Deadline
    progress: Progress

    def solve(self, start: Floats, least: float, *, last: bool) -> Found | Outcome:
        """The cheapest that meets what is asked, audited, or why there is none: infeasible only if that is proven.

        `least` is what it costs in any case.
        """
        plan, bound, latest = self.joint.plan, -math.inf, None
        before = self.deadline.left
        known = self.accepted(start)
        offer, took = (None if known is None else start), before - self.deadline.left
        work = self if self.deadline.moment is None else replace(self, deadline=self.deadline.earlier(took))
        for share, units in MARGINS if plan.perturbed.any() else MARGINS[:2]:
            more = units * plan.problem.table.unit
            levels, widths = (
                [
                    replace(requirement, level=requirement.level * (1 + share) + more)
                    for requirement in requirements
                ]
                for requirements in self.asked
            )
            answer = work._answer(levels, widths, offer)
            bound = max(answer.bound, least) if bound == -math.inf else bound
            exactly = share == units == 0.0
            if not answer.safe and ((exactly and answer.outcome is Outcome.INFEASIBLE) or not last):
                return answer.outcome
            if not answer.safe:
                break
            latest = answer
            x = np.where(self.joint.form.integral, np.rint(answer.values), answer.values)
            intervals = known if answer.values is offer else self.accepted(x)
            if intervals is not None:
                if answer.outcome is Outcome.OPTIMAL:
                    intervals = self._tightened(x, intervals)
                pattern = self.joint.pattern(x, intervals)
                return Found(self.joint, x, pattern, intervals, replace(answer, bound=bound), self.left_open)
        stopped = work.deadline.passed() or answer.outcome is Outcome.TIME_LIMIT
        late = Outcome.TIME_LIMIT if stopped else Outcome.FAILED
        for x in [start] if latest is None else [latest.values, start]:
            x = np.where(self.joint.form.integral, np.rint(x), x)
            intervals = self._lengthened(x)
            if intervals is not None:
                answer = replace(latest or answer, outcome=late, values=x, bound=bound)
                return Found(
                    self.joint, x, self.joint.pattern(x, intervals), intervals, answer, self.left_open
                )
        return late

    def _lengthened(self, x: Floats) -> Intervals | None:
        """Intervals that hold a deviation for each level that they miss at a point, where programs fail.

        At last they state nothing more than the outsider's box. None if that is open too.
        """
        problem, plan = self.joint.problem, self.joint.plan
        vague = self.stated(*box_deviation_bounds(problem))
        if not self.passes(self.joint.pattern(x, vague)):
            return None
        intervals = self.stated(*self.joint.room(x))
        for _ in range(0 if self.deadline.passed() else ROUNDS):
            pattern = self.joint.pattern(x, intervals)
            if self.passes(pattern):
                return intervals
            finder = WitnessFinder(problem, plan.interval, pattern.view(problem))
            verdict = audit(problem, pattern, progress=self.progress)
            longer = lengthened(problem, intervals, missing_deviations(problem, finder, verdict))
            intervals = Intervals(
                np.where(plan.interval, longer.low, 0.0), np.where(plan.interval, longer.high, 0.0)
            )
        return vague

    def _answer(
        self, levels: list[Requirement], widths: list[Requirement], offer: Floats | None
    ) -> ModelSolution:
        """The optimum, or what there is when the time is up."""
        problem, form, deadline = self.joint.problem, self.joint.form, self.deadline
        if self.params.model == "first" and not deadline.passed():
            found = solve_compact_model(problem, form, levels, widths, deadline.left)
            if found.values.size or not found.outcome.undecided or offer is None:
                there = found.values.size == form.size
                safe = there and (found.outcome is Outcome.OPTIMAL or found.outcome.undecided)
                return ModelSolution(found.outcome, found.values, safe, found.objective, found.bound, 1, 0)
        model = CuttingPlaneModel(problem, form, levels, widths, deadline, self.progress)
        if offer is not None:
            model.offer(offer)
        return model.solve()

    def refusal(self, start: Floats, *, explained: bool) -> InfeasibleProblem:
        """What to say when nothing meets what is asked; names cells that are open even where all else is vague.

        `explained`: whether they are worked out; not where a smaller asymmetry is tried next.
        """
        problem, cells = self.joint.problem, []
        if explained:
            widest = self.joint.pattern(start, self.stated(*self.joint.room(start)))
            cells = problem.table.labels(audit(problem, widest, progress=self.progress).open_cells)
        return refusal_of(self.joint, list(cells))

    # ------------------------------------------------------------------ what is printed

    def accepted(self, x: Floats) -> Intervals | None:
        """Intervals, a hair longer if need be, with which the audit accepts what the columns say; None: it does not."""
        problem, unit = self.joint.problem, length_unit(self.joint.problem)
        most = box_deviation_bounds(problem)
        for hair in HAIRS if self.joint.plan.interval.any() else HAIRS[:1]:
            if hair and self.deadline.passed():
                break
            least = min(HAIR * unit, problem.table.unit / 2)
            rooms = (np.where(room > least, room + hair * unit, 0.0) for room in self.joint.room(x))
            below, above = (
                snapped(problem, room, limit, hair) for room, limit in zip(rooms, most, strict=True)
            )
            intervals = self.stated(below, above)
            if self.passes(self.joint.pattern(x, intervals)):
                return intervals
        return None

    def passes(self, pattern: Mixed) -> bool:
        """Whether the audit finds no fault, but open cells that may be so."""
        verdict = audit_within(self.joint.problem, pattern, self.deadline, self.progress)
        return verdict is not None and accepted_with(self.joint.plan, verdict, self.left_open)

    def stated(self, below: Floats, above: Floats) -> Intervals:
        """The intervals of the cells that are published so."""
        interval, whole = self.joint.plan.interval, stated_intervals(self.joint.problem, below, above)
        return Intervals(np.where(interval, whole.low, 0.0), np.where(interval, whole.high, 0.0))

    def _tightened(self, x: Floats, intervals: Intervals) -> Intervals:
        """Only what the outsider cannot exclude: both ends attainable. An optimum is so where cells have weight."""
        tight = attainable(self.joint, x, intervals, self.progress)
        return tight if tight is not None and self.passes(self.joint.pattern(x, tight)) else intervals
