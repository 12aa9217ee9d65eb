"""Tables in whole data units: exact, or every fault by cell, never by value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures import flat, from_leaves
from tablecloak.errors import InputError, NotApplicable
from tablecloak.methods.rounding import adds_up, check_marks, integer_table
from tablecloak.model import Problem, Table


def problem_of(leaves: list[list[float]], **options: object) -> Problem:
    rows, columns = np.shape(leaves)
    return Problem.of(from_leaves([flat("r", rows), flat("c", columns)], np.array(leaves)), [], **options)


def test_decimals_become_whole_numbers_and_come_back() -> None:
    problem = problem_of([[0.1, 0.7], [1.3, 2.4]])
    whole = integer_table("round-x", problem, 0.5)
    assert (whole.base, whole.decimals) == (5, 1)
    assert whole.values.tolist() == np.rint(problem.table.values * 10).tolist()
    assert whole.amounts(whole.values).tolist() == problem.table.values.tolist()
    assert not (whole.equations @ whole.values).any()
    assert "confidential" in repr(whole)


@pytest.mark.parametrize("base", [0.0, -5.0, np.nan, np.inf, 0.25, 1e-9, 1e300])
def test_a_base_that_is_none_is_refused(base: float) -> None:
    with pytest.raises(InputError, match="base"):
        integer_table("round-x", problem_of([[0.1, 0.7], [1.3, 2.4]]), base)


def test_all_forced_cells_in_the_way_are_listed() -> None:
    table = from_leaves([flat("r", 2), flat("c", 2)], np.array([[11, 10], [13, 0]]))
    forced = [table.find(r="r1", c="c1"), table.find(r="r1", c="c2"), table.find(r="r2", c="c1")]
    with pytest.raises(InputError) as caught:
        integer_table("round-x", Problem.of(table, [], forced=forced), 5.0)
    assert [fault.split(":")[0] for fault in caught.value.faults] == ["cell r=r1, c=c1", "cell r=r2, c=c1"]
    assert "11" not in str(caught.value)
    assert "13" not in str(caught.value)


def test_decimals_are_whole_units() -> None:
    table = Table.from_equations([1.0, 2.25, 3.25], [[1, 1, -1]])
    whole = integer_table("round-x", Problem.of(table, []), 5.0)
    assert whole.values.tolist() == [100, 225, 325]
    assert whole.base == 500


def test_too_many_digits_are_refused() -> None:
    assert integer_table("round-x", problem_of([[10**15 + 1, 2], [3, 4]]), 5.0).values.max() == 10**15 + 10
    with pytest.raises(InputError, match="too large for a table"):
        integer_table("round-x", problem_of([[10**15 + 1, 2], [3, 4]]), 2.0**52)


def test_coefficients_that_are_no_whole_numbers_are_refused() -> None:
    table = Table.from_equations([2, 1], [[0.5, -1]])
    with pytest.raises(NotApplicable, match="whole coefficients"):
        integer_table("round-x", Problem.of(table, []), 5.0)


def test_hidden_cells_and_bounds_on_touched_cells_are_refused() -> None:
    problem = problem_of([[1, 2], [3, 4]])
    check_marks("round-x", problem, ["round-controlled"])
    with pytest.raises(NotApplicable, match="must be hidden"):
        check_marks("round-x", problem_of([[1, 2], [3, 4]], hidden=[3]), ["round-controlled"])
    with pytest.raises(NotApplicable, match="touched") as caught:
        check_marks("round-x", replace(problem, most_touched=4), ["round-controlled"])
    assert "round-controlled" in caught.value.instead


def test_adding_up_is_checked_row_by_row() -> None:
    whole = integer_table("round-x", problem_of([[1, 2], [3, 4]]), 5.0)
    assert adds_up(whole.equations, whole.values).all()
    bumped = whole.values.copy()
    bumped[0] += 1
    assert adds_up(whole.equations, bumped).sum() == whole.equations.shape[0] - 2
