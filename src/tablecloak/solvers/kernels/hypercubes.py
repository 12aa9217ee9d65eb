"""The compiled search for hypercubes; see `attacker.hypercube` for what they are.

Importing this module imports numba, so nothing imports it at the top of a file.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, float64, int64
from numba.types import Array, Tuple, UniTuple
from numpy.typing import NDArray

from tablecloak.arrays import Bools, Codes, Floats, Ints
from tablecloak.solvers.kernels.compiling import (
    bools_type,
    compiled,
    floats_type,
    ints_type,
    longs_type,
    signs_type,
)

Signs = NDArray[np.int8]

MOST_CORNERS = 2048
"""Maximum number of cells of a hypercube."""
LONGEST = 64
"""Maximum number of codes of a walk."""
SWEEPS = 6
"""Maximum number of sweeps over all dimensions from one start."""
VIOLATION = 2.0**16
"""Cost of a violation, in multiples of the largest price of a cell."""
FORBIDDEN = 1e300
"""The price of a cell that must not be hidden."""
MULTIPLIER, INCREMENT = 6364136223846793005, 1442695040888963407
"""Knuth's generator MMIX."""

# Kernels are given in tuples:
#   trees    (start, parent, end, depth): codes of dimension d are at start[d], ...; parents and ends count from there
#   table    (place, there): the cell at each place of the grid or -1; whether a kind of marginal is in the table
#   costs    (price, up, down) of every cell
#   corners  (keys, kinds, signs) of the product of some walks: the first `count` of them
#   query    (own, level, violation): the cell to protect, how far it must move, the price of a violation
#   walks    (codes, signs, lengths), a row a dimension

TREES, TABLE = UniTuple(ints_type, 4), Tuple((ints_type, bools_type))
COSTS, CORNERS = UniTuple(floats_type, 3), Tuple((longs_type, longs_type, signs_type))
SCRATCH, SYSTEM = Tuple((floats_type, ints_type)), Tuple((ints_type, ints_type, floats_type, floats_type))
WALKS, QUERY = (
    Tuple((Array(int64, 2, "C"), Array(int64, 2, "C"), longs_type)),
    Tuple((int64, float64, float64)),
)


@compiled(float64(int64, int64, int64, int64, CORNERS, QUERY, TABLE, COSTS))
def _code_price(
    key: int,
    kind: int,
    way: int,
    count: int,
    corners: tuple[Ints, Ints, Signs],
    query: tuple[np.int64, float, float],
    table: tuple[Codes, Bools],
    costs: tuple[Floats, Floats, Floats],
) -> float:
    """What a code costs that moves this way: its cells, one for each corner of the other dimensions."""
    keys, kinds, signs = corners
    own, level, violation = query
    place, there = table
    price, up, down = costs
    total = 0.0
    for i in range(count):
        cell = place[key + keys[i]]
        if cell < 0:
            if there[kind + kinds[i]]:
                total += violation
        elif cell != own:
            room = up[cell] if way * signs[i] > 0 else down[cell]
            total += price[cell] if room >= level and price[cell] < violation else violation
    return total


@compiled(float64(int64, int64, int64, int64, int64, int64, CORNERS, QUERY, TREES, TABLE, COSTS, SCRATCH))
def _cheapest_down(
    code: int,
    way: int,
    stride: int,
    kind_stride: int,
    first: int,
    count: int,
    corners: tuple[Ints, Ints, Signs],
    query: tuple[np.int64, float, float],
    trees: tuple[Codes, Codes, Codes, Codes],
    table: tuple[Codes, Bools],
    costs: tuple[Floats, Floats, Floats],
    scratch: tuple[Floats, Codes],
) -> float:
    """The cheapest walk from a code down to a leaf: its price; the next of each code is left in `scratch`."""
    _, parent, end, depth = trees
    below, following = scratch
    last = end[first + code]
    for y in range(code, last):
        below[y] = FORBIDDEN
        following[y] = -1
    total = 0.0
    for y in range(last - 1, code - 1, -1):
        kind = depth[first + y] * kind_stride
        total = _code_price(y * stride, kind, way, count, corners, query, table, costs)
        if end[first + y] > y + 1:
            total += below[y]
        if y > code and total < below[parent[first + y]]:
            below[parent[first + y]] = total
            following[parent[first + y]] = y
    return total


@compiled(float64(int64, int64, int64, int64, int64, CORNERS, QUERY, TREES, TABLE, COSTS, SCRATCH, WALKS))
def _best_walk(
    d: int,
    code: int,
    stride: int,
    kind_stride: int,
    count: int,
    corners: tuple[Ints, Ints, Signs],
    query: tuple[np.int64, float, float],
    trees: tuple[Codes, Codes, Codes, Codes],
    table: tuple[Codes, Bools],
    costs: tuple[Floats, Floats, Floats],
    scratch: tuple[Floats, Codes],
    walks: tuple[Ints, Ints, Ints],
) -> float:
    """The cheapest walk through a code of dimension d that moves up, into `walks`; its price."""
    start, parent, end, depth = trees
    first = start[d]
    so_far = _cheapest_down(
        code, 1, stride, kind_stride, first, count, corners, query, trees, table, costs, scratch
    )
    best, turn, top, y = np.inf, -1, code, code
    while True:
        above = parent[first + y]
        if above < 0:
            if so_far < best:
                best, turn, top = so_far, -1, y
            break
        z = above + 1
        while z < end[first + above]:
            if z != y:
                cost = so_far + _cheapest_down(
                    z, -1, stride, kind_stride, first, count, corners, query, trees, table, costs, scratch
                )
                if cost < best:
                    best, turn, top = cost, z, y
            z = end[first + z]
        kind = depth[first + above] * kind_stride
        so_far += _code_price(above * stride, kind, 1, count, corners, query, table, costs)
        if so_far >= best:
            break
        y = above
    codes, signs, lengths = walks
    following, many, y = scratch[1], 0, code
    while y >= 0:
        codes[d, many], signs[d, many] = y, 1
        many, y = many + 1, following[y]
    y = code
    while y != top:
        y = parent[first + y]
        codes[d, many], signs[d, many] = y, 1
        many += 1
    y = turn
    while y >= 0:
        codes[d, many], signs[d, many] = y, -1
        many, y = many + 1, following[y]
    lengths[d] = many
    return best


