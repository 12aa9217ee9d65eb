# Homogeneous systems M d = 0: unpick, split, merge.
#
# A matrix is given by columns, as scipy does: the entries of column c are start[c] to start[c + 1], each with its row
# and its coefficient; no entry is zero and none is repeated. All work is linear in the entries (but for the inverse
# Ackermann function of Tarjan 1975, or a logarithm) and a few passes over the rows.

cdef double VANISHED_SUM = 1e-12  # coefficients that cancel up to this are zero


def unpick(const int[::1] start, const int[::1] row, Py_ssize_t rows, const int64_t[::1] columns):
    """Which of the columns remain after removing, again and again, those alone in a row.

    Each row keeps the number of its unknowns and the sum of their places: a row with one unknown names it.
    """
    result = np.ones(columns.shape[0], np.bool_)
    cdef uint8_t[::1] alive = result
    cdef int64_t[:, ::1] scratch = np.zeros((3, rows), np.int64)
    cdef int64_t[::1] count = scratch[0], sums = scratch[1]
    cdef int64_t[::1] waiting = scratch[2]  # a row comes here once: when it is down to one unknown
    cdef Py_ssize_t place, entry, equation, height = 0, gone
    with nogil:
        for place in range(columns.shape[0]):
            for entry in range(start[columns[place]], start[columns[place] + 1]):
                count[row[entry]] += 1
                sums[row[entry]] += place
        for equation in range(rows):
            if count[equation] == 1:
                waiting[height] = equation
                height += 1
        while height > 0:
            height -= 1
            if count[waiting[height]] == 1:
                gone = sums[waiting[height]]
                alive[gone] = False
                for entry in range(start[columns[gone]], start[columns[gone] + 1]):
                    count[row[entry]] -= 1
                    sums[row[entry]] -= gone
                    if count[row[entry]] == 1:
                        waiting[height] = row[entry]
                        height += 1
    return result


def take_columns(
    const int[::1] start, const int[::1] row, const double[::1] data, Py_ssize_t rows, const int64_t[::1] columns
):
    """Some columns as a matrix of their own, over the rows that they use, in order; last the number of these."""
    starts = np.zeros(columns.shape[0] + 1, np.int32)
    cdef int[::1] first = starts, number = np.full(rows, NONE, np.int32), where
    cdef double[::1] value
    cdef Py_ssize_t place, entry, equation, shift
    cdef int used = 0
    with nogil:
        for place in range(columns.shape[0]):
            first[place + 1] = first[place] + start[columns[place] + 1] - start[columns[place]]
            for entry in range(start[columns[place]], start[columns[place] + 1]):
                number[row[entry]] = 0
        for equation in range(rows):
            if number[equation] != NONE:
                number[equation] = used
                used += 1
    new_rows, values = np.empty(first[columns.shape[0]], np.int32), np.empty(first[columns.shape[0]])
    where, value = new_rows, values
    with nogil:
        for place in range(columns.shape[0]):
            shift = start[columns[place]] - first[place]
            for entry in range(first[place], first[place + 1]):
                where[entry], value[entry] = number[row[entry + shift]], data[entry + shift]
    return starts, new_rows, values, used


# --------------------------------------------------------------------------- connected parts and networks


cdef (int, bint) root_of(int[::1] parent, uint8_t[::1] turned, int row) noexcept nogil:
    """The first row of the part that holds a row, and whether their signs differ; ways are halved in passing."""
    cdef bint contrary = False
    cdef int above
    while parent[row] != row:
        above = parent[row]
        turned[row] ^= turned[above]  # a first row is never turned
        parent[row] = parent[above]
        contrary ^= turned[row]
        row = parent[row]
    return row, contrary


cdef void connect(
    const int[::1] start, const int[::1] row, const double[::1] data, const int64_t[::1] columns, int[::1] parent,
    uint8_t[::1] turned, uint8_t[::1] odd,
) noexcept nogil:
    """Join the rows that share columns; says of each first row of a part whether the part is no network.

    A network has columns of at most two entries, +1 or -1, and its rows can be negated so that the two differ.
    """
    cdef Py_ssize_t place, entry, first, last
    cdef int root, other, top, below
    cdef bint plain, contrary, its, differ
    for place in range(columns.shape[0]):
        first, last = start[columns[place]], start[columns[place] + 1]
        plain = last - first <= 2
        for entry in range(first, last):
            plain = plain and fabs(data[entry]) == 1.0
            root, contrary = root_of(parent, turned, row[first])
            other, its = root_of(parent, turned, row[entry])
            differ = entry > first and contrary ^ its ^ (data[entry] == data[first])
            if other == root:
                odd[root] |= differ
            else:
                top, below = min(root, other), max(root, other)
                parent[below], turned[below] = top, differ
                odd[top] |= odd[below]
        if not plain:
            root, contrary = root_of(parent, turned, row[first])
            odd[root] = True


