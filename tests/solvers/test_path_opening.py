"""Routes: the level of one arc, by paths one by one and by blocking flows."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.solvers.graphs import Network, RoadMap
from tablecloak.solvers.graphs.path_opening import PATHS


def grid(rows: int, columns: int, seed: int) -> tuple[RoadMap, Network, np.ndarray, np.ndarray]:
    """A two-way table as a network, its grand total the last arc; the flows on all cells beside it."""
    rng = np.random.default_rng(seed)
    inner = rng.integers(1, 100, (rows, columns)).astype(float)
    whole = np.block([[inner, inner.sum(1, keepdims=True)], [inner.sum(0, keepdims=True), inner.sum()]])
    tail, head = (each.ravel().astype(np.int32) for each in np.indices(whole.shape))
    head = head + rows + 1
    sign = np.ones_like(whole, dtype=bool)
    sign[-1, :-1] = sign[:-1, -1] = False  # margins are arcs from columns to rows
    forward = sign.ravel()
    tail, head = np.where(forward, tail, head), np.where(forward, head, tail)
    values, nodes = whole.ravel(), rows + columns + 2
    roads = RoadMap(nodes, tail, head, np.sqrt(values), np.arange(values.size) == values.size - 1)
    return roads, Network(nodes, tail, head, values, values), values, np.stack([tail, head])


def delivers(roads: RoadMap, values: np.ndarray, ends: np.ndarray, arc: int, upward: bool) -> float:
    """The maximum flow through the open arcs."""
    rooms = np.where(roads.is_open, values, 0.0)
    network = Network(int(ends.max()) + 1, ends[0], ends[1], rooms, rooms)
    limit = np.array([np.inf])
    up, down = network.reach([arc], limit, limit)
    return float(up[0] if upward else down[0])


@pytest.mark.parametrize("upward", [True, False])
@pytest.mark.parametrize("share", [0.001, 0.1, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_a_route_is_wide_enough_however_many_paths_it_takes(seed: int, share: float, upward: bool) -> None:
    roads, whole, values, ends = grid(30, 25, seed)
    own, room = values.size - 1, np.array([np.inf])
    most = float(whole.reach([own], room, room)[0 if upward else 1][0])
    need = share * most
    assert roads.missing(own, upward, need, (values, values)) == 0.0
    assert delivers(roads, values, ends, own, upward) >= need * (1 - 1e-9)
    assert share < 0.1 or roads.is_open.sum() > PATHS  # it took blocking flows
    assert share == 0.9 or not roads.is_open.all()


def test_what_is_missing_is_what_the_maximum_flow_lacks() -> None:
    roads, whole, values, _ = grid(30, 25, 4)
    own, room = values.size - 1, np.array([np.inf])
    large = np.where(np.arange(values.size) == own, np.inf, values)
    whole.set_capacity(own, np.inf, np.inf)
    most = float(whole.reach([own], room, room)[0][0])
    assert roads.missing(own, True, 2 * most, (large, large)) == pytest.approx(most)
    # the flow is forgotten: asking again gives the same
    assert roads.missing(own, True, 2 * most, (large, large)) == pytest.approx(most)
    assert roads.route(own, True, most, (large, large))


def test_blocking_flows_cost_little_more_than_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = []
    for count in (10**6, PATHS):
        monkeypatch.setattr("tablecloak.solvers.graphs.path_opening.PATHS", count)
        roads, _, values, _ = grid(40, 40, 5)
        assert roads.route(values.size - 1, True, 0.2 * values[-1], (values, values))
        costs.append(float(np.sqrt(values)[roads.is_open].sum()))
    assert costs[1] <= 1.1 * costs[0]


def test_a_long_route_stops_when_it_is_told_to() -> None:
    roads, _, values, _ = grid(30, 25, 6)
    asked = []

    def stop() -> bool:
        asked.append(len(asked))
        return len(asked) > 1  # after the paths one by one

    need = 0.9 * values[-1]
    left = roads.missing(values.size - 1, True, need, (values, values), stop)
    assert 0.0 < left < need
    assert asked == [0, 1]
