# Hypercubes in a table without hierarchies, each given by a cell and one that differs from it in every dimension.
#
# See `methods.suppress_hypercube` for what they are and which one comes first. Dimension after dimension a code is
# chosen; the corners so far are copied with it. Where a copy is no cell, or one that cannot move, no hypercube begins
# with these codes.

cdef enum:
    MOST_AXES = 20  # maximum number of dimensions

LARGEST_PRODUCT = MOST_AXES


cdef struct CubeRank:
    # what comes first, lexicographically; `divisor` is the first one at which the hypercube is wide enough
    int64_t divisor
    bint hides
    int64_t singles
    int64_t cells
    double cost


@cython.final
cdef class HypercubeTargets:
    """The cells of the whole table, by number: what each may do, requires and costs. Hidden ones change."""

    cdef uint8_t[::1] hidden
    cdef const uint8_t[::1] movable
    cdef const uint8_t[::1] single
    cdef const double[::1] up
    cdef const double[::1] down
    cdef const double[::1] lower
    cdef const double[::1] upper
    cdef const double[::1] sliding
    cdef const double[::1] cost
    cdef const double[::1] divisors
    cdef double margin_cost
    cdef bint singletons

    def __init__(self, marks: tuple, room: tuple, levels: tuple, const double[::1] cost,
                 const double[::1] divisors, double margin_cost, bint singletons):
        self.hidden, self.movable, self.single = marks
        self.up, self.down = room
        self.lower, self.upper, self.sliding = levels
        self.cost, self.divisors, self.margin_cost, self.singletons = cost, divisors, margin_cost, singletons


@cython.final
cdef class OppositeCells:
    """The search in one table."""

    cdef HypercubeTargets all
    cdef const int64_t[::1] shape
    cdef const int[::1] place  # the number of a cell within this table at each place, or NONE
    cdef const int64_t[:, ::1] at
    cdef const uint8_t[::1] is_total  # by code, dimension after dimension
    cdef const int64_t[::1] cells  # their numbers in the whole table
    cdef const uint8_t[::1] margin
    cdef int64_t axes, target, most_divisor, steps
    cdef int64_t[MOST_AXES] stride
    cdef int64_t[MOST_AXES] offset
    cdef int64_t[::1] key  # of the corners: places,
    cdef int64_t[::1] corner  # and cells of this table
    cdef int8_t[::1] sign
    cdef int64_t[::1] best
    cdef CubeRank rank
    cdef bint found
    cdef bint ended  # nothing can come before what was found
    cdef bint second  # look for one without excluded cells
    cdef uint8_t[::1] excluded

    def __init__(self, HypercubeTargets all, const int64_t[::1] shape, const int[::1] place,
                 const int64_t[:, ::1] at, const uint8_t[::1] is_total, const int64_t[::1] cells,
                 const uint8_t[::1] margin):
        cdef Py_ssize_t d
        self.all, self.shape, self.place, self.at = all, shape, place, at
        self.is_total, self.cells, self.margin, self.axes = is_total, cells, margin, shape.shape[0]
        self.stride[self.axes - 1], self.offset[0] = 1, 0
        for d in range(self.axes - 1, 0, -1):
            self.stride[d - 1] = self.stride[d] * shape[d]
        for d in range(1, self.axes):
            self.offset[d] = self.offset[d - 1] + shape[d - 1]
        self.key, self.corner, self.best = np.zeros((3, 1 << self.axes), np.int64)
        self.sign = np.ones(1 << self.axes, np.int8)
        self.excluded = np.zeros(cells.shape[0], np.uint8)


cdef void weigh(OppositeCells search, HypercubeTargets all, double rise, double fall) noexcept nogil:
    """Whether the hypercube of all corners comes first so far."""
    cdef int64_t number = search.cells[search.target], k, cell, corners = 1 << search.axes
    cdef double divisor
    cdef CubeRank rank = CubeRank(0, False, 0, 0, 0.0)
    while rank.divisor < all.divisors.shape[0]:
        divisor = all.divisors[rank.divisor]
        if rise + fall >= all.sliding[number] / divisor and (
            rise >= all.upper[number] / divisor and fall >= all.lower[number] / divisor
        ):
            break
        rank.divisor += 1
    if rank.divisor > search.most_divisor:
        return
    if search.second:
        rank.divisor = 0  # all that are wide enough for the first one are
    if search.found and rank.divisor > search.rank.divisor:
        return
    for k in range(corners):
        if search.second and search.excluded[search.corner[k]]:
            return
        cell = search.cells[search.corner[k]]
        if all.singletons and k > 0 and all.single[cell]:
            rank.singles += 1
        if not all.hidden[cell]:
            rank.hides = True
            rank.cells += 1
            rank.cost += all.cost[cell] + (all.margin_cost if search.margin[search.corner[k]] else 0.0)
    search.steps += corners
    if search.found and not precedes(&rank, &search.rank):
        return
    search.found, search.rank = True, rank
    search.ended = rank.divisor == 0 and not rank.hides and rank.singles == 0
    for k in range(corners):
        search.best[k] = search.corner[k]


