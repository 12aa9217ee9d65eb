"""What is measured: `PARTS` by name. A part lists its cases; a case is one row."""

from __future__ import annotations

from parts import core, fronts, grid, growth, library, study, tabulating
from parts.base import Part

PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        *core.PARTS,
        *tabulating.PARTS,
        *grid.PARTS,
        *library.PARTS,
        *fronts.PARTS,
        *growth.PARTS,
        *study.PARTS,
    )
}
"""All parts in the order in which they are run."""
