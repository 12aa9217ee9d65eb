"""What is measured: `PARTS` by name. A part lists its cases; a case is one row."""

from __future__ import annotations

from parts import (
    adjustment,
    core,
    fronts,
    grid,
    growth,
    library,
    models,
    rounding,
    study,
    tabulating,
    ways,
    widths,
)
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
        *ways.PARTS,
        *adjustment.PARTS,
        *models.PARTS,
        *rounding.PARTS,
        *widths.PARTS,
    )
}
"""All parts in the order in which they are run."""
