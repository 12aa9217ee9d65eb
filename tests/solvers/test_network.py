"""The network kernels against linear programming, scipy's maximum flow, and brute force."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from tablecloak.solvers.graphs import Network
from tablecloak.solvers.graphs.network import MaxDeviation
from tablecloak.solvers.kernels import FlowArrays

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CAPACITIES = [0.0, 0.0, 1.0, 2.0, 3.0, 5.0, 8.0, np.inf]
LIMITS = [-1.0, 0.0, 1.0, 2.0, 2.5, 4.0, 50.0, np.inf]


@st.composite
def networks(draw: st.DrawFn, most_nodes: int = 6, most_arcs: int = 12) -> Network:
    """Small multigraphs with self loops, parallel arcs, closed, one-way and infinite arcs."""
    nodes = draw(st.integers(1, most_nodes))
    node, capacity = st.integers(0, nodes - 1), st.sampled_from(CAPACITIES)
    arcs = draw(st.lists(st.tuples(node, node, capacity, capacity), max_size=most_arcs))
    tail, head, up, down = ([arc[k] for arc in arcs] for k in range(4))
    return Network(nodes, tail, head, up, down)


def random_networks(count: int, seed: int = 1, most_nodes: int = 7, most_arcs: int = 14) -> Iterator[Network]:
    """The same, many and fast."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        nodes, arcs = int(rng.integers(1, most_nodes)), int(rng.integers(0, most_arcs))
        tail, head = rng.integers(0, nodes, (2, arcs))
        up, down = rng.choice(CAPACITIES, (2, arcs))
        yield Network(nodes, tail, head, up, down)


def ranges(network: Network) -> tuple[Floats, Floats]:
    return network.reach(np.arange(network.arcs))


def one(network: Network, arc: int, limit_up: float = np.inf, limit_down: float = np.inf) -> list[float]:
    return [float(side[0]) for side in network.reach([arc], limit_up, limit_down)]


def surplus(network: Network, deviation: Floats) -> Floats:
    """What leaves each node less what enters it."""
    total = np.zeros(network.nodes)
    np.add.at(total, network.tail, deviation)
    np.subtract.at(total, network.head, deviation)
    return total


def linear_range(network: Network, arc: int, sign: int) -> float:
    """max sign * d[arc] over the circulations within the capacities, by linear programming."""
    everyone = np.arange(network.arcs)
    incidence = np.zeros((network.nodes, network.arcs))
    np.add.at(incidence, (network.tail, everyone), 1.0)
    np.add.at(incidence, (network.head, everyone), -1.0)
    bounds = [(-float(down), float(up)) for up, down in network.capacity.reshape(-1, 2)]
    cost = np.zeros(network.arcs)
    cost[arc] = -sign
    answer = linprog(cost, A_eq=incidence, b_eq=np.zeros(network.nodes), bounds=bounds)
    assert answer.status in (0, 3)
    return np.inf if answer.fun is None else -float(answer.fun)


def naive_bridges(network: Network) -> list[bool]:
    """An arc with capacity is a bridge if its ends are not connected without it."""
    usable = network.capacity.reshape(-1, 2).max(axis=1, initial=0.0) > 0
    found = []
    for arc in range(network.arcs):
        reached = {int(network.tail[arc])}
        for _ in range(network.nodes):
            for other in range(network.arcs):
                ends = {int(network.tail[other]), int(network.head[other])}
                if usable[other] and other != arc and ends & reached:
                    reached |= ends
        found.append(bool(usable[arc]) and int(network.head[arc]) not in reached)
    return found


