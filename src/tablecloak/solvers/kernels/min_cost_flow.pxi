# Minimum-cost flows around one arc: successive shortest paths with potentials.
#
# All flows are net deviations d of the arcs. One more unit from tail to head costs price_up if d >= 0 and gives back
# price_down if d < 0, and the other way round; so the cost of each arc is convex and shortest paths of reduced costs
# price + potential[from] - potential[to] >= 0 stay exact (Dijkstra with a binary heap; of equally short paths one
# with the fewest arcs, so that equal prices do not lead into endless small steps).
#
# Reference: Ahuja, Magnanti & Orlin (1993), Network Flows, chapters 9.7 and 14.

@cython.final
cdef class MinCostArrays:
    """A network, one flow in it, and its scratch memory."""

    cdef Adjacency lists
    cdef const int[::1] tail  # by arc
    cdef const int[::1] head
    cdef readonly object flow_array  # by arc: the deviation so far
    cdef double[::1] flow
    cdef double[::1] potential  # by node
    cdef double[::1] distance
    cdef int[::1] steps  # by node: the arcs of its path
    cdef int[::1] arrived  # by node: the entry by which its path arrives
    cdef uint8_t[::1] done
    cdef Heap heap

    def __init__(self, Py_ssize_t nodes, const int[::1] tail, const int[::1] head, const int[::1] ends):
        self.lists = Adjacency(nodes, tail, head, ends)
        self.tail, self.head = tail, head
        self.heap = Heap(ends.shape[0] + 1)
        self.allocate()

    cdef allocate(self):
        nodes = self.lists.first.shape[0] - 1
        self.flow = self.flow_array = np.zeros(self.tail.shape[0])
        self.potential, self.distance = np.zeros((2, nodes))
        self.steps, self.arrived = np.zeros(nodes, np.int32), np.full(nodes, NONE, np.int32)
        self.done = np.zeros(nodes, np.uint8)

    def another_flow(self):
        """The same network with a flow of its own; the two are not used at the same time."""
        cdef MinCostArrays other = MinCostArrays.__new__(MinCostArrays)
        other.lists, other.tail, other.head, other.heap = self.lists, self.tail, self.head, self.heap
        other.allocate()
        return other


@cython.final
cdef class ArcLimits:
    """Capacity and price of each arc in both directions."""

    cdef const double[::1] up
    cdef const double[::1] down
    cdef const double[::1] price_up
    cdef const double[::1] price_down

    def __init__(
        self, const double[::1] up, const double[::1] down, const double[::1] price_up, const double[::1] price_down
    ):
        self.up, self.down, self.price_up, self.price_down = up, down, price_up, price_down


cdef inline double priced_residual(MinCostArrays net, ArcLimits limits, int arc, bint forward) noexcept nogil:
    """Residual capacity of the arc at its present price."""
    cdef double flow = net.flow[arc]
    if forward:
        return -flow if flow < 0.0 else limits.up[arc] - flow
    return flow if flow > 0.0 else limits.down[arc] + flow


cdef bint cheapest_path(
    MinCostArrays net, ArcLimits limits, int source, int sink, int own, double eps, Watch watch
) noexcept nogil:
    """Dijkstra from source to sink without arc `own`; then raise the potentials. False: no path."""
    cdef int node, other, arc, entry, end
    cdef double here, price, key
    if stopped(watch, net.lists.target.shape[0]):
        return False
    net.distance[:] = INFINITY
    net.done[:] = False
    net.distance[source], net.steps[source], net.arrived[source] = 0.0, 0, NONE
    net.heap.size = 0
    push(net.heap, 0.0, 0.0, source)
    while net.heap.size > 0:
        node, here = net.heap.items[0].node, net.heap.items[0].key
        drop_first(net.heap)
        if net.done[node]:
            continue
        net.done[node] = True
        if node == sink:
            break
        for entry in range(net.lists.first[node], net.lists.first[node + 1]):
            other, end = net.lists.target[entry], net.lists.end[entry]
            arc = end >> 1
            if net.done[other] or arc == own:
                continue
            if end & 1 == 0:
                price = -limits.price_down[arc] if net.flow[arc] < 0.0 else limits.price_up[arc]
            else:
                price = -limits.price_up[arc] if net.flow[arc] > 0.0 else limits.price_down[arc]
            key = here + max(price + net.potential[node] - net.potential[other], 0.0)
            if key > net.distance[other] or key > net.distance[sink] or not key < INFINITY:
                continue
            if key == net.distance[other] and net.steps[node] + 1 >= net.steps[other]:
                continue
            if priced_residual(net, limits, arc, end & 1 == 0) <= eps:
                continue
            net.distance[other], net.steps[other], net.arrived[other] = key, net.steps[node] + 1, entry
            push(net.heap, key, net.steps[other], other)
    if not net.done[sink]:
        return False
    for node in range(net.potential.shape[0]):
        net.potential[node] += min(net.distance[node], net.distance[sink])
    return True


