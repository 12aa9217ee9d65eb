"""Ties at prices of zero: among the publications of least cost one of least total width.

A side that costs nothing may be as wide as it likes in an optimum. With such prices a second program decides:

    min  sum_i (z_i+ + z_i-)     over the same formulation and requirements,  c x <= the optimum

unweighted, so that it does not depend on the prices. Optimum and bound are those of the first program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.methods.unified.compact_model import solve_compact_model
from tablecloak.methods.unified.cutting_plane_model import CuttingPlaneModel, CuttingPlaneSettings
from tablecloak.methods.unified.formulation import Formulation, LinearConstraints, ModelSolution
from tablecloak.methods.unified.protection_cuts import ProtectionCut
from tablecloak.model import Problem, Requirement
from tablecloak.progress import Deadline, silent
from tablecloak.solvers import OPTIMALITY, Outcome

Requirements = tuple[Sequence[Requirement], Sequence[Requirement]]
"""Levels, and widths of cells if they are touched."""


def without_ties(
    problem: Problem,
    formulation: Formulation,
    solution: ModelSolution,
    requirements: Requirements,
    deadline: Deadline,
    *,
    compact: bool = False,
    known: Sequence[ProtectionCut] = (),
    settings: CuttingPlaneSettings = CuttingPlaneSettings(),
) -> ModelSolution:
    """The optimal solution of least total width; as it is without prices of zero, and where the time is up.

    `known`: cuts of the first program.
    """
    free = problem.prices is not None and problem.prices.free_sides.any() and formulation.width.any()
    if not (free and solution.safe and solution.outcome is Outcome.OPTIMAL) or deadline.passed():
        return solution
    found = ModelSolution.none()
    second = _at_most(formulation, solution.objective)
    with deadline.stoppable():
        if compact:
            found = solve_compact_model(problem, second, *requirements, deadline.left)
        else:
            model = CuttingPlaneModel(problem, second, *requirements, deadline, silent, settings)
            model.offer(solution.values)
            found = model.solve(known)
    if not found.safe:
        return solution
    return replace(solution, values=found.values, objective=formulation.objective(found.values))


def _at_most(formulation: Formulation, objective: float) -> Formulation:
    """The formulation whose objective is the total width, under a limit of the cost."""
    scale = float(np.abs(formulation.cost).max(initial=0.0)) or 1.0
    limit = objective - formulation.constant + OPTIMALITY * abs(objective)
    row = LinearConstraints(
        csr_array(formulation.cost[np.newaxis, :] / scale), np.array([-np.inf]), np.array([limit / scale])
    )
    return replace(formulation.with_constraints(row), cost=formulation.width, constant=0.0)
