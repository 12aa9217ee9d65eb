"""Compiled kernels about cycles: the short-path probe, strong components, bridges.

They work on the `Net` of `tablecloak.solvers.kernels.max_flow`; see there for its arrays.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, float64, int64, types

from tablecloak.arrays import Bools, Codes, Floats
from tablecloak.solvers.kernels.compiling import bools_type, compiled, floats_type, ints_type
from tablecloak.solvers.kernels.max_flow import UNSEEN, Net, net_type, reach

# ----------------------------------------------------------------------------------- short-path probe


@compiled(types.Tuple((boolean, int64))(net_type, int64, int64, int64, float64, int64))
def _two_steps(net: Net, start: int, end: int, avoid: int, limit: float, budget: int) -> tuple[bool, int]:
    """Is there a path start - x - end, x not `avoid`, whose two arcs have a capacity of `limit`?

    Merges the two sorted lists; gives the answer and what is left of the budget of steps.
    """
    target = net.target
    i, i_end = net.first[start], net.first[start + 1]
    j, j_end = net.first[end], net.first[end + 1]
    while i < i_end and j < j_end and budget > 0:
        budget -= 1
        if target[i] < target[j]:
            i += 1
        elif target[i] > target[j]:
            j += 1
        elif net.entry_capacity[i] < limit or target[i] == avoid:
            i += 1
        elif net.entry_capacity[net.mirror[j]] < limit:
            j += 1
        else:
            return True, budget
    return False, budget


@compiled(boolean(net_type, int64, float64, int64))
def _short_cycle(net: Net, own: int, limit: float, budget: int) -> bool:
    """Do at most three arcs with a capacity of `limit` close a cycle with entry `own`?"""
    back = net.mirror[own]
    start, end = net.target[own], net.target[back]
    begin, stop = net.first[start], net.first[start + 1]
    entry = back - 1  # parallel arcs lie on both sides of the own one
    while entry >= begin and net.target[entry] == end:
        if net.entry_capacity[entry] >= limit:
            return True
        entry -= 1
    entry = back + 1
    while entry < stop and net.target[entry] == end:
        if net.entry_capacity[entry] >= limit:
            return True
        entry += 1
    left = budget
    for entry in range(begin, stop):
        if net.entry_capacity[entry] >= limit and net.target[entry] != end:
            found, left = _two_steps(net, net.target[entry], end, start, limit, left)
            if found:
                return True
            if left <= 0:
                break
    found, left = _two_steps(net, start, end, end, limit, budget)
    return bool(found)


@compiled(types.UniTuple(bools_type, 2)(net_type, ints_type, floats_type, floats_type, int64))
def probe(net: Net, arcs: Codes, up: Floats, down: Floats, budget: int) -> tuple[Bools, Bools]:
    """For each queried arc, upward and downward: is its limit zero, or does a cycle of at most four arcs certify it?"""
    upward, downward = np.zeros(arcs.size, np.bool_), np.zeros(arcs.size, np.bool_)
    for side in range(2):
        limits, certified = (down, downward) if side else (up, upward)
        for k in range(arcs.size):
            entry, limit = net.place[arcs[k]], limits[k]
            if limit <= 0.0:
                certified[k] = True
            elif limit < np.inf and limit <= net.capacity[2 * arcs[k] + side]:
                own = net.mirror[entry] if side else entry
                certified[k] = entry < 0 or _short_cycle(net, own, limit, budget)
    return upward, downward


@compiled(int64(net_type, ints_type, floats_type, floats_type, float64, int64))
def settle(net: Net, arcs: Codes, up: Floats, down: Floats, eps: float, budget: int) -> int:
    """Replace limits by what is reached, the cheap way where the probe certifies it; gives the number of flows."""
    certified_up, certified_down = probe(net, arcs, up, down, budget)
    left_up, left_down = np.where(certified_up, 0.0, up), np.where(certified_down, 0.0, down)
    reach(net, arcs, left_up, left_down, eps)
    flows = 0
    for k in range(arcs.size):
        if not certified_up[k]:
            up[k] = left_up[k]
            flows += 1
        if not certified_down[k]:
            down[k] = left_down[k]
            flows += 1
    return flows


# ----------------------------------------------------------------------- strong components and bridges


@compiled(ints_type(net_type, float64))
def strong_components(net: Net, eps: float) -> Codes:
    """Number of the strongly connected component of each node, by entries with capacity (Tarjan 1972)."""
    nodes = net.first.size - 1
    component, order = np.full(nodes, UNSEEN, np.int32), np.full(nodes, UNSEEN, np.int32)
    low, stack = np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    caller = np.full(nodes, UNSEEN, np.int32)
    cursor = net.first[:-1].copy()
    height, seen, components = 0, 0, 0
    for root in range(nodes):
        node = root if order[root] == UNSEEN else UNSEEN
        while node != UNSEEN:
            if order[node] == UNSEEN:
                order[node] = low[node] = seen
                stack[height] = node
                seen, height = seen + 1, height + 1
            if cursor[node] < net.first[node + 1]:
                entry = cursor[node]
                cursor[node] += 1
                neighbour = net.target[entry]
                if net.entry_capacity[entry] <= eps or component[neighbour] != UNSEEN:
                    continue
                if order[neighbour] == UNSEEN:
                    caller[neighbour] = node
                    node = neighbour
                else:
                    low[node] = min(low[node], order[neighbour])
                continue
            if low[node] == order[node]:
                while component[node] == UNSEEN:
                    height -= 1
                    component[stack[height]] = components
                components += 1
            above = caller[node]
            if above != UNSEEN:
                low[above] = min(low[above], low[node])
            node = above
    return component


@compiled(bools_type(net_type, bools_type))
def _bridges(net: Net, usable: Bools) -> Bools:
    """Mark both entries of each bridge of the undirected multigraph of the usable ones (Tarjan 1974)."""
    nodes = net.first.size - 1
    bridge = np.zeros(net.target.size, np.bool_)
    order, low = np.full(nodes, UNSEEN, np.int32), np.empty(nodes, np.int32)
    way_back = np.full(nodes, UNSEEN, np.int32)  # the entry that leads back to where the search came from
    cursor = net.first[:-1].copy()
    seen = 0
    for root in range(nodes):
        if order[root] != UNSEEN:
            continue
        node = root
        order[root] = low[root] = seen
        seen += 1
        while True:
            if cursor[node] < net.first[node + 1]:
                entry = cursor[node]
                cursor[node] += 1
                neighbour = net.target[entry]
                if not usable[entry] or entry == way_back[node]:
                    continue
                if order[neighbour] != UNSEEN:
                    low[node] = min(low[node], order[neighbour])
                else:
                    order[neighbour] = low[neighbour] = seen
                    seen += 1
                    way_back[neighbour] = net.mirror[entry]
                    node = neighbour
            elif way_back[node] != UNSEEN:
                back = way_back[node]
                above = net.target[back]
                low[above] = min(low[above], low[node])
                if low[node] > order[above]:
                    bridge[back] = bridge[net.mirror[back]] = True
                node = above
            else:
                break
    return bridge


@compiled(bools_type(net_type, bools_type))
def bridges(net: Net, usable: Bools) -> Bools:
    """By arc: is it a bridge among the usable arcs? A self loop is never one."""
    entries = np.zeros(net.target.size, np.bool_)
    for arc in range(usable.size):
        if usable[arc] and net.place[arc] >= 0:
            entries[net.place[arc]] = entries[net.mirror[net.place[arc]]] = True
    marked, bridge = _bridges(net, entries), np.zeros(usable.size, np.bool_)
    for arc in range(usable.size):
        bridge[arc] = net.place[arc] >= 0 and marked[net.place[arc]]
    return bridge


@compiled(bools_type(net_type, float64))
def open_arcs(net: Net, eps: float) -> Bools:
    """By arc: has it capacity?"""
    return (net.capacity[0::2] > eps) | (net.capacity[1::2] > eps)


@compiled(bools_type(net_type, float64))
def undetermined(net: Net, eps: float) -> Bools:
    """By arc: has it capacity, are its ends strongly connected, and is it no bridge among such arcs?"""
    component, inside = strong_components(net, eps), open_arcs(net, eps)
    for arc in range(inside.size):
        entry = net.place[arc]
        if entry >= 0 and component[net.target[entry]] != component[net.target[net.mirror[entry]]]:
            inside[arc] = False
    return inside & ~bridges(net, inside)
