"""Compiled minimum-cost flows around one arc: successive shortest paths with potentials.

All flows are net deviations d of the arcs. One more unit from tail to head costs ``price_up`` if d >= 0 and gives back
``price_down`` if d < 0, and the other way round; so the cost of each arc is convex and shortest paths of reduced costs
``price + potential[from] - potential[to] >= 0`` stay exact (Dijkstra with a binary heap; of equally short paths one
with the fewest arcs, so that equal prices do not lead into endless small steps).

Reference: Ahuja, Magnanti & Orlin (1993), Network Flows, chapters 9.7 and 14.

Importing this module imports numba, so nothing imports it at the top of a file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, typeof, types

from tablecloak.arrays import Bools, Codes, Floats
from tablecloak.solvers.kernels.compiling import compiled

NONE = -1


class MinCostArrays(NamedTuple):
    """A network and its scratch memory."""

    first: Codes  # the entries of node v are first[v] to first[v + 1]
    target: Codes
    arc: Codes  # of each entry
    forward: Bools  # whether the entry goes with its arc
    tail: Codes  # by arc
    head: Codes  # by arc
    flow: Floats  # by arc: the deviation so far
    potential: Floats  # by node
    distance: Floats  # by node
    steps: Codes  # by node: the arcs of its path
    arrived: Codes  # by node: the entry by which its path arrives
    done: Bools
    keys: Floats  # the heap: distance, arcs, node
    hops: Codes
    heap: Codes


_i, _f, _b = np.zeros(0, np.int32), np.zeros(0, np.float64), np.zeros(0, np.bool_)
arrays_type = typeof(MinCostArrays(_i, _i, _i, _b, _i, _i, _f, _f, _f, _i, _i, _b, _f, _i, _i))


class ArcLimits(NamedTuple):
    """Capacity and price of each arc in both directions."""

    up: Floats
    down: Floats
    price_up: Floats
    price_down: Floats


limits_type = typeof(ArcLimits(_f, _f, _f, _f))


@compiled(int64(arrays_type, int64, float64, int64, int64))
def _push(net: MinCostArrays, size: int, key: float, hop: int, node: int) -> int:
    keys, hops, heap = net.keys, net.hops, net.heap
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if keys[above] < key or (keys[above] == key and hops[above] <= hop):
            break
        keys[place], hops[place], heap[place] = keys[above], hops[above], heap[above]
        place = above
    keys[place], hops[place], heap[place] = key, hop, node
    return size + 1


@compiled(int64(arrays_type, int64))
def _drop_first(net: MinCostArrays, size: int) -> int:
    keys, hops, heap = net.keys, net.hops, net.heap
    size -= 1
    key, hop, node = keys[size], hops[size], heap[size]
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and (
            keys[below + 1] < keys[below]
            or (keys[below + 1] == keys[below] and hops[below + 1] < hops[below])
        ):
            below += 1
        if keys[below] > key or (keys[below] == key and hops[below] >= hop):
            break
        keys[place], hops[place], heap[place] = keys[below], hops[below], heap[below]
        place = below
    keys[place], hops[place], heap[place] = key, hop, node
    return size


@compiled(float64(arrays_type, limits_type, int64, boolean))
def _residual(net: MinCostArrays, limits: ArcLimits, arc: int, forward: bool) -> float:
    """Residual capacity of the arc at its present price."""
    flow: float = net.flow[arc]
    if forward:
        return -flow if flow < 0.0 else float(limits.up[arc]) - flow
    return flow if flow > 0.0 else float(limits.down[arc]) + flow


@compiled(boolean(arrays_type, limits_type, int64, int64, int64, float64))
def _shortest(net: MinCostArrays, limits: ArcLimits, source: int, sink: int, own: int, eps: float) -> bool:
    """Dijkstra from source to sink without arc `own`; then raise the potentials. False: no path."""
    distance, steps, arrived, done = net.distance, net.steps, net.arrived, net.done
    potential, flow = net.potential, net.flow
    distance[:] = np.inf
    done[:] = False
    distance[source], steps[source], arrived[source] = 0.0, 0, NONE
    size = _push(net, 0, 0.0, 0, source)
    while size > 0:
        node, here = net.heap[0], net.keys[0]
        size = _drop_first(net, size)
        if done[node]:
            continue
        done[node] = True
        if node == sink:
            break
        for entry in range(net.first[node], net.first[node + 1]):
            other, arc = net.target[entry], net.arc[entry]
            if done[other] or arc == own:
                continue
            if net.forward[entry]:
                price = -limits.price_down[arc] if flow[arc] < 0.0 else limits.price_up[arc]
            else:
                price = -limits.price_up[arc] if flow[arc] > 0.0 else limits.price_down[arc]
            key = here + max(price + potential[node] - potential[other], 0.0)
            if key > distance[other] or key > distance[sink] or not key < np.inf:
                continue
            if key == distance[other] and steps[node] + 1 >= steps[other]:
                continue
            if _residual(net, limits, arc, net.forward[entry]) <= eps:
                continue
            distance[other], steps[other], arrived[other] = key, steps[node] + 1, entry
            size = _push(net, size, key, steps[other], other)
    if not done[sink]:
        return False
    for node in range(potential.size):
        potential[node] += min(distance[node], distance[sink])
    return True


@compiled(float64(arrays_type, limits_type, int64, int64, float64, float64))
def _augment(net: MinCostArrays, limits: ArcLimits, source: int, sink: int, most: float, eps: float) -> float:
    """Send flow along the path to the sink, up to its residual capacity and `most`."""
    amount, node = most, sink
    while node != source:
        entry = net.arrived[node]
        arc, forward = net.arc[entry], net.forward[entry]
        amount = min(amount, _residual(net, limits, arc, forward))
        node = net.tail[arc] if forward else net.head[arc]
    node = sink
    while node != source:
        entry = net.arrived[node]
        arc, forward = net.arc[entry], net.forward[entry]
        flow = net.flow[arc]
        if _residual(net, limits, arc, forward) - amount > eps:
            net.flow[arc] = flow + amount if forward else flow - amount
        elif forward:
            net.flow[arc] = 0.0 if flow < 0.0 else limits.up[arc]
        else:
            net.flow[arc] = 0.0 if flow > 0.0 else -limits.down[arc]
        node = net.tail[arc] if forward else net.head[arc]
    return amount


@compiled(types.UniTuple(float64, 2)(arrays_type, limits_type, int64, boolean, float64))
def send(net: MinCostArrays, limits: ArcLimits, own: int, upward: bool, need: float) -> tuple[float, float]:
    """The cheapest deviations with `need` on arc `own`, left in ``net.flow``; the amount and the paths."""
    net.flow[:] = 0.0
    need = min(need, limits.up[own] if upward else limits.down[own])
    tail, head = net.tail[own], net.head[own]
    sent, paths = 0.0, 0.0
    if tail == head:
        sent = need
    elif need > 0.0:
        source, sink = (head, tail) if upward else (tail, head)
        net.potential[:] = 0.0
        eps = 1e-12 * need
        while need - sent > eps:
            if not _shortest(net, limits, source, sink, own, eps):
                break
            sent += _augment(net, limits, source, sink, need - sent, eps)
            paths += 1.0
        if need - sent <= eps:
            sent = need
    net.flow[own] = sent if upward else -sent
    return sent, paths


@compiled(types.UniTuple(float64, 3)(arrays_type, arrays_type, limits_type, int64, float64, float64, float64))
def slide(
    rise: MinCostArrays,
    fall: MinCostArrays,
    limits: ArcLimits,
    own: int,
    need: float,
    least_up: float,
    least_down: float,
) -> tuple[float, float, float]:
    """The cheapest two flows, one up in `rise` and one down in `fall`, that are `need` apart on arc `own`.

    Each has its least part first; the rest goes step by step to the side whose next path is cheaper.
    """
    up, paths_up = send(rise, limits, own, True, least_up)
    down, paths_down = send(fall, limits, own, False, least_down)
    tail, head, eps, paths = rise.tail[own], rise.head[own], 1e-12 * need, paths_up + paths_down
    if tail == head:
        if limits.price_up[own] <= limits.price_down[own]:
            up = max(up, min(need - down, limits.up[own]))
        down = max(down, min(need - up, limits.down[own]))
        up = max(up, min(need - down, limits.up[own]))
    elif need - up - down > eps:
        if up == 0.0:
            rise.potential[:] = 0.0
        if down == 0.0:
            fall.potential[:] = 0.0
        more_up = limits.up[own] - up > eps and _shortest(rise, limits, head, tail, own, eps)
        more_down = limits.down[own] - down > eps and _shortest(fall, limits, tail, head, own, eps)
        while need - up - down > eps and (more_up or more_down):
            price_up = rise.potential[tail] + limits.price_up[own] if more_up else np.inf
            price_down = fall.potential[head] + limits.price_down[own] if more_down else np.inf
            if more_up and price_up <= price_down:
                up += _augment(rise, limits, head, tail, min(need - up - down, limits.up[own] - up), eps)
                more_up = limits.up[own] - up > eps and _shortest(rise, limits, head, tail, own, eps)
            else:
                down += _augment(
                    fall, limits, tail, head, min(need - up - down, limits.down[own] - down), eps
                )
                more_down = limits.down[own] - down > eps and _shortest(fall, limits, tail, head, own, eps)
            paths += 1.0
    rise.flow[own], fall.flow[own] = up, -down
    return up, down, paths
