# Separation on networks: for each query the minimum cuts at a fractional point.

cdef void load(
    FlowArrays net, const double[::1] up, const double[::1] down, const double[::1] x, double cap, double part
) noexcept nogil:
    """Capacities: min(capacity, cap) where x is 1, min(capacity, part) * x elsewhere."""
    cdef Py_ssize_t arc
    cdef int entry
    cdef double most
    for arc in range(x.shape[0]):
        entry = net.place[arc]
        if entry >= 0:
            most = cap if x[arc] >= 1.0 else part
            net.entry_capacity[entry] = min(up[arc], most) * x[arc]
            net.entry_capacity[net.mirror[entry]] = min(down[arc], most) * x[arc]
    net.residual[:] = net.entry_capacity


cdef void spread_back(FlowArrays net, int sink, double eps, uint8_t[::1] far) noexcept nogil:
    """Mark the nodes that do not reach the sink in the residual network."""
    cdef Py_ssize_t done = 0, last = 1, entry
    cdef int node
    far[:] = True
    net.queue[0], far[sink] = sink, False
    while done < last:
        node = net.queue[done]
        done += 1
        for entry in range(net.first[node], net.first[node + 1]):
            if net.residual[net.mirror[entry]] > eps and far[net.target[entry]]:
                far[net.target[entry]] = False
                net.queue[last] = net.target[entry]
                last += 1


cdef double least_cut(
    FlowArrays net, int own, double limit, double eps, uint8_t[::1] near, uint8_t[::1] far, Watch watch
) noexcept nogil:
    """The flow that closes cycles with entry `own`, and the smallest and the largest source side of its cuts."""
    cdef int source = net.target[own], sink = net.target[net.mirror[own]]
    cdef double flow = 0.0, more, wanted
    cdef Py_ssize_t front, back, count
    cdef bint met
    net.residual[own] = net.residual[net.mirror[own]] = 0.0
    wanted = flow_bound(net, source, sink, limit)
    while flow < wanted - eps:
        met, front, back = label(net, source, sink, eps)
        if met:
            more, count = block(net, source, sink, wanted - flow, eps, 0, NO_FLOWS)
            flow += more
        unlabel(net, front, back)
        if not met or stopped(watch, net.target.shape[0]):
            break
    spread(net, source, eps, near)
    spread_back(net, sink, eps, far)
    return flow


def least_cuts(
    FlowArrays net, const int[::1] arcs, const uint8_t[::1] upward, const double[::1] limits, const double[::1] cap,
    const double[::1] part, const int[::1] attacker, const double[:, ::1] up, const double[:, ::1] down,
    const double[::1] x, double noise, stop=None,
):
    """For query q: the flow (at most limits[q]) that closes cycles with its arc, and its cuts by source side.

    Gives the flows, the smallest source sides and the largest ones (the rest reaches the sink). The capacities of the
    network are overwritten.
    """
    flow, (near_side, far_side) = np.zeros(arcs.shape[0]), np.zeros((2, arcs.shape[0], net.first.shape[0] - 1), np.bool_)
    cdef double[::1] flows = flow
    cdef uint8_t[:, ::1] near = near_side, far = far_side
    cdef Watch watch = Watch(stop)
    cdef Py_ssize_t q
    cdef int own
    with nogil:
        for q in range(arcs.shape[0]):
            if stopped(watch, net.target.shape[0]):
                break
            load(net, up[attacker[q]], down[attacker[q]], x, cap[q], part[q])
            own = net.place[arcs[q]]
            if own < 0:
                flows[q] = limits[q]
                continue
            if not upward[q]:
                own = net.mirror[own]
            flows[q] = least_cut(net, own, limits[q], noise * limits[q], near[q], far[q], watch)
    watch.end()
    return flow, near_side, far_side
