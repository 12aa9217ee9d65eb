"""How far the hidden cells of a network-shaped table can deviate: maximum flows on a small multigraph.

The hidden cells of a two-way table, and of one with a single hierarchy, are the arcs of a directed
multigraph whose nodes are the equations. The deviations d of the cells from their true values that leave
every equation satisfied are its circulations: at each node, as much leaves as enters. An attacker knows
``-down <= d <= up`` for each cell, so the largest possible deviation of cell e upward is::

    max d[e] = min(up[e], maximum flow from head[e] to tail[e] without arc e)

where an arc carries flow from tail to head up to its `up` and from head to tail up to its `down`; the
other side likewise. An infinite capacity is allowed and an unbounded range is ``inf``.

The work is done by the compiled kernels of `max_flow`, `connectivity`, `min_cuts` and `bottleneck_paths`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tablecloak.arrays import Bools, Codes, Floats
from tablecloak.solvers import kernels
from tablecloak.solvers.tolerances import CUT_RESIDUAL


@dataclass(frozen=True)
class NetworkSettings:
    """How queries on a network are split and probed."""

    chunk: int = 2_000
    """Number of queries in one compiled call: between two calls interrupts are handled and progress is reported.
    Untested default."""
    probe_steps: int = 3_000
    """Maximum number of steps of the search for a short cycle through one arc in one direction, before a maximum flow
    is computed. Untested default."""


class MaxDeviation(NamedTuple):
    """The deviations that take one arc as far as it can go, and why it goes no further."""

    value: float
    """The distance; ``inf`` if unbounded."""
    deviation: Floats
    """By arc: a circulation within the capacities with +-value on the arc itself. If the value is infinite,
    the direction of a ray (one unit round a cycle of infinite capacities)."""
    source_side: Bools
    """By node: reached in the end from the side where the flow starts. If the value is below both the
    limit and the arc's own capacity, a minimum cut: the capacities that leave this side, without the
    arc's own, add up to the value."""


