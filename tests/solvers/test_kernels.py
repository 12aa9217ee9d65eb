"""The compiled module as such: built from these sources, without the interpreter lock, and stopped inside."""

from __future__ import annotations

import runpy
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tablecloak.progress import TimeUp
from tablecloak.solvers import kernels
from tablecloak.solvers.graphs import MinCostNetwork, Network
from tablecloak.solvers.kernels import compiled

ROOT = Path(__file__).parents[2]


def test_the_kernels_are_compiled_from_these_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """An editable install keeps the old module when a source changes: `make` compiles it again."""
    monkeypatch.chdir(ROOT)
    assert runpy.run_path("setup.py")["source_hash"]() == compiled.SOURCES


def large_network(seed: int = 0, size: int = 200) -> Network:
    """The cells of a two-way table, half of them hidden."""
    rng = np.random.default_rng(seed)
    tail, head = np.nonzero(rng.random((size, size)) < 0.5)
    up, down = rng.integers(1, 1000, (2, tail.size))
    return Network(2 * size, tail, size + head, up, down)


def reaches(network: Network) -> list[float]:
    """What some arcs reach, after whatever was done before."""
    up, down = network.reach(np.arange(0, network.arcs, network.arcs // 50))
    return [*up.tolist(), *down.tolist()]


def test_long_computations_stop_and_leave_the_network_as_it_was() -> None:
    network, calls = large_network(), []
    before = reaches(network)
    arcs = np.tile(np.arange(network.arcs, dtype=np.int32), 20)
    limits = np.full(arcs.size, np.inf)

    def stop() -> bool:
        calls.append(1)
        return len(calls) == 3

    with pytest.raises(TimeUp):
        kernels.reach(network._net, arcs, limits, limits.copy(), 0.0, stop)
    assert len(calls) == 3
    assert (limits[-1000:] == np.inf).all()  # it went no further
    assert reaches(network) == before


def test_what_is_called_within_a_long_computation_may_raise() -> None:
    network = large_network()

    def on_chunk(done: int) -> None:
        if done == 0:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        network.reach(np.tile(np.arange(network.arcs), 20), on_chunk=on_chunk)


def test_signals_are_handled_inside() -> None:
    """Ctrl-C ends a computation that would run for minutes."""
    rng = np.random.default_rng(0)
    work = rng.random((3000, 3000))

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            kernels.independent_part(work)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_other_threads_run_meanwhile() -> None:
    """A thread sets the flag that ends the computation: it could not if the kernel kept the interpreter lock."""
    network, over = large_network(), threading.Event()
    arcs = np.tile(np.arange(network.arcs, dtype=np.int32), 1000)
    timer = threading.Timer(0.05, over.set)
    timer.start()
    with pytest.raises(TimeUp):
        kernels.reach(
            network._net, arcs, np.full(arcs.size, np.inf), np.full(arcs.size, np.inf), 0.0, over.is_set
        )


def test_threads_with_networks_of_their_own_find_the_same() -> None:
    alone = [reaches(large_network(seed)) for seed in range(4)]
    with ThreadPoolExecutor(4) as executor:
        assert list(executor.map(lambda seed: reaches(large_network(seed)), range(4))) == alone


def test_two_flows_of_one_network_are_apart() -> None:
    """Those of `slide`: the second one has its own memory for flow, potentials and distances."""
    tail, head = np.array([0, 1, 0], dtype=np.int32), np.array([1, 0, 1], dtype=np.int32)
    ones, twos = np.ones(3), np.full(3, 2.0)
    rise, fall = MinCostNetwork(2, tail, head).slide(0, 3.0, twos, twos, ones, ones, least=(1.0, 1.0))
    assert rise.amount + fall.amount == 3.0
    assert rise.deviation[0] == rise.amount and fall.deviation[0] == -fall.amount
