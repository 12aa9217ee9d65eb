"""Pattern rows: in an equation whose other cells are all published, a hidden cell is determined, so publish it too.

For every equation without a cell that must be hidden, and every cell s in it:   sum_{i != s} x_i >= x_s.

Optimality rows: they cut off patterns that are no worse to publish more of, never all optimal ones (weights are not
negative). They hold for all attackers: publishing a cell that is determined anyway narrows nobody's choice.

Reference: Kelly (1990); Fischetti & Salazar (2001).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats
from tablecloak.methods.cuts.aggregation import Aggregation
from tablecloak.methods.cuts.cut import Cut
from tablecloak.model import Problem

LEAST = 1e-3


class BridgelessCuts:
    """The equations over the cells that may be hidden; rows are over the leaders of twins, points over all cells."""

    def __init__(self, problem: Problem, allowed: Bools, aggregation: Aggregation | None = None) -> None:
        leader = (Aggregation.identity(allowed.size) if aggregation is None else aggregation).representative
        equations = csr_array(problem.table.equations)
        keep = allowed[equations.indices]
        row = np.repeat(np.arange(equations.shape[0]), np.diff(equations.indptr))
        bound = np.zeros(equations.shape[0], dtype=bool)
        bound[row[problem.must_hide[equations.indices]]] = True
        usable = keep & ~bound[row]
        self._cells = leader[equations.indices[usable]]
        self._ends = np.concatenate([[0], np.cumsum(np.bincount(row[usable], minlength=equations.shape[0]))])
        free = keep & ~problem.must_hide[equations.indices]
        self._free_cells, self._free_rows = leader[equations.indices[free]], row[free]
        self._weights = problem.weights
        self._needy = np.bincount(equations.indices, weights=bound[row], minlength=allowed.size)

    def separate(self, x: Floats) -> list[Cut]:
        """The most violated row of each equation."""
        if self._cells.size == 0:
            return []
        starts, stops = self._ends[:-1], self._ends[1:]
        busy = np.flatnonzero(stops > starts)
        at = x[self._cells]
        total = np.add.reduceat(at, starts[busy])
        largest = np.maximum.reduceat(at, starts[busy])
        found = []
        for equation in busy[2 * largest - total > LEAST].tolist():
            cells = np.unique(self._cells[starts[equation] : stops[equation]]).astype(np.int64)
            coefficients = np.ones(cells.size)
            coefficients[int(np.argmax(x[cells]))] = -1.0
            found.append(Cut(cells, coefficients, 0.0, "pattern"))
        return found

    def cheapest(self, count: int, rng: np.random.Generator | None = None) -> Bools:
        """The cheapest cells of every equation.

        With `rng`, of equal ones those that most equations want in which a cell must be hidden, and then any: not the
        same few lines for all.
        """
        cells, keys = self._free_cells, [self._weights[self._free_cells], self._free_rows]
        if rng is not None:
            keys = [rng.random(cells.size), -self._needy[cells], *keys]
        order = np.lexsort(keys)
        rows = self._free_rows[order]
        first = np.searchsorted(rows, rows)
        chosen = np.zeros(self._weights.size, dtype=bool)
        chosen[cells[order][np.arange(rows.size) - first < count]] = True
        return chosen
