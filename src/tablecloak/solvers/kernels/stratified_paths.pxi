# Shortest paths with strata, and the protection that they give: the inner loop of Castro (2007).
#
# A sensitive cell p is the arc s -> t. A path from t to s is walked both ways: with it p and the cells walked forward
# rise and the others fall, against it the reverse. So one path gives both an upper and a lower protection, to p and to
# every other cell on it. Paths of one cell and side share no cell, so that what they give adds up.
#
# An arc is *wide* if it has capacity for the whole level. Keys of paths, the smaller the better:
#
#   by strata   (narrow free arcs, narrow open arcs, C * wide free arcs + their weights + wide open arcs), in that
#               order, C open arcs in all: the order of Castro's costs (11) without their huge numbers
#   by weight   (narrow free arcs, narrow open arcs, weights of the free arcs); narrow in the direction that is walked
#
# The first two are one number, the rank. It is exact as the key of a heap: below 2^53 for paths of 2^21 arcs.

cdef double FREE_NARROW = 2.0**32  # rank of a narrow free arc; a narrow open one has rank 1
cdef double ENOUGH = 1 - 1e-12


@cython.final
cdef class StratifiedArrays:
    """A network with weights, capacities and the protection so far."""

    cdef Adjacency lists  # the entries of a node, lightest first
    cdef double[::1] price  # by entry: the weight of its arc
    cdef double[::1] path_capacity  # 2 * entry: of its arc when the path is walked back, 2 * entry + 1: when walked
    cdef uint8_t[::1] taken  # by entry: whether its arc is open
    cdef double[::1] capacity  # 2 * arc: how far it may fall, 2 * arc + 1: how far it may rise
    cdef const uint8_t[::1] alone  # by arc: the cell of one single contributor
    cdef readonly object open_array  # by arc: hidden
    cdef uint8_t[::1] is_open
    cdef int[::1] opened  # by node: its latest open entry, or NONE
    cdef int[::1] before  # by entry: the open entry of the same node before it
    cdef int[::1] used  # by arc: stamp of the level that walked it last
    cdef readonly object reached_array  # 2 * arc: how far it is known to fall, 2 * arc + 1: to rise
    cdef double[::1] reached
    cdef readonly object witness_array  # as reached: the number of the path behind it, or NONE
    cdef int64_t[::1] witness
    cdef int[::1] new  # arcs opened for the present level
    cdef int64_t[::1] changed  # places of reached changed for the present level,
    cdef double[::1] old_reached  # what was there before,
    cdef int64_t[::1] old_witness
    cdef readonly object trail_array  # arcs of the paths of the present level, its own arc first in each
    cdef int[::1] trail
    cdef readonly object legs_array  # where each of these paths ends in the trail
    cdef int[::1] legs
    cdef double[::1] rank  # by node
    cdef double[::1] cost
    cdef int[::1] arrived  # by node: the entry by which the best path arrives
    cdef int[::1] queue
    cdef uint8_t[::1] done
    cdef Heap heap
    cdef readonly int64_t open_arcs, found, opened_now, changed_now, trail_length, legs_length
    cdef int stamp

    def __init__(
        self, Py_ssize_t nodes, const int[::1] tail, const int[::1] head, const int[::1] ends,
        const double[::1] weight, const double[::1] down, const double[::1] up, const uint8_t[::1] alone,
    ):
        arcs, entries = tail.shape[0], ends.shape[0]
        cdef Py_ssize_t entry
        cdef int end, arc
        self.lists = Adjacency(nodes, tail, head, ends)
        self.capacity = np.column_stack([down, up]).ravel()
        self.price, self.path_capacity = np.empty(entries), np.empty(2 * entries)
        for entry in range(entries):
            end = self.lists.end[entry]
            arc = end >> 1
            self.price[entry] = weight[arc]
            self.path_capacity[2 * entry] = up[arc] if end & 1 else down[arc]
            self.path_capacity[2 * entry + 1] = down[arc] if end & 1 else up[arc]
        self.taken, self.alone = np.zeros(entries, np.uint8), alone
        self.open_array = np.zeros(arcs, np.bool_)
        self.is_open = self.open_array
        self.opened, self.before = np.full(nodes, NONE, np.int32), np.full(entries, NONE, np.int32)
        self.used, self.new = np.zeros((2, arcs + 1), np.int32)
        self.reached = self.reached_array = np.zeros(2 * arcs)
        self.witness = self.witness_array = np.full(2 * arcs, NONE, np.int64)
        self.changed, self.old_witness = np.zeros((2, 2 * arcs + 2), np.int64)
        self.old_reached = np.zeros(2 * arcs + 2)
        self.trail = self.trail_array = np.zeros(2 * arcs + 2, np.int32)
        self.legs = self.legs_array = np.zeros(arcs + 1, np.int32)
        self.rank, self.cost = np.zeros((2, nodes))
        self.arrived, self.queue, self.done = np.zeros(nodes, np.int32), np.zeros(nodes, np.int32), np.zeros(nodes, np.uint8)
        self.heap = Heap(entries + nodes + 2)


