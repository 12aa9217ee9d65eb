"""Searches of branch and cut up to a step of the recipe."""

from __future__ import annotations

from typing import Any

import numpy as np

from tablecloak import Problem
from tablecloak.methods.branch_and_cut import BranchAndCut, ExactParams
from tablecloak.methods.branch_and_cut.improvement import Improvements
from tablecloak.methods.branch_and_cut.search import SearchContext
from tablecloak.progress import silent


def run_of(problem: Problem, params: ExactParams | None = None, **options: Any) -> BranchAndCut:
    """A run that has not begun."""
    return BranchAndCut(problem, params or ExactParams(), np.random.default_rng(0), silent, **options)


def after_the_root(problem: Problem, params: ExactParams | None = None, **options: Any) -> SearchContext:
    """With a first pattern and the relaxation solved."""
    run = run_of(problem, params, **options)
    run.construct()
    search = run.begin_search()
    assert run.solve_root(search, Improvements(search))
    return search
