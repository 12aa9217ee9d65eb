# Capacity cuts of all requirements of a small network, as dense rows over the variables with right-hand side 1.
#
# The inequalities are those of `cut_rows.pxi`. Each comes from a set of nodes that separates the ends of the
# requirement's cell; that is checked, so its validity does not depend on the flow that proposed the set.

@cython.final
cdef class CapacityArrays(CutRows):
    """The cells that may be hidden as arcs, and the requirements as flows."""

    cdef FlowArrays net
    cdef const int[::1] tail, head  # by cell
    cdef double largest
    cdef uint8_t[:, ::1] near, far
    cdef double[::1] limit, flow

    def __init__(self, FlowArrays net, ends, int64_t[::1] variable, Py_ssize_t size, boxes, flows, levels, limits):
        CutRows.__init__(self, variable, size, boxes, flows, levels, limits)
        cdef Py_ssize_t nodes = net.first.shape[0] - 1
        self.net = net
        self.tail, self.head = ends
        self.largest = np.max(self.level, initial=0.0)
        self.limit, self.flow = np.zeros(2), np.zeros(2)
        self.near, self.far = np.zeros((2, nodes), np.uint8), np.zeros((2, nodes), np.uint8)

    def separate(
        self, const double[::1] x, const double[::1] point, double part, double above, double least, bint integral,
        stop=None,
    ):
        """Cuts that x violates by more than `least`, by minimum cuts at a point beside it; and by how much.

        `part`: what takes the place of the level in the capacities of cells that the point hides partly. Cells that x
        hides to more than `above` make a cover of each cut. At an integral point without any x is a safe pattern.
        """
        cdef Watch watch = Watch(stop)
        with nogil:
            separate_rows(self, x, point, part, above, least, integral, watch)
        watch.end()
        return self.rows_found()

    def meets_all(self, const double[::1] x, stop=None):
        """Whether an integral point meets every requirement."""
        cdef Watch watch = Watch(stop)
        cdef bint met
        with nogil:
            met = meets_each(self, x, watch)
        watch.end()
        return met

    def without_redundant(self, double[::1] x, const int64_t[::1] candidates, stop=None):
        """Set variables of a safe integral point to 0, in this order, as far as it stays safe."""
        cdef Watch watch = Watch(stop)
        cdef Py_ssize_t k
        with nogil:
            for k in range(candidates.shape[0]):
                x[candidates[k]] = 0.0
                if not meets_each(self, x, watch):
                    x[candidates[k]] = 1.0
        watch.end()


cdef double FLOW_SHARE = 1e-9  # residual capacities below this share of a fractional flow are noise


cdef bint meets_each(CapacityArrays cuts, const double[::1] x, Watch watch) noexcept nogil:
    """Whether an integral point meets every requirement; one that it does not meet comes first in the next call."""
    cdef Py_ssize_t k, t, f
    cdef int loaded = -1, own
    cdef double reached, limit
    set_shares(cuts, x)
    for k in range(cuts.turn.shape[0]):
        t, reached = cuts.turn[k], 0.0
        for f in range(cuts.first[t], cuts.first[t + 1]):
            if cuts.attacker[f] != loaded:
                loaded = cuts.attacker[f]
                load(cuts.net, cuts.up[loaded], cuts.down[loaded], cuts.share, cuts.largest, cuts.largest)
            limit = min(cuts.level[t], cuts.up[loaded, cuts.arc[f]] if cuts.upward[f] else cuts.down[loaded, cuts.arc[f]])
            own = cuts.net.place[cuts.arc[f]]
            if own < 0:
                reached += limit
            elif limit > 0.0:
                own = own if cuts.upward[f] else cuts.net.mirror[own]
                reached += close(cuts.net, own, limit, 0.0, NO_FLOWS, NO_NODES, watch)
        if reached < cuts.level[t] - cuts.slack[t] or watch.over:
            bring_forward(cuts, k)
            return False
    return True


