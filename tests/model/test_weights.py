"""Weights: by name, by column, by arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak import weights
from tablecloak.errors import InputError
from tablecloak.model import Problem, Table


def table(**columns: list[float]) -> Table:
    return Table.from_equations([-30, -40, 10, 0], [[-1, 1, 1, 1]], names="tabc", columns=columns)


def test_the_names() -> None:
    own = table(contributors=[5, 3, 2, 0], turnover=[1.5, 2, 3, 4])
    expected = {
        "value": [30, 40, 10, 0],
        "unit": [1, 1, 1, 1],
        "log": np.log1p([30, 40, 10, 0]),
        "contributors": [5, 3, 2, 0],
        "turnover": [1.5, 2, 3, 4],
    }
    for name, numbers in expected.items():
        assert weights.named(own, name).tolist() == list(numbers)
        assert Problem.of(own, [], weights=name).weights.tolist() == list(numbers)


def test_huge_values() -> None:
    own = Table.from_equations([1e15, 1e15], [[1, -1]])
    assert weights.value(own).tolist() == [1e15, 1e15]
    assert weights.log(own) == pytest.approx(34.5387763949107)


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(
        InputError, match="no weights 'cost'; there are: value, unit, log, contributors, turnover"
    ):
        weights.named(table(turnover=[1, 2, 3, 4]), "cost")
    with pytest.raises(InputError, match="there is no column 'contributors'"):
        weights.named(table(), "contributors")


def test_a_column_with_gaps_names_the_cells() -> None:
    own = table(contributors=[5, np.nan, -2, np.inf])
    with pytest.raises(InputError) as error:
        weights.contributors(own)
    assert [fault[:11] for fault in error.value.faults] == ["cell cell=a", "cell cell=b", "cell cell=c"]


def test_box_cox() -> None:
    given = np.array([0.0, 0.5, 1.0, 4.0, 100.0])
    assert weights.power(given, 1).tolist() == [0, 0, 0, 3, 99]
    assert weights.power(given, 0.5).tolist() == [0, 0, 0, 2, 18]
    assert weights.power(given, 0) == pytest.approx(np.log([1, 1, 1, 4, 100]))
    assert weights.power(given, 1e-9) == pytest.approx(weights.power(given, 0), abs=1e-6)
    assert (weights.power(given, -1) >= 0).all()


@pytest.mark.parametrize("exponent", [100.0, np.nan, np.inf])
def test_powers_that_are_no_numbers(exponent: float) -> None:
    with pytest.raises(InputError, match="not a finite number"):
        weights.power(np.array([1e15, 2.0]), exponent)


def test_weights_combine_by_arithmetic() -> None:
    own = table()
    both = 0.5 * weights.value(own) + 100 * weights.unit(own) + weights.power(weights.value(own), 0.5)
    assert Problem.of(own, [], weights=both).weights[0] == pytest.approx(15 + 100 + 2 * (np.sqrt(30) - 1))
