# Unbiased rounding on a network: residues of arcs go to 0 or to the base, and every node stays balanced.
#
# Each arc has a residue 0 <= x <= base, whole numbers; those strictly between are *open*. A cycle of open arcs may be
# pushed up by `up` or down by `down`, the largest steps that keep all its residues within 0..base. It goes up with
# probability down / (up + down), so that the expectation of every residue stays what it is, and at least one arc
# closes.
#
# Cycles are chosen at random, so that every balanced rounding v can come out: v - x is a sum of cycles along which all
# residues move towards v; pushed one after the other, they lead there. The walk starts at the same node until that has
# no open arc left, and it can close any cycle that it can reach.
#
# Reference: Cox (1987), A constructive procedure for unbiased controlled rounding, JASA 82.

cdef void close_entry(Adjacency lists, int[::1] count, int node, int end) noexcept nogil:
    """Take the end of an arc out of the list of a node: the last one takes its place."""
    cdef int last, place = lists.entry[end]
    count[node] -= 1
    last = lists.end[lists.first[node] + count[node]]
    lists.end[place], lists.entry[last] = last, place


cdef int64_t cycle_step(
    const int64_t[::1] residue, const int[::1] way, Py_ssize_t start, Py_ssize_t stop, int64_t base, double draw
) noexcept nogil:
    """How far to push the cycle way[start..stop]: up, or down as a negative number."""
    cdef int64_t up = base, down = base, here
    cdef Py_ssize_t place
    for place in range(start, stop + 1):
        here = residue[way[place] >> 1]
        if way[place] & 1 == 0:
            up, down = min(up, base - here), min(down, here)
        else:
            up, down = min(up, here), min(down, base - here)
    return up if draw * (up + down) < down else -down


cdef int64_t push_cycles(
    Adjacency lists, const int[::1] tail, const int[::1] head, int64_t[::1] residue, int64_t base,
    const double[::1] draws, int64_t pushes, uint64_t state, int[::1] count, int[::1] walk, int[::1] way,
    int[::1] place, Watch watch,
) noexcept nogil:
    """Push cycles until no arc is open; how many in all, NONE where the residues do not balance.

    Walks at random along open arcs, never straight back, until a node comes again: that closes a cycle. A node at which
    the walk cannot go on is one that was not balanced. `place`: of each node on the walk, else NONE.
    """
    cdef int root, node, back, choices, pick, end, target, arc
    cdef Py_ssize_t length, start, at
    cdef int64_t step
    for root in range(count.shape[0]):
        while count[root] > 0:
            walk[0], place[root], length, start = root, 0, 0, NONE
            while start == NONE:
                node = walk[length]
                back = lists.entry[way[length - 1] ^ 1] if length > 0 else NONE
                choices = count[node] - (1 if length > 0 else 0)
                if choices == 0:
                    return NONE
                pick = lists.first[node] + next_bits(&state) % choices
                end = lists.end[pick + 1 if back != NONE and pick >= back else pick]
                way[length] = end
                target = head[end >> 1] if end & 1 == 0 else tail[end >> 1]
                start = place[target]
                if start == NONE:
                    length += 1
                    walk[length], place[target] = target, length
            step = cycle_step(residue, way, start, length, base, draws[pushes])
            pushes += 1
            for at in range(start, length + 1):
                arc = way[at] >> 1
                residue[arc] += step if way[at] & 1 == 0 else -step
                if residue[arc] == 0 or residue[arc] == base:
                    close_entry(lists, count, tail[arc], 2 * arc)
                    close_entry(lists, count, head[arc], 2 * arc + 1)
            for at in range(length + 1):
                place[walk[at]] = NONE
            if stopped(watch, 8 * length):
                return pushes
    return pushes


def round_cycles(
    Py_ssize_t nodes, const int[::1] tail, const int[::1] head, int64_t[::1] residue, int64_t base,
    const double[::1] draws, int64_t seed, stop=None,
):
    """Round the residues in place to 0 or the base; gives the number of cycles pushed, -1 where they do not balance."""
    cdef int[::1] ends = np.empty(2 * np.count_nonzero(residue), np.int32)
    cdef int64_t pushes = 0
    cdef Py_ssize_t arc, size = 0
    for arc in range(tail.shape[0]):
        if residue[arc] > 0 and tail[arc] != head[arc]:
            ends[size], ends[size + 1] = 2 * arc, 2 * arc + 1
            size += 2
        elif residue[arc] > 0:  # a cycle by itself
            residue[arc] = base if draws[pushes] * base < residue[arc] else 0
            pushes += 1
    cdef Adjacency lists = Adjacency(nodes, tail, head, ends[:size])
    cdef int[::1] count = np.diff(lists.first), place = np.full(nodes, NONE, np.int32)
    cdef int[::1] walk, way
    walk, way = np.empty((2, nodes + 1), np.int32)
    cdef Watch watch = Watch(stop)
    with nogil:
        pushes = push_cycles(
            lists, tail, head, residue, base, draws, pushes, seed, count, walk, way, place, watch
        )
    watch.end()
    return pushes
