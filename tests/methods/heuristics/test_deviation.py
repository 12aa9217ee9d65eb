"""The cheapest deviation and the requirements it is for."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import FIXTURES, fifty_attackers
from tablecloak.attacker import working_equations
from tablecloak.auditing import audit
from tablecloak.methods.heuristics import DeviationFinder, met_by
from tablecloak.model import Problem, Requirement, Side, Suppression, unmet_requirements
from tablecloak.testing import KINDS, random_problem
from two_way import FIGURE_000, TwoWay


def finder_of(problem: Problem) -> DeviationFinder:
    return DeviationFinder(problem, working_equations(problem.table), ~problem.forced)


def tasks_of(problem: Problem) -> list[Requirement]:
    return unmet_requirements(problem, audit(problem, Suppression.of(problem.table, problem.must_hide)))


def check(problem: Problem, requirement: Requirement, witness) -> None:
    """The witness keeps all equations, stays in the attacker's box and gives the requirement its level."""
    low, high = problem.box(requirement.attacker)
    for part in (witness.forward, witness.backward):
        if part is not None:
            deviation = np.zeros(len(problem.table))
            deviation[witness.cells] = part
            slack = 1e-6 * requirement.level
            assert np.abs(problem.table.equations @ deviation).max(initial=0.0) <= slack
            moved = problem.table.values + deviation
            assert (moved >= low - slack).all()
            assert (moved <= high + slack).all()
    forward, backward = witness.moves(requirement.cell)
    room = {Side.UP: forward, Side.DOWN: -forward, Side.SLIDE: forward - backward}[requirement.side]
    assert room == pytest.approx(requirement.level, rel=1e-6) or room >= requirement.level


@pytest.mark.parametrize(
    "fixture", ["two way", "three way", "linked", "only sliding", "negative values", "any equations"]
)
def test_a_witness_is_a_deviation_the_attacker_cannot_exclude(fixture):
    problem = FIXTURES[fixture]()
    finder, price = finder_of(problem), problem.weights + 1.0
    for requirement in tasks_of(problem):
        witness = finder.cheapest(requirement, price, reweight=2)
        assert witness is not None
        check(problem, requirement, witness)
        assert requirement in met_by(problem, witness, requirement.attacker, [requirement])


def test_the_cheapest_deviation_of_the_literature_s_table():
    grid = TwoWay(FIGURE_000)
    problem = grid.problem([(1, 1)], 15, 15)
    up, down = tasks_of(problem)
    finder = finder_of(problem)
    for requirement in (up, down):
        witness = finder.cheapest(requirement, problem.weights, reweight=3)
        assert problem.weights[witness.cells].sum() <= 100 + 58


def test_a_closed_cell_is_not_moved_and_impossible_tasks_have_no_witness():
    grid = TwoWay(FIGURE_000)
    problem = grid.problem([(1, 1)], 15, 15)
    finder, (requirement, _) = finder_of(problem), tasks_of(problem)
    finder.allowed[grid.cells([(1, 2), (1, 3)])] = False
    witness = finder.cheapest(requirement, problem.weights)
    assert not set(grid.cells([(1, 2), (1, 3)])) & set(witness.cells.tolist())
    finder.allowed[grid.cells([(1, 4), (1, -1)])] = False
    assert finder.cheapest(requirement, problem.weights) is None


def test_tasks_of_weaker_attackers_are_left_to_the_stronger_ones():
    problem = fifty_attackers()
    found = audit(problem, Suppression.of(problem.table, problem.must_hide))
    requirements = unmet_requirements(problem, found)
    every = {(int(c), int(k)) for c, k in zip(found.cells, found.attackers, strict=True)}
    assert len({(requirement.cell, requirement.attacker) for requirement in requirements}) < len(every)
    for row in np.flatnonzero(~found.safe_rows):
        cell, attacker = int(found.cells[row]), int(found.attackers[row])
        assert any(
            requirement.cell == cell and inside(problem, requirement.attacker, attacker)
            for requirement in requirements
        )


def inside(problem, one, other):
    (low, high), (wide_low, wide_high) = problem.box(one), problem.box(other)
    return bool((low >= wide_low).all() and (high <= wide_high).all())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_protecting_the_kept_tasks_protects_the_dropped_ones(kind, seed):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    problem = random_problem(kind, rng, insiders=4)
    hidden = problem.must_hide.copy()
    finder = finder_of(problem)
    for requirement in tasks_of(problem):
        witness = finder.cheapest(requirement, problem.weights)
        if witness is None:
            return
        hidden[witness.cells] = True
    assert audit(problem, Suppression.of(problem.table, hidden)).safe_rows.all()
