"""Compiled kernels of `attacker.null_space`: independent equations, and a simplex method on a dense tableau.

Importing this module imports numba, so nothing imports it at the top of a file. Compiled code checks no index.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, float64, int64, types

from tablecloak.arrays import Floats, Ints
from tablecloak.solvers.kernels.compiling import compiled, floats_type, longs_type

VANISHED = 1e-10
"""Coefficients below this after an elimination step have cancelled."""
STEP = 1e-11
"""Steps shorter than this are degenerate."""
SLOPE = 1e-9
"""Reduced costs below this are zero."""
PATIENCE = 60
"""Number of steps without progress after which Bland's rule chooses the entering cell."""
MET, FARTHEST, OWN_BOUND, ENDLESS, LOST = 0, 1, 2, 3, 4
table_type = float64[:, ::1]


@compiled(types.UniTuple(longs_type, 2)(table_type))
def independent(work: Floats) -> tuple[Ints, Ints]:
    """Rows and columns of a non-singular part of full rank, by sparse elimination in place."""
    rows, columns = work.shape
    in_row, in_column = np.zeros(rows, np.int64), np.zeros(columns, np.int64)
    for i in range(rows):
        for j in range(columns):
            if work[i, j] != 0.0:
                in_row[i] += 1
                in_column[j] += 1
    active = np.ones(rows, np.bool_)
    chosen_rows, chosen_columns = np.empty(rows, np.int64), np.empty(rows, np.int64)
    entries = np.empty(columns, np.int64)
    rank = 0
    while True:
        row = -1
        for i in range(rows):
            if active[i] and in_row[i] > 0 and (row < 0 or in_row[i] < in_row[row]):
                row = i
        if row < 0:
            return chosen_rows[:rank].copy(), chosen_columns[:rank].copy()
        count, largest = 0, 0.0
        for j in range(columns):
            if work[row, j] != 0.0:
                entries[count] = j
                count += 1
                largest = max(largest, abs(work[row, j]))
        column = -1
        for e in range(count):
            j = entries[e]
            if abs(work[row, j]) >= 0.1 * largest and (column < 0 or in_column[j] < in_column[column]):
                column = j
        chosen_rows[rank], chosen_columns[rank] = row, column
        rank += 1
        active[row] = False
        for e in range(count):
            in_column[entries[e]] -= 1
        for i in range(rows):
            if active[i] and work[i, column] != 0.0:
                factor = work[i, column] / work[row, column]
                for e in range(count):
                    j = entries[e]
                    before = work[i, j]
                    after = before - factor * work[row, j]
                    if j == column or abs(after) < VANISHED:
                        after = 0.0
                    if before == 0.0 and after != 0.0:
                        in_row[i] += 1
                        in_column[j] += 1
                    elif before != 0.0 and after == 0.0:
                        in_row[i] -= 1
                        in_column[j] -= 1
                    work[i, j] = after


@compiled(table_type(table_type, longs_type, longs_type, longs_type))
def substituted(work: Floats, rows: Ints, columns: Ints, loose: Ints) -> Floats:
    """The table of  d_columns = table @ d_loose  from a matrix that `independent` has eliminated."""
    rank, count = rows.size, loose.size
    table = np.empty((rank, count))
    entries = np.empty(count, np.int64)
    for t in range(rank):
        for j in range(count):
            table[t, j] = -work[rows[t], loose[j]]
    for t in range(rank - 1, -1, -1):
        pivot, used = work[rows[t], columns[t]], 0
        for j in range(count):
            if abs(table[t, j]) < VANISHED:
                table[t, j] = 0.0
            else:
                table[t, j] /= pivot
                entries[used] = j
                used += 1
        for s in range(t):
            factor = work[rows[s], columns[t]]
            if factor != 0.0:
                for e in range(used):
                    table[s, entries[e]] -= factor * table[t, entries[e]]
    return table


