"""Minimum-cost flows around an arc against linear programming."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from tablecloak.solvers.graphs import MinCostNetwork
from tablecloak.solvers.graphs.min_cost import MinCostDeviation

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class Case(NamedTuple):
    nodes: int
    tail: Ints
    head: Ints
    sides: tuple[Floats, Floats, Floats, Floats]

    @property
    def rows(self) -> Floats:
        """What leaves each node less what enters it."""
        rows = np.zeros((self.nodes, self.tail.size))
        np.add.at(rows, (self.tail, np.arange(self.tail.size)), 1.0)
        np.add.at(rows, (self.head, np.arange(self.tail.size)), -1.0)
        return rows

    def send(self, arc: int, upward: bool, need: float) -> MinCostDeviation:
        return MinCostNetwork(self.nodes, self.tail, self.head).send(arc, upward, need, *self.sides)


def random_case(rng: np.random.Generator, *, whole: bool) -> Case:
    """A small multigraph with loops, closed sides, infinite capacities and free arcs."""
    nodes, arcs = int(rng.integers(1, 9)), int(rng.integers(1, 50))
    tail, head = rng.integers(0, nodes, (2, arcs)).astype(np.int32)
    if whole:
        up, down = rng.choice([0.0, 0.0, 1, 2, 3, 5, 8, np.inf], (2, arcs))
        price_up, price_down = rng.choice([0.0, 0.0, 1, 1, 2, 3, 7], (2, arcs))
    else:
        up, down = np.where(rng.random((2, arcs)) < 0.2, 0.0, 10 * rng.random((2, arcs)))
        price_up, price_down = np.where(rng.random((2, arcs)) < 0.3, 0.0, rng.random((2, arcs)) ** 3)
    return Case(nodes, tail, head, (up, down, price_up, price_down))


def by_program(case: Case, arc: int, upward: bool, need: float) -> tuple[float, float]:
    """The largest amount up to the need, and its least cost, by two linear programs."""
    up, down, price_up, price_down = (side.copy() for side in case.sides)
    own = np.zeros(2 * up.size)
    own[arc], own[up.size + arc] = (1, -1) if upward else (-1, 1)
    (down if upward else up)[arc] = 0.0
    rows, zero = np.hstack([case.rows, -case.rows]), np.zeros(case.nodes)
    bounds = [(0, high if np.isfinite(high) else None) for high in np.concatenate([up, down])]
    most = linprog(-own, A_ub=[own], b_ub=[need], A_eq=rows, b_eq=zero, bounds=bounds)
    amount = float(own @ np.asarray(most.x))
    equal = np.vstack([rows, own])
    cost = np.concatenate([price_up, price_down])
    least = linprog(cost, A_eq=equal, b_eq=[*zero, amount], bounds=bounds)
    assert least.success
    return amount, float(cost @ np.asarray(least.x))


@pytest.mark.parametrize("whole", [True, False])
def test_as_cheap_as_a_linear_program(whole: bool) -> None:
    rng = np.random.default_rng(3)
    short = several = 0
    for _ in range(250):
        case = random_case(rng, whole=whole)
        arc, upward = int(rng.integers(case.tail.size)), bool(rng.integers(2))
        need = float(rng.integers(0, 30)) if whole else 20 * float(rng.random())
        found = case.send(arc, upward, need)
        amount, cost = by_program(case, arc, upward, need)
        up, down = case.sides[:2]
        assert found.amount == pytest.approx(amount, abs=1e-8)
        assert found.cost == pytest.approx(cost, abs=1e-5)
        assert found.deviation[arc] == (found.amount if upward else -found.amount)
        assert (found.deviation <= up).all() and (found.deviation >= -down).all()
        assert np.allclose(case.rows @ found.deviation, 0, atol=1e-9)
        short += found.amount < need
        several += found.paths > 2
    assert short > 20
    assert several > 10


def test_sliding_is_as_cheap_as_one_linear_program() -> None:
    rng = np.random.default_rng(8)
    split = 0
    for _ in range(150):
        case = random_case(rng, whole=False)
        arc, need = int(rng.integers(case.tail.size)), 20 * float(rng.random())
        up, down, price_up, price_down = case.sides
        most = case.send(arc, True, 99.0).amount, case.send(arc, False, 99.0).amount
        least = [
            share * float(rng.integers(2)) * room for share, room in zip(rng.random(2), most, strict=True)
        ]
        need = min(max(need, sum(least)), 0.999 * sum(most))
        if need < sum(least):
            continue
        rise, fall = MinCostNetwork(case.nodes, case.tail, case.head).slide(
            arc, need, *case.sides, least=(least[0], least[1])
        )
        for found, sign in ((rise, 1), (fall, -1)):
            assert found.deviation[arc] == sign * found.amount
            assert (found.deviation <= up).all() and (found.deviation >= -down).all()
            assert np.allclose(case.rows @ found.deviation, 0, atol=1e-9)
        assert rise.amount >= least[0] and fall.amount >= least[1]
        assert rise.amount + fall.amount == pytest.approx(need)
        size, half = up.size, np.hstack([case.rows, -case.rows])
        low, high = np.zeros(4 * size), np.concatenate([up, down, up, down])
        low[[arc, 3 * size + arc]], high[[size + arc, 2 * size + arc]] = least, 0.0
        apart = np.zeros((1, 4 * size))
        apart[0, [arc, 3 * size + arc]] = 1.0
        rows = np.vstack([np.kron(np.eye(2), half), apart])
        cost = np.tile(np.concatenate([price_up, price_down]), 2)
        bounds = list(zip(low, high, strict=True))
        program = linprog(cost, A_eq=rows, b_eq=[*np.zeros(2 * case.nodes), need], bounds=bounds)
        assert rise.cost + fall.cost == pytest.approx(float(cost @ np.asarray(program.x)), abs=1e-5)
        split += rise.amount > least[0] and fall.amount > least[1]
    assert split > 10


def test_whole_numbers_stay_whole() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        case = random_case(rng, whole=True)
        found = case.send(0, True, 5.0)
        assert (found.deviation == np.round(found.deviation)).all()
        assert (case.rows @ found.deviation == 0).all()


def test_later_paths_take_back_earlier_ones() -> None:
    """The cheap middle arc is used first and then given up; its two prices differ."""
    tail = np.array([3, 0, 0, 1, 1, 2], dtype=np.int32)
    head = np.array([0, 1, 2, 2, 3, 3], dtype=np.int32)
    up = np.array([2.0, 1, 1, 1, 1, 1])
    price = np.array([0.0, 0, 3, 0, 3, 0])
    case = Case(4, tail, head, (up, np.zeros(6), price, np.full(6, 9.0)))
    once, twice = case.send(0, True, 1.0), case.send(0, True, 2.0)
    assert once.cost == 0 and once.deviation[3] == 1
    assert twice.cost == 6 and twice.deviation[3] == 0 and twice.paths == 2


def test_equal_prices_take_the_fewest_arcs() -> None:
    tail = np.array([0, 1, 2, 3, 1], dtype=np.int32)
    head = np.array([1, 2, 3, 0, 0], dtype=np.int32)
    zero, room = np.zeros(5), np.full(5, 4.0)
    assert Case(4, tail, head, (room, room, zero, zero)).send(0, True, 4.0).deviation.tolist() == [
        4,
        0,
        0,
        0,
        4,
    ]


def test_an_infinite_price_closes_a_side() -> None:
    tail, head = np.array([0, 1, 0], dtype=np.int32), np.array([1, 0, 1], dtype=np.int32)
    room, price = np.full(3, 5.0), np.array([0.0, np.inf, 2.0])
    found = Case(2, tail, head, (room, room, price, price)).send(0, True, 3.0)
    assert (found.amount, found.cost) == (3.0, 6.0)
    assert found.deviation.tolist() == [3.0, 0.0, -3.0]


def test_a_cell_in_no_equation_moves_alone() -> None:
    loop = np.zeros(1, dtype=np.int32)
    case = Case(1, loop, loop, (np.array([2.0]), np.array([7.0]), np.array([3.0]), np.array([1.0])))
    assert case.send(0, True, 5.0).amount == 2.0
    found = case.send(0, False, 5.0)
    assert (found.deviation.tolist(), found.amount, found.cost, found.paths) == ([-5.0], 5.0, 5.0, 0)


def test_bad_input_is_refused() -> None:
    flow = MinCostNetwork(2, np.array([0, 1], dtype=np.int32), np.array([1, 0], dtype=np.int32))
    one = np.ones(2)
    with pytest.raises(ValueError, match="not negative"):
        flow.send(0, True, 1.0, one, one, -one, one)
    with pytest.raises(ValueError, match="need"):
        flow.send(0, True, np.inf, one, one, one, one)
    with pytest.raises(IndexError, match="no arc 2"):
        flow.send(2, True, 1.0, one, one, one, one)
    with pytest.raises(ValueError, match="least parts"):
        flow.slide(0, 1.0, one, one, one, one, least=(-1.0, 0.0))
    with pytest.raises(ValueError, match="must be nodes"):
        MinCostNetwork(1, np.array([0], dtype=np.int32), np.array([1], dtype=np.int32))
    with pytest.raises(ValueError, match="differ in length"):
        MinCostNetwork(1, np.zeros(1, dtype=np.int32), np.zeros(2, dtype=np.int32))
