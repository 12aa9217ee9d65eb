"""Publications as HTML pages, opened and used in a real browser."""

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
from fixtures import from_leaves
from publications import CASES, published, truth
from tablecloak.model import Dimension, Hierarchy, Problem
from tablecloak.protection import protect
from tablecloak.publication import Publication, publish
from tablecloak.publication.html import write_html
from tablecloak.publication.publication import NOTHING, THIN_SPACE

DISPLAYED = """
const seen = each => each.getClientRects().length > 0;
return [...document.querySelectorAll("section")].filter(seen).flatMap(section => {
  const heads = [...section.querySelectorAll("thead th")];
  return [...section.querySelectorAll("tbody tr")].filter(seen).flatMap(row =>
    [...row.cells].slice(1).map((cell, at) => [cell, at]).filter(([cell]) => seen(cell))
      .map(([cell, at]) => [row.cells[0].textContent, heads[at].textContent, cell.innerText.trim()]));
});
"""


class Tags(HTMLParser):
    """All tags with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))


@pytest.fixture(scope="module")
def window() -> Iterator[Any]:
    with browser() as opened:
        yield opened


def shown(window: Any) -> dict[tuple[str, ...], str]:
    """Row, column and text of every cell that can be seen."""
    return {(row, column): text for row, column, text in window.execute_script(DISPLAYED)}


def click(window: Any, css: str) -> None:
    window.find_element("css selector", css).click()


def show(window: Any, publication: Publication, folder: Path) -> None:
    open_page(window, publication.write(folder / "page.html"))


# ---------------------------------------------------------------------- the text


@pytest.mark.parametrize("name", CASES)
def test_the_page_needs_nothing_and_is_a_table_to_everybody(name: str) -> None:
    publication = published(name)
    text = write_html(publication)
    assert not re.search(r"https?:|//\w|@import|url\(|src=|fetch|XMLHttp|localStorage|eval", text)
    tags = Tags(text).tags
    assert [values["href"] for tag, values in tags if tag == "link"] == ["data:,"]
    heads = [values for tag, values in tags if tag == "th"]
    assert heads
    assert all(values.get("scope") in ("row", "col") for values in heads)
    assert sum(tag == "caption" for tag, _ in tags) == sum(tag == "table" for tag, _ in tags)
    assert ("html", {"lang": "en"}) in tags
    cells = sum(tag == "td" and values.get("class") not in ("corner", "n") for tag, values in tags)
    assert cells == len(publication)
    hidden = sum(tag == "td" and values.get("class") == "x" for tag, values in tags)
    assert hidden == publication.is_status("hidden").sum()


def test_texts_are_escaped(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    table = from_leaves([Dimension.flat('"><b>', [evil, "&amp;"])], np.array([3.0, 4.0]))
    problem = Problem.of(table, [])
    labels = {'"><b>': {"&amp;": evil}}
    text = write_html(publish(problem, protect(problem), title=evil, note=evil, symbol="<x", labels=labels))
    tags = [tag for tag, _ in Tags(text).tags]
    assert tags.count("script") == 2, "ours"
    assert "b" not in tags
    assert text.count("&lt;script&gt;") >= 4


# ---------------------------------------------------------------------- in a browser


@pytest.mark.parametrize(
    "name", ["turnover", "two hierarchies", "one dimension", "rounding", "one-sided intervals"]
)
def test_what_is_displayed_is_what_is_stated(window: Any, tmp_path: Path, name: str) -> None:
    publication = published(name)
    show(window, publication, tmp_path)
    texts, cells = publication.texts(THIN_SPACE), truth(publication)
    if len(publication.dimensions) == 1:
        wanted = {(code, "value"): texts[cell] for (code,), cell in cells.items()}
    else:
        wanted = {codes: texts[cell] for codes, cell in cells.items()}
    assert shown(window) == wanted
    assert window.title == publication.heading
    legend = window.find_element("css selector", "dl.legend").text
    assert all(meaning in legend for _, meaning in publication.legend())


def test_rows_and_columns_fold_and_unfold(window: Any, tmp_path: Path) -> None:
    publication = published("two hierarchies")
    show(window, publication, tmp_path)
    everything = shown(window)
    click(window, "tbody button[aria-label='Fold r1']")
    rows = {row for row, _ in shown(window)}
    assert rows == {"Total", "r1", "r2", "r21", "r22"}
    button = window.find_element("css selector", "tbody button[aria-label='Unfold r1']")
    assert button.get_attribute("aria-expanded") == "false"
    click(window, "thead button[aria-label='Fold c2']")
    assert {column for _, column in shown(window)} == {"Total", "c1", "c11", "c12", "c2"}
    assert all(everything[key] == text for key, text in shown(window).items())
    click(window, "tbody button[aria-label='Fold Total']")
    assert {row for row, _ in shown(window)} == {"Total"}
    click(window, "tbody button[aria-label='Unfold Total']")
    assert {row for row, _ in shown(window)} == rows, "what was folded inside stays folded"
    click(window, "button[data-axis=columns][data-do=fold]")
    assert {column for _, column in shown(window)} == {"Total"}
    for axis in ("rows", "columns"):
        click(window, f"button[data-axis={axis}][data-do=unfold]")
    assert shown(window) == everything
    assert window.get_log("browser") == []


def test_folding_works_from_the_keyboard(window: Any, tmp_path: Path) -> None:
    show(window, published("two hierarchies"), tmp_path)
    button = window.find_element("css selector", "tbody button[aria-label='Fold r2']")
    button.send_keys("\ue007")
    assert {row for row, _ in shown(window)} == {"Total", "r1", "r11", "r12", "r2"}


@pytest.mark.parametrize("name", ["gaps", "five way"])
def test_boxes_choose_the_codes_of_further_dimensions(window: Any, tmp_path: Path, name: str) -> None:
    publication = published(name)
    show(window, publication, tmp_path)
    texts, cells = publication.texts(THIN_SPACE), truth(publication)
    further = publication.dimensions[1:-1]
    boxes = window.find_elements("css selector", "select")
    assert len(boxes) == len(further)
    chosen = [dimension.codes[0] for dimension in further]
    for number, dimension in enumerate(further):
        for code in reversed(dimension.codes):
            option = f"option[value='{dimension.codes.index(code)}']"
            boxes[number].find_element("css selector", option).click()
            chosen[number] = code
            seen = shown(window)
            wanted = {
                (codes[0], codes[-1]): texts[cell]
                for codes, cell in cells.items()
                if list(codes[1:-1]) == chosen
            }
            assert {key: text for key, text in seen.items() if text != NOTHING} == wanted
            assert all(key not in wanted for key, text in seen.items() if text == NOTHING)
            assert (
                f"{dimension.name}: {code}" in window.find_element("css selector", "section.chosen h2").text
            )


def test_a_combination_without_cells_says_so(window: Any, tmp_path: Path) -> None:
    show(window, replace(published("linked"), title="Linked"), tmp_path)
    box = window.find_element("css selector", "select")
    box.find_element("css selector", "option[value='1']").click()
    assert {column for _, column in shown(window)} == {"Total", "c1", "c2", "c3"}
    both = published("linked")
    kept = (both.codes[:, 1] == 0) | (both.codes[:, 2] > 9)
    less = replace(
        both,
        **{name: getattr(both, name)[kept] for name in ("codes", "status", "shown", "low", "high", "within")},
    )
    show(window, less, tmp_path)
    window.find_element("css selector", "select option[value='1']").click()
    assert shown(window) == {}
    assert window.find_element("id", "nothing").is_displayed()


def test_large_tables_open_folded_and_unfold_whole(window: Any, tmp_path: Path) -> None:
    tree = {f"r{i}": [f"r{i}.{j}" for j in range(9)] for i in range(9)}
    table = from_leaves(
        [Dimension.of("r", Hierarchy.from_dict(tree)), Dimension.flat("c", ["a"])], np.arange(1.0, 82.0)
    )
    problem = Problem.of(table, [])
    show(window, publish(problem, protect(problem)), tmp_path)
    assert {row for row, _ in shown(window)} == {"Total", *tree}
    click(window, "button[data-axis=rows][data-do=unfold]")
    assert len(shown(window)) == len(table)


def test_without_scripts_everything_can_be_read(tmp_path: Path) -> None:
    publication = published("gaps")
    path = publication.write(tmp_path / "page.html")
    with browser("--blink-settings=scriptEnabled=false") as window:
        window.get(path.as_uri())
        sections = window.find_elements("css selector", "section")
        assert len(sections) == 3
        assert all(section.is_displayed() for section in sections)
        assert not window.find_element("css selector", ".controls").is_displayed()
        texts = [cell.text for cell in window.find_elements("css selector", "td:not(.corner)")]
    assert sorted(text for text in texts if text != NOTHING) == sorted(publication.texts(THIN_SPACE))


def test_dark_and_print(window: Any, tmp_path: Path) -> None:
    show(window, published("turnover"), tmp_path)

    def paper() -> str:
        return str(window.execute_script("return getComputedStyle(document.body).backgroundColor"))

    try:
        light = paper()
        features = [{"name": "prefers-color-scheme", "value": "dark"}]
        window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        assert paper() != light
        window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": features})
        assert paper() == "rgb(255, 255, 255)"
        assert not window.find_element("css selector", ".fold").is_displayed()
    finally:
        window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
