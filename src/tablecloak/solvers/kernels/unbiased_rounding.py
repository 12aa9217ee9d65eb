"""Compiled unbiased rounding on a network: residues of arcs go to 0 or to the base, and every node stays balanced.

Each arc has a residue 0 <= x <= base, whole numbers; those strictly between are *open*. A cycle of open arcs may be
pushed up by `up` or down by `down`, the largest steps that keep all its residues within 0..base. It goes up with
probability down / (up + down), so that the expectation of every residue stays what it is, and at least one arc closes.

Cycles are chosen at random, so that every balanced rounding v can come out: v - x is a sum of cycles along which all
residues move towards v; pushed one after the other, they lead there. The walk starts at the same node until that has
no open arc left, and it can close any cycle that it can reach.

Importing this module imports numba, so nothing imports it at the top of a file.

Reference: Cox (1987), A constructive procedure for unbiased controlled rounding, JASA 82.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, types, void
from numpy.typing import ArrayLike

from tablecloak.arrays import Codes, Floats, Ints
from tablecloak.solvers.kernels.compiling import compiled, floats_type, ints_type, longs_type

NONE = -1
MULTIPLIER, INCREMENT = 6364136223846793005, 1442695040888963407
"""Knuth's generator MMIX, for the choice of cycles only: whichever are chosen, expectations stay exact."""


class Rounded(NamedTuple):
    """The residues in the end, and how many cycles were pushed."""

    residue: Ints
    pushes: int


def round_residues(
    nodes: int, tail: ArrayLike, head: ArrayLike, residue: ArrayLike, base: int, draws: ArrayLike, seed: int
) -> Rounded:
    """Residues (0 <= x < base) of the arcs tail -> head, rounded to 0 or base.

    `draws` in [0, 1) decide whether cycles go up or down, one each, and one for each open arc is always enough; `seed`
    decides which cycles. At each node, what enters minus what leaves must be a multiple of the base; else a
    `ValueError`.
    """
    start, end = np.array(tail, dtype=np.int32), np.array(head, dtype=np.int32)
    rest, random = np.array(residue, dtype=np.int64), np.array(draws, dtype=np.float64)
    if rest.ndim != 1 or random.ndim != 1 or start.shape != rest.shape or end.shape != rest.shape:
        raise ValueError("tail, head and residue need one entry an arc each")
    if ((start < 0) | (start >= nodes) | (end < 0) | (end >= nodes)).any():
        raise ValueError("arcs must lead from node to node")
    if not 1 <= base < 2**52 or ((rest < 0) | (rest >= base)).any():
        raise ValueError("residues must be at least 0 and below the base")
    if random.size < np.count_nonzero(rest):
        raise ValueError("too few random numbers: one for each arc that is open")
    balanced, pushes = _round(nodes, start, end, rest, base, random, seed % 2**62)
    if not balanced:
        raise ValueError("the residues do not balance: at some node their sum is no multiple of the base")
    return Rounded(rest, int(pushes))


# An open arc is two entries: 2 * arc in the list of its tail, 2 * arc + 1 in the list of its head.


@compiled(types.UniTuple(ints_type, 4)(int64, ints_type, ints_type, longs_type))
def _lists(nodes: int, tail: Codes, head: Codes, residue: Ints) -> tuple[Codes, Codes, Codes, Codes]:
    """The open entries of each node: where its list starts, how long it is, the lists, and each entry's place there."""
    count, first = np.zeros(nodes, np.int32), np.zeros(nodes + 1, np.int32)
    for arc in range(tail.size):
        if residue[arc] > 0 and tail[arc] != head[arc]:
            first[tail[arc] + 1] += 1
            first[head[arc] + 1] += 1
    for node in range(nodes):
        first[node + 1] += first[node]
    entries, slot = np.empty(first[nodes], np.int32), np.empty(2 * tail.size, np.int32)
    for arc in range(tail.size):
        if residue[arc] > 0 and tail[arc] != head[arc]:
            for entry in (2 * arc, 2 * arc + 1):
                node = tail[arc] if entry == 2 * arc else head[arc]
                slot[entry] = first[node] + count[node]
                entries[slot[entry]] = entry
                count[node] += 1
    return first, count, entries, slot


@compiled(void(ints_type, ints_type, ints_type, ints_type, int64, int64))
def _close(first: Codes, count: Codes, entries: Codes, slot: Codes, node: int, entry: int) -> None:
    """Take an entry out of the list of a node: the last one takes its place."""
    count[node] -= 1
    last = entries[first[node] + count[node]]
    entries[slot[entry]], slot[last] = last, slot[entry]


@compiled(int64(longs_type, ints_type, int64, int64, int64, float64))
def _step(residue: Ints, way: Codes, start: int, stop: int, base: int, draw: float) -> int:
    """How far to push the cycle way[start..stop]: up, or down as a negative number."""
    up, down = base, base
    for place in range(start, stop + 1):
        here = residue[way[place] >> 1]
        if way[place] & 1 == 0:
            up, down = min(up, base - here), min(down, here)
        else:
            up, down = min(up, here), min(down, base - here)
    return up if draw * (up + down) < down else -down


@compiled(types.Tuple((boolean, int64))(int64, ints_type, ints_type, longs_type, int64, floats_type, int64))
def _round(
    nodes: int, tail: Codes, head: Codes, residue: Ints, base: int, draws: Floats, state: int
) -> tuple[bool, int]:
    """Round in place; gives whether all went well and how many cycles were pushed.

    Walks at random along open arcs, never straight back, until a node comes again: that closes a cycle. A node at which
    the walk cannot go on is one that was not balanced.
    """
    pushes = 0
    first, count, entries, slot = _lists(nodes, tail, head, residue)
    for arc in range(tail.size):
        if residue[arc] > 0 and tail[arc] == head[arc]:  # a cycle by itself
            residue[arc] = base if draws[pushes] * base < residue[arc] else 0
            pushes += 1
    walk, way = np.empty(nodes + 1, np.int32), np.empty(nodes + 1, np.int32)
    place = np.full(nodes, NONE, np.int32)  # of a node on the walk
    for root in range(nodes):
        while count[root] > 0:
            walk[0], place[root], length, start = root, 0, 0, NONE
            while start == NONE:
                node = walk[length]
                back = slot[way[length - 1] ^ 1] if length > 0 else NONE
                choices = count[node] - (1 if length > 0 else 0)
                if choices == 0:
                    return False, pushes
                state = state * MULTIPLIER + INCREMENT
                pick = first[node] + ((state >> 33) & 0x7FFFFFFF) % choices
                entry = entries[pick + 1 if back != NONE and pick >= back else pick]
                way[length] = entry
                target = head[entry >> 1] if entry & 1 == 0 else tail[entry >> 1]
                start = place[target]
                if start == NONE:
                    length += 1
                    walk[length], place[target] = target, length
            step = _step(residue, way, start, length, base, draws[pushes])
            pushes += 1
            for at in range(start, length + 1):
                arc = way[at] >> 1
                residue[arc] += step if way[at] & 1 == 0 else -step
                if residue[arc] == 0 or residue[arc] == base:
                    _close(first, count, entries, slot, tail[arc], 2 * arc)
                    _close(first, count, entries, slot, head[arc], 2 * arc + 1)
            for at in range(length + 1):
                place[walk[at]] = NONE
    return True, pushes
