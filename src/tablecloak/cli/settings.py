"""How much commands show, how often, and when workers pay."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CommandSettings:
    """What is drawn on a terminal, and by whom it is worked out. Untested defaults."""

    pause: float = 0.1
    """Seconds between two updates of the live line."""
    demo_rows: int = 6
    """Maximum number of cells that the demonstration shows."""
    side_by_side_cells: int = 1_000
    """Comparisons on tables of up to this number of cells use no worker processes: they take seconds to start. Untested
    default."""


SETTINGS = CommandSettings()
