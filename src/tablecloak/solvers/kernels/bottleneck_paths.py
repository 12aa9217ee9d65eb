"""Compiled maximum-capacity paths: whether each arc of a network can deviate as required.

The flow around an arc is built from augmenting paths of the largest possible bottleneck (Dijkstra with min for + and
max for min), on the residual network, so that a "no" is as true as a "yes". The search of a path stops as soon as it
reaches the sink with all that is still missing: most arcs need one short path.

References: Ahuja, Magnanti & Orlin (1993), Network flows, section 7.3; Carvalho & Almeida (2008), where such
paths (without residual arcs) find the protection levels that need no complementary suppression.

Importing this module imports numba, so nothing imports it at the top of a file.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int64, void

from tablecloak.arrays import Bools, Codes, Floats
from tablecloak.solvers.kernels.compiling import bools_type, compiled, floats_type, ints_type
from tablecloak.solvers.kernels.max_flow import Net, compose, net_type

TINY = 1e-9
"""Path widths and shortfalls below this share of the requirement count as zero."""


@compiled(int64(floats_type, ints_type, int64, float64, int64))
def _push(keys: Floats, heap: Codes, size: int, key: float, node: int) -> int:
    """Into a heap with the largest key first."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if keys[above] >= key:
            break
        keys[place], heap[place] = keys[above], heap[above]
        place = above
    keys[place], heap[place] = key, node
    return size + 1


@compiled(int64(floats_type, ints_type, int64))
def _drop_first(keys: Floats, heap: Codes, size: int) -> int:
    size -= 1
    key, node = keys[size], heap[size]
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and keys[below + 1] > keys[below]:
            below += 1
        if keys[below] <= key:
            break
        keys[place], heap[place] = keys[below], heap[below]
        place = below
    keys[place], heap[place] = key, node
    return size


@compiled(float64(net_type, int64, int64, float64, float64, floats_type, ints_type, floats_type, ints_type))
def _widest(
    net: Net,
    source: int,
    sink: int,
    wanted: float,
    least: float,
    width: Floats,
    arrived: Codes,
    keys: Floats,
    heap: Codes,
) -> float:
    """The width of the widest path, at most `wanted`, zero if it is not above `least`; `arrived` holds the path."""
    width[:] = 0.0
    width[source] = wanted
    size = _push(keys, heap, 0, wanted, source)
    while size > 0:
        node, here = heap[0], keys[0]
        size = _drop_first(keys, heap, size)
        if here < width[node]:
            continue
        if node == sink:
            return float(here)
        for entry in range(net.first[node], net.first[node + 1]):
            other = net.target[entry]
            through = min(here, net.residual[entry])
            if through > width[other] and through > least:
                width[other], arrived[other] = through, entry
                if other == sink and through == wanted:
                    return wanted
                size = _push(keys, heap, size, through, other)
    return 0.0


@compiled(void(net_type, ints_type, bools_type, floats_type, bools_type))
def met(net: Net, arcs: Codes, upward: Bools, need: Floats, answer: Bools) -> None:
    """For each query, whether arc `arcs[q]` can deviate by `need[q]` in its direction."""
    nodes = net.first.size - 1
    width, arrived = np.zeros(nodes), np.zeros(nodes, np.int32)
    keys, heap = np.zeros(net.target.size + 2), np.zeros(net.target.size + 2, np.int32)
    residual, mirror = net.residual, net.mirror
    for q in range(arcs.size):
        arc, own = arcs[q], net.place[arcs[q]]
        allowed = net.capacity[2 * arc] if upward[q] else net.capacity[2 * arc + 1]
        missing, least = need[q], TINY * need[q]
        if allowed < need[q] - least:
            answer[q] = False
            continue
        if own < 0:
            answer[q] = True
            continue
        if not upward[q]:
            own = mirror[own]
        source, sink = net.target[own], net.target[mirror[own]]
        residual[own] = residual[mirror[own]] = 0.0
        count = 0
        while missing > least:
            amount = _widest(net, source, sink, missing, least, width, arrived, keys, heap)
            if amount == 0.0:
                break
            node = sink
            while node != source:
                entry = arrived[node]
                residual[entry] -= amount
                residual[mirror[entry]] += amount
                if count < net.touched.size:
                    net.touched[count] = entry
                    count += 1
                node = net.target[mirror[entry]]
            missing -= amount
        answer[q] = missing <= least
        if count < net.touched.size:
            for k in range(count):
                entry = net.touched[k]
                residual[entry], residual[mirror[entry]] = (
                    net.entry_capacity[entry],
                    net.entry_capacity[mirror[entry]],
                )
        else:
            residual[:] = net.entry_capacity
        residual[own], residual[mirror[own]] = net.entry_capacity[own], net.entry_capacity[mirror[own]]


def levels_met(
    nodes: int,
    ends: tuple[Codes, Codes],
    up: Floats,
    down: Floats,
    arcs: Codes,
    upward: Bools,
    need: Floats,
) -> Bools:
    """Whether each of the arcs ``tail -> head`` can deviate by `need`, with capacities `up` and `down`."""
    tail, head = (np.ascontiguousarray(side, dtype=np.int32) for side in ends)
    net = compose(nodes, tail, head, np.ravel(np.column_stack([up, down])).astype(np.float64))
    answer: Bools = np.zeros(arcs.size, dtype=np.bool_)
    met(net, arcs.astype(np.int32), upward, need.astype(np.float64), answer)
    return answer
