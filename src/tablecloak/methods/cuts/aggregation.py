"""Aggregation of variables: cells that are hidden together or not at all are one variable.

An equation in which only two cells may be hidden determines one from the other. If one of them is published, hiding the
other protects nothing; so some pattern of least cost has x_i = x_j (weights are not negative), as long as neither must
be hidden anyway. The relation is transitive. One cell of each group, its *representative*, stands for all of them: its
variable has the cost of the group, and its coefficient in a cut is the sum of theirs, before truncation and rounding.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.model import Problem


class Aggregation:
    """The representative of every cell (the cell itself, for most)."""

    def __init__(self, representative: Ints) -> None:
        self.representative = representative
        self.represents: Bools = representative == np.arange(representative.size)
        self._sizes = np.bincount(representative, minlength=representative.size)
        self._alone = bool(self.represents.all())

    @classmethod
    def identity(cls, size: int) -> Aggregation:
        """Without aggregation: every cell represents itself."""
        return cls(np.arange(size))

    @classmethod
    def of(cls, problem: Problem, allowed: Bools) -> Aggregation:
        """The groups that two-cell equations make, among the cells that may be hidden and need not be."""
        from scipy.sparse.csgraph import connected_components

        equations = problem.table.equations
        row = np.repeat(np.arange(equations.shape[0]), np.diff(equations.indptr))
        used = allowed[equations.indices] & (equations.data != 0.0)
        rows, cells = row[used], equations.indices[used]
        two = np.bincount(rows, minlength=equations.shape[0]) == 2
        if not two.any():
            return cls.identity(allowed.size)
        first, second = cells[two[rows]].reshape(-1, 2).T
        loose = ~problem.must_hide[first] & ~problem.must_hide[second]
        first, second, size = first[loose], second[loose], allowed.size
        graph = coo_array((np.ones(first.size), (first, second)), shape=(size, size))
        _, group = connected_components(graph, directed=False)
        _, first_of_group = np.unique(group, return_index=True)
        return cls(first_of_group[group].astype(np.int64))

    def summed(self, amounts: Floats) -> Floats:
        """The sum of each group, at its representative; zero at the others."""
        if self._alone:
            return amounts
        sums = np.zeros(amounts.size)
        np.add.at(sums, self.representative, amounts)
        return sums

    def expanded(self, x: Floats) -> Floats:
        """A point over representatives as a point over all cells."""
        return x if self._alone else x[self.representative]

    def representatives_of(self, cells: Bools) -> Bools:
        """The representatives of some cells."""
        found = np.zeros_like(cells)
        found[self.representative[cells]] = True
        return found

    def without_partial(self, hidden: Bools) -> Bools:
        """A pattern without the groups that are hidden in part: their hidden cells are determined by the others."""
        if self._alone:
            return hidden
        shown = self._sizes - np.bincount(self.representative[hidden], minlength=hidden.size)
        kept: Bools = hidden & (shown[self.representative] == 0)
        return kept

    @property
    def sizes(self) -> Ints:
        """Number of cells in the group of each representative; zero for the others."""
        return self._sizes
