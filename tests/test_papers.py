"""The page of the five papers: files, names in them, benchmark parts and anchors that it mentions exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cases.parts import PARTS

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:src|tests|benchmarks|docs)/[^`\s]+)`", PAGE)))
SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]


def name_in(path: str, name: str) -> bool:
    """Whether a file defines a function, a class or a name."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.search(rf"^\s*(?:async )?(?:def|class) {name}\b|^{name}\b.*=", text, re.MULTILINE) is not None


@pytest.mark.parametrize("mentioned", PATHS)
def test_files_and_names_exist(mentioned: str) -> None:
    path, _, name = mentioned.partition("::")
    assert (ROOT / path).is_file()
    assert not name or name_in(path, name)


def test_a_name_that_is_not_there_is_found_out() -> None:
    assert not name_in("tests/test_papers.py", "no_such_function")


def test_parts_exist() -> None:
    parts = {
        part
        for list_of in re.findall(r"\bparts? ((?:`[\w-]+`(?:, | and )?)+)", PAGE)
        for part in re.findall(r"`([\w-]+)`", list_of)
    }
    assert len(parts) > 8
    assert parts <= set(PARTS)


def test_every_paper_has_its_section_and_every_line_its_columns() -> None:
    assert [re.search(r"\d{4}", section)[0] for section in SECTIONS] == [
        "2008",
        "2013",
        "2002",
        "2007",
        "2002",
    ]
    for section in SECTIONS:
        lines = [line for line in section.splitlines() if line.startswith("|")]
        assert len(lines) > 10
        assert {line.replace("\\|", "").count("|") for line in lines} == {5}
        for line in lines[2:]:
            assert any(cell.strip() for cell in line.strip("|").split("|")[1:]), line
