"""Shared by the tests of the benchmarks: the page that the report makes of some rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from report import Report
from runner import Row, Store


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[..., str]:
    """A function that stores rows by name and gives the page with the section of their part."""

    def page_of(part: str, rows: Mapping[str, Row], folder: Path = tmp_path) -> str:
        page = folder / "docs" / "benchmarks" / "page.md"
        page.parent.mkdir(parents=True)
        page.write_text(f"<!-- results: {part} -->\n<!-- end of results -->\n", encoding="utf-8")
        report = Report(folder, folder / "docs")
        report.write()
        assert "No rows are stored yet." in page.read_text(encoding="utf-8")
        store = Store(folder / f"{part}.csv")
        for name, row in rows.items():
            store.put(name, row)
        report.write()
        text = page.read_text(encoding="utf-8")
        shown = [line[:-1].rpartition("(")[2] for line in text.splitlines() if line.startswith("![")]
        assert all((page.parent / name).exists() for name in shown)
        return text

    return page_of
