# Which cells can be published without giving away a sensitive one: elimination in the integers modulo a prime.
#
# Known cells and equations are relations between the others. They are kept as expressions: a dependent cell as a sum
# over cells that were independent when it was expressed. A cell is reduced by replacing dependent cells, the oldest
# first, for expressions have younger ones only. What is left of it, over independent cells, is zero if it is known,
# and a multiple of what is left of another cell if knowing the one is knowing the other.
#
# A relation with whole coefficients holds modulo every prime, so no disclosure is missed. One that holds modulo the
# prime only hides a cell too many; it would have to be hit by chance.

from libc.stdlib cimport free, malloc, qsort, realloc

cdef int64_t PRIME = 2147483647  # 2^31 - 1: products of residues fit into int64


cdef struct Residues:
    # a sparse vector, indices ascending
    int64_t size
    int64_t *index
    int64_t *value


cdef struct Postings:
    # numbers that are added one by one
    int64_t size
    int64_t capacity
    int64_t *number


cdef inline int64_t residue(int64_t value) noexcept nogil:
    value %= PRIME
    return value + PRIME if value < 0 else value


cdef int64_t inverse(int64_t value) noexcept nogil:
    """The inverse of a residue that is not zero, by Fermat's little theorem."""
    cdef int64_t found = 1, power = value, left = PRIME - 2
    while left:
        if left & 1:
            found = found * power % PRIME
        power = power * power % PRIME
        left >>= 1
    return found


cdef int ascending(const void *one, const void *other) noexcept nogil:
    cdef int64_t a = (<const int64_t*>one)[0], b = (<const int64_t*>other)[0]
    return (a > b) - (a < b)


cdef bint append(Postings *list, int64_t number) noexcept nogil:
    """Add a number; false if there is no memory."""
    cdef int64_t *moved
    if list.size == list.capacity:
        moved = <int64_t*>realloc(list.number, (2 * list.capacity + 4) * sizeof(int64_t))
        if moved == NULL:
            return False
        list.number = moved
        list.capacity = 2 * list.capacity + 4
    list.number[list.size] = number
    list.size += 1
    return True


cdef bint allocate(Residues *vector, int64_t size) noexcept nogil:
    vector.size = size
    vector.index = <int64_t*>malloc((size + 1) * sizeof(int64_t))
    vector.value = <int64_t*>malloc((size + 1) * sizeof(int64_t))
    return vector.index != NULL and vector.value != NULL


cdef void release(Residues *vector) noexcept nogil:
    free(vector.index)
    free(vector.value)
    vector.index = vector.value = NULL
    vector.size = 0


@cython.final
cdef class Elimination:
    """The expressions of dependent cells, and what is left of the sensitive ones."""

    cdef int64_t cells, dependents, sensitive
    cdef Residues *expression  # by dependent cell, in the order in which they became dependent
    cdef Residues *left  # of each sensitive cell
    cdef Postings *holders  # by cell the sensitive cells in whose remainder it was added
    cdef Postings touched  # cells of the vector at work
    cdef int64_t[::1] rank_of  # by cell its number among the dependents, NONE
    cdef int64_t[::1] cell_of  # by dependent its cell
    cdef int64_t[::1] work
    cdef uint8_t[::1] marked
    cdef Heap heap
    cdef bint failed  # no memory
    cdef int64_t steps

    def __cinit__(self, Py_ssize_t cells, Py_ssize_t sensitive):
        cdef Py_ssize_t i
        self.cells, self.sensitive, self.dependents, self.failed, self.steps = cells, sensitive, 0, False, 0
        self.expression = <Residues*>malloc((cells + 1) * sizeof(Residues))
        self.left = <Residues*>malloc((sensitive + 1) * sizeof(Residues))
        self.holders = <Postings*>malloc((cells + 1) * sizeof(Postings))
        if self.expression == NULL or self.left == NULL or self.holders == NULL:
            raise MemoryError
        for i in range(sensitive):
            self.left[i] = Residues(0, NULL, NULL)
        for i in range(cells):
            self.holders[i] = Postings(0, 0, NULL)
        self.touched = Postings(0, 0, NULL)
        self.rank_of = np.full(cells, NONE)
        self.cell_of = np.zeros(cells, np.int64)
        self.work = np.zeros(cells, np.int64)
        self.marked = np.zeros(cells, np.uint8)
        self.heap = Heap(cells + 1)

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.dependents):
            release(&self.expression[i])
        for i in range(self.sensitive):
            release(&self.left[i])
        for i in range(self.cells):
            free(self.holders[i].number)
        free(self.touched.number)
        free(self.expression)
        free(self.left)
        free(self.holders)


