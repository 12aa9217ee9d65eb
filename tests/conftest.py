"""Shared by all tests: where the real data are, and hypothesis settings that never time out on a busy machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "tablecloak",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("tablecloak")

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("TABLECLOAK_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real instances; tests that need it are skipped where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"no real data at {DATA} (set TABLECLOAK_DATA)")
    return DATA


SKIPPED: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped:
        SKIPPED.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI everything a test needs is there: a skipped test is a failure."""
    if os.environ.get("CI") and SKIPPED and not hasattr(session.config, "workerinput"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if os.environ.get("CI") and SKIPPED:
        terminalreporter.section("skipped, which CI does not allow")
        for name in SKIPPED:
            terminalreporter.line(name)
