"""Reduced-cost fixing: what points below a limit on the objective cannot use is left out of their program.

With the value z and the reduced costs r of the linear relaxation, a binary variable is 0 in all points of cost at most
L if r_j > L - z, and so are the variables that it switches (`Formulation.switches`).

Reference: Dantzig, Fulkerson & Johnson (1954), Solution of a large-scale traveling-salesman problem, Journal of the
Operations Research Society of America 2(4).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats
from tablecloak.methods.unified.formulation import Formulation
from tablecloak.solvers import REDUCED_COST_MARGIN, GrowingProgram, Solution


class RestrictedProgram:
    """The program of a formulation over some of its variables, the others 0; points have all variables."""

    def __init__(self, formulation: Formulation, kept: Bools, *, relaxed: bool = False) -> None:
        self._kept = np.flatnonzero(kept)
        self._size = kept.size
        integral = np.zeros(self._kept.size, dtype=bool) if relaxed else formulation.integral[self._kept]
        cost, low, high = (side[self._kept] for side in (formulation.cost, formulation.low, formulation.high))
        self._program = GrowingProgram(cost, low, high, integral, abandonable=True)
        own = formulation.constraints
        matrix = csr_array(own.matrix[:, self._kept])
        restrictive = (np.diff(matrix.indptr) > 0) | (own.low > 0) | (own.high < 0)
        self._program.add_rows(
            own.low[restrictive], matrix[np.flatnonzero(restrictive)], own.high[restrictive]
        )

    @property
    def reduced_costs(self) -> Floats:
        """Reduced costs of the last linear program (infinite where a variable is left out)."""
        reduced = np.full(self._size, np.inf)
        reduced[self._kept] = self._program.reduced
        return reduced

    def add_cuts(self, matrix: csr_array, right: Floats) -> None:
        """Add  matrix x >= right  over all variables."""
        self._program.add_rows(right, matrix[:, self._kept])

    def relax(self, seconds: float) -> Solution:
        """Solve the linear program."""
        return self._spread(self._program.solve(seconds))

    def solve(self, seconds: float, *, gap: float) -> Solution:
        """Solve the integer program up to a relative gap."""
        return self._spread(self._program.solve(seconds, gap=gap))

    def _spread(self, solution: Solution) -> Solution:
        if solution.values.size == self._kept.size < self._size:
            values = np.zeros(self._size)
            values[self._kept] = solution.values
            return replace(solution, values=values)
        return solution


class ReducedCostFixing:
    """The variables that points below a limit may use, by the value and the reduced costs of the relaxation."""

    def __init__(self, formulation: Formulation, value: float, reduced_costs: Floats) -> None:
        self._formulation, self._value, self._reduced = formulation, value, reduced_costs

    def kept(self, limit: float) -> Bools:
        """The variables that may be positive in points of at most this cost."""
        fixed, switch = self._fixed(limit), self._formulation.switch
        return np.asarray(~fixed & ~((switch >= 0) & fixed[switch]))

    def extended(self, limit: float) -> float:
        """The largest limit that keeps no more variables than this one: its program is the same."""
        fixed = self._fixed(limit)
        if not fixed.any():
            return math.inf
        further = self._value + float(self._reduced[fixed].min())
        return max(limit, further - 2 * REDUCED_COST_MARGIN * max(1.0, abs(further)))

    def _fixed(self, limit: float) -> Bools:
        """The binary variables that are 0 in all points of at most this cost."""
        formulation = self._formulation
        if math.isinf(limit) or formulation.switches is None:
            return np.zeros(formulation.size, dtype=bool)
        gap = limit - self._value + REDUCED_COST_MARGIN * max(1.0, abs(limit))
        return np.asarray(formulation.integral & (formulation.low == 0.0) & (self._reduced > gap))