cdef struct PathQuery:  # a path from `source` to `sink` along which arc `own` can deviate
    int source
    int sink
    int own
    bint rising
    double level  # arcs with at least this capacity are wide
    double base  # added to the weight of a free arc
    double step  # cost of an open arc
    bint by_weight
    bint only_open
    bint avoid  # leave out the cells of single contributors


cdef void hide_arc(StratifiedArrays net, int arc) noexcept nogil:
    """Hide a cell."""
    cdef int side, entry, node
    if net.is_open[arc]:
        return
    net.is_open[arc] = True
    net.open_arcs += 1
    net.new[net.opened_now] = arc
    net.opened_now += 1
    for side in range(2):
        entry = net.lists.entry[2 * arc + side]
        if entry >= 0:
            node = start_of(net.lists, entry)
            net.before[entry] = net.opened[node]
            net.opened[node] = entry
            net.taken[entry] = True


cdef bint path_along_open(StratifiedArrays net, PathQuery *query) noexcept nogil:
    """Breadth first over wide open arcs: no other path is as cheap as one of these."""
    cdef double least = query.level * ENOUGH, capacity
    cdef int rising = query.rising, entry, other, arc
    cdef Py_ssize_t head = 0, tail = 1
    net.arrived[:] = NONE
    net.queue[0] = query.source
    while head < tail:
        entry = net.opened[net.queue[head]]
        head += 1
        while entry != NONE:
            other, arc = net.lists.target[entry], net.lists.end[entry] >> 1
            capacity = net.path_capacity[2 * entry + rising]
            if not query.by_weight:
                capacity = min(capacity, net.path_capacity[2 * entry + 1 - rising])
            if (
                net.arrived[other] == NONE and other != query.source and capacity >= least
                and net.is_open[arc] and net.used[arc] != net.stamp and not (query.avoid and net.alone[arc])
            ):
                net.arrived[other] = entry
                if other == query.sink:
                    return True
                net.queue[tail] = other
                tail += 1
            entry = net.before[entry]
    return False


cdef double last_arc_cost(StratifiedArrays net, PathQuery *query, bint narrow) noexcept nogil:
    """No path has a last arc that costs less; infinite if no arc leads to the sink."""
    cdef int entry = net.opened[query.sink], arc, back = 0 if query.rising else 1
    while entry != NONE:
        arc = net.lists.end[entry] >> 1
        if net.is_open[arc] and net.used[arc] != net.stamp:
            return 0.0 if narrow else query.step
        entry = net.before[entry]
    if not query.only_open:
        for entry in range(net.lists.first[query.sink], net.lists.first[query.sink + 1]):
            if not net.taken[entry] and net.path_capacity[2 * entry + back] >= (  # when the entry is walked back
                0.0 if narrow else query.level * ENOUGH
            ):
                return query.base + net.price[entry]
    return INFINITY


