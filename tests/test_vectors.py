"""The published vectors (algorithms, Appendix A) on audit and small optima."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.attacker import structure_of
from tablecloak.auditing import audit
from tablecloak.model import (
    Dimension,
    Hierarchy,
    Intervals,
    Levels,
    Perturbation,
    Problem,
    Rounding,
    Suppression,
    Table,
)
from tablecloak.protection import protect
from two_way import (
    COUNTEREXAMPLE_K5,
    FIGURE_000,
    FIGURE_001,
    FIGURE_001_3,
    FIGURE_004,
    SENSITIVE_001,
    SENSITIVE_001_3,
    SENSITIVE_K5,
    T,
    TwoWay,
)


def intervals(problem, pattern, grid, positions):
    found = audit(problem, pattern, intervals=True, every_hidden=True)
    at = {int(cell): row for row, cell in enumerate(found.cells)}
    return {p: (found.low[at[grid.cell(p)]], found.high[at[grid.cell(p)]]) for p in positions}


def optimum(problem, method="suppress-compact"):
    return protect(problem, method)


def test_v004_1_feasibility_intervals():
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 10, 12)
    hidden = [(2, 1), (2, 3), (3, 1), (3, 3)]
    found = intervals(problem, grid.suppression(hidden), grid, hidden)
    assert found == {(2, 3): (5, 30), (2, 1): (0, 25), (3, 1): (0, 25), (3, 3): (4, 29)}
    assert problem.table.equations.shape == (8, 16)


def test_v004_2_the_paper_s_own_pattern_misses_its_own_levels():
    grid = TwoWay(FIGURE_004)
    verdict = audit(grid.problem([(2, 3)], 10, 12), grid.suppression([(2, 1), (2, 3), (3, 1), (3, 3)]))
    assert not verdict.safe
    assert verdict.open_cells.tolist() == grid.cells([(2, 3)])


@pytest.mark.parametrize(("weights", "cost"), [("value", 63.0), ("unit", 3.0)])
def test_v004_2_optimum(weights, cost):
    grid = TwoWay(FIGURE_004)
    result = optimum(grid.problem([(2, 3)], 10, 12, weights=weights))
    assert (result.cost, result.bound) == (pytest.approx(cost), pytest.approx(cost))
    if weights == "value":
        assert grid.positions(result.pattern.hidden) == {(2, 2), (2, 3), (3, 2), (3, 3)}


def test_v004_2_log_weights():
    grid = TwoWay(FIGURE_004)
    result = optimum(grid.problem([(2, 3)], 10, 12, weights=np.log(grid.table.values)))
    assert result.cost == pytest.approx(8.895, abs=1e-3)
    assert grid.positions(result.pattern.hidden) == {(2, 2), (2, 3), (3, 2), (3, 3)}


@pytest.mark.parametrize(
    "others",
    [
        [(2, 2), (3, 2), (3, 3)],
        [(2, 2), (T, 2), (T, 3)],
        [(2, T), (T, 3), (T, T)],
        [(2, T), (3, 3), (3, T)],
    ],
)
def test_v004_2_the_four_patterns_of_three_cells(others):
    grid = TwoWay(FIGURE_004)
    assert audit(grid.problem([(2, 3)], 10, 12), grid.suppression([(2, 3), *others])).safe


def test_v004_3_published_intervals_are_tight_and_too_narrow():
    grid = TwoWay(FIGURE_004)
    stated = {(1, 1): (18, 24), (1, 3): (6, 12), (2, 1): (4, 10), (2, 3): (20, 26)}
    low, high = grid.table.values.copy(), grid.table.values.copy()
    for position, (start, stop) in stated.items():
        low[grid.cell(position)], high[grid.cell(position)] = start, stop
    problem = grid.problem([(2, 3)], 10, 12)
    pattern = Intervals.of(low, high)
    assert intervals(problem, pattern, grid, stated) == stated
    assert not audit(problem, pattern).safe
    assert audit(grid.problem([(2, 3)], 2, 4), pattern).safe


def test_v004_4_rounding_to_base_ten():
    grid = TwoWay(FIGURE_004)
    shown = np.array([20, 50, 10, 80, 10, 20, 20, 50, 20, 30, 10, 60, 50, 100, 40, 190], dtype=float)
    pattern = Rounding.of(shown, 10.0)
    assert np.abs(shown - grid.table.values).sum() == 24
    problem = grid.problem([(2, 3)], 10, 12)
    found = audit(problem, pattern, intervals=True)
    assert (found.low[0], found.high[0]) == (10, 30)
    assert not found.safe
    assert audit(grid.problem([(2, 3)], 10, 8), pattern).safe


def test_v004_5_perturbation_is_additive_and_needs_both_verdicts():
    grid = TwoWay(FIGURE_004)
    shown = np.array([20, 50, 10, 80, 7, 16, 26, 49, 18, 35, 8, 61, 45, 101, 44, 190], dtype=float)
    assert np.abs(shown - grid.table.values).sum() == 16
    assert not np.any(grid.table.equations @ shown)
    assert audit(grid.problem([(2, 3)], 2, 4), Perturbation.of(shown, 6.0)).safe
    assert not audit(grid.problem([(2, 3)], 5, 5), Perturbation.of(shown, 50.0)).safe  # shown only 4 away
    truth = Perturbation.of(grid.table.values, 50.0)
    assert not audit(grid.problem([(2, 3)], 1, 1), truth).safe


def test_v000_1_two_patterns_and_the_optimum():
    grid = TwoWay(FIGURE_000)
    problem = grid.problem([(1, 1)], 15, 15)
    first = [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert intervals(problem, grid.suppression(first), grid, [(1, 1)]) == {(1, 1): (90, 115)}
    assert not audit(problem, grid.suppression(first)).safe
    second = [*first, (2, 4), (3, 2), (3, 4)]
    assert intervals(problem, grid.suppression(second), grid, [(1, 1)]) == {(1, 1): (80, 115)}
    assert grid.suppression(second).loss(problem) == 75
    result = optimum(problem)
    assert result.cost == pytest.approx(58)
    assert grid.positions(result.pattern.hidden) == {(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 4)}
    assert optimum(grid.problem([(1, 1)], 15, 15, weights="unit")).cost == pytest.approx(3)


def test_v000_b_totals_may_rise_without_limit():
    grid = TwoWay([[1, 2, 2], [50, 50, 50], [60, 60, 60]])
    result = optimum(grid.problem([(1, 1)], 1, 30, weights="unit"))
    assert result.cost == pytest.approx(3)
    assert audit(grid.problem([(1, 1)], 1, 30), grid.suppression([(1, 1), (1, T), (2, 1), (2, T)])).safe


def test_v001_1_intervals_and_optimum():
    grid = TwoWay(FIGURE_001)
    problem = grid.percent(SENSITIVE_001, 0.1)
    found = intervals(problem, grid.suppression(SENSITIVE_001), grid, SENSITIVE_001)
    assert list(found.values()) == [(0, 12), (0, 12), (5, 17), (1, 1), (36, 48), (12, 12), (6, 6), (21, 21)]
    for least in (0.0, 1.0):
        result = optimum(grid.percent(SENSITIVE_001, 0.1, least))
        assert result.cost == pytest.approx(118)
        assert grid.positions(result.pattern.hidden) == {*SENSITIVE_001, (5, 2), (5, 3), (5, 5)}
        assert optimum(grid.percent(SENSITIVE_001, 0.1, least, weights="unit")).cost == pytest.approx(3)


def test_v001_3_a_bridge_that_unpicking_cannot_see():
    grid = TwoWay(FIGURE_001_3)
    problem = grid.percent(SENSITIVE_001_3, 0.1)
    found = intervals(problem, grid.suppression(SENSITIVE_001_3), grid, SENSITIVE_001_3)
    assert found.pop((1, 1)) == (100, 100)
    assert set(found.values()) == {(0, 200)}
    assert optimum(problem).cost == pytest.approx(100)


def test_v001_k5_protecting_the_candidates_only_leaves_a_cell_open():
    grid = TwoWay(COUNTEREXAMPLE_K5)
    problem = grid.percent(SENSITIVE_K5, 0.1, hide_zeros=False)
    for_k5 = grid.suppression([*SENSITIVE_K5, (2, 2), (4, 3), (T, 1)])
    verdict = audit(problem, for_k5, intervals=True)
    assert verdict.open_cells.tolist() == grid.cells([(3, 1)])
    assert intervals(problem, for_k5, grid, [(3, 1)]) == {(3, 1): (9, 9)}
    result = optimum(problem)
    assert result.cost == pytest.approx(167)
    assert grid.positions(result.pattern.hidden) == {*SENSITIVE_K5, (2, 3), (4, 2), (T, 1)}
    assert intervals(problem, result.pattern, grid, [(3, 1)]) == {(3, 1): (0, 50)}


def test_v003_1_one_hierarchy_is_a_network():
    rows = {"R1": [], "R2": {"R21": ["R211", "R212"], "R22": []}}
    values = {
        "R1": (5, 6, 11), "R2": (10, 15, 25), "R3": (15, 21, 36), "R21": (8, 10, 18), "R22": (2, 5, 7),
        "R211": (6, 6, 12), "R212": (2, 4, 6),
    }  # fmt: skip
    dimensions = [
        Dimension.of("row", Hierarchy.from_dict(rows, "R3")),
        Dimension.flat("column", ["C1", "C2"], "C"),
    ]
    table = Table.from_cells(
        dimensions,
        {
            "row": np.repeat(list(values), 3),
            "column": ["C1", "C2", "C"] * 7,
            "value": [number for triple in values.values() for number in triple],
        },
    )
    assert table.equations.shape == (16, 21)
    assert np.linalg.matrix_rank(table.equations.toarray()) == 13
    (block,) = structure_of(table).blocks
    assert block.kind == "network"
    assert block.kept_rows.size == 14
    problem = Problem.of(table, [0], Levels.of(21, upper=[2.0] + [0.0] * 20))
    assert audit(problem, Suppression.of(table, range(21))).engine == "network flow"


def test_v003_b_a_bound_of_the_literature_would_cut_off_the_optimum():
    grid = TwoWay([[10, 1, 10], [8, 20, 2], [30, 30, 30]])
    problem = grid.problem([(1, T)], 0.5, 15)
    result = optimum(problem)
    assert result.cost == pytest.approx(51)
    assert grid.positions(result.pattern.hidden) == {(1, T), (1, 2), (2, 2), (2, T)}
    assert intervals(problem, result.pattern, grid, [(1, T)]) == {(1, T): (20, 41)}
