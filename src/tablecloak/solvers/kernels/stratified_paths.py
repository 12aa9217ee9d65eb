"""Compiled shortest paths with strata, and the protection that they give: the inner loop of Castro (2007).

A sensitive cell p is the arc s -> t. A path from t to s is walked both ways: with it p and the cells walked forward
rise and the others fall, against it the reverse. So one path gives both an upper and a lower protection, to p and to
every other cell on it. Paths of one cell and side share no cell, so that what they give adds up.

An arc is *wide* if it has capacity for the whole level. Keys of paths, the smaller the better:

  by strata   (narrow free arcs, narrow open arcs, C * wide free arcs + their weights + wide open arcs), in that order,
              C open arcs in all: the order of Castro's costs (11) without their huge numbers
  by weight   (narrow free arcs, narrow open arcs, weights of the free arcs); narrow in the direction that is walked

Importing this module imports numba, so nothing imports it at the top of a file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, typeof, void

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.solvers.kernels.compiling import compiled, floats_type, ints_type, longs_type

NONE = -1
OPEN, STAMP, FOUND, OPENED, CHANGED, TRAIL, LEGS = range(7)
"""Places in `counts`."""
FREE_NARROW = 1 << 32
"""Rank of a narrow free arc; a narrow open one has rank 1."""
ENOUGH = 1 - 1e-12


class StratifiedArrays(NamedTuple):
    """A network with weights, capacities and the protection so far."""

    first: Codes  # the entries of node v are first[v] to first[v + 1], lightest first
    target: Codes
    arc: Codes  # of each entry
    forward: Bools  # whether the entry goes with its arc
    entries: Codes  # by arc: 2 * arc the entry at its tail, 2 * arc + 1 that at its head
    price: Floats  # of each entry: the weight of its arc
    path_capacity: (
        Floats  # 2 * entry: of its arc when the path is walked back, 2 * entry + 1: when it is walked
    )
    taken: Bools  # of each entry: whether its arc is open
    capacity: Floats  # 2 * arc: how far it may fall, 2 * arc + 1: how far it may rise
    alone: Bools  # by arc: the cell of one single contributor
    is_open: Bools  # by arc: hidden
    opened: Codes  # by node: its latest open entry, or NONE
    before: Codes  # by entry: the open entry of the same node before it
    used: Codes  # by arc: stamp of the level that walked it last
    reached: Floats  # 2 * arc: how far it is known to fall, 2 * arc + 1: to rise
    witness: Ints  # as reached: the number of the path behind it, or NONE
    new: Codes  # arcs opened for the present level
    changed: Ints  # places of reached changed for the present level,
    old_reached: Floats  # what was there before,
    old_witness: Ints
    trail: Codes  # arcs of the paths of the present level, its own arc first in each
    legs: Codes  # where each of these paths ends in the trail
    rank: Ints  # by node
    cost: Floats
    arrived: Codes  # by node: the entry by which the best path arrives
    done: Bools
    ranks: Ints  # the heap
    costs: Floats
    heap: Codes
    counts: Ints


_i, _l, _f, _b = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.float64), np.zeros(0, np.bool_)
arrays_type = typeof(
    StratifiedArrays(
        _i, _i, _i, _b, _i, _f, _f, _b, _f, _b, _b, _i, _i, _i, _f, _l, _i, _l, _f, _l, _i, _i, _l, _f, _i, _b, _l, _f,
        _i, _l,
    )
)  # fmt: skip


class PathQuery(NamedTuple):
    """A search: a path from `source` to `sink` along which arc `own` can deviate."""

    source: int
    sink: int
    own: int
    rising: bool
    level: float  # arcs with at least this capacity are wide
    base: float  # added to the weight of a free arc
    step: float  # cost of an open arc
    by_weight: bool
    only_open: bool
    avoid: bool  # leave out the cells of single contributors


query_type = typeof(PathQuery(0, 0, 0, False, 0.0, 0.0, 0.0, False, False, False))


@compiled(int64(arrays_type, int64))
def start_of(net: StratifiedArrays, entry: int) -> int:
    """The node that an entry starts from."""
    arc = net.arc[entry]
    other = net.entries[2 * arc + 1] if net.forward[entry] else net.entries[2 * arc]
    return int(net.target[other])


@compiled(void(arrays_type, int64))
def open_arc(net: StratifiedArrays, arc: int) -> None:
    """Hide a cell."""
    if net.is_open[arc]:
        return
    net.is_open[arc] = True
    net.counts[OPEN] += 1
    net.new[net.counts[OPENED]] = arc
    net.counts[OPENED] += 1
    for entry in (net.entries[2 * arc], net.entries[2 * arc + 1]):
        if entry >= 0:
            node = start_of(net, entry)
            net.before[entry] = net.opened[node]
            net.opened[node] = entry
            net.taken[entry] = True


@compiled(void(arrays_type, longs_type))
def open_all(net: StratifiedArrays, arcs: Ints) -> None:
    """Hide cells."""
    for arc in arcs:
        open_arc(net, arc)


@compiled(boolean(arrays_type, query_type))
def _along_open(net: StratifiedArrays, query: PathQuery) -> bool:
    """Breadth first over wide open arcs: no other path is as cheap as one of these."""
    arrived, heap, path_capacity, stamp = net.arrived, net.heap, net.path_capacity, net.counts[STAMP]
    least, rising = query.level * ENOUGH, 1 if query.rising else 0
    arrived[:] = NONE
    heap[0], head, tail = query.source, 0, 1
    while head < tail:
        entry = net.opened[heap[head]]
        head += 1
        while entry != NONE:
            other, arc, capacity = net.target[entry], net.arc[entry], path_capacity[2 * entry + rising]
            if not query.by_weight:
                capacity = min(capacity, path_capacity[2 * entry + 1 - rising])
            if (
                arrived[other] == NONE and other != query.source and capacity >= least
                and net.is_open[arc] and net.used[arc] != stamp and not (query.avoid and net.alone[arc])
            ):  # fmt: skip
                arrived[other] = entry
                if other == query.sink:
                    return True
                heap[tail] = other
                tail += 1
            entry = net.before[entry]
    return False


@compiled(int64(longs_type, floats_type, ints_type, int64, int64, float64, int64))
def _push(ranks: Ints, costs: Floats, heap: Codes, size: int, rank: int, cost: float, node: int) -> int:
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if ranks[above] < rank or (ranks[above] == rank and costs[above] <= cost):
            break
        ranks[place], costs[place], heap[place] = ranks[above], costs[above], heap[above]
        place = above
    ranks[place], costs[place], heap[place] = rank, cost, node
    return size + 1


@compiled(int64(longs_type, floats_type, ints_type, int64))
def _drop_first(ranks: Ints, costs: Floats, heap: Codes, size: int) -> int:
    size -= 1
    rank, cost, node = ranks[size], costs[size], heap[size]
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and (
            ranks[below + 1] < ranks[below]
            or (ranks[below + 1] == ranks[below] and costs[below + 1] < costs[below])
        ):
            below += 1
        if ranks[below] > rank or (ranks[below] == rank and costs[below] >= cost):
            break
        ranks[place], costs[place], heap[place] = ranks[below], costs[below], heap[below]
        place = below
    ranks[place], costs[place], heap[place] = rank, cost, node
    return size


@compiled(float64(arrays_type, query_type, boolean))
def _last(net: StratifiedArrays, query: PathQuery, narrow: bool) -> float:
    """No path has a last arc that costs less; infinite if no arc leads to the sink."""
    entry = net.opened[query.sink]
    while entry != NONE:
        if net.is_open[net.arc[entry]] and net.used[net.arc[entry]] != net.counts[STAMP]:
            return 0.0 if narrow else query.step
        entry = net.before[entry]
    if not query.only_open:
        back = 0 if query.rising else 1  # the capacity when the entry is walked back
        for place in range(net.first[query.sink], net.first[query.sink + 1]):
            if not net.taken[place] and net.path_capacity[2 * place + back] >= (
                0.0 if narrow else query.level * ENOUGH
            ):
                return float(query.base + net.price[place])
    return np.inf


@compiled(boolean(arrays_type, query_type, boolean))
def _shortest(net: StratifiedArrays, query: PathQuery, narrow: bool) -> bool:
    """Dijkstra; lists are left as soon as they cannot lead to a better path. `narrow`: over narrow arcs too.

    Written out in one piece: a call with this many arrays takes longer than the step it would make.
    """
    rank, cost, done, sink, path_capacity = net.rank, net.cost, net.done, query.sink, net.path_capacity
    ranks, costs, heap, stamp = net.ranks, net.costs, net.heap, net.counts[STAMP]
    rising, least, nothing = 1 if query.rising else 0, query.level * ENOUGH, 1e-9 * query.level
    last = _last(net, query, narrow)
    if last == np.inf:
        return False
    rank[:] = np.iinfo(np.int64).max
    cost[:] = np.inf
    done[:] = False
    rank[query.source], cost[query.source] = 0, 0.0
    size = _push(ranks, costs, heap, 0, 0, 0.0, query.source)
    while size > 0:
        node, here_rank, here = heap[0], ranks[0], costs[0]
        size = _drop_first(ranks, costs, heap, size)
        if done[node]:
            continue
        if node == sink:
            return True
        done[node] = True
        entry, hidden = net.opened[node], True
        place, end = net.first[node], net.first[node + 1]
        if query.only_open:
            end = place
        while True:
            if hidden and entry == NONE:
                hidden = False
            if not hidden:
                if place == end:
                    break
                entry = place
                place += 1
            other = net.target[entry]
            new_rank, new = here_rank, here + (query.step if hidden else query.base + net.price[entry])
            if not hidden and (here_rank > rank[sink] or (here_rank == rank[sink] and new >= cost[sink])):
                break
            better = here_rank < rank[other] or (here_rank == rank[other] and new < cost[other])
            if better and net.taken[entry] == hidden and not done[other]:
                capacity = path_capacity[2 * entry + rising]
                size_of = (
                    capacity if query.by_weight else min(capacity, path_capacity[2 * entry + 1 - rising])
                )
                usable = capacity > nothing and (narrow or size_of >= least)
                if usable and (hidden or query.avoid):
                    arc = net.arc[entry]
                    usable = not (query.avoid and net.alone[arc])
                    usable = usable and (not hidden or (net.is_open[arc] and net.used[arc] != stamp))
                if size_of < least:
                    new_rank += 1 if hidden else FREE_NARROW
                    new = here + (0.0 if hidden else net.price[entry])
                ahead = new if other == sink else new + last
                best = new_rank < rank[sink] or (new_rank == rank[sink] and ahead < cost[sink])
                better = new_rank < rank[other] or (new_rank == rank[other] and new < cost[other])
                if usable and best and better:
                    rank[other], cost[other], net.arrived[other] = new_rank, new, entry
                    size = _push(ranks, costs, heap, size, new_rank, new, other)
            if hidden:
                entry = net.before[entry]
    return False


@compiled(boolean(arrays_type, query_type))
def _path(net: StratifiedArrays, query: PathQuery) -> bool:
    """The best path: over wide open arcs if there is one, then over wide arcs, then over all."""
    if _along_open(net, query):
        return True
    if not query.only_open and _shortest(net, query, False):
        return True
    return _shortest(net, query, True)


@compiled(void(arrays_type, int64, float64, int64))
def record(net: StratifiedArrays, place: int, amount: float, witness: int) -> None:
    """Record that a cell can fall (2 * arc) or rise (2 * arc + 1) by an amount; the old entry is kept for `undo`."""
    if amount > net.reached[place]:
        number = net.counts[CHANGED]
        net.changed[number], net.old_reached[number] = place, net.reached[place]
        net.old_witness[number] = net.witness[place]
        net.counts[CHANGED] += 1
        net.reached[place], net.witness[place] = amount, witness


@compiled(void(arrays_type))
def begin(net: StratifiedArrays) -> None:
    """A new level: no arc is walked yet, and nothing before can be undone any more."""
    net.counts[STAMP] += 1
    for place in (OPENED, CHANGED, TRAIL, LEGS):
        net.counts[place] = 0


@compiled(void(arrays_type))
def undo(net: StratifiedArrays) -> None:
    """Take back what was hidden and recorded for the present level."""
    while net.counts[OPENED] > 0:
        net.counts[OPENED] -= 1
        net.counts[OPEN] -= 1
        arc = net.new[net.counts[OPENED]]
        net.is_open[arc] = False
        for entry in (net.entries[2 * arc + 1], net.entries[2 * arc]):  # the reverse of `open_arc`
            net.opened[start_of(net, entry)] = net.before[entry]
            net.taken[entry] = False
    while net.counts[CHANGED] > 0:
        net.counts[CHANGED] -= 1
        number = net.counts[CHANGED]
        place = net.changed[number]
        net.reached[place], net.witness[place] = net.old_reached[number], net.old_witness[number]
    net.counts[TRAIL] = net.counts[LEGS] = 0


@compiled(float64(arrays_type, query_type, boolean))
def _gamma(net: StratifiedArrays, query: PathQuery, rising: bool) -> float:
    """Castro's gamma: how far the arc of the query rises, or falls, along the path just found."""
    gamma = net.capacity[2 * query.own + 1] if rising else net.capacity[2 * query.own]
    node = query.sink
    while node != query.source:
        entry = net.arrived[node]
        gamma = min(gamma, net.path_capacity[2 * entry + rising])
        node = start_of(net, entry)
    return float(gamma)


