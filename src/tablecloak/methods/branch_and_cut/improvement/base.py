"""What a primal heuristic of branch and cut is."""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol

from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.search import SearchContext

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
