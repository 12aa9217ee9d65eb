"""Prices of each side and of touching: every method against programs of its own (`first_models`) on random tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from first_models import interval_program, perturbation_program, rounding_program
from fixtures import FIXTURES
from tablecloak import Dimension, write_jj
from tablecloak.arrays import Bools, Floats
from tablecloak.auditing import audit
from tablecloak.cli.app import app
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable
from tablecloak.formats import read_cloak, write_cloak
from tablecloak.model import (
    Attacker,
    Intervals,
    Levels,
    Mark,
    Perturbation,
    Prices,
    Problem,
    Status,
    Table,
    View,
)
from tablecloak.protection import protect
from tablecloak.testing import KINDS, assert_protected, random_problem
from two_way import FIGURE_004, TwoWay

EXACT = {"grid": 0.0, "asymmetry": 0.0}


def rescaled(problem: Problem, scale: str, rng: np.random.Generator) -> Problem:
    """The problem in tenths, or with some leaves far larger than the others; levels stay shares of the values."""
    if scale == "counts" or problem.attackers:
        return problem
    table = problem.table
    factor = {"decimals": 0.01, "mixed": 1.0}[scale]
    if scale == "decimals":
        decimals, values = 2, np.round(table.values * factor, 2)
    else:  # any deviation M d = 0 added to the table gives another one
        basis = np.linalg.svd(table.equations.toarray())[2][
            np.linalg.matrix_rank(table.equations.toarray()) :
        ]
        far = np.rint(basis[int(rng.integers(len(basis)))] * 1e4) if len(basis) else np.zeros(len(table))
        if not len(basis) or np.abs(table.equations @ far).max(initial=0.0) > 1e-9:
            return problem
        decimals, values = 0, table.values + far
    if scale == "mixed" and (values < 0).any():
        values = values + 0.0
    made = Table.from_equations(values, table.equations, table.equations @ values, decimals=decimals)
    share = {"decimals": factor, "mixed": 1.0}[scale]
    levels = Levels.of(len(table), *(share * level for _, level in problem.levels.named()))
    return Problem.of(
        made,
        problem.sensitive,
        levels,
        forced=problem.forced,
        hidden=problem.must_hide & ~problem.sensitive,
        weights=problem.weights,
        widen=True,
    )


def priced(problem: Problem, rng: np.random.Generator, *, touch: bool, zeros: bool = False) -> Problem:
    """Random prices of both sides, decimals among them, over three orders of magnitude; some 0."""
    size = len(problem.table)

    def prices() -> Floats:
        found = np.round(10.0 ** rng.uniform(-1, 2, size), 2)
        return np.where(rng.random(size) < 0.3, 0.0, found) if zeros else found

    level = max(float(each.max(initial=0.0)) for _, each in problem.levels.named()) or 1.0
    touching = np.round(prices() * level, 2) if touch else None
    return replace(problem, prices=Prices(prices(), prices(), touching))


def without_marks(problem: Problem, *, forced: bool = False) -> Problem:
    """The problem without cells that must be hidden, though not sensitive; `forced`: and without forced ones."""
    free = (problem.must_hide & ~problem.sensitive) | (problem.forced & forced)
    marks = np.where(free, Mark.FREE, problem.marks)
    return replace(problem, marks=marks.astype(problem.marks.dtype))


def cases(rounds: int, number: int, **options: bool) -> list[tuple[str, int, Problem]]:
    """Priced random problems of all kinds and scales."""
    found = []
    for kind in KINDS:
        for seed in range(rounds):
            rng = np.random.default_rng([number, seed, KINDS.index(kind)])
            problem = random_problem(
                kind, rng, insiders=int(seed % 4 == 3), sliding=bool(seed % 2), negative=seed % 5 == 4
            )
            problem = rescaled(problem, ("counts", "decimals", "mixed")[seed % 3], rng)
            found.append((kind, seed, priced(problem, rng, **options)))
    return found


@pytest.mark.parametrize("zeros", [False, True])
def test_partial_intervals_reach_the_optimum_of_the_first_model(zeros: bool) -> None:
    compared = 0
    for kind, seed, problem in cases(9, 1, touch=False, zeros=zeros):
        program, lengths = interval_program(problem, problem.prices.up, problem.prices.down)
        found = program.solve()
        model = "first" if seed == 2 else "second"
        if found is None:
            with pytest.raises(InfeasibleProblem):
                protect(problem, "interval-partial")
            continue
        result = protect(problem, "interval-partial", params={**EXACT, "model": model})
        assert_protected(problem, result.pattern)
        assert result.status is Status.OPTIMAL, (kind, seed)
        slack = 1e-5 * found[0] + 1e-6
        assert result.cost == pytest.approx(found[0], abs=slack), (kind, seed)
        assert result.bound == pytest.approx(found[0], abs=slack)
        if zeros:
            stated = [lengths_of(problem, result.pattern)[k] for k in range(len(lengths))]
            for column, length in zip(lengths, stated, strict=True):
                if program.cost[column] > 0:
                    program.high[column] = min(program.high[column], length)
            narrowest = program.solve([float(i in set(lengths)) for i in range(len(program.cost))])
            assert sum(stated) <= narrowest[0] * (1 + 1e-5) + 1e-3 * problem.table.unit, (kind, seed)
        compared += 1
    assert compared > 40


def lengths_of(problem: Problem, pattern: Intervals) -> list[float]:
    """The lengths above and below of the cells that are neither forced nor hidden by mark, in turn."""
    mine = ~problem.forced & (problem.sensitive | ~problem.must_hide)
    value = problem.table.values
    return np.stack([pattern.high - value, value - pattern.low], axis=1)[mine].ravel().tolist()


@pytest.mark.parametrize("zeros", [False, True])
def test_combined_intervals_reach_the_optimum_of_the_first_model(zeros: bool) -> None:
    compared = 0
    for kind, seed, problem in cases(4, 2, touch=True, zeros=zeros):
        prices = problem.prices
        longest = 4.0 * max(float(level.max(initial=0.0)) for _, level in problem.levels.named())
        found = interval_program(problem, prices.up, prices.down, prices.touch, longest)[0].solve()
        if found is None:
            continue
        result = protect(problem, "interval-combined", params={**EXACT, "reach": 4.0, "seconds": 60.0})
        assert_protected(problem, result.pattern)
        slack = 1e-5 * found[0] + 1e-5
        assert result.bound <= found[0] + slack, (kind, seed)
        if result.status is Status.OPTIMAL:
            assert result.cost == pytest.approx(found[0], abs=slack), (kind, seed)
            compared += 1
    assert compared > 15


@pytest.mark.parametrize("attackers", [False, True])
def test_roundings_reach_the_optimum_of_the_first_model(attackers: bool) -> None:
    compared = 0
    for kind, seed, marked in cases(9, 3, touch=True):
        problem = without_marks(marked, forced=True)
        prices, base = problem.prices, 20.0 * problem.table.unit
        if seed % 3 != 1:  # smaller levels, which a rounding can meet
            levels = Levels.of(
                len(problem.table), *(np.minimum(each, 4.0) for _, each in problem.levels.named())
            )
            problem = replace(problem, levels=levels)
        program = rounding_program(problem, base, prices.up, prices.down, prices.touch, attackers=attackers)
        found = program.solve()
        try:
            result = protect(
                problem, "round-controlled", params={"base": base, "steps": 0, "protect": attackers}
            )
        except InfeasibleProblem:
            assert found is None
            continue
        if found is None:
            assert not result.audit.safe
            continue
        assert result.audit.safe or not attackers
        assert (result.status is Status.OPTIMAL) is attackers
        assert result.cost == pytest.approx(found[0], rel=1e-6), (kind, seed)
        assert result.bound == pytest.approx(found[0], rel=1e-6)
        compared += 1
    assert compared > (6 if attackers else 30)


def ranges_of_least(problem: Problem, reach: float) -> tuple[Floats, Floats, tuple[Floats, Floats]]:
    """Where cells may be shown within a constant reach, and how far away sensitive ones must be."""
    a, levels, unit = problem.table.values, problem.levels, problem.table.unit
    floor, ceiling = a - reach, a + reach
    floor = np.where((problem.outsider_low >= 0) & (a >= 0), np.maximum(floor, 0.0), floor)
    half = np.maximum(levels.sliding, unit) / 2
    away = [np.ceil(np.maximum(level, half) / unit - 1e-9) * unit for level in (levels.upper, levels.lower)]
    sensitive = problem.sensitive  # its own reach must leave room for its levels
    ceiling = np.where(sensitive, np.minimum(ceiling, a + reach - levels.lower), ceiling)
    floor = np.where(sensitive, np.maximum(floor, a - reach + levels.upper), floor)
    up = np.where(a + away[0] > ceiling + 1e-9, np.nan, away[0])
    down = np.where(a - away[1] < floor - 1e-9, np.nan, away[1])
    return (
        np.where(problem.forced, a, floor),
        np.where(problem.forced, a, ceiling),
        (up, down),
    )


@pytest.mark.parametrize("touch", [False, True])
def test_perturbations_reach_the_optimum_of_the_first_model(touch: bool) -> None:
    """With a share of zero the reach is the same for every cell: Figure 12 with floors and ceilings."""
    compared = 0
    for kind, seed, marked in cases(9, 4, touch=touch):
        problem = without_marks(marked)
        prices = problem.prices
        reach = 50.0 * problem.table.unit
        floor, ceiling, least = ranges_of_least(problem, reach)
        if (np.isnan(least[0]) & np.isnan(least[1]) & problem.sensitive).any():
            continue
        stated = np.where(problem.forced, 0.0, reach)
        found = perturbation_program(
            problem, floor, ceiling, stated, prices.up, prices.down, prices.touch, least=least
        ).solve()
        params = {"share": 0.0, "least": reach, "seconds": 60.0}
        try:
            result = protect(problem, "perturb-cell", params=params)
        except InfeasibleProblem:
            assert found is None, (kind, seed)
            continue
        if found is None:
            assert not result.audit.safe, (kind, seed)
            continue
        if not result.audit.safe:
            continue  # integer units
        slack = 1e-6 * found[0] + 1e-6
        assert result.cost >= found[0] - slack, (kind, seed)
        assert result.bound is not None and result.bound == pytest.approx(found[0], abs=slack), (kind, seed)
        compared += 1
    assert compared > 15


def test_adjustments_reach_the_optimum_without_attackers() -> None:
    compared = 0
    for kind, seed, marked in cases(9, 5, touch=False):
        problem = without_marks(marked)
        reach = 50.0 * problem.table.unit
        floor, ceiling, least = ranges_of_least(problem, reach)
        if (np.isnan(least[0]) & np.isnan(least[1]) & problem.sensitive).any():
            continue
        prices = problem.prices
        found = perturbation_program(
            problem,
            floor,
            ceiling,
            np.full(len(floor), reach),
            prices.up,
            prices.down,
            least=least,
            attackers=False,
        ).solve()
        params = {"share": 0.0, "least": reach, "protect_attackers": False}
        try:
            result = protect(problem, "perturb-cta", params=params)
        except InfeasibleProblem:
            hidden = interval_program(problem, prices.up, prices.down)[0]  # not even intervals protect
            assert found is None or hidden.solve() is None, (kind, seed)
            continue
        assert found is not None, (kind, seed)
        slack = 1e-6 * found[0] + 1e-6
        assert result.cost >= found[0] - slack, (kind, seed)
        assert result.bound <= found[0] + slack, (kind, seed)
        if result.status is Status.OPTIMAL:
            assert result.cost == pytest.approx(found[0], abs=slack), (kind, seed)
            compared += 1
    assert compared > 20


# ---------------------------------------------------------------------- perturbation as printed


def given_ends(problem: Problem, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Floors and ceilings around the values: far enough for the levels of sensitive cells, at random elsewhere."""
    a, unit, levels = problem.table.values, problem.table.unit, problem.levels
    far = np.maximum.reduce([levels.upper, levels.lower, levels.sliding / 2]) / unit
    widest = max(float(far.max()), 5.0)
    more = np.where(problem.sensitive, 0.5, 5.0) * widest
    deep, rise = (np.ceil(far + more * rng.uniform(0, 1, a.size)) for _ in range(2))
    floor, ceiling = a - deep * unit, a + rise * unit
    floor = np.where((problem.outsider_low >= 0) & (a >= 0), np.maximum(floor, 0.0), floor)
    decimals = problem.table.decimals
    return np.round(floor, decimals), np.round(ceiling, decimals)


