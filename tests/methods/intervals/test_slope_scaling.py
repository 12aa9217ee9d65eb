"""Starts of interval-combined are safe, cost what they say, and are near the optimum."""

from __future__ import annotations

import numpy as np
import pytest

from tablecloak.arrays import Bools
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem
from tablecloak.methods import largest_pattern
from tablecloak.methods.intervals import SlopeScaling, hidden_by_mark, stated
from tablecloak.methods.intervals.recipe import repaired
from tablecloak.methods.intervals.slope_scaling import point_of
from tablecloak.methods.unified import Formulation, combined_formulation
from tablecloak.model import Prices, Problem, all_requirements, box_deviation_bounds
from tablecloak.progress import NEVER, silent
from tablecloak.protection import protect
from tablecloak.testing import KINDS, random_problem
from two_way import FIGURE_004, TwoWay

TOUCH = 10.0


def form_of(problem: Problem, allowed: Bools, far: float) -> Formulation:
    weights = problem.weights
    return combined_formulation(
        problem, allowed, hidden_by_mark(problem), Prices.even(weights, TOUCH * weights), far
    )


@pytest.mark.parametrize("kind", KINDS)
def test_starts_are_safe_and_never_below_the_optimum(kind: str) -> None:
    compared = 0
    for seed in range(6):
        problem = random_problem(kind, np.random.default_rng([seed, 41]), insiders=seed % 2)
        try:
            allowed = largest_pattern(problem)
        except InfeasibleProblem:
            continue
        far = 4.0 * max(float(level.max(initial=0.0)) for _, level in problem.levels.named())
        formulation = form_of(problem, allowed, far)
        prices = Prices.even(problem.weights, TOUCH * problem.weights)
        scaling = SlopeScaling(problem, formulation, (prices, far), all_requirements(problem), NEVER)
        points = scaling.start(allowed, all_cells=True)
        params = {"grid": 0.0, "asymmetry": 0.0, "touch": TOUCH, "seconds": 10.0}
        bound = protect(problem, "interval-combined", params=params).bound
        paid = TOUCH * float(problem.weights[problem.sensitive].sum())
        for x in points:
            most = box_deviation_bounds(problem)
            below, above = (
                np.minimum(bounds, most)
                for bounds, most in zip((formulation.below.at(x), formulation.above.at(x)), most, strict=True)
            )
            bounds = repaired(problem, allowed, (below, above), silent)
            assert bounds is not None
            unit = problem.table.unit  # fractions of a unit protect nothing: values are whole units
            for now, before in zip(bounds, (below, above), strict=True):
                whole = np.ceil(before / unit - 1e-4) * unit
                assert (now >= before * (1 - 1e-4) - 1e-4).all()
                assert (now <= whole * (1 + 1e-4) + 1e-4).all(), "nothing else was open"
            assert audit(problem, stated(problem, *bounds)).safe
            assert bound is not None and formulation.cost @ x - paid >= bound * (1 - 1e-6) - 1e-6
            compared += 1
    assert compared


def test_switches_are_on_where_there_is_length_and_too_much_length_is_refused() -> None:
    problem = TwoWay(FIGURE_004).problem([(2, 3)], 10, 12, weights=np.ones(16))
    formulation = form_of(problem, ~problem.forced, 12.0)
    below, above = np.zeros((2, 16))
    below[3], above[5] = 4.0, 6.0
    x = point_of(formulation, below, above)
    assert x is not None
    assert np.flatnonzero(formulation.touched.at(x)).tolist() == [3, 5]
    assert np.allclose(formulation.below.at(x), below) and np.allclose(formulation.above.at(x), above)
    above[5] = 13.0
    assert point_of(formulation, below, above) is None
