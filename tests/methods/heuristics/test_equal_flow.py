"""Equal-flow paths: deviations that satisfy all equations of a grid, never dearer than a hypercube; the method."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from fixtures import FIXTURES
from tablecloak import InfeasibleProblem, Levels, NotApplicable, Problem, audit, protect
from tablecloak.attacker import DeviationBounds
from tablecloak.methods.heuristics import EqualFlowPaths, PathPrices, floored_weights
from tablecloak.methods.heuristics.equal_flow import _children, _plane_arcs, _shortest
from tablecloak.solvers import kernels
from tablecloak.testing import assert_protected, random_problem
from tablecloak.testing.instances import (
    hierarchical_generator_one,
    three_way_generator_one,
    three_way_generator_two,
)
from tablecloak.testing.random_cases import SCALES, random_bare_problem, random_levels, random_scaled_table

METHOD = "suppress-shortest-path"
TABLES = {
    "three-way": lambda seed: three_way_generator_one(5, 4, 6, 12, seed),
    "small among large": lambda seed: three_way_generator_two(5, 5, 5, 12, seed),
    "two hierarchies": lambda seed: hierarchical_generator_one((3, 3), (2, 3), 12, seed),
    "deep hierarchies": lambda seed: hierarchical_generator_one((2, 2, 2), (2, 2, 2), 12, seed),
}
EVERY_TABLE = pytest.mark.parametrize("kind", TABLES)


def prices_of(problem, rng):
    """PathPrices with some cells hidden already and others excluded, and the outsider's bounds."""
    down, up = DeviationBounds(problem)[0]
    price = np.where(rng.random(down.size) < 0.2, 0.0, floored_weights(problem.weights))
    price[problem.forced] = kernels.FORBIDDEN
    return PathPrices(price, up, down)


@EVERY_TABLE
def test_circulations_keep_all_equations_and_have_room(kind):
    cheaper = found_any = 0
    for seed in range(6):
        problem, rng = TABLES[kind](seed), np.random.default_rng(seed)
        paths, prices = EqualFlowPaths(problem), prices_of(problem, rng)
        for cell in np.flatnonzero(problem.sensitive).tolist():
            need = float(problem.levels.upper[cell])
            found = paths.cheapest(cell, need, prices, 1)
            cube = paths.cubes.cheapest(cell, need, prices.price, prices.up, prices.down, 4, 1)
            assert found is not None or cube is None
            if found is None:
                continue
            found_any += 1
            assert not np.any(problem.table.equations[:, found.cells] @ found.signs)
            assert set(np.abs(found.signs)) == {1.0}
            assert (np.diff(found.cells) > 0).all()
            assert found.signs[np.searchsorted(found.cells, cell)] == 1.0
            room = np.where(found.signs > 0, prices.up[found.cells], prices.down[found.cells])
            assert room.min() >= need
            assert not problem.forced[found.cells].any()
            if cube is not None:
                cost, other = prices.price[found.cells].sum(), prices.price[cube.cells].sum()
                assert cost <= other
                cheaper += cost < other
    assert found_any > 20
    assert cheaper > 0


