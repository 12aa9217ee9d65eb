"""suppress-optimal: the cheapest safe pattern, proven, or the best one found with its proven gap.

    min  sum_i w_i x_i   over all capacity rows of all levels (`separation`),   x binary

1. *Levels*: those that the cells hidden anyway meet are dropped (hiding more never narrows an interval).
2. *Incumbent*: greedy deviations and clean-up (`search`).
3. *Root*: the linear relaxation with rows on demand and columns priced in (`relaxation`): capacity rows, always
   sharpened by residual, truncation, covers and rounding; pattern rows. Every few rounds its point guides a new search.
4. *Guess a gap*: suppose that the optimum is at most a little above the bound. Then cells whose reduced cost exceeds
   the gap are published, which leaves few; an integer program over them with lazy capacity rows either finds the
   optimum or proves that the guess was too low: then it is enlarged.
5. The outcome is audited by `protect` like any other.

References: Fischetti & Salazar (2001), Solving the cell suppression problem on tabular data with linear constraints;
Salazar (2010) for cutting at the root and then handing over to an integer program.
"""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.audit import audit
from tablecloak.audit.reduce import structure_of
from tablecloak.engines.lp import Outcome
from tablecloak.engines.mip import GrowingProgram
from tablecloak.errors import InfeasibleProblem, SolverError
from tablecloak.methods.base import Proposal, suppression
from tablecloak.methods.deviations import Side, Task, open_tasks
from tablecloak.methods.feasibility import largest_pattern
from tablecloak.methods.network_search import NetworkSearch, is_network
from tablecloak.methods.patterns import PatternRows
from tablecloak.methods.relaxation import Relaxation
from tablecloak.methods.rows import Row
from tablecloak.methods.search import Search
from tablecloak.methods.separation import separator_of
from tablecloak.problem import Problem
from tablecloak.progress import Deadline, Progress
from tablecloak.result import Status

FIRST_GUESS, LARGER = 0.02, 2.5
"""The first guess of the gap, as a share of the bound, and by how much the next one is larger."""
TAILING, STALLED = 1e-4, 10
"""The root ends after so many rounds that raise the bound by less than this share."""
NEAR = 0.01
"""Integer programs are solved up to this gap until their points are safe, then to the end."""
GUIDED = 6
"""Every so many rounds the relaxation guides a search."""


@dataclass(frozen=True)
class OptimalParams:
    """Parameters of suppress-optimal."""

    seconds: float | None = None
    """Stop after so long with the best pattern so far and its proven bound."""
    gap: float = 0.0
    """Stop when cost and bound differ by no more than this share of the cost."""
    rows_a_round: int = 200
    """At most so many levels get new rows in one round."""


def suppress_optimal(
    problem: Problem,
    *,
    params: OptimalParams,
    rng: np.random.Generator,
    progress: Progress,
    executor: Executor | None,
) -> Proposal:
    """The cheapest safe pattern, or the best found in time with a proven bound on the cost of every safe pattern."""
    deadline = Deadline.after(params.seconds)
    progress("is it feasible at all", 0, 1)
    allowed = largest_pattern(replace(problem, most_touched=None), progress)
    solver = _Solver(problem, allowed, params, progress, deadline)
    try:
        status = solver.run()
    except KeyboardInterrupt:
        status = Status.TIME_LIMIT
    return solver.proposal(status)


