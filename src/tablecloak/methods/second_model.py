"""The second model of any form: only the form's own columns, and proofs of what is missed as rows, on demand.

    min  c x   over the form's own rows, and for every proof (`rooms`):
    sum_i above_i min(U_i(x), UB_i^k) + below_i min(D_i(x), LB_i^k) >= level        (times t_p for a conditional width)

Of each minimum the smaller side at the point at hand is taken, which is linear and valid. First the linear relaxation
is solved until it misses nothing, then the integer program, again and again while its optimum misses something. Rows
over binary columns are sharpened: with negative coefficients complemented, x = 1 - x', no coefficient need be larger
than the right-hand side (the two-sided form d'x + d''(1 - x)); a column that a binary one switches off can be replaced
by it, at min(coefficient times its limit, right-hand side).

References: Salazar-Gonzalez (2002), second models; Salazar-Gonzalez (2010) for solving again and again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.engines.growing import Program
from tablecloak.engines.lp import Outcome
from tablecloak.methods.deviations import Task
from tablecloak.methods.forms import Form
from tablecloak.methods.network_search import Boxes
from tablecloak.methods.rooms import Proof, prover_of
from tablecloak.problem import Problem
from tablecloak.progress import Deadline, Progress

STAGES = ((0.3, 1000), (0.1, 1000), (0.03, 1000), (0.01, 500), (0.0, 0))
"""Where proofs are looked for while the relaxation is solved: so many promising columns are this much larger than the
point says, in units of the levels; in the end at the point itself. See `_inside`."""
MOST_ROWS = 2000
"""At most so many levels get a row in one round."""
GAP = 0.01
"""Integer programs are solved up to this gap while their points are unsafe, then to the end."""
TINY = 1e-9
MISSED = 1e-6
"""A row is missed if more than this share of its level is missing."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The best point (empty: none), whether it misses no level, its objective and the proven bound."""

    outcome: Outcome
    values: Floats
    safe: bool
    objective: float
    bound: float
    rounds: int
    rows: int