cdef Py_ssize_t number_parts(
    const int[::1] start, const int[::1] row, const int64_t[::1] columns, int[::1] parent, uint8_t[::1] turned,
    const uint8_t[::1] odd, int64_t[::1] part, int64_t[::1] known, uint8_t[::1] network,
) noexcept nogil:
    """The part of each column, in the order of their first columns, and which parts are networks; their number.

    `known`: the part of each first row, or NONE.
    """
    cdef Py_ssize_t place, parts = 0
    cdef int first, root
    cdef bint contrary
    for place in range(columns.shape[0]):
        first = start[columns[place]]
        if first == start[columns[place] + 1]:
            part[place] = parts
            parts += 1
            continue
        root, contrary = root_of(parent, turned, row[first])
        if known[root] == NONE:
            known[root], network[parts] = parts, not odd[root]
            parts += 1
        part[place] = known[root]
    return parts


cdef orient(
    const int[::1] start, const int[::1] row, const double[::1] data, const int64_t[::1] columns, int[::1] parent,
    uint8_t[::1] turned,
):
    """Columns of networks as arcs between their rows: the fields of an `Orientation`."""
    cdef int[::1] place = np.full(parent.shape[0], NONE, np.int32), tail, head
    cdef int8_t[::1] sign
    cdef Py_ssize_t arc, entry, equation
    cdef int nodes = 0, grounded = 0, node, root
    cdef bint negated
    with nogil:
        for arc in range(columns.shape[0]):
            if start[columns[arc] + 1] - start[columns[arc]] < 2:
                grounded = 1
            for entry in range(start[columns[arc]], start[columns[arc] + 1]):
                place[row[entry]] = 0
        for equation in range(place.shape[0]):
            if place[equation] != NONE:
                place[equation] = nodes
                nodes += 1
    signs, (tails, heads) = np.ones(nodes, np.int8), np.full((2, columns.shape[0]), nodes, np.int32)
    sign, tail, head = signs, tails, heads
    with nogil:
        for arc in range(columns.shape[0]):
            for entry in range(start[columns[arc]], start[columns[arc] + 1]):
                node = place[row[entry]]
                root, negated = root_of(parent, turned, row[entry])
                if negated:
                    sign[node] = -1
                if (data[entry] > 0) ^ negated:
                    tail[arc] = node
                else:
                    head[arc] = node
    return nodes + grounded, tails, heads, signs


def split_components(
    const int[::1] start, const int[::1] row, const double[::1] data, Py_ssize_t rows, const int64_t[::1] columns
):
    """The connected parts of the columns, and the networks among them as one graph.

    Gives the part of each column, whether each part is a network, and the fields of the `Orientation` (see
    `tablecloak.attacker.structure`) of all columns of networks together; its nodes are their rows, in order.
    """
    cdef int[::1] parent = np.arange(rows, dtype=np.int32)
    cdef uint8_t[:, ::1] marks = np.zeros((2, rows), np.uint8)
    cdef uint8_t[::1] turned = marks[0], odd = marks[1], network
    part, is_network = np.empty(columns.shape[0], np.int64), np.ones(columns.shape[0], np.bool_)
    cdef int64_t[::1] part_of = part, known = np.full(rows, NONE, np.int64)
    cdef Py_ssize_t parts
    network = is_network
    with nogil:
        connect(start, row, data, columns, parent, turned, odd)
        parts = number_parts(start, row, columns, parent, turned, odd, part_of, known, network)
    is_network = is_network[:parts].copy()
    nodes, tail, head, sign = orient(start, row, data, np.asarray(columns)[is_network[part]], parent, turned)
    return part, is_network, nodes, tail, head, sign


# ------------------------------------------------------------------------------------------------ merging