@pytest.mark.parametrize("senses", ["up", "best"])
def test_perturbation_as_printed_reaches_the_optimum_of_figure_12(senses: str) -> None:
    """Given floors and ceilings, sensitive cells at an end, both prices, a price for changing, at most q changed."""
    compared = 0
    for kind, seed, marked in cases(9, 6, touch=senses == "best"):
        problem = without_marks(marked, forced=seed % 3 > 0)
        rng = np.random.default_rng([seed, 7])
        a, prices, unit = problem.table.values, problem.prices, problem.table.unit
        floor, ceiling = given_ends(problem, rng)
        floor, ceiling = np.where(problem.forced, a, floor), np.where(problem.forced, a, ceiling)
        reach, levels = ceiling - floor, problem.levels
        half, slack = np.maximum(levels.sliding, unit) / 2, 1e-6 * unit
        upper, lower = np.maximum(levels.upper, half), np.maximum(levels.lower, half)
        room = 2 * reach >= levels.sliding - slack
        rises = room & (ceiling - a >= upper - slack) & (a - floor >= levels.lower - slack)
        falls = room & (a - floor >= lower - slack) & (ceiling - a >= levels.upper - slack)
        falls &= ~rises | (senses == "best")
        params = {"floor": floor, "ceiling": ceiling, "senses": senses, "seconds": 60.0}
        most = len(a) - 2 if seed % 3 == 0 else None
        problem = replace(problem, most_touched=most)
        if (problem.sensitive & ~rises & ~falls).any():
            with pytest.raises(InputError, match="neither end"):
                protect(problem, "perturb-cell", params=params)
            continue
        least = (np.where(rises, ceiling - a, np.nan), np.where(falls, a - floor, np.nan))
        found = perturbation_program(
            problem, floor, ceiling, reach, prices.up, prices.down, prices.touch, least=least, most=most
        ).solve()
        try:
            result = protect(problem, "perturb-cell", params=params)
        except InfeasibleProblem:
            assert found is None, (kind, seed)
            continue
        if found is None or not result.audit.safe:
            assert found is None or (
                result.bound is not None and result.bound <= found[0] * (1 + 1e-6) + 1e-6
            )
            assert found is not None or not result.audit.safe, (kind, seed)
            continue
        slack = 1e-6 * found[0] + 1e-6
        assert np.array_equal(result.pattern.reach, reach)
        shown = result.pattern.shown
        ends = np.isclose(shown, np.where(rises, ceiling, floor)) | (falls & np.isclose(shown, floor))
        assert ends[problem.sensitive].all()
        assert ((shown >= floor - 1e-9) & (shown <= ceiling + 1e-9)).all()
        assert most is None or int(result.pattern.touched(problem).sum()) <= most
        assert result.cost >= found[0] - slack, (kind, seed)
        assert result.bound == pytest.approx(found[0], abs=slack), (kind, seed)
        if result.status is Status.OPTIMAL:
            assert result.cost == pytest.approx(found[0], abs=slack), (kind, seed)
        compared += 1
    assert compared > 20


