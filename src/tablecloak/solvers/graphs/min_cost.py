"""Minimum-cost deviations of a network of cells with a required deviation of one cell.

With arcs ``tail -> head`` for the cells and nodes for the equations, capacities `up` and `down` and prices by arc::

    min  sum price_up d+  +  price_down d-
    s.t. as much leaves each node as enters it
         d[arc] = need  (or -need),   -down <= d <= up,   d = d+ - d-

by successive shortest paths with potentials: each path is a shortest one for the prices that are left, so the flow is
the cheapest of its amount at every time (Ahuja, Magnanti & Orlin 1993, chapter 9.7). Exact up to rounding, for
capacities that need not be integral. `slide` does the same for two deviations at once, f up and g down, whose distance
on the arc is required: a sliding level.

The work is done by the compiled kernels of `min_cost_flow`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tablecloak.arrays import Codes, Floats
from tablecloak.solvers import kernels
from tablecloak.solvers.graphs.adjacency import arc_ends


class MinCostDeviation(NamedTuple):
    """The cheapest deviations for one requirement."""

    deviation: Floats
    """By arc."""
    amount: float
    """Deviation of the arc itself: what was required, or the most that is possible."""
    cost: float
    """Price of all deviations, with that of the arc itself."""
    paths: int
    """Shortest paths along which flow was sent."""


class MinCostNetwork:
    """Arcs ``tail -> head`` between nodes. It has scratch memory: use it from one thread at a time."""

    def __init__(self, nodes: int, tail: Codes, head: Codes) -> None:
        tail, head = np.ascontiguousarray(tail, dtype=np.int32), np.ascontiguousarray(head, dtype=np.int32)
        ends = np.concatenate([tail, head])
        if tail.shape != head.shape:
            raise ValueError("tail and head differ in length")
        if ends.size and (ends.min() < 0 or ends.max() >= nodes):
            raise ValueError("tail and head must be nodes")
        self.arcs = int(tail.size)
        """Number of arcs."""
        self._net = kernels.MinCostArrays(nodes, tail.copy(), head.copy(), arc_ends(tail, head))

    def send(
        self,
        arc: int,
        upward: bool,
        need: float,
        up: Floats,
        down: Floats,
        price_up: Floats,
        price_down: Floats,
    ) -> MinCostDeviation:
        """The cheapest deviations with `need` on the arc, up or down, or with as much as is possible.

        Capacities and prices are by arc, not negative; an infinite price means that an arc is closed in that direction.
        `need` is finite.
        """
        limits = self._checked(arc, need, up, down, price_up, price_down)
        amount, paths = kernels.send(self._net, kernels.ArcLimits(*limits), arc, upward, need)
        return _sent(self._net.flow_array, limits, amount, paths)

    def slide(
        self,
        arc: int,
        need: float,
        up: Floats,
        down: Floats,
        price_up: Floats,
        price_down: Floats,
        *,
        least: tuple[float, float] = (0.0, 0.0),
    ) -> tuple[MinCostDeviation, MinCostDeviation]:
        """The cheapest deviations f, g, one up and one down, with ``f[arc] - g[arc] = need``: one combined problem.

        The share of each side is decided by cost; `least` are their least parts, up and down. The number of paths is
        that of both together.
        """
        limits = self._checked(arc, need, up, down, price_up, price_down)
        if not all(0.0 <= part < np.inf for part in least):
            raise ValueError("least parts must be finite and not negative")
        rise, fall = self._net, self._net.another_flow()
        high, low, paths = kernels.slide(rise, fall, kernels.ArcLimits(*limits), arc, need, *least)
        return _sent(rise.flow_array, limits, high, paths), _sent(fall.flow_array, limits, low, paths)

    def _checked(self, arc: int, need: float, *sides: Floats) -> list[Floats]:
        """Capacities and prices as the kernels need them."""
        arrays = [np.ascontiguousarray(side, dtype=np.float64) for side in sides]
        if not 0 <= arc < self.arcs:
            raise IndexError(f"no arc {arc} among {self.arcs}")
        if any(side.shape != (self.arcs,) or not (side >= 0.0).all() for side in arrays):
            raise ValueError("capacities and prices must be numbers by arc, not negative")
        if not 0.0 <= need < np.inf:
            raise ValueError("need must be finite and not negative")
        return arrays


def _sent(flow: Floats, limits: list[Floats], amount: float, paths: int) -> MinCostDeviation:
    """The deviations of a flow, with their cost."""
    used = np.flatnonzero(flow)
    _, _, price_up, price_down = limits
    price = np.where(flow[used] > 0, price_up[used], price_down[used])
    return MinCostDeviation(flow.copy(), amount, float(np.abs(flow[used]) @ price), paths)
