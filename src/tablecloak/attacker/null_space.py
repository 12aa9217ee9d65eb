"""Largest deviations of single cells: linear programs max +-d_p, M d = 0, low <= d <= high, in the null space of M.

The deviations of the cells of a support, M d = 0, often have far fewer degrees of freedom k than there are equations: a
few dozen in patterns of thousands of cells. Eliminating once,

    d_basic = T d_nonbasic        (T: a dense table with k columns),

makes  max d_p, low <= d <= high  a program of k columns, which a compiled simplex method on T solves in the time
that a general solver needs to load it. It starts at d = 0, which is always feasible, and stays warm from cell to cell.
At the optimum the row of p in T is the dual certificate: d_p = sum_j T_pj d_j with every d_j at the bound that favours
p, and multipliers y of the equations with  e_p - M'y = T_p  come from one sparse factorisation.

Reference: Dantzig (1955), Upper bounds, secondary constraints, and block triangularity in linear programming,
Econometrica 23(2), for the simplex method with bounded variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker.tolerances import EQUATION_MET, PROPORTIONAL
from tablecloak.errors import SolverError
from tablecloak.solvers import HighsSettings, LinearProgram, Outcome, SimplexOptions, kernels
from tablecloak.solvers.kernels import Ending


@dataclass(frozen=True)
class NullSpaceSettings:
    """When the equations are eliminated, and how often the dense table is computed again."""

    max_entries: int = 40_000_000
    """Maximum number of equations times cells of a system that is eliminated: time and memory of the elimination,
    against a warm linear program for each direction. Untested default."""
    max_table_entries: int = 2_000_000
    """Maximum number of entries of the dense table; larger ones are left to linear programs. Untested default."""
    max_pivots: int = 400
    """Number of pivots after which the table is computed again: time against accumulated rounding errors. Untested
    default."""
    deviation_caps: tuple[float, ...] = (1e3, np.inf)
    """Caps on the deviations of all cells, as multiples of the one required, tried in this order: small caps keep
    small deviations out of the noise of large ones; the last one is no limit. Untested default."""
    highs: HighsSettings = HighsSettings()


class DeviationProgram(Protocol):
    """Linear programs max +-d_p over deviations M d = 0 within bounds."""

    value: Floats
    """The deviations at the last optimum."""

    def set_bounds(self, low: Floats, high: Floats) -> None:
        """Set the deviation bounds, low <= 0 <= high."""

    def reach(self, cell: int, upward: bool, enough: float) -> float:
        """The largest deviation of a cell in one direction, at most `enough`."""

    def multipliers(self, cell: int, upward: bool) -> Floats:
        """After a reach below `enough`: the multipliers y of the equations that prove it (see the top of this file)."""

    def tied(self, cells: Ints) -> Bools:
        """By cell: whether it is known to move in proportion with one of these in every deviation."""


def deviation_program(
    matrix: csc_array, settings: NullSpaceSettings = NullSpaceSettings()
) -> DeviationProgram:
    """The null space method where few degrees of freedom are left, else warm linear programs."""
    rows, columns = matrix.shape
    least = max(columns - rows, 0)  # degrees of freedom that equations cannot take away
    if rows * columns > settings.max_entries or least * columns > settings.max_table_entries:
        return WarmDeviationProgram(matrix, settings.highs)
    program = NullSpaceProgram(matrix, settings)
    if program.degrees * columns <= settings.max_table_entries:
        return program
    return WarmDeviationProgram(matrix, settings.highs)


class WarmDeviationProgram:
    """A general linear program that stays warm from cell to cell."""

    def __init__(self, matrix: csc_array, highs: HighsSettings = HighsSettings()) -> None:
        self._matrix, self._highs = matrix, highs
        self.value = np.zeros(matrix.shape[1])

    def set_bounds(self, low: Floats, high: Floats) -> None:
        self._low, self._high = low, high
        options = SimplexOptions(feasible=True)
        self._session = LinearProgram(self._matrix, low, high, options=options, settings=self._highs)
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


class NullSpaceProgram:
    """The null space of `matrix`, a column for each cell: a dense table and a simplex method on it."""

    def __init__(self, matrix: csc_array, settings: NullSpaceSettings = NullSpaceSettings()) -> None:
        from scipy.sparse.linalg import splu

        self._matrix, self.settings = matrix, settings
        self._rescue: WarmDeviationProgram | None = None
        self._own_bound = False
        rows, count = matrix.shape
        work = np.ascontiguousarray(matrix.toarray())
        self.rows, self.columns = kernels.independent_part(work)
        self.equations = rows
        nonbasic = np.ones(count, dtype=bool)
        nonbasic[self.columns] = False
        self._first_nonbasic: Ints = np.flatnonzero(nonbasic)
        by_row = matrix.tocsr()[self.rows]
        self._factors = splu(csc_array(by_row[:, self.columns])) if self.rows.size else None
        self._first_table: Floats = kernels.substituted(work, self.rows, self.columns, self._first_nonbasic)
        self._sparse_table = csr_array(self._first_table)
        self.count = count
        self.value = np.zeros(count)
        self._restart()

    @property
    def degrees(self) -> int:
        """Degrees of freedom."""
        return int(self._first_nonbasic.size)

    def _restart(self) -> None:
        self._table = self._first_table.copy()
        self._basic, self._nonbasic = self.columns.astype(np.int64), self._first_nonbasic.astype(np.int64)
        self._place = np.empty(self.count, dtype=np.int64)
        self._place[self._basic] = np.arange(self._basic.size)
        self._place[self._nonbasic] = -1 - np.arange(self._nonbasic.size)
        self._pivots = 0

    def set_bounds(self, low: Floats, high: Floats) -> None:
        """Set the deviation bounds, low <= 0 <= high."""
        self._low, self._high = np.ascontiguousarray(low), np.ascontiguousarray(high)
        self.value = np.zeros(self.count)

    def reach(self, cell: int, upward: bool, enough: float) -> float:
        """The largest deviation of a cell in one direction, at most `enough`; `value` holds the deviations."""
        if self._pivots > self.settings.max_pivots:
            self._restart()
        if self._pivots == 0 or self._rescue is not None:  # the deviations must be those of the table
            self.value = np.zeros(self.count)
        for cap in self.settings.deviation_caps:
            reached = self._reach_below(cap * enough, cell, upward, enough)
            if reached >= enough or np.abs(self.value).max(initial=0.0) < cap * enough * (1 - EQUATION_MET):
                break
        return reached

    def _reach_below(self, cap: float, cell: int, upward: bool, enough: float) -> float:
        """The largest deviation where no cell exceeds the cap: against it small deviations are no noise."""
        low, high = np.maximum(self._low, -cap), np.minimum(self._high, cap)
        if self._rescue is not None or np.abs(self.value).max(initial=0.0) > cap:
            self.value = np.zeros(self.count)
        self._rescue = None
        for _ in range(2):
            tableau = self._table, self._basic, self._nonbasic, self._place
            ended, pivots = kernels.farthest_deviation(*tableau, low, high, self.value, cell, upward, enough)
            self._pivots += pivots
            if ended == Ending.ENDLESS:
                return enough
            if ended != Ending.LOST and self._satisfies_equations(enough):
                self._own_bound = ended == Ending.OWN_BOUND
                return enough if ended == Ending.MET else abs(float(self.value[cell]))
            self._restart()
            self.value = np.zeros(self.count)
        self._rescue = WarmDeviationProgram(self._matrix, self.settings.highs)
        self._rescue.set_bounds(low, high)
        reached = min(self._rescue.reach(cell, upward, enough), enough)
        self.value = self._rescue.value
        return reached

    def _satisfies_equations(self, enough: float) -> bool:
        """Whether the deviations satisfy the equations, up to a small fraction of what is required."""
        error = self._sparse_table @ self.value[self._first_nonbasic] - self.value[self.columns]
        scale = enough if np.isfinite(enough) else max(1.0, float(np.abs(self.value).max(initial=0.0)))
        return bool(np.abs(error).max(initial=0.0) <= EQUATION_MET * scale)

    def multipliers(self, cell: int, upward: bool) -> Floats:
        """Multipliers y with  +-e_cell - M'y = its row of the table, over the nonbasic cells; y = 0: its own bound."""
        if self._rescue is not None:
            return self._rescue.multipliers(cell, upward)
        sign = 1.0 if upward else -1.0
        result = np.zeros(self.equations)
        if self._own_bound or self._factors is None:
            return result
        target = np.zeros(self.count)
        target[cell] = sign
        target[self._nonbasic] -= sign * self._table[self._place[cell]]
        result[self.rows] = self._factors.solve(target[self.columns], "T")  # type: ignore[call-overload]
        return result

    def tied(self, cells: Ints) -> Bools:
        """By cell: whether its row of the table, or of the unit matrix, is a multiple of the row of one of these.

        Candidates have the same ratio of two random combinations; their rows are compared in full.
        """
        if not self.degrees:
            return np.zeros(self.count, dtype=bool)
        rows = np.zeros((self.count, self.degrees))
        rows[self.columns], rows[self._first_nonbasic] = self._first_table, np.eye(self.degrees)
        rows /= np.maximum(np.abs(rows).max(axis=1, keepdims=True, initial=0.0), 1e-300)
        one, other = np.random.default_rng(0).normal(size=(2, self.degrees))
        angle: Floats = np.arctan2(rows @ one, rows @ other) % np.pi  # the same for a row and for minus it
        order = cells[np.argsort(angle[cells], kind="stable")]
        near = np.searchsorted(angle[order], angle)
        result = np.zeros(self.count, dtype=bool)
        moving = np.abs(rows).max(axis=1, initial=0.0) > 0.5
        for place in (near - 1, near % order.size):
            other_row = rows[order[place]]
            apart = [np.abs(rows - other_row).max(axis=1), np.abs(rows + other_row).max(axis=1)]
            result |= (np.minimum(*apart) <= PROPORTIONAL) & moving
        return result
