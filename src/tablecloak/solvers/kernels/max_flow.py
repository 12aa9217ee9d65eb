"""Compiled network kernels: adjacency and maximum flow. Those about cycles are in `connectivity`.

Importing this module imports numba and compiles the kernels (seconds, once) or loads them from numba's
cache, so nothing imports it at the top of a file. `tablecloak.solvers.graphs.network` is its typed interface and
only user; it checks every argument, because compiled code checks no index.

An arc is held as two *entries*, one in the adjacency list of each end: the entry in the list of u with
target v is the right to send flow from u to v. The entries of a node are contiguous and sorted by target,
those of parallel arcs by arc number. Capacities and residuals are stored by entry, so that scanning a list
reads memory in order. Self loops have no entries: flow between two nodes never needs one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, typeof, types, void

from tablecloak.arrays import Bools, Codes, Floats
from tablecloak.solvers.kernels.compiling import bools_type, compiled, floats_type, ints_type


class Net(NamedTuple):
    """A network and its scratch memory. Between calls every level is UNSEEN and `residual` equals `entry_capacity`."""

    first: Codes  # the entries of node v are first[v] to first[v + 1]
    target: Codes
    mirror: Codes  # the other entry of the same arc
    place: Codes  # by arc: its entry at the tail, -1 for a self loop
    capacity: Floats  # by arc: up, down
    entry_capacity: Floats  # the same by entry
    residual: Floats
    level: Codes
    cursor: Codes
    stop: Codes
    queue: Codes
    path: Codes
    touched: Codes


UNSEEN = -1
SOURCE_LEVEL = -2  # while labelling, a node at depth k from the source has level SOURCE_LEVEL - k
LARGEST = np.finfo(np.float64).max  # a residual above this is infinite

_i, _f = np.zeros(0, np.int32), np.zeros(0, np.float64)
net_type = typeof(Net(_i, _i, _i, _i, _f, _f, _f, _i, _i, _i, _i, _i, _i))
_step = types.Tuple((boolean, int64, int64))


# ----------------------------------------------------------------------------------------- adjacency


@compiled(types.UniTuple(ints_type, 4)(int64, ints_type, ints_type))
def adjacency(nodes: int, tail: Codes, head: Codes) -> tuple[Codes, Codes, Codes, Codes]:
    """Sorted adjacency lists by two counting sorts: the first four fields of `Net`."""
    first = np.zeros(nodes + 1, np.int32)
    for arc in range(tail.size):
        if tail[arc] != head[arc]:
            first[tail[arc] + 1] += 1
            first[head[arc] + 1] += 1
    for node in range(nodes):
        first[node + 1] += first[node]
    free = first[:-1].copy()
    ends = np.empty(first[nodes], np.int32)  # by node: 2 * arc at its tail, 2 * arc + 1 at its head
    for arc in range(tail.size):
        if tail[arc] != head[arc]:
            ends[free[tail[arc]]] = 2 * arc
            free[tail[arc]] += 1
            ends[free[head[arc]]] = 2 * arc + 1
            free[head[arc]] += 1
    # enter the nodes, in order, into the lists of their neighbours: these come out sorted
    free[:] = first[:-1]
    target, mirror = np.empty_like(ends), np.empty_like(ends)
    place = np.full(2 * tail.size, -1, np.int32)
    for node in range(nodes):
        for k in range(first[node], first[node + 1]):
            arc = ends[k] >> 1
            neighbour = head[arc] if ends[k] == 2 * arc else tail[arc]
            place[ends[k] ^ 1] = free[neighbour]
            target[free[neighbour]] = node
            free[neighbour] += 1
    for k in range(ends.size):
        mirror[place[ends[k]]] = place[ends[k] ^ 1]
    return first, target, mirror, place[::2].copy()


@compiled(net_type(int64, ints_type, ints_type, floats_type))
def compose(nodes: int, tail: Codes, head: Codes, capacity: Floats) -> Net:
    """A network with its scratch memory."""
    first, target, mirror, place = adjacency(nodes, tail, head)
    entry_capacity = np.empty(target.size)
    for arc in range(tail.size):
        if place[arc] >= 0:
            entry_capacity[place[arc]], entry_capacity[mirror[place[arc]]] = (
                capacity[2 * arc],
                capacity[2 * arc + 1],
            )
    level = np.full(nodes, UNSEEN, np.int32)
    cursor, stop = np.zeros(nodes + 1, np.int32), np.zeros(nodes + 1, np.int32)
    queue, path = np.zeros(nodes + 1, np.int32), np.zeros(nodes + 1, np.int32)
    touched = np.zeros(target.size + 1, np.int32)
    return Net(
        first,
        target,
        mirror,
        place,
        capacity,
        entry_capacity,
        entry_capacity.copy(),
        level,
        cursor,
        stop,
        queue,
        path,
        touched,
    )


@compiled(void(net_type, int64, float64, float64))
def set_capacity(net: Net, arc: int, up: float, down: float) -> None:
    """Change one arc everywhere in one call, so that no interrupt falls between."""
    net.capacity[2 * arc], net.capacity[2 * arc + 1] = up, down
    entry = net.place[arc]
    if entry >= 0:
        net.entry_capacity[entry] = net.residual[entry] = up
        net.entry_capacity[net.mirror[entry]] = net.residual[net.mirror[entry]] = down


# -------------------------------------------------------------------------------------- maximum flow


@compiled(_step(net_type, int64, int64, boolean, float64))
def _widen(net: Net, begin: int, end: int, forward: bool, threshold: float) -> tuple[bool, int, int]:
    """Label the nodes one step beyond the outermost layer around the source (forward) or the sink.

    The layer is in the queue from `begin` to before `end`; the sink's side fills the queue from its end.
    Gives whether the other side was met, the new end, and the number of entries the next step has to scan.
    A step that meets the other side takes its labels back: they lie too far.
    """
    level, queue = net.level, net.queue
    stride = 1 if forward else -1
    last, ahead = end, 0
    for k in range(begin, end, stride):
        node = queue[k]
        for entry in range(net.first[node], net.first[node + 1]):
            neighbour = net.target[entry]
            own_side = level[neighbour] < UNSEEN if forward else level[neighbour] > UNSEEN
            if own_side and level[node] != 0:
                continue
            carrier = entry if forward else net.mirror[entry]
            if net.residual[carrier] <= threshold:
                continue
            if own_side:  # one more parallel arc into the sink
                net.stop[neighbour] = carrier + 1
                continue
            if level[neighbour] != UNSEEN:
                for j in range(end, last, stride):
                    level[queue[j]] = UNSEEN
                return True, end, 0
            level[neighbour] = level[node] - stride
            net.cursor[neighbour], net.stop[neighbour] = net.first[neighbour], net.first[neighbour + 1]
            ahead += net.stop[neighbour] - net.cursor[neighbour]
            if level[node] == 0:  # next to the sink: of use are only the arcs into it
                net.cursor[neighbour], net.stop[neighbour] = carrier, carrier + 1
            queue[last] = neighbour
            last += stride
    return False, last, ahead


@compiled(_step(net_type, int64, int64, float64))
def _label(net: Net, source: int, sink: int, threshold: float) -> tuple[bool, int, int]:
    """Breadth-first labels from both ends, the cheaper side next, until they meet.

    Then every shortest path steps down from level to level to the sink's 0: the source's side is complete
    to depth k, the sink's to l, and the shortest length is k + 1 + l. Gives whether there is a path, and
    the parts of the queue that hold the labelled nodes: [:front] and [back + 1:].
    """
    level, queue, first = net.level, net.queue, net.first
    level[source], level[sink] = SOURCE_LEVEL, 0
    net.cursor[source], net.stop[source] = first[source], first[source + 1]
    queue[0], queue[-1] = source, sink
    front_from, front, front_work = 0, 1, int64(first[source + 1] - first[source])
    back_from, back, back_work = queue.size - 1, queue.size - 2, int64(first[sink + 1] - first[sink])
    met = False
    while not met and front_from < front and back_from > back:
        if front_work <= back_work:
            met, reached, front_work = _widen(net, front_from, front, True, threshold)
            if not met:
                front_from, front = front, reached
        else:
            met, reached, back_work = _widen(net, back_from, back, False, threshold)
            if not met:
                back_from, back = back, reached
    if met:
        length = (SOURCE_LEVEL - level[queue[front - 1]]) + 1 + level[queue[back + 1]]
        for k in range(front):
            level[queue[k]] += length - SOURCE_LEVEL
    return met, front, back


@compiled(void(net_type, int64, int64))
def _unlabel(net: Net, front: int, back: int) -> None:
    for k in range(front):
        net.level[net.queue[k]] = UNSEEN
    for k in range(back + 1, net.queue.size):
        net.level[net.queue[k]] = UNSEEN


@compiled(float64(net_type, int64, int64, float64))
def _bound(net: Net, source: int, sink: int, limit: float) -> float:
    """The limit, or less if the arcs at the source or at the sink carry less: most minimum cuts are these."""
    total = 0.0
    for entry in range(net.first[source], net.first[source + 1]):
        total += net.residual[entry]
        if total >= limit:
            break
    limit = min(limit, total)
    total = 0.0
    for entry in range(net.first[sink], net.first[sink + 1]):
        total += net.residual[net.mirror[entry]]
        if total >= limit:
            break
    return min(limit, total)


@compiled(types.Tuple((float64, int64))(net_type, int64, int64, float64, float64, int64, floats_type))
def _block(
    net: Net, source: int, sink: int, wanted: float, threshold: float, count: int, pushed: Floats
) -> tuple[float, int]:
    """Send flow down the levels until `wanted` has arrived or every way is blocked.

    `count` entries are noted in `touched` so far; `pushed`, unless empty, sums up the flow by entry.
    """
    residual, level, cursor, path, mirror = net.residual, net.level, net.cursor, net.path, net.mirror
    flow, depth, node = 0.0, 0, source
    while True:
        if node == sink:
            amount = wanted - flow
            for k in range(depth):
                amount = min(amount, residual[path[k]])
            enough = amount >= wanted - flow
            for k in range(depth - 1, -1, -1):
                entry = path[k]
                residual[entry] -= amount
                residual[mirror[entry]] += amount
                if residual[entry] <= threshold:
                    depth = k
                if count < net.touched.size:
                    net.touched[count] = entry
                    count += 1
                if pushed.size > 0:
                    pushed[entry] += amount
            if enough:
                return wanted, count
            flow += amount
            node = net.target[mirror[path[depth]]]  # go on from the first arc that is full now
        elif cursor[node] < net.stop[node]:
            entry = cursor[node]
            if level[net.target[entry]] == level[node] - 1 and residual[entry] > threshold:
                path[depth] = entry
                depth += 1
                node = net.target[entry]
            else:
                cursor[node] += 1
        elif depth > 0:
            level[node] = UNSEEN  # a dead end
            depth -= 1
            node = net.target[mirror[path[depth]]]
            cursor[node] += 1
        else:
            return flow, count


@compiled(void(net_type, int64, float64, bools_type))
def _spread(net: Net, source: int, eps: float, reached: Bools) -> None:
    """Mark the nodes that the source reaches in the residual network."""
    net.queue[0], last = source, 1
    reached[source] = True
    done = 0
    while done < last:
        node = net.queue[done]
        done += 1
        for entry in range(net.first[node], net.first[node + 1]):
            if net.residual[entry] > eps and not reached[net.target[entry]]:
                reached[net.target[entry]] = True
                net.queue[last] = net.target[entry]
                last += 1


@compiled(float64(net_type, int64, float64, float64, floats_type, bools_type))
def close(net: Net, own: int, limit: float, eps: float, pushed: Floats, source_side: Bools) -> float:
    """Largest flow, at most `limit`, that closes cycles with entry `own` without using its arc (Dinic).

    An infinite flow is looked for first, so that all sums below are finite. `pushed` and `source_side`
    are filled in unless empty: the flow by entry, and the nodes the source still reaches in the end.
    """
    residual, back_entry = net.residual, net.mirror[own]
    source, sink = net.target[own], net.target[back_entry]
    residual[own] = residual[back_entry] = 0.0
    flow, count = 0.0, 0
    wanted = _bound(net, source, sink, limit)
    if wanted == np.inf:
        infinite, front, back = _label(net, source, sink, LARGEST)
        if infinite:
            if pushed.size > 0:  # one unit shows the way
                flow, count = _block(net, source, sink, 1.0, LARGEST, count, pushed)
            flow = np.inf
        _unlabel(net, front, back)
    while flow < wanted - eps:
        met, front, back = _label(net, source, sink, eps)
        if met:
            more, count = _block(net, source, sink, wanted - flow, eps, count, pushed)
            flow = wanted if more >= wanted - flow else flow + more
        _unlabel(net, front, back)
        if not met:
            break
    if source_side.size > 0:
        _spread(net, source, eps, source_side)
    if count < net.touched.size:
        for k in range(count):
            entry = net.touched[k]
            residual[entry] = net.entry_capacity[entry]
            residual[net.mirror[entry]] = net.entry_capacity[net.mirror[entry]]
    else:  # there may have been more than could be noted
        residual[:] = net.entry_capacity
    residual[own], residual[back_entry] = net.entry_capacity[own], net.entry_capacity[back_entry]
    return limit if flow >= limit - eps else flow


@compiled(void(net_type, ints_type, floats_type, floats_type, float64))
def reach(net: Net, arcs: Codes, up: Floats, down: Floats, eps: float) -> None:
    """Replace the limits of the queried arcs by what they can reach upward and downward."""
    no_flows, no_nodes = np.empty(0), np.empty(0, np.bool_)
    for side in range(2):
        limits = down if side else up
        for k in range(arcs.size):
            limit = min(limits[k], net.capacity[2 * arcs[k] + side])
            entry = net.place[arcs[k]]
            if limit <= eps:
                limits[k] = 0.0
            elif entry < 0:
                limits[k] = limit
            else:
                start = net.mirror[entry] if side else entry
                limits[k] = close(net, start, limit, eps, no_flows, no_nodes)
