"""Proposals that the audit rejects are widened by exact deviations, in every kind of table."""

from __future__ import annotations

import numpy as np
import pytest

from fixtures import flat, from_leaves, leaf_values, smallest_leaves, with_levels
from tablecloak.attacker import WitnessFinder
from tablecloak.auditing import audit
from tablecloak.methods import METHODS, Method, Proposal
from tablecloak.methods.heuristics import repair
from tablecloak.model import Attacker, Intervals, Levels, Problem, Rounding, Status, Suppression
from tablecloak.protection import protect


def problems() -> list[Problem]:
    two = from_leaves([flat("r", 5), flat("c", 4)], leaf_values(5, 4, low=1))
    three = from_leaves([flat("r", 3), flat("c", 3), flat("s", 3)], leaf_values(3, 3, 3, low=1))
    own = Attacker.knowing("insider", [7], [two.values[7]], [two.values[7]])
    mixed = three.values.copy()
    cells = np.flatnonzero(three.is_leaf)[[1, 5]]
    mixed[cells[0]] = 1e9
    large = from_leaves([flat("r", 3), flat("c", 3), flat("s", 3)], mixed[three.is_leaf].reshape(3, 3, 3))
    levels = Levels.at(len(large), cells, lower=[1e8, 1.0], upper=[1e8, 2.0], sliding=[3e8, 0.0])
    return [
        with_levels(two, smallest_leaves(two, 3)),
        with_levels(three, smallest_leaves(three, 4)),
        Problem.of(two, [0, 7], Levels.at(len(two), [0, 7], sliding=2.0), attackers=[own]),
        Problem.of(large, cells, levels),
    ]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("way", ["suppression", "intervals"])
def test_a_pattern_with_nothing_but_the_sensitive_cells_becomes_safe(number: int, way: str) -> None:
    problem = problems()[number]
    pattern: Suppression | Intervals = Suppression(problem.must_hide)
    if way == "intervals":
        half = np.where(problem.must_hide, 1.0, 0.0)
        pattern = Intervals.of(problem.table.values - half, problem.table.values + half)
    verdict = audit(problem, pattern)
    assert not verdict.safe
    repaired, safe = repair(problem, pattern, verdict, lambda found: audit(problem, found))
    assert safe.safe and type(repaired) is type(pattern)
    assert not (pattern.touched(problem) & ~repaired.touched(problem)).any()


def test_protect_repairs_and_says_so_and_claims_no_optimum() -> None:
    problem = problems()[1]

    def bare(problem, *, params, rng, progress):
        return Proposal(Suppression(problem.must_hide), Status.OPTIMAL, "none", bound=0.0)

    method = Method(bare, METHODS["suppress-greedy"].params, "hides too little", "none")
    result = protect(problem, method)
    assert result.audit.safe and result.status is Status.FEASIBLE and result.bound == 0.0
    assert any("repaired" in note for note in result.report.notes)


def test_witnesses_go_as_far_as_needed_or_possible() -> None:
    problem = problems()[0]
    finder = WitnessFinder(problem, np.ones(len(problem.table), dtype=bool))
    cell = int(np.flatnonzero(problem.sensitive)[0])
    found = finder.find(cell, 0, True, 3.0)
    assert found is not None and found[cell] == 3.0
    assert not (problem.table.equations @ found).any()
    alone = WitnessFinder(problem, problem.must_hide & (np.arange(len(problem.table)) == cell))
    assert alone.find(cell, 0, True, 3.0) is None


def test_other_patterns_are_left_as_they_are() -> None:
    problem = problems()[0]
    pattern = Rounding.of(problem.table.values, 1.0)
    verdict = audit(problem, pattern)
    assert repair(problem, pattern, verdict, lambda found: audit(problem, found)) == (pattern, verdict)
