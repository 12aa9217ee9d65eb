"""The audit as a whole: exactness, marks, insiders, engines, odd patterns, the integer attacker."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures import flat, from_leaves, leaf_values, smallest_leaves, with_levels
from tablecloak.auditing import audit, certify, verify
from tablecloak.errors import InputError, NotApplicable
from tablecloak.model import (
    Attacker,
    Intervals,
    Levels,
    Mixed,
    Perturbation,
    Problem,
    Rounding,
    Suppression,
    Table,
)
from two_way import FIGURE_001, FIGURE_004, T, TwoWay


def test_whole_number_networks_are_judged_without_tolerance():
    grid = TwoWay([[3_000_000, 2_000_000], [2_000_000, 9_000_000]])
    hidden = grid.suppression([(1, 1), (1, 2), (2, 1), (2, 2)])
    assert audit(grid.problem([(1, 1)], 0, 2_000_000), hidden).safe
    problem = grid.problem([(1, 1)], 0, 2_000_001)
    verdict = audit(problem, hidden)
    assert not verdict.safe
    assert verify(certify(problem, hidden, verdict), problem, hidden).proves == "unsafe"


def test_levels_that_are_no_whole_numbers_are_compared_exactly():
    grid = TwoWay(FIGURE_004)
    hidden = grid.suppression([(2, 1), (2, 3), (3, 1), (3, 3)])  # (2, 3) can rise by 8 and fall by 17
    assert audit(grid.problem([(2, 3)], 16.9, 7.5), hidden).safe
    assert not audit(grid.problem([(2, 3)], 16.9, 8.001), hidden).safe


def test_cells_treated_against_their_mark_are_not_safe():
    grid = TwoWay(FIGURE_004)
    pattern = grid.suppression([(2, 2), (2, 3), (3, 2), (3, 3)])
    assert audit(grid.problem([(2, 3)], 10, 12), pattern).safe
    forced = grid.problem([(2, 3)], 10, 12, forced=grid.cells([(3, 3)]))
    marked = grid.problem([(2, 3)], 10, 12, hidden=grid.cells([(1, 1)]))
    for problem, cell in ((forced, (3, 3)), (marked, (1, 1))):
        verdict = audit(problem, pattern)
        assert verdict.safe_rows.all()
        assert not verdict.safe
        assert verdict.against_marks.tolist() == grid.cells([cell])
        assert "against its mark" in verdict.summary(problem)
        certificate = certify(problem, pattern, verdict)
        assert verify(certificate, problem, pattern).proves != "safe"


def test_publishing_the_truth_as_a_part_of_a_mixed_pattern_is_too_close():
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 2, 4)
    truth = Perturbation.of(grid.table.values, 50.0)
    pattern = Mixed.of(grid.table, [(np.ones(16, dtype=bool), truth)])
    verdict = audit(problem, pattern)
    assert verdict.too_close.tolist() == grid.cells([(2, 3)])
    assert not verdict.safe
    assert verify(certify(problem, pattern, verdict), problem, pattern).proves != "safe"


def test_a_pattern_that_states_something_false_is_refused_without_naming_values():
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 2, 4)
    low, high = grid.table.values.copy(), grid.table.values.copy()
    for position in ((1, 2), (3, T)):
        low[grid.cell(position)] += 1000
        high[grid.cell(position)] += 2000
    with pytest.raises(InputError) as caught:
        audit(problem, Intervals.of(low, high))
    assert len(caught.value.faults) == 2
    assert "50" not in str(caught.value)


def test_a_pattern_for_another_table_is_refused():
    small, large = TwoWay(FIGURE_004), TwoWay(FIGURE_001)
    with pytest.raises(InputError):
        audit(large.percent([(1, 1)], 0.1), small.suppression([(1, 1)]))


def test_the_sole_contributor_of_a_neighbour_sees_through_a_rectangle():
    grid = TwoWay(FIGURE_004)
    pattern = grid.suppression([(2, 2), (2, 3), (3, 2), (3, 3)])
    neighbour = Attacker.contributing("sole in (3, 3)", grid.table, grid.cells([(3, 3)]), 12)
    problem = replace(grid.problem([(2, 3)], 10, 12), attackers=(neighbour,))
    verdict = audit(problem, pattern, intervals=True)
    assert verdict.safe_rows.tolist() == [True, False]
    assert verdict.low[1] == verdict.high[1] == 22
    assert "sole in (3, 3)" in verdict.summary(problem)


def test_own_knowledge_of_an_attacker_is_not_protected():
    grid = TwoWay(FIGURE_004)
    pattern = grid.suppression([(2, 2), (2, 3), (3, 2), (3, 3)])
    owner = Attacker.contributing("sole in (2, 3)", grid.table, grid.cells([(2, 3)]), 22)
    partner = Attacker.contributing("holds 15", grid.table, grid.cells([(2, 3)]), 15)
    problem = replace(grid.problem([(2, 3)], 10, 12), attackers=(owner, partner))
    verdict = audit(problem, pattern)
    assert verdict.safe
    assert verdict.required_lower.tolist() == [10, 0, 7]
    assert verdict.required_upper.tolist() == [12, 0, 12]


def test_unbounded_intervals_are_infinite():
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(1, T)], 1, 1)
    found = audit(problem, grid.suppression([(1, 1), (1, T), (T, 1), (T, T)]), intervals=True)
    assert found.high[0] == np.inf
    assert found.low[0] == 60


def test_three_way_unbounded_intervals_are_infinite_too():
    table = from_leaves([flat("r", 2), flat("c", 2), flat("s", 2)], leaf_values(2, 2, 2, low=1))
    problem = with_levels(table, smallest_leaves(table, 1))
    found = audit(problem, Suppression.of(table, range(len(table))), intervals=True)
    assert found.engine == "linear programs"
    assert np.isinf(found.high).all()


def test_engines_are_named_and_structure_is_used_for_arbitrary_equations_too():
    grid = TwoWay(FIGURE_001)
    bare = Table.from_equations(
        grid.table.values, grid.table.equations[np.random.default_rng(1).permutation(14)]
    )
    level = np.zeros(49)
    level[[0, 8]] = 1.0
    problem = Problem.of(bare, [0, 8], Levels.of(49, level, level))
    assert audit(problem, Suppression.of(bare, range(49))).engine == "network flow"
    assert audit(problem, Suppression.of(bare, [0, 8])).engine == "unpicking"


def test_the_integer_attacker_can_know_more_and_refuses_what_is_too_large():
    matrix = np.array([[2.0, 2.0, -1.0]])
    table = Table.from_equations([1, 2, 6], matrix)
    problem = Problem.of(table, [2], Levels.of(3, upper=[0, 0, 1.0]), known=(0.0, [2.0, 3.0, 7.0]))
    everything = Suppression.of(table, [0, 1, 2])
    assert audit(problem, everything).safe
    assert not audit(problem, everything, integer=True).safe  # the total is even: it cannot be seven


def test_bounds_between_two_units_are_rounded_inward():
    """Values are whole numbers: who knows that one is at most 2.9 knows that it is at most 2."""
    table = Table.from_equations([1, 2, 3], np.array([[1.0, 1.0, -1.0]]))
    everything = Suppression.of(table, [0, 1, 2])
    for most, safe in ((2.9, False), (3.0, True)):
        problem = Problem.of(
            table, [0], Levels.at(3, [0], upper=1.5), known=(0.0, [most, 9.0, 9.0]), widen=True
        )
        box = replace(problem, outsider_high=np.array([most, 9.0, 9.0]))
        verdict = audit(box, everything)
        assert verdict.required_upper.tolist() == [min(2.0, np.floor(most) - 1)]
        assert bool(verdict.high[0] == 3.0) is safe


def test_the_integer_attacker_names_its_limit():
    table = from_leaves([flat("r", 14), flat("c", 14), flat("s", 11)], leaf_values(14, 14, 11, low=1))
    problem = with_levels(table, smallest_leaves(table, 1))
    with pytest.raises(NotApplicable, match="2000"):
        audit(problem, Suppression.of(table, range(len(table))), integer=True)


def test_rounding_with_a_small_base_leaves_cells_open_and_names_them():
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3), (1, 3)], [10, 2], [12, 2])
    verdict = audit(problem, Rounding.of(5 * np.rint(grid.table.values / 5), 5.0))
    assert verdict.open_cells.tolist() == grid.cells([(2, 3)])


def test_progress_is_reported_and_ends():
    table = from_leaves([flat("r", 4), flat("c", 4), flat("s", 3)], leaf_values(4, 4, 3, low=1))
    problem = with_levels(table, smallest_leaves(table, 5))
    seen = []
    audit(problem, Suppression.of(table, range(len(table))), progress=lambda *step: seen.append(step))
    assert seen
    assert all(phase == "audit" for phase, *_ in seen)


def test_sliding_levels_take_both_sides_together():
    grid = TwoWay(FIGURE_004)
    size, (cell,) = len(grid.table), grid.cells([(2, 3)])
    pattern = grid.suppression([(2, 1), (2, 3), (3, 1), (3, 3)])  # 17 down, 8 up
    for width, safe in ((25.0, True), (25.5, False), (24.2, True)):
        sliding = np.zeros(size)
        sliding[cell] = width
        assert audit(Problem.of(grid.table, [cell], Levels.of(size, sliding=sliding)), pattern).safe is safe


def test_conditional_widths_are_required_of_hidden_cells_only():
    grid = TwoWay(FIGURE_004)
    size, (cell, other) = len(grid.table), grid.cells([(2, 3), (1, 1)])
    widths = np.zeros(size)
    widths[other] = 1.0
    problem = Problem.of(grid.table, [cell], Levels.of(size, conditional=widths))
    rectangle = [(2, 1), (2, 3), (3, 1), (3, 3)]
    assert audit(problem, grid.suppression(rectangle)).safe
    alone = audit(problem, grid.suppression([*rectangle, (1, 1)]))
    assert alone.open_cells.tolist() == [other]


@pytest.mark.parametrize("intervals", [False, True])
@pytest.mark.parametrize(("level", "safe"), [(900.0, True), (949.9, True), (951.0, False), (1000.0, False)])
def test_small_levels_of_large_values_are_judged_as_precisely_as_large_ones(intervals, level, safe):
    """Three-way: every cell is about 1e9, but one of 950 bounds what all of them can do."""
    leaves = np.full((2, 2, 2), 1e9) + np.arange(8).reshape(2, 2, 2)
    leaves[0, 0, 1] = 950.0
    table = from_leaves([flat("r", 2), flat("c", 2), flat("s", 2)], leaves)
    cell = table.find(r="r1", c="c1", s="s1")
    problem = Problem.of(table, [cell], Levels.at(len(table), [cell], upper=level))
    found = audit(problem, Suppression.of(table, table.is_leaf), intervals=intervals)
    assert found.engine == "linear programs"
    assert found.safe is safe
    if intervals:
        assert found.high[0] - table.values[cell] == pytest.approx(950.0, rel=1e-6)


def test_the_halves_of_a_width_add_up_exactly():
    """A cell that can rise by half a unit and fall by half a unit has a width of one, and none of 1 1/2."""
    matrix = np.array([[2.0, -1.0, 0.0], [0.0, 1.0, 1.0]])
    table = Table.from_equations([4, 8, 5], matrix, [0.0, 13.0])
    known = (np.array([0.0, 7.0, 0.0]), np.array([9.0, 9.0, 9.0]))
    for width, safe in ((1.0, True), (2.0, False)):
        problem = Problem.of(table, [0], Levels.at(3, [0], sliding=width), known=known)
        for intervals in (False, True):
            verdict = audit(problem, Suppression.of(table, [0, 1, 2]), intervals=intervals)
            assert verdict.safe is safe
            assert not verdict.undecided.any()
        assert (verdict.low[0], verdict.high[0]) == (3.5, 4.5)
        assert verdict.low_proven.all() and verdict.high_proven.all()
