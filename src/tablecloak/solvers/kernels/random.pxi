# Knuth's linear congruential generator MMIX, for choices that no probability statement depends on.

cdef inline int64_t next_bits(uint64_t *state) noexcept nogil:
    """A pseudo-random number of 31 bits."""
    state[0] = state[0] * <uint64_t>6364136223846793005 + <uint64_t>1442695040888963407
    return state[0] >> 33