cdef inline void put(Elimination state, int64_t cell, int64_t amount) noexcept nogil:
    """Add to an entry of the vector at work."""
    if not state.marked[cell]:
        state.marked[cell] = 1
        if not append(&state.touched, cell):
            state.failed = True
        if state.rank_of[cell] != NONE:
            push(state.heap, <double>state.rank_of[cell], 0.0, cell)
    state.work[cell] = (state.work[cell] + amount) % PRIME


cdef void reduce_work(Elimination state) noexcept nogil:
    """Replace the dependent cells of the vector at work; `touched` has its independent cells afterwards, ascending."""
    cdef int64_t cell, factor, entry, kept = 0
    cdef Residues *by
    while state.heap.size > 0:
        cell = state.heap.items[0].node
        drop_first(state.heap)
        factor = state.work[cell]
        state.work[cell] = 0
        if factor == 0:
            continue
        by = &state.expression[state.rank_of[cell]]
        state.steps += by.size
        for entry in range(by.size):
            put(state, by.index[entry], factor * by.value[entry] % PRIME)
    for entry in range(state.touched.size):
        cell = state.touched.number[entry]
        state.marked[cell] = 0
        if state.work[cell] != 0:
            state.touched.number[kept] = cell
            kept += 1
    state.touched.size = kept
    qsort(state.touched.number, kept, sizeof(int64_t), ascending)
    state.steps += kept


cdef void clear_work(Elimination state) noexcept nogil:
    cdef int64_t entry
    for entry in range(state.touched.size):
        state.work[state.touched.number[entry]] = 0
    state.touched.size = 0


cdef void express(Elimination state, int64_t cell) noexcept nogil:
    """From now on the vector at work is zero: this cell of it, which is in no expression's way, becomes dependent."""
    cdef int64_t entry, other, place = 0, factor = PRIME - inverse(state.work[cell])
    cdef Residues *by = &state.expression[state.dependents]
    if not allocate(by, state.touched.size - 1):
        state.failed = True
        by.size = 0
        return
    for entry in range(state.touched.size):
        other = state.touched.number[entry]
        if other != cell:
            by.index[place] = other
            by.value[place] = state.work[other] * factor % PRIME
            place += 1
    state.cell_of[state.dependents] = cell
    state.rank_of[cell] = state.dependents
    state.dependents += 1


cdef int64_t find(Residues *vector, int64_t index) noexcept nogil:
    """The place of an index, NONE if it is not there."""
    cdef int64_t low = 0, high = vector.size, middle
    while low < high:
        middle = (low + high) >> 1
        if vector.index[middle] < index:
            low = middle + 1
        else:
            high = middle
    return low if low < vector.size and vector.index[low] == index else NONE


cdef void substitute(Elimination state, int64_t number, int64_t cell) noexcept nogil:
    """Replace a cell that became dependent in what is left of a sensitive one."""
    cdef Residues *old = &state.left[number]
    cdef Residues *by = &state.expression[state.rank_of[cell]]
    cdef Residues new
    cdef int64_t at = find(old, cell), one = 0, other = 0, size = 0, factor, amount
    if at == NONE:
        return
    factor = old.value[at]
    if not allocate(&new, old.size + by.size):
        state.failed = True
        return
    state.steps += old.size + by.size
    while one < old.size or other < by.size:
        if one < old.size and old.index[one] == cell:
            one += 1
        elif other == by.size or (one < old.size and old.index[one] < by.index[other]):
            new.index[size], new.value[size] = old.index[one], old.value[one]
            one += 1
            size += 1
        elif one == old.size or by.index[other] < old.index[one]:
            new.index[size], new.value[size] = by.index[other], factor * by.value[other] % PRIME
            if not append(&state.holders[by.index[other]], number):
                state.failed = True
            other += 1
            size += 1
        else:
            amount = (old.value[one] + factor * by.value[other]) % PRIME
            if amount != 0:
                new.index[size], new.value[size] = old.index[one], amount
                size += 1
            one += 1
            other += 1
    new.size = size
    release(old)
    state.left[number] = new