cdef (int, double) leader_of(int[::1] parent, double[::1] ratio, int column) noexcept nogil:
    """The first column of the group that holds a column, and d[column] / d[first]; ways are halved in passing."""
    cdef double product = 1.0
    cdef int above
    while parent[column] != column:
        above = parent[column]
        ratio[column] *= ratio[above]  # 1 for a first column
        parent[column] = parent[above]
        product *= ratio[column]
        column = parent[column]
    return column, product


cdef void join_ties(
    const int[::1] start, const int[::1] row, const double[::1] data, int[:, ::1] last_two, double[:, ::1] of_them,
    int[::1] count, int[::1] parent, double[::1] ratio, uint8_t[::1] stuck,
) noexcept nogil:
    """Join the columns of each row with two entries of one size. `last_two`, `of_them`: columns, coefficients by row."""
    cdef int column, a, b, first, last
    cdef Py_ssize_t entry, equation
    cdef double of_a, of_b, there, here
    for column in range(start.shape[0] - 1):
        for entry in range(start[column], start[column + 1]):
            equation = row[entry]
            count[equation] += 1
            last_two[equation, 0], of_them[equation, 0] = last_two[equation, 1], of_them[equation, 1]
            last_two[equation, 1], of_them[equation, 1] = column, data[entry]
    for equation in range(count.shape[0]):
        if count[equation] != 2:
            continue
        a, of_a = leader_of(parent, ratio, last_two[equation, 0])
        b, of_b = leader_of(parent, ratio, last_two[equation, 1])
        there, here = of_them[equation, 0] * of_a, of_them[equation, 1] * of_b  # there * d[a] + here * d[b] = 0
        if fabs(there) != fabs(here):
            continue
        if a == b:
            stuck[a] |= there != -here
        else:
            first, last = min(a, b), max(a, b)
            parent[last], ratio[last] = first, -there / here if last == b else -here / there
            stuck[first] |= stuck[last]


def tie_columns(const int[::1] start, const int[::1] row, const double[::1] data, Py_ssize_t rows):
    """Columns tied by rows with two entries of one size: group and ratio (1 or -1) of each, d = ratio * d[first].

    Groups are numbered in the order of their first columns. A ratio of zero: contradictory ties force it to be 0.
    Entries of different size tie nothing here: whole numbers must stay whole.
    """
    columns = start.shape[0] - 1
    cdef int[:, ::1] last_two = np.zeros((rows, 2), np.int32)
    cdef double[:, ::1] of_them = np.zeros((rows, 2))
    cdef int[::1] count = np.zeros(rows, np.int32), parent = np.arange(columns, dtype=np.int32)
    cdef double[::1] ratio = np.ones(columns), ratios
    cdef uint8_t[::1] stuck = np.zeros(columns, np.uint8)
    groups, all_ratios = np.empty(columns, np.int64), np.empty(columns)
    cdef int64_t[::1] group = groups
    cdef int64_t number = 0
    cdef int column, first
    cdef double of_first
    ratios = all_ratios
    with nogil:
        join_ties(start, row, data, last_two, of_them, count, parent, ratio, stuck)
        for column in range(group.shape[0]):
            first, of_first = leader_of(parent, ratio, column)
            if first == column:
                group[column], number = number, number + 1
            else:
                group[column] = group[first]
            ratios[column] = 0.0 if stuck[first] else of_first
    return groups, all_ratios


