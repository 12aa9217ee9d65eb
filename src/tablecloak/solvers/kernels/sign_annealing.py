"""Signs of amounts so that sums come near zero: simulated annealing, compiled.

Amount p counts a_p (up) or -b_p (down) in some rows, r = sum_p (+a_p or -b_p) times column p + what is fixed. Sought
are senses with a small  sum_e price_e |r_e| + sum of own prices of the amounts that are up.  A step turns one amount,
or two of one row; it is taken if that is better, or with probability exp(-worse / T) while T falls from `hot` to
`cold`. The best senses seen are kept. The same seed and number of steps give the same senses.

Importing this module imports numba, so nothing imports it at the top of a file.

Reference: Kirkpatrick, Gelatt & Vecchi (1983), Optimization by simulated annealing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import float64, int64
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from tablecloak.arrays import Codes, Floats, Ints
from tablecloak.solvers.kernels.compiling import compiled, floats_type, ints_type, longs_type, signs_type

Signs = NDArray[np.int8]

MULTIPLIER, INCREMENT = 6364136223846793005, 1442695040888963407
"""Knuth's generator MMIX."""
CHUNK = 500_000
"""Number of steps between two checks whether to stop."""
PAIRS = 0.7
"""Share of steps that turn two amounts."""


def balanced_senses(
    columns: csc_array,
    step: Floats,
    own: Floats,
    price: Floats,
    rest: Floats,
    senses: Ints,
    *,
    heat: tuple[float, float],
    steps: int,
    seed: int,
    stop: Callable[[], bool] = lambda: False,
) -> Ints:
    """Better senses (1 up, 0 down) than those given.

    `step` is a + b of each amount, `own` what it costs more to be up, `price` that of a row, `rest` the rows r with the
    senses given. `heat`: T at first and in the end.
    """
    by_column, by_row = csc_array(columns), csr_array(columns)
    now = senses.astype(np.int8)
    best, r = now.copy(), np.array(rest, dtype=np.float64)
    amount = int(step.size)
    state = np.array([seed % 2**62], dtype=np.int64)
    cost = np.array([float(price @ np.abs(r)), 0.0])
    cost[1] = cost[0]
    done = 0
    while amount and by_column.nnz and done < steps and not stop():
        more = min(CHUNK, steps - done)
        _anneal(
            by_column.indptr.astype(np.int32),
            by_column.indices.astype(np.int32),
            by_column.data.astype(np.float64),
            by_row.indptr.astype(np.int32),
            by_row.indices.astype(np.int32),
            np.ascontiguousarray(step, dtype=np.float64),
            np.ascontiguousarray(own, dtype=np.float64),
            np.ascontiguousarray(price, dtype=np.float64),
            r,
            now,
            best,
            cost,
            state,
            heat[0] * (heat[1] / heat[0]) ** (done / steps),
            heat[0] * (heat[1] / heat[0]) ** ((done + more) / steps),
            more,
        )
        done += more
    return np.asarray(best, dtype=np.int64)


@compiled(int64(longs_type, int64))
def _draw(state: Ints, below: int) -> int:
    """A random number 0 <= k < below."""
    state[0] = state[0] * MULTIPLIER + INCREMENT
    number: int = ((state[0] >> 33) & 0x3FFFFFFF) % below
    return number


@compiled(float64(ints_type, ints_type, floats_type, floats_type, floats_type, int64, float64))
def _worse(first: Codes, rows: Codes, data: Floats, price: Floats, r: Floats, p: int, change: float) -> float:
    """By how much the prices of all rows rise when an amount changes."""
    total = 0.0
    for k in range(first[p], first[p + 1]):
        e = rows[k]
        total += price[e] * (abs(r[e] + data[k] * change) - abs(r[e]))
    return total


@compiled(int64(ints_type, ints_type, floats_type, floats_type, int64, float64))
def _apply(first: Codes, rows: Codes, data: Floats, r: Floats, p: int, change: float) -> int:
    for k in range(first[p], first[p + 1]):
        r[rows[k]] += data[k] * change
    return p


_ANNEAL = int64(
    ints_type, ints_type, floats_type, ints_type, ints_type, floats_type, floats_type, floats_type,
    floats_type, signs_type, signs_type, floats_type, longs_type, float64, float64, int64,
)  # fmt: skip


@compiled(_ANNEAL)
def _anneal(
    first: Codes,
    rows: Codes,
    data: Floats,
    row_first: Codes,
    row_columns: Codes,
    step: Floats,
    own: Floats,
    price: Floats,
    r: Floats,
    now: Signs,
    best: Signs,
    cost: Floats,
    state: Ints,
    hot: float,
    cold: float,
    steps: int,
) -> int:
    """Run a number of steps; cost is [now, best]. Returns the number of accepted steps."""
    taken = 0
    cooling = (cold / hot) ** (1.0 / steps)
    heat = hot
    for _ in range(steps):
        heat *= cooling
        p, q = _draw(state, step.size), -1
        if first[p + 1] == first[p]:
            continue
        up = now[p] == 1
        change = -step[p] if up else step[p]
        worse = _worse(first, rows, data, price, r, p, change) + (-own[p] if up else own[p])
        other = 0.0
        if _draw(state, 1000) < 1000 * PAIRS:
            e = rows[first[p] + _draw(state, first[p + 1] - first[p])]
            q = row_columns[row_first[e] + _draw(state, row_first[e + 1] - row_first[e])]
            if q == p:
                q = -1
        _apply(first, rows, data, r, p, change)
        if q >= 0:
            up = now[q] == 1
            other = -step[q] if up else step[q]
            worse += _worse(first, rows, data, price, r, q, other) + (-own[q] if up else own[q])
        if worse <= 0.0 or _draw(state, 1 << 30) < np.exp(-worse / heat) * (1 << 30):
            taken += 1
            now[p] = 1 - now[p]
            if q >= 0:
                _apply(first, rows, data, r, q, other)
                now[q] = 1 - now[q]
            cost[0] += worse
            if cost[0] < cost[1] - 1e-9 * abs(cost[1]):
                cost[1] = cost[0]
                best[:] = now
        else:
            _apply(first, rows, data, r, p, -change)
    return taken
