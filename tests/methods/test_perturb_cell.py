"""perturb-cell: both verdicts, both models, senses, counted cells, and what is stated."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
import pytest

from fixtures import FIXTURES, from_leaves, leaf_values, smallest_leaves, with_levels
from fixtures import flat as flat_dimension
from tablecloak.auditing import audit
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable
from tablecloak.methods import METHODS, Method
from tablecloak.methods.adjustment import (
    AdjustmentSettings,
    Perturber,
    ReachRule,
    formulate,
    price_unit,
    ranges_of,
)
from tablecloak.methods.adjustment.integer_units import IntegerUnits
from tablecloak.methods.adjustment.reach import next_nice
from tablecloak.methods.adjustment.settings import ProtectionSettings
from tablecloak.methods.perturb_cell import PerturbCellParams, perturb_cell
from tablecloak.model import Levels, Mark, Perturbation, Problem, Status, Table
from tablecloak.progress import NEVER, silent
from tablecloak.protection import protect
from tablecloak.solvers import Outcome, solve_mip
from tablecloak.testing import KINDS, random_problem
from two_way import FIGURE_004, T, TwoWay

METHOD = Method(perturb_cell, PerturbCellParams, "perturb-cell", "Salazar 2002")
WIDE = {"share": 0.9, "least": 30.0}


def distance(problem, result):
    return float(problem.weights @ np.abs(result.pattern.shown - problem.table.values))


def adds_up(problem, result):
    moved = result.pattern.shown - problem.table.values
    return np.abs(problem.table.equations @ moved).max(initial=0.0) <= 1e-9 * np.abs(moved).max()


def random_perturbable(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(
        KINDS[seed % len(KINDS)],
        rng,
        negative=seed % 5 == 0,
        insiders=seed % 3,
        sliding=seed % 2 == 1,
        conditional=seed % 4 == 3,
    )
    free = np.where(problem.marks == Mark.HIDDEN, Mark.FREE, problem.marks).astype(np.int8)
    return replace(problem, marks=free), ReachRule(0.8, [0.0, 10.0, 40.0][seed % 3])


# ---------------------------------------------------------------------- vectors


def test_v004_5_the_distance_of_the_figure_is_the_least_when_the_cell_rises():
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 2, 4, weights="unit")
    up = protect(problem, METHOD, params={"senses": "up"})
    assert distance(problem, up) == 16
    assert up.pattern.shown[grid.cell((2, 3))] == 26
    assert adds_up(problem, up)
    best = protect(problem, METHOD)
    assert distance(problem, best) == 8  # down by two, four cells
    assert best.pattern.shown[grid.cell((2, 3))] == 20
    assert (best.status, best.bound) == (Status.OPTIMAL, pytest.approx(8))


def test_without_the_coupling_the_program_would_cheat():
    """Rising and falling at once costs 10 and shows the truth; with the coupling it costs 20."""
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 5, 5, weights="unit")
    assert distance(problem, protect(problem, METHOD, params={"share": 0.7})) == 20
    ranges = ranges_of("test", problem, ReachRule(0.7, 0.0))
    form = formulate(problem, ranges, counted=False).formulation
    mine = np.flatnonzero(~problem.forced)
    place = int(np.searchsorted(mine, grid.cell((2, 3))))
    cheat = np.zeros(form.size)
    unit = 5.0  # `length_unit`: the median level
    cheat[[place, mine.size + place]] = 5.0 / unit
    cheat[-1] = 1.0
    reached = form.constraints.matrix @ cheat
    kept = (reached >= form.constraints.low - 1e-9) & (reached <= form.constraints.high + 1e-9)
    assert (~kept).sum() == 1  # only z- <= reach (1 - y) stands in the way
    costs = [
        solve_mip(
            form.constraints.matrix[rows],
            (form.low, form.high),
            (form.constraints.low[rows], form.constraints.high[rows]),
            form.cost,
            form.integral,
        ).objective
        * price_unit(problem)
        for rows in (np.arange(kept.size), np.flatnonzero(kept))
    ]
    assert costs == pytest.approx([20, 10])


def test_publishing_the_truth_fails():
    problem = TwoWay(FIGURE_004).problem([(2, 3)], 1, 1)
    assert not audit(problem, Perturbation.of(problem.table.values, 20.0)).safe


# ---------------------------------------------------------------------- what is stated


def test_nice_numbers_are_the_next_ones():
    given = np.array([0.011, 0.02, 1.0, 1.2, 2.0, 2.1, 5.5, 10.0, 99.0, 1e12, 1.1e12])
    assert next_nice(given) == pytest.approx([0.02, 0.02, 1, 2, 2, 5, 10, 10, 100, 1e12, 2e12], rel=1e-15)


@pytest.mark.parametrize("fixture", ["two way several", "three way", "negative values", "decimals"])
def test_the_stated_reach_depends_on_what_is_shown_only(fixture):
    problem = FIXTURES[fixture]()
    shown = protect(problem, METHOD, params=WIDE).pattern
    rule = ReachRule(0.9, 30.0)
    free = ~problem.forced
    assert shown.reach[free].tolist() == rule.stated(shown.shown, problem.table.unit)[free].tolist()
    assert (shown.reach[~free] == 0).all()


@pytest.mark.parametrize(
    "fixture", ["two way several", "three way", "decimals", "tiny decimals", "huge values"]
)
def test_what_is_shown_has_the_decimals_of_the_data_and_keeps_zero_and_forced_cells(fixture):
    problem = FIXTURES[fixture]()
    result = protect(problem, METHOD, params={"share": 0.8})
    shown = result.pattern.shown
    assert shown.tolist() == np.round(shown, problem.table.decimals).tolist()
    assert (shown >= 0).all()
    assert (shown[problem.forced] == problem.table.values[problem.forced]).all()
    assert adds_up(problem, result)


def test_negative_cells_keep_their_place():
    problem = FIXTURES["negative values"]()
    result = protect(problem, METHOD)
    assert result.audit.safe
    assert adds_up(problem, result)
    assert result.status is Status.OPTIMAL


def test_values_around_a_million_millions():
    table = from_leaves([flat_dimension("r", 4), flat_dimension("c", 4)], leaf_values(4, 4, low=1) * 1e12 + 7)
    problem = with_levels(table, smallest_leaves(table, 3), weights="unit")
    result = protect(problem, METHOD)
    assert result.audit.safe
    assert not (problem.table.equations @ (result.pattern.shown - table.values)).any()
    assert distance(problem, result) == pytest.approx(result.bound, rel=1e-7)


# ---------------------------------------------------------------------- the models


def test_both_models_agree_on_random_tables():
    solved = bound = 0
    for seed in range(66):
        problem, rule = random_perturbable(seed)
        try:
            ranges = ranges_of("test", problem, rule)
        except InputError:
            continue
        first, second = (
            Perturber(problem, ranges, silent).against_attackers(NEVER, compact=one) for one in (True, False)
        )
        assert first.outcome is second.outcome, seed
        assert (first.pattern is None) == (second.pattern is None), seed
        if second.pattern is None:
            continue
        assert first.bound == pytest.approx(second.bound, rel=1e-6, abs=1e-6), seed
        assert first.safe
        assert second.safe
        solved, bound = solved + 1, bound + (second.rows > 0)
    assert solved > 25
    assert bound >= 3


def test_the_cheapest_of_all_senses_is_the_best():
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(1, 1), (2, 3), (3, 2)], [3, 4, 2], [4, 2, 5], weights="unit")
    ranges = ranges_of("test", problem, ReachRule(0.6, 0.0))
    assert ranges.both.sum() == 3
    costs = []
    for number in range(8):
        up = np.zeros(16, dtype=bool)
        up[np.flatnonzero(problem.sensitive)] = [bool(number >> k & 1) for k in range(3)]
        one = Perturber(problem, ranges.with_senses(up), silent).against_attackers(NEVER)
        costs.append(one.cost)
    best = protect(problem, METHOD, params={"share": 0.6})
    assert distance(problem, best) == pytest.approx(min(costs))
    assert min(costs) < max(costs)


@pytest.mark.parametrize("senses", ["up", "down", "random"])
def test_senses_given_in_advance(senses):
    problem = FIXTURES["two way several"]()
    options = {"senses": senses, "least": 10.0}
    result = protect(problem, METHOD, params=options, seed=3)
    moved = (result.pattern.shown - problem.table.values)[problem.sensitive]
    assert result.audit.safe
    if senses == "up":
        assert (moved > 0).all()
    again = protect(problem, METHOD, params=options, seed=3)
    assert again.pattern.shown.tobytes() == result.pattern.shown.tobytes()
    assert distance(problem, protect(problem, METHOD, params={"least": 10.0})) <= distance(problem, result)


# ---------------------------------------------------------------------- counted cells, conditional widths


def test_at_most_so_many_cells_change():
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 2, 4, weights=np.arange(1.0, 17.0))
    with_bound = replace(problem, most_touched=4)
    result = protect(with_bound, METHOD)
    assert result.pattern.touched(problem).sum() == 4
    assert result.audit.safe
    with pytest.raises(InfeasibleProblem, match="at most 3 changed"):
        protect(replace(problem, most_touched=3), METHOD)


def test_the_bound_on_changed_cells_costs_something():
    grid = TwoWay(FIGURE_004)
    cells = [(1, 1), (2, 3), (3, 2)]
    problem = grid.problem(cells, 3, 3, weights="unit")
    free = protect(problem, METHOD)
    count = int(free.pattern.touched(problem).sum())
    costs = {}
    for most in range(count, 2, -1):
        try:
            costs[most] = distance(problem, protect(replace(problem, most_touched=most), METHOD))
        except InfeasibleProblem:
            break
    assert costs[count] == pytest.approx(distance(problem, free))
    assert list(costs.values()) == sorted(costs.values())


def test_conditional_widths_hold_for_changed_cells():
    problem = FIXTURES["conditional"]()
    result = protect(problem, METHOD, params=WIDE)
    assert result.audit.safe
    narrow = protect(problem, METHOD, params={"share": 0.7, "least": 15.0})
    assert narrow.audit.safe
    assert distance(problem, narrow) >= distance(problem, result) - 1e-6


# ---------------------------------------------------------------------- what cannot be


def test_levels_that_do_not_fit_are_all_listed_without_values():
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3), (1, 1), (3, 2)], [10, 9, 1], [12, 9, 1])
    with pytest.raises(InputError) as caught:
        protect(problem, METHOD)
    assert [fault.partition(":")[0] for fault in caught.value.faults] == [
        "cell row=1, column=1",
        "cell row=2, column=3",
    ]
    assert "share" in str(caught.value)
    assert "22" not in str(caught.value)
    assert protect(problem, METHOD, params={"share": 0.9}).audit.safe


def test_parameters_that_cannot_be_are_listed_together():
    problem = FIXTURES["two way"]()
    with pytest.raises(InputError) as caught:
        protect(problem, METHOD, params={"senses": "sideways", "model": "third"})
    assert len(caught.value.faults) == 2
    with pytest.raises(InputError) as caught:
        protect(problem, METHOD, params={"share": 1.0, "least": -1.0})
    assert len(caught.value.faults) == 2


def test_cells_that_must_be_hidden_are_refused():
    with pytest.raises(NotApplicable):
        protect(FIXTURES["forced hidden"](), METHOD)


def test_forced_cells_in_the_way_are_named():
    grid = TwoWay(FIGURE_004)
    problem = grid.problem([(2, 3)], 10, 12, forced=grid.cells([(2, 1), (2, 2), (2, T)]))
    with pytest.raises(InfeasibleProblem) as caught:
        protect(problem, METHOD)
    assert caught.value.cells == ("row=2, column=3",)


def test_what_attackers_leave_open_is_named():
    grid = TwoWay([[45, 51, 10], [13, 30, 35], [46, 25, 6]])
    totals = grid.cells([(1, T), (2, T), (3, T), (T, T), (T, 1), (T, 2), (T, 3)])
    problem = grid.problem([(1, 2)], 10.2, 10.2, weights="unit", forced=totals)  # 11 whole units
    result = protect(problem, METHOD, params={"share": 0.37})
    assert result.audit.open_cells.tolist() == grid.cells([(1, 2)])
    assert not result.audit.too_close.size
    assert "keeps all attackers away" in result.report.notes[0]
    assert result.status is Status.FEASIBLE
    assert protect(problem, METHOD, params={"share": 0.6}).audit.safe


def test_levels_that_fit_in_fractions_only_are_refused():
    grid = TwoWay([[45, 51, 10], [13, 30, 35], [46, 25, 6]])
    problem = grid.problem([(1, 2)], 10.2, 10.2, weights="unit")  # 11 whole units
    with pytest.raises(InputError, match="row=1, column=2: its levels, as whole data units, do not fit"):
        protect(problem, METHOD, params={"share": 0.35})
    assert protect(problem, METHOD, params={"share": 0.36}).audit.safe


def test_senses_that_cannot_be_say_so():
    table = Table.from_equations([10.0, 10.0], np.array([[1.0, 1.0]]), 20.0)
    level = np.full(2, 2.0)
    problem = Problem.of(table, [0, 1], Levels.of(2, level, level))
    with pytest.raises(InfeasibleProblem, match="senses 'up'"):
        protect(problem, METHOD, params={"senses": "up"})
    moved = protect(problem, METHOD).pattern.shown - table.values
    assert sorted(moved.tolist()) == [-2.0, 2.0]


# ---------------------------------------------------------------------- limits


def test_stopped_at_once():
    problem = FIXTURES["three way"]()
    result = protect(problem, METHOD, params={"seconds": 0.0})
    assert result.status is Status.TIME_LIMIT
    assert not result.audit.too_close.size
    assert adds_up(problem, result)


def test_interrupted_by_the_user():
    problem = FIXTURES["two way several"]()
    calls = []

    def once(phase, done, total, incumbent=None, bound=None):
        if phase == "relaxation":
            calls.append(phase)
            if len(calls) == 1:
                raise KeyboardInterrupt

    result = protect(problem, METHOD, progress=once)
    assert result.status is Status.INTERRUPTED
    assert not result.audit.too_close.size


def test_equations_with_fractions_are_not_forced_onto_integer_units():
    matrix = np.array([[0.5, 1.0, -1.0, 0.0], [1.0, 0.0, 0.5, -1.0]])
    values = np.array([10.0, 20.0, 25.0, 22.5])
    table = Table.from_equations(values, matrix, matrix @ values)
    level = np.where(np.arange(4) == 1, 3.0, 0.0)
    problem = Problem.of(table, [1], Levels.of(4, level, level), weights="unit")
    assert IntegerUnits(problem).near(np.zeros(4), (np.full(4, -5.0), np.full(4, 5.0))) is None
    result = protect(problem, METHOD)
    assert adds_up(problem, result)
    assert "more decimals" in " ".join(result.report.notes)


def test_senses_that_balance_take_over_when_programs_have_nothing(monkeypatch) -> None:
    problem = FIXTURES["three way"]()
    best = protect(problem, METHOD, params=WIDE)

    for name in ("against_attackers", "without_attackers"):
        real = getattr(Perturber, name)
        monkeypatch.setattr(Perturber, name, lambda *a, real=real, **o: _emptied(real(*a, **o)))
    assert protect(problem, METHOD, params=WIDE).status is Status.FEASIBLE, "no limit, no time limit"
    found = protect(problem, METHOD, params={**WIDE, "seconds": 60.0})
    assert found.status is Status.TIME_LIMIT
    assert adds_up(problem, found)
    assert found.cost >= best.bound - 1e-9
    assert found.bound is None or found.bound <= found.cost
    sensitive = problem.sensitive
    away = np.abs(found.pattern.shown - problem.table.values)[sensitive]
    least = np.minimum(problem.levels.lower, problem.levels.upper)[sensitive]
    assert (away >= least - 1e-9).all()


def _emptied(attempt, outcome=Outcome.TIME_LIMIT):
    return replace(attempt, outcome=outcome, pattern=None, safe=False)


def test_they_also_take_over_from_programs_that_failed_beside_conditional_widths(monkeypatch) -> None:
    problem = FIXTURES["conditional"]()
    for name in ("against_attackers", "without_attackers"):
        real = getattr(Perturber, name)
        monkeypatch.setattr(
            Perturber, name, lambda *a, real=real, **o: _emptied(real(*a, **o), outcome=Outcome.FAILED)
        )
    found = protect(problem, METHOD, params=WIDE)
    assert found.status is Status.FEASIBLE and adds_up(problem, found)
    assert found.report.notes[0].startswith("programs failed before all attackers were answered")


def test_an_audit_that_takes_too_long_is_given_up(monkeypatch):
    """A perturbation is returned all the same; what it leaves open the audit of `protect` names."""
    module = import_module("tablecloak.methods.timed_audit")

    def endless(problem, pattern, *, progress, **_):
        for _ in range(1000):
            progress("audit", 0, 1)  # raises where a deadline is watched; the last audit has none
        return audit(problem, pattern)

    monkeypatch.setattr(module, "audit", endless)
    result = protect(FIXTURES["two way"](), METHOD, params={"seconds": 0.0, "share": 0.9, "least": 30.0})
    assert result.status is Status.TIME_LIMIT


def test_programs_that_fail_within_the_limit_are_not_called_late(monkeypatch):
    """As seen on cells of 1 to 60 beside cells of 1e8 to 1e12."""

    def failed(*given, **named):
        found = against(*given, **named)
        return replace(found, safe=False, pattern=None, outcome=Outcome.FAILED)

    against = Perturber.against_attackers
    monkeypatch.setattr(Perturber, "against_attackers", failed)
    params = {"share": 0.9, "least": 30.0, "seconds": 1000.0}
    result = protect(FIXTURES["three way"](), "perturb-cell", params=params)
    assert result.status is Status.FEASIBLE
    assert result.report.notes[0].startswith("programs failed before all attackers were answered")


# ---------------------------------------------------------------------- early results


@pytest.mark.parametrize("method", ["perturb-cell", "perturb-cta"])
@pytest.mark.parametrize("fixture", ["two way several", "linked", "responses", "any equations"])
@pytest.mark.parametrize("at", [1, 2, 4, 8, 16])
def test_an_interrupt_at_any_report_does_not_escape(method, fixture, at):
    """Also where totals do not follow from leaves; in large tables a first perturbation is there before."""
    settings = AdjustmentSettings(protection=ProtectionSettings(large=0 if at % 2 else 1000))
    chosen = replace(METHODS[method], function=partial(METHODS[method].function, settings=settings))
    problem, reports = FIXTURES[fixture](), []

    def interrupt(phase, done, total, incumbent=None, bound=None):
        reports.append(phase)
        if len(reports) == at:
            raise KeyboardInterrupt

    result = protect(problem, chosen, params=WIDE, progress=interrupt)
    assert adds_up(problem, result) and not result.audit.too_close.size
    if len(reports) < at:
        assert result.status is not Status.INTERRUPTED
    elif result.status is not Status.OPTIMAL:
        assert result.status is Status.INTERRUPTED


@pytest.mark.parametrize("method", ["perturb-cell", "perturb-cta"])
@pytest.mark.parametrize("fixture", ["two way several", "linked"])
def test_with_a_limit_the_first_report_is_a_cost(method, fixture):
    reports = []

    def watch(phase, done, total, incumbent=None, bound=None):
        reports.append((phase, incumbent))

    problem = FIXTURES[fixture]()
    protect(problem, method, params={**WIDE, "seconds": 1000.0}, progress=watch)
    assert reports[0][0] == "first perturbation" and reports[0][1] > 0


@pytest.mark.parametrize("method", ["perturb-cell", "perturb-cta"])
def test_no_program_is_begun_late_where_there_is_a_first_perturbation(method, monkeypatch):
    """As on ninenew with two seconds: the check of the problem took all of them."""
    module = import_module("tablecloak.methods.adjustment.protected")

    def endless(problem, progress):
        while True:
            progress("audit", 0, 1)

    def never(*given, **named):
        raise AssertionError("a program after the deadline")

    monkeypatch.setattr(module, "largest_pattern", endless)
    monkeypatch.setattr("tablecloak.solvers.LinearProgram.solve", never)
    monkeypatch.setattr("tablecloak.methods.adjustment.integer_units.solve_mip", never)
    problem, chosen = FIXTURES["linked"](), METHODS[method]
    params, rng = chosen.make_params({**WIDE, "seconds": 0.0}), np.random.default_rng(0)
    found = chosen.function(problem, params=params, rng=rng, progress=silent)
    assert found.status is Status.TIME_LIMIT
    assert not (problem.table.equations @ (found.pattern.shown - problem.table.values)).any()


def test_what_was_found_remains_when_its_audit_is_interrupted(monkeypatch):
    module = import_module("tablecloak.methods.timed_audit")

    calls = []

    def interrupted(problem, pattern, **_):
        calls.append(pattern)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return audit(problem, pattern)

    monkeypatch.setattr(module, "audit", interrupted)
    problem = FIXTURES["two way several"]()
    result = protect(problem, METHOD, params=WIDE)
    assert result.status is Status.INTERRUPTED
    assert result.report.counters["rounds"] > 0  # that of programs, not the first one


def test_faults_of_the_problem_come_before_those_of_the_reach():
    """A first perturbation is made before the problem is checked; what is told stays the same."""
    table = Table.from_equations([10.0, 20.0, 30.0], np.array([[1.0, 1.0, -1.0]]))
    wide = Problem.of(table, [0], Levels.at(3, [0], [9.0], [9.0]))
    tied = replace(wide, marks=np.array([Mark.SENSITIVE, Mark.FORCED, Mark.FORCED], dtype=np.int8))
    for seconds in (None, 1000.0):
        with pytest.raises(InputError, match="do not fit into the stated reach"):
            protect(wide, METHOD, params={"seconds": seconds})
        with pytest.raises(InfeasibleProblem, match="even when everything"):
            protect(tied, METHOD, params={"seconds": seconds})
