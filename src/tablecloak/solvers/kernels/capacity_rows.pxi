# Capacity cuts of all requirements of a small network, as dense rows over the variables with right-hand side 1.
#
# The inequalities are those of `methods.cuts.cut` (residual and truncation, covers, Chvatal-Gomory roundings), with the
# same rounding against them. Each comes from a set of nodes that separates the ends of the requirement's cell; that is
# checked, so its validity does not depend on the flow that proposed the set.

@cython.final
cdef class CapacityArrays:
    """The cells that may be hidden as arcs, the requirements as flows, and scratch memory."""

    cdef FlowArrays net
    cdef const int[::1] tail, head  # by cell
    cdef const int64_t[::1] variable  # by cell; NONE: it is hidden in every pattern
    cdef const double[:, ::1] up, down  # by attacker and cell
    cdef const int64_t[::1] first  # the flows of requirement t are first[t] to first[t + 1]
    cdef const int[::1] arc, attacker  # by flow
    cdef const uint8_t[::1] upward
    cdef const double[::1] level, slack  # by requirement
    cdef readonly Py_ssize_t size
    cdef int most_covered, most_divisors
    cdef double least_rest, widening, largest
    cdef double[::1] share, row, other, divisor
    cdef uint8_t[:, ::1] near, far
    cdef double[::1] limit, flow
    cdef double[:, ::1] found
    cdef double[::1] violation
    cdef int64_t[::1] order, turn, support, inside
    cdef Py_ssize_t count, covered, supported

    def __init__(self, FlowArrays net, ends, int64_t[::1] variable, Py_ssize_t size, boxes, flows, levels, limits):
        self.net, self.variable, self.size = net, variable, size
        self.tail, self.head = ends
        self.up, self.down = boxes
        self.first, self.arc, self.attacker, self.upward = flows
        self.level, self.slack = levels
        self.largest = np.max(self.level, initial=0.0)
        self.most_covered, self.most_divisors, self.least_rest = limits
        cdef Py_ssize_t cells = self.tail.shape[0], requirements = self.level.shape[0]
        cdef Py_ssize_t nodes = net.first.shape[0] - 1, cell, loose = 0
        for cell in range(cells):
            loose += variable[cell] >= 0
        self.widening = 1.0 + 2.0 * CUT_ROUNDING * (loose - size)  # variables of several cells are sums
        self.share, self.limit, self.flow = np.zeros(cells), np.zeros(2), np.zeros(2)
        self.row, self.other, self.divisor = np.zeros(size), np.zeros(size), np.zeros(self.most_divisors + 1)
        self.near, self.far = np.zeros((2, nodes), np.uint8), np.zeros((2, nodes), np.uint8)
        self.found = np.zeros((ROWS_PER_REQUIREMENT * requirements, size))
        self.violation = np.zeros(ROWS_PER_REQUIREMENT * requirements)
        self.order, self.support, self.inside = np.zeros((3, size + 1), np.int64)
        self.turn = np.arange(requirements, dtype=np.int64)

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
        return np.array(self.found[: self.count]), np.array(self.violation[: self.count])

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


cdef enum:
    ROWS_PER_REQUIREMENT = 16

cdef double CUT_ROUNDING = 2.0**-52  # twice the relative error of one operation
cdef double CUT_MET = 1e-9  # a residual below this share of a level counts as met; smaller capacities are left out
cdef double CUT_BETTER = 1e-6  # a strengthened cut is kept if it is violated by this more than the cut itself
cdef double FLOW_SHARE = 1e-9  # residual capacities below this share of a fractional flow are noise


cdef void set_shares(CapacityArrays cuts, const double[::1] x) noexcept nogil:
    """To what extent each cell is hidden."""
    cdef Py_ssize_t cell
    for cell in range(cuts.share.shape[0]):
        cuts.share[cell] = 1.0 if cuts.variable[cell] < 0 else min(max(x[cuts.variable[cell]], 0.0), 1.0)


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
            for f in range(k, 0, -1):
                cuts.turn[f] = cuts.turn[f - 1]
            cuts.turn[0] = t
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


cdef void sort_by_extent(CapacityArrays cuts, const double[::1] x) noexcept nogil:
    """The variables that x hides: in `support`, and those to more than a half, the largest first, in `order`."""
    cdef Py_ssize_t j, k
    cuts.covered = cuts.supported = 0
    for j in range(cuts.size):
        if x[j] != 0.0:
            cuts.support[cuts.supported] = j
            cuts.supported += 1
        if x[j] > 0.5:
            k = cuts.covered
            cuts.covered += 1
            while k > 0 and x[cuts.order[k - 1]] < x[j]:
                cuts.order[k] = cuts.order[k - 1]
                k -= 1
            cuts.order[k] = j
    cuts.covered = min(cuts.covered, cuts.most_covered)


