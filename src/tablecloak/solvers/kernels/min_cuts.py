"""Compiled separation on networks: for each level the minimum cut at a fractional point.

Importing this module imports numba, so nothing imports it at the top of a file.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, float64, int64, void

from tablecloak.arrays import Bools, Codes, Floats
from tablecloak.solvers.kernels.compiling import bools_type, compiled, floats_type, ints_type
from tablecloak.solvers.kernels.max_flow import Net, _block, _bound, _label, _spread, _unlabel, net_type


@compiled(void(net_type, floats_type, floats_type, floats_type, float64, float64))
def _load(net: Net, up: Floats, down: Floats, x: Floats, cap: float, part: float) -> None:
    """Capacities: min(capacity, cap) where x is 1, min(capacity, part) * x elsewhere."""
    for arc in range(x.size):
        entry = net.place[arc]
        if entry >= 0:
            most = cap if x[arc] >= 1.0 else part
            net.entry_capacity[entry] = min(up[arc], most) * x[arc]
            net.entry_capacity[net.mirror[entry]] = min(down[arc], most) * x[arc]
    net.residual[:] = net.entry_capacity


@compiled(void(net_type, int64, float64, bools_type))
def _spread_back(net: Net, sink: int, eps: float, reaches: Bools) -> None:
    """Mark the nodes that reach the sink in the residual network."""
    net.queue[0], last = sink, 1
    reaches[sink] = True
    done = 0
    while done < last:
        node = net.queue[done]
        done += 1
        for entry in range(net.first[node], net.first[node + 1]):
            if net.residual[net.mirror[entry]] > eps and not reaches[net.target[entry]]:
                reaches[net.target[entry]] = True
                net.queue[last] = net.target[entry]
                last += 1


@compiled(
    void(
        net_type, ints_type, bools_type, floats_type, floats_type, floats_type, ints_type,
        float64[:, ::1], float64[:, ::1], floats_type, float64, floats_type, boolean[:, ::1], boolean[:, ::1],
    )
)  # fmt: skip
def least_cuts(
    net: Net,
    arcs: Codes,
    upward: Bools,
    limits: Floats,
    cap: Floats,
    part: Floats,
    attacker: Codes,
    up: Floats,
    down: Floats,
    x: Floats,
    noise: float,
    flows: Floats,
    near: Bools,
    far: Bools,
) -> None:
    """For query q: the flow (at most limits[q]) that closes cycles with its arc, and its cuts by source side.

    `near` is the smallest source side, `far` the largest one (the rest reaches the sink).
    """
    no_flows = np.empty(0)
    for q in range(arcs.size):
        limit = limits[q]
        eps = noise * limit
        _load(net, up[attacker[q]], down[attacker[q]], x, cap[q], part[q])
        own = net.place[arcs[q]]
        if own < 0:
            flows[q] = limit
            continue
        if not upward[q]:
            own = net.mirror[own]
        back_entry = net.mirror[own]
        source, sink = net.target[own], net.target[back_entry]
        net.residual[own] = net.residual[back_entry] = 0.0
        wanted = _bound(net, source, sink, limit)
        flow = 0.0
        while flow < wanted - eps:
            met, front, back = _label(net, source, sink, eps)
            if met:
                more, _ = _block(net, source, sink, wanted - flow, eps, 0, no_flows)
                flow += more
            _unlabel(net, front, back)
            if not met:
                break
        flows[q] = flow
        _spread(net, source, eps, near[q])
        reaches = np.zeros(far.shape[1], np.bool_)
        _spread_back(net, sink, eps, reaches)
        for node in range(reaches.size):
            far[q, node] = not reaches[node]
