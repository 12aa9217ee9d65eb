"""suppress-optimal: the cheapest safe pattern, proven, or the best one found with its proven gap.

Branch and cut in the cells x, one capacity row for everything that an attacker could exclude: see
`branch_and_cut.solver` for the recipe. What comes out is audited by `protect` like any other pattern.

References: Fischetti & Salazar (2001), Solving the cell suppression problem on tabular data with linear constraints;
Salazar (2002), second model; Salazar (2010).
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from tablecloak.methods.base import Proposal
from tablecloak.methods.branch_and_cut import ExactParams, ExactRun
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
    executor: Executor | None,
) -> Proposal:
    """The cheapest safe pattern, or the best found in time with a proven bound on the cost of every safe pattern."""
    return ExactRun(problem, params, rng, progress).run()
