"""The incumbent, the safe patterns that cuts must not exclude, and the gap between cost and bound."""

from __future__ import annotations

import math

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.auditing import audit
from tablecloak.methods.branch_and_cut.model import SuppressionModel
from tablecloak.methods.cuts import Cut, matrix_of, rounded_up
from tablecloak.model import Requirement, Suppression, unmet_requirements
from tablecloak.progress import Deadline, silent
from tablecloak.solvers import CUT_VIOLATION, OPTIMALITY


class SafePatterns:
    """Recent safe patterns, as points over the variables: a cut that one of them violates is invalid."""

    def __init__(self, size: int, most: int) -> None:
        self._size, self._most = size, most
        self._points: list[Bools] = []
        self.excluded = 0
        """Number of cuts that were dropped."""

    def add(self, point: Bools) -> None:
        """Remember a safe pattern; the oldest is forgotten."""
        self._points = [*self._points[1 - self._most :], point]

    def valid(self, cuts: list[Cut]) -> list[Cut]:
        """The cuts without those that a safe pattern violates, which are counted."""
        if not cuts or not self._points:
            return cuts
        points = np.array(self._points, dtype=np.float64).T
        right = np.array([cut.rhs for cut in cuts])[:, None]
        invalid = ((right - matrix_of(cuts, self._size) @ points) > CUT_VIOLATION).any(axis=1)
        self.excluded += int(invalid.sum())
        return [cut for cut, is_invalid in zip(cuts, invalid.tolist(), strict=True) if not is_invalid]


class Incumbent:
    """The best safe pattern so far (None: there is none yet)."""

    def __init__(self, model: SuppressionModel, deadline: Deadline, safe_patterns: int) -> None:
        self._model, self._deadline = model, deadline
        self.pattern: Bools | None = model.initial_pattern
        self.cost = math.inf if self.pattern is None else model.cost(self.pattern)
        """The cost of the incumbent; infinite if there is none."""
        self.safe_patterns = SafePatterns(model.free.size, safe_patterns)
        self.changes = 0
        """Number of improvements so far."""

    def offer(self, pattern: Bools, *, sure: bool | None = None) -> list[Requirement]:
        """Take a pattern if it is safe and cheaper; return the requirements that it does not meet.

        Flows in whole data units are `sure`, and so not audited: the default on networks. Elsewhere what is safe in
        floats is audited first.
        """
        model, most = self._model, self._model.problem.most_touched
        pattern = model.without_partial(pattern)
        cost = model.cost(pattern)
        if (most is not None and int(pattern.sum()) > most) or cost >= self.cost:
            return []
        if not (model.is_network if sure is None else sure):
            progress = self._deadline.watched(silent)
            verdict = audit(model.problem, Suppression.copy_of(pattern), progress=progress)
            unmet = unmet_requirements(model.problem, verdict)
            if unmet:
                return unmet
        self.pattern, self.cost = pattern, cost
        self.changes += 1
        self.safe_patterns.add(model.representatives_of(pattern))
        return []


class Gap:
    """The proven bound, and its distance from the incumbent's cost."""

    def __init__(self, incumbent: Incumbent, unit: float, enough: float = 0.0) -> None:
        self._incumbent, self._unit, self.enough = incumbent, unit, enough
        """`enough`: the gap as a share of the cost at which the search ends."""
        self.bound = 0.0

    def raise_bound(self, bound: float) -> None:
        """Raise the bound: rounded up, for costs are multiples of the unit, and at most to the incumbent's cost."""
        self.bound = max(self.bound, min(rounded_up(bound, self._unit), self._incumbent.cost))

    @property
    def relative(self) -> float:
        """The distance of cost and bound as a share of the cost; infinite without an incumbent."""
        cost = self._incumbent.cost
        if math.isinf(cost):
            return math.inf
        return (cost - self.bound) / cost if cost > 0 else 0.0

    @property
    def is_closed(self) -> bool:
        """Whether cost and bound meet, up to the gap that is enough."""
        cost = self._incumbent.cost
        return math.isfinite(cost) and cost - self.bound <= max(
            self.enough * cost, OPTIMALITY * max(1.0, abs(cost))
        )
