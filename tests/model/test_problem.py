"""Problems: levels, boxes, attackers, marks; every fault is listed, none mentions a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.arrays import mask
from tablecloak.errors import InputError
from tablecloak.model import Attacker, Levels, Mark, Problem, Table
from tablecloak.model.problem import OUTSIDER
from tests.model.test_table import check_secret

VALUES = [60000, 10000, 20000, 30000, 0]


def table(values: list[float] | None = None) -> Table:
    return Table.from_equations(values or VALUES, [[-1, 1, 1, 1, 1]], names="tabcd")


def faults_of(own: Table, *arguments: Any, **options: Any) -> tuple[str, ...]:
    with pytest.raises(InputError) as error:
        Problem.of(own, *arguments, **options)
    check_secret(error.value, own.values)
    return error.value.faults


def level_on(cell: int, amount: float) -> np.ndarray[Any, Any]:
    return np.where(np.arange(5) == cell, amount, 0.0)


# ---------------------------------------------------------------------- marks


def test_marks() -> None:
    problem = Problem.of(table(), [1], forced=[0], hidden=np.array([0, 0, 1, 0, 0], dtype=bool))
    assert problem.marks.tolist() == [Mark.FORCED, Mark.SENSITIVE, Mark.HIDDEN, Mark.FREE, Mark.FREE]
    assert problem.must_hide.tolist() == [False, True, True, False, False]
    assert problem.sensitive.tolist() == [False, True, False, False, False]
    assert problem.forced.sum() == 1
    assert repr(problem) == "<confidential Problem: 5 cells, 1 sensitive, 1 forced>"


def test_nothing_sensitive() -> None:
    assert not Problem.of(table(), []).must_hide.any()


def test_zeros_that_may_not_be_hidden() -> None:
    assert not Problem.of(table(), [1]).forced.any()
    assert np.flatnonzero(Problem.of(table(), [1], hide_zeros=False).forced).tolist() == [4]
    problem = Problem.of(table(), [4], hide_zeros=False)
    assert problem.sensitive[4], "a mark of its own counts more"


def test_contradictory_marks_are_all_listed() -> None:
    assert faults_of(table(), [1, 2], forced=[1, 3], hidden=[2, 3]) == (
        "cell cell=a: cannot be both forced to be published and sensitive",
        "cell cell=c: cannot be both forced to be published and hidden",
    )
    assert Problem.of(table(), [1], hidden=[1]).marks[1] == Mark.SENSITIVE, "sensitive and hidden go together"


def test_cells_that_are_not_there() -> None:
    faults = faults_of(table(), [7, -1], forced=[True, False], hidden=["a"])
    assert faults == (
        "sensitive: there is no cell number 7",
        "sensitive: there is no cell number -1",
        "forced: a mask needs 5 entries, one a cell; got shape (2,)",
        "hidden: expected a mask with one entry a cell, or a list of cell numbers",
    )


# ---------------------------------------------------------------------- levels


def test_a_sensitive_cell_without_levels_must_not_be_determined() -> None:
    levels = Levels.of(5, upper=level_on(2, 5.0))
    problem = Problem.of(table(), [1, 2], levels)
    assert problem.levels.sliding.tolist() == [0, 1, 0, 0, 0], "one data unit where there is no level"
    decimal = Table.from_equations([0.75, 0.25, 0.5], [[-1, 1, 1]])
    assert Problem.of(decimal, [1]).levels.sliding.tolist() == [0, 0.01, 0]


def test_levels_on_cells_that_are_not_sensitive() -> None:
    levels = Levels.of(5, lower=level_on(2, 1), sliding=level_on(3, 1), conditional=level_on(1, 1))
    assert faults_of(table(), [1], levels) == (
        "cell cell=b: a lower level on a cell that is not sensitive",
        "cell cell=c: a sliding level on a cell that is not sensitive",
        "cell cell=a: a conditional level on a sensitive cell",
    )


@pytest.mark.parametrize("amount", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("name", ["lower", "upper", "sliding", "weights"])
def test_numbers_that_are_no_levels(name: str, amount: float) -> None:
    numbers = {name: level_on(1, amount)}
    given = {"weights": numbers["weights"]} if name == "weights" else {"levels": Levels.of(5, **numbers)}
    faults = faults_of(table(), [1], **given)
    assert f"cell cell=a: {name} must be a finite number that is not negative" in faults


def test_wrong_sizes_are_all_listed() -> None:
    levels = Levels.of(5, lower=[1, 2], conditional=[[0.0]])
    assert faults_of(table(), [9], levels, weights=[1.0], known=(0, [1, 2]), most_touched=-1) == (
        "sensitive: there is no cell number 9",
        "lower: expected 5 numbers, got an array of shape (2,)",
        "conditional: expected 5 numbers, got an array of shape (1, 1)",
        "weights: expected 5 numbers, got an array of shape (1,)",
        "known high: expected 5 numbers, got an array of shape (2,)",
    ), "and nothing that may be due to these"
    assert faults_of(table(), [], most_touched=-1) == (
        "most_touched: expected a whole number of cells that is not negative",
    )


def test_unknown_weights_are_one_fault_among_others() -> None:
    faults = faults_of(table(), [1], forced=[1], weights="cost")
    assert len(faults) == 2
    assert faults[1].startswith("there are no weights 'cost'")


def test_levels_that_no_pattern_can_meet() -> None:
    levels = Levels.of(5, lower=level_on(1, 10001), upper=level_on(2, 7))
    assert faults_of(table(), [1, 2], levels, known=(0, 20006)) == (
        "cell cell=t: the true value lies outside the a-priori bounds",
        "cell cell=c: the true value lies outside the a-priori bounds",
        "cell cell=a: the a-priori bounds are narrower than its protection level "
        "(correct one of them, or pass widen=True)",
        "cell cell=b: the a-priori bounds are narrower than its protection level "
        "(correct one of them, or pass widen=True)",
    )


def test_levels_exactly_as_wide_as_the_bounds() -> None:
    a = np.array(VALUES, dtype=float)
    levels = Levels.of(5, lower=level_on(1, 10000), upper=level_on(1, 3), sliding=level_on(1, 10003))
    assert Problem.of(table(), [1], levels, known=(0, a + 3)).levels.lower[1] == 10000
    own = Table.from_equations([0.3, 0.1, 0.2], [[-1, 1, 1]])
    wide = Levels.of(3, lower=[0, 0.1, 0], upper=[0, 0.2, 0])
    assert Problem.of(own, [1], wide, known=([0, 0, 0], [1, 0.1 + 0.2, 1])).outsider_high[1] == 0.3


def test_tiny_levels_are_not_lost_in_the_slack() -> None:
    own = Table.from_equations([3e-12, 1e-12, 2e-12], [[-1, 1, 1]])
    assert own.unit == 1e-12
    with pytest.raises(InputError, match="narrower than its protection level"):
        Problem.of(own, [1], Levels.of(3, lower=[0, 2e-12, 0]))


def test_a_conditional_level_wider_than_the_bounds() -> None:
    levels = Levels.of(5, conditional=level_on(2, 100))
    a = np.array(VALUES, dtype=float)
    (fault,) = faults_of(table(), [1], levels, known=(a - 10, a + 10))
    assert fault.startswith("cell cell=b: the a-priori bounds are narrower")
    assert Problem.of(table(), [1], levels, known=(a - 10, a + 10), forced=[2]).forced[2], "never hidden"
    widened = Problem.of(table(), [1], levels, known=(a - 10, a + 10), widen=True)
    assert widened.outsider_high[2] - widened.outsider_low[2] == 100


# ---------------------------------------------------------------------- the outsider's box


def test_the_outsider_knows_that_counts_are_not_negative() -> None:
    assert Problem.of(table(), [1]).box(0)[0].tolist() == [0] * 5
    general = Problem.of(table([0, 5, -5, 0, 0]), [1])
    assert np.isneginf(general.outsider_low).all()
    assert np.isposinf(general.outsider_high).all()


def test_widening() -> None:
    a = np.array(VALUES, dtype=float)
    levels = Levels.of(5, lower=level_on(1, 50), upper=level_on(2, 70), sliding=level_on(3, 90))
    problem = Problem.of(table(), [1, 2, 3], levels, known=(a - 20, a + 20), widen=True)
    assert (a - problem.outsider_low).tolist() == [20, 50, 20, 20, 20]
    assert (problem.outsider_high - a).tolist() == [20, 20, 70, 70, 20]


def test_widening_does_not_cover_up_a_wrong_bound() -> None:
    a = np.array(VALUES, dtype=float)
    assert faults_of(table(), [1], known=(a + level_on(2, 5), a + 10), widen=True) == (
        "cell cell=b: the true value lies outside the a-priori bounds",
    )
    faults = faults_of(table(), [1], known=(np.nan, np.nan), widen=True)
    assert len(faults) == 5
    assert len(faults_of(table(), [1], known=(np.inf, np.inf), widen=True)) == 5


def test_bounds_with_rounding_noise_contain_the_truth() -> None:
    own = Table.from_equations([0.1 + 0.2, 0.1, 0.2], [[-1, 1, 1]])
    problem = Problem.of(own, [], known=(0, [0.3, 0.3, 0.3]))
    assert (np.array(problem.required(0, np.arange(3))) >= 0).all()


# ---------------------------------------------------------------------- attackers


def test_an_attacker_tightens_the_outsiders_box() -> None:
    insider = Attacker.knowing("bank", [1, 2], [9000, -5], [np.inf, 20000])
    problem = Problem.of(table(), [1], attackers=[insider])
    low, high = problem.box(1)
    assert low.tolist() == [0, 9000, 0, 0, 0]
    assert high[2] == 20000
    assert problem.attacker_names == (OUTSIDER, "bank")
    assert repr(problem).endswith("0 forced, 1 insider>")
    assert Attacker.knowing("mask", mask([2, 4], 5), 0).cells.tolist() == [2, 4]


def test_attackers_who_know_what_is_not_so() -> None:
    attackers = [
        Attacker.knowing("A", [1, 2], [10001, 20000]),
        Attacker.knowing("B", [9], 0),
        Attacker.knowing("C", [1, 2], [1, 2, 3]),
        Attacker.knowing("D", [1, 1, 3], 0, [10000, 10000, 29999]),
        Attacker.knowing("E", [3], np.nan),
    ]
    assert faults_of(table(), [1], attackers=attackers) == (
        "cell cell=a: the true value lies outside what attacker 'A' knows",
        "attacker 'B': knows cells that the table does not have",
        "attacker 'C': needs one low and one high for each of his cells",
        "attacker 'D': knows cell cell=a more than once",
        "cell cell=c: the true value lies outside what attacker 'D' knows",
        "cell cell=c: the true value lies outside what attacker 'E' knows",
    )


def test_a_respondent() -> None:
    firm = Attacker.contributing("firm", table(), [0, 1, 2], [10000, 10000, 4000])
    assert firm.low.tolist() == [10000, 10000, 4000]
    assert firm.high.tolist() == [np.inf, 10000, np.inf], "alone in a"
    problem = Problem.of(
        table(), [1, 2], Levels.of(5, lower=level_on(1, 500) + level_on(2, 17000)), attackers=[firm]
    )
    lower, upper, sliding = problem.required(1, np.array([1, 2]))
    assert lower.tolist() == [0, 16000], "void where he is alone, capped by what he knows himself elsewhere"
    assert (upper.tolist(), sliding.tolist()) == ([0, 0], [0, 0])
    assert problem.required(0, np.array([1, 2]))[0].tolist() == [500, 17000]


def test_a_holding_adds_up() -> None:
    holding = Attacker.contributing("holding", table(), [2, 1, 2, 1], [5000, 1000, 15000, 2000])
    assert holding.cells.tolist() == [1, 2]
    assert holding.low.tolist() == [3000, 20000]
    assert holding.high.tolist() == [np.inf, 20000]
    Problem.of(table(), [1], attackers=[holding])


def test_alone_to_within_half_a_unit() -> None:
    rounded = Attacker.contributing("firm", table(), [1, 2], [9999.6, 19999.4])
    assert rounded.high.tolist() == [10000, np.inf]


@pytest.mark.parametrize("values", [[60000, 10000, 20000, 31000, -1000], None])
def test_a_respondent_among_negative_contributions(values: list[float] | None) -> None:
    own = table(values)
    contributions = [10000, 4000, 30000 if values else 30001]  # more than the cell: the others are negative
    firm = Attacker.contributing("firm", own, [1, 2, 3], contributions)
    assert firm.low.tolist() == [10000, -np.inf, -np.inf], "no bound from his own contribution"
    assert firm.high.tolist() == [10000, np.inf, np.inf], "but exact where it is the whole cell"
    Problem.of(own, [1], attackers=[firm])


@pytest.mark.parametrize(
    ("cells", "contributions"), [([9], 1), ([1.5], 1), ([1, 2], [1, 2, 3]), ([1], np.nan), ([1], "many")]
)
def test_respondents_that_make_no_sense(cells: Any, contributions: Any) -> None:
    with pytest.raises(InputError):
        Attacker.contributing("firm", table(), cells, contributions)


@given(
    st.lists(st.lists(st.integers(-5, 20), min_size=1, max_size=4), min_size=2, max_size=6),
    st.booleans(),
)
def test_what_a_respondent_knows_is_always_true(cells: list[list[int]], negative: bool) -> None:
    made = [[c if negative else abs(c) for c in cell] for cell in cells]
    leaves = [sum(cell) for cell in made]
    own = Table.from_equations([sum(leaves), *leaves], [[-1] + [1] * len(leaves)])
    mine = [cell[0] for cell in made]
    firm = Attacker.contributing("firm", own, np.arange(len(own)), [sum(mine), *mine])
    Problem.of(own, [1], attackers=[firm])
    sole = np.array([False, *(len(cell) == 1 for cell in made)])
    assert (firm.low[sole] == own.values[sole]).all()
    assert (firm.high[sole] == own.values[sole]).all()


# ---------------------------------------------------------------------- what is required


def test_required_levels_up_to_the_outsiders_box() -> None:
    a = np.array(VALUES, dtype=float)
    levels = Levels.of(
        5,
        lower=level_on(1, 100),
        upper=level_on(1, 200),
        sliding=level_on(2, 50),
        conditional=level_on(3, 30),
    )
    problem = Problem.of(table(), [1, 2], levels, known=(a - 1000, a + 200))
    cells = np.array([1, 2, 3])
    lower, upper, sliding = problem.required(0, cells)
    assert (lower.tolist(), upper.tolist(), sliding.tolist()) == ([100, 0, 0], [200, 0, 0], [0, 50, 30])
    assert problem.required(0, cells, touched=False)[2].tolist() == [0, 50, 0]
    assert not problem.is_monotone


def test_a_bound_on_touched_cells() -> None:
    problem = Problem.of(table(), [1], hidden=[2], most_touched=2)
    assert not problem.is_monotone
    assert Problem.of(table(), [1]).is_monotone
    assert faults_of(table(), [1], hidden=[2], most_touched=1) == (
        "at most 1 cells may be touched, but 2 must be hidden",
    )


def test_all_faults_at_once() -> None:
    faults = faults_of(
        table(),
        [1],
        Levels.of(5, lower=level_on(1, 20000), upper=level_on(2, 5)),
        forced=[1],
        weights=level_on(3, -1),
        attackers=[Attacker.knowing("A", [1], 10001)],
        most_touched=0,
    )
    assert len(faults) == 6


def test_arrays_are_read_only() -> None:
    levels = level_on(1, 5)
    problem = Problem.of(table(), [1], Levels.of(5, lower=levels))
    levels[1] = 7
    assert problem.levels.lower[1] == 5
    for array in (
        problem.weights,
        problem.marks,
        problem.levels.sliding,
        problem.outsider_low,
        problem.sensitive,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_huge_values() -> None:
    own = Table.from_equations([1e15, 4e14, 6e14], [[-1, 1, 1]])
    problem = Problem.of(own, [1], Levels.of(3, lower=[0, 4e14, 0], upper=[0, 1, 0]))
    assert problem.required(0, np.array([1]))[0] == 4e14
    with pytest.raises(InputError, match="narrower"):
        Problem.of(own, [1], Levels.of(3, lower=[0, 4e14 + 1e6, 0]))


def test_levels_of_some_cells():
    levels = Levels.at(5, [1, 3], lower=2.0, upper=[1.0, 4.0])
    assert levels.lower.tolist() == [0, 2, 0, 2, 0]
    assert levels.upper.tolist() == [0, 1, 0, 4, 0]
    assert levels.sliding.tolist() == [0] * 5
    assert Levels.at(3, [False, True, False], sliding=7).sliding.tolist() == [0, 7, 0]


# ---------------------------------------------------------------------- whole units


def test_levels_go_up_to_whole_units() -> None:
    own = Table.from_equations([60.5, 10.5, 20, 30, 0], [[-1, 1, 1, 1, 1]])
    asked = Levels.of(
        5, level_on(1, 0.31), level_on(1, 0.1 + 0.2), level_on(2, 1e-7), conditional=level_on(3, 7.04)
    )
    problem = Problem.of(own, [1, 2], asked)
    assert problem.levels.lower.tolist() == [0, 0.4, 0, 0, 0]
    assert problem.levels.upper.tolist() == [0, 0.3, 0, 0, 0]
    assert problem.levels.sliding.tolist() == [0, 0, 0.1, 0, 0]
    assert problem.levels.conditional.tolist() == [0, 0, 0, 7.1, 0]
    assert problem.level_units.lower.tolist() == [0, 4, 0, 0, 0]


def test_boxes_go_inward_to_whole_units() -> None:
    insider = Attacker.knowing("A", [1, 2], [9999.2, 20000 * (1 - 1e-16)], [10000.9, 20000 + 1e-12])
    same = Attacker.knowing("B", [3], 5)
    problem = Problem.of(table(), [1], known=(-0.5, 60000.7), attackers=[insider, same])
    assert problem.outsider_low.tolist() == [0] * 5
    assert problem.outsider_high.tolist() == [60000] * 5
    assert problem.attackers[0].low.tolist() == [10000, 20000]
    assert problem.attackers[0].high.tolist() == [10000, 20000]
    assert problem.attackers[1] is same
    low, high = problem.box_units(1)
    assert (low.tolist(), high.tolist()) == ([0, 10000, 20000, 0, 0], [60000, 10000, 20000, 60000, 60000])


def test_bounds_that_miss_the_truth_by_part_of_a_unit() -> None:
    assert faults_of(table(), [1], known=(level_on(1, 10000.4), 1e6)) == (
        "cell cell=a: the true value lies outside the a-priori bounds",
    )


def test_a_level_that_only_rounding_takes_beyond_the_box() -> None:
    """Both were given as equally wide: that is no fault, and what can be asked is what is left."""
    a = np.array(VALUES, dtype=float)
    levels = Levels.of(5, lower=level_on(1, 2.5))
    problem = Problem.of(table(), [1], levels, known=(a - 2.5, a + 2.5))
    assert problem.levels.lower[1] == 3
    assert problem.required(0, np.array([1]))[0].tolist() == [2]
    wide = Problem.of(table(), [1], levels, known=(a - 2.5, a + 2.5), widen=True)
    assert wide.required(0, np.array([1]))[0].tolist() == [3]
    assert (a - wide.outsider_low).tolist() == [2, 3, 2, 2, 2]


def test_what_is_required_has_no_noise() -> None:
    own = Table.from_equations([0.6, 0.3, 0.3], [[-1, 1, 1]])
    problem = Problem.of(
        own, [1], Levels.of(3, lower=[0, 0.3, 0]), attackers=[Attacker.knowing("A", [1], 0.1)]
    )
    assert problem.required(1, np.array([1]))[0].tolist() == [0.2]
