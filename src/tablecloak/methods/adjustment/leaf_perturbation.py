"""Perturbations in whole data units without a program: leaves move by whole units, totals are added up.

Where all cells of a table follow from its leaves (`rounding.totals`), whole moves of leaves make a whole additive move
of the table, whatever they are. What remains to be seen is whether totals stay within their ranges. In other systems of
equations, and where cells that must keep their values are in the way, free cells are the leaves
(`rounding.integral_basis`).

Each sensitive leaf moves by just its level, in the sense in which the totals above it are moved least,
leaves by decreasing level. A sensitive total that is left between its levels, or a total beyond its range, is corrected
by leaves below it (`leaf_correction`).
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.methods.adjustment.leaf_correction import LeafShifts
from tablecloak.methods.adjustment.leaf_rounding import ladder_of
from tablecloak.methods.adjustment.reach import Ranges
from tablecloak.methods.rounding import free_cells
from tablecloak.model import Problem


def leaf_move(problem: Problem, ranges: Ranges) -> Floats | None:
    """A move in whole units with every sensitive cell at least a level away; None if none was found this way."""
    every = np.ones(ranges.low.size, dtype=bool)
    falls, rises = ranges.with_senses(~every).ends(), ranges.with_senses(every).ends()
    sensitive = ranges.rises | ranges.falls
    found = ladder_of(problem.table)
    if found is not None:
        leaf, ladder = found
        move = LeafShifts(np.flatnonzero(leaf), ladder.matrix(leaf), falls, rises, sensitive)
        move.start()
        if move.corrected():
            return move.cells.astype(np.float64)
    free = free_cells(problem)
    if free is None:
        return None
    move = LeafShifts(free.cells, free.matrix, falls, rises, sensitive)
    move.start()
    return move.cells.astype(np.float64) if move.corrected() else None
