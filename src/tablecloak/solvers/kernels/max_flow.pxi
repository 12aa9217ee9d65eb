# Maximum flows on a network by blocking flows (Dinic 1970), with labels from both ends.
#
# The entries of a node are sorted by target, those of parallel arcs by arc number. Capacities and residuals are stored
# by entry, so that scanning a list reads memory in order. Flow between two nodes never needs a self loop.

cdef enum:
    UNSEEN = -1
    SOURCE_LEVEL = -2  # while labelling, a node at depth k from the source has level SOURCE_LEVEL - k

cdef double LARGEST = np.finfo(np.float64).max  # a residual above this is infinite
cdef double[::1] NO_FLOWS = np.empty(0)
cdef uint8_t[::1] NO_NODES = np.empty(0, np.uint8)


@cython.final
cdef class FlowArrays:
    """A network and its scratch memory. Between calls every level is UNSEEN and `residual` equals `entry_capacity`."""

    cdef int[::1] first  # the entries of node v are first[v] to first[v + 1]
    cdef int[::1] target
    cdef int[::1] mirror  # the other entry of the same arc
    cdef int[::1] place  # by arc: its entry at the tail, NONE for a self loop
    cdef double[::1] capacity  # by arc: up, down
    cdef readonly double[::1] entry_capacity  # the same by entry
    cdef readonly double[::1] residual
    cdef readonly int[::1] level
    cdef int[::1] cursor
    cdef int[::1] stop
    cdef int[::1] queue
    cdef int[::1] path
    cdef int[::1] touched  # entries whose residual changed, as far as there is room for them

    def __init__(
        self, Py_ssize_t nodes, const int[::1] tail, const int[::1] head, double[::1] capacity, notes=None
    ):
        cdef int[::1] ends = np.empty(2 * tail.shape[0], np.int32)
        cdef Adjacency by_arc, lists
        cdef Py_ssize_t arc, entry, count = 0
        for arc in range(tail.shape[0]):
            if tail[arc] != head[arc]:
                ends[count], ends[count + 1] = 2 * arc, 2 * arc + 1
                count += 2
        ends = ends[:count]
        by_arc = Adjacency(nodes, tail, head, ends)
        for entry in range(count):  # enter the nodes, in order, into the lists of their neighbours
            ends[entry] = by_arc.end[entry] ^ 1
        lists = Adjacency(nodes, tail, head, ends)  # these come out sorted
        self.first, self.target, self.capacity = lists.first, lists.target, capacity
        self.mirror, self.place = np.empty(count, np.int32), np.empty(tail.shape[0], np.int32)
        self.entry_capacity, self.residual = np.empty(count), np.empty(count)
        for entry in range(count):
            self.mirror[entry] = lists.entry[lists.end[entry] ^ 1]
            self.entry_capacity[entry] = self.residual[entry] = capacity[lists.end[entry]]
        for arc in range(tail.shape[0]):
            self.place[arc] = lists.entry[2 * arc]
        cdef int[:, ::1] scratch = np.zeros((4, nodes + 1), np.int32)
        self.level = np.full(nodes, UNSEEN, np.int32)
        self.cursor, self.stop, self.queue, self.path = scratch[0], scratch[1], scratch[2], scratch[3]
        self.touched = np.zeros(count + 1 if notes is None else notes, np.int32)


def set_capacity(FlowArrays net, Py_ssize_t arc, double up, double down):
    """Change one arc everywhere in one call, so that no interrupt falls between."""
    cdef Py_ssize_t entry = net.place[arc]
    net.capacity[2 * arc], net.capacity[2 * arc + 1] = up, down
    if entry >= 0:
        net.entry_capacity[entry] = net.residual[entry] = up
        net.entry_capacity[net.mirror[entry]] = net.residual[net.mirror[entry]] = down


cdef (bint, Py_ssize_t, int64_t) widen(
    FlowArrays net, Py_ssize_t begin, Py_ssize_t end, bint forward, double threshold
) noexcept nogil:
    """Label the nodes one step beyond the outermost layer around the source (forward) or the sink.

    The layer is in the queue from `begin` to before `end`; the sink's side fills the queue from its end.
    Gives whether the other side was met, the new end, and the number of entries the next step has to scan.
    A step that meets the other side takes its labels back: they lie too far.
    """
    cdef int stride = 1 if forward else -1
    cdef int node, neighbour, entry, carrier
    cdef bint own_side
    cdef int64_t ahead = 0
    cdef Py_ssize_t k = begin, j, last = end
    while k != end:
        node = net.queue[k]
        k += stride
        for entry in range(net.first[node], net.first[node + 1]):
            neighbour = net.target[entry]
            own_side = net.level[neighbour] < UNSEEN if forward else net.level[neighbour] > UNSEEN
            if own_side and net.level[node] != 0:
                continue
            carrier = entry if forward else net.mirror[entry]
            if net.residual[carrier] <= threshold:
                continue
            if own_side:  # one more parallel arc into the sink
                net.stop[neighbour] = carrier + 1
                continue
            if net.level[neighbour] != UNSEEN:
                j = end
                while j != last:
                    net.level[net.queue[j]] = UNSEEN
                    j += stride
                return True, end, 0
            net.level[neighbour] = net.level[node] - stride
            net.cursor[neighbour], net.stop[neighbour] = net.first[neighbour], net.first[neighbour + 1]
            ahead += net.stop[neighbour] - net.cursor[neighbour]
            if net.level[node] == 0:  # next to the sink: of use are only the arcs into it
                net.cursor[neighbour], net.stop[neighbour] = carrier, carrier + 1
            net.queue[last] = neighbour
            last += stride
    return False, last, ahead


