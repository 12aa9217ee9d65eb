"""Compiled kernels about homogeneous systems M d = 0: unpick, split, merge.

A matrix is given by columns, as scipy does: the entries of column c are `start[c]` to `start[c + 1]`, each with
its row and its coefficient; no entry is zero and none is repeated. All work is linear in the entries (but for the
inverse Ackermann function of Tarjan 1975, or a logarithm) and a few passes over the rows.

Importing this module imports numba and compiles the kernels (seconds, once) or loads them from numba's cache,
so nothing imports it at the top of a file. Compiled code checks no index: callers do.
"""

from __future__ import annotations

import numpy as np
from numba import boolean, float64, int64, types
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

NONE = -1
VANISHED = 1e-12
"""Coefficients that cancel up to this are zero."""


@compiled(bools_type(ints_type, ints_type, int64, longs_type))
def unpick(start: Codes, row: Codes, rows: int, columns: Ints) -> Bools:
    """Which of the columns remain after removing, again and again, those alone in a row.

    Each row keeps the number of its unknowns and the sum of their places: a row with one unknown names it.
    """
    count, sums = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    for place in range(columns.size):
        for entry in range(start[columns[place]], start[columns[place] + 1]):
            count[row[entry]] += 1
            sums[row[entry]] += place
    alive = np.ones(columns.size, np.bool_)
    waiting, height = np.empty(rows, np.int64), 0  # a row comes here once: when it is down to one unknown
    for equation in range(rows):
        if count[equation] == 1:
            waiting[height] = equation
            height += 1
    while height > 0:
        height -= 1
        if count[waiting[height]] == 1:
            gone = sums[waiting[height]]
            alive[gone] = False
            for entry in range(start[columns[gone]], start[columns[gone] + 1]):
                count[row[entry]] -= 1
                sums[row[entry]] -= gone
                if count[row[entry]] == 1:
                    waiting[height] = row[entry]
                    height += 1
    return alive


_matrix = types.Tuple((ints_type, ints_type, floats_type, int64))


@compiled(_matrix(ints_type, ints_type, floats_type, int64, longs_type))
def take(
    start: Codes, row: Codes, data: Floats, rows: int, columns: Ints
) -> tuple[Codes, Codes, Floats, int]:
    """Some columns as a matrix of their own, over the rows that they use, in order; last the number of these."""
    first, number, used = np.zeros(columns.size + 1, np.int32), np.full(rows, NONE, np.int32), 0
    for place in range(columns.size):
        own = start[columns[place]], start[columns[place] + 1]
        first[place + 1] = first[place] + own[1] - own[0]
        for entry in range(own[0], own[1]):
            number[row[entry]] = 0
    for equation in range(rows):
        if number[equation] != NONE:
            number[equation] = used
            used += 1
    where, value = np.empty(first[-1], np.int32), np.empty(first[-1])
    for place in range(columns.size):
        shift = start[columns[place]] - first[place]
        for entry in range(first[place], first[place + 1]):
            where[entry], value[entry] = number[row[entry + shift]], data[entry + shift]
    return first, where, value, used


# --------------------------------------------------------------------------- connected parts and networks


@compiled(types.Tuple((int64, boolean))(ints_type, bools_type, int64))
def _root(parent: Codes, turned: Bools, row: int) -> tuple[int, bool]:
    """The first row of the part that holds a row, and whether their signs differ; ways are halved in passing."""
    contrary = False
    while parent[row] != row:
        above = parent[row]
        turned[row] ^= turned[above]  # a first row is never turned
        parent[row] = parent[above]
        contrary ^= turned[row]
        row = parent[row]
    return row, contrary


@compiled(bools_type(ints_type, ints_type, floats_type, longs_type, ints_type, bools_type))
def _connect(start: Codes, row: Codes, data: Floats, columns: Ints, parent: Codes, turned: Bools) -> Bools:
    """Join the rows that share columns; says of each first row of a part whether the part is no network.

    A network has columns of at most two entries, +1 or -1, and its rows can be negated so that the two differ.
    """
    odd = np.zeros(parent.size, np.bool_)
    for column in columns:
        first, last = start[column], start[column + 1]
        plain = last - first <= 2
        for entry in range(first, last):
            plain &= abs(data[entry]) == 1.0
            root, contrary = _root(parent, turned, row[first])
            other, its = _root(parent, turned, row[entry])
            differ = entry > first and contrary ^ its ^ (data[entry] == data[first])
            if other == root:
                odd[root] |= differ
            else:
                top, below = min(root, other), max(root, other)
                parent[below], turned[below] = top, differ
                odd[top] |= odd[below]
        if not plain:
            odd[_root(parent, turned, row[first])[0]] = True
    return odd


_numbers = types.Tuple((longs_type, bools_type))


