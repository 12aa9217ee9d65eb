"""Compiled cheapest routes on a network: which arcs to open so that one arc gets its room, at little cost.

A route is a flow around the arc, built from shortest augmenting paths. An arc that is open already costs nothing,
another one its price, more if it can carry only a part of what is needed: price * max(1, need / room).

Importing this module imports numba, so nothing imports it at the top of a file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, typeof, void
from numpy.typing import NDArray

from tablecloak.solvers.kernels.compiling import compiled, floats_type
from tablecloak.solvers.tolerances import HALF, NOISE

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NONE = -1
NEARLY = 0.03
"""What an arc of a blocking flow may take more than a shortest path, as a share of the whole path."""


class Roads(NamedTuple):
    """A network with prices: entries of a node sorted by price, and lists of the arcs that are open.

    Do not rename or move this class: code that numba has cached on users' disks is filed under its name.
    """

    first: Ints  # the entries of node v are first[v] to first[v + 1], cheapest first
    target: Ints
    arc: Ints  # of each entry
    forward: Bools  # whether the entry goes with its arc
    price: Floats  # by arc
    is_open: Bools  # by arc
    opened: Ints  # by node: its latest open entry, or NONE
    before: Ints  # by entry: the open entry of the same node before it
    entries: Ints  # by arc: 2 * arc the entry at its tail, 2 * arc + 1 that at its head
    flow: Floats  # by arc, of the route under way; zero between routes
    used: Ints  # the arcs of the route under way, and whether an arc is one of them
    in_route: Bools
    distance: Floats
    arrived: Ints  # by node: the entry by which the shortest path arrives
    done: Bools
    keys: Floats
    heap: Ints
    length: Ints  # a single number: how many arcs the route under way uses


_i, _f, _b = np.zeros(0, np.int32), np.zeros(0, np.float64), np.zeros(0, np.bool_)
roads_type = typeof(Roads(_i, _i, _i, _b, _f, _b, _i, _i, _i, _f, _i, _b, _f, _i, _b, _f, _i, _i))


@compiled(void(roads_type, int64))
def open_arc(roads: Roads, arc: int) -> None:
    """From now on the arc costs nothing."""
    if roads.is_open[arc]:
        return
    roads.is_open[arc] = True
    for entry in (roads.entries[2 * arc], roads.entries[2 * arc + 1]):
        if entry >= 0:
            other = roads.entries[2 * arc + 1] if entry == roads.entries[2 * arc] else roads.entries[2 * arc]
            node = roads.target[other]
            roads.before[entry] = roads.opened[node]
            roads.opened[node] = entry


@compiled(int64(roads_type, int64, float64, int64))
def _push(roads: Roads, size: int, key: float, node: int) -> int:
    keys, heap = roads.keys, roads.heap
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if keys[above] <= key:
            break
        keys[place], heap[place] = keys[above], heap[above]
        place = above
    keys[place], heap[place] = key, node
    return size + 1


@compiled(int64(roads_type, int64))
def _drop_first(roads: Roads, size: int) -> int:
    keys, heap = roads.keys, roads.heap
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


@compiled(boolean(roads_type, floats_type, floats_type, int64, int64, int64, float64, float64))
def _shortest(
    roads: Roads, up: Floats, down: Floats, source: int, sink: int, own: int, need: float, step: float
) -> bool:
    """Dijkstra from source to sink; lists are left as soon as they cannot lead to a cheaper path."""
    distance, arrived, done = roads.distance, roads.arrived, roads.done
    distance[:] = np.inf
    done[:] = False
    distance[source], arrived[source] = 0.0, NONE
    size = _push(roads, 0, 0.0, source)
    while size > 0:
        node, here = roads.heap[0], roads.keys[0]
        size = _drop_first(roads, size)
        if done[node]:
            continue
        if node == sink:
            return True
        done[node] = True
        entry, free = roads.opened[node], True
        place = roads.first[node]
        while True:
            if free and entry == NONE:
                free = False
            if not free:
                if place == roads.first[node + 1]:
                    break
                entry = place
                place += 1
            arc = roads.arc[entry]
            if not free and (roads.is_open[arc] or arc == own):
                continue
            if not free and here + roads.price[arc] >= distance[sink]:
                break
            if arc != own and not done[roads.target[entry]]:
                room = up[arc] - roads.flow[arc] if roads.forward[entry] else down[arc] + roads.flow[arc]
                if room > min(NOISE * need, HALF):
                    cost = step if free else step + roads.price[arc] * max(1.0, need / room)
                    other = roads.target[entry]
                    if here + cost < distance[other] and here + cost < distance[sink]:
                        distance[other], arrived[other] = here + cost, entry
                        size = _push(roads, size, here + cost, other)
            if free:
                entry = roads.before[entry]
    return False


@compiled(float64(roads_type, floats_type, floats_type, int64))
def _room(roads: Roads, up: Floats, down: Floats, entry: int) -> float:
    """What still fits through an entry."""
    arc = roads.arc[entry]
    room: float = up[arc] - roads.flow[arc] if roads.forward[entry] else down[arc] + roads.flow[arc]
    return room


@compiled(int64(roads_type, int64))
def _from(roads: Roads, entry: int) -> int:
    """The node that an entry leaves."""
    arc = roads.arc[entry]
    other = roads.entries[2 * arc + 1] if roads.forward[entry] else roads.entries[2 * arc]
    node: int = roads.target[other]
    return node


@compiled(float64(roads_type, floats_type, floats_type, int64, int64, float64))
def _augment(roads: Roads, up: Floats, down: Floats, source: int, sink: int, most: float) -> float:
    """Send what fits, `most` at most, along the path by which nodes were arrived at; opens its arcs."""
    amount, node = most, sink
    while node != source:
        entry = roads.arrived[node]
        amount = min(amount, _room(roads, up, down, entry))
        node = _from(roads, entry)
    node = sink
    while node != source:
        entry = roads.arrived[node]
        arc = roads.arc[entry]
        roads.flow[arc] += amount if roads.forward[entry] else -amount
        if not roads.in_route[arc]:
            roads.in_route[arc] = True
            roads.used[roads.length[0]] = arc
            roads.length[0] += 1
        open_arc(roads, arc)
        node = _from(roads, entry)
    return amount


@compiled(float64(roads_type, floats_type, floats_type, int64, int64, int64, float64, float64))
def _augment_all(
    roads: Roads, up: Floats, down: Floats, source: int, sink: int, own: int, most: float, step: float
) -> float:
    """A blocking flow on the arcs that are nearly on shortest paths; gives what was sent.

    After `_shortest`: an arc u -> v may be used if d(u) < d(v) and d(u) + cost <= d(v) + NEARLY * d(sink).
    """
    distance, done = roads.distance, roads.done
    slack = NEARLY * distance[sink]
    place = roads.first[:-1].copy()  # the entry of each node that is looked at next
    sent, node = 0.0, source
    while most - sent > min(NOISE * most, HALF):
        if node == sink:
            sent += _augment(roads, up, down, source, sink, most - sent)
            node = source
            continue
        if place[node] == roads.first[node + 1]:
            if node == source:
                break
            entry = roads.arrived[node]
            node = _from(roads, entry)
            place[node] += 1
            continue
        entry = place[node]
        arc, other = roads.arc[entry], roads.target[entry]
        fits = arc != own and (done[other] or other == sink) and distance[node] < distance[other]
        if fits:
            room = _room(roads, up, down, entry)
            fits = room > min(NOISE * most, HALF)
            if fits:
                cost = step if roads.is_open[arc] else step + roads.price[arc] * max(1.0, most / room)
                fits = distance[node] + cost <= distance[other] + slack
        if fits:
            roads.arrived[other] = entry
            node = other
        else:
            place[node] += 1
    return sent


@compiled(void(roads_type))
def forget(roads: Roads) -> None:
    """Take the flow off the arcs of a route."""
    for k in range(roads.length[0]):
        roads.flow[roads.used[k]] = 0.0
        roads.in_route[roads.used[k]] = False
    roads.length[0] = 0


@compiled(float64(roads_type, floats_type, floats_type, int64, boolean, float64, float64, int64, boolean))
def route(
    roads: Roads,
    up: Floats,
    down: Floats,
    own: int,
    upward: bool,
    need: float,
    step: float,
    most: int,
    many: bool,
) -> float:
    """Open arcs so that arc `own` can deviate by `need` more than the flow so far, by `most` searches at most.

    Each search gives one path, or a whole blocking flow if `many`. The result is what is missing then, or minus that
    if it is impossible. The flow stays: call it again to go on, and `forget` in the end.
    """
    tail_entry, head_entry = roads.entries[2 * own], roads.entries[2 * own + 1]
    if tail_entry < 0:
        return 0.0
    head, tail = roads.target[tail_entry], roads.target[head_entry]
    source, sink = (head, tail) if upward else (tail, head)
    missing = need
    for _ in range(most):
        if missing <= min(NOISE * need, HALF):
            return 0.0
        if not _shortest(roads, up, down, source, sink, own, missing, step):
            return -missing
        if many:
            missing -= _augment_all(roads, up, down, source, sink, own, missing, step)
        else:
            missing -= _augment(roads, up, down, source, sink, missing)
    return max(missing, 0.0)
