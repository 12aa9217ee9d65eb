# Exact deviations: rounding, mirror images, credit, bounds by multipliers, corrections.
#
# Matrices are given by columns as in presolve.pxi, with whole coefficients. Whole numbers below 2^53 are exact in
# floats, sums below 2^62 in int64; what does not fit is left to the caller, which computes with longer numbers.

cdef double EXACT = 2.0**53, SUMMABLE = 2.0**62
cdef double NEARLY_WHOLE = 0.01  # amounts this near to whole numbers are tried as these
cdef double PARTS = 1e7  # fractional parts are distinguished up to one in this

cdef enum:
    SAMPLES = 24  # fractional parts, of all that occur, whose common denominator is sought (about)


cdef inline int64_t floor_divide(int64_t one, int64_t other) noexcept nogil:
    """The quotient rounded down, for a positive divisor."""
    cdef int64_t quotient = one // other
    return quotient - 1 if one < 0 and quotient * other != one else quotient


cdef inline int64_t common_divisor(int64_t one, int64_t other) noexcept nogil:
    """The greatest common divisor (Euclid)."""
    while other != 0:
        one, other = other, one % other
    return one


def folded(const double[::1] values, Py_ssize_t count, const int64_t[::1] asked, double scale):
    """The amounts of columns that are split into [up, down, further up, further down]; see `unfold`."""
    amounts = np.empty(count)
    cdef double[::1] amount = amounts
    cdef Py_ssize_t column, place, more = asked.shape[0]
    with nogil:
        for column in range(count):
            amount[column] = values[column] - values[count + column]
        for place in range(more):
            amount[asked[place]] += values[2 * count + place] - values[2 * count + more + place]
        for column in range(count):
            amount[column] *= scale
    return amounts


cdef bint round_amounts(
    const double[::1] amount, const double[::1] low, const double[::1] high, double most, int64_t[::1] whole
) noexcept nogil:
    """Whether all amounts are nearly whole numbers within low..high whose sums are exact; these numbers."""
    cdef Py_ssize_t column
    cdef double near, number, largest = 0.0
    for column in range(amount.shape[0]):
        near = min(max(amount[column], low[column]), high[column])
        number = rint(near)
        if not (fabs(near - number) < NEARLY_WHOLE and low[column] <= number <= high[column]):
            return False
        largest = max(largest, fabs(number))
        if largest >= EXACT:
            return False
        whole[column] = <int64_t>number
    return not most * largest >= SUMMABLE


def rounded_deviation(
    const int[::1] start, const int[::1] row, const int64_t[::1] data, Py_ssize_t rows, double most,
    const double[::1] amount, const double[::1] low, const double[::1] high,
):
    """Whether the whole numbers next to the amounts keep all rows and low..high, and these numbers.

    `most` is the largest sum of a row for amounts of at most 1.
    """
    numbers, sums = np.zeros(amount.shape[0], np.int64), np.zeros(rows, np.int64)
    cdef int64_t[::1] whole = numbers, total = sums
    cdef bint near
    with nogil:
        near = round_amounts(amount, low, high, most, whole)
        if near:
            add_products(start, row, data, whole, total)
    return near and not sums.any(), numbers


cdef int64_t mirror_within(
    const int64_t[::1] numerator, int64_t denominator, const double[::1] low, const double[::1] high,
    int64_t[::1] mirror,
) noexcept nogil:
    """See `mirrored`."""
    cdef double least = INFINITY, largest = 0.0, wall = 0.0, parts = 1.0, amount, bound
    cdef int64_t times, common, divisor
    cdef Py_ssize_t column
    for column in range(numerator.shape[0]):
        if numerator[column] != 0:
            amount = <double>llabs(numerator[column])
            bound = -low[column] if numerator[column] > 0 else high[column]
            largest = max(largest, amount)
            if bound / amount < least:
                least, wall, parts = bound / amount, bound, amount
    if not 0.0 < least < INFINITY:
        return 0
    if least >= 1.0 or wall * largest >= EXACT or denominator * parts >= EXACT:
        wall, parts = floor(min(least, (EXACT - 1.0) / largest)), 1.0
    if wall < 1.0:
        return 0
    times, common = <int64_t>wall, denominator * <int64_t>parts
    divisor = common
    for column in range(numerator.shape[0]):
        if numerator[column] != 0:
            bound = -low[column] if numerator[column] > 0 else high[column]
            mirror[column] = -numerator[column] * times
            if llabs(mirror[column]) > bound * parts:  # exact: a product from 2^53 on is larger in any case
                return 0
            if divisor != 1:
                divisor = common_divisor(divisor, llabs(mirror[column]))
    if divisor > 1:
        for column in range(mirror.shape[0]):
            mirror[column] = mirror[column] // divisor
    return common // divisor


