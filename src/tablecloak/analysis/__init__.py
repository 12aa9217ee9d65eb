"""Analysis of results: lower bounds, loss of information, comparisons of methods, explanations."""

from tablecloak.analysis.compare import Comparison, MethodOutcome, compare
from tablecloak.analysis.explanation import Explanation, explain
from tablecloak.analysis.loss import (
    CellCounts,
    Losses,
    loss_grid,
    loss_of_cells,
    losses,
    losses_by_code,
    measures,
)
from tablecloak.analysis.lower_bounds import BOUNDS, INTERRUPTED, Bound, bounds

__all__ = [
    "BOUNDS",
    "INTERRUPTED",
    "Bound",
    "CellCounts",
    "Comparison",
    "Explanation",
    "Losses",
    "MethodOutcome",
    "bounds",
    "compare",
    "explain",
    "loss_grid",
    "loss_of_cells",
    "losses",
    "losses_by_code",
    "measures",
]
