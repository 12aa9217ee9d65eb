"""Nothing is published that did not pass an audit of the very same problem and pattern."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fixtures import FIXTURES, flat, from_leaves, two_way, with_levels
from publications import CASES, DESPITE, SUFFIXES, case, published, with_unions
from tablecloak.auditing import audit
from tablecloak.errors import InputError, UnsafePublication
from tablecloak.model import (
    Dimension,
    Hierarchy,
    Intervals,
    Mixed,
    Perturbation,
    Problem,
    Rounding,
    Suppression,
    Table,
    View,
)
from tablecloak.protection import protect
from tablecloak.publication import publish

PROBLEM = two_way()
RESULT = protect(PROBLEM)


def refused(*arguments: object, **options: object) -> str:
    with pytest.raises(UnsafePublication) as caught:
        publish(*arguments, **options)
    for value in np.unique(PROBLEM.table.values[PROBLEM.table.values > 9]):
        assert f" {value:g}" not in str(caught.value)
    return str(caught.value)


# ---------------------------------------------------------------------- what may leave


@pytest.mark.parametrize("name", FIXTURES)
def test_every_result_can_be_published(name: str) -> None:
    problem = FIXTURES[name]()
    result = protect(problem)
    publication = publish(problem, result)
    assert len(publication) == len(problem.table)
    assert publication.is_status("hidden").sum() == result.pattern.touched(problem).sum()
    assert publication.despite == ""


def test_a_pattern_with_its_audit() -> None:
    verdict = audit(PROBLEM, RESULT.pattern, intervals=True)
    one, other = publish(PROBLEM, RESULT.pattern, verdict), publish(PROBLEM, RESULT, verdict)
    assert one.render("a.csv") == other.render("a.csv") == publish(PROBLEM, RESULT).render("a.csv")


def test_no_audit_no_publication() -> None:
    assert "There is no audit" in refused(PROBLEM, RESULT.pattern)


def test_an_audit_that_failed_names_the_cells() -> None:
    bare = Suppression.of(PROBLEM.table, PROBLEM.sensitive)
    text = refused(PROBLEM, bare, audit(PROBLEM, bare))
    (cell,) = np.flatnonzero(PROBLEM.sensitive)
    assert PROBLEM.table.label(cell) in text
    assert "did not pass (1 reason)" in text


def test_an_audit_of_another_pattern() -> None:
    other = Suppression.of(PROBLEM.table, RESULT.pattern.touched(PROBLEM))
    assert "about another pattern." in refused(PROBLEM, other, RESULT.audit)
    everything = Suppression.of(PROBLEM.table, np.ones(len(PROBLEM.table), dtype=bool))
    assert "about another pattern." in refused(PROBLEM, RESULT, audit(PROBLEM, everything))
    assert "about another pattern." in refused(PROBLEM, replace(RESULT, pattern=other))


def test_an_audit_of_another_problem() -> None:
    other = two_way()
    assert "about another problem." in refused(other, RESULT)
    assert "about another problem and another pattern." in refused(
        other, protect(other).pattern, RESULT.audit
    )


def test_an_audit_that_does_not_say_what_it_judged() -> None:
    assert "does not say" in refused(PROBLEM, RESULT.pattern, replace(RESULT.audit, subject=None))


def test_a_pattern_changed_after_its_audit() -> None:
    hidden = RESULT.pattern.touched(PROBLEM).copy()
    pattern = Suppression(hidden)
    verdict = audit(PROBLEM, pattern)
    assert publish(PROBLEM, pattern, verdict).is_status("hidden").any()
    hidden[:] = False
    assert "did not pass" in refused(PROBLEM, pattern, verdict)
    low, high = PROBLEM.table.values - 90, PROBLEM.table.values + 90
    stated = Mixed(((np.ones(len(low), dtype=bool), Intervals(low, high)),))
    verdict = audit(PROBLEM, stated)
    assert publish(PROBLEM, stated, verdict).is_status("interval").all()
    low[:] = high[:] = PROBLEM.table.values
    assert "did not pass" in refused(PROBLEM, stated, verdict)


def test_a_view_that_became_false_after_its_audit() -> None:
    shown = PROBLEM.table.values + 30
    pattern = Rounding(shown, np.full(len(shown), 40.0))
    verdict = audit(PROBLEM, pattern)
    shown += 40
    assert "does not state the truth" in refused(PROBLEM, pattern, verdict)


def test_marks_and_bounds_cannot_be_overruled() -> None:
    table = PROBLEM.table
    marked = Problem.of(table, [], hidden=[3], forced=[5])
    pattern = Suppression.of(table, [5])
    text = refused(marked, pattern, audit(marked, pattern), despite="because")
    assert f"cell {table.label(3)} must be hidden" in text
    assert f"cell {table.label(5)} must be published" in text
    bounded = Problem.of(table, [], most_touched=1)
    pattern = Suppression.of(table, [1, 2])
    assert "more than 1 cells are touched" in refused(
        bounded, pattern, audit(bounded, pattern), despite="because"
    )


def test_open_cells_with_a_written_reason(tmp_path: Path) -> None:
    bare = Suppression.of(PROBLEM.table, PROBLEM.sensitive)
    verdict, reason = audit(PROBLEM, bare), "Director 7, letter of 3 May"
    assert "did not pass" in refused(PROBLEM, bare, verdict, despite="  ")
    publication = publish(PROBLEM, bare, verdict, despite=reason)
    assert publication.despite == reason
    assert reason not in repr(publication)
    for suffix in SUFFIXES:
        content = publication.render(f"a{suffix}")
        assert reason.encode() not in (content.encode() if isinstance(content, str) else content)
    assert publish(PROBLEM, RESULT, despite=reason).despite == "", "nothing was open, nothing to excuse"


def test_perturbations_shown_too_close_are_refused() -> None:
    pattern = Perturbation.of(PROBLEM.table.values, 50.0)
    assert "not protected well enough" in refused(PROBLEM, pattern, audit(PROBLEM, pattern))


def test_something_that_is_no_pattern() -> None:
    with pytest.raises(InputError, match="expected a Result or a pattern to publish, got Audit"):
        publish(PROBLEM, RESULT.audit)


class Whisper:
    """A pattern that states nothing, but shows the truth."""

    def view(self, problem: Problem) -> View:
        value = problem.table.values
        return View(value, np.full(value.size, -np.inf), np.where(value > 50, np.inf, value + 70.0))

    def touched(self, problem: Problem) -> np.ndarray:
        return np.ones(len(problem.table), dtype=bool)

    def loss(self, problem: Problem) -> float:
        return 0.0


def test_nothing_is_printed_that_the_audit_did_not_judge() -> None:
    pattern = Whisper()
    publication = publish(PROBLEM, pattern, audit(PROBLEM, pattern))
    assert np.isnan(publication.shown).all()
    assert set(publication.status.tolist()) == {"hidden", "interval"}


# ---------------------------------------------------------------------- what is printed


@pytest.mark.parametrize("name", CASES)
def test_a_publication_says_what_the_view_says(name: str) -> None:
    problem, pattern = case(name)
    view, publication = pattern.view(problem), published(name)
    table = problem.table
    for cell, row in enumerate(publication.codes):
        codes = {d.name: d.codes[code] for d, code in zip(publication.dimensions, row, strict=True)}
        own = table.find(**codes)
        exact, silent = view.low[own] == view.high[own], np.isinf(view.low[own]) and np.isinf(view.high[own])
        word = publication.status[cell]
        assert (word == "published", word == "hidden") == (exact, silent)
        if word == "interval":
            assert np.isnan(view.shown[own])
            assert (publication.low[cell], publication.high[cell]) == (view.low[own], view.high[own])
        elif not silent:
            assert publication.shown[cell] == pytest.approx(view.shown[own], rel=1e-8, abs=0)
            assert publication.within[cell] == pytest.approx((view.high[own] - view.low[own]) / 2, abs=1e-9)
    assert set(publication.status.tolist()) <= {"published", "hidden", "interval", "rounded", "perturbed"}


def test_totals_come_first_and_parts_below_them() -> None:
    region, industry = published("turnover").dimensions
    assert region.codes[:4] == ("Total", "North", "Highfell", "Marrick")
    assert region.depth[:4] == (0, 1, 2, 2)
    assert region.parent[:4] == (-1, 0, 1, 1)
    assert industry.codes[0] == "Total"
    assert published("turnover").codes[:8].tolist() == [[0, j] for j in range(7)] + [[1, 0]]


def test_codes_of_several_hierarchies_are_printed_once() -> None:
    (region, _) = published("non nested").dimensions
    assert region.codes == ("Total", "north", "n1", "n2", "south", "s1", "s2", "coast", "inland")
    assert region.depth == (0, 1, 2, 2, 1, 2, 2, 1, 1)


def test_two_names_of_one_thing_are_no_endless_tower() -> None:
    one, two = Hierarchy.from_dict({"B": ["x", "y"]}, "T"), Hierarchy.from_dict({"T": None}, "B")
    table = from_leaves([Dimension.of("r", one, two)], np.array([3.0, 4.0]))
    problem = Problem.of(table, [])
    (dimension,) = publish(problem, protect(problem)).dimensions
    assert dict(zip(dimension.codes, dimension.depth, strict=True)) == {"T": 0, "B": 1, "x": 2, "y": 2}


def test_the_order_of_cells_in_the_table_does_not_show() -> None:
    table = PROBLEM.table
    mixed = np.random.default_rng(3).permutation(len(table))
    cells = {d.name: np.array(d.codes)[table.codes[mixed, i]] for i, d in enumerate(table.dimensions)}
    again = Table.from_cells(table.dimensions, {**cells, "value": table.values[mixed]})
    problem = Problem.of(again, [])
    pattern = Suppression.of(again, RESULT.pattern.touched(PROBLEM)[mixed])
    other = publish(problem, pattern, audit(problem, pattern))
    for suffix in SUFFIXES:
        assert other.render(f"a{suffix}") == publish(PROBLEM, RESULT).render(f"a{suffix}")


def test_unions_leave_no_trace() -> None:
    whole, hidden, plain, same = with_unions()
    one = publish(whole, hidden, audit(whole, hidden), despite=DESPITE)
    other = publish(plain, same, audit(plain, same), despite=DESPITE)
    assert len(one) == len(other) == len(plain.table)
    for suffix in SUFFIXES:
        assert one.render(f"a{suffix}") == other.render(f"a{suffix}")
    assert "secret union" not in one.render("a.html")


def test_decimals_are_those_of_what_is_printed() -> None:
    table = from_leaves([flat("r", 2), flat("c", 2)], np.array([[10.25, 4.75], [5.75, 9.25]]))
    problem = with_levels(table, [table.find(r="r1", c="c1")])
    assert (table.decimals, publish(problem, protect(problem)).decimals) == (2, 0)
    assert published("tiny decimals").decimals == 7
    assert published("huge values").decimals == 0


@pytest.mark.parametrize(
    ("decimals", "leaves"),
    [
        (13, [84.4897491236448, 3.0000000000001, 12.5, 7.25]),
        (2, [512345678901.23, 312345678901.27, 412345678901.11, 399999999999.98]),
        (0, [1e15 + 1, 3.0, 5.0, 2e15 + 3]),
    ],
)
def test_published_values_are_printed_whole_however_many_digits_they_have(
    decimals: int, leaves: list[float]
) -> None:
    """Floats of 15 digits do not show their last decimal; the data unit is known."""
    dimensions = [Dimension.flat("r", ["a", "b"]), Dimension.flat("c", ["x", "y"])]
    cells = {"r": list("aabb"), "c": list("xyxy"), "value": leaves}
    table = Table.from_cells(dimensions, cells, recompute=True, decimals=decimals)
    problem = Problem.of(table, [])
    nothing = Suppression.of(table, [])
    publication = publish(problem, nothing, audit(problem, nothing))
    rows = publication.render("a.csv").splitlines()[1:]  # type: ignore[union-attr, arg-type]
    printed = {tuple(row.split(",")[:2]): Fraction(row.split(",")[2]) for row in rows}  # type: ignore[arg-type]
    units = {
        tuple(d.codes[c] for d, c in zip(dimensions, codes, strict=True)): int(unit)
        for codes, unit in zip(table.codes, table.units, strict=True)
    }
    assert {codes: value * 10**decimals for codes, value in printed.items()} == units
    part = publication.part(["c"], {"r": "a"})
    assert part.shown.tolist() == [table.values[table.find(r="a", c=c)] for c in ("Total", "x", "y")]


def test_noise_of_sums_is_not_printed() -> None:
    table = from_leaves([flat("r", 3)], np.array([0.1, 0.2, 0.3]))
    noisy = Table.from_equations([0.1 + 0.2 + 0.3, 0.1, 0.1 + 0.1, 0.3], table.equations)
    problem = Problem.of(noisy, [])
    assert publish(problem, protect(problem)).shown.tolist() == [0.6, 0.1, 0.2, 0.3]
    assert repr(0.1 + 0.2 + 0.3) != "0.6"


def test_intervals_are_never_narrower_in_print() -> None:
    table = from_leaves([flat("r", 2)], np.array([1e9, 20.0]))
    third = 1 / 3
    pattern = Intervals.of(table.values - third, table.values + 2 * third)
    problem = Problem.of(table, [])
    publication = publish(problem, pattern, audit(problem, pattern))
    assert (publication.low <= pattern.low).all()
    assert (publication.high >= pattern.high).all()
    assert (publication.high - publication.low < 1 + 10.0 ** (1 - publication.decimals)).all()


# ---------------------------------------------------------------------- texts


def test_labels_and_texts() -> None:
    labels = {"r": {"r1": "Region one", "Total": "Country"}}
    publication = published("two hierarchies", title=" Sales ", note="In euros", symbol=" c ", labels=labels)
    assert (publication.title, publication.note, publication.symbol) == ("Sales", "In euros", "c")
    rows, columns = publication.dimensions
    assert rows.texts[:3] == ("Country", "Region one", "r11")
    assert columns.labels is None


def test_wrong_labels_are_all_listed() -> None:
    with pytest.raises(InputError) as caught:
        publish(PROBLEM, RESULT, labels={"row": {"9": "x", "1": 5}, "colour": {}})
    assert list(caught.value.faults) == [
        "there is no dimension 'colour'",
        "dimension 'row' has no code '9'",
        "dimension 'row', code '1': expected text",
    ]


@pytest.mark.parametrize("symbol", ["", " ", "0", "12", "nan", "–", "a\nb", "x1", 7])
def test_symbols_that_are_none(symbol: object) -> None:
    with pytest.raises(InputError, match="symbol"):
        publish(PROBLEM, RESULT, symbol=symbol)


def test_texts_must_be_text() -> None:
    with pytest.raises(InputError) as caught:
        publish(PROBLEM, RESULT, title=3, note=None)
    assert list(caught.value.faults) == ["title: expected text", "note: expected text"]
