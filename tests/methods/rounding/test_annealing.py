"""Roundings by annealing: additive multiples, zeros stay, totals near, an honest reach and bound."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.methods.rounding import Totals, integer_table
from tablecloak.methods.rounding.annealing import annealed_rounding
from tablecloak.model import Dimension, Hierarchy, Levels, Problem, Status, Table
from tablecloak.progress import Deadline, silent
from tablecloak.protection import protect


def counts(seed: int, ages: int = 6, places: int = 5) -> Problem:
    """Sex x age x place with two hierarchies; small counts are sensitive."""
    rng = np.random.default_rng(seed)
    age = Dimension.of("age", Hierarchy.from_dict({g: [f"{g}{k}" for k in range(ages)] for g in "abc"}))
    place = Dimension.of("place", Hierarchy.from_dict({g: [f"{g}{k}" for k in range(places)] for g in "NS"}))
    sex = Dimension.flat("sex", ["f", "m"])
    codes = [np.array(d.codes)[d.is_leaf] for d in (sex, age, place)]
    grid = [axis.ravel() for axis in np.meshgrid(*codes, indexing="ij")]
    value = rng.negative_binomial(1, 0.2, grid[0].size)
    table = Table.from_cells(
        [sex, age, place],
        {"sex": grid[0], "age": grid[1], "place": grid[2], "value": value},
        recompute=True,
    )
    small = (table.values > 0) & (table.values < 3)
    return Problem.of(table, small, Levels.at(len(table), small, sliding=3), weights="unit")


def annealed(problem: Problem, base: float, seed: int = 1):
    whole = integer_table("test", problem, base)
    return annealed_rounding(problem, whole, np.random.default_rng(seed), silent, Deadline.after(None))


@pytest.mark.parametrize("base", [3.0, 5.0, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_it_adds_up_and_stays_near(base: float, seed: int) -> None:
    problem = counts(seed)
    found = annealed(problem, base)
    table = problem.table
    assert not (table.equations @ found.shown - table.rhs).any()
    assert not (found.shown % base).any()
    assert not found.shown[table.is_leaf & (table.values == 0)].any()
    off = np.abs(found.shown - table.values)
    assert off.max() <= found.reach * base
    assert (off[table.is_leaf] < base).all()
    assert found.bound <= problem.weights @ off
    residue = table.values % base
    assert found.bound == pytest.approx(np.minimum(residue, base - residue).sum())
    assert np.array_equal(found.shown, annealed(problem, base).shown)


def test_it_is_much_nearer_than_rounding_leaves_alone() -> None:
    problem = counts(1, 12, 8)
    rapid = protect(problem, "round-rapid", params={"base": 3})
    found = annealed(problem, 3.0)
    table = problem.table
    far, near = (np.abs(shown - table.values).max() for shown in (rapid.pattern.shown, found.shown))
    assert near <= far / 4
    assert found.reach <= 3


def test_a_forced_total_is_kept() -> None:
    problem = counts(9)
    table = problem.table
    total = table.find()
    assert table.values[total] % 3 == 0  # else the whole table is refused before
    forced = np.zeros(len(table), dtype=bool)
    forced[total] = True
    levels = problem.levels
    kept = Problem.of(table, problem.sensitive, levels, forced=forced, weights="unit")
    found = annealed(kept, 3.0)
    assert found is not None and found.shown[total] == table.values[total]
    assert not (table.equations @ found.shown - table.rhs).any()


def test_all_cells_as_sums_of_leaves() -> None:
    problem = counts(0)
    table = problem.table
    whole = integer_table("test", problem, 3.0)
    totals = Totals.of(whole.equations, table.is_leaf)
    assert totals is not None
    matrix = totals.matrix(table.is_leaf)
    assert np.array_equal(matrix @ whole.values[table.is_leaf], whole.values)
    assert np.array_equal(matrix.sum(axis=1), totals.leaves)


def test_round_controlled_falls_back_on_it_when_the_time_is_up() -> None:
    problem = counts(3)
    result = protect(problem, "round-controlled", params={"base": 3, "seconds": 0.0})
    assert result.status is Status.TIME_LIMIT
    assert any("annealing" in note for note in result.report.notes)
    table = problem.table
    assert not (table.equations @ result.pattern.shown - table.rhs).any()
    assert result.bound is not None and result.bound <= result.cost
    reach = result.report.counters["steps"] + 1
    assert np.abs(result.pattern.shown - table.values).max() <= 3 * reach
