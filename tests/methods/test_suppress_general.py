"""suppress-general beyond conformance: shortest cycles, unlimited protection without bounds, repair with them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from fixtures import FIXTURES, flat, from_leaves, leaf_values, with_levels
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, NotApplicable
from tablecloak.model import Levels, Problem
from tablecloak.protection import protect
from tablecloak.testing import assert_protected, random_problem

METHOD = "suppress-general"
ANYTHING = (-np.inf, np.inf)


def table_of(seed, rows=5, columns=4):
    leaves = leaf_values(rows, columns, seed=seed, low=-40, high=40)
    return from_leaves([flat("r", rows), flat("c", columns)], leaves)


@pytest.mark.parametrize("seed", range(6))
def test_one_cell_gets_its_shortest_cycle(seed):
    table = table_of(seed)
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 100, len(table)).astype(float)
    cell = int(rng.choice(np.flatnonzero(table.is_leaf)))
    problem = Problem.of(table, [cell], weights=weights, known=ANYTHING)
    told = protect(problem, METHOD).report.counters
    columns = table.shape[1] if hasattr(table, "shape") else 5
    ends = np.divmod(np.arange(len(table)), columns)
    size = len(table) // columns + columns
    others = np.arange(len(table)) != cell
    graph = csr_array((weights[others], (ends[0][others], size - columns + ends[1][others])), (size, size))
    distance = dijkstra(graph, directed=False, indices=ends[0][cell])
    assert told["own cost"] == distance[size - columns + ends[1][cell]]
    assert told["paths"] == 1


@pytest.mark.parametrize("seed", range(5))
def test_without_bounds_cycles_give_any_level(seed):
    table = table_of(seed)
    rng = np.random.default_rng(seed)
    cells = rng.choice(np.flatnonzero(table.is_leaf), size=5, replace=False)
    level = np.zeros(len(table))
    level[cells] = 10.0 ** rng.integers(0, 12, cells.size)
    weights = rng.integers(1, 100, len(table)).astype(float)
    problem = Problem.of(table, cells, Levels.of(len(table), level, level), weights=weights, known=ANYTHING)
    result = protect(problem, METHOD)
    told = result.report.counters
    assert told["own open cells"] == told["added by repair"] == told["cells given up"] == 0
    assert 1 <= told["paths"] <= cells.size
    assert result.report.notes == ()
    found = audit(problem, result.pattern, intervals=True)
    assert np.isneginf(found.low).all() and np.isposinf(found.high).all()
    assert result.cost >= protect(problem, "suppress-optimal").cost - 1e-9


def test_sensitive_cells_on_a_path_need_none_of_their_own():
    table = table_of(1)
    cells = [table.find(r=r, c=c) for r in ("r1", "r2") for c in ("c1", "c2")]
    problem = with_levels(table, cells, known=ANYTHING)
    told = protect(problem, METHOD).report.counters
    assert told["paths"] == 1
    assert told["own cost"] == 0


@pytest.mark.parametrize("kind", ["two-way", "hierarchical"])
@pytest.mark.parametrize(
    "options",
    [{}, {"negative": True}, {"negative": True, "insiders": 2}, {"sliding": True}, {"conditional": True}],
    ids=str,
)
def test_it_is_safe_and_never_beats_the_optimum(kind, options):
    protected, seeds = 0, iter(range(60))
    while protected < 4:
        problem = random_problem(kind, np.random.default_rng(next(seeds)), **options)
        try:
            result = protect(problem, METHOD)
        except InfeasibleProblem:
            continue
        assert_protected(problem, result.pattern)
        assert result.cost >= protect(problem, "suppress-optimal").cost * (1 - 1e-6) - 1e-9
        protected += 1


def test_bounds_that_the_outsider_knows_are_told_and_repaired():
    repaired = 0
    for seed in range(8):
        table = from_leaves([flat("r", 5), flat("c", 4)], leaf_values(5, 4, seed=seed, low=1, high=60))
        largest = np.flatnonzero(table.is_leaf)[np.argsort(-table.values[table.is_leaf])][:3]
        result = protect(with_levels(table, largest.tolist(), share=0.8), METHOD)
        assert "knows bounds of 30 cells" in result.report.notes[0]
        repaired += result.report.counters["own open cells"] > 0
        assert result.audit.safe
    assert repaired


def test_other_tables_are_refused():
    with pytest.raises(NotApplicable, match="network"):
        protect(FIXTURES["three way"](), METHOD)