@compiled(_numbers(ints_type, ints_type, longs_type, ints_type, bools_type, bools_type))
def _number(
    start: Codes, row: Codes, columns: Ints, parent: Codes, turned: Bools, odd: Bools
) -> tuple[Ints, Bools]:
    """The part of each column, numbered in the order of their first columns, and which parts are networks."""
    part, known = np.empty(columns.size, np.int64), np.full(parent.size, NONE, np.int64)
    network = np.ones(columns.size, np.bool_)
    parts = 0
    for place in range(columns.size):
        first = start[columns[place]]
        alone = first == start[columns[place] + 1]
        root = 0 if alone else _root(parent, turned, row[first])[0]
        if alone or known[root] == NONE:
            part[place] = parts
            if not alone:
                known[root], network[parts] = parts, not odd[root]
            parts += 1
        else:
            part[place] = known[root]
    return part, network[:parts].copy()


_graph = types.Tuple((int64, ints_type, ints_type, signs_type))


@compiled(_graph(ints_type, ints_type, floats_type, longs_type, ints_type, bools_type))
def _orient(
    start: Codes, row: Codes, data: Floats, columns: Ints, parent: Codes, turned: Bools
) -> tuple[int, Codes, Codes, Signs]:
    """Columns of networks as arcs between their rows: the fields of an `Orientation`."""
    place, nodes, grounded = np.full(parent.size, NONE, np.int32), 0, 0
    for column in columns:
        if start[column + 1] - start[column] < 2:
            grounded = 1
        for entry in range(start[column], start[column + 1]):
            place[row[entry]] = 0
    for equation in range(place.size):
        if place[equation] != NONE:
            place[equation] = nodes
            nodes += 1
    sign = np.ones(nodes, np.int8)
    tail, head = np.full(columns.size, nodes, np.int32), np.full(columns.size, nodes, np.int32)
    for arc in range(columns.size):
        for entry in range(start[columns[arc]], start[columns[arc] + 1]):
            node, negated = place[row[entry]], _root(parent, turned, row[entry])[1]
            if negated:
                sign[node] = -1
            if (data[entry] > 0) ^ negated:
                tail[arc] = node
            else:
                head[arc] = node
    return nodes + grounded, tail, head, sign


_parts = types.Tuple((longs_type, bools_type, int64, ints_type, ints_type, signs_type))


@compiled(_parts(ints_type, ints_type, floats_type, int64, longs_type))
def split(
    start: Codes, row: Codes, data: Floats, rows: int, columns: Ints
) -> tuple[Ints, Bools, int, Codes, Codes, Signs]:
    """The connected parts of the columns, and the networks among them as one graph.

    Gives the part of each column, whether each part is a network, and the fields of the `Orientation` (see
    `tablecloak.attacker.structure`) of all columns of networks together; its nodes are their rows, in order.
    """
    parent, turned = np.arange(rows).astype(np.int32), np.zeros(rows, np.bool_)
    odd = _connect(start, row, data, columns, parent, turned)
    part, network = _number(start, row, columns, parent, turned, odd)
    nodes, tail, head, sign = _orient(start, row, data, columns[network[part]], parent, turned)
    return part, network, nodes, tail, head, sign


# ------------------------------------------------------------------------------------------------ merging


@compiled(types.Tuple((int64, float64))(ints_type, floats_type, int64))
def _leader(parent: Codes, ratio: Floats, column: int) -> tuple[int, float]:
    """The first column of the group that holds a column, and d[column] / d[first]; ways are halved in passing."""
    product = 1.0
    while parent[column] != column:
        above = parent[column]
        ratio[column] *= ratio[above]  # 1 for a first column
        parent[column] = parent[above]
        product *= ratio[column]
        column = parent[column]
    return column, product


_ties = types.Tuple((longs_type, floats_type))


@compiled(_ties(ints_type, ints_type, floats_type, int64))
def tie(start: Codes, row: Codes, data: Floats, rows: int) -> tuple[Ints, Floats]:
    """Columns tied by rows with two entries of one size: group and ratio (1 or -1) of each, d = ratio * d[first].

    Groups are numbered in the order of their first columns. A ratio of zero: contradictory ties force it to be 0.
    Entries of different size tie nothing here: whole numbers must stay whole.
    """
    columns = start.size - 1
    count, one, other = np.zeros(rows, np.int32), np.zeros(rows, np.int32), np.zeros(rows, np.int32)
    left, right = np.zeros(rows), np.zeros(rows)
    for column in range(columns):
        for entry in range(start[column], start[column + 1]):
            count[row[entry]] += 1
            one[row[entry]], left[row[entry]] = other[row[entry]], right[row[entry]]
            other[row[entry]], right[row[entry]] = column, data[entry]
    parent, ratio = np.arange(columns).astype(np.int32), np.ones(columns)
    stuck = np.zeros(columns, np.bool_)
    for equation in range(rows):
        if count[equation] != 2:
            continue
        a, of_a = _leader(parent, ratio, one[equation])
        b, of_b = _leader(parent, ratio, other[equation])
        there, here = left[equation] * of_a, right[equation] * of_b  # there * d[a] + here * d[b] = 0
        if abs(there) != abs(here):
            continue
        if a == b:
            stuck[a] |= there != -here
        else:
            first, last = min(a, b), max(a, b)
            parent[last], ratio[last] = first, -there / here if last == b else -here / there
            stuck[first] |= stuck[last]
    group, ratios, groups = np.empty(columns, np.int64), np.empty(columns), 0
    for column in range(columns):
        first, of_first = _leader(parent, ratio, column)
        if first == column:
            group[column], groups = groups, groups + 1
        else:
            group[column] = group[first]
        ratios[column] = 0.0 if stuck[first] else of_first
    return group, ratios


