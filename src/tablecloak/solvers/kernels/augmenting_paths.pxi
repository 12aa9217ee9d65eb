# Shortest augmenting paths that open arcs at a price, until one arc can deviate as required.
#
# The deviation is a flow around the arc, built from shortest augmenting paths. An arc that is open already costs
# nothing, another one its price, more if its residual capacity is a part of what is needed:
# price * max(1, need / residual).

cdef double NEARLY_SHORTEST = 0.03
# maximum excess of an arc of a blocking flow over a shortest path, as a share of the whole path


@cython.final
cdef class PathOpeningArrays:
    """A network with prices: entries of a node sorted by price, and lists of the arcs that are open."""

    cdef Adjacency lists
    cdef const double[::1] price  # by arc
    cdef readonly object open_array  # by arc: whether it is open
    cdef uint8_t[::1] is_open
    cdef int[::1] opened  # by node: its latest open entry, or NONE
    cdef int[::1] before  # by entry: the open entry of the same node before it
    cdef double[::1] flow  # by arc: the deviation so far; zero between searches
    cdef int[::1] used  # the arcs with flow,
    cdef Py_ssize_t length  # how many there are,
    cdef uint8_t[::1] in_flow  # and whether an arc is one of them
    cdef double[::1] distance
    cdef int[::1] arrived  # by node: the entry by which the shortest path arrives
    cdef int[::1] place  # by node: the entry that is looked at next
    cdef uint8_t[::1] done
    cdef Heap heap

    def __init__(
        self, Py_ssize_t nodes, const int[::1] tail, const int[::1] head, const int[::1] ends, const double[::1] price
    ):
        arcs = tail.shape[0]
        self.lists, self.price = Adjacency(nodes, tail, head, ends), price
        self.open_array = np.zeros(arcs, np.bool_)
        self.is_open, self.in_flow = self.open_array, np.zeros(arcs, np.uint8)
        self.opened, self.before = np.full(nodes, NONE, np.int32), np.full(ends.shape[0], NONE, np.int32)
        self.flow, self.used, self.length = np.zeros(arcs), np.zeros(arcs, np.int32), 0
        self.distance, self.done = np.zeros(nodes), np.zeros(nodes, np.uint8)
        self.arrived, self.place = np.zeros((2, nodes), np.int32)
        self.heap = Heap(ends.shape[0] + nodes + 2)


cdef void open_priced_arc(PathOpeningArrays net, int arc) noexcept nogil:
    """Open an arc: it costs nothing from now on."""
    cdef int entry, node, side
    if net.is_open[arc]:
        return
    net.is_open[arc] = True
    for side in range(2):
        entry = net.lists.entry[2 * arc + side]
        if entry >= 0:
            node = start_of(net.lists, entry)
            net.before[entry] = net.opened[node]
            net.opened[node] = entry


cdef inline double residual_of(
    PathOpeningArrays net, const double[::1] up, const double[::1] down, int end
) noexcept nogil:
    """Residual capacity of an arc, from the end where the path enters it."""
    cdef int arc = end >> 1
    return up[arc] - net.flow[arc] if end & 1 == 0 else down[arc] + net.flow[arc]


cdef bint priced_path(
    PathOpeningArrays net, const double[::1] up, const double[::1] down, int source, int sink, int own, double need,
    double step,
) noexcept nogil:
    """Dijkstra from source to sink; lists are left as soon as they cannot lead to a cheaper path."""
    cdef int node, other, arc, entry, place
    cdef double here, residual, cost, noise = min(LEVEL_NOISE * need, HALF_UNIT)
    cdef bint free
    net.distance[:] = INFINITY
    net.done[:] = False
    net.distance[source], net.arrived[source] = 0.0, NONE
    net.heap.size = 0
    push(net.heap, 0.0, 0.0, source)
    while net.heap.size > 0:
        node, here = net.heap.items[0].node, net.heap.items[0].key
        drop_first(net.heap)
        if net.done[node]:
            continue
        if node == sink:
            return True
        net.done[node] = True
        entry, free = net.opened[node], True
        place = net.lists.first[node]
        while True:
            if free and entry == NONE:
                free = False
            if not free:
                if place == net.lists.first[node + 1]:
                    break
                entry = place
                place += 1
            arc = net.lists.end[entry] >> 1
            if not free and (net.is_open[arc] or arc == own):
                continue
            if not free and here + net.price[arc] >= net.distance[sink]:
                break
            other = net.lists.target[entry]
            if arc != own and not net.done[other]:
                residual = residual_of(net, up, down, net.lists.end[entry])
                if residual > noise:
                    cost = step if free else step + net.price[arc] * max(1.0, need / residual)
                    if here + cost < net.distance[other] and here + cost < net.distance[sink]:
                        net.distance[other], net.arrived[other] = here + cost, entry
                        push(net.heap, here + cost, 0.0, other)
            if free:
                entry = net.before[entry]
    return False


