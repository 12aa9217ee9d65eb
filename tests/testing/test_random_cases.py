"""Random cases cover what they should, their files can be read back, and brute force finds the optimum."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tablecloak.testing import (
    KINDS,
    PATTERNS,
    SCALES,
    SHAPES,
    assert_additive,
    cheapest_by_enumeration,
    near_threshold,
    oracle_verdict,
    random_case,
    random_problem,
    random_scaled_table,
)
from tablecloak.testing.case_files import read_case, write_case
from tablecloak.testing.enumeration import safe_suppression_below
from tablecloak.testing.oracle import true_units, whole_equations


@pytest.mark.parametrize("size", ["tiny", "usual", "large"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", SHAPES)
def test_tables_add_up_in_whole_units(kind, scale, size):
    table = random_scaled_table(kind, scale, np.random.default_rng(5), size)
    assert_additive(table)
    units = np.array(true_units(table), dtype=object)
    rhs = np.array([round(number * 10**table.decimals) for number in table.rhs.tolist()], dtype=object)
    assert (whole_equations(table).astype(object) @ units == rhs).all()
    assert max(abs(number) for number in units) < 2**52


def test_cases_are_of_all_kinds_and_half_of_them_mix_scales():
    cases = [random_case(np.random.default_rng([9, seed])) for seed in range(300)]
    assert {case.kind for case in cases} == set(SHAPES)
    assert {case.scale for case in cases} == set(SCALES)
    assert {case.publishing for case in cases} == set(PATTERNS)
    assert 0.4 < np.mean([case.scale == "mixed" for case in cases]) < 0.6
    insiders = Counter(len(case.problem.attackers) for case in cases)
    assert all(insiders[number] > 20 for number in (0, 1, 2))


def test_levels_near_the_threshold_are_met_and_missed_by_little():
    met, by_little = Counter(), 0
    for seed in range(200):
        rng = np.random.default_rng([8, seed])
        case = random_case(rng)
        verdict = oracle_verdict(near_threshold(case, rng), case.pattern)
        met.update(row.met for row in verdict.rows)
        by_little += sum(row.lower == row.down + 1 or row.upper == row.up + 1 for row in verdict.rows)
    assert min(met[True], met[False]) > 200
    assert by_little > 50


def test_the_same_seed_makes_the_same_case():
    one, other = (near_threshold(random_case(rng), rng) for rng in map(np.random.default_rng, (7, 7)))
    assert one.table.values.tobytes() == other.table.values.tobytes()
    assert one.levels.sliding.tobytes() == other.levels.sliding.tobytes()


@pytest.mark.parametrize("publishing", PATTERNS)
def test_case_files_can_be_read_back(publishing, tmp_path):
    for seed in range(10):
        rng = np.random.default_rng([6, seed])
        case = random_case(rng, publishing=publishing)
        problem = near_threshold(case, rng)
        write_case(tmp_path / "case.json", problem, case.pattern, seed=seed)
        again, pattern = read_case(tmp_path / "case.json")
        assert oracle_verdict(again, pattern).rows == oracle_verdict(problem, case.pattern).rows
    write_case(tmp_path / "case.json", problem, None)
    assert read_case(tmp_path / "case.json")[1] is None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "three-way"])
def test_brute_force_finds_the_cheapest_safe_suppression(kind, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(kind, rng, insiders=seed % 2, conditional=seed % 3 == 0)
    if (~problem.forced & ~problem.must_hide).sum() > 9:
        problem = replace(
            problem, marks=np.where(np.arange(len(problem.table)) > 8, 2, problem.marks).astype(np.int8)
        )
    cheapest = cheapest_by_enumeration(problem, lambda p, pattern: oracle_verdict(p, pattern).safe)
    below = safe_suppression_below(problem, np.inf)
    assert (below is None) == (cheapest is None)
    if cheapest is not None:
        assert safe_suppression_below(problem, cheapest) is None
        found = safe_suppression_below(problem, cheapest + 0.5)
        assert found is not None and found.loss(problem) == cheapest