def check_route(
    network: Network, arc: int, upward: bool, limit: float, full: float, found: MaxDeviation
) -> None:
    """The route has the claimed value, is a circulation within the capacities, and its cut is minimum."""
    up, down = network.capacity[0::2], network.capacity[1::2]
    assert found.value == min(full, max(limit, 0.0))
    assert not surplus(network, found.deviation).any()
    if found.value == np.inf:
        assert found.deviation[arc] == (1 if upward else -1)
        assert np.isinf(up[found.deviation > 0]).all()
        assert np.isinf(down[found.deviation < 0]).all()
        return
    assert found.deviation[arc] == (found.value if upward else -found.value)
    assert (found.deviation <= up).all()
    assert (-down <= found.deviation).all()
    if found.value < min(limit, up[arc] if upward else down[arc]):
        side, others = found.source_side, np.arange(network.arcs) != arc
        source, sink = (network.head, network.tail) if upward else (network.tail, network.head)
        assert side[source[arc]]
        assert not side[sink[arc]]
        forth = up[others & side[network.tail] & ~side[network.head]].sum()
        back = down[others & side[network.head] & ~side[network.tail]].sum()
        assert forth + back == found.value


# ------------------------------------------------------------------------------------------- laws


def test_reach_is_the_range_of_the_linear_program() -> None:
    for network in random_networks(60):
        up, down = ranges(network)
        for arc in range(network.arcs):
            assert up[arc] == pytest.approx(linear_range(network, arc, +1), abs=1e-7)
            assert down[arc] == pytest.approx(linear_range(network, arc, -1), abs=1e-7)


def test_reach_is_the_maximum_flow_on_larger_networks() -> None:
    rng = np.random.default_rng(5)
    for nodes, arcs, most in [(12, 60, 9), (40, 150, 1000), (40, 800, 50), (200, 420, 20)]:
        tail, head = rng.integers(0, nodes, (2, arcs))
        up, down = rng.integers(0, most, (2, arcs)) * (rng.random((2, arcs)) < 0.8)
        network = Network(nodes, tail, head, up, down)
        queries = rng.choice(np.flatnonzero(tail != head), 40)
        got_up, got_down = network.reach(queries)
        for k, arc in enumerate(queries):
            others = np.arange(arcs) != arc
            dense = np.zeros((nodes, nodes), np.int32)
            np.add.at(dense, (tail[others], head[others]), up[others])
            np.add.at(dense, (head[others], tail[others]), down[others])
            matrix = csr_array(dense)
            assert got_up[k] == min(up[arc], maximum_flow(matrix, head[arc], tail[arc]).flow_value)
            assert got_down[k] == min(down[arc], maximum_flow(matrix, tail[arc], head[arc]).flow_value)


@settings(deadline=None, max_examples=300)
@given(networks(), st.data())
def test_reach_stops_at_the_limit_and_not_before(network: Network, data: st.DataObject) -> None:
    limits = st.lists(st.sampled_from(LIMITS), min_size=network.arcs, max_size=network.arcs)
    limit_up, limit_down = data.draw(limits), data.draw(limits)
    up, down = ranges(network)
    got_up, got_down = network.reach(np.arange(network.arcs), limit_up, limit_down)
    np.testing.assert_array_equal(got_up, np.minimum(up, np.maximum(limit_up, 0)))
    np.testing.assert_array_equal(got_down, np.minimum(down, np.maximum(limit_down, 0)))


@pytest.mark.parametrize("seed", range(5))
def test_settle_gives_what_reach_gives_with_fewer_flows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for network in random_networks(60, seed):
        limit_up, limit_down = np.maximum(rng.choice(LIMITS, (2, network.arcs)), 0.0)
        arcs, chunks = np.arange(network.arcs), list[int]()
        up, down, flows = network.settle(arcs, limit_up, limit_down, on_chunk=chunks.append)
        expected_up, expected_down = network.reach(arcs, limit_up, limit_down)
        np.testing.assert_array_equal(up, expected_up)
        np.testing.assert_array_equal(down, expected_down)
        near_up, near_down = network.probe(arcs, limit_up, limit_down)
        assert flows == (~near_up).sum() + (~near_down).sum()
        assert sum(chunks) == network.arcs


