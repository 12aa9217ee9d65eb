"""Instances of the literature, generated from a seed, and the INSEE system of linked tables."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak import Dimension, Hierarchy, Levels, Problem, Table, link, read_jj

DATA = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
CSPLIB = (
    "targus", "table7", "hier13x7x7d", "hier13x13x7d", "table8", "table1", "hier13x13x13a", "toy3dsarah", "jjtabel3",
    "hier16", "ninenew", "osorio", "cbs",
)  # fmt: skip
"""The public library of JJ instances, roughly the easy ones first."""
CLASSES = {"I": 1, "II": 2, "II+": 3}
"""The classes of Carvalho & Almeida by their number in seeds; II+ is Class II with the grand total in the lottery."""


def csplib_problem(name: str) -> Problem:
    """An instance of the public library."""
    return read_jj(DATA / "csplib" / f"{name}.jj").problem


# ---------------------------------------------------------------------- two-way tables


def two_way(inner: NDArray[np.int64]) -> Table:
    """A two-way table with totals from its inner cells (zeros are cells too)."""
    rows, columns = inner.shape
    row_codes, column_codes = (
        [f"{letter}{i}" for i in range(count)] for letter, count in (("r", rows), ("c", columns))
    )
    cells = {"r": np.repeat(row_codes, columns), "c": np.tile(column_codes, rows), "value": inner.ravel()}
    return Table.from_cells(
        [Dimension.flat("r", row_codes), Dimension.flat("c", column_codes)], cells, recompute=True
    )


def class_seed(kind: str, m: int, n: int, number: int) -> int:
    """The seed of an instance, in decimals: class (1, 2 or 3), m and n in three digits each, number in two."""
    return ((CLASSES[kind] * 1000 + m) * 1000 + n) * 100 + number


def class_problem(kind: str, m: int, n: int, number: int, unit_weights: bool = False) -> Problem:
    """Instance so-and-so of a class of Carvalho & Almeida, with its own seed."""
    seed = class_seed(kind, m, n, number)
    if kind == "I":
        return class_one(m, n, seed, unit_weights)
    return class_two(m, n, seed, unit_weights, grand_total=kind == "II+")


def class_one(rows: int, columns: int, seed: int, unit_weights: bool = False) -> Problem:
    """Class I of Carvalho & Almeida (2008): values 0..499, internal cells of 1 to 4 sensitive, levels u = a, l = a - 1,
    zeros published."""
    return _small_sensitive(
        two_way(np.random.default_rng(seed).integers(0, 500, size=(rows, columns))), unit_weights
    )


def class_two(
    rows: int, columns: int, seed: int, unit_weights: bool = False, grand_total: bool = False
) -> Problem:
    """Class II of Carvalho & Almeida (2008): values 0..1000, non-zero internal cells sensitive with probability 0.2,
    non-zero marginals with 0.1 (the grand total only if asked for), levels ceil(0.15 a), zeros published."""
    rng = np.random.default_rng(seed)
    table = two_way(rng.integers(0, 1001, size=(rows, columns)))
    chance = np.where(table.is_leaf, 0.2, 0.1)
    sensitive = (table.values > 0) & (rng.random(len(table)) < chance)
    if not grand_total:
        sensitive[table.find()] = False
    level = np.where(sensitive, np.ceil(0.15 * table.values), 0.0)
    weights = "unit" if unit_weights else "value"
    return Problem.of(
        table, sensitive, Levels.of(len(table), level, level), hide_zeros=False, weights=weights
    )


def generator_one(rows: int, columns: int, sensitive_cells: int, seed: int, share: float = 0.15) -> Problem:
    """Castro's generator 1: values 1..1000, a fifth of them zero, so many sensitive cells anywhere, 15% levels.

    Another `share` changes the levels only: the table and the sensitive cells stay as they are.
    """
    rng = np.random.default_rng(seed)
    return _some_sensitive(two_way(_with_zeros((rows, columns), rng)), sensitive_cells, rng, share)


def generator_two(rows: int, columns: int, sensitive_cells: int, seed: int) -> Problem:
    """Castro's generator 2 (2002): so many sensitive cells of 1 to 4 anywhere, the others 0 or 5..500, 15% levels."""
    return _at_fifteen_percent(_with_small((rows, columns), sensitive_cells, seed))


