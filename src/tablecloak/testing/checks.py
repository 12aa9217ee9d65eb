"""Checks for tests: a table adds up, a pattern protects."""

from __future__ import annotations

import numpy as np

from tablecloak.model import Pattern, Problem, Suppression, Table, additive


def assert_additive(table: Table) -> None:
    """Every equation of the table holds."""
    broken = np.flatnonzero(~additive(table.equations, table.rhs, table.units, table.decimals))
    assert broken.size == 0, f"equations {broken.tolist()} do not hold"


def assert_protected(problem: Problem, pattern: Pattern) -> None:
    """The pattern passes the audit, publishes forced cells and hides what must be hidden."""
    from tablecloak.auditing import audit  # what is checked here, and nothing that the oracle uses

    verdict = audit(problem, pattern)
    assert verdict.safe, verdict.summary(problem)
    touched = pattern.touched(problem)
    assert not (touched & problem.forced).any(), "a forced cell is not published"
    if isinstance(pattern, Suppression):
        assert pattern.hidden[problem.must_hide].all(), "a cell that must be hidden is published"
