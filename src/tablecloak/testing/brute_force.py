"""Brute force over suppressions, judged by the oracle: is there a safe one below a cost?

If hiding more never hurts, a set of hidden cells needs a look only if no further cell fits below the cost, which leaves
few sets of the 2^n. Tiny tables only.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tablecloak.arrays import Bools
from tablecloak.model import Problem, Suppression
from tablecloak.testing.oracle import oracle_verdict


def safe_suppression_below(problem: Problem, cost: float) -> Suppression | None:
    """A suppression that the oracle finds safe and whose complementary cells weigh less than `cost`; None: none."""
    free = np.flatnonzero(~problem.forced & ~problem.must_hide)
    order = free[np.argsort(-problem.weights[free], kind="stable")]
    weights = problem.weights[order].tolist()
    for chosen in _sets_below(weights, cost, maximal=problem.is_monotone):
        hidden = problem.must_hide.copy()
        hidden[order[chosen]] = True
        pattern = Suppression.of(problem.table, hidden)
        if oracle_verdict(problem, pattern).safe:
            return pattern
    return None


def _sets_below(weights: list[float], cost: float, *, maximal: bool) -> Iterator[Bools]:
    """Sets that weigh less than `cost`; only those to which nothing can be added, if `maximal`."""
    count = len(weights)
    numbers = np.arange(2**count, dtype=np.int64)
    inside = (numbers[:, None] >> np.arange(count)) & 1 == 1
    total = inside @ np.array(weights)
    wanted = total < cost
    if maximal:
        lightest = np.where(inside, np.inf, np.array(weights)[None, :]).min(axis=1, initial=np.inf)
        wanted &= total + lightest >= cost
    yield from inside[wanted]