def subtables_generator_one(
    shape: tuple[int, int, int],
    sensitive_cells: int,
    seed: int,
    *,
    share: float = 0.15,
    unit_weights: bool = False,
) -> Problem:
    """As generator 1 with one hierarchy, for Castro (2007): `shape` is columns, rows below the total, and subtables.

    (c + 1) (1 + R) cells for c columns and R rows. Subtables have as many rows as each other, or one more; each but the
    first details a row that no other one does, picked by chance.
    """
    columns, rows, subtables = shape
    rng = np.random.default_rng(seed)
    dimensions = [_detailed("r", rows, subtables, rng), nested("c", (columns,))]
    table = _crossed(dimensions, rng)
    return _some_sensitive(table, sensitive_cells, rng, share, unit_weights)


def _detailed(name: str, rows: int, subtables: int, rng: np.random.Generator) -> Dimension:
    """Codes in codes: a tree with so many inner nodes (the total is one) and so many other codes below the total."""
    pairs: list[tuple[str, str]] = []
    plain: list[str] = []
    for number in range(subtables):
        parent = plain.pop(int(rng.integers(len(plain)))) if number else "Total"
        count = rows // subtables + (number < rows % subtables)
        parts = [f"{parent if number else name}.{i + 1}" for i in range(count)]
        pairs += [(part, parent) for part in parts]
        plain += parts
    return Dimension.of(name, Hierarchy.from_pairs(pairs))


def hierarchical_generator_one(
    rows: tuple[int, ...], columns: tuple[int, ...], sensitive_cells: int, seed: int
) -> Problem:
    """As generator 1, both dimensions nested: so many codes at the top, so many in each of them, and so on."""
    rng = np.random.default_rng(seed)
    table = _crossed([nested("r", rows), nested("c", columns)], rng)
    return _some_sensitive(table, sensitive_cells, rng)


def _crossed(dimensions: list[Dimension], rng: np.random.Generator) -> Table:
    """A table over the dimensions r and c; inner values are those of generator 1."""
    names = [np.array(dimension.codes)[dimension.is_leaf] for dimension in dimensions]
    shape = names[0].size, names[1].size
    cells: dict[str, Any] = {
        "r": np.repeat(names[0], shape[1]),
        "c": np.tile(names[1], shape[0]),
        "value": _with_zeros(shape, rng).ravel(),
    }
    return Table.from_cells(dimensions, cells, recompute=True)


def nested(name: str, counts: tuple[int, ...]) -> Dimension:
    """Codes in codes: so many at the top, so many in each of them, and so on."""
    pairs: list[tuple[str, str]] = []
    above = ["Total"]
    for level, count in enumerate(counts):
        below = [(f"{code if level else name}.{i + 1}", code) for code in above for i in range(count)]
        pairs += below
        above = [code for code, _ in below]
    return Dimension.of(name, Hierarchy.from_pairs(pairs))


# ---------------------------------------------------------------------- three-way tables


def three_way(inner: NDArray[np.int64]) -> Table:
    """A three-way table with all its totals from its inner cells."""
    codes = [[f"{letter}{i}" for i in range(count)] for letter, count in zip("rcl", inner.shape, strict=True)]
    grid = np.meshgrid(*(np.array(some) for some in codes), indexing="ij")
    cells: dict[str, Any] = {letter: axis.ravel() for letter, axis in zip("rcl", grid, strict=True)}
    dimensions = [Dimension.flat(letter, some) for letter, some in zip("rcl", codes, strict=True)]
    return Table.from_cells(dimensions, {**cells, "value": inner.ravel()}, recompute=True)


