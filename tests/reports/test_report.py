"""The confidential report: what it says, that it is safe HTML, and that it works in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import browser, open_page
from fixtures import FIXTURES, flat, from_leaves, leaf_values, smallest_leaves, with_levels
from tablecloak.analysis import explain
from tablecloak.auditing import audit
from tablecloak.errors import InputError
from tablecloak.examples import regional_turnover
from tablecloak.model import (
    Attacker,
    Dimension,
    Intervals,
    Levels,
    Mixed,
    Pattern,
    Perturbation,
    Problem,
    Reason,
    Rounding,
    Suppression,
)
from tablecloak.protection import protect
from tablecloak.reports import report_html

pytest.importorskip("matplotlib", reason="the plots of the report need matplotlib")

VOID = {"meta", "input", "br", "hr", "img", "link", "use", "path", "rect", "image"}


class Page(HTMLParser):
    """The text of a page, its tags, and whether every tag is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def checked(html: str) -> str:
    """The text of a page that is well-formed, marked, and points nowhere outside."""
    page = Page(html)
    assert re.search(r"<title>CONFIDENTIAL: ", html)
    assert page.text.index("CONFIDENTIAL") < 200
    assert "http:" not in html
    assert "https:" not in html
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href", "action"):
                assert (value or "").startswith(("#", "data:image/png"))
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(names) == len(set(names))
    return page.text


def example() -> Problem:
    """The p% rule on the example table, with a firm that is alone in a cell."""
    table = regional_turnover()
    rest = table.values - table.column("largest") - table.column("second")
    level = np.maximum(0.15 * table.column("largest") - rest, 0)
    sole = table.find(region="Westry", industry="Chem")
    firm = Attacker.contributing("sole firm Westry Chem", table, sole, table.values[sole])
    return Problem.of(table, level > 0, Levels.of(len(table), level, level), attackers=[firm])


def full(problem: Problem, **options: Any) -> str:
    result = protect(problem)
    exact = audit(problem, result.pattern, intervals=True)
    return report_html(problem, result, exact, explanation=explain(problem, result.pattern), **options)


@pytest.mark.parametrize("fixture", [*FIXTURES])
def test_every_kind_of_table(fixture: str) -> None:
    problem = FIXTURES[fixture]()
    text = checked(full(problem))
    assert "SAFE" in text
    assert f"{int(problem.sensitive.sum())} of {len(problem.table):,} cell" in text
    insiders = len(problem.attackers)
    assert (f"the outsider and {insiders} insider" in text) == (insiders > 0)


def patterns(problem: Problem) -> dict[str, Pattern]:
    value = problem.table.values
    hidden = protect(problem).pattern.touched(problem)
    wide = Intervals(np.where(hidden, 0.0, value), np.where(hidden, 3 * value, value))
    return {
        "intervals": wide,
        "rounding": Rounding.of(10 * np.round(value / 10), 10.0),
        "perturbation": Perturbation.of(value + np.where(hidden, 3.0, 0.0), 30.0),
        "mixed": Mixed.of(problem.table, [(hidden, wide)]),
        "nothing hidden": Suppression.of(problem.table, []),
    }


@pytest.mark.parametrize("kind", ["intervals", "rounding", "perturbation", "mixed", "nothing hidden"])
@pytest.mark.parametrize("fixture", ["two way", "three way", "one cell", "fifty attackers"])
def test_every_kind_of_pattern(fixture: str, kind: str) -> None:
    problem = FIXTURES[fixture]()
    pattern = patterns(problem)[kind]
    found = audit(problem, pattern, intervals=True)
    text = checked(report_html(problem, pattern, found))
    assert ("NOT SAFE" in text) == (not found.safe)
    assert text.count(" open: ") >= bool(found.open_cells.size)
    assert "Where the pattern comes from is not on record" in text
    assert ("no cell is there for another" in text) == (kind in ("rounding", "perturbation"))


def test_it_says_what_was_done() -> None:
    problem = example()
    cells = np.flatnonzero(problem.sensitive).tolist()
    percent = Reason("p% rule (p=15)", "p-percent", "the second largest can estimate the largest")
    few = Reason("minimum frequency (3)", "frequency", "fewer than 3 respondents")
    problem = replace(problem, reasons={cells[0]: (percent, few), cells[1]: (few,)})
    result = protect(problem, "suppress-compact", seed=7)
    exact = audit(problem, result.pattern, intervals=True)
    html = report_html(
        problem, result, exact, explanation=explain(problem, result.pattern), title="Turnover, 2025"
    )
    text = checked(html)
    assert "Turnover, 2025" in text
    assert "Method suppress-compact, seed 7" in text
    assert f"No safe pattern costs less than {result.bound:,.6g}: the gap is 0.00%" in text
    assert "p% rule (p=15) p-percent 1 0" in text
    assert "minimum frequency (3) frequency 1 1" in text
    assert f"{len(cells) - 2} sensitive cells: no rule is on record" in text
    assert "against everybody" in text
    assert "against sole firm Westry Chem" in text
    for row in np.flatnonzero(exact.attackers == 0).tolist():
        assert f"{exact.low[row]:,.0f} to {exact.high[row]:,.0f}" in text
        assert f"{problem.table.values[exact.cells[row]]:,.0f}" in text
    for name, value in result.report.versions.items():
        assert f"{name} {value}" in text


def test_worst_cell_first() -> None:
    html = full(FIXTURES["fifty attackers"]())
    table = html.partition('id="sensitive"')[2].partition("</table>")[0]
    ratios = [float(row) for row in re.findall(r'data-key="([^"]+)">[^<]*</td><td class="good">safe', table)]
    assert len(ratios) == 4
    assert ratios == sorted(ratios)