class SecondModel:
    """The program, which grows."""

    def __init__(
        self,
        problem: Problem,
        form: Form,
        tasks: Sequence[Task],
        widths: Sequence[Task],
        deadline: Deadline,
        progress: Progress,
    ) -> None:
        self.problem, self.form, self.deadline, self.progress = problem, form, deadline, progress
        self.tasks, self.levels = [*tasks, *widths], len(tasks)
        self.prover, self.boxes = prover_of(problem), Boxes(problem)
        self._linear = self._program(np.zeros_like(form.whole))
        self._found: list[tuple[csr_array, Floats]] = []
        self.rounds, self.bound = 0, -math.inf
        self.best: Floats = np.zeros(0)
        self._last: Floats = np.zeros(0)
        self.cost = math.inf

    def _program(self, whole: Bools) -> Program:
        form = self.form
        program = Program(form.cost, form.low, form.high, whole)
        program.add_rows(form.rows.matrix, form.rows.low, form.rows.high)
        return program

    def offer(self, x: Floats) -> None:
        """Keep a safe point if it is the best."""
        cost = float(self.form.cost @ x) + self.form.constant
        if cost < self.cost:
            self.best, self.cost = x, cost

    def solve(self) -> Answer:
        """The optimum, or the best safe point when the time is up (an unsafe one if there is no other)."""
        outcome = self._relax()
        if outcome is Outcome.OPTIMAL and self.form.whole.any():
            outcome = self._integer()
        return self.best_so_far(outcome)

    def best_so_far(self, outcome: Outcome) -> Answer:
        """What there is, also after an interruption."""
        safe, rows = math.isfinite(self.cost), sum(right.size for _, right in self._found)
        values = self.best if safe else self._last
        if outcome is Outcome.INFEASIBLE and not safe:
            return Answer(outcome, np.zeros(0), False, math.inf, math.inf, self.rounds, rows)
        if not safe and values.size < self.form.size:
            return Answer(outcome, values, False, math.inf, self.bound, self.rounds, rows)
        cost = self.cost if safe else float(self.form.cost @ values) + self.form.constant
        return Answer(outcome, values, safe, cost, min(self.bound, cost), self.rounds, rows)

    def _relax(self) -> Outcome:
        """The linear relaxation with all rows that it misses."""
        stage, stages = 0, STAGES if self._grows() else STAGES[-1:]
        while not self.deadline.passed():
            solution = self._linear.relax(self.deadline.left)
            if solution.outcome is not Outcome.OPTIMAL:
                return solution.outcome
            x = self._last = solution.values
            self.bound = max(self.bound, solution.objective + self.form.constant)
            self._tell("relaxation")
            missed = 0
            while not missed and stage < len(stages):
                missed = self._add_missed(x, [self._linear], self._inside(x, *stages[stage]))
                stage += missed == 0
            if not missed:
                if self.deadline.passed():  # then not every level was asked
                    return Outcome.TIME_LIMIT
                if not self.form.whole.any():
                    self.offer(x)
                return Outcome.OPTIMAL
        return Outcome.TIME_LIMIT

    def _grows(self) -> bool:
        """Whether larger columns leave more room to every cell: then points further inside can be asked."""
        return all((room.matrix.data >= 0).all() for room in (self.form.above, self.form.below))

    def _inside(self, x: Floats, extent: float, count: int) -> Floats:
        """The point with promising columns larger: what is missed there is missed at x all the more.

        Such proofs weigh columns that x does not use yet, and so they are fewer and cut deeper.
        """
        columns = np.flatnonzero(x < np.minimum(extent, self.form.high))
        if columns.size > count:
            columns = columns[np.argpartition(self._linear.reduced[columns], count)[:count]]
        inside = x.copy()
        inside[columns] = np.minimum(extent, self.form.high[columns])
        return inside

    def _integer(self) -> Outcome:
        """The integer program over all rows, solved again while its optimum is unsafe."""
        program, near = self._program(self.form.whole), GAP
        for matrix, right in self._found:
            program.add_rows(matrix, right, np.full(right.size, np.inf))
        while not self.deadline.passed():
            solution = program.solve(self.deadline.left, gap=near)
            if solution.outcome is Outcome.INFEASIBLE:
                return Outcome.INFEASIBLE
            self.bound = max(self.bound, solution.bound + self.form.constant)
            if solution.values.size < self.form.size:
                return Outcome.TIME_LIMIT
            x = self._last = np.where(self.form.whole, np.rint(solution.values), solution.values)
            self._tell("integer program")
            if not self._add_missed(x, [program]):
                if self.deadline.passed():
                    return Outcome.TIME_LIMIT
                self.offer(x)
                if near == 0.0 and solution.outcome is Outcome.OPTIMAL:
                    self.bound = max(self.bound, min(self.cost, solution.bound + self.form.constant))
                    return Outcome.OPTIMAL
                near = 0.0
            if math.isfinite(self.cost) and self.cost - self.bound <= 1e-9 * max(1.0, abs(self.cost)):
                return Outcome.OPTIMAL
        return Outcome.TIME_LIMIT

    def _tell(self, phase: str) -> None:
        self.rounds += 1
        incumbent = self.cost if math.isfinite(self.cost) else None
        self.progress(phase, self.rounds, self.rounds, incumbent, max(self.bound, 0.0))

    # ------------------------------------------------------------------ rows

    def _add_missed(self, x: Floats, programs: list[Program], asked_at: Floats | None = None) -> int:
        """Rows for the levels that a point misses, or one further inside; gives how many rows x misses."""
        form, at = self.form, x if asked_at is None else asked_at
        below, above = np.maximum(form.below.at(at), 0.0), np.maximum(form.above.at(at), 0.0)
        extent = np.ones(len(self.tasks))
        cells = np.array([task.cell for task in self.tasks[self.levels :]], dtype=np.int64)
        extent[self.levels :] = form.touched.at(at)[cells]
        proofs = self.prover.proofs(
            below, above, self.tasks, extent=extent, most=MOST_ROWS, deadline=self.deadline
        )
        if not proofs:
            return 0
        conditional = {id(task) for task in self.tasks[self.levels :]}
        matrix, right = self._rows(proofs, below, above, [id(proof.task) in conditional for proof in proofs])
        matrix, right = self._sharpened(matrix, right, x)
        worth = np.flatnonzero(right - matrix @ x > MISSED)
        if worth.size == 0:  # within the tolerance of linear programs, or missed only further inside
            return 0
        matrix, right = csr_array(matrix[worth]), right[worth]
        self._found.append((matrix, right))
        for program in programs:
            program.add_rows(matrix, right, np.full(right.size, np.inf))
        return int(worth.size)

    def _rows(
        self, proofs: list[Proof], below: Floats, above: Floats, conditional: list[bool]
    ) -> tuple[csr_array, Floats]:
        """The proofs over the columns, in units of the level: matrix x >= right."""
        form, size = self.form, below.size
        shape = (len(proofs), size)
        right = np.ones(len(proofs))
        parts: list[csr_array] = []
        for which, room, affine in (("above", above, form.above), ("below", below, form.below)):
            data, rows, columns = [], [], []
            for k, proof in enumerate(proofs):
                down, up = self.boxes[proof.task.attacker]
                own = (up if which == "above" else down)[proof.cells]
                entries = getattr(proof, which) / proof.task.level
                used = entries > 0
                boxed = used & ((own <= room[proof.cells]) | ~np.isfinite(affine.constant[proof.cells]))
                right[k] -= float(entries[boxed] @ own[boxed])
                open_ = used & ~boxed
                data.append(entries[open_])
                rows.append(np.full(int(open_.sum()), k))
                columns.append(proof.cells[open_])
            place = np.concatenate(rows), np.concatenate(columns)
            chosen = csr_array((np.concatenate(data), place), shape=shape)
            stated = np.where(np.isfinite(affine.constant), affine.constant, 0.0)
            right -= chosen @ stated
            parts.append(csr_array(chosen @ affine.matrix))
        matrix = parts[0] + parts[1]
        asked = np.flatnonzero(conditional)
        if asked.size:
            cells = [proofs[k].task.cell for k in asked]
            at = csr_array((np.ones(asked.size), (asked, cells)), shape=shape)
            matrix = matrix - at @ form.touched.matrix
            right[asked] += form.touched.constant[cells] - 1.0
        return csr_array(matrix), right

    def _sharpened(self, matrix: csr_array, right: Floats, x: Floats) -> tuple[csr_array, Floats]:
        """Truncated over binary columns; columns that a binary one switches off may be replaced by it."""
        form = self.form
        if not form.whole.any():
            return matrix, right
        binary = form.whole & (form.low == 0.0) & (form.high == 1.0)
        switch = form.switch
        rows, columns, data, rights = [], [], [], []
        for k in range(right.size):
            part = slice(matrix.indptr[k], matrix.indptr[k + 1])
            where, entries = matrix.indices[part].astype(np.int64), matrix.data[part]
            where, entries, need = _truncated(where, entries, float(right[k]), binary, switch, form.high, x)
            rows.append(np.full(where.size, k))
            columns.append(where)
            data.append(entries)
            rights.append(need)
        place = np.concatenate(rows), np.concatenate(columns)
        sharp = csr_array((np.concatenate(data), place), shape=matrix.shape)
        sharp.sum_duplicates()
        return sharp, np.array(rights)


def _truncated(
    where: Ints, entries: Floats, need: float, binary: Bools, switch: Ints, high: Floats, x: Floats
) -> tuple[Ints, Floats, float]:
    """One row  entries x >= need  over columns `where`, sharpened at the point x."""
    negative = binary[where] & (entries < 0)
    total = need - float(entries[negative].sum())  # with x = 1 - x' all binary columns have positive entries
    others = ~binary[where] & (switch[where] < 0)
    if total <= TINY or (entries[others] < 0).any() or (entries[~binary[where]] < 0).any():
        return where, entries, need
    entries, where = entries.copy(), where.copy()
    truncated = np.minimum(np.abs(entries), total)
    entries = np.where(binary[where], np.sign(entries) * truncated, entries)
    linked = np.flatnonzero(switch[where] >= 0)
    full = np.minimum(entries[linked] * high[where[linked]], total)
    by_switch = full * x[switch[where[linked]]] < entries[linked] * x[where[linked]]
    replaced = linked[by_switch]
    entries[replaced], where[replaced] = full[by_switch], switch[where[replaced]]
    return where, entries, total + float(entries[negative].sum())