@settings(deadline=None, max_examples=300)
@given(networks(), st.sampled_from(LIMITS), st.sampled_from([1, 3, 3000]))
def test_a_probe_that_says_yes_is_right(network: Network, limit: float, budget: int) -> None:
    everyone = np.arange(network.arcs)
    ok_up, ok_down = network.probe(everyone, limit, limit, budget)
    got_up, got_down = network.reach(everyone, limit, limit)
    assert (got_up[ok_up] >= max(limit, 0)).all()
    assert (got_down[ok_down] >= max(limit, 0)).all()
    if limit <= 0:
        assert ok_up.all()
        assert ok_down.all()
    if limit == np.inf:
        assert not ok_up.any()
        assert not ok_down.any()


def test_the_probe_finds_every_cycle_of_at_most_four_arcs() -> None:
    """In a graph of at most four nodes a single path closes a cycle of at most four arcs."""
    for network in random_networks(2000, seed=2, most_nodes=5):
        everyone = np.arange(network.arcs)
        wide = np.where(network.capacity >= 2, 2.0, 0.0)  # only arcs with room for the limit matter
        one_path = Network(network.nodes, network.tail, network.head, wide[0::2], wide[1::2])
        ok_up, ok_down = network.probe(everyone, 2, 2)
        np.testing.assert_array_equal(ok_up, one_path.reach(everyone)[0] > 0)
        np.testing.assert_array_equal(ok_down, one_path.reach(everyone)[1] > 0)


def test_undetermined_is_what_can_deviate() -> None:
    for network in random_networks(5000, seed=3):
        up, down = ranges(network)
        np.testing.assert_array_equal(network.undetermined(), (up > 0) | (down > 0))


@settings(deadline=None, max_examples=300)
@given(networks(most_nodes=10, most_arcs=16))
def test_bridges(network: Network) -> None:
    np.testing.assert_array_equal(network.bridges(), naive_bridges(network))
    up, down = ranges(network)
    assert not (up[network.bridges()] + down[network.bridges()]).any()


@settings(deadline=None, max_examples=300)
@given(networks(), st.sampled_from(LIMITS))
def test_a_route_proves_its_value(network: Network, limit: float) -> None:
    up, down = ranges(network)
    for arc in range(network.arcs):
        check_route(network, arc, True, limit, up[arc], network.max_deviation(arc, True, limit))
        check_route(network, arc, False, limit, down[arc], network.max_deviation(arc, False, limit))


@pytest.mark.parametrize("notes", [0, 3, 1000])
def test_queries_leave_no_trace(notes: int) -> None:
    """Also where more is pushed than can be noted."""
    for network in random_networks(300, seed=4):
        together = ranges(network)
        network._net = FlowArrays(network.nodes, network.tail, network.head, network._capacity, notes)
        for arc in range(network.arcs):
            network.max_deviation(arc, True)
            assert one(network, arc) == [together[0][arc], together[1][arc]]
        np.testing.assert_array_equal(network._net.residual, network._net.entry_capacity)
        assert (np.asarray(network._net.level) == -1).all()


def test_set_capacity_is_a_new_network() -> None:
    rng = np.random.default_rng(6)
    for network in random_networks(300, seed=6):
        for _ in range(3):
            if not network.arcs:
                continue
            network.set_capacity(int(rng.integers(network.arcs)), *rng.choice(CAPACITIES, 2).tolist())
            up, down = network.capacity[0::2], network.capacity[1::2]
            fresh = Network(network.nodes, network.tail, network.head, up, down)
            np.testing.assert_array_equal(ranges(network), ranges(fresh))
            np.testing.assert_array_equal(network.undetermined(), fresh.undetermined())
            np.testing.assert_array_equal(network.bridges(), fresh.bridges())
            everyone = np.arange(network.arcs)
            np.testing.assert_array_equal(network.probe(everyone, 2, 2), fresh.probe(everyone, 2, 2))


