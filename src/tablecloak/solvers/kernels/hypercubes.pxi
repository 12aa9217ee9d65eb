# The search for hypercubes; see `attacker.hypercube` for what they are.

cdef enum:
    MOST_CORNERS = 2048  # maximum number of cells of a hypercube
    MOST_CODES = 64  # maximum number of codes of a walk
    SWEEPS = 6  # maximum number of sweeps over all dimensions from one start

LONGEST = MOST_CODES
cdef double VIOLATION = 2.0**16  # cost of a violation, in multiples of the largest price of a cell
FORBIDDEN = 1e300
cdef double FORBIDDEN_PRICE = FORBIDDEN  # the price of a cell that must not be hidden


@cython.final
cdef class HypercubeArrays:
    """A table of codes in several dimensions, its equations by cell, and scratch memory."""

    cdef const int64_t[::1] stride  # by dimension: of codes in the places of the grid,
    cdef const int64_t[::1] kind_stride  # and of depths in the kinds of marginals
    cdef const int[::1] start  # codes of dimension d are at start[d], ...
    cdef const int[::1] parent  # by code; parents and ends count from the start of the dimension
    cdef const int[::1] end
    cdef const int[::1] depth
    cdef const int[::1] place  # the cell at each place of the grid, or NONE
    cdef const uint8_t[::1] there  # whether a kind of marginal is in the table
    cdef const int[::1] first  # the equations by cell
    cdef const int[::1] row
    cdef const double[::1] data
    cdef double[::1] sums  # by equation: zero between searches
    cdef const double[::1] price  # by cell: of hiding it,
    cdef const double[::1] up  # and how far it may deviate
    cdef const double[::1] down
    cdef int64_t own  # the cell to protect,
    cdef double level  # how far it must move,
    cdef double violation  # and the price of a violation
    cdef int64_t[::1] keys  # of the corners: the product of some walks
    cdef int64_t[::1] kinds
    cdef int8_t[::1] signs
    cdef int64_t[:, ::1] walk  # by dimension: codes,
    cdef int64_t[:, ::1] walk_sign
    cdef int64_t[::1] length
    cdef double[::1] below  # by code of one dimension: the cheapest way down, and its next code
    cdef int[::1] following

    def __init__(
        self, const int64_t[::1] stride, const int64_t[::1] kind_stride,
        trees: tuple, const int[::1] place, const uint8_t[::1] there, columns: tuple, Py_ssize_t equations,
    ):
        self.stride, self.kind_stride, self.place, self.there = stride, kind_stride, place, there
        self.start, self.parent, self.end, self.depth = trees
        self.first, self.row, self.data = columns
        dimensions, longest = stride.shape[0], int(np.diff(self.start).max())
        self.sums = np.zeros(equations)
        self.keys, self.kinds = np.zeros((2, MOST_CORNERS), np.int64)
        self.signs = np.zeros(MOST_CORNERS, np.int8)
        self.walk, self.walk_sign = np.zeros((2, dimensions, MOST_CODES), np.int64)
        self.length = np.zeros(dimensions, np.int64)
        self.below, self.following = np.zeros(longest), np.zeros(longest, np.int32)


cdef double code_price(HypercubeArrays net, int64_t key, int64_t kind, int way, Py_ssize_t count) noexcept nogil:
    """What a code costs that moves this way: its cells, one for each corner of the other dimensions."""
    cdef double total = 0.0, room
    cdef Py_ssize_t i
    cdef int cell
    for i in range(count):
        cell = net.place[key + net.keys[i]]
        if cell < 0:
            if net.there[kind + net.kinds[i]]:
                total += net.violation
        elif cell != net.own:
            room = net.up[cell] if way * net.signs[i] > 0 else net.down[cell]
            total += net.price[cell] if room >= net.level and net.price[cell] < net.violation else net.violation
    return total


cdef double cheapest_down(HypercubeArrays net, Py_ssize_t d, int code, int way, Py_ssize_t count) noexcept nogil:
    """The cheapest walk from a code down to a leaf: its price; the next of each code is left in `following`."""
    cdef int first = net.start[d], last = net.end[first + code], y, parent
    cdef double total = 0.0
    for y in range(code, last):
        net.below[y] = FORBIDDEN_PRICE
        net.following[y] = NONE
    for y in range(last - 1, code - 1, -1):
        total = code_price(net, y * net.stride[d], net.depth[first + y] * net.kind_stride[d], way, count)
        if net.end[first + y] > y + 1:
            total += net.below[y]
        parent = net.parent[first + y]
        if y > code and total < net.below[parent]:
            net.below[parent], net.following[parent] = total, y
    return total


cdef Py_ssize_t walk_down(HypercubeArrays net, Py_ssize_t d, int code, int sign, Py_ssize_t many) noexcept nogil:
    """Append the codes from `code` down to a walk of dimension d; its new length."""
    while code >= 0:
        net.walk[d, many], net.walk_sign[d, many] = code, sign
        many, code = many + 1, net.following[code]
    return many