cdef bint gives_away(Elimination state) noexcept nogil:
    """Whether what is left of some sensitive cell is a multiple of the vector at work."""
    cdef int64_t entry, cell, first = NONE, number, place
    cdef Postings *list
    cdef Residues *one
    for entry in range(state.touched.size):
        cell = state.touched.number[entry]
        if first == NONE or state.holders[cell].size < state.holders[first].size:
            first = cell
    list = &state.holders[first]
    state.steps += list.size
    for place in range(list.size):
        one = &state.left[list.number[place]]
        if one.size != state.touched.size:
            continue
        number = 0
        while number < one.size and one.index[number] == state.touched.number[number] and (
            one.value[number] * state.work[one.index[0]] - one.value[0] * state.work[one.index[number]]
        ) % PRIME == 0:
            number += 1
        state.steps += number
        if number == one.size:
            return True
    return False


def publishable(
    const int[::1] start,
    const int[::1] column,
    const int64_t[::1] coefficient,
    const int64_t[::1] rows,
    const double[::1] height,
    const int64_t[::1] candidates,
    const uint8_t[::1] forced,
    const int64_t[::1] sensitive,
    stop,
):
    """Publish candidates in their order as long as no sensitive cell is determined: 1 published, 2 known anyway, 0 not.

    Equations (by rows) are taken in the order of `rows`; in each the highest cell is expressed by the others. `forced`
    candidates are published whatever they give away.
    """
    state, watch = Elimination(height.shape[0], sensitive.shape[0]), Watch(stop)
    outcome = np.zeros(height.shape[0], np.uint8)
    cdef uint8_t[::1] published = outcome
    with nogil:
        settle_equations(state, watch, start, column, coefficient, rows, height)
        settle_sensitive(state, watch, sensitive)
        settle_candidates(state, watch, height, candidates, forced, published)
    watch.end()
    if state.failed:
        raise MemoryError
    return outcome


cdef bint halted(Elimination state, Watch watch) noexcept nogil:
    cdef int64_t steps = state.steps + 16
    state.steps = 0
    return stopped(watch, steps) or state.failed


cdef void settle_equations(
    Elimination state,
    Watch watch,
    const int[::1] start,
    const int[::1] column,
    const int64_t[::1] coefficient,
    const int64_t[::1] rows,
    const double[::1] height,
) noexcept nogil:
    cdef Py_ssize_t number, entry
    cdef int64_t highest, cell
    for number in range(rows.shape[0]):
        if halted(state, watch):
            return
        for entry in range(start[rows[number]], start[rows[number] + 1]):
            put(state, column[entry], residue(coefficient[entry]))
        reduce_work(state)
        if state.touched.size:
            highest = state.touched.number[0]
            for entry in range(state.touched.size):
                cell = state.touched.number[entry]
                if height[cell] > height[highest]:
                    highest = cell
            express(state, highest)
        clear_work(state)


cdef void settle_sensitive(Elimination state, Watch watch, const int64_t[::1] sensitive) noexcept nogil:
    cdef Py_ssize_t number, entry
    cdef int64_t cell
    for number in range(sensitive.shape[0]):
        if halted(state, watch):
            return
        put(state, sensitive[number], 1)
        reduce_work(state)
        if not allocate(&state.left[number], state.touched.size):
            state.failed = True
            state.left[number].size = 0
        for entry in range(state.left[number].size):
            cell = state.touched.number[entry]
            state.left[number].index[entry] = cell
            state.left[number].value[entry] = state.work[cell]
            if not append(&state.holders[cell], number):
                state.failed = True
        clear_work(state)


