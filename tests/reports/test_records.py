"""Records: strict JSON with everything that was promised, and nothing that is not proven."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablecloak.auditing import audit, exposure
from tablecloak.formats.jj import parse_jj
from tablecloak.model import Attacker, Intervals, Problem, Report, Result, Status, Suppression
from tablecloak.reports import audit_record, exposure_record, result_record, to_json
from tablecloak.reports.records import plain

TEXT = """0
9
0 30 30 s 0 inf 0 0 0
1 10 10 s 0 inf 0 0 0
2 20 20 s 0 inf 0 0 0
3 12 12 s 0 inf 0 0 0
4 4 4 u 0 inf 2 2 0
5 8 8 s 0 inf 0 0 0
6 18 18 s 0 inf 0 0 0
7 6 6 s 0 inf 0 0 0
8 12 12 m 0 inf 0 0 0
6
0 3 : 0 (-1) 1 (1) 2 (1)
0 3 : 3 (-1) 4 (1) 5 (1)
0 3 : 6 (-1) 7 (1) 8 (1)
0 3 : 0 (-1) 3 (1) 6 (1)
0 3 : 1 (-1) 4 (1) 7 (1)
0 3 : 2 (-1) 5 (1) 8 (1)
"""
PROBLEM = parse_jj(TEXT).problem
SAFE = Suppression.of(PROBLEM.table, [4, 5, 7, 8])
OPEN = Suppression.of(PROBLEM.table, [4, 8])


def strictly(record: dict[str, Any]) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no strict JSON")

    text = to_json(record)
    assert text.endswith("}\n")
    return json.loads(text, parse_constant=refuse)


def result(bound: float | None = None, **more: Any) -> Result:
    report = Report(
        "suppress-test", {"seconds": None, "limit": np.inf}, 3, 0.5, "by hand", {"steps": np.int64(2)}
    )
    made = Result(SAFE, Status.FEASIBLE, 14.0, 30.0, bound, audit(PROBLEM, SAFE), report)
    return replace(made, **more)


def test_a_result_that_proves_nothing() -> None:
    record = strictly(result_record(PROBLEM, result()))
    assert record == {
        "confidential": True,
        "method": "suppress-test",
        "status": "feasible",
        "safe": True,
        "cost": 14.0,
        "cost_all": 30.0,
        "bound": None,
        "gap": None,
        "seconds": 0.5,
        "cells": 9,
        "sensitive": 1,
        "complementary": 2,
        "hidden": 4,
        "engine": "by hand",
        "seed": 3,
        "params": {"seconds": None, "limit": "inf"},
        "counters": {"steps": 2},
        "versions": {},
        "notes": [],
    }


def test_a_result_with_a_bound() -> None:
    record = strictly(result_record(PROBLEM, result(7.0, status=Status.TIME_LIMIT)))
    assert (record["bound"], record["gap"], record["status"]) == (7.0, 0.5, "time-limit")


def test_an_infinite_cost() -> None:
    wide = Intervals.of(np.full(9, -np.inf), np.full(9, np.inf))
    record = strictly(result_record(PROBLEM, result(pattern=wide, cost=np.inf, cost_all=np.float64(np.inf))))
    assert (record["cost"], record["cost_all"], record["hidden"]) == ("inf", "inf", 9)


def test_a_verdict() -> None:
    record = strictly(audit_record(PROBLEM, audit(PROBLEM, OPEN), intervals=False))
    assert record["confidential"] is True
    assert record["safe"] is False
    assert (record["questions"], record["cells"], record["attackers"]) == (1, 1, 1)
    assert (record["open"], record["open_cells"]) == (1, ["4"])
    assert record["seconds"] >= 0 and isinstance(record["engine"], str)
    assert "intervals" not in record


def test_intervals_of_all_attackers() -> None:
    who = Attacker.knowing("tenant", [5], 8.0, 8.0)
    problem = Problem.of(PROBLEM.table, [4], PROBLEM.levels, hidden=[8], attackers=[who])
    record = strictly(audit_record(problem, audit(problem, SAFE, intervals=True), intervals=True))
    assert (record["safe"], record["questions"], record["cells"], record["attackers"]) == (False, 2, 1, 2)
    assert record["intervals"] == [
        {
            "cell": "4",
            "attacker": "outsider",
            "low": 0.0,
            "high": 10.0,
            "required_lower": 2.0,
            "required_upper": 2.0,
            "required_sliding": 0.0,
            "safe": True,
        },
        {
            "cell": "4",
            "attacker": "tenant",
            "low": 4.0,
            "high": 4.0,
            "required_lower": 2.0,
            "required_upper": 2.0,
            "required_sliding": 0.0,
            "safe": False,
        },
    ]


def test_infinite_intervals() -> None:
    problem = parse_jj(
        "0\n2\na -5 1 u -inf inf 1 1 0\nb 5 1 s -inf inf 0 0 0\n1\n0 2 : a (1) b (1)\n"
    ).problem
    found = audit(problem, Suppression.of(problem.table, [0, 1]), intervals=True)
    (row,) = strictly(audit_record(problem, found, intervals=True))["intervals"]
    assert (row["low"], row["high"]) == ("-inf", "inf")


def test_an_exposure() -> None:
    record = strictly(exposure_record(PROBLEM, exposure(PROBLEM)))
    assert list(record) == ["confidential", "sets", "algorithms", "left_open", "most_initial", "seconds"]
    assert record["sets"]["E"] == ["4"]
    assert record["sets"]["N"] == []
    assert list(record["algorithms"]) == ["E", "D", "K1", "K3", "K5"]
    assert all(isinstance(cells, list) for cells in record["left_open"].values())


class Colour(StrEnum):
    RED = "red"


def test_plain_values() -> None:
    value = {
        1: (np.float64(0.5), np.int32(3), np.bool_(True), True),
        "nan": float("nan"),
        "text": Colour.RED,
        "array": np.array([1.0, -np.inf]),
        "map": MappingProxyType({"path": Path("a/b")}),
    }
    assert plain(value) == {
        "1": [0.5, 3, True, True],
        "nan": None,
        "text": "red",
        "array": [1.0, "-inf"],
        "map": {"path": "a/b"},
    }
    assert type(plain(value)["1"][2]) is bool


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=5), anything, max_size=3))
@settings(max_examples=50, deadline=None)
def test_every_record_is_strict_json(record: dict[str, Any]) -> None:
    assert strictly(record) == plain(record)


@pytest.mark.parametrize("pattern", [SAFE, OPEN])
def test_the_order_of_keys_is_fixed(pattern: Suppression) -> None:
    found = audit(PROBLEM, pattern, intervals=True)
    first, second = (list(audit_record(PROBLEM, found, intervals=True)) for _ in range(2))
    assert first == second
