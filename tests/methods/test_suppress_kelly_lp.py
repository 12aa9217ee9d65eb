"""suppress-kelly-lp beyond conformance: its programs against another solver's, its counters, its options."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
import pytest
from scipy.optimize import linprog

from fixtures import FIXTURES, flat, from_leaves, leaf_values, smallest_leaves, with_levels
from tablecloak.attacker import working_equations
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable
from tablecloak.methods import METHODS, largest_pattern
from tablecloak.methods.heuristics import FIRST_KEPT, DeviationSettings, Requests
from tablecloak.model import Requirement, Side, Status
from tablecloak.progress import NEVER, silent
from tablecloak.protection import protect
from tablecloak.testing import assert_protected, random_problem

METHOD = "suppress-kelly-lp"
MODULE = import_module("tablecloak.methods.suppress_kelly_lp")
PRICES = pytest.mark.parametrize("prices", ["paper", "charge"])


def three_way(count=8):
    table = from_leaves([flat("r", 5), flat("c", 4), flat("s", 3)], leaf_values(5, 4, 3, low=1))
    return with_levels(table, smallest_leaves(table, count))


def requests_of(problem):
    """Requests without cells, enough to ask for single deviations."""
    none = np.zeros(0)
    allowed, cells = largest_pattern(problem), np.zeros(0, dtype=np.int64)
    return Requests(
        problem, allowed, problem.must_hide, cells, none, none, none, NEVER, silent, np.random.default_rng(1)
    )


def cheapest_by_linprog(problem, allowed, requirement, up_cost, down_cost):
    """The least cost of the deviations for a requirement, from the definition and in the units of the table."""
    cells = np.flatnonzero(allowed)
    matrix = working_equations(problem.table)[:, cells].toarray()
    low, high = problem.box(requirement.attacker)
    up, down = (high - problem.table.values)[cells], (problem.table.values - low)[cells]
    place, count = int(np.searchsorted(cells, requirement.cell)), cells.size
    half = np.hstack([matrix, -matrix])
    cost = np.concatenate([up_cost[cells], down_cost[cells]])
    bounds = [(0.0, float(room)) for room in np.concatenate([up, down])]
    if requirement.side is not Side.SLIDE:
        forced, fixed = (place, count + place) if requirement.side is Side.UP else (count + place, place)
        bounds[forced], bounds[fixed] = (requirement.level, requirement.level), (0.0, 0.0)
        return linprog(cost, A_eq=half, b_eq=np.zeros(half.shape[0]), bounds=bounds).fun
    both = np.block([[half, np.zeros_like(half)], [np.zeros_like(half), half]])
    apart = np.zeros(4 * count)
    apart[place + count * np.arange(4)] = [-1, 1, 1, -1]
    return linprog(
        np.tile(cost, 2), A_ub=apart[None], b_ub=[-requirement.level], A_eq=both, b_eq=np.zeros(both.shape[0]),
        bounds=bounds * 2,
    ).fun  # fmt: skip


@pytest.mark.parametrize("whole", [3000, 0])
@pytest.mark.parametrize("side", list(Side))
def test_the_programs_are_those_of_the_paper(whole, side):
    """At linear prices the cost is the optimum over the whole table, also if the first program is not."""
    problem = three_way()
    requests = requests_of(problem)
    finder = MODULE._PricedFinder(requests, MODULE.KellyLpSettings(max_whole_cells=whole), by_unit=True)
    price = np.where(problem.must_hide, 0.0, problem.weights)
    for cell in np.flatnonzero(problem.sensitive).tolist():
        requirement = Requirement(cell, 0, side, 0.3 * float(problem.table.values[cell]))
        witness = finder.cheapest(requirement, price)
        moved = np.abs(witness.forward) + (0 if witness.backward is None else np.abs(witness.backward))
        best = cheapest_by_linprog(problem, requests.allowed, requirement, price, price)
        assert float(price[witness.cells] @ moved) == pytest.approx(best, rel=1e-6, abs=1e-6)
        forward, backward = witness.moves(cell)
        room = {Side.UP: forward, Side.DOWN: -forward, Side.SLIDE: forward - backward}[side]
        assert room >= requirement.level * (1 - 1e-7)
    assert finder.programs == problem.sensitive.sum()


def test_charges_are_weights_spread_over_the_room():
    problem = three_way()
    requests = requests_of(problem)
    finder = MODULE._PricedFinder(requests, MODULE.KellyLpSettings(), by_unit=False)
    price = np.where(problem.must_hide, 0.0, problem.weights)
    cell = int(np.flatnonzero(problem.sensitive)[-1])
    requirement = Requirement(cell, 0, Side.UP, float(problem.table.values[cell]))
    up, down = price / requirement.level, price / np.minimum(requirement.level, problem.table.values)
    witness = finder.cheapest(requirement, price)
    slope = np.where(witness.forward > 0, up[witness.cells], down[witness.cells])
    best = cheapest_by_linprog(problem, requests.allowed, requirement, up, down)
    assert float(slope @ np.abs(witness.forward)) == pytest.approx(best, rel=1e-6)
    again = finder.cheapest(requirement, price, reweight=3)
    assert price[again.cells].sum() <= price[witness.cells].sum()


@PRICES
@pytest.mark.parametrize("kind", ["two-way", "hierarchical", "three-way", "linked", "general"])
@pytest.mark.parametrize(
    "options", [{}, {"insiders": 2}, {"sliding": True}, {"conditional": True}, {"negative": True}], ids=str
)
def test_it_is_safe_and_never_beats_the_optimum(prices, kind, options):
    protected, seeds = 0, iter(range(60))
    while protected < 3:
        problem = random_problem(kind, np.random.default_rng(next(seeds)), **options)
        try:
            optimum = protect(problem, "suppress-optimal")
        except InfeasibleProblem:
            with pytest.raises(InfeasibleProblem):
                protect(problem, METHOD)
            continue
        result = protect(problem, METHOD, params={"prices": prices})
        assert_protected(problem, result.pattern)
        assert result.cost >= optimum.cost * (1 - 1e-6) - 1e-9
        if not problem.attackers and not problem.levels.conditional.any():
            assert result.report.counters["own open cells"] == 0
        protected += 1


def test_every_level_is_asked_as_in_the_paper_or_carried():
    problem = three_way()
    levels = 2 * int(problem.sensitive.sum())
    told = protect(problem, METHOD, params={"carry": False}).report.counters
    assert told["levels asked"] == told["linear programs"] == levels
    assert told["levels carried"] == 0
    short = protect(problem, METHOD).report.counters
    assert short["levels asked"] + short["levels carried"] == levels
    assert short["levels carried"] > 0
    assert short["own open cells"] == told["own open cells"] == 0


def test_the_pattern_of_the_paper_is_told_before_the_clean_up():
    problem = three_way()
    told = protect(problem, METHOD, params={"clean_up": False})
    tidy = protect(problem, METHOD)
    assert told.cost == told.report.counters["own cost"] == tidy.report.counters["own cost"]
    assert tidy.report.counters["published again"] > 0
    assert tidy.cost < told.cost


def test_charges_hide_less_than_linear_prices_on_the_whole():
    """Linear prices make small moves of many cells look cheap."""
    own = {"paper": 0.0, "charge": 0.0}
    for seed in range(6):
        table = from_leaves(
            [flat("r", 6), flat("c", 5), flat("s", 4)], leaf_values(6, 5, 4, seed=seed, low=1)
        )
        problem = with_levels(table, smallest_leaves(table, 4), share=0.9)
        for prices in own:
            told = protect(problem, METHOD, params={"prices": prices, "order": "given"}).report.counters
            own[prices] += told["own cost"]
    assert own["charge"] < own["paper"]


def test_large_tables_have_programs_over_neighbourhoods():
    problem = three_way()
    whole = protect(problem, METHOD)
    settings = MODULE.KellyLpSettings(max_whole_cells=0, neighbourhood=DeviationSettings(first_cells=10))
    small = partial(MODULE.suppress_kelly_lp, settings=settings)
    near = protect(problem, replace(METHODS[METHOD], function=small))
    assert_protected(problem, near.pattern)
    assert near.report.counters["linear programs"] > near.report.counters["levels asked"]
    assert near.report.counters["levels unanswered"] == whole.report.counters["levels unanswered"] == 0


def test_wrong_parameters_are_told_together_and_touched_cells_refused():
    with pytest.raises(InputError) as caught:
        protect(FIXTURES["two way"](), METHOD, params={"prices": "free", "reweight": -1})
    assert len(caught.value.faults) == 2
    with pytest.raises(NotApplicable, match="touched"):
        protect(replace(FIXTURES["two way"](), most_touched=6), METHOD)


def test_ctrl_c_while_building_returns_the_first_pattern():
    problem = FIXTURES["any equations"]()

    def interrupt(phase, done, total, incumbent=None, bound=None):
        if phase == "protecting levels":
            raise KeyboardInterrupt

    result = protect(problem, METHOD, progress=interrupt)
    assert result.status is Status.INTERRUPTED
    assert result.report.notes == (FIRST_KEPT,)
    assert not (result.pattern.hidden == ~problem.forced).all()
    assert_protected(problem, result.pattern)
