"""The cheapest deviations of a network of cells that take one cell as far as asked.

With arcs ``tail -> head`` for the cells and nodes for the equations, room `up` and `down` and prices for each arc::

    min  sum price_up d+  +  price_down d-
    s.t. as much leaves each node as enters it
         d[arc] = need  (or -need),   -down <= d <= up,   d = d+ - d-

by successive shortest paths with potentials: each path is a shortest one for the prices that are left, so the flow is
the cheapest of its amount at every time (Ahuja, Magnanti & Orlin 1993, chapter 9.7). Exact up to rounding, for
capacities that need not be whole. `slide` does the same for two deviations at once, f up and g down, that must be so
far apart on the arc: a sliding level.

The typed face of the kernels in `kernels.min_cost_flow`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tablecloak.solvers.kernels.min_cost_flow import Limits

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]


class Sent(NamedTuple):
    """The cheapest deviations for one request."""

    deviation: Floats
    """By arc."""
    amount: float
    """How far the arc itself goes: what was asked, or the most that is possible."""
    cost: float
    """Price of all deviations, with that of the arc itself."""
    paths: int
    """Shortest paths along which flow was sent."""


class CheapestFlow:
    """Arcs ``tail -> head`` between nodes. It has scratch memory: use it from one thread at a time."""

    def __init__(self, nodes: int, tail: Ints, head: Ints) -> None:
        from tablecloak.solvers.kernels import min_cost_flow as kernels

        tail, head = np.ascontiguousarray(tail, dtype=np.int32), np.ascontiguousarray(head, dtype=np.int32)
        ends = np.concatenate([tail, head])
        if tail.shape != head.shape:
            raise ValueError("tail and head differ in length")
        if ends.size and (ends.min() < 0 or ends.max() >= nodes):
            raise ValueError("tail and head must be nodes")
        linked = np.flatnonzero(tail != head)
        node = np.concatenate([tail[linked], head[linked]])
        order = np.argsort(node, kind="stable")
        arc = np.concatenate([linked, linked])[order]
        self._kernels = kernels
        self._streets = kernels.Streets(
            first=np.searchsorted(node[order], np.arange(nodes + 1)).astype(np.int32),
            target=np.concatenate([head[linked], tail[linked]])[order].astype(np.int32),
            arc=arc.astype(np.int32),
            forward=order < linked.size,
            tail=tail.copy(),
            head=head.copy(),
            flow=np.zeros(tail.size),
            potential=np.zeros(nodes),
            distance=np.zeros(nodes),
            steps=np.zeros(nodes, dtype=np.int32),
            arrived=np.full(nodes, kernels.NONE, dtype=np.int32),
            done=np.zeros(nodes, dtype=np.bool_),
            keys=np.zeros(arc.size + 1),
            hops=np.zeros(arc.size + 1, dtype=np.int32),
            heap=np.zeros(arc.size + 1, dtype=np.int32),
        )

    @property
    def arcs(self) -> int:
        """Number of arcs."""
        return self._streets.tail.size

    def send(
        self,
        arc: int,
        upward: bool,
        need: float,
        up: Floats,
        down: Floats,
        price_up: Floats,
        price_down: Floats,
    ) -> Sent:
        """The cheapest deviations with `need` on the arc, up or down, or with as much as is possible.

        Room and prices are by arc, not negative; infinite room means no limit, an infinite price that an arc is
        closed on that side. `need` is finite.
        """
        limits = self._checked(arc, need, up, down, price_up, price_down)
        amount, paths = self._kernels.send(self._streets, limits, arc, upward, need)
        return _sent(self._streets.flow, limits, amount, paths)

    def slide(
        self,
        arc: int,
        need: float,
        up: Floats,
        down: Floats,
        price_up: Floats,
        price_down: Floats,
        *,
        least_up: float = 0.0,
        least_down: float = 0.0,
    ) -> tuple[Sent, Sent]:
        """The cheapest deviations f, g, one up and one down, with ``f[arc] - g[arc] = need``: one combined problem.

        How much each side has of it is decided by cost; `least_up` and `least_down` are its least parts. The number
        of paths is that of both together.
        """
        limits = self._checked(arc, need, up, down, price_up, price_down)
        if not (0.0 <= least_up < np.inf and 0.0 <= least_down < np.inf):
            raise ValueError("least parts must be finite and not negative")
        names = ("flow", "potential", "distance", "steps", "arrived", "done")
        fall = self._streets._replace(**{name: getattr(self._streets, name).copy() for name in names})
        rise = self._streets
        high, low, paths = self._kernels.slide(rise, fall, limits, arc, need, least_up, least_down)
        return _sent(rise.flow, limits, high, paths), _sent(fall.flow, limits, low, paths)

    def _checked(self, arc: int, need: float, *sides: Floats) -> Limits:
        """Room and prices as the kernels want them."""
        arrays = [np.ascontiguousarray(side, dtype=np.float64) for side in sides]
        if not 0 <= arc < self.arcs:
            raise IndexError(f"no arc {arc} among {self.arcs}")
        if any(side.shape != (self.arcs,) or not (side >= 0.0).all() for side in arrays):
            raise ValueError("room and prices must be numbers by arc, not negative")
        if not 0.0 <= need < np.inf:
            raise ValueError("need must be finite and not negative")
        return self._kernels.Limits(*arrays)


def _sent(flow: Floats, limits: Limits, amount: float, paths: float) -> Sent:
    """The answer, with its cost."""
    used = np.flatnonzero(flow)
    price = np.where(flow[used] > 0, limits.price_up[used], limits.price_down[used])
    return Sent(flow.copy(), amount, float(np.abs(flow[used]) @ price), int(paths))
