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
from tablecloak.solvers import INTEGRAL_MOVE, MipOptions, solve_mip


def fewest_digits(
    problem: Problem,
    moved: Floats,
    low: Floats,
    high: Floats,
    *,
    squares: bool = False,
    seconds: float = math.inf,
    settings: IntegerUnitsSettings = IntegerUnitsSettings(),
) -> tuple[Floats, bool]:
    """`moved` in integer units (True), else in tenths, hundredths or thousandths, else as it is, clipped to low..high.

    Where programs find no integer units near by, leaves are rounded and totals added up (`leaf_perturbation`). What was
    clipped need not be additive any more: see `is_additive`. `seconds` is the limit for integer units, and again for
    all other attempts together.
    """
    for digits in range(settings.max_digits + 1):
        if digits == 1:
            added = round_leaves(problem.table, moved, low, high)
            if added is not None:
                return added, True
        fine, most = 10.0**digits, seconds / (settings.max_digits if digits else 1)
        found = integer_units(
            problem, moved * fine, low * fine, high * fine, squares=squares, seconds=most, settings=settings
        )
        if found is not None:
            return found / fine, digits == 0
    return np.clip(moved, low, high), False


def fewest_digits_until(
    problem: Problem,
    moved: Floats,
    low: Floats,
    high: Floats,
    deadline: Deadline,
    *,
    squares: bool = False,
    settings: IntegerUnitsSettings = IntegerUnitsSettings(),
) -> tuple[Floats, bool]:
    """`fewest_digits` within half of the time left, or a moment if it is up: fractions would betray which cells moved.

    After that, after an interrupt, and where a program with a time limit finds none, leaves or free cells are rounded
    and totals added up where possible; only then more digits are tried.
    """
    found: list[tuple[Floats, bool]] = []
    added = round_without_program(problem, moved, low, high) if deadline.passed() else None
    with deadline.stoppable():
        if deadline.moment is not None and not deadline.passed():
            seconds = max(deadline.left / 2, settings.least_seconds)
            added = integer_units(
                problem, moved, low, high, squares=squares, seconds=seconds, settings=settings
            )
            added = round_without_program(problem, moved, low, high) if added is None else added
        if added is None and not deadline.interrupted:
            seconds = max(deadline.left / 2, settings.least_seconds)
            found.append(
                fewest_digits(problem, moved, low, high, squares=squares, seconds=seconds, settings=settings)
            )
    if added is None and deadline.interrupted and not found:
        added = round_without_program(problem, moved, low, high)
    if added is not None:
        return added, True
    return found[0] if found else (np.clip(moved, low, high), False)


def is_additive(problem: Problem, moved: Floats) -> bool:
    """Whether moves (in units) keep all sums, up to floating-point noise."""
    equations = working_equations(problem.table)
    size = abs(equations) @ (np.abs(moved) + np.abs(problem.table.values) / problem.table.unit)
    return is_noise(equations @ moved, size)


def integer_units(
    problem: Problem,
    moved: Floats,
    low: Floats,
    high: Floats,
    *,
    squares: bool = False,
    seconds: float = math.inf,
    settings: IntegerUnitsSettings = IntegerUnitsSettings(),
) -> Floats | None:
    """`moved` in integer units, exactly additive and within low..high; None if none was found near it.

    `squares`: prices are those of w d^2 instead of w |d|.
    """
    equations = integer_matrix(working_equations(problem.table))
    if equations is None:
        return None
    program = _Correction(problem, squares, Deadline.after(seconds), settings)
    largest = float(LARGEST_UNITS)
    units = np.clip(np.rint(np.clip(moved, -largest, largest)), low, high)
    fractions = np.abs(moved - units) > INTEGRAL_MOVE
    among = is_network(problem) and bool(fractions.any())
    for _ in range(settings.rounds):
        missing = -_sums(equations, units)
        if not missing.any():
            return units
        correction = None
        if among:  # cells of a network that are integral already need not change
            few = np.where(fractions, low, units), np.where(fractions, high, units)
            correction = program.solve(units, missing, few)
        if correction is None:
            correction = program.solve(units, missing, (low, high))
        if correction is None:
            return None
        units = units + correction
    return None if _sums(equations, units).any() else units


def _sums(equations: csr_array, units: Floats) -> Ints:
    """M k in integers."""
    return np.asarray(equations @ units.astype(np.int64))


@dataclass(frozen=True, eq=False)
class _Correction:
    """The program of the cheapest change of integer units that balances the equations. Confidential."""

    problem: Problem
    squares: bool
    deadline: Deadline
    settings: IntegerUnitsSettings

    def solve(self, units: Floats, missing: Ints, ends: Range) -> Floats | None:
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
                    seconds=self.deadline.left,
                    nodes=self.settings.max_nodes,
                    presolve=not network,  # sums are checked in integers, whatever a solver claims
                    root_share=None,
                ),
            )
            if solution.values.size == 2 * free.size:
                change = np.zeros(units.size)
                steps_up, steps_down = np.split(np.rint(solution.values * scale), 2)
                change[free] = np.clip(steps_up - steps_down, -down[free], up[free])
                return change
            if network or self.deadline.passed():
                return None  # a wider box would not help: rounding between neighbours is always possible
        return None

    def _prices(self, free: Ints, k: Floats) -> Floats:
        """The marginal prices of a first step up and down from k units."""
        weights = self.problem.weights
        weight = np.maximum(weights[free], 1e-9 * float(weights.max(initial=1.0)) + 1e-12)
        if self.squares:
            return np.concatenate([weight * (2 * k + 1), weight * (1 - 2 * k)])
        return np.concatenate([weight * (np.abs(k + 1) - np.abs(k)), weight * (np.abs(k - 1) - np.abs(k))])
