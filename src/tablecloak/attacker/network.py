"""Feasibility intervals on networks: maximum flows in integral data units, which are exact."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker.inference import Extents
from tablecloak.attacker.presolve import Component
from tablecloak.solvers import Tick
from tablecloak.solvers.graphs import Network


class NetworkAttack:
    """Maximum flows; cells that lie on no cycle, or on a short one with enough capacity, need no flow computation.

    A network has scratch memory, so each thread that asks takes one that is not in use, or makes one.
    """

    engine = "network flow"

    def __init__(self, component: Component) -> None:
        self.component = component
        self.network = _network(component)
        self.solves = 0
        self._movable: Bools | None = None
        self._spare = [self.network]

    def reach(
        self, cells: Ints, need_down: Floats, need_up: Floats, tick: Tick, size: Floats
    ) -> tuple[Extents, Extents]:
        movable = self._undetermined()[cells]
        want_down, want_up = np.where(movable, need_down, 0.0), np.where(movable, need_up, 0.0)
        try:
            network = self._spare.pop()
        except IndexError:
            network = _network(self.component)
        up, down, flows = network.settle(cells, want_up, want_down, on_chunk=tick)
        self._spare.append(network)
        self.solves += flows
        return _extents(down, need_down, movable), _extents(up, need_up, movable)

    def parts(self, cells: Ints, size: Floats) -> list[Ints]:
        """As many questions as one compiled call takes."""
        chunk = self.network.settings.chunk
        return [np.arange(start, min(start + chunk, cells.size)) for start in range(0, cells.size, chunk)]

    def alone(self, number: int) -> Self:
        """An attack on the same networks with its own count of flows."""
        self._undetermined()
        part = copy(self)
        part.solves = 0
        return part

    def work(self, questions: int) -> int:
        """One flow each."""
        return questions

    def learn(self, number: int, part: Self) -> None:
        """Count its flows."""
        self.solves += part.solves

    def _undetermined(self) -> Bools:
        if self._movable is None:
            self._movable = self.network.undetermined()
        return self._movable

    def __reduce__(self) -> tuple[Any, ...]:  # for another process, which makes a network of its own
        return _restored, (self.component, self._movable, self.solves)


def _restored(component: Component, movable: Bools | None, solves: int) -> NetworkAttack:
    """An attack that comes from another process."""
    attack = NetworkAttack(component)
    attack._movable, attack.solves = movable, solves
    return attack


def _network(component: Component) -> Network:
    """The cells of a component as arcs with their deviation bounds as capacities."""
    assert component.orientation is not None
    graph = component.orientation
    return Network(graph.nodes, graph.tail, graph.head, component.high, -component.low)


def _extents(got: Floats, need: Floats, movable: Bools) -> Extents:
    """Extents by flows: one below the need is the capacity of a cut; one that stops at the need proves no bound."""
    short = ~movable | (got < need) | (need == np.inf)
    return Extents(got, np.where(short, got, np.inf))
