"""Small networks: dense cuts and a tree of our own prove the optima of the general recipe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tablecloak import Problem, Status
from tablecloak.methods.branch_and_cut import BranchAndCut, ExactParams, ExactSettings
from tablecloak.methods.branch_and_cut.strategy import ExactStrategy
from tablecloak.progress import silent
from tablecloak.testing import random_problem
from tablecloak.testing.instances import class_two, generator_one, three_way_generator_one


def solver(problem: Problem, params: ExactParams = ExactParams(), **small: int) -> BranchAndCut:
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


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_that_of_the_general_recipe(seed: int) -> None:
    problem = generator_one(8, 7, 6, seed) if seed % 2 else class_two(9, 9, seed)
    small = solver(problem, max_nodes=100_000)
    assert small.strategy is ExactStrategy.SMALL
    assert optimum(small) == optimum(solver(problem, max_cells=0))
    assert not small.pool  # nothing of the general recipe was needed


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5, 6, 7, 9, 10, 11])  # 2 and 8 are infeasible
def test_sliding_levels_insiders_and_ties_give_the_same_optimum(seed: int) -> None:
    kind = ("two-way", "hierarchical")[seed % 2]
    rng = np.random.default_rng(seed)
    problem = random_problem(kind, rng, insiders=seed % 3, sliding=seed % 4 == 1)
    assert optimum(solver(problem)) == optimum(solver(problem, max_cells=0))


def test_a_tree_that_grows_too_large_is_left_to_the_general_recipe() -> None:
    problem = generator_one(8, 8, 6, 3)
    whole, cut_short = solver(problem), solver(problem, max_nodes=1)
    assert optimum(whole) == optimum(cut_short)
    assert whole.statistics.nodes > 1
    assert cut_short.pool


def test_the_general_recipe_is_chosen_for_other_tables_and_on_demand() -> None:
    network = class_two(5, 5, 0)
    assert solver(network).strategy is ExactStrategy.SMALL
    assert solver(network, ExactParams(engine="highs")).strategy is ExactStrategy.GENERAL
    assert solver(network, ExactParams(nodes=10)).strategy is ExactStrategy.GENERAL
    assert solver(three_way_generator_one(3, 3, 3, 2, 0)).strategy is ExactStrategy.GENERAL


@pytest.mark.parametrize("seed", range(4))
def test_a_time_limit_leaves_a_pattern_and_an_honest_bound(seed: int) -> None:
    problem = generator_one(8, 8, 8, seed)
    best = optimum(solver(problem))
    stopped = solver(problem, ExactParams(seconds=0.0))
    proposal = stopped.run()
    assert proposal.bound is not None
    assert proposal.bound <= best <= stopped.incumbent.cost
