"""Proven optima of the fixtures, kept: status, cost and bound of every exact method, in ``proven_optima.csv``.

A row is a fixture and a method that proves its optimum without limits. Written again from the methods themselves:
``python tests/test_proven_optima.py --write``. All exact suppressions of a fixture must agree; look at the difference
before you commit it.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures import FIXTURES
from tablecloak.errors import TablecloakError
from tablecloak.model import Status
from tablecloak.protection import protect

STORED = Path(__file__).with_name("proven_optima.csv")
METHODS = (
    "suppress-optimal", "suppress-compact", "interval-partial", "interval-combined", "round-controlled", "mixed-joint",
)  # fmt: skip
"""Methods whose result can be proven optimal."""
SUPPRESSIONS = [method for method in METHODS if method.startswith("suppress-")]
PARAMS = {
    **{name: {"grid": 0.0, "asymmetry": 0.0} for name in ("interval-partial", "interval-combined")},
    "mixed-joint": {"base": 100.0},
}
"""Intervals as they are proven, not blurred; a base that has room for the levels of all fixtures."""
NOISE = 1e-7
"""Relative differences of costs and bounds that are rounding only."""
COLUMNS = ("fixture", "method", "status", "cost", "bound")


def stored() -> dict[tuple[str, str], tuple[str, float, float]]:
    """Status, cost and bound by fixture and method."""
    with STORED.open(encoding="utf-8", newline="") as file:
        return {
            (row["fixture"], row["method"]): (row["status"], float(row["cost"]), float(row["bound"]))
            for row in csv.DictReader(file)
        }


@pytest.mark.parametrize(("fixture", "method"), list(stored()), ids=map(", ".join, stored()))
def test_optima_are_proven_again(fixture, method):
    status, cost, bound = stored()[fixture, method]
    result = protect(FIXTURES[fixture](), method, params=PARAMS.get(method), seed=1)
    assert str(result.status) == status
    assert math.isclose(result.cost, cost, rel_tol=NOISE)
    assert result.bound is not None
    assert result.bound >= bound - NOISE * abs(bound)


def test_what_is_stored_is_optimal_and_agrees():
    """Every fixture has its optimal suppression; methods that solve the same problem have the same optimum."""
    known = stored()
    assert {fixture for fixture, method in known if method == "suppress-optimal"} == set(FIXTURES)
    for (fixture, method), (status, cost, bound) in known.items():
        assert status == str(Status.OPTIMAL)
        assert math.isclose(cost, bound, rel_tol=NOISE)
        if method in SUPPRESSIONS:
            assert math.isclose(cost, known[fixture, "suppress-optimal"][1], rel_tol=NOISE)


def proven() -> Iterator[tuple[str, str, str, str, str]]:
    """The rows of what the methods prove now."""
    for fixture, make in FIXTURES.items():
        for method in METHODS:
            try:
                result = protect(make(), method, params=PARAMS.get(method), seed=1)
            except TablecloakError:
                continue
            if result.status is Status.OPTIMAL:
                yield fixture, method, str(result.status), repr(result.cost), repr(result.bound)


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        raise SystemExit(f"usage: python {sys.argv[0]} --write")
    rows = [COLUMNS, *proven()]
    with STORED.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
