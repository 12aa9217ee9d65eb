"""The fuzzer: its cases cover what they should, its files can be read back, and it sees faults that are put there."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tablecloak import InfeasibleProblem, SolverError, Status, Suppression, audit, protect
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
    random_levels,
    random_problem,
    random_scaled_table,
)
from tablecloak.testing.brute_force import safe_suppression_below
from tablecloak.testing.case_files import read_case, write_case
from tablecloak.testing.oracle import true_units, whole_equations

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import reliability
import reliability_audits
import reliability_busy
import reliability_methods
from reliability_audits import examine_audit, examine_ends
from reliability_busy import examine_busy
from reliability_methods import examine_method, examine_optimum
from reliability_parts import TARGETS, block_case, run_block
from report_reliability import reliability_section
from runner import Store

# ---------------------------------------------------------------------- cases


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


# ---------------------------------------------------------------------- faults that are put there


def test_false_verdicts_are_seen(monkeypatch):
    def all_safe(problem, pattern, **options):
        told = audit(problem, pattern, **options)
        return replace(told, safe_rows=np.ones_like(told.safe_rows))

    def all_open(problem, pattern, **options):
        told = audit(problem, pattern, **options)
        return replace(told, safe_rows=np.zeros_like(told.safe_rows))

    monkeypatch.setattr(reliability_audits, "audit", all_safe)
    assert sum(examine_audit(seed).counts["false_safe"] for seed in range(20)) > 5
    monkeypatch.setattr(reliability_audits, "audit", all_open)
    assert sum(examine_audit(seed).counts["false_unsafe"] for seed in range(20)) > 5


def test_errors_of_the_audit_are_seen(monkeypatch):
    def failing(problem, pattern, **options):
        raise SolverError("lost")

    def broken(problem, pattern, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(reliability_audits, "audit", failing)
    assert examine_audit(0).counts["errors"] == 1
    monkeypatch.setattr(reliability_audits, "audit", broken)
    found = examine_ends(0)
    assert found.counts["foreign"] == 1 and "ZeroDivisionError" in found.faults[0].what


@pytest.mark.parametrize(("shift", "kind"), [(1.0, "too_wide"), (-1.0, "too_narrow")])
def test_wrong_ends_are_seen(monkeypatch, shift, kind):
    def moved(problem, pattern, **options):
        told = audit(problem, pattern, **options)
        return replace(told, high=told.high + shift * problem.table.unit)

    seed = next(
        seed for seed in range(100) if not examine_ends(seed).faults and examine_ends(seed).counts["ends"]
    )
    monkeypatch.setattr(reliability_audits, "audit", moved)
    assert examine_ends(seed).counts[kind] > 0


def test_wrong_optima_are_seen(monkeypatch):
    def dear(problem, name, **options):
        result = protect(problem, name, **options)
        hidden = ~problem.forced
        return replace(result, pattern=Suppression(hidden), cost=float(problem.weights[hidden].sum()) + 1)

    monkeypatch.setattr(reliability_methods, "protect", dear)
    assert sum(examine_optimum(seed).counts["wrong_optimum"] for seed in range(12)) > 2


def test_what_methods_do_wrong_is_seen(monkeypatch):
    rng = np.random.default_rng(0)
    problem = random_levels(random_case(rng, kind="two-way", scale="counts").problem, rng)
    everything = oracle_verdict(problem, Suppression(~problem.forced)).safe
    for error, counted in ((SolverError("lost"), "solver_errors"), (KeyError("x"), "foreign")):
        monkeypatch.setattr(reliability_methods, "protect", _raising(error))
        assert examine_method(problem, "suppress-greedy", 0).counts[counted] == 1
    stopped = replace(protect(problem, "suppress-greedy"), status=Status.TIME_LIMIT)
    monkeypatch.setattr(reliability_methods, "protect", lambda problem, name, **options: stopped)
    assert examine_method(problem, "suppress-greedy", 0).counts["stopped_without_a_limit"] == 1
    monkeypatch.setattr(reliability_methods, "protect", _raising(InfeasibleProblem("no")))
    assert examine_method(problem, "suppress-greedy", 0).counts["wrongly_infeasible"] == int(everything)


def _raising(error):
    def protect(problem, name, **options):
        raise error

    return protect


def test_runs_that_depend_on_the_machine_are_seen(monkeypatch):
    outcomes = iter(["one", "other", "same", "same"])
    monkeypatch.setattr(reliability_busy, "_outcome", lambda problem, name, seed: (next(outcomes),))
    assert examine_busy(1).counts["different"] == 1
    assert examine_busy(2).counts["different"] == 0


# ---------------------------------------------------------------------- the runner


def test_blocks_begin_at_multiples_and_rows_are_not_run_twice(tmp_path):
    facts = {"commit": "abc"}
    cases = list(reliability.blocks("audits", 0, 1200, facts))
    assert [(case.facts["first"], case.facts["last"]) for case in cases] == [
        (0, 499),
        (500, 999),
        (1000, 1200),
    ]
    assert cases[0].name == "0-499@abc"
    reliability.store_of("audits", tmp_path).put("0-499@abc", {"first": 0, "last": 499})
    plan = reliability.new_blocks(["audits", "ends"], tmp_path, facts)
    assert [(part, case.name) for part, case in plan[:2]] == [
        ("audits", "500-999@abc"),
        ("ends", "0-199@abc"),
    ]


def test_a_block_counts_and_the_page_adds_up(tmp_path, monkeypatch):
    monkeypatch.setattr("reliability_parts.FAULTS", tmp_path / "faults")
    monkeypatch.setattr("reliability_cases.FAULTS", tmp_path / "faults")
    for part, first in (("audits", 0), ("audits", 3)):
        case = block_case(part, first, first + 2, {"commit": "abc"})
        row = run_block(part, first, first + 2)
        assert row["audits"] == 3 and row["status"] == "done"
        Store(tmp_path / "reliability-audits.csv").put(case.name, {**case.facts, **row})
    text = reliability_section(tmp_path)
    assert "| audits | 6 of 100,000 audits |" in text
    assert "abc" in text


def test_the_page_counts_back_to_the_last_fault(tmp_path):
    store = Store(tmp_path / "reliability-busy.csv")
    for commit, first, faults in (("a", 0, 1), ("b", 0, 0), ("c", 3, 0)):
        row = {"status": "done", "commit": commit, "first": first, "last": first + 2, "pairs": 3}
        store.put(f"{first}@{commit}", {**row, "different": faults, "all_faults": faults})
    text = reliability_section(tmp_path)
    assert "| busy | 6 of 100 pairs | 0 |" in text
    assert "| busy | a | 0-2 | 3 pairs | 1 different |" in text
    row = {"status": "killed after 1 s", "commit": "d", "first": 6, "last": 8}
    store.put("6@d", row)
    assert "| busy | 0 of 100 pairs | 1 blocks not finished |" in reliability_section(tmp_path)


def test_modules_of_their_own_are_counted_too(monkeypatch):
    module = SimpleNamespace(
        run=lambda seeds: SimpleNamespace(
            outcomes={"csv": Counter({"input error": 2}), "jj": Counter({"input error": 1, "other": 1})},
            faults=["seed 2, jj: other KeyError"],
        )
    )
    monkeypatch.setitem(sys.modules, "reliability_inputs", module)
    row = run_block("inputs", 0, 3)
    assert (row["inputs"], row["input_error"], row["all_faults"]) == (4, 3, 1)
    assert "seed 2" in row["text"]


def test_every_part_says_what_must_stay_zero():
    assert set(TARGETS) == {"audits", "ends", "optima", "methods", "busy", "inputs", "kills"}
    assert all(target.faults and target.wanted > 0 for target in TARGETS.values())
