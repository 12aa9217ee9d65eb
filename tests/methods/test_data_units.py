"""Problems in whole data units."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak import (
    Attacker,
    Dimension,
    InfeasibleProblem,
    Levels,
    Problem,
    Suppression,
    Table,
    audit,
    protect,
)
from tablecloak.attacker import structure_of
from tablecloak.methods.data_units import in_data_units


def small_table(values: list[float], decimals: int | None = None) -> Table:
    rows, columns = ["r0", "r1", "r2"], ["c0", "c1"]
    cells = {"r": np.repeat(rows, 2), "c": np.tile(columns, 3), "value": values}
    dimensions = [Dimension.flat("r", rows), Dimension.flat("c", columns)]
    return Table.from_cells(dimensions, cells, recompute=True, decimals=decimals)


def test_values_levels_and_boxes_are_whole_and_the_verdicts_the_same():
    table = small_table([12.62, 22.39, 30.82, 0.65, 21.58, 35.36])
    levels = Levels.at(len(table), [1, 3], lower=[58.52, 31.51], upper=[58.52, 31.51])
    insider = Attacker.knowing("someone", [5], [3.33], [np.inf])
    problem = Problem.of(table, [1, 3], levels, attackers=[insider])
    whole = in_data_units(problem)
    assert whole.table.unit == 1.0
    assert whole.table.values.tolist() == np.rint(100 * table.values).tolist()
    assert whole.levels.lower[[1, 3]].tolist() == [5852.0, 3151.0]
    assert whole.attackers[0].low.tolist() == [333.0]
    assert structure_of(whole.table) is structure_of(table)
    rng = np.random.default_rng(0)
    for _ in range(30):
        pattern = Suppression.of(table, problem.must_hide | (rng.random(len(table)) < 0.6))
        assert audit(problem, pattern).safe == audit(whole, pattern).safe


def test_levels_are_rounded_up_and_boxes_inward():
    table = small_table([10, 20, 30, 40, 50, 60])
    levels = Levels.at(len(table), [4], lower=2.25, upper=2.25)
    problem = Problem.of(table, [4], levels, attackers=[Attacker.knowing("someone", [5], [19.5], [20.5])])
    whole = in_data_units(problem)
    assert whole.levels.lower[4] == 3.0
    assert (whole.attackers[0].low[0], whole.attackers[0].high[0]) == (20.0, 20.0)


def test_whole_problems_stay_as_they_are():
    table = small_table([10, 20, 30, 40, 50, 60])
    problem = Problem.of(table, [4], Levels.at(len(table), [4], lower=2, upper=2))
    assert in_data_units(problem) is problem


def test_what_cannot_be_protected_is_told_in_the_units_of_the_table():
    table = small_table([1.25, 2.5, 3.75, 4.25, 5.5, 6.75])
    forced = [cell for cell in range(len(table)) if cell != 4]
    problem = Problem.of(table, [4], Levels.at(len(table), [4], lower=1, upper=1), forced=forced)
    with pytest.raises(InfeasibleProblem) as refused:
        protect(problem, "suppress-greedy")
    assert list(refused.value.confidential["shortfall"].values()) == [pytest.approx(1.0)]