def three_way_class_one(rows: int, columns: int, layers: int, seed: int) -> Problem:
    """As Class I: values 0..499, internal cells of 1 to 4 sensitive, levels u = a, l = a - 1, zeros published."""
    return _small_sensitive(
        three_way(np.random.default_rng(seed).integers(0, 500, size=(rows, columns, layers)))
    )


def three_way_generator_one(rows: int, columns: int, layers: int, sensitive_cells: int, seed: int) -> Problem:
    """As generator 1: values 1..1000, a fifth of them zero, so many sensitive cells anywhere, 15% levels."""
    rng = np.random.default_rng(seed)
    return _some_sensitive(three_way(_with_zeros((rows, columns, layers), rng)), sensitive_cells, rng)


def three_way_generator_two(rows: int, columns: int, layers: int, sensitive_cells: int, seed: int) -> Problem:
    """As generator 2: so many sensitive cells of 1 to 4 anywhere, the others 0 or 5..500, 15% levels."""
    return _at_fifteen_percent(_with_small((rows, columns, layers), sensitive_cells, seed))


# ---------------------------------------------------------------------- what they have in common


def _small_sensitive(table: Table, unit_weights: bool = False) -> Problem:
    """Internal cells of 1 to 4 are sensitive, levels u = a, l = a - 1, zeros published."""
    sensitive = table.is_leaf & (table.values >= 1) & (table.values <= 4)
    upper = np.where(sensitive, table.values, 0.0)
    lower = np.where(sensitive, table.values - 1, 0.0)
    weights = "unit" if unit_weights else "value"
    return Problem.of(
        table, sensitive, Levels.of(len(table), lower, upper), hide_zeros=False, weights=weights
    )


def _with_zeros(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
    """Values 1..1000, a fifth of them zero."""
    inner = rng.integers(1, 1001, size=shape)
    inner[rng.random(shape) < 0.2] = 0
    return inner


def _with_small(shape: tuple[int, ...], count: int, seed: int) -> Table:
    """A table of values 0 or 5..500, all equally likely, but so many internal cells of 1 to 4."""
    rng = np.random.default_rng(seed)
    inner = rng.choice(np.array([0, *range(5, 501)]), size=shape)
    inner.flat[rng.choice(inner.size, count, replace=False)] = rng.integers(1, 5, count)
    return two_way(inner) if len(shape) == 2 else three_way(inner)


def _at_fifteen_percent(table: Table) -> Problem:
    """Internal cells of 1 to 4 are sensitive, levels ceil(0.15 a), zeros published."""
    sensitive = table.is_leaf & (table.values >= 1) & (table.values <= 4)
    level = np.where(sensitive, np.ceil(0.15 * table.values), 0.0)
    return Problem.of(table, sensitive, Levels.of(len(table), level, level), hide_zeros=False)


def _some_sensitive(
    table: Table, count: int, rng: np.random.Generator, share: float = 0.15, unit_weights: bool = False
) -> Problem:
    """So many internal cells that are not zero are sensitive, levels ceil(share a), zeros published."""
    chosen = rng.choice(np.flatnonzero(table.is_leaf & (table.values > 0)), count, replace=False)
    level = np.zeros(len(table))
    level[chosen] = np.ceil(share * table.values[chosen])
    weights = "unit" if unit_weights else "value"
    return Problem.of(
        table, level > 0, Levels.of(len(table), level, level), hide_zeros=False, weights=weights
    )


# ---------------------------------------------------------------------- INSEE


INSEE = {
    "act_cj": ("ACTIVITY", "CJ"),
    "act_size": ("ACTIVITY", "SIZE"),
    "nuts_cj": ("NUTS", "CJ"),
    "nuts_size": ("NUTS", "SIZE"),
    "act_nuts_size": ("ACTIVITY", "NUTS", "SIZE"),
}


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