cdef double best_walk(HypercubeArrays net, Py_ssize_t d, int code, Py_ssize_t count) noexcept nogil:
    """The cheapest walk through a code of dimension d that moves up, into `walk`; its price."""
    cdef int first = net.start[d], turn = NONE, top = code, y = code, z, above
    cdef double so_far = cheapest_down(net, d, code, 1, count), best = INFINITY, cost
    cdef Py_ssize_t many
    while True:
        above = net.parent[first + y]
        if above < 0:
            if so_far < best:
                best, turn, top = so_far, NONE, y
            break
        z = above + 1
        while z < net.end[first + above]:
            if z != y:
                cost = so_far + cheapest_down(net, d, z, -1, count)
                if cost < best:
                    best, turn, top = cost, z, y
            z = net.end[first + z]
        so_far += code_price(net, above * net.stride[d], net.depth[first + above] * net.kind_stride[d], 1, count)
        if so_far >= best:
            break
        y = above
    many = walk_down(net, d, code, 1, 0)
    y = code
    while y != top:
        y = net.parent[first + y]
        net.walk[d, many], net.walk_sign[d, many] = y, 1
        many += 1
    net.length[d] = walk_down(net, d, turn, -1, many)
    return best


cdef Py_ssize_t multiply_walks(HypercubeArrays net, Py_ssize_t left_out) noexcept nogil:
    """The corners of all dimensions but one; how many there are, or 0 if they are too many."""
    cdef Py_ssize_t d, i, j, many, count = 1
    cdef int64_t code, key, kind
    net.keys[0], net.kinds[0], net.signs[0] = 0, 0, 1
    for d in range(net.stride.shape[0]):
        many = net.length[d]
        if d == left_out:
            continue
        if count * many > MOST_CORNERS:
            return 0
        for j in range(many - 1, -1, -1):
            code = net.walk[d, j]
            key, kind = code * net.stride[d], net.depth[net.start[d] + code] * net.kind_stride[d]
            for i in range(count):
                net.keys[j * count + i] = net.keys[i] + key
                net.kinds[j * count + i] = net.kinds[i] + kind
                net.signs[j * count + i] = net.signs[i] * net.walk_sign[d, j]
        count *= many
    return count


cdef bint adds_up(HypercubeArrays net, Py_ssize_t count) noexcept nogil:
    """Whether all equations hold when the corners move by their signs. `sums` are zero before and after."""
    cdef Py_ssize_t i, at
    cdef int cell
    cdef bint holds = True
    for i in range(count):
        cell = net.place[net.keys[i]]
        if cell >= 0:
            for at in range(net.first[cell], net.first[cell + 1]):
                net.sums[net.row[at]] += net.signs[i] * net.data[at]
    for i in range(count):
        cell = net.place[net.keys[i]]
        if cell >= 0:
            for at in range(net.first[cell], net.first[cell + 1]):
                holds = holds and fabs(net.sums[net.row[at]]) < 1e-9
                net.sums[net.row[at]] = 0.0
    return holds


cdef (double, Py_ssize_t) sweep(HypercubeArrays net, const int64_t[::1] mine, const int64_t[::1] order) noexcept nogil:
    """Choose the best walk of one dimension after the other, until none is better; the price, 0 corners if none fits."""
    cdef double cost = INFINITY, before = INFINITY
    cdef Py_ssize_t d, at, count = 1
    cdef int repetition
    for d in range(order.shape[0]):
        net.walk[d, 0], net.walk_sign[d, 0], net.length[d] = mine[d], 1, 1
    for repetition in range(SWEEPS):
        for at in range(order.shape[0]):
            d = order[at]
            count = multiply_walks(net, d)
            if count == 0:
                return cost, 0
            cost = best_walk(net, d, mine[d], count)
        if cost >= before:
            break
        before = cost
    return cost, count


def cheapest_hypercube(
    HypercubeArrays net, int64_t key, double level, const double[::1] price, const double[::1] up,
    const double[::1] down, int64_t starts, int64_t seed,
):
    """The cells of the cheapest hypercube of some starts for the cell at place `key`, and their signs; maybe none."""
    cells, directions = np.zeros(MOST_CORNERS, np.int32), np.zeros(MOST_CORNERS, np.int8)
    cdef int[::1] found = cells
    cdef int8_t[::1] sign = directions
    cdef int64_t[::1] order = np.arange(net.stride.shape[0]), mine = np.zeros(net.stride.shape[0], np.int64)
    cdef double largest = 0.0, best, cost
    cdef Py_ssize_t d, i, j, count, size = 0
    cdef uint64_t state = seed
    cdef int64_t rest = key, attempt
    cdef int cell
    net.price, net.up, net.down, net.level, net.own = price, up, down, level, net.place[key]
    with nogil:
        for i in range(price.shape[0]):
            if price[i] < FORBIDDEN_PRICE:
                largest = max(largest, price[i])
        best = net.violation = VIOLATION * max(largest, 1e-300)
        for d in range(mine.shape[0]):
            mine[d] = rest // net.stride[d]
            rest -= mine[d] * net.stride[d]
        for attempt in range(starts):
            for i in range(order.shape[0] - 1, 0, -1):
                j = next_bits(&state) % (i + 1)
                order[i], order[j] = order[j], order[i]
            cost, count = sweep(net, mine, order)
            if count == 0 or cost >= best:
                continue
            count = multiply_walks(net, -1)
            if count == 0 or not adds_up(net, count):
                continue
            best, size = cost, 0
            for i in range(count):
                cell = net.place[net.keys[i]]
                if cell >= 0:
                    found[size], sign[size] = cell, net.signs[i]
                    size += 1
    return cells[:size], directions[:size]
