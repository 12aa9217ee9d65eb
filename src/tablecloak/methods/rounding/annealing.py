"""An additive rounding of a large table by simulated annealing: leaves up or down so that totals stay near.

A leaf that is no multiple of the base b goes to the next multiple below or above; totals are added up anew, so the
table is additive whatever is chosen. Total t is then off by  e_t = sum over its leaves of (b - r_i or -r_i),  r_i the
residue of leaf i. Sought are choices with a small  sum_t |e_t|  (`solvers.kernels.sign_annealing`); then every total is
off by a base or two, where rounding leaves to the nearest multiple lets totals drift away by thousands of them.

Where leaves are tied to each other (linked tables), or a forced cell would move, free cells take the place of leaves:
cells that give all others in whole numbers, zeros and forced cells kept (`integral_basis`). Cells that depend on them
may then come out below zero, or far away: their e_t counts more in the next of some rounds. The best round counts: none
below zero, then the least K.

This is the rounding of controlled rounding with K steps: all cells are shown within (K + 1) b of the truth, with the
least K that holds. For every K no rounding costs less than  sum_i w_i (distance of a_i to the nearest multiple).

References: Kirkpatrick, Gelatt & Vecchi (1983), Optimization by simulated annealing; for steps see `round_controlled`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.methods.rounding.integer_units import WholeTable, adds_up
from tablecloak.methods.rounding.integral_basis import FreeCells
from tablecloak.model import Problem
from tablecloak.progress import Deadline, Progress


@dataclass(frozen=True)
class AnnealingSettings:
    """Tuning of the annealing."""

    steps_a_cell: int = 600
    """Steps for each free cell."""
    most_steps: int = 20_000_000
    hot: float = 3.0
    cold: float = 0.1
    """Temperatures at first and in the end, in bases."""
    rounds: int = 4
    """Maximum number of rounds where cells that depend on others are below zero or far away."""
    near: int = 2
    """Bases: no further round for a rounding that is within these."""
    dearer: float = 4.0
    """By this factor such cells count more in the next round. Rounds were set on hier16 and ninenew."""


@dataclass(frozen=True, eq=False)
class AnnealedRounding:
    """What is shown, how many bases it is away from the truth at most, and what no rounding costs less than."""

    shown: Floats
    reach: int
    bound: float
    tied: bool = False
    """Whether leaves of the table were tied to each other, as in linked tables."""


def annealed_rounding(
    problem: Problem,
    whole: WholeTable,
    rng: np.random.Generator,
    progress: Progress,
    deadline: Deadline,
    settings: AnnealingSettings = AnnealingSettings(),
) -> AnnealedRounding | None:
    """A rounding with small errors; None where no cells are found that give all others in whole numbers.

    None also where the numbers that come out are below zero, but not those of the table, or are no multiples because a
    right-hand side is none.
    """
    table = problem.table
    leaf = table.is_leaf & ~table.is_virtual
    progress("annealing", 0, 1)
    free = FreeCells.of_leaves(whole.equations, leaf)
    jump = None if free is None else _Annealing(free, whole, settings, deadline).jump(rng)
    if jump is None or (jump[problem.forced] != 0).any():
        kept = problem.forced | (whole.values == 0)
        size = np.abs(whole.values).astype(np.float64)
        free = FreeCells.by_elimination(whole.equations, leaf, kept, size, deadline.passed)
        jump = None if free is None else _Annealing(free, whole, settings, deadline).jump(rng)
    progress("annealing", 1, 1)
    if free is None or jump is None or not _is_rounding(problem, whole, jump):
        return None
    distance = np.minimum(whole.values % whole.base, -whole.values % whole.base)
    distance[problem.forced] = 0
    return AnnealedRounding(
        whole.amounts(whole.values + jump),
        _reach(jump, whole.base),
        float(problem.weights @ whole.amounts(distance)),
        free.tied,
    )


def _reach(jump: Ints, base: int) -> int:
    """How many bases cells move at most."""
    return max(1, math.ceil(int(np.abs(jump).max(initial=0)) / base))


def _below(whole: WholeTable, jump: Ints) -> Bools:
    """Cells that come out below zero and are not."""
    return np.asarray((whole.values >= 0) & (whole.values + jump < 0))


def _is_rounding(problem: Problem, whole: WholeTable, jump: Ints) -> bool:
    """Whether multiples come out that add up, forced cells as they are and none below zero that is not."""
    return bool(
        adds_up(whole.equations, jump).all()
        and not jump[problem.forced].any()
        and not ((whole.values + jump) % whole.base).any()
        and not _below(whole, jump).any()
    )


@dataclass(frozen=True, eq=False)
class _Annealing:
    """Choices of the free cells. Confidential."""

    free: FreeCells
    whole: WholeTable
    settings: AnnealingSettings
    deadline: Deadline

    def jump(self, rng: np.random.Generator) -> Ints:
        """How far all cells move, by the best of the rounds."""
        whole, settings = self.whole, self.settings
        price = np.ones(whole.values.size)
        best = self._round(price, rng)
        for _ in range(settings.rounds - 1 if self.free.tied else 0):
            off = _below(whole, best) | (np.abs(best) > settings.near * whole.base)
            if not off.any() or self.deadline.passed():
                break
            price[off] *= settings.dearer
            best = min(best, self._round(price, rng), key=self._worth)
        return best

    def _worth(self, jump: Ints) -> tuple[int, int, int]:
        """What is best has the least of this."""
        return int(_below(self.whole, jump).sum()), _reach(jump, self.whole.base), int(np.abs(jump).sum())

    def _round(self, price: Floats, rng: np.random.Generator) -> Ints:
        """How far all cells move; those that depend count by their prices."""
        from tablecloak.solvers.kernels.sign_annealing import balanced_senses

        base, free, settings = self.whole.base, self.free, self.settings
        depends = np.ones(self.whole.values.size, dtype=bool)
        depends[free.cells] = False
        residue = self.whole.values[free.cells] % base
        choice = np.flatnonzero(residue > 0)
        rest = residue[choice]
        senses: Ints = (2 * rest > base).astype(np.int64)
        sums = free.matrix[depends]
        columns = csc_array(sums[:, choice].astype(np.float64))
        moves = np.zeros(free.cells.size, dtype=np.int64)
        moves[choice] = np.where(senses == 1, base - rest, -rest)
        if choice.size and columns.nnz:
            found = balanced_senses(
                columns,
                np.full(choice.size, float(base)),
                np.zeros(choice.size),
                price[depends],
                (sums @ moves).astype(np.float64),
                senses,
                heat=(settings.hot * base, settings.cold * base),
                steps=min(settings.steps_a_cell * choice.size, settings.most_steps),
                seed=int(rng.integers(2**62)),
                stop=self.deadline.passed,
            )
            moves[choice] = np.where(found == 1, base - rest, -rest)
        return np.asarray(free.matrix @ moves)
