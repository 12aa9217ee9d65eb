"""Path opening: the deviation of one arc, by paths one by one and by blocking flows."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.solvers.graphs import Network, PathOpeningNetwork
from tablecloak.solvers.graphs.path_opening import PathOpeningSettings

DEFAULTS = PathOpeningSettings()


def grid(
    rows: int, columns: int, seed: int, settings: PathOpeningSettings = DEFAULTS
) -> tuple[PathOpeningNetwork, Network, np.ndarray, np.ndarray]:
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
    last = np.arange(values.size) == values.size - 1
    net = PathOpeningNetwork(nodes, tail, head, np.sqrt(values), last, settings)
    return net, Network(nodes, tail, head, values, values), values, np.stack([tail, head])


def delivers(net: PathOpeningNetwork, values: np.ndarray, ends: np.ndarray, arc: int, upward: bool) -> float:
    """The maximum flow through the open arcs."""
    capacities = np.where(net.is_open, values, 0.0)
    network = Network(int(ends.max()) + 1, ends[0], ends[1], capacities, capacities)
    limit = np.array([np.inf])
    up, down = network.reach([arc], limit, limit)
    return float(up[0] if upward else down[0])


@pytest.mark.parametrize("upward", [True, False])
@pytest.mark.parametrize("share", [0.001, 0.1, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_a_deviation_is_reached_however_many_paths_it_takes(seed: int, share: float, upward: bool) -> None:
    net, whole, values, ends = grid(30, 25, seed)
    own, room = values.size - 1, np.array([np.inf])
    most = float(whole.reach([own], room, room)[0 if upward else 1][0])
    need = share * most
    assert net.missing(own, upward, need, (values, values)) == 0.0
    assert delivers(net, values, ends, own, upward) >= need * (1 - 1e-9)
    assert share < 0.1 or net.is_open.sum() > PathOpeningSettings.paths  # it took blocking flows
    assert share == 0.9 or not net.is_open.all()


def test_what_is_missing_is_what_the_maximum_flow_lacks() -> None:
    net, whole, values, _ = grid(30, 25, 4)
    own, room = values.size - 1, np.array([np.inf])
    large = np.where(np.arange(values.size) == own, np.inf, values)
    whole.set_capacity(own, np.inf, np.inf)
    most = float(whole.reach([own], room, room)[0][0])
    assert net.missing(own, True, 2 * most, (large, large)) == pytest.approx(most)
    # the flow is forgotten: asking again gives the same
    assert net.missing(own, True, 2 * most, (large, large)) == pytest.approx(most)
    assert net.route(own, True, most, (large, large))


def test_blocking_flows_cost_little_more_than_paths() -> None:
    costs = []
    for count in (10**6, PathOpeningSettings.paths):
        net, _, values, _ = grid(40, 40, 5, PathOpeningSettings(paths=count))
        assert net.route(values.size - 1, True, 0.2 * values[-1], (values, values))
        costs.append(float(np.sqrt(values)[net.is_open].sum()))
    assert costs[1] <= 1.1 * costs[0]


def test_a_long_search_stops_when_it_must() -> None:
    net, _, values, _ = grid(30, 25, 6)
    asked = []

    def stop() -> bool:
        asked.append(len(asked))
        return len(asked) > 1  # after the paths one by one

    need = 0.9 * values[-1]
    left = net.missing(values.size - 1, True, need, (values, values), stop)
    assert 0.0 < left < need
    assert asked == [0, 1]
