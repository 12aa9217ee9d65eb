"""How a solve ended and what it gave, for all solvers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tablecloak.arrays import Floats


class Outcome(Enum):
    """How a solve ended."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time limit"
    FAILED = "failed"
    """The solver lost its way: numerical trouble, however much time there is."""

    @property
    def undecided(self) -> bool:
        """Whether it is open what the answer is."""
        return self in (Outcome.TIME_LIMIT, Outcome.FAILED)


@dataclass(frozen=True)
class Solution:
    """What one solve gave: objective, column values and row duals (None unless optimal or asked)."""

    outcome: Outcome
    objective: float
    values: Floats
    duals: Floats


@dataclass(frozen=True)
class MixedSolution:
    """The best point found, its objective, and the proven bound. `values` is empty when no point was found."""

    outcome: Outcome
    objective: float
    bound: float
    values: Floats


@dataclass(frozen=True)
class MasterSolution:
    """Objective, values and reduced costs by column, duals by row."""

    outcome: Outcome
    objective: float
    values: Floats
    duals: Floats