def test_nothing_proven_and_inner_estimates_are_said() -> None:
    problem = FIXTURES["two way"]()
    text = checked(report_html(problem, protect(problem, "suppress-greedy")))
    assert "Nothing is proven about how much less a safe pattern could cost" in text
    assert "inner estimates" in text
    assert "Not worked out for this report" in text


def test_nothing_of_the_data_becomes_markup() -> None:
    nasty = "<script>alert('x')</script>"
    codes = [nasty, '"><img src=x onerror=alert(1)>', "a&b", "</td></table>", "{{ 7 * 7 }}"]
    table = from_leaves([Dimension.flat(nasty, codes), flat("c", 4)], leaf_values(5, 4, low=1))
    problem = with_levels(table, smallest_leaves(table, 3))
    secret = int(np.flatnonzero(problem.sensitive)[0])
    problem = replace(problem, reasons={secret: (Reason(nasty, nasty, nasty),)})
    html = full(problem, title=nasty)
    text = checked(html)
    assert html.count("<script") == 1
    assert nasty in text
    assert "{{ 7 * 7 }}" in text


def test_same_input_same_bytes() -> None:
    problem = FIXTURES["fifty attackers"]()
    result = protect(problem)
    exact, why = audit(problem, result.pattern, intervals=True), explain(problem, result.pattern)
    assert report_html(problem, result, exact, explanation=why) == report_html(
        problem, result, exact, explanation=why
    )


def test_an_audit_or_explanation_of_something_else_is_refused() -> None:
    problem, other = FIXTURES["two way"](), FIXTURES["two way"]()
    result, strange = protect(problem), protect(other)
    why = explain(other, strange.pattern)
    with pytest.raises(InputError) as caught:
        report_html(problem, result, strange.audit, explanation=why)
    assert len(caught.value.faults) == 2
    with pytest.raises(InputError, match="needs an audit"):
        report_html(problem, result.pattern)


def test_rows_are_limited_and_the_rest_is_counted() -> None:
    table = from_leaves([flat("r", 12), flat("c", 12)], leaf_values(12, 12, low=5))
    problem = with_levels(table, smallest_leaves(table, 40))
    result = protect(problem)
    text = checked(report_html(problem, result, most_rows=15, plots=False))
    assert "15 cells are in this report; 25 more are not" in text


# ---------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def window() -> Iterator[Any]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with many sensitive cells; most of them are not asked of the method, to save time."""
    table = from_leaves([flat("r", 20), flat("c", 20)], leaf_values(20, 20, low=5))
    problem = with_levels(table, smallest_leaves(table, 150), 0.1)
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(full(problem), encoding="utf-8")
    return path


def shown(window: Any) -> list[list[str]]:
    script = (
        "return Array.from(document.querySelectorAll('#sensitive tbody tr')).filter(r => r.offsetParent !== null)"
        ".map(r => Array.from(r.cells).map(c => c.textContent))"
    )
    found: list[list[str]] = window.execute_script(script)
    return found


def heads(window: Any) -> list[Any]:
    found: list[Any] = window.find_elements("css selector", "#sensitive thead button")
    return found


def test_it_opens_without_complaints(window: Any, page: Path) -> None:
    open_page(window, page)
    assert window.title.startswith("CONFIDENTIAL: ")
    assert len(window.find_elements("css selector", "figure svg")) == 3, "with cost over time"
    wide = window.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    assert wide


def test_sorting(window: Any, page: Path) -> None:
    open_page(window, page)
    for reverse in (False, True):
        heads(window)[2].click()
        values = [float(row[2].replace(",", "")) for row in shown(window)]
        assert len(set(values)) > 5
        assert values == sorted(values, reverse=reverse)
    heads(window)[0].click()
    names = [int(row[0][1:]) for row in shown(window)]
    assert names == sorted(names), "numbers in codes count as numbers"
    assert window.get_log("browser") == []


def test_filtering_and_showing_all(window: Any, page: Path) -> None:
    open_page(window, page)
    tools = window.find_element("css selector", ".tools[data-for=sensitive]")
    assert len(shown(window)) == 100
    tools.find_element("tag name", "button").click()
    assert len(shown(window)) == 150
    tools.find_element("tag name", "input").send_keys("r13 ")
    rows = shown(window)
    assert 0 < len(rows) < 30
    assert all("r13" in row[0] for row in rows)
    assert tools.find_element("class name", "count").text == f"{len(rows)} of 150 rows"
    assert window.get_log("browser") == []


def test_all_rows_are_there_without_scripts(page: Path) -> None:
    with browser("--blink-settings=scriptEnabled=false") as quiet:
        quiet.get(page.resolve().as_uri())
        rows = quiet.find_elements("css selector", "#sensitive tbody tr")
        assert len(rows) == 150
        assert all(row.is_displayed() for row in rows[::30])
        assert not quiet.find_element("css selector", ".tools").is_displayed()


def test_nothing_of_the_data_runs(window: Any, tmp_path: Path) -> None:
    codes = ["<script>document.title = 'bad'</script>", "<img src=x onerror=\"document.title = 'bad'\">", "c"]
    table = from_leaves([Dimension.flat("r", codes), flat("c", 3)], leaf_values(3, 3, low=1))
    path = tmp_path / "nasty.html"
    path.write_text(full(with_levels(table, smallest_leaves(table, 2))), encoding="utf-8")
    open_page(window, path)
    assert window.title.startswith("CONFIDENTIAL")
    assert codes[0] in window.find_element("tag name", "body").text