@compiled(types.void(table_type, longs_type, longs_type, longs_type, int64, int64))
def exchange(table: Floats, basic: Ints, loose: Ints, place: Ints, row: int, column: int) -> None:
    """The basic cell of a row and the loose one of a column change roles."""
    rows, columns = table.shape
    inverse = 1.0 / table[row, column]
    for j in range(columns):
        table[row, j] *= -inverse
    table[row, column] = inverse
    for i in range(rows):
        factor = table[i, column]
        if i != row and factor != 0.0:
            table[i, column] = 0.0
            for j in range(columns):
                table[i, j] += factor * table[row, j]
    leaving, entering = basic[row], loose[column]
    basic[row], loose[column] = entering, leaving
    place[entering], place[leaving] = row, -column - 1


@compiled(
    types.Tuple((int64, int64))(
        table_type, longs_type, longs_type, longs_type, floats_type, floats_type, floats_type, int64, boolean, float64
    )
)  # fmt: skip
def farthest(
    table: Floats,
    basic: Ints,
    loose: Ints,
    place: Ints,
    low: Floats,
    high: Floats,
    value: Floats,
    cell: int,
    upward: bool,
    enough: float,
) -> tuple[int, int]:
    """Move one cell as far as bounds allow, or until it has moved `enough`. Gives how it ended, and the pivots.

    basic = table @ loose for all deviations; `value` is one within the bounds and changes on the way.
    MET: moved enough. FARTHEST: no further; the row of the cell is the proof. OWN_BOUND: its own bound is the proof.
    """
    rows, columns = table.shape
    sign = 1.0 if upward else -1.0
    idle = pivots = 0
    for _ in range(200 + 40 * (rows + columns)):
        if sign * value[cell] >= enough:
            return MET, pivots
        own = place[cell]
        entering, direction, best = -1, 0.0, 0.0
        if own < 0:
            entering, direction = -own - 1, sign
            if (high[cell] - value[cell] if upward else value[cell] - low[cell]) <= STEP:
                return OWN_BOUND, pivots
        else:
            for j in range(columns):
                slope = sign * table[own, j]
                mover = loose[j]
                if slope > SLOPE:
                    room = high[mover] - value[mover]
                elif slope < -SLOPE:
                    room = value[mover] - low[mover]
                else:
                    continue
                if room <= STEP:
                    continue
                if idle > PATIENCE:
                    if entering < 0 or mover < loose[entering]:
                        entering, direction = j, (1.0 if slope > 0 else -1.0)
                    continue
                promise = abs(slope) * min(room, 1e3)
                if promise > best:
                    entering, direction, best = j, (1.0 if slope > 0 else -1.0), promise
            if entering < 0:
                return FARTHEST, pivots
        mover = loose[entering]
        step = high[mover] - value[mover] if direction > 0 else value[mover] - low[mover]
        if own < 0:
            step = min(step, enough - sign * value[cell])
        leaving, strength = -1, 0.0
        for i in range(rows):
            rate = direction * table[i, entering]
            if abs(rate) <= SLOPE:
                continue
            follower = basic[i]
            if follower == cell:
                limit = max(enough - sign * value[cell], 0.0) / abs(rate)
                bound = (high[cell] - value[cell] if upward else value[cell] - low[cell]) / abs(rate)
                limit = min(limit, max(bound, 0.0))
            elif rate > 0:
                limit = max(high[follower] - value[follower], 0.0) / rate
            else:
                limit = max(value[follower] - low[follower], 0.0) / -rate
            if limit < step - STEP or (limit <= step + STEP and abs(rate) > strength and leaving >= 0):
                step, leaving, strength = min(step, limit), i, abs(rate)
        if step == np.inf:
            return ENDLESS, pivots
        value[mover] += direction * step
        for i in range(rows):
            if table[i, entering] != 0.0:
                value[basic[i]] += direction * table[i, entering] * step
        idle = 0 if step > STEP else idle + 1
        if leaving >= 0 and basic[leaving] == cell:
            return (MET if sign * value[cell] >= enough - STEP else OWN_BOUND), pivots
        if leaving >= 0:
            follower = basic[leaving]
            rising = direction * table[leaving, entering] > 0
            value[follower] = high[follower] if rising else low[follower]
            exchange(table, basic, loose, place, leaving, entering)
            pivots += 1
        else:
            value[mover] = value[mover] if own < 0 else (high[mover] if direction > 0 else low[mover])
    return LOST, pivots