def test_paths_of_a_plane_are_shortest():
    """Against the linear program of the plane: one unit through the own arc, at least cost."""
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(60):
        count, columns = int(rng.integers(3, 9)), int(rng.integers(2, 5))
        parents = np.array([-1, *sorted(int(rng.integers(0, code)) for code in range(1, count))])
        tail, head = _plane_arcs(parents, _children(parents), columns)
        forward, backward = rng.integers(0, 9, (2, tail.size)).astype(float)
        forward[rng.random(tail.size) < 0.2] = backward[rng.random(tail.size) < 0.2] = np.inf
        own = int(rng.integers(tail.size))
        forward[own] = 1.0
        nodes = int(max(tail.max(), head.max())) + 1
        matrix = np.zeros((nodes, 2 * tail.size))
        for arc, (start, end) in enumerate(zip(tail, head, strict=True)):
            matrix[[start, end], arc] += (1.0, -1.0)
        matrix[:, tail.size :] = -matrix[:, : tail.size]
        cost = np.concatenate([forward, backward])
        bounds = [(0.0, None if np.isfinite(one) else 0.0) for one in cost]
        bounds[own], bounds[tail.size + own] = (1.0, 1.0), (0.0, 0.0)
        wanted = linprog(
            np.where(np.isfinite(cost), cost, 0.0), A_eq=matrix, b_eq=np.zeros(nodes), bounds=bounds
        )
        found = _shortest(tail, head, forward, backward, own)
        assert (found is None) == (wanted.status == 2)
        if found is not None:
            arcs, ways = found
            assert np.where(ways > 0, forward[arcs], backward[arcs]).sum() == pytest.approx(wanted.fun)
            flow = np.zeros(tail.size)
            flow[arcs] = ways
            assert not (matrix[:, : tail.size] @ flow).any()
            compared += 1
    assert compared > 15


@EVERY_TABLE
@pytest.mark.parametrize("costs", ["strata", "weight"])
def test_what_is_noted_is_there_and_the_own_pattern_is_safe(kind, costs):
    for seed in range(3):
        problem = TABLES[kind](seed)
        result = protect(problem, METHOD, params={"costs": costs})
        assert_protected(problem, result.pattern)
        counters = result.report.counters
        assert counters["own open cells"] == 0
        assert counters["paths"] > 0
        assert result.cost >= protect(problem, "suppress-optimal", params={"seconds": 2.0}).bound - 1e-6


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", ["three-way", "hierarchical", "linked", "non-nested"])
def test_any_scale_any_attacker(kind, scale):
    """Random tables with windows, insiders and sliding levels: safe, or infeasible, or not its kind of table."""
    safe = 0
    for seed in range(8):
        rng = np.random.default_rng([seed, SCALES.index(scale)])
        table = random_scaled_table(kind, scale, rng)
        problem = random_levels(random_bare_problem(table, rng), rng)
        try:
            result = protect(problem, METHOD, seed=1)
        except (InfeasibleProblem, NotApplicable):
            continue
        assert result.audit.safe
        assert audit(problem, result.pattern).safe
        safe += 1
    assert safe > 0


def test_levels_without_a_path_are_met_by_linear_programs():
    """Upper levels beyond what circulations of single units give: the paths are taken back."""
    recovered = 0
    for seed in range(30):
        problem = random_problem("three-way", np.random.default_rng(seed))
        level = np.where(problem.sensitive, 4 * np.abs(problem.table.values) + 3, 0.0)
        large = Problem.of(
            problem.table,
            problem.sensitive,
            Levels.of(level.size, upper=level),
            forced=problem.forced,
            weights=problem.weights,
        )
        try:
            result = protect(large, METHOD)
        except (InfeasibleProblem, NotApplicable):
            continue
        assert_protected(large, result.pattern)
        assert result.report.counters["own open cells"] == 0
        recovered += result.report.counters["levels met by linear programs"]
    assert recovered > 0


def test_single_contributors_do_not_protect_each_other_where_paths_allow_it():
    problem = FIXTURES["three way"]()
    assert protect(problem, METHOD, params={"singletons": True}).audit.safe


def test_it_does_not_trim_and_says_so():
    with pytest.raises(NotApplicable, match="trims") as caught:
        protect(FIXTURES["three way"](), METHOD, params={"trim": True})
    assert "suppress-greedy" in caught.value.instead


@EVERY_TABLE
def test_the_same_seed_gives_the_same_pattern_and_a_limit_a_safe_one(kind):
    problem = TABLES[kind](1)
    first, second = (protect(problem, METHOD, seed=3).pattern.hidden for _ in range(2))
    assert np.array_equal(first, second)
    for seconds in (0.0, 0.02):
        assert_protected(problem, protect(problem, METHOD, params={"seconds": seconds}).pattern)
