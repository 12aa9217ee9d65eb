"""What primal heuristics, decomposition and trees share: the model, the incumbent, the bound, the cuts, the limits, and
what a run counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.methods.branch_and_cut.incumbent import Gap, Incumbent
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.separation import Separation
from tablecloak.methods.branch_and_cut.settings import ExactSettings
from tablecloak.methods.cuts import Relaxation
from tablecloak.progress import Deadline, Progress


@dataclass
class SolveStatistics:
    """Numbers of what was done, for the report."""

    rounds: int = 0
    """Rounds of the cut loop at the root."""
    gap_limits: int = 0
    integer_programs: int = 0
    nodes: int = 0
    """Nodes of branch-and-cut trees below gap limits."""
    neighbourhoods: int = 0
    better_by_neighbourhoods: int = 0
    cuts_against_safe_patterns: int = 0
    """Cuts that were dropped because a safe pattern violates them: 0, or a numerical error."""
    numerical_failures: int = 0
    """Relaxations that could not be solved."""
    implied_levels: int = 0
    """Requirements that were left out because they follow from others."""
    active_levels: int = 0
    """Requirements that fractional points were separated for."""

    def counters(self, levels: int, cuts: Mapping[str, int]) -> Mapping[str, float]:
        """All of them by name, with the number of requirements and of the cuts of each kind."""
        return {
            "levels": levels,
            **{name.replace("_", " "): number for name, number in asdict(self).items()},
            **{f"{kind} cuts": cuts[kind] for kind in sorted(cuts)},
        }


@dataclass(frozen=True, eq=False)
class SearchContext:
    """The components of one search; each has its own state, the context has none."""

    model: SuppressionModel
    incumbent: Incumbent
    gap: Gap
    relaxation: Relaxation
    separation: Separation
    deadline: Deadline
    rng: np.random.Generator
    settings: ExactSettings
    statistics: SolveStatistics
    report: Progress
    """The solver's own report: cost and bound are those of the search, whatever a heuristic gives."""
    uses_scip: bool
    """Whether SCIP solves the trees; otherwise HiGHS solves integer programs."""
    known_patterns: Sequence[Bools] = ()
    """Safe patterns that were known beforehand, beside the incumbent."""

    @property
    def is_over(self) -> bool:
        """Whether the gap is closed or the time is up."""
        return self.gap.is_closed or self.deadline.passed()

    @property
    def point(self) -> Floats:
        """The last solution of the relaxation, over all cells."""
        return self.model.expanded(self.relaxation.x)

    def cells_within(self, cost: float) -> Ints:
        """The variables that may be 1 in a better pattern of at most this cost, by reduced-cost fixing."""
        best = self.incumbent.cost - (self.model.unit if self.model.has_tied_weights else 0.0)
        return np.flatnonzero(self.relaxation.within(min(cost, best)))
