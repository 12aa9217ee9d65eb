"""Bridgeless inequalities: a cell hidden in an equation whose other cells are all published is determined by them.

For every equation without a cell that must be hidden, and every cell s in it:   sum_{i != s} x_i >= x_s.

Optimality cuts: they cut off patterns that are no worse to publish more of, never all optimal ones (weights are not
negative). They hold for all attackers: publishing a cell that is determined anyway narrows no attacker's interval.

References: Kelly (1990); Fischetti & Salazar (2001).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats
from tablecloak.methods.cuts.aggregation import Aggregation
from tablecloak.methods.cuts.cut import Cut
from tablecloak.model import Problem


@dataclass(frozen=True)
class BridgelessSettings:
    """When bridgeless cuts are added, and the first columns of a relaxation."""

    min_violation: float = 1e-3
    """Violation from which a cut is added: progress of the bound against the size of the relaxation. Untested
    default."""
    first_columns: int = 8
    """Number of the cheapest cells of each equation that are columns of a relaxation from the start: rounds of
    pricing against the size of the first programs. Untested default."""


class BridgelessCuts:
    """The equations over the cells that may be hidden; cuts are over representatives, points over all cells."""

    def __init__(
        self,
        problem: Problem,
        allowed: Bools,
        aggregation: Aggregation | None = None,
        settings: BridgelessSettings = BridgelessSettings(),
    ) -> None:
        aggregation = Aggregation.identity(allowed.size) if aggregation is None else aggregation
        representative, self.settings = aggregation.representative, settings
        equations = csr_array(problem.table.equations)
        count, size = equations.shape[0], allowed.size
        equation = np.repeat(np.arange(count), np.diff(equations.indptr))
        must_hide = problem.must_hide[equations.indices]
        bound = np.zeros(count, dtype=bool)
        bound[equation[must_hide]] = True
        usable = allowed[equations.indices] & ~bound[equation]
        self._cells = representative[equations.indices[usable]]
        self._ends = np.concatenate([[0], np.cumsum(np.bincount(equation[usable], minlength=count))])
        free = allowed[equations.indices] & ~must_hide
        self._free_cells, self._free_equations = representative[equations.indices[free]], equation[free]
        self._weights = problem.weights
        self._demands = np.bincount(equations.indices, weights=bound[equation], minlength=size)

    def separate(self, x: Floats) -> list[Cut]:
        """The most violated cut of each equation."""
        if self._cells.size == 0:
            return []
        starts, stops = self._ends[:-1], self._ends[1:]
        busy = np.flatnonzero(stops > starts)
        at = x[self._cells]
        total = np.add.reduceat(at, starts[busy])
        largest = np.maximum.reduceat(at, starts[busy])
        found = []
        for equation in busy[2 * largest - total > self.settings.min_violation].tolist():
            cells = np.unique(self._cells[starts[equation] : stops[equation]]).astype(np.int64)
            coefficients = np.ones(cells.size)
            coefficients[int(np.argmax(x[cells]))] = -1.0
            found.append(Cut(cells, coefficients, 0.0, "pattern"))
        return found

    def cheapest(self, count: int | None = None, rng: np.random.Generator | None = None) -> Bools:
        """The cheapest cells of every equation, `first_columns` of each by default.

        With `rng`, of equal ones first those in most equations in which a cell must be hidden, and then at random: not
        the same few equations for all.
        """
        count = self.settings.first_columns if count is None else count
        cells, keys = self._free_cells, [self._weights[self._free_cells], self._free_equations]
        if rng is not None:
            keys = [rng.random(cells.size), -self._demands[cells], *keys]
        order = np.lexsort(keys)
        equations = self._free_equations[order]
        first = np.searchsorted(equations, equations)
        chosen = np.zeros(self._weights.size, dtype=bool)
        chosen[cells[order][np.arange(equations.size) - first < count]] = True
        return chosen
