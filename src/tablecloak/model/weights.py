"""Weights: the cost of hiding a cell. Plain arrays: combine them with arithmetic (``0.5 * value(t) + 9 * unit(t)``)."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.errors import InputError
from tablecloak.model.emptiness import CELLS
from tablecloak.model.table import Table

CONTRIBUTORS = "contributors"


def value(table: Table) -> Floats:
    """w = |a|: the value hidden. Where empty combinations are cells (``empty="cells"``), at least one data unit."""
    return floored(table, np.abs(table.values))


def unit(table: Table) -> Floats:
    """w = 1: the number of cells hidden."""
    return np.ones(len(table))


def log(table: Table) -> Floats:
    """w = log(1 + |a|): between counting cells and adding values; |a| as in `value`."""
    return np.log1p(value(table))


def contributors(table: Table) -> Floats:
    """w = number of contributors, from the table's column of that name; at least 1 with ``empty="cells"``."""
    number = column(table, CONTRIBUTORS)
    return np.maximum(number, 1.0) if table.empty == CELLS else number


def column(table: Table, name: str) -> Floats:
    """w = another column of the table; it must be finite and not negative."""
    weights = table.column(name)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        faults = [
            f"cell {label}: column {name!r} is missing, infinite or negative" for label in table.labels(bad)
        ]
        raise InputError("Weights", faults)
    return weights


def floored(table: Table, weights: Floats) -> Floats:
    """The weights, at least one data unit on cells of value zero where empty combinations are cells."""
    empty = (table.values == 0) & (table.empty == CELLS)
    return np.where(empty, np.maximum(weights, table.unit), weights)


def power(weights: Floats, exponent: float) -> Floats:
    """Box-Cox: (w^k - 1) / k, and log(w) for k = 0, of w taken as at least 1 so that no weight is negative.

    Weights of 1 and below become 0: scale values that are small (`power(1000 * value(t), 0.5)`).
    """
    base = np.maximum(weights, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        result = np.log(base) if exponent == 0 else (base**exponent - 1.0) / exponent
    if not np.isfinite(result).all():
        raise InputError("Weights", [f"the power {exponent:g} of these weights is not a finite number"])
    return result


NAMED = {"value": value, "unit": unit, "log": log, CONTRIBUTORS: contributors}


def named(table: Table, name: str) -> Floats:
    """The weights of a name: value, unit, log, contributors, or a column of the table."""
    if name not in NAMED and name not in table.columns:
        choices = ", ".join(dict.fromkeys([*NAMED, *table.columns]))
        raise InputError("Weights", [f"there are no weights {name!r}; there are: {choices}"])
    return NAMED[name](table) if name in NAMED else floored(table, column(table, name))