cdef (bint, Py_ssize_t, Py_ssize_t) label(
    FlowArrays net, int source, int sink, double threshold
) noexcept nogil:
    """Breadth-first labels from both ends, the cheaper side next, until they meet.

    Then every shortest path steps down from level to level to the sink's 0: the source's side is complete
    to depth k, the sink's to l, and the shortest length is k + 1 + l. Gives whether there is a path, and
    the parts of the queue that hold the labelled nodes: [:front] and [back + 1:].
    """
    cdef Py_ssize_t front_from = 0, front = 1, reached, k
    cdef Py_ssize_t back_from = net.queue.shape[0] - 1, back = net.queue.shape[0] - 2
    cdef int64_t front_work = net.first[source + 1] - net.first[source]
    cdef int64_t back_work = net.first[sink + 1] - net.first[sink]
    cdef bint met = False
    cdef int length
    net.level[source], net.level[sink] = SOURCE_LEVEL, 0
    net.cursor[source], net.stop[source] = net.first[source], net.first[source + 1]
    net.queue[front_from], net.queue[back_from] = source, sink
    while not met and front_from < front and back_from > back:
        if front_work <= back_work:
            met, reached, front_work = widen(net, front_from, front, True, threshold)
            if not met:
                front_from, front = front, reached
        else:
            met, reached, back_work = widen(net, back_from, back, False, threshold)
            if not met:
                back_from, back = back, reached
    if met:
        length = (SOURCE_LEVEL - net.level[net.queue[front - 1]]) + 1 + net.level[net.queue[back + 1]]
        for k in range(front):
            net.level[net.queue[k]] += length - SOURCE_LEVEL
    return met, front, back


cdef void unlabel(FlowArrays net, Py_ssize_t front, Py_ssize_t back) noexcept nogil:
    """Take the labels of both sides back."""
    cdef Py_ssize_t k
    for k in range(front):
        net.level[net.queue[k]] = UNSEEN
    for k in range(back + 1, net.queue.shape[0]):
        net.level[net.queue[k]] = UNSEEN


cdef double flow_bound(FlowArrays net, int source, int sink, double limit) noexcept nogil:
    """The limit, or less if the arcs at the source or at the sink carry less: most minimum cuts are these."""
    cdef Py_ssize_t entry
    cdef double total = 0.0
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


cdef (double, Py_ssize_t) block(
    FlowArrays net, int source, int sink, double wanted, double threshold, Py_ssize_t count, double[::1] pushed
) noexcept nogil:
    """Send flow down the levels until `wanted` has arrived or every way is blocked.

    `count` entries are noted in `touched` so far; `pushed`, unless empty, sums up the flow by entry.
    """
    cdef double flow = 0.0, amount
    cdef Py_ssize_t depth = 0, k
    cdef int node = source, entry
    cdef bint enough
    while True:
        if node == sink:
            amount = wanted - flow
            for k in range(depth):
                amount = min(amount, net.residual[net.path[k]])
            enough = amount >= wanted - flow
            for k in range(depth - 1, -1, -1):
                entry = net.path[k]
                net.residual[entry] -= amount
                net.residual[net.mirror[entry]] += amount
                if net.residual[entry] <= threshold:
                    depth = k
                if count < net.touched.shape[0]:
                    net.touched[count] = entry
                    count += 1
                if pushed.shape[0] > 0:
                    pushed[entry] += amount
            if enough:
                return wanted, count
            flow += amount
            node = net.target[net.mirror[net.path[depth]]]  # go on from the first arc that is full now
        elif net.cursor[node] < net.stop[node]:
            entry = net.cursor[node]
            if net.level[net.target[entry]] == net.level[node] - 1 and net.residual[entry] > threshold:
                net.path[depth] = entry
                depth += 1
                node = net.target[entry]
            else:
                net.cursor[node] += 1
        elif depth > 0:
            net.level[node] = UNSEEN  # a dead end
            depth -= 1
            node = net.target[net.mirror[net.path[depth]]]
            net.cursor[node] += 1
        else:
            return flow, count


