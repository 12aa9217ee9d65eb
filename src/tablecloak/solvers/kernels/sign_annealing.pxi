# Signs of amounts so that sums come near zero: simulated annealing.
#
# Amount p counts a_p (up) or -b_p (down) in some rows, r = sum_p (+a_p or -b_p) times column p + what is fixed. Sought
# are senses with a small  sum_e price_e |r_e| + sum of own prices of the amounts that are up.  A step turns one amount,
# or two of one row; it is taken if that is better, or with probability exp(-worse / T) while T falls from `hot` to
# `cold`. The best senses seen are kept. The same seed and number of steps give the same senses.
#
# Reference: Kirkpatrick, Gelatt & Vecchi (1983), Optimization by simulated annealing.

cdef double PAIRS = 0.7  # share of steps that turn two amounts


cdef inline int64_t draw_below(uint64_t *state, int64_t below) noexcept nogil:
    """A random number 0 <= k < below."""
    return (next_bits(state) & 0x3FFFFFFF) % below


cdef double rise_in_price(
    const int[::1] first, const int[::1] rows, const double[::1] data, const double[::1] price, const double[::1] r,
    Py_ssize_t p, double change,
) noexcept nogil:
    """By how much the prices of all rows rise when an amount changes."""
    cdef double total = 0.0
    cdef Py_ssize_t k, e
    for k in range(first[p], first[p + 1]):
        e = rows[k]
        total += price[e] * (fabs(r[e] + data[k] * change) - fabs(r[e]))
    return total


cdef void apply_change(
    const int[::1] first, const int[::1] rows, const double[::1] data, double[::1] r, Py_ssize_t p, double change
) noexcept nogil:
    """Change an amount in all rows."""
    cdef Py_ssize_t k
    for k in range(first[p], first[p + 1]):
        r[rows[k]] += data[k] * change


@cython.final
cdef class AnnealingState:
    """The senses now and the best ones, their costs, the rows r, and the state of the generator."""

    cdef readonly object best_array
    cdef int8_t[::1] now
    cdef int8_t[::1] best
    cdef double[::1] r
    cdef double cost
    cdef double best_cost
    cdef uint64_t random

    def __init__(self, senses, rest, double cost, int64_t seed):
        self.now, self.best_array = senses.astype(np.int8), senses.astype(np.int8)
        self.best, self.r = self.best_array, np.array(rest, np.float64)
        self.cost = self.best_cost = cost
        self.random = seed


def anneal(
    AnnealingState state, const int[::1] first, const int[::1] rows, const double[::1] data,
    const int[::1] row_first, const int[::1] row_columns, const double[::1] step, const double[::1] own,
    const double[::1] price, double hot, double cold, int64_t steps,
):
    """Run a number of steps. The matrix is given by columns (first, rows, data) and by rows (row_first, row_columns).

    `step` is a + b of each amount, `own` what it costs more to be up, `price` that of a row.
    """
    cdef double heat = hot, cooling = pow(cold / hot, 1.0 / steps), change, other, worse
    cdef Py_ssize_t p, q, e
    cdef int64_t number
    with nogil:
        for number in range(steps):
            heat *= cooling
            p, q = draw_below(&state.random, step.shape[0]), NONE
            if first[p + 1] == first[p]:
                continue
            change = -step[p] if state.now[p] == 1 else step[p]
            worse = rise_in_price(first, rows, data, price, state.r, p, change)
            worse = worse + (-own[p] if state.now[p] == 1 else own[p])
            other = 0.0
            if draw_below(&state.random, 1000) < 1000 * PAIRS:
                e = rows[first[p] + draw_below(&state.random, first[p + 1] - first[p])]
                q = row_columns[row_first[e] + draw_below(&state.random, row_first[e + 1] - row_first[e])]
                if q == p:
                    q = NONE
            apply_change(first, rows, data, state.r, p, change)
            if q >= 0:
                other = -step[q] if state.now[q] == 1 else step[q]
                worse += rise_in_price(first, rows, data, price, state.r, q, other) + (
                    -own[q] if state.now[q] == 1 else own[q]
                )
            if worse <= 0.0 or draw_below(&state.random, 1 << 30) < exp(-worse / heat) * (1 << 30):
                state.now[p] = 1 - state.now[p]
                if q >= 0:
                    apply_change(first, rows, data, state.r, q, other)
                    state.now[q] = 1 - state.now[q]
                state.cost += worse
                if state.cost < state.best_cost - 1e-9 * fabs(state.best_cost):
                    state.best_cost = state.cost
                    state.best[:] = state.now
            else:
                apply_change(first, rows, data, state.r, p, -change)