cdef bint precedes(CubeRank *one, CubeRank *other) noexcept nogil:
    if one.divisor != other.divisor:
        return one.divisor < other.divisor
    if one.hides != other.hides:
        return other.hides
    if one.singles != other.singles:
        return one.singles < other.singles
    if one.cells != other.cells:
        return one.cells < other.cells
    return one.cost < other.cost


cdef void choose_codes(
    OppositeCells search, HypercubeTargets all, Watch watch, int64_t axis, double rise, double fall
) noexcept nogil:
    """All codes of a dimension, and of those after it, with the corners that there are already."""
    cdef int64_t own, code, k, count = 1 << axis, place, number
    cdef double more, less
    cdef int8_t sign
    cdef bint total
    if axis == search.axes:
        weigh(search, all, rise, fall)
        return
    own = search.at[search.target, axis]
    for code in range(search.shape[axis]):
        if code == own:
            continue
        search.steps += 4
        if search.ended or stopped(watch, search.steps):
            return
        search.steps = 0
        total = search.is_total[search.offset[axis] + code] or search.is_total[search.offset[axis] + own]
        more, less = rise, fall
        for k in range(count):
            place = search.key[k] + (code - own) * search.stride[axis]
            if search.place[place] == NONE:
                break
            number = search.cells[search.place[place]]
            if not all.movable[number]:
                break
            sign = search.sign[k] if total else -search.sign[k]
            more = min(more, all.up[number] if sign > 0 else all.down[number])
            less = min(less, all.down[number] if sign > 0 else all.up[number])
            if more + less <= 0.0:
                break
            search.key[count + k], search.corner[count + k] = place, search.place[place]
            search.sign[count + k] = sign
        else:
            choose_codes(search, all, watch, axis + 1, more, less)


cdef bint look_for_cube(
    OppositeCells search, HypercubeTargets all, Watch watch, int64_t target
) noexcept nogil:
    """The first hypercube of a cell, if there is one."""
    cdef int64_t number = search.cells[target], axis
    search.found = search.ended = False
    search.target = target
    if not all.movable[number] or all.up[number] + all.down[number] <= 0.0:
        return False
    search.key[0] = 0
    for axis in range(search.axes):
        search.key[0] += search.at[target, axis] * search.stride[axis]
    search.corner[0], search.sign[0] = target, 1
    choose_codes(search, all, watch, 0, all.up[number], all.down[number])
    return search.found


cdef bint hide_best(OppositeCells search, HypercubeTargets all) noexcept nogil:
    """Hide the hypercube that was found; whether it has new cells."""
    cdef int64_t k, cell
    cdef bint new = False
    for k in range(1 << search.axes):
        cell = search.cells[search.best[k]]
        if not all.hidden[cell]:
            all.hidden[cell] = 1
            new = True
    return new


cdef void protect_target(
    OppositeCells search, HypercubeTargets all, Watch watch, int64_t target, int64_t[::1] counts
) noexcept nogil:
    """A hypercube for a cell, and a second one without the single respondents of the first."""
    cdef int64_t k, corners = 1 << search.axes, reached, singles = 0
    search.second, search.most_divisor = False, all.divisors.shape[0] - 1
    if not look_for_cube(search, all, watch, target):
        counts[1] += not watch.over
        return
    if watch.over:
        return
    reached = search.rank.divisor
    counts[2] += reached
    counts[0] += hide_best(search, all)
    if not all.singletons:
        return
    for k in range(corners):
        if search.best[k] != target and all.single[search.cells[search.best[k]]]:
            search.excluded[search.best[k]] = 1
            singles += 1
    if singles == 0:
        return
    search.second, search.most_divisor = True, reached
    if look_for_cube(search, all, watch, target):
        counts[0] += hide_best(search, all)
        counts[3] += 1
    elif not watch.over:
        counts[4] += 1
    search.excluded[:] = 0


def hide_hypercubes(OppositeCells search, const int64_t[::1] targets, stop):
    """A hypercube for each of these cells of a table, one after the other.

    Gives the numbers of hypercubes with new cells, of cells without one, of divisions of widths, of second hypercubes,
    and of cells for which there is no second one.
    """
    watch, all, numbers = Watch(stop), search.all, np.zeros(5, np.int64)
    cdef int64_t[::1] counts = numbers
    cdef Py_ssize_t entry
    with nogil:
        for entry in range(targets.shape[0]):
            protect_target(search, all, watch, targets[entry], counts)
            if watch.over:
                break
    watch.end()
    return numbers