cdef void spread(FlowArrays net, int source, double eps, uint8_t[::1] reached) noexcept nogil:
    """Mark the nodes that the source reaches in the residual network."""
    cdef Py_ssize_t done = 0, last = 1, entry
    cdef int node
    net.queue[0], reached[source] = source, True
    while done < last:
        node = net.queue[done]
        done += 1
        for entry in range(net.first[node], net.first[node + 1]):
            if net.residual[entry] > eps and not reached[net.target[entry]]:
                reached[net.target[entry]] = True
                net.queue[last] = net.target[entry]
                last += 1


cdef void restore(FlowArrays net, int own, Py_ssize_t count) noexcept nogil:
    """Set the residuals back: of entry `own` and of the first `count` entries that were touched."""
    cdef Py_ssize_t k
    cdef int entry
    if count < net.touched.shape[0]:
        for k in range(count):
            entry = net.touched[k]
            net.residual[entry] = net.entry_capacity[entry]
            net.residual[net.mirror[entry]] = net.entry_capacity[net.mirror[entry]]
    else:  # there may have been more than could be noted
        net.residual[:] = net.entry_capacity
    net.residual[own] = net.entry_capacity[own]
    net.residual[net.mirror[own]] = net.entry_capacity[net.mirror[own]]


cdef double close(
    FlowArrays net, int own, double limit, double eps, double[::1] pushed, uint8_t[::1] source_side, Watch watch
) noexcept nogil:
    """Largest flow, at most `limit`, that closes cycles with entry `own` without using its arc (Dinic).

    An infinite flow is looked for first, so that all sums below are finite. `pushed` and `source_side`
    are filled in unless empty: the flow by entry, and the nodes the source still reaches in the end.
    """
    cdef int source = net.target[own], sink = net.target[net.mirror[own]]
    cdef double flow = 0.0, more, wanted
    cdef Py_ssize_t count = 0, front, back
    cdef bint met
    net.residual[own] = net.residual[net.mirror[own]] = 0.0
    wanted = flow_bound(net, source, sink, limit)
    if wanted == INFINITY:
        met, front, back = label(net, source, sink, LARGEST)
        if met:
            if pushed.shape[0] > 0:  # one unit shows the way
                flow, count = block(net, source, sink, 1.0, LARGEST, count, pushed)
            flow = INFINITY
        unlabel(net, front, back)
    while flow < wanted - eps and not stopped(watch, net.target.shape[0]):
        met, front, back = label(net, source, sink, eps)
        if met:
            more, count = block(net, source, sink, wanted - flow, eps, count, pushed)
            flow = wanted if more >= wanted - flow else flow + more
        unlabel(net, front, back)
        if not met:
            break
    if source_side.shape[0] > 0:
        spread(net, source, eps, source_side)
    restore(net, own, count)
    return limit if flow >= limit - eps else flow


cdef double reach_one(
    FlowArrays net, int arc, int side, double limit, double eps, Watch watch
) noexcept nogil:
    """What an arc can reach upward (side 0) or downward (side 1), at most `limit`."""
    cdef int entry = net.place[arc]
    limit = min(limit, net.capacity[2 * arc + side])
    if limit <= eps:
        return 0.0
    if entry < 0:
        return limit
    return close(net, net.mirror[entry] if side else entry, limit, eps, NO_FLOWS, NO_NODES, watch)


cdef void reach_all(
    FlowArrays net, const int[::1] arcs, double[::1] limits, int side, double eps, Watch watch
) noexcept nogil:
    """Replace the limits of the queried arcs by what they can reach in one direction."""
    cdef Py_ssize_t k
    for k in range(arcs.shape[0]):
        if watch.over:
            return
        limits[k] = reach_one(net, arcs[k], side, limits[k], eps, watch)


def reach(FlowArrays net, const int[::1] arcs, double[::1] up, double[::1] down, double eps, stop=None):
    """Replace the limits of the queried arcs by what they can reach upward and downward."""
    cdef Watch watch = Watch(stop)
    with nogil:
        reach_all(net, arcs, up, 0, eps, watch)
        reach_all(net, arcs, down, 1, eps, watch)
    watch.end()


def max_deviation(FlowArrays net, Py_ssize_t arc, bint upward, double limit, double eps, stop=None):
    """How far an arc goes, at most `limit`, the deviation of every other arc, and the source side of the cut.

    None for an arc without entries: a self loop is bounded by its own capacity.
    """
    cdef int entry = net.place[arc]
    if entry < 0:
        return None
    flow, side = np.zeros(net.target.shape[0]), np.zeros(net.first.shape[0] - 1, np.bool_)
    cdef double[::1] pushed = flow
    cdef uint8_t[::1] source_side = side
    cdef Watch watch = Watch(stop)
    cdef double value
    cdef int own = entry if upward else net.mirror[entry]
    with nogil:
        value = close(net, own, limit, eps, pushed, source_side, watch)
    watch.end()
    place = np.asarray(net.place)
    deviation = np.where(place >= 0, flow[place] - flow[np.asarray(net.mirror)[place]], 0.0)
    return value, deviation, side
