# The null space of a matrix as a dense tableau, and a simplex method on it: see `attacker.null_space`.

cdef double VANISHED_COEFFICIENT = 1e-10  # coefficients below this after an elimination step have cancelled
cdef double DEGENERATE_STEP = 1e-11  # shorter steps are degenerate
cdef double ZERO_SLOPE = 1e-9  # reduced costs below this are zero

cdef enum:
    PATIENCE = 60  # steps without progress after which Bland's rule chooses the entering cell

cpdef enum Ending:
    """How `farthest_deviation` ended."""

    MET = 0
    FARTHEST = 1
    OWN_BOUND = 2
    ENDLESS = 3
    LOST = 4


def independent_part(double[:, ::1] work, stop=None):
    """Rows and columns of a non-singular part of full rank, by sparse elimination in place."""
    rows, columns = np.empty((2, work.shape[0]), np.int64)
    cdef int64_t[::1] chosen_rows = rows, chosen_columns = columns
    cdef int64_t[::1] in_row = np.count_nonzero(work, axis=1).astype(np.int64)
    cdef int64_t[::1] in_column = np.count_nonzero(work, axis=0).astype(np.int64)
    cdef int64_t[::1] entries = np.empty(work.shape[1], np.int64)
    cdef uint8_t[::1] active = np.ones(work.shape[0], np.uint8)
    cdef Watch watch = Watch(stop)
    cdef Py_ssize_t rank
    with nogil:
        rank = eliminate(work, chosen_rows, chosen_columns, in_row, in_column, entries, active, watch)
    watch.end()
    return rows[:rank].copy(), columns[:rank].copy()


cdef Py_ssize_t eliminate(
    double[:, ::1] work, int64_t[::1] chosen_rows, int64_t[::1] chosen_columns, int64_t[::1] in_row,
    int64_t[::1] in_column, int64_t[::1] entries, uint8_t[::1] active, Watch watch,
) noexcept nogil:
    """Eliminate; the rank. `in_row`, `in_column`: the number of entries. `entries`: scratch memory of one row."""
    cdef Py_ssize_t rows = work.shape[0], columns = work.shape[1], rank = 0, i, j, e, row, column, count
    cdef double largest, factor, before, after
    while True:
        row = -1
        for i in range(rows):
            if active[i] and in_row[i] > 0 and (row < 0 or in_row[i] < in_row[row]):
                row = i
        if row < 0 or stopped(watch, rows * columns):
            return rank
        count, largest = 0, 0.0
        for j in range(columns):
            if work[row, j] != 0.0:
                entries[count] = j
                count += 1
                largest = max(largest, fabs(work[row, j]))
        column = -1
        for e in range(count):
            j = entries[e]
            if fabs(work[row, j]) >= 0.1 * largest and (column < 0 or in_column[j] < in_column[column]):
                column = j
        chosen_rows[rank], chosen_columns[rank] = row, column
        rank += 1
        active[row] = False
        for e in range(count):
            in_column[entries[e]] -= 1
        for i in range(rows):
            if active[i] and work[i, column] != 0.0:
                factor = work[i, column] / work[row, column]
                for e in range(count):
                    j = entries[e]
                    before = work[i, j]
                    after = before - factor * work[row, j]
                    if j == column or fabs(after) < VANISHED_COEFFICIENT:
                        after = 0.0
                    if before == 0.0 and after != 0.0:
                        in_row[i] += 1
                        in_column[j] += 1
                    elif before != 0.0 and after == 0.0:
                        in_row[i] -= 1
                        in_column[j] -= 1
                    work[i, j] = after


def substituted(
    const double[:, ::1] work, const int64_t[::1] rows, const int64_t[::1] columns, const int64_t[::1] loose,
    stop=None,
):
    """The table of  d_columns = table @ d_loose  from a matrix that `independent_part` has eliminated."""
    result = np.empty((rows.shape[0], loose.shape[0]))
    cdef double[:, ::1] table = result
    cdef int64_t[::1] entries = np.empty(loose.shape[0], np.int64)
    cdef Watch watch = Watch(stop)
    with nogil:
        substitute_back(work, rows, columns, loose, table, entries, watch)
    watch.end()
    return result


cdef void substitute_back(
    const double[:, ::1] work, const int64_t[::1] rows, const int64_t[::1] columns, const int64_t[::1] loose,
    double[:, ::1] table, int64_t[::1] entries, Watch watch,
) noexcept nogil:
    """Fill the table from the last row on."""
    cdef Py_ssize_t rank = rows.shape[0], count = loose.shape[0], t, j, s, e, used
    cdef double pivot, factor
    for t in range(rank):
        for j in range(count):
            table[t, j] = -work[rows[t], loose[j]]
    for t in range(rank - 1, -1, -1):
        if stopped(watch, rank * count):
            return
        pivot, used = work[rows[t], columns[t]], 0
        for j in range(count):
            if fabs(table[t, j]) < VANISHED_COEFFICIENT:
                table[t, j] = 0.0
            else:
                table[t, j] /= pivot
                entries[used] = j
                used += 1
        for s in range(t):
            factor = work[rows[s], columns[t]]
            if factor != 0.0:
                for e in range(used):
                    table[s, entries[e]] -= factor * table[t, entries[e]]


