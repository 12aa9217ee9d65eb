# Cycles of a network: the short-path probe, strong components, bridges.

cdef (bint, int64_t) two_steps(
    FlowArrays net, int start, int end, int avoid, double limit, int64_t budget
) noexcept nogil:
    """Is there a path start - x - end, x not `avoid`, whose two arcs have a capacity of `limit`?

    Merges the two sorted lists; gives the answer and what is left of the budget of steps.
    """
    cdef int i = net.first[start], i_end = net.first[start + 1]
    cdef int j = net.first[end], j_end = net.first[end + 1]
    while i < i_end and j < j_end and budget > 0:
        budget -= 1
        if net.target[i] < net.target[j]:
            i += 1
        elif net.target[i] > net.target[j]:
            j += 1
        elif net.entry_capacity[i] < limit or net.target[i] == avoid:
            i += 1
        elif net.entry_capacity[net.mirror[j]] < limit:
            j += 1
        else:
            return True, budget
    return False, budget


cdef bint short_cycle(FlowArrays net, int own, double limit, int64_t budget) noexcept nogil:
    """Do at most three arcs with a capacity of `limit` close a cycle with entry `own`?"""
    cdef int back = net.mirror[own], start = net.target[own], end = net.target[net.mirror[own]]
    cdef int begin = net.first[start], stop = net.first[start + 1]
    cdef int entry = back - 1  # parallel arcs lie on both sides of the own one
    cdef int64_t left = budget
    cdef bint found
    while entry >= begin and net.target[entry] == end:
        if net.entry_capacity[entry] >= limit:
            return True
        entry -= 1
    entry = back + 1
    while entry < stop and net.target[entry] == end:
        if net.entry_capacity[entry] >= limit:
            return True
        entry += 1
    for entry in range(begin, stop):
        if net.entry_capacity[entry] >= limit and net.target[entry] != end:
            found, left = two_steps(net, net.target[entry], end, start, limit, left)
            if found:
                return True
            if left <= 0:
                break
    found, left = two_steps(net, start, end, end, limit, budget)
    return found


cdef inline bint is_certified(FlowArrays net, int arc, int side, double limit, int64_t budget) noexcept nogil:
    """Is a limit zero, or does a cycle of at most four arcs certify it?"""
    cdef int entry = net.place[arc]
    if limit <= 0.0:
        return True
    if not (limit < INFINITY and limit <= net.capacity[2 * arc + side]):
        return False
    return entry < 0 or short_cycle(net, net.mirror[entry] if side else entry, limit, budget)


cdef void probe_all(
    FlowArrays net, const int[::1] arcs, const double[::1] limits, int side, int64_t budget, uint8_t[::1] certified,
    Watch watch,
) noexcept nogil:
    """For each queried arc in one direction: is its limit certified?"""
    cdef Py_ssize_t k
    for k in range(arcs.shape[0]):
        if stopped(watch, budget):
            return
        certified[k] = is_certified(net, arcs[k], side, limits[k], budget)


def probe(
    FlowArrays net, const int[::1] arcs, const double[::1] up, const double[::1] down, int64_t budget, stop=None
):
    """For each queried arc, upward and downward: is its limit zero, or does a cycle of at most four arcs certify it?"""
    upward, downward = np.zeros((2, arcs.shape[0]), np.bool_)
    cdef uint8_t[::1] certified_up = upward, certified_down = downward
    cdef Watch watch = Watch(stop)
    with nogil:
        probe_all(net, arcs, up, 0, budget, certified_up, watch)
        probe_all(net, arcs, down, 1, budget, certified_down, watch)
    watch.end()
    return upward, downward


cdef int64_t settle_all(
    FlowArrays net, const int[::1] arcs, double[::1] limits, int side, double eps, int64_t budget, Watch watch
) noexcept nogil:
    """Replace the limits that are not certified by what is reached; the number of these."""
    cdef Py_ssize_t k
    cdef int64_t flows = 0
    for k in range(arcs.shape[0]):
        if stopped(watch, budget):
            break
        if not is_certified(net, arcs[k], side, limits[k], budget):
            limits[k] = reach_one(net, arcs[k], side, limits[k], eps, watch)
            flows += 1
    return flows


