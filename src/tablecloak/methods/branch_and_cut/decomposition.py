"""Decomposition: rows that share no cell are problems of their own.

The rows found so far often fall into parts, a line of the table each where levels are large against the cells: a
knapsack in every line. All rows together are a relaxation, so the sum of the optima of its parts is a bound, and their
union is the cheapest pattern if it is safe. If it is not, what it misses becomes rows, which may join parts; those that
did not change keep their optimum. When a part grows too large the rest is left to branch and cut, with all rows found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from tablecloak.arrays import Floats, Ints
from tablecloak.methods.branch_and_cut.improvement import Occasions
from tablecloak.methods.branch_and_cut.state import Exact
from tablecloak.methods.cuts import Cut, rounded_up
from tablecloak.solvers import GrowingProgram, Outcome

MOST_SHARE = 0.5
"""A part with more than this share of all cells in rows is too large: hardly anything splits."""
MOST_WORK = 200_000
"""A part is too hard if its nodes times its cells are more than this."""
MOST_ROUNDS = 100


def in_parts(state: Exact) -> None:
    """Solve the parts until their union is safe, or one of them is too large or too hard."""
    known: dict[frozenset[int], tuple[float, Ints]] = {}
    repairs = Occasions(state)
    for done in range(MOST_ROUNDS):
        if state.deadline.passed() or state.proven():
            return
        state.tell("parts", done, MOST_ROUNDS)
        rows, x, bound = state.relaxation.live(), np.zeros(state.free.size), 0.0
        matrix = state.relaxation.matrix(rows)
        most = MOST_SHARE * np.unique(matrix.indices).size
        for part, cells in _parts(matrix):
            if cells.size > most:
                return
            name = frozenset(id(rows[k]) for k in part)
            solved = known.get(name) or _optimum(state, [rows[k] for k in part], cells)
            if solved is None:
                return
            known[name] = solved
            bound += solved[0]
            x[solved[1]] = 1.0
        state.raise_bound(bound)
        x = state.aggregation.expanded(x)
        missed = state.check(x)
        if not missed:
            return
        state.relaxation.collect(missed)
        repairs.take(lambda x=x: state.repair(x))  # type: ignore[misc]


def _parts(matrix: csr_array) -> Iterator[tuple[Ints, Ints]]:
    """Rows and cells of each part, the largest part first."""
    used, place = np.unique(matrix.indices, return_inverse=True)
    rows = matrix.shape[0]
    of_entry = np.repeat(np.arange(rows), np.diff(matrix.indptr))
    size = rows + used.size
    graph = coo_array((np.ones(place.size), (of_entry, rows + place)), shape=(size, size))
    _, label = connected_components(graph, directed=False)
    of_row, of_cell = label[:rows], label[rows:]
    for part in np.argsort(-np.bincount(of_cell, minlength=1), kind="stable"):
        if (of_row == part).any():
            yield np.flatnonzero(of_row == part), used[of_cell == part].astype(np.int64)


def _optimum(state: Exact, rows: Sequence[Cut], cells: Ints) -> tuple[float, Ints] | None:
    """The bound and the hidden cells of a part; None if it has no solution or takes too long."""
    program = GrowingProgram(state.prices[cells])
    right: Floats = np.array([row.rhs for row in rows])
    program.add_rows(right, state.relaxation.matrix(list(rows))[:, cells])
    solution = program.solve(state.deadline.left, step=state.unit, nodes=MOST_WORK // max(cells.size, 1))
    if solution.outcome is not Outcome.OPTIMAL:
        return None
    return rounded_up(solution.bound, state.unit), cells[solution.values > 0.5]
