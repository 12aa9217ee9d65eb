"""Instances of the literature, generated from a seed: two-way and three-way tables, flat and with hierarchies.

Class I and II are those of Carvalho & Almeida (2008); generators 1 and 2 those of Castro (2002, 2007). Zeros are
published. Equal arguments give equal instances.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Bools, Floats, Ints
from tablecloak.model import Dimension, Hierarchy, Levels, Problem, Table
from tablecloak.testing.random_cases import table_of_leaves

CLASSES = {"I": 1, "II": 2, "II+": 3}
"""The classes by their number in seeds; II+ is Class II in which the grand total may be sensitive too."""


# ---------------------------------------------------------------------- two-way tables


def two_way(inner: Ints) -> Table:
    """A two-way table with totals from its inner cells (zeros are cells too)."""
    return _flat_table(inner)


def class_seed(kind: str, m: int, n: int, number: int) -> int:
    """The seed of an instance, in decimals: class (1, 2 or 3), m and n in three digits each, number in two."""
    return ((CLASSES[kind] * 1000 + m) * 1000 + n) * 100 + number


def class_problem(kind: str, m: int, n: int, number: int, unit_weights: bool = False) -> Problem:
    """An instance of a class of Carvalho & Almeida by its number, with its own seed."""
    seed = class_seed(kind, m, n, number)
    if kind == "I":
        return class_one(m, n, seed, unit_weights)
    return class_two(m, n, seed, unit_weights, grand_total=kind == "II+")


def class_one(
    rows: int,
    columns: int,
    seed: int,
    unit_weights: bool = False,
    *,
    largest: int = 499,
    share: float | None = None,
) -> Problem:
    """Class I: values 0..499, internal cells of 1 to 4 sensitive, levels u = a, l = a - 1.

    Other readings of the paper: another `largest` value; or cells sensitive with probability `share`, their values 1 to
    4, the others 0 or 5..`largest`, all equally likely.
    """
    rng = np.random.default_rng(seed)
    inner = rng.integers(0, largest + 1, size=(rows, columns))
    if share is not None:
        others = rng.choice(np.array([0, *range(5, largest + 1)]), size=inner.shape)
        chosen = rng.random(inner.shape) < share
        inner = np.where(chosen, rng.integers(1, 5, size=inner.shape), others)
    return _small_sensitive(two_way(inner), unit_weights)


def class_two(
    rows: int, columns: int, seed: int, unit_weights: bool = False, grand_total: bool = False
) -> Problem:
    """Class II: values 0..1000, non-zero internal cells sensitive with probability 0.2, non-zero marginals with 0.1
    (the grand total only with `grand_total`), levels ceil(0.15 a)."""
    rng = np.random.default_rng(seed)
    table = two_way(rng.integers(0, 1001, size=(rows, columns)))
    chance = np.where(table.is_leaf, 0.2, 0.1)
    sensitive = (table.values > 0) & (rng.random(len(table)) < chance)
    if not grand_total:
        sensitive[table.find()] = False
    return _by_share(table, sensitive, 0.15, unit_weights)


def generator_one(rows: int, columns: int, sensitive_cells: int, seed: int, share: float = 0.15) -> Problem:
    """Castro's generator 1: values 1..1000, a fifth of them zero, a number of sensitive cells anywhere, 15% levels.

    Another `share` changes the levels only: the table and the sensitive cells stay as they are.
    """
    rng = np.random.default_rng(seed)
    return _some_sensitive(two_way(_with_zeros((rows, columns), rng)), sensitive_cells, rng, share)


def generator_two(rows: int, columns: int, sensitive_cells: int, seed: int) -> Problem:
    """Castro's generator 2 (2002): a number of sensitive cells of 1 to 4 anywhere, the others 0 or 5..500, 15%
    levels."""
    return _with_small((rows, columns), sensitive_cells, seed)


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
    first details a row that no other one does, picked at random.
    """
    columns, rows, subtables = shape
    rng = np.random.default_rng(seed)
    table = _crossed([_detailed("r", rows, subtables, rng), nested("c", (columns,))], rng)
    return _some_sensitive(table, sensitive_cells, rng, share, unit_weights)


def _detailed(name: str, rows: int, subtables: int, rng: np.random.Generator) -> Dimension:
    """A tree with `subtables` inner nodes (the total is one) and `rows` other codes below the total."""
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
    """As generator 1, both dimensions nested (see `nested`)."""
    rng = np.random.default_rng(seed)
    return _some_sensitive(_crossed([nested("r", rows), nested("c", columns)], rng), sensitive_cells, rng)


