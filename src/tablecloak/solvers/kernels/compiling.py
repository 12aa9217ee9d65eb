"""How kernels are compiled, and the types of their arrays.

Importing this module imports numba, so only files of kernels do; they in turn are imported where they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import boolean, float64, int8, int32, int64, njit

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

ints_type, longs_type, signs_type = int32[::1], int64[::1], int8[::1]
floats_type, bools_type = float64[::1], boolean[::1]


def compiled(signature: Any) -> Callable[[Kernel], Kernel]:
    """Compile for one signature; keep the code on disk where possible; let other threads run meanwhile."""

    def compile_now(function: Kernel) -> Kernel:
        try:
            kernel: Kernel = njit(signature, cache=True, nogil=True)(function)
        except RuntimeError:  # numba found no directory to write to
            kernel = njit(signature, nogil=True)(function)
        return kernel

    return compile_now
