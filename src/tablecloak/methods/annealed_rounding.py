"""An additive rounding of a large table by simulated annealing: leaves up or down so that totals stay near.

A leaf that is no multiple of the base b goes to the next multiple below or above; totals are added up anew, so the
table is additive whatever is chosen. Total t is then off by  e_t = sum over its leaves of (b - r_i or -r_i),  r_i the
residue of leaf i. Sought are choices with a small  sum_t |e_t|  (`engines.balance`); then every total is off by a base
or two, where rounding leaves to the nearest multiple lets totals drift away by thousands of them.

This is the rounding of controlled rounding with K steps: all cells are shown within (K + 1) b of the truth, with the
least K that holds. For every K no rounding costs less than  sum_i w_i (distance of a_i to the nearest multiple).

References: Kirkpatrick, Gelatt & Vecchi (1983), Optimization by simulated annealing; for steps see `round_controlled`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from tablecloak.arrays import Floats, Ints
from tablecloak.methods.ladder import Ladder
from tablecloak.methods.rounding import WholeTable, adds_up
from tablecloak.problem import Problem
from tablecloak.progress import Deadline, Progress

STEPS_A_LEAF, MOST_STEPS = 600, 20_000_000
"""Steps of the annealing."""
HOT, COLD = 3.0, 0.1
"""Its temperatures, in bases."""


@dataclass(frozen=True, eq=False)
class AnnealedRounding:
    """What is shown, how many bases it is away from the truth at most, and what no rounding costs less than."""

    shown: Floats
    reach: int
    bound: float


def annealed_rounding(
    problem: Problem, whole: WholeTable, rng: np.random.Generator, progress: Progress, deadline: Deadline
) -> AnnealedRounding | None:
    """A rounding with small errors; None where totals do not follow from leaves, or a forced cell would move."""
    table = problem.table
    leaf = table.is_leaf & ~table.is_virtual
    ladder = Ladder.of(whole.equations, leaf)
    if ladder is None:
        return None
    progress("annealing", 0, 1)
    jump = ladder.climbed(_jumps(ladder, whole, leaf.nonzero()[0], rng, deadline))
    progress("annealing", 1, 1)
    if not adds_up(whole.equations, jump).all() or (jump[problem.forced] != 0).any():
        return None
    distance = np.minimum(whole.values % whole.base, -whole.values % whole.base)
    distance[problem.forced] = 0
    reach = max(1, math.ceil(int(np.abs(jump).max(initial=0)) / whole.base))
    return AnnealedRounding(
        whole.amounts(whole.values + jump), reach, float(problem.weights @ whole.amounts(distance))
    )


def _jumps(
    ladder: Ladder, whole: WholeTable, leaves: Ints, rng: np.random.Generator, deadline: Deadline
) -> Ints:
    """How far leaves move, zero at totals."""
    from tablecloak.engines.balance import balanced_senses

    base, count = whole.base, whole.values.size
    is_leaf = np.zeros(count, dtype=bool)
    is_leaf[leaves] = True
    residue = whole.values % base
    choice = np.flatnonzero(residue[leaves] > 0)
    moving = leaves[choice]
    senses: Ints = (2 * residue[moving] > base).astype(np.int64)
    sums = ladder.matrix(is_leaf)[~is_leaf]
    columns = csc_array(sums[:, choice].astype(np.float64))
    jump = np.zeros(count, dtype=np.int64)
    jump[moving] = np.where(senses == 1, base - residue[moving], -residue[moving])
    if moving.size == 0 or columns.nnz == 0:
        return jump
    found = balanced_senses(
        columns,
        np.full(moving.size, float(base)),
        np.zeros(moving.size),
        np.ones(columns.shape[0]),
        (sums @ jump[leaves]).astype(np.float64),
        senses,
        heat=(HOT * base, COLD * base),
        steps=min(STEPS_A_LEAF * moving.size, MOST_STEPS),
        seed=int(rng.integers(2**62)),
        stop=deadline.passed,
    )
    jump[moving] = np.where(found == 1, base - residue[moving], -residue[moving])
    return jump
