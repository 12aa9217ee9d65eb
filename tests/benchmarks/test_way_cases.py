"""The benchmarks of the other ways to publish: rows of tiny cases, peers that answer in all kinds of ways, sections."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases import adjustment, census, models, real_data, rounding, ways, widths
from cases.base import OURS, PEER
from cases.parts import PARTS
from peers import process
from peers.process import Said
from peers.rounding import gconfid_tables
from tablecloak import InputError, Levels, Perturbation, Problem, Suppression
from tablecloak.solvers import MixedSolution, Outcome
from tablecloak.testing import assert_additive, instances

SECONDS = 20.0


def tiny() -> Problem:
    """A two-way table with two sensitive cells."""
    return instances.generator_one(5, 5, 2, 0)


def counts() -> Problem:
    return census.commuters(6)


# ---------------------------------------------------------------------- cases and instances


def test_every_instance_is_met_by_every_way_and_every_program() -> None:
    assert len(list(PARTS["ways"].cases(None))) == len(real_data.CSPLIB) * len(ways.WAYS) == 78
    assert len(list(PARTS["adjustment"].cases(None))) == 2 * len(real_data.CSPLIB)
    assert len(list(PARTS["rounding"].cases(None))) == 3 * len(rounding.BASES) * len(rounding.METHODS)
    programs = [case.facts["program"] for case in PARTS["peer-rounding"].cases(None)]
    assert programs.count(OURS) == programs.count(PEER) == programs.count(rounding.GCONFID) == 27


def test_generators_of_counts_and_nested_tables_make_what_they_say() -> None:
    nested = instances.hierarchical_generator_one((2, 3), (4,), 5, 1)
    assert len(nested.table) == (1 + 2 + 6) * (1 + 4)
    assert int(nested.sensitive.sum()) == 5 and (nested.sensitive <= nested.table.is_leaf).all()
    two_way, cube = census.commuters(7), census.cube_of_counts(3)
    assert (len(two_way.table), len(cube.table)) == (8 * 8, 4**3)
    for problem in (nested, two_way, cube):
        assert_additive(problem.table)
    assert two_way.table.values[two_way.table.find()] == pytest.approx(4 * 49, rel=0.5)
    assert (two_way.sensitive == ((two_way.table.values > 0) & (two_way.table.values < 3))).all()
    sizes = {(name, size): make for name, size, make in widths.series()}
    largest = sizes["two-way", "317x317"]()
    assert (len(largest.table), int(largest.sensitive.sum())) == (318 * 318, 5000)


# ---------------------------------------------------------------------- the four ways


@pytest.mark.parametrize(("number", "above"), [(1, 1), (1.01, 2), (3, 5), (5.1, 10), (0.3, 0.5), (2e9, 2e9)])
def test_nice_numbers(number: float, above: float) -> None:
    assert ways.nice_above(number) == pytest.approx(above)


def test_bases_and_reaches_leave_room_for_the_levels() -> None:
    problem = tiny()
    base = ways.protecting_base(problem)
    assert base >= 2 * problem.levels.upper.max() > ways.small_base(problem)
    assert ways.fitting_reach("perturb-cta", problem) == 0.0
    table, mark = instances.two_way(np.array([[1, 50], [60, 70]])), np.zeros(9, dtype=bool)
    mark[table.find(r="r0", c="c0")] = True
    small = Problem.of(table, mark, Levels.of(9, np.where(mark, 1.0, 0), np.where(mark, 8.0, 0)))
    least = ways.fitting_reach("perturb-cta", small)
    assert least > 1 and least == ways.nice_above(least)
    with pytest.raises(InputError):
        ways.ranges_of("perturb-cta", small, ways.ReachRule.checked("perturb-cta", ways.SHARE, least / 2.5))


def test_every_way_has_a_row_and_intervals_are_not_dearer_than_hidden_cells() -> None:
    rows = {way: ways.way_row(tiny, way, SECONDS) for way in ways.WAYS}
    for way, row in rows.items():
        assert row["status"] in ("optimal", "feasible"), way
        assert row["cells"] == 36 and row["sensitive"] == 2 and row["seconds"] > 0
        assert 0 < row["cells_percent"] <= 100 and 0 < row["value_percent"] <= 100
        assert row["bound"] is None or row["bound"] <= row["cost"] * (1 + 1e-9)
    assert all(rows[way]["open"] == 0 for way in ways.WAYS if way != ways.SMALL)
    assert rows[ways.SMALL]["open"] > 0
    assert all(rows[way]["adds_up"] is True for way in ways.WAYS[2:])
    assert rows["suppress-optimal"]["adds_up"] is rows["interval-partial"]["adds_up"] is None
    hidden, narrow = rows["suppress-optimal"], rows["interval-partial"]
    assert narrow["gap_percent"] == 0 and narrow["cost"] <= hidden["width_loss"] * (1 + 1e-6)
    assert narrow["printed_cost"] >= narrow["cost"]
    assert hidden["median_change"] == 0 and hidden["median_width"] > 0
    assert rows["perturb-cta"]["median_width"] > 0 and rows[ways.PROTECTING]["median_change"] > 0


def test_a_table_that_does_not_add_up_is_noticed() -> None:
    problem = tiny()
    shown = problem.table.values.copy()
    assert ways.adds_up(problem, Perturbation.of(shown, 5.0)) is True
    shown[0] += 1
    assert ways.adds_up(problem, Perturbation.of(shown, 5.0)) is False
    assert ways.adds_up(problem, Suppression.of(problem.table, problem.sensitive)) is None


def test_what_cannot_be_done_is_a_row_too() -> None:
    problem = tiny()
    everything = Problem.of(
        problem.table, problem.sensitive, problem.levels, forced=~problem.sensitive, weights=problem.weights
    )
    row = ways.way_row(lambda: everything, "suppress-optimal", SECONDS)
    assert row["status"] == "infeasible" and "cost" not in row


# ---------------------------------------------------------------------- adjustment


def test_the_plain_program_is_the_same_model() -> None:
    for make in (tiny, partial(instances.three_way_generator_one, 3, 3, 3, 4, 1)):
        mine, plain = adjustment.adjusted_row(make, SECONDS), adjustment.plain_row(make, SECONDS)
        assert mine["status"] == plain["status"] == "optimal"
        assert mine["cost"] == pytest.approx(plain["cost"], rel=1e-6)
        assert plain["bound"] <= plain["cost"] and plain["gap_percent"] == pytest.approx(0, abs=1e-3)
        assert plain["broken"] < 1e-6 and mine["least"] == plain["least"]


def test_the_plain_program_keeps_sensitive_cells_away_in_one_sense() -> None:
    problem = tiny()
    ranges = adjustment.ranges_of("x", problem, adjustment.ReachRule.checked("x", 0.5, 0.0))
    _, moved, _ = adjustment.plain(problem, ranges, SECONDS)
    assert moved is not None
    p = problem.sensitive
    assert (np.abs(moved[p]) >= problem.levels.upper[p] - 1e-6).all()
    assert (moved >= ranges.low - 1e-6).all() and (moved <= ranges.high + 1e-6).all()
    assert (moved[problem.forced] == 0).all()


# ---------------------------------------------------------------------- models


@pytest.mark.parametrize("form", models.FORMS)
def test_models_of_every_form_are_compared(form: str) -> None:
    row = models.agreement_row("two-way", form, 1, 5.0)
    left_out = form in models.LINEAR
    assert row["status"] == "models agree" and row["which"] == ""
    assert row["tables"] == len(models.OPTIONS) - left_out
    assert row["compared"] == row["agree"] + row["infeasible_agreed"] >= 3
    assert row["differ"] == 0 and row["compared"] + row["not_finished"] == row["tables"]


@pytest.mark.parametrize(
    ("first", "verdict"),
    [
        (
            lambda found: MixedSolution(found.outcome, found.objective + 1, found.bound, found.values),
            "differ",
        ),
        (lambda found: MixedSolution(Outcome.INFEASIBLE, math.inf, math.inf, np.zeros(0)), "differ"),
        (lambda found: MixedSolution(Outcome.TIME_LIMIT, math.inf, 0.0, np.zeros(0)), "not_finished"),
    ],
)
def test_a_wrong_model_would_be_noticed(monkeypatch: pytest.MonkeyPatch, first: Any, verdict: str) -> None:
    real = models.solve_compact_model
    monkeypatch.setattr(models, "solve_compact_model", lambda *given: first(real(*given)))
    row = models.agreement_row("two-way", "intervals", 1, 5.0)
    assert row[verdict] >= 3  # at most one of the four is infeasible
    assert (row["status"] == "models differ") is (verdict == "differ")
    assert ("plain #0" in row["which"]) is (verdict == "differ")


# ---------------------------------------------------------------------- rounding


def test_large_rows_tell_whether_it_adds_up_and_what_is_open() -> None:
    rows = {method: rounding.large_row(counts, method, 3.0, SECONDS) for method in rounding.METHODS}
    for method, row in rows.items():
        assert row["additive"] is True and row["changed"] > 0 and row["kind"] == 2, method
    near, far = rows[rounding.AUDITED], rows[rounding.RAPID]
    assert near["gap_percent"] == 0 and near["largest_change"] < 3 and near["steps"] == 0
    assert near["cost"] <= min(far["cost"], rows[rounding.PROTECTED]["cost"])
    assert far["largest_change"] > near["largest_change"] and far["bound"] is None


def test_our_rounding_is_priced_like_that_of_peers() -> None:
    row = rounding.shared_row(counts, OURS, 3.0, SECONDS)
    assert row["status"] == "optimal" and row["cost"] == row["bound"] and row["gap_percent"] == 0
    assert (
        row["multiples"] is True and row["additive"] is True and row["base"] == "3" and row["bases_away"] == 1
    )
    problem = counts()
    assert rounding.bases_away(problem, problem.table.values + 7.0, 3.0) == 3


def answering(monkeypatch: pytest.MonkeyPatch, said: Said) -> list[tuple[str, dict[str, Any]]]:
    """Peers that say this, whatever they are asked; gives what they were asked."""
    asked: list[tuple[str, dict[str, Any]]] = []

    def ask(name: str, script: Path, order: dict[str, Any], end: float) -> Said:
        assert script.exists() and end > SECONDS
        asked.append((name, order))
        return said

    monkeypatch.setattr(process, "ask", ask)
    return asked


def test_an_answer_of_the_rounder_is_priced_by_us(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = counts()
    best = rounding.ours(rounding.without_levels(problem), 3.0, SECONDS)
    assert best.shown is not None
    pairs = [[f"{cell}", f"{value}"] for cell, value in enumerate(best.shown)]
    text = "UB = 8.0; LB = 7.0\nUB = 40.0; LB = 40.0\n"
    said = Said("", 9.0, {"code": 0, "error": 0, "shown": pairs, "seconds": 0.5}, text)
    asked = answering(monkeypatch, said)
    row = rounding.shared_row(counts, PEER, 3.0, SECONDS)
    mine = rounding.shared_row(counts, OURS, 3.0, SECONDS)
    assert asked[0][0] == PEER and asked[0][1]["minutes"] == 1 and asked[0][1]["base"] == 3.0
    assert (row["status"], row["bound"], row["seconds"]) == ("optimal", 40.0, 0.5)
    assert all(row[name] == mine[name] for name in ("cost", "additive", "changed", "open", "largest_change"))
    off = Said(
        "", 9.0, {"code": 0, "error": 0, "shown": [[a, f"{float(b) + 0.5}"] for a, b in pairs], "seconds": 1}
    )
    answering(monkeypatch, off)
    assert rounding.shared_row(counts, PEER, 3.0, SECONDS)["multiples"] is False


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (Said("crashed: signal 11", 2.0), "crashed: signal 11"),
        (Said("", 2.0, {"code": 3, "error": 7, "shown": [], "seconds": 1.0}), "error: code 3, 7"),
    ],
)
def test_a_rounder_without_a_rounding_is_a_row(
    monkeypatch: pytest.MonkeyPatch, said: Said, status: str
) -> None:
    answering(monkeypatch, said)
    row = rounding.shared_row(counts, PEER, 3.0, SECONDS)
    assert row["status"] == status and "cost" not in row


@pytest.mark.parametrize(
    ("ended", "message", "status"),
    [
        ("Optimal", "", "optimal"),
        ("Time limit reached", "", "time-limit"),
        ("Time limit reached", "TypeError: None", "time-limit"),
        ("Infeasible", "TypeError: None", "infeasible"),
        ("not run", "ValueError: wrong", "error: ValueError: wrong"),
    ],
)
def test_answers_of_gconfid(monkeypatch: pytest.MonkeyPatch, ended: str, message: str, status: str) -> None:
    problem = counts()
    shown = [] if message else (3 * np.round(problem.table.values / 3)).tolist()
    answer = {"ended": ended, "message": message, "shown": shown, "bound": 5.0, "seconds": 1.5}
    asked = answering(monkeypatch, Said("", 9.0, answer))
    row = rounding.shared_row(counts, rounding.GCONFID, 3.0, SECONDS)
    assert asked[0][0] == "gconfid" and asked[0][1]["base"] == 3
    assert row["status"] == status and row["seconds"] == 1.5
    assert (row.get("bound") == 15.0) is not bool(message)


def test_gconfid_is_told_the_next_multiples_and_all_sums() -> None:
    problem = rounding.without_levels(counts())
    told, values = gconfid_tables(problem, 3.0), problem.table.values
    assert (np.array(told["low"]) <= values).all() and (np.array(told["high"]) >= values).all()
    assert (np.array(told["high"]) - np.array(told["low"]) == np.where(values % 3 == 0, 0, 3)).all()
    sums = np.zeros(problem.table.equations.shape[0])
    np.add.at(sums, told["rows"], np.array(told["entries"]) * values[told["columns"]])
    assert (sums == 0).all() and min(told["weights"]) > 0
    weightless = Problem.of(problem.table, [], weights=np.zeros(len(problem.table)))
    with pytest.raises(ValueError, match="without weight"):
        gconfid_tables(weightless, 3.0)


# ---------------------------------------------------------------------- intervals


def test_a_row_of_intervals() -> None:
    row = widths.width_row(partial(instances.hierarchical_generator_one, (2, 2), (3,), 3, 0), SECONDS)
    assert row["status"] in ("optimal", "feasible") and row["gap_percent"] == 0 and row["open"] == 0
    assert row["printed_cost"] >= row["cost"] > 0 and row["touched"] > 3 and row["rounds"] > 0


# ---------------------------------------------------------------------- the report


def test_the_page_of_the_ways(page_of: Callable[..., str]) -> None:
    base = {"name": "a", "cells": 36, "sensitive": 2, "status": "optimal", "seconds": 0.5, "open": 0}
    hidden = {**base, "way": "suppress-optimal", "cost": 12.0, "width_loss": 900.5, "gap_percent": 0.0}
    narrow = {**base, "way": "interval-partial", "cost": 800.25, "bound": 800.25, "gap_percent": 0.0}
    late = {**base, "name": "b", "way": "interval-partial", "status": "time-limit", "cost": 2000.0}
    text = page_of(
        "ways",
        {
            "1": hidden,
            "2": narrow,
            "3": {"name": "a", "way": "perturb-cta", "least": 10.0, "status": "infeasible"},
            "4": {**late, "gap_percent": 50.0},
            "5": {**hidden, "name": "b"},
        },
    )
    assert "### a: 36 cells, 2 sensitive" in text
    assert "| interval-partial |  | 800.25 | 800.25 | 0 | optimal | 0.5 | 0 |  |  |  |  |  |" in text
    assert "| perturb-cta | 10 |  |  |  | infeasible |  |  |  |  |  |  |  |" in text
    assert "| a | 800.25 | 0 | optimal | 900.5 | optimal | yes |" in text
    assert "| b | 2000 | 50 | time-limit | 900.5 | optimal | no (not proven optimal) |" in text
    assert "they are not above: 1 of 1." in text


def test_the_page_of_adjustments(page_of: Callable[..., str]) -> None:
    base = {"cells": 9, "sensitive": 1, "least": 0.0, "status": "optimal", "seconds": 1.0, "bound": 5.0}
    rows = {
        "1": {"name": "a", "program": "perturb-cta", **base, "cost": 5.0},
        "2": {"name": "a", "program": "plain", **base, "cost": 5.0},
        "3": {"name": "b", "program": "perturb-cta", **base, "cost": 5.0},
        "4": {"name": "b", "program": "plain", **base, "cost": 6.0},
        "5": {"name": "c", "program": "perturb-cta", **base, "cost": 5.0},
        "6": {"name": "c", "program": "plain", "status": "time-limit"},
    }
    text = page_of("adjustment", rows)
    assert "| a | 9 | 1 | 0 | 5 | 5 |  | optimal | 1 | 5 | 5 |  | optimal | 1 |" in text
    assert "Of 2 costs beside the plain program: 1 are the same, 1 are lower, 0 are higher." in text
    assert "1 are ours alone, 0 are of the plain program alone." in text


def test_the_page_of_roundings(page_of: Callable[..., str]) -> None:
    big = {
        "name": "counts",
        "base": "3",
        "method": "round-rapid",
        "cells": 49,
        "sensitive": 5,
        "additive": True,
    }
    done = {
        "open": 2,
        "cost": 7.0,
        "status": "feasible",
        "seconds": 1.5,
        "audit_s": 0.25,
        "largest_change": 9.0,
    }
    text = page_of("rounding", {"1": {**big, **done}})
    assert "### counts: 49 cells, 5 sensitive" in text
    assert "| 3 | round-rapid | True | 2 | 7 |  |  | feasible | 1.5 | 0.25 |  | 9 |" in text


def test_the_page_beside_peers(page_of: Callable[..., str]) -> None:
    base = {"name": "t", "cells": 49, "base": "3", "status": "optimal", "seconds": 1.5, "open": 0}
    rows = {
        "1": {**base, "program": OURS, "cost": 7.0, "bound": 7.0, "gap_percent": 0.0},
        "2": {**base, "program": PEER, "cost": 7.0, "bound": 7.0},
        "3": {"name": "t", "program": rounding.GCONFID, "status": "crashed: signal 11"},
    }
    text = page_of("peer-rounding", rows)
    line = "| t | 49 | 3 | 7 | 7 | 0 | optimal | 1.5 | 0 | 7 | 7 | optimal | 1.5 | 0 |  |  | crashed: signal 11 |  |  |"
    assert line in text
    assert "Of 1 costs beside pytauargus: 1 are the same, 0 are lower, 0 are higher." in text
    assert "Of 0 costs beside gconfid" in text and "1 are ours alone" in text


def test_the_page_of_models_and_of_intervals(page_of: Callable[..., str], tmp_path: Path) -> None:
    row = {"kind": "two-way", "tables": 75, "compared": 70, "agree": 60, "infeasible_agreed": 9, "differ": 1}
    rows = {
        "1": {**row, "form": "rounding", "not_finished": 5},
        "2": {"kind": "two-way", "form": "combined", "status": "crashed: signal 9"},
    }
    text = page_of("models", rows)
    assert "| rounding | 69 of 70 |" in text and "| combined | crashed: signal 9 |" in text
    assert "75 pairs of models were solved. 70 were finished: 60 have the same optimum, 9" in text
    assert "1 differ. In 5 pairs" in text
    size = {"cells": 49, "sensitive": 5, "cost": 1234567.891, "status": "feasible", "rounds": 3, "rows": 40}
    text = page_of("intervals", {"x": size}, tmp_path / "other")
    assert "| x | 49 | 5 | 1234568 |  |  | feasible |  |  |  | 3 | 40 |" in text
