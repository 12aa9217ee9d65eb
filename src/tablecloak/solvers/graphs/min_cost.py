"""Minimum-cost deviations of a network of cells with a required deviation of one cell.

With arcs ``tail -> head`` for the cells and nodes for the equations, capacities `up` and `down` and prices by arc::

    min  sum price_up d+  +  price_down d-
    s.t. as much leaves each node as enters it
         d[arc] = need  (or -need),   -down <= d <= up,   d = d+ - d-

by successive shortest paths with potentials: each path is a shortest one for the prices that are left, so the flow is
the cheapest of its amount at every time (Ahuja, Magnanti & Orlin 1993, chapter 9.7). Exact up to rounding, for
capacities that need not be integral. `slide` does the same for two deviations at once, f up and g down, whose distance
on the arc is required: a sliding level.

The typed interface of `kernels.min_cost_flow`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tablecloak.arrays import Codes, Floats
from tablecloak.solvers.graphs.adjacency import adjacency, arc_ends

if TYPE_CHECKING:
    from tablecloak.solvers.kernels.min_cost_flow import ArcLimits


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
        from tablecloak.solvers.kernels import min_cost_flow as kernels

        tail, head = np.ascontiguousarray(tail, dtype=np.int32), np.ascontiguousarray(head, dtype=np.int32)
        ends = np.concatenate([tail, head])
        if tail.shape != head.shape:
            raise ValueError("tail and head differ in length")
        if ends.size and (ends.min() < 0 or ends.max() >= nodes):
            raise ValueError("tail and head must be nodes")
        lists = adjacency(nodes, tail, head, arc_ends(tail, head))
        queue = lists.arc.size + 1
        self._kernels = kernels
        self._net = kernels.MinCostArrays(
            first=lists.first,
            target=lists.target,
            arc=lists.arc,
            forward=lists.forward,
            tail=tail.copy(),
            head=head.copy(),
            flow=np.zeros(tail.size),
            potential=np.zeros(nodes),
            distance=np.zeros(nodes),
            steps=np.zeros(nodes, dtype=np.int32),
            arrived=np.full(nodes, kernels.NONE, dtype=np.int32),
            done=np.zeros(nodes, dtype=np.bool_),
            keys=np.zeros(queue),
            hops=np.zeros(queue, dtype=np.int32),
            heap=np.zeros(queue, dtype=np.int32),
        )

    @property
    def arcs(self) -> int:
        """Number of arcs."""
        return self._net.tail.size

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
        amount, paths = self._kernels.send(self._net, limits, arc, upward, need)
        return _sent(self._net.flow, limits, amount, paths)

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
        names = ("flow", "potential", "distance", "steps", "arrived", "done")
        fall = self._net._replace(**{name: getattr(self._net, name).copy() for name in names})
        rise = self._net
        high, low, paths = self._kernels.slide(rise, fall, limits, arc, need, *least)
        return _sent(rise.flow, limits, high, paths), _sent(fall.flow, limits, low, paths)

    def _checked(self, arc: int, need: float, *sides: Floats) -> ArcLimits:
        """Capacities and prices as the kernels need them."""
        arrays = [np.ascontiguousarray(side, dtype=np.float64) for side in sides]
        if not 0 <= arc < self.arcs:
            raise IndexError(f"no arc {arc} among {self.arcs}")
        if any(side.shape != (self.arcs,) or not (side >= 0.0).all() for side in arrays):
            raise ValueError("capacities and prices must be numbers by arc, not negative")
        if not 0.0 <= need < np.inf:
            raise ValueError("need must be finite and not negative")
        return self._kernels.ArcLimits(*arrays)


def _sent(flow: Floats, limits: ArcLimits, amount: float, paths: float) -> MinCostDeviation:
    """The deviations of a flow, with their cost."""
    used = np.flatnonzero(flow)
    price = np.where(flow[used] > 0, limits.price_up[used], limits.price_down[used])
    return MinCostDeviation(flow.copy(), amount, float(np.abs(flow[used]) @ price), int(paths))