# ---------------------------------------------------------------------- every fixture, other doors


PRICED = {
    "interval-partial": {"seconds": 4.0},
    "interval-combined": {"seconds": 4.0},
    "mixed-joint": {"base": 100.0, "seconds": 4.0},
    "perturb-cell": {"share": 0.9, "least": 30.0, "seconds": 4.0},
    "perturb-cta": {"share": 0.9, "least": 30.0, "seconds": 4.0},
    "round-controlled": {"seconds": 4.0},
}
WITH_TOUCH = ("interval-combined", "mixed-joint", "perturb-cell", "round-controlled")


def cost_of_view(problem: Problem, view: View, touched: Bools) -> float:
    """The prices of what a publication without hidden cells states or shows, cell by cell."""
    prices, total = problem.prices, 0.0
    for i, a in enumerate(problem.table.values):
        shown = view.shown[i] if not np.isnan(view.shown[i]) else None
        high, low = (view.high[i], view.low[i]) if shown is None else (shown, shown)
        high, low = min(high, problem.outsider_high[i]), max(low, problem.outsider_low[i])
        above, below = (
            (max(high - a, 0.0), max(a - low, 0.0))
            if shown is None
            else (max(shown - a, 0), max(a - shown, 0))
        )
        total += (prices.up[i] * above if prices.up[i] else 0.0) + (
            prices.down[i] * below if prices.down[i] else 0.0
        )
        if touched[i] and not problem.must_hide[i] and prices.touch is not None:
            total += prices.touch[i]
    return total


