"""The cutting-plane model of any formulation: only its own variables, and violated protection cuts on demand.

    min  c x   over the formulation's own constraints, and the protection cuts (`protection_cuts`, `cut_strengthening`)
    sum_i above_i min(U_i(x), UB_i^k) + below_i min(D_i(x), LB_i^k) >= level        (times t_p for a conditional width)

First the linear relaxation is solved until it violates no cut, then the integer program, again while its optimum
violates cuts. Where binary variables switch others off (`Formulation.switches`), *gap limits* keep programs small:
suppose that the optimum is at most a little above the relaxation. Then variables whose reduced cost exceeds the gap are
0 (`reduced_cost_fixing`). Either the optimum is found among the few others, or it is above the limit, which is a bound;
then the limit is enlarged (`cuts.GapLimits`).

References: Salazar-Gonzalez (2002), second models; Salazar-Gonzalez (2010) for integer programs that are solved again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.methods.cuts import GapLimits, GapLimitSettings
from tablecloak.methods.unified.cut_pool import ProtectionCutPool, SeparationSettings, ShiftStage
from tablecloak.methods.unified.formulation import Formulation
from tablecloak.methods.unified.model_solution import ModelSolution
from tablecloak.methods.unified.protection_cuts import ProtectionCut
from tablecloak.methods.unified.reduced_cost_fixing import ReducedCostFixing, RestrictedProgram
from tablecloak.model import Problem, Requirement
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import CUT_VIOLATION, OPTIMALITY, Outcome


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
        self._linear = RestrictedProgram(formulation, np.ones(formulation.size, dtype=bool), relaxed=True)
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
        program, gap = RestrictedProgram(self.formulation, fixing.kept(ceiling)), self.settings.rough_gap
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
        return math.isfinite(self.cost) and self.cost - self.bound <= OPTIMALITY * max(1.0, abs(self.cost))
