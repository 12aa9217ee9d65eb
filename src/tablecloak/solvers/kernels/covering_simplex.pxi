# Small covering programs: the dual simplex method on a dense dictionary, and bounds that hold whatever it does.
#
#     min w x   subject to   A x >= b,   low <= x <= high      (finite, low >= 0)
#
# Row 0 of the dictionary is the objective, the last column the constant: every basic variable and the objective are
# affine functions of the loose ones. The slack of row i is variable size + i. A dictionary is dual feasible for any
# bounds of x once each loose variable is at the bound that its reduced cost prefers, so that rows and bounds change and
# the next solution begins at the last one. The ratio test passes breakpoints of variables that may change sides.
#
# For any multipliers u >= 0 of the rows,  b'u + sum_i min over [low_i, high_i] of (w - A'u)_i x_i  is a bound: `prove`
# computes it with every rounding error against it, from the rows as they were given. No claim depends on the dictionary.
#
# References: Chvatal (1983), Linear Programming, chapters 8 and 10; Maros (2003), A generalized dual phase-2 simplex
# algorithm, EJOR 149; Neumaier & Shcherbina (2004), Safe bounds in linear and mixed-integer linear programming.

cdef double BOUND_KEPT = 1e-9  # basic variables within this of their bounds are feasible
cdef double ZERO_ENTRY = 1e-9  # entries below this are no pivots
cdef double HALF_ULP = 2.0**-53

cpdef enum Covering:
    """How `solve` of a covering program ended."""

    SOLVED = 0
    ABOVE = 1  # the bound exceeds the cutoff
    UNSOLVED = 2  # too many pivots, or infeasible without proof of it


@cython.final
cdef class CoveringArrays:
    """A covering program, its dictionary and its last solution."""

    cdef readonly Py_ssize_t size, rows
    cdef readonly int64_t pivots
    cdef readonly double bound
    cdef double noise  # reduced costs within this of zero prefer neither bound
    cdef double[::1] cost, low, high, right, at, value, multipliers, gradient, error
    cdef double[:, ::1] left, table
    cdef int64_t[::1] basic, loose, place, order
    cdef double[::1] ratio

    def __init__(self, const double[::1] cost, Py_ssize_t room):
        cdef Py_ssize_t n = cost.shape[0], j
        self.size, self.rows = n, 0
        self.cost, self.noise = np.array(cost), 1e-13 * np.max(cost, initial=0.0)
        self.low, self.high = np.zeros(n), np.ones(n)
        self.at, self.gradient, self.error, self.ratio = np.zeros((4, n + 1))
        self.order = np.zeros(n + 1, np.int64)
        self.allocate(room)
        self.loose = np.arange(n + 1, dtype=np.int64)
        self.restart()

    cdef allocate(self, Py_ssize_t room):
        """Memory for this number of rows; what is there is kept."""
        cdef Py_ssize_t n = self.size, m = self.rows
        left, table, right, basic = self.left, self.table, self.right, self.basic
        place = self.place
        self.left, self.table = np.zeros((room, n)), np.zeros((room + 1, n + 1))
        self.right, self.multipliers, self.value = np.zeros(room), np.zeros(room), np.zeros(room + 1)
        self.basic, self.place = np.zeros(room + 1, np.int64), np.zeros(n + room + 1, np.int64)
        if m:
            self.left[:m], self.right[:m] = left[:m], right[:m]
            self.table[: m + 1], self.basic[: m + 1] = table[: m + 1], basic[: m + 1]
            self.place[: n + m] = place[: n + m]

    cpdef void restart(self):
        """Begin from the dictionary in which all slacks are basic: rounding errors are forgotten."""
        cdef Py_ssize_t n = self.size, i, j
        self.table[:, :] = 0.0
        for j in range(n):
            self.table[0, j] = self.cost[j]
            self.loose[j], self.place[j] = j, -j - 1
        for i in range(self.rows):
            self.table[i + 1, :n] = self.left[i]
            self.table[i + 1, n] = -self.right[i]
            self.basic[i + 1], self.place[n + i] = n + i, i + 1

    def add(self, const double[:, ::1] left, const double[::1] right):
        """Add the rows left x >= right."""
        cdef Py_ssize_t k, m = self.rows + left.shape[0]
        if m > self.left.shape[0]:
            self.allocate(max(m, 2 * self.left.shape[0]))
        for k in range(left.shape[0]):
            enter_row(self, left[k], right[k])

    def drop_slack(self):
        """Drop the rows whose slack is basic, which bind nothing now; which rows are left, by their old numbers."""
        cdef Py_ssize_t n = self.size, i, kept = 0, top = 1, old
        cdef int64_t[::1] number = np.full(self.rows, NONE, np.int64)
        for i in range(self.rows):
            if self.place[n + i] < 0:
                number[i] = kept
                self.left[kept], self.right[kept] = self.left[i], self.right[i]
                kept += 1
        for i in range(1, self.rows + 1):
            if self.basic[i] < n:
                self.table[top], self.basic[top] = self.table[i], self.basic[i]
                top += 1
        old = self.rows
        self.rows = top - 1
        for i in range(1, top):
            self.place[self.basic[i]] = i
        for i in range(n):
            if self.loose[i] >= n:
                self.loose[i] = n + number[self.loose[i] - n]
            self.place[self.loose[i]] = -i - 1
        return np.flatnonzero(np.asarray(number)[:old] >= 0)

    def solve(self, const double[::1] low, const double[::1] high, double cutoff, int64_t most, stop=None):
        """Solve within these bounds, until the bound exceeds the cutoff or after this number of pivots."""
        cdef Watch watch = Watch(stop)
        cdef int ending
        self.low[:], self.high[:] = low, high
        with nogil:
            ending = solve_covering(self, cutoff, most, watch)
        watch.end()
        return ending

    def point(self):
        """The last solution."""
        result = np.zeros(self.size)
        cdef double[::1] x = result
        cdef Py_ssize_t j
        for j in range(self.size):
            x[j] = self.at[-self.place[j] - 1] if self.place[j] < 0 else self.value[self.place[j]]
        return result

    def reduced(self):
        """The reduced costs behind the bound, rounded down: a point with x_i = 1 in place of 0 costs this more."""
        return np.asarray(self.gradient[: self.size]) - np.asarray(self.error[: self.size])