@pytest.mark.parametrize("method", list(PRICED))
@pytest.mark.parametrize("fixture", list(FIXTURES))
def test_every_fixture_with_uneven_prices(fixture: str, method: str) -> None:
    rng = np.random.default_rng([len(fixture), len(method)])
    problem = priced(
        FIXTURES[fixture](),
        rng,
        touch=method in WITH_TOUCH,
        zeros=len(fixture) % 2 == 0 and fixture != "five way",
    )
    try:
        result = protect(problem, method, params=PRICED[method], seed=1)
    except (NotApplicable, InfeasibleProblem):
        if fixture not in ("forced hidden", "conditional", "conditional sides", "any equations"):
            raise
        return
    assert result.audit.safe or method.startswith(("round-", "perturb-"))
    assert result.cost == result.pattern.loss(problem)
    assert result.bound is None or result.bound <= result.cost * (1 + 1e-9) + 1e-9
    assert (result.status is not Status.OPTIMAL) or result.gap == pytest.approx(0.0, abs=2e-5)
    view = result.pattern.view(problem)
    if method != "mixed-joint" and not problem.must_hide[~problem.sensitive].any():
        expected = cost_of_view(problem, view, result.pattern.touched(problem))
        assert result.cost == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("method", ["interval-partial", "perturb-cta"])
