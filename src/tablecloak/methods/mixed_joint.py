"""mixed-joint: different ways for different cells of one table, decided together, beside what was published before.

    min  sum of what each way costs:  w x (suppress),  w (z+ + z-) (interval),  w |v - a| (round, perturb),
    or the problem's prices of both sides and of touching (interval, round, perturb)
    what is printed adds up wherever all cells of an equation show a number by their way   (`mixed.formulation`)
    every level of every attacker, given all of it and what was published before           (`unified.protection_cuts`)

By default inner cells are intervals and totals are rounded. Each way leaves deviations that protect all others: where
totals are rounded anyway, narrower intervals protect. One program decides all of it, so nothing is protected twice.
Cells published before keep their statement, its cost and its deviation bounds.

1. Additive numbers of the rounded and perturbed cells, by a program or by annealing (`mixed.initial_solution`).
2. From these the cheapest publication that protects every cell, or all but those that show numbers (`mixed.model`).
3. The same for levels of intervals that are raised at random, against the midpoint attack.

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework, last section (combinations).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, SolverError
from tablecloak.methods.base import Proposal, Run, RunSettings
from tablecloak.methods.intervals import on_grid
from tablecloak.methods.mixed import (
    UNDECIDED,
    AdditiveNumbers,
    MixedModel,
    MixedParams,
    MixedPublication,
    MixedSettings,
    Plan,
    accepted_with,
    cannot_add_up,
    check_divisible,
    check_in_time,
    initial_numbers,
    joint_formulation,
    notes_of,
    numbers_by_annealing,
    of_true_cells,
    plan_of,
    proposal_of,
    skewed_plan,
    stated_wider,
)
from tablecloak.methods.timed_audit import audited_first
from tablecloak.methods.unified import CuttingPlaneModel, ModelSolution
from tablecloak.model import Problem, all_requirements, box_deviation_bounds, conditional_requirements
from tablecloak.progress import NEVER, Deadline, Progress
from tablecloak.solvers import Outcome

NAME = "mixed-joint"


class Unsettled(SolverError):
    """No publication was found that the audit accepts, and none is proven to be impossible."""


def mixed_joint(
    problem: Problem,
    *,
    params: MixedParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: MixedSettings = MixedSettings(),
) -> Proposal:
    """The cheapest publication in these ways that protects, proven before its intervals are blurred."""
    run = Run(params.seconds)
    search = _MixedSearch(plan_of(NAME, problem, params), params, run, progress, settings, run.deadline)
    search.chance, early = rng.spawn(1)[0], rng.spawn(1)[0]
    search.open(early)
    exact = search.exact(search.additive_numbers())
    printed, asymmetry = search.for_larger_levels(exact, rng)
    pattern = printed.joint.pattern(printed.x, on_grid(problem, printed.intervals, params.grid))
    if not search.plan.keeps_bounds(pattern):
        raise SolverError(
            "the time was up before a publication within the bounds on touched cells was found; give it more seconds"
        )
    notes = notes_of(search.plan, pattern, exact)
    if search.blurred.any() and asymmetry < params.asymmetry:
        notes.append(f"the levels could be made larger by an asymmetry of {asymmetry:g} only")
    return replace(proposal_of(problem, params, pattern, exact, notes, run), earlier=search.first)


@dataclass(eq=False)
class _MixedSearch:
    """The steps of the recipe for one plan. Confidential."""

    plan: Plan
    params: MixedParams
    run: Run
    progress: Progress
    settings: MixedSettings
    deadline: Deadline
    """The deadline of programs: time for a last audit is kept after it."""
    chance: np.random.Generator = field(default_factory=np.random.default_rng)
    initial: AdditiveNumbers | None = None
    """Numbers before programs start."""
    first: Proposal | None = None
    """The vague publication of these numbers, audited where there is no time limit."""
    half: Deadline = NEVER
    """The deadline for the levels as they are, where they are raised afterwards."""
    late: bool = False
    """Whether there is no time to audit what programs find."""

    @property
    def blurred(self) -> Bools:
        """Intervals whose levels are raised at random."""
        return self.plan.interval & self.plan.problem.sensitive

    @property
    def asymmetry(self) -> float:
        """The asymmetry of the levels, where any are raised."""
        return self.params.asymmetry if self.blurred.any() else 0.0

    def open(self, rng: np.random.Generator) -> None:
        """Numbers before programs start; refuse what is infeasible; divide the time."""
        plan, deadline, settings = self.plan, self.run.deadline, self.settings
        rounding, steps = settings.rounding, self.params.steps
        self.initial = self.run.until_stopped(
            lambda: initial_numbers(plan, steps, rng, deadline, self.progress, rounding)
        )
        before = deadline.left
        with self.run.stoppable():
            if self.initial is not None and deadline.moment is not None:
                first = self.vague(self.initial)
                self.progress("annealing", 1, 1, first.pattern.loss(plan.problem))
            if self.initial is not None:
                vague = partial(self._vague_proposal, self.initial)
                self.first = audited_first(plan.problem, self.run, self.progress, vague)
            self.progress("is it feasible at all", 0, 1)
            within = NEVER if self.initial is None else deadline.share(settings.possible_share)
            check_in_time(plan, within, self.progress)
        check_divisible(plan)
        if deadline.moment is not None:  # time for a last audit that takes as long as this one
            took = before - deadline.left
            self.deadline = deadline.earlier(min(took, settings.judged_share * before))
            self.late = self.initial is not None and self.deadline.left < took
        self.half = self.deadline.share(settings.exact_share) if self.asymmetry > 0 else self.deadline

    # ------------------------------------------------------------------ numbers

    def additive_numbers(self) -> AdditiveNumbers:
        """Additive numbers: by a program, those from before, or annealed."""
        most, rounding = self.params.steps, self.settings.rounding
        steps = [most] if most is not None else list(range(rounding.max_steps + 1))
        numbers = None if self.late else self.run.until_stopped(lambda: self._adding_up(steps))
        if numbers is None:
            numbers = self.initial
        return numbers if numbers is not None else self._annealed()

    def _annealed(self) -> AdditiveNumbers:
        rounding = self.settings.rounding
        return numbers_by_annealing(
            self.plan, self.params.steps, self.chance, self.deadline, self.progress, rounding
        )

    def _adding_up(self, steps: list[int]) -> AdditiveNumbers:
        """The numbers with the fewest steps of rounding for which they add up.

        Where programs take too long they are annealed, with the steps that are needed.
        """
        plan, limit = self.plan, self.deadline.share(self.settings.numbers_share)
        limit = limit.at_least(RunSettings.grace) if self.initial is None else limit
        for number in steps if plan.rounded.any() else [0]:
            joint = joint_formulation(plan, number)
            if not plan.changed.any():
                return AdditiveNumbers(joint, np.zeros(joint.formulation.size))
            solution = CuttingPlaneModel(plan.problem, joint.free, [], [], limit, self.progress).solve()
            if solution.safe:
                return AdditiveNumbers(joint, solution.values, solution.bound)
            if solution.outcome is not Outcome.INFEASIBLE:
                stops = self.initial is not None and self.deadline.stops
                return self.initial if self.initial is not None and stops else self._annealed()
        raise cannot_add_up(plan, steps[-1])

    # ------------------------------------------------------------------ the cheapest

    def exact(self, numbers: AdditiveNumbers) -> MixedPublication:
        """The cheapest publication for the levels as they are, or a vague one where none is found in time."""
        found, settled = None, True
        for until in () if self.late else (self.half, self.deadline):
            if found is None and settled and not until.passed():
                try:
                    found = self.run.until_stopped(partial(self.cheapest, numbers, until))
                except Unsettled:
                    settled = False
        if found is not None:
            return found
        tied = self.initial is not None and self.initial.tied
        found = self.vague(numbers, judged=not (tied and (self.late or self.run.deadline.passed())))
        self.late = True
        if not settled:
            found = replace(found, answer=replace(found.answer, outcome=Outcome.FAILED))
            verdict = audit(self.plan.problem, found.pattern, progress=self.progress)
            if not accepted_with(self.plan, verdict, True):
                raise SolverError(UNDECIDED)
        return found

    def cheapest(
        self, numbers: AdditiveNumbers, deadline: Deadline, before: MixedPublication | None = None
    ) -> MixedPublication | None:
        """The cheapest publication that protects every cell, or all but those that show numbers.

        It starts with additive numbers. After another publication (`before`) the same cells may be open. None: the time
        was up first.
        """
        plan, joint = self.plan, numbers.joint
        every = all_requirements(plan.problem), conditional_requirements(plan.problem, ~plan.exact)
        kept = of_true_cells(plan, every[0]), of_true_cells(plan, every[1])
        kinds = [False, True] if sum(map(len, kept)) < sum(map(len, every)) else [False]
        proven, start = True, joint.widest(numbers.x)
        for left_open in kinds if before is None else [before.left_open]:
            model = MixedModel(
                joint,
                self.params,
                kept if left_open else every,
                left_open,
                deadline,
                self.progress,
                self.settings,
            )
            last = before is None and left_open == kinds[-1]
            best = model.solve(start, numbers.bound, last=last)
            if isinstance(best, MixedPublication):
                return best
            proven = best is Outcome.INFEASIBLE
        if before is None and (deadline.passed() or best is Outcome.TIME_LIMIT):
            return None
        if not proven:
            raise Unsettled(UNDECIDED)
        raise model.refusal(start, explained=before is None)

    def vague(self, numbers: AdditiveNumbers, *, judged: bool = False) -> MixedPublication:
        """Additive numbers, everything else as vague as needed, when there was no time for anything better.

        Where the steps are free, rounded cells state a reach as good as hiding, safe wherever that is. Intervals that
        are not `judged` in time state no more than the outsider's a priori bounds.
        """
        plan = self.plan
        if self.params.steps is None:
            numbers = stated_wider(numbers)
        joint = numbers.joint
        x = joint.widest(numbers.x)
        deadline = self.run.deadline.later(RunSettings.grace / 2)
        model = MixedModel(joint, self.params, ([], []), False, deadline, self.progress, self.settings)
        intervals = model.stated(*joint.deviation_bounds(x))
        if not (judged and model.passes(joint.pattern(x, intervals))):
            intervals = model.stated(*box_deviation_bounds(plan.problem))
        pattern = joint.pattern(x, intervals)
        cost = pattern.loss(plan.problem)
        solution = ModelSolution(Outcome.TIME_LIMIT, x, True, cost, numbers.bound, 0, 0)
        return MixedPublication(joint, x, pattern, intervals, solution, left_open=bool(plan.changed.any()))

    def _vague_proposal(self, numbers: AdditiveNumbers) -> Proposal:
        found, problem = self.vague(numbers), self.plan.problem
        pattern = found.joint.pattern(found.x, on_grid(problem, found.intervals, self.params.grid))
        return proposal_of(
            problem, self.params, pattern, found, notes_of(self.plan, pattern, found), self.run
        )

    # ------------------------------------------------------------------ larger levels

    def for_larger_levels(
        self, exact: MixedPublication, rng: np.random.Generator
    ) -> tuple[MixedPublication, float]:
        """The publication for randomly raised levels, and the largest asymmetry for which one is found."""
        asymmetry, seed = self.asymmetry, rng.bit_generator.random_raw()
        while asymmetry > 0:
            plan = skewed_plan(self.plan, self.blurred, asymmetry, seed)
            larger, found = replace(self, plan=plan, chance=rng, initial=None), None
            try:
                with self.run.stoppable():
                    if not (self.late or self.deadline.passed()):
                        found = larger.of_same_kind(exact)
            except (InfeasibleProblem, SolverError):  # or nothing was found for levels as large as these
                again = asymmetry > self.settings.blur.min_asymmetry and not self.deadline.passed()
                asymmetry = asymmetry / 2 if again else 0.0
                continue
            return (exact, 0.0) if found is None else (found, asymmetry)
        return exact, 0.0

    def of_same_kind(self, exact: MixedPublication) -> MixedPublication | None:
        """The cheapest publication with the steps and open cells of another one; None: the time was up first."""
        check_in_time(self.plan, self.deadline, self.progress)
        numbers = AdditiveNumbers(joint_formulation(self.plan, exact.joint.steps), exact.x)
        if self.plan.perturbed.any():
            numbers = self._adding_up([exact.joint.steps])
        return self.cheapest(numbers, self.deadline, exact)