cdef bint same_sides(CapacityArrays cuts, Py_ssize_t t) noexcept nogil:
    """Whether the cuts nearest to source and sink are the same."""
    cdef Py_ssize_t d, node
    for d in range(cuts.first[t + 1] - cuts.first[t]):
        for node in range(cuts.near.shape[1]):
            if cuts.near[d, node] != cuts.far[d, node]:
                return False
    return True


cdef double rest_of(double level, double total, Py_ssize_t terms) noexcept nogil:
    """What a sum of some terms leaves of the level, rounded down."""
    return level - total - (terms + 2) * CUT_ROUNDING * min(total, level)


cdef bint make_cut(CapacityArrays cuts, Py_ssize_t t, const uint8_t[:, ::1] sides, double noise) noexcept nogil:
    """The capacity cut of source sides, one for each flow, in `row`; False if it says nothing."""
    cdef Py_ssize_t f, d, cell, p, j, cells = cuts.tail.shape[0], terms = 0
    cdef int source, sink
    cdef int64_t v
    cdef double level = cuts.level[t], fixed = 0.0, capacity, rest, needed = level - cuts.slack[t]
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
    rest = rest_of(needed, fixed, terms)
    for j in range(cuts.size):
        if 0.0 < cuts.row[j] <= CUT_MET * rest:
            fixed += cuts.row[j]
            terms += 1
            cuts.row[j] = 0.0
    rest = rest_of(needed, fixed, terms)
    if rest <= CUT_MET * level:
        return False
    truncate(cuts.row, rest)
    return True


cdef void truncate(double[::1] row, double rest) noexcept nogil:
    """Coefficients as shares of the rest, at most 1, rounded up."""
    cdef Py_ssize_t j
    for j in range(row.shape[0]):
        row[j] = min(row[j] / rest * (1.0 + 2.0 * CUT_ROUNDING), 1.0)


cdef double missing(CapacityArrays cuts, const double[::1] row, const double[::1] x) noexcept nogil:
    """By how much x violates a row."""
    cdef Py_ssize_t k
    cdef double total = 1.0
    for k in range(cuts.supported):
        total -= row[cuts.support[k]] * x[cuts.support[k]]
    return total


cdef bint keep(CapacityArrays cuts, const double[::1] row, const double[::1] x, double least) noexcept nogil:
    """Note a row if x violates it by more than this."""
    cdef double violation = missing(cuts, row, x)
    if violation <= least or cuts.count >= cuts.found.shape[0]:
        return False
    cuts.found[cuts.count, :] = row
    cuts.violation[cuts.count] = violation
    cuts.count += 1
    return True


cdef void keep_rows(
    CapacityArrays cuts, const double[::1] x, double above, double least, bint integral
) noexcept nogil:
    """Note the cut in `row` and what strengthens it, as far as violated; at an integral point also its no-good cut."""
    if integral:
        keep(cuts, cuts.row, x, 0.0)
        if no_good(cuts, x):
            keep(cuts, cuts.other, x, 0.5)
        return
    keep_strengthened(cuts, cuts.row, x, least)
    if above < 1.0 and cover_above(cuts, x, above):
        cuts.row[:] = cuts.other
        keep_strengthened(cuts, cuts.row, x, least)


cdef void keep_strengthened(
    CapacityArrays cuts, const double[::1] row, const double[::1] x, double least
) noexcept nogil:
    """Note a cut, its best cover and the best roundings of both."""
    cdef double violation = max(missing(cuts, row, x), 0.0)
    cdef Py_ssize_t place
    keep(cuts, row, x, least)
    if best_rounding(cuts, row, x, violation + CUT_BETTER):
        keep(cuts, cuts.other, x, least)
    if best_cover(cuts, row, x, violation + CUT_BETTER):
        place = cuts.count
        if keep(cuts, cuts.other, x, least):
            if best_rounding(cuts, cuts.found[place], x, cuts.violation[place] + CUT_BETTER):
                keep(cuts, cuts.other, x, least)


cdef bint no_good(CapacityArrays cuts, const double[::1] x) noexcept nogil:
    """In `other`: one more variable with a capacity must be 1; False if those that are 1 may satisfy the cut."""
    cdef Py_ssize_t j, terms = 0
    cdef double total = 0.0
    for j in range(cuts.size):
        if x[j] > 0.5:
            total += cuts.row[j]
            terms += 1
    if rest_of(1.0, total, terms) <= 0.0:
        return False
    for j in range(cuts.size):
        cuts.other[j] = 1.0 if cuts.row[j] > 0.0 and x[j] <= 0.5 else 0.0
    return True


