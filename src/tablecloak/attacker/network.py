"""Feasibility intervals on networks: maximum flows in integral data units, which are exact."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker.inference import Extents, Tick
from tablecloak.attacker.presolve import Component
from tablecloak.solvers.graphs import Network


class NetworkAttack:
    """Maximum flows; cells that lie on no cycle, or on a short one with enough capacity, need no flow computation."""

    engine = "network flow"

    def __init__(self, component: Component) -> None:
        assert component.orientation is not None
        self.network = Network(
            component.orientation.nodes,
            component.orientation.tail,
            component.orientation.head,
            component.high,
            -component.low,
        )
        self.solves = 0
        self._movable: Bools | None = None

    def reach(
        self, cells: Ints, need_down: Floats, need_up: Floats, tick: Tick, size: Floats
    ) -> tuple[Extents, Extents]:
        if self._movable is None:
            self._movable = self.network.undetermined()
        movable = self._movable[cells]
        want_down, want_up = np.where(movable, need_down, 0.0), np.where(movable, need_up, 0.0)
        up, down, flows = self.network.settle(cells, want_up, want_down, on_chunk=tick)
        self.solves += flows
        return _extents(down, need_down, movable), _extents(up, need_up, movable)


def _extents(got: Floats, need: Floats, movable: Bools) -> Extents:
    """Extents by flows: one below the need is the capacity of a cut; one that stops at the need proves no bound."""
    short = ~movable | (got < need) | (need == np.inf)
    return Extents(got, np.where(short, got, np.inf))
