"""The generator of census-like counts: additive, the promised sizes, many small counts, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from cases import census
from tablecloak import Problem
from tablecloak.testing import assert_additive


def test_three_way_has_about_a_hundred_thousand_cells() -> None:
    problem = census.census_three_way()
    assert len(problem.table) == 3 * 131 * 246 == 96_678
    assert [len(dimension.codes) for dimension in problem.table.dimensions] == [3, 131, 246]
    assert_census(problem, 3)


def test_five_way_has_about_a_hundred_thousand_cells() -> None:
    problem = census.census_five_way()
    assert len(problem.table) == 3 * 31 * 55 * 5 * 4 == 102_300
    assert_census(problem, 3)


def assert_census(problem: Problem, threshold: int) -> None:
    table = problem.table
    assert_additive(table)
    leaves = table.values[table.is_leaf]
    assert (table.values >= 0).all()
    assert (table.values == np.rint(table.values)).all()
    assert 0.2 < (leaves == 0).mean() < 0.8
    assert ((leaves > 0) & (leaves < threshold)).mean() > 0.1
    assert leaves.max() > 50 * leaves.mean()
    small = (table.values > 0) & (table.values < threshold)
    assert (problem.sensitive == small).all()
    assert (problem.levels.sliding == np.where(small, threshold, 0)).all()


def test_people_are_about_as_many_as_asked_for() -> None:
    problem = census.census_three_way(people=50_000)
    assert problem.table.values[problem.table.find()] == pytest.approx(50_000, rel=0.05)


@pytest.mark.parametrize("make", [census.census_three_way, census.census_five_way])
def test_small_ones_follow_their_parameters_and_the_seed(make) -> None:
    options = {"years": 20, "regions": (2, 3), "people": 500, "threshold": 4}
    first, again, other = (make(**options, seed=seed) for seed in (7, 7, 8))
    assert len(first.table) < 4_000
    assert first.table.values.tobytes() == again.table.values.tobytes()
    assert first.table.values.tobytes() != other.table.values.tobytes()
    assert_additive(first.table)
    assert first.levels.sliding.max() == 4


def test_children_are_single_and_ages_are_nested() -> None:
    problem = census.census_five_way(regions=(3,), people=50_000)
    table = problem.table
    assert table.values[table.find(age="10-14", status="married")] == 0
    assert table.values[table.find(age="40-44", status="married")] > 0
    parts = [table.values[table.find(age=age)] for age in ("30-34", "35-39")]
    assert sum(parts) == table.values[table.find(age="30-39")]


@pytest.mark.parametrize("years", [0, 5, 15])
def test_odd_ages_are_refused(years: int) -> None:
    with pytest.raises(ValueError, match="ten years"):
        census.age_dimension(years, 1)


@pytest.mark.parametrize("regions", [(), (3, 0)])
def test_odd_regions_are_refused(regions: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="regions"):
        census.region_dimension(regions)