def test_methods_without_a_price_of_touching_say_which_have_one(method: str) -> None:
    problem = priced(FIXTURES["two way"](), np.random.default_rng(1), touch=True)
    with pytest.raises(NotApplicable, match="price of touching") as caught:
        protect(problem, method, params=PRICED[method])
    assert set(caught.value.instead) <= set(WITH_TOUCH)


def test_squares_have_one_price_for_both_sides() -> None:
    problem = priced(FIXTURES["two way"](), np.random.default_rng(1), touch=False)
    params = {**PRICED["perturb-cta"], "distance": "L2"}
    with pytest.raises(NotApplicable, match="both sides"):
        protect(problem, "perturb-cta", params=params)
    even = replace(problem, prices=Prices.even(problem.prices.up))
    weighted = replace(problem, prices=None, weights=problem.prices.up)
    found = [protect(each, "perturb-cta", params=params).pattern.shown for each in (even, weighted)]
    assert np.array_equal(*found)


def test_prices_equal_to_the_weights_change_nothing() -> None:
    """The same optima as without prices."""
    for method, params in PRICED.items():
        problem = FIXTURES["two way several"]()
        same = replace(problem, prices=Prices.even(problem.weights))
        one, other = (
            protect(each, method, params={**params, "seconds": None} if "seconds" in params else {})
            for each in (problem, same)
        )
        assert one.cost == pytest.approx(other.cost, rel=1e-9), method
        assert (one.bound is None) == (other.bound is None)
        if one.bound is not None:
            assert one.bound == pytest.approx(other.bound, rel=1e-6)


def test_scaling_all_prices_scales_the_cost() -> None:
    for method, params in PRICED.items():
        problem = priced(FIXTURES["two way"](), np.random.default_rng(3), touch=method in WITH_TOUCH)
        tiny = replace(problem, prices=problem.prices.per(1e6))
        one, other = (protect(each, method, params=params) for each in (problem, tiny))
        assert other.status is one.status, method
        assert other.cost == pytest.approx(one.cost / 1e6, rel=1e-4), method
        if one.bound is not None:
            assert other.bound == pytest.approx(one.bound / 1e6, rel=1e-4), method


