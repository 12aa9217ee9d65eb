"""The quick bound and start of controlled tabular adjustment: below every move, additive, near, within the time."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from fixtures import flat, from_leaves, leaf_values, with_levels
from tablecloak.errors import InputError
from tablecloak.methods.adjustment import (
    Adjustment,
    AdjustmentSettings,
    ReachRule,
    ranges_of,
)
from tablecloak.methods.adjustment.distance_bound import distance_bound
from tablecloak.methods.adjustment.feasibility_pump import pump_senses
from tablecloak.methods.adjustment.integer_units import IntegerUnits
from tablecloak.methods.adjustment.reweighted_start import annealed_senses, quick_move
from tablecloak.methods.adjustment.settings import ProgramSettings, PumpSettings
from tablecloak.model import Levels, Problem, Table
from tablecloak.progress import Deadline, silent
from tablecloak.solvers import Outcome
from tests.methods.test_perturb_cta import adjustment_of, random_perturbable, two_way
from two_way import FIGURE_004, TwoWay


def test_the_bound_is_below_all_senses_and_sees_more_than_the_relaxation():
    tried = better = 0
    for seed in range(60):
        problem, rule = random_perturbable(seed)
        try:
            adjustment = adjustment_of(problem, rule)
        except InputError:
            continue
        count = adjustment.choice.size
        costs = [
            adjustment.solve(np.array(each, dtype=np.int64))[1].cost for each in product((0, 1), repeat=count)
        ]
        bound = distance_bound(adjustment)
        if np.isinf(min(costs)):
            continue
        assert bound <= min(costs) * (1 + 1e-7) + 1e-9
        tried += count > 0
        better += bound > adjustment.solve()[1].cost * (1 + 1e-6)
    assert tried > 20 and better > 5


def test_a_lone_sensitive_cell_must_be_balanced_in_its_row_and_its_column():
    """It moves by 2, another cell of its row by 2, another of its column by 2: 6. The cell opposite is not seen."""
    problem = TwoWay(FIGURE_004).problem([(2, 3)], 2, 4, weights="unit")
    adjustment = adjustment_of(problem)
    assert adjustment.solve()[1].cost < 4
    assert distance_bound(adjustment) == pytest.approx(6)
    assert distance_bound(adjustment, 0.0) == pytest.approx(2), "no time: only what it must move itself"


@pytest.mark.parametrize("weights", ["unit", "value"])
def test_a_quick_move_adds_up_keeps_levels_and_is_near(weights):
    problem = two_way(25, 120, weights=weights)
    plain = adjustment_of(problem)
    sifting = AdjustmentSettings(program=ProgramSettings(sifted_columns=100))
    adjustment = adjustment_of(problem, settings=sifting)
    assert adjustment.sifts and not plain.sifts
    move = quick_move(adjustment, np.random.default_rng(1), silent)
    assert move is not None
    assert np.abs(problem.table.equations @ move.moved).max() < 1e-6
    low, high = adjustment.ends(adjustment.senses(move.moved))
    assert (move.moved >= low - 1e-6).all() and (move.moved <= high + 1e-6).all()
    assert move.cost == pytest.approx(float(problem.weights @ np.abs(move.moved)), rel=1e-7)
    senses = adjustment.senses(move.moved)
    assert move.cost == pytest.approx(plain.solve(senses)[1].cost, rel=1e-6), "the best with these senses"
    start = plain.dive(plain.solve()[2])
    assert move.cost <= 1.1 * start.cost
    bound = max(distance_bound(adjustment), plain.solve()[1].cost)
    assert bound <= move.cost


def test_annealed_senses_leave_little_imbalance():
    problem = two_way(25, 120)
    adjustment = adjustment_of(problem)
    ranges, choice = adjustment.ranges, adjustment.choice

    def missing(senses):
        moved = np.zeros(len(problem.table))
        moved[choice] = np.where(senses == 1, ranges.up_low[choice], -ranges.down_low[choice])
        return np.abs(adjustment.columns @ moved).sum()

    found = annealed_senses(adjustment, np.random.default_rng(3))
    by_chance = np.random.default_rng(4).integers(0, 2, choice.size)
    assert missing(found) < 0.35 * missing(by_chance)


@pytest.mark.parametrize("seconds", [1.0, 0.0])
def test_a_move_also_when_the_time_is_up(seconds, monkeypatch):
    """With a second the linear program is solved all the same; without it least squares are, in whole units."""
    near = IntegerUnits.near
    monkeypatch.setattr(IntegerUnits, "near", lambda self, moved, ends, seconds: near(self, moved, ends))
    settings = AdjustmentSettings(program=ProgramSettings(sifted_columns=100, least_seconds=seconds))
    problem = two_way(25, 120)
    ranges = ranges_of("test", problem, ReachRule(0.5, 0.0))
    late = Adjustment(problem, ranges, Deadline.after(0.0), settings=settings)
    move = quick_move(late, np.random.default_rng(1), silent)
    assert move is not None
    assert np.abs(problem.table.equations @ move.moved).max() < 1e-6
    low, high = late.ends(late.senses(move.moved))
    assert (move.moved >= low - 1e-6).all() and (move.moved <= high + 1e-6).all()
    assert move.prices.size == (late.right.size if seconds else 0)
    assert move.cost == pytest.approx(float(problem.weights @ np.abs(move.moved)), rel=1e-7)


def contradicting():
    """Two pairs of cells that can only balance each other."""
    table = Table.from_equations(
        [10.0, 10.0, 7.0, 7.0], np.array([[1.0, 1.0, 0, 0], [0, 0, 1.0, 1.0]]), [20.0, 14.0]
    )
    level = np.full(4, 2.0)
    return Problem.of(table, np.arange(4), Levels.of(4, level, level), weights="unit")


def test_infeasible_senses_are_repaired():
    adjustment = adjustment_of(contradicting(), ReachRule(0.9, 0.0))
    senses = np.array([1, 1, 0, 1])
    assert adjustment.solve(senses)[0] is Outcome.INFEASIBLE
    move = pump_senses(adjustment, senses, np.random.default_rng(1), silent)
    assert move is not None and move.cost == pytest.approx(8) and adjustment.holds(move.moved)
    assert adjustment.senses(move.moved)[:2].sum() == adjustment.senses(move.moved)[2:].sum() == 1


def test_where_no_senses_are_feasible_none_are_found():
    """A total of one cell that must not change, and a cell beside it with too little room."""
    table = Table.from_equations([30.0, 3.0, 33.0], np.array([[1.0, 1.0, -1.0]]))
    level = np.array([5.0, 0.0, 0.0])
    problem = Problem.of(table, [0], Levels.of(3, level, level), forced=[2], known=(-100, 100))
    adjustment = adjustment_of(problem)
    assert adjustment.solve()[0] is Outcome.OPTIMAL, "it could stand between its levels"
    assert pump_senses(adjustment, np.array([1]), np.random.default_rng(1), silent) is None
    assert adjustment.decided() is None


def test_slow_pumps_give_nearer_moves():
    totals = np.zeros(2)
    for seed in range(3):
        table = from_leaves(
            [flat(name, 5) for name in "rch"], leaf_values(5, 5, 5, seed=seed, low=5, high=90)
        )
        cells = np.random.default_rng(seed).choice(np.flatnonzero(table.is_leaf), 30, replace=False)
        problem = with_levels(table, sorted(cells.tolist()), 0.15, weights="value")
        adjustment = adjustment_of(problem, ReachRule(0.5, 2.0))
        senses = np.random.default_rng(seed).integers(0, 2, adjustment.choice.size)
        for number, fading in enumerate((0.99, 0.0)):
            move = pump_senses(
                adjustment,
                senses,
                np.random.default_rng(1),
                silent,
                settings=replace(PumpSettings(), fading=fading, rounds=1500),
            )
            assert move is not None and adjustment.holds(move.moved)
            totals[number] += move.cost
    assert totals[0] < 0.95 * totals[1]
