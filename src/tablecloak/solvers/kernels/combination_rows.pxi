# Capacity cuts of all requirements of a small table with any whole equations, as dense rows with right-hand side 1.
#
# The inequalities are those of `cut_rows.pxi`, each from multipliers y of the equations M d = 0: for every deviation
#
#     +-d_p = sum_i rho_i d_i <= sum_i rho_i^+ U_i + rho_i^- D_i,    rho_i = +-[i = p] - (M'y)_i.
#
# The multipliers are those of the attacker's program over the support of a point (`null_space_simplex.pxi`), replaced by
# fractions k / q nearby. With whole coefficients q rho is a sum of whole numbers, and exact below 2^53. So a row is valid
# whatever the simplex method does. See `attacker.oracle`.

cdef double IN_SUPPORT = 1e-7  # cells hidden to a larger extent are in the support of a fractional point
cdef double DEVIATION_MET = 1e-8  # equations hold up to this share of what is required
cdef double NEAR_FRACTION = 1e-5  # multipliers are replaced by fractions that are this near
cdef double FINEST = 2.0**30  # the denominator where there are no simple fractions
cdef double FIRST_CAP = 1e3  # small caps of deviations keep small ones out of the noise of large ones

cdef enum:
    COMMON = 840  # the denominator tried first: the least common multiple of the numbers up to 8
    LARGEST_OF_ONE = 1000  # largest denominator of one multiplier
    LARGEST_COMMON = 10000000  # largest common denominator
    PRECISE = 1000000000  # multipliers are read to one in this


@cython.final
cdef class CombinationArrays(CutRows):
    """The cells that may be hidden with their equations, and the null space of those in the support of a point."""

    cdef const int[::1] start, entry  # the equations by cell
    cdef const double[::1] data
    cdef Py_ssize_t equations, width, rank
    cdef double heaviest  # the largest sum of the sizes of a cell's coefficients
    cdef int64_t[::1] cells, column  # the cells of the support; by cell its column
    cdef int64_t[::1] rows, columns, loose_at_first  # a non-singular part, and the other columns
    cdef int64_t[::1] basic, loose, place, number
    cdef double[:, ::1] first_table, table, factors, witness
    cdef double[::1] low, high, value, target
    cdef double[:, ::1] multiplier  # by direction and equation
    cdef double[::1] denominator
    cdef uint8_t[::1] moves  # by flow: whether its witness is known cell by cell
    cdef bint factored
    cdef readonly Py_ssize_t unmet

    def __init__(self, columns, Py_ssize_t equations, int64_t[::1] variable, Py_ssize_t size, boxes, flows, levels, limits):
        CutRows.__init__(self, variable, size, boxes, flows, levels, limits)
        cdef Py_ssize_t cells = variable.shape[0], cell, e
        cdef double total
        self.start, self.entry, self.data = columns
        self.equations, self.heaviest = equations, 0.0
        for cell in range(cells):
            total = 0.0
            for e in range(self.start[cell], self.start[cell + 1]):
                total += fabs(self.data[e])
            self.heaviest = max(self.heaviest, total)
        self.cells, self.column, self.place = np.zeros((3, cells), np.int64)
        self.low, self.high, self.value, self.target = np.zeros((4, cells))
        self.number = np.zeros(equations, np.int64)
        self.multiplier, self.denominator = np.zeros((2, equations)), np.zeros(2)

    def separate(
        self, const double[::1] x, const double[::1] point, double part, double above, double least, bint integral,
        stop=None,
    ):
        """Cuts that x violates by more than `least`, by multipliers at a point beside it; and by how much.

        `part` and `above` as for networks. At an integral point `unmet` requirements are not met; where there are no
        rows in spite of some, floats could not prove it.
        """
        cdef Watch watch = Watch(stop)
        cdef Py_ssize_t t
        self.count = self.unmet = 0
        set_shares(self, point)
        sort_by_extent(self, x)
        self.restrict(watch)
        with nogil:
            for t in range(self.level.shape[0]):
                if watch.over:
                    break
                if settle_requirement(self, t, part, least, integral, False, watch):
                    continue
                self.unmet += 1
                if combine(self, t):
                    keep_rows(self, x, above, least, integral)
        watch.end()
        return self.rows_found()

    def meets_all(self, const double[::1] x, stop=None):
        """Whether deviations in floats meet every requirement at an integral point."""
        cdef Watch watch = Watch(stop)
        cdef Py_ssize_t k
        cdef bint met = True
        set_shares(self, x)
        self.restrict(watch)
        with nogil:
            for k in range(self.turn.shape[0]):
                if not settle_requirement(self, self.turn[k], 1.0, 0.0, True, False, watch) or watch.over:
                    met = False
                    bring_forward(self, k)
                    break
        watch.end()
        return met

    def without_redundant(self, double[::1] x, const int64_t[::1] candidates, stop=None):
        """Set variables of a safe integral point to 0, in this order, as far as every requirement keeps a witness."""
        cdef Watch watch = Watch(stop)
        cdef Py_ssize_t k, t
        cdef bint met = True
        set_shares(self, x)
        self.restrict(watch)
        self.witness = np.zeros((self.arc.shape[0], self.width))
        self.moves = np.zeros(self.arc.shape[0], np.uint8)
        with nogil:
            for t in range(self.level.shape[0]):
                met = met and settle_requirement(self, t, 1.0, 0.0, True, True, watch)
            for k in range(candidates.shape[0] if met else 0):
                if watch.over:
                    break
                if publish(self, candidates[k], watch):
                    x[candidates[k]] = 0.0
        watch.end()

    cdef int restrict(self, Watch watch) except -1:
        """The null space of the cells that are hidden to any extent."""
        cdef Py_ssize_t cell, j, e, count = 0
        for cell in range(self.share.shape[0]):
            if self.share[cell] <= IN_SUPPORT:
                self.share[cell], self.column[cell] = 0.0, NONE
            else:
                self.column[cell], self.cells[count] = count, cell
                count += 1
        work = np.zeros((self.equations, count))
        cdef double[:, ::1] entries = work
        for j in range(count):
            cell = self.cells[j]
            for e in range(self.start[cell], self.start[cell + 1]):
                entries[self.entry[e], j] += self.data[e]
        rows, columns = independent_part(work, watch.stop)
        is_loose = np.ones(count, bool)
        is_loose[columns] = False
        loose = np.flatnonzero(is_loose)
        self.width, self.rank = count, rows.size
        self.rows, self.columns, self.loose_at_first = rows, columns, loose
        self.first_table = substituted(work, rows, columns, loose, watch.stop)
        self.table, self.basic, self.loose = np.empty((rows.size, loose.size)), columns.copy(), loose.copy()
        self.factors, self.factored = np.empty((rows.size, rows.size)), False
        begin_again(self)
        return 0


