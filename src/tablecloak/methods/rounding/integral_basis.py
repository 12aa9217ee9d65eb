"""An integral basis of all deviations that keep the equations: free cells that determine all others in integers.

In plain tables the leaves are such cells (`totals`). In linked tables totals of different hierarchies make leaves
linearly dependent: what is left of the equations once totals are written as sums of leaves is a system  R u = 0  over
these. It is solved by integral elimination: the shortest row gives the one of its cells with coefficient +-1 that is in
the fewest rows (Markowitz) as a sum of its others, which takes its place everywhere. Rows that become empty were
redundant. In the end

    d = A d_free,    M A = 0,    A integral,

holds for all deviations d with M d = 0: whatever multiples of a base the free cells move by, so do all others. Cells
that are kept (deviation zero) have no column. Where a row has no coefficient +-1 left, this order gives no such A.

Reference: Markowitz (1957), The elimination form of the inverse; Schrijver (1986), Theory of linear and integer
programming, section 4.1 (integral solutions by unimodular operations).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.methods.rounding.integer_units import integer_matrix, true_leaves
from tablecloak.methods.rounding.settings import IntegralBasisSettings
from tablecloak.methods.rounding.tolerances import LARGEST_INTEGER
from tablecloak.methods.rounding.totals import Totals
from tablecloak.model import Problem, Table

Terms = dict[int, int]
"""A sum: coefficients by column."""


@dataclass(frozen=True, eq=False)
class IntegralBasis:
    """All deviations that keep the equations: d = matrix @ d[cells]."""

    cells: Ints
    matrix: csr_array
    """A row for each cell, a column for each free cell; integers."""
    tied: bool = False
    """Whether some leaves depend on others: dependent cells may then fall below zero."""

    @classmethod
    def of_leaves(cls, equations: csr_array, leaf: Bools) -> IntegralBasis | None:
        """The leaves, where they determine all cells and are linearly independent."""
        totals = Totals.of(equations, leaf)
        return None if totals is None else cls(np.flatnonzero(leaf), totals.matrix(leaf))

    @classmethod
    def by_elimination(
        cls,
        equations: csr_array,
        leaf: Bools,
        kept: Bools,
        size: Floats,
        stop: Callable[[], bool] = lambda: False,
        settings: IntegralBasisSettings = IntegralBasisSettings(),
    ) -> IntegralBasis | None:
        """The basis of any equations; `kept` cells do not move, and of two cells the one with larger `size` depends.

        None where no order with pivots +-1 was found, or it is stopped.
        """
        mine = np.flatnonzero(~kept)
        equations = csr_array(csr_array(equations)[:, mine])
        totals, known = Totals.partial(equations, leaf[mine])
        start = leaf[mine] | ~known
        sums = totals.matrix(start)
        places = np.flatnonzero(start)
        given = _eliminated(_residual(equations, sums), size[mine][places].tolist(), stop, settings.largest)
        if given is None:
            return None
        free = np.array([k for k in range(places.size) if k not in given], dtype=np.int64)
        transform = _transform(given, free, places.size, settings.largest)
        if transform is None:
            return None
        matrix = csr_array(sums @ transform)
        if not _holds(equations, matrix):
            return None
        put = csr_array((np.ones_like(mine), (mine, np.arange(mine.size))), shape=(kept.size, mine.size))
        return cls(mine[places[free]], csr_array(put @ matrix), tied=True)

    def rounded(self, deviation: Floats) -> Ints | None:
        """The deviation whose free cells are those of a given one, rounded; None where sums may not be exact."""
        free = np.rint(deviation[self.cells])
        largest = float(np.abs(self.matrix.data).max(initial=1))
        if (np.abs(free) >= LARGEST_INTEGER / (deviation.size * largest)).any():
            return None
        return np.asarray(self.matrix @ free.astype(np.int64))


def leaf_basis(table: Table) -> IntegralBasis | None:
    """The leaves of a table as its basis; None where they are not, or a coefficient is no integer."""
    equations = integer_matrix(table.equations)
    return None if equations is None else IntegralBasis.of_leaves(equations, true_leaves(table))


_KNOWN: WeakKeyDictionary[Problem, IntegralBasis | None] = WeakKeyDictionary()


def eliminated_basis(problem: Problem) -> IntegralBasis | None:
    """The basis of a problem whose forced cells are kept; None where none was found.

    It is computed once for each problem: a run needs it at its start and at its end.
    """
    if problem not in _KNOWN:
        table, equations = problem.table, integer_matrix(problem.table.equations)
        _KNOWN[problem] = (
            None
            if equations is None
            else IntegralBasis.by_elimination(
                equations, true_leaves(table), problem.forced, np.abs(table.values)
            )
        )
    return _KNOWN[problem]


def _holds(equations: csr_array, matrix: csr_array) -> bool:
    """Whether no free cell changes an equation, exactly."""
    product = csr_array(equations @ matrix)
    return not product.data.any()


def _residual(equations: csr_array, sums: csr_array) -> list[Terms]:
    """The equations between leaves that remain, without empty and repeated rows."""
    product = csr_array(equations @ sums)
    product.eliminate_zeros()
    product.sort_indices()
    first, columns, data = product.indptr.tolist(), product.indices.tolist(), product.data.tolist()
    rows: dict[tuple[tuple[int, int], ...], None] = {}
    for begin, end in pairwise(first):
        if end > begin:
            sign = 1 if data[begin] > 0 else -1
            row = zip(columns[begin:end], data[begin:end], strict=True)
            rows[tuple((column, sign * number) for column, number in row)] = None
    return [dict(row) for row in rows]


def _eliminated(
    rows: list[Terms], size: list[float], stop: Callable[[], bool], largest: int
) -> dict[int, Terms] | None:
    """Columns as sums of others, in an order in which later ones may occur in earlier sums; None: no such order."""
    holding: list[set[int]] = [set() for _ in size]
    for number, row in enumerate(rows):
        for column in row:
            holding[column].add(number)
    queue = [(len(row), number) for number, row in enumerate(rows)]
    heapq.heapify(queue)
    given: dict[int, Terms] = {}
    while queue:
        length, number = heapq.heappop(queue)
        row = rows[number]
        if length != len(row) or not row:
            continue  # it has changed since, and is in the queue as it is now; or it was redundant
        if stop():
            return None
        shared = math.gcd(*row.values())
        units = [column for column, factor in row.items() if abs(factor) == shared]
        if not units:
            continue  # it may still change when other columns are replaced
        pivot = min(units, key=lambda column: (len(holding[column]), -size[column], column))
        for column in row:
            holding[column].discard(number)
        own = row.pop(pivot)
        given[pivot] = {column: -factor // own for column, factor in row.items()}
        rows[number] = {}
        for other in sorted(holding[pivot]):
            if not _replaced(rows[other], other, pivot, given[pivot], holding, largest):
                return None
            heapq.heappush(queue, (len(rows[other]), other))
        holding[pivot].clear()
    return given if not any(rows) else None


def _replaced(
    row: Terms, number: int, pivot: int, given: Terms, holding: list[set[int]], largest: int
) -> bool:
    """Put a sum in the place of a column of a row; False where numbers grow too large."""
    factor = row.pop(pivot)
    for column, share in given.items():
        now = row.get(column, 0) + factor * share
        if now:
            if abs(now) > largest:
                return False
            row[column] = now
            holding[column].add(number)
        else:
            del row[column]
            holding[column].discard(number)
    return True


def _transform(given: dict[int, Terms], free: Ints, count: int, largest: int) -> csr_array | None:
    """All columns as sums of the free ones; None where numbers grow too large."""
    place = {column: k for k, column in enumerate(free.tolist())}
    whole: dict[int, Terms] = {}
    for pivot in reversed(given):
        total: Terms = {}
        for column, factor in given[pivot].items():
            if column in place:
                total[place[column]] = total.get(place[column], 0) + factor
            else:
                for k, inner in whole[column].items():
                    total[k] = total.get(k, 0) + factor * inner
        whole[pivot] = {k: factor for k, factor in total.items() if factor}
    entries = [(column, k, 1) for column, k in place.items()]
    entries += [(column, k, factor) for column, total in whole.items() for k, factor in total.items()]
    if any(abs(factor) > largest for _, _, factor in entries):
        return None
    rows, columns, data = (
        np.array(part, dtype=np.int64) for part in (zip(*entries, strict=True) if entries else ((), (), ()))
    )
    return csr_array((data, (rows, columns)), shape=(count, free.size))