cdef bint path_by_strata(StratifiedArrays net, PathQuery *query, bint narrow) noexcept nogil:
    """Dijkstra; lists are left as soon as they cannot lead to a better path. `narrow`: over narrow arcs too."""
    cdef int sink = query.sink, rising = query.rising, node, other, arc, entry, place, end
    cdef double least = query.level * ENOUGH, nothing = 1e-9 * query.level
    cdef double last = last_arc_cost(net, query, narrow)
    cdef double here_rank, here, new_rank, new, capacity, size_of, ahead
    cdef bint hidden, better, best, usable
    if last == INFINITY:
        return False
    net.rank[:] = INFINITY
    net.cost[:] = INFINITY
    net.done[:] = False
    net.rank[query.source], net.cost[query.source] = 0.0, 0.0
    net.heap.size = 0
    push(net.heap, 0.0, 0.0, query.source)
    while net.heap.size > 0:
        node, here_rank, here = net.heap.items[0].node, net.heap.items[0].key, net.heap.items[0].second
        drop_first(net.heap)
        if net.done[node]:
            continue
        if node == sink:
            return True
        net.done[node] = True
        entry, hidden = net.opened[node], True
        place, end = net.lists.first[node], net.lists.first[node + 1]
        if query.only_open:
            end = place
        while True:
            if hidden and entry == NONE:
                hidden = False
            if not hidden:
                if place == end:
                    break
                entry = place
                place += 1
            other = net.lists.target[entry]
            new_rank, new = here_rank, here + (query.step if hidden else query.base + net.price[entry])
            if not hidden and (here_rank > net.rank[sink] or (here_rank == net.rank[sink] and new >= net.cost[sink])):
                break
            better = here_rank < net.rank[other] or (here_rank == net.rank[other] and new < net.cost[other])
            if better and net.taken[entry] == hidden and not net.done[other]:
                capacity = net.path_capacity[2 * entry + rising]
                size_of = capacity
                if not query.by_weight:
                    size_of = min(capacity, net.path_capacity[2 * entry + 1 - rising])
                usable = capacity > nothing and (narrow or size_of >= least)
                if usable and (hidden or query.avoid):
                    arc = net.lists.end[entry] >> 1
                    usable = not (query.avoid and net.alone[arc])
                    usable = usable and (not hidden or (net.is_open[arc] and net.used[arc] != net.stamp))
                if size_of < least:
                    new_rank += 1.0 if hidden else FREE_NARROW
                    new = here + (0.0 if hidden else net.price[entry])
                ahead = new if other == sink else new + last
                best = new_rank < net.rank[sink] or (new_rank == net.rank[sink] and ahead < net.cost[sink])
                better = new_rank < net.rank[other] or (new_rank == net.rank[other] and new < net.cost[other])
                if usable and best and better:
                    net.rank[other], net.cost[other], net.arrived[other] = new_rank, new, entry
                    push(net.heap, new_rank, new, other)
            if hidden:
                entry = net.before[entry]
    return False


cdef bint best_path(StratifiedArrays net, PathQuery *query) noexcept nogil:
    """The best path: over wide open arcs if there is one, then over wide arcs, then over all."""
    if path_along_open(net, query):
        return True
    if not query.only_open and path_by_strata(net, query, False):
        return True
    return path_by_strata(net, query, True)


cdef void record_reach(StratifiedArrays net, int64_t place, double amount, int64_t witness) noexcept nogil:
    """Record that a cell can fall (2 * arc) or rise (2 * arc + 1) by an amount; the old entry is kept for `undo`."""
    if amount > net.reached[place]:
        net.changed[net.changed_now], net.old_reached[net.changed_now] = place, net.reached[place]
        net.old_witness[net.changed_now] = net.witness[place]
        net.changed_now += 1
        net.reached[place], net.witness[place] = amount, witness


cdef void begin(StratifiedArrays net) noexcept nogil:
    """A new level: no arc is walked yet, and nothing before can be undone any more."""
    net.stamp += 1
    net.opened_now = net.changed_now = net.trail_length = net.legs_length = 0


cdef void undo(StratifiedArrays net) noexcept nogil:
    """Take back what was hidden and recorded for the present level."""
    cdef int arc, side, entry
    cdef int64_t place
    while net.opened_now > 0:
        net.opened_now -= 1
        net.open_arcs -= 1
        arc = net.new[net.opened_now]
        net.is_open[arc] = False
        for side in range(1, -1, -1):  # the reverse of `hide_arc`
            entry = net.lists.entry[2 * arc + side]
            net.opened[start_of(net.lists, entry)] = net.before[entry]
            net.taken[entry] = False
    while net.changed_now > 0:
        net.changed_now -= 1
        place = net.changed[net.changed_now]
        net.reached[place], net.witness[place] = net.old_reached[net.changed_now], net.old_witness[net.changed_now]
    net.trail_length = net.legs_length = 0


