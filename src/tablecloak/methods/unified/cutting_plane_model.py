"""The second model of any form: only the form's own columns, and cuts of what is missed as rows, on demand.

    min  c x   over the form's own rows, and for every cut (`protection_cuts`, as rows: `cut_strengthening`):
    sum_i above_i min(U_i(x), UB_i^k) + below_i min(D_i(x), LB_i^k) >= level        (times t_p for a conditional width)

First the linear relaxation is solved until it misses nothing, then the integer program, again and again while its
optimum misses something. Where binary columns switch others off (`Form.switches`), a gap is guessed: suppose that the
optimum is at most a little above the relaxation. Then columns whose reduced cost is larger than the gap are 0, which
leaves few. Either the optimum is found among them, or the guess was too low, which is a bound; then it is enlarged.

References: Salazar-Gonzalez (2002), second models; Salazar-Gonzalez (2010) for solving again and again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import Boxes
from tablecloak.methods.unified.cut_strengthening import CutBuilder, Switched
from tablecloak.methods.unified.formulation import Formulation
from tablecloak.methods.unified.protection_cuts import ProtectionCut, own_bound_cuts
from tablecloak.methods.unified.reduced_cost_fixing import Narrowed
from tablecloak.methods.unified.separation import protection_separator_of
from tablecloak.model import Problem, Requirement
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import Outcome, watched

STAGES = (
    (30.0, 1.0),
    (10.0, 1.0),
    (3.0, 1.0),
    (1.0, 1.0),
    (0.3, 1.0),
    (0.1, 1.0),
    (0.03, 1.0),
    (0.01, 0.5),
    (0.0, 0.0),
)
"""Where cuts are looked for while the relaxation is solved: promising columns are this much larger than the point
says, in units of the levels, this share of `PROMISING`; in the end at the point itself. See `_inside`."""
PROMISING = 10
"""Promising columns for each level, but at least a hundred times as many."""
SLOW, PATIENCE = 1e-3, 3
"""A stage ends after so many rounds that raise the bound by less than this share."""
TAILING, STALLED = 1e-4, 6
"""With integer columns the relaxation ends after so many rounds that raise the bound by less than this share."""
MOST_ROWS = 2000
"""At most so many levels get a row in one round."""
GAP = 0.01
"""Integer programs are solved up to this gap while their points are unsafe, then to the end."""
LATELY = 3
"""Levels that were missed in one of so many rounds are asked first; the others when those are met."""
DEPTH, DEEP = 5, 2_000_000
"""So many cuts behind each other are looked for where levels times cells are no more than this."""
FIRST_GUESS, LARGER, MOST_GUESSED = 0.02, 2.5, 4.0
"""Guesses of the gap, as shares of the bound of the relaxation: the first, how much larger the next, the largest."""
HAIR, TINY = 1e-6, 1e-9
MISSED = 1e-6
"""A row is missed if more than this share of its level is missing."""


@dataclass(frozen=True, eq=False)
class ModelSolution:
    """The best point (empty: none), whether it misses no level, its objective and the proven bound."""

    outcome: Outcome
    values: Floats
    safe: bool
    objective: float
    bound: float
    rounds: int
    rows: int

    @classmethod
    def nothing(cls) -> ModelSolution:
        """What there is when the run is stopped before the model has any point or bound."""
        return cls(Outcome.TIME_LIMIT, np.zeros(0), False, np.inf, 0.0, 0, 0)


class CuttingPlaneModel:
    """The program, which grows."""

    def __init__(
        self,
        problem: Problem,
        formulation: Formulation,
        requirements: Sequence[Requirement],
        widths: Sequence[Requirement],
        deadline: Deadline,
        progress: Progress,
        known: Sequence[ProtectionCut] = (),
    ) -> None:
        """`known`: cuts for the same levels, or for levels of another size of the same cells."""
        self.problem, self.formulation, self.deadline, self.progress = (
            problem,
            formulation,
            deadline,
            progress,
        )
        self.requirements, self.levels = [*requirements, *widths], len(requirements)
        self.separator, self._maker = (
            protection_separator_of(problem),
            CutBuilder(formulation, Boxes(problem)),
        )
        self._linear = Narrowed(formulation, np.ones(formulation.size, dtype=bool), relaxed=True)
        self._found: list[tuple[csr_array, Floats]] = []
        self._cuts: list[ProtectionCut] = []
        self._known = self._for_these_levels(known)
        self._missed_in = np.full(len(self.requirements), -LATELY)
        small = len(self.requirements) * len(problem.table) <= DEEP
        self.depth = DEPTH if small and self._grows() else 1
        self._share = Switched(formulation)
        self.rounds, self.bound, self._asked = 0, -math.inf, False
        self.best: Floats = np.zeros(0)
        self._last: Floats = np.zeros(0)
        self.cost, self._relaxed = math.inf, -math.inf
        self.repair: Callable[[Floats], Sequence[Floats]] | None = None
        """Safe points near a whole one that misses something."""

    def offer(self, x: Floats) -> None:
        """Keep a safe point if it is the best."""
        cost = float(self.formulation.cost @ x) + self.formulation.constant
        if cost < self.cost:
            self.best, self.cost = x, cost

    def solve(self) -> ModelSolution:
        """The optimum, or the best safe point when the time is up (an unsafe one if there is no other)."""
        outcome = Outcome.TIME_LIMIT
        with self.deadline.stoppable():
            relaxed = self._relax()
            integer = relaxed is Outcome.OPTIMAL and self.formulation.integral.any()
            outcome = self._integer() if integer else relaxed
        return self.best_so_far(outcome)

    def best_so_far(self, outcome: Outcome) -> ModelSolution:
        """What there is, also after an interruption."""
        safe, rows = math.isfinite(self.cost), sum(right.size for _, right in self._found)
        values = self.best if safe else self._whole_last()
        if outcome is Outcome.INFEASIBLE and not safe:
            return ModelSolution(outcome, np.zeros(0), False, math.inf, math.inf, self.rounds, rows)
        if not safe and values.size < self.formulation.size:
            return ModelSolution(outcome, values, False, math.inf, self.bound, self.rounds, rows)
        cost = self.cost if safe else float(self.formulation.cost @ values) + self.formulation.constant
        return ModelSolution(outcome, values, safe, cost, min(self.bound, cost), self.rounds, rows)

    def _whole_last(self) -> Floats:
        """The last point; none if it is one of the relaxation, whose fractions mean nothing."""
        whole = self._last[self.formulation.integral] if self._last.size else self._last
        return self._last if (np.abs(whole - np.rint(whole)) <= MISSED).all() else np.zeros(0)

    def _relax(self) -> Outcome:
        """The linear relaxation with all rows that it misses."""
        stages = list(STAGES if self._grows() and not self.separator.weighs_closed_cells else STAGES[-1:])
        slow, stalled, integer = 0, 0, bool(self.formulation.integral.any())
        simple = [*own_bound_cuts(self.requirements[: self.levels]), *self._known]
        while not self.deadline.passed():
            solution = self._linear.relax(self.deadline.left)
            if solution.outcome is not Outcome.OPTIMAL:
                return solution.outcome
            x = self._last = solution.values
            before, self._relaxed = self._relaxed, solution.objective + self.formulation.constant
            gained = (self._relaxed - before) / max(abs(self._relaxed), TINY)
            slow, stalled = (
                count + 1 if gained < share else 0 for count, share in ((slow, SLOW), (stalled, TAILING))
            )
            if slow >= PATIENCE and len(stages) > 1:
                stages.pop(0)
                slow = 0
            self.bound = max(self.bound, self._relaxed)
            self._tell("relaxation")
            missed, simple = self._add(simple, x, x, [self._linear]) if simple else 0, []
            missed = missed or self._add_missed(x, [self._linear], stages)
            if integer and stalled > STALLED:
                return Outcome.OPTIMAL
            if not missed:
                if self.deadline.passed():  # then not every level was asked
                    return Outcome.TIME_LIMIT
                if not integer:
                    self.offer(x)
                return Outcome.OPTIMAL
        return Outcome.TIME_LIMIT

    def _grows(self) -> bool:
        """Whether larger columns leave more room to every cell: then points further inside can be asked."""
        return all((room.matrix.data >= 0).all() for room in (self.formulation.above, self.formulation.below))

    def _inside(self, x: Floats, extent: float, share: float) -> Floats:
        """The point with promising columns larger: what is missed there is missed at x all the more.

        Such cuts weigh columns that x does not use yet, and so they are fewer and cut deeper.
        """
        count = int(share * PROMISING * max(100, len(self.requirements)))
        columns = np.flatnonzero(x < np.minimum(extent, self.formulation.high))
        if columns.size > count:
            columns = columns[np.argpartition(self._linear.reduced[columns], count)[:count]]
        inside = x.copy()
        inside[columns] = np.minimum(extent, self.formulation.high[columns])
        return inside

    def _integer(self) -> Outcome:
        """The integer program over all rows, by guesses of the gap where reduced costs leave few columns."""
        if not (self.formulation.switch >= 0).any():
            return self._within(math.inf)
        least, share = self.bound, FIRST_GUESS
        while not self.deadline.passed():
            highest = least * (1 + share) + TINY
            if least <= 0 or highest >= self.cost or share > MOST_GUESSED:
                highest = math.inf
            highest = self._as_far(highest)
            outcome = self._within(highest)
            if outcome is not Outcome.INFEASIBLE or math.isinf(highest):
                return outcome
            self.bound = max(self.bound, highest)
            while least * (1 + share) + TINY <= highest and share <= MOST_GUESSED:
                share *= LARGER
        return Outcome.TIME_LIMIT

    def _within(self, highest: float) -> Outcome:
        """The best point that costs at most `highest`: INFEASIBLE if there is none."""
        limit = min(highest, self.cost)
        program, near = Narrowed(self.formulation, self._few(limit)), GAP
        for matrix, right in self._found:
            program.add_rows(matrix, right)
        while not self.deadline.passed():
            solution = program.solve(self.deadline.left, gap=near)
            if solution.outcome is Outcome.INFEASIBLE:
                return self._nothing_below(highest)
            self.bound = max(self.bound, min(solution.bound + self.formulation.constant, limit))
            if self.bound >= limit * (1 - TINY):
                return self._nothing_below(highest)
            if solution.values.size == 0:
                return solution.outcome if solution.outcome.undecided else Outcome.FAILED
            x = self._last = np.where(self.formulation.integral, np.rint(solution.values), solution.values)
            self._tell("integer program")
            if not self._add_missed(x, [program], whole=True):
                if self.deadline.passed():
                    return Outcome.TIME_LIMIT
                self.offer(x)
                if near == 0.0 and solution.outcome is Outcome.OPTIMAL:
                    self.bound = max(self.bound, min(self.cost, solution.bound + self.formulation.constant))
                    return Outcome.OPTIMAL
                if solution.outcome is Outcome.FAILED:
                    return Outcome.FAILED
                near = 0.0
            elif self.repair is not None:
                for other in self.repair(x):
                    self.offer(other)
            if math.isfinite(self.cost) and self.cost - self.bound <= 1e-9 * max(1.0, abs(self.cost)):
                return Outcome.OPTIMAL
        return Outcome.TIME_LIMIT

    def _nothing_below(self, highest: float) -> Outcome:
        """Nothing is cheaper than the best point, or than the guess."""
        if math.isfinite(self.cost) and self.cost <= highest:
            self.bound = max(self.bound, self.cost)
            return Outcome.OPTIMAL
        return Outcome.INFEASIBLE

    def _few(self, limit: float) -> Bools:
        """The columns that points of at most this cost may use, by the reduced costs of the relaxation."""
        formulation = self.formulation
        out = self._out(limit)
        return np.asarray(~out & ~((formulation.switch >= 0) & out[formulation.switch]))

    def _out(self, limit: float) -> Bools:
        """The switches that are off in all points of at most this cost."""
        formulation = self.formulation
        if math.isinf(limit) or formulation.switches is None:
            return np.zeros(formulation.size, dtype=bool)
        room = limit - self._relaxed + HAIR * max(1.0, abs(limit))
        return np.asarray(formulation.integral & (formulation.low == 0.0) & (self._linear.reduced > room))

    def _as_far(self, limit: float) -> float:
        """The largest limit with no more columns than this one: its program would be the same."""
        out = self._out(limit)
        if not out.any():
            return math.inf
        further = self._relaxed + float(self._linear.reduced[out].min())
        return max(limit, further - 2 * HAIR * max(1.0, abs(further)))

    def _tell(self, phase: str) -> None:
        self.rounds += 1
        incumbent = self.cost if math.isfinite(self.cost) else None
        self.progress(phase, self.rounds, self.rounds, incumbent, max(self.bound, 0.0))

    # ------------------------------------------------------------------ rows

    def _add_missed(
        self,
        x: Floats,
        programs: Sequence[Narrowed],
        stages: list[tuple[float, float]] | None = None,
        whole: bool = False,
    ) -> int:
        """Rows for the levels that a point misses; gives how many it misses.

        While there are stages, points further inside are asked, first about levels that were missed lately; a stage
        ends when nothing is missed there.
        """
        stages = stages if stages is not None else []
        everyone = np.arange(len(self.requirements))
        if stages and not self._asked and not self._ask(x, everyone, whole, most=1)[1].size:
            return 0
        self._asked = True
        while len(stages) > 1:
            lately = self._missed_in > self.rounds - LATELY
            for asked in (everyone[lately], everyone[~lately]):
                added = self._add_inside(x, programs, stages[0], asked)
                if added:
                    return added
            stages.pop(0)
        cuts, missed = self._ask(x, everyone, whole)
        self._missed_in[missed] = self.rounds
        return self._add(cuts, x, x, programs)

    def _add_inside(
        self, x: Floats, programs: Sequence[Narrowed], stage: tuple[float, float], asked: Ints
    ) -> int:
        """Rows that a point further inside misses."""
        inside = self._inside(x, *stage)
        cuts, missed = self._ask(inside, asked, False)
        self._missed_in[missed] = self.rounds
        return self._add(cuts, inside, x, programs)

    def _ask(
        self, x: Floats, asked: Ints, whole: bool, most: int = MOST_ROWS
    ) -> tuple[list[ProtectionCut], Ints]:
        """Proofs for those of the levels that a point misses, and which these are."""
        below, above = self._room(x)
        extent = np.ones(len(self.requirements))
        cells = np.array(
            [requirement.cell for requirement in self.requirements[self.levels :]], dtype=np.int64
        )
        extent[self.levels :] = self.formulation.touched.at(x)[cells]
        with watched(self.deadline.check):  # a single program may take longer than there is time
            cuts = self.separator.separate(
                below,
                above,
                [self.requirements[t] for t in asked],
                extent=extent[asked],
                most=most,
                share=None if whole else self._share.at(x),
                depth=self.depth,
                deadline=self.deadline,
            )
        missed = {id(cut.requirement) for cut in cuts}
        return cuts, asked[[id(self.requirements[t]) in missed for t in asked.tolist()]]

    def _room(self, x: Floats) -> tuple[Floats, Floats]:
        return np.maximum(self.formulation.below.at(x), 0.0), np.maximum(self.formulation.above.at(x), 0.0)

    def _add(self, cuts: Sequence[ProtectionCut], at: Floats, x: Floats, programs: Sequence[Narrowed]) -> int:
        """Rows of cuts that were found at a point, as far as x misses them."""
        if not cuts:
            return 0
        conditional = {id(requirement) for requirement in self.requirements[self.levels :]}
        matrix, right = self._maker.rows(
            cuts, *self._room(at), [id(cut.requirement) in conditional for cut in cuts]
        )
        matrix, right = self._maker.strengthened(matrix, right, x)
        worth = self._maker.new(matrix, right, np.flatnonzero(right - matrix @ x > MISSED))
        if worth.size == 0:  # within the tolerance of linear programs, or missed only further inside
            return 0
        matrix, right = csr_array(matrix[worth]), right[worth]
        self._found.append((matrix, right))
        self._cuts += [cuts[k] for k in worth.tolist()]
        for program in programs:
            program.add_rows(matrix, right)
        return int(worth.size)

    def tight_cuts(self) -> list[ProtectionCut]:
        """The cuts whose rows the last point meets without slack: those that other sizes of the levels start with."""
        if self._last.size < self.formulation.size or not self._found:
            return []
        slack = np.concatenate([matrix @ self._last - right for matrix, right in self._found])
        return [self._cuts[k] for k in np.flatnonzero(slack <= MISSED)]

    def _for_these_levels(self, known: Sequence[ProtectionCut]) -> list[ProtectionCut]:
        """Proofs with the levels of this model in the place of theirs: multipliers hold whatever the level is."""
        mine = {
            (requirement.cell, requirement.attacker, requirement.side): requirement
            for requirement in self.requirements[: self.levels]
        }
        keys = ((cut.requirement.cell, cut.requirement.attacker, cut.requirement.side) for cut in known)
        return [
            replace(cut, requirement=mine[key])
            for key, cut in zip(keys, known, strict=True)
            if key in mine and cut.cells.size > 1
        ]