cdef void enter_row(CoveringArrays lp, const double[::1] left, double right) noexcept nogil:
    """One row more, with its slack as basic variable."""
    cdef Py_ssize_t n = lp.size, row = lp.rows + 1, i, j, k
    cdef double a
    lp.left[lp.rows], lp.right[lp.rows] = left, right
    for j in range(n + 1):
        lp.table[row, j] = 0.0
    lp.table[row, n] = -right
    for k in range(n):
        a = left[k]
        if a == 0.0:
            continue
        if lp.place[k] < 0:
            lp.table[row, -lp.place[k] - 1] += a
        else:
            i = lp.place[k]
            for j in range(n + 1):
                lp.table[row, j] += a * lp.table[i, j]
    lp.basic[row], lp.place[n + lp.rows] = n + lp.rows, row
    lp.rows += 1


cdef void take_sides(CoveringArrays lp) noexcept nogil:
    """Each loose variable to the bound that its reduced cost prefers; where that is zero it stays, if it can."""
    cdef Py_ssize_t n = lp.size, j
    cdef int64_t v
    for j in range(n):
        v = lp.loose[j]
        if v >= n:
            lp.at[j] = 0.0
        elif lp.table[0, j] < -lp.noise or (lp.table[0, j] <= lp.noise and lp.at[j] >= lp.high[v]):
            lp.at[j] = lp.high[v]
        else:
            lp.at[j] = lp.low[v]
    lp.at[n] = 1.0


