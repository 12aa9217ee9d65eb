"""Free cells: cells of any system of equations from which all others follow in whole numbers.

Equations are eliminated in whole numbers: cells in the order of decreasing values, each by the shortest equation that
has it with the coefficient 1 or -1 and is not used yet (Gauss-Jordan). What is left are free cells, and

    cell i = sum of whole coefficients times free cells.

Any whole moves of free cells make a whole additive move of the table. The order makes large cells follow from small
ones: as with spanning trees, exchanging a free cell for a larger one that follows from it is never possible, so that a
cell moves only others of larger values. Cells that must keep their values are left out of the equations beforehand.

Hierarchies and linked tables have short eliminations (some entries a cell); others end at a maximum of work.

Reference: Edmonds (1971), Matroids and the greedy algorithm (the order); Schrijver (1986), Theory of Linear and Integer
Programming, chapter 4 (whole eliminations).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker.presolve import working_equations
from tablecloak.problem import Problem


@dataclass(frozen=True)
class FreeCellSettings:
    """Set on the linked tables of the JJ library, which take 400,000 steps at most (a tenth of a second)."""

    most_work: int = 4_000_000
    """Maximum number of entries that are looked at."""


SETTINGS = FreeCellSettings()


@dataclass(frozen=True, eq=False)
class FreeCells:
    """The free cells, and all cells as sums of them: a row a cell (empty where it must not move), a column each."""

    cells: Ints
    sums: csr_array


_KNOWN: WeakKeyDictionary[Problem, FreeCells | None] = WeakKeyDictionary()


def free_cells(problem: Problem) -> FreeCells | None:
    """The free cells of a problem, forced cells left out; None where whole numbers do not do, or it takes too long.

    It is worked out once a problem: a run asks for it at its start and at its end.
    """
    if problem not in _KNOWN:
        _KNOWN[problem] = eliminated(
            working_equations(problem.table), problem.forced, np.abs(problem.table.values)
        )
    return _KNOWN[problem]


def eliminated(equations: csr_array, still: Bools, values: Floats) -> FreeCells | None:
    """The free cells of equations, without cells that stand still; cells of large values follow from others."""
    if (equations.data != np.rint(equations.data)).any():
        return None
    system, mine = _System(equations, still), np.flatnonzero(~still)
    followed = np.zeros(values.size, dtype=bool)
    for cell in mine[np.argsort(-values[mine], kind="stable")].tolist():
        followed[cell] = system.follows(cell)
        if system.work > SETTINGS.most_work:
            return None
    if system.is_open():  # equations without a coefficient 1 or -1
        return None
    free: Ints = np.flatnonzero(~still & ~followed)
    return FreeCells(free, system.sums(free, values.size))


class _System:
    """The equations as they are eliminated: entries of each row, and the rows of each cell."""

    def __init__(self, equations: csr_array, still: Bools) -> None:
        self.rows: list[dict[int, int]] = []
        self.of: list[set[int]] = [set() for _ in range(still.size)]
        self.pivot: dict[int, int] = {}
        """The cell that a used row gives."""
        self.work = 0
        moves, ends = ~still, equations.indptr.tolist()
        for i, (start, stop) in enumerate(pairwise(ends)):
            cells, data = equations.indices[start:stop], equations.data[start:stop]
            keep = moves[cells]
            row = dict(zip(cells[keep].tolist(), data[keep].astype(np.int64).tolist(), strict=True))
            self.rows.append(row)
            for cell in row:
                self.of[cell].add(i)

    def follows(self, cell: int) -> bool:
        """Let a cell follow from others, if an equation that is not used gives it in whole numbers."""
        rows, pivot = self.rows, self.pivot
        able = [i for i in self.of[cell] if i not in pivot and abs(rows[i][cell]) == 1]
        self.work += len(self.of[cell])
        if not able:
            return False
        chosen = min(able, key=lambda i: (len(rows[i]), i))
        pivot[chosen] = cell
        for i in sorted(self.of[cell] - {chosen}):
            self._subtract(chosen, i, rows[i][cell] * rows[chosen][cell])
        return True

    def _subtract(self, chosen: int, other: int, times: int) -> None:
        """Take a row off another one, some times."""
        row = self.rows[other]
        self.work += len(self.rows[chosen])
        for cell, share in self.rows[chosen].items():
            left = row.get(cell, 0) - times * share
            if left:
                if cell not in row:
                    self.of[cell].add(other)
                row[cell] = left
            elif cell in row:
                del row[cell]
                self.of[cell].discard(other)

    def is_open(self) -> bool:
        """Whether equations are left that say something and are not used."""
        return any(row and i not in self.pivot for i, row in enumerate(self.rows))

    def sums(self, free: Ints, size: int) -> csr_array:
        """All cells as sums of free cells."""
        place = np.full(size, -1, dtype=np.int64)
        place[free] = np.arange(free.size)
        entries = [(cell, at, 1) for at, cell in enumerate(free.tolist())]
        for i, cell in self.pivot.items():
            sign = -self.rows[i][cell]
            entries += [(cell, int(place[k]), sign * share) for k, share in self.rows[i].items() if k != cell]
        found = np.array(entries, dtype=np.int64).reshape(-1, 3)
        return csr_array((found[:, 2], (found[:, 0], found[:, 1])), shape=(size, free.size))
