"""The linear relaxation of cell suppression: rows found on demand, columns priced in.

    min sum_i w_i x_i    over the rows found so far,  0 <= x <= 1,  x = 1 where a cell must be hidden.

Only cheap or useful cells are columns at first. For any duals u >= 0 of the rows A x >= b

    bound(u) = b'u + sum_i min(0, w_i - (A'u)_i)      over ALL cells that may be hidden

is a valid lower bound on the cost of every safe pattern, whatever the tolerances of the solver: it is what we report.
A pattern that hides cell i costs at least bound(u) + w_i - (A'u)_i, so some cells are out of every pattern that costs
no more than so much. One vertex of the optimal duals tells few of them where weights are equal and nearly all patterns
tie; duals amid the optimal ones tell all that any of them tells (`centre`; Goldman & Tucker 1956).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.methods.cuts.cut import Cut, matrix_of
from tablecloak.solvers import Master, Outcome

PRICED = 2000
"""At most so many columns enter at once."""
SLACK = 1e-6
LARGEST_COST = 1e7
"""Costs above this are scaled down: HiGHS loses its way among large ones, and small ones drown in its tolerance."""
NEWEST = 400
"""So many of the newest rows count as live, in the program or not."""
AGE = 8
"""A row that was slack so many times in a row leaves the program (and stays in the pool)."""

CENTRED = 5
"""Central duals are asked for at most so many times, while columns come in."""


class Relaxation:
    """Rows (the pool), the columns in the program, and the last solution."""

    def __init__(self, weights: Floats, free: Bools, start: Bools) -> None:
        self.weights = weights
        self.free = free
        self.columns: Ints = np.zeros(0, dtype=np.int64)
        self.place = np.full(weights.size, -1, dtype=np.int64)
        self.pool: list[Cut] = []
        self._seen: set[tuple[bytes, bytes, float]] = set()
        self._inside: list[int] = []
        self._age: list[int] = []
        self.master = Master(scale=max(float(weights[free].max(initial=0.0)) / LARGEST_COST, 1.0))
        self.x: Floats = np.zeros(weights.size)
        self.value = 0.0
        self.bound = 0.0
        self.reduced: Floats = weights.copy()
        """Reduced costs at the best bound."""
        self._central: tuple[float, Floats] = (0.0, self.reduced)
        """The bound and the reduced costs at the last central duals."""
        self.add_columns(np.flatnonzero(free & start))

    # ------------------------------------------------------------------ growing

    def add_columns(self, cells: Ints) -> None:
        """More cells as columns, with their coefficients in the rows there are."""
        cells = cells[self.place[cells] < 0]
        if cells.size == 0:
            return
        self.place[cells] = self.columns.size + np.arange(cells.size)
        self.columns = np.concatenate([self.columns, cells])
        inside = self.matrix([self.pool[k] for k in self._inside])
        self.master.add_columns(self.weights[cells], csc_array(inside[:, cells]))

    def add(self, rows: Iterable[Cut]) -> int:
        """Add rows to the pool and to the program; gives how many were new."""
        fresh = []
        for row in rows:
            if row.key not in self._seen:
                self._seen.add(row.key)
                fresh.append(row)
                self._inside.append(len(self.pool))
                self._age.append(0)
                self.pool.append(row)
        if fresh:
            matrix = self.matrix(fresh)[:, self.columns]
            self.master.add_rows(np.array([row.rhs for row in fresh]), csr_array(matrix))
        return len(fresh)

    def collect(self, rows: Iterable[Cut]) -> None:
        """Rows found elsewhere: in the pool, and in the program when it is solved again and misses them."""
        for row in rows:
            if row.key not in self._seen:
                self._seen.add(row.key)
                self.pool.append(row)

    def live(self) -> list[Cut]:
        """The rows that matter at the last solution: those in the program, and the newest of the pool."""
        inside = set(self._inside)
        newest = max(len(self.pool) - NEWEST, 0)
        return [
            row
            for k, row in enumerate(self.pool)
            if k in inside or k >= newest or row.kind == "most touched"  # no separator would find that again
        ]

    def matrix(self, rows: list[Cut]) -> csr_array:
        """The rows over all cells."""
        return matrix_of(rows, self.weights.size)

    # ------------------------------------------------------------------ solving

    def solve(self, seconds: float = math.inf) -> Outcome:
        """Solve over the columns there are (over all free cells if these do not suffice). Slack rows age and leave."""
        solution = self.master.solve(seconds)
        while solution.outcome is Outcome.INFEASIBLE and self._complete():
            solution = self.master.solve(seconds)
        if solution.outcome is not Outcome.OPTIMAL:
            return solution.outcome
        self.value = solution.objective
        self.x = np.zeros(self.weights.size)
        self.x[self.columns] = np.clip(solution.values, 0.0, 1.0)
        self._duals = np.maximum(solution.duals, 0.0)
        self._retire()
        return Outcome.OPTIMAL

    def _complete(self) -> bool:
        """All free cells as columns; False if they are already."""
        before = self.columns.size
        self.add_columns(np.flatnonzero(self.free))
        return self.columns.size > before

    def _retire(self) -> None:
        busy = self._duals > SLACK
        self._age = [0 if used else age + 1 for used, age in zip(busy.tolist(), self._age, strict=True)]
        old = np.flatnonzero(np.array(self._age) > AGE)
        if old.size > 0.2 * len(self._age):
            self.master.drop_rows(old)
            gone = set(old.tolist())
            self._inside = [k for n, k in enumerate(self._inside) if n not in gone]
            self._age = [age for n, age in enumerate(self._age) if n not in gone]
            self._duals = np.delete(self._duals, old)

    def price(self) -> bool:
        """Prove a bound from the duals, and let columns in that could lower the value; False if there are none."""
        bound, reduced = self._proof(self._duals)
        if bound > self.bound or not self.pool:
            self.bound, self.reduced = bound, reduced
        return self._let_in(reduced)

    def centre(self, seconds: float = math.inf) -> None:
        """Prove from central duals which cells are out (see `within`)."""
        for _ in range(CENTRED):
            duals = self.master.central_duals(seconds)
            if duals is None:
                return
            bound, reduced = self._proof(np.maximum(duals, 0.0))
            if not self._let_in(reduced):
                self._central = bound, reduced
                return

    def _proof(self, duals: Floats) -> tuple[float, Floats]:
        """The bound that duals of the rows in the program prove, and the reduced costs."""
        rows = [self.pool[k] for k in self._inside]
        used = np.flatnonzero(duals > 0)
        reduced = self.weights - self.matrix([rows[k] for k in used]).T @ duals[used]
        right = float(np.array([rows[k].rhs for k in used]) @ duals[used])
        bound = right + float(np.minimum(reduced[self.free], 0.0).sum())
        return bound, np.where(self.free, reduced, np.inf)

    def _let_in(self, reduced: Floats) -> bool:
        """Columns that could lower the value come in; False if there are none."""
        scale = max(1.0, float(np.abs(self.weights[self.free]).max(initial=0.0)))
        wanted = np.flatnonzero(self.free & (self.place < 0) & (reduced < -1e-9 * scale))
        if wanted.size == 0:
            return False
        self.add_columns(wanted[np.argsort(reduced[wanted], kind="stable")[:PRICED]])
        return True

    def within(self, cost: float) -> Bools:
        """The cells that a pattern of at most this cost may hide, by the reduced costs of all that was proven."""
        noise = 1e-9 * max(1.0, abs(cost))
        (central, by_centre), by_vertex = self._central, self.reduced
        mask: Bools = (by_vertex <= cost - self.bound + noise) & (by_centre <= cost - central + noise)
        return self.free & mask

    def violated_in_pool(self, x: Floats, least: float = 1e-6) -> list[Cut]:
        """Rows of the pool that left the program and are missed now: they come back."""
        inside = set(self._inside)
        outside = [k for k in range(len(self.pool)) if k not in inside]
        if not outside:
            return []
        rows = [self.pool[k] for k in outside]
        missed = np.array([row.rhs for row in rows]) - self.matrix(rows) @ x > least
        back = [k for k, miss in zip(outside, missed.tolist(), strict=True) if miss]
        if back:
            self._inside += back
            self._age += [0] * len(back)
            chosen = [self.pool[k] for k in back]
            self.master.add_rows(
                np.array([row.rhs for row in chosen]), csr_array(self.matrix(chosen)[:, self.columns])
            )
        return [self.pool[k] for k in back]
