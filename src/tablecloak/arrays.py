"""Small helpers for the read-only arrays that all our objects are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, marked read-only (a copy when it is a view of somebody else's data)."""
    owned = array if array.flags.owndata and array.flags.c_contiguous else array.copy()
    owned.flags.writeable = False
    return owned


def floats(values: ArrayLike, size: int | None = None) -> Floats:
    """A read-only float64 vector; a scalar is repeated `size` times."""
    array = np.array(values, dtype=np.float64)
    if array.ndim == 0 and size is not None:
        array = np.full(size, float(array))
    return frozen(array)


def mask(where: ArrayLike | None, size: int) -> Bools:
    """A read-only boolean vector from a mask, a list of positions, or None (nowhere)."""
    if where is None:
        return frozen(np.zeros(size, dtype=bool))
    array = np.array(where)
    if array.dtype == bool and array.shape == (size,):
        return frozen(array)
    result = np.zeros(size, dtype=bool)
    if array.size:
        result[array.astype(np.int64)] = True
    return frozen(result)


def frozen_matrix(matrix: Any) -> csr_array:
    """A canonical CSR matrix (sorted, no duplicates, no stored zeros) whose buffers are read-only."""
    csr = csr_array(matrix, dtype=np.float64, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    csr.sort_indices()
    for part in (csr.data, csr.indices, csr.indptr):
        part.flags.writeable = False
    return csr


def ranges(starts: NDArray[Any], stops: NDArray[Any]) -> Ints:
    """The concatenation of arange(start, stop) for each pair, without a Python loop."""
    lengths = np.asarray(stops, dtype=np.int64) - np.asarray(starts, dtype=np.int64)
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    offsets = np.arange(total, dtype=np.int64) - np.repeat(ends - lengths, lengths)
    return np.asarray(np.repeat(np.asarray(starts, dtype=np.int64), lengths) + offsets)
