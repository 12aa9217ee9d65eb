"""Compiled shortest paths with strata, and the protection that they carry: the inner loop of Castro (2007).

A sensitive cell p is the arc s -> t. A path from t to s is walked both ways: with it p and the cells walked forward
rise and the others fall, against it the reverse. So one path gives both an upper and a lower protection, to p and to
every other cell on it. Paths of one cell and side share no cell, so that what they give adds up.

An arc is *wide* if it has room for the whole level. Keys of paths, the smaller the better:

  by strata   (narrow free arcs, narrow open arcs, C * wide free arcs + their weights + wide open arcs), in that order,
              C open arcs in all: the order of Castro's costs (11) without their huge numbers
  by weight   (narrow free arcs, narrow open arcs, weights of the free arcs); narrow in the direction that is walked

Importing this module imports numba, so nothing imports it at the top of a file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, typeof, void
from numpy.typing import NDArray

from tablecloak.solvers.kernels.compiling import compiled, floats_type, ints_type, longs_type

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NONE = -1
OPEN, STAMP, FOUND, OPENED, CHANGED, TRAIL, LEGS = range(7)
"""Places in `counts`."""
FREE_NARROW = 1 << 32
"""Rank of a narrow free arc; a narrow open one has rank 1."""
ENOUGH = 1 - 1e-12


class Strata(NamedTuple):
    """A network with weights, rooms and what has been protected so far.

    Do not rename or move this class: code that numba has cached on users' disks is filed under its name.
    """

    first: Ints  # the entries of node v are first[v] to first[v + 1], lightest first
    target: Ints
    arc: Ints  # of each entry
    forward: Bools  # whether the entry goes with its arc
    entries: Ints  # by arc: 2 * arc the entry at its tail, 2 * arc + 1 that at its head
    price: Floats  # of each entry: the weight of its arc
    way: Floats  # 2 * entry: room of its arc when the path is walked back, 2 * entry + 1: when it is walked
    taken: Bools  # of each entry: whether its arc is open
    room: Floats  # 2 * arc: how far it may fall, 2 * arc + 1: how far it may rise
    alone: Bools  # by arc: the cell of one single contributor
    is_open: Bools  # by arc: hidden
    opened: Ints  # by node: its latest open entry, or NONE
    before: Ints  # by entry: the open entry of the same node before it
    used: Ints  # by arc: stamp of the level that walked it last
    reached: Floats  # 2 * arc: how far it is known to fall, 2 * arc + 1: to rise
    proof: Longs  # as reached: the number of the path that shows it, or NONE
    new: Ints  # arcs opened for the level under way
    changed: Longs  # places of reached changed for the level under way,
    old_reached: Floats  # what was there before,
    old_proof: Longs
    trail: Ints  # arcs of the paths of the level under way, its own arc first in each
    legs: Ints  # where each of these paths ends in the trail
    rank: Longs  # by node
    cost: Floats
    arrived: Ints  # by node: the entry by which the best path arrives
    done: Bools
    ranks: Longs  # the heap
    costs: Floats
    heap: Ints
    counts: Longs


_i, _l, _f, _b = np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.float64), np.zeros(0, np.bool_)
strata_type = typeof(
    Strata(
        _i, _i, _i, _b, _i, _f, _f, _b, _f, _b, _b, _i, _i, _i, _f, _l, _i, _l, _f, _l, _i, _i, _l, _f, _i, _b, _l, _f,
        _i, _l,
    )
)  # fmt: skip


class Aim(NamedTuple):
    """What is looked for: a way from `source` to `sink` that gives arc `own` some room."""

    source: int
    sink: int
    own: int
    rising: bool
    level: float  # arcs with so much room are wide
    base: float  # added to the weight of a free arc
    step: float  # an open arc costs so much
    by_weight: bool
    only_open: bool
    avoid: bool  # leave out the cells of single contributors


aim_type = typeof(Aim(0, 0, 0, False, 0.0, 0.0, 0.0, False, False, False))


@compiled(int64(strata_type, int64))
def start_of(net: Strata, entry: int) -> int:
    """The node that an entry starts from."""
    arc = net.arc[entry]
    other = net.entries[2 * arc + 1] if net.forward[entry] else net.entries[2 * arc]
    return int(net.target[other])


@compiled(void(strata_type, int64))
def open_arc(net: Strata, arc: int) -> None:
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


@compiled(void(strata_type, longs_type))
def open_all(net: Strata, arcs: Longs) -> None:
    """Hide cells."""
    for arc in arcs:
        open_arc(net, arc)


@compiled(boolean(strata_type, aim_type))
def _along_open(net: Strata, aim: Aim) -> bool:
    """Breadth first over wide open arcs: no other path is as cheap as one of these."""
    arrived, heap, way, stamp = net.arrived, net.heap, net.way, net.counts[STAMP]
    least, rising = aim.level * ENOUGH, 1 if aim.rising else 0
    arrived[:] = NONE
    heap[0], head, tail = aim.source, 0, 1
    while head < tail:
        entry = net.opened[heap[head]]
        head += 1
        while entry != NONE:
            other, arc, room = net.target[entry], net.arc[entry], way[2 * entry + rising]
            if not aim.by_weight:
                room = min(room, way[2 * entry + 1 - rising])
            if (
                arrived[other] == NONE and other != aim.source and room >= least
                and net.is_open[arc] and net.used[arc] != stamp and not (aim.avoid and net.alone[arc])
            ):  # fmt: skip
                arrived[other] = entry
                if other == aim.sink:
                    return True
                heap[tail] = other
                tail += 1
            entry = net.before[entry]
    return False


@compiled(int64(longs_type, floats_type, ints_type, int64, int64, float64, int64))
def _push(ranks: Longs, costs: Floats, heap: Ints, size: int, rank: int, cost: float, node: int) -> int:
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
def _drop_first(ranks: Longs, costs: Floats, heap: Ints, size: int) -> int:
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


@compiled(float64(strata_type, aim_type, boolean))
def _last(net: Strata, aim: Aim, narrow: bool) -> float:
    """No path has a last arc that costs less; infinite if no arc leads to the sink."""
    entry = net.opened[aim.sink]
    while entry != NONE:
        if net.is_open[net.arc[entry]] and net.used[net.arc[entry]] != net.counts[STAMP]:
            return 0.0 if narrow else aim.step
        entry = net.before[entry]
    if not aim.only_open:
        back = 0 if aim.rising else 1  # the room when the entry is walked back
        for place in range(net.first[aim.sink], net.first[aim.sink + 1]):
            if not net.taken[place] and net.way[2 * place + back] >= (0.0 if narrow else aim.level * ENOUGH):
                return float(aim.base + net.price[place])
    return np.inf


@compiled(boolean(strata_type, aim_type, boolean))
def _shortest(net: Strata, aim: Aim, narrow: bool) -> bool:
    """Dijkstra; lists are left as soon as they cannot lead to a better path. `narrow`: over narrow arcs too.

    Written out in one piece: a call with this many arrays takes longer than the step it would make.
    """
    rank, cost, done, sink, way = net.rank, net.cost, net.done, aim.sink, net.way
    ranks, costs, heap, stamp = net.ranks, net.costs, net.heap, net.counts[STAMP]
    rising, least, nothing = 1 if aim.rising else 0, aim.level * ENOUGH, 1e-9 * aim.level
    last = _last(net, aim, narrow)
    if last == np.inf:
        return False
    rank[:] = np.iinfo(np.int64).max
    cost[:] = np.inf
    done[:] = False
    rank[aim.source], cost[aim.source] = 0, 0.0
    size = _push(ranks, costs, heap, 0, 0, 0.0, aim.source)
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
        if aim.only_open:
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
            new_rank, new = here_rank, here + (aim.step if hidden else aim.base + net.price[entry])
            if not hidden and (here_rank > rank[sink] or (here_rank == rank[sink] and new >= cost[sink])):
                break
            better = here_rank < rank[other] or (here_rank == rank[other] and new < cost[other])
            if better and net.taken[entry] == hidden and not done[other]:
                room = way[2 * entry + rising]
                size_of = room if aim.by_weight else min(room, way[2 * entry + 1 - rising])
                usable = room > nothing and (narrow or size_of >= least)
                if usable and (hidden or aim.avoid):
                    arc = net.arc[entry]
                    usable = not (aim.avoid and net.alone[arc])
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


@compiled(boolean(strata_type, aim_type))
def _path(net: Strata, aim: Aim) -> bool:
    """The best path: over wide open arcs if there is one, then over wide arcs, then over all."""
    if _along_open(net, aim):
        return True
    if not aim.only_open and _shortest(net, aim, False):
        return True
    return _shortest(net, aim, True)


@compiled(void(strata_type, int64, float64, int64))
def carry(net: Strata, place: int, amount: float, proof: int) -> None:
    """A path shows that a cell can fall (2 * arc) or rise (2 * arc + 1) so far; the old entry is kept for `undo`."""
    if amount > net.reached[place]:
        number = net.counts[CHANGED]
        net.changed[number], net.old_reached[number] = place, net.reached[place]
        net.old_proof[number] = net.proof[place]
        net.counts[CHANGED] += 1
        net.reached[place], net.proof[place] = amount, proof


@compiled(void(strata_type))
def begin(net: Strata) -> None:
    """A new level: no arc is walked yet, and nothing before can be undone any more."""
    net.counts[STAMP] += 1
    for place in (OPENED, CHANGED, TRAIL, LEGS):
        net.counts[place] = 0


@compiled(void(strata_type))
def undo(net: Strata) -> None:
    """Take back what was hidden and carried for the level under way."""
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
        net.reached[place], net.proof[place] = net.old_reached[number], net.old_proof[number]
    net.counts[TRAIL] = net.counts[LEGS] = 0


@compiled(float64(strata_type, aim_type, boolean))
def _gamma(net: Strata, aim: Aim, rising: bool) -> float:
    """Castro's gamma: how far the arc of the aim rises, or falls, along the path just found."""
    gamma = net.room[2 * aim.own + 1] if rising else net.room[2 * aim.own]
    node = aim.sink
    while node != aim.source:
        entry = net.arrived[node]
        gamma = min(gamma, net.way[2 * entry + rising])
        node = start_of(net, entry)
    return float(gamma)