def _crossed(dimensions: list[Dimension], rng: np.random.Generator) -> Table:
    """A table over the dimensions; inner values are those of generator 1."""
    shape = tuple(int(dimension.is_leaf.sum()) for dimension in dimensions)
    return table_of_leaves(dimensions, _with_zeros(shape, rng))


def nested(name: str, counts: tuple[int, ...]) -> Dimension:
    """A hierarchy by the number of codes at the top, of codes in each of them, and so on."""
    pairs: list[tuple[str, str]] = []
    above = ["Total"]
    for level, count in enumerate(counts):
        below = [(f"{code if level else name}.{i + 1}", code) for code in above for i in range(count)]
        pairs += below
        above = [code for code, _ in below]
    return Dimension.of(name, Hierarchy.from_pairs(pairs))


# ---------------------------------------------------------------------- three-way tables


def three_way(inner: Ints) -> Table:
    """A three-way table with all its totals from its inner cells."""
    return _flat_table(inner)


def three_way_class_one(rows: int, columns: int, layers: int, seed: int) -> Problem:
    """As Class I: values 0..499, internal cells of 1 to 4 sensitive, levels u = a, l = a - 1."""
    inner = np.random.default_rng(seed).integers(0, 500, size=(rows, columns, layers))
    return _small_sensitive(three_way(inner))


def three_way_generator_one(rows: int, columns: int, layers: int, sensitive_cells: int, seed: int) -> Problem:
    """As generator 1: values 1..1000, a fifth of them zero, a number of sensitive cells anywhere, 15% levels."""
    rng = np.random.default_rng(seed)
    return _some_sensitive(three_way(_with_zeros((rows, columns, layers), rng)), sensitive_cells, rng)


def three_way_generator_two(rows: int, columns: int, layers: int, sensitive_cells: int, seed: int) -> Problem:
    """As generator 2: a number of sensitive cells of 1 to 4 anywhere, the others 0 or 5..500, 15% levels."""
    return _with_small((rows, columns, layers), sensitive_cells, seed)


# ---------------------------------------------------------------------- shared parts


def _flat_table(inner: Ints) -> Table:
    """A table without hierarchies over rows, columns and layers."""
    dimensions = [
        Dimension.flat(letter, [f"{letter}{i}" for i in range(count)])
        for letter, count in zip("rcl", inner.shape, strict=False)
    ]
    return table_of_leaves(dimensions, inner)


def _with_zeros(shape: tuple[int, ...], rng: np.random.Generator) -> Ints:
    """Values 1..1000, a fifth of them zero."""
    inner = rng.integers(1, 1001, size=shape)
    inner[rng.random(shape) < 0.2] = 0
    return inner


def _with_small(shape: tuple[int, ...], count: int, seed: int) -> Problem:
    """Values 0 or 5..500, all equally likely, and `count` internal cells of 1 to 4, which are sensitive."""
    rng = np.random.default_rng(seed)
    inner = rng.choice(np.array([0, *range(5, 501)]), size=shape)
    inner.flat[rng.choice(inner.size, count, replace=False)] = rng.integers(1, 5, count)
    table = _flat_table(inner)
    return _by_share(table, _is_small(table), 0.15)


def _is_small(table: Table) -> Bools:
    """Internal cells of 1 to 4."""
    return table.is_leaf & (table.values >= 1) & (table.values <= 4)


def _small_sensitive(table: Table, unit_weights: bool = False) -> Problem:
    """Internal cells of 1 to 4 are sensitive, levels u = a, l = a - 1."""
    sensitive = _is_small(table)
    lower, upper = (np.where(sensitive, level, 0.0) for level in (table.values - 1, table.values))
    return _problem(table, sensitive, lower, upper, unit_weights)


def _some_sensitive(
    table: Table, count: int, rng: np.random.Generator, share: float = 0.15, unit_weights: bool = False
) -> Problem:
    """`count` internal cells that are not zero are sensitive, levels ceil(share a)."""
    sensitive = np.zeros(len(table), dtype=bool)
    sensitive[rng.choice(np.flatnonzero(table.is_leaf & (table.values > 0)), count, replace=False)] = True
    return _by_share(table, sensitive, share, unit_weights)


def _by_share(table: Table, sensitive: Bools, share: float, unit_weights: bool = False) -> Problem:
    """Both levels are ceil(share a)."""
    level = np.where(sensitive, np.ceil(share * table.values), 0.0)
    return _problem(table, sensitive, level, level, unit_weights)


def _problem(table: Table, sensitive: Bools, lower: Floats, upper: Floats, unit_weights: bool) -> Problem:
    """Zeros are published; weights are values or 1."""
    levels = Levels.of(len(table), lower, upper)
    weights = "unit" if unit_weights else "value"
    return Problem.of(table, sensitive, levels, hide_zeros=False, weights=weights)