cdef bint cover_above(CapacityArrays cuts, const double[::1] x, double above) noexcept nogil:
    """In `other`: the cover of `row` with the variables that x hides to more than `above`; False if there is none."""
    cdef Py_ssize_t j, terms = 0
    cdef double total = 0.0, rest
    for j in range(cuts.size):
        if x[j] > above:
            total += cuts.row[j]
            terms += 1
    rest = rest_of(1.0, total, terms)
    if rest < cuts.least_rest:
        return False
    for j in range(cuts.size):
        cuts.other[j] = 0.0 if x[j] > above else cuts.row[j]
    truncate(cuts.other, rest)
    return True


cdef Py_ssize_t inside_of(CapacityArrays cuts, const double[::1] row) noexcept nogil:
    """The variables of a row that x hides, in `inside`; their number."""
    cdef Py_ssize_t k, count = 0
    for k in range(cuts.supported):
        if row[cuts.support[k]] != 0.0:
            cuts.inside[count] = cuts.support[k]
            count += 1
    return count


cdef bint best_cover(CapacityArrays cuts, const double[::1] row, const double[::1] x, double least) noexcept nogil:
    """In `other`: the most violated cover with the first variables in `order`; False if none exceeds `least`."""
    cdef Py_ssize_t c, best = -1, j, k, count = inside_of(cuts, row)
    cdef double total = 0.0, rest, kept = 0.0, violation
    for c in range(cuts.covered):
        total += row[cuts.order[c]]
        rest = rest_of(1.0, total, c + 1)
        if rest <= cuts.least_rest:
            break
        if row[cuts.order[c]] == 0.0:
            continue
        violation = 1.0
        for k in range(count):
            j = cuts.inside[k]
            violation -= min(row[j] / rest, 1.0) * x[j]
        for j in range(c + 1):
            violation += min(row[cuts.order[j]] / rest, 1.0) * x[cuts.order[j]]
        if violation > least:
            least, best, kept = violation, c, rest
    if best < 0:
        return False
    cuts.other[:] = row
    for c in range(best + 1):
        cuts.other[cuts.order[c]] = 0.0
    truncate(cuts.other, kept)
    return True


cdef bint best_rounding(CapacityArrays cuts, const double[::1] row, const double[::1] x, double least) noexcept nogil:
    """In `other`: the most violated Chvatal-Gomory rounding over the largest coefficients; False if none exceeds `least`.

    Divisors are a little larger than a coefficient, so that its multiples are not rounded up for noise.
    """
    cdef Py_ssize_t j, k, above, i, used = inside_of(cuts, row), count = 0
    cdef double divisor, right, violation, best = 0.0
    for i in range(used):
        j = cuts.inside[i]
        if x[j] <= CUT_BETTER or row[j] >= 1.0 - CUT_MET:
            continue
        k = count
        while k > 0 and cuts.divisor[k - 1] < row[j]:
            k -= 1
        if (k > 0 and cuts.divisor[k - 1] <= row[j] * (1.0 + CUT_MET)) or k == cuts.most_divisors:
            continue
        count = min(count + 1, cuts.most_divisors)
        for above in range(count - 1, k, -1):
            cuts.divisor[above] = cuts.divisor[above - 1]
        cuts.divisor[k] = row[j]
    for k in range(count):
        divisor = cuts.divisor[k] * (1.0 + CUT_MET)
        right, violation = rounded_right(divisor), 1.0
        for i in range(used):
            j = cuts.inside[i]
            violation -= rounded(row[j], divisor, right) * x[j]
        if violation > least:
            least, best = violation, divisor
    if best == 0.0:
        return False
    right = rounded_right(best)
    for j in range(cuts.size):
        cuts.other[j] = rounded(row[j], best, right)
    return True


cdef inline double rounded_right(double divisor) noexcept nogil:
    """The right-hand side of a rounding."""
    return ceil(1.0 / divisor * (1.0 - 2.0 * CUT_ROUNDING))


cdef inline double rounded(double coefficient, double divisor, double right) noexcept nogil:
    """A coefficient of a rounding, as a share of its right-hand side, rounded up."""
    return min(ceil(coefficient / divisor * (1.0 + 2.0 * CUT_ROUNDING)) / right * (1.0 + CUT_ROUNDING), 1.0)
