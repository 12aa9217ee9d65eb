"""First (compact) and second (cutting-plane) models agree: every form on hundreds of random small tables."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from cases.base import Part
from runner import Case, Row
from tablecloak import Problem
from tablecloak.arrays import Bools, Floats
from tablecloak.methods.unified import (
    CuttingPlaneModel,
    Formulation,
    ShownFormulation,
    additivity,
    combined_formulation,
    interval_formulation,
    joined,
    perturbation_formulation,
    rounding_formulation,
    solve_compact_model,
    suppression_formulation,
    with_senses,
)
from tablecloak.model import Prices, all_requirements, conditional_requirements
from tablecloak.progress import Deadline, silent
from tablecloak.solvers import Outcome
from tablecloak.testing import KINDS, random_problem

SECONDS = 5.0
"""That each model has for a form; where one is not done by then nothing is compared."""
TABLES = 15
"""Random tables of a kind with an option; 450 in all."""
CLOSE = 1e-5
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "insiders": {"insiders": 2},
    "sliding": {"sliding": True},
    "negative": {"negative": True},
    "conditional": {"conditional": True},
}
"""Whose knowledge and which levels: an outsider alone, two insiders, sliding levels, values of both signs, cells that
need a width if they are touched."""
AGREE, INFEASIBLE, UNFINISHED, DIFFER = "agree", "infeasible_agreed", "not_finished", "differ"


def agreement(seconds: float | None) -> Iterator[Case]:
    """One row for each form and kind of table, over all options."""
    limit = seconds or SECONDS
    for kind in KINDS:
        for form in FORMS:
            measure = partial(agreement_row, kind, form, TABLES, limit)
            facts = {"kind": kind, "form": form, "limit_s": f"{limit:g}"}
            yield Case(f"{kind}, {form}", measure, 2 * limit * TABLES * len(OPTIONS), (kind,), facts)


def agreement_row(kind: str, form: str, tables: int, seconds: float) -> Row:
    """Both models of a formulation on random tables with each option; the seeds of tables where they differ."""
    start, counts, worst = time.perf_counter(), Counter[str](), 0.0
    wrong = []
    for option in OPTIONS:
        for seed in range(tables):
            problem, rng = table_of(kind, option, seed)
            problem = boxed(problem) if form in BOXED else problem
            if form in LINEAR and problem.levels.conditional.any():
                counts["left_out"] += 1
                continue
            verdict, apart = compared(problem, FORMS[form](problem, rng), seconds)
            counts[verdict] += 1
            worst = max(worst, apart)
            wrong += [f"{option} #{seed}"] * (verdict == DIFFER)
    finished = counts[AGREE] + counts[INFEASIBLE] + counts[DIFFER]
    return {
        "tables": sum(counts.values()) - counts["left_out"],
        "compared": finished,
        **{name: counts[name] for name in (AGREE, INFEASIBLE, UNFINISHED, DIFFER)},
        "largest_difference": f"{worst:.1e}",
        "status": "models differ" if wrong else "models agree",
        "which": "; ".join(wrong),
        "seconds": round(time.perf_counter() - start, 1),
    }


def table_of(kind: str, option: str, seed: int) -> tuple[Problem, np.random.Generator]:
    """A random problem of a kind with an option, and the generator for what is asked about it."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind), list(OPTIONS).index(option), 5])
    return random_problem(kind, rng, **OPTIONS[option]), rng


def boxed(problem: Problem) -> Problem:
    """The same, where everybody knows each cell to within a few of the largest levels."""
    value, far = problem.table.values, 4 * _largest(problem) + 1.0
    return replace(
        problem,
        outsider_low=np.maximum(problem.outsider_low, value - far),
        outsider_high=np.minimum(problem.outsider_high, value + far),
    )


def compared(problem: Problem, form: Formulation, seconds: float) -> tuple[str, float]:
    """What both models say about a form, and how far their optima are apart as a share of them."""
    requirements, widths = (
        all_requirements(problem),
        conditional_requirements(problem, ~problem.forced & ~problem.must_hide),
    )
    first = solve_compact_model(problem, form, requirements, widths, seconds)
    second = CuttingPlaneModel(problem, form, requirements, widths, Deadline.after(seconds), silent).solve()
    if Outcome.TIME_LIMIT in (first.outcome, second.outcome):
        return UNFINISHED, 0.0
    if first.outcome is not second.outcome:
        return DIFFER, math.inf
    if first.outcome is not Outcome.OPTIMAL:
        return INFEASIBLE, 0.0
    apart = abs(first.objective - second.objective) / max(1.0, abs(first.objective))
    return (AGREE if apart <= CLOSE and second.safe else DIFFER), apart


