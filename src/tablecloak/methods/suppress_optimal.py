"""suppress-optimal: the cheapest safe pattern, proven, or the best one found with its proven gap.

Branch and cut over binary x, with capacity cuts on demand for what attackers could exclude: see `branch_and_cut.solver`
for the recipe. The pattern is audited by `protect` like any other.

References: Fischetti & Salazar-Gonzalez (2001), Solving the cell suppression problem on tabular data with linear
constraints; Salazar-Gonzalez (2002), second model; Salazar-Gonzalez (2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.methods.base import Proposal
from tablecloak.methods.branch_and_cut import BranchAndCut, ExactParams, ExactSettings, Plugins
from tablecloak.model import Problem
from tablecloak.progress import Progress


@dataclass(frozen=True)
class OptimalParams(ExactParams):
    """Parameters of suppress-optimal."""


def suppress_optimal(
    problem: Problem,
    *,
    params: OptimalParams,
    rng: np.random.Generator,
    progress: Progress,
    settings: ExactSettings = ExactSettings(),
    plugins: Plugins = Plugins(),
) -> Proposal:
    """The cheapest safe pattern, or the best found in time with a proven bound on the cost of every safe pattern."""
    return BranchAndCut(problem, params, rng, progress, settings=settings, plugins=plugins).run()
