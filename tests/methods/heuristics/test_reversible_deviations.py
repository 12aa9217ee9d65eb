"""Deviations that serve many requirements each: safe patterns and safe intervals from few linear programs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.arrays import frozen
from tablecloak.auditing import audit
from tablecloak.methods import largest_pattern
from tablecloak.methods.heuristics import CubeSearch, QuickDeviations
from tablecloak.methods.heuristics.reversible_deviations import HeldDeviation, spanned
from tablecloak.methods.intervals import stated
from tablecloak.model import Suppression, all_requirements, box_deviation_bounds, unmet_requirements
from tablecloak.progress import NEVER, Deadline, silent
from tablecloak.testing import assert_protected
from tablecloak.testing.random_cases import random_case, random_levels

MONOTONE = [name for name, make in FIXTURES.items() if make().is_monotone]


def built(problem, requirements, deadline=NEVER):
    search = QuickDeviations(problem, largest_pattern(problem), requirements, silent, deadline)
    search.build()
    return search


@pytest.mark.parametrize("fixture", MONOTONE)
def test_all_requirements_get_a_witness(fixture):
    problem = FIXTURES[fixture]()
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    search = built(problem, requirements)
    assert not search.unmet
    assert search.programs <= 4 * max(1, len(requirements))
    assert_protected(problem, Suppression.copy_of(search.hidden))


@pytest.mark.parametrize("fixture", MONOTONE)
def test_what_deviations_span_is_safe_as_intervals(fixture):
    """Up to a data unit: ends of linear programs are rounded outward."""
    problem = FIXTURES[fixture]()
    search = built(problem, all_requirements(problem))
    below, above = (np.ceil(side / problem.table.unit - 1e-6) * problem.table.unit for side in search.spans())
    assert np.isfinite(below).all() and np.isfinite(above).all()
    assert not below[problem.forced].any() and not above[problem.forced].any()
    most_below, most_above = box_deviation_bounds(problem)
    assert_protected(problem, stated(problem, np.minimum(below, most_below), np.minimum(above, most_above)))


@pytest.mark.parametrize("fixture", ["two way", "three way", "two hierarchies"])
def test_what_hypercubes_span_is_safe_as_intervals(fixture):
    problem = FIXTURES[fixture]()
    cubes = CubeSearch(
        problem, ~problem.forced, all_requirements(problem), np.random.default_rng(0), silent, NEVER
    )
    cubes.build()
    assert not cubes.unmet
    below, above = cubes.spans()
    assert ((below > 0) | (above > 0))[problem.sensitive].all()
    assert_protected(problem, stated(problem, below, above))


def test_multiples_in_use_span_both_sides():
    one = HeldDeviation(np.array([0, 2]), np.array([2.0, -1.0]), along=3.0, against=1.0)
    below, above = spanned(3, [one, HeldDeviation(np.array([0]), np.array([1.0]), along=7.0)])
    assert below.tolist() == [2.0, 0.0, 3.0] and above.tolist() == [7.0, 0.0, 1.0]


def test_one_deviation_meets_both_sides_of_its_cell():
    problem = FIXTURES["two way"]()
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    sided = {(requirement.cell, requirement.attacker) for requirement in requirements}
    assert len(built(problem, requirements).held) <= len(sided) <= len(requirements)


def test_a_passed_deadline_leaves_requirements_unmet():
    problem = FIXTURES["three way"]()
    requirements = unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    search = built(problem, requirements, Deadline.after(0.0))
    assert search.unmet == sorted(
        requirements,
        key=lambda requirement: (
            requirement.attacker > 0,
            -requirement.level,
            requirement.attacker,
            requirement.cell,
        ),
    )
    assert not search.held and np.array_equal(search.hidden, problem.must_hide)


@pytest.mark.parametrize("seed", [1530, 1543])
def test_a_width_that_one_deviation_of_a_pair_meets_alone(seed):
    """The other one moves nothing: found by the fuzzer (methods)."""
    rng = np.random.default_rng([4, seed])
    case = random_case(rng, size="tiny" if rng.random() < 0.3 else "usual")
    problem = random_levels(case.problem, rng, conditional=bool(rng.random() < 0.15))
    zeros = (
        problem.table.units == 0
    )  # with the bounds of then, when counts of zero could be believed to be negative
    low = (
        np.where(zeros, -np.inf, problem.outsider_low) if case.problem.table.counts else problem.outsider_low
    )
    problem = replace(problem, outsider_low=frozen(low))
    search = built(
        problem, unmet_requirements(problem, audit(problem, Suppression.copy_of(problem.must_hide)))
    )
    assert not search.unmet
    assert_protected(problem, Suppression.copy_of(search.hidden))
