"""Conditional lower and upper levels: required of a cell that is touched, and of no other."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import conditional_sides
from tablecloak import Levels, Problem, Status, Suppression, protect
from tablecloak.auditing import audit, certify, verify
from tablecloak.auditing.exact import ExactProblem
from tablecloak.errors import InfeasibleProblem, InputError, NotApplicable
from tablecloak.formats import read_cloak, write_cloak, write_jj
from tablecloak.testing import (
    KINDS,
    Oracle,
    cheapest_by_enumeration,
    near_threshold,
    oracle_verdict,
    random_case,
    random_problem,
    with_conditional_sides,
    with_own_levels,
)
from tablecloak.testing.case_files import read_case, write_case
from two_way import FIGURE_004, TwoWay


def hiding(levels: Levels) -> Problem:
    grid = TwoWay(FIGURE_004)
    return Problem.of(grid.table, grid.cells([(2, 3)]), levels)


def test_they_are_required_of_touched_cells_only():
    problem = conditional_sides()
    other = int(np.flatnonzero(~problem.sensitive)[0])
    assert [float(level[0]) for level in problem.required(0, np.array([other]), touched=False)] == [0, 0, 0]
    lower, upper, sliding = (float(level[0]) for level in problem.required(0, np.array([other])))
    assert (lower, upper, sliding) == (problem.table.values[other] // 3, 9.0, 0.0)
    hidden = Suppression.of(problem.table, problem.sensitive)
    assert audit(problem, hidden).cells.tolist() == np.flatnonzero(problem.sensitive).tolist()


def test_they_are_refused_on_sensitive_cells_and_beyond_the_box():
    size = len(conditional_sides().table)
    cell = TwoWay(FIGURE_004).cells([(2, 3)])[0]
    one = np.zeros(size)
    one[cell] = 1.0
    with pytest.raises(InputError, match="a conditional lower level on a sensitive cell"):
        hiding(Levels.of(size, one, one, conditional_lower=one))
    with pytest.raises(InputError, match="narrower than its protection level"):
        hiding(Levels.of(size, one, one, conditional_lower=(1 - one) * 1e6))
    wide = Problem.of(
        conditional_sides().table,
        [cell],
        Levels.of(size, one, one, conditional_lower=(1 - one) * 1e6),
        widen=True,
    )
    assert (wide.outsider_low[np.arange(size) != cell] < 0).all()


def test_levels_that_are_no_whole_units_are_rounded_up():
    size = len(conditional_sides().table)
    other = np.arange(size) == 0
    problem = hiding(Levels.of(size, conditional_lower=0.3 * other, conditional_upper=2.4 * other))
    assert [float(level[0]) for level in problem.required(0, np.array([0]))] == [1.0, 3.0, 0.0]


def test_verdicts_and_certificates_agree_with_the_oracle():
    rows = np.zeros(2, dtype=int)
    for seed in range(100):
        rng = np.random.default_rng([79, seed])
        case = random_case(rng, size="tiny" if seed % 3 else "usual")
        problem = with_conditional_sides(near_threshold(case, rng), rng, case.pattern if seed % 4 else None)
        if seed % 2:
            problem = with_own_levels(problem, rng, case.pattern)
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
    assert rows.min() > 300


@pytest.mark.parametrize("seed", range(24))
def test_optima_are_those_of_enumeration(seed):
    rng = np.random.default_rng([80, seed])
    problem = random_problem(KINDS[seed % 6], rng, insiders=seed % 3, conditional=seed % 5 == 0)
    problem = with_conditional_sides(problem, rng)
    if (~problem.forced & ~problem.must_hide).sum() > 9:
        return

    def safe(problem: Problem, pattern: Suppression) -> bool:
        return oracle_verdict(problem, pattern).safe

    best = cheapest_by_enumeration(problem, safe)
    for method in ("suppress-optimal", "suppress-compact", "suppress-greedy", "suppress-elimination"):
        if best is None:
            with pytest.raises(InfeasibleProblem):
                protect(problem, method)
            continue
        found = protect(problem, method)
        assert safe(problem, found.pattern)
        assert found.cost >= best - 1e-9
        if method in ("suppress-optimal", "suppress-compact"):
            assert found.status is Status.OPTIMAL
            assert found.cost == pytest.approx(best)


@pytest.mark.parametrize("seed", range(10))
def test_both_models_of_intervals_and_perturbations_agree(seed):
    rng = np.random.default_rng([81, seed])
    problem = with_conditional_sides(random_problem("two-way", rng, insiders=1), rng)
    options = {"interval-combined": {"asymmetry": 0.0}, "perturb-cell": {"share": 0.9, "least": 40.0}}
    for method, params in options.items():
        if method == "perturb-cell" and (problem.marks == 3).any():
            continue
        results = []
        for model in ("first", "second"):
            try:
                results.append(protect(problem, method, params={**params, "model": model}))
            except InfeasibleProblem:
                continue
        assert len(results) != 1, "one model finds the problem infeasible, the other one does not"
        for result in results:
            expected = oracle_verdict(problem, result.pattern)
            assert result.audit.safe == (expected.safe and not result.audit.too_close.size)
        if results and all(result.status is Status.OPTIMAL for result in results):
            assert results[0].cost == pytest.approx(results[1].cost, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("method", ["interval-partial", "perturb-cta", "suppress-three-phase"])
def test_methods_that_cannot_honour_them_say_so_before_they_start(method):
    with pytest.raises(NotApplicable):
        protect(conditional_sides(), method)


def test_hiding_as_without_them_is_open():
    problem = conditional_sides()
    level = problem.levels
    plain = Problem.of(
        problem.table, problem.sensitive, Levels.of(len(problem.table), level.lower, level.upper)
    )
    without = protect(plain, "suppress-optimal")
    assert not audit(problem, without.pattern).safe
    assert protect(problem, "suppress-optimal").cost > without.cost


# ---------------------------------------------------------------------- files


def test_files_keep_them(tmp_path):
    problem = conditional_sides()
    again = read_cloak(write_cloak(problem))
    for (name, level), (_, kept) in zip(problem.levels.named(), again.levels.named(), strict=True):
        assert np.array_equal(level, kept), name
    write_case(tmp_path / "case.json", problem, None)
    kept = read_case(tmp_path / "case.json")[0].levels
    assert np.array_equal(kept.conditional_lower, problem.levels.conditional_lower)
    with pytest.raises(NotApplicable, match="conditional levels"):
        write_jj(problem)


def test_digests_tell_them_apart_and_are_what_they_were_without():
    problem = conditional_sides()
    pattern = Suppression.of(problem.table, problem.sensitive)
    level, size = problem.levels, len(problem.table)
    swapped = Levels.of(
        size,
        level.lower,
        level.upper,
        conditional_lower=0.0 * level.lower,
        conditional_upper=level.conditional_upper,
    )
    other = Problem.of(problem.table, problem.sensitive, swapped)
    assert ExactProblem(problem, pattern).digest() != ExactProblem(other, pattern).digest()
