"""The page of a comparison: what it says, that it is safe HTML without outside links, and that a browser opens it."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from browser import browser, open_page
from fixtures import FIXTURES
from tablecloak.analysis import Comparison, MethodOutcome, compare
from tablecloak.errors import NotApplicable
from tablecloak.methods import METHODS
from tablecloak.reports import check_drawing, compare_html, cost_plot
from tablecloak.reports.comparison import costs_svg, quantiles_svg, touched_svg
from tests.reports.test_report import checked
from ways import FAILURES, WAYS

pytest.importorskip("matplotlib", reason="the plots need matplotlib")

NASTY = "<script>alert('x')</script>"
TRACE = ((0.1, None, 3.0), (0.5, 100.0, 4.0), (1.0, 80.0, 20.0), (3.0, 60.0, 50.0))


@pytest.fixture(autouse=True)
def more_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, method in (WAYS | FAILURES).items():
        monkeypatch.setitem(METHODS, name, method)


def all_ways(fixture: str = "two way", **options: Any) -> Comparison:
    names = ["suppress-greedy", "suppress-compact", *WAYS, "no-place", "no-way"]
    return compare(FIXTURES[fixture](), names, **options)


def words(svg: str) -> list[str]:
    """The texts of a plot that is well-formed and points nowhere."""
    assert "http" not in svg
    return [(element.text or "").strip() for element in ElementTree.fromstring(svg).iter("text")]


@pytest.mark.parametrize("fixture", ["two way", "three way", "one cell", "negative values", "huge values"])
def test_every_kind_of_pattern(fixture: str) -> None:
    found = all_ways(fixture)
    html = compare_html(found)
    text = checked(html)
    assert "<script" not in html
    assert html.count("<svg") == 3
    for row in found.table():
        assert row["name"] in text
        if row["touched"] is not None:
            assert f"{row['cost']:,.6g} " in text
            assert f"{row['touched']:,} " in text
    assert "Not this table. It needs another one." in text
    assert "are in different units" in text


def test_it_says_what_was_measured() -> None:
    found = all_ways(seconds=30, seed=4)
    text = checked(compare_html(found, title="Turnover, 2025"))
    assert text.index("Turnover, 2025") < 200
    assert "methods 7, 5 with a result" in text
    assert "limit for each 30 s seed 4" in text
    rounding = found["round-test"].measures
    assert rounding is not None and rounding.distances is not None
    three = (rounding.change.median, rounding.change.ninety, rounding.change.largest)
    assert " ".join(f"{amount:,.6g}" for amount in three) in text
    relative = (rounding.relative_change.median, rounding.relative_change.ninety)
    assert " ".join(f"{100 * share:.1f} %" for share in relative) in text
    assert f"{rounding.distances.sum:,.6g} {rounding.distances.euclidean:,.6g} " in text
    assert "works out how far" in text, "hidden cells are unbounded here"
    assert "step 10.0" in text


def test_exact_widths_have_columns_where_they_were_worked_out() -> None:
    text = checked(compare_html(all_ways(intervals=True), plots=False))
    assert "Vagueness Exact width Change" in text
    assert "works out how far" not in text
    assert "Vagueness Change" in checked(compare_html(all_ways(), plots=False))


def test_cells_left_open_stand_out() -> None:
    found = compare(
        FIXTURES["two way"](), {"fine": ("round-test", {"step": 1}), "safe": ("round-test", {"step": 50})}
    )
    html = compare_html(found)
    assert html.count('<tr class="open">') == 1
    assert '<td class="n bad">1</td>' in html


def test_one_kind_of_pattern_needs_no_word_on_units() -> None:
    found = compare(FIXTURES["two way"](), ["suppress-greedy"])
    assert "are in different units" not in checked(compare_html(found))


def test_nothing_ran() -> None:
    text = checked(compare_html(compare(FIXTURES["two way"](), [*FAILURES])))
    assert "0 with a result" in text
    assert "The engine broke." in text
    assert "4077" not in text


def test_names_become_no_markup() -> None:
    found = compare(
        FIXTURES["two way"](), {NASTY: ("round-test", {}), "$x^2$ & {{ 7 * 7 }}": ("no-place", {})}
    )
    html = compare_html(found, title=NASTY)
    text = checked(html)
    assert "<script" not in html
    assert text.count(NASTY) >= 3
    assert "{{ 7 * 7 }}" in text


def test_same_comparison_same_bytes() -> None:
    found = all_ways()
    assert compare_html(found) == compare_html(found)


def test_without_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    html = compare_html(all_ways(), plots=False)
    checked(html)
    assert "<svg" not in html
    monkeypatch.setattr("tablecloak.reports.comparison.find_spec", lambda name: None)
    with pytest.raises(NotApplicable, match="matplotlib"):
        check_drawing()
    monkeypatch.undo()
    assert importlib.util.find_spec("matplotlib")
    check_drawing()


# ---------------------------------------------------------------------- plots


def traced(outcome: MethodOutcome, name: str, bound: float | None, cost: float = 60.0) -> MethodOutcome:
    assert outcome.result is not None
    report = replace(outcome.result.report, trace=TRACE, seconds=3.0)
    return replace(
        outcome, name=name, seconds=3.0, result=replace(outcome.result, report=report, cost=cost, bound=bound)
    )


def test_cost_over_time_has_a_field_for_each_kind_and_a_mark_for_each_bound() -> None:
    found = all_ways()
    svg = costs_svg(found.outcomes)
    texts = words(svg)
    for kind in ("suppression", "rounding", "perturbation", "intervals"):
        assert texts.count(kind) == 1
    assert texts.count("cost") == 4 and texts.count("seconds") == 1
    assert "suppress-compact" in texts and "no-place" not in texts
    greedy = found["suppress-greedy"]
    proven, bare = (traced(greedy, "one", bound) for bound in (50.0, None))
    with_mark, without = costs_svg([proven]), costs_svg([bare])
    assert len(with_mark) > len(without), "a bound is drawn"
    assert "one" in words(with_mark)
    assert costs_svg([found["no-way"]]) == ""


def test_the_best_bound_is_drawn_and_told_where_several_methods_hide_cells() -> None:
    found = all_ways()
    greedy = found["suppress-greedy"]
    pair = (traced(greedy, "one", 50.0), traced(greedy, "two", None))
    assert words(costs_svg(pair)).count("best bound") == 1
    assert "best bound" not in words(costs_svg(pair[:1])), "its triangle says it"
    assert "best bound" not in words(costs_svg(pair[1:] * 2)), "nothing is proven"
    text = checked(compare_html(replace(found, outcomes=pair)))
    assert "The best bound, 50, was proven" in text
    assert "Gap to best bound Seconds" in text
    assert "Cost after 0.1 s 1 s 3 s one – 80 60 two – 80 60" in text
    assert "to best bound" not in checked(compare_html(compare(FIXTURES["two way"](), ["suppress-compact"])))


def test_the_plot_of_costs_is_a_file_by_itself_that_says_what_it_is() -> None:
    found = all_ways()
    svg = cost_plot(found)
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [(element.text or "").strip() for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "CONFIDENTIAL" in texts and "suppress-compact" in texts
    assert svg == cost_plot(found)
    with pytest.raises(NotApplicable, match="no cost"):
        cost_plot(replace(found, outcomes=(found["no-way"],)))


def test_costs_of_very_different_size_and_of_zero() -> None:
    outcome = all_ways()["suppress-greedy"]
    steep, flat, free = (
        traced(outcome, name, None, cost) for name, cost in (("a", 1.0), ("b", 70.0), ("c", 0.0))
    )
    assert "100" in words(costs_svg([steep])) and "60" not in words(costs_svg([steep])), "logarithmic"
    assert "60" in words(costs_svg([flat])), "linear"
    assert "0" in words(costs_svg([free]))


def test_a_cost_without_limit_has_no_place_in_the_plot() -> None:
    found = all_ways()
    endless = traced(found["suppress-greedy"], "endless", float("-inf"), float("inf"))
    texts = words(costs_svg([endless]))
    assert "endless" in texts and "100" in texts
    html = compare_html(replace(found, outcomes=(endless,)))
    assert "inf" in checked(html)


def test_more_methods_than_colours() -> None:
    outcome = all_ways()["suppress-greedy"]
    texts = words(costs_svg([traced(outcome, f"way {number}", 10.0) for number in range(25)]))
    assert [text for text in texts if text.startswith("way ")] == [f"way {number}" for number in range(25)]


def test_bars_and_quantiles() -> None:
    found = all_ways()
    rows = found.table()
    bars = words(touched_svg(rows))
    assert "100.0 %" in bars, "intervals touch every cell"
    assert {"suppress-greedy", "round-test"} <= set(bars) and "no-way" not in bars
    assert "of the cells" in bars
    texts = words(quantiles_svg(rows))
    greedy = found["suppress-greedy"]
    assert f"{greedy.touched} unbounded" in texts
    assert not [text for text in texts if "exact width" in text]
    exact = words(quantiles_svg(all_ways(intervals=True).table()))
    assert [text for text in exact if "exact width" in text]
    failed = [row for row in rows if row["touched"] is None]
    assert touched_svg(failed) == quantiles_svg(failed) == ""


@pytest.mark.parametrize("largest", [0.0, 0.5, 1e3, 1e12])
def test_relative_amounts_of_any_size(largest: float) -> None:
    row = all_ways().table()[2]
    texts = words(quantiles_svg([{**row, "relative_vagueness_100": largest}]))
    assert "0" in texts
    assert len(texts) < 30


# ---------------------------------------------------------------------- in a browser


def test_it_opens_without_complaints(tmp_path: Path) -> None:
    path = tmp_path / "compare.html"
    path.write_text(compare_html(all_ways(intervals=True)), encoding="utf-8")
    with browser() as window:
        open_page(window, path)
        assert window.title.startswith("CONFIDENTIAL: ")
        assert len(window.find_elements("css selector", "figure svg")) == 3
        assert window.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
        assert len(window.find_elements("css selector", "#methods tbody tr")) == 7
