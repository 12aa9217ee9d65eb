"""Integer data units from a solution in fractions: shown values with the decimals of the data that add up exactly.

Given any d with M d = 0, nearly, and low <= d <= high (integers): k = d rounded to integers leaves r = M k.
Correct it by the cheapest c:  M c = -r,  low <= k + c <= high,  at the marginal prices of a first step up and down.
On networks the linear program has an integral optimum (r and the bounds are integral); elsewhere c is required to be
integral, with a step or a few on either side. Repeated, as the size of r shrinks each time, it also repairs what the
tolerance of a solver leaves when units are small against values. Sums are checked in integers. Where integer units are
infeasible (some non-network tables), the same is done in tenths of them, and so on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from tablecloak.arrays import Floats, Ints
from tablecloak.attacker import is_network, working_columns, working_equations
from tablecloak.methods.adjustment.leaf_perturbation import round_leaves, round_without_program
from tablecloak.methods.adjustment.reach import Range
from tablecloak.methods.adjustment.settings import IntegerUnitsSettings
from tablecloak.methods.rounding import integer_matrix, is_noise
from tablecloak.model import LARGEST_UNITS, Problem
from tablecloak.progress import Deadline
from tablecloak.solvers import UNIT_NOISE, MipOptions, solve_mip


def is_additive(problem: Problem, moved: Floats) -> bool:
    """Whether moves (in units) keep all sums, up to floating-point noise."""
    equations = working_equations(problem.table)
    size = abs(equations) @ (np.abs(moved) + np.abs(problem.table.values) / problem.table.unit)
    return is_noise(equations @ moved, size)


@dataclass(frozen=True, eq=False)
class IntegerUnits:
    """Moves of one problem in integer units, near moves in fractions and within ranges `ends`. Confidential."""

    problem: Problem
    settings: IntegerUnitsSettings = IntegerUnitsSettings()
    squares: bool = False
    """Whether prices are those of w d^2 instead of w |d|."""

    def fewest_digits(self, moved: Floats, ends: Range, seconds: float = math.inf) -> tuple[Floats, bool]:
        """A move in integer units (True), else in tenths, hundredths or thousandths, else as it is, clipped to `ends`.

        Where programs find no integer units near by, leaves are rounded and totals added up (`leaf_perturbation`). What
        was clipped need not be additive any more: see `is_additive`. `seconds` is the limit for integer units, and
        again for all other attempts together.
        """
        most = self.settings.max_digits
        for digits in range(most + 1):
            if digits == 1:
                added = round_leaves(self.problem.table, moved, *ends)
                if added is not None:
                    return added, True
            fine, (low, high) = 10.0**digits, ends
            found = self.near(moved * fine, (low * fine, high * fine), seconds / (most if digits else 1))
            if found is not None:
                return found / fine, digits == 0
        return np.clip(moved, *ends), False

    def fewest_digits_until(self, moved: Floats, ends: Range, deadline: Deadline) -> tuple[Floats, bool]:
        """`fewest_digits` within half of the time left, or a moment if it is up: fractions betray which cells moved.

        After that, after an interrupt, and where a program with a time limit finds none, leaves or free cells are
        rounded and totals added up where possible; only then more digits are tried.
        """
        least, found = self.settings.least_seconds, list[tuple[Floats, bool]]()
        added = (
            round_without_program(self.problem, moved, *ends, self.settings.leaf)
            if deadline.passed()
            else None
        )
        with deadline.stoppable():
            if deadline.moment is not None and not deadline.passed():
                added = self.near(moved, ends, max(deadline.left / 2, least))
                added = (
                    round_without_program(self.problem, moved, *ends, self.settings.leaf)
                    if added is None
                    else added
                )
            if added is None and not deadline.interrupted:
                found.append(self.fewest_digits(moved, ends, max(deadline.left / 2, least)))
        if added is None and deadline.interrupted and not found:
            added = round_without_program(self.problem, moved, *ends, self.settings.leaf)
        if added is not None:
            return added, True
        return found[0] if found else (np.clip(moved, *ends), False)

    def near(self, moved: Floats, ends: Range, seconds: float = math.inf) -> Floats | None:
        """A move in integer units, exactly additive and within `ends`; None if none was found near the given one."""
        equations = integer_matrix(working_equations(self.problem.table))
        if equations is None:
            return None
        deadline, largest, (low, high) = Deadline.after(seconds), float(LARGEST_UNITS), ends
        units = np.clip(np.rint(np.clip(moved, -largest, largest)), low, high)
        fractions = np.abs(moved - units) > UNIT_NOISE
        among = is_network(self.problem) and bool(fractions.any())
        for _ in range(self.settings.rounds):
            missing = -_sums(equations, units)
            if not missing.any():
                return units
            correction = None
            if among:  # cells of a network that are integral already need not change
                few = np.where(fractions, low, units), np.where(fractions, high, units)
                correction = self._correction(units, missing, few, deadline)
            if correction is None:
                correction = self._correction(units, missing, ends, deadline)
            if correction is None:
                return None
            units = units + correction
        return None if _sums(equations, units).any() else units

    def _correction(self, units: Floats, missing: Ints, ends: Range, deadline: Deadline) -> Floats | None:
        """The cheapest change within `ends` that adds `missing` to the equations; None if none was found."""
        size, network = float(np.abs(missing).max()), is_network(self.problem)
        columns = working_columns(self.problem.table)
        for steps in self.settings.steps:
            most = max(steps, 4 * size)
            up, down = np.minimum(ends[1] - units, most), np.minimum(units - ends[0], most)
            free: Ints = np.flatnonzero((up > 0) | (down > 0))
            part = columns[:, free]
            scale = size if network and size > 1e6 else 1.0
            solution = solve_mip(
                hstack([part, -part]),
                (np.zeros(2 * free.size), np.concatenate([up[free], down[free]]) / scale),
                (missing / scale, missing / scale),
                self._prices(free, units[free]),
                np.full(2 * free.size, not network),
                MipOptions(
                    seconds=deadline.left,
                    nodes=self.settings.max_nodes,
                    presolve=not network,  # sums are checked in integers, whatever a solver claims
                    root_share=None,
                    highs=self.settings.highs,
                ),
            )
            if solution.values.size == 2 * free.size:
                change = np.zeros(units.size)
                steps_up, steps_down = np.split(np.rint(solution.values * scale), 2)
                change[free] = np.clip(steps_up - steps_down, -down[free], up[free])
                return change
            if network or deadline.passed():
                return None  # a wider box would not help: rounding between neighbours is always possible
        return None

    def _prices(self, free: Ints, k: Floats) -> Floats:
        """The marginal prices of a first step up and down from k units."""
        prices = self.problem.applied_prices
        least = 1e-9 * float(prices.mean.max(initial=1.0)) + 1e-12
        up, down = (np.maximum(price[free], least) for price in (prices.up, prices.down))
        if self.squares:
            return np.concatenate([up * (2 * k + 1), down * (1 - 2 * k)])
        rising, falling = np.where(k >= 0, up, -down), np.where(k <= 0, down, -up)
        return np.concatenate([rising, falling])


def _sums(equations: csr_array, units: Floats) -> Ints:
    """M k in integers."""
    return np.asarray(equations @ units.astype(np.int64))
