"""All cells of a table from its leaves: whole data units by rounding leaves.

Whole moves of leaves make a whole additive move of the table, whatever they are (`rounding.totals`). So a move in
fractions is brought to whole units without a program: leaves rounded within their ranges, totals added up. What remains
to be seen is whether totals stay within theirs.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats
from tablecloak.methods.rounding import LARGEST_WHOLE, Ladder
from tablecloak.model import Table


def ladder_of(table: Table) -> tuple[Bools, Ladder] | None:
    """The leaves of a table and how all cells follow from them; None where they do not."""
    leaf, matrix = np.asarray(table.is_leaf & ~table.is_virtual), table.equations
    if (matrix.data != np.rint(matrix.data)).any():
        return None
    data = matrix.data.astype(np.int64)
    ladder = Ladder.of(csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape), leaf)
    return None if ladder is None else (leaf, ladder)


def whole_by_leaves(table: Table, moved: Floats, low: Floats, high: Floats) -> Floats | None:
    """A move in whole units next to this one within low..high, from its leaves; None where that leaves a range."""
    found = ladder_of(table)
    if found is None:
        return None
    leaf, ladder = found
    whole = np.where(leaf, np.rint(np.clip(moved, low, high)), 0.0)
    if (np.abs(whole) >= LARGEST_WHOLE / whole.size).any():
        return None
    added = ladder.climbed(whole.astype(np.int64)).astype(np.float64)
    return added if ((added >= low) & (added <= high)).all() else None