# ---------------------------------------------------------------------- forms


def _price(problem: Problem, rng: np.random.Generator) -> Floats:
    return rng.integers(1, 6, len(problem.table)).astype(float)


def _largest(problem: Problem) -> float:
    return max((float(level.max()) for _, level in problem.levels.named()), default=1.0)


def _base(problem: Problem, rng: np.random.Generator, cells: Bools) -> Floats:
    """A base somewhat above the largest level, for these cells."""
    return np.where(cells, np.ceil(_largest(problem) * rng.choice([1.0, 2.0, 4.0])) + 1.0, 0.0)


def _summed(problem: Problem, shown: ShownFormulation) -> Formulation:
    return shown.formulation.with_constraints(additivity(problem, shown.value))


def suppression(problem: Problem, rng: np.random.Generator) -> Formulation:
    """Cells are hidden."""
    return suppression_formulation(problem, ~problem.forced)


def intervals(problem: Problem, rng: np.random.Generator) -> Formulation:
    """Cells are published as intervals."""
    price, none = _price(problem, rng), np.zeros(len(problem.table), dtype=bool)
    return interval_formulation(problem, ~problem.forced, none, Prices.even(price))


def combined(problem: Problem, rng: np.random.Generator) -> Formulation:
    """The same with a price for touching a cell."""
    price, none, largest = _price(problem, rng), np.zeros(len(problem.table), dtype=bool), _largest(problem)
    return combined_formulation(
        problem, ~problem.forced, none, Prices.even(price, 10 * largest * price), 4 * largest
    )


def rounding(problem: Problem, rng: np.random.Generator, steps: int = 0) -> Formulation:
    """Controlled rounding, with this number of steps beyond the next multiples."""
    price, cells = _price(problem, rng), ~problem.forced
    return _summed(
        problem, rounding_formulation(problem, cells, _base(problem, rng, cells), steps, Prices.even(price))
    )


def perturbation(problem: Problem, rng: np.random.Generator) -> Formulation:
    """Perturbation with a sense for each sensitive cell."""
    price, cells, levels = _price(problem, rng), ~problem.forced, problem.levels
    up, down = np.maximum(levels.upper, levels.sliding / 2), np.maximum(levels.lower, levels.sliding / 2)
    near = perturbation_formulation(problem, cells, 2 * _base(problem, rng, cells), Prices.even(price))
    return _summed(problem, with_senses(near, problem, cells, up, down))


def mixed(problem: Problem, rng: np.random.Generator) -> Formulation:
    """Intervals with a price for touching for leaves, rounded totals: one program."""
    price, none = _price(problem, rng), np.zeros(len(problem.table), dtype=bool)
    leaves, largest = problem.table.is_leaf & ~problem.forced, _largest(problem)
    totals = ~problem.table.is_leaf & ~problem.forced
    inner = combined_formulation(problem, leaves, none, Prices.even(price, 10 * largest * price), 4 * largest)
    outer = rounding_formulation(problem, totals, _base(problem, rng, totals), 0, Prices.even(price))
    return joined([(leaves, inner), (~leaves, outer.formulation)])


FORMS: Mapping[str, Callable[[Problem, np.random.Generator], Formulation]] = {
    "suppression": suppression,
    "intervals": intervals,
    "combined": combined,
    "rounding": rounding,
    "rounding with a step": partial(rounding, steps=1),
    "perturbation": perturbation,
    "intervals and rounding": mixed,
}
LINEAR = ("intervals",)
"""Pure linear programs do not know whether a cell is touched: conditional widths are not for them."""
BOXED = ("suppression",)
"""A hidden cell has all the room there is: as a program it needs boxes that are finite."""

PARTS = (
    Part(
        "models",
        "compact and cutting-plane models of every formulation on 450 random small tables",
        agreement,
    ),
)