cdef void begin_again(CombinationArrays a) noexcept nogil:
    """The table as it was eliminated: rounding errors are forgotten."""
    cdef Py_ssize_t j
    a.table[:, :] = a.first_table
    a.basic[:] = a.columns
    a.loose[:] = a.loose_at_first
    for j in range(a.rank):
        a.place[a.basic[j]] = j
    for j in range(a.loose.shape[0]):
        a.place[a.loose[j]] = -j - 1


cdef bint satisfies_equations(CombinationArrays a, double enough) noexcept nogil:
    """Whether the deviation satisfies the equations, up to a small share of what is required."""
    cdef Py_ssize_t i, j
    cdef double off
    for i in range(a.rank):
        off = -a.value[a.columns[i]]
        for j in range(a.loose_at_first.shape[0]):
            off += a.first_table[i, j] * a.value[a.loose_at_first[j]]
        if not fabs(off) <= DEVIATION_MET * enough:
            return False
    return True


cdef int64_t move_within(
    CombinationArrays a, Py_ssize_t f, double level, double enough, double part, double cap, bint integral, Watch watch
) noexcept nogil:
    """Move the cell of a flow, in units of the level; how it ended. No cell of an integral point exceeds the cap."""
    cdef Py_ssize_t j, attempt
    cdef int64_t ending, pivots, cell
    cdef double most, share
    for j in range(a.width):
        cell = a.cells[j]
        share = a.share[cell]
        most = cap if integral else 1.0 if share == 1.0 else part
        a.low[j] = -min(a.down[a.attacker[f], cell] / level, most) * share if share > 0.0 else 0.0
        a.high[j] = min(a.up[a.attacker[f], cell] / level, most) * share if share > 0.0 else 0.0
    for attempt in range(2):
        for j in range(a.width):
            a.value[j] = 0.0
        ending, pivots = move_far(
            a.table, a.basic, a.loose, a.place, a.low, a.high, a.value, a.column[a.arc[f]], a.upward[f], enough, watch
        )
        if ending == ENDLESS or (ending != LOST and satisfies_equations(a, enough)) or watch.over:
            return ending
        begin_again(a)
    return LOST


