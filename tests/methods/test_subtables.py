"""The additive bound is never above the optimum, deterministic, and valid whenever it is stopped."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tablecloak import InfeasibleProblem, Suppression, protect
from tablecloak.analysis.lower_bounds import combined, relaxation_p, subtables
from tablecloak.attacker import Subtables
from tablecloak.methods import largest_pattern
from tablecloak.methods.subtables import AdditiveBound
from tablecloak.methods.subtables.evaluation import ExactMember
from tablecloak.methods.subtables.members import choose_members
from tablecloak.methods.subtables.separation import MemberSeparator
from tablecloak.methods.subtables.settings import MemberSettings, SubtableSettings
from tablecloak.progress import NEVER, Deadline, silent
from tablecloak.testing import KINDS, oracle_verdict, random_case, random_levels, random_problem
from tablecloak.testing.instances import hierarchical_generator_one, three_way_generator_one

SMALL = SubtableSettings(
    members=MemberSettings(whole_cells=0, block_cells=8, max_general_cells=20), rounds=30
)
"""Tables of test size are split too."""
OPTIONS = (
    {},
    {"insiders": 2},
    {"sliding": True},
    {"conditional": True},
    {"negative": True},
    {"insiders": 1, "sliding": True, "conditional": True, "negative": True},
)


def bound_of(problem, deadline=NEVER, settings=SMALL):
    """The bound after all its rounds."""
    found = AdditiveBound(problem, largest_pattern(problem), deadline, silent, settings)
    found.solve()
    return found


def optimum(problem):
    """The least cost; None where there is no safe pattern."""
    try:
        return protect(problem, "suppress-optimal").cost
    except InfeasibleProblem:
        return None


# ---------------------------------------------------------------------- never above the optimum


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_is_never_above_the_optimum(kind):
    reached = 0
    for seed, option in enumerate(OPTIONS):
        problem = random_problem(kind, np.random.default_rng(seed + 70), **option)
        best = optimum(problem)
        if best is not None:
            value = bound_of(problem).value
            assert value <= best * (1 + 1e-9) + 1e-9
            reached += value > 0
    assert reached


def test_all_scales_and_weights_of_any_size():
    """Counts, zeros, decimals, 1 beside 1e12; weights that are no multiples of anything, and zero weights."""
    checked = 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        problem = random_levels(random_case(rng).problem, rng, conditional=seed % 3 == 0)
        if seed % 2:
            sizes = rng.choice([0.0, 1e-3, 1.0, 1e6], len(problem.table))
            problem = replace(problem, weights=sizes * rng.random(len(problem.table)))
        best = optimum(problem)
        if best is not None:
            assert bound_of(problem).value <= best * (1 + 1e-9) + 1e-9
            checked += 1
    assert checked > 6


def test_every_inequality_of_a_member_holds_for_all_safe_patterns_of_the_whole():
    """For random weights, by the oracle, over random patterns: what was proven before does not depend on weights."""
    checked = 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        problem = random_problem("three-way" if seed % 2 else "hierarchical", rng, insiders=seed % 3)
        if optimum(problem) is None:
            continue
        cuts = []
        for subsystem in choose_members(problem, SMALL.members):
            exact = ExactMember(MemberSeparator(0, subsystem, problem))
            for _ in range(2):
                found = exact.evaluate(rng.random(len(subsystem)) * 100, NEVER)
                cuts += exact.member.in_parent([found.inequality()] if found.bound > 0 else [])
        for _ in range(12):
            hidden = problem.must_hide | (~problem.forced & (rng.random(len(problem.table)) < 0.85))
            if cuts and oracle_verdict(problem, Suppression.of(problem.table, hidden)).safe:
                checked += len(cuts)
                assert all(cut.violation(hidden.astype(float)) <= 1e-9 for cut in cuts)
    assert checked > 20


# ---------------------------------------------------------------------- exact solves


def test_an_exact_solve_proves_no_more_than_its_weights_allow():
    """Coefficients are whole multiples of a quantum, none above its weight; the bound is the optimum of the member."""
    problem = three_way_generator_one(4, 4, 4, 8, 0)
    (member, *_) = [MemberSeparator(0, each, problem) for each in choose_members(problem, SMALL.members)]
    exact = ExactMember(member)
    rng = np.random.default_rng(0)
    for _ in range(5):
        weights = problem.weights[member.subsystem.cells] * rng.random(len(member.subsystem))
        found = exact.evaluate(weights, NEVER)
        assert all(
            Fraction(own) <= Fraction(given)
            for own, given in zip(found.coefficients.tolist(), weights.tolist(), strict=True)
        )
        best = protect(replace(member.view, weights=weights), "suppress-optimal").cost
        assert found.bound <= best * (1 + 1e-12)
        assert found.bound == pytest.approx(best, rel=1e-4)


def test_weights_of_zero_prove_nothing():
    problem = three_way_generator_one(3, 3, 3, 4, 0)
    member = MemberSeparator(0, choose_members(problem, SMALL.members)[0], problem)
    assert ExactMember(member).evaluate(np.zeros(len(member.subsystem)), NEVER).bound == 0.0


# ---------------------------------------------------------------------- members


def test_members_are_slices_strips_or_the_whole_network():
    flat = three_way_generator_one(5, 5, 5, 20, 1)
    assert {len(each) for each in choose_members(flat, SMALL.members)} <= {36}
    nested = hierarchical_generator_one((3, 3), (3, 2), 10, 0)
    strips = choose_members(nested, replace(SMALL.members, max_general_cells=200))
    assert {len(each) for each in strips} <= {4 * 10, 4 * 13, 3 * 13}
    network = random_problem("two-way", np.random.default_rng(0))
    assert {len(each) for each in choose_members(network)} <= {len(network.table)}


def test_subsystems_without_requirements_are_left_out():
    problem = three_way_generator_one(5, 5, 5, 1, 1)
    split = Subtables(problem.table)
    every = sum(len(family) for family in split.slice_families(range(3), 2))
    assert 0 < len(choose_members(problem, SMALL.members)) <= 3 < every


# ---------------------------------------------------------------------- limits


def test_the_same_bound_every_time():
    problem = three_way_generator_one(5, 4, 4, 10, 3)
    one, other = bound_of(problem), bound_of(problem)
    assert one.value == other.value > 0
    assert len(one.relaxation.pool) == len(other.relaxation.pool)


def test_no_time_no_bound():
    problem = three_way_generator_one(5, 4, 4, 10, 3)
    found = AdditiveBound(problem, largest_pattern(problem), Deadline.after(0.0), silent)
    assert not found.solve()
    assert found.value == 0.0


def test_an_interrupt_leaves_the_bound_that_is_proven():
    problem = three_way_generator_one(5, 4, 4, 10, 3)
    seen = []

    def interrupting(phase, done, total, incumbent=None, bound=None):
        if phase == "subtables":
            seen.append(bound)
            if done >= 3:
                raise KeyboardInterrupt

    found = subtables(problem, progress=interrupting)
    assert found.value >= max(seen) - 1e-9
    assert "interrupted" in found.notes
    assert found.value <= protect(problem, "suppress-optimal").cost


def test_the_part_of_combined_that_is_not_of_single_equations():
    """Two-way slices and their covers prove more than the relaxation (P), and no more than the optimum."""
    problem = three_way_generator_one(4, 4, 4, 6, 0)
    best = protect(problem, "suppress-optimal").cost
    assert relaxation_p(problem).value < subtables(problem).value <= combined(problem).value <= best
