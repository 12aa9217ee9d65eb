"""Attackers that the statistician names: what each of them knows, and the levels against each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tablecloak.arrays import positions
from tablecloak.assessment.cell_rows import CellRows
from tablecloak.errors import InputError
from tablecloak.model import Attacker, AttackerLevels, Table

LEVELS = ("lower", "upper", "sliding")
KNOWN = ("low", "high")


def attacker_of(table: Table, name: str, data: Any) -> Attacker:
    """An attacker from a frame or a mapping of columns, a row for each cell that he knows something about.

    Columns of codes as in marks; `low` and `high` are what he knows about the true value (empty: nothing), `lower`,
    `upper` and `sliding` the levels against him that replace the common ones (empty: the common one).
    """
    rows = CellRows.of(table, data, (*KNOWN, *LEVELS), f"Attacker {name!r}")
    low, high = (rows.numbers[end] for end in KNOWN)
    if (wrong := np.flatnonzero(low > high)).size:
        faults = [f"cell {label}: low is more than high" for label in table.labels(rows.cells[wrong])]
        raise InputError(f"Attacker {name!r}", faults)
    given = np.any([~np.isnan(rows.numbers[kind]) for kind in LEVELS], axis=0)
    levels = AttackerLevels.at(rows.cells[given], *(rows.numbers[kind][given] for kind in LEVELS))
    ends = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    return Attacker.knowing(name, rows.cells, *ends, levels)


def attacker_within(table: Table, name: str, cells: ArrayLike, percent: float) -> Attacker:
    """An attacker who knows each of these cells to within a percentage of its true value; 0: exactly."""
    if not 0 <= percent < np.inf:
        raise InputError(f"Attacker {name!r}", ["percent must be a finite number that is not negative"])
    where = positions(cells)
    value = table.values[where]
    window = np.abs(value) * (percent / 100)
    return Attacker.knowing(name, where, value - window, value + window)