@compiled(void(strata_type, aim_type, float64, float64, int64))
def _walk(net: Strata, aim: Aim, fall: float, rise: float, number: int) -> None:
    """Hide the cells of the path, note them, and carry its protection to them."""
    at = net.counts[TRAIL]
    net.trail[at] = aim.own
    at += 1
    node = aim.sink
    while node != aim.source:
        entry = net.arrived[node]
        arc = net.arc[entry]
        open_arc(net, arc)
        net.used[arc] = net.counts[STAMP]
        net.trail[at] = arc
        at += 1
        if not aim.only_open:
            along, against = (rise, fall) if net.forward[entry] else (fall, rise)
            carry(net, 2 * arc + 1, along, number)
            carry(net, 2 * arc, against, number)
        node = start_of(net, entry)
    net.counts[TRAIL] = at
    net.legs[net.counts[LEGS]] = at
    net.counts[LEGS] += 1


@compiled(boolean(strata_type, aim_type, int64))
def protect(net: Strata, asked: Aim, number: int) -> bool:
    """Paths until the arc is known to fall or rise by a level; False, and nothing changed, if they do not suffice.

    Ends and base are filled in here. The first path has this number. `only_open`: hide nothing, carry nothing.
    """
    begin(net)
    own, level = asked.own, asked.level
    if net.entries[2 * own] < 0:  # in no equation: nothing ties it
        return bool(net.room[2 * own + 1 if asked.rising else 2 * own] >= level * ENOUGH)
    tail, head = start_of(net, net.entries[2 * own]), start_of(net, net.entries[2 * own + 1])
    net.used[own] = net.counts[STAMP]
    fallen, risen = 0.0, 0.0
    while (risen if asked.rising else fallen) < level * ENOUGH:
        need, base = level, float(net.counts[OPEN])
        if asked.by_weight:
            need, base = level - (risen if asked.rising else fallen), asked.step
        aim = Aim(
            head,
            tail,
            own,
            asked.rising,
            need,
            base,
            asked.step,
            asked.by_weight,
            asked.only_open,
            asked.avoid,
        )
        if not _path(net, aim):
            undo(net)
            return False
        fall, rise = _gamma(net, aim, False), _gamma(net, aim, True)
        _walk(net, aim, fall, rise, number + net.counts[LEGS])
        fallen, risen = fallen + fall, risen + rise
        if not aim.only_open:
            net.counts[FOUND] += 1
    if not asked.only_open:
        carry(net, 2 * own, min(fallen, net.room[2 * own]), number)
        carry(net, 2 * own + 1, min(risen, net.room[2 * own + 1]), number)
    return True