cdef double gamma_of(StratifiedArrays net, PathQuery *query, bint rising) noexcept nogil:
    """Castro's gamma: how far the arc of the query rises, or falls, along the path just found."""
    cdef double gamma = net.capacity[2 * query.own + rising]
    cdef int node = query.sink, entry
    while node != query.source:
        entry = net.arrived[node]
        gamma = min(gamma, net.path_capacity[2 * entry + rising])
        node = start_of(net.lists, entry)
    return gamma


cdef void take_path(
    StratifiedArrays net, PathQuery *query, double fall, double rise, int64_t number
) noexcept nogil:
    """Hide the cells of the path, list them, and record the protection that it gives them."""
    cdef int64_t at = net.trail_length
    cdef int node = query.sink, entry, arc
    cdef bint forward
    net.trail[at] = query.own
    at += 1
    while node != query.source:
        entry = net.arrived[node]
        arc, forward = net.lists.end[entry] >> 1, net.lists.end[entry] & 1 == 0
        hide_arc(net, arc)
        net.used[arc] = net.stamp
        net.trail[at] = arc
        at += 1
        if not query.only_open:
            record_reach(net, 2 * arc + 1, rise if forward else fall, number)
            record_reach(net, 2 * arc, fall if forward else rise, number)
        node = start_of(net.lists, entry)
    net.trail_length = net.legs[net.legs_length] = at
    net.legs_length += 1


cdef bint protect_arc(StratifiedArrays net, PathQuery query, int64_t number) noexcept nogil:
    """See `protect`; ends, level and base of the query are filled in here."""
    cdef double level = query.level, fallen = 0.0, risen = 0.0, fall, rise
    cdef int own = query.own
    begin(net)
    if net.lists.entry[2 * own] < 0:  # in no equation: nothing ties it
        return net.capacity[2 * own + query.rising] >= level * ENOUGH
    query.source = start_of(net.lists, net.lists.entry[2 * own + 1])
    query.sink = start_of(net.lists, net.lists.entry[2 * own])
    net.used[own] = net.stamp
    while (risen if query.rising else fallen) < level * ENOUGH:
        if query.by_weight:
            query.level, query.base = level - (risen if query.rising else fallen), query.step
        else:
            query.base = net.open_arcs
        if not best_path(net, &query):
            undo(net)
            return False
        fall, rise = gamma_of(net, &query, False), gamma_of(net, &query, True)
        take_path(net, &query, fall, rise, number + net.legs_length)
        fallen, risen = fallen + fall, risen + rise
        if not query.only_open:
            net.found += 1
    if not query.only_open:
        record_reach(net, 2 * own, min(fallen, net.capacity[2 * own]), number)
        record_reach(net, 2 * own + 1, min(risen, net.capacity[2 * own + 1]), number)
    return True


def protect(
    StratifiedArrays net, int own, bint rising, double level, double step, bint by_weight, bint only_open, bint avoid,
    int64_t number,
):
    """Paths until the arc is known to fall or rise by a level; False, and nothing changed, if they do not suffice.

    The first path has this number. `step`: the cost of an open arc. `only_open`: hide nothing, record nothing.
    `avoid`: leave out the cells of single contributors.
    """
    cdef PathQuery query = PathQuery(0, 0, own, rising, level, 0.0, step, by_weight, only_open, avoid)
    cdef bint protected
    with nogil:
        protected = protect_arc(net, query, number)
    return protected


def hide(StratifiedArrays net, const int64_t[::1] arcs, const double[::1] moved, int64_t number):
    """Hide cells, and record for path `number` that each of them can move as far as given."""
    cdef Py_ssize_t k
    begin(net)
    for k in range(arcs.shape[0]):
        hide_arc(net, arcs[k])
        record_reach(net, 2 * arcs[k] + (moved[k] > 0), fabs(moved[k]), number)
