"""Controlled tabular adjustment as a linear program over senses: its arrays.

Cell i is moved by d_i units, M d = 0, at the cost w_i+ d_i above its value and w_i- |d_i| below it (by default its
weight on both sides). A sensitive cell p rises by u_p..U_p or falls by l_p..L_p. Over both, the largest convex function
below the cost is that outside -l..u and the chord between: so

    d = -l + m + r - f,    0 <= m <= l + u,   0 <= r <= U - u,   0 <= f <= L - l,
    cost  w- l + (w+ u - w- l) / (l + u) m + w+ r + w- f

is the linear relaxation of the model with binary senses, without a row more than the table has (m = (l + u) y). Given
senses are bounds (down: m = r = 0; up: m = l + u, f = 0). With y binary the rows r <= (U - u) y, f <= (L - l)(1 - y)
exclude that a cell rises and falls at once. Cells that are not sensitive have l = u = 0 and no m.

References: Dandekar & Cox (2002), Synthetic tabular data; Castro (2006), Minimum-distance controlled perturbation
methods for large-scale tabular data protection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, hstack

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import working_columns
from tablecloak.methods.adjustment.reach import Range, Ranges
from tablecloak.methods.adjustment.settings import AdjustmentSettings
from tablecloak.model import Problem
from tablecloak.solvers import GAP_CLOSED, MOVE_FEASIBILITY, independent


@dataclass(frozen=True, eq=False)
class Move:
    """The moves of all cells (units), the cost, and the duals of the equations in the program's scale."""

    moved: Floats
    cost: float
    prices: Floats
    bound: float = -math.inf
    """A lower bound on the cost with the given senses, where one was proven."""


def is_closed(cost: float, bound: float) -> bool:
    """Whether the gap between cost and bound is closed."""
    return cost - bound <= GAP_CLOSED * max(abs(cost), 1e-300)


class AdjustmentModel:
    """The arrays of the linear program of one problem: columns r, f, m, in units of `scale`. Confidential."""

    def __init__(self, problem: Problem, ranges: Ranges, settings: AdjustmentSettings) -> None:
        self.problem, self.ranges, self.settings = problem, ranges, settings
        self.columns = working_columns(problem.table)
        self.basis = independent(self.columns, settings.program.sifting)
        """The equations without redundant ones: the rows of linear programs."""
        choice = ranges.both
        self.choice: Ints = np.flatnonzero(choice)
        self.offset = np.where(
            ranges.falls, -ranges.down_low, np.where(ranges.rises, np.where(choice, 0.0, ranges.up_low), 0.0)
        )
        falls_only, rises_only = ranges.falls & ~ranges.rises, ranges.rises & ~ranges.falls
        rise = np.where(ranges.rises, ranges.up_high - ranges.up_low, ranges.high)
        fall = np.where(ranges.falls, ranges.down_high - ranges.down_low, -ranges.low)
        self.rise, self.fall = np.where(falls_only, 0.0, rise), np.where(rises_only, 0.0, fall)
        self.middle = (ranges.down_low + ranges.up_low)[self.choice]
        self.scale = _length_scale(ranges)
        prices = problem.applied_prices
        largest = max(float(side.max(initial=0.0)) for side in (prices.up, prices.down))
        self.cost_scale = max(largest / settings.program.largest_cost, 1.0)
        self.cost = np.concatenate([prices.up, prices.down, self._chord()]) / self.cost_scale
        self.right = -(self.basis @ self.offset) / self.scale
        self.matrix = csc_array(hstack([self.basis, -self.basis, self.basis[:, self.choice]]))

    def _chord(self) -> Floats:
        """The slope of the cost of each cell with a choice between the least that it falls and rises."""
        ranges, choice, prices = self.ranges, self.choice, self.problem.applied_prices
        rises, falls = ranges.up_low[choice], ranges.down_low[choice]
        up, down = prices.up[choice], prices.down[choice]
        return np.asarray(up * ((rises - falls) / self.middle) + (up - down) * (falls / self.middle))

    @property
    def size(self) -> int:
        """The number of cells."""
        return int(self.offset.size)

    @property
    def highest(self) -> Floats:
        """Upper bounds of the columns, with senses relaxed."""
        return np.concatenate([self.rise, self.fall, self.middle]) / self.scale

    @property
    def movable(self) -> Bools:
        """Cells with more than one value, their senses given."""
        return np.asarray((self.rise > 0) | (self.fall > 0))

    def cost_of_objective(self, objective: float, cells: Ints | slice = slice(None)) -> float:
        """The cost of a move of some cells from the objective of their program."""
        prices, offset = self.problem.applied_prices, self.offset
        sides = np.where(offset > 0, prices.up, prices.down)
        constant = float(sides[cells] @ np.abs(offset[cells]))
        return (objective * self.cost_scale * self.scale + constant) * self.problem.table.unit

    def moved(self, x: Floats) -> Floats:
        """The moves of all cells from the columns of the program."""
        moved = self.offset + self.scale * (x[: self.size] - x[self.size : 2 * self.size])
        moved[self.choice] += self.scale * x[2 * self.size :]
        return moved

    def senses(self, moved: Floats) -> Ints:
        """1 where a cell with a choice rises."""
        return np.asarray(moved[self.choice] > 0, dtype=np.int64)

    def ends(self, senses: Ints) -> Range:
        """low, high of all cells with these senses."""
        up = np.zeros(self.size, dtype=bool)
        up[self.choice[senses == 1]] = True
        return self.ranges.with_senses(up).ends()

    def holds(self, moved: Floats) -> bool:
        """Whether a move is additive and every cell within the range of its sense, up to solver tolerances."""
        low, high = self.ends(self.senses(moved))
        slack = MOVE_FEASIBILITY * np.maximum(np.abs(moved), self.scale)
        size = self.scale + abs(self.columns) @ np.abs(moved)
        additive = np.abs(self.columns @ moved) <= MOVE_FEASIBILITY * size
        return bool(additive.all() and (moved >= low - slack).all() and (moved <= high + slack).all())


def _length_scale(ranges: Ranges) -> float:
    """Units in which lengths are of the order of one: the median of what sensitive cells must move."""
    least = np.concatenate([ranges.up_low[ranges.rises], ranges.down_low[ranges.falls]])
    return max(1.0, float(np.rint(np.median(least)))) if least.size else 1.0
