"""Printing coarser: what is printed is what is stated and judged, and nothing finer is in any file."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures import flat, from_leaves, three_way, two_way
from publications import CASES, DESPITE, SUFFIXES, case
from tablecloak.auditing import audit, certify, checked_view, verify
from tablecloak.errors import InputError, UnsafePublication
from tablecloak.model import (
    Intervals,
    Levels,
    Mixed,
    Pattern,
    Perturbation,
    Printed,
    PrintedUnit,
    Problem,
    Rounding,
    Suppression,
    Table,
    View,
    link_responses,
    plain_number,
    rounded_cells,
)
from tablecloak.protection import protect
from tablecloak.publication import Publication, publish

VALUES = np.array([[12.35, -7.25, 0.05], [4.45, 3.15, 88.0]])


def small(values: np.ndarray = VALUES, decimals: int = 2, level: float = 1.0) -> Problem:
    """Two rows and three columns; the first leaf is sensitive."""
    table = from_leaves([flat("r", 2), flat("c", 3)], values, decimals=decimals)
    leaf = table.find(r="r1", c="c1")
    return Problem.of(table, [leaf], Levels.at(len(table), [leaf], lower=level, upper=level))


def published(problem: Problem, pattern: Pattern, **options: object) -> Publication:
    return publish(problem, pattern, audit(problem, pattern), despite=DESPITE, **options)


def nothing_hidden(problem: Problem) -> Suppression:
    return Suppression.of(problem.table, [])


# ---------------------------------------------------------------------- the printed unit


def test_decimals_and_units() -> None:
    table = small().table
    one = PrintedUnit.of(table, decimals=1)
    assert (one.size, one.decimals, one.steps, one.is_coarser) == (0.1, 1, 10, True)
    half = PrintedUnit.of(table, unit=2.5)
    assert (half.size, half.decimals, half.steps) == (2.5, 1, 250)
    thousand = PrintedUnit.of(table, unit=1000)
    assert (thousand.size, thousand.decimals, thousand.steps) == (1000, 0, 100_000)
    same = PrintedUnit.of(table, decimals=np.int64(2))
    assert (same.size, same.steps, same.is_coarser) == (0.01, 1, False)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({}, "give decimals or a unit, one of them"),
        ({"decimals": 0, "unit": 1}, "give decimals or a unit, one of them"),
        ({"decimals": 3}, "decimals: finer than the data unit"),
        ({"decimals": -1}, "decimals: expected a whole number, zero or more"),
        ({"decimals": True}, "decimals: expected a whole number, zero or more"),
        ({"decimals": 1.0}, "decimals: expected a whole number, zero or more"),
        ({"unit": 0.001}, "unit: finer than the data unit"),
        ({"unit": 0.025}, "unit: no whole multiple of the data unit"),
        ({"unit": 0}, "unit: expected a number above zero"),
        ({"unit": math.nan}, "unit: expected a number above zero"),
        ({"unit": math.inf}, "unit: expected a number above zero"),
        ({"unit": "10"}, "unit: expected a number above zero"),
    ],
)
def test_wrong_units(options: dict[str, float], fault: str) -> None:
    with pytest.raises(InputError) as caught:
        PrintedUnit.of(small().table, **options)  # type: ignore[arg-type]
    assert caught.value.faults == (fault,)
    assert "The data unit of this table is 0.01" in str(caught.value)


@given(
    units=st.lists(st.integers(-(2**52), 2**52), min_size=1, max_size=20),
    decimals=st.integers(0, 4),
    steps=st.sampled_from([1, 2, 3, 5, 7, 10, 25, 100, 1000, 10**6, 10**12]),
)
def test_rounding_is_that_of_decimal_arithmetic(units: list[int], decimals: int, steps: int) -> None:
    """Halves to even, ends outward, negative or huge: exactly as the decimals say."""
    size = Decimal(steps).scaleb(-decimals)
    unit = PrintedUnit.of(Table.from_equations([1.0], np.zeros((0, 1)), decimals=decimals), unit=float(size))
    values = [Decimal(number).scaleb(-decimals) for number in units]
    found = unit.data_units(np.array([float(value) for value in values]))
    assert found.tolist() == units
    for rounded, how in (
        (unit.nearest(found), ROUND_HALF_EVEN),
        (unit.below(found), ROUND_FLOOR),
        (unit.above(found), ROUND_CEILING),
    ):
        multiples = [(value / size).quantize(Decimal(1), how) for value in values]
        assert rounded.tolist() == [int(multiple) for multiple in multiples]
        assert unit.numbers(rounded).tolist() == [float(multiple * size) for multiple in multiples]


def test_plain_numbers() -> None:
    assert [plain_number(x) for x in (0.05, 5.0, 1e13, 2.5, 1234567890123.0)] == [
        "0.05", "5", "10000000000000", "2.5", "1234567890123",
    ]  # fmt: skip


# ---------------------------------------------------------------------- what is stated


def test_halves_go_to_even_and_the_value_lies_within_half_a_unit() -> None:
    problem = small()
    view = Printed.of(problem, nothing_hidden(problem), decimals=1).view(problem)
    shown = dict(zip(problem.table.labels(range(len(problem.table))), view.shown.tolist(), strict=True))
    assert shown["r=r1, c=c1"] == 12.4 and shown["r=r1, c=c2"] == -7.2
    assert shown["r=r1, c=c3"] == 0.0 and shown["r=r2, c=c1"] == 4.4 and shown["r=r2, c=c2"] == 3.2
    printed = Printed.of(problem, nothing_hidden(problem), decimals=1)
    stated = printed.statement(problem)
    assert np.allclose(stated.high - stated.low, 0.1) and set(printed.reach(problem)) == {0.05}
    assert view.low[problem.table.find(r="r1", c="c1")] == 12.35
    checked_view(problem, printed)


def test_the_reader_knows_where_halves_go() -> None:
    """Whole numbers in units of two: 4 is printed for 3, 4 and 5, but 6 for 6 alone."""
    values = np.array([[3, 4, 5], [6, -6, -5], [7, 8, 9]])
    table = from_leaves([flat("r", 3), flat("c", 3)], values)
    for sensitive, safe in ((table.find(r="r1", c="c2"), True), (table.find(r="r2", c="c1"), False)):
        problem = Problem.of(table, [sensitive])
        printed = Printed.of(problem, nothing_hidden(problem), unit=2)
        view, stated = printed.view(problem), printed.statement(problem)
        leaves = np.flatnonzero(table.is_leaf)
        assert view.shown[leaves].tolist() == [4, 4, 4, 6, -6, -4, 8, 8, 8]
        assert (view.high - view.low)[leaves].tolist() == [2, 2, 2, 0, 0, 2, 2, 2, 2]
        assert set(stated.high - stated.low) == {2.0}
        assert audit(problem, printed).safe == safe


def test_the_reader_knows_the_data_unit_of_each_linked_table() -> None:
    """Persons have no decimals, whatever those of the turnover are: a person more or less is the least."""
    dimensions = [flat("r", 2), flat("c", 3)]
    tables = {
        "turnover": from_leaves(dimensions, VALUES, decimals=2),
        "persons": from_leaves(dimensions, np.array([[12, 7, 3], [4, 31, 88]]), decimals=0),
    }
    table = link_responses(tables, {})
    problem = Problem.of(table, [])
    view = Printed.of(problem, nothing_hidden(problem), unit=2.5).view(problem)
    turnover, persons = (table.find(response=name, r="r1", c="c1") for name in tables)
    assert (view.low[turnover], view.high[turnover]) == (11.26, 13.74)  # 12.5 is an odd multiple
    assert (view.low[persons], view.high[persons]) == (12, 13)


@given(units=st.integers(-(10**6), 10**6), steps=st.integers(1, 60), decimals=st.integers(0, 3))
def test_values_that_are_printed_alike(units: int, steps: int, decimals: int) -> None:
    size = float(Decimal(steps).scaleb(-decimals))
    unit = PrintedUnit.of(Table.from_equations([1.0], np.zeros((0, 1)), decimals=decimals), unit=size)
    near = unit.nearest(np.array([float(units)]))
    around = np.arange(units - 2 * steps, units + 2 * steps + 1, dtype=float)
    alike = around[unit.nearest(around) == near]
    low, high = unit.printed_alike(near)
    assert (low[0], high[0]) == (alike.min() / 10.0**decimals, alike.max() / 10.0**decimals)


def test_printing_in_the_data_unit_states_the_same() -> None:
    problem = small()
    pattern = Suppression.of(problem.table, problem.sensitive)
    same, plain = Printed.of(problem, pattern, decimals=2).view(problem), pattern.view(problem)
    for name in ("shown", "low", "high"):
        assert np.array_equal(getattr(same, name), getattr(plain, name), equal_nan=True)


def test_interval_ends_go_outward() -> None:
    problem = small()
    a = problem.table.values
    low, high = a - 0.33, a + 0.21
    low[0], high[1] = -np.inf, np.inf
    low[2] = high[2] = a[2]
    view = Printed.of(problem, Intervals.of(low, high), unit=0.5).view(problem)
    ranges = np.arange(len(a)) != 2
    assert np.array_equal(view.low[ranges], np.floor(low[ranges] / 0.5) * 0.5)
    assert np.array_equal(view.high[ranges], np.ceil(high[ranges] / 0.5) * 0.5)
    assert np.isnan(view.shown[ranges]).all() and np.round(view.high[2] - view.low[2], 9) in (0.48, 0.5)


def test_ends_on_the_grid_stay() -> None:
    """0.1 + 0.2 is 0.3: noise of floats is no reason to go further out."""
    problem = small(np.full((2, 3), 0.3), decimals=1, level=0.1)
    pattern = Intervals.of(problem.table.values - (0.1 + 0.2), problem.table.values + (0.1 + 0.2))
    view = Printed.of(problem, pattern, unit=0.3).view(problem)
    leaf = problem.table.find(r="r1", c="c1")
    assert (view.low[leaf], view.high[leaf]) == (0.0, 0.6)


def test_half_a_data_unit_is_no_noise_however_large_the_number() -> None:
    problem = small(np.full((2, 3), 5e14), decimals=0)
    pattern = Intervals.of(problem.table.values - 0.5, problem.table.values + 0.5)
    view = Printed.of(problem, pattern, decimals=0).view(problem)
    leaf = problem.table.find(r="r1", c="c1")
    assert (view.low[leaf], view.high[leaf]) == (5e14 - 1, 5e14 + 1)


def test_a_base_must_be_a_multiple_of_the_printed_unit() -> None:
    problem = three_way()
    values = problem.table.values
    base = np.where(problem.table.is_leaf, 10.0, 25.0)
    pattern = Rounding.of(base * np.round(values / base), base)
    plain, printed = pattern.view(problem), Printed.of(problem, pattern, unit=5).view(problem)
    for name in ("shown", "low", "high"):
        assert np.array_equal(getattr(printed, name), getattr(plain, name))
    with pytest.raises(InputError) as caught:
        Printed.of(problem, pattern, unit=10)
    assert "the base 25 of" in str(caught.value) and "is no multiple of the printed unit 10" in str(
        caught.value
    )
    assert "Every base is a multiple of 5" in str(caught.value)
    with pytest.raises(InputError, match="2 faults"):
        publish(problem, pattern, audit(problem, pattern), unit=20, despite=DESPITE)


def test_a_base_that_is_no_multiple_of_the_data_unit() -> None:
    problem = three_way()
    pattern = Rounding.of(2.5 * np.round(problem.table.values / 2.5), 2.5)
    with pytest.raises(InputError, match="not all bases are multiples of it"):
        Printed.of(problem, pattern, unit=10)


def test_a_perturbed_number_has_a_wider_reach() -> None:
    problem = three_way()
    shown = problem.table.values + 3
    printed = Printed.of(problem, Perturbation.of(shown, 7.0), unit=10)
    view, fine = printed.view(problem), Perturbation.of(shown, 7.0).view(problem)
    assert set(printed.reach(problem)) == {20.0}  # 7 + 5, outward
    assert (view.shown % 10 == 0).all() and (view.low <= fine.low).all() and (view.high >= fine.high).all()
    even = Perturbation.of(20 * np.round(problem.table.values / 20), 20.0)
    assert set(Printed.of(problem, even, unit=20).reach(problem)) == {20.0}  # nothing was rounded


def test_reaches_of_huge_numbers_are_the_pattern_s_own() -> None:
    """The difference of two ends of this size is noise."""
    problem = small(np.full((2, 3), 1e12 + 0.3), decimals=1)
    base = Rounding.of(problem.table.values, 0.5)
    assert set(Printed.of(problem, base, unit=0.5).reach(problem)) == {1.0}
    assert set(Printed.of(problem, base, decimals=1).reach(problem)) == {0.5}


def test_numbers_beyond_whole_numbers_are_refused() -> None:
    problem = small()
    with pytest.raises(InputError, match="cell r=r2, c=c3 has too many data units"):
        Printed.of(problem, Intervals.of(problem.table.values, problem.table.values + 1e18), decimals=0)
    with pytest.raises(InputError, match="the printed unit has too many data units"):
        Printed.of(small(), nothing_hidden(small()), unit=1e30)


def test_a_unit_beyond_all_values() -> None:
    problem = small()
    view = Printed.of(problem, nothing_hidden(problem), unit=1e6).view(problem)
    assert set(view.shown) == {0.0} and set(view.low) == {-5e5} and set(view.high) == {5e5}


def test_a_printed_pattern_is_not_printed_again() -> None:
    problem = small()
    with pytest.raises(InputError, match="has a printed unit already"):
        Printed.of(problem, Printed.of(problem, nothing_hidden(problem), decimals=1), decimals=0)


@cache
def printed_case(name: str, unit: float) -> tuple[Problem, Printed]:
    problem, pattern = case(name)
    return problem, Printed.of(problem, pattern, unit=unit)


@pytest.mark.parametrize("unit", [1, 5, 25])
@pytest.mark.parametrize("name", CASES)
def test_what_is_printed_contains_what_was_stated(name: str, unit: float) -> None:
    problem, printed = printed_case(name, unit)
    fine, view = printed.pattern.view(problem), checked_view(problem, printed)
    assert (view.low <= fine.low).all() and (view.high >= fine.high).all()
    for numbers in (view.shown, np.where(fine.low < fine.high, view.low, np.nan)):
        some = numbers[np.isfinite(numbers)]
        assert np.array_equal(some, unit * np.round(some / unit))
    assert np.array_equal(np.isinf(view.low), np.isinf(fine.low))
    assert np.array_equal(np.isnan(view.shown), np.isnan(fine.shown))


# ---------------------------------------------------------------------- printing is no touching


@pytest.mark.parametrize("name", CASES)
def test_touched_cells_and_the_loss_stay(name: str) -> None:
    problem, printed = printed_case(name, 25)
    assert np.array_equal(printed.touched(problem), printed.pattern.touched(problem))
    assert printed.loss(problem) == printed.pattern.loss(problem)


def test_forced_cells_and_the_bound_on_touched_cells() -> None:
    plain = two_way()
    table, result = plain.table, protect(plain)
    hidden = result.pattern.touched(plain)
    problem = Problem.of(
        table,
        plain.sensitive,
        replace(plain.levels, conditional=np.where(hidden, 0.0, 1e6)),
        forced=np.flatnonzero(~hidden),
        most_touched=int(hidden.sum()),
    )
    pattern = Suppression.of(table, hidden)
    printed = Printed.of(problem, pattern, unit=5)
    verdict = audit(problem, printed)
    assert verdict.safe and not verdict.against_marks.size and not verdict.too_many_touched
    publication = publish(problem, pattern, audit(problem, pattern), unit=5)
    assert publication.is_status("published").sum() == (~hidden).sum()


# ---------------------------------------------------------------------- what is printed is judged


def perturbed(offset: float) -> tuple[Problem, Perturbation]:
    """All values are multiples of ten; each is shown by an offset too high."""
    table = from_leaves([flat("r", 3), flat("c", 3)], np.arange(100, 1000, 100).reshape(3, 3))
    leaf = table.find(r="r2", c="c2")
    problem = Problem.of(table, [leaf], Levels.at(len(table), [leaf], lower=10, upper=10))
    shown = table.values + np.where(np.arange(len(table)) == leaf, offset, 0.0)
    return problem, Perturbation.of(shown, 100.0)


def test_a_perturbed_number_that_is_too_close_once_printed_is_refused() -> None:
    problem, pattern = perturbed(20.0)
    assert audit(problem, pattern).safe
    publish(problem, pattern, audit(problem, pattern), unit=10)
    label = problem.table.labels(np.flatnonzero(problem.sensitive))[0]
    for mixed in (pattern, Mixed.of(problem.table, [(np.arange(len(problem.table)), pattern)])):
        verdict = audit(problem, mixed)
        assert verdict.safe
        with pytest.raises(UnsafePublication) as caught:
            publish(problem, mixed, verdict, unit=50)
        assert "The audit of what is printed did not pass (1 reason)" in str(caught.value)
        assert f"cell {label} is not protected well enough" in str(caught.value)
        printed = Printed.of(problem, mixed, unit=50)
        judged = audit(problem, printed)
        assert judged.too_close.tolist() == np.flatnonzero(problem.sensitive).tolist()
        certificate = certify(problem, printed, judged)
        assert not certificate.uncertified and verify(certificate, problem, printed).proves == "unsafe"


@pytest.mark.parametrize("unit", [2, 5, 10])
def test_what_a_method_perturbed_is_judged_in_print(unit: float) -> None:
    """Published or refused exactly as the audit of what is printed says."""
    problem = three_way()
    result = protect(problem, "perturb-cell")
    verdict = audit(problem, Printed.of(problem, result.pattern, unit=unit))
    if verdict.safe:
        assert publish(problem, result, unit=unit).coarser
    else:
        with pytest.raises(UnsafePublication) as caught:
            publish(problem, result, unit=unit)
        for label in problem.table.labels(verdict.open_cells):
            assert f"cell {label} " in str(caught.value)


def test_a_reason_in_writing_counts_for_what_is_printed_too() -> None:
    problem, pattern = perturbed(20.0)
    publication = publish(problem, pattern, audit(problem, pattern), unit=50, despite="agreed")
    assert publication.despite == "agreed"


def test_printing_can_make_a_result_safe() -> None:
    """A number that is too close to the truth, printed further away from it."""
    problem, pattern = perturbed(5.0)
    unsafe = audit(problem, pattern)
    assert not unsafe.safe
    printed = Printed.of(problem, pattern, unit=60)
    verdict = audit(problem, printed)
    assert verdict.safe
    certificate = certify(problem, printed, verdict)
    assert not certificate.uncertified and verify(certificate, problem, printed).proves == "safe"
    publication = publish(problem, printed, verdict)
    assert publication.unit == 60 and publication.coarser and publication.despite == ""
    with pytest.raises(UnsafePublication, match="The audit of this pattern did not pass"):
        publish(problem, pattern, unsafe, unit=60)
    result = replace(protect(problem), pattern=pattern, audit=unsafe)
    assert publish(problem, result, unit=60).render("a.csv") == publication.render("a.csv")
    with pytest.raises(UnsafePublication, match="The audit of what is printed did not pass"):
        publish(problem, result, unit=5)


def test_levels_are_judged_by_printed_ends() -> None:
    """Nothing is hidden: a coarse enough print protects, a finer one does not."""
    table = from_leaves([flat("r", 3), flat("c", 3)], np.full((3, 3), 1040))
    leaf = table.find(r="r2", c="c2")
    problem = Problem.of(table, [leaf], Levels.at(len(table), [leaf], lower=300, upper=300))
    pattern = nothing_hidden(problem)
    assert audit(problem, Printed.of(problem, pattern, unit=1000)).safe
    assert not audit(problem, Printed.of(problem, pattern, unit=500)).safe
    assert not audit(problem, pattern).safe


def test_conditional_widths_are_judged_by_printed_ends() -> None:
    table = from_leaves([flat("r", 3), flat("c", 3)], np.full((3, 3), 100.0), decimals=1)
    leaves = table.is_leaf
    problem = Problem.of(table, [], Levels.of(len(table), conditional=np.where(leaves, 10.0, 0.0)))
    spread = np.where(leaves, 2.5, 0.0)
    pattern = Intervals.of(table.values - spread, table.values + spread)
    assert not audit(problem, pattern).safe
    assert audit(problem, Printed.of(problem, pattern, unit=5)).safe  # 95 to 105, totals within 2.5


@pytest.mark.parametrize("name", CASES)
def test_a_safe_pattern_is_safe_in_print(name: str) -> None:
    """Why nothing is audited again where nothing is perturbed."""
    problem, printed = printed_case(name, 25)
    if audit(problem, printed.pattern).safe and printed.only_widens:
        assert audit(problem, printed).safe
    assert printed.only_widens == (name not in ("perturbation", "mixed"))


def test_a_pattern_that_can_change_is_audited_in_print() -> None:
    problem = two_way()
    hidden = protect(problem).pattern.touched(problem).copy()
    pattern = Suppression(hidden)
    verdict = audit(problem, pattern)
    publish(problem, pattern, verdict, unit=2)
    hidden[~problem.sensitive] = False
    with pytest.raises(UnsafePublication, match="The audit of what is printed did not pass"):
        publish(problem, pattern, verdict, unit=2)


class Own:
    """A pattern that tablecloak does not know."""

    def view(self, problem: Problem) -> View:
        a = problem.table.values
        return View(np.full(a.size, np.nan), a - 3, a + 4)

    def touched(self, problem: Problem) -> np.ndarray:
        return np.ones(len(problem.table), dtype=bool)

    def loss(self, problem: Problem) -> float:
        return 0.0


def test_patterns_of_others() -> None:
    problem = three_way()
    printed = Printed.of(problem, Own(), unit=5)
    assert not printed.only_widens and not printed.too_close(problem).any()
    assert not rounded_cells(printed, len(problem.table)).any()
    assert set(published(problem, Own(), unit=5).status) == {"interval"}


# ---------------------------------------------------------------------- the publication


def test_the_legend_says_that_numbers_may_not_add_up() -> None:
    problem = small()
    note = "Numbers are rounded to multiples of 0.1 and may not add up: "
    note += "each value lies within 0.05 of the number shown."
    publication = published(problem, nothing_hidden(problem), decimals=1)
    assert publication.legend() == [("", note)]
    assert note in str(publication.render("a.html"))
    assert published(problem, nothing_hidden(problem), decimals=2).legend() == []
    _, mixed = case("mixed")
    texts = published(case("mixed")[0], mixed, unit=5).rounding_note
    assert texts.endswith("of the number shown, unless a wider margin is given.")
    rounding = published(*case("rounding"), unit=5)
    assert rounding.rounding_note == "Numbers are rounded to multiples of 5 and may not add up."


def test_columns_say_how_far_numbers_are_off() -> None:
    problem = small()
    rows = list(
        csv.DictReader(
            io.StringIO(str(published(problem, nothing_hidden(problem), decimals=1).render("a.csv")))
        )
    )
    assert {row["within"] for row in rows} == {"0.05"} and {row["status"] for row in rows} == {"published"}
    assert [row["value"] for row in rows if row["r"] == "r1"][1:] == ["12.4", "-7.2", "0.0"]
    sdmx = str(published(problem, nothing_hidden(problem), unit=5).render("a.sdmx.csv")).splitlines()
    assert sdmx[0].endswith("OBS_VALUE,OBS_STATUS,CONF_STATUS,WITHIN,DECIMALS,COMMENT_DSET")
    assert ",10,A,F,2.5,0,Numbers are rounded to multiples of 5 and may not add up: " in "\n".join(sdmx)


def test_only_rounded_and_perturbed_numbers_carry_their_reach() -> None:
    publication = published(*case("mixed"), unit=5)
    texts = dict(zip(publication.texts(), publication.status.tolist(), strict=True))
    assert {word for text, word in texts.items() if "±" in text} == {"rounded", "perturbed"}
    assert {word for text, word in texts.items() if "±" not in text} == {"published", "interval", "hidden"}


def test_parts_keep_the_decimals_of_print() -> None:
    problem = small()
    part = published(problem, nothing_hidden(problem), decimals=1).part(["c"], {"r": "r2"})
    assert part.texts()[-1] == "88.0" and part.rounding_note
    assert (
        published(problem, nothing_hidden(problem), decimals=2).part(["c"], {"r": "r2"}).texts()[-1]
        == "88.00"
    )


@pytest.mark.parametrize("name", CASES)
def test_every_case_in_every_format(name: str) -> None:
    problem, pattern = case(name)
    publication = published(problem, pattern, unit=25)
    plain = published(problem, pattern)
    assert np.array_equal(publication.status, plain.status)
    assert (publication.low <= plain.low).all() and (publication.high >= plain.high).all()
    for suffix in SUFFIXES:
        assert publication.render(f"a{suffix}")


@given(
    leaves=st.lists(st.integers(-(10**14), 10**14) | st.integers(-3000, 3000), min_size=6, max_size=6),
    decimals=st.integers(0, 3),
    steps=st.sampled_from([1, 2, 3, 10, 25, 70, 1000, 10**7]),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_number_is_that_of_decimal_arithmetic(
    leaves: list[int], decimals: int, steps: int, seed: int
) -> None:
    """Published, hidden, interval and perturbed cells of any size and sign, as the CSV file has them."""
    size = Decimal(steps).scaleb(-decimals)
    scale = 10.0**decimals
    table = from_leaves(
        [flat("r", 2), flat("c", 3)], np.array(leaves).reshape(2, 3) / scale, decimals=decimals
    )
    problem = Problem.of(table, [])
    units = [round(value * 10**decimals) for value in map(Fraction, map(repr, table.values.tolist()))]
    rng = np.random.default_rng(seed)
    kinds, off = rng.integers(0, 4, size=len(table)), rng.integers(1, 50, size=(2, len(table)))
    low, high = ([u - a for u, a in zip(units, off[0].tolist(), strict=True)],
                 [u + a for u, a in zip(units, off[1].tolist(), strict=True)])  # fmt: skip
    shown = [u + a // 2 for u, a in zip(units, off[0].tolist(), strict=True)]
    pattern = Mixed.of(
        table,
        [
            (kinds == 1, Suppression.of(table, kinds == 1)),
            (kinds == 2, Intervals.of(np.array(low) / scale, np.array(high) / scale)),
            (kinds == 3, Perturbation.of(np.array(shown) / scale, 50 / scale)),
        ],
    )
    publication = published(problem, pattern, unit=float(size))
    rows = list(csv.DictReader(io.StringIO(str(publication.render("a.csv")))))
    places = {label: cell for cell, label in enumerate(table.labels(range(len(table))))}
    for row in rows:
        cell = places[f"r={row['r']}, c={row['c']}"]
        value = Decimal(units[cell]).scaleb(-decimals)

        def multiple(number: int, how: str) -> Decimal:
            return (Decimal(number) / steps).quantize(Decimal(1), how) * size

        match int(kinds[cell]):
            case 0:
                assert Decimal(row["value"]) == multiple(units[cell], ROUND_HALF_EVEN)
                assert abs(Decimal(row["value"]) - value) <= Decimal(row.get("within") or "0")
            case 1:
                assert row["value"] == "x" and not row.get("within")
            case 2:
                assert row["value"] == "" and row["status"] == "interval"
                assert Decimal(row["low"]) == multiple(low[cell], ROUND_FLOOR)
                assert Decimal(row["high"]) == multiple(high[cell], ROUND_CEILING)
            case 3:
                assert Decimal(row["value"]) == multiple(shown[cell], ROUND_HALF_EVEN)
                assert abs(Decimal(row["value"]) - value) <= Decimal(row["within"])
                assert Decimal(row["within"]) % size == 0


def test_levels_are_not_looked_at_by_print() -> None:
    problem, pattern = case("intervals")
    other = Problem.of(problem.table, [])
    assert published(other, pattern, unit=5).render("a.csv") == published(problem, pattern, unit=5).render(
        "a.csv"
    )
