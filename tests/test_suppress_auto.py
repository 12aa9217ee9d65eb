"""suppress-auto: never worse than what it starts from, honest, the same again without a limit, patient with one."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.errors import InfeasibleProblem, InputError
from tablecloak.protect import protect
from tablecloak.result import Status
from tablecloak.testing import assert_protected, random_problem


@pytest.mark.parametrize("kind", ["two-way", "hierarchical", "three-way", "linked", "non-nested"])
def test_it_finds_the_optimum_of_small_tables(kind):
    compared = 0
    for number in range(6):
        problem = random_problem(kind, np.random.default_rng(number), insiders=number % 2)
        try:
            optimum = protect(problem, "suppress-compact")
        except InfeasibleProblem:
            with pytest.raises(InfeasibleProblem):
                protect(problem, "suppress-auto")
            continue
        found = protect(problem, "suppress-auto")
        assert found.status is Status.OPTIMAL
        assert found.cost == pytest.approx(optimum.cost)
        compared += 1
    assert compared


@pytest.mark.parametrize("fixture", ["two way several", "three way", "one hierarchy", "linked"])
def test_it_is_never_dearer_than_the_methods_it_starts_from(fixture):
    problem = FIXTURES[fixture]()
    found = protect(problem, "suppress-auto")
    started = [value for name, value in found.report.counters.items() if name.startswith("cost by")]
    assert started
    assert found.cost <= min(started) + 1e-9
    costs = [cost for _, cost, _ in found.report.trace if cost is not None]
    assert costs == sorted(costs, reverse=True)


def test_a_stop_after_the_first_moments_returns_a_safe_pattern():
    problem = FIXTURES["three way"]()

    def interrupt(phase, done, total, incumbent=None, bound=None):
        if phase == "protecting levels":
            raise KeyboardInterrupt

    ends = (
        ({"progress": interrupt}, Status.INTERRUPTED, "interrupt"),
        ({"params": {"seconds": 0.0}}, Status.TIME_LIMIT, "time limit"),
    )
    for options, status, why in ends:
        result = protect(problem, "suppress-auto", **options)
        assert (result.status, result.report.stopped_by) == (status, why)
        assert_protected(problem, result.pattern)


def test_faults_of_parameters_are_told():
    with pytest.raises(InputError, match="gap"):
        protect(FIXTURES["two way"](), "suppress-auto", params={"gap": -1.0})
    with pytest.raises(InputError, match="nodes"):
        protect(FIXTURES["two way"](), "suppress-auto", params={"nodes": -1})
