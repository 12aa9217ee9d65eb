"""perturb-cta: exact on small tables, block descent, least squares, whole units, attackers, limits."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from types import SimpleNamespace

import highspy
import numpy as np
import pytest

from fixtures import FIXTURES, flat, from_leaves, leaf_values, smallest_leaves, with_levels
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable, SolverError
from tablecloak.methods import Method
from tablecloak.methods.adjustment import (
    Adjustment,
    AdjustmentSearch,
    AdjustmentSettings,
    Move,
    Perturber,
    ReachRule,
    least_squares_move,
    programs,
    ranges_of,
    towards_least_squares,
)
from tablecloak.methods.adjustment.block_descent import Descent
from tablecloak.methods.adjustment.integer_units import IntegerUnits
from tablecloak.methods.adjustment.programs import ProgramLimits
from tablecloak.methods.adjustment.reweighted_start import quick_move
from tablecloak.methods.adjustment.settings import DescentSettings, SearchSettings
from tablecloak.methods.perturb_cta import PerturbCtaParams, perturb_cta
from tablecloak.model import Levels, Mark, Problem, Status, Table
from tablecloak.progress import NEVER, Deadline, silent
from tablecloak.protection import protect
from tablecloak.solvers import Outcome, solve_mip
from tablecloak.solvers.highs import integer_programs
from tablecloak.testing import KINDS, random_problem
from two_way import FIGURE_004, TwoWay

METHOD = Method(perturb_cta, PerturbCtaParams, "perturb-cta", "Castro 2006")
SMALL_BLOCKS = DescentSettings(block=8, largest_block=8)


def method_with(**settings):
    """The method with other settings."""
    function = partial(perturb_cta, settings=AdjustmentSettings(**settings))
    return Method(function, PerturbCtaParams, "perturb-cta", "Castro 2006")


def distance(problem, result):
    return float(problem.weights @ np.abs(result.pattern.shown - problem.table.values))


def squares(problem, result):
    return float(problem.weights @ (result.pattern.shown - problem.table.values) ** 2)


def adds_up(problem, result):
    moved = result.pattern.shown - problem.table.values
    return np.abs(problem.table.equations @ moved).max(initial=0.0) <= 1e-9 * np.abs(moved).max()


def two_way(size, sensitive, seed=1, weights="unit"):
    table = from_leaves(
        [flat("r", size), flat("c", size)], leaf_values(size, size, seed=seed, low=5, high=90)
    )
    cells = np.random.default_rng(seed).choice(np.flatnonzero(table.is_leaf), sensitive, replace=False)
    return with_levels(table, sorted(cells.tolist()), 0.15, weights=weights)


def random_perturbable(seed):
    problem = random_problem(
        KINDS[seed % len(KINDS)],
        np.random.default_rng(seed),
        negative=seed % 5 == 0,
        insiders=seed % 3,
        sliding=seed % 2 == 1,
    )
    free = np.where(problem.marks == Mark.HIDDEN, Mark.FREE, problem.marks).astype(np.int8)
    return replace(problem, marks=free), ReachRule(0.8, [0.0, 10.0, 40.0][seed % 3])


def adjustment_of(problem, rule=ReachRule(0.5, 0.0), **more):
    return Adjustment(problem, ranges_of("test", problem, rule), NEVER, **more)


# ---------------------------------------------------------------------- exact


def test_v004_5_the_least_distance():
    problem = TwoWay(FIGURE_004).problem([(2, 3)], 2, 4, weights="unit")
    result = protect(problem, METHOD)
    assert (distance(problem, result), result.bound, result.status) == (8, pytest.approx(8), Status.OPTIMAL)
    only_up = TwoWay(FIGURE_004).problem([(2, 3)], 8, 4, weights="unit")
    assert distance(only_up, protect(only_up, METHOD, params={"share": 0.6})) == 16


def test_rising_and_falling_at_once_would_cost_half():
    problem = TwoWay(FIGURE_004).problem([(2, 3)], 5, 5, weights="unit")
    result = protect(problem, METHOD, params={"share": 0.7})
    assert distance(problem, result) == 20
    adjustment = adjustment_of(problem, ReachRule(0.7, 0.0))
    _, relaxed, share = adjustment.solve()
    assert relaxed.cost == pytest.approx(5)  # the chord: half up, half down, shown as it is
    assert share == pytest.approx([0.5])


def test_all_senses_by_brute_force():
    tried = 0
    for seed in range(60):
        problem, rule = random_perturbable(seed)
        try:
            adjustment = adjustment_of(problem, rule)
        except InputError:
            continue
        count = adjustment.choice.size
        costs = [
            adjustment.solve(np.array(given, dtype=np.int64))[1].cost
            for given in product((0, 1), repeat=count)
        ]
        found, bound, finished = adjustment.integer(ProgramLimits(60.0, None))
        assert finished
        if np.isinf(min(costs)):
            assert found is None
            continue
        assert found.cost == pytest.approx(min(costs), rel=1e-7)
        assert bound == pytest.approx(min(costs), rel=1e-7)
        assert adjustment.solve()[1].cost <= min(costs) * (1 + 1e-9)
        assert adjustment.dive(adjustment.solve()[2]).cost >= min(costs) * (1 - 1e-9)
        tried += count > 0
    assert tried > 20


def test_a_plain_integer_program_of_the_textbook_agrees():
    """z+, z- for every cell, y for sensitive ones, 4 rows each: the model of Dandekar and Cox as it stands."""
    problem = two_way(4, 5, weights="value")
    table, size = problem.table, len(problem.table)
    ranges = ranges_of("test", problem, ReachRule(0.5, 0.0))
    cells = np.flatnonzero(problem.sensitive)
    count = cells.size
    rise = np.where(problem.sensitive, ranges.up_high, ranges.high)
    fall = np.where(problem.sensitive, ranges.down_high, -ranges.low)
    equations = table.equations.toarray()
    sums = np.hstack([equations, -equations, np.zeros((equations.shape[0], count))])
    links = np.zeros((4, count, 2 * size + count))
    low, high = np.full((4, count), -np.inf), np.full((4, count), np.inf)
    for k, p in enumerate(cells):
        links[:2, k, p] = 1
        links[2:, k, size + p] = 1
        links[:, k, 2 * size + k] = [-ranges.up_low[p], -rise[p], ranges.down_low[p], fall[p]]
        low[0, k], high[1, k], low[2, k], high[3, k] = 0, 0, ranges.down_low[p], fall[p]
    zero = np.zeros(equations.shape[0])
    solution = solve_mip(
        np.vstack([sums, links.reshape(4 * count, -1)]),
        (np.zeros(2 * size + count), np.concatenate([rise, fall, np.ones(count)])),
        (np.concatenate([zero, low.ravel()]), np.concatenate([zero, high.ravel()])),
        np.concatenate([problem.weights, problem.weights, np.zeros(count)]),
        np.arange(2 * size + count) >= 2 * size,
    )
    result = protect(problem, METHOD)
    assert result.status is Status.OPTIMAL
    assert distance(problem, result) == pytest.approx(solution.objective)


# ---------------------------------------------------------------------- descent


@pytest.mark.parametrize("weights", ["unit", "value"])
def test_the_descent_is_never_worse_than_its_start_nor_below_the_bound(weights):
    problem = two_way(9, 18, weights=weights)
    optimum = protect(problem, METHOD)
    assert optimum.status is Status.OPTIMAL
    small = method_with(search=SearchSettings(small_choices=0), descent=SMALL_BLOCKS)
    result = protect(problem, small, seed=5)
    start = result.report.counters["start"]
    assert result.report.counters["blocks"] > 0
    assert result.bound <= distance(problem, optimum) * (1 + 1e-9)
    assert distance(problem, optimum) <= distance(problem, result) * (1 + 1e-9)
    assert distance(problem, result) <= start * (1 + 1e-9)
    assert adds_up(problem, result)
    again = protect(problem, small, seed=5)
    assert again.pattern.shown.tobytes() == result.pattern.shown.tobytes()


def test_the_descent_goes_on_where_an_integer_program_was_stopped(monkeypatch):
    problem = two_way(9, 18, seed=3)  # no bound closes the gap before the blocks
    optimum = protect(problem, METHOD)
    stopped = solve_mip

    def without_cuts(*arguments, **options):
        found = stopped(*arguments, **options)
        return found if arguments[5].presolve else replace(found, bound=found.bound / 2)

    monkeypatch.setattr(programs, "solve_mip", without_cuts)
    result = protect(problem, method_with(search=SearchSettings(max_nodes=1), descent=SMALL_BLOCKS))
    assert result.report.counters["blocks"] > 0
    assert distance(problem, optimum) <= distance(problem, result) * (1 + 1e-9)
    assert distance(problem, result) <= result.report.counters["start"] * (1 + 1e-9)


def test_integer_programs_that_fail_leave_the_best_move_so_far(monkeypatch):
    problem = two_way(9, 18, seed=3)
    optimum = protect(problem, METHOD)
    failing = SimpleNamespace(run=lambda *_, **__: highspy.HighsModelStatus.kSolveError)
    monkeypatch.setattr(integer_programs, "running", failing)
    none = np.zeros(0)
    failed = solve_mip(np.zeros((0, 1)), (np.zeros(1), np.ones(1)), (none, none), np.ones(1), np.ones(1) > 0)
    assert (failed.outcome, failed.bound) == (Outcome.FAILED, -np.inf)
    result = protect(problem, METHOD)
    assert result.status is Status.FEASIBLE
    assert distance(problem, optimum) <= distance(problem, result) * (1 + 1e-9)


def test_a_known_move_is_where_the_integer_program_starts():
    """Without a node it can only give back what it was given, or better."""
    problem = two_way(12, 40, seed=4)
    adjustment = adjustment_of(problem)
    known = adjustment.solve(np.arange(adjustment.choice.size) % 2)[1]
    found, bound, _ = adjustment.integer(ProgramLimits(60.0, 0, presolve=True), start=known.moved)
    assert found is not None and adjustment.holds(found.moved)
    assert bound <= found.cost <= known.cost * (1 + 1e-9)


def test_a_move_that_does_not_hold_is_none():
    problem = two_way(6, 6)
    adjustment = adjustment_of(problem)
    moved = adjustment.dive(adjustment.solve()[2]).moved
    assert adjustment.holds(moved)
    between, unbalanced = moved.copy(), moved.copy()
    between[adjustment.choice[0]] = 0.0
    unbalanced[np.flatnonzero(~problem.sensitive)[0]] += 1.0
    assert not adjustment.holds(between) and not adjustment.holds(unbalanced)


def test_a_bound_above_a_known_move_is_dropped(monkeypatch):
    """A numerical failure proves nothing."""
    problem = two_way(9, 18)
    honest = solve_mip

    def lost(*arguments, **options):
        found = honest(*arguments, **options)
        return replace(found, bound=abs(found.bound) * 10 + 1e6)

    optimum = protect(problem, METHOD)
    monkeypatch.setattr(programs, "solve_mip", lost)
    result = protect(problem, METHOD)
    assert result.bound <= distance(problem, optimum) * (1 + 1e-9)


def test_every_block_keeps_all_sums_and_ranges():
    problem = two_way(12, 40, seed=4)
    adjustment = adjustment_of(problem)
    _, relaxed, _ = adjustment.solve()
    outcome, worst, _ = adjustment.solve(np.arange(adjustment.choice.size) % 2)
    assert outcome is Outcome.OPTIMAL
    search = Descent(adjustment, worst, relaxed.cost, np.random.default_rng(1), NEVER, silent)
    costs = [worst.cost]
    for _ in range(4):
        search._improve(10)
        costs.append(search.best.cost)
        moved = search.best.moved
        low, high = adjustment.ends(adjustment.senses(moved))
        assert np.abs(problem.table.equations @ moved).max() < 1e-6
        assert ((moved >= low - 1e-6) & (moved <= high + 1e-6)).all()
        assert costs[-1] == pytest.approx(problem.weights @ np.abs(moved))
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


def test_senses_that_contradict_each_other_are_decided_by_the_integer_program():
    """Two cells that can only balance each other: the relaxation says one half for both."""
    table = Table.from_equations(
        [10.0, 10.0, 7.0, 7.0], np.array([[1.0, 1.0, 0, 0], [0, 0, 1.0, 1.0]]), [20.0, 14.0]
    )
    level = np.full(4, 2.0)
    problem = Problem.of(table, np.arange(4), Levels.of(4, level, level), weights="unit")
    adjustment = adjustment_of(problem, ReachRule(0.9, 0.0))
    given = np.array([1, 1, 0, 1])
    assert adjustment.solve(given)[0] is Outcome.INFEASIBLE
    found = adjustment.dive(np.full(4, 0.5))
    assert found.cost == pytest.approx(8)
    result = protect(problem, METHOD, params={"share": 0.9})
    assert distance(problem, result) == 8
    assert result.status is Status.OPTIMAL


# ---------------------------------------------------------------------- squares


@pytest.mark.parametrize("seed", range(4))
def test_least_squares_against_all_senses(seed):
    problem = two_way(4, 4, seed=seed)
    adjustment = adjustment_of(problem, ReachRule(0.7, 0.0))
    count = adjustment.choice.size
    totals = []
    for given in product((0, 1), repeat=count):
        outcome, move, _ = adjustment.solve(np.array(given, dtype=np.int64))
        if outcome is Outcome.OPTIMAL:
            fixed = Adjustment(problem, adjustment.ranges.with_senses(move.moved > 0), NEVER)
            totals.append(least_squares_move(fixed, move.moved, NEVER, silent).total)
    start = adjustment.dive(adjustment.solve()[2])
    found = least_squares_move(adjustment, start.moved, NEVER, silent)
    assert found.bound <= min(totals) * (1 + 1e-6)
    assert min(totals) <= found.total * (1 + 1e-6)
    assert found.total <= problem.weights @ start.moved**2 * (1 + 1e-9)
    assert found.total <= np.median(totals) * (1 + 1e-6)


@pytest.mark.parametrize("fixture", ["two way several", "three way", "decimals", "huge values"])
def test_squares_are_less_and_absolute_distances_more(fixture):
    problem = FIXTURES[fixture]()
    params = {"share": 0.8, "protect_attackers": False}
    absolute = protect(problem, METHOD, params=params)
    squared = protect(problem, METHOD, params={**params, "distance": "L2"})
    assert squares(problem, squared) <= squares(problem, absolute) * (1 + 1e-9)
    assert distance(problem, squared) >= distance(problem, absolute) * (1 - 1e-9)
    assert squared.bound is None
    counters = squared.report.counters
    assert counters["sum of squares"] == pytest.approx(squares(problem, squared), rel=1e-6)
    assert counters["sum of squares bound"] <= counters["sum of squares"] * (1 + 1e-6)
    assert adds_up(problem, squared)


# ---------------------------------------------------------------------- whole units


def test_integer_units_repair_what_a_solver_leaves():
    problem = two_way(6, 6)
    rng = np.random.default_rng(0)
    adjustment = adjustment_of(problem)
    start = adjustment.dive(adjustment.solve()[2])
    low, high = adjustment.ends(adjustment.senses(start.moved))
    noisy = np.clip(start.moved + rng.uniform(-0.7, 0.7, start.moved.size), low, high)
    found = IntegerUnits(problem).near(noisy, (low, high))
    assert (found == np.rint(found)).all()
    assert not (problem.table.equations @ found).any()
    assert ((low <= found) & (found <= high)).all()


def test_huge_values_add_up_exactly():
    table = from_leaves([flat("r", 5), flat("c", 5)], leaf_values(5, 5, low=1) * 1e12 + 3)
    problem = with_levels(table, smallest_leaves(table, 5), weights="unit")
    for kind in ("L1", "L2"):
        result = protect(problem, METHOD, params={"distance": kind})
        assert result.audit.safe
        assert not (table.equations @ (result.pattern.shown - table.values)).any()


# ---------------------------------------------------------------------- attackers


def attacked():
    """A three-way table whose nearest adjustment attackers see through."""
    problem, _ = random_perturbable(193)
    return problem, {"share": 0.8, "least": 10.0}


def test_attackers_are_answered_on_small_tables():
    problem, params = attacked()
    alone = protect(problem, METHOD, params={**params, "protect_attackers": False})
    assert alone.audit.open_cells.size
    assert not alone.audit.too_close.size
    assert "open to attackers" in " ".join(alone.report.notes)
    result = protect(problem, METHOD, params=params)
    assert result.audit.safe
    assert distance(problem, result) > distance(problem, alone)
    assert result.report.counters["rows"] > 0
    squared = protect(problem, METHOD, params={**params, "distance": "L2"})
    assert squared.audit.safe
    assert squares(problem, squared) <= squares(problem, result) * (1 + 1e-9)


# ---------------------------------------------------------------------- limits and faults


@pytest.mark.parametrize("kind", ["L1", "L2"])
def test_stopped_at_once(kind):
    problem = two_way(10, 24)
    result = protect(problem, METHOD, params={"seconds": 0.0, "distance": kind})
    assert result.status is Status.TIME_LIMIT
    assert not result.audit.too_close.size
    assert adds_up(problem, result)


@pytest.mark.parametrize(("phase", "kind"), [("integer program", "L1"), ("turning senses", "L2")])
def test_interrupted_by_the_user(phase, kind):
    problem = two_way(8, 12)

    def stop(now, done, total, incumbent=None, bound=None):
        if now == phase:
            raise KeyboardInterrupt

    result = protect(problem, METHOD, params={"distance": kind}, progress=stop)
    assert result.status is Status.INTERRUPTED
    assert "stopped by the user" in result.report.notes
    assert not result.audit.too_close.size


def test_progress_tells_cost_and_bound():
    problem, seen = two_way(8, 12), []

    def watch(phase, done, total, incumbent=None, bound=None):
        if incumbent is not None and bound is not None:
            seen.append((incumbent, bound))

    protect(problem, METHOD, progress=watch)
    assert seen
    assert all(bound <= cost * (1 + 1e-9) for cost, bound in seen)


def test_a_passed_deadline_takes_all_senses_at_once():
    problem = two_way(10, 24)
    ranges = ranges_of("test", problem, ReachRule(0.5, 0.0))
    slow, quick = Adjustment(problem, ranges, NEVER), Adjustment(problem, ranges, Deadline.after(0.0))
    costs = [one.dive(one.solve()[2]).cost for one in (slow, quick)]
    assert costs[0] <= costs[1] * (1 + 1e-9)


def test_what_it_does_not_count_is_refused():
    problem = FIXTURES["two way"]()
    for refused in (replace(problem, most_touched=4), FIXTURES["conditional"](), FIXTURES["forced hidden"]()):
        with pytest.raises(NotApplicable) as caught:
            protect(refused, METHOD)
        assert "suppress-compact" in caught.value.instead


def test_faults_are_listed():
    grid = TwoWay(FIGURE_004)
    with pytest.raises(InputError) as caught:
        protect(grid.problem([(2, 3), (1, 1)], [10, 9], [12, 9]), METHOD)
    assert len(caught.value.faults) == 2
    with pytest.raises(InputError, match="distance"):
        protect(FIXTURES["two way"](), METHOD, params={"distance": "L3"})


def test_no_adjustment_at_all():
    table = Table.from_equations([10.0, 10.0, 20.0], np.array([[1.0, 1.0, -1.0]]))
    level = np.array([2.0, 0, 0])
    problem = Problem.of(table, [0], Levels.of(3, level, level), forced=[2], known=(0, 100))
    assert protect(problem, METHOD).audit.safe
    level = np.array([9.0, 0.0, 0.0])
    large = Table.from_equations([30.0, 3.0, 33.0], np.array([[1.0, 1.0, -1.0]]))
    stuck = Problem.of(large, [0], Levels.of(3, level, level), forced=[2], known=(-100, 100))
    with pytest.raises(InfeasibleProblem, match="share"):
        protect(stuck, METHOD)


# ---------------------------------------------------------------------- early results


def test_what_does_not_add_up_after_an_interrupt_is_not_proposed(monkeypatch):
    """As on insee: fractions of a linear program, clipped to whole ranges, missed two sums."""

    def clipped(self, moved, *given):
        return moved + 0.3 * (np.arange(moved.size) == 0), False

    def stop(phase, done, total, incumbent=None, bound=None):
        if phase == "senses":
            raise KeyboardInterrupt

    monkeypatch.setattr(IntegerUnits, "fewest_digits_until", clipped)
    problem = two_way(8, 12)
    result = protect(problem, METHOD, progress=stop)
    assert result.status is Status.INTERRUPTED and adds_up(problem, result)
    assert not result.audit.too_close.size
    with pytest.raises(SolverError, match="do not add up"):  # a fault of the method, no matter of time
        protect(problem, METHOD)


def test_a_program_that_fails_within_a_limit_leaves_the_best_move(monkeypatch):
    def failing(*given, **named):
        raise SolverError("HiGHS lost its way")

    monkeypatch.setattr(AdjustmentSearch, "_descend", failing)
    monkeypatch.setattr(AdjustmentSearch, "_solve_integer", lambda *given: None)
    problem = two_way(8, 12)
    result = protect(problem, METHOD, params={"seconds": 1000.0})
    assert result.status is Status.TIME_LIMIT and adds_up(problem, result)
    with pytest.raises(SolverError, match="lost its way"):
        protect(problem, METHOD)


def test_a_safe_move_stays_where_there_is_no_time_for_squares():
    problem = two_way(8, 12)
    adjustment = adjustment_of(problem)
    safe = quick_move(adjustment, np.random.default_rng(0), silent).moved
    assert towards_least_squares(adjustment, safe, Deadline.after(0.0), silent) is safe


def test_no_program_has_time_beyond_the_deadline_where_there_is_a_move():
    problem = two_way(8, 12)
    ranges, late = ranges_of("test", problem, ReachRule(0.5, 0.0)), Deadline.after(0.0)
    alone, other = (Adjustment(problem, ranges, late, fallback=known) for known in (False, True))
    assert (alone.least_seconds > 0, alone.gives_up()) == (True, False)
    assert (other.least_seconds > 0, other.gives_up()) == (False, True)
    assert quick_move(other, np.random.default_rng(0), silent) is None
    assert quick_move(alone, np.random.default_rng(0), silent) is not None


def test_a_move_that_programs_were_stopped_at_may_cost_more_than_the_first(monkeypatch):
    """As on hier16 with two seconds: the nearest move to some senses, whatever it costs."""

    def stopped(search):
        first = Perturber(problem, search.adjustment.ranges, silent).by_leaves()
        search.best = Move(first.moved * 3, 3 * first.cost, np.zeros(0))

    monkeypatch.setattr(AdjustmentSearch, "run", stopped)
    problem, costs = two_way(8, 12), []

    def watch(phase, done, total, incumbent=None, bound=None):
        costs.append(incumbent)

    result = protect(problem, METHOD, params={"seconds": 1000.0, "protect_attackers": False}, progress=watch)
    assert result.status is Status.TIME_LIMIT and result.cost == pytest.approx(costs[0])