cdef double augment(
    PathOpeningArrays net, const double[::1] up, const double[::1] down, int source, int sink, double most
) noexcept nogil:
    """Send flow along the path just found, up to its residual capacity and `most`; opens its arcs."""
    cdef double amount = most
    cdef int node = sink, entry, end, arc
    while node != source:
        entry = net.arrived[node]
        amount = min(amount, residual_of(net, up, down, net.lists.end[entry]))
        node = start_of(net.lists, entry)
    node = sink
    while node != source:
        entry = net.arrived[node]
        end = net.lists.end[entry]
        arc = end >> 1
        net.flow[arc] += amount if end & 1 == 0 else -amount
        if not net.in_flow[arc]:
            net.in_flow[arc] = True
            net.used[net.length] = arc
            net.length += 1
        open_priced_arc(net, arc)
        node = start_of(net.lists, entry)
    return amount


cdef double augment_all(
    PathOpeningArrays net, const double[::1] up, const double[::1] down, int source, int sink, int own, double most,
    double step,
) noexcept nogil:
    """A blocking flow on the arcs that are nearly on shortest paths; gives what was sent.

    After `priced_path`: an arc u -> v may be used if d(u) < d(v) and d(u) + cost <= d(v) + NEARLY_SHORTEST * d(sink).
    """
    cdef double slack = NEARLY_SHORTEST * net.distance[sink], sent = 0.0, residual, cost
    cdef double noise = min(LEVEL_NOISE * most, HALF_UNIT)
    cdef int node = source, other, entry, arc
    cdef bint fits
    net.place[:] = net.lists.first[: net.place.shape[0]]
    while most - sent > noise:
        if node == sink:
            sent += augment(net, up, down, source, sink, most - sent)
            node = source
            continue
        if net.place[node] == net.lists.first[node + 1]:
            if node == source:
                break
            node = start_of(net.lists, net.arrived[node])
            net.place[node] += 1
            continue
        entry = net.place[node]
        arc, other = net.lists.end[entry] >> 1, net.lists.target[entry]
        fits = arc != own and (net.done[other] or other == sink) and net.distance[node] < net.distance[other]
        if fits:
            residual = residual_of(net, up, down, net.lists.end[entry])
            fits = residual > noise
            if fits:
                cost = step if net.is_open[arc] else step + net.price[arc] * max(1.0, most / residual)
                fits = net.distance[node] + cost <= net.distance[other] + slack
        if fits:
            net.arrived[other] = entry
            node = other
        else:
            net.place[node] += 1
    return sent


def open_all(PathOpeningArrays net, const int64_t[::1] arcs):
    """Open arcs: they cost nothing from now on."""
    cdef Py_ssize_t k
    for k in range(arcs.shape[0]):
        open_priced_arc(net, arcs[k])


def clear_flow(PathOpeningArrays net):
    """Set the flow back to zero."""
    cdef Py_ssize_t k
    for k in range(net.length):
        net.flow[net.used[k]] = 0.0
        net.in_flow[net.used[k]] = False
    net.length = 0


def open_paths(
    PathOpeningArrays net, const double[::1] up, const double[::1] down, int own, bint upward, double need,
    double step, int64_t most, bint blocking,
):
    """Open arcs so that arc `own` can deviate by `need` more than the flow so far, by `most` searches at most.

    Each search gives one path, or a blocking flow if `blocking`. The result is what is missing then, or minus that
    if it is impossible. The flow stays: call it again to go on, and `clear_flow` in the end.
    """
    cdef int at_tail = net.lists.entry[2 * own], at_head = net.lists.entry[2 * own + 1], source, sink
    cdef double missing = need
    cdef int64_t search
    if at_tail < 0:
        return 0.0
    source = start_of(net.lists, at_head if upward else at_tail)
    sink = start_of(net.lists, at_tail if upward else at_head)
    with nogil:
        for search in range(most):
            if missing <= min(LEVEL_NOISE * need, HALF_UNIT):
                missing = 0.0
                break
            if not priced_path(net, up, down, source, sink, own, missing, step):
                missing = -missing
                break
            if blocking:
                missing -= augment_all(net, up, down, source, sink, own, missing, step)
            else:
                missing -= augment(net, up, down, source, sink, missing)
        else:
            missing = max(missing, 0.0)
    return missing
