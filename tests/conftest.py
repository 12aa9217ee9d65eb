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
