"""The program of a form over some of its columns: what reduced costs rule out is left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats
from tablecloak.methods.unified.formulation import Form
from tablecloak.solvers import GrowingProgram, Solution


class Narrowed:
    """The program of a form over some of its columns, the others 0; it takes and gives all columns."""

    def __init__(self, form: Form, kept: Bools, *, relaxed: bool = False) -> None:
        self._kept = np.flatnonzero(kept)
        self._size = kept.size
        whole = np.zeros(self._kept.size, dtype=bool) if relaxed else form.whole[self._kept]
        columns = (form.cost[self._kept], form.low[self._kept], form.high[self._kept], whole)
        self._program = GrowingProgram(*columns, abandonable=True)
        matrix = csr_array(form.rows.matrix[:, self._kept])
        asks = (np.diff(matrix.indptr) > 0) | (form.rows.low > 0) | (form.rows.high < 0)
        self._program.add_rows(form.rows.low[asks], matrix[np.flatnonzero(asks)], form.rows.high[asks])

    @property
    def reduced(self) -> Floats:
        """Reduced costs of the last linear program (infinite where there is no column)."""
        reduced = np.full(self._size, np.inf)
        reduced[self._kept] = self._program.reduced
        return reduced

    def add_rows(self, matrix: csr_array, right: Floats) -> None:
        """matrix x >= right, over all columns."""
        self._program.add_rows(right, matrix[:, self._kept])

    def relax(self, seconds: float) -> Solution:
        """The linear program."""
        return self._spread(self._program.solve(seconds))

    def solve(self, seconds: float, *, gap: float) -> Solution:
        """The integer program, up to a relative gap."""
        return self._spread(self._program.solve(seconds, gap=gap))

    def _spread(self, solution: Solution) -> Solution:
        if solution.values.size == self._kept.size < self._size:
            values = np.zeros(self._size)
            values[self._kept] = solution.values
            return replace(solution, values=values)
        return solution
