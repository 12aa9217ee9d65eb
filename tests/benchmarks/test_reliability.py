"""The reliability runner: it sees faults that are put there, and its rows add up on the page."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import reliability
from cases.reliability import audits, busy, methods
from cases.reliability.audits import examine_audit, examine_ends
from cases.reliability.busy import examine_busy
from cases.reliability.methods import examine_method, examine_optimum
from cases.reliability.targets import TARGETS, block_case, run_block
from reports.reliability import reliability_section
from runner import Store
from tablecloak import InfeasibleProblem, SolverError, Status, Suppression, audit, protect
from tablecloak.testing import oracle_verdict, random_case, random_levels

# ---------------------------------------------------------------------- faults that are put there


def test_false_verdicts_are_seen(monkeypatch):
    def all_safe(problem, pattern, **options):
        told = audit(problem, pattern, **options)
        return replace(told, safe_rows=np.ones_like(told.safe_rows))

    def all_open(problem, pattern, **options):
        told = audit(problem, pattern, **options)
        return replace(told, safe_rows=np.zeros_like(told.safe_rows))

    monkeypatch.setattr(audits, "audit", all_safe)
    assert sum(examine_audit(seed).counts["false_safe"] for seed in range(20)) > 5
    monkeypatch.setattr(audits, "audit", all_open)
    assert sum(examine_audit(seed).counts["false_unsafe"] for seed in range(20)) > 5


def test_errors_of_the_audit_are_seen(monkeypatch):
    def failing(problem, pattern, **options):
        raise SolverError("lost")

    def broken(problem, pattern, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(audits, "audit", failing)
    assert examine_audit(0).counts["errors"] == 1
    monkeypatch.setattr(audits, "audit", broken)
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
    monkeypatch.setattr(audits, "audit", moved)
    assert examine_ends(seed).counts[kind] > 0


def test_wrong_optima_are_seen(monkeypatch):
    def dear(problem, name, **options):
        result = protect(problem, name, **options)
        hidden = ~problem.forced
        return replace(result, pattern=Suppression(hidden), cost=float(problem.weights[hidden].sum()) + 1)

    monkeypatch.setattr(methods, "protect", dear)
    assert sum(examine_optimum(seed).counts["wrong_optimum"] for seed in range(12)) > 2


def test_what_methods_do_wrong_is_seen(monkeypatch):
    rng = np.random.default_rng(0)
    problem = random_levels(random_case(rng, kind="two-way", scale="counts").problem, rng)
    everything = oracle_verdict(problem, Suppression(~problem.forced)).safe
    for error, counted in ((SolverError("lost"), "solver_errors"), (KeyError("x"), "foreign")):
        monkeypatch.setattr(methods, "protect", _raising(error))
        assert examine_method(problem, "suppress-greedy", 0).counts[counted] == 1
    stopped = replace(protect(problem, "suppress-greedy"), status=Status.TIME_LIMIT)
    monkeypatch.setattr(methods, "protect", lambda problem, name, **options: stopped)
    assert examine_method(problem, "suppress-greedy", 0).counts["stopped_without_a_limit"] == 1
    monkeypatch.setattr(methods, "protect", _raising(InfeasibleProblem("no")))
    assert examine_method(problem, "suppress-greedy", 0).counts["wrongly_infeasible"] == int(everything)


def _raising(error):
    def protect(problem, name, **options):
        raise error

    return protect


def test_runs_that_depend_on_the_machine_are_seen(monkeypatch):
    outcomes = iter(["one", "other", "same", "same"])
    monkeypatch.setattr(busy, "_outcome", lambda problem, name, seed: (next(outcomes),))
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
    monkeypatch.setattr("cases.reliability.targets.FAULTS", tmp_path / "faults")
    monkeypatch.setattr("cases.reliability.findings.FAULTS", tmp_path / "faults")
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
    monkeypatch.setitem(sys.modules, "cases.reliability.inputs", module)
    row = run_block("inputs", 0, 3)
    assert (row["inputs"], row["input_error"], row["all_faults"]) == (4, 3, 1)
    assert "seed 2" in row["text"]


def test_every_part_says_what_must_stay_zero():
    assert set(TARGETS) == {"audits", "ends", "optima", "methods", "busy", "inputs", "kills"}
    assert all(target.faults and target.wanted > 0 for target in TARGETS.values())
