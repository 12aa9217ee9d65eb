"""The oracle: the same as vertex enumeration on tiny tables, and the semantics of units, boxes and levels."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from tablecloak import (
    Attacker,
    Dimension,
    Intervals,
    Levels,
    Mixed,
    Perturbation,
    Problem,
    Rounding,
    Suppression,
    Table,
)
from tablecloak.testing import (
    KINDS,
    Oracle,
    enumeration_work,
    exact_intervals,
    feasible_intervals,
    oracle_verdict,
    random_problem,
    random_suppression,
)
from tablecloak.testing.oracle import deviation_box

MOST_WORK = 20_000


def two_by_two(values, **options):
    dimensions = [Dimension.flat("r", ["r0", "r1"]), Dimension.flat("c", ["c0", "c1"])]
    cells = {"r": ["r0", "r0", "r1", "r1"], "c": ["c0", "c1", "c0", "c1"], "value": values}
    return Table.from_cells(dimensions, cells, recompute=True, **options)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", KINDS)
def test_exact_intervals_are_those_of_enumeration(kind, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(kind, rng, insiders=1, negative=bool(rng.integers(2)))
    pattern = random_suppression(problem, rng, 0.4)
    if enumeration_work(problem, pattern) > MOST_WORK:
        pattern = random_suppression(problem, rng, 0.1)
    for attacker in range(2):
        low, high = feasible_intervals(problem, pattern, attacker)
        for cell, (below, above) in exact_intervals(problem, pattern, attacker).items():
            assert (float(below), float(above)) == pytest.approx((low[cell], high[cell]))


def inner(table):
    return [table.find(r=r, c=c) for r in ("r0", "r1") for c in ("c0", "c1")]


def test_boxes_are_rounded_inward_to_units():
    table = two_by_two([10.0, 10.0, 10.0, 10.0], decimals=0)
    low, high = np.zeros(len(table)), np.full(len(table), inf)
    cells = inner(table)
    low[cells[1]], high[cells[1]] = 8.5, 11.999
    problem = Problem.of(table, [cells[0]], known=(low, high))
    pattern = Suppression.of(table, cells)
    assert Oracle(problem, pattern).deviations(cells[0]) == (-1, 1)


def test_bounds_with_binary_noise_are_whole_units():
    table = two_by_two([0.1, 0.2, 0.3, 0.4], decimals=1)
    cells = inner(table)
    low, high = np.zeros(len(table)), np.full(len(table), inf)
    high[cells[0]] = 0.1 + 0.2  # 0.30000000000000004
    low[cells[0]] = 0.3 - 0.2  # 0.09999999999999998
    problem = Problem.of(table, [cells[1]], known=(low, high))
    assert Oracle(problem, Suppression.of(table, cells)).interval(cells[0]) == (1, 3)


def test_levels_are_rounded_up_and_capped_by_the_box():
    table = two_by_two([10.0, 20.0, 30.0, 40.0], decimals=0)
    cells = inner(table)
    levels = Levels.at(len(table), [cells[0], cells[3]], lower=[2.2, 0.0], upper=[9.5, 0.0])
    insider = Attacker.knowing("insider", [cells[0]], [8.5], [inf])
    problem = Problem.of(table, [cells[0], cells[3]], levels, attackers=[insider])
    verdict = oracle_verdict(problem, Suppression.of(table, cells))
    row = verdict.row(cells[0], 0)
    assert (row.lower, row.upper, row.sliding) == (3, 10, 0)
    assert (row.down, row.up) == (10, 20) and row.met
    row = verdict.row(cells[0], 1)
    assert (row.lower, row.down) == (1, 1) and row.met
    bare = verdict.row(cells[3], 0)
    assert (bare.lower, bare.upper, bare.sliding) == (0, 0, 1)
    assert verdict.safe


def test_a_unit_above_the_reach_is_missed():
    table = two_by_two([10.0, 20.0, 30.0, 40.0], decimals=0)
    cells = inner(table)
    for asked, met in ((20.0, True), (20.001, False), (21.0, False)):
        problem = Problem.of(table, [cells[0]], Levels.at(len(table), [cells[0]], upper=asked))
        assert oracle_verdict(problem, Suppression.of(table, cells)).safe is met


def test_statements_of_all_patterns():
    table = two_by_two([10.0, 20.0, 30.0, 40.0], decimals=0)
    size, a, cells = len(table), table.values, inner(table)
    problem = Problem.of(table, [cells[0]])

    def box(pattern):
        low, high = deviation_box(problem, pattern, 0)
        return low[cells[0]], high[cells[0]]

    assert box(Intervals.of(a - 2.5, a + 1.5)) == (-2, 1)
    assert box(Rounding.of(np.round(a / 15) * 15, np.full(size, 15.0))) == (-10, 20)
    assert box(Perturbation.of(a + 1, np.full(size, 4.0))) == (-3, 5)
    assert box(Suppression.of(table, cells)) == (-10, inf)
    hidden = Suppression.of(table, [cells[1]])
    mixture = Mixed.of(table, [([cells[0]], Intervals.of(a - 1, a + 2)), ([cells[1]], hidden)])
    assert box(mixture) == (-1, 2)
    assert deviation_box(problem, mixture, 0)[1][cells[1]] == inf
    assert deviation_box(problem, mixture, 0)[1][cells[2]] == 0


def test_conditional_levels_marks_and_the_number_of_touched_cells():
    table = two_by_two([10.0, 20.0, 30.0, 40.0], decimals=0)
    cells, size = inner(table), len(table)
    conditional = np.zeros(size)
    conditional[cells[1]] = 31.0
    problem = Problem.of(table, [cells[0]], Levels.of(size, conditional=conditional), most_touched=3)
    verdict = oracle_verdict(problem, Suppression.of(table, cells))
    assert not verdict.row(cells[1], 0).met and verdict.too_many_touched and not verdict.safe
    forced = Problem.of(table, [cells[0]], forced=[cells[1]])
    assert oracle_verdict(forced, Suppression.of(table, cells)).against_marks.tolist() == [cells[1]]


def test_a_false_statement_is_no_pattern():
    table = two_by_two([10.0, 20.0, 30.0, 40.0], decimals=0)
    problem = Problem.of(table, [0])
    with pytest.raises(ValueError, match="outside"):
        oracle_verdict(problem, Intervals.of(table.values + 1, table.values + 2))


def test_fractional_coefficients_are_exact():
    table = Table.from_equations(
        [10.0, 4.0, 6.0], [[0.1, -0.25, 0.0], [0.0, 1.5, -1.0]], [0.0, 0.0], decimals=0
    )
    problem = Problem.of(table, [0], known=([0, 0, 0], [20, 20, 9]))
    assert Oracle(problem, Suppression.of(table, [0, 1, 2])).interval(0) == (0, 15)
