"""Patterns by strata: safe against all attackers, the same again, stopped at any time, no dearer after the search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem
from tablecloak.methods import largest_pattern
from tablecloak.methods.base import complementary_cost
from tablecloak.methods.heuristics import StrataSearch
from tablecloak.model import Suppression, unmet_requirements
from tablecloak.progress import Deadline, silent
from tablecloak.testing import KINDS, assert_protected, random_problem


def search_of(problem, progress=silent, deadline=None):
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    allowed = largest_pattern(problem, silent)
    rng = np.random.default_rng(0)
    return StrataSearch(problem, allowed, requirements, rng, progress, deadline or Deadline.after(None))


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_are_safe_and_the_search_makes_them_no_dearer(kind):
    checked = 0
    for seed in range(8):
        problem = random_problem(kind, np.random.default_rng(seed), insiders=seed % 3)
        if not StrataSearch.fits(problem):
            continue
        try:
            search = search_of(problem)
        except InfeasibleProblem:
            continue
        search.build()
        assert search.best is not None
        assert_protected(problem, Suppression.copy_of(search.best))
        built = search.cost
        search.improve(24)
        assert_protected(problem, Suppression.copy_of(search.best))
        assert search.cost <= built
        again = search_of(problem)
        again.build()
        again.improve(24)
        assert np.array_equal(search.best, again.best)
        checked += 1
    assert checked


def test_costs_that_are_reported_are_those_of_safe_patterns():
    problem = random_problem("hierarchical", np.random.default_rng(5), insiders=1)
    costs = []

    def note(phase, done, total, incumbent=None, bound=None):
        costs.append(incumbent)

    search = search_of(problem, note)
    search.build()
    search.improve(40)
    known = [cost for cost in costs if cost is not None]
    assert known
    assert min(known) == complementary_cost(problem, search.best)


@pytest.mark.parametrize("moment", range(0, 60, 6))
def test_a_stop_leaves_the_pattern_before_it_or_none(moment):
    problem, calls = random_problem("three-way", np.random.default_rng(2)), [0]

    def interrupt(phase, done, total, incumbent=None, bound=None):
        calls[0] += 1
        if calls[0] == moment + 1:
            raise KeyboardInterrupt

    search = search_of(problem, interrupt)
    search.build()
    search.improve(100)
    if moment:
        assert_protected(problem, Suppression.copy_of(search.best))
    else:
        assert search.best is None


def test_conditional_levels_are_left_to_other_methods():
    problem = random_problem("three-way", np.random.default_rng(1))
    assert StrataSearch.fits(problem)
    levels = problem.levels
    conditional = np.where(problem.sensitive, 0.0, 1.0)
    assert not StrataSearch.fits(replace(problem, levels=replace(levels, conditional=conditional)))