cdef void settle_candidates(
    Elimination state,
    Watch watch,
    const double[::1] height,
    const int64_t[::1] candidates,
    const uint8_t[::1] forced,
    uint8_t[::1] published,
) noexcept nogil:
    cdef Py_ssize_t number
    for number in range(candidates.shape[0]):
        if halted(state, watch):
            return
        put(state, candidates[number], 1)
        reduce_work(state)
        if state.touched.size == 0:
            published[candidates[number]] = 2
        elif forced[candidates[number]] or not gives_away(state):
            published[candidates[number]] = 1
            take_out(state)
        clear_work(state)


cdef void take_out(Elimination state) noexcept nogil:
    """The vector at work is zero from now on: that of its cells which is in the fewest remainders becomes dependent."""
    cdef Py_ssize_t entry
    cdef int64_t cell, best = state.touched.number[0]
    for entry in range(state.touched.size):
        cell = state.touched.number[entry]
        if state.holders[cell].size < state.holders[best].size:
            best = cell
    express(state, best)
    for entry in range(state.holders[best].size):
        substitute(state, state.holders[best].number[entry], best)
    free(state.holders[best].number)
    state.holders[best] = Postings(0, 0, NULL)


def elimination_of(
    const int[::1] start,
    const int[::1] column,
    const int64_t[::1] coefficient,
    const int64_t[::1] rows,
    const double[::1] height,
    const uint8_t[::1] fixed,
    const int64_t[::1] sensitive,
    stop,
):
    """The elimination in which the equations are settled, and these cells are known; see `publishable`."""
    state, watch = Elimination(height.shape[0], sensitive.shape[0]), Watch(stop)
    cdef const int64_t[::1] known = np.flatnonzero(fixed).astype(np.int64)
    cdef uint8_t[::1] published = np.zeros(height.shape[0], np.uint8)
    with nogil:
        settle_equations(state, watch, start, column, coefficient, rows, height)
        settle_sensitive(state, watch, sensitive)
        settle_candidates(state, watch, height, known, fixed, published)
    watch.end()
    if state.failed:
        raise MemoryError
    return state


def publish_together(list states, const int64_t[::1] candidates, stop):
    """Publish candidates in their order as long as no sensitive cell of any state is determined: whether each is."""
    watch = Watch(stop)
    outcome = np.zeros(candidates.shape[0], np.uint8)
    cdef uint8_t[::1] published = outcome
    cdef Elimination state
    cdef Py_ssize_t number
    cdef bint needed
    for number in range(candidates.shape[0]):
        needed = False
        for state in states:
            if halted(state, watch):
                break
            put(state, candidates[number], 1)
            reduce_work(state)
            needed = state.touched.size > 0 and gives_away(state)
            clear_work(state)
            if needed:
                break
        if watch.over:
            break
        if needed:
            continue
        published[number] = 1
        for state in states:
            put(state, candidates[number], 1)
            reduce_work(state)
            if state.touched.size > 0:
                take_out(state)
            clear_work(state)
    watch.end()
    for state in states:
        if state.failed:
            raise MemoryError
    return outcome


def remainders(Elimination state, const int64_t[::1] cells):
    """What is left of some cells, over the independent ones: where each ends, the cells, and the residues from -p/2."""
    cdef Postings index = Postings(0, 0, NULL), value = Postings(0, 0, NULL)
    ends = np.zeros(cells.shape[0] + 1, np.int64)
    cdef int64_t[::1] end = ends
    cdef int64_t[:, ::1] pairs
    cdef Py_ssize_t number, entry
    cdef int64_t cell, amount
    with nogil:
        for number in range(cells.shape[0]):
            put(state, cells[number], 1)
            reduce_work(state)
            for entry in range(state.touched.size):
                cell = state.touched.number[entry]
                amount = state.work[cell]
                if not append(&index, cell) or not append(&value, amount - PRIME if amount > PRIME // 2 else amount):
                    state.failed = True
            end[number + 1] = index.size
            clear_work(state)
    try:
        if state.failed:
            raise MemoryError
        found = np.zeros((2, index.size), np.int64)
        pairs = found
        for number in range(index.size):
            pairs[0, number], pairs[1, number] = index.number[number], value.number[number]
        return ends, found[0], found[1]
    finally:
        free(index.number)
        free(value.number)
