"""All parts by name (`PARTS`). A part lists its cases; a case is one row."""

from __future__ import annotations

from cases import (
    adjustment,
    castro,
    castro_2002,
    core,
    cores,
    fronts,
    grid,
    growth,
    kernels,
    library,
    limits,
    methods,
    million,
    models,
    modular,
    readings,
    rebuild,
    reductions,
    rounding,
    serpell,
    small,
    start,
    strata,
    study,
    subtables,
    tabulating,
    three_phase,
    ways,
    widths,
)
from cases.base import Part

PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        *core.PARTS,
        *tabulating.PARTS,
        *grid.PARTS,
        *three_phase.PARTS,
        *library.PARTS,
        *fronts.PARTS,
        *growth.PARTS,
        *study.PARTS,
        *subtables.PARTS,
        *strata.PARTS,
        *ways.PARTS,
        *adjustment.PARTS,
        *models.PARTS,
        *rounding.PARTS,
        *widths.PARTS,
        *limits.PARTS,
        *castro.PARTS,
        *castro_2002.PARTS,
        *readings.PARTS,
        *serpell.PARTS,
        *reductions.PARTS,
        *methods.PARTS,
        *modular.PARTS,
        *million.PARTS,
        *cores.PARTS,
        *kernels.PARTS,
        *start.PARTS,
        *rebuild.PARTS,
        *small.PARTS,
    )
}
"""All parts in the order in which they are run."""
