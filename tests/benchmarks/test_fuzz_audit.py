"""A fixed list of seeds of the fuzzer: audits, ends, optima and methods against the oracle, no fault at all.

New seeds: ``make fuzz MINUTES=10``. One seed: ``python benchmarks/reliability.py audits --seeds 17 --show``.
"""

from __future__ import annotations

import numpy as np
import pytest

from cases.reliability.audits import examine_audit, examine_ends
from cases.reliability.findings import examine_all
from cases.reliability.methods import examine_method, examine_optimum
from tablecloak.methods import METHODS
from tablecloak.testing import random_case, random_levels

BLOCK = 100


def check(found) -> None:
    assert not found.faults, "\n".join(map(str, found.faults[:10]))


@pytest.mark.parametrize("first", range(0, 1200, BLOCK))
def test_verdicts_near_the_threshold(first):
    found = examine_all(examine_audit, range(first, first + BLOCK))
    check(found)
    assert found.counts["audits"] == BLOCK and found.counts["verdicts"] > 2 * BLOCK
    assert found.counts["undecided_audits"] <= BLOCK // 50


@pytest.mark.parametrize("first", range(0, 300, BLOCK))
def test_ends_of_intervals(first):
    found = examine_all(examine_ends, range(first, first + BLOCK))
    check(found)
    assert found.counts["ends"] > 20 * BLOCK
    assert found.counts["unproven"] <= found.counts["ends"] // 50


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_claims_of_optimality(first):
    found = examine_all(examine_optimum, range(first, first + 10))
    check(found)
    assert found.counts["claims"] >= 10


@pytest.mark.parametrize("seed", [2710, 2925, 2992, 4856, 4897, 5150])
def test_claims_that_were_wrong_once(seed):
    """suppress-compact: deviations beyond its reach, cells smaller than the tolerance of its program."""
    check(examine_optimum(seed))


@pytest.mark.parametrize("method", METHODS)
def test_methods(method):
    for seed in range(8):
        rng = np.random.default_rng([4, seed])
        case = random_case(rng, size="tiny" if seed % 2 else "usual")
        check(examine_method(random_levels(case.problem, rng), method, seed))
