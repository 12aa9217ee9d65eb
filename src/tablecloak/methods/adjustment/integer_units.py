"""Whole data units from a solution in fractions: shown values with the decimals of the data that add up exactly.

Given any d with M d = 0, nearly, and low <= d <= high (whole numbers): k = d rounded to whole numbers leaves r = M k.
Correct it by the cheapest c:  M c = -r,  low <= k + c <= high,  at the marginal prices of a first step up and down.
On networks the linear program has a whole optimum (r and the bounds are whole); elsewhere c is asked to be whole, with
a step or a few on either side. Repeated, as the size of r shrinks each time, it also repairs what the tolerance of a
solver leaves when units are small against values. Sums are checked in whole numbers. Where whole units cannot be (some
tables other than networks), the same is done in tenths of them, and so on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import is_network, working_equations
from tablecloak.methods.adjustment.leaf_correction import whole_by_free_cells
from tablecloak.methods.adjustment.leaf_rounding import whole_by_leaves
from tablecloak.model import Problem
from tablecloak.progress import Deadline
from tablecloak.solvers import MipOptions, solve_mip

ROUNDS, STEPS = 6, (1, 3, 10)
MOST_DIGITS = 3
"""Where whole units cannot be, so many digits more are tried."""
LARGEST = 2.0**52
"""Whole numbers above this are not exact as floats."""
NODES = 2000
FRACTION = 1e-6
"""A move is whole up to this share of a unit."""


@dataclass(frozen=True)
class WholeSettings:
    """Untested default."""

    least_seconds: float = 0.25
    """Seconds that programs for whole units have also when the time is up."""


def fewest_digits(
    problem: Problem,
    moved: Floats,
    low: Floats,
    high: Floats,
    *,
    squares: bool = False,
    seconds: float = math.inf,
) -> tuple[Floats, bool]:
    """`moved` in whole units (True), else in tenths, hundredths or thousandths, else as it is, clipped to low..high.

    Where programs find no whole units near by, leaves are rounded and totals added up (`leaf_rounding`).

    What was clipped need not add up any more: see `adds_up`. Whole units have so many seconds, the other attempts as
    many together.
    """
    for digits in range(MOST_DIGITS + 1):
        if digits == 1:
            added = whole_by_leaves(problem.table, moved, low, high)
            if added is not None:
                return added, True
        fine, most = 10.0**digits, seconds / (MOST_DIGITS if digits else 1)
        found = whole_units(problem, moved * fine, low * fine, high * fine, squares=squares, seconds=most)
        if found is not None:
            return found / fine, digits == 0
    return np.clip(moved, low, high), False


def fewest_digits_until(
    problem: Problem, moved: Floats, low: Floats, high: Floats, deadline: Deadline, *, squares: bool = False
) -> tuple[Floats, bool]:
    """`fewest_digits` within half of the time left, or a moment if it is up: fractions would tell who was moved.

    After that, after an interrupt, and where a program with a limit of time finds none, leaves or free cells are
    rounded and totals added up where that can be; only then more digits are tried.
    """
    found: list[tuple[Floats, bool]] = []
    added = _rounded(problem, moved, low, high) if deadline.passed() else None
    with deadline.stoppable():
        if deadline.moment is not None and not deadline.passed():
            seconds = max(deadline.left / 2, WholeSettings.least_seconds)
            added = whole_units(problem, moved, low, high, squares=squares, seconds=seconds)
            added = _rounded(problem, moved, low, high) if added is None else added
        if added is None and not deadline.interrupted:
            seconds = max(deadline.left / 2, WholeSettings.least_seconds)
            found.append(fewest_digits(problem, moved, low, high, squares=squares, seconds=seconds))
    if added is None and deadline.interrupted and not found:
        added = _rounded(problem, moved, low, high)
    if added is not None:
        return added, True
    return found[0] if found else (np.clip(moved, low, high), False)


def _rounded(problem: Problem, moved: Floats, low: Floats, high: Floats) -> Floats | None:
    """Whole units without a program: leaves, or free cells, rounded and totals added up; None where that fails."""
    added = whole_by_leaves(problem.table, moved, low, high)
    return whole_by_free_cells(problem, moved, low, high) if added is None else added


def adds_up(problem: Problem, moved: Floats) -> bool:
    """Whether moves (in units) keep all sums, up to the noise of floating point."""
    equations = working_equations(problem.table)
    size = abs(equations) @ (np.abs(moved) + np.abs(problem.table.values) / problem.table.unit)
    return bool((np.abs(equations @ moved) <= 1e-6 + 1e-9 * size).all())


def whole_units(
    problem: Problem,
    moved: Floats,
    low: Floats,
    high: Floats,
    *,
    squares: bool = False,
    seconds: float = math.inf,
) -> Floats | None:
    """`moved` in whole units, adding up exactly and within low..high; None if none was found near it.

    `squares`: prices are those of w d^2 instead of w |d|.
    """
    equations = working_equations(problem.table)
    if (equations.data != np.rint(equations.data)).any():
        return None
    columns, deadline = csc_array(equations), Deadline.after(seconds)
    whole = np.clip(np.rint(np.clip(moved, -LARGEST, LARGEST)), low, high)
    fractions = np.abs(moved - whole) > FRACTION
    for _ in range(ROUNDS):
        missing = -_sums(equations, whole)
        if not missing.any():
            return whole
        # On a network cells that are whole already need not change: fractions can be rounded among themselves.
        few = _among(fractions, whole, low, high) if is_network(problem) and fractions.any() else None
        correction = None
        if few is not None:
            correction = _correction(problem, columns, whole, missing, few, squares, deadline)
        if correction is None:
            correction = _correction(problem, columns, whole, missing, (low, high), squares, deadline)
        if correction is None:
            return None
        whole = whole + correction
    return None if _sums(equations, whole).any() else whole


def _among(cells: Bools, whole: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """low, high with all other cells kept where they are."""
    return np.where(cells, low, whole), np.where(cells, high, whole)


def _sums(equations: csr_array, whole: Floats) -> Ints:
    """M k in whole numbers."""
    matrix = csr_array(
        (equations.data.astype(np.int64), equations.indices, equations.indptr), shape=equations.shape
    )
    return np.asarray(matrix @ whole.astype(np.int64))


def _correction(
    problem: Problem,
    columns: csc_array,
    whole: Floats,
    missing: Ints,
    ends: tuple[Floats, Floats],
    squares: bool,
    deadline: Deadline,
) -> Floats | None:
    """The cheapest change of whole units that makes up for what is missing."""
    size, network = float(np.abs(missing).max()), is_network(problem)
    for steps in STEPS:
        most = max(steps, 4 * size)
        up, down = np.minimum(ends[1] - whole, most), np.minimum(whole - ends[0], most)
        free: Ints = np.flatnonzero((up > 0) | (down > 0))
        part = columns[:, free]
        weight = np.maximum(problem.weights[free], 1e-9 * float(problem.weights.max(initial=1.0)) + 1e-12)
        k = whole[free]
        if squares:
            prices = [weight * (2 * k + 1), weight * (1 - 2 * k)]
        else:
            prices = [weight * (np.abs(k + 1) - np.abs(k)), weight * (np.abs(k - 1) - np.abs(k))]
        scale = size if network and size > 1e6 else 1.0
        solution = solve_mip(
            hstack([part, -part]),
            (np.zeros(2 * free.size), np.concatenate([up[free], down[free]]) / scale),
            (missing / scale, missing / scale),
            np.concatenate(prices),
            np.full(2 * free.size, not network),
            MipOptions(
                seconds=deadline.left,
                nodes=NODES,
                presolve=not network,  # sums are checked in whole numbers, whatever a solver claims
                root_share=None,
            ),
        )
        if solution.values.size == 2 * free.size:
            change = np.zeros(whole.size)
            steps_up, steps_down = np.split(np.rint(solution.values * scale), 2)
            change[free] = np.clip(steps_up - steps_down, -down[free], up[free])
            return change
        if network or deadline.passed():
            return None  # a wider box would not help: rounding between neighbours is always possible
    return None
