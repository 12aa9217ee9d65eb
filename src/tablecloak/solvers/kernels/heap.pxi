# A binary heap of nodes, the smallest key first; keys are pairs in lexicographic order.

cdef packed struct HeapItem:
    double key
    double second
    int64_t node


HEAP_ITEM = np.dtype([("key", np.float64), ("second", np.float64), ("node", np.int64)])


@cython.final
cdef class Heap:
    """Memory for a fixed number of items; `items[0]` is the smallest."""

    cdef HeapItem[::1] items
    cdef Py_ssize_t size

    def __init__(self, Py_ssize_t capacity):
        self.items = np.zeros(capacity, HEAP_ITEM)
        self.size = 0


cdef inline bint is_smaller(HeapItem one, HeapItem other) noexcept nogil:
    return one.key < other.key or (one.key == other.key and one.second < other.second)


cdef inline void push(Heap heap, double key, double second, int64_t node) noexcept nogil:
    """Add an item: larger ones above it step down."""
    cdef HeapItem item = HeapItem(key, second, node)
    cdef Py_ssize_t place = heap.size, above
    while place > 0:
        above = (place - 1) >> 1
        if not is_smaller(item, heap.items[above]):
            break
        heap.items[place] = heap.items[above]
        place = above
    heap.items[place] = item
    heap.size += 1


cdef inline void drop_first(Heap heap) noexcept nogil:
    """Remove the smallest item: the last one sinks from its place."""
    heap.size -= 1
    cdef HeapItem item = heap.items[heap.size]
    cdef Py_ssize_t place = 0, below
    while 2 * place + 1 < heap.size:
        below = 2 * place + 1
        if below + 1 < heap.size and is_smaller(heap.items[below + 1], heap.items[below]):
            below += 1
        if not is_smaller(heap.items[below], item):
            break
        heap.items[place] = heap.items[below]
        place = below
    heap.items[place] = item
