"""Empty combinations as cells: which there are, what they weigh, and what is impossible."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tablecloak import (
    CellData,
    Dimension,
    Frequency,
    Hierarchy,
    InputError,
    Insiders,
    Layout,
    Levels,
    Microdata,
    PPercent,
    Problem,
    Table,
    assess,
    protect,
    tabulate,
    tabulate_linked,
    weights,
)
from tablecloak.formats import read_cloak, write_cloak
from tablecloak.job import chosen_weights
from tablecloak.model import known_bounds

REGION = Dimension.of("region", Hierarchy.from_dict({"North": ["N1", "N2"], "South": ["S1", "S2"]}))
SIZE = Dimension.flat("size", ["small", "large"])
RECORDS = {
    "region": ["N1", "N1", "N2", "S1", "S1", "S1"],
    "size": ["small", "large", "small", "small", "small", "small"],
    "who": ["A", "B", "C", "D", "E", "F"],
    "x": [5, 6, 7, 8, 9, 10],
}


def test_all_combinations_are_cells() -> None:
    table = tabulate(RECORDS, [REGION, SIZE], empty="cells")
    assert len(table) == 7 * 3
    assert table.values.sum() == tabulate(RECORDS, [REGION, SIZE]).values.sum()
    assert table.values[table.find(region="S2", size="large")] == 0
    assert table.empty == "cells" and table.counts
    table.check_additive()
    assert (known_bounds(table)[0] == 0).all()  # a hidden cell may be empty


def test_contributions_of_empty_cells() -> None:
    table = tabulate(Microdata(RECORDS, respondent="who"), [REGION, SIZE], "x", empty="cells")
    plain = tabulate(Microdata(RECORDS, respondent="who"), [REGION, SIZE], "x")
    who, empty = table.respondents, table.values == 0
    assert who is not None and plain.respondents is not None
    assert not who.count[empty].any() and (who.top_unit[empty] == -1).all()
    assert (who.largest_unwaived_unit[empty] == -1).all()
    assert who.count[~empty].tolist() == plain.respondents.count.tolist()
    assert table.columns["contributors"][empty].sum() == 0
    rules = [PPercent(10), Frequency(2)]
    caught, before = assess(table, rules, insiders=Insiders()), assess(plain, rules, insiders=Insiders())
    assert table.labels(np.flatnonzero(caught.sensitive)) == plain.labels(np.flatnonzero(before.sensitive))
    assert caught.attacker_names == before.attacker_names


def test_they_weigh_one_unit() -> None:
    table = tabulate(RECORDS, [REGION, SIZE], empty="cells")
    for name in ("value", "unit", "log", "contributors"):
        assert (weights.named(table, name) > 0).all()
    assert (Problem.of(table, []).weights[table.values == 0] == 1).all()
    other = replace(table, columns={"price": np.zeros(len(table))})
    assert weights.named(other, "price").tolist() == (table.values == 0).astype(float).tolist()
    raised = chosen_weights(table, "value", 0.5)
    assert not isinstance(raised, str) and (raised[table.values == 0] == 1).all()
    assert (weights.value(tabulate(RECORDS, [REGION, SIZE])) >= 1).all()


def test_cells_given_or_rebuilt() -> None:
    given = {"region": ["N1", "S1"], "size": ["small", "large"], "value": [3, 4], "further": [1, 2]}
    table = Table.from_cells([REGION, SIZE], given, recompute=True, counts=True, empty="cells")
    assert len(table) == 21 and table.columns["further"][table.values == 0].sum() == 0
    data = CellData(
        {
            "region": ["Total", "North", "N1"] * 2,
            "size": ["Total"] * 3 + ["small"] * 3,
            "value": [3] * 6,
            "n": [2] * 6,
        },
        count="n",
    )
    table = tabulate(data, [REGION, SIZE], counts=True, empty="cells")
    assert len(table) == 21 and table.respondents is not None
    assert table.respondents.count.sum() == 12


def linked_layouts() -> list[Table]:
    layouts = [
        Layout([REGION], empty="cells"),
        Layout([REGION, SIZE], impossible=[("S2", "large")], empty="cells"),
    ]
    return tabulate_linked(Microdata(RECORDS), layouts)


def test_layouts_of_linked_tables() -> None:
    one, two = linked_layouts()
    assert len(one) == 7 and len(two) == 20


@pytest.mark.parametrize(
    "impossible",
    [
        [("S1", "large"), ("S2", "large"), ("S2", "small")],
        [["S1", "large"], ["S2", "Total"]],
        {"region": ["S1", "S2"], "size": ["large", "Total"]},
        pd.DataFrame({"region": ["S1", "S2"], "size": ["large", "Total"]}),
        lambda codes: (codes["region"] == "S2") | ((codes["region"] == "S1") & (codes["size"] == "large")),
    ],
)
def test_impossible_combinations_stay_absent(impossible: Any) -> None:
    table = tabulate(RECORDS, [REGION, SIZE], empty="cells", impossible=impossible)
    labels = table.labels(range(len(table)))
    assert len(table) == 21 - 5  # three leaves, (S2, Total) and (South, large) with them
    assert "region=S2, size=Total" not in labels and "region=South, size=large" not in labels
    assert "region=N2, size=large" in labels
    table.check_additive()


def test_a_dimension_left_out_means_all_of_it() -> None:
    table = tabulate(RECORDS, [REGION, SIZE], empty="cells", impossible={"region": ["S2"]})
    assert len(table) == 21 - 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"impossible": [("S1", "small")]}, ["region=S1, size=small is named impossible"]),
        ({"impossible": [("S1",), "S2"]}, ["combination 1: expected 2 codes", "combination 2"]),
        ({"impossible": [("S9", "large")]}, ["unknown code 'S9'"]),
        ({"impossible": {"colour": ["red"]}}, ["no dimension 'colour'"]),
        ({"impossible": {"region": ["S2"], "size": ["large", "small"]}}, ["different numbers of rows"]),
        ({"impossible": lambda codes: [True]}, ["a mask with one entry"]),
        ({"empty": "known", "impossible": [("S1", "large")]}, ['goes with empty="cells"', "go with"][1:]),
        ({"empty": "never"}, ["one of known, cells"]),
        ({"most_cells": 20}, ["21 cells, more than most_cells=20"]),
        ({"most_cells": 7}, ["21 cells, more than most_cells=7"]),
        ({"most_cells": 0}, ["most_cells must be"]),
        ({"counts": "yes"}, ["counts must be true or false"]),
    ],
)
def test_faults(options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        tabulate(RECORDS, [REGION, SIZE], **({"empty": "cells"} | options))
    for each in words:
        assert each in str(error.value)


def test_too_many_are_not_even_made() -> None:
    many = [Dimension.flat(f"d{i}", [str(code) for code in range(1000)]) for i in range(3)]
    records = {dimension.name: ["1", "2"] for dimension in many}
    with pytest.raises(InputError, match=r"1,003,003,001 cells, more than most_cells=5,000,000"):
        tabulate(records, many, empty="cells")


def test_several_hierarchies() -> None:
    main = Hierarchy.from_dict({"North": ["N1", "N2"], "South": ["S1", "S2"]})
    coast = Hierarchy.from_dict({"Coast": ["N1", "S1"], "Inland": ["N2", "S2"]})
    table = tabulate({"region": ["N1"]}, [Dimension.of("region", main, coast)], empty="cells")
    assert len(table) == 9
    table.check_additive()


def test_a_zero_can_protect() -> None:
    counts = np.array([[1, 8, 60], [8, 0, 60], [60, 60, 60]])
    rows, columns = list("NSW"), list("abc")
    given = {"r": np.repeat(rows, 3), "s": np.tile(columns, 3), "value": counts.ravel()}
    listed = {name: column[counts.ravel() > 0] for name, column in given.items()}
    table = Table.from_cells(
        [Dimension.flat("r", rows), Dimension.flat("s", columns)],
        listed,
        recompute=True,
        counts=True,
        empty="cells",
    )
    small, zero = table.find(r="N", s="a"), table.find(r="S", s="b")
    problem = Problem.of(table, [small], Levels.at(len(table), [small], upper=2))
    result = protect(problem)
    assert result.audit.safe and result.pattern.touched(problem)[zero]
    assert result.cost == 8 + 8 + 1


def test_cloak_files_keep_it() -> None:
    for table in (*linked_layouts(), tabulate(RECORDS, [REGION, SIZE])):
        back = read_cloak(write_cloak(table))
        assert isinstance(back, Table)
        assert (back.counts, back.empty, back.weighted) == (table.counts, table.empty, table.weighted)
        assert known_bounds(back)[0].tolist() == known_bounds(table)[0].tolist()
    problem = assess(tabulate(RECORDS, [REGION, SIZE]), Frequency(3))
    again = read_cloak(write_cloak(problem))
    assert isinstance(again, Problem) and again.cut.tolist() == problem.cut.tolist() != []