cdef double evaluate(CoveringArrays lp) noexcept nogil:
    """The values of the basic variables; gives the objective."""
    cdef Py_ssize_t n = lp.size, i, j, k, count = 0
    cdef double total
    for j in range(n + 1):
        if lp.at[j] != 0.0:
            lp.order[count] = j
            count += 1
    for i in range(lp.rows + 1):
        total = 0.0
        for k in range(count):
            j = lp.order[k]
            total += lp.table[i, j] * lp.at[j]
        lp.value[i] = total
    return lp.value[0]


cdef Py_ssize_t leaving_row(CoveringArrays lp, bint* below) noexcept nogil:
    """The row of the steepest edge: the largest distance outside the bounds, in units of the row; 0: there is none."""
    cdef Py_ssize_t n = lp.size, i, best = 0
    cdef double most = 0.0, outside, steepness
    cdef bint is_below
    cdef int64_t v
    for i in range(1, lp.rows + 1):
        v = lp.basic[i]
        outside = (lp.low[v] if v < n else 0.0) - lp.value[i]
        is_below = True
        if v < n and lp.value[i] - lp.high[v] > outside:
            outside, is_below = lp.value[i] - lp.high[v], False
        if outside <= BOUND_KEPT:
            continue
        steepness = outside * outside / row_norm(lp, i)
        if steepness > most:
            most, best, below[0] = steepness, i, is_below
    return best


cdef double row_norm(CoveringArrays lp, Py_ssize_t row) noexcept nogil:
    """The squared norm of a row with its basic variable."""
    cdef Py_ssize_t j, whole = lp.size & ~3
    cdef double first = 1.0, second = 0.0, third = 0.0, fourth = 0.0
    for j in range(0, whole, 4):  # four sums, none of which waits for another
        first += lp.table[row, j] * lp.table[row, j]
        second += lp.table[row, j + 1] * lp.table[row, j + 1]
        third += lp.table[row, j + 2] * lp.table[row, j + 2]
        fourth += lp.table[row, j + 3] * lp.table[row, j + 3]
    for j in range(whole, lp.size):
        first += lp.table[row, j] * lp.table[row, j]
    return (first + second) + (third + fourth)


cdef Py_ssize_t entering_column(CoveringArrays lp, Py_ssize_t row, bint below, double* slope) noexcept nogil:
    """The column of the ratio test; NONE: the row proves that there is no point. `slope`: what is left of the violation.

    Columns that are passed change their bound: `at` has it.
    """
    cdef Py_ssize_t n = lp.size, j, k, count = 0, best
    cdef double a, sign = 1.0 if below else -1.0, least, width
    cdef int64_t v = lp.basic[row], other
    slope[0] = (lp.low[v] if v < n else 0.0) - lp.value[row] if below else lp.value[row] - lp.high[v]
    for j in range(n):
        a = sign * lp.table[row, j]
        other = lp.loose[j]
        if fabs(a) <= ZERO_ENTRY or (other < n and lp.low[other] == lp.high[other]):
            continue
        if other >= n or lp.at[j] == lp.low[other]:
            if a < 0.0:
                continue
            lp.ratio[j] = max(lp.table[0, j], 0.0) / a
        else:
            if a > 0.0:
                continue
            lp.ratio[j] = min(lp.table[0, j], 0.0) / a
        lp.order[count] = j
        count += 1
    while count > 0:
        best = 0
        for k in range(1, count):
            j = lp.order[k]
            least = lp.ratio[j] - lp.ratio[lp.order[best]]
            if least < 0.0 or (least == 0.0 and fabs(lp.table[row, j]) > fabs(lp.table[row, lp.order[best]])):
                best = k
        j = lp.order[best]
        count -= 1
        lp.order[best] = lp.order[count]
        other = lp.loose[j]
        if other >= n:
            return j
        width = (lp.high[other] - lp.low[other]) * fabs(lp.table[row, j])
        if width >= slope[0]:
            return j
        slope[0] -= width
        lp.at[j] = lp.high[other] if lp.at[j] == lp.low[other] else lp.low[other]
    return NONE


