"""Plots: safe SVG for a page, the same bytes again, one cell and fifty thousand questions."""

from __future__ import annotations

import builtins
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from fixtures import FIXTURES, flat, from_leaves, leaf_values, smallest_leaves, with_levels
from tablecloak.auditing import audit
from tablecloak.errors import NotApplicable
from tablecloak.model import (
    Audit,
    Dimension,
    Intervals,
    Mixed,
    Pattern,
    Problem,
    Report,
    Rounding,
    Suppression,
)
from tablecloak.protection import protect
from tablecloak.reports.plots import loss_svg, tightest, trace_svg, widths_svg
from tablecloak.reports.settings import SETTINGS

pytest.importorskip("matplotlib", reason="plots need matplotlib")

TRACE = ((0.1, None, 3.0), (0.5, 100.0, 4.0), (1.0, 80.0, 20.0), (3.0, 60.0, 50.0))


def check(svg: str) -> ElementTree.Element:
    """Well-formed, nothing from elsewhere, no names but those that are used, no date."""
    root = ElementTree.fromstring(svg)
    assert "http" not in svg
    assert "xmlns" not in svg
    assert root.get("role") == "img"
    assert root.get("aria-label")
    names = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(names) == len(set(names))
    assert all(f"#{name}" in svg for name in names)
    return root


def texts(svg: str) -> list[str]:
    return [(element.text or "").strip() for element in check(svg).iter("text")]


@pytest.mark.parametrize("fixture", [*FIXTURES])
def test_every_kind_of_table(fixture: str) -> None:
    problem = FIXTURES[fixture]()
    result = protect(problem)
    found = audit(problem, result.pattern, intervals=True)
    plots = [widths_svg(problem, found), loss_svg(problem, result.pattern), trace_svg(result.report)]
    for svg in filter(None, plots):
        check(svg)
        assert len(svg) < 150_000
        assert "$" not in svg, "no formulas"
    assert plots[0]
    assert bool(plots[1]) == any(dimension.hierarchies for dimension in problem.table.dimensions)


@pytest.mark.parametrize("fixture", ["two way several", "three way", "one dimension"])
def test_same_input_same_bytes(fixture: str) -> None:
    problem = FIXTURES[fixture]()
    result = protect(problem)
    for draw in (
        lambda: widths_svg(problem, result.audit),
        lambda: loss_svg(problem, result.pattern),
        lambda: trace_svg(result.report),
    ):
        assert draw() == draw()


def patterns(problem: Problem) -> dict[str, Pattern]:
    value = problem.table.values
    return {
        "intervals": Intervals(value - 1, value + 40),
        "rounding": Rounding.of(10 * np.round(value / 10), 10.0),
        "mixed": Mixed.of(problem.table, [(problem.sensitive, Suppression(problem.sensitive))]),
    }


@pytest.mark.parametrize("fixture", ["two way", "three way", "one dimension"])
@pytest.mark.parametrize("kind", ["intervals", "rounding", "mixed"])
def test_every_kind_of_pattern(fixture: str, kind: str) -> None:
    problem = FIXTURES[fixture]()
    pattern = patterns(problem)[kind]
    check(loss_svg(problem, pattern))
    check(widths_svg(problem, audit(problem, pattern)))


def made_up(problem: Problem, spread: float = 1.0) -> Audit:
    """Answers about all sensitive cells, some open, some without limit."""
    cells = np.flatnonzero(problem.sensitive)
    value, level = problem.table.values[cells], problem.levels.lower[cells]
    left = value * np.random.default_rng(0).lognormal(0, spread, cells.size)
    left[:3] = np.inf
    nowhere = np.zeros(0, dtype=np.int64)
    return Audit(
        cells, np.zeros(cells.size, dtype=np.int64), value - left, value + left, level, level, np.zeros(cells.size),
        left >= level, True, "made up", 1.0, nowhere, False, nowhere,
    )  # fmt: skip


def test_many_questions_are_counted_and_stay_small() -> None:
    table = from_leaves([flat("r", 250), flat("c", 210)], leaf_values(250, 210, low=1, high=10_000))
    problem = with_levels(table, smallest_leaves(table, 50_000))
    svg = widths_svg(problem, made_up(problem))
    assert "questions" in texts(svg)
    assert "100 %" in texts(svg)
    assert "$" not in svg
    alike = widths_svg(problem, made_up(problem, 0.0))
    check(alike)
    assert svg.count("<path") > alike.count("<path") + 25, "a drawn field for each kind of answer"
    assert len(svg) < 600_000
    whole = loss_svg(problem, Suppression.of(table, problem.sensitive))
    assert len(whole) < 150_000
    check(whole)


def test_open_cells_and_cells_without_limit_are_named() -> None:
    table = from_leaves([flat("r", 9), flat("c", 9)], leaf_values(9, 9, low=1))
    problem = with_levels(table, smallest_leaves(table, 60), 0.9)
    found = made_up(problem)
    assert 0 < (~found.safe_rows).sum() < SETTINGS.points
    assert {"open", "no limit", "outsider", "required"} <= set(texts(widths_svg(problem, found)))


def test_the_tightest_requirement_decides() -> None:
    problem = FIXTURES["fifty attackers"]()
    found = audit(problem, protect(problem).pattern, intervals=True)
    rows, required, left = tightest(found, problem.table.values)
    assert (left >= required * (1 - 1e-6)).all()
    naked = audit(problem, Suppression.of(problem.table, problem.sensitive), intervals=True)
    rows, required, left = tightest(naked, problem.table.values)
    assert ((left >= required * (1 - 1e-6)) == naked.safe_rows[rows]).all()


def test_codes_are_text_and_nothing_else() -> None:
    codes = ["<script>alert(1)</script>", "a & b", "$x^2$", "a" * 200, "日本", "\\frac"]
    table = from_leaves([Dimension.flat("<b>", codes), flat("c", 3)], leaf_values(6, 3, low=1))
    svg = loss_svg(with_levels(table, [5]), Suppression.of(table, [5, 6]))
    assert "<script>" not in svg
    found = texts(svg)
    assert any("<script>" in text for text in found)
    assert any("$x^2$" in text for text in found)
    assert any(text.endswith("…") and len(text) < 40 for text in found)


def test_a_trace_shows_cost_and_bound() -> None:
    report = Report("any", {}, 0, 3.0, "none", trace=TRACE)
    assert {"cost", "proven bound", "seconds"} <= set(texts(trace_svg(report)))
    assert "proven bound" not in texts(
        trace_svg(Report("any", {}, 0, 3.0, "none", trace=((1.0, 5.0, None),)))
    )
    assert trace_svg(Report("any", {}, 0, 3.0, "none")) == ""


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **options: Any) -> Any:
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(NotApplicable, match=r"tablecloak\[report\]"):
        trace_svg(Report("any", {}, 0, 3.0, "none", trace=TRACE))
