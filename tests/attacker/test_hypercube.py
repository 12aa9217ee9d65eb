"""Hypercubes: they satisfy equations and bounds, are the cheapest on small flat tables, and go down hierarchies."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tablecloak.attacker import Cubes, structure_of, working_columns
from tablecloak.model import Dimension, Hierarchy, Table
from tablecloak.solvers.kernels import FORBIDDEN

TREE = {"A": ["a1", "a2", "a3"], "B": {"B1": ["b1", "b2"], "B2": ["b3"]}, "C": ["c1", "c2"]}


def table_of(dimensions: list[Dimension], seed: int, empty: float = 0.0) -> Table:
    """Random values at the leaves; some places are left out."""
    rng = np.random.default_rng(seed)
    leaves = [np.array(d.codes)[d.is_leaf] for d in dimensions]
    places = np.array(list(product(*leaves)))
    places = places[rng.random(len(places)) >= empty]
    columns = {d.name: places[:, k] for k, d in enumerate(dimensions)}
    return Table.from_cells(
        dimensions, {**columns, "value": rng.integers(1, 60, len(places))}, recompute=True
    )


def flat(seed: int) -> Table:
    return table_of([Dimension.flat(name, [f"{name}{k}" for k in range(3)]) for name in "xyz"], seed)


def nested(seed: int, empty: float = 0.0) -> Table:
    tree = Dimension.of("tree", Hierarchy.from_dict(TREE))
    size = Dimension.flat("size", ["s", "m", "l"])
    place = Dimension.of("place", Hierarchy.from_dict({"N": ["n1", "n2"], "S": ["s1", "s2"]}))
    return table_of([tree, size, place], seed, empty)


def cubes_of(table: Table) -> Cubes:
    block = next(block for block in structure_of(table).blocks if block.grid is not None)
    assert block.grid is not None
    assert Cubes.fits(block.grid)
    return Cubes(block.grid, block.cells, working_columns(table))


def check(table: Table, cube, cell: int, level: float, price, up, down) -> None:
    move = np.zeros(len(table))
    move[cube.cells] = cube.signs
    assert not (table.equations @ move).any()
    assert move[cell] == 1
    assert set(np.unique(cube.signs)) <= {-1, 1}
    assert np.array_equal(cube.cells, np.unique(cube.cells))
    others = cube.cells[cube.cells != cell]
    assert (np.where(move > 0, up, down)[others] >= level).all()
    assert (price[others] < FORBIDDEN).all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "make", [flat, nested, lambda seed: nested(seed, 0.3)], ids=["flat", "nested", "sparse"]
)
def test_every_hypercube_satisfies_equations_and_bounds(make, seed: int) -> None:
    table, rng = make(seed), np.random.default_rng(seed)
    cubes = cubes_of(table)
    price = np.where(rng.random(len(table)) < 0.1, FORBIDDEN, rng.integers(0, 50, len(table)) * 1.0)
    up, down, found = np.full(len(table), np.inf), table.values.copy(), 0
    for cell in range(0, len(table), 3):
        level = float(rng.integers(1, 20))
        cube = cubes.cheapest(cell, level, price, up, down, 6, cell)
        if cube is not None:
            check(table, cube, cell, level, price, up, down)
            again = cubes.cheapest(cell, level, price, up, down, 6, cell)
            assert np.array_equal(cube.cells, again.cells)
            found += 1
    assert found


def test_the_cheapest_of_all_boxes_of_a_flat_table_is_found_nearly_always() -> None:
    """A walk in a flat dimension is the cell's code and any other one, total included: they can be counted out."""
    best_found = tried = 0
    for seed in range(6):
        table, rng = flat(seed), np.random.default_rng(seed)
        price, up = rng.integers(1, 50, len(table)) * 1.0, np.full(len(table), np.inf)
        cubes, level = cubes_of(table), 5.0
        index = {tuple(row): cell for cell, row in enumerate(table.codes.tolist())}
        roots = [d.codes.index(d.total) for d in table.dimensions]
        for cell in np.flatnonzero(table.is_leaf)[:10].tolist():
            mine = table.codes[cell]
            best = np.inf
            for others in product(*([c for c in range(4) if c != mine[d]] for d in range(3))):
                total, fits = 0.0, True
                for picks in product((0, 1), repeat=3):
                    code = tuple(int(others[d] if picks[d] else mine[d]) for d in range(3))
                    sign = np.prod([-1 if picks[d] and others[d] != roots[d] else 1 for d in range(3)])
                    corner = index[code]
                    if corner != cell:
                        total += price[corner]
                        fits &= bool(sign > 0 or table.values[corner] >= level)
                best = min(best, total) if fits else best
            cube = cubes.cheapest(cell, level, price, up, table.values.copy(), 12, cell)
            tried += 1
            if cube is None:
                assert best == np.inf
                continue
            cost = price[cube.cells].sum() - price[cell]
            assert cost >= best - 1e-9
            best_found += cost <= best + 1e-9
    assert best_found >= 0.8 * tried


def test_a_total_moves_with_a_leaf_below_it() -> None:
    table = nested(1)
    cell = table.find(tree="B", size="s", place="N")
    price = np.ones(len(table))
    cube = cubes_of(table).cheapest(
        cell, 1.0, price, np.full(len(table), np.inf), np.full(len(table), np.inf), 6, 1
    )
    assert cube is not None
    check(table, cube, cell, 1.0, price, np.full(len(table), np.inf), np.full(len(table), np.inf))
    assert table.is_leaf[cube.cells].any()


def test_without_deviation_bounds_there_is_none() -> None:
    table = flat(2)
    nothing = np.zeros(len(table))
    price = np.ones(len(table))
    assert cubes_of(table).cheapest(40, 1.0, price, nothing, nothing, 6, 1) is None
    forbidden = np.full(len(table), FORBIDDEN)
    room = np.full(len(table), np.inf)
    assert cubes_of(table).cheapest(40, 1.0, forbidden, room, room, 6, 1) is None
