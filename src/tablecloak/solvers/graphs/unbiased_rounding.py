"""Unbiased rounding on a network: residues of arcs go to 0 or to the base, and every node stays balanced.

Reference: Cox (1987), A constructive procedure for unbiased controlled rounding, JASA 82.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tablecloak.arrays import Ints
from tablecloak.solvers import kernels


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
    pushes = kernels.round_cycles(nodes, start, end, rest, base, random, seed % 2**62)
    if pushes < 0:
        raise ValueError("the residues do not balance: at some node their sum is no multiple of the base")
    return Rounded(rest, pushes)
