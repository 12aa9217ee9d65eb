"""Twins: cells that are hidden together or not at all, and so are one decision.

An equation in which only two cells may be hidden determines one from the other. If one of them is published, hiding the
other protects nothing; so some pattern of least cost has x_i = x_j (weights are not negative), as long as neither must
be hidden anyway. Twins of twins are twins. One cell, the *leader*, stands for all of them: its column costs what they
cost together, and its coefficient in a row is what they carry together, which truncation and rounding then sharpen.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.model import Problem


class Twins:
    """The leader of every cell (itself, for most)."""

    def __init__(self, leader: Ints) -> None:
        self.leader = leader
        self.leads: Bools = leader == np.arange(leader.size)
        self._sizes = np.bincount(leader, minlength=leader.size)
        self._alone = bool(self.leads.all())

    @classmethod
    def none(cls, size: int) -> Twins:
        """Every cell is alone."""
        return cls(np.arange(size))

    @classmethod
    def of(cls, problem: Problem, allowed: Bools) -> Twins:
        """Those that the equations make, among cells that may be hidden and need not be."""
        equations = csr_array(problem.table.equations)
        row = np.repeat(np.arange(equations.shape[0]), np.diff(equations.indptr))
        used = allowed[equations.indices] & (equations.data != 0.0)
        rows, cells = row[used], equations.indices[used]
        two = np.bincount(rows, minlength=equations.shape[0]) == 2
        first, second = cells[two[rows]].reshape(-1, 2).T
        loose = ~problem.must_hide[first] & ~problem.must_hide[second]
        first, second, size = first[loose], second[loose], allowed.size
        graph = coo_array((np.ones(first.size), (first, second)), shape=(size, size))
        _, group = connected_components(graph, directed=False)
        _, leaders = np.unique(group, return_index=True)
        return cls(leaders[group].astype(np.int64))

    def together(self, amounts: Floats) -> Floats:
        """What twins have together, at their leader; zero at the others."""
        if self._alone:
            return amounts
        sums = np.zeros(amounts.size)
        np.add.at(sums, self.leader, amounts)
        return sums

    def spread(self, x: Floats) -> Floats:
        """A point over leaders as a point over all cells."""
        return x if self._alone else x[self.leader]

    def leaders_of(self, cells: Bools) -> Bools:
        """The leaders of some cells."""
        found = np.zeros_like(cells)
        found[self.leader[cells]] = True
        return found

    def complete(self, hidden: Bools) -> Bools:
        """A pattern without the hidden cells that have a published twin: what they hide is known."""
        if self._alone:
            return hidden
        shown = self._sizes - np.bincount(self.leader[hidden], minlength=hidden.size)
        kept: Bools = hidden & (shown[self.leader] == 0)
        return kept

    @property
    def sizes(self) -> Ints:
        """How many cells each leader stands for; zero for the others."""
        return self._sizes
