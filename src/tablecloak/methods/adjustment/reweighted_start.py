"""A quick start for controlled tabular adjustment, at any size (see `model`).

Sensitive cells move by exactly their levels, in senses for which the equations nearly hold, found by simulated
annealing (`solvers.balanced_senses`); an equation that is out of balance is priced at what cells in it cost.
Then, with these senses, the imbalance is spread over all cells by least squares, again and again with weights 1 / |d|,
which concentrates it in few cells, and a linear program over these cells, and others worth having, ends it. Infeasible
senses are repaired by a feasibility pump (`feasibility_pump`).

References: Kirkpatrick, Gelatt & Vecchi (1983), Optimization by simulated annealing; Daubechies, DeVore, Fornasier &
Gunturk (2010), Iteratively reweighted least squares minimization for sparse recovery, Communications on Pure and
Applied Mathematics 63(1).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Ints
from tablecloak.methods.adjustment.feasibility_pump import pump_senses
from tablecloak.methods.adjustment.integer_units import IntegerUnits
from tablecloak.methods.adjustment.model import Move
from tablecloak.methods.adjustment.programs import Adjustment
from tablecloak.methods.adjustment.reach import cost_of
from tablecloak.progress import Progress
from tablecloak.solvers import Outcome, balanced_senses, least_squares


def quick_move(adjustment: Adjustment, rng: np.random.Generator, progress: Progress) -> Move | None:
    """A move with senses that nearly balance every equation; None if none was found (in time)."""
    progress("balancing senses", 0, 1)
    senses = annealed_senses(adjustment, rng)
    progress("balancing senses", 1, 1)
    if adjustment.gives_up():
        return None
    gathers = adjustment.sifts and adjustment.right.size <= adjustment.settings.start.most_equations
    near = _sparse_move(adjustment, senses) if gathers else None
    outcome, move, _ = adjustment.solve(senses, adjustment.least_seconds, near=near)
    if move.moved.size:
        return move
    if outcome is Outcome.INFEASIBLE:
        return pump_senses(
            adjustment, senses, rng, progress, settings=replace(adjustment.settings.pump, fading=0.0)
        )
    return None if near is None or adjustment.gives_up() else _rounded(adjustment, senses, near)


def _rounded(adjustment: Adjustment, senses: Ints, near: Floats) -> Move | None:
    """The least-squares move in integer units: additive also when there was no time for a linear program."""
    units = IntegerUnits(adjustment.problem, adjustment.settings.integer_units)
    moved = units.near(near, adjustment.ends(senses), adjustment.least_seconds)
    if moved is None:
        return None
    return Move(moved, cost_of(adjustment.problem, moved), np.zeros(0))


def annealed_senses(adjustment: Adjustment, rng: np.random.Generator) -> Ints:
    """Senses of the cells with a choice for which moves by exactly the levels are nearly additive."""
    settings, ranges, choice, columns = (
        adjustment.settings.start,
        adjustment.ranges,
        adjustment.choice,
        adjustment.columns,
    )
    senses: Ints = rng.integers(0, 2, choice.size)
    if choice.size == 0:
        return senses
    up, down = ranges.up_low[choice], ranges.down_low[choice]
    if columns.shape[0] == 0:  # nothing to balance: the shorter move
        return (up <= down).astype(np.int64)
    fixed = np.where(ranges.rises, ranges.up_low, np.where(ranges.falls, -ranges.down_low, 0.0))
    fixed[choice] = np.where(senses == 1, up, -down)
    prices = adjustment.problem.applied_prices
    rising, falling = prices.up[choice], prices.down[choice]
    price = _row_prices(adjustment)
    mine = columns[:, choice]
    typical = float(np.median(np.minimum(up, down)) * price.mean()) or 1.0
    return balanced_senses(
        mine,
        up + down,
        rising * (up - down) + (rising - falling) * down,
        price,
        columns @ fixed,
        senses,
        heat=(settings.hot * typical, settings.cold * typical),
        steps=min(settings.steps_a_cell * choice.size, settings.most_steps),
        seed=int(rng.integers(2**62)),
        stop=adjustment.deadline.passed,
        settings=settings.balancing,
    )


def _row_prices(adjustment: Adjustment) -> Floats:
    """The price of a unit of imbalance of each equation: a low weight in it, shared by all equations of a cell."""
    columns = adjustment.columns
    moves, quantile = adjustment.movable, adjustment.settings.start.price_quantile
    matrix = csr_array(columns[:, np.flatnonzero(moves)])
    weights = adjustment.problem.applied_prices.mean[moves][matrix.indices]
    of = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((weights, of))
    count = np.diff(matrix.indptr)
    place = np.minimum(matrix.indptr[:-1] + (quantile * count).astype(np.int64), max(matrix.nnz - 1, 0))
    shared = max(matrix.nnz / max(int(moves.sum()), 1), 1.0)
    found = weights[order][place] if matrix.nnz else np.zeros(matrix.shape[0])
    return np.asarray(np.maximum(np.where(count > 0, found, found.max(initial=1.0)), 1e-9) / shared)


def _sparse_move(adjustment: Adjustment, senses: Ints) -> Floats:
    """A nearly additive move with these senses in which few cells move further than they must.

    The first round is always made: it leads to a result when the time is up.
    """
    settings = adjustment.settings.start
    low, high = (end / adjustment.scale for end in adjustment.ends(senses))
    rest = np.clip(0.0, low, high)
    matrix, right = csr_array(adjustment.basis), -(adjustment.basis @ rest)
    weights = adjustment.problem.applied_prices.mean
    weights = np.maximum(weights, 1e-9 * float(weights.max(initial=1.0)))
    weights = weights / float(weights.mean())
    bend, extra = 1.0, np.zeros(rest.size)
    for number in range(settings.reweightings):
        if number and adjustment.deadline.passed():
            break
        stop = adjustment.deadline.passed if number or adjustment.fallback else (lambda: False)
        prices = weights / (np.abs(extra) + bend)
        found = least_squares(
            matrix, right, prices, (low - rest, high - rest), stop=stop, settings=adjustment.settings.newton
        )
        if number and found.residual > 1.0:  # stopped on the way
            break
        extra, bend = found.values, settings.sharpening * bend
    return np.asarray((rest + extra) * adjustment.scale)
