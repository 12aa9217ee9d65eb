"""Levels an attacker: they replace the common ones against him alone, everywhere, and nothing more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixtures import own_levels
from tablecloak import Attacker, AttackerLevels, Levels, Problem, Status, Suppression, Table, protect
from tablecloak.auditing import audit, certify, verify
from tablecloak.errors import InfeasibleProblem, InputError
from tablecloak.formats import read_cloak, write_cloak
from tablecloak.methods import METHODS
from tablecloak.testing import (
    KINDS,
    Oracle,
    cheapest_by_enumeration,
    near_threshold,
    oracle_verdict,
    random_case,
    random_problem,
    with_own_levels,
)
from two_way import FIGURE_004, TwoWay

NO_LEVELS = AttackerLevels.none()


def small(levels: AttackerLevels, **options: object) -> Problem:
    """1.2 + 3.4 = 4.6; the first cell is sensitive, the insider knows it to lie in 0.7..1.9."""
    table = Table.from_equations([1.2, 3.4, 4.6], np.array([[1.0, 1.0, -1.0]]), decimals=1)
    insider = Attacker.knowing("insider", [0], [0.7], [1.9], levels=levels)
    return Problem.of(table, [0], Levels.at(3, [0], 0.6, 0.2, 0.3), attackers=[insider], **options)


def common(problem: Problem) -> Problem:
    """The problem with the common levels against all attackers."""
    return replace(problem, attackers=tuple(replace(who, levels=NO_LEVELS) for who in problem.attackers))


def required(problem: Problem, attacker: int) -> list[float]:
    return [float(level[0]) for level in problem.required(attacker, np.array([0]))]


def test_given_levels_replace_the_common_ones_and_others_end_at_the_box():
    assert required(small(NO_LEVELS), 1) == [0.5, 0.2, 0.3]
    assert required(small(AttackerLevels.at([0], upper=0.61)), 1) == [0.5, 0.7, 0.3]  # rounded up
    assert required(small(AttackerLevels.at([0], 0.1, 0, 0)), 1) == [0.1, 0.0, 0.0]
    assert required(small(AttackerLevels.at([0], 0.1, 0, 1.2)), 0) == [0.6, 0.2, 0.3]
    assert required(small(AttackerLevels.at([True, False, False], sliding=[1.15])), 1) == [0.5, 0.2, 1.2]


@pytest.mark.parametrize(
    ("levels", "fault"),
    [
        (AttackerLevels.at([0], 0.51), "more than what he knows himself leaves open"),
        (AttackerLevels.at([0], upper=0.8), "more than what he knows himself leaves open"),
        (AttackerLevels.at([0], sliding=1.3), "more than what he knows himself leaves open"),
        (
            AttackerLevels.at([1], 0.1),
            "cell=1: a level against attacker 'insider' on a cell that is not sensitive",
        ),
        (AttackerLevels.at([0, 0], 0.1), "cell=0 are given more than once"),
        (AttackerLevels.at([3], 0.1), "cells that the table does not have"),
        (AttackerLevels.at([0], -1), "the lower level against attacker 'insider' must be a finite number"),
        (AttackerLevels.at([0], np.inf), "must be a finite number"),
        (AttackerLevels.at([0], [0.1, 0.2]), "one level of each kind for each of the cells"),
        (Levels.of(3), "made with AttackerLevels.at"),
    ],
)
def test_faults_name_the_attacker_and_the_cell(levels, fault):
    with pytest.raises(InputError, match=fault):
        small(levels)


def test_all_faults_are_listed_together():
    with pytest.raises(InputError) as caught:
        small(AttackerLevels.at([0, 1], 0.9, 0.9))
    assert len(caught.value.faults) == 2
    with pytest.raises(InputError, match="expected"):
        small(AttackerLevels.at([0], 0.1), known=(np.zeros(2), np.inf))


def test_a_level_that_is_no_whole_unit_is_not_above_a_box_that_holds_it():
    table = Table.from_equations([10.0, 3.0, 13.0], np.array([[1.0, 1.0, -1.0]]))
    who = Attacker.knowing("k", [0], [7.6], [12.5], levels=AttackerLevels.at([0], 2.4, 2.5, 4.9))
    problem = Problem.of(table, [0], Levels.at(3, [0], 1, 1), attackers=[who])
    assert required(problem, 1) == [
        2.0,
        2.0,
        4.0,
    ]  # whole numbers from 8 to 12 are all that he holds possible
    assert np.array_equal(read_cloak(write_cloak(problem)).attackers[0].levels.lower, [2.0])


def test_the_paper_s_figure_against_two_attackers():
    """Salazar (2002), Figure 1: 10 down and 12 up against one, 5 and 5 against another, for cell (II, C)."""
    grid = TwoWay(FIGURE_004)
    cell, size = grid.cell((2, 3)), len(grid.table)
    attackers = [Attacker.knowing("internal", [], [], levels=AttackerLevels.at([cell], 10, 12, 0))]
    problem = Problem.of(grid.table, [cell], Levels.at(size, [cell], 5, 5), attackers=attackers)
    alone = protect(grid.problem([(2, 3)], 10, 12), "suppress-optimal")
    both = protect(problem, "suppress-optimal")
    assert both.status is Status.OPTIMAL
    assert both.cost == alone.cost > protect(common(problem), "suppress-optimal").cost


# ---------------------------------------------------------------------- against the oracle


@pytest.mark.parametrize("near", [True, False])
def test_verdicts_and_certificates_agree_with_the_oracle(near):
    rows = np.zeros(2, dtype=int)
    for seed in range(90):
        rng = np.random.default_rng([77, seed])
        case = random_case(rng, size="tiny" if seed % 3 else "usual")
        problem = with_own_levels(near_threshold(case, rng), rng, case.pattern if near else None)
        if not problem.has_own_levels:
            continue
        expected = oracle_verdict(problem, case.pattern, Oracle(problem, case.pattern))
        for intervals in (False, True):
            found = audit(problem, case.pattern, intervals=intervals)
            for cell, attacker, safe in zip(found.cells, found.attackers, found.safe_rows, strict=True):
                assert safe == expected.row(int(cell), int(attacker)).met
                rows[int(safe)] += 1
        if seed % 5 == 0:
            proof = verify(certify(problem, case.pattern, found), problem, case.pattern)
            assert proof.valid
            assert proof.proves == ("safe" if found.safe else "unsafe")
    assert rows.min() > 100


@pytest.mark.parametrize("seed", range(18))
def test_optima_are_those_of_enumeration(seed):
    rng = np.random.default_rng([78, seed])
    problem = random_problem(KINDS[seed % 6], rng, insiders=2, sliding=seed % 4 == 3)
    problem = with_own_levels(problem, rng)
    if (~problem.forced & ~problem.must_hide).sum() > 9:
        return

    def safe(problem: Problem, pattern: Suppression) -> bool:
        return oracle_verdict(problem, pattern).safe

    best = cheapest_by_enumeration(problem, safe)
    for method in ("suppress-optimal", "suppress-compact"):
        if best is None:
            with pytest.raises(InfeasibleProblem):
                protect(problem, method)
            continue
        found = protect(problem, method)
        assert found.status is Status.OPTIMAL
        assert found.cost == pytest.approx(best)
        assert safe(problem, found.pattern)


# ---------------------------------------------------------------------- every method


def test_less_against_one_attacker_is_not_paid_for():
    problem = own_levels()
    less = replace(problem, attackers=tuple(who for who in problem.attackers if who.name == "less"))
    outsider = protect(replace(problem, attackers=()), "suppress-optimal").cost
    assert protect(less, "suppress-optimal").cost == pytest.approx(outsider)
    assert protect(common(less), "suppress-optimal").cost > outsider
    assert protect(problem, "suppress-optimal").cost > outsider


@pytest.mark.parametrize("method", [name for name in METHODS if name != "suppress-three-phase"])
def test_more_against_one_attacker_only_is_enforced_by_every_method(method):
    grid = TwoWay(FIGURE_004)
    cell, size = grid.cell((2, 3)), len(grid.table)
    attackers = [Attacker.knowing("k", [], [], levels=AttackerLevels.at([cell], 10, 30))]
    problem = Problem.of(grid.table, [cell], Levels.at(size, [cell], 2, 2), attackers=attackers)
    params = {"share": 0.9, "least": 90.0} if method.startswith("perturb") else None
    params = {"base": 100.0} if method in ("mixed-joint",) else params
    found = protect(problem, method, params=params)
    expected = oracle_verdict(problem, found.pattern)
    assert found.audit.safe == (expected.safe and not found.audit.too_close.size)
    if not method.startswith(("round", "perturb")):
        assert expected.safe
        assert not audit(problem, protect(common(problem), "suppress-optimal").pattern).safe


# ---------------------------------------------------------------------- files


def test_cloak_files_keep_them_and_files_of_before_are_read(tmp_path):
    problem = own_levels()
    again = read_cloak(write_cloak(problem))
    for one, other in zip(problem.attackers, again.attackers, strict=True):
        for (_, level), (_, kept) in zip(one.levels.named(), other.levels.named(), strict=True):
            assert np.array_equal(level, kept, equal_nan=True)
        assert np.array_equal(one.levels.cells, other.levels.cells)
    assert write_cloak(again) == write_cloak(problem)


def test_what_is_shown_keeps_the_largest_level_as_its_distance():
    grid = TwoWay(FIGURE_004)
    cell, size = grid.cell((2, 3)), len(grid.table)
    attackers = [Attacker.knowing("k", [], [], levels=AttackerLevels.at([cell], 9, 9))]
    problem = Problem.of(grid.table, [cell], Levels.at(size, [cell], 2, 2), attackers=attackers)
    found = protect(problem, "perturb-cell", params={"share": 0.9, "least": 30.0})
    assert abs(found.pattern.shown[cell] - grid.table.values[cell]) >= 9
    near = replace(
        found.pattern, shown=np.where(np.arange(size) == cell, grid.table.values + 5, found.pattern.shown)
    )
    assert near.too_close(problem)[cell]
    assert not near.too_close(common(problem))[cell]
