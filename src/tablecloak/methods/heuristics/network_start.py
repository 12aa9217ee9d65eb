"""Cheapest deviations by the dual simplex method from an optimum of a network part of the equations.

1. *Network part*: equations of which no cell is in more than two, and in two with opposite signs once some equations
   are negated, picked greedily in their order. On a flat three-way table these are all equations of two dimensions, a
   network for each code of the third (a multicommodity flow), and the others tie the networks together.
2. The cheapest deviation over the network part alone, by the primal simplex method.
3. The other equations are added, and the dual simplex method goes on from that basis, which stays dual feasible.

Reference: Castro (2002), section 6: the option *network + dual* of CPLEX 6.5. There a network simplex code does step 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import tolerances
from tablecloak.solvers import DUAL, PRIMAL, HighsSettings, LinearProgram, Outcome, SimplexOptions


class NetworkStartProgram:
    """The linear program over some cells, in units of the level: d+ and d- of each."""

    def __init__(self, matrix: Any, highs: HighsSettings = HighsSettings()) -> None:
        self._highs, rows = highs, csr_array(matrix)
        part = network_part(rows)
        self.count = int(rows.shape[1])
        self._network, self._others = (
            hstack([rows[which], -rows[which]], format="csc") for which in (part, ~part)
        )

    def cheapest(
        self,
        place: int,
        upward: bool,
        level: float,
        bounds: tuple[Floats, Floats],
        costs: Floats,
        seconds: float,
    ) -> Floats | None:
        """The cheapest deviation of the cell in that place by a level; None if there is none, or none in time.

        `bounds` down and up of every cell, `costs` of a unit of every cell in either direction.
        """
        down, up = bounds
        if (up if upward else down)[place] < level * (1 - tolerances.WITNESS_MET):
            return None
        high = np.concatenate([up, down]) / level
        low = np.zeros(high.size)
        forced, fixed = (place, self.count + place) if upward else (self.count + place, place)
        low[forced] = high[forced] = 1.0
        high[fixed] = 0.0
        options = SimplexOptions(strategy=PRIMAL)
        given, prices = (csc_array(self._network), low, high), np.tile(costs, 2)
        session = LinearProgram(*given, cost=prices, options=options, settings=self._highs)
        solution = session.solve(seconds)
        if solution.outcome is Outcome.OPTIMAL and self._others.shape[0]:
            zero = np.zeros(self._others.shape[0])
            session.add_rows(zero, self._others, zero)
            session.use(DUAL)
            solution = session.solve(seconds)
        if solution.outcome is not Outcome.OPTIMAL:
            return None
        above, below = solution.values.reshape(2, self.count)
        return np.asarray((above - below) * level)


def network_part(rows: csr_array) -> Bools:
    """Equations that are those of a network, picked greedily in their order."""
    chosen = np.zeros(rows.shape[0], dtype=bool)
    first: dict[int, tuple[int, float]] = {}
    taken = np.zeros(rows.shape[1], dtype=np.int64)
    colours = _Colours(rows.shape[0])
    for row in range(rows.shape[0]):
        at = slice(rows.indptr[row], rows.indptr[row + 1])
        cells, signs = rows.indices[at].tolist(), rows.data[at].tolist()
        if (np.abs(rows.data[at]) != 1).any() or (taken[rows.indices[at]] > 1).any():
            continue
        ties = [
            (first[cell][0], first[cell][1] == sign)
            for cell, sign in zip(cells, signs, strict=True)
            if cell in first
        ]
        if not colours.fits(row, ties):
            continue
        chosen[row] = True
        taken[rows.indices[at]] += 1
        for cell, sign in zip(cells, signs, strict=True):
            first.setdefault(cell, (row, sign))
    return chosen


class _Colours:
    """Which equations are negated: a forest of equations, each with whether it differs from its parent."""

    def __init__(self, count: int) -> None:
        self.parent, self.differs = list(range(count)), [False] * count

    def fits(self, row: int, ties: list[tuple[int, bool]]) -> bool:
        """Tie a new equation to others, each with whether it must be negated beside it; False if that cannot be."""
        roots: dict[int, bool] = {}
        for other, differs in ties:
            root, apart = self._root(other)
            if roots.setdefault(root, apart ^ differs) != apart ^ differs:
                return False
        for root, differs in roots.items():
            self.parent[root], self.differs[root] = row, differs
        return True

    def _root(self, row: int) -> tuple[int, bool]:
        path, differs = [], False
        while self.parent[row] != row:
            path.append(row)
            row = self.parent[row]
        for one in reversed(path):  # from the root down
            differs ^= self.differs[one]
            self.parent[one], self.differs[one] = row, differs
        return row, differs