def merge_columns(
    const int[::1] start, const int[::1] row, const double[::1] data, Py_ssize_t rows, const int64_t[::1] group,
    const double[::1] ratio, Py_ssize_t groups,
):
    """The matrix over groups of columns, without the rows that vanish: the sums of ratio times column."""
    # the columns of a group are a chain
    cdef int64_t[::1] member = np.full(groups, NONE, np.int64), after = np.empty(group.shape[0], np.int64)
    cdef int64_t[::1] seen = np.full(rows, NONE, np.int64)
    cdef double[::1] total = np.zeros(rows), sums
    cdef int[::1] used = np.full(rows, NONE, np.int32), first, where
    starts, new_rows, values = np.zeros(groups + 1, np.int32), np.empty(data.shape[0], np.int32), np.empty(data.shape[0])
    cdef Py_ssize_t column, number, entry, candidate, equation, stop, size = 0
    cdef int kept = 0
    first, where, sums = starts, new_rows, values
    with nogil:
        for column in range(group.shape[0] - 1, -1, -1):
            after[column], member[group[column]] = member[group[column]], column
        for number in range(groups):
            stop, column = size, member[number]
            while column != NONE:
                for entry in range(start[column], start[column + 1]):
                    equation = row[entry]
                    if seen[equation] != number:
                        seen[equation], total[equation] = number, 0.0
                        where[stop] = equation
                        stop += 1
                    total[equation] += ratio[column] * data[entry]
                column = after[column]
            for candidate in range(size, stop):
                equation = where[candidate]
                if fabs(total[equation]) >= VANISHED_SUM:
                    if used[equation] == NONE:
                        used[equation] = kept
                        kept += 1
                    where[size], sums[size] = used[equation], total[equation]
                    size += 1
            first[number + 1] = size
    return starts, new_rows[:size].copy(), values[:size].copy(), kept


def group_bounds(
    const int64_t[::1] group, const double[::1] ratio, Py_ssize_t groups, const double[::1] low,
    const double[::1] high,
):
    """How far each group may go down and up, so that all its columns stay within low..high."""
    lows, highs = np.full(groups, -np.inf), np.full(groups, np.inf)
    cdef double[::1] lowest = lows, highest = highs
    cdef Py_ssize_t column, own
    cdef double one, other
    with nogil:
        for column in range(group.shape[0]):
            own = group[column]
            if ratio[column] == 0.0:
                lowest[own] = highest[own] = 0.0
            else:
                one, other = low[column] / ratio[column], high[column] / ratio[column]
                lowest[own] = max(lowest[own], min(one, other))
                highest[own] = min(highest[own], max(one, other))
    return lows, highs


def unfold(const int[::1] start, const int[::1] row, const double[::1] data, const int64_t[::1] asked):
    """The matrix [A, -A, B, -B], B being the columns of A asked about; last the number of its columns."""
    cdef Py_ssize_t columns = start.shape[0] - 1, width, number, column, copy, entry, total, size, place = 0
    total, size = 2 * (columns + asked.shape[0]), start[columns]
    for number in range(asked.shape[0]):
        size += start[asked[number] + 1] - start[asked[number]]
    starts, new_rows, values = np.zeros(total + 1, np.int32), np.empty(2 * size, np.int32), np.empty(2 * size)
    cdef int[::1] first = starts, where = new_rows
    cdef double[::1] value = values
    with nogil:
        for number in range(total):
            copy = number if number < 2 * columns else number - 2 * columns
            width = columns if number < 2 * columns else asked.shape[0]
            column = copy % width if number < 2 * columns else asked[copy % width]
            for entry in range(start[column], start[column + 1]):
                where[place] = row[entry]
                value[place] = data[entry] if copy < width else -data[entry]
                place += 1
            first[number + 1] = place
    return starts, new_rows, values, total


cdef void add_products(
    const int[::1] start, const int[::1] row, const int64_t[::1] data, const int64_t[::1] amount, int64_t[::1] total
) noexcept nogil:
    """Add whole amounts of the columns to the totals of the rows. No sum may leave int64."""
    cdef Py_ssize_t column, entry
    for column in range(amount.shape[0]):
        if amount[column] != 0:
            for entry in range(start[column], start[column + 1]):
                total[row[entry]] += data[entry] * amount[column]


def is_balanced(
    const int[::1] start, const int[::1] row, const int64_t[::1] data, Py_ssize_t rows, const int64_t[::1] amount
):
    """Whether whole amounts of the columns keep every row: their sums are zero. No sum may leave int64."""
    sums = np.zeros(rows, np.int64)
    cdef int64_t[::1] total = sums
    with nogil:
        add_products(start, row, data, amount, total)
    return not sums.any()


def combined_rows(
    const int[::1] start, const int[::1] row, const int64_t[::1] data, const int64_t[::1] factor
):
    """The sum of factor times row, by column. No sum may leave int64."""
    sums = np.zeros(start.shape[0] - 1, np.int64)
    cdef int64_t[::1] total = sums
    cdef Py_ssize_t column, entry
    with nogil:
        for column in range(total.shape[0]):
            for entry in range(start[column], start[column + 1]):
                total[column] += data[entry] * factor[row[entry]]
    return sums
