"""Example data, invented for tablecloak and shipped with it."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import Any

from tablecloak.dimension import Dimension
from tablecloak.hierarchy import Hierarchy
from tablecloak.table import Table


def regional_turnover() -> Table:
    """Turnover (1,000 euros) of 510 invented firms by region (three macro-regions, eight regions), industry.

    Further columns: the number of contributors to each cell, its largest and its second largest contribution.
    """
    text = files(__name__).joinpath("regional_turnover.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    cells: dict[str, Any] = {name: [row[name] for row in rows] for name in ("region", "industry")}
    for name in ("turnover", "contributors", "largest", "second"):
        cells[name] = [int(row[name]) for row in rows]
    regions = dict.fromkeys((row["region"], row["part_of"]) for row in rows)
    industries = [code for code in dict.fromkeys(cells["industry"]) if code != "Total"]
    dimensions = (
        Dimension.of("region", Hierarchy.from_pairs(regions)),
        Dimension.flat("industry", industries),
    )
    return Table.from_cells(dimensions, cells, value="turnover")
