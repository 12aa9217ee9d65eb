"""Verdicts that are remembered: found by what a pattern states, shows and touches, and forgotten with the problem."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np

from fixtures import FIXTURES
from tablecloak.auditing import audit, recent_audit
from tablecloak.model import Perturbation, Rounding, Suppression


def test_the_last_verdicts_are_known_by_the_bytes_of_the_pattern():
    problem = FIXTURES["two way"]()
    hidden = problem.must_hide.copy()
    patterns = []
    for cell in range(5):
        hidden[cell] = True
        patterns.append(Suppression.copy_of(hidden))
        assert recent_audit(problem, patterns[-1]) is None
        audit(problem, patterns[-1])
    assert recent_audit(problem, patterns[0]) is None, "only the last four"
    for pattern in patterns[1:]:
        again = Suppression.copy_of(pattern.hidden)
        known, fresh = recent_audit(problem, again), audit(problem, again)
        assert known is not None and known.subject == (problem, again)
        assert known.safe == fresh.safe and (known.safe_rows == fresh.safe_rows).all()
    assert recent_audit(FIXTURES["two way"](), patterns[-1]) is None, "another problem"


def test_a_mask_that_is_changed_is_another_pattern():
    problem = FIXTURES["two way"]()
    hidden = ~problem.forced
    pattern = Suppression(hidden)
    audit(problem, pattern)
    assert recent_audit(problem, pattern) is not None
    hidden[np.flatnonzero(hidden)[0]] = False
    assert recent_audit(problem, pattern) is None


def test_the_same_numbers_shown_in_another_way_are_judged_apart():
    """A perturbation must be away from the truth, a rounding need not."""
    problem = FIXTURES["two way"]()
    shown, reach = problem.table.values.copy(), np.full(len(problem.table), 5.0)
    audit(problem, Rounding.of(shown, reach))
    assert recent_audit(problem, Perturbation.of(shown, reach)) is None


def test_exact_intervals_and_other_settings_are_not_remembered():
    problem = FIXTURES["two way"]()
    pattern = Suppression.copy_of(~problem.forced)
    audit(problem, pattern, intervals=True)
    audit(problem, pattern, every_hidden=True)
    assert recent_audit(problem, pattern) is None


def test_problems_are_forgotten():
    problem = replace(FIXTURES["two way"]())
    audit(problem, Suppression.copy_of(~problem.forced))
    reference = weakref.ref(problem)
    del problem
    gc.collect()
    assert reference() is None
