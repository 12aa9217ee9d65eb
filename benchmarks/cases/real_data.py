"""Real data of the benchmarks: the public library of JJ instances and the INSEE system of linked tables."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np

from tablecloak import Dimension, Hierarchy, Levels, Problem, Table, link, read_jj

DATA = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
"""The folder of the data; the variable `TABLECLOAK_DATA` names another one."""
CSPLIB = (
    "targus", "table7", "hier13x7x7d", "hier13x13x7d", "table8", "table1", "hier13x13x13a", "toy3dsarah", "jjtabel3",
    "hier16", "ninenew", "osorio", "cbs",
)  # fmt: skip
"""The public library of JJ instances, roughly the easy ones first."""
INSEE = {
    "act_cj": ("ACTIVITY", "CJ"),
    "act_size": ("ACTIVITY", "SIZE"),
    "nuts_cj": ("NUTS", "CJ"),
    "nuts_size": ("NUTS", "SIZE"),
    "act_nuts_size": ("ACTIVITY", "NUTS", "SIZE"),
}
"""The turnover tables of INSEE: their dimensions by name."""


def csplib_problem(name: str) -> Problem:
    """An instance of the public library."""
    return read_jj(DATA / "csplib" / f"{name}.jj").problem


def insee_table(name: str) -> Table:
    """One of INSEE's turnover tables, with N_OBS and MAX as further columns."""
    columns = _read(DATA / "linked" / f"insee_turnover_{name}.csv")
    dimensions = [_insee_dimension(dimension, columns[dimension]) for dimension in INSEE[name]]
    numbers = {key: np.array(columns[key], dtype=float) for key in ("N_OBS", "MAX", "TOT")}
    codes: dict[str, Any] = {dimension: columns[dimension] for dimension in INSEE[name]}
    return Table.from_cells(dimensions, {**codes, **numbers}, value="TOT")


def insee_problem(names: tuple[str, ...] = ("act_cj", "act_size", "nuts_cj", "nuts_size")) -> Problem:
    """The linked system: sensitive where N_OBS < 3 or MAX is above 85% of TOT.

    Dominance (1, 85): level = MAX / 0.85 - TOT; 10% of the value for small counts.
    """
    table = link([insee_table(name) for name in names])
    total, largest, count = table.values, table.column("MAX"), table.column("N_OBS")
    few = (count < 3) & (total > 0)
    dominated = (largest > 0.85 * total) & (total > 0)
    level = np.maximum(np.where(dominated, largest / 0.85 - total, 0.0), np.where(few, 0.1 * total, 0.0))
    sensitive = few | dominated
    return Problem.of(
        table, sensitive, Levels.of(len(table), np.where(sensitive, level, 0), np.where(sensitive, level, 0))
    )


def _insee_dimension(name: str, codes: list[str]) -> Dimension:
    present = set(codes)
    if name == "ACTIVITY":
        rows = _read(DATA / "microdata" / "insee_activity_corr_table.csv")
        pairs = {(a, "Total") for a in rows["A10"]}
        pairs |= {(b, a) for a, b in zip(rows["A10"], rows["A21"], strict=True)}
        pairs |= {(c, b) for b, c in zip(rows["A21"], rows["A88"], strict=True)}
        return Dimension.of(name, Hierarchy.from_pairs(_present(pairs, present)))
    if name == "NUTS":
        rows = _read(DATA / "microdata" / "insee_nuts23_fr_corr_table.csv")
        total = next(code for code in codes if code.startswith("Total"))
        pairs = {(two, total) for two in rows["NUTS2"]}
        pairs |= {(three, two) for two, three in zip(rows["NUTS2"], rows["NUTS3"], strict=True)}
        return Dimension.of(name, Hierarchy.from_pairs(_present(pairs, present)))
    return Dimension.flat(name, sorted(present - {"Total"}))


def _present(pairs: set[tuple[str, str]], codes: set[str]) -> list[tuple[str, str]]:
    """The pairs between codes that the table has; a code is not its own child."""
    return sorted(
        (child, parent) for child, parent in pairs if child in codes and parent in codes and child != parent
    )


def _read(path: Path) -> dict[str, list[str]]:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}
