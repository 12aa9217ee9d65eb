"""suppress-cox beyond conformance: the cheapest cycle, cycles that add up, strata, and where it gives up."""

from __future__ import annotations

from importlib import import_module
from itertools import product

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable
from tablecloak.protection import protect
from tablecloak.testing import assert_protected, random_problem
from two_way import FIGURE_001, FIGURE_004, TwoWay

METHOD = "suppress-cox"
MODULE = import_module("tablecloak.methods.suppress_cox")


def cheapest_cycle(grid, problem, position, usable):
    """The least weight of a cycle through a cell over usable cells, by Bellman-Ford on rows and columns."""
    rows, columns = grid.rows + 1, grid.columns + 1
    distance = np.full(rows + columns, np.inf)
    start, end = (position[0] - 1, rows + position[1] - 1)
    distance[start] = 0.0
    for _ in range(rows + columns):
        for i, j in product(range(rows), range(columns)):
            cell = i * columns + j
            if (i, rows + j) == (start, end) or not usable[cell]:
                continue
            cost = 0.0 if problem.must_hide[cell] else problem.weights[cell]
            distance[i] = min(distance[i], distance[rows + j] + cost)
            distance[rows + j] = min(distance[rows + j], distance[i] + cost)
    return distance[end]


@pytest.mark.parametrize("position", [(1, 1), (2, 3), (3, 2)])
@pytest.mark.parametrize("level", [3, 8, 12])
def test_the_first_cycle_is_the_cheapest_with_room_enough(position, level):
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([position], min(level, 8), level)
    told = protect(problem, METHOD).report.counters
    best = cheapest_cycle(grid, problem, position, grid.table.values >= level)
    assert told["cycles"] == 1
    assert told["own cost"] == best
    assert told["own open cells"] == 0


def test_cycles_of_one_cell_add_up():
    """No cell beside the sensitive one has room for its level, so several cycles are needed and enough."""
    grid = TwoWay([[12, 5, 5, 5], [5, 5, 5, 5], [5, 5, 5, 5], [5, 5, 5, 5]])
    totals = grid.cells([(i, -1) for i in (1, 2, 3, 4)] + [(-1, j) for j in (1, 2, 3, 4)] + [(-1, -1)])
    problem = grid.problem([(1, 1)], 12, 12, forced=totals)
    result = protect(problem, METHOD)
    told = result.report.counters
    assert told["cycles"] == 3
    assert told["cells given up"] == told["own open cells"] == told["added by repair"] == 0
    assert_protected(problem, result.pattern)
    near = grid.cells([(1, 2), (1, 3), (1, 4), (2, 1), (3, 1), (4, 1)])
    assert result.pattern.hidden[near].all()


def test_what_a_cycle_has_used_is_not_used_twice():
    """Two cells of the row have room for half of the level each; a third one is not there."""
    grid = TwoWay([[10, 5, 5], [5, 50, 50], [5, 50, 50]])
    totals = grid.cells([(i, -1) for i in (1, 2, 3)] + [(-1, j) for j in (1, 2, 3)] + [(-1, -1)])
    problem = grid.problem([(1, 1)], 9, 9, forced=totals)
    told = protect(problem, METHOD).report.counters
    assert told["cycles"] == 2
    assert told["own open cells"] == 0


def test_cells_without_a_cycle_that_goes_both_ways_are_given_up_and_repaired():
    """Zeros may rise but not fall: the level is met upward only, and no cycle has room both ways."""
    grid = TwoWay([[20, 5, 5], [5, 0, 0], [5, 0, 0]])
    totals = grid.cells([(i, -1) for i in (1, 2, 3)] + [(-1, j) for j in (1, 2, 3)] + [(-1, -1)])
    problem = grid.problem([(1, 1)], 0, 10, forced=totals)
    result = protect(problem, METHOD)
    told = result.report.counters
    assert told["cells given up"] == told["own open cells"] == 1
    assert told["cycles"] == told["own cost"] == 0
    assert told["added by repair"] > 0
    assert_protected(problem, result.pattern)


@pytest.mark.parametrize("kind", ["two-way", "hierarchical"])
@pytest.mark.parametrize(
    "options", [{}, {"insiders": 2}, {"sliding": True}, {"conditional": True}, {"negative": True}], ids=str
)
@pytest.mark.parametrize("prefer", ["weight", "cells"])
def test_it_is_safe_and_never_beats_the_optimum(kind, options, prefer):
    """Whoever is not given up is safe against the outsider before any repair: gammas are true."""
    protected, seeds = 0, iter(range(60))
    while protected < 4:
        problem = random_problem(kind, np.random.default_rng(next(seeds)), **options)
        try:
            result = protect(problem, METHOD, params={"prefer": prefer})
        except InfeasibleProblem:
            continue
        assert_protected(problem, result.pattern)
        assert result.cost >= protect(problem, "suppress-optimal").cost * (1 - 1e-6) - 1e-9
        told = result.report.counters
        if not problem.attackers and not problem.levels.conditional.any():
            assert told["own open cells"] <= told["cells given up"]
        protected += 1


def test_fewer_cells_or_less_weight():
    """Weight prefers a long cycle of light cells, the number of cells a short one."""
    light = [[9, 900, 10, 900], [900, 10, 10, 900], [10, 900, 900, 10], [900, 10, 900, 10]]
    grid = TwoWay(light)
    problem = grid.problem([(1, 1)], 5, 5)
    weight, cells = (
        protect(problem, METHOD, params={"prefer": prefer}).report.counters for prefer in ("weight", "cells")
    )
    assert weight["own cost"] < cells["own cost"]
    assert weight["own cells"] > cells["own cells"] == 4


def test_costs_of_strata_do_not_mix():
    grid = TwoWay(FIGURE_001)
    problem = grid.problem([(1, 1)], 5, 5, weights=np.geomspace(1e-3, 1e12, len(grid.table)))
    for prefer in ("weight", "cells"):
        cox = cox_of(problem, prefer)
        wide = np.arange(cox.hidden.size) % 2 == 0
        cost = cox._strata(wide)
        strata = [cost[cox.hidden & wide], cost[~cox.hidden & wide], cost[cox.hidden & ~wide]]
        late = cost[~cox.hidden & ~wide]
        assert strata[0].sum() < strata[1].min()
        assert sum(stratum.sum() for stratum in strata[:2]) < cost[~wide].min()
        assert late.min() > cox.nodes * 2.0
        assert np.unique(strata[1]).size == strata[1].size


def cox_of(problem, prefer):
    """The paper's algorithm before it starts."""
    kept = []

    class Watched(MODULE._Cox):
        def run(self):
            kept.append(self)
            return super().run()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULE, "_Cox", Watched)
        protect(problem, METHOD, params={"prefer": prefer})
    return kept[0]


def test_other_tables_and_wrong_parameters_are_refused():
    with pytest.raises(NotApplicable, match="network"):
        protect(FIXTURES["three way"](), METHOD)
    with pytest.raises(InputError, match="prefer"):
        protect(FIXTURES["two way"](), METHOD, params={"prefer": "luck"})
