"""Linear programs with many more columns than rows, solved over a few of the columns at a time (sifting).

    min  c x    A x = b,   low <= x <= high

Columns outside stay at their lower bound. Artificial columns of a high cost make every such program feasible. Columns
outside with a negative reduced cost  c - A'y < 0  at its row duals y can improve it; the best of them join until none
is left: then the point is optimal for all columns. For any y, optimal or not,

    b y + sum_j min over low_j <= x_j <= high_j of (c - A'y)_j x_j

is a lower bound of the whole program, and a point without artificial amounts is feasible for it.

Rows are sifted too: equations of a table that are implied by others (`independent`) slow every solver down.

Reference: Bixby, Gregory, Lustig, Marsten & Shanno (1992), Very large-scale linear programming: a case study.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import SolverError
from tablecloak.progress import Deadline
from tablecloak.solvers.highs import (
    PRIMAL,
    WARM_SIMPLEX,
    HighsProgram,
    HighsSettings,
    read_solution,
    run_linear,
)
from tablecloak.solvers.outcome import Outcome, Solution
from tablecloak.solvers.tolerances import ARTIFICIAL_AMOUNT, REDUCED_COST


@dataclass(frozen=True)
class SiftingSettings:
    """Tuning of sifting."""

    join_per_row: int = 4
    """Maximum number of columns per row that join in one round: more make fewer, longer rounds. Untested default."""
    least_join: int = 500
    """Number of columns that may join in a round however few rows there are. Untested default."""
    penalty: float = 1e3
    """Cost of artificial columns, in multiples of the largest cost: a larger one avoids more wrong claims of
    infeasibility and costs precision. Untested default."""
    samples: int = 3
    """Number of random tables on which an equation must hold to count as implied by others. Untested default."""
    highs: HighsSettings = HighsSettings()


@dataclass(frozen=True)
class Sifted(Solution):
    """The solution over all columns; when the time is up it may have a point and a bound that differ."""

    rounds: int = 0
    """Number of restricted programs that were solved."""


def sift(
    matrix: csc_array,
    right: Floats,
    cost: Floats,
    bounds: tuple[Floats, Floats],
    first: Ints,
    *,
    seconds: float = math.inf,
    settings: SiftingSettings = SiftingSettings(),
) -> Sifted:
    """Solve to optimality or to the time limit. `first`: columns to begin with; lower bounds must be finite.

    The outcome is `INFEASIBLE` where artificial amounts remain in the end.
    """
    return _Sift(matrix, right, cost, bounds, Deadline.after(seconds), settings).run(first)


class _Sift:
    """One run."""

    def __init__(
        self,
        matrix: csc_array,
        right: Floats,
        cost: Floats,
        bounds: tuple[Floats, Floats],
        deadline: Deadline,
        settings: SiftingSettings,
    ) -> None:
        self.matrix, self.right, self.cost, (self.low, self.high) = csc_array(matrix), right, cost, bounds
        self.deadline, self.settings = deadline, settings
        self.largest = max(float(np.abs(cost).max(initial=0.0)), 1e-12)
        self.program = _Restricted(self.right - self.matrix @ self.low, self.largest, settings)
        self.inside: Bools = self.high <= self.low  # fixed columns never join
        self.order: Ints = np.zeros(0, dtype=np.int64)
        self.best, self.bound, self.rounds = Solution.without_point(Outcome.TIME_LIMIT), -math.inf, 0
        self.duals = np.zeros(right.size)

    def _join(self, columns: Ints) -> None:
        new = columns[~self.inside[columns]]
        if new.size:
            self.program.add_columns(self.cost[new], self.matrix[:, new], (self.high - self.low)[new])
            self.inside[new] = True
            self.order = np.concatenate([self.order, new])

    def run(self, first: Ints) -> Sifted:
        """Rounds of solving and pricing."""
        self._join(np.unique(first))
        most = max(self.settings.join_per_row * self.right.size, self.settings.least_join)
        while True:
            self.rounds += 1
            outcome, artificial = self._solve()
            if outcome is not Outcome.OPTIMAL:
                return self._ended(outcome)
            reduced = self.cost - self.matrix.T @ self.duals
            self._raise_bound(reduced)
            worth = np.flatnonzero(~self.inside & (reduced < -REDUCED_COST * self.largest))
            if worth.size == 0:
                return self._ended(Outcome.INFEASIBLE if artificial > ARTIFICIAL_AMOUNT else Outcome.OPTIMAL)
            if self.deadline.passed():
                return self._ended(Outcome.TIME_LIMIT)
            if worth.size > most:
                worth = worth[np.argpartition(reduced[worth], most)[:most]]
            self._join(worth)

    def _solve(self) -> tuple[Outcome, float]:
        """Solve over the columns inside and keep a better feasible point; the largest artificial amount comes last."""
        solution, artificial = self.program.solve(self.deadline.left), math.inf
        if solution.values.size:
            x, count = solution.values, 2 * self.right.size
            artificial = float(x[:count].max(initial=0.0))
            values = self.low.copy()
            values[self.order] += x[count:]
            objective = float(self.cost @ values)
            if artificial <= ARTIFICIAL_AMOUNT and objective <= self.best.objective:
                self.best = Solution(solution.outcome, objective, -math.inf, values)
        if solution.outcome is Outcome.OPTIMAL:
            self.duals = solution.duals
        return solution.outcome, artificial

    def _raise_bound(self, reduced: Floats) -> None:
        """The bound of these duals."""
        least = reduced * np.where(reduced >= 0, self.low, self.high)
        self.bound = max(self.bound, float(self.right @ self.duals + least.sum()))

    def _ended(self, outcome: Outcome) -> Sifted:
        if outcome is Outcome.OPTIMAL:  # up to the tolerance of linear programs
            self.bound = self.best.objective
        return Sifted(outcome, self.best.objective, self.bound, self.best.values, self.duals, self.rounds)


class _Restricted(HighsProgram):
    """The program over some columns, in amounts above their lower bounds; costs in units of the largest."""

    def __init__(self, right: Floats, largest: float, settings: SiftingSettings) -> None:
        super().__init__(largest, settings.highs, **WARM_SIMPLEX, simplex_strategy=PRIMAL.value)
        count = right.size
        self.add_rows(right, csr_array((count, 0)), right)
        signs = np.concatenate([np.ones(count), -np.ones(count)])
        artificial = csc_array((signs, (np.tile(np.arange(count), 2), np.arange(2 * count))))
        self.add_columns(
            np.full(2 * count, settings.penalty * largest), artificial, np.full(2 * count, math.inf)
        )

    def solve(self, seconds: float) -> Solution:
        """Solve from the last basis; artificial columns make it feasible, and costs are not negative."""
        wrong = frozenset({Outcome.INFEASIBLE, Outcome.UNBOUNDED})
        status = run_linear(self._highs, seconds, wrong=wrong, settings=self._settings)
        solution = read_solution(self._highs, status, integer=False, scale=self._scale, wrong=wrong)
        if solution.outcome is Outcome.FAILED:
            raise SolverError(f"HiGHS ended with status {status} on a program over some of its columns")
        return solution


def independent(columns: csc_array, settings: SiftingSettings = SiftingSettings()) -> csc_array:
    """Equations without those that are implied by others, as half of them are in tables of many hierarchies.

    An equation with a single cell on one side defines it by the others. One such equation is kept for each cell that is
    defined; the other cells are given random whole numbers, and the defined ones follow. Equations that hold then,
    several times and exactly, are implied by those kept; all others are kept too.
    """
    rows = csr_array(columns)
    defined = _defined(rows)
    cells, chosen = np.unique(defined, return_index=True)
    cells, chosen = cells[cells >= 0], chosen[cells >= 0]
    values = np.random.default_rng(0).integers(1, 2**20, (rows.shape[1], settings.samples)).astype(np.float64)
    known = np.ones(rows.shape[1], dtype=bool)
    known[cells] = False
    values[cells] = 0.0
    while chosen.size:
        ready = abs(rows[chosen]) @ (~known).astype(np.float64) == 1
        if not ready.any():
            break  # cells that define each other: their equations are kept
        now, cell = chosen[ready], defined[chosen[ready]]
        sign = np.asarray(rows[now].multiply(_units(cell, rows.shape[1])).sum(axis=1)).ravel()
        values[cell] = -(rows[now] @ values) * sign[:, None]
        known[cell] = True
        chosen = chosen[~ready]
    kept = (rows @ values != 0).any(axis=1) | (abs(rows) @ (~known).astype(np.float64) > 0)
    kept[np.unique(defined, return_index=True)[1]] = True
    kept[defined < 0] = True
    return csc_array(rows[np.flatnonzero(kept)])


def _units(cells: Ints, size: int) -> csr_array:
    """A row with a one at each of these cells."""
    count = cells.size
    return csr_array((np.ones(count), (np.arange(count), cells)), shape=(count, size))


def _defined(rows: csr_array) -> Ints:
    """For each equation the cell that it defines by the others, -1 if there is none."""
    of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    whole = np.bincount(of[rows.data != np.rint(rows.data)], minlength=rows.shape[0]) == 0
    defined: Ints = np.full(rows.shape[0], -1, dtype=np.int64)
    for sign in (1.0, -1.0):
        lone = np.bincount(of[np.sign(rows.data) == sign], minlength=rows.shape[0]) == 1
        heads = (rows.data == sign) & (lone & whole)[of]
        defined[of[heads]] = rows.indices[heads]
    return defined
