"""Instances of the literature: values, sensitive cells and levels as in the papers."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak import protect
from tablecloak.testing import instances


def test_class_one_is_as_in_the_paper() -> None:
    problem = instances.class_problem("I", 60, 40, 3)
    table = problem.table
    inner = table.values[table.is_leaf]
    assert (len(table), inner.size) == (61 * 41, 60 * 40)
    assert inner.min() == 0 and inner.max() <= 499
    small = table.is_leaf & (table.values >= 1) & (table.values <= 4)
    assert (problem.sensitive == small).all() and small.any()
    assert (problem.levels.upper[small] == table.values[small]).all()
    assert (problem.levels.lower[small] == table.values[small] - 1).all()
    assert (problem.forced == (table.values == 0)).all()
    assert (problem.weights == table.values).all()
    assert (instances.class_problem("I", 60, 40, 3, unit_weights=True).weights == 1).all()


@pytest.mark.parametrize("kind", ["II", "II+"])
def test_class_two_is_as_in_the_paper(kind: str) -> None:
    problems = [instances.class_problem(kind, 50, 50, number) for number in range(30)]
    table = problems[0].table
    total, leaf = table.find(), table.is_leaf
    inner = np.concatenate([problem.table.values[leaf] for problem in problems])
    assert inner.min() == 0 and inner.max() == 1000
    assert all((problem.forced == (problem.table.values == 0)).all() for problem in problems)
    assert np.mean([problem.sensitive[leaf].mean() for problem in problems]) == pytest.approx(0.2, abs=0.01)
    assert np.mean([problem.sensitive[~leaf].mean() for problem in problems]) == pytest.approx(0.1, abs=0.03)
    assert any(problem.sensitive[total] for problem in problems) is (kind == "II+")
    for problem in problems:
        asked = np.where(problem.sensitive, np.ceil(0.15 * problem.table.values), 0.0)
        assert (problem.levels.upper == asked).all() and (problem.levels.lower == asked).all()


def test_generator_one_has_so_many_sensitive_cells_in_two_and_three_ways() -> None:
    for problem in (
        instances.generator_one(30, 20, 25, 0),
        instances.three_way_generator_one(8, 7, 6, 25, 0),
    ):
        inner = problem.table.values[problem.table.is_leaf]
        assert int(problem.sensitive.sum()) == 25
        assert (problem.sensitive <= problem.table.is_leaf).all()
        assert np.mean(inner == 0) == pytest.approx(0.2, abs=0.08)
        assert inner.max() <= 1000
        assert (problem.forced == (problem.table.values == 0)).all()


def test_three_way_tables_have_all_their_totals() -> None:
    inner = np.arange(24).reshape(2, 3, 4)
    table = instances.three_way(inner)
    assert len(table) == 3 * 4 * 5
    assert table.values[table.find()] == inner.sum()
    assert table.values[table.find(c="c1")] == inner[:, 1].sum()
    assert table.values[table.find(r="r1", l="l2")] == inner[1, :, 2].sum()
    assert table.equations.shape[0] == 4 * 5 + 3 * 5 + 3 * 4
    assert protect(instances.three_way_class_one(6, 6, 6, seed=3)).audit.safe
