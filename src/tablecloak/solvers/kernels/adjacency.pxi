# Adjacency lists of networks whose arcs are cells.
#
# An arc has two ends: 2 * arc at its tail, 2 * arc + 1 at its head. Each end is an *entry* in the list of its node: the
# right to leave the node along the arc. The entries of a node are contiguous. Self loops have none.

@cython.final
cdef class Adjacency:
    """The entries of all nodes, one node after the other; within a node in the order of `ends`."""

    cdef int[::1] first  # the entries of node v are first[v] to first[v + 1]
    cdef int[::1] end  # by entry: the end of an arc that it is
    cdef int[::1] target  # by entry: the node at the other end
    cdef int[::1] entry  # by end: its entry, NONE for self loops

    def __init__(self, Py_ssize_t nodes, const int[::1] tail, const int[::1] head, const int[::1] ends):
        self.first = np.zeros(nodes + 1, np.int32)
        self.end = np.empty(ends.shape[0], np.int32)
        self.target = np.empty(ends.shape[0], np.int32)
        self.entry = np.full(2 * tail.shape[0], NONE, np.int32)
        with nogil:
            sort_by_node(self, tail, head, ends)


cdef void sort_by_node(Adjacency lists, const int[::1] tail, const int[::1] head, const int[::1] ends) noexcept nogil:
    """Counting sort of the ends by their nodes."""
    cdef Py_ssize_t k, arc, node, nodes = lists.first.shape[0] - 1
    cdef int entry
    for k in range(ends.shape[0]):
        arc = ends[k] >> 1
        lists.first[(head[arc] if ends[k] & 1 else tail[arc]) + 1] += 1
    for node in range(nodes):
        lists.first[node + 1] += lists.first[node]
    for k in range(ends.shape[0]):  # each node's start moves to its end
        arc = ends[k] >> 1
        node = head[arc] if ends[k] & 1 else tail[arc]
        entry = lists.first[node]
        lists.first[node] += 1
        lists.end[entry], lists.entry[ends[k]] = ends[k], entry
        lists.target[entry] = tail[arc] if ends[k] & 1 else head[arc]
    for node in range(nodes, 0, -1):  # and back
        lists.first[node] = lists.first[node - 1]
    lists.first[0] = 0


cdef inline int start_of(Adjacency lists, Py_ssize_t entry) noexcept nogil:
    """The node that an entry leaves."""
    return lists.target[lists.entry[lists.end[entry] ^ 1]]
