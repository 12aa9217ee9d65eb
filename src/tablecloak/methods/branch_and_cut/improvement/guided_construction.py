"""Guided construction: patterns built near a point of the relaxation, at prices that favour the cells it hides.

A point x makes cell i cost w_i (1 - x_i). Patterns are constructed at these prices among the cells of x and of the
incumbent; or, on non-network tables, redundant suppressions of this set are eliminated by decreasing price. An integral
point that is not safe is repaired in the same way.

Reference: Danna, Rothberg & Le Pape (2005) for neighbourhoods that the relaxation and the incumbent span.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.methods.branch_and_cut.improvement.base import Backoff, Stage
from tablecloak.methods.branch_and_cut.incumbent import Incumbent
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.branch_and_cut.search import SearchContext
from tablecloak.methods.heuristics import (
    ConstructionSettings,
    Elimination,
    NullSpaceWitnesses,
    by_decreasing_weight,
    construct_pattern,
)
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import FRACTIONAL_SUPPORT


class GuidedConstruction:
    """Patterns near the relaxation, while it is solved: the more often, the more often they are better."""

    stage: ClassVar[Stage] = "root rounds"

    def __init__(self, search: SearchContext) -> None:
        self._together, self._one_by_one = Backoff(search.incumbent), Backoff(search.incumbent)

    @staticmethod
    def supports(model: SuppressionModel) -> bool:
        """Every model: guided construction fits all."""
        return True

    def is_due(self, search: SearchContext) -> bool:
        """Always: the heuristic waits by itself."""
        return True

    def run(self, search: SearchContext) -> None:
        """A pattern near the relaxation, and one built requirement by requirement where there are few of these."""
        model = search.model
        self._together.maybe_run(lambda: construct_near(search, search.point))
        if not model.is_network and len(model.requirements) <= search.settings.root.max_guided_levels:
            self._one_by_one.maybe_run(lambda: build_near(search, search.point))


def construct(
    model: SuppressionModel,
    incumbent: Incumbent,
    deadline: Deadline,
    report: Progress,
    prices: Floats,
    within: Bools | None = None,
    settings: ConstructionSettings = ConstructionSettings(),
) -> None:
    """Construct a pattern at these prices, eliminate redundant suppressions at the weights, and offer it.

    `within`: only these cells, which include a safe pattern. With conditional levels, which hiding more can violate,
    the others are needed too.
    """
    problem = model.problem
    if problem.most_touched is not None:
        return
    conditional = problem.has_conditional
    allowed = model.allowed if within is None or conditional else within
    pattern = construct_pattern(
        problem,
        allowed,
        report,
        deadline,
        requirements=model.requirements,
        weights=prices,
        settings=settings,
    )
    if pattern is not None:
        incumbent.offer(pattern)


def construct_near(search: SearchContext, x: Floats) -> None:
    """A pattern among the cells of a fractional point and of the incumbent, at prices that favour the point."""
    _eliminate_or_construct(search, _support(search, x), _prices(search, x))


def build_near(search: SearchContext, x: Floats) -> None:
    """A pattern near a fractional point, built requirement by requirement."""
    best = search.incumbent.pattern
    within = None if best is None else _support(search, x) | best
    _construct(search, _prices(search, x), within)


def repair(search: SearchContext, x: Floats) -> None:
    """A safe pattern near an integral point that is not safe, with cells of the incumbent and of the relaxation."""
    weights = search.model.problem.weights
    prices = np.where(x > 0.5, 1e-3 * weights, weights)
    cells = (search.model.allowed & (x > 0.5)) | _support(search, search.point)
    _eliminate_or_construct(search, cells, prices)


def eliminates(search: SearchContext, hidden: Bools) -> bool:
    """Whether redundant suppressions of a pattern are best eliminated by null-space witnesses.

    On networks, where construction is fast, they are not.
    """
    model, tuned = search.model, search.settings.first.construction.witnesses
    fits = not model.is_network and NullSpaceWitnesses.fits(model.problem, model.requirements, hidden, tuned)
    return fits and not model.problem.has_conditional


def without_redundant(search: SearchContext, hidden: Bools, prices: Floats | None = None) -> Bools | None:
    """A pattern without redundant suppressions, by decreasing price (None: weight); None if it is not safe, or late."""
    model, cuts = search.model, search.relaxation.active_cuts()
    problem, requirements = model.problem, model.requirements
    tuned = search.settings.first.construction.witnesses
    engine = NullSpaceWitnesses(problem, requirements, hidden, tuned)
    elimination = Elimination(problem, requirements, hidden, engine, search.deadline, search.report, cuts)
    price = problem.weights if prices is None else prices
    order = by_decreasing_weight(hidden & ~problem.must_hide, price)
    return elimination.hidden if elimination.run(order) else None


def _eliminate_or_construct(search: SearchContext, cells: Bools, prices: Floats) -> None:
    """Eliminate redundant suppressions of these cells and the incumbent; where that does not fit, construct in them."""
    best = search.incumbent.pattern
    within = None if best is None else cells | best
    if within is not None and eliminates(search, within):
        pattern = without_redundant(search, within, prices)
        if pattern is not None:
            search.incumbent.offer(pattern)
    else:
        _construct(search, prices, within)


def _construct(search: SearchContext, prices: Floats, within: Bools | None) -> None:
    given = search.model, search.incumbent, search.deadline, search.report, prices, within
    construct(*given, search.settings.first.construction)


def _prices(search: SearchContext, x: Floats) -> Floats:
    return search.model.problem.weights * np.maximum(1.0 - x, 1e-3)


def _support(search: SearchContext, x: Floats) -> Bools:
    return search.model.allowed & (x > FRACTIONAL_SUPPORT)
