"""Checks, random instances and an independent oracle, for our tests and for users who extend tablecloak.

`oracle_verdict` judges a pattern in exact arithmetic and shares no code with the audit; `feasible_intervals` is a
second opinion on tiny tables, by enumeration of vertices. `random_case` makes instances of all kinds from a seeded
generator, and `near_threshold` gives them levels at the edge of what their pattern protects. The classes and
generators of the literature are in `tablecloak.testing.instances`.
"""

from tablecloak.testing.checks import assert_additive, assert_protected
from tablecloak.testing.enumeration import (
    cheapest_by_enumeration,
    enumeration_work,
    feasible_intervals,
    safe_by_enumeration,
)
from tablecloak.testing.oracle import Oracle, OracleRow, OracleVerdict, exact_intervals, oracle_verdict
from tablecloak.testing.random_cases import (
    PATTERNS,
    SCALES,
    SHAPES,
    Case,
    near_threshold,
    random_case,
    random_levels,
    random_scaled_table,
    with_conditional_sides,
    with_own_levels,
)
from tablecloak.testing.random_problems import KINDS, random_problem, random_suppression, random_table

__all__ = [
    "KINDS",
    "PATTERNS",
    "SCALES",
    "SHAPES",
    "Case",
    "Oracle",
    "OracleRow",
    "OracleVerdict",
    "assert_additive",
    "assert_protected",
    "cheapest_by_enumeration",
    "enumeration_work",
    "exact_intervals",
    "feasible_intervals",
    "near_threshold",
    "oracle_verdict",
    "random_case",
    "random_levels",
    "random_problem",
    "random_scaled_table",
    "random_suppression",
    "random_table",
    "safe_by_enumeration",
    "with_conditional_sides",
    "with_own_levels",
]
