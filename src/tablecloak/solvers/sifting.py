"""Linear programs with many more columns than rows, solved over a few of the columns at a time (sifting).

    min  c x    A x = b,   low <= x <= high

Columns outside stay at their lower bound. Artificial columns of a high price make every such program feasible. Its row
prices y tell which columns outside are worth having, those with  c - A'y < 0; the best of them join until none is left:
then the point is optimal for all. For any y, finished or not,

    b y + sum_j min over low_j <= x_j <= high_j of (c - A'y)_j x_j

is a lower bound of the whole program, and a point without artificial amounts is feasible for it.

Rows are sifted too: those of a table that follow from others (`independent`) are a burden to every solver.

Reference: Bixby, Gregory, Lustig, Marsten & Shanno (1992), Very large-scale linear programming: a case study.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import SolverError
from tablecloak.progress import Deadline
from tablecloak.solvers.highs import quiet_highs, run, run_presolved
from tablecloak.solvers.linear_program import PRIMAL
from tablecloak.solvers.outcome import Outcome

JOIN_A_ROW, LEAST_JOIN = 4, 500
"""So many columns a row join in one round at most, and at least so many if there are so many."""
TOLERANCE = 1e-7
"""A column is worth having if its price is below zero by this share of the largest cost."""
PENALTY = 1e3
"""Artificial columns cost so many times the largest cost."""
CHANCES = 3
"""So many tables by chance must agree with an equation that follows from others."""
LEFT = 1e-7
"""An artificial amount above this is one."""


@dataclass(frozen=True, eq=False)
class Sifted:
    """How it ended; the point (empty: none was feasible in time), its objective, a lower bound and the row prices."""

    outcome: Outcome
    values: Floats
    objective: float
    bound: float
    duals: Floats
    rounds: int


def sift(
    matrix: csc_array,
    right: Floats,
    cost: Floats,
    low: Floats,
    high: Floats,
    first: Ints,
    *,
    seconds: float = math.inf,
) -> Sifted:
    """The optimum, or what there is when the time is up. `first`: columns to begin with; low must be finite.

    `INFEASIBLE` is said where artificial amounts remain in the end, at a price of `PENALTY` times the largest cost.
    """
    return _Sift(matrix, right, cost, low, high, seconds).run(first)


class _Sift:
    """One run."""

    def __init__(
        self, matrix: csc_array, right: Floats, cost: Floats, low: Floats, high: Floats, seconds: float
    ) -> None:
        self.matrix, self.across = csc_array(matrix), csr_array(matrix.T)
        self.right, self.cost, self.low, self.high = right, cost, low, high
        self.deadline = Deadline.after(seconds)
        self.highs: Any = quiet_highs(presolve="off", solver="simplex", simplex_strategy=PRIMAL)
        self.moving: Bools = high > low
        self.inside = np.zeros(cost.size, dtype=bool)
        self.order: Ints = np.zeros(0, dtype=np.int64)
        self.rows, self.largest = right.size, max(float(np.abs(cost).max(initial=0.0)), 1e-12)
        self.values: Floats = np.zeros(0)
        self.objective, self.bound, self.rounds = math.inf, -math.inf, 0
        self.duals = np.zeros(self.rows)
        self._artificial()

    def _artificial(self) -> None:
        """Rows with the amounts that the columns at rest leave, and two artificial columns each."""
        left = self.right - self.matrix @ self.low
        none = np.zeros(0, dtype=np.int32)
        starts = np.zeros(self.rows, dtype=np.int32)
        self._check(self.highs.addRows(self.rows, left, left, 0, starts, none, np.zeros(0)))
        signs = np.concatenate([np.ones(self.rows), -np.ones(self.rows)])
        self._add(
            np.full(2 * self.rows, PENALTY * self.largest),
            np.full(2 * self.rows, math.inf),
            csc_array((signs, (np.tile(np.arange(self.rows), 2), np.arange(2 * self.rows)))),
        )

    def _add(self, cost: Floats, room: Floats, columns: csc_array) -> None:
        """More columns; HiGHS gets costs in units of the largest, for it loses its way among large ones."""
        self._check(
            self.highs.addCols(
                cost.size,
                cost / self.largest,
                np.zeros(cost.size),
                room,
                columns.nnz,
                columns.indptr[:-1].astype(np.int32),
                columns.indices.astype(np.int32),
                columns.data.astype(np.float64),
            )
        )

    @staticmethod
    def _check(status: Any) -> None:
        if status == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused columns of a linear program")

    def _join(self, columns: Ints) -> None:
        new = columns[self.moving[columns] & ~self.inside[columns]]
        if new.size:
            self._add(self.cost[new], (self.high - self.low)[new], csc_array(self.matrix[:, new]))
            self.inside[new] = True
            self.order = np.concatenate([self.order, new])

    def run(self, first: Ints) -> Sifted:
        """Rounds of solving and pricing."""
        self._join(np.unique(first))
        most = max(JOIN_A_ROW * self.rows, LEAST_JOIN)
        while True:
            self.rounds += 1
            outcome, left = self._solve()
            if outcome is not Outcome.OPTIMAL:
                return self._ended(outcome)
            reduced = self.cost - self.across @ self.duals
            self._raise_bound(reduced)
            worth = np.flatnonzero(self.moving & ~self.inside & (reduced < -TOLERANCE * self.largest))
            if worth.size == 0:
                return self._ended(Outcome.INFEASIBLE if left > LEFT else Outcome.OPTIMAL)
            if self.deadline.passed():
                return self._ended(Outcome.TIME_LIMIT)
            if worth.size > most:
                worth = worth[np.argpartition(reduced[worth], most)[:most]]
            self._join(worth)

    def _solve(self) -> tuple[Outcome, float]:
        """The program over the columns inside; a better feasible point is kept. Gives the artificial amount too."""
        known = (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit)
        status = run(self.highs, self.deadline.left)
        if status not in known:
            status = run_presolved(self.highs, self.deadline.left)
        info = self.highs.getInfo()
        if status not in known:
            raise SolverError(f"HiGHS ended with status {status} on a program over some of its columns")
        solution, left = self.highs.getSolution(), math.inf
        if info.primal_solution_status == 2:
            x = np.asarray(solution.col_value, dtype=np.float64)
            left = float(x[: 2 * self.rows].max(initial=0.0))
            values = self.low.copy()
            values[self.order] += x[2 * self.rows :]
            objective = float(self.cost @ values)
            if left <= LEFT and objective <= self.objective:
                self.values, self.objective = values, objective
        if status != highspy.HighsModelStatus.kOptimal:
            return Outcome.TIME_LIMIT, left
        self.duals = self.largest * np.asarray(solution.row_dual, dtype=np.float64)
        return Outcome.OPTIMAL, left

    def _raise_bound(self, reduced: Floats) -> None:
        """The bound of these prices."""
        least = reduced * np.where(reduced >= 0, self.low, self.high)
        self.bound = max(self.bound, float(self.right @ self.duals + least.sum()))

    def _ended(self, outcome: Outcome) -> Sifted:
        if outcome is Outcome.OPTIMAL:  # up to the tolerance of linear programs
            self.bound = self.objective
        return Sifted(outcome, self.values, self.objective, self.bound, self.duals, self.rounds)


def independent(columns: csc_array) -> csc_array:
    """Equations without those that follow from others, as half of them do in tables of many hierarchies.

    An equation with a single cell on one side makes it from the others. One such equation is kept for each cell that
    is made; cells that none makes are given whole numbers by chance, and the others follow. Equations that hold then,
    several times and exactly, follow from those kept; all others are kept too.
    """
    rows = csr_array(columns)
    made = _made(rows)
    cells, chosen = np.unique(made, return_index=True)
    cells, chosen = cells[cells >= 0], chosen[cells >= 0]
    values = np.random.default_rng(0).integers(1, 2**20, (rows.shape[1], CHANCES)).astype(np.float64)
    known = np.ones(rows.shape[1], dtype=bool)
    known[cells] = False
    values[cells] = 0.0
    while chosen.size:
        ready = abs(rows[chosen]) @ (~known).astype(np.float64) == 1
        if not ready.any():
            break  # cells that make each other: their equations are kept
        now, cell = chosen[ready], made[chosen[ready]]
        sign = np.asarray(rows[now].multiply(_units(cell, rows.shape[1])).sum(axis=1)).ravel()
        values[cell] = -(rows[now] @ values) * sign[:, None]
        known[cell] = True
        chosen = chosen[~ready]
    kept = (rows @ values != 0).any(axis=1) | (abs(rows) @ (~known).astype(np.float64) > 0)
    kept[np.unique(made, return_index=True)[1]] = True
    kept[made < 0] = True
    return csc_array(rows[np.flatnonzero(kept)])


def _units(cells: Ints, size: int) -> csr_array:
    """A row with a one at each of these cells."""
    count = cells.size
    return csr_array((np.ones(count), (np.arange(count), cells)), shape=(count, size))


def _made(rows: csr_array) -> Ints:
    """For each equation the cell that it makes from the others, -1 if there is none."""
    of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    whole = np.bincount(of[rows.data != np.rint(rows.data)], minlength=rows.shape[0]) == 0
    made: Ints = np.full(rows.shape[0], -1, dtype=np.int64)
    for sign in (1.0, -1.0):
        lone = np.bincount(of[np.sign(rows.data) == sign], minlength=rows.shape[0]) == 1
        heads = (rows.data == sign) & (lone & whole)[of]
        made[of[heads]] = rows.indices[heads]
    return made