cdef int64_t move_far_enough(
    CombinationArrays a, Py_ssize_t f, double level, double enough, double part, bint integral, Watch watch
) noexcept nogil:
    """The same, with a small cap first: deviations that it limits are sought without any."""
    cdef Py_ssize_t j
    cdef int64_t ending = move_within(a, f, level, enough, part, FIRST_CAP, integral, watch)
    if integral and ending != MET:
        for j in range(a.width):
            if fabs(a.value[j]) >= FIRST_CAP * (1.0 - DEVIATION_MET):
                return move_within(a, f, level, enough, part, INFINITY, integral, watch)
    return ending


cdef bint settle_requirement(
    CombinationArrays a, Py_ssize_t t, double part, double least, bint integral, bint keeps, Watch watch
) noexcept nogil:
    """Whether a requirement is met at the shares; if not, `multiplier` and `denominator` have the proof by direction.

    `keeps`: the deviations are kept as witnesses of its flows.
    """
    cdef Py_ssize_t f, d, j
    cdef int64_t ending
    cdef double needed = 1.0 - (a.slack[t] / a.level[t] if integral else least)
    cdef bint met = False
    for f in range(a.first[t], a.first[t + 1]):
        d = f - a.first[t]
        ending = move_far_enough(a, f, a.level[t], needed, part, integral, watch)
        if keeps:
            a.moves[f] = ending != ENDLESS
            for j in range(a.width):
                a.witness[f, j] = 0.0 if met else a.value[j]
        if ending == MET or ending == ENDLESS:
            met = True
        if met and not keeps:
            return True
        if not met:
            if ending == LOST:
                a.denominator[d] = 0.0
            else:
                needed -= fabs(a.value[a.column[a.arc[f]]])
                read_proof(a, f, d, ending)
        elif d + 1 < a.first[t + 1] - a.first[t]:
            a.moves[f + 1] = True  # the other direction is not needed
            for j in range(a.width):
                a.witness[f + 1, j] = 0.0
            return True
    return met


cdef bint publish(CombinationArrays a, int64_t variable, Watch watch) noexcept nogil:
    """Whether all requirements keep a witness without a variable; if so, its cells deviate no more."""
    cdef Py_ssize_t k, t, f, j
    cdef bint uses
    for j in range(a.width):
        if a.variable[a.cells[j]] == variable:
            a.share[a.cells[j]] = 0.0
    for k in range(a.turn.shape[0]):
        t, uses = a.turn[k], False
        for f in range(a.first[t], a.first[t + 1]):
            uses = uses or not a.moves[f]
            for j in range(a.width):
                if a.witness[f, j] != 0.0 and a.share[a.cells[j]] == 0.0:
                    uses = True
        if uses and not settle_requirement(a, t, 1.0, 0.0, True, True, watch):
            for j in range(a.width):
                if a.variable[a.cells[j]] == variable:
                    a.share[a.cells[j]] = 1.0
            settle_requirement(a, t, 1.0, 0.0, True, True, watch)
            bring_forward(a, k)
            return False
    return True


cdef bint factorise(CombinationArrays a) noexcept nogil:
    """The non-singular part as L U, in the order of its elimination; False if a pivot vanishes."""
    cdef Py_ssize_t t, u, i, e
    cdef int64_t cell
    cdef double factor
    for i in range(a.equations):
        a.number[i] = NONE
    for t in range(a.rank):
        a.number[a.rows[t]] = t
        for u in range(a.rank):
            a.factors[t, u] = 0.0
    for u in range(a.rank):
        cell = a.cells[a.columns[u]]
        for e in range(a.start[cell], a.start[cell + 1]):
            if a.number[a.entry[e]] != NONE:
                a.factors[a.number[a.entry[e]], u] += a.data[e]
    for t in range(a.rank):
        if fabs(a.factors[t, t]) < VANISHED_COEFFICIENT:
            return False
        for i in range(t + 1, a.rank):
            if a.factors[i, t] != 0.0:
                factor = a.factors[i, t] / a.factors[t, t]
                a.factors[i, t] = factor
                for u in range(t + 1, a.rank):
                    a.factors[i, u] -= factor * a.factors[t, u]
    return True


