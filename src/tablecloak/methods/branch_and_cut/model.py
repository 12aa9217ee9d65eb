"""The cell suppression problem as a covering program over candidate cells: what is decided, at what price, for what.

Requirements that the cells hidden anyway meet are dropped, for hiding more never narrows an interval; so are those that
follow from others in every pattern (`auditing.implied`). Cells that are hidden together or not at all are one variable
(`cuts.aggregation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import DeviationBounds, is_network
from tablecloak.auditing import audit, exposure, implied_requirements
from tablecloak.methods.branch_and_cut.settings import ExactSettings
from tablecloak.methods.cuts import Aggregation, weight_unit
from tablecloak.model import Problem, Requirement, Suppression, conditional_requirements, unmet_requirements
from tablecloak.progress import Progress


@dataclass(frozen=True, eq=False)
class SuppressionModel:
    """min prices x over the representatives, x binary, such that every requirement is met. Immutable."""

    problem: Problem
    allowed: Bools
    """Cells that may be hidden."""
    free: Bools
    """Cells that may be hidden and need not be."""
    aggregation: Aggregation
    representatives: Bools
    """The variables: a free cell of each aggregated group."""
    prices: Floats
    """At each representative the weight of its group."""
    unit: float
    """A number of which all prices are multiples; 0 if there is none."""
    requirements: Sequence[Requirement]
    """By decreasing level; conditional ones included, those that follow from others left out."""
    first_active: Sequence[Requirement]
    """The requirements that fractional points are separated for to begin with: all of them, or those of K5."""
    implied: int
    """Number of requirements that were left out because they follow from others."""
    deviation_bounds: DeviationBounds
    is_network: bool
    has_tied_weights: bool
    """Whether this is a network most of whose weights are equal: patterns of the same cost abound."""

    @classmethod
    def of(
        cls, problem: Problem, allowed: Bools, progress: Progress, settings: ExactSettings = ExactSettings()
    ) -> SuppressionModel:
        """The model of a problem."""
        free, network = allowed & ~problem.must_hide, is_network(problem)
        aggregation = (
            Aggregation.of(problem, allowed) if settings.aggregate else Aggregation.identity(allowed.size)
        )
        representatives: Bools = free & aggregation.represents
        prices = aggregation.summed(problem.weights)
        chosen = prices[representatives]
        unit = weight_unit(chosen)
        tied = network and problem.is_monotone and _are_tied(chosen, unit, settings)
        requirements, implied = _requirements(problem, allowed, progress, settings)
        return cls(
            problem=problem,
            allowed=allowed,
            free=free,
            aggregation=aggregation,
            representatives=representatives,
            prices=prices,
            unit=unit,
            requirements=requirements,
            first_active=_first_active(problem, requirements, settings),
            implied=implied,
            deviation_bounds=DeviationBounds(problem),
            is_network=network,
            has_tied_weights=tied,
        )

    @property
    def is_trivial(self) -> bool:
        """Whether the cells that must be hidden meet every requirement."""
        return not self.requirements and self.problem.most_touched is None

    @property
    def initial_pattern(self) -> Bools | None:
        """A safe pattern that is known without search; None if there is none."""
        if self.problem.most_touched is not None:
            return None
        return self.problem.must_hide.copy() if self.is_trivial else self.allowed.copy()

    def cost(self, hidden: Bools) -> float:
        """The weight of the complementary cells."""
        return float(self.problem.weights[hidden & self.free].sum())

    def expanded(self, x: Floats) -> Floats:
        """A point over representatives as a point over all cells."""
        return self.aggregation.expanded(x)

    def without_partial(self, hidden: Bools) -> Bools:
        """A pattern without the aggregated groups that are hidden in part: their cells are determined."""
        return self.aggregation.without_partial(hidden)

    def representatives_of(self, hidden: Bools) -> Bools:
        """The variables that are 1 in a pattern."""
        return self.aggregation.representatives_of(hidden) & self.representatives

    def point(self, cells: Ints, values: Floats) -> Floats:
        """Values of some variables as a point over all cells, the other variables 0."""
        x = np.zeros(self.free.size)
        x[cells] = values
        return self.expanded(x)


def _are_tied(prices: Floats, unit: float, settings: ExactSettings) -> bool:
    """Whether most prices are the same, a small multiple of the unit: gap limits by single units are few then."""
    if not (unit > 0 and prices.size):
        return False
    values, counts = np.unique(prices, return_counts=True)
    most = int(np.argmax(counts))
    return bool(
        counts[most] >= settings.tied_share * prices.size and values[most] <= settings.tied_units * unit
    )


def _requirements(
    problem: Problem, allowed: Bools, progress: Progress, settings: ExactSettings
) -> tuple[list[Requirement], int]:
    """The requirements that the cells hidden anyway do not meet, and conditional ones, by decreasing level.

    Without those that follow from others, whose number is the second result.
    """
    found = audit(problem, Suppression.copy_of(problem.must_hide), progress=progress)
    unmet = unmet_requirements(problem, found)
    implied = implied_requirements(problem, unmet, allowed) if settings.drop_implied else {}
    requirements = [one for one in unmet if one not in implied]
    requirements += conditional_requirements(problem, allowed & ~problem.must_hide)
    order = sorted(requirements, key=lambda each: (-each.level, each.attacker, each.cell, each.side.value))
    return order, len(implied)


def _first_active(
    problem: Problem, requirements: list[Requirement], settings: ExactSettings
) -> list[Requirement]:
    """All requirements, or those of the outsider that the algorithm K5 of Serpell et al. (2013) keeps."""
    if settings.first_active == "all":
        return requirements
    kept = set(exposure(problem).algorithms[settings.first_active].tolist())
    return [one for one in requirements if one.attacker == 0 and one.cell in kept]
