"""Random tables of all kinds and scales: small counts beside billions, decimals, links, hierarchies that do not nest.

Everything is drawn from the generator that is handed in. Leaves are whole numbers of the data unit; a cell is below
2^52 units, so that floating-point numbers hold all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tablecloak.model import Dimension, Hierarchy, Table, link

SCALES = ("counts", "zeros and ones", "decimals", "mixed", "huge")
"""Of the values: up to 60; 0 and 1; one to six decimals; cells of 1 to 60 beside 1e8 to 1e12; up to 1e15."""
SHAPES = ("two-way", "three-way", "hierarchical", "non-nested", "linked", "equations")
MOST_UNITS = 4 * 10**15
"""No table adds up to more units than this."""

Leaves = NDArray[np.int64]
Size = Literal["tiny", "usual", "large"]


def random_scaled_table(kind: str, scale: str, rng: np.random.Generator, size: Size = "usual") -> Table:
    """A table of a kind (`SHAPES`) with values of a scale (`SCALES`); all patterns of tiny ones can be enumerated.

    Half of the tables of small whole numbers are counts: everybody knows that what is there is at least one.
    """
    table = _scaled_table(kind, scale, rng, size)
    small = scale in ("counts", "zeros and ones") and kind != "equations"
    if small and table.decimals == 0 and table.units.min() >= 0 and table.units.sum() % 2 == 0:
        return replace(table, counts=True)
    return table


def _scaled_table(kind: str, scale: str, rng: np.random.Generator, size: Size) -> Table:
    negative = bool(rng.random() < 0.15) and scale != "zeros and ones"
    decimals = _decimals(scale, rng)

    def draw(shape: tuple[int, ...]) -> Leaves:
        units = _leaves(scale, shape, rng)
        return np.where(rng.random(shape) < 0.3, -units, units) if negative else units

    if kind == "equations":
        return _equations(draw, decimals, rng, size)
    if kind == "linked":
        return _linked(draw, decimals, rng, size)
    dimensions = _dimensions(kind, rng, size)
    shape = tuple(int(dimension.is_leaf.sum()) for dimension in dimensions)
    return table_of_leaves(dimensions, draw(shape), decimals)


def flat(name: str, size: int) -> Dimension:
    """A dimension of a total and its parts."""
    return Dimension.flat(name, _names(name, size))


def table_of_leaves(
    dimensions: list[Dimension], leaves: NDArray[Any], decimals: int = 0, value: str = "value"
) -> Table:
    """The table with all totals of an array of leaf cells, given in data units; `value` is the name of its values."""
    names = [np.array(dimension.codes)[dimension.is_leaf] for dimension in dimensions]
    grid = np.meshgrid(*names, indexing="ij")
    cells: dict[str, Any] = {
        dimension.name: part.ravel() for dimension, part in zip(dimensions, grid, strict=True)
    }
    cells[value] = leaves.ravel() / 10**decimals
    return Table.from_cells(dimensions, cells, value=value, recompute=True, decimals=decimals)


# ---------------------------------------------------------------------- values


def _decimals(scale: str, rng: np.random.Generator) -> int:
    if scale == "decimals":
        return int(rng.integers(1, 7))
    return int(rng.integers(1, 3)) if scale == "mixed" and rng.random() < 0.2 else 0


def _leaves(scale: str, shape: tuple[int, ...], rng: np.random.Generator) -> Leaves:
    """Leaf cells in data units, not negative."""
    small = rng.integers(0, 61, shape)
    match scale:
        case "counts":
            return small
        case "zeros and ones":
            return rng.integers(0, 2, shape)
        case "decimals":
            return rng.integers(0, 10 ** int(rng.integers(2, 8)), shape)
        case "mixed":
            large = np.floor(10.0 ** rng.uniform(8, 12, shape)).astype(np.int64)
            return np.where(rng.random(shape) < rng.choice([0.15, 0.4, 0.7]), large, np.maximum(small, 1))
        case _:
            most = MOST_UNITS // max(int(np.prod(shape)), 1)
            large = rng.integers(most // 1000, most, shape)
            return np.where(rng.random(shape) < 0.2, small, large)


# ---------------------------------------------------------------------- shapes


def _codes(rng: np.random.Generator, size: Size) -> int:
    """How many codes a flat dimension has."""
    least, most = {"tiny": (2, 2), "usual": (2, 4), "large": (5, 9)}[size]
    return int(rng.integers(least, most + 1))


def _dimensions(kind: str, rng: np.random.Generator, size: Size) -> list[Dimension]:
    if kind == "two-way":
        rows = int(rng.integers(2, 4)) if size == "tiny" else _codes(rng, size)
        return [flat("r", rows), flat("c", _codes(rng, size))]
    if kind == "three-way":
        layers = 2 if size == "tiny" else int(rng.integers(2, 4))
        return [flat("r", _codes(rng, size)), flat("c", _codes(rng, size)), flat("s", layers)]
    if kind == "hierarchical":
        return [_random_hierarchy(rng, _codes(rng, size)), flat("c", _codes(rng, size))]
    pairs = {"tiny": 1, "usual": 2, "large": 6}[size]
    north, south = (["n1", "n2"], ["s1"]) if size == "tiny" else (_names("n", pairs), _names("s", pairs))
    both = [*north, *south]
    first = Hierarchy.from_dict({"north": north, "south": south})
    second = Hierarchy.from_dict({"coast": both[::2], "inland": both[1::2]})
    return [Dimension.of("r", first, second), flat("c", 1 if size == "tiny" else _codes(rng, size))]


def _names(name: str, count: int) -> list[str]:
    return [f"{name}{i + 1}" for i in range(count)]


def _random_hierarchy(rng: np.random.Generator, groups: int) -> Dimension:
    """A dimension with groups of up to three leaves; a group without parts is a leaf."""
    parts = {f"r{g}": _names(f"r{g}", int(rng.integers(0, 3 if groups == 2 else 4))) for g in range(groups)}
    return Dimension.of("r", Hierarchy.from_dict(parts))


def _linked(
    draw: Callable[[tuple[int, ...]], Leaves], decimals: int, rng: np.random.Generator, size: Size
) -> Table:
    """Two or three margins of one cube, with their common cells."""
    sizes = tuple(min(_codes(rng, size), 3 if size == "usual" else 9) for _ in range(3))
    cube = draw(sizes)
    a, b, c = (flat(name, count) for name, count in zip("abc", sizes, strict=True))
    margins = [
        table_of_leaves([a, b], cube.sum(axis=2), decimals),
        table_of_leaves([a, c], cube.sum(axis=1), decimals),
        table_of_leaves([b, c], cube.sum(axis=0), decimals),
    ]
    return link(margins[: 2 if size == "tiny" else int(rng.integers(2, 4))])


def _equations(
    draw: Callable[[tuple[int, ...]], Leaves], decimals: int, rng: np.random.Generator, size: Size
) -> Table:
    """Arbitrary equations with coefficients up to 3 in size, around random values."""
    count = int(rng.integers(4, {"tiny": 8, "usual": 14, "large": 60}[size]))
    units = draw((count,))
    most = int(rng.integers(1, 4))
    matrix = rng.integers(-most, most + 1, size=(int(rng.integers(1, max(2, count // 2))), count))
    matrix[rng.random(matrix.shape) < (0.8 if size == "large" else 0.4)] = 0
    scale = 10**decimals
    return Table.from_equations(units / scale, matrix, (matrix @ units) / scale, decimals=decimals)