def test_decimals_with_eps() -> None:
    """Capacities that are multiples of 0.1 give a tenth of the ranges, and limits are met."""
    for whole in random_networks(500, seed=7):
        tenths = Network(
            whole.nodes, whole.tail, whole.head, *whole.capacity.reshape(-1, 2).T * 0.1, eps=1e-9
        )
        expected = np.array(ranges(whole)) * 0.1
        np.testing.assert_allclose(ranges(tenths), expected, atol=1e-8)
        np.testing.assert_array_equal(tenths.undetermined(), expected.max(axis=0, initial=0) > 0)
        everyone = np.arange(whole.arcs)
        np.testing.assert_array_equal(tenths.reach(everyone, *expected), np.array(expected))


# ------------------------------------------------------------------------------------- small cases


def test_empty_networks() -> None:
    for nodes in (0, 1, 5):
        network = Network(nodes, [], [], [], [])
        assert network.arcs == 0
        assert [part.size for part in network.reach([])] == [0, 0]
        assert [part.size for part in network.probe([], 1, 1)] == [0, 0]
        assert network.undetermined().size == network.bridges().size == 0


def test_a_self_loop_is_free() -> None:
    network = Network(2, [0, 1, 1], [0, 1, 1], [4, np.inf, 0], [1, 0, 0])
    np.testing.assert_array_equal(ranges(network), [[4, np.inf, 0], [1, 0, 0]])
    assert network.undetermined().tolist() == [True, True, False]
    assert not network.bridges().any()
    assert network.probe([0, 0], [4, 5], [1, 2])[0].tolist() == [True, False]
    assert network.max_deviation(0, False).deviation.tolist() == [-1, 0, 0]
    assert network.max_deviation(1, True).value == np.inf
    network.set_capacity(0, 7, 2)
    assert one(network, 0) == [7, 2]


def test_parallel_arcs_carry_each_other() -> None:
    network = Network(2, [0, 0, 1], [1, 1, 0], [9, 2, 3], [9, 5, 1])
    up, down = ranges(network)
    assert up.tolist() == [8, 2, 3]  # down of the second, up of the third
    assert down.tolist() == [3, 5, 1]
    assert network.probe([0], 5, 2)[0].tolist() == [True]  # by the second alone
    assert network.probe([0], 6, 3)[0].tolist() == [False]
    network.set_capacity(1, 0, 0)
    network.set_capacity(2, 0, 0)
    assert one(network, 0) == [0, 0]
    assert network.bridges().tolist() == [True, False, False]


def test_unbounded_ranges() -> None:
    cycle = Network(3, [0, 1, 2], [1, 2, 0], np.inf, 1)
    np.testing.assert_array_equal(ranges(cycle), [[np.inf] * 3, [1] * 3])
    assert one(cycle, 0, 10.0, 0.0) == [10, 0]
    assert cycle.max_deviation(1, True).deviation.tolist() == [1, 1, 1]
    both_ways = Network(3, [0, 1, 2], [1, 2, 0], np.inf, np.inf)
    assert both_ways.max_deviation(1, False).value == np.inf
    assert both_ways.max_deviation(1, False, 7.0).deviation.tolist() == [-7, -7, -7]


def test_an_interrupt_does_no_harm() -> None:
    rng = np.random.default_rng(8)
    tail, head = rng.integers(0, 20, (2, 100))
    network = Network(20, tail, head, *rng.integers(0, 9, (2, 100)))
    chunk = network.settings.chunk
    queries = rng.integers(0, 100, chunk * 2 + 1)
    seen: list[int] = []
    before = network.reach(queries, on_chunk=seen.append)
    assert seen == [chunk, 2 * chunk, 2 * chunk + 1]

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        network.reach(queries, on_chunk=interrupt)
    np.testing.assert_array_equal(network.reach(queries), before)


def test_a_network_travels_to_another_process() -> None:
    network = Network(2, [0, 1], [1, 0], [3, 4], [1, 2])
    copy = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(ranges(copy), ranges(network))


