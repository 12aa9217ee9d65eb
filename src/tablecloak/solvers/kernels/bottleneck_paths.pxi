# Maximum-capacity paths: whether each arc of a network can deviate as required.
#
# The flow around an arc is built from augmenting paths of the largest possible bottleneck (Dijkstra with min for + and
# max for min), on the residual network, so that a "no" is as true as a "yes". The search of a path stops as soon as it
# reaches the sink with all that is still missing: most arcs need one short path.
#
# References: Ahuja, Magnanti & Orlin (1993), Network flows, section 7.3; Carvalho & Almeida (2008), where such
# paths (without residual arcs) find the protection levels that need no complementary suppression.

cdef double NEGLIGIBLE_WIDTH = 1e-9  # path widths and shortfalls below this share of the requirement count as zero


cdef double widest_path(
    FlowArrays net, int source, int sink, double wanted, double least, double[::1] width, int[::1] arrived, Heap heap
) noexcept nogil:
    """The width of the widest path, at most `wanted`, zero if it is not above `least`; `arrived` holds the path."""
    cdef int node, other, entry
    cdef double here, through
    width[:] = 0.0
    width[source] = wanted
    heap.size = 0
    push(heap, -wanted, 0.0, source)
    while heap.size > 0:
        node, here = heap.items[0].node, -heap.items[0].key
        drop_first(heap)
        if here < width[node]:
            continue
        if node == sink:
            return here
        for entry in range(net.first[node], net.first[node + 1]):
            other = net.target[entry]
            through = min(here, net.residual[entry])
            if through > width[other] and through > least:
                width[other], arrived[other] = through, entry
                if other == sink and through == wanted:
                    return wanted
                push(heap, -through, 0.0, other)
    return 0.0


cdef bint meets(
    FlowArrays net, int own, double need, double least, double[::1] width, int[::1] arrived, Heap heap, Watch watch
) noexcept nogil:
    """Whether flow of `need` closes cycles with entry `own`."""
    cdef int source = net.target[own], sink = net.target[net.mirror[own]], node, entry
    cdef double missing = need, amount
    cdef Py_ssize_t count = 0
    net.residual[own] = net.residual[net.mirror[own]] = 0.0
    while missing > least and not stopped(watch, net.target.shape[0]):
        amount = widest_path(net, source, sink, missing, least, width, arrived, heap)
        if amount == 0.0:
            break
        node = sink
        while node != source:
            entry = arrived[node]
            net.residual[entry] -= amount
            net.residual[net.mirror[entry]] += amount
            if count < net.touched.shape[0]:
                net.touched[count] = entry
                count += 1
            node = net.target[net.mirror[entry]]
        missing -= amount
    restore(net, own, count)
    return missing <= least


def levels_met(
    FlowArrays net, const int[::1] arcs, const uint8_t[::1] upward, const double[::1] need, stop=None
):
    """For each query, whether arc `arcs[q]` can deviate by `need[q]` in its direction."""
    result = np.zeros(arcs.shape[0], np.bool_)
    cdef uint8_t[::1] answer = result
    cdef double[::1] width = np.zeros(net.first.shape[0] - 1)
    cdef int[::1] arrived = np.zeros(net.first.shape[0] - 1, np.int32)
    cdef Heap heap = Heap(net.target.shape[0] + 2)
    cdef Watch watch = Watch(stop)
    cdef Py_ssize_t q
    cdef int own
    cdef double least
    with nogil:
        for q in range(arcs.shape[0]):
            own, least = net.place[arcs[q]], NEGLIGIBLE_WIDTH * need[q]
            if net.capacity[2 * arcs[q] + (not upward[q])] < need[q] - least:
                answer[q] = False
            elif own < 0:
                answer[q] = True
            else:
                answer[q] = meets(
                    net, own if upward[q] else net.mirror[own], need[q], least, width, arrived, heap, watch
                )
            if watch.over:
                break
    watch.end()
    return result
