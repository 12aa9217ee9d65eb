"""The search below a gap limit: the optimum, or the proof that it is above the limit.

Variables whose reduced cost exceeds what the limit leaves are fixed to 0, so the program is small. Two engines: SCIP,
branch and cut with separation at every node; or HiGHS, solved again while its optimum violates cuts (Salazar-Gonzalez
2010).
"""

from __future__ import annotations

import math

import numpy as np

from tablecloak.arrays import Floats, Ints
from tablecloak.methods.branch_and_cut.improvement import (
    Backoff,
    NeighbourhoodSearch,
    construct_near,
    repair,
)
from tablecloak.methods.branch_and_cut.search import SearchContext
from tablecloak.methods.branch_and_cut.tree import TreeHooks, solve_over
from tablecloak.methods.cuts import PoolProgram, next_multiple
from tablecloak.solvers import OPTIMALITY, Outcome


def branch_below(
    search: SearchContext, limit: float, neighbourhoods: NeighbourhoodSearch, max_nodes: float
) -> bool:
    """With SCIP. True: the optimum is found, or proven to be above the limit."""
    statistics, nodes_before = search.statistics, search.statistics.nodes
    if nodes_before >= max_nodes:
        return False
    statistics.gap_limits += 1
    beyond = next_multiple(limit, search.model.unit)  # the least cost above the limit
    cells = search.cells_within(limit)
    heuristics = NodeHeuristics(search, cells, neighbourhoods)

    def report(nodes: int, bound: float) -> bool:
        statistics.nodes = nodes_before + nodes
        if math.isfinite(bound):
            search.gap.raise_bound(min(bound, beyond))
        search.report("branch and cut", nodes, nodes)
        return search.is_over

    solution = solve_over(
        search,
        cells,
        TreeHooks(heuristics.repair, heuristics.propose, report),
        limit=min(limit, search.incumbent.cost - search.model.unit),
        nodes=max_nodes - nodes_before,
    )
    if solution.outcome is Outcome.TIME_LIMIT:
        search.gap.raise_bound(min(solution.bound, beyond))
        return False
    search.gap.raise_bound(min(beyond, search.incumbent.cost))
    return True


class NodeHeuristics:
    """Primal heuristics at the nodes of a tree over some of the cells."""

    def __init__(self, search: SearchContext, cells: Ints, neighbourhoods: NeighbourhoodSearch) -> None:
        self._search, self._cells, self._neighbourhoods = search, cells, neighbourhoods
        model, incumbent = search.model, search.incumbent
        self._fixed = model.representatives.copy()
        self._fixed[cells] = False
        self._best_cost = incumbent.cost
        self._repairs = Backoff(incumbent, search.settings.tree.repair_wait if model.is_network else 1)
        self._constructions = Backoff(incumbent)
        self._is_last_unit = (
            model.has_tied_weights and incumbent.cost - search.gap.bound < 1.5 * model.unit
        )  # then neighbourhoods, which must gain a unit, would have to find the optimum

    def repair(self, x: Floats) -> None:
        """Repair an integral point that is not safe, if that is due."""
        if self._search.settings.tree.guided:
            self._repairs.maybe_run(lambda: repair(self._search, x))

    def propose(self, x: Floats) -> Floats | None:
        """Construct near the point of a node and search neighbourhoods, if due; values of a better pattern."""
        search = self._search
        if search.settings.tree.guided:
            self._constructions.maybe_run(lambda: construct_near(search, x))
        if not self._is_last_unit:
            failures = search.settings.tree.neighbourhoods
            self._neighbourhoods.backoff.maybe_run(lambda: self._neighbourhoods.improve(search, failures))
        pattern = search.incumbent.pattern
        if pattern is None or search.incumbent.cost >= self._best_cost or (pattern & self._fixed).any():
            return None
        self._best_cost = search.incumbent.cost
        return pattern[self._cells].astype(float)


def resolve_below(search: SearchContext, limit: float) -> bool:
    """With HiGHS. True: the optimum is found, or proven to be above the limit."""
    statistics, model, gap = search.statistics, search.model, search.gap
    statistics.gap_limits += 1
    beyond = next_multiple(limit, model.unit)
    cells = search.cells_within(limit)
    program = PoolProgram(search.relaxation, cells, model.unit, search.settings.tree.rough_gap)
    while True:
        search.report("integer program", statistics.integer_programs, statistics.integer_programs)
        solution = program.solve(search.deadline.left)
        statistics.integer_programs += 1
        gap.raise_bound(min(solution.bound, beyond))
        if solution.outcome is Outcome.TIME_LIMIT:
            return False
        if solution.outcome is Outcome.INFEASIBLE or solution.bound > limit * (1 + OPTIMALITY):
            return True
        x = model.point(cells, np.rint(solution.values))
        violated = search.separation.violated(x)
        if violated:
            search.relaxation.add_to_pool(violated)
            repair(search, x)
        else:
            if program.is_exact:
                gap.raise_bound(search.incumbent.cost)
            program.require_optimum()
        if gap.is_closed:
            return True