def test_any_price_of_rounding_up() -> None:
    """Figure 9 with any w, also below zero: w x is the cost of some prices, but for a constant."""
    grid = TwoWay(FIGURE_004)
    for seed in range(20):
        wanted = np.round(np.random.default_rng(seed).normal(0.0, 5.0, 16), 1)
        rest = grid.table.values % 10.0
        up = np.where((wanted > 0) & (rest > 0), wanted / (10.0 - rest), 0.0)
        down = np.where((wanted < 0) & (rest > 0), -wanted / np.maximum(rest, 1.0), 0.0)
        problem = grid.problem([(2, 3)], 2, 4, prices=Prices(up, down))
        result = protect(problem, "round-controlled", params={"base": 10.0})
        program = rounding_program(problem, 10.0, up, down)
        raised = result.pattern.shown > grid.table.values
        constant = float(-wanted[(wanted < 0) & (rest > 0)].sum())
        assert result.status is Status.OPTIMAL
        assert result.cost == pytest.approx(float(wanted[raised].sum()) + constant)
        assert result.cost == pytest.approx(program.solve()[0])


def test_figure_11_is_optimal_for_its_ends() -> None:
    """Figure 11 shows II, C as 26; floors, ceilings and r are not in the text. With 4 around each value 16 is least."""
    grid = TwoWay(FIGURE_004)
    printed = np.array([20, 50, 10, 80, 7, 16, 26, 49, 18, 35, 8, 61, 45, 101, 44, 190], dtype=float)
    a = grid.table.values
    problem = grid.problem([(2, 3)], 2, 4, prices={"up": 1, "down": 1})
    result = protect(problem, "perturb-cell", params={"floor": a - 4, "ceiling": a + 4, "senses": "up"})
    assert result.status is Status.OPTIMAL and result.audit.safe
    assert result.cost == result.bound == float(np.abs(printed - a).sum()) == 16.0
    assert result.pattern.shown[grid.cell((2, 3))] == 26.0
    figure = Perturbation.of(printed, 8.0)
    assert audit(problem, figure).safe
    with pytest.raises(InputError, match="neither end"):  # the levels of the paper's example, 10 and 12
        protect(grid.problem([(2, 3)], 10, 12), "perturb-cell", params={"floor": a - 4, "ceiling": a + 4})


def test_figure_5_costs_what_its_sides_cost() -> None:
    """Figure 5: intervals that are 6 wide each; any prices give the sum over both sides."""
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 2, 4, prices={"up": 3, "down": 2})
    low, high = grid.table.values.copy(), grid.table.values.copy()
    for position, ends in {(1, 1): (18, 24), (1, 3): (6, 12), (2, 1): (4, 10), (2, 3): (20, 26)}.items():
        low[grid.cell(position)], high[grid.cell(position)] = ends
    figure = Intervals.of(low, high)
    assert audit(problem, figure).safe
    assert figure.loss(problem) == 3 * (4 + 2 + 2 + 4) + 2 * (2 + 4 + 4 + 2)
    best = protect(problem, "interval-partial", params=EXACT)
    found = interval_program(problem, problem.prices.up, problem.prices.down)[0].solve()
    assert best.cost == pytest.approx(found[0]) and best.cost == 56.0  # less than the figure, at these prices
    even = replace(problem, prices=Prices.even(np.ones(16)))
    assert protect(even, "interval-partial", params=EXACT).cost == figure.loss(even) == 24.0


@pytest.mark.parametrize(
    ("prices", "told"),
    [
        ({"up": [1.0] * 15 + [-1.0]}, ["cell row=T, column=T: the price upward must be"]),
        (
            {"down": [np.nan] + [1.0] * 15, "touch": -1.0},
            ["cell row=1, column=1: the price downward", "of touching"],
        ),
        ({"up": [1.0, 2.0]}, ["the price upward: expected 16 numbers"]),
        ({"up": "prise"}, ["there are no prices 'prise'"]),
        ({"upp": 2.0}, ["there is no price 'upp'; did you mean 'up'"]),
        (7, ["prices"]),
    ],
)
def test_wrong_prices_are_listed_with_their_cells(prices: object, told: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        TwoWay(FIGURE_004).problem([(2, 3)], 10, 12, prices=prices)
    for text in told:
        assert text in str(caught.value)


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"floor": 0.0}, "must be given together"),
        ({"known": 3.0}, "needs 'floor' and 'ceiling'"),
        ({"floor": 21.0, "ceiling": 300.0}, "cell row=1, column=1: its true value lies outside"),
        ({"floor": 0.5, "ceiling": 300.0}, "whole data units"),
        ({"floor": 0.0, "ceiling": 300.0, "known": 5.0}, "does not contain floor and ceiling"),
        ({"floor": -5.0, "ceiling": 300.0}, "below zero"),
        ({"floor": [0.0], "ceiling": 300.0}, "expected 16 numbers"),
        ({"floor": "nowhere", "ceiling": 300.0}, "no column 'nowhere'"),
    ],
)
def test_wrong_ends_are_refused(params: dict[str, object], told: str) -> None:
    with pytest.raises(InputError) as caught:
        protect(TwoWay(FIGURE_004).problem([(2, 3)], 10, 12), "perturb-cell", params=params)
    assert told in str(caught.value)
    assert "22" not in str(caught.value)


