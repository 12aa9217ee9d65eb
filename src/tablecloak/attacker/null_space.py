"""How far cells can deviate when little freedom is left: the attacker's program in the space of free deviations.

The deviations of the cells of a support, M d = 0, often have far fewer degrees of freedom k than there are equations: a
few dozen in patterns of thousands of cells. Eliminating once,

    d_basic = T d_loose        (T: a dense table with k columns),

makes  max d_p, low <= d <= high  a program of k columns, which a compiled simplex method on T solves in the time
that a general solver needs to load it. It starts at d = 0, which is always feasible, and goes from cell to cell without
forgetting T. In the end the row of p in T is the proof: d_p = sum_j T_pj d_j with every d_j at the bound that helps p
most, and multipliers y of the equations with  e_p - M'y = T_p  come from one sparse factorisation.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.sparse.linalg import splu

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.errors import SolverError
from tablecloak.solvers import LinearProgram, Outcome, SimplexOptions

MOST_ENTRIES = 40_000_000
"""Systems with more rows times columns are not eliminated."""
MOST_FREEDOM = 2_000_000
"""Systems whose table would have more entries are left to a general solver."""
FURTHEST = (1e3, np.inf)
"""Cells deviate by at most these multiples of what is required of one of them; the last one is no limit."""
SOUND = 1e-8
"""A deviation satisfies the equations if what is missing is no more than this share of what was asked."""
REFRESH = 400
"""After so many pivots the table is made anew, so that errors do not pile up."""


class Attack(Protocol):
    """How far cells can deviate within bounds, M d = 0."""

    value: Floats
    """The deviations behind the last answer."""

    def set_bounds(self, low: Floats, high: Floats) -> None:
        """How far each cell may go, low <= 0 <= high."""

    def reach(self, cell: int, upward: bool, enough: float) -> float:
        """How far a cell can go, at most `enough`."""

    def multipliers(self, cell: int, upward: bool) -> Floats:
        """After a reach that fell short: y of the equations that prove it (see the top of this file)."""

    def tied(self, cells: Ints) -> Bools:
        """By cell: whether it is known to move in proportion with one of these in every deviation."""


def attack_on(matrix: csc_array) -> Attack:
    """The engine that fits: elimination where little freedom is left, else a general solver."""
    rows, columns = matrix.shape
    least = max(columns - rows, 0)  # degrees of freedom that equations cannot take away
    if rows * columns > MOST_ENTRIES or least * columns > MOST_FREEDOM:
        return Programs(matrix)
    freedom = Freedom(matrix)
    return freedom if freedom.degrees * columns <= MOST_FREEDOM else Programs(matrix)


class Programs:
    """The same by linear programs that stay warm from cell to cell."""

    def __init__(self, matrix: csc_array) -> None:
        self._matrix = matrix
        self.value = np.zeros(matrix.shape[1])

    def set_bounds(self, low: Floats, high: Floats) -> None:
        options = SimplexOptions(feasible=True)
        self._session, self._low, self._high = (
            LinearProgram(self._matrix, low, high, options=options),
            low,
            high,
        )
        self.value = np.zeros(self._matrix.shape[1])

    def reach(self, cell: int, upward: bool, enough: float) -> float:
        low, high = float(self._low[cell]), float(self._high[cell])
        self._session.set_bounds(cell, max(low, -enough), min(high, enough))  # bounded, so there is a witness
        self._session.set_cost(cell, -1.0 if upward else 1.0)
        solution = self._session.solve()
        self._session.set_cost(cell, 0.0)
        self._session.set_bounds(cell, low, high)
        if solution.outcome is not Outcome.OPTIMAL:
            raise SolverError(f"HiGHS ended with {solution.outcome.value} on an attacker's program")
        self.value = solution.values
        self._duals = -solution.duals  # HiGHS: cost = M'y + reduced cost, with cost -+[i = p]
        return abs(solution.objective)

    def multipliers(self, cell: int, upward: bool) -> Floats:
        return self._duals

    def tied(self, cells: Ints) -> Bools:
        result = np.zeros(self.value.size, dtype=bool)
        result[cells] = True
        return result


class Freedom:
    """The free deviations of some cells: columns of `matrix`, a column each."""

    def __init__(self, matrix: csc_array) -> None:
        from tablecloak.solvers.kernels import null_space_simplex

        self._kernels, self._matrix = null_space_simplex, matrix
        self._rescue: Programs | None = None
        self._own_bound = False
        rows, count = matrix.shape
        work = np.ascontiguousarray(matrix.toarray())
        self.rows, self.columns = null_space_simplex.independent(work)
        self.equations = rows
        loose = np.ones(count, dtype=bool)
        loose[self.columns] = False
        self._first_loose: Ints = np.flatnonzero(loose)
        by_row = matrix.tocsr()[self.rows]
        self._factors = splu(csc_array(by_row[:, self.columns])) if self.rows.size else None
        self._first_table: Floats = null_space_simplex.substituted(
            work, self.rows, self.columns, self._first_loose
        )
        self._sparse_table = csr_array(self._first_table)
        self.count = count
        self.value = np.zeros(count)
        self._restart()

    @property
    def degrees(self) -> int:
        """Degrees of freedom."""
        return int(self._first_loose.size)

    def _restart(self) -> None:
        self._table = self._first_table.copy()
        self._basic, self._loose = self.columns.astype(np.int64), self._first_loose.astype(np.int64)
        self._place = np.empty(self.count, dtype=np.int64)
        self._place[self._basic] = np.arange(self._basic.size)
        self._place[self._loose] = -1 - np.arange(self._loose.size)
        self._pivots = 0

    def set_bounds(self, low: Floats, high: Floats) -> None:
        """How far each cell may go, low <= 0 <= high."""
        self._low, self._high = np.ascontiguousarray(low), np.ascontiguousarray(high)
        self.value = np.zeros(self.count)

    def reach(self, cell: int, upward: bool, enough: float) -> float:
        """How far a cell can go, at most `enough`. `value` holds the deviations."""
        if self._pivots > REFRESH:
            self._restart()
        if self._pivots == 0 or self._rescue is not None:  # the deviations must be those of the table
            self.value = np.zeros(self.count)
        for share in FURTHEST:
            reached = self._reach(cell, upward, enough, share * enough)
            if reached >= enough or np.abs(self.value).max(initial=0.0) < share * enough * (1 - SOUND):
                break
        return reached

    def _reach(self, cell: int, upward: bool, enough: float, furthest: float) -> float:
        """The same where no cell goes further than so far: what is small against it would be lost in its noise."""
        kernels, low, high = self._kernels, np.maximum(self._low, -furthest), np.minimum(self._high, furthest)
        if self._rescue is not None or np.abs(self.value).max(initial=0.0) > furthest:
            self.value = np.zeros(self.count)
        self._rescue = None
        for _ in range(2):
            ended, pivots = kernels.farthest(
                self._table,
                self._basic,
                self._loose,
                self._place,
                low,
                high,
                self.value,
                cell,
                upward,
                enough,
            )
            self._pivots += pivots
            if ended == kernels.ENDLESS:
                return enough
            if ended != kernels.LOST and self._sound(enough):
                self._own_bound = ended == kernels.OWN_BOUND
                return enough if ended == kernels.MET else abs(float(self.value[cell]))
            self._restart()
            self.value = np.zeros(self.count)
        self._rescue = Programs(self._matrix)
        self._rescue.set_bounds(low, high)
        reached = min(self._rescue.reach(cell, upward, enough), enough)
        self.value = self._rescue.value
        return reached

    def _sound(self, enough: float) -> bool:
        """Whether the deviations still satisfy the equations up to a small share of what is asked."""
        error = self._sparse_table @ self.value[self._first_loose] - self.value[self.columns]
        asked = enough if np.isfinite(enough) else max(1.0, float(np.abs(self.value).max(initial=0.0)))
        return bool(np.abs(error).max(initial=0.0) <= SOUND * asked)

    def multipliers(self, cell: int, upward: bool) -> Floats:
        """After a reach that fell short: y with  +-e_cell - M'y = what the loose cells carry; y = 0: its own bound."""
        if self._rescue is not None:
            return self._rescue.multipliers(cell, upward)
        sign = 1.0 if upward else -1.0
        result = np.zeros(self.equations)
        if self._own_bound or self._factors is None:
            return result
        wanted = np.zeros(self.count)
        wanted[cell] = sign
        wanted[self._loose] -= sign * self._table[self._place[cell]]
        result[self.rows] = self._factors.solve(wanted[self.columns], "T")  # type: ignore[call-overload]
        return result

    def tied(self, cells: Ints) -> Bools:
        """By cell: whether its row of the table, or of the unit matrix, is a multiple of the row of one of these.

        Candidates have the same ratio of two random combinations; their rows are compared in full.
        """
        if not self.degrees:
            return np.zeros(self.count, dtype=bool)
        rows = np.zeros((self.count, self.degrees))
        rows[self.columns], rows[self._first_loose] = self._first_table, np.eye(self.degrees)
        rows /= np.maximum(np.abs(rows).max(axis=1, keepdims=True, initial=0.0), 1e-300)
        one, other = np.random.default_rng(0).normal(size=(2, self.degrees))
        angle: Floats = np.arctan2(rows @ one, rows @ other) % np.pi  # the same for a row and for minus it
        order = cells[np.argsort(angle[cells], kind="stable")]
        near = np.searchsorted(angle[order], angle)
        result = np.zeros(self.count, dtype=bool)
        moving = np.abs(rows).max(axis=1, initial=0.0) > 0.5
        for place in (near - 1, near % order.size):
            twin = rows[order[place]]
            same = np.minimum(np.abs(rows - twin).max(axis=1), np.abs(rows + twin).max(axis=1)) <= 1e-9
            result |= same & moving
        return result
