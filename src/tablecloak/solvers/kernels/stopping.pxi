# Limits and interrupts inside long computations.

cdef enum:
    STEPS_PER_LOOK = 1 << 24  # elementary steps, about 10 to 50 milliseconds


@cython.final
cdef class Watch:
    """Whether a long computation should stop: at Ctrl-C in the main thread, or where `stop` raises or returns true.

    Computations count their elementary steps. `stop`, and with it the clock if it reads one, is called every
    STEPS_PER_LOOK steps. What was computed until a stop is of no use: `end` raises `KeyboardInterrupt`, what `stop`
    raised, or `TimeUp`.
    """

    cdef object stop
    cdef object error
    cdef int64_t steps
    cdef bint over

    def __init__(self, stop):
        self.stop = stop

    cdef int end(self) except -1:
        if self.over:
            raise self.error
        return 0


cdef inline bint stopped(Watch watch, int64_t steps) noexcept nogil:
    """Count steps; whether to stop."""
    watch.steps += steps
    if watch.steps >= STEPS_PER_LOOK:
        watch.steps = 0
        look(watch)
    return watch.over


cdef void look(Watch watch) noexcept with gil:
    """Handle signals and call `stop`."""
    try:
        PyErr_CheckSignals()
        if watch.stop is not None and watch.stop():
            raise TimeUp
    except BaseException as error:
        watch.error, watch.over = error, True