def test_who_knows_that_the_ceiling_is_shown_learns_one_side() -> None:
    """The attack of docs/methods/perturb-cell.md: the audit passes, and who knows the end loses one side."""
    grid = TwoWay(FIGURE_004)
    cell, a = grid.cell((2, 3)), grid.table.values
    problem = grid.problem([(2, 3)], 4, 4)
    floor, ceiling = np.maximum(a - 9, 0.0), a + 9
    result = protect(problem, "perturb-cell", params={"floor": floor, "ceiling": ceiling, "senses": "up"})
    assert result.audit.safe
    shown, reach = result.pattern.shown[cell], result.pattern.reach[cell]
    insider = Attacker.knowing("knows the end", [cell], [shown - reach], [shown])
    left = audit(replace(problem, attackers=(insider,)), result.pattern, intervals=True)
    high = left.high[(left.attackers == 1) & (left.cells == cell)][0]
    assert high <= shown and shown == ceiling[cell]
    assert (
        a[cell] + problem.levels.upper[cell] <= high
    )  # the ceiling is a level above: a_p <= v_p says no more
    # ends that are a share of the value give it away altogether: r = 2 x a
    share = 0.5
    betrayed = reach_of_shares(a[cell], share) / (2 * share)
    assert betrayed == a[cell]


def reach_of_shares(value: float, share: float) -> float:
    """ceiling - floor where both are the value plus and minus a share of it."""
    return value * (1 + share) - value * (1 - share)


# ---------------------------------------------------------------------- the other doors


def columned() -> Table:
    """A table of cells with two columns of prices."""
    rows, columns = ["1", "2"], ["1", "2"]
    cells = {
        "row": np.repeat([*rows, "T"], 3),
        "column": np.tile([*columns, "T"], 3),
        "value": [3.0, 4.0, 7.0, 5.0, 6.0, 11.0, 8.0, 10.0, 18.0],
        "dear": np.arange(9.0),
        "cheap": np.linspace(0.0, 1.0, 9),
    }
    return Table.from_cells([Dimension.flat("row", rows, "T"), Dimension.flat("column", columns, "T")], cells)


def test_prices_by_column_and_in_cloak_files() -> None:
    levels = Levels.at(9, [0], lower=1.0, upper=1.0)
    problem = Problem.of(columned(), [0], levels, prices={"up": "dear", "touch": "2.5"})
    assert np.array_equal(problem.prices.up, np.arange(9.0))
    assert problem.prices.down is not None and np.array_equal(problem.prices.down, problem.weights)
    assert (problem.prices.touch == 2.5).all()
    again = read_cloak(write_cloak(problem))
    assert all(
        np.array_equal(one, other)
        for (_, one), (_, other) in zip(again.prices.named(), problem.prices.named(), strict=True)
    )
    plain = replace(problem, prices=None)
    assert read_cloak(write_cloak(plain)).prices is None
    with pytest.raises(NotApplicable, match="prices"):
        write_jj(problem)


def test_prices_on_the_command_line(tmp_path: Path) -> None:
    given, out = tmp_path / "table.cloak", tmp_path / "problem.cloak"
    given.write_bytes(write_cloak(columned()))
    marks = tmp_path / "marks.csv"
    marks.write_text("row,column,mark\n1,1,unsafe\n")
    words = [
        "assess",
        str(given),
        "--marks",
        str(marks),
        "--out",
        str(out),
        "--price",
        "up=dear",
        "--price",
        "touch=1",
    ]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    problem = read_cloak(out)
    assert np.array_equal(problem.prices.up, np.arange(9.0)) and (problem.prices.touch == 1.0).all()
    wrong = CliRunner().invoke(app, [*words[:-1], "touch=dare"])
    assert wrong.exit_code != 0
