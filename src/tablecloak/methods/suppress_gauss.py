"""suppress-gauss: publish cells one after the other as long as no sensitive cell is a combination of published ones.

Gaussian elimination suppression. Every cell is a vector modulo the equations of the table (over its leaves, say). In
the order of decreasing weight:

    a cell that published cells determine is published too;
    one whose vector, modulo those of published cells, is a multiple of a sensitive cell's stays hidden;
    any other is published, and all vectors are reduced by it

so that no sensitive cell is a linear combination of published cells: it is not disclosed *exactly*. Elimination is in
the integers modulo the prime 2^31 - 1, which misses no combination and needs
no tolerance. Sums of cells with single respondents are sensitive too (`modular.singletons`).

Intervals are not looked at: what levels, attackers and bounds of cells leave open is found by the audit and repaired
(`heuristics.sequential`).

Additions: any equations, not only tables made from leaves; unions, as cells with equations of their own.

Reference: Langsrud (2024), Secondary cell suppression by Gaussian elimination: an algorithm suitable for handling
issues with zeros and singletons, in Privacy in Statistical Databases.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from tablecloak.arrays import Ints
from tablecloak.methods.base import Proposal, refuse_non_monotone
from tablecloak.methods.heuristics import GaussianEquations, OneByOneParams, Own, Requests, one_by_one
from tablecloak.methods.modular import SingletonRules, with_singletons
from tablecloak.model import Problem
from tablecloak.progress import Progress, TimeUp


@dataclass(frozen=True)
class GaussParams(OneByOneParams):
    """Parameters of suppress-gauss."""

    candidates: Literal["weight", "value", "small"] = "weight"
    """Whose turn to be published is first: the largest weight, the largest value, the smallest value."""
    zeros_first: bool = True
    """Publish zeros before all others."""
    singletons: bool = True
    """Protect sums of two sensitive cells of which one has one respondent (where respondents are known)."""


def suppress_gauss(
    problem: Problem,
    *,
    params: GaussParams,
    rng: np.random.Generator,
    progress: Progress,
) -> Proposal:
    """An audited suppression of a table without conditional levels and bounds on the number of touched cells."""
    params.check()
    refuse_non_monotone(problem, "suppress-gauss")
    return one_by_one(problem, params, rng, progress, partial(_build, params), "elimination modulo a prime")


def _build(params: GaussParams, requests: Requests) -> Own:
    """The paper's algorithm; everything that may be hidden where there was no time for it."""
    size = len(requests.problem.table)
    rules = SingletonRules(params.singletons, params.singletons)
    extended = with_singletons(requests.problem, rules)
    deadline, allowed = requests.deadline, requests.allowed
    try:
        outcome = GaussianEquations(extended.table).publishable(
            _ordered(params, requests), extended.forced, np.flatnonzero(extended.sensitive), deadline.passed
        )
    except TimeUp:
        return Own(allowed.copy(), notes=("stopped before the elimination was done",))
    counts = {
        "virtual cells": len(extended.table) - size,
        "published": int((outcome[:size] == 1).sum()),
        "known anyway": int((outcome[:size] == 2).sum()),
    }
    return Own(np.asarray(outcome[:size] == 0) | requests.hidden, counts)


def _ordered(params: GaussParams, requests: Requests) -> Ints:
    """The candidates: forced cells, zeros, and the others in their order; not those that must be hidden."""
    problem = requests.problem
    value = np.abs(problem.table.values)
    key = {"weight": -problem.weights, "value": -value, "small": value}[params.candidates]
    late = np.ones(value.size) if not params.zeros_first else np.asarray(value != 0, dtype=np.float64)
    late[problem.forced] = -1.0
    order = np.lexsort((np.arange(value.size), key, late))
    return order[~(problem.must_hide | requests.hidden)[order]].astype(np.int64)