cdef void exchange(
    double[:, ::1] table, int64_t[::1] basic, int64_t[::1] loose, int64_t[::1] place, Py_ssize_t row,
    Py_ssize_t column,
) noexcept nogil:
    """The basic cell of a row and the loose one of a column change roles."""
    cdef Py_ssize_t rows = table.shape[0], columns = table.shape[1], i, j
    cdef double inverse = 1.0 / table[row, column], factor
    cdef int64_t leaving = basic[row], entering = loose[column]
    for j in range(columns):
        table[row, j] *= -inverse
    table[row, column] = inverse
    for i in range(rows):
        factor = table[i, column]
        if i != row and factor != 0.0:
            table[i, column] = 0.0
            for j in range(columns):
                table[i, j] += factor * table[row, j]
    basic[row], loose[column] = entering, leaving
    place[entering], place[leaving] = row, -column - 1


def farthest_deviation(
    double[:, ::1] table, int64_t[::1] basic, int64_t[::1] loose, int64_t[::1] place, const double[::1] low,
    const double[::1] high, double[::1] value, Py_ssize_t cell, bint upward, double enough, stop=None,
):
    """Move one cell as far as bounds allow, or until it has moved `enough`. Gives how it ended, and the pivots.

    basic = table @ loose for all deviations; `value` is one within the bounds and changes on the way.
    MET: moved enough. FARTHEST: no further; the row of the cell is the proof. OWN_BOUND: its own bound is the proof.
    """
    cdef Watch watch = Watch(stop)
    cdef int64_t ending, pivots
    with nogil:
        ending, pivots = move_far(table, basic, loose, place, low, high, value, cell, upward, enough, watch)
    watch.end()
    return ending, pivots


cdef (int64_t, int64_t) move_far(
    double[:, ::1] table, int64_t[::1] basic, int64_t[::1] loose, int64_t[::1] place, const double[::1] low,
    const double[::1] high, double[::1] value, Py_ssize_t cell, bint upward, double enough, Watch watch,
) noexcept nogil:
    cdef Py_ssize_t rows = table.shape[0], columns = table.shape[1], i, j, own, entering, leaving, mover, follower
    cdef double sign = 1.0 if upward else -1.0
    cdef double direction, best, slope, room, promise, step, strength, rate, limit, bound
    cdef int64_t idle = 0, pivots = 0, iteration
    for iteration in range(200 + 40 * (rows + columns)):
        if sign * value[cell] >= enough:
            return MET, pivots
        if stopped(watch, rows * columns):
            return LOST, pivots
        own = place[cell]
        entering, direction, best = -1, 0.0, 0.0
        if own < 0:
            entering, direction = -own - 1, sign
            if (high[cell] - value[cell] if upward else value[cell] - low[cell]) <= DEGENERATE_STEP:
                return OWN_BOUND, pivots
        else:
            for j in range(columns):
                slope = sign * table[own, j]
                mover = loose[j]
                if slope > ZERO_SLOPE:
                    room = high[mover] - value[mover]
                elif slope < -ZERO_SLOPE:
                    room = value[mover] - low[mover]
                else:
                    continue
                if room <= DEGENERATE_STEP:
                    continue
                if idle > PATIENCE:
                    if entering < 0 or mover < loose[entering]:
                        entering, direction = j, (1.0 if slope > 0 else -1.0)
                    continue
                promise = fabs(slope) * min(room, 1e3)
                if promise > best:
                    entering, direction, best = j, (1.0 if slope > 0 else -1.0), promise
            if entering < 0:
                return FARTHEST, pivots
        mover = loose[entering]
        step = high[mover] - value[mover] if direction > 0 else value[mover] - low[mover]
        if own < 0:
            step = min(step, enough - sign * value[cell])
        leaving, strength = -1, 0.0
        for i in range(rows):
            rate = direction * table[i, entering]
            if fabs(rate) <= ZERO_SLOPE:
                continue
            follower = basic[i]
            if follower == cell:
                limit = max(enough - sign * value[cell], 0.0) / fabs(rate)
                bound = (high[cell] - value[cell] if upward else value[cell] - low[cell]) / fabs(rate)
                limit = min(limit, max(bound, 0.0))
            elif rate > 0:
                limit = max(high[follower] - value[follower], 0.0) / rate
            else:
                limit = max(value[follower] - low[follower], 0.0) / -rate
            if limit < step - DEGENERATE_STEP or (
                limit <= step + DEGENERATE_STEP and fabs(rate) > strength and leaving >= 0
            ):
                step, leaving, strength = min(step, limit), i, fabs(rate)
        if step == INFINITY:
            return ENDLESS, pivots
        value[mover] += direction * step
        for i in range(rows):
            if table[i, entering] != 0.0:
                value[basic[i]] += direction * table[i, entering] * step
        idle = 0 if step > DEGENERATE_STEP else idle + 1
        if leaving >= 0 and basic[leaving] == cell:
            return (MET if sign * value[cell] >= enough - DEGENERATE_STEP else OWN_BOUND), pivots
        if leaving >= 0:
            follower = basic[leaving]
            value[follower] = high[follower] if direction * table[leaving, entering] > 0 else low[follower]
            exchange(table, basic, loose, place, leaving, entering)
            pivots += 1
        elif own >= 0:
            value[mover] = high[mover] if direction > 0 else low[mover]
    return LOST, pivots
