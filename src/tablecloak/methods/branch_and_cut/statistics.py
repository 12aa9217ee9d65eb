"""What a run of branch and cut counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass


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

    def counters(self, levels: int, cuts: Mapping[str, int]) -> Mapping[str, float]:
        """All of them by name, with the number of requirements and of the cuts of each kind."""
        return {
            "levels": levels,
            **{name.replace("_", " "): number for name, number in asdict(self).items()},
            **{f"{kind} cuts": cuts[kind] for kind in sorted(cuts)},
        }
