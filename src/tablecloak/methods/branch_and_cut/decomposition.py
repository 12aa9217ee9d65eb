"""Decomposition: cuts that share no cell are problems of their own.

The cuts found so far often fall into components, one for each equation of the table where levels are large against the
cells: a knapsack in every equation. All cuts together are a relaxation, so the sum of the optima of its components is a
bound, and their union is the cheapest pattern if it is safe. If it is not, the cuts that it violates are added, which
may join components; those that did not change keep their optimum. When a component grows too large the rest is left to
branch and cut, with all cuts found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import coo_array, csr_array

from tablecloak.arrays import Ints
from tablecloak.methods.branch_and_cut.improvement import Backoff, repair
from tablecloak.methods.branch_and_cut.search import SearchContext
from tablecloak.methods.cuts import Cut, rounded_up
from tablecloak.solvers import GrowingProgram, Outcome


def solve_components(search: SearchContext) -> None:
    """Solve the components until their union is safe, or one of them is too large or too hard."""
    optima: dict[frozenset[int], tuple[float, Ints]] = {}
    repairs, settings = Backoff(search.incumbent), search.settings.decomposition
    for done in range(settings.max_rounds):
        if search.is_over:
            return
        search.report("components", done, settings.max_rounds)
        cuts, hidden, bound = search.relaxation.active_cuts(), [np.zeros(0, dtype=np.int64)], 0.0
        matrix = search.relaxation.matrix(cuts)
        most = settings.max_share * np.unique(matrix.indices).size
        for members, cells in _components(matrix):
            if cells.size > most:
                return
            name = frozenset(id(cuts[k]) for k in members)
            optimum = optima.get(name) or _optimum(search, [cuts[k] for k in members], cells)
            if optimum is None:
                return
            optima[name] = optimum
            bound += optimum[0]
            hidden.append(optimum[1])
        search.gap.raise_bound(bound)
        x = search.model.point(np.concatenate(hidden), np.ones(1))
        violated = search.separation.violated(x)
        if not violated:
            return
        search.relaxation.add_to_pool(violated)
        repairs.maybe_run(lambda x=x: repair(search, x))  # type: ignore[misc]


def _components(matrix: csr_array) -> Iterator[tuple[Ints, Ints]]:
    """Cuts and cells of each component, the one with most cells first."""
    from scipy.sparse.csgraph import connected_components

    used, place = np.unique(matrix.indices, return_inverse=True)
    cuts = matrix.shape[0]
    of_entry = np.repeat(np.arange(cuts), np.diff(matrix.indptr))
    size = cuts + used.size
    graph = coo_array((np.ones(place.size), (of_entry, cuts + place)), shape=(size, size))
    _, label = connected_components(graph, directed=False)
    of_cut, of_cell = label[:cuts], label[cuts:]
    for component in np.argsort(-np.bincount(of_cell, minlength=1), kind="stable"):
        if (of_cut == component).any():
            yield np.flatnonzero(of_cut == component), used[of_cell == component].astype(np.int64)


def _optimum(search: SearchContext, cuts: Sequence[Cut], cells: Ints) -> tuple[float, Ints] | None:
    """The bound and the hidden cells of a component; None if it has no solution or takes too long."""
    program = GrowingProgram(search.model.prices[cells], settings=search.settings.relaxation.highs)
    program.add_rows(*search.relaxation.system(cuts, cells))
    nodes = search.settings.decomposition.max_work // max(cells.size, 1)
    solution = program.solve(search.deadline.left, step=search.model.unit, nodes=nodes)
    if solution.outcome is not Outcome.OPTIMAL:
        return None
    return rounded_up(solution.bound, search.model.unit), cells[solution.values > 0.5]
