# Dense rows over the variables of a small problem, with right-hand side 1: what all kinds of capacity cuts share.
#
# A cut starts as capacities of the cells for one requirement. Residual and truncation, covers and Chvatal-Gomory
# roundings are those of `methods.cuts.cut`, with the same rounding against them.

cdef class CutRows:
    """The cells that may be hidden, the requirements, the rows found at a point, and scratch memory."""

    cdef const int64_t[::1] variable  # by cell; NONE: it is hidden in every pattern
    cdef const double[:, ::1] up, down  # by attacker and cell
    cdef const int64_t[::1] first  # the flows of requirement t are first[t] to first[t + 1]
    cdef const int[::1] arc, attacker  # by flow: the cell that it moves
    cdef const uint8_t[::1] upward
    cdef const double[::1] level, slack  # by requirement
    cdef readonly Py_ssize_t size
    cdef int most_covered, most_divisors
    cdef double least_rest, widening
    cdef double[::1] share, row, other, divisor
    cdef double[:, ::1] found
    cdef double[::1] violation
    cdef int64_t[::1] order, turn, support, inside
    cdef Py_ssize_t count, covered, supported

    def __init__(self, int64_t[::1] variable, Py_ssize_t size, boxes, flows, levels, limits):
        self.variable, self.size = variable, size
        self.up, self.down = boxes
        self.first, self.arc, self.attacker, self.upward = flows
        self.level, self.slack = levels
        self.most_covered, self.most_divisors, self.least_rest = limits
        cdef Py_ssize_t cells = variable.shape[0], requirements = self.level.shape[0], cell, loose = 0
        for cell in range(cells):
            loose += variable[cell] >= 0
        self.widening = 1.0 + 2.0 * CUT_ROUNDING * (loose - size)  # variables of several cells are sums
        self.share = np.zeros(cells)
        self.row, self.other, self.divisor = np.zeros(size), np.zeros(size), np.zeros(self.most_divisors + 1)
        self.found = np.zeros((ROWS_PER_REQUIREMENT * requirements, size))
        self.violation = np.zeros(ROWS_PER_REQUIREMENT * requirements)
        self.order, self.support, self.inside = np.zeros((3, size + 1), np.int64)
        self.turn = np.arange(requirements, dtype=np.int64)

    cdef rows_found(self):
        """The rows and by how much the point violates them."""
        return np.array(self.found[: self.count]), np.array(self.violation[: self.count])


cdef enum:
    ROWS_PER_REQUIREMENT = 16

cdef double CUT_ROUNDING = 2.0**-52  # twice the relative error of one operation
cdef double CUT_MET = 1e-9  # a residual below this share of a level counts as met; smaller capacities are left out
cdef double CUT_BETTER = 1e-6  # a strengthened cut is kept if it is violated by this more than the cut itself


cdef void set_shares(CutRows cuts, const double[::1] x) noexcept nogil:
    """To what extent each cell is hidden."""
    cdef Py_ssize_t cell
    for cell in range(cuts.share.shape[0]):
        cuts.share[cell] = 1.0 if cuts.variable[cell] < 0 else min(max(x[cuts.variable[cell]], 0.0), 1.0)


cdef void sort_by_extent(CutRows cuts, const double[::1] x) noexcept nogil:
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


cdef double rest_of(double level, double total, Py_ssize_t terms) noexcept nogil:
    """What a sum of some terms leaves of the level, rounded down."""
    return level - total - (terms + 2) * CUT_ROUNDING * min(total, level)


cdef bint take_shares(CutRows cuts, double level, double needed, double fixed, Py_ssize_t terms) noexcept nogil:
    """Capacities in `row` as shares of what cells that are hidden anyway leave of the level; False if that is nothing.

    `fixed`: the sum of their capacities, of this number of `terms`.
    """
    cdef Py_ssize_t j
    cdef double rest = rest_of(needed, fixed, terms)
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


cdef void bring_forward(CutRows cuts, Py_ssize_t k) noexcept nogil:
    """The requirement that was checked as number k comes first in the next check."""
    cdef Py_ssize_t f
    cdef int64_t t = cuts.turn[k]
    for f in range(k, 0, -1):
        cuts.turn[f] = cuts.turn[f - 1]
    cuts.turn[0] = t


cdef void truncate(double[::1] row, double rest) noexcept nogil:
    """Coefficients as shares of the rest, at most 1, rounded up."""
    cdef Py_ssize_t j
    for j in range(row.shape[0]):
        row[j] = min(row[j] / rest * (1.0 + 2.0 * CUT_ROUNDING), 1.0)


cdef double missing(CutRows cuts, const double[::1] row, const double[::1] x) noexcept nogil:
    """By how much x violates a row."""
    cdef Py_ssize_t k
    cdef double total = 1.0
    for k in range(cuts.supported):
        total -= row[cuts.support[k]] * x[cuts.support[k]]
    return total


cdef bint keep(CutRows cuts, const double[::1] row, const double[::1] x, double least) noexcept nogil:
    """Note a row if x violates it by more than this."""
    cdef double violation = missing(cuts, row, x)
    if violation <= least or cuts.count >= cuts.found.shape[0]:
        return False
    cuts.found[cuts.count, :] = row
    cuts.violation[cuts.count] = violation
    cuts.count += 1
    return True


cdef void keep_rows(
    CutRows cuts, const double[::1] x, double above, double least, bint integral
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
    CutRows cuts, const double[::1] row, const double[::1] x, double least
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


cdef bint no_good(CutRows cuts, const double[::1] x) noexcept nogil:
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


cdef bint cover_above(CutRows cuts, const double[::1] x, double above) noexcept nogil:
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


cdef Py_ssize_t inside_of(CutRows cuts, const double[::1] row) noexcept nogil:
    """The variables of a row that x hides, in `inside`; their number."""
    cdef Py_ssize_t k, count = 0
    for k in range(cuts.supported):
        if row[cuts.support[k]] != 0.0:
            cuts.inside[count] = cuts.support[k]
            count += 1
    return count


cdef bint best_cover(CutRows cuts, const double[::1] row, const double[::1] x, double least) noexcept nogil:
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


cdef bint best_rounding(CutRows cuts, const double[::1] row, const double[::1] x, double least) noexcept nogil:
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
