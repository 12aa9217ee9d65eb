"""suppress-compact: the compact model of Kelly et al. and Salazar, for small tables and as an independent oracle.

    min  sum_i w_i x_i
    for every level (p, attacker k, side):  M f = 0,  -LB_i^k x_i <= f_i <= UB_i^k x_i,  f_p = level (or -level)
    sliding level s:   two such deviations f, g with f_p - g_p >= s
    conditional width s_i:   two deviations f, g with f_i - g_i >= s_i x_i
    sum_i x_i <= q  (bound on touched cells),   x binary, 1 where a cell must be hidden, 0 where it must be published

Deviations are measured in units of the level. A capacity larger than `reach` levels is cut to that: on networks
a deviation is a sum of cycles through p, so no cell needs to move further than p (reach 1); elsewhere circuits can
amplify and `reach` is a parameter; small programs are solved once more with a much larger one, for anything cheaper.
Levels met when only the cells that must be hidden are hidden are left out (hiding more never narrows an interval).

The solver's tolerance is a share of the level, which may be more than the deviation bounds of a small cell. Where it
is, the program is solved for (1 - eps) levels too, which excludes no safe pattern: its bound is what is proven.
Patterns count if the audit accepts them; where it accepts none, the program for (1 + eps) levels looks for another.

The solver's gap is a share of the largest weight, which may be more than all that the best pattern costs. Cells that
weigh more than a pattern that the audit accepts are in no cheaper one: they are fixed to be published, the weights are
scaled to what is left, and the program is solved again as long as that makes them finer.

References: Kelly, Golden & Assad (1992); Salazar-Gonzalez (2002), A unified framework, first model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import block_array, csr_array, diags_array, vstack

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import structure_of, working_equations
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, NotApplicable, SolverError
from tablecloak.methods.base import HIDES_EVERYTHING, Proposal, Run, complementary_cost
from tablecloak.methods.feasibility import hide_everything
from tablecloak.methods.heuristics import FIRST_KEPT, FirstPatternSettings, first_pattern
from tablecloak.model import (
    Problem,
    Requirement,
    Side,
    Status,
    Suppression,
    conditional_requirements,
    unmet_requirements,
)
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import (
    MIP_ABSOLUTE_GAP,
    OPTIMALITY,
    HighsSettings,
    MipOptions,
    Outcome,
    Solution,
    solve_mip,
)

UNSETTLED = (
    "the integer program has no solution that the audit accepts although safe patterns exist: the numbers are too far "
    "apart for the solver, or `reach` is too small; the pattern is the quick one that the method began with"
)
"""The note of a program that denies what the audit has shown."""


TOO_LARGE = "the integer program is too large to be begun in the time left"
"""The note of a run that has the quick pattern only."""


@dataclass(frozen=True)
class CompactSettings:
    """What HiGHS can do in a time limit."""

    max_columns: int = 400_000
    """Maximum number of columns of a program that is begun. Untested default."""
    nonzeros_a_second: float = 1e5
    """Nonzeros of a program that HiGHS sets up in a second before it checks its time limit for the first time
    (measured: 0.4 million in 1.6 s, 1.3 million in 4 to 15 s)."""
    slack: float = 1e-6
    """eps, in levels: deviation bounds below this share of a level are within the tolerance of programs."""
    wider: float = 32.0
    """The factor of the larger reach."""
    wider_columns: int = 2_000
    """Maximum number of columns of a program that is solved with it: a moment more, untested on larger ones."""
    root_share: float | None = MipOptions.root_share
    """Share of a time limit that the linear relaxation may take, as of `MipOptions`."""
    finer: float = 0.1
    """The program is solved again if the best pattern costs less than this share of the largest weight in it: more
    programs, against a gap of the solver (1e-9 of that weight) that is seen in the cost. Untested default."""
    first: FirstPatternSettings = FirstPatternSettings()
    """The quick pattern that the programs begin with."""
    highs: HighsSettings = HighsSettings()


@dataclass(frozen=True)
class CompactParams:
    """Parameters of suppress-compact."""

    seconds: float | None = None
    """Time limit of the integer program; then the best pattern found is returned with its bound."""
    reach: float = 32.0
    """Maximum deviation of any cell in levels (1 is exact on networks and used there)."""


@dataclass(frozen=True)
class _LevelBlock:
    """One deviation vector: which cell it must move, and by how much, in units of `level`."""

    requirement: Requirement
    conditional: bool


def suppress_compact(
    problem: Problem,
    *,
    params: CompactParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: CompactSettings = CompactSettings(),
) -> Proposal:
    """The cheapest pattern, proven, or the best found with its bound when the time is up."""
    run = Run(params.seconds)
    relaxed = problem if problem.most_touched is None else replace(problem, most_touched=None)
    allowed = hide_everything(problem, progress)
    requirements = unmet_requirements(relaxed, audit(relaxed, Suppression.copy_of(problem.must_hide)))
    blocks = _blocks(relaxed, allowed, requirements)
    columns = int(allowed.sum()) * (1 + sum(2 if b.requirement.side is Side.SLIDE else 1 for b in blocks))
    if columns > settings.max_columns:
        raise NotApplicable(
            f"suppress-compact would need {columns} columns.",
            needs=f"a small table with few exposed levels (at most {settings.max_columns} columns)",
            instead=["suppress-greedy"],
        )
    network = all(block.kind in ("network", "free") for block in structure_of(problem.table).blocks)
    search = _CompactSearch(problem, allowed, blocks, 1.0 if network else params.reach, run, settings)
    progress("integer program", 0, 1)
    first = None
    with run.stoppable():
        first = first_pattern(problem, allowed, requirements, progress, run.deadline, settings.first)
        if run.deadline.left < search.model.matrix.nnz / settings.nonzeros_a_second:
            found = _proposal(problem, allowed, first, search, run)
            return replace(found, notes=(*found.notes, TOO_LARGE))
        if first is not None:
            search.offer(first)
        search.solve()
    return _proposal(problem, allowed, first, search, run)


@dataclass(eq=False)
class _CompactSearch:
    """Programs for demands around the levels, and what they found. Confidential."""

    problem: Problem
    allowed: Bools
    blocks: list[_LevelBlock]
    reach: float
    run: Run
    settings: CompactSettings
    hidden: Bools | None = None
    """The cells of a pattern that the audit accepts."""
    bound: float = -math.inf
    """Lower bound on the weights of complementary cells."""
    denied: bool = False
    """Whether the program for the bound has no solution."""
    proven: bool = False
    """Whether nothing is cheaper, for deviations within `reach`."""

    def __post_init__(self) -> None:
        self.model = self._model()
        self.limit = math.inf
        """What the best pattern costs at the beginning of the last program: cells that weigh more are published."""

    def _model(self, demand: float = 1.0) -> _Model:
        return _Model(self.problem, self.allowed, self.blocks, self.reach, demand, self.settings)

    @property
    def cost(self) -> float:
        """What the best pattern costs; infinite where there is none."""
        return math.inf if self.hidden is None else complementary_cost(self.problem, self.hidden)

    def solve(self) -> None:
        """The cheapest pattern, or what there is when the time is up."""
        while True:
            self.limit = self.cost
            self._solve_below()
            if not self.proven or self.cost >= self.settings.finer * self.model.largest_weight(self.limit):
                break
        if self.proven and self.model.cut and self.model.matrix.shape[1] <= self.settings.wider_columns:
            self._look_further()

    def _solve_below(self) -> None:
        """The cheapest pattern of cells that weigh no more than `limit`."""
        deadline, slack = self.run.deadline, self.settings.slack
        found = [self.model.solve(deadline, self.limit)]
        if self.model.least_bound < slack and not deadline.passed():
            found.append(self._model(1 - slack).solve(deadline, self.limit))
        self.bound = min(self.limit, *(solution.bound for solution in found))
        self.denied = found[-1].outcome is Outcome.INFEASIBLE
        for solution in found:
            self._take(solution)
        if self.hidden is None and any(one.values.size for one in found) and not deadline.passed():
            self._take(self._model(1 + slack).solve(deadline, self.limit))
        self.proven = found[-1].outcome is Outcome.OPTIMAL and self._closed()

    def _look_further(self) -> None:
        """Solve the program again with a larger reach."""
        wider = replace(self, reach=self.reach * self.settings.wider)
        self.limit = self.cost
        solution = wider.model.solve(self.run.deadline, self.limit)
        if solution.outcome is Outcome.OPTIMAL:
            self.reach, self.model, self.bound = wider.reach, wider.model, min(solution.bound, self.bound)
            self._take(solution)
            self.proven = self._closed()

    def _take(self, solution: Solution) -> None:
        """Keep the pattern of a solution, if there is one."""
        if solution.values.size:
            hidden = np.zeros(self.allowed.size, dtype=bool)
            hidden[self.model.cells] = solution.values[: self.model.cells.size] > 0.5
            self.offer(hidden)

    def offer(self, hidden: Bools) -> None:
        """Keep a pattern that the audit accepts, unless one is known that is as cheap."""
        cheaper = complementary_cost(self.problem, hidden) < self.cost
        if cheaper and audit(self.problem, Suppression.copy_of(hidden)).safe:
            self.hidden = hidden

    def _closed(self) -> bool:
        """Whether the pattern costs no more than the bound, to the tolerance of the program.

        The program leaves a gap between its optimum and its bound, and as much for rounding.
        """
        gap = 2 * MIP_ABSOLUTE_GAP * self.model.largest_weight(self.limit)
        return self.hidden is not None and self.cost * (1 - OPTIMALITY) <= self.bound + gap


def _proposal(
    problem: Problem, allowed: Bools, first: Bools | None, search: _CompactSearch, run: Run
) -> Proposal:
    if search.denied and search.hidden is None and not problem.is_monotone:
        within = "" if problem.most_touched is None else f" with at most {problem.most_touched} touched cells"
        raise InfeasibleProblem(
            f"No suppression pattern{within} meets all levels by deviations within `reach`."
        )
    late = run.deadline.stops and not search.proven
    stopped = HIDES_EVERYTHING if first is None else FIRST_KEPT
    notes: tuple[str, ...] = (stopped if late and not search.denied else UNSETTLED,)
    hidden, model = allowed if first is None else first, search.model
    if search.hidden is not None:
        notes = notes if search.hidden is first and not search.proven else ()
        hidden = search.hidden
    elif problem.most_touched is not None and int(allowed.sum()) > problem.most_touched:
        if run.deadline.interrupted:
            raise KeyboardInterrupt
        raise SolverError(
            "no pattern within the bound on touched cells was found (in time) that the audit accepts"
        )
    (rows, columns), cost = model.matrix.shape, complementary_cost(problem, hidden)
    bound = cost if search.proven else 0.0 if search.denied else max(0.0, search.bound)
    status = run.status(Status.OPTIMAL if search.proven else Status.FEASIBLE, complete=search.proven)
    if model.cut and not search.denied:
        notes += (f"proven for deviations of at most {search.reach:g} levels in any cell",)
    return Proposal(
        Suppression.copy_of(hidden),
        status,
        "HiGHS mixed-integer program",
        bound=min(bound, cost),
        notes=notes,
        counters={"blocks": len(model.blocks), "columns": columns, "rows": rows},
    )


def _blocks(problem: Problem, allowed: Bools, requirements: list[Requirement]) -> list[_LevelBlock]:
    """Levels not met by the cells that must be hidden, and the conditional ones of cells that may be hidden."""
    blocks = [
        _LevelBlock(requirement, False) for requirement in requirements if problem.must_hide[requirement.cell]
    ]
    conditional = conditional_requirements(problem, allowed & ~problem.must_hide)
    return blocks + [_LevelBlock(requirement, True) for requirement in conditional]


class _Model:
    """The matrix: binary columns first, then one group of deviation columns a block (two for sliding)."""

    def __init__(
        self,
        problem: Problem,
        allowed: Bools,
        blocks: list[_LevelBlock],
        reach: float,
        demand: float,
        settings: CompactSettings,
    ) -> None:
        self.problem, self.blocks, self.reach, self.demand = problem, blocks, reach, demand
        self.settings = settings
        self.cut, self.least_bound = False, math.inf
        """Whether `reach` (not that of networks) is less than some bound; the least bound in levels above zero."""
        self.cells = np.flatnonzero(allowed)
        self.equations = working_equations(problem.table)[:, self.cells]
        self.must = problem.must_hide[self.cells]
        size = self.cells.size
        rows: list[list[csr_array | None]] = []
        row_low, row_high = [np.zeros(0)], [np.zeros(0)]
        for number, block in enumerate(blocks):
            copies = 2 if block.requirement.side is Side.SLIDE else 1
            matrix, low, high = self._block_rows(block, copies)
            rows.append([matrix[:, :size], *[None] * len(blocks)])
            rows[-1][1 + number] = matrix[:, size:]
            row_low.append(low)
            row_high.append(high)
        if problem.most_touched is not None:
            rows.append([csr_array(np.ones((1, size))), *[None] * len(blocks)])
            row_low.append(np.array([-np.inf]))
            row_high.append(np.array([float(problem.most_touched)]))
        self.matrix = block_array(rows, format="csr") if rows else csr_array((0, size))
        self.rows = (np.concatenate(row_low), np.concatenate(row_high))

    def _block_rows(self, block: _LevelBlock, copies: int) -> tuple[csr_array, Floats, Floats]:
        """Rows over (x, f) or (x, f, g) of one block; deviations in units of the level."""
        requirement, size = block.requirement, self.cells.size
        low, high = self.problem.box(requirement.attacker)
        value = self.problem.table.values
        bounds = [bound[self.cells] / requirement.level for bound in (value - low, high - value)]
        self.cut |= self.reach != 1.0 and any((bound > self.reach).any() for bound in bounds)
        self.least_bound = min(
            self.least_bound, *(float(bound[bound > 0].min(initial=np.inf)) for bound in bounds)
        )
        down, up = (np.minimum(bound, self.reach) for bound in bounds)
        identity, parts = diags_array(np.ones(size)), list[list[Any]]()
        for copy in range(copies):
            # M f = 0,  f - up x <= 0,  f + down x >= 0
            for x, own in [
                (None, self.equations),
                (-diags_array(up), identity),
                (diags_array(down), identity),
            ]:
                parts.append([x, *[None] * copies])
                parts[-1][1 + copy] = own
        sums, zero, infinite = np.zeros(self.equations.shape[0]), np.zeros(size), np.full(size, np.inf)
        row_low, row_high = [sums, -infinite, zero] * copies, [sums, zero, infinite] * copies
        row_low.append(np.array([0.0 if block.conditional else self.demand]))
        row_high.append(np.array([np.inf]))
        matrix = vstack([block_array(parts), self._demand(block, copies)], format="csr")
        return matrix, np.concatenate(row_low), np.concatenate(row_high)

    def _demand(self, block: _LevelBlock, copies: int) -> csr_array:
        """f_p >= 1, -f_p >= 1, f_p - g_p >= 1; x_i instead of 1 for a conditional level."""
        size, place = self.cells.size, int(np.searchsorted(self.cells, block.requirement.cell))
        row = np.zeros((1, size * (1 + copies)))
        row[0, size + place] = -1.0 if block.requirement.side is Side.DOWN else 1.0
        if copies == 2:
            row[0, 2 * size + place] = -1.0
        if block.conditional:
            row[0, place] = -self.demand
        return csr_array(row)

    def largest_weight(self, limit: float) -> float:
        """The largest weight of a cell that a pattern cheaper than `limit` may hide beside those it must."""
        weights = self.problem.weights[self.cells]
        return float(weights[~self.must & (weights <= limit)].max(initial=0.0))

    def solve(self, deadline: Deadline, limit: float = math.inf) -> Solution:
        """The optimum among cells that weigh no more than `limit`, or what there is when the time is up."""
        size, width = self.cells.size, self.matrix.shape[1]
        weights = np.where(self.must, 0.0, self.problem.weights[self.cells])
        low, high = np.full(width, -self.reach), np.full(width, self.reach)
        low[:size], high[:size] = np.where(self.must, 1.0, 0.0), np.where(weights <= limit, 1.0, 0.0)
        unit = self.largest_weight(limit) or 1.0  # the solver's gaps are absolute
        cost = np.zeros(width)
        cost[:size] = np.where(weights <= limit, weights / unit, 0.0)
        integral = np.arange(width) < size
        settings = self.settings
        options = MipOptions(seconds=deadline.left, root_share=settings.root_share, highs=settings.highs)
        given = self.matrix, (low, high), self.rows, cost, integral, options
        found = solve_mip(*given, deadline.stoppable).checked()
        return replace(found, objective=found.objective * unit, bound=found.bound * unit)