cdef void separate_rows(
    CapacityArrays cuts, const double[::1] x, const double[::1] point, double part, double above, double least,
    bint integral, Watch watch,
) noexcept nogil:
    """Fill `found` and `violation`."""
    cdef Py_ssize_t t, f, d
    cdef int own
    cdef double reached, noise = 0.0 if integral else FLOW_SHARE, limit
    cuts.count = 0
    set_shares(cuts, point)
    sort_by_extent(cuts, x)
    for t in range(cuts.level.shape[0]):
        reached = 0.0
        for f in range(cuts.first[t], cuts.first[t + 1]):
            d = f - cuts.first[t]
            load(
                cuts.net, cuts.up[cuts.attacker[f]], cuts.down[cuts.attacker[f]], cuts.share, cuts.level[t],
                cuts.level[t] * part,
            )
            own = cuts.net.place[cuts.arc[f]]
            limit = cuts.up[cuts.attacker[f], cuts.arc[f]] if cuts.upward[f] else cuts.down[cuts.attacker[f], cuts.arc[f]]
            cuts.limit[d] = cuts.flow[d] = limit = min(limit, cuts.level[t])
            if own >= 0:
                own = own if cuts.upward[f] else cuts.net.mirror[own]
                cuts.near[d, :] = False
                cuts.flow[d] = least_cut(cuts.net, own, limit, noise * limit, cuts.near[d], cuts.far[d], watch)
            if watch.over:
                return
            reached += min(cuts.flow[d], limit)
        if reached >= cuts.level[t] - (cuts.slack[t] if integral else least * cuts.level[t]):
            continue
        if make_cut(cuts, t, cuts.near, noise):
            keep_rows(cuts, x, above, least, integral)
        if not same_sides(cuts, t) and make_cut(cuts, t, cuts.far, noise):
            keep_rows(cuts, x, above, least, integral)


cdef bint same_sides(CapacityArrays cuts, Py_ssize_t t) noexcept nogil:
    """Whether the cuts nearest to source and sink are the same."""
    cdef Py_ssize_t d, node
    for d in range(cuts.first[t + 1] - cuts.first[t]):
        for node in range(cuts.near.shape[1]):
            if cuts.near[d, node] != cuts.far[d, node]:
                return False
    return True


cdef bint make_cut(CapacityArrays cuts, Py_ssize_t t, const uint8_t[:, ::1] sides, double noise) noexcept nogil:
    """The capacity cut of source sides, one for each flow, in `row`; False if it says nothing."""
    cdef Py_ssize_t f, d, cell, p, cells = cuts.tail.shape[0], terms = 0
    cdef int source, sink
    cdef int64_t v
    cdef double level = cuts.level[t], fixed = 0.0, capacity, needed = level - cuts.slack[t]
    cuts.row[:] = 0.0
    for f in range(cuts.first[t], cuts.first[t + 1]):
        d, p = f - cuts.first[t], cuts.arc[f]
        if cuts.net.place[p] < 0 or cuts.flow[d] >= cuts.limit[d] * (1.0 - noise):
            fixed += cuts.limit[d]
            terms += 1
            continue
        source = cuts.head[p] if cuts.upward[f] else cuts.tail[p]
        sink = cuts.tail[p] if cuts.upward[f] else cuts.head[p]
        if not sides[d, source] or sides[d, sink]:
            return False
        for cell in range(cells):
            if sides[d, cuts.tail[cell]] == sides[d, cuts.head[cell]] or cell == p:
                continue
            if sides[d, cuts.tail[cell]]:
                capacity = min(cuts.up[cuts.attacker[f], cell], level)
            else:
                capacity = min(cuts.down[cuts.attacker[f], cell], level)
            v = cuts.variable[cell]
            if v < 0:
                fixed += capacity
                terms += 1
            else:
                cuts.row[v] = min((cuts.row[v] + capacity) * cuts.widening, level)
    return take_shares(cuts, level, needed, fixed, terms)
