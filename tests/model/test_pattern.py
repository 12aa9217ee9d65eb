"""Patterns: what they state, what they cost, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.errors import InputError
from tablecloak.model import (
    Intervals,
    Levels,
    Mixed,
    Pattern,
    Perturbation,
    Problem,
    Rounding,
    Suppression,
    Table,
)
from tests.model.test_table import check_secret

VALUES = np.array([60000.0, 10000.0, 20000.0, 30000.0])
INF = np.inf


def table(values: Any = VALUES) -> Table:
    return Table.from_equations(values, [[-1, 1, 1, 1]], names="tabc")


def problem(**options: Any) -> Problem:
    levels = Levels.of(4, lower=[0, 10, 0, 0], upper=[0, 20, 0, 0])
    return Problem.of(table(), [1], levels, **{"weights": [1, 2, 3, 4], **options})


# ---------------------------------------------------------------------- suppression


def test_suppression() -> None:
    pattern = Suppression.of(table(), [1, 2])
    view = pattern.view(problem())
    assert np.isnan(view.shown).tolist() == [False, True, True, False]
    assert view.low.tolist() == [60000, -INF, -INF, 30000]
    assert view.high.tolist() == [60000, INF, INF, 30000]
    assert pattern.loss(problem()) == 3
    assert pattern.complementary(problem()).tolist() == [False, False, True, False]
    assert pattern.loss(problem(hidden=[2])) == 0, "must be hidden anyway"


@pytest.mark.parametrize("cells", [[4], [-1], [True, False], ["a"], [0.5]])
def test_cells_that_cannot_be_hidden(cells: Any) -> None:
    with pytest.raises(InputError):
        Suppression.of(table(), cells)


@pytest.mark.parametrize("hidden", [np.array([1, 2]), np.zeros((2, 2), dtype=bool)])
def test_a_suppression_needs_a_mask(hidden: Any) -> None:
    with pytest.raises(InputError, match="must be a mask"):
        Suppression(hidden)


# ---------------------------------------------------------------------- intervals


def test_intervals() -> None:
    pattern = Intervals.of([60000, 9000, -INF, 30000], [60000, 10005, INF, 30007])
    view = pattern.view(problem())
    assert view.shown[0] == 60000
    assert np.isnan(view.shown[1:]).all()
    assert pattern.touched(problem()).tolist() == [False, True, True, True]
    known = (VALUES - 100, VALUES + 100)
    assert pattern.loss(problem(known=known)) == 2 * 105 + 3 * 200 + 4 * 7
    dear = Intervals(pattern.low, pattern.high, touch=10.0)
    assert dear.loss(problem(known=known)) == 2 * 105 + 3 * 200 + 4 * 7 + 10 * (3 + 4)
    assert Intervals.of([60000, -INF, 20000, 30000], [60000, INF, 20000, 30000]).loss(problem()) == 0
    assert pattern.loss(problem()) == INF, "the outsider knows no upper bound"
    assert pattern.loss(problem(weights=[1, 1, 0, 1])) == 1005 + 7, (
        "a cell of no weight costs nothing, however wide"
    )


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ([2, 2], [1, 3]),
        ([1, np.nan], [2, 2]),
        ([1, 1], [2, np.nan]),
        ([1, INF], [2, INF]),
        ([-INF, 1], [-INF, 2]),
    ],
)
def test_intervals_that_are_none(low: list[float], high: list[float]) -> None:
    with pytest.raises(InputError, match=r"cell number \d: low and high must be numbers, low not above high"):
        Intervals.of(low, high)


def test_all_wrong_intervals_are_listed_without_their_ends() -> None:
    with pytest.raises(InputError) as error:
        Intervals.of([55555, 1, 77777], [44444, 2, 66666])
    assert [fault[:13] for fault in error.value.faults] == ["cell number 0", "cell number 2"]
    check_secret(error.value, [55555, 44444, 77777, 66666])


# ---------------------------------------------------------------------- rounding and perturbation


def test_rounding() -> None:
    pattern = Rounding.of([60000, 10005, 20000, 30000], 5)
    view = pattern.view(problem())
    assert view.low.tolist() == [59995, 10000, 19995, 29995]
    assert view.high.tolist() == [60005, 10010, 20005, 30005]
    assert pattern.touched(problem()).tolist() == [False, True, False, False]
    assert pattern.loss(problem()) == 2 * 5
    assert Rounding.of([60000, 10000, 20005, 30000], 5).loss(problem()) == 15


@pytest.mark.parametrize("base", [-5, [1, 1, -1, 1], np.nan, INF])
def test_bases_that_are_none(base: Any) -> None:
    with pytest.raises(InputError, match="the base must be finite and not negative"):
        Rounding.of(VALUES, base)


def test_perturbation() -> None:
    pattern = Perturbation.of(VALUES + np.array([0, 20, -5, -15]), [0, 20, 5, 15])
    view = pattern.view(problem())
    assert (view.low <= VALUES).all()
    assert (view.high >= VALUES).all()
    assert pattern.loss(problem()) == 2 * 20 + 3 * 5 + 4 * 15
    assert not pattern.too_close(problem()).any()


@pytest.mark.parametrize("reach", [-1, np.nan])
def test_reaches_that_are_none(reach: float) -> None:
    with pytest.raises(InputError, match="the reach must be a number that is not negative"):
        Perturbation.of(VALUES, reach)


def test_an_infinite_reach_asserts_nothing() -> None:
    with pytest.raises(InputError, match="asserts nothing"):
        Perturbation.of(VALUES, INF).view(problem())


@pytest.mark.parametrize("kind", [Rounding, Perturbation])
def test_what_is_shown_must_be_a_number(kind: Any) -> None:
    with pytest.raises(InputError, match="cell number 2: what is shown must be finite"):
        kind.of([1, 2, INF, 4], 1)
    with pytest.raises(InputError, match="cell number 2: nothing is shown"):
        kind.of([1, 2, np.nan, 4], 1).view(problem())
    with pytest.raises(InputError, match="expected numbers"):
        kind.of(["a"], 1)
    with pytest.raises(InputError, match="two numbers a cell"):
        kind.of([1, 2, 3, 4], [1, 2])


@pytest.mark.parametrize(
    ("off", "close"),
    [(0, True), (19, True), (-9, True), (20, False), (-10, False), (1e6, False), (20 - 1e-12, False)],
)
def test_shown_at_least_a_level_away(off: float, close: bool) -> None:
    shown = VALUES + np.array([off, off, 0, 0])
    assert Perturbation.of(shown, 1e7).too_close(problem()).tolist() == [False, close, False, False]


@pytest.mark.parametrize("name", ["lower", "upper", "sliding"])
def test_the_true_value_is_always_too_close(name: str) -> None:
    for amount in (0.0, 30.0):
        levels = Levels.of(4, **{name: [0, amount, 0, 0]})  # type: ignore[arg-type]
        own = Problem.of(table(), [1], levels)
        assert Perturbation.of(VALUES, 50).too_close(own).tolist() == [False, True, False, False]


def test_too_close_among_tiny_values() -> None:
    values = np.array([6e-12, 1e-12, 2e-12, 3e-12])
    own = Problem.of(table(values), [1], Levels.of(4, upper=[0, 4e-12, 0, 0]))
    assert Perturbation.of(values + np.array([0, 3e-12, 0, 0]), 1e-11).too_close(own)[1]
    assert not Perturbation.of(values + np.array([0, 4e-12, 0, 0]), 1e-11).too_close(own)[1]


@given(st.floats(-100, 100), st.floats(0, 50), st.floats(0, 50), st.floats(0, 50))
def test_too_close_means_nearer_than_a_level_on_that_side(
    off: float, lower: float, upper: float, s: float
) -> None:
    levels = Levels.of(4, lower=[0, lower, 0, 0], upper=[0, upper, 0, 0], sliding=[0, s, 0, 0])
    own = Problem.of(table(), [1], levels)
    shown = VALUES.copy()
    shown[1] += off
    moved = shown[1] - VALUES[1]
    need = max(upper if moved > 0 else lower, s / 2, 0.5)
    if abs(abs(moved) - need) > 1e-6:
        assert Perturbation.of(shown, 1e3).too_close(own)[1] == (abs(moved) < need)


# ---------------------------------------------------------------------- mixed


def test_mixed() -> None:
    parts: list[tuple[Any, Pattern]] = [
        ([1], Suppression.of(table(), [1])),
        (np.array([False, False, True, False]), Intervals.of(VALUES - 7, VALUES + 3)),
        ([3], Rounding.of(VALUES + 2, 5)),
    ]
    pattern = Mixed.of(table(), parts)
    view = pattern.view(problem())
    assert view.low.tolist() == [60000, -INF, 19993, 29997]
    assert view.high.tolist() == [60000, INF, 20003, 30007]
    assert view.shown[3] == 30002
    assert pattern.touched(problem()).tolist() == [False, True, True, True]
    assert pattern.loss(problem()) == 3 * 10 + 4 * 2
    assert not pattern.too_close(problem()).any()


def test_parts_may_be_silent_about_cells_of_others() -> None:
    shown = np.array([np.nan, np.nan, np.nan, 30002])
    pattern = Mixed.of(table(), [([1], Suppression.of(table(), [1])), ([3], Rounding.of(shown, 5))])
    assert pattern.view(problem()).low.tolist() == [60000, -INF, 20000, 29997]
    assert pattern.loss(problem()) == 8
    silent = Mixed.of(table(), [([2], Rounding.of(shown, 5))])
    with pytest.raises(InputError, match="cell number 2: nothing is shown"):
        silent.view(problem())


def test_a_perturbed_part_is_too_close() -> None:
    pattern = Mixed.of(table(), [([1, 2], Perturbation.of(VALUES + 1, 100))])
    assert pattern.too_close(problem()).tolist() == [False, True, False, False]
    elsewhere = Mixed.of(table(), [([2], Perturbation.of(VALUES, 100)), ([1], Suppression.of(table(), [1]))])
    assert not elsewhere.too_close(problem()).any()


def test_parts_that_overlap() -> None:
    with pytest.raises(InputError, match="cell cell=b is in several parts"):
        Mixed.of(table(), [([1, 2], Suppression.of(table(), [1])), ([2, 3], Rounding.of(VALUES, 1))])
    with pytest.raises(InputError, match="no cell number 4"):
        Mixed.of(table(), [([4], Rounding.of(VALUES, 1))])


def test_no_parts_publish_everything() -> None:
    pattern = Mixed.of(table(), [])
    assert pattern.view(problem()).shown.tolist() == VALUES.tolist()
    assert not pattern.touched(problem()).any()
    assert pattern.loss(problem()) == 0


# ---------------------------------------------------------------------- another table


@pytest.mark.parametrize("ask", ["view", "touched", "loss"])
@pytest.mark.parametrize(
    "pattern",
    [
        Suppression(np.zeros(3, dtype=bool)),
        Intervals.of([1, 2, 3], [1, 2, 3]),
        Rounding.of([1, 2, 3], 1),
        Perturbation.of([1, 2, 3], 1),
        Mixed(((np.ones(3, dtype=bool), Rounding.of(VALUES, 1)),)),
        Mixed(((np.ones(4, dtype=bool), Rounding.of([1, 2, 3], 1)),)),
    ],
)
def test_a_pattern_of_another_table(pattern: Pattern, ask: str) -> None:
    with pytest.raises(InputError, match="it speaks about 3 cells, the table has 4"):
        getattr(pattern, ask)(problem())


@given(st.lists(st.booleans(), min_size=4, max_size=4), st.integers(0, 20))
def test_every_view_contains_the_truth(hidden: list[bool], off: int) -> None:
    patterns: list[Pattern] = [
        Suppression.of(table(), hidden),
        Intervals.of(VALUES - off, VALUES + 2 * off),
        Rounding.of(VALUES + off, off),
        Perturbation.of(VALUES - off, off),
    ]
    patterns.append(Mixed.of(table(), [(hidden, pattern) for pattern in patterns[:1]]))
    for pattern in patterns:
        view = pattern.view(problem())
        assert ((view.low <= VALUES) & (view.high >= VALUES)).all()
        assert (pattern.touched(problem()) <= (view.low < view.high)).all()
