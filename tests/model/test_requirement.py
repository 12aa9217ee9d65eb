"""What is required: one number for each cell, attacker and side, in whole data units."""

from __future__ import annotations

import numpy as np

from tablecloak.auditing import audit
from tablecloak.auditing.exact import ExactProblem
from tablecloak.model import (
    Attacker,
    Intervals,
    Levels,
    Problem,
    Suppression,
    Table,
    box_deviation_bounds,
    deviation_bounds,
    required_units,
)


def small(decimals: int = 1) -> Problem:
    table = Table.from_equations([1.2, 3.4, 4.6], np.array([[1.0, 1.0, -1.0]]), decimals=decimals)
    levels = Levels.at(3, [0, 1], lower=[0.31, 9.0], upper=[0.3, 0.0], sliding=[0.0, 5.01])
    known = (np.array([0.0, -9.0, 0.0]), np.array([1.55, 9.0, 20.0]))
    insider = Attacker.knowing("insider", [1], [3.333], [3.999])
    return Problem.of(table, [0, 1], levels, known=known, attackers=[insider], widen=True)


def test_levels_are_rounded_up_and_end_at_the_box() -> None:
    problem = small()
    lower, upper, sliding = required_units(problem, 0, np.array([0, 1, 2]))
    assert (lower.tolist(), upper.tolist(), sliding.tolist()) == ([4, 90, 0], [3, 0, 0], [0, 51, 0])
    lower, upper, sliding = required_units(problem, 1, np.array([1]))  # he knows 3.4 to 3.9
    assert (lower.tolist(), upper.tolist(), sliding.tolist()) == ([0], [0], [5])


def test_deviations_are_bounded_inward() -> None:
    problem = small()
    view = Suppression.of(problem.table, [0, 1, 2]).view(problem)
    low, high = deviation_bounds(problem, view, 1)
    assert low.tolist() == [-12, 0, -46] and high.tolist() == [3, 5, 154]
    stated = Intervals.of([1.15, 3.4, 4.01], [1.25, 3.4, 4.79]).view(problem)
    low, high = deviation_bounds(problem, stated, 0)
    assert low.tolist() == [0, 0, -5] and high.tolist() == [0, 0, 1]


def test_the_room_of_a_large_cell_is_exact_where_the_difference_of_floats_is_not() -> None:
    values = [4e10 + 0.7, 3.3, 4e10 + 4.0]
    table = Table.from_equations(values, np.array([[1.0, 1.0, -1.0]]), decimals=1)
    known = (np.array([4e10 + 0.5, 0.0, 0.0]), np.array([4e10 + 0.9, np.inf, 9e10]))
    problem = Problem.of(table, [1], Levels.at(3, [1], lower=[0.2], upper=[0.2]), known=known)
    assert values[0] - known[0][0] != 0.2
    below, above = box_deviation_bounds(problem)
    assert (below[0], above[0], above[1]) == (0.2, 0.2, np.inf)


def test_audit_and_certificates_ask_for_the_same_numbers() -> None:
    problem = small()
    pattern = Suppression.of(problem.table, [0, 1, 2])
    found, exact = audit(problem, pattern), ExactProblem(problem, pattern)
    for row in range(found.cells.size):
        asked = exact.required(int(found.attackers[row]), int(found.cells[row]))
        assert [float(one) for one in asked] == [
            found.required_lower[row],
            found.required_upper[row],
            found.required_sliding[row],
        ]
