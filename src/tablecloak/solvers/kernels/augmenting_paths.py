"""Compiled shortest augmenting paths that open arcs at a price, until one arc can deviate as required.

The deviation is a flow around the arc, built from shortest augmenting paths. An arc that is open already costs nothing,
another one its price, more if its residual capacity is a part of what is needed: price * max(1, need / residual).

Importing this module imports numba, so nothing imports it at the top of a file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, typeof, void

from tablecloak.arrays import Bools, Codes, Floats
from tablecloak.solvers.kernels.compiling import compiled, floats_type
from tablecloak.solvers.tolerances import HALF_UNIT, LEVEL_NOISE

NONE = -1
NEARLY = 0.03
"""Maximum excess of an arc of a blocking flow over a shortest path, as a share of the whole path."""


class PathOpeningArrays(NamedTuple):
    """A network with prices: entries of a node sorted by price, and lists of the arcs that are open."""

    first: Codes  # the entries of node v are first[v] to first[v + 1], cheapest first
    target: Codes
    arc: Codes  # of each entry
    forward: Bools  # whether the entry goes with its arc
    price: Floats  # by arc
    is_open: Bools  # by arc
    opened: Codes  # by node: its latest open entry, or NONE
    before: Codes  # by entry: the open entry of the same node before it
    entries: Codes  # by arc: 2 * arc the entry at its tail, 2 * arc + 1 that at its head
    flow: Floats  # by arc: the deviation so far; zero between searches
    used: Codes  # the arcs with flow, and whether an arc is one of them
    in_flow: Bools
    distance: Floats
    arrived: Codes  # by node: the entry by which the shortest path arrives
    done: Bools
    keys: Floats
    heap: Codes
    length: Codes  # a single number: how many of `used` there are


_i, _f, _b = np.zeros(0, np.int32), np.zeros(0, np.float64), np.zeros(0, np.bool_)
arrays_type = typeof(
    PathOpeningArrays(_i, _i, _i, _b, _f, _b, _i, _i, _i, _f, _i, _b, _f, _i, _b, _f, _i, _i)
)


@compiled(void(arrays_type, int64))
def open_arc(net: PathOpeningArrays, arc: int) -> None:
    """Open an arc: it costs nothing from now on."""
    if net.is_open[arc]:
        return
    net.is_open[arc] = True
    for entry in (net.entries[2 * arc], net.entries[2 * arc + 1]):
        if entry >= 0:
            other = net.entries[2 * arc + 1] if entry == net.entries[2 * arc] else net.entries[2 * arc]
            node = net.target[other]
            net.before[entry] = net.opened[node]
            net.opened[node] = entry


@compiled(int64(arrays_type, int64, float64, int64))
def _push(net: PathOpeningArrays, size: int, key: float, node: int) -> int:
    keys, heap = net.keys, net.heap
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if keys[above] <= key:
            break
        keys[place], heap[place] = keys[above], heap[above]
        place = above
    keys[place], heap[place] = key, node
    return size + 1


@compiled(int64(arrays_type, int64))
def _drop_first(net: PathOpeningArrays, size: int) -> int:
    keys, heap = net.keys, net.heap
    size -= 1
    key, node = keys[size], heap[size]
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and keys[below + 1] < keys[below]:
            below += 1
        if keys[below] >= key:
            break
        keys[place], heap[place] = keys[below], heap[below]
        place = below
    keys[place], heap[place] = key, node
    return size


@compiled(boolean(arrays_type, floats_type, floats_type, int64, int64, int64, float64, float64))
def _shortest(
    net: PathOpeningArrays,
    up: Floats,
    down: Floats,
    source: int,
    sink: int,
    own: int,
    need: float,
    step: float,
) -> bool:
    """Dijkstra from source to sink; lists are left as soon as they cannot lead to a cheaper path."""
    distance, arrived, done = net.distance, net.arrived, net.done
    distance[:] = np.inf
    done[:] = False
    distance[source], arrived[source] = 0.0, NONE
    size = _push(net, 0, 0.0, source)
    while size > 0:
        node, here = net.heap[0], net.keys[0]
        size = _drop_first(net, size)
        if done[node]:
            continue
        if node == sink:
            return True
        done[node] = True
        entry, free = net.opened[node], True
        place = net.first[node]
        while True:
            if free and entry == NONE:
                free = False
            if not free:
                if place == net.first[node + 1]:
                    break
                entry = place
                place += 1
            arc = net.arc[entry]
            if not free and (net.is_open[arc] or arc == own):
                continue
            if not free and here + net.price[arc] >= distance[sink]:
                break
            if arc != own and not done[net.target[entry]]:
                residual = up[arc] - net.flow[arc] if net.forward[entry] else down[arc] + net.flow[arc]
                if residual > min(LEVEL_NOISE * need, HALF_UNIT):
                    cost = step if free else step + net.price[arc] * max(1.0, need / residual)
                    other = net.target[entry]
                    if here + cost < distance[other] and here + cost < distance[sink]:
                        distance[other], arrived[other] = here + cost, entry
                        size = _push(net, size, here + cost, other)
            if free:
                entry = net.before[entry]
    return False


@compiled(float64(arrays_type, floats_type, floats_type, int64))
def _residual(net: PathOpeningArrays, up: Floats, down: Floats, entry: int) -> float:
    """Residual capacity of an entry."""
    arc = net.arc[entry]
    residual: float = up[arc] - net.flow[arc] if net.forward[entry] else down[arc] + net.flow[arc]
    return residual


@compiled(int64(arrays_type, int64))
def _start_of(net: PathOpeningArrays, entry: int) -> int:
    """The node that an entry leaves."""
    arc = net.arc[entry]
    other = net.entries[2 * arc + 1] if net.forward[entry] else net.entries[2 * arc]
    node: int = net.target[other]
    return node


@compiled(float64(arrays_type, floats_type, floats_type, int64, int64, float64))
def _augment(net: PathOpeningArrays, up: Floats, down: Floats, source: int, sink: int, most: float) -> float:
    """Send flow along the path just found, up to its residual capacity and `most`; opens its arcs."""
    amount, node = most, sink
    while node != source:
        entry = net.arrived[node]
        amount = min(amount, _residual(net, up, down, entry))
        node = _start_of(net, entry)
    node = sink
    while node != source:
        entry = net.arrived[node]
        arc = net.arc[entry]
        net.flow[arc] += amount if net.forward[entry] else -amount
        if not net.in_flow[arc]:
            net.in_flow[arc] = True
            net.used[net.length[0]] = arc
            net.length[0] += 1
        open_arc(net, arc)
        node = _start_of(net, entry)
    return amount


@compiled(float64(arrays_type, floats_type, floats_type, int64, int64, int64, float64, float64))
def _augment_all(
    net: PathOpeningArrays,
    up: Floats,
    down: Floats,
    source: int,
    sink: int,
    own: int,
    most: float,
    step: float,
) -> float:
    """A blocking flow on the arcs that are nearly on shortest paths; gives what was sent.

    After `_shortest`: an arc u -> v may be used if d(u) < d(v) and d(u) + cost <= d(v) + NEARLY * d(sink).
    """
    distance, done = net.distance, net.done
    slack = NEARLY * distance[sink]
    place = net.first[:-1].copy()  # the entry of each node that is looked at next
    sent, node = 0.0, source
    while most - sent > min(LEVEL_NOISE * most, HALF_UNIT):
        if node == sink:
            sent += _augment(net, up, down, source, sink, most - sent)
            node = source
            continue
        if place[node] == net.first[node + 1]:
            if node == source:
                break
            entry = net.arrived[node]
            node = _start_of(net, entry)
            place[node] += 1
            continue
        entry = place[node]
        arc, other = net.arc[entry], net.target[entry]
        fits = arc != own and (done[other] or other == sink) and distance[node] < distance[other]
        if fits:
            residual = _residual(net, up, down, entry)
            fits = residual > min(LEVEL_NOISE * most, HALF_UNIT)
            if fits:
                cost = step if net.is_open[arc] else step + net.price[arc] * max(1.0, most / residual)
                fits = distance[node] + cost <= distance[other] + slack
        if fits:
            net.arrived[other] = entry
            node = other
        else:
            place[node] += 1
    return sent


@compiled(void(arrays_type))
def clear_flow(net: PathOpeningArrays) -> None:
    """Set the flow back to zero."""
    for k in range(net.length[0]):
        net.flow[net.used[k]] = 0.0
        net.in_flow[net.used[k]] = False
    net.length[0] = 0


@compiled(float64(arrays_type, floats_type, floats_type, int64, boolean, float64, float64, int64, boolean))
def open_paths(
    net: PathOpeningArrays,
    up: Floats,
    down: Floats,
    own: int,
    upward: bool,
    need: float,
    step: float,
    most: int,
    blocking: bool,
) -> float:
    """Open arcs so that arc `own` can deviate by `need` more than the flow so far, by `most` searches at most.

    Each search gives one path, or a blocking flow if `blocking`. The result is what is missing then, or minus that
    if it is impossible. The flow stays: call it again to go on, and `clear_flow` in the end.
    """
    tail_entry, head_entry = net.entries[2 * own], net.entries[2 * own + 1]
    if tail_entry < 0:
        return 0.0
    head, tail = net.target[tail_entry], net.target[head_entry]
    source, sink = (head, tail) if upward else (tail, head)
    missing = need
    for _ in range(most):
        if missing <= min(LEVEL_NOISE * need, HALF_UNIT):
            return 0.0
        if not _shortest(net, up, down, source, sink, own, missing, step):
            return -missing
        if blocking:
            missing -= _augment_all(net, up, down, source, sink, own, missing, step)
        else:
            missing -= _augment(net, up, down, source, sink, missing)
    return max(missing, 0.0)
