"""The ends of arcs, in the order in which networks list them, and the cost of arcs that are open.

An arc has two ends: 2 * arc at its tail, 2 * arc + 1 at its head. Self loops have none.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Codes, Floats


def arc_ends(tail: Codes, head: Codes) -> Codes:
    """The ends of all arcs but self loops: those at tails first, by arc."""
    linked = np.flatnonzero(tail != head).astype(np.int32)
    return np.concatenate([2 * linked, 2 * linked + 1])


def least_step(price: Floats) -> float:
    """The cost of an open arc, far below all prices: of equally cheap paths one with few arcs is taken."""
    return 1e-7 * float(np.median(price[price > 0])) if (price > 0).any() else 1e-7