@compiled(int64(int64, longs_type, longs_type, TREES, WALKS, CORNERS))
def _product(
    left_out: int,
    stride: Ints,
    kind_stride: Ints,
    trees: tuple[Codes, Codes, Codes, Codes],
    walks: tuple[Ints, Ints, Ints],
    corners: tuple[Ints, Ints, Signs],
) -> int:
    """The corners of all dimensions but one; how many there are, or 0 if they are too many."""
    start, _, _, depth = trees
    keys, kinds, signs = corners
    keys[0], kinds[0], signs[0] = 0, 0, 1
    count = 1
    for d in range(stride.size):
        many = walks[2][d]
        if d == left_out:
            continue
        if count * many > MOST_CORNERS:
            return 0
        for j in range(many - 1, -1, -1):
            code, sign = walks[0][d, j], walks[1][d, j]
            key, kind = code * stride[d], depth[start[d] + code] * kind_stride[d]
            for i in range(count):
                keys[j * count + i] = keys[i] + key
                kinds[j * count + i] = kinds[i] + kind
                signs[j * count + i] = signs[i] * sign
        count *= many
    return count


@compiled(boolean(int64, CORNERS, TABLE, SYSTEM))
def _adds_up(
    count: int,
    corners: tuple[Ints, Ints, Signs],
    table: tuple[Codes, Bools],
    system: tuple[Codes, Codes, Floats, Floats],
) -> bool:
    """Whether all equations hold when the corners move by their signs. `sums` in `system` are zero before and after."""
    keys, _, signs = corners
    place = table[0]
    indptr, indices, data, sums = system
    for i in range(count):
        cell = place[keys[i]]
        if cell >= 0:
            for at in range(indptr[cell], indptr[cell + 1]):
                sums[indices[at]] += signs[i] * data[at]
    holds = True
    for i in range(count):
        cell = place[keys[i]]
        if cell >= 0:
            for at in range(indptr[cell], indptr[cell + 1]):
                holds &= abs(sums[indices[at]]) < 1e-9
                sums[indices[at]] = 0.0
    return holds


@compiled(
    int64(
        int64, float64, longs_type, longs_type, TREES, TABLE, COSTS, SYSTEM, SCRATCH,
        Tuple((int64, int64)), Tuple((ints_type, signs_type)),
    )
)  # fmt: skip
def search(
    key: int,
    level: float,
    stride: Ints,
    kind_stride: Ints,
    trees: tuple[Codes, Codes, Codes, Codes],
    table: tuple[Codes, Bools],
    costs: tuple[Floats, Floats, Floats],
    system: tuple[Codes, Codes, Floats, Floats],
    scratch: tuple[Floats, Codes],
    chance: tuple[int, int],
    found: tuple[Codes, Signs],
) -> int:
    """The cheapest hypercube of some starts, into `found`; how many cells it has, or 0. `chance`: starts and seed."""
    dimensions, largest = stride.size, 0.0
    for i in range(costs[0].size):
        if costs[0][i] < FORBIDDEN:
            largest = max(largest, costs[0][i])
    violation = VIOLATION * max(largest, 1e-300)
    query = (np.int64(table[0][key]), level, violation)
    mine, rest = np.zeros(dimensions, dtype=np.int64), key
    for d in range(dimensions):
        mine[d] = rest // stride[d]
        rest -= mine[d] * stride[d]
    walks = (
        np.zeros((dimensions, LONGEST), dtype=np.int64),
        np.zeros((dimensions, LONGEST), dtype=np.int64),
        np.zeros(dimensions, dtype=np.int64),
    )
    corners = (
        np.zeros(MOST_CORNERS, dtype=np.int64),
        np.zeros(MOST_CORNERS, dtype=np.int64),
        np.zeros(MOST_CORNERS, dtype=np.int8),
    )
    order = np.arange(dimensions)
    best, size, state = violation, 0, chance[1]
    for _ in range(chance[0]):
        for i in range(dimensions - 1, 0, -1):
            state = state * MULTIPLIER + INCREMENT
            j = ((state >> 33) & 0x7FFFFFFF) % (i + 1)
            order[i], order[j] = order[j], order[i]
        for d in range(dimensions):
            walks[0][d, 0], walks[1][d, 0], walks[2][d] = mine[d], 1, 1
        cost, before, count = np.inf, np.inf, 1
        for _ in range(SWEEPS):
            for at in range(dimensions):
                d = int(order[at])
                count = _product(d, stride, kind_stride, trees, walks, corners)
                if count == 0:
                    break
                cost = _best_walk(
                    d,
                    mine[d],
                    stride[d],
                    kind_stride[d],
                    count,
                    corners,
                    query,
                    trees,
                    table,
                    costs,
                    scratch,
                    walks,
                )
            if count == 0 or cost >= before:
                break
            before = cost
        if count == 0 or cost >= best:
            continue
        count = _product(-1, stride, kind_stride, trees, walks, corners)
        if count == 0 or not _adds_up(count, corners, table, system):
            continue
        best, size = cost, 0
        for i in range(count):
            cell = table[0][corners[0][i]]
            if cell >= 0:
                found[0][size], found[1][size] = cell, corners[2][i]
                size += 1
    return size
