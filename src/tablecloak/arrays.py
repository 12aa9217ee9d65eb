"""Small helpers for the read-only arrays that all our objects are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from tablecloak.errors import InputError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """An array marked read-only (a copy when it is a view of other data)."""
    owned = array if array.flags.owndata and array.flags.c_contiguous else array.copy()
    owned.flags.writeable = False
    return owned


def floats(values: ArrayLike, size: int | None = None) -> Floats:
    """A read-only float64 array; a scalar is repeated `size` times."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("Numbers", ["expected numbers, one a cell or one for all cells"]) from None
    if array.ndim == 0 and size is not None:
        array = np.full(size, float(array))
    return frozen(array)


def positions(where: ArrayLike) -> Ints:
    """Cell numbers from a mask, a list of cell numbers or a single one."""
    array = np.atleast_1d(np.array(where))
    if array.ndim == 1 and array.dtype == bool:
        return np.flatnonzero(array)
    if array.ndim == 1 and (array.size == 0 or array.dtype.kind in "iu"):
        return array.astype(np.int64)
    raise InputError("Cells", ["expected a mask with one entry a cell, or a list of cell numbers"])


def both_bounds(known: object) -> tuple[Any, Any]:
    """(low, high) of what is known beforehand; anything else is an error."""
    if not isinstance(known, tuple | list) or len(known) != 2:
        fault = "known must be a pair: lower and upper bounds, a number or one a cell each"
        raise InputError("Problem", [fault], advice="Write it like known=(0, np.inf).")
    return known[0], known[1]


def masks_of(size: int, given: Mapping[str, ArrayLike | None]) -> tuple[dict[str, Bools], list[str]]:
    """A mask for each name, empty where what was given is none, and what is wrong with it."""
    masks, faults = dict[str, Bools](), list[str]()
    for name, where in given.items():
        try:
            masks[name] = mask(where, size)
        except InputError as error:
            masks[name] = mask(None, size)
            faults += [f"{name}: {fault}" for fault in error.faults]
    return masks, faults


def mask(where: ArrayLike | None, size: int) -> Bools:
    """A read-only boolean vector from a mask, a list of positions, or None (nowhere)."""
    result = np.zeros(size, dtype=bool)
    if where is None:
        return frozen(result)
    array = np.array(where)
    if array.dtype == bool and array.shape != (size,):
        raise InputError("Cells", [f"a mask needs {size} entries, one a cell; got shape {array.shape}"])
    numbers = positions(array)
    outside = numbers[(numbers < 0) | (numbers >= size)]
    if outside.size:
        faults = [f"there is no cell number {number}" for number in outside]
        raise InputError("Cells", faults, advice=f"The {size} cells are numbered from 0 to {size - 1}.")
    result[numbers] = True
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


def places_of(numbers: Ints, size: int) -> Ints:
    """The place of each of these among them, by number below `size`; -1 for all others."""
    places = np.full(size, -1, dtype=np.int64)
    places[numbers] = np.arange(numbers.size)
    return places