cdef double send_along(
    MinCostArrays net, ArcLimits limits, int source, int sink, double most, double eps
) noexcept nogil:
    """Send flow along the path to the sink, up to its residual capacity and `most`."""
    cdef double amount = most, flow
    cdef int node = sink, arc, end
    cdef bint forward
    while node != source:
        end = net.lists.end[net.arrived[node]]
        arc, forward = end >> 1, end & 1 == 0
        amount = min(amount, priced_residual(net, limits, arc, forward))
        node = net.tail[arc] if forward else net.head[arc]
    node = sink
    while node != source:
        end = net.lists.end[net.arrived[node]]
        arc, forward = end >> 1, end & 1 == 0
        flow = net.flow[arc]
        if priced_residual(net, limits, arc, forward) - amount > eps:
            net.flow[arc] = flow + amount if forward else flow - amount
        elif forward:
            net.flow[arc] = 0.0 if flow < 0.0 else limits.up[arc]
        else:
            net.flow[arc] = 0.0 if flow > 0.0 else -limits.down[arc]
        node = net.tail[arc] if forward else net.head[arc]
    return amount


cdef (double, int64_t) send_flow(
    MinCostArrays net, ArcLimits limits, int own, bint upward, double need, Watch watch
) noexcept nogil:
    """The cheapest deviations with `need` on arc `own`, left in `net.flow`; the amount and the number of paths."""
    cdef int source = net.head[own] if upward else net.tail[own], sink = net.tail[own] if upward else net.head[own]
    cdef double sent = 0.0, eps
    cdef int64_t paths = 0
    net.flow[:] = 0.0
    need = min(need, limits.up[own] if upward else limits.down[own])
    if source == sink:
        sent = need
    elif need > 0.0:
        net.potential[:] = 0.0
        eps = 1e-12 * need
        while need - sent > eps:
            if not cheapest_path(net, limits, source, sink, own, eps, watch):
                break
            sent += send_along(net, limits, source, sink, need - sent, eps)
            paths += 1
        if need - sent <= eps:
            sent = need
    net.flow[own] = sent if upward else -sent
    return sent, paths


cdef (double, double, int64_t) slide_flows(
    MinCostArrays rise, MinCostArrays fall, ArcLimits limits, int own, double need, double least_up,
    double least_down, Watch watch,
) noexcept nogil:
    """See `slide`."""
    cdef int tail = rise.tail[own], head = rise.head[own]
    cdef double up, down, price_up, price_down, eps = 1e-12 * need
    cdef int64_t paths, paths_down
    cdef bint more_up, more_down
    up, paths = send_flow(rise, limits, own, True, least_up, watch)
    down, paths_down = send_flow(fall, limits, own, False, least_down, watch)
    paths += paths_down
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
        more_up = limits.up[own] - up > eps and cheapest_path(rise, limits, head, tail, own, eps, watch)
        more_down = limits.down[own] - down > eps and cheapest_path(fall, limits, tail, head, own, eps, watch)
        while need - up - down > eps and (more_up or more_down):
            price_up = rise.potential[tail] + limits.price_up[own] if more_up else INFINITY
            price_down = fall.potential[head] + limits.price_down[own] if more_down else INFINITY
            if more_up and price_up <= price_down:
                up += send_along(rise, limits, head, tail, min(need - up - down, limits.up[own] - up), eps)
                more_up = limits.up[own] - up > eps and cheapest_path(rise, limits, head, tail, own, eps, watch)
            else:
                down += send_along(fall, limits, tail, head, min(need - up - down, limits.down[own] - down), eps)
                more_down = limits.down[own] - down > eps and cheapest_path(fall, limits, tail, head, own, eps, watch)
            paths += 1
    rise.flow[own], fall.flow[own] = up, -down
    return up, down, paths


def send(MinCostArrays net, ArcLimits limits, int own, bint upward, double need, stop=None):
    """The cheapest deviations with `need` on arc `own`, left in `net.flow_array`; the amount and the paths."""
    cdef Watch watch = Watch(stop)
    cdef double sent
    cdef int64_t paths
    with nogil:
        sent, paths = send_flow(net, limits, own, upward, need, watch)
    watch.end()
    return sent, paths


def slide(
    MinCostArrays rise, MinCostArrays fall, ArcLimits limits, int own, double need, double least_up,
    double least_down, stop=None,
):
    """The cheapest two flows, one up in `rise` and one down in `fall`, that are `need` apart on arc `own`.

    Each has its least part first; the rest goes step by step to the side whose next path is cheaper. Gives both amounts
    and the number of paths.
    """
    cdef Watch watch = Watch(stop)
    cdef double up, down
    cdef int64_t paths
    with nogil:
        up, down, paths = slide_flows(rise, fall, limits, own, need, least_up, least_down, watch)
    watch.end()
    return up, down, paths
