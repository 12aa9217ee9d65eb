"""A lower bound of the distance of controlled tabular adjustment, for all senses, at any size.

Cell i moves by |d_i| = l_i + x_i, l_i the least that it must move (0 where it is not sensitive), x_i >= 0.
In an equation  sum_i m_i d_i = 0  no cell can move more than all others together balance. So where one cell p must:

    sum_(i != p) |m_i| x_i - |m_p| x_p  >=  |m_p| l_p - sum_(i != p) |m_i| l_i  >  0,

and  sum_i w_i l_i  plus the least  sum_i w_i x_i  over these rows is a lower bound (w_i: the price of the side on which
the cell must be, else of the cheaper one). The relaxation of the senses does
not contain it: there a sensitive cell may stand still at the price of its level.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array

from tablecloak.methods.adjustment.model import AdjustmentModel
from tablecloak.solvers import MipOptions, Outcome, solve_mip


def distance_bound(adjustment: AdjustmentModel, seconds: float = math.inf) -> float:
    """A lower bound of the weighted distance for all senses, from cells that others must balance."""
    problem, ranges = adjustment.problem, adjustment.ranges
    either = np.minimum(ranges.up_low, ranges.down_low)
    least = np.where(
        ranges.both, either, np.where(ranges.rises, ranges.up_low, np.where(ranges.falls, ranges.down_low, 0))
    )
    highest = np.maximum.reduce([ranges.high, -ranges.low, ranges.up_high, ranges.down_high, least])
    prices, unit = problem.applied_prices, problem.table.unit
    one_sided = np.where(ranges.rises, prices.up, prices.down)
    weights = np.where(ranges.rises ^ ranges.falls, one_sided, prices.least)
    base = float(weights @ least) * unit
    matrix = csr_array(abs(adjustment.columns))
    of = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    amount = matrix.data * least[matrix.indices]
    order = np.lexsort((-amount, of))  # the first entry of each equation is that of its largest cell
    heads = order[np.searchsorted(of[order], np.arange(matrix.shape[0]))] if amount.size else order
    missing = np.zeros(matrix.shape[0])
    missing[of[heads]] = 2 * amount[heads]
    missing -= matrix @ least
    rows = np.flatnonzero(missing > 1e-9 * adjustment.scale)
    if rows.size == 0:
        return base
    signed = matrix.copy()
    signed.data[heads] *= -1.0
    part = csr_array(signed[rows])
    cells = np.unique(part.indices)
    scale = max(float(missing[rows].max()), 1.0)
    solution = solve_mip(
        part[:, cells],
        (np.zeros(cells.size), (highest - least)[cells] / scale),
        (missing[rows] / scale, np.full(rows.size, np.inf)),
        weights[cells],
        np.zeros(cells.size, dtype=bool),
        MipOptions(seconds=seconds, highs=adjustment.settings.program.highs),
    )
    if solution.outcome is not Outcome.OPTIMAL:
        return base
    return base + solution.objective * scale * unit * (1 - 1e-9)