def mirrored(const int64_t[::1] numerator, int64_t denominator, const double[::1] low, const double[::1] high):
    """The mirror image of a deviation within low..high, as long as numbers allow, and its denominator.

    It is multiplied by times / parts, the least of bound / amount; a denominator of zero where it cannot move.
    """
    image = np.zeros(numerator.shape[0], np.int64)
    cdef int64_t[::1] mirror = image
    cdef int64_t new_denominator
    with nogil:
        new_denominator = mirror_within(numerator, denominator, low, high, mirror)
    return image, new_denominator


def credit(
    const int64_t[::1] group, const double[::1] ratio, const int64_t[::1] numerator, int64_t denominator,
    double[::1] down, double[::1] up,
):
    """Cells have gone down and up at least as far, in whole units, as a deviation of their columns takes them."""
    cdef Py_ssize_t cell
    cdef int64_t moved
    with nogil:
        for cell in range(group.shape[0]):
            moved = <int64_t>ratio[cell] * numerator[group[cell]]
            up[cell] = max(up[cell], <double>floor_divide(moved, denominator))
            down[cell] = max(down[cell], <double>floor_divide(-moved, denominator))


cdef (bint, double) bound_by_multipliers(
    const int[::1] start, const int[::1] row, const int64_t[::1] data, double most, const double[::1] duals,
    int64_t[::1] factor, Py_ssize_t column, int64_t sign, const double[::1] low, const double[::1] high,
) noexcept nogil:
    """See `whole_bound`; `factor` is scratch memory of one number a row."""
    cdef Py_ssize_t equation, other, entry
    cdef double number, largest = 0.0, total = 0.0
    cdef int64_t weight
    for equation in range(duals.shape[0]):
        number = rint(duals[equation])
        largest = max(largest, fabs(number))
        if not largest < EXACT:
            return False, 0.0
        factor[equation] = <int64_t>number
    if most * (largest + 1.0) >= SUMMABLE:
        return False, 0.0
    for other in range(low.shape[0]):
        weight = sign if other == column else 0
        for entry in range(start[other], start[other + 1]):
            weight += data[entry] * factor[row[entry]]
        if weight != 0:
            total += llabs(weight) * (high[other] if weight > 0 else -low[other])
    return total < EXACT or total == INFINITY, total


def whole_bound(
    const int[::1] start, const int[::1] row, const int64_t[::1] data, double most, const double[::1] duals,
    Py_ssize_t column, int64_t sign, const double[::1] low, const double[::1] high,
):
    """The most that sign * d[column] can be by multipliers that are nearly whole; false where they are too large.

    It is infinite where a column of weight has no bound. `most` is the largest weight for multipliers of at most 1.
    """
    cdef int64_t[::1] factor = np.empty(duals.shape[0], np.int64)
    cdef bint small
    cdef double total
    with nogil:
        small, total = bound_by_multipliers(start, row, data, most, duals, factor, column, sign, low, high)
    return small, total


cpdef int64_t denominator_near(int64_t numerator, int64_t denominator, int64_t largest) noexcept nogil:
    """The denominator, at most `largest`, of the fraction next to numerator / denominator (continued fractions)."""
    cdef int64_t above = 1, below = 0, above_before = 0, below_before = 1
    cdef int64_t top = numerator, bottom = denominator, step, times, other, under, near
    while bottom != 0:
        step = top // bottom
        if below_before + step * below > largest:
            times = (largest - below_before) // below
            other, under = above_before + times * above, below_before + times * below
            near = llabs(above * denominator - numerator * below) * under
            return below if near <= llabs(other * denominator - numerator * under) * below else under
        above, above_before = above_before + step * above, above
        below, below_before = below_before + step * below, below
        top, bottom = bottom, top - step * bottom
    return below


