"""Readings of the papers: instances as they say, rows of tiny cases, sections."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from cases import grid, readings, reductions, serpell
from cases.castro_2002 import Instance
from reports.readings import castro_readings, classes_readings, implied, serpell_order
from runner import Row
from tablecloak import Problem
from tablecloak.testing.instances import class_one, generator_one


def test_class_one_is_what_it_was_and_other_readings_have_more_sensitive_cells() -> None:
    plain = class_one(60, 50, 7)
    assert np.array_equal(plain.table.values, class_one(60, 50, 7, largest=499).table.values)
    shares = {}
    for name, more in readings.CLASS_READINGS.items():
        problem = class_one(200, 200, 7, **more)
        small = problem.table.is_leaf & (problem.table.values >= 1) & (problem.table.values <= 4)
        assert np.array_equal(small, problem.sensitive)
        assert np.array_equal(problem.levels.upper[small], problem.table.values[small])
        shares[name] = problem.sensitive.sum() / 40_000
    assert shares["0 to 499, as printed"] == pytest.approx(0.008, abs=0.002)
    assert shares["0 to 99"] == pytest.approx(0.04, abs=0.005)
    assert shares["one in 25 sensitive"] == pytest.approx(0.04, abs=0.005)


def test_all_instances_in_all_readings() -> None:
    cases = list(readings.class_readings(None))
    assert len(cases) == len(readings.CLASS_READINGS) * 10 * len(list(grid.grid("I"))) == 3 * 580
    assert len({case.name for case in cases}) == len(cases)


def test_readings_of_three_way_tables_differ_as_they_say() -> None:
    one = Instance(1, (4, 4, 4), 6, 1)
    plain, exact = readings.reading_of(one, 5), readings.reading_of(one, 5, rounded=False)
    zeros, totals = readings.reading_of(one, 5, zeros=True), readings.reading_of(one, 5, totals=True)
    assert np.array_equal(plain.levels.upper, np.ceil(0.15 * plain.table.values * plain.sensitive))
    assert (exact.levels.upper <= plain.levels.upper).all()
    assert plain.forced[plain.table.values == 0].all() and not zeros.forced.any()
    assert len(totals.table) == 4**3 and len(plain.table) == 5**3


def tiny() -> Problem:
    return generator_one(6, 6, 5, 1)


def test_rows_and_sections() -> None:
    rows: list[Row] = []
    for number, reading in enumerate(readings.CLASS_READINGS):
        row = readings.class_row(reading, 20, 10, 1, 20.0)
        assert row["open"] == 0
        rows.append(_stored({**row, "reading": reading, "m": 20, "instance": number}))
    text = classes_readings(rows)
    assert "one in 25 sensitive: Popt %" in text and "| 20 | 1 |" in text

    one = Instance(1, (10, 10, 10), 50, 1)
    cube = readings.cube_row(Instance(1, (4, 4, 4), 6, 1), 3, "network warm start", 20.0)
    told = {**cube, "name": one.name, "reading": "network warm start"}
    assert "network warm start | 1 |" in castro_readings([_stored(told)])

    order = _stored({**serpell.orders_row(tiny, 20.0), "shape": "two-way"})
    assert "| given | 1 |" in serpell_order([order])

    reduced = reductions.row_of(tiny, 20.0)
    assert reduced["all_cost"] == pytest.approx(reduced["K5_cost"]) == pytest.approx(reduced["implied_cost"])
    assert reduced["all_levels"] == reduced["open_levels"]
    assert reduced["implied_levels"] == reduced["open_levels"] - reduced["following_levels"]
    assert "| two-way | 1 |" in implied([_stored({**reduced, "shape": "two-way"})])
    counted = reductions.row_of(partial(generator_one, 6, 6, 5, 2), None)
    assert "all_s" not in counted


def _stored(row: Row) -> Row:
    return {key: "" if value is None else str(value) for key, value in row.items()}
