"""Which recipe a problem gets, by its structure and size."""

from __future__ import annotations

from enum import Enum

from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.settings import SmallSettings


class ExactStrategy(Enum):
    """The recipes of exact suppression."""

    SMALL = "small networks: dense cuts and a tree of our own"
    GENERAL = "sparse cuts, priced columns, primal heuristics and the trees of a solver"


def choose_strategy(model: SuppressionModel, settings: SmallSettings) -> ExactStrategy:
    """The recipe for a model."""
    problem = model.problem
    flows = sum(len(requirement.directions) for requirement in model.requirements)
    fits = model.free.size <= settings.max_cells and model.free.size * flows <= settings.max_work
    plain = problem.is_monotone and problem.most_touched is None and not problem.has_conditional
    return ExactStrategy.SMALL if model.is_network and plain and fits else ExactStrategy.GENERAL