def common_denominator(const double[::1] amount, double noise, double relative, int64_t largest, int64_t most):
    """Whether all amounts are nearly whole, and a denominator with which they are; 0 if there is no small one.

    `noise`, `relative`: what is this near to a whole number, also relative to itself, is that number. `largest`: the
    largest denominator of an amount. `most`: the largest common one.
    """
    parts = np.empty(amount.shape[0], np.int64)
    cdef int64_t[::1] part = parts, different
    cdef Py_ssize_t place, step, count = 0
    cdef int64_t own, common = 1
    cdef double off
    cdef bint whole = True
    with nogil:
        for place in range(amount.shape[0]):
            off = fabs(amount[place] - rint(amount[place]))
            whole = whole and off < NEARLY_WHOLE
            if off > max(noise, relative * fabs(amount[place])):
                part[count] = <int64_t>rint(off * PARTS)
                count += 1
    if count == 0:
        return whole, 1
    different = np.unique(parts[:count])
    step = max(1, different.shape[0] // SAMPLES)
    for place in range(0, different.shape[0], step):
        own = denominator_near(different[place], <int64_t>PARTS, largest)
        common *= own // common_divisor(common, own)
        if common > most:
            return whole, 0
    return whole, common


cdef void add_columns(
    const int[::1] start, const int[::1] row, const double[::1] data, const int64_t[::1] columns,
    const double[::1] amount, double[::1] total,
) noexcept nogil:
    """Add the sums of the amounts of some columns to the totals of the rows."""
    cdef Py_ssize_t place, entry
    for place in range(columns.shape[0]):
        for entry in range(start[columns[place]], start[columns[place] + 1]):
            total[row[entry]] += data[entry] * amount[place]


cdef void add_rows(
    const int[::1] start, const int[::1] row, const double[::1] data, const int64_t[::1] columns,
    const double[::1] factor, double[::1] total,
) noexcept nogil:
    """Add factor times row, by column, to the totals of some columns."""
    cdef Py_ssize_t place, entry
    for place in range(columns.shape[0]):
        for entry in range(start[columns[place]], start[columns[place] + 1]):
            total[place] += data[entry] * factor[row[entry]]


cdef double length_of(const double[::1] vector) noexcept nogil:
    """The Euclidean length."""
    cdef double total = 0.0
    cdef Py_ssize_t place
    for place in range(vector.shape[0]):
        total += vector[place] * vector[place]
    return sqrt(total)


cdef void scale(double[::1] vector, double factor) noexcept nogil:
    """Multiply in place."""
    cdef Py_ssize_t place
    for place in range(vector.shape[0]):
        vector[place] *= factor


cdef void shrink(double[::1] vector, double divisor) noexcept nogil:
    """Divide in place."""
    cdef Py_ssize_t place
    for place in range(vector.shape[0]):
        vector[place] /= divisor


cdef void correct(
    const int[::1] start, const int[::1] row, const double[::1] data, const int64_t[::1] moved, double[::1] left,
    double[::1] along, double[::1] step, double[::1] fixed, int64_t steps, double precision,
) noexcept nogil:
    """LSQR for the right side `left`; the solution is added to `fixed`. `along`, `step`: scratch memory, zero."""
    cdef double size = length_of(left), beta = size, norm = 0.0
    cdef double alpha, rho, phi, length, cosine, sine, slope
    cdef Py_ssize_t place
    cdef int64_t iteration
    if beta > 0.0:
        shrink(left, beta)
        add_rows(start, row, data, moved, left, along)
    alpha = length_of(along)
    if not alpha > 0.0:
        return
    shrink(along, alpha)
    step[:] = along
    rho, phi = alpha, beta
    for iteration in range(steps):
        scale(left, -alpha)
        add_columns(start, row, data, moved, along, left)
        beta = length_of(left)
        if beta > 0.0:
            shrink(left, beta)
        norm = sqrt(norm * norm + alpha * alpha + beta * beta)
        scale(along, -beta)
        add_rows(start, row, data, moved, left, along)
        alpha = length_of(along)
        if alpha > 0.0:
            shrink(along, alpha)
        length = sqrt(rho * rho + beta * beta)
        cosine, sine = rho / length, beta / length
        for place in range(fixed.shape[0]):
            fixed[place] += (cosine * phi / length) * step[place]
        scale(step, -sine * alpha / length)
        for place in range(step.shape[0]):
            step[place] += along[place]
        slope = alpha * fabs(cosine * sine * phi)
        rho, phi = -cosine * alpha, sine * phi
        if (
            phi <= precision * (size + norm * length_of(fixed)) or slope <= precision * norm * phi or alpha == 0.0
        ):
            break


def least_correction(
    const int[::1] start, const int[::1] row, const double[::1] data, Py_ssize_t rows, const int64_t[::1] moved,
    const double[::1] amount, int64_t steps, double precision,
):
    """The least correction of some columns that undoes the sums of their amounts; before it what is left of these.

    Reference: Paige & Saunders (1982), LSQR: an algorithm for sparse linear equations and sparse least squares.
    """
    correction, sums = np.zeros(moved.shape[0]), np.zeros(rows)
    cdef double[::1] fixed = correction, residual = sums, left, along, step
    add_columns(start, row, data, moved, amount, residual)
    left = -sums
    along, step = np.zeros((2, moved.shape[0]))
    with nogil:
        correct(start, row, data, moved, left, along, step, fixed, steps, precision)
        add_columns(start, row, data, moved, fixed, residual)
    return float(np.abs(sums).max(initial=0.0)), correction
