"""What the compact and the cutting-plane model return."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.solvers import Outcome


@dataclass(frozen=True, eq=False)
class ModelSolution:
    """The best point (empty: none), whether it meets all requirements, its objective and the proven bound."""

    outcome: Outcome
    values: Floats
    safe: bool
    objective: float
    bound: float
    rounds: int
    """Number of programs solved."""
    cuts: int
    """Number of cuts added."""

    @classmethod
    def none(cls) -> ModelSolution:
        """The solution of a run that is stopped before the model has any point or bound."""
        return cls(Outcome.TIME_LIMIT, np.zeros(0), False, math.inf, 0.0, 0, 0)