@compiled(_matrix(ints_type, ints_type, floats_type, int64, longs_type, floats_type, int64))
def merge(
    start: Codes, row: Codes, data: Floats, rows: int, group: Ints, ratio: Floats, groups: int
) -> tuple[Codes, Codes, Floats, int]:
    """The matrix over groups of columns, without the rows that vanish: the sums of ratio times column."""
    member, after = np.full(groups, NONE, np.int64), np.empty(group.size, np.int64)  # a chain a group
    for column in range(group.size - 1, -1, -1):
        after[column], member[group[column]] = member[group[column]], column
    total, seen, used = np.zeros(rows), np.full(rows, NONE, np.int64), np.full(rows, NONE, np.int32)
    first, sums, where = np.zeros(groups + 1, np.int32), np.empty(data.size), np.empty(data.size, np.int32)
    size, kept = 0, 0
    for number in range(groups):
        stop, column = size, member[number]
        while column != NONE:
            for entry in range(start[column], start[column + 1]):
                if seen[row[entry]] != number:
                    seen[row[entry]], total[row[entry]] = number, 0.0
                    where[stop] = row[entry]
                    stop += 1
                total[row[entry]] += ratio[column] * data[entry]
            column = after[column]
        for candidate in range(size, stop):
            equation = where[candidate]
            if abs(total[equation]) >= VANISHED:
                if used[equation] == NONE:
                    used[equation] = kept
                    kept += 1
                where[size], sums[size] = used[equation], total[equation]
                size += 1
        first[number + 1] = size
    return first, where[:size].copy(), sums[:size].copy(), kept


@compiled(types.UniTuple(floats_type, 2)(longs_type, floats_type, int64, floats_type, floats_type))
def confine(group: Ints, ratio: Floats, groups: int, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """How far each group may go down and up, so that all its columns stay within low..high."""
    lowest, highest = np.full(groups, -np.inf), np.full(groups, np.inf)
    for column in range(group.size):
        share, own = ratio[column], group[column]
        if share == 0.0:
            lowest[own] = highest[own] = 0.0
        else:
            ends = low[column] / share, high[column] / share
            lowest[own] = max(lowest[own], min(ends[0], ends[1]))
            highest[own] = min(highest[own], max(ends[0], ends[1]))
    return lowest, highest


@compiled(_matrix(ints_type, ints_type, floats_type, longs_type))
def unfold(start: Codes, row: Codes, data: Floats, asked: Ints) -> tuple[Codes, Codes, Floats, int]:
    """The matrix [A, -A, B, -B], B being the columns of A asked about; last the number of its columns."""
    columns = start.size - 1
    total = 2 * (columns + asked.size)
    size = start[-1]
    for column in asked:
        size += start[column + 1] - start[column]
    first, where, value = np.zeros(total + 1, np.int32), np.empty(2 * size, np.int32), np.empty(2 * size)
    place = 0
    for number in range(total):
        copy = number if number < 2 * columns else number - 2 * columns
        width = columns if number < 2 * columns else asked.size
        column = copy % width if number < 2 * columns else asked[copy % width]
        for entry in range(start[column], start[column + 1]):
            where[place] = row[entry]
            value[place] = data[entry] if copy < width else -data[entry]
            place += 1
        first[number + 1] = place
    return first, where, value, total


@compiled(boolean(ints_type, ints_type, longs_type, int64, longs_type))
def balanced(start: Codes, row: Codes, data: Ints, rows: int, amount: Ints) -> bool:
    """Whether whole amounts of the columns keep every row: their sums are zero. No sum may leave int64."""
    total = np.zeros(rows, np.int64)
    for column in range(amount.size):
        if amount[column] != 0:
            for entry in range(start[column], start[column + 1]):
                total[row[entry]] += data[entry] * amount[column]
    return not total.any()


@compiled(longs_type(ints_type, ints_type, longs_type, longs_type))
def combined(start: Codes, row: Codes, data: Ints, factor: Ints) -> Ints:
    """The sum of factor times row, by column. No sum may leave int64."""
    total = np.zeros(start.size - 1, np.int64)
    for column in range(start.size - 1):
        for entry in range(start[column], start[column + 1]):
            total[column] += data[entry] * factor[row[entry]]
    return total
