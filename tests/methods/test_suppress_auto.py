"""suppress-auto: never worse than what it starts from, honest, the same again without a limit, patient with one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
import pytest

from fixtures import FIXTURES
from tablecloak.errors import InfeasibleProblem, InputError
from tablecloak.methods import METHODS
from tablecloak.methods.base import HIDES_EVERYTHING
from tablecloak.methods.suppress_auto import AutoSettings, choose_strategy, suppress_auto
from tablecloak.model import Status
from tablecloak.protection import protect
from tablecloak.testing import assert_protected, random_problem

WITHOUT_DENSE_ROWS = replace(
    METHODS["suppress-auto"],
    function=partial(METHODS["suppress-auto"].function, settings=AutoSettings(small_cells=0)),
)
"""The steps for larger tables, on small ones."""


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
    found = protect(problem, WITHOUT_DENSE_ROWS)
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
        result = protect(problem, WITHOUT_DENSE_ROWS, **options)
        assert (result.status, result.report.stopped_by) == (status, why)
        assert_protected(problem, result.pattern)


def test_faults_of_parameters_are_told():
    with pytest.raises(InputError, match="gap"):
        protect(FIXTURES["two way"](), "suppress-auto", params={"gap": -1.0})
    with pytest.raises(InputError, match="nodes"):
        protect(FIXTURES["two way"](), "suppress-auto", params={"nodes": -1})


@pytest.mark.parametrize("fixture", ["three way", "any equations"])
def test_few_deviations_tell_whether_there_is_time_for_the_portfolio(fixture):
    """With a limit, the methods follow only if the pace of the deviations leaves time for them."""
    problem = FIXTURES[fixture]()

    def tried(factor):
        method = partial(suppress_auto, settings=AutoSettings(small_cells=0, program_factor=factor))
        result = protect(problem, replace(METHODS["suppress-auto"], function=method), params={"seconds": 60})
        assert_protected(problem, result.pattern)
        return {name for name in result.report.counters if name.startswith("cost by")}

    assert tried(1e12) == {"cost by deviations"}
    assert {"cost by deviations", "cost by suppress-greedy"} < tried(0.0)


def test_hypercubes_are_exchanged_where_there_is_no_time_for_deviations(monkeypatch):
    problem, exchanged = FIXTURES["three way"](), []
    module = import_module("tablecloak.methods.suppress_auto")
    monkeypatch.setattr(module.QuickPattern, "eliminated", lambda self, hidden: hidden)
    exchange = module.CubeSearch.exchange
    monkeypatch.setattr(
        module.CubeSearch, "exchange", lambda self, *most: exchanged.append(exchange(self, *most))
    )
    settings = AutoSettings(
        small_cells=0, deviation_share=0.0, program_factor=1e12, limited_program_share=0.0
    )
    method = partial(suppress_auto, settings=settings)
    result = protect(problem, replace(METHODS["suppress-auto"], function=method), params={"seconds": 60})
    assert exchanged and "cost by deviations" not in result.report.counters
    assert result.cost <= result.report.counters["cost by hypercubes"]
    assert_protected(problem, result.pattern)


def test_stopped_before_any_pattern_everything_is_hidden_and_said_so():
    problem = FIXTURES["three way"]()
    result = protect(problem, "suppress-auto", params={"seconds": 0.0})
    assert result.report.notes == (HIDES_EVERYTHING,) and result.status is Status.TIME_LIMIT
    assert (result.pattern.hidden == ~problem.forced).all()


def test_the_strategy_is_chosen_by_size_and_time():
    network, grid = FIXTURES["two way"](), FIXTURES["three way"]()
    paths = "suppress-shortest-path weight, suppress-shortest-path strata"
    assert str(choose_strategy(network)) == f"{paths}, branch and cut"
    programs = "suppress-greedy, suppress-kelly-lp"
    flows = "suppress-network-flow bound, suppress-network-flow none"
    ending = "bound by subtables, branch and cut"
    assert str(choose_strategy(grid)) == f"{flows}, {programs}, branch and cut"
    assert str(choose_strategy(grid, 60.0)) == f"few deviations, {flows}, {programs}, {ending}"
    assert str(choose_strategy(grid, 1e-3)) == f"hypercubes, strata, few deviations, {programs}, {ending}"
    slow = AutoSettings(program_seconds=1e9, first_method_cells=0, exact_levels=0)
    assert str(choose_strategy(grid, settings=slow)) == "hypercubes, strata, suppress-greedy"
