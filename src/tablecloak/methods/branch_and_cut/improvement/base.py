"""What a primal heuristic of branch and cut is, and when it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, Protocol

from tablecloak.methods.branch_and_cut.incumbent import Incumbent
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.search import SearchContext


class Backoff:
    """Counts occasions, not seconds, so that the same seed gives the same pattern."""

    def __init__(self, incumbent: Incumbent, wait: int = 1, longest: int = 64) -> None:
        self._incumbent, self._wait, self._longest, self._passed = incumbent, wait, longest, 0

    def maybe_run(self, heuristic: Callable[[], None]) -> None:
        """Run the heuristic if it is due; halve the wait on success, double it on failure."""
        self._passed += 1
        if self._passed < self._wait:
            return
        before = self._incumbent.changes
        heuristic()
        self._passed = 0
        better = self._incumbent.changes > before
        self._wait = max(self._wait // 2, 1) if better else min(2 * self._wait, self._longest)


Stage = Literal["root rounds", "root", "tree"]
"""When a heuristic runs: every few rounds of the cut loop; after it; before the first gap limit."""


class Improvement(Protocol):
    """A primal heuristic: it offers patterns to the incumbent and adds cuts that failed ones violate to the pool."""

    stage: ClassVar[Stage]

    def __init__(self, search: SearchContext) -> None: ...

    @staticmethod
    def supports(model: SuppressionModel) -> bool:
        """Whether the heuristic fits the model."""

    def is_due(self, search: SearchContext) -> bool:
        """Whether it is worth its time at this point of the search."""

    def run(self, search: SearchContext) -> None:
        """Look for better patterns."""