cdef void read_proof(CombinationArrays a, Py_ssize_t f, Py_ssize_t d, int64_t ending) noexcept nogil:
    """Multipliers that prove how far the cell of a flow deviates, as fractions; denominator 0: there are none."""
    cdef Py_ssize_t i, j, t
    cdef int64_t p = a.column[a.arc[f]]
    cdef double sign = 1.0 if a.upward[f] else -1.0, total
    a.multiplier[d, :] = 0.0
    a.denominator[d] = 1.0
    if ending == OWN_BOUND or a.rank == 0:
        return
    if not a.factored:
        a.factored = factorise(a)
        if not a.factored:
            a.denominator[d] = 0.0
            return
    for j in range(a.width):
        a.target[j] = 0.0
    a.target[p] = sign
    if a.place[p] >= 0:
        for j in range(a.loose.shape[0]):
            a.target[a.loose[j]] -= sign * a.table[a.place[p], j]
    for t in range(a.rank):
        total = a.target[a.columns[t]]
        for i in range(t):
            total -= a.value[i] * a.factors[i, t]
        a.value[t] = total / a.factors[t, t]
    for t in range(a.rank - 1, -1, -1):
        total = a.value[t]
        for i in range(t + 1, a.rank):
            total -= a.multiplier[d, a.rows[i]] * a.factors[i, t]
        a.multiplier[d, a.rows[t]] = total
    simplify(a, d)


cdef void simplify(CombinationArrays a, Py_ssize_t d) noexcept nogil:
    """Numerators for multipliers, and their common denominator; 0 if sums of the numerators would not be exact."""
    cdef Py_ssize_t i
    cdef int64_t common = COMMON, own
    cdef double y, largest = 0.0, q
    for i in range(a.equations):
        y = a.multiplier[d, i]
        if fabs(y) > 1e6 or y != y:
            a.denominator[d] = 0.0
            return
        if fabs(y * COMMON - rint(y * COMMON)) >= NEAR_FRACTION * COMMON and common <= LARGEST_COMMON:
            own = denominator_near(<int64_t>rint(y * PRECISE), PRECISE, LARGEST_OF_ONE)
            common *= own // common_divisor(common, own)
    q = <double>common if common <= LARGEST_COMMON else FINEST
    for i in range(a.equations):
        a.multiplier[d, i] = rint(a.multiplier[d, i] * q)
        largest = max(largest, fabs(a.multiplier[d, i]))
    a.denominator[d] = q if largest * a.heaviest + q < EXACT else 0.0


cdef bint combine(CombinationArrays a, Py_ssize_t t) noexcept nogil:
    """The capacity cut of the multipliers of a requirement in `row`; False if it says nothing."""
    cdef Py_ssize_t f, d, cell, e, terms = 0
    cdef int64_t v
    cdef double level = a.level[t], fixed = 0.0, capacity, rho, bound
    a.row[:] = 0.0
    for f in range(a.first[t], a.first[t + 1]):
        d = f - a.first[t]
        if a.denominator[d] == 0.0:
            return False
        for cell in range(a.variable.shape[0]):
            rho = 0.0
            if cell == a.arc[f]:
                rho = a.denominator[d] if a.upward[f] else -a.denominator[d]
            for e in range(a.start[cell], a.start[cell + 1]):
                rho -= a.data[e] * a.multiplier[d, a.entry[e]]
            if rho == 0.0:
                continue
            bound = a.up[a.attacker[f], cell] if rho > 0.0 else a.down[a.attacker[f], cell]
            capacity = min(fabs(rho) / a.denominator[d] * bound * (1.0 + 2.0 * CUT_ROUNDING), level)
            v = a.variable[cell]
            if v < 0:
                fixed += capacity
                terms += 1
            else:
                a.row[v] = min((a.row[v] + capacity) * a.widening, level)
    return take_shares(a, level, level - a.slack[t], fixed, terms)
