"""suppress-gauss: publish cells one after the other as long as no sensitive cell is a combination of published ones.

Gaussian elimination suppression. Every cell is a vector modulo the equations of the table (over its leaves, say). In
the order of decreasing weight:

    a cell that published cells determine is published too;
    one whose vector, modulo those of published cells, is a multiple of a sensitive cell's stays hidden;
    any other is published, and all vectors are reduced by it

so that no sensitive cell is a linear combination of published cells: it is not disclosed *exactly*. Elimination is in
the integers modulo the prime 2^31 - 1 (`solvers.kernels`, modular_elimination), which misses no combination and needs
no tolerance. Sums of cells with single respondents are sensitive too (`modular.singletons`).

Intervals are not looked at: what levels, attackers and bounds of cells leave open is found by the audit and repaired
(`heuristics.sequential`).

Additions: any equations, not only tables made from leaves; unions, as cells with equations of their own.

Reference: Langsrud (2024), Secondary cell suppression by Gaussian elimination: an algorithm suitable for handling
issues with zeros and singletons, in Privacy in Statistical Databases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.attacker import read_lines, usual_total_sign
from tablecloak.methods.base import Proposal, refuse_non_monotone
from tablecloak.methods.heuristics import OneByOneParams, Own, Requests, one_by_one
from tablecloak.methods.modular import SingletonRules, with_singletons
from tablecloak.model import Problem
from tablecloak.progress import Progress, TimeUp
from tablecloak.solvers import kernels


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
        outcome = _eliminated(extended, _ordered(params, requests), deadline.passed)
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


def _eliminated(problem: Problem, candidates: Ints, stop: Callable[[], bool]) -> NDArray[np.uint8]:
    """Which candidates are published (1), known anyway (2) or hidden (0)."""
    matrix = csr_array(problem.table.equations)
    height = _heights(matrix)
    highest = np.maximum.reduceat(height[matrix.indices], matrix.indptr[:-1]) if matrix.nnz else np.zeros(0)
    forced: Bools = problem.forced
    return kernels.publishable(
        matrix.indptr.astype(np.int32),
        matrix.indices.astype(np.int32),
        np.rint(matrix.data).astype(np.int64),
        np.argsort(highest, kind="stable").astype(np.int64),
        height,
        candidates,
        forced.astype(np.uint8),
        np.flatnonzero(problem.sensitive).astype(np.int64),
        stop,
    )


def _heights(matrix: csr_array) -> Floats:
    """How many equations lie between a cell and the deepest of its parts; 0 where equations are no lines.

    Equations from the bottom up, each solved for its total, keep expressions short.
    """
    height = np.zeros(matrix.shape[1])
    lines = read_lines(matrix, usual_total_sign(matrix, -1)) if matrix.nnz else None
    if lines is None:
        return height
    for _ in range(matrix.shape[1]):
        before = height.copy()
        np.maximum.at(height, lines.total[lines.of], height[lines.part] + 1.0)
        if np.array_equal(before, height) or height.max() > matrix.shape[0]:
            break
    return height
