"""suppress-kelly beyond conformance: sliding levels by combined flows, both sides in the same flow, its counters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures import FIXTURES, only_sliding
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable
from tablecloak.methods import METHODS, largest_pattern
from tablecloak.methods.heuristics import Requests
from tablecloak.methods.suppress_kelly import _kelly
from tablecloak.model import Levels, Suppression
from tablecloak.progress import NEVER, silent
from tablecloak.protection import protect
from tablecloak.testing import assert_protected, random_problem
from two_way import FIGURE_001, FIGURE_004, TwoWay

METHOD = "suppress-kelly"
SIDES = pytest.mark.parametrize("sides", ["sliding", "each"])
SENSITIVE_001 = [(1, 1), (1, 5), (2, 1), (2, 2), (2, 5), (2, 6), (3, 3), (3, 6)]


def own_of(problem, *, each_side):
    """The paper's own pattern."""
    cells = np.flatnonzero(problem.sensitive)
    levels = problem.required(0, cells)
    allowed, rng = largest_pattern(problem), np.random.default_rng(1)
    requests = Requests(problem, allowed, problem.must_hide, cells, *levels, NEVER, silent, rng)
    return _kelly(requests, each_side=each_side)


def test_salazar_s_table():
    """22 in all: 14 down and 8 up over the cheapest cycle, then nothing is left for the upper level of 12."""
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 10, 12)
    own = own_of(problem, each_side=False)
    assert grid.positions(own.hidden) == {(2, 3), (2, 1), (3, 1), (3, 3)}
    assert own.counters["upward share of flows"] == pytest.approx(8 / 22)
    assert not audit(problem, Suppression.copy_of(own.hidden)).safe
    apart = Levels.of(len(grid.table), sliding=np.where(problem.sensitive, 22.0, 0.0))
    assert audit(replace(problem, levels=apart), Suppression.copy_of(own.hidden)).safe
    told = protect(problem, METHOD, params={"clean_up": False}).report.counters
    assert (told["flows"], told["own cost"], told["own open cells"]) == (1, 37, 1)
    both = protect(problem, METHOD, params={"sides": "each", "clean_up": False})
    assert both.report.counters["own open cells"] == 0
    assert (both.cost, protect(problem, METHOD).cost) == (88, 63)


@SIDES
def test_serpell_s_table(sides):
    problem = TwoWay(FIGURE_001).percent(SENSITIVE_001, 0.1)
    result = protect(problem, METHOD, params={"sides": sides})
    counters = result.report.counters
    assert 118 <= result.cost <= 164
    assert counters["flows"] == len(SENSITIVE_001), "one flow a cell: nothing is carried to the next"
    assert (counters["own open cells"] == 0) == (sides == "each")
    assert counters["levels without a flow"] == 0


@pytest.mark.parametrize("kind", ["two-way", "hierarchical"])
def test_sliding_levels_are_met_by_the_combined_flows(kind):
    protected = 0
    for seed in range(8):
        problem = random_problem(kind, np.random.default_rng(seed))
        wide = problem.levels.lower + problem.levels.upper
        problem = replace(
            problem, levels=replace(problem.levels, lower=0 * wide, upper=0 * wide, sliding=wide)
        )
        try:
            result = protect(problem, METHOD)
        except InfeasibleProblem:
            continue
        assert_protected(problem, result.pattern)
        assert result.report.counters["own open cells"] == 0
        protected += 1
    assert protected > 3


@SIDES
@pytest.mark.parametrize("kind", ["two-way", "hierarchical"])
@pytest.mark.parametrize("options", [{}, {"insiders": 2}, {"sliding": True}, {"negative": True}], ids=str)
def test_it_is_safe_and_never_beats_the_optimum(kind, options, sides):
    protected = 0
    for seed in range(6 if "insiders" in options else 4):
        problem = random_problem(kind, np.random.default_rng(seed), **options)
        try:
            optimum = protect(problem, "suppress-optimal")
        except InfeasibleProblem:
            with pytest.raises(InfeasibleProblem):
                protect(problem, METHOD)
            continue
        result = protect(problem, METHOD, params={"sides": sides})
        assert_protected(problem, result.pattern)
        assert result.cost >= optimum.cost * (1 - 1e-6) - 1e-9
        if sides == "each" and not problem.attackers:
            assert result.report.counters["own open cells"] == 0
        protected += 1
    assert protected


def test_cost_decides_which_side_has_the_room():
    """Two flows for two cells, and neither direction has all of the room."""
    problem = only_sliding()
    own = own_of(problem, each_side=False)
    assert audit(problem, Suppression.copy_of(own.hidden)).safe
    assert own.counters["flows"] == 2
    assert 0 < own.counters["upward share of flows"] < 1


def test_the_same_pattern_every_time():
    problem = FIXTURES["two way several"]()
    params = {"order": "random", "starts": 3}
    patterns = [protect(problem, METHOD, seed=5, params=params).pattern for _ in range(2)]
    assert patterns[0].touched(problem).tolist() == patterns[1].touched(problem).tolist()


def test_it_refuses_what_is_no_network_and_unknown_options():
    with pytest.raises(NotApplicable) as caught:
        protect(FIXTURES["three way"](), METHOD)
    assert caught.value.instead[0] == "suppress-kelly-lp"
    assert set(caught.value.instead) <= set(METHODS)
    with pytest.raises(InputError, match="sides"):
        protect(FIXTURES["two way"](), METHOD, params={"sides": "both"})
