"""The cutting-plane model of any formulation: only its own variables, and violated protection cuts on demand.

    min  c x   over the formulation's own constraints, and the protection cuts (`protection_cuts`)
    sum_i above_i min(U_i(x), UB_i^k) + below_i min(D_i(x), LB_i^k) >= level        (times t_p for a conditional width)

First the linear relaxation is solved until it violates no cut, then the integer program, again while its optimum
violates cuts. Where binary variables switch others off (`Formulation.switches`), *gap limits* keep programs small:
suppose that the optimum is at most L, a little above the value z of the relaxation. Then binary variables whose reduced
cost exceeds L - z are 0, and so are the variables that they switch (`ReducedCostFixing`). Either the optimum is found
among the few others, or it is above the limit, which is a bound; then the limit is enlarged (`cuts.GapLimits`).

Separation at the point x of a relaxation itself gives many shallow cuts. While the relaxation is far from its optimum,
cuts are separated at *shifted points*: some variables that x does not use, those with the smallest reduced costs, are
raised. Where larger variables leave larger deviation bounds, what is violated there is violated at x all the more, and
such cuts weigh variables that x does not use yet. The shift decreases stage by stage; the last one is x itself.

References: Salazar-Gonzalez (2002), second models; Salazar-Gonzalez (2010) for integer programs that are solved again;
Dantzig, Fulkerson & Johnson (1954), Solution of a large-scale traveling-salesman problem, Journal of the Operations
Research Society of America 2(4), for reduced-cost fixing; Ben-Ameur & Neto (2007), Acceleration of cutting-plane and
column generation algorithms: applications to network design, Networks 49(1), for separation at points inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import DeviationBounds
from tablecloak.methods.cuts import GapLimits, GapLimitSettings
from tablecloak.methods.unified.formulation import Formulation, ModelSolution
from tablecloak.methods.unified.protection_cuts import CutBuilder, ProtectionCut, Switched, own_bound_cuts
from tablecloak.methods.unified.separation import SeparatorSettings, protection_separator_of
from tablecloak.model import Problem, Requirement
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import (
    CUT_VIOLATION,
    OPTIMALITY,
    REDUCED_COST_MARGIN,
    GrowingProgram,
    HighsSettings,
    Outcome,
    Solution,
    watched,
)


class RestrictedProgram:
    """The program of a formulation over some of its variables, the others 0; points have all variables."""

    def __init__(
        self, formulation: Formulation, kept: Bools, settings: HighsSettings, *, relaxed: bool = False
    ) -> None:
        self._kept = np.flatnonzero(kept)
        self._size = kept.size
        integral = np.zeros(self._kept.size, dtype=bool) if relaxed else formulation.integral[self._kept]
        cost, low, high = (side[self._kept] for side in (formulation.cost, formulation.low, formulation.high))
        self._program = GrowingProgram(cost, low, high, integral, abandonable=True, settings=settings)
        own = formulation.constraints
        matrix = csr_array(own.matrix[:, self._kept])
        restrictive = (np.diff(matrix.indptr) > 0) | (own.low > 0) | (own.high < 0)
        self._program.add_rows(
            own.low[restrictive], matrix[np.flatnonzero(restrictive)], own.high[restrictive]
        )

    @property
    def reduced_costs(self) -> Floats:
        """Reduced costs of the last linear program (infinite where a variable is left out)."""
        reduced = np.full(self._size, np.inf)
        reduced[self._kept] = self._program.reduced
        return reduced

    def add_cuts(self, matrix: csr_array, right: Floats) -> None:
        """Add  matrix x >= right  over all variables."""
        self._program.add_rows(right, matrix[:, self._kept])

    def relax(self, seconds: float) -> Solution:
        """Solve the linear program."""
        return self._spread(self._program.solve(seconds))

    def solve(self, seconds: float, *, gap: float) -> Solution:
        """Solve the integer program up to a relative gap."""
        return self._spread(self._program.solve(seconds, gap=gap))

    def _spread(self, solution: Solution) -> Solution:
        if solution.values.size == self._kept.size < self._size:
            values = np.zeros(self._size)
            values[self._kept] = solution.values
            return replace(solution, values=values)
        return solution


class ReducedCostFixing:
    """The variables that points below a limit may use, by the value and the reduced costs of the relaxation."""

    def __init__(self, formulation: Formulation, value: float, reduced_costs: Floats) -> None:
        self._formulation, self._value, self._reduced = formulation, value, reduced_costs

    def kept(self, limit: float) -> Bools:
        """The variables that may be positive in points of at most this cost."""
        fixed, switch = self._fixed(limit), self._formulation.switch
        return np.asarray(~fixed & ~((switch >= 0) & fixed[switch]))

    def extended(self, limit: float) -> float:
        """The largest limit that keeps no more variables than this one: its program is the same."""
        fixed = self._fixed(limit)
        if not fixed.any():
            return math.inf
        further = self._value + float(self._reduced[fixed].min())
        return max(limit, further - 2 * REDUCED_COST_MARGIN * max(1.0, abs(further)))

    def _fixed(self, limit: float) -> Bools:
        """The binary variables that are 0 in all points of at most this cost."""
        formulation = self._formulation
        if math.isinf(limit) or formulation.switches is None:
            return np.zeros(formulation.size, dtype=bool)
        gap = limit - self._value + REDUCED_COST_MARGIN * max(1.0, abs(limit))
        return np.asarray(formulation.integral & (formulation.low == 0.0) & (self._reduced > gap))


@dataclass(frozen=True)
class ShiftStage:
    """One stage of separation: how far and how many variables are raised (0: separation at the point itself)."""

    value: float
    """Value that variables are raised to, in units of the variables (levels for lengths)."""
    share: float = 1.0
    """Share of `SeparationSettings.raised_per_requirement` that is raised."""


@dataclass(frozen=True)
class SeparationSettings:
    """Effort and order of the separation of protection cuts. Benchmark parts `models` and `intervals` run with the
    defaults; none of them has been varied there."""

    stages: tuple[ShiftStage, ...] = (
        ShiftStage(30.0),
        ShiftStage(10.0),
        ShiftStage(3.0),
        ShiftStage(1.0),
        ShiftStage(0.3),
        ShiftStage(0.1),
        ShiftStage(0.03),
        ShiftStage(0.01, 0.5),
        ShiftStage(0.0, 0.0),
    )
    """Shifts, the largest first, the last one 0. More stages: fewer and deeper cuts, against rounds that add none.
    Untested default."""
    raised_per_requirement: int = 10
    """Maximum number of variables that are raised at shifted points, for each requirement. More: deeper cuts, against
    points that violate nothing. Untested default."""
    min_requirements: int = 100
    """The number of raised variables is for at least this number of requirements. Untested default."""
    max_violated: int = 2000
    """Maximum number of requirements that get cuts in one round. More: fewer rounds, against larger programs. Untested
    default."""
    recent_rounds: int = 3
    """Number of rounds for which a violated requirement is separated before the others. More: quicker rounds, against
    late cuts for other requirements. Untested default."""
    depth: int = 5
    """Maximum number of cuts for each violated requirement, each found as if the cells of those before it had wide
    bounds. More: fewer rounds, against slower separation. Untested default."""
    max_deep_size: int = 2_000_000
    """Requirements times cells up to which more than one cut is sought for each. Untested default."""
    engines: SeparatorSettings = SeparatorSettings()


class ProtectionCutPool:
    """Protection cuts over the variables of a formulation, separated on demand; each is added to one program."""

    def __init__(
        self,
        problem: Problem,
        formulation: Formulation,
        requirements: Sequence[Requirement],
        widths: Sequence[Requirement],
        deadline: Deadline,
        settings: SeparationSettings = SeparationSettings(),
    ) -> None:
        """`widths`: conditional requirements, which hold to the extent to which their cells are touched."""
        self.formulation, self.deadline, self.settings = formulation, deadline, settings
        self.requirements, self._unconditional = [*requirements, *widths], len(requirements)
        self._separator = protection_separator_of(problem, settings.engines)
        self._builder, self._extent = CutBuilder(formulation, DeviationBounds(problem)), Switched(formulation)
        small = len(self.requirements) * len(problem.table) <= settings.max_deep_size
        self._depth = settings.depth if small and self._is_monotone() else 1
        self._last_violated = np.full(len(self.requirements), -settings.recent_rounds)
        self._any_violated = False
        self.constraints: list[tuple[csr_array, Floats]] = []
        """Blocks  matrix x >= right."""
        self._cuts: list[ProtectionCut] = []

    @property
    def size(self) -> int:
        """Number of cuts."""
        return len(self._cuts)

    def stages(self) -> list[ShiftStage]:
        """The stages of separation; only the last one where shifted points prove nothing or are not needed."""
        useful = self._is_monotone() and not self._separator.weighs_closed_cells
        return list(self.settings.stages if useful else self.settings.stages[-1:])

    def _is_monotone(self) -> bool:
        """Whether larger variables leave larger deviation bounds to every cell."""
        return all(
            (bound.matrix.data >= 0).all() for bound in (self.formulation.above, self.formulation.below)
        )

    # ------------------------------------------------------------------ separation

    def separate(self, x: Floats, program: RestrictedProgram, number: int, *, integral: bool = False) -> int:
        """Add the cuts that a point violates in round `number`; gives how many."""
        return self._add_at(x, x, self._all, program, number, integral=integral)

    def separate_shifted(
        self, x: Floats, program: RestrictedProgram, number: int, stages: list[ShiftStage]
    ) -> int:
        """Add cuts that x violates, found at shifted points while there are such stages; gives how many.

        A stage that finds nothing is removed from the list. Recently violated requirements are separated first.
        """
        if not self._any_violated and not self._violated(x, self._all, False, most=1)[1].size:
            return 0
        self._any_violated = True
        while len(stages) > 1:
            recent = self._last_violated > number - self.settings.recent_rounds
            at = self._shifted(x, program.reduced_costs, stages[0])
            for which in (self._all[recent], self._all[~recent]):
                added = self._add_at(at, x, which, program, number)
                if added:
                    return added
            stages.pop(0)
        return self.separate(x, program, number)

    @property
    def _all(self) -> Ints:
        return np.arange(len(self.requirements))

    def _shifted(self, x: Floats, reduced_costs: Floats, stage: ShiftStage) -> Floats:
        """The point with promising variables raised."""
        number = max(self.settings.min_requirements, len(self.requirements))
        count = int(stage.share * self.settings.raised_per_requirement * number)
        raised = np.minimum(stage.value, self.formulation.high)
        columns = np.flatnonzero(x < raised)
        if columns.size > count:
            columns = columns[np.argpartition(reduced_costs[columns], count)[:count]]
        shifted = x.copy()
        shifted[columns] = raised[columns]
        return shifted

    def _add_at(
        self,
        at: Floats,
        x: Floats,
        which: Ints,
        program: RestrictedProgram,
        number: int,
        *,
        integral: bool = False,
    ) -> int:
        """Separate some requirements at a point and add the cuts that x violates."""
        cuts, violated = self._violated(at, which, integral, self.settings.max_violated)
        self._last_violated[violated] = number
        return self.add(cuts, at, x, program)

    def _violated(
        self, x: Floats, which: Ints, integral: bool, most: int
    ) -> tuple[list[ProtectionCut], Ints]:
        """Cuts for those of the requirements that a point violates, and which these are."""
        extent = np.ones(len(self.requirements))
        conditional = self.requirements[self._unconditional :]
        cells = np.array([requirement.cell for requirement in conditional], dtype=np.int64)
        extent[self._unconditional :] = self.formulation.touched.at(x)[cells]
        with watched(self.deadline.check):  # a single program may take longer than there is time
            cuts = self._separator.separate(
                *self.formulation.deviation_bounds(x),
                [self.requirements[t] for t in which],
                extent=extent[which],
                most=most,
                share=None if integral else self._extent.at(x),
                depth=self._depth,
                deadline=self.deadline,
            )
        violated = {id(cut.requirement) for cut in cuts}
        return cuts, which[[id(self.requirements[t]) in violated for t in which.tolist()]]

    # ------------------------------------------------------------------ cuts

    def initial_cuts(self, known: Sequence[ProtectionCut]) -> list[ProtectionCut]:
        """Cuts that need no separation: of each cell's own bounds, and known ones for the same cells.

        The requirements of this pool take the place of theirs: multipliers hold for requirements of any size.
        """
        own = self.requirements[: self._unconditional]
        by_key = {(each.cell, each.attacker, each.side): each for each in own}
        keys = ((cut.requirement.cell, cut.requirement.attacker, cut.requirement.side) for cut in known)
        adapted = [
            replace(cut, requirement=by_key[key])
            for key, cut in zip(keys, known, strict=True)
            if key in by_key and cut.cells.size > 1
        ]
        return [*own_bound_cuts(own), *adapted]

    def add(self, cuts: Sequence[ProtectionCut], at: Floats, x: Floats, program: RestrictedProgram) -> int:
        """Add cuts that were found at a point to a program, as far as x violates them; gives how many."""
        if not cuts:
            return 0
        conditional = {id(requirement) for requirement in self.requirements[self._unconditional :]}
        matrix, right = self._builder.rows(
            cuts,
            *self.formulation.deviation_bounds(at),
            [id(cut.requirement) in conditional for cut in cuts],
        )
        matrix, right = self._builder.strengthened(matrix, right, x)
        new = self._builder.new(matrix, right, np.flatnonzero(right - matrix @ x > CUT_VIOLATION))
        if new.size == 0:  # within the tolerance of linear programs, or violated at shifted points only
            return 0
        matrix, right = csr_array(matrix[new]), right[new]
        self.constraints.append((matrix, right))
        self._cuts += [cuts[k] for k in new.tolist()]
        program.add_cuts(matrix, right)
        return int(new.size)

    def tight_cuts(self, x: Floats) -> list[ProtectionCut]:
        """The cuts that a point meets without slack: a start for requirements of other sizes."""
        if x.size < self.formulation.size or not self.constraints:
            return []
        slack = np.concatenate([matrix @ x - right for matrix, right in self.constraints])
        return [self._cuts[k] for k in np.flatnonzero(slack <= CUT_VIOLATION)]


@dataclass(frozen=True)
class CuttingPlaneSettings:
    """When the phases of the model end. Benchmark parts `models` and `intervals` run with the defaults; none of them
    has been varied there."""

    separation: SeparationSettings = field(default_factory=SeparationSettings)
    """Effort and order of separation."""
    stage_gain: float = 1e-3
    """Relative increase of the bound below which a round is slow for its stage of separation. Untested default."""
    stage_patience: int = 3
    """Number of consecutive slow rounds after which the next stage begins. More: fewer, deeper cuts, against rounds
    without progress. Untested default."""
    tailing_gain: float = 1e-4
    """Relative increase of the bound below which a round of the relaxation counts as tailing off. Untested default."""
    tailing_patience: int = 6
    """Number of consecutive rounds of tailing off after which integer programs begin. More: a better bound and better
    reduced costs, against many rounds. Untested default."""
    rough_gap: float = 0.01
    """Relative gap of integer programs while their solutions violate cuts; then they are solved to optimality. Larger:
    quicker rounds, against more of them. Untested default."""
    gap_limits: GapLimitSettings = field(default_factory=lambda: GapLimitSettings(largest=4.0))
    """The sequence of gap limits."""
    highs: HighsSettings = HighsSettings()


@dataclass
class _Stalling:
    """Counts consecutive rounds without progress."""

    settings: CuttingPlaneSettings
    stages: list[ShiftStage]
    value: float = -math.inf
    slow: int = field(default=0, init=False)
    tailing: int = field(default=0, init=False)

    def record(self, value: float) -> None:
        """Take the value of one more relaxation; ends a stage that is slow."""
        before, self.value = self.value, value
        gain = (value - before) / max(abs(value), OPTIMALITY)
        self.slow = self.slow + 1 if gain < self.settings.stage_gain else 0
        self.tailing = self.tailing + 1 if gain < self.settings.tailing_gain else 0
        if self.slow >= self.settings.stage_patience and len(self.stages) > 1:
            self.stages.pop(0)
            self.slow = 0


class CuttingPlaneModel:
    """The growing program of a formulation, its incumbent and its proven bound."""

    def __init__(
        self,
        problem: Problem,
        formulation: Formulation,
        requirements: Sequence[Requirement],
        widths: Sequence[Requirement],
        deadline: Deadline,
        progress: Progress,
        settings: CuttingPlaneSettings = CuttingPlaneSettings(),
    ) -> None:
        """`widths`: conditional requirements, which hold to the extent to which their cells are touched."""
        self.formulation, self.deadline, self.progress = formulation, deadline, progress
        self.settings = settings
        self.pool = ProtectionCutPool(
            problem, formulation, requirements, widths, deadline, settings.separation
        )
        every = np.ones(formulation.size, dtype=bool)
        self._linear = RestrictedProgram(formulation, every, settings.highs, relaxed=True)
        self.rounds, self.bound = 0, -math.inf
        self.best: Floats = np.zeros(0)
        self.cost = math.inf
        """Cost of the incumbent `best`."""
        self._last: Floats = np.zeros(0)
        self._relaxed_value = -math.inf
        self.repair: Callable[[Floats], Sequence[Floats]] | None = None
        """Safe points near an integral one that violates cuts."""

    @property
    def requirements(self) -> Sequence[Requirement]:
        """The requirements, conditional ones last."""
        return self.pool.requirements

    def offer(self, x: Floats) -> None:
        """Make a safe point the incumbent if it is the best."""
        cost = self.formulation.objective(x)
        if cost < self.cost:
            self.best, self.cost = x, cost

    def tight_cuts(self) -> list[ProtectionCut]:
        """The cuts without slack at the last point: a start for requirements of other sizes."""
        return self.pool.tight_cuts(self._last)

    def solve(self, known: Sequence[ProtectionCut] = ()) -> ModelSolution:
        """Solve to optimality or to the deadline; an unsafe point is returned only if there is no safe one.

        `known`: cuts for the same requirements, or for requirements of another size of the same cells.
        """
        outcome = Outcome.TIME_LIMIT
        with self.deadline.stoppable():
            relaxed = self._relax(known)
            integer = relaxed is Outcome.OPTIMAL and self.formulation.integral.any()
            outcome = self._solve_integer() if integer else relaxed
        return self.best_so_far(outcome)

    def best_so_far(self, outcome: Outcome) -> ModelSolution:
        """The incumbent and the bound, also after an interruption."""
        safe, counts = math.isfinite(self.cost), (self.rounds, self.pool.size)
        values = self.best if safe else self._last_integral()
        if outcome is Outcome.INFEASIBLE and not safe:
            return ModelSolution(outcome, np.zeros(0), False, math.inf, math.inf, *counts)
        if not safe and values.size < self.formulation.size:
            return ModelSolution(outcome, values, False, math.inf, self.bound, *counts)
        cost = self.cost if safe else self.formulation.objective(values)
        return ModelSolution(outcome, values, safe, cost, min(self.bound, cost), *counts)

    def _last_integral(self) -> Floats:
        """The last point; none if it is a fractional one of the relaxation."""
        integral = self._last[self.formulation.integral] if self._last.size else self._last
        return self._last if (np.abs(integral - np.rint(integral)) <= CUT_VIOLATION).all() else np.zeros(0)

    def _raise_bound(self, bound: float) -> None:
        self.bound = max(self.bound, bound)

    def _report(self, phase: str) -> None:
        self.rounds += 1
        incumbent = self.cost if math.isfinite(self.cost) else None
        self.progress(phase, self.rounds, self.rounds, incumbent, max(self.bound, 0.0))

    # ------------------------------------------------------------------ relaxation

    def _relax(self, known: Sequence[ProtectionCut]) -> Outcome:
        """Solve the linear relaxation with all cuts that it violates; with integral variables until it tails off."""
        pool, stages = self.pool, self.pool.stages()
        stalling, initial = _Stalling(self.settings, stages), pool.initial_cuts(known)
        integer = bool(self.formulation.integral.any())
        while not self.deadline.passed():
            solution = self._linear.relax(self.deadline.left)
            if solution.outcome is not Outcome.OPTIMAL:
                return solution.outcome
            x = self._last = solution.values
            self._relaxed_value = solution.objective + self.formulation.constant
            stalling.record(self._relaxed_value)
            self._raise_bound(self._relaxed_value)
            self._report("relaxation")
            added, initial = pool.add(initial, x, x, self._linear), []
            added = added or pool.separate_shifted(x, self._linear, self.rounds, stages)
            if integer and stalling.tailing > self.settings.tailing_patience:
                return Outcome.OPTIMAL
            if not added:
                if self.deadline.passed():  # then not every requirement was separated
                    return Outcome.TIME_LIMIT
                if not integer:
                    self.offer(x)
                return Outcome.OPTIMAL
        return Outcome.TIME_LIMIT

    # ------------------------------------------------------------------ integer programs

    def _solve_integer(self) -> Outcome:
        """Solve the integer program over all cuts, by gap limits where reduced costs leave few variables."""
        fixing = ReducedCostFixing(self.formulation, self._relaxed_value, self._linear.reduced_costs)
        if not (self.formulation.switch >= 0).any() or self.bound <= 0:
            return self._solve_within(math.inf, fixing)
        limits = GapLimits(self.bound, settings=self.settings.gap_limits)
        while not self.deadline.passed():
            limit = limits.next(self.bound)
            limit = fixing.extended(limit if limit < self.cost else math.inf)
            outcome = self._solve_within(limit, fixing)
            if outcome is not Outcome.INFEASIBLE or math.isinf(limit):
                return outcome
            self._raise_bound(limit)
            limits.skip(limit)
        return Outcome.TIME_LIMIT

    def _solve_within(self, limit: float, fixing: ReducedCostFixing) -> Outcome:
        """Find the best point of cost at most `limit`; INFEASIBLE if there is none."""
        ceiling = min(limit, self.cost)
        settings, gap = self.settings, self.settings.rough_gap
        program = RestrictedProgram(self.formulation, fixing.kept(ceiling), settings.highs)
        for matrix, right in self.pool.constraints:
            program.add_cuts(matrix, right)
        while not self.deadline.passed():
            solution = program.solve(self.deadline.left, gap=gap)
            if solution.outcome is Outcome.INFEASIBLE:
                return self._none_within(limit)
            self._raise_bound(min(solution.bound + self.formulation.constant, ceiling))
            if self.bound >= ceiling * (1 - OPTIMALITY):
                return self._none_within(limit)
            if solution.values.size == 0:
                return solution.outcome if solution.outcome.undecided else Outcome.FAILED
            x = self._last = np.where(self.formulation.integral, np.rint(solution.values), solution.values)
            self._report("integer program")
            if self.pool.separate(x, program, self.rounds, integral=True):
                for other in [] if self.repair is None else self.repair(x):
                    self.offer(other)
            elif self.deadline.passed():  # then not every requirement was separated
                return Outcome.TIME_LIMIT
            else:
                self.offer(x)
                if gap == 0.0 and solution.outcome is Outcome.OPTIMAL:
                    self._raise_bound(min(self.cost, solution.bound + self.formulation.constant))
                    return Outcome.OPTIMAL
                if solution.outcome is Outcome.FAILED:
                    return Outcome.FAILED
                gap = 0.0
            if self._is_proven():
                return Outcome.OPTIMAL
        return Outcome.TIME_LIMIT

    def _none_within(self, limit: float) -> Outcome:
        """The outcome if no point below the limit is better than the incumbent."""
        if math.isfinite(self.cost) and self.cost <= limit:
            self._raise_bound(self.cost)
            return Outcome.OPTIMAL
        return Outcome.INFEASIBLE

    def _is_proven(self) -> bool:
        """Whether the incumbent costs no more than the bound."""
        least = min(1.0, float(np.abs(self.formulation.cost).max(initial=0.0)))
        return math.isfinite(self.cost) and self.cost - self.bound <= OPTIMALITY * max(least, abs(self.cost))
