"""A subsystem solved exactly for given weights, and the inequality that this proves for all safe patterns.

For weights w >= 0 let c be the cost of some safe pattern. Weights above c are as good as c, so with a quantum
q = 2^k of about c 2^-20 the whole numbers floor(min(w, c) / q) lose next to nothing. Branch and cut proves a whole
number b with

    sum_i floor(min(w_i, c) / q) x_i  >=  b   for every safe pattern of the subsystem, and so of the whole table.

Sums of whole numbers are exact, and b is the proven bound, not the cost of a pattern. Of former solves cuts are kept
and nothing else: they are valid for any weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import Bools, Floats
from tablecloak.attacker import MACHINE_EPSILON, same_structure
from tablecloak.methods.branch_and_cut import BranchAndCut, ExactParams, ExactSettings, Start
from tablecloak.methods.cuts import Cut
from tablecloak.methods.subtables.separation import MemberSeparator
from tablecloak.methods.subtables.settings import EvaluationSettings
from tablecloak.progress import Deadline, silent


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a solve proves: coefficients @ x >= bound over the cells of the subsystem, for every safe pattern."""

    coefficients: Floats
    """In units of the weights, none above its weight."""
    bound: float
    cuts: tuple[Cut, ...] = ()
    """Capacity cuts, covers and roundings that branch and cut found, over the cells of the subsystem."""

    def inequality(self) -> Cut:
        """The inequality as a cut; binary x satisfies it with coefficients at most as large as the right side."""
        used = np.flatnonzero(self.coefficients > 0.0)
        shares = self.coefficients[used] / self.bound * (1 + 2 * MACHINE_EPSILON)
        return Cut(used, np.minimum(shares, 1.0), 1.0, "subtable")


class ExactMember:
    """The exact solves of a subsystem, with the cuts and the safe patterns that they found so far."""

    def __init__(self, member: MemberSeparator, settings: EvaluationSettings = EvaluationSettings()) -> None:
        self.member, self.settings = member, settings
        self.cuts: list[Cut] = []
        self._patterns: list[Bools] = [member.allowed]

    def evaluate(self, weights: Floats, deadline: Deadline) -> Evaluation:
        """Solve the subsystem with these weights, as far as the deadline allows."""
        pattern, cost = self._cheapest(weights)
        quantum = 2.0 ** (math.ceil(math.log2(cost)) - self.settings.resolution) if cost > 0.0 else 1.0
        whole = np.where(self.member.free, np.floor(np.minimum(weights, cost) / quantum), 0.0)
        if not whole.any():  # a safe pattern costs nothing
            return Evaluation(whole, 0.0)
        solver = _WarmBranchAndCut(self, whole, pattern, deadline)
        solver.run()
        if solver.limits.deadline.interrupted and deadline.interrupt is not None:
            deadline.interrupt.raised = True
        self.cuts = list(solver.pool)
        if solver.incumbent.pattern is not None:
            kept = self._patterns[1:][2 - self.settings.patterns :]
            self._patterns = [self.member.allowed, *kept, solver.incumbent.pattern]
        return Evaluation(quantum * whole, quantum * solver.gap.bound, tuple(self.cuts))

    def _cheapest(self, weights: Floats) -> tuple[Bools, float]:
        """The cheapest of the known safe patterns, and its cost."""
        costs = [float(weights[pattern & self.member.free].sum()) for pattern in self._patterns]
        best = int(np.argmin(costs))
        return self._patterns[best], costs[best]


class _WarmBranchAndCut(BranchAndCut):
    """Branch and cut that begins with a pattern and the cuts of former solves of the same subsystem."""

    def __init__(self, exact: ExactMember, weights: Floats, pattern: Bools, deadline: Deadline) -> None:
        view = exact.member.view
        problem = replace(view, weights=weights)
        same_structure(view.table, problem.table)
        seconds = None if deadline.moment is None else deadline.left
        params = ExactParams(seconds=seconds, nodes=exact.settings.nodes)
        # Shares may be equal by chance, and their unit is a millionth of the cost: no steps of one unit as for ties
        untied = ExactSettings(tied_share=math.inf)
        super().__init__(problem, params, np.random.default_rng(0), silent, Start(pattern), untied)
        self._known_cuts = exact.cuts

    def begin_search(self):  # type: ignore[no-untyped-def]
        search = super().begin_search()
        search.relaxation.add_to_pool(self._known_cuts)
        return search
