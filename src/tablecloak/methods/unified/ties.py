"""Ties at prices of zero, decided by width.

A side that costs nothing may be as wide as it likes in an optimum. With such prices a second program decides:

    min  sum_i (z_i+ + z_i-)     over the same formulation and requirements,  x_j <= x_j* where c_j > 0

and x_j >= x_j* where c_j < 0, with x* the optimum of the first: no cell becomes more expensive, and what costs nothing
is as narrow as that allows. Widths are unweighted, so they do not depend on the prices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.methods.unified.compact_model import CompactModelSettings, solve_compact_model
from tablecloak.methods.unified.cutting_plane_model import CuttingPlaneModel, CuttingPlaneSettings
from tablecloak.methods.unified.formulation import Formulation, ModelSolution
from tablecloak.methods.unified.protection_cuts import ProtectionCut
from tablecloak.model import Problem, Requirement
from tablecloak.progress import Deadline, silent
from tablecloak.solvers import Outcome

Requirements = tuple[Sequence[Requirement], Sequence[Requirement]]
"""Levels, and widths of cells if they are touched."""
MODELS = CuttingPlaneSettings(), CompactModelSettings()


def without_ties(
    problem: Problem,
    formulation: Formulation,
    solution: ModelSolution,
    requirements: Requirements,
    deadline: Deadline,
    *,
    known: Sequence[ProtectionCut] | None = (),
    settings: tuple[CuttingPlaneSettings, CompactModelSettings] = MODELS,
) -> ModelSolution:
    """An optimal solution whose free sides are narrow; as it is without prices of zero, and where the time is up.

    `known`: cuts of the first program; None: it is the compact model. `settings`: those of both models.
    """
    free = problem.prices is not None and problem.prices.free_sides.any() and formulation.width.any()
    if not (free and solution.safe and solution.outcome is Outcome.OPTIMAL) or deadline.passed():
        return solution
    found = ModelSolution.none()
    second = _at_most(formulation, solution.values)
    with deadline.stoppable():
        if known is None:
            found = solve_compact_model(problem, second, *requirements, deadline.left, settings[1])
        else:
            model = CuttingPlaneModel(problem, second, *requirements, deadline, silent, settings[0])
            model.offer(solution.values)
            found = model.solve(known)
    if not found.safe:
        return solution
    return replace(solution, values=found.values, objective=formulation.objective(found.values))


def _at_most(formulation: Formulation, x: Floats) -> Formulation:
    """The formulation whose objective is the total width, with no variable more expensive than at a point."""
    x = np.where(formulation.integral, np.rint(x), x)
    low = np.where(formulation.cost < 0, np.clip(x, formulation.low, formulation.high), formulation.low)
    high = np.where(formulation.cost > 0, np.clip(x, formulation.low, formulation.high), formulation.high)
    return replace(formulation, low=low, high=high, cost=formulation.width, constant=0.0)
