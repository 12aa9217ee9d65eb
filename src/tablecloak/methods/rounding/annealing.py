"""An additive rounding of a large table by simulated annealing: leaves up or down so that totals stay near.

A leaf that is no multiple of the base b goes to the next multiple below or above; totals are added up anew, so the
table is additive whatever is chosen. Total t is then off by  e_t = sum over its leaves of (b - r_i or -r_i),  r_i the
residue of leaf i. Sought are choices with a small  sum_t |e_t|  (`solvers.balanced_senses`); then every total is
off by a base or two, where rounding leaves to the nearest multiple lets totals drift away by thousands of them.

Where leaves are linearly dependent (linked tables), or a forced cell would move, free cells take the place of leaves:
cells that determine all others in integers, zeros and forced cells kept (`integral_basis`). Dependent cells may then
come out below zero, or far away: their e_t gets a larger penalty in the next of some rounds. The best round counts:
none below zero, then the least K.

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
from tablecloak.errors import InputError, NotApplicable
from tablecloak.methods.rounding.integer_units import (
    IntegerTable,
    adds_up,
    integer_table,
    least_change,
    true_leaves,
)
from tablecloak.methods.rounding.integral_basis import IntegralBasis
from tablecloak.methods.rounding.settings import AnnealingSettings
from tablecloak.model import Problem
from tablecloak.progress import Deadline, Progress
from tablecloak.solvers import balanced_senses


@dataclass(frozen=True, eq=False)
class AnnealedRounding:
    """A rounding that adds up. Confidential."""

    shown: Floats
    reach: int
    """The maximum distance to the truth, in bases."""
    bound: float
    """A lower bound on the cost of every rounding."""
    units: IntegerTable
    """The table that was rounded, in integer units."""
    tied: bool = False
    """Whether leaves of the table are linearly dependent, as in linked tables."""


def anneal(
    problem: Problem,
    bases: Floats,
    rng: np.random.Generator,
    progress: Progress,
    deadline: Deadline,
    settings: AnnealingSettings = AnnealingSettings(),
) -> AnnealedRounding | None:
    """`annealed_rounding` for the bases of all cells that are rounded; None where it cannot be done.

    There must be a single base, and it must not matter which cells are touched.
    """
    base = np.unique(bases)
    if base.size != 1 or base[0] == 0 or not problem.is_monotone:
        return None
    try:
        units = integer_table("annealing", problem, float(base[0]))
    except (InputError, NotApplicable):  # forced cells that are no multiples, or fractions in equations
        return None
    return annealed_rounding(problem, units, rng, progress, deadline, settings)


def annealed_rounding(
    problem: Problem,
    units: IntegerTable,
    rng: np.random.Generator,
    progress: Progress,
    deadline: Deadline,
    settings: AnnealingSettings = AnnealingSettings(),
) -> AnnealedRounding | None:
    """A rounding with small errors; None where no integral basis is found.

    None also where the numbers that come out are below zero, but not those of the table, or are no multiples because a
    right-hand side is none.
    """
    leaf = true_leaves(problem.table)
    progress("annealing", 0, 1)
    basis = IntegralBasis.of_leaves(units.equations, leaf)
    jump = None if basis is None else _Annealing(basis, units, settings, deadline).jump(rng)
    if jump is None or (jump[problem.forced] != 0).any():
        kept = problem.forced | (units.values == 0)
        size = np.abs(units.values).astype(np.float64)
        basis = IntegralBasis.by_elimination(
            units.equations, leaf, kept, size, deadline.passed, settings.basis
        )
        jump = None if basis is None else _Annealing(basis, units, settings, deadline).jump(rng)
    progress("annealing", 1, 1)
    if basis is None or jump is None or not _is_rounding(problem, units, jump):
        return None
    return AnnealedRounding(
        units.amounts(units.values + jump),
        _reach(jump, units.base),
        least_change(problem, units, ~problem.forced),
        units,
        basis.tied,
    )


def _reach(jump: Ints, base: int) -> int:
    """The maximum distance that cells move, in bases."""
    return max(1, math.ceil(int(np.abs(jump).max(initial=0)) / base))


def _below(units: IntegerTable, jump: Ints) -> Bools:
    """Cells that come out below zero although their values are not."""
    return np.asarray((units.values >= 0) & (units.values + jump < 0))


def _is_rounding(problem: Problem, units: IntegerTable, jump: Ints) -> bool:
    """Whether the result is additive, of multiples, with forced cells kept and no cell newly below zero."""
    return bool(
        adds_up(units.equations, jump).all()
        and not jump[problem.forced].any()
        and not ((units.values + jump) % units.base).any()
        and not _below(units, jump).any()
    )


@dataclass(frozen=True, eq=False)
class _Annealing:
    """Directions of the free cells. Confidential."""

    basis: IntegralBasis
    units: IntegerTable
    settings: AnnealingSettings
    deadline: Deadline

    def jump(self, rng: np.random.Generator) -> Ints:
        """The moves of all cells, by the best of the rounds."""
        units, settings = self.units, self.settings
        penalty = np.ones(units.values.size)
        best = self._round(penalty, rng)
        for _ in range(settings.rounds - 1 if self.basis.tied else 0):
            off = _below(units, best) | (np.abs(best) > settings.near * units.base)
            if not off.any() or self.deadline.passed():
                break
            penalty[off] *= settings.penalty_growth
            best = min(best, self._round(penalty, rng), key=self._rank)
        return best

    def _rank(self, jump: Ints) -> tuple[int, int, int]:
        """The order of roundings: less is better."""
        return int(_below(self.units, jump).sum()), _reach(jump, self.units.base), int(np.abs(jump).sum())

    def _round(self, penalty: Floats, rng: np.random.Generator) -> Ints:
        """The moves of all cells after one annealing with penalties of the dependent ones."""
        base, basis, settings = self.units.base, self.basis, self.settings
        depends = np.ones(self.units.values.size, dtype=bool)
        depends[basis.cells] = False
        residue = self.units.values[basis.cells] % base
        choice = np.flatnonzero(residue > 0)
        rest = residue[choice]
        senses: Ints = (2 * rest > base).astype(np.int64)
        sums = basis.matrix[depends]
        columns = csc_array(sums[:, choice].astype(np.float64))
        moves = np.zeros(basis.cells.size, dtype=np.int64)
        moves[choice] = np.where(senses == 1, base - rest, -rest)
        if choice.size and columns.nnz:
            found = balanced_senses(
                columns,
                np.full(choice.size, float(base)),
                np.zeros(choice.size),
                penalty[depends],
                (sums @ moves).astype(np.float64),
                senses,
                heat=(settings.hot * base, settings.cold * base),
                steps=min(settings.steps_a_cell * choice.size, settings.most_steps),
                seed=int(rng.integers(2**62)),
                stop=self.deadline.passed,
                settings=settings.balancing,
            )
            moves[choice] = np.where(found == 1, base - rest, -rest)
        return np.asarray(basis.matrix @ moves)
