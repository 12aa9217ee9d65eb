"""Small tables: dense cuts and a tree of their own prove the optima of brute force and of the general recipe."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from tablecloak import Levels, Problem, Status, Table
from tablecloak.arrays import Floats
from tablecloak.errors import InfeasibleProblem
from tablecloak.methods.branch_and_cut import BranchAndCut, ExactParams, ExactSettings
from tablecloak.methods.branch_and_cut.settings import SmallSettings
from tablecloak.methods.branch_and_cut.small.rows import GeneralRows, NetworkRows
from tablecloak.methods.data_units import in_data_units
from tablecloak.model import Suppression
from tablecloak.progress import silent
from tablecloak.testing import cheapest_by_enumeration, random_problem, safe_by_enumeration
from tablecloak.testing.enumeration import safe_suppression_below
from tablecloak.testing.instances import class_two, generator_one, three_way_generator_one
from tablecloak.testing.oracle import oracle_verdict
from tablecloak.testing.random_cases import (
    flat,
    near_threshold,
    random_case,
    random_levels,
    table_of_leaves,
    with_own_levels,
)

KINDS = ("two-way", "hierarchical")
GENERAL = ("three-way", "linked", "non-nested", "general")


def solver(problem: Problem, params: ExactParams = ExactParams(), **small: Any) -> BranchAndCut:
    """Branch and cut with some numbers of the small recipe changed."""
    settings = ExactSettings()
    settings = replace(settings, small=replace(settings.small, **small))
    return BranchAndCut(problem, params, np.random.default_rng(0), silent, settings=settings)


def optimum(found: BranchAndCut) -> float:
    """The proven cost."""
    proposal = found.run()
    assert proposal.status is Status.OPTIMAL
    assert proposal.bound == found.incumbent.cost
    return found.incumbent.cost


def scaled_problem(seed: int) -> Problem:
    """Values from 1 to 10^12 side by side, with zeros; weights that are the values, tied or real."""
    rng = np.random.default_rng([5, seed])
    shape = (int(rng.integers(3, 6)), int(rng.integers(3, 6)))
    large = np.floor(10.0 ** rng.uniform(2, 12, shape))
    values = np.where(rng.random(shape) < 0.6, rng.integers(0, 61, shape), large)
    table = table_of_leaves([flat("r", shape[0]), flat("c", shape[1])], values)
    chosen = np.sort(rng.choice(np.flatnonzero(table.values > 0), 3, replace=False))
    level = np.ceil(0.15 * table.values[chosen])
    weights = ("value", np.ones(len(table)), rng.random(len(table)) * 100)[seed % 3]
    levels = Levels.at(len(table), chosen, level, level)
    return Problem.of(table, chosen, levels, hide_zeros=False, weights=weights, widen=True)


def random_small(seed: int) -> Problem:
    """A small network with insiders, sliding levels, negative values, forced and hidden cells."""
    rng = np.random.default_rng([6, seed])
    return random_problem(
        KINDS[seed % 2], rng, negative=seed % 5 == 4, insiders=seed % 3, sliding=seed % 4 == 1
    )


def test_optima_are_those_of_brute_force() -> None:
    compared = infeasible = 0
    for seed in range(0, 120, 2):
        problem = random_small(seed)
        if (~problem.forced & ~problem.must_hide).sum() > 9:
            continue
        wanted = cheapest_by_enumeration(problem, safe_by_enumeration)
        if wanted is None:
            infeasible += 1
            with pytest.raises(InfeasibleProblem):
                solver(problem)
            continue
        found = solver(problem)
        assert optimum(found) == wanted
        assert found.is_small
        assert not found.pool
        compared += not found.model.is_trivial
    assert compared >= 8
    assert infeasible >= 1


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_is_that_of_the_general_recipe_to_the_last_unit(seed: int) -> None:
    problem = scaled_problem(seed)
    small, general = solver(problem, max_nodes=100_000), solver(problem, max_cells=0)
    found = optimum(small)
    assert not small.pool  # nothing of the general recipe was needed
    assert found == pytest.approx(optimum(general), rel=1e-9)
    assert found <= general.incumbent.cost * (1 + 1e-15)  # which proves up to 1e-9 of the cost


def random_general(seed: int) -> Problem:
    """A small table of other equations; every third one has mixed scales, decimals and levels near the reach."""
    rng = np.random.default_rng([8, seed])
    if seed % 3:
        kind = GENERAL[seed % 4]
        return random_problem(kind, rng, negative=seed % 5 == 4, insiders=seed % 3, sliding=seed % 7 == 1)
    kind = ("three-way", "non-nested", "linked", "equations")[seed // 3 % 4]
    case = random_case(rng, kind=kind, publishing="suppression", size="tiny")
    problem = near_threshold(case, rng, conditional=False) if seed % 2 else random_levels(case.problem, rng)
    return in_data_units(with_own_levels(problem, rng) if problem.attackers else problem)


def one_sensitive(table: Table) -> Problem:
    """The first cell is sensitive."""
    return Problem.of(table, [0], Levels.at(len(table), [0], [0.5], [0.5]), widen=True)


def test_optima_of_general_tables_are_those_of_brute_force() -> None:
    compared = 0
    for seed in range(90):
        problem = random_general(seed)
        if (~problem.forced & ~problem.must_hide).sum() > 12:
            continue
        try:
            found = solver(problem)
        except InfeasibleProblem:
            continue
        if found.model.is_network or found.model.is_trivial:
            continue
        assert found.is_small
        cost = optimum(found)
        best = Suppression.copy_of(found.incumbent.pattern)
        assert oracle_verdict(problem, best).safe
        assert safe_suppression_below(problem, cost) is None  # exact at any scale
        compared += not found.pool
    assert compared >= 10


@pytest.mark.parametrize("seed", range(0, 90, 3))
def test_optima_of_general_tables_are_those_of_the_general_recipe(seed: int) -> None:
    problem = random_general(seed)
    try:
        small, general = solver(problem), solver(problem, max_cells=0, max_general_cells=0)
    except InfeasibleProblem:
        return
    assert optimum(small) == pytest.approx(optimum(general), rel=1e-9)


def test_three_way_tables_are_proven_by_dense_rows() -> None:
    problem = three_way_generator_one(4, 4, 4, 4, 1)
    small = solver(problem)
    assert optimum(small) == optimum(solver(problem, max_general_cells=0))
    assert not small.pool
    assert solver(problem, max_nodes=0, stalled_rounds=1).run().status is Status.OPTIMAL


def test_no_safe_pattern_violates_a_row_of_a_general_table_but_isolated_cells() -> None:
    counted = 0
    for seed in range(60):
        problem = random_general(seed)
        try:
            model = solver(problem).model
        except InfeasibleProblem:
            continue
        size = int(model.representatives.sum())
        if (
            model.is_network
            or model.is_trivial
            or not 2 <= size <= 7
            or not model.aggregation.represents.all()
        ):
            continue
        rows, rng = GeneralRows(model, SmallSettings()), np.random.default_rng(seed)
        safe = np.array(safe_points(problem, rows, size)).reshape(-1, size).T
        for _ in range(10):
            x = np.where(rng.random(size) < 0.4, rng.random(size), rng.random(size) < 0.3).astype(float)
            verdict = rows.at_pattern(np.rint(x))
            for cuts, right, violation in (rows.at_node(x), rows.at_root(x), verdict.rows):
                capacity = right == 1.0  # the others are optimality cuts
                assert (cuts[capacity] @ safe >= 1.0 - 1e-12).all()
                assert (violation > 0).all()
            is_safe = any((np.rint(x) == point).all() for point in safe.T)
            assert verdict.is_safe == is_safe == rows.is_safe(np.rint(x))
            if is_safe:
                kept = rows.without_redundant(np.rint(x), np.flatnonzero(np.rint(x) > 0.5))
                assert any((kept == point).all() for point in safe.T)
        counted += 1
    assert counted >= 5


def safe_points(problem: Problem, rows: NetworkRows | GeneralRows, size: int) -> list[Floats]:
    """All integral points that are safe, by exact audits."""
    points = []
    for bits in product((0.0, 1.0), repeat=size):
        hidden = problem.must_hide.copy()
        hidden[rows.variables[np.array(bits) > 0.5]] = True
        if oracle_verdict(problem, Suppression.of(problem.table, hidden)).safe:
            points.append(np.array(bits))
    return points


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 6, 8, 9, 12, 14, 20])
def test_no_safe_pattern_violates_a_row(seed: int) -> None:
    problem = random_small(seed)
    try:
        model = solver(problem).model
    except InfeasibleProblem:
        return
    size = int(model.representatives.sum())
    if model.is_trivial or size > 9 or not model.aggregation.represents.all():
        return
    rows, rng = NetworkRows(model, SmallSettings()), np.random.default_rng(seed)
    safe = np.array(safe_points(problem, rows, size)).T
    for _ in range(20):
        x = np.where(rng.random(size) < 0.4, rng.random(size), rng.random(size) < 0.3).astype(float)
        found = [rows.at_node(x), NetworkRows(model, SmallSettings()).at_root(x)]
        for cuts, _, violation in (*found, rows.at_pattern(np.rint(x)).rows):
            assert (cuts @ safe >= 1.0 - 1e-12).all()
            assert (violation > 0).all()
        assert rows.is_safe(np.rint(x)) == any((np.rint(x) == point).all() for point in safe.T)


def test_there_are_networks_among_the_cases_of_the_rows() -> None:
    counted = 0
    for seed in (0, 1, 2, 3, 4, 6, 8, 9, 12, 14, 20):
        try:
            model = solver(random_small(seed)).model
        except InfeasibleProblem:
            continue
        counted += not model.is_trivial and int(model.representatives.sum()) <= 9
    assert counted >= 5


def test_a_tree_that_grows_too_large_is_left_to_the_general_recipe() -> None:
    problem = generator_one(8, 8, 6, 3)
    whole, cut_short = solver(problem), solver(problem, max_nodes=1)
    assert optimum(whole) == optimum(cut_short)
    assert whole.statistics.nodes > 1
    assert cut_short.pool


def test_programs_without_enough_steps_are_left_to_the_general_recipe() -> None:
    problem = generator_one(8, 8, 6, 3)
    stuck = solver(problem, max_pivots=1)
    assert optimum(stuck) == optimum(solver(problem))
    assert stuck.statistics.numerical_failures > 0


def test_few_rows_and_many_drops_give_the_same_optimum() -> None:
    problem = class_two(9, 9, 1)
    assert optimum(solver(problem, max_rows=10)) == optimum(solver(problem))


def test_the_general_recipe_is_chosen_for_other_tables_and_on_demand() -> None:
    network = class_two(5, 5, 0)
    assert solver(network).is_small
    assert not solver(network, ExactParams(engine="highs")).is_small
    assert not solver(network, ExactParams(nodes=10)).is_small
    assert solver(three_way_generator_one(3, 3, 3, 2, 0)).is_small
    assert not solver(three_way_generator_one(3, 3, 3, 2, 0), max_general_cells=20).is_small
    thirds = Table.from_equations(
        [3.0, 1.0, 1.5, 2.0], [[1.0, -1.5, -1.0, 0.0], [0.0, 1.0, 0.0, -0.5]], [0.0, 0.0]
    )
    assert not solver(one_sensitive(thirds)).is_small
    assert not solver(replace(network, most_touched=20)).is_small


@pytest.mark.parametrize("seed", range(4))
def test_a_time_limit_leaves_a_pattern_and_an_honest_bound(seed: int) -> None:
    problem = generator_one(8, 8, 8, seed)
    best = optimum(solver(problem))
    stopped = solver(problem, ExactParams(seconds=0.0))
    proposal = stopped.run()
    assert proposal.status is Status.TIME_LIMIT
    assert proposal.bound is not None
    assert proposal.bound <= best <= stopped.incumbent.cost


def test_an_interrupt_leaves_the_best_pattern() -> None:
    def interrupt(
        phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        if phase == "branch and cut" and done == 3:
            raise KeyboardInterrupt

    problem = generator_one(8, 8, 6, 3)
    found = BranchAndCut(problem, ExactParams(), np.random.default_rng(0), interrupt)
    proposal = found.run()
    assert proposal.status is Status.INTERRUPTED
    assert proposal.bound is not None
    assert proposal.bound <= optimum(solver(problem)) <= found.incumbent.cost


def test_a_gap_that_is_enough_ends_the_search() -> None:
    problem = generator_one(8, 8, 6, 3)
    rough = solver(problem, ExactParams(gap=0.5))
    rough.run()
    assert rough.gap.relative <= 0.5
    assert rough.statistics.nodes <= solver(problem).statistics.nodes + 3