@compiled(void(arrays_type, query_type, float64, float64, int64))
def _take_path(net: StratifiedArrays, query: PathQuery, fall: float, rise: float, number: int) -> None:
    """Hide the cells of the path, list them, and record the protection that it gives them."""
    at = net.counts[TRAIL]
    net.trail[at] = query.own
    at += 1
    node = query.sink
    while node != query.source:
        entry = net.arrived[node]
        arc = net.arc[entry]
        open_arc(net, arc)
        net.used[arc] = net.counts[STAMP]
        net.trail[at] = arc
        at += 1
        if not query.only_open:
            along, against = (rise, fall) if net.forward[entry] else (fall, rise)
            record(net, 2 * arc + 1, along, number)
            record(net, 2 * arc, against, number)
        node = start_of(net, entry)
    net.counts[TRAIL] = at
    net.legs[net.counts[LEGS]] = at
    net.counts[LEGS] += 1


@compiled(boolean(arrays_type, query_type, int64))
def protect(net: StratifiedArrays, requested: PathQuery, number: int) -> bool:
    """Paths until the arc is known to fall or rise by a level; False, and nothing changed, if they do not suffice.

    Ends and base are filled in here. The first path has this number. `only_open`: hide nothing, record nothing.
    """
    begin(net)
    own, level = requested.own, requested.level
    if net.entries[2 * own] < 0:  # in no equation: nothing ties it
        return bool(net.capacity[2 * own + 1 if requested.rising else 2 * own] >= level * ENOUGH)
    tail, head = start_of(net, net.entries[2 * own]), start_of(net, net.entries[2 * own + 1])
    net.used[own] = net.counts[STAMP]
    fallen, risen = 0.0, 0.0
    while (risen if requested.rising else fallen) < level * ENOUGH:
        need, base = level, float(net.counts[OPEN])
        if requested.by_weight:
            need, base = level - (risen if requested.rising else fallen), requested.step
        query = PathQuery(
            head,
            tail,
            own,
            requested.rising,
            need,
            base,
            requested.step,
            requested.by_weight,
            requested.only_open,
            requested.avoid,
        )
        if not _path(net, query):
            undo(net)
            return False
        fall, rise = _gamma(net, query, False), _gamma(net, query, True)
        _take_path(net, query, fall, rise, number + net.counts[LEGS])
        fallen, risen = fallen + fall, risen + rise
        if not query.only_open:
            net.counts[FOUND] += 1
    if not requested.only_open:
        record(net, 2 * own, min(fallen, net.capacity[2 * own]), number)
        record(net, 2 * own + 1, min(risen, net.capacity[2 * own + 1]), number)
    return True