class _Solver:
    """The state of one run: the best pattern, the bound, the rows."""

    def __init__(
        self, problem: Problem, allowed: Bools, params: OptimalParams, progress: Progress, deadline: Deadline
    ) -> None:
        self.problem, self.allowed, self.params = problem, allowed, params
        self.report, self.deadline = progress, deadline
        self.free = allowed & ~problem.must_hide
        self.hidden: Bools | None = allowed.copy() if problem.most_touched is None else None
        self.tasks: list[Task] = []
        self.network = is_network(problem)
        self.unit = _weight_unit(problem.weights[self.free])
        self.bound = 0.0
        self.rounds = self.programs = self.guesses = 0
        self.relaxation: Relaxation | None = None

    # ------------------------------------------------------------------ the recipe

    def run(self) -> Status:
        self.tasks = self._levels()
        if not self.tasks and self.problem.most_touched is None:
            self.hidden = self.problem.must_hide.copy()
            return Status.OPTIMAL
        self._search(self.problem.weights)
        self.separator = separator_of(self.problem, self.allowed)
        self.patterns = PatternRows(self.problem, self.allowed)
        self.relaxation = Relaxation(self.problem.weights, self.free, self._first_columns())
        if not self._root():
            return self._ended()
        everything = float(self.problem.weights[self.free].sum())
        guess = FIRST_GUESS
        while not self._proven():
            if self.deadline.passed() or not self._solve_within(guess):
                return self._ended()
            if self.hidden is None and self.bound > everything * (1 + 1e-9):
                raise self._infeasible()
            guess *= LARGER
        return Status.OPTIMAL

    def _infeasible(self) -> InfeasibleProblem:
        most = self.problem.most_touched
        return InfeasibleProblem(
            f"No suppression pattern meets all levels with at most {most} cells touched.\n"
            "Allow more cells to be touched, or lower the levels."
        )

    def _ended(self) -> Status:
        return Status.OPTIMAL if self._proven() else Status.TIME_LIMIT

    def _levels(self) -> list[Task]:
        """The levels that the cells hidden anyway do not meet, the largest first."""
        found = audit(self.problem, suppression(self.problem.must_hide), progress=self.report)
        tasks = [*open_tasks(self.problem, found), *self._conditional()]
        return sorted(tasks, key=lambda task: (-task.level, task.attacker, task.cell, task.side.value))

    def _conditional(self) -> list[Task]:
        """The widths that cells must have if they are hidden."""
        cells = np.flatnonzero(self.free & (self.problem.levels.conditional > 0))
        tasks = []
        for attacker in range(len(self.problem.attacker_names) if cells.size else 0):
            _, _, widths = self.problem.required(attacker, cells)
            tasks += [
                Task(cell, attacker, Side.SLIDE, width)
                for cell, width in zip(cells.tolist(), widths.tolist(), strict=True)
                if width > 0
            ]
        return tasks

    # ------------------------------------------------------------------ cost and proof

    @property
    def cost(self) -> float:
        return math.inf if self.hidden is None else float(self.problem.weights[self.hidden & self.free].sum())

    def _raise_bound(self, bound: float) -> None:
        """Costs are whole numbers of `unit`, so the bound may be rounded up."""
        if self.unit > 0:
            bound = (
                self.unit * math.ceil(bound / self.unit * (1 - 1e-12) - 1e-6)
                if math.isfinite(bound)
                else bound
            )
        self.bound = max(self.bound, min(bound, self.cost))

    def _proven(self) -> bool:
        slack = max(self.params.gap * self.cost, 1e-9 * max(1.0, abs(self.cost)))
        return self.hidden is not None and self.cost - self.bound <= slack

    def _tell(self, phase: str, done: int, total: int) -> None:
        self.report(phase, done, total, None if self.hidden is None else self.cost, self.bound)

    # ------------------------------------------------------------------ primal

    def _search(self, weights: Floats) -> None:
        """A greedy pattern at these weights, cleaned up at the true ones; kept if it is the best."""
        if self.problem.most_touched is not None:
            return
        conditional = bool(self.problem.levels.conditional.any())
        search: Search | NetworkSearch
        if self.network and not conditional:
            search = NetworkSearch(
                self.problem, self.allowed, self.tasks, self.report, self.deadline, weights=weights
            )
        else:
            search = Search(self.problem, self.allowed, self.report, self.deadline, weights=weights)
        search.construct()
        if not search.complete:
            return
        search.clean_up()
        self._adopt(search.hidden.copy())

    # ------------------------------------------------------------------ root

    def _first_columns(self) -> Bools:
        """The incumbent and the cheapest cells of each equation."""
        start = self.patterns.cheapest(8)
        if self.hidden is not None and not (self.hidden == self.allowed).all():
            start |= self.hidden & self.free
        return start

    def _root(self) -> bool:
        """Rows and columns until nothing is missed, or the bound stalls; False when the time is up."""
        relaxation = self.relaxation
        assert relaxation is not None
        if self.problem.most_touched is not None:
            cells = np.flatnonzero(self.free)
            room = self.problem.most_touched - int(self.problem.must_hide.sum())
            relaxation.add([Row(cells, -np.ones(cells.size), -float(room), "most touched")])
        stalled, before = 0, 0.0
        while True:
            if self.deadline.passed():
                return False
            outcome = relaxation.solve(self.deadline.left)
            if outcome is Outcome.INFEASIBLE:
                raise self._infeasible()
            if outcome is not Outcome.OPTIMAL:
                return False
            self.rounds += 1
            new = len(relaxation.violated_in_pool(relaxation.x))
            if stalled < STALLED:
                new += relaxation.add(self._missed(relaxation.x))
            if new == 0:
                if relaxation.price():
                    stalled = 0
                    continue
                self._raise_bound(relaxation.bound)
                self._tell("root", self.rounds, self.rounds)
                return True
            if self.rounds % GUIDED == 0:
                relaxation.price()
                self._raise_bound(relaxation.bound)
                self._guide(relaxation.x)
                if self._proven():
                    return True
            self._tell("root", self.rounds, self.rounds)
            stalled = stalled + 1 if relaxation.value < before + TAILING * abs(before) else 0
            before = relaxation.value

    def _missed(self, x: Floats) -> list[Row]:
        rows = self.separator.rows(x, self.tasks, most=self.params.rows_a_round, deadline=self.deadline)
        return [*rows, *self.patterns.rows(x)]

    def _guide(self, x: Floats) -> None:
        self._search(self.problem.weights * np.maximum(1.0 - x, 1e-3))

    # ------------------------------------------------------------------ integer phase

    def _solve_within(self, share: float) -> bool:
        """Find the optimum if it is within a share of the bound, or prove that it is not; False: time is up."""
        relaxation = self.relaxation
        assert relaxation is not None
        self.guesses += 1
        least = relaxation.bound
        step = self.unit if self.unit > 0 else 1e-9 * max(1.0, abs(least))
        highest = max(least * (1 + share), least + (2 + self.guesses) * step)
        beyond = _next_multiple(highest, self.unit)  # the least that a pattern with other cells can cost
        noise = 1e-9 * max(1.0, abs(least))
        cells = np.flatnonzero(self.free & (relaxation.reduced <= min(highest, self.cost) - least + noise))
        program = GrowingProgram(self.problem.weights[cells])
        sent, near = 0, NEAR
        while True:
            matrix = relaxation.matrix(relaxation.pool[sent:])[:, cells]
            program.add_rows(np.array([row.rhs for row in relaxation.pool[sent:]]), matrix)
            sent = len(relaxation.pool)
            solution = program.solve(self.deadline.left, gap=near, step=self.unit)
            self.programs += 1
            self._raise_bound(min(solution.bound, beyond))
            if solution.outcome is Outcome.TIME_LIMIT:
                return False
            if solution.outcome is Outcome.INFEASIBLE or solution.bound > highest + noise:
                return True
            x = np.zeros(self.free.size)
            x[cells[solution.values > 0.5]] = 1.0
            missed = self.separator.rows(x, self.tasks, most=self.params.rows_a_round)
            if missed:
                relaxation.add([*missed, *self.patterns.rows(x)])
                self._repair(x)
            else:
                self._adopt((x > 0.5) | self.problem.must_hide)
                if near == 0.0:
                    self._raise_bound(self.cost)
                near = 0.0
            if self._proven():
                return True
            self._tell("integer program", self.programs, self.programs)

    def _adopt(self, hidden: Bools) -> None:
        """Keep a safe pattern if it is the best."""
        if float(self.problem.weights[hidden & self.free].sum()) < self.cost:
            self.hidden = hidden

    def _repair(self, x: Floats) -> None:
        """What is missing from a pattern that is not safe yet, cheaply."""
        self._search(np.where(x > 0.5, 1e-3 * self.problem.weights, self.problem.weights))

    # ------------------------------------------------------------------ the end

    def proposal(self, status: Status) -> Proposal:
        """What was found, with the bound."""
        hidden = self.hidden
        if hidden is None:
            raise SolverError(
                "the time was up before any pattern within the bound on touched cells was found"
            )
        pool = [] if self.relaxation is None else self.relaxation.pool
        kinds = sorted({row.kind for row in pool})
        return Proposal(
            suppression(hidden),
            status,
            f"branch and cut (HiGHS) on {structure_of(self.problem.table).description}",
            bound=self.cost if status is Status.OPTIMAL and self.params.gap == 0 else self.bound,
            counters={
                "levels": len(self.tasks),
                "rounds": self.rounds,
                "guesses": self.guesses,
                "integer programs": self.programs,
                **{f"{kind} rows": sum(row.kind == kind for row in pool) for kind in kinds},
            },
        )


def _next_multiple(cost: float, unit: float) -> float:
    """The least cost above this one, if costs are multiples of the unit; without a unit no more is known than this."""
    return cost if unit == 0 or not math.isfinite(cost) else unit * (math.floor(cost / unit + 1e-9) + 1)


def _weight_unit(weights: Floats) -> float:
    """A number of which all weights are multiples (1, 10, 0.01, ...), or 0 if there is none to be seen."""
    positive = weights[weights > 0]
    for decimals in range(-3, 7):
        scaled = positive * 10.0**decimals
        if not positive.size or scaled.max() >= 2**40:
            break
        whole = np.rint(scaled)
        if (whole >= 1).all() and (np.abs(scaled - whole) <= 1e-12 * whole).all():
            return float(np.gcd.reduce(whole.astype(np.int64))) / 10.0**decimals
    return 0.0
