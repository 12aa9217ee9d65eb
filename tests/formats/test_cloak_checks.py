"""Cloak files with right checksums and wrong content: every array is looked at before it is believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tablecloak.errors import InputError
from tablecloak.formats import read_cloak, write_cloak
from tablecloak.model import Attacker, Problem, Reason, Table
from tests.formats.test_cloak import rich_problem, rich_table

TABLE, PROBLEM = rich_table(), rich_problem()
SIZE = len(TABLE)


def refused(thing: Table | Problem) -> str:
    """What is said about a file that holds something wrong, however it was written."""
    with pytest.raises(InputError) as caught:
        read_cloak(write_cloak(thing))
    assert "it is damaged or was changed by hand" in str(caught.value)
    return str(caught.value)


def changed(array: Any, at: Any, value: Any) -> Any:
    new = np.array(array)
    new[at] = value
    return new


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1.0])
@pytest.mark.parametrize("level", ["lower", "upper", "sliding", "conditional"])
def test_levels(level: str, value: float) -> None:
    levels = replace(PROBLEM.levels, **{level: changed(getattr(PROBLEM.levels, level), 3, value)})
    assert f"{level} must be a finite number that is not negative" in refused(replace(PROBLEM, levels=levels))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda p: {"weights": changed(p.weights, 3, np.nan)}, "weights must be a finite number"),
        (lambda p: {"weights": p.weights[:-1]}, "weights: expected"),
        (lambda p: {"weights": p.weights.astype(np.float32)}, "weights is of another kind"),
        (lambda p: {"marks": changed(p.marks, 0, 9)}, "marks: expected one mark"),
        (lambda p: {"marks": p.marks[:-1]}, "marks: expected one mark"),
        (lambda p: {"outsider_low": changed(p.outsider_low, 3, np.nan)}, "outside the a-priori bounds"),
        (lambda p: {"outsider_low": changed(p.outsider_low, 3, 1e9)}, "outside the a-priori bounds"),
        (lambda p: {"outsider_low": changed(p.outsider_low, 3, p.table.values[3])}, "narrower than its"),
        (lambda p: {"most_touched": -1}, "most_touched"),
        (lambda p: {"most_touched": True}, "most_touched is of another kind"),
        (lambda p: {"reasons": {SIZE: (Reason("a", "b", "c"),)}}, "cells that there are not"),
        (lambda p: {"attackers": (Attacker("x", np.array([SIZE]), np.zeros(1), np.ones(1)),)}, "does not have"),
        (lambda p: {"attackers": (Attacker("x", np.array([3]), np.array([np.nan]), np.ones(1)),)}, "outside what"),
        (lambda p: {"attackers": (Attacker("x", np.array([0.5]), np.zeros(1), np.ones(1)),)}, "another kind"),
    ],
)  # fmt: skip
def test_problems(change: Callable[[Problem], dict[str, Any]], told: str) -> None:
    assert told in refused(replace(PROBLEM, **change(PROBLEM)))


def double(matrix: csr_array) -> csr_array:
    """The same matrix with an entry that is listed twice."""
    new = matrix.copy()
    new.indices[1] = new.indices[0]
    return new


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda t: {"units": changed(t.units, 3, 2**52)}, "units: some are too large"),
        (lambda t: {"units": changed(t.units, 3, -(2**63))}, "units: some are too large"),
        (lambda t: {"units": changed(t.units, 3, t.units[3] + 1)}, "is not the sum of its"),
        (lambda t: {"units": t.values}, "units is of another kind"),
        (lambda t: {"units": t.units[:0]}, "the table has no cells"),
        (lambda t: {"cell_decimals": np.full(SIZE, -1, dtype=np.int8)}, "cell_decimals: some are out of range"),
        (lambda t: {"rounding": np.nan}, "the largest change by rounding"),
        (lambda t: {"codes": changed(t.codes, (0, 0), -1)}, "codes that their dimensions do not have"),
        (lambda t: {"codes": changed(t.codes, (0, 1), 99)}, "codes that their dimensions do not have"),
        (lambda t: {"codes": t.codes[:, :1]}, "the codes are not those of the cells"),
        (lambda t: {"codes": changed(t.codes, 0, t.codes[1])}, "a cell is there twice"),
        (lambda t: {"codes": t.codes.astype(np.int64)}, "codes is of another kind"),
        (lambda t: {"rhs": changed(t.rhs, 0, np.nan)}, "right-hand side"),
        (lambda t: {"rhs": t.rhs[:-1]}, "right-hand side"),
        (lambda t: {"equations": t.equations[:, :-1]}, "equations: the matrix has another shape"),
        (lambda t: {"equations": t.equations * np.inf}, "equations: coefficients are no finite numbers"),
        (lambda t: {"equations": double(t.equations)}, "listed twice or out of order"),
        (lambda t: {"decimals": -1}, "number of decimals"),
        (lambda t: {"decimals": 10**30}, "number of decimals"),
        (lambda t: {"decimals": None}, "decimals is of another kind"),
        (lambda t: {"virtual": SIZE + 1}, "virtual cells"),
        (lambda t: {"columns": {"x": np.zeros(3)}}, "x: expected"),
        (lambda t: {"columns": {3: np.zeros(SIZE)}}, "columns is of another kind"),
        (lambda t: {"frame_kind": "excel"}, "no such kind of dataframe"),
        (lambda t: {"response": None}, "response is of another kind"),
        (lambda t: {"dimensions": (t.dimensions[0],) * 2}, "two dimensions have the same name"),
        (lambda t: {"dimensions": ()}, "the table has no cells"),
        (lambda t: {"respondents": 3}, "respondents is of another kind"),
    ],
)  # fmt: skip
def test_tables(change: Callable[[Table], dict[str, Any]], told: str) -> None:
    assert told in refused(replace(TABLE, **change(TABLE)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda c: {"top": changed(c.top, (0, 0), np.nan)}, "top has numbers that are not finite"),
        (lambda c: {"top": c.top[:-1]}, "another shape"),
        (lambda c: {"top": c.top[:, 0]}, "another shape"),
        (lambda c: {"requested": c.requested[:, :1]}, "requested has another shape"),
        (lambda c: {"top_unit": changed(c.top_unit, (0, 0), 77)}, "names units that there are not"),
        (lambda c: {"largest_unwaived_unit": changed(c.largest_unwaived_unit, 0, -2)}, "names units"),
        (lambda c: {"count": changed(c.count, 0, -1)}, "count is negative"),
        (lambda c: {"unit_weight": c.unit_weight[:1]}, "unit_weight has another shape"),
        (lambda c: {"shares": c.shares[:, :-1]}, "the matrix has another shape"),
        (lambda c: {"unit_waived": c.unit_waived.astype(np.int64)}, "unit_waived is of another kind"),
    ],
)
def test_contributions(change: Callable[[Any], dict[str, Any]], told: str) -> None:
    known = TABLE.respondents
    assert known is not None
    assert told in refused(replace(TABLE, respondents=replace(known, **change(known))))


def test_no_message_tells_a_value() -> None:
    secret = changed(PROBLEM.levels.lower, 3, -123456.5)
    assert "123456" not in refused(replace(PROBLEM, levels=replace(PROBLEM.levels, lower=secret)))
