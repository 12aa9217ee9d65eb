"""Perturbation within ranges as a formulation of the unified framework (`unified.formulation`).

The stated reach depends on what is shown, f(v) = constant + rate v, so the deviations that the publication leaves are

    U = v + f(v) - a = own + (1 + rate) d,    D = a - v + f(v) = own - (1 - rate) d,    d = v - a,  own = f(a),

affine in what is decided. What is stated in the end is a little more, which only adds deviations (and may let integer
units cost a little less than the model's optimum).

Reference: Salazar-Gonzalez (2002), A unified mathematical programming framework.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, diags_array

from tablecloak.arrays import Ints
from tablecloak.methods.adjustment.reach import Ranges
from tablecloak.methods.unified import (
    Affine,
    ShownFormulation,
    additivity,
    length_unit,
    perturbation_formulation,
    with_senses,
)
from tablecloak.model import Problem
from tablecloak.progress import Progress


def price_unit(problem: Problem) -> float:
    """The unit of costs in programs, so that they are around one."""
    mean = problem.applied_prices.mean
    positive = mean[mean > 0]
    return (float(positive.mean()) if positive.size else 1.0) * length_unit(problem)


def formulate(problem: Problem, ranges: Ranges, counted: bool, *, additive: bool = True) -> ShownFormulation:
    """The formulation of a perturbation within ranges; cells with a choice have a binary sense, if there are any.

    Costs are in units of `price_unit`. `counted`: with a binary column for each cell, whether it is changed;
    `additive`: with the equations of the table.
    """
    unit, cells = problem.table.unit, ~problem.forced
    furthest = np.maximum.reduce([ranges.high, -ranges.low, ranges.up_high, ranges.down_high]) * unit
    prices = problem.applied_prices.per(price_unit(problem))
    shown = perturbation_formulation(problem, cells, np.where(cells, furthest, 0.0), prices, counted)
    shown = _within(shown, problem, ranges, np.flatnonzero(cells & (furthest > 0)))
    if additive:
        constraints = additivity(problem, shown.value)
        shown = replace(shown, formulation=shown.formulation.with_constraints(constraints))
    own = ranges.constant + ranges.rate * np.where(cells, problem.table.values, 0.0)
    above = Affine(own, csr_array(diags_array(1 + ranges.rate) @ shown.value.matrix))
    below = Affine(own, csr_array(diags_array(ranges.rate - 1) @ shown.value.matrix))
    formulation = shown.formulation.at_most_touched(problem.most_touched)
    return replace(shown, formulation=replace(formulation, above=above, below=below))


def _within(shown: ShownFormulation, problem: Problem, ranges: Ranges, mine: Ints) -> ShownFormulation:
    """The formulation with the bounds of the ranges of its cells, and senses where there is a choice."""
    unit, cells = problem.table.unit, ~problem.forced
    count, ratio = mine.size, unit / length_unit(problem)
    sensitive, rises, falls = (mask[mine] for mask in (problem.sensitive, ranges.rises, ranges.falls))
    low, high = shown.formulation.low.copy(), shown.formulation.high.copy()
    high[:count] = np.where(problem.sensitive, ranges.up_high, ranges.high)[mine] * ratio
    high[count : 2 * count] = np.where(problem.sensitive, ranges.down_high, -ranges.low)[mine] * ratio
    high[:count][sensitive & ~rises] = 0.0
    high[count : 2 * count][sensitive & ~falls] = 0.0
    if not ranges.both.any():
        low[:count] = np.where(rises, ranges.up_low[mine] * ratio, 0.0)
        low[count : 2 * count] = np.where(falls, ranges.down_low[mine] * ratio, 0.0)
    shown = replace(shown, formulation=replace(shown.formulation, low=low, high=high))
    if ranges.both.any():
        columns = shown.formulation.size
        shown = with_senses(shown, problem, cells, ranges.up_low * unit, ranges.down_low * unit)
        low, high = shown.formulation.low.copy(), shown.formulation.high.copy()
        low[columns:] = (rises & ~falls)[sensitive]
        high[columns:] = rises[sensitive]
        shown = replace(shown, formulation=replace(shown.formulation, low=low, high=high))
    return shown


def in_costs(problem: Problem, progress: Progress) -> Progress:
    """Progress that reports in costs what a program reports in units of `price_unit`."""
    factor = price_unit(problem)

    def reported(
        phase: str, done: int, total: int, incumbent: float | None = None, bound: float | None = None
    ) -> None:
        costs = [None if one is None else one * factor for one in (incumbent, bound)]
        progress(phase, done, total, *costs)

    return reported
