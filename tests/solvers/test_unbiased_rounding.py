"""The kernel of unbiased rounding: balanced, adjacent, exact in expectation, and deaf to nothing that is wrong."""

from __future__ import annotations

from itertools import product
from math import lcm

import numpy as np
import pytest

from tablecloak.solvers.graphs import round_residues


def grid(inner: list[list[int]]) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """A two-way table with totals as arcs between rows and columns: nodes, tails, heads, values."""
    cells = np.array(inner)
    full = np.zeros((cells.shape[0] + 1, cells.shape[1] + 1), dtype=np.int64)
    full[:-1, :-1] = cells
    full[-1, :-1], full[:-1, -1], full[-1, -1] = cells.sum(axis=0), cells.sum(axis=1), cells.sum()
    rows, columns = full.shape
    row, column = (axis.ravel() for axis in np.indices(full.shape))
    margin = (row == rows - 1) ^ (column == columns - 1)
    tail, head = np.where(margin, rows + column, row), np.where(margin, row, rows + column)
    return rows + columns, tail, head, full.ravel()


def balance(nodes: int, tail: np.ndarray, head: np.ndarray, flow: np.ndarray) -> np.ndarray:
    return np.bincount(head, weights=flow, minlength=nodes) - np.bincount(tail, weights=flow, minlength=nodes)


def expectation(inner: list[list[int]], base: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The exact expectation of what is shown, over all outcomes, and the truth.

    Odds have denominators up to the base, so draws from a grid of their common multiple stand for all draws.
    """
    nodes, tail, head, values = grid(inner)
    residue = values % base
    steps = lcm(*range(1, base + 1))
    cycles = 4  # what nine arcs between six nodes can have
    quantiles = (np.arange(steps) + 0.5) / steps
    idle = [0.5] * np.count_nonzero(residue)
    total, count = np.zeros(values.size, dtype=np.int64), 0
    for draws in product(quantiles, repeat=cycles):
        rounded, pushes = round_residues(nodes, tail, head, residue, base, [*draws, *idle], seed)
        assert pushes <= cycles
        total += values - residue + rounded
        count += 1
    return total, values * count


@pytest.mark.parametrize("inner", [[[1, 2], [2, 2]], [[4, 1], [1, 1]], [[7, 0], [2, 5]], [[-1, 4], [2, -8]]])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_expectation_of_every_cell_is_exactly_its_value(inner: list[list[int]], seed: int) -> None:
    shown, true = expectation(inner, 3, seed)
    assert shown.tolist() == true.tolist()


def test_the_expectation_is_exact_for_another_base() -> None:
    shown, true = expectation([[1, 2], [3, 1]], 4, 5)
    assert shown.tolist() == true.tolist()


def test_the_mean_of_twenty_thousand_draws_is_the_truth() -> None:
    nodes, tail, head, values = grid([[1, 2, 8, 3], [3, 4, 6, 9], [2, 2, 1, 7]])
    base, times, rng = 5, 20_000, np.random.default_rng(6)
    residue, total = values % base, np.zeros(values.size)
    for seed in range(times):
        total += round_residues(nodes, tail, head, residue, base, rng.random(values.size), seed).residue
    error = np.sqrt(residue * (base - residue) / times)
    assert (np.abs(total / times - residue) <= 4 * error).all()


def test_a_single_open_cycle_has_the_odds_of_the_two_steps() -> None:
    nodes, tail, head, values = grid([[1, 4], [4, 1]])
    residue = values % 5
    found = []
    for draw in (np.arange(5) + 0.5) / 5:
        rounded, pushes = round_residues(nodes, tail, head, residue, 5, [draw] * 4, 1)
        assert pushes == 1
        found.append((values - residue + rounded).reshape(3, 3)[:2, :2].tolist())
    assert found.count([[5, 0], [0, 5]]) == 1
    assert found.count([[0, 5], [5, 0]]) == 4


def test_every_controlled_rounding_can_come_out() -> None:
    base, rng = 5, np.random.default_rng(9)
    nodes, tail, head, values = grid([[1, 2, 8], [3, 4, 6], [2, 2, 1]])
    residue = values % base
    ends = [(0, base) if rest else (0,) for rest in residue.reshape(4, 4)[:3, :3].ravel()]
    possible = set()
    for inner in product(*ends):
        full = grid(
            (np.array(inner) + (values - residue).reshape(4, 4)[:3, :3].ravel()).reshape(3, 3).tolist()
        )[3]
        if (np.abs(full - values) < base).all():
            possible.add(tuple(full.tolist()))
    found = {
        tuple(
            (
                values
                - residue
                + round_residues(nodes, tail, head, residue, base, rng.random(16), seed).residue
            ).tolist()
        )
        for seed in range(4000)
    }
    assert len(possible) > 20
    assert found == possible


@pytest.mark.parametrize("base", [2, 3, 5, 10, 1000])
def test_random_tables_stay_balanced_and_adjacent(base: int) -> None:
    rng = np.random.default_rng(base)
    for _ in range(60):
        shape = tuple(rng.integers(1, 9, size=2))
        nodes, tail, head, values = grid(rng.integers(-40, 60, size=shape).tolist())
        residue = values % base
        rounded, pushes = round_residues(nodes, tail, head, residue, base, rng.random(values.size), 3)
        assert set(rounded.tolist()) <= {0, base}
        assert not rounded[residue == 0].any()
        assert not balance(nodes, tail, head, values - residue + rounded).any()
        assert pushes <= np.count_nonzero(residue)


def test_loops_are_rounded_by_themselves() -> None:
    rng = np.random.default_rng(1)
    ends = np.zeros(20_000, dtype=int)
    rounded, pushes = round_residues(1, ends, ends, np.full(ends.size, 2), 5, rng.random(ends.size), 0)
    assert pushes == ends.size
    assert rounded.mean() == pytest.approx(2, abs=4 * np.sqrt(6 / ends.size))


def test_parallel_arcs_and_nothing_at_all() -> None:
    rounded, pushes = round_residues(2, [0, 0], [1, 1], [2, 3], 5, [0.9, 0.9], 0)
    assert sorted(rounded.tolist()) == [0, 5]
    assert pushes == 1
    assert round_residues(1, [], [], [], 5, [], 0).pushes == 0
    assert round_residues(3, [0, 1], [1, 2], [0, 0], 5, [], 0).residue.tolist() == [0, 0]


def test_the_input_is_not_changed() -> None:
    residue = np.array([2, 3])
    round_residues(2, [0, 0], [1, 1], residue, 5, [0.5, 0.5], 0)
    assert residue.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, [0], [1], [2], 5, [0.5]), "balance"),
        ((3, [0, 1, 0], [1, 0, 2], [2, 2, 1], 5, [0.5] * 3), "balance"),
        ((2, [0, 0], [1, 1], [2, 3], 5, [0.5]), "too few"),
        ((2, [0, 0], [1, 2], [2, 3], 5, [0.5] * 2), "node to node"),
        ((2, [0, -1], [1, 1], [2, 3], 5, [0.5] * 2), "node to node"),
        ((2, [0, 0], [1, 1], [2, 5], 5, [0.5] * 2), "below the base"),
        ((2, [0, 0], [1, 1], [2, -2], 5, [0.5] * 2), "below the base"),
        ((2, [0, 0], [1, 1], [0, 0], 0, [0.5] * 2), "below the base"),
        ((2, [0, 0], [1], [2, 3], 5, [0.5] * 2), "one entry an arc"),
    ],
)
def test_what_is_wrong_is_said(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        round_residues(*arguments, 0)
