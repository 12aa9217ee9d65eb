"""The program of a form over some of its columns: what reduced costs rule out is left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats
from tablecloak.methods.unified.formulation import Formulation
from tablecloak.solvers import MixedSolution, Program


class Narrowed:
    """The program of a form over some of its columns, the others 0; it takes and gives all columns."""

    def __init__(self, formulation: Formulation, kept: Bools, *, relaxed: bool = False) -> None:
        self._kept = np.flatnonzero(kept)
        self._size = kept.size
        whole = np.zeros(self._kept.size, dtype=bool) if relaxed else formulation.integral[self._kept]
        self._program = Program(
            formulation.cost[self._kept], formulation.low[self._kept], formulation.high[self._kept], whole
        )
        matrix = csr_array(formulation.constraints.matrix[:, self._kept])
        asks = (
            (np.diff(matrix.indptr) > 0)
            | (formulation.constraints.low > 0)
            | (formulation.constraints.high < 0)
        )
        self._program.add_rows(
            matrix[np.flatnonzero(asks)],
            formulation.constraints.low[asks],
            formulation.constraints.high[asks],
        )

    @property
    def reduced(self) -> Floats:
        """Reduced costs of the last linear program (infinite where there is no column)."""
        reduced = np.full(self._size, np.inf)
        reduced[self._kept] = self._program.reduced
        return reduced

    def add_rows(self, matrix: csr_array, right: Floats) -> None:
        """matrix x >= right, over all columns."""
        self._program.add_rows(matrix[:, self._kept], right, np.full(right.size, np.inf))

    def relax(self, seconds: float) -> MixedSolution:
        """The linear program."""
        return self._spread(self._program.relax(seconds))

    def solve(self, seconds: float, *, gap: float) -> MixedSolution:
        """The integer program, up to a relative gap."""
        return self._spread(self._program.solve(seconds, gap=gap))

    def _spread(self, solution: MixedSolution) -> MixedSolution:
        if solution.values.size == self._kept.size < self._size:
            values = np.zeros(self._size)
            values[self._kept] = solution.values
            return replace(solution, values=values)
        return solution
