"""A real browser without a window, for tests that open our pages; they are skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)
LOADED = "return performance.getEntriesByType('resource').map(entry => entry.name)"


def _found(*names: str) -> str:
    path = next((path for name in names if (path := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no {names[0]} on this machine (Debian: apt install chromium chromium-driver)")
    return path


@contextmanager
def browser(*flags: str) -> Iterator[Any]:
    """A headless Chromium with an empty profile, driven by selenium."""
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    binary, driver = _found("chromium", "chromium-browser"), _found("chromedriver")
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = selenium.ChromeOptions()
        options.binary_location = binary
        for flag in (*FLAGS, f"--user-data-dir={profile}", *flags):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        window = selenium.Chrome(options=options, service=Service(driver))
        try:
            yield window
        finally:
            window.quit()


def open_page(window: Any, path: Path) -> None:
    """Open a file of this machine and check that the page complains about nothing and loads nothing else."""
    window.get(path.resolve().as_uri())
    assert window.get_log("browser") == []
    assert [name for name in window.execute_script(LOADED) if not name.startswith("data:")] == []
