"""Confidential pages: one head for all of them, a policy that lets nothing in, and scripts by their digest only."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files

import pytest
from jinja2 import UndefinedError

from fixtures import FIXTURES
from tablecloak.analysis import compare
from tablecloak.protection import protect
from tablecloak.reports import compare_html, report_html
from tablecloak.reports.report import confidential_page


def template(name: str) -> str:
    return files("tablecloak.reports").joinpath("templates", name).read_text(encoding="utf-8")


def both() -> dict[str, str]:
    problem = FIXTURES["two way"]()
    report = report_html(problem, protect(problem, "suppress-greedy"), plots=False)
    return {
        "report.html": report,
        "compare.html": compare_html(compare(problem, ["suppress-greedy"]), plots=False),
    }


@pytest.mark.parametrize("name", ["report.html", "compare.html"])
def test_the_head_is_written_once(name: str) -> None:
    source = template(name)
    assert source.startswith('{% extends "confidential.html" %}\n')
    assert not re.search(r"<(head|style|body|html|title)\b", source)
    rules = [line for line in template("confidential.html").splitlines() if "{ " in line and ";" in line]
    assert len(rules) > 20
    assert not [rule for rule in rules if rule in source.splitlines()]


def test_pages_share_warning_styles_and_policy() -> None:
    heads = {name: html.partition("<style>")[0] for name, html in both().items()}
    for name, html in both().items():
        assert html.startswith("<!DOCTYPE html>\n"), name
        assert html.endswith("</body>\n</html>\n"), name
        assert html.count("<style>") == html.count("<b>CONFIDENTIAL</b>") == 1
        assert "Not for publication." in html
        assert all(f'id="{anchor}"' in html for anchor in re.findall(r'<a href="#(\w+)">', html))
    report, compared = (re.search(r'content="(default-src.*?)"', head)[1] for head in heads.values())  # type: ignore[index]
    assert compared == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert report.startswith(compared + "; script-src 'sha256-")


def test_the_policy_allows_the_script_of_the_page_and_no_other() -> None:
    html = both()["report.html"]
    script = html.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    assert len(script) > 1000
    assert re.findall(r"'sha256-([^']+)'", html) == [digest]


def test_what_a_template_asks_for_must_be_there() -> None:
    with pytest.raises(UndefinedError):
        confidential_page("compare.html", {"title": "x"})
