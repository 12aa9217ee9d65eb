"""How a solve ended and what it gave, for all solvers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import SolverError
from tablecloak.solvers.tolerances import EMPTY_ROW


class Outcome(Enum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time limit"
    """A limit of time or nodes, or an interrupt."""
    FAILED = "failed"
    """Numerical failure: more time would not help."""

    @property
    def undecided(self) -> bool:
        """Whether it is open what the optimum is, and whether there is one."""
        return self in (Outcome.TIME_LIMIT, Outcome.FAILED)


def _empty() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True)
class Solution:
    """The point, the bound and the multipliers of one solve of a minimisation."""

    outcome: Outcome
    objective: float
    """Cost of the point. Without a point: inf, and -inf if the program is unbounded."""
    bound: float
    """Proven lower bound of the optimum: -inf if nothing is proven, inf if the program is infeasible. A linear program
    has no bound before its optimum."""
    values: Floats
    """The point by column; empty without one. A `LinearProgram` that is not optimal gives what the simplex method
    holds, which need not be feasible."""
    duals: Floats = field(default_factory=_empty)
    """Row duals of a linear program; empty for integer programs."""

    @classmethod
    def without_point(cls, outcome: Outcome, bound: float = -math.inf) -> Solution:
        """The end of a solve that found no point; `bound` is what it proved by then."""
        if outcome is Outcome.INFEASIBLE:
            bound = math.inf
        return cls(outcome, -math.inf if outcome is Outcome.UNBOUNDED else math.inf, bound, np.zeros(0))

    @classmethod
    def without_columns(cls, row_low: Floats, row_high: Floats | float = math.inf) -> Solution:
        """The solution of a program with rows and no columns: optimal at cost 0 if every row allows 0."""
        if (row_low > EMPTY_ROW).any() or np.less(row_high, -EMPTY_ROW).any():
            return cls.without_point(Outcome.INFEASIBLE)
        return cls(Outcome.OPTIMAL, 0.0, 0.0, np.zeros(0), np.zeros(row_low.size))

    def checked(self) -> Solution:
        """The solution itself; raises `SolverError` after a numerical failure."""
        if self.outcome is Outcome.FAILED:
            raise SolverError("the solver failed numerically on a mixed-integer program")
        return self
