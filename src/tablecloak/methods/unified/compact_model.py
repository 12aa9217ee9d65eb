"""The first (compact) model of any form: a deviation of all cells for every level and attacker. For small tables.

    min  c x   over the form's own columns and rows (`formulation`), and for every level (p, k, upper):

    M f = 0,   -min(D_i(x), LB_i^k) <= f_i <= min(U_i(x), UB_i^k),   f_p >= UPL_p

A sliding level takes two deviations f, g with f_p - g_p >= SPL_p; a conditional width f_i - g_i >= SPL_i t_i, where t_i
is 1 if cell i is touched. Deviations are measured in units of the level. On networks a deviation is a sum of cycles
through p, so no cell needs to move further than p; elsewhere `reach` levels are allowed.

Integer programs are solved with presolve and without, and the better point counts: HiGHS 1.15.1 at times calls a point
optimal that is not, either way.

Reference: Salazar-Gonzalez (2002), first models.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack, vstack

from tablecloak.arrays import Floats
from tablecloak.attacker import Boxes, is_network, working_equations
from tablecloak.errors import NotApplicable
from tablecloak.methods.unified.formulation import Formulation
from tablecloak.model import Problem, Requirement, Side
from tablecloak.progress import Deadline
from tablecloak.solvers import MixedSolution, cost_scale, solve_mixed

MOST_COLUMNS = 400_000


def solve_compact_model(
    problem: Problem,
    formulation: Formulation,
    requirements: Sequence[Requirement],
    widths: Sequence[Requirement],
    seconds: float,
    reach: float = 32.0,
) -> MixedSolution:
    """The optimum of the form under all levels (`requirements`) and conditional widths."""
    blocks = [(requirement, False) for requirement in requirements] + [
        (requirement, True) for requirement in widths
    ]
    copies = [2 if requirement.side is Side.SLIDE else 1 for requirement, _ in blocks]
    size = len(problem.table)
    total = formulation.size + size * sum(copies)
    if total > MOST_COLUMNS:
        raise NotApplicable(
            f"the first model would need {total} columns.",
            needs=f"a small table with few levels (at most {MOST_COLUMNS} columns)",
            instead=[],
        )
    far = 1.0 if is_network(problem) else reach
    boxes, equations = Boxes(problem), working_equations(problem.table)
    matrices, lows, highs = (
        [formulation.constraints.matrix],
        [formulation.constraints.low],
        [formulation.constraints.high],
    )
    bounds: list[tuple[Floats, Floats]] = []
    before = formulation.size
    for (requirement, conditional), count in zip(blocks, copies, strict=True):
        down, up = (np.minimum(side / requirement.level, far) for side in boxes[requirement.attacker])
        for copy in range(count):
            start = before + copy * size
            for matrix, low, high in _deviation(formulation, equations, requirement.level):
                left, right = matrix[:, : formulation.size], matrix[:, formulation.size :]
                matrices.append(_placed(left, right, start, total))
                lows.append(low)
                highs.append(high)
            bounds.append((-down, up))
        demand = np.zeros((1, total))
        demand[0, before + requirement.cell] = -1.0 if requirement.side is Side.DOWN else 1.0
        if count == 2:
            demand[0, before + size + requirement.cell] = -1.0
        need = 1.0
        if conditional:
            demand[0, : formulation.size] -= formulation.touched.matrix[[requirement.cell]].toarray().ravel()
            need = float(formulation.touched.constant[requirement.cell])
        matrices.append(csr_array(demand))
        lows.append(np.array([need]))
        highs.append(np.array([np.inf]))
        before += count * size
    wide = [
        csr_array(hstack([matrix, csr_array((matrix.shape[0], total - matrix.shape[1]))]))
        for matrix in matrices
    ]
    low = np.concatenate([formulation.low, *(low for low, _ in bounds)])
    high = np.concatenate([formulation.high, *(high for _, high in bounds)])
    cost, whole = np.zeros(total), np.zeros(total, dtype=bool)
    scale = cost_scale(formulation.cost)
    cost[: formulation.size], whole[: formulation.size] = formulation.cost / scale, formulation.integral
    program = (
        vstack(wide, format="csr"),
        (low, high),
        (np.concatenate(lows), np.concatenate(highs)),
        cost,
        whole,
    )
    deadline = Deadline.after(seconds)
    ways = (False, True) if whole.any() else (False,)
    solution = min(
        (solve_mixed(*program, deadline.left, presolve) for presolve in ways),
        key=lambda found: found.objective,
    )
    bound = solution.bound if whole.any() else solution.objective
    return MixedSolution(
        solution.outcome,
        scale * solution.objective + formulation.constant,
        scale * bound + formulation.constant,
        solution.values[: formulation.size],
    )


def _deviation(
    formulation: Formulation, equations: csr_array, level: float
) -> list[tuple[csr_array, Floats, Floats]]:
    """Rows over (x, f): M f = 0, f <= U(x), -f <= D(x), in units of the level."""
    zero = np.zeros(equations.shape[0])
    found = [(csr_array(hstack([csr_array((equations.shape[0], formulation.size)), equations])), zero, zero)]
    for room, sign in ((formulation.above, 1.0), (formulation.below, -1.0)):
        stated = np.flatnonzero(np.isfinite(room.constant))
        own = csr_array(diags_array(np.full(room.constant.size, sign)))[stated]
        matrix = csr_array(hstack([-room.matrix[stated] / level, own]))
        found.append((matrix, np.full(stated.size, -np.inf), room.constant[stated] / level))
    return found


def _placed(left: csr_array, right: csr_array, start: int, total: int) -> csr_array:
    """A block of rows over the form's columns and over deviations that begin at `start`."""
    rows = left.shape[0]
    middle = csr_array((rows, start - left.shape[1]))
    return csr_array(hstack([left, middle, right, csr_array((rows, total - start - right.shape[1]))]))