class Network:
    """Hidden cells as arcs ``tail -> head`` between `nodes` equations, with capacities `up` and `down`.

    `eps`: a residual capacity, or a distance to a limit, of at most this counts as zero. Flows of integral
    data are exact and need none; for data with decimals give a small part of the last decimal, far below
    any limit that matters.

    A network has scratch memory of its own: use it from one thread at a time. Different networks may be
    used by different threads; the compiled code runs without the interpreter lock.
    """

    def __init__(
        self,
        nodes: int,
        tail: ArrayLike,
        head: ArrayLike,
        up: ArrayLike,
        down: ArrayLike,
        *,
        eps: float = 0.0,
        settings: NetworkSettings = NetworkSettings(),
    ) -> None:
        self.nodes = int(nodes)
        self.tail = _numbers(tail, self.nodes, "tail")
        self.head = _numbers(head, self.nodes, "head")
        self.eps, self.settings = float(eps), settings
        if self.tail.shape != self.head.shape:
            raise ValueError("tail and head differ in length")
        if not 0.0 <= self.eps < np.inf:
            raise ValueError("eps must be finite and not negative")
        capacity = np.empty(2 * self.tail.size)
        capacity[0::2], capacity[1::2] = up, down
        if not (capacity >= 0.0).all():
            raise ValueError("capacities must not be negative or nan")
        self._capacity = capacity
        self._net = kernels.FlowArrays(self.nodes, self.tail, self.head, capacity)
        self.tail.flags.writeable = self.head.flags.writeable = False

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_net"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._net = kernels.FlowArrays(self.nodes, self.tail, self.head, self._capacity)

    def __repr__(self) -> str:
        return f"Network(nodes={self.nodes}, arcs={self.arcs}, eps={self.eps:g})"

    @property
    def arcs(self) -> int:
        """Number of arcs."""
        return self.tail.size

    @property
    def capacity(self) -> Floats:
        """The capacities now, two an arc: up at ``2 * arc``, down at ``2 * arc + 1``. Read-only."""
        view = self._capacity.view()
        view.flags.writeable = False
        return view

    def set_capacity(self, arc: int, up: float, down: float) -> None:
        """Give an arc other capacities; ``0, 0`` closes it (the cell is published)."""
        if not 0 <= arc < self.arcs:
            raise IndexError(f"no arc {arc} in {self!r}")
        if not (up >= 0.0 and down >= 0.0):
            raise ValueError("capacities must not be negative or nan")
        kernels.set_capacity(self._net, arc, up, down)

    def reach(
        self,
        arcs: ArrayLike,
        limit_up: ArrayLike = np.inf,
        limit_down: ArrayLike = np.inf,
        *,
        on_chunk: Callable[[int], None] | None = None,
    ) -> tuple[Floats, Floats]:
        """How far each of the arcs can deviate upward and downward, up to its limits.

        A side stops as soon as its limit is reached and then gives the limit itself; with an infinite
        limit it gives the exact range, ``inf`` if unbounded. A limit of zero or less: not computed, 0.
        `on_chunk` is called with the number of arcs done so far, now and then within long computations too; what it
        raises ends them.
        """
        queries = _numbers(arcs, self.arcs, "arcs")
        up, down = _limits(limit_up, queries), _limits(limit_down, queries)
        chunk = self.settings.chunk
        for start in range(0, queries.size, chunk):
            part = slice(start, start + chunk)
            stop = None if on_chunk is None else partial(on_chunk, start)
            kernels.reach(self._net, queries[part], up[part], down[part], self.eps, stop)
            if on_chunk is not None:
                on_chunk(min(start + chunk, queries.size))
        return up, down

    def settle(
        self,
        arcs: ArrayLike,
        limit_up: ArrayLike,
        limit_down: ArrayLike,
        *,
        on_chunk: Callable[[int], None] | None = None,
    ) -> tuple[Floats, Floats, int]:
        """The ranges of `reach`, by `probe` where that suffices; last the number of maximum flows computed.

        A limit of zero or less is given back as it is. `on_chunk` is called with the number of arcs of each chunk, and
        with 0 now and then within long computations; what it raises ends them.
        """
        stop = None if on_chunk is None else partial(on_chunk, 0)
        queries = _numbers(arcs, self.arcs, "arcs")
        up, down = _limits(limit_up, queries), _limits(limit_down, queries)
        flows, chunk = 0, self.settings.chunk
        for start in range(0, queries.size, chunk):
            part = slice(start, start + chunk)
            flows += kernels.settle(
                self._net, queries[part], up[part], down[part], self.eps, self.settings.probe_steps, stop
            )
            if on_chunk is not None:
                on_chunk(queries[part].size)
        return up, down, flows

    def probe(
        self, arcs: ArrayLike, limit_up: ArrayLike, limit_down: ArrayLike, budget: int | None = None
    ) -> tuple[Bools, Bools]:
        """Certify limits the cheap way: by one cycle of at most four arcs, each with a capacity of the limit.

        True is a proof that the arc reaches the limit; false says nothing. A limit of zero or less is
        true, an infinite one false. `budget`: replaces `probe_steps` of the settings.
        """
        queries = _numbers(arcs, self.arcs, "arcs")
        budget = self.settings.probe_steps if budget is None else budget
        return kernels.probe(
            self._net, queries, _limits(limit_up, queries), _limits(limit_down, queries), budget
        )

    def max_deviation(self, arc: int, upward: bool, limit: float = np.inf) -> MaxDeviation:
        """The deviations behind one answer of `reach`, and the cut that bounds it."""
        if not 0 <= arc < self.arcs:
            raise IndexError(f"no arc {arc} in {self!r}")
        if limit != limit:
            raise ValueError("a limit is nan")
        limit = min(float(limit), float(self._capacity[2 * arc + (not upward)]))
        limit = limit if limit > self.eps else 0.0
        found = kernels.max_deviation(self._net, arc, upward, limit, self.eps)
        if found is None:  # a self loop
            found = limit, np.zeros(self.arcs), np.arange(self.nodes) == self.tail[arc]
        value, deviation, source_side = found
        amount = 1.0 if value == np.inf else value
        deviation[arc] = amount if upward else -amount
        return MaxDeviation(value, deviation, source_side)

    def least_cuts(
        self,
        arcs: Codes,
        upward: Bools,
        limits: Floats,
        cap: Floats,
        attacker: Codes,
        boxes: tuple[Floats, Floats],
        x: Floats,
        part: Floats | None = None,
        *,
        noise: float = CUT_RESIDUAL,
    ) -> tuple[Floats, Bools, Bools]:
        """Flows for queries with capacities of their own, and the source sides of their minimum cuts.

        Query q is for arc ``arcs[q]`` and its direction, up to ``limits[q]``, where arc a has capacity
        ``min(up[attacker[q], a], cap[q]) * x[a]`` and likewise down (with ``part[q]`` in place of ``cap[q]`` where
        ``x[a] < 1``). A flow below its limit has two cuts: the one
        nearest to the source and the one nearest to the sink. A residual capacity of at most the share `noise` of
        the limit counts as zero: 0 is exact for integers. The capacities of the network itself are overwritten.
        """
        up, down = (np.ascontiguousarray(side) for side in boxes)
        part = cap if part is None else part
        return kernels.least_cuts(self._net, arcs, upward, limits, cap, part, attacker, up, down, x, noise)

    def meets(self, arcs: Codes, upward: Bools, need: Floats) -> Bools:
        """Whether each of the arcs can deviate by `need`: by paths of maximum capacity, mostly a single short one."""
        return kernels.levels_met(self._net, arcs, upward, need)

    def undetermined(self) -> Bools:
        """By arc: can it deviate at all? Linear time (after Gusfield 1988), the same answer as ``reach > 0``.

        Draw each arc in the directions in which it has capacity. An arc that deviates lies on a directed
        cycle that does not turn back on it: its ends are strongly connected, and within their component,
        seen as undirected, it is no bridge. These two also suffice: were the arc the only connection in
        either direction, it would part its component in two, so be a bridge.
        """
        return kernels.undetermined(self._net, self.eps)

    def bridges(self) -> Bools:
        """By arc: has it capacity and is it the only connection between two parts of the network?"""
        return kernels.bridges(self._net, self.eps)


def _numbers(values: ArrayLike, below: int, name: str) -> Codes:
    """A fresh one-dimensional array of numbers from 0 to below `below`."""
    given = np.asarray(values)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be a one-dimensional array of whole numbers")
    if given.size and not (given.min() >= 0 and given.max() < below):
        raise IndexError(f"{name} must be from 0 to {below - 1}")
    return np.array(given, np.int32)


def _limits(limit: ArrayLike, queries: Codes) -> Floats:
    """A fresh array of one limit a query."""
    limits = np.empty(queries.size)
    limits[:] = limit
    if np.isnan(limits).any():
        raise ValueError("a limit is nan")
    return limits
