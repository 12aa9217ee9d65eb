"""Signs that bring sums near zero: never worse than given, near the best of all, the same for the same seed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csc_array

from tablecloak.solvers import balanced_senses


def amounts(seed: int, count: int, rows: int):
    rng = np.random.default_rng(seed)
    places = rng.random((rows, count)) < 0.5
    places[rng.integers(rows, size=count), np.arange(count)] = True
    columns = csc_array(np.where(places, rng.choice([-1.0, 1.0], (rows, count)), 0.0))
    up, down = rng.integers(1, 50, count).astype(float), rng.integers(1, 50, count).astype(float)
    return columns, up, down, rng.random(count) - 0.5, rng.random(rows) + 0.5, rng.integers(-9, 9, rows) * 1.0


def cost(senses, columns, up, down, own, price, fixed) -> float:
    rest = columns @ np.where(senses == 1, up, -down) + fixed
    return float(price @ np.abs(rest) + own @ senses)


def search(given, senses, seed: int, steps: int, **options):
    columns, up, down, own, price, fixed = given
    rest = columns @ np.where(senses == 1, up, -down) + fixed
    return balanced_senses(
        columns, up + down, own, price, rest, senses, heat=(20.0, 0.2), steps=steps, seed=seed, **options
    )


@pytest.mark.parametrize("seed", range(10))
def test_the_best_of_all_senses_of_a_few_amounts(seed: int) -> None:
    given = amounts(seed, 10, 4)
    best = min(cost(np.array(each), *given) for each in product((0, 1), repeat=10))
    found = search(given, np.zeros(10, dtype=np.int64), seed, 200_000)
    assert set(found.tolist()) <= {0, 1}
    assert cost(found, *given) == pytest.approx(best)


def test_many_amounts_balance_much_better_than_chance() -> None:
    given = amounts(5, 600, 40)
    start = np.random.default_rng(1).integers(0, 2, 600)
    found = search(given, start, 7, 400_000)
    assert cost(found, *given) < 0.2 * cost(start, *given)
    assert np.array_equal(found, search(given, start, 7, 400_000))
    assert cost(search(given, start, 7, 3), *given) <= cost(start, *given) + 1e-9


def test_it_stops_when_told_and_takes_nothing_to_turn() -> None:
    given = amounts(5, 20, 4)
    start = np.ones(20, dtype=np.int64)
    assert np.array_equal(search(given, start, 1, 10**9, stop=lambda: True), start)
    none = csc_array((3, 0)), *(np.zeros(0),) * 3, np.ones(3), np.zeros(3)
    assert search(none, np.zeros(0, dtype=np.int64), 1, 1000).size == 0
