"""Adjacency lists of a network whose arcs are cells: the arrays that kernels of path searches share.

An arc has two *entries*, one in the list of each of its ends: 2 * arc at its tail, 2 * arc + 1 at its head. Self loops
have none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tablecloak.arrays import Bools, Codes, Floats, Ints


class Adjacency(NamedTuple):
    """The entries of all nodes, one node after the other."""

    first: Codes
    """The entries of node v are first[v] to first[v + 1]."""
    target: Codes
    """The other end, by entry."""
    arc: Codes
    """By entry."""
    forward: Bools
    """Whether the entry leaves the tail of its arc, by entry."""
    entries: Codes
    """By arc: at 2 * arc the place of its entry at the tail, at 2 * arc + 1 of that at the head; -1 for self loops."""


def arc_ends(tail: Codes, head: Codes) -> Ints:
    """The entries of all arcs but self loops: those at tails first, by arc."""
    linked = np.flatnonzero(tail != head)
    return np.concatenate([2 * linked, 2 * linked + 1])


def adjacency(nodes: int, tail: Codes, head: Codes, ends: Ints) -> Adjacency:
    """The lists of all nodes; within each the entries keep their order in `ends`."""
    arc, forward = ends >> 1, ends % 2 == 0
    node = np.where(forward, tail[arc], head[arc])
    short = node.astype(np.uint16) if nodes < 1 << 16 else node  # sorts faster
    order = np.argsort(short, kind="stable")
    arc, forward, node = arc[order], forward[order], node[order]
    entries = np.full(2 * tail.size, -1, dtype=np.int32)
    entries[ends[order]] = np.arange(arc.size)
    return Adjacency(
        first=np.searchsorted(node, np.arange(nodes + 1)).astype(np.int32),
        target=np.where(forward, head[arc], tail[arc]).astype(np.int32),
        arc=arc.astype(np.int32),
        forward=forward,
        entries=entries,
    )


def least_step(price: Floats) -> float:
    """The cost of an open arc, far below all prices: of equally cheap paths one with few arcs is taken."""
    return 1e-7 * float(np.median(price[price > 0])) if (price > 0).any() else 1e-7