cdef void read_multipliers(CoveringArrays lp) noexcept nogil:
    """Multipliers of the rows from the reduced costs of their slacks."""
    cdef Py_ssize_t n = lp.size, i
    for i in range(lp.rows):
        lp.multipliers[i] = max(lp.table[0, -lp.place[n + i] - 1], 0.0) if lp.place[n + i] < 0 else 0.0


cdef void add_ray(CoveringArrays lp, Py_ssize_t row, bint below, double amount) noexcept nogil:
    """Multipliers that also prove, `amount` times, that the basic variable of a row stays outside its bounds."""
    cdef Py_ssize_t n = lp.size, i
    cdef double step = amount if below else -amount
    for i in range(lp.rows):
        if lp.place[n + i] < 0:
            lp.multipliers[i] = max(lp.table[0, -lp.place[n + i] - 1] - step * lp.table[row, -lp.place[n + i] - 1], 0.0)
    if lp.basic[row] >= n:
        lp.multipliers[lp.basic[row] - n] = max(step, 0.0)


cdef double prove(CoveringArrays lp) noexcept nogil:
    """The bound of the multipliers, rounded down; `gradient` and `error`: w - A'u, and how far it may be off."""
    cdef Py_ssize_t n = lp.size, i, j, used = 0
    cdef double u, total = 0.0, magnitude = 0.0, g, term
    for j in range(n):
        lp.gradient[j], lp.error[j] = lp.cost[j], fabs(lp.cost[j])
    for i in range(lp.rows):
        u = lp.multipliers[i]
        if u > 0.0:
            used += 1
            total += u * lp.right[i]
            magnitude += fabs(u * lp.right[i])
            for j in range(n):
                lp.gradient[j] -= u * lp.left[i, j]
                lp.error[j] += fabs(u * lp.left[i, j])
    for j in range(n):
        lp.error[j] *= 2.0 * (2 * used + 4) * HALF_ULP
        g = lp.gradient[j] - lp.error[j]
        term = min(g * lp.low[j], g * lp.high[j])
        total += term
        magnitude += fabs(term)
    return total - 2.0 * (2 * used + 2 * n + 8) * HALF_ULP * magnitude


cdef bint prove_above(CoveringArrays lp, double cutoff) noexcept nogil:
    """Whether the multipliers prove a bound above the cutoff; the best bound is kept."""
    cdef double bound = prove(lp)
    lp.bound = max(lp.bound, bound)
    return bound > cutoff


cdef int solve_covering(CoveringArrays lp, double cutoff, int64_t most, Watch watch) noexcept nogil:
    """Dual simplex steps; how they ended."""
    cdef Py_ssize_t n = lp.size, row, column
    cdef int64_t pivot, v
    cdef bint below = False
    cdef double slope = 0.0, objective, lift
    lp.bound, lp.pivots = -INFINITY, 0
    for pivot in range(most):
        take_sides(lp)
        objective = evaluate(lp)
        if objective > cutoff:
            read_multipliers(lp)
            if prove_above(lp, cutoff):
                return ABOVE
        row = leaving_row(lp, &below)
        if row == 0:
            read_multipliers(lp)
            lp.bound = prove(lp)  # no earlier one: reduced costs fix variables by this bound
            return ABOVE if lp.bound > cutoff else SOLVED
        if stopped(watch, lp.rows * n):
            return UNSOLVED
        column = entering_column(lp, row, below, &slope)
        if column == NONE:
            read_multipliers(lp)
            if cutoff < INFINITY:
                lift = 2.0 * (fabs(cutoff) + fabs(objective) + 1.0) / slope
                add_ray(lp, row, below, lift)
                if prove_above(lp, cutoff):
                    return ABOVE
                read_multipliers(lp)
            prove_above(lp, cutoff)
            return UNSOLVED
        v = lp.basic[row]
        exchange(lp.table[: lp.rows + 1], lp.basic, lp.loose, lp.place, row, column)
        lp.at[column] = 0.0 if v >= n else lp.low[v] if below else lp.high[v]
        lp.pivots += 1
    read_multipliers(lp)
    prove_above(lp, cutoff)
    return UNSOLVED