def settle(
    FlowArrays net, const int[::1] arcs, double[::1] up, double[::1] down, double eps, int64_t budget, stop=None
):
    """Replace limits by what is reached, the cheap way where the probe certifies it; gives the number of flows."""
    cdef Watch watch = Watch(stop)
    cdef int64_t flows
    with nogil:
        flows = settle_all(net, arcs, up, 0, eps, budget, watch)
        flows += settle_all(net, arcs, down, 1, eps, budget, watch)
    watch.end()
    return flows


cdef void find_strong_components(
    FlowArrays net, double eps, int[::1] component, int[::1] order, int[::1] low, int[::1] stack, int[::1] caller,
    int[::1] cursor,
) noexcept nogil:
    """Number of the strongly connected component of each node, by entries with capacity (Tarjan 1972)."""
    cdef int root, node, entry, neighbour, above, height = 0, seen = 0, components = 0
    for root in range(component.shape[0]):
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


cdef void find_bridges(
    FlowArrays net, const uint8_t[::1] usable, uint8_t[::1] bridge, int[::1] order, int[::1] low, int[::1] way_back,
    int[::1] cursor,
) noexcept nogil:
    """Mark both entries of each bridge of the undirected multigraph of the usable ones (Tarjan 1974).

    `way_back`: the entry that leads back to where the search came from, by node.
    """
    cdef int root, node, entry, neighbour, back, above, seen = 0
    for root in range(order.shape[0]):
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


cdef mark_bridges(FlowArrays net, const uint8_t[::1] usable):
    """By arc: is it a bridge among the usable arcs? A self loop is never one."""
    cdef Py_ssize_t arc, nodes = net.first.shape[0] - 1, entries = net.target.shape[0]
    cdef uint8_t[:, ::1] marks = np.zeros((2, entries), np.uint8)  # usable entries, bridges
    cdef int[:, ::1] scratch = np.full((4, nodes), UNSEEN, np.int32)
    cdef int entry
    result = np.zeros(usable.shape[0], np.bool_)
    cdef uint8_t[::1] is_bridge = result
    with nogil:
        for arc in range(usable.shape[0]):
            entry = net.place[arc]
            if usable[arc] and entry >= 0:
                marks[0, entry] = marks[0, net.mirror[entry]] = True
        scratch[3, :] = net.first[:nodes]
        find_bridges(net, marks[0], marks[1], scratch[0], scratch[1], scratch[2], scratch[3])
        for arc in range(usable.shape[0]):
            entry = net.place[arc]
            is_bridge[arc] = entry >= 0 and marks[1, entry]
    return result


cdef open_arcs(FlowArrays net, double eps):
    """By arc: has it capacity?"""
    result = np.empty(net.place.shape[0], np.bool_)
    cdef uint8_t[::1] is_open = result
    cdef Py_ssize_t arc
    for arc in range(is_open.shape[0]):
        is_open[arc] = net.capacity[2 * arc] > eps or net.capacity[2 * arc + 1] > eps
    return result


def bridges(FlowArrays net, double eps):
    """By arc: has it capacity and is it the only connection between two parts of the network?"""
    return mark_bridges(net, open_arcs(net, eps))


def undetermined(FlowArrays net, double eps):
    """By arc: has it capacity, are its ends strongly connected, and is it no bridge among such arcs?"""
    cdef Py_ssize_t arc, nodes = net.first.shape[0] - 1
    cdef int[:, ::1] scratch = np.full((6, nodes), UNSEEN, np.int32)
    cdef int[::1] component = scratch[0]
    cdef int entry
    inside = open_arcs(net, eps)
    cdef uint8_t[::1] is_inside = inside
    with nogil:
        scratch[5, :] = net.first[:nodes]
        find_strong_components(
            net, eps, component, scratch[1], scratch[2], scratch[3], scratch[4], scratch[5]
        )
        for arc in range(is_inside.shape[0]):
            entry = net.place[arc]
            if entry >= 0 and component[net.target[entry]] != component[net.target[net.mirror[entry]]]:
                is_inside[arc] = False
    return inside & ~mark_bridges(net, inside)
