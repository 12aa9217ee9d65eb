"""How much commands show, and how often."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CommandSettings:
    """What is drawn on a terminal. Untested defaults."""

    pause: float = 0.1
    """Seconds between two updates of the live line."""
    demo_rows: int = 6
    """Maximum number of cells that the demonstration shows."""


SETTINGS = CommandSettings()