def test_wrong_arguments_never_reach_compiled_code() -> None:
    network = Network(2, [0, 1], [1, 0], 1, 1)
    for arcs in ([2], [-1]):
        with pytest.raises(IndexError):
            network.reach(arcs)
        with pytest.raises(IndexError):
            network.probe(arcs, 1, 1)
        with pytest.raises(IndexError):
            network.max_deviation(arcs[0], True)
        with pytest.raises(IndexError):
            network.set_capacity(arcs[0], 1, 1)
    for wrong in (-1.0, np.nan):
        with pytest.raises(ValueError, match="negative or nan"):
            network.set_capacity(0, wrong, 1)
        with pytest.raises(ValueError, match="negative or nan"):
            Network(2, [0], [1], [1], [wrong])
    with pytest.raises(ValueError, match="nan"):
        network.reach([0], np.nan)
    with pytest.raises(ValueError, match="whole numbers"):
        network.reach([True, False])
    with pytest.raises(IndexError):
        Network(2, [0], [2], 1, 1)
    with pytest.raises(ValueError, match="length"):
        Network(2, [0, 1], [1], 1, 1)
    with pytest.raises(ValueError, match="eps"):
        Network(2, [0], [1], 1, 1, eps=-1)
    with pytest.raises(ValueError, match="read-only"):
        network.capacity[0] = 5


# ------------------------------------------------------------------------------------------ tables


def two_way(internal: Sequence[Sequence[int]], hidden: Sequence[tuple[int, int]]) -> tuple[Network, Ints]:
    """The hidden cells of a non-negative two-way table (row, column; totals last), and their values."""
    table = np.array(internal)
    table = np.vstack([table, table.sum(axis=0)])
    table = np.column_stack([table, table.sum(axis=1)])
    rows, columns = table.shape
    row, column = np.array(hidden).T
    marginal = (row == rows - 1) ^ (column == columns - 1)
    tail = np.where(marginal, rows + column, row)
    head = np.where(marginal, row, rows + column)
    values = table[row, column]
    return Network(rows + columns, tail, head, np.inf, values), values


def intervals(internal: Sequence[Sequence[int]], hidden: Sequence[tuple[int, int]]) -> list[list[float]]:
    network, values = two_way(internal, hidden)
    up, down = ranges(network)
    return [list(pair) for pair in zip((values - down).tolist(), (values + up).tolist(), strict=True)]


def test_salazar_2002_figure_2() -> None:
    internal = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]
    found = intervals(internal, [(1, 0), (1, 2), (2, 0), (2, 2)])
    assert found == [[0, 25], [5, 30], [0, 25], [4, 29]]


def test_carvalho_2008_figure_1() -> None:
    internal = [[100, 20, 35, 3], [15, 10, 40, 10], [10, 15, 30, 5]]
    first = [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert intervals(internal, first)[0] == [90, 115]
    assert intervals(internal, [*first, (1, 3), (2, 1), (2, 3)])[0] == [80, 115]


def test_serpell_2013_figure_1() -> None:
    internal = [[9, 51, 41, 47, 3, 48], [8, 1, 54, 44, 45, 12], [8, 70, 6, 76, 64, 21]]
    internal += [[33, 46, 45, 27, 37, 60], [87, 51, 18, 35, 49, 72], [48, 59, 39, 65, 35, 58]]
    hidden = [(0, 0), (0, 4), (1, 0), (1, 1), (1, 4), (1, 5), (2, 2), (2, 5)]
    expected = [[0, 12], [0, 12], [5, 17], [1, 1], [36, 48], [12, 12], [6, 6], [21, 21]]
    assert intervals(internal, hidden) == expected


def test_serpell_2013_figure_3_a_bridge_that_cannot_be_unpicked() -> None:
    hidden = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 0), (2, 3), (3, 0), (3, 3)]
    network, _ = two_way([[100] * 4] * 4, hidden)
    assert network.bridges().tolist() == [True] + [False] * 8
    assert network.undetermined().tolist() == [False] + [True] * 8
    assert intervals([[100] * 4] * 4, hidden) == [[100, 100]] + [[0, 200]] * 8
